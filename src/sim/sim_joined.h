/* sim_joined.h -- accesses to shared memory as the assembler issues them.
 *
 * A thread that goes through neighbours of 2 or 4 bytes one by one, as `for k: sum += row[k]` does, is not served one
 * by one: the compiler behind the CUDA text unrolls the loop and joins up to four of them to one instruction, as wide
 * as the place is aligned in every lane.  Found in the machine code of NVRTC 13.0 for sm_90a: rows of 64 or 68 elements of
 * f16 are read by LDS.64, of 66 by LDS.32, of 65 by LDS.U16; rows of f32 likewise by LDS.128, .64 and .32; bytes never.  The
 * counters of an H200 agree: 27.5 million bank conflicts in thread_naive, where 2 bytes at a time would meet in 114. */
#ifndef SIM_SIM_JOINED_H
#define SIM_SIM_JOINED_H

#include "codegen/target.h"
#include "sim/sim.h"

enum { JOINED_MOST = 4 };

/* What one warp does at one place: `n` accesses so far, each behind the one before in every lane. */
typedef struct joined_run {
    int n, bytes; /* of one lane, of one access */
    int lanes;
    uint64_t mask;
    int64_t base, barriers; /* met by the block before */
    uint64_t first[TARGET_MAX_WAVE];
} joined_run;

typedef struct joined_cost {
    int64_t requests, wavefronts;
} joined_cost;

/* May accesses of so many bytes a lane be joined at all? */
bool joined_is_possible(int bytes);
/* One more access; what the run before cost, if this one does not go on with it, else zeros. */
joined_cost joined_add(joined_run *run, const target *t, const sim_access *a, int64_t barriers);
/* What is left at the end. */
joined_cost joined_end(joined_run *run, const target *t, bool is_load);

#endif
