/* bench.h -- how long a kernel takes on a GPU.
 *
 * Stream mode: a CUDA graph of many launches that rotate over several sets of arguments, so that neither
 * launch overhead nor what the last launch left in the L2 cache counts; the graph is replayed and timed with
 * events. */
#ifndef TG_RUNTIME_BENCH_H
#define TG_RUNTIME_BENCH_H

#include <tegula/tegula.h>

#include "runtime/device.h"

typedef struct {
    double median_us, low_us, high_us, min_us; /* of one call; low and high are the quartiles */
    int samples;                               /* replays of the graph */
    int launches;                              /* in the graph */
} bench_figures;

/* One call, of one launch or several, on the stream with set number `set` of the arguments: TG_OK or a code. */
typedef int bench_launch(void *user, int set, void *stream);

/* Warms up first: that may compile.  Together the sets should be at least twice the L2 cache.  TG_OK, or a code
 * with the error text. */
int bench_stream(device_handle *d, bench_launch *launch, void *user, int nsets, bench_figures *out);

#endif
