/* estimate.h -- about how long a kernel takes on a device, in parts that say why.
 *
 *     memory    each sector once, at the bandwidth of the device: nobody is faster
 *     on the busiest multiprocessor
 *       lines     lines of 128 bytes and wavefronts of shared memory, one a cycle
 *       issue     instructions of all its warps, four a cycle
 *       waits     for loads from global memory that the thread cannot go on without
 *       shared    the same for loads from shared memory
 *       barriers  met one after another
 *       sums      additions that each need the one before
 *
 * What a multiprocessor does counts one after the other, since a kernel that waits has little to do meanwhile;
 * blocks that are there together wait together.  The estimate is the larger of the two. */
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

/* What one warp waits for, one after another, from the kernel's beginning to its end. */
typedef struct estimate_waits {
    double loads, shared, barriers, sums;
    double copies; /* asynchronous ones, which run ahead: how often it makes sure that they are there */
} estimate_waits;

estimate_waits estimate_count_waits(const thread_kernel *t);
estimate estimate_make(const cost_counter *c, const device_row *gpu, const occupancy *room);

#endif
