/* devices.h -- GPUs by name: the rows of the file that TEGULA_DEVICES names, then those of examples/devices.yaml,
 * which the command carries with it.
 *
 *     a100:
 *         name: NVIDIA A100-SXM4-80GB     what the driver calls it
 *         target: sm_80                   the architecture that code is made for
 *         sms: 108  clock_mhz: 1410  bandwidth_gbs: 2039  l2_kib: 40960
 *         threads_per_sm: 2048  blocks_per_sm: 32  registers_per_sm: 65536  shared_per_sm_kib: 164
 *         shared_kib: 163  memory_cycles: 470  shared_cycles: 30
 *
 * Every key must be there; all numbers are positive integers. */
#ifndef TOOL_DEVICES_H
#define TOOL_DEVICES_H

#include <stdint.h>

#include "codegen/target.h"
#include "tool/options.h"

typedef struct device_row {
    const char *gpu; /* "a100" */
    const char *name;
    const char *target;
    int64_t sms, clock_mhz, bandwidth_gbs, l2_kib, threads_per_sm, blocks_per_sm, registers_per_sm,
        shared_per_sm_kib, shared_kib, memory_cycles, shared_cycles;
} device_row;

typedef struct devices {
    int n, capacity;
    device_row *item; /* in the arena that it was read into */
} devices;

/* False with the reason, in the words of yaml.h. */
bool devices_read(arena *a, const char *file, const char *bytes, size_t size, devices *out, text *error);

/* What --gpu and --target ask for; without both, `otherwise` (a GPU's name).  *gpu is NULL when only --target
 * was given.  The exit status. */
int devices_choose(const options *o, const char *otherwise, arena *a, const device_row **gpu,
                   const target **out);

#endif
