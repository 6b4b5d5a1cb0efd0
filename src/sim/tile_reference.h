/* tile_reference.h -- runs the tile IR as the words read: the oracle for lowering.
 *
 * Reads tile IR only.  copy is a copy, parallel a loop, pipelined serial.  Thread view: each thread of a
 * block runs to its next collective operation or barrier, then the next thread. */
#ifndef SIM_TILE_REFERENCE_H
#define SIM_TILE_REFERENCE_H

#include "dsl/tile.h"
#include "sim/witness.h"

typedef struct reference_options {
    uint64_t seed;  /* shuffles the order of blocks, threads and parallel iterations; 0: ascending */
    bool backwards; /* each of these orders from its end: whatever came first comes last */
    bool in_double; /* floating locals, lets, fragments and arithmetic in double precision: the yardstick for
                       kernels without a reference of their own.  Tensors keep their types; so do buffers that
                       have views, whose bytes count, and literals are rounded to their type before */
    int64_t step_limit; /* statements executed before it gives up; 0: none */
} reference_options;

typedef struct reference_result {
    findings findings;
    int64_t statements; /* executed */
    text printed;       /* what print() wrote; free with reference_free */
} reference_result;

/* Runs the whole grid.  TG_OK (look at the findings), TG_EARG when the arguments do not fit the kernel,
 * TG_EKERNEL when that was built with mistakes (`error` says why), TG_ENOMEM, TG_EINTERNAL.  `options` may be
 * NULL. */
int tile_reference_run(tg_kernel *k, int nargs, witness_arg *args, const reference_options *options,
                       reference_result *result, text *error);

/* Runs it twice, in the order of the options and in the opposite one, so that any two things which may come in
 * either order do; leaves the tensors and the text of the first.  Where the tensors written differ:
 * FINDING_ORDER, beside the findings of both runs.  Bit for bit, but to a tolerance for floats in kernels that
 * sum floats in an order the language leaves open (atomics, reducers). */
int tile_reference_orders(tg_kernel *k, int nargs, witness_arg *args, const reference_options *options,
                          reference_result *result, text *error);
void reference_free(reference_result *result);

#endif
