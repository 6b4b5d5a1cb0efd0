/* sim_trace.h -- which addresses a block meets, kept for pictures.
 *
 * Beside the counting of costs: trace_attach() stands between the simulator and the counter and hands on all
 * that it hears.  Of the first block that runs it keeps
 *
 *     requests   of each access of the kernel, the first of each warp: what lies in memory for whom in one
 *                instruction
 *     walks      of each tensor, in which step and by which warp each sector was reached first; a step is a
 *                warp's next request to that tensor */
#ifndef SIM_SIM_TRACE_H
#define SIM_SIM_TRACE_H

#include "sim/sim_cost.h"

enum { TRACE_WARPS = 64 };

typedef struct trace_request {
    sim_access access; /* its addresses are the trace's own */
    cost_op op;
} trace_request;

typedef struct trace_row {
    const node *ref;
    cost_op op;
    uint64_t kept; /* as bits: warps whose request is kept */
    int n;         /* requests, in the order of the warps */
    trace_request request[TRACE_WARPS];
} trace_row;

typedef struct trace_walk {
    const buffer *tensor;
    int64_t sectors;            /* of the tensor */
    int32_t *step;              /* of each, from 1; 0: never reached */
    uint8_t *warp;              /* its number */
    int64_t first, last;        /* reached: the lowest and the highest */
    int warps;                  /* that came */
    int32_t steps[TRACE_WARPS]; /* of each warp */
    int32_t most_steps;
} trace_walk;

typedef struct trace {
    const thread_kernel *t;
    int64_t block[3]; /* the one that is kept */
    bool has_block;
    int n, capacity;
    trace_row **row;
    int nwalks;
    trace_walk *walk; /* of the tensors reached so far */
    arena memory;
    bool out_of_memory;
    sim_options before; /* who listened */
} trace;

/* After cost_attach().  `how` must stay where it is while the simulator runs. */
void trace_attach(trace *tr, const thread_kernel *t, sim_options *how);
/* NULL: the first block never came there. */
const trace_row *trace_find(const trace *tr, const node *ref, cost_op op);
/* NULL: the first block never reached the tensor that `b` belongs to. */
const trace_walk *trace_walk_over(const trace *tr, const buffer *b);
void trace_free(trace *tr);

#endif
