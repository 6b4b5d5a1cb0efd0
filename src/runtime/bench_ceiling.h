/* bench_ceiling.h -- the ceilings that a memory-bound kernel is held against, measured with the same timer: a kernel
 * that only reads, one that only copies, and the driver's own copy. */
#ifndef TG_RUNTIME_BENCH_CEILING_H
#define TG_RUNTIME_BENCH_CEILING_H

#include "runtime/bench.h"

typedef enum bench_ceiling_kind {
    BENCH_READ,        /* reads all of the bytes */
    BENCH_COPY,        /* reads half of the bytes and writes the other half */
    BENCH_DRIVER_COPY, /* the same by the driver's copy; launched one by one, since a graph slows it down */
} bench_ceiling_kind;
enum { BENCH_CEILINGS = BENCH_DRIVER_COPY + 1 };

const char *bench_ceiling_name(bench_ceiling_kind kind);

typedef struct bench_ceilings bench_ceilings;

/* For so many bytes moved, at least 32; the kernels come with the first use (NVRTC).  TG_OK or a code. */
int bench_ceilings_open(bench_timer *t, device_handle *d, double bytes, bench_ceilings **out);
void bench_ceilings_close(bench_ceilings *c); /* accepts NULL; on a timer that is stuck nothing is freed */

/* The fastest variant's figures; *variant: "512 threads x 4 x 16 B, 3584 blocks", valid until the next call. */
int bench_ceiling_time(bench_ceilings *c, bench_ceiling_kind kind, const tg_bench_options *options,
                       tg_bench_figures *figures, const char **variant);

#endif
