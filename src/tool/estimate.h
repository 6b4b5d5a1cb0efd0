/* estimate.h -- about how long a kernel takes on a device, in parts that say why.
 *
 *     memory    each sector once, at the bandwidth of the device: nobody is faster
 *     on the busiest multiprocessor
 *       lines     lines of 128 bytes and wavefronts of shared memory, one a cycle
 *       issue     instructions of all its warps, one a cycle and scheduler
 *       waits     for loads from global memory that the thread cannot go on without
 *       shared    the same for loads from shared memory
 *       barriers  met one after another
 *       sums      additions that each need the one before, as far as they take longer than the instructions
 *
 * What a multiprocessor does counts one after the other, since a kernel that waits has little to do meanwhile;
 * blocks that are there together wait together.  The estimate is the larger of the two.
 *
 * Lines, wavefronts and requests come from simulated addresses; what a thread computes and waits for is read off
 * the thread IR (estimate_thread.c), by rules seen in the machine code of the gallery; latencies stand in devices.yaml. */
#ifndef TOOL_ESTIMATE_H
#define TOOL_ESTIMATE_H

#include "sim/sim_cost.h"
#include "tool/occupancy.h"

typedef struct estimate_part {
    const char *name;
    double us;
    char why[160];
} estimate_part;

enum { ESTIMATE_PARTS = 7 };

typedef struct estimate {
    double us;
    const char *limit;   /* the name of the largest part */
    const char *caution; /* why it may be far from the truth; NULL: no reason is known */
    estimate_part part[ESTIMATE_PARTS];
} estimate;

/* What one thread does from the kernel's beginning to its end, accesses to memory left out. */
typedef struct estimate_thread {
    double loads, shared, barriers, sums; /* waited for, one after another */
    double copies;                        /* asynchronous ones: how often it makes sure that they are there */
    double cycles;                        /* of its scheduler, for arithmetic and conversions */
} estimate_thread;

estimate_thread estimate_of_thread(const thread_kernel *t);
estimate estimate_make(const cost_counter *c, const device_row *gpu, const occupancy *room);

#endif
