/* lowering_limit.h -- how long building, lowering and printing a kernel may take: what `bench --jit` judges by and
 * tests/test_lowering_time.c holds. */
#ifndef TOOL_LOWERING_LIMIT_H
#define TOOL_LOWERING_LIMIT_H

#include <tegula/tegula.h>

/* Microseconds in a release build, for the fourteen GEMVs (those of a file gemv.c) and for any other kernel. */
enum { LOWERING_GEMV_US = 1000, LOWERING_OTHER_US = 2000 };

/* Which of the two. */
int lowering_limit_us(const tg_kernel_record *kernel);

#endif
