/* jit.h -- what the tool and the tests need of tg_jit beyond the public functions.
 *
 * How a launch finds its kernel (jit.c):
 *
 *     configuration + context --> binding --> launch_kernel      read without a lock, 200 ns at most
 *              | no such binding
 *              v
 *     configuration + target  --> variant (plan, image)          one builder run at a time for each
 *              | no such variant
 *              v
 *     pipeline --> text --> image_get (memory, disk, NVRTC) */
#ifndef TG_RUNTIME_JIT_H
#define TG_RUNTIME_JIT_H

#include <tegula/tegula.h>

#include "codegen/plan.h"
#include "runtime/device.h"
#include "runtime/image.h"
#include "runtime/launch.h"
#include "runtime/nvrtc.h"

typedef struct {
    bool has_line_info;
    bool no_contraction;  /* -fmad=false: as the witnesses compute */
    bool is_dependent;    /* tg_jit_dependent() */
    bool ignores_records; /* tunables that are not given have their defaults */
} jit_settings;

const char *jit_name(const tg_jit *jit);
/* Before the first launch. */
void jit_set(tg_jit *jit, const jit_settings *settings);

/* What a configuration becomes for a target, without a device: for `emit` and the benchmark of the JIT.  The
 * same search as a launch's, memory first.  Valid until tg_jit_free(). */
typedef struct {
    const image *image;
    const launch_plan *plan;
    uint64_t code; /* image_text_digest() of the CUDA text */
} jit_compiled;
int jit_compile(tg_jit *jit, const tg_config *config, const char *target_name, jit_compiled *out);

/* A kernel from a given text with the plan of another: `run --cuda`.  The plan is borrowed; launch_unload()
 * frees. */
int jit_load_text(device_handle *d, const nvrtc_request *request, const launch_plan *plan,
                  launch_kernel **out);

#endif
