/* gpu.h -- a kernel on a real device: memory, launch, time. */
#ifndef TOOL_GPU_H
#define TOOL_GPU_H

#include "runtime/bench.h"
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

/* What a launch is given of it; `address`: of a tensor. */
tg_arg gpu_argument(const argument *a, const void *address);

/* Runs once from `before` into `after`, then, unless `count` is 0, times that many launches one by one on the same
 * arguments.  `cuda`: a text to run instead of the kernel's own; NULL.  The exit status. */
int gpu_launch(const options *o, const subject *s, const device_info *device, const char *cuda, int count,
               arguments *all, gpu_run *run);

/* ---- step by step, for whoever times ------------------------------------------------------------------- */

typedef struct gpu_session gpu_session;

/* Compiles and loads every step; fills run->registers and .spill_bytes.  Close it in every case; these functions
 * give exit statuses. */
int gpu_open(const options *o, const subject *s, const device_info *device, const char *cuda,
             gpu_session **out, gpu_run *run);
/* Once from `before` into `after`; fills run->failed_check.  A launch that does not end in the time of --timeout, else
 * a minute, fails. */
int gpu_call(gpu_session *x, arguments *all, gpu_run *run);
/* After a failure: nothing more can be done with this GPU in this process. */
bool gpu_is_lost(gpu_session *x);
/* After gpu_call(): makes as many sets of arguments as stream mode wants. */
int gpu_make_sets(gpu_session *x, const arguments *all);
int gpu_time(gpu_session *x, const tg_bench_options *how, tg_bench_figures *figures);
void gpu_close(gpu_session *x);

/* What else can be timed beside the kernel, with its arguments. */
device_handle *gpu_device(gpu_session *x);
bench_timer *gpu_timer(gpu_session *x);
int gpu_sets(const gpu_session *x);
void *gpu_address(const gpu_session *x, int set, int arg);
#endif
