/* sim_cost.h -- what a kernel does to memory, counted from simulated addresses.
 *
 *     cost_begin      which blocks are enough (sim_blocks.h)
 *     cost_attach     the simulator tells every access of theirs
 *     sim_run
 *     cost_end        totals of the whole grid
 *
 * A request is one memory instruction of one warp.  Global: the sectors that it touches, equal addresses once;
 * the least possible is what its distinct bytes would fill.  Shared: wavefronts (codegen/banks.h).  Tensors are
 * taken to begin at a sector. */
#ifndef SIM_SIM_COST_H
#define SIM_SIM_COST_H

#include "sim/sim.h"
#include "sim/sim_blocks.h"

/* ---- one request --------------------------------------------------------------------------------------- */

typedef enum cost_op { COST_LOAD, COST_STORE, COST_ATOMIC, COST_COPY_FROM, COST_COPY_TO } cost_op;

cost_op cost_op_of(const sim_access *a);

typedef struct cost_request {
    int lanes;
    int used; /* distinct bytes */
    int sectors, least_sectors;
    int lines; /* of global memory, 128 bytes */
    int wavefronts, least_wavefronts;
    int at_one_address; /* lanes at the address that most lanes have: atomics are served one after another */
    uint64_t busiest_banks; /* as bits: those that hold up the request; 0 without conflicts */
} cost_request;

/* `access->address` as sim_access says; at most 64 lanes. */
cost_request cost_count(const target *t, tg_space space, cost_op op, const sim_access *access);

/* ---- a kernel ------------------------------------------------------------------------------------------ */

/* One access of the kernel: sums over all its requests in the whole grid. */
typedef struct cost_row {
    const node *ref;
    cost_op op;
    int bytes; /* of one lane */
    int least_lanes, most_lanes;
    int64_t requests, lanes, used;
    int64_t sectors, least_sectors;
    int64_t lines;
    int64_t wavefronts, least_wavefronts;
    int64_t joined_requests, joined_wavefronts; /* as the assembler issues them (sim_joined.h) */
    int64_t at_one_address;
    uint64_t busiest_banks;
} cost_row;

typedef struct cost_counter {
    const thread_kernel *t;
    block_kinds kinds;
    bool every;        /* all blocks are simulated: asked for, or they all differ */
    int64_t simulated; /* blocks */
    int n;
    cost_row *row;
    int64_t barriers;                  /* of the whole grid */
    int64_t bytes_read, bytes_written; /* of sectors, were nothing cached; atomics do both */
    int64_t once_read, once_written;   /* each sector counted once */
    int64_t footprint;                 /* sectors touched in any way, in bytes */
    struct cost_state *state;
} cost_counter;

/* TG_OK, TG_EARG, TG_ENOMEM.  Free in every case. */
int cost_begin(const thread_kernel *t, int nargs, const witness_arg *args, bool every_block, cost_counter *c);
/* `result`: the one that sim_run will be given. */
void cost_attach(cost_counter *c, sim_options *options, const sim_result *result);
/* After sim_run: TG_OK or TG_ENOMEM. */
int cost_end(cost_counter *c);
void cost_free(cost_counter *c);

#endif
