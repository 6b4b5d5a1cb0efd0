/* gpu.h -- a kernel on a real device: memory, launch, time. */
#ifndef TOOL_GPU_H
#define TOOL_GPU_H

#include "runtime/device.h"
#include "tool/inputs.h"

/* The device of --device; with auto and none there (or sim), *found is false and the status good. */
int gpu_choose(const options *o, device_info *info, bool *found);

typedef struct gpu_run {
    double median, low, high; /* microseconds; quartiles */
    int count;                /* of timed launches */
    int registers, spill_bytes;
    char failed_check[512]; /* "gemv.c:12: check failed: .."; "" */
} gpu_run;

/* Instead of a number of launches: stream mode (runtime/bench.h). */
enum { GPU_STREAM = -1 };

/* Runs once from `before` into `after`, then, unless `count` is 0, times that many launches.  `cuda`: a text
 * to run instead of the kernel's own; NULL.  The exit status. */
int gpu_launch(const options *o, const subject *s, const device_info *device, const char *cuda, int count,
               arguments *all, gpu_run *run);
#endif
