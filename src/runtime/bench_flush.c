/* bench_flush.c -- see bench_flush.h.
 *
 * The reader is templates/flush.ptx, not a kernel of the language, so that cold mode needs libcuda only. */
#include "runtime/bench_flush.h"

#include "runtime/error.h"
#include "templates.h"

enum { THREADS = 256, BLOCKS_PER_SM = 8, VECTOR = 16, LEAST_BYTES = 1 << 20 };

static int driver_call(const bench_flush *f, const char *name, api_result code) {
    return code == 0 ? TG_OK : api_driver_failed(f->driver, name, code);
}

int bench_flush_open(const api_driver *driver, int ordinal, bench_flush *f) {
    device_info device;
    *f = (bench_flush){.driver = driver, .rounds = 1};
    int code = device_describe(ordinal, &device);
    if (code != TG_OK) {
        return code;
    }
    f->bytes = 2 * (size_t)(device.l2_bytes > LEAST_BYTES ? device.l2_bytes : LEAST_BYTES);
    f->blocks = (unsigned)(device.sms > 0 ? device.sms : 1) * BLOCKS_PER_SM;
    code = driver_call(f, "cuMemAlloc", driver->memory_alloc(&f->memory, f->bytes));
    if (code == TG_OK) {
        code = driver_call(f, "cuModuleLoadDataEx",
                           driver->module_load(&f->module, tg_template_flush_ptx, 0, NULL, NULL));
    }
    if (code == TG_OK) {
        code = driver_call(f, "cuModuleGetFunction",
                           driver->module_function(&f->reader, f->module, "tegula_flush"));
    }
    if (code != TG_OK) {
        bench_flush_close(f);
    }
    return code == TG_OK ? TG_OK : error_prefix(code, "emptying the L2 cache between samples: ");
}

void bench_flush_close(bench_flush *f) {
    if (f->module) {
        f->driver->module_unload(f->module);
    }
    if (f->memory) {
        f->driver->memory_free(f->memory);
    }
    *f = (bench_flush){0};
}

int bench_flush_enqueue(const bench_flush *f, void *stream) {
    api_address memory = f->memory;
    unsigned vectors = (unsigned)(f->bytes / VECTOR);
    void *arguments[] = {&memory, &vectors};
    const api_launch launch = {.grid = {f->blocks, 1, 1}, .block = {THREADS, 1, 1}, .stream = stream};
    api_result code = 0;
    for (int i = 0; i < f->rounds && !code; i++) {
        code = f->driver->memory_set(f->memory, (unsigned char)i, f->bytes, stream);
        code = code ? code : f->driver->launch((const void *)&launch, f->reader, arguments, NULL);
    }
    return driver_call(f, "emptying the L2 cache", code);
}
