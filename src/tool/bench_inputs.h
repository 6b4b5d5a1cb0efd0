/* bench_inputs.h -- random inputs and the reference's results, kept from one configuration to the next: both take longer
 * than the measurement, and most configurations of a sweep want the same. */
#ifndef TOOL_BENCH_INPUTS_H
#define TOOL_BENCH_INPUTS_H

#include "tool/inputs.h"

/* Zeroed: holds nothing. */
typedef struct bench_inputs {
    arguments all;
    /* What they were made for. */
    const gallery_kernel *kernel;
    reference_function *reference;
    char *signature; /* the problem, and each argument with its shape */
    bool is_reused;  /* the last bench_inputs_get() made nothing */
} bench_inputs;

/* The arguments of the call with `before` and `wanted` filled.  Those at hand are taken where the problem, the shapes and
 * the kernel's reference function are the same.  Whether that function reads tunables is not known: where a result is
 * wrong with inputs that were reused, bench_inputs_free() and ask again.  The exit status. */
int bench_inputs_get(const options *o, const subject *s, const char *problem, bench_inputs *kept);
void bench_inputs_free(bench_inputs *kept);

#endif
