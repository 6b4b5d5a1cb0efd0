// As in math.h, which NVRTC lacks.
?infinity #ifndef INFINITY
?infinity #define INFINITY __int_as_float(0x7f800000)
?infinity #endif
?nan #ifndef NAN
?nan #define NAN __int_as_float(0x7fffffff)
?nan #endif
