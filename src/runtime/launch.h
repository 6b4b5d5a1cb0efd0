/* launch.h -- one compiled kernel in one context, and its launches.
 *
 * Reads   an image (cubin or PTX), a launch plan, a context.
 * Leaves  a launch_kernel: function, grid where it is known, record of failed checks.
 *
 * launch_run() checks what the caller gives against the plan (number and kind, ranges of scalars, alignment,
 * overlap, DLPack shape and type), fills the parameters and makes one driver call.  It allocates, locks and
 * waits for nothing, so it may run in stream capture and in any number of threads. */
#ifndef TG_RUNTIME_LAUNCH_H
#define TG_RUNTIME_LAUNCH_H

#include <tegula/tegula.h>

#include "codegen/plan.h"
#include "runtime/api.h"

enum { LAUNCH_MAX_ARGS = 64, LAUNCH_MAX_PARAMS = LAUNCH_MAX_ARGS + 4 };

typedef struct launch_kernel {
    const api_driver *driver;
    api_context context;
    unsigned long long context_id; /* a later context may have the same address */
    int ordinal;                   /* of the device */
    api_module module;
    api_function function;
    const launch_plan *plan; /* borrowed */
    bool has_fixed_grid;
    int64_t grid[3];                  /* when fixed */
    int64_t bytes[LAUNCH_MAX_PARAMS]; /* of each tensor; -1 where known at launch only */
    /* Written by the kernel through host memory that the device maps, so that nobody has to copy it: `failed`
     * is 0 until a check fails.  NULL for kernels without checks. */
    tg_checks *checks;
    api_address checks_address;
} launch_kernel;

/* Loads the image into the context.  `image` need not outlive the call. */
int launch_load(const api_driver *driver, api_context context, const void *image, const launch_plan *plan,
                launch_kernel **out);
/* Unloads when the context still lives; accepts NULL. */
void launch_unload(launch_kernel *k);

/* `stream` belongs to the kernel's context. */
int launch_run(launch_kernel *k, void *stream, int nargs, const tg_arg *args);

/* TG_EKERNEL with "file:line: check failed: .." when a check of a finished launch failed, once; else TG_OK.
 * Does not wait. */
int launch_take_failure(launch_kernel *k);

typedef struct {
    int registers, local_bytes, static_shared, blocks_per_sm;
} launch_figures;
int launch_measure(const launch_kernel *k, launch_figures *figures);

#endif
