/* bench_ceiling.c -- see bench_ceiling.h.  The kernels are templates/ceiling.cu, compiled once a variant. */
#include "runtime/bench_ceiling.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"
#include "runtime/image.h"
#include "templates.h"

enum { VECTOR = 16 };

/* Block sizes and loads in flight that were the best of a search on an H200; blocks 0: one pass over the data. */
typedef struct {
    bench_ceiling_kind kind;
    unsigned threads, loads, blocks;
} variant;
static const variant variants[] = {
    {BENCH_READ, 256, 1, 0},      {BENCH_READ, 512, 4, 4096}, {BENCH_READ, 512, 4, 0},
    {BENCH_READ, 256, 7, 8192},   {BENCH_COPY, 256, 1, 0},    {BENCH_COPY, 512, 4, 0},
    {BENCH_DRIVER_COPY, 0, 0, 0},
};
enum { NVARIANTS = sizeof variants / sizeof *variants };

struct bench_ceilings {
    bench_timer *timer;
    device_handle *device;
    const api_driver *driver;
    uint64_t vectors; /* of 16 bytes, moved in all */
    int nsets;
    void *from[BENCH_MAX_SETS], *to[BENCH_MAX_SETS];
    api_module modules[NVARIANTS];
    api_function functions[NVARIANTS];
    int current;
    char name[64];
};

const char *bench_ceiling_name(bench_ceiling_kind kind) {
    static const char *const names[] = {"read kernel", "copy kernel", "driver's copy"};
    return names[kind];
}

int bench_ceilings_open(bench_timer *t, device_handle *d, double bytes, bench_ceilings **out) {
    device_info device;
    *out = NULL;
    int code = device_describe(device_ordinal(d), &device);
    bench_ceilings *c = code ? NULL : calloc(1, sizeof *c);
    if (!c) {
        return code ? code : error_set(TG_ENOMEM, "no memory for the ceilings");
    }
    *c = (bench_ceilings){.timer = t, .device = d, .driver = api_driver_open()};
    c->vectors = bytes < 2 * VECTOR ? 2 : (uint64_t)(bytes / VECTOR);
    c->nsets = bench_sets(&device, bytes, 5.0, BENCH_MAX_SETS);
    /* The copies' half and half, the reader's whole: a set is as large as what is read. */
    for (int i = 0; i < c->nsets && code == TG_OK; i++) {
        code = device_alloc(d, c->vectors * VECTOR, &c->from[i]);
        code = code ? code : device_fill(d, c->from[i], (unsigned char)(i + 1), c->vectors * VECTOR);
        code = code ? code : device_alloc(d, (c->vectors / 2) * VECTOR, &c->to[i]);
    }
    if (code != TG_OK) {
        bench_ceilings_close(c);
        return code;
    }
    *out = c;
    return TG_OK;
}

void bench_ceilings_close(bench_ceilings *c) {
    if (!c || bench_is_stuck(c->timer)) { /* freeing would wait, too */
        return;
    }
    if (device_enter(c->device) == TG_OK) {
        for (int i = 0; i < NVARIANTS; i++) {
            if (c->modules[i]) {
                c->driver->module_unload(c->modules[i]);
            }
        }
        device_leave(c->device);
    }
    for (int i = 0; i < c->nsets; i++) {
        device_free(c->device, c->from[i]);
        device_free(c->device, c->to[i]);
    }
    free(c);
}

/* ---- launching ----------------------------------------------------------------------------------------- */

static uint64_t vectors_of(const bench_ceilings *c) {
    return variants[c->current].kind == BENCH_READ ? c->vectors : c->vectors / 2;
}

static unsigned blocks_of(const bench_ceilings *c) {
    const variant *v = &variants[c->current];
    const uint64_t step = (uint64_t)v->threads * v->loads;
    const uint64_t pass = (vectors_of(c) + step - 1) / step;
    return v->blocks ? v->blocks : pass < INT32_MAX ? (unsigned)pass : INT32_MAX;
}

static int launch_kernel_on(void *user, int set, void *stream) {
    bench_ceilings *c = user;
    api_address from = (api_address)(uintptr_t)c->from[set], to = (api_address)(uintptr_t)c->to[set];
    unsigned long long n = vectors_of(c);
    void *arguments[] = {&from, &to, &n};
    const api_launch launch = {
        .grid = {blocks_of(c), 1, 1}, .block = {variants[c->current].threads, 1, 1}, .stream = stream};
    api_result code = c->driver->launch((const void *)&launch, c->functions[c->current], arguments, NULL);
    return code ? api_driver_failed(c->driver, "cuLaunchKernelEx", code) : TG_OK;
}

