/* bench_flush.h -- empties a GPU's L2 cache of what a call would find there.
 *
 * A memory write over twice the cache, then a read of the same bytes: after the write alone the cache is full of
 * lines that still have to be written back, which the next kernel would wait for (32.1 against 33.3 us for a GEMV
 * of 117 MB on an H200). */
#ifndef TG_RUNTIME_BENCH_FLUSH_H
#define TG_RUNTIME_BENCH_FLUSH_H

#include "runtime/device.h"

typedef struct bench_flush {
    const api_driver *driver;
    api_module module;
    api_function reader;
    api_address memory;
    size_t bytes;
    unsigned blocks;
    int rounds; /* of write and read in one flush: long enough to launch the next call behind */
} bench_flush;

/* In the current context, which is the device's.  Zeroed memory is a flush that was never opened. */
int bench_flush_open(const api_driver *driver, int ordinal, bench_flush *f);
void bench_flush_close(bench_flush *f);
int bench_flush_enqueue(const bench_flush *f, void *stream);

#endif
