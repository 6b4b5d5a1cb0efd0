/* gpu_cases.h -- kernels of the other tests that run on the GPU too: block view, in many sizes. */
#ifndef GPU_CASES_H
#define GPU_CASES_H

#include <tegula/tegula.h>

/* Where the configuration has `threads`, `width` or `stages`, other values are tried than those given. */
typedef struct gpu_entry {
    const char *name;
    tg_builder *build;
    tg_config config;
} gpu_entry;

extern const gpu_entry gpu_entries[];
extern const int gpu_nentries;

#endif
