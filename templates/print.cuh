#ifndef __CUDACC_RTC__ // NVRTC knows printf by itself
#include <stdio.h>
#endif
