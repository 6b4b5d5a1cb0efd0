/* sim.h -- runs thread IR on the CPU as the GPU would: warps in lockstep, barriers, races, bounds.
 *
 * Reads thread IR only.  One program counter for each warp, run until blocked; lanes in lockstep under masks;
 * computes in the printed width and traps. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "codegen/thread.h"
#include "sim/witness.h"

/* One memory instruction of one warp, as sim_options.on_access hears of it (sim_cost.h, sim_trace.h). */
typedef struct sim_access {
    const node *ref;
    bool is_write, is_atomic;
    bool is_async;           /* a side of an asynchronous copy, when it is issued */
    int lanes;               /* active */
    uint64_t mask;           /* which those are */
    int bytes;               /* of one lane */
    int64_t base;            /* shared: where the buffer begins in the block's shared memory, in bytes */
    const uint64_t *address; /* bytes from the buffer's beginning, for each active lane */
    int first_thread;        /* number of the warp's first thread in its block */
    const int64_t *block;    /* three block indices, x first */
} sim_access;

typedef struct sim_options {
    bool strict;        /* same-value races are faults too */
    bool skip_races;    /* for timing the rest only */
    int64_t step_limit; /* warp instructions; 0: none */
    void (*on_access)(const sim_access *access, void *user);
    /* False: that block is left out.  NULL: all run. */
    bool (*wants_block)(const int64_t index[3], void *user);
    void *user;
    bool (*progress)(double done, void *user); /* now and then; false stops the run */
} sim_options;

typedef struct sim_result {
    findings findings;
    int64_t warp_instructions, barriers, blocks;
    double seconds;
    text printed; /* what print() wrote */
} sim_result;

/* Runs the whole grid.  TG_OK (look at the findings), TG_EARG when the arguments do not fit (`error` says why),
 * TG_ENOMEM, TG_EINTERNAL. */
int sim_run(const thread_kernel *t, int nargs, witness_arg *args, const sim_options *options,
            sim_result *result, text *error);
void sim_free(sim_result *result);

#endif
