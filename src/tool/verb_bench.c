/* verb_bench.c -- `tegula bench KERNEL..`: times of kernels on a GPU, for each combination of swept values.
 * In stream mode (runtime/bench.h); with --repeat N, N launches one by one on the same arguments, warm.
 * `bench --jit` is bench_jit.c. */
#include "tool/verb_bench.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/compare.h"
#include "tool/gpu.h"
#include "tool/reference.h"
#include "tool/report.h"
#include "tool/tool.h"

typedef struct bench {
    const options *o;
    const gallery *g;
    device_info device;
    text out;
    json j;
    int status;
} bench;

/* ---- one configuration --------------------------------------------------------------------------------- */

static double bytes_moved(const arguments *all) {
    double bytes = 0;
    for (int i = 0; i < all->n; i++) {
        const argument *a = &all->item[i];
        bytes += (double)a->bytes * (a->is_tensor ? a->is_read + a->is_written : 0);
    }
    return bytes;
}

static bool is_right(const subject *s, const arguments *all) {
    bool is_good = true;
    for (int i = 0; i < all->n; i++) {
        comparison c;
        if (all->item[i].is_tensor && all->item[i].is_result) {
            compare_tensor(&all->item[i], compare_tolerance(s->kernel->row, all->item[i].type), &c);
            is_good = is_good && c.is_good;
        }
    }
    return is_good;
}

static void show_row(bench *b, const subject *s, const gpu_run *run, double bytes, bool right) {
    text config = {0};
    subject_describe(s, &config);
    if (b->o->json) {
        json_object(&b->j, NULL);
        json_string(&b->j, "kernel", s->kernel->name);
        json_string(&b->j, "config", config.s);
        json_real(&b->j, "median_us", run->median);
        json_real(&b->j, "low_quartile_us", run->low);
        json_real(&b->j, "high_quartile_us", run->high);
        json_int(&b->j, "launches", run->count);
        json_real(&b->j, "gb_per_s", bytes / run->median * 1e-3);
        json_bool(&b->j, "right", right);
        json_end(&b->j);
    } else {
        text_print(&b->out, "%-32s %9.2f us  (%.2f to %.2f, %d launches)  %7.1f GB/s  %s  %s\n",
                   s->kernel->name, run->median, run->low, run->high, run->count, bytes / run->median * 1e-3,
                   right ? "ok" : "WRONG", config.s);
    }
    text_free(&config);
}

static int time_subject(bench *b, subject *s) {
    const pipeline_options how = {0};
    const int count = b->o->repeat ? b->o->repeat : GPU_STREAM;
    arguments all = {0};
    gpu_run run;
    reference_run reference = {0};
    int status = subject_choose_device(b->o, b->device.major, b->device.minor, b->device.name, s);
    status = status ? status : subject_build(b->o, &how, s);
    status = status ? status : inputs_make(b->o, s, &all);
    status = status ? status : gpu_launch(b->o, s, &b->device, NULL, count, &all, &run);
    status = status ? status : reference_compute(b->o, s, &all, &reference);
    if (!status) {
        const bool right = is_right(s, &all) && !run.failed_check[0];
        show_row(b, s, &run, bytes_moved(&all), right);
        status = right ? STATUS_GOOD : STATUS_WRONG;
    }
    inputs_free(&all);
    reference_free(&reference.tile);
    return status;
}

/* ---- all configurations -------------------------------------------------------------------------------- */

/* Which value of each setting; counts like an odometer. */
typedef struct odometer {
    int at[TG_MAX_CONFIG];
} odometer;

static bool advance(odometer *m, const settings *all) {
    for (int i = all->n; i-- > 0;) {
        if (++m->at[i] < all->item[i].n) {
            return true;
        }
        m->at[i] = 0;
    }
    return false;
}

/* The settings of a kernel: common ones, then its own. */
static settings merge(const settings *common, const settings *own) {
    settings all = *common;
    for (int i = 0; i < own->n; i++) {
        int place = 0;
        while (place < all.n && strcmp(all.item[place].name, own->item[i].name) != 0) {
            place++;
        }
        if (place < TG_MAX_CONFIG) {
            all.item[place] = own->item[i];
            all.n = place == all.n ? all.n + 1 : all.n;
        }
    }
    return all;
}

static void time_kernel(bench *b, const operand *which) {
    const settings all = merge(&b->o->common, &which->own);
    options one = *b->o; /* the settings are in the operand */
    odometer m = {{0}};
    one.common.n = 0;
    do {
        operand now = {which->name, all};
        for (int i = 0; i < all.n; i++) {
            if (all.item[i].n > 1) {
                now.own.item[i].values = &all.item[i].values[m.at[i]];
            }
        }
        subject s;
        int status = subject_open(&one, b->g, &now, &s);
        status = status ? status : time_subject(b, &s);
        subject_free(&s);
        b->status = status > b->status ? status : b->status;
    } while (advance(&m, &all));
}

static int bench_kernels(const options *o, gallery *g) {
    bench *b = calloc(1, sizeof *b);
    bool found = false;
    if (!b) {
        return tool_fail(STATUS_LACKING, "out of memory");
    }
    *b = (bench){.o = o, .g = g};
    b->j.out = &b->out;
    b->status = gpu_choose(o, &b->device, &found);
    if (!b->status && !found) {
        b->status =
            tool_fail(STATUS_LACKING, "bench needs a GPU; 'bench --jit' times the compiler without one");
    }
    if (!b->status) {
        if (o->json) {
            json_array(&b->j, NULL);
        }
        for (int i = 0; i < o->noperands; i++) {
            time_kernel(b, &o->operands[i]);
        }
        if (o->json) {
            json_end(&b->j);
        }
        const int written = report_text(o, &b->out);
        b->status = written ? written : b->status;
    }
    const int status = b->status;
    free(b);
    return status;
}

int verb_bench(const options *o) {
    if (!o->jit && o->noperands == 0) {
        return tool_fail(STATUS_FAULTY, "bench needs kernels, or --jit");
    }
    return gallery_run(o, o->jit ? bench_jit : bench_kernels);
}
