/* occupancy.h -- how many blocks of a kernel a multiprocessor holds, and how the grid fills the device. */
#ifndef TOOL_OCCUPANCY_H
#define TOOL_OCCUPANCY_H

#include "codegen/target.h"
#include "tool/devices.h"

typedef struct occupancy {
    int64_t blocks; /* of one multiprocessor; 0: not even one fits */
    int64_t warps;
    double share;        /* of the warps that it could hold */
    const char *limiter; /* "threads", "blocks", "registers", "shared memory" */
    double waves;        /* rounds in which the grid runs, were all full */
    double idle;         /* share of multiprocessors' room, over all rounds, that no block takes */
    int64_t without;     /* multiprocessors that get no block at all */
} occupancy;

/* `registers` of a thread, 0 when not known. */
occupancy occupancy_of(const device_row *gpu, const target *t, int64_t threads, int64_t shared, int registers,
                       int64_t grid);

#endif
