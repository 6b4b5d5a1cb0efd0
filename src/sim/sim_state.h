/* sim_state.h -- a run of the simulator: what belongs to the launch, to the block that runs, to each of its
 * warps.
 *
 * sim.c makes and drives it; sim_warp.c executes, sim_memory.c reads and writes where sim_access.c has looked,
 * sim_race.c keeps who touched what.  Everything that changes while a block runs is in `sim_block`, so that blocks
 * could run side by side, but for the findings, the output of print() and the race shadows of tensors. */
#ifndef SIM_SIM_STATE_H
#define SIM_SIM_STATE_H

#include "sim/sim.h"
#include "sim/sim_async.h"
#include "sim/sim_code.h"
#include "sim/sim_race.h"

/* The lowest lane of a mask; 64: none. */
static inline int sim_first_lane(uint64_t mask) {
#if defined __GNUC__
    return mask == 0 ? 64 : __builtin_ctzll(mask);
#else
    int lane = 0;
    while (lane < 64 && !(mask >> lane & 1)) {
        lane++;
    }
    return lane;
#endif
}

/* Every lane of a mask, in ascending order. */
#define FOR_LANES(lane, mask)                                                                             \
    for (uint64_t rest_ = (mask), lane = 0; rest_ != 0 && (lane = (uint64_t)sim_first_lane(rest_), true); \
         rest_ &= rest_ - 1)

typedef enum warp_state { WARP_READY, WARP_BLOCKED, WARP_EXITED } warp_state;

/* A mask put aside by IF or FOR. */
typedef struct mask_frame {
    uint64_t saved, taken;
    int64_t i; /* FOR: iterations begun, less one */
    tg_loc at;
} mask_frame;

typedef struct warp {
    warp_state state;
    int pc;
    int first;     /* its first thread's number in the block */
    uint64_t all;  /* the lanes that exist */
    uint64_t mask; /* those that take part now */
    mask_frame *frames;
    int nframes;
    unsigned char *frame;
    uint32_t order;  /* barriers of this warp so far: names the interval between two */
    bool has_waited; /* for the launches before; true in a launch that starts after them */
} warp;

typedef struct sim_block {
    int64_t index[3];
    uint32_t number; /* linear, x first */
    uint32_t epoch;  /* grows at every barrier and block: names an interval between two, of fewer than 2^32 */
    unsigned char *shared;
    race_shadow *shared_shadow;
    async_flights *flights; /* NULL: the kernel has no asynchronous copies */
    warp *warps;
    int nwarps;
} sim_block;

typedef struct sim {
    const thread_kernel *t;
    const sim_options *options;
    sim_result *result;
    sim_code code;
    sim_buffer *buffers;
    int wave;
    int threads;
    int64_t grid[3];
    value *scalars; /* by var id; type 0: none */
    sim_block block;
    bool stopped;
    bool out_of_memory;
    int64_t next_look;     /* warp instructions at which to ask progress and step_limit; 0 at the beginning */
    unsigned char *memory; /* of all frames, masks and shared bytes */
} sim;

/* Runs w until it blocks, exits or the run stops. */
void sim_warp_run(sim *s, warp *w);

void sim_memory_load(sim *s, warp *w, const code_instr *i);
void sim_memory_store(sim *s, warp *w, const code_instr *i);
void sim_memory_atomic(sim *s, warp *w, const code_instr *i);
void sim_memory_copy(sim *s, warp *w, const code_instr *i);
void sim_memory_commit(sim *s, const warp *w);
void sim_memory_wait(sim *s, const warp *w, const code_instr *i);
void sim_memory_declare(sim *s, warp *w, const code_instr *i);

/* Counts a finding of the block that runs; thread -1: none.  The entry when it is new and kept, to be given
 * its text; NULL when it was known, so that a fault found a million times is written down once. */
finding *sim_find(sim *s, finding_kind kind, tg_loc at, tg_loc other, int thread, int other_thread);
void sim_describe(finding *f, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
/* A barrier of one warp: the one whose instruction is the present one. */
void sim_meet_warp(sim *s, warp *w);
/* Where a lane that does not take part went another way. */
tg_loc sim_divergence(const warp *w, int lane);

/* One operation on one lane by dsl/value.h, its fault reported. */
value sim_apply(sim *s, const warp *w, const code_instr *i, int lane, value a, value b);

#endif