static int copy_on(void *user, int set, void *stream) {
    bench_ceilings *c = user;
    api_result code =
        c->driver->memory_copy((api_address)(uintptr_t)c->to[set], (api_address)(uintptr_t)c->from[set],
                               vectors_of(c) * VECTOR, stream);
    return code ? api_driver_failed(c->driver, "cuMemcpyDtoDAsync", code) : TG_OK;
}

/* ---- compiling ----------------------------------------------------------------------------------------- */

static int compile_text(const bench_ceilings *c, const char *text, const image **out) {
    device_info device;
    char target[16];
    int code = device_describe(device_ordinal(c->device), &device);
    snprintf(target, sizeof target, "sm_%d%d", device.major, device.minor);
    const nvrtc_request request = {.name = "ceiling", .text = text, .target = target};
    return code ? code : image_get(&request, out);
}

static int load_image(bench_ceilings *c, const image *compiled, const char *name) {
    api_module *module = &c->modules[c->current];
    int code = device_enter(c->device);
    if (code != TG_OK) {
        return code;
    }
    api_result result = c->driver->module_load(module, compiled->data, 0, NULL, NULL);
    result = result ? result : c->driver->module_function(&c->functions[c->current], *module, name);
    device_leave(c->device);
    return result ? api_driver_failed(c->driver, "cuModuleLoadDataEx", result) : TG_OK;
}

static int make_kernel(bench_ceilings *c) {
    const variant *v = &variants[c->current];
    const size_t size =
        sizeof "#define THREADS 1024\n#define LOADS 16\n" + 16 + strlen(tg_template_ceiling_cu);
    const image *compiled = NULL;
    char *text = c->functions[c->current] || v->kind == BENCH_DRIVER_COPY ? NULL : malloc(size);
    if (!text) {
        return c->functions[c->current] || v->kind == BENCH_DRIVER_COPY
                   ? TG_OK
                   : error_set(TG_ENOMEM, "no memory for the text of a ceiling");
    }
    snprintf(text, size, "#define THREADS %u\n#define LOADS %u\n%s", v->threads, v->loads,
             tg_template_ceiling_cu);
    int code = compile_text(c, text, &compiled);
    if (code == TG_OK) {
        code = load_image(c, compiled, v->kind == BENCH_READ ? "ceiling_read" : "ceiling_copy");
        image_release(compiled);
    }
    free(text);
    return code;
}

/* ---- timing -------------------------------------------------------------------------------------------- */

static void describe(bench_ceilings *c) {
    const variant *v = &variants[c->current];
    if (v->kind == BENCH_DRIVER_COPY) {
        snprintf(c->name, sizeof c->name, "cuMemcpyDtoDAsync");
    } else {
        snprintf(c->name, sizeof c->name, "%u threads x %u x 16 B, %u blocks", v->threads, v->loads,
                 blocks_of(c));
    }
}

static int time_current(bench_ceilings *c, const tg_bench_options *how, tg_bench_figures *figures) {
    const bool is_copy = variants[c->current].kind == BENCH_DRIVER_COPY;
    int code = make_kernel(c);
    return code ? code
                : bench_calls(c->timer, is_copy ? copy_on : launch_kernel_on, c, c->nsets, how, figures);
}

/* The fastest at a glance becomes the current one. */
static int choose_variant(bench_ceilings *c, bench_ceiling_kind kind, const tg_bench_options *how) {
    const tg_bench_options glance = bench_glance(how);
    double least_us = 0.0;
    int best = -1;
    for (c->current = 0; c->current < NVARIANTS; c->current++) {
        tg_bench_figures now;
        if (variants[c->current].kind != kind) {
            continue;
        }
        const int code = time_current(c, &glance, &now);
        if (code != TG_OK) {
            return code;
        }
        if (best < 0 || now.median_us < least_us) {
            least_us = now.median_us;
            best = c->current;
        }
    }
    c->current = best;
    return TG_OK;
}

int bench_ceiling_time(bench_ceilings *c, bench_ceiling_kind kind, const tg_bench_options *options,
                       tg_bench_figures *figures, const char **name) {
    tg_bench_options how = options ? *options : (tg_bench_options){0};
    if (kind == BENCH_DRIVER_COPY && how.mode == TG_BENCH_STREAM) {
        how.mode = TG_BENCH_LAUNCHES;
    }
    *figures = (tg_bench_figures){0};
    *name = c->name;
    int code = choose_variant(c, kind, &how);
    if (code == TG_OK) {
        code = time_current(c, &how, figures);
        describe(c);
    }
    return code;
}
