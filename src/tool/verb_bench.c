/* verb_bench.c -- `tegula bench KERNEL..`: times of kernels on a GPU, for each combination of swept values, beside the
 * memory's ceilings and cuBLAS.  bench_measure.c measures, bench_table.c shows; `bench --jit` is bench_jit.c. */
#include "tool/verb_bench.h"

#include "tool/bench_measure.h"
#include "tool/gpu.h"
#include "tool/report.h"
#include "tool/suite.h"
#include "tool/tool.h"

static int measure_all(const options *o, const gallery *g, bench_results *out) {
    device_info device;
    bool found = false;
    int status = gpu_choose(o, &device, &found);
    if (!status && !found) {
        status =
            tool_fail(STATUS_LACKING, "bench needs a GPU; 'bench --jit' times the compiler without one, and "
                                      "'explain' counts what a kernel costs");
    }
    if (status) {
        return status;
    }
    bench_describe_machine(&device, out);
    return bench_measure(o, g, &device, out);
}

static int show(const options *o, const bench_results *r) {
    text out = {0};
    if (o->json) {
        bench_write_json(r, &out);
    } else if (o->csv) {
        bench_write_csv(r, &out);
    } else if (o->profile) {
        bench_write_checks(r, &out);
    } else {
        bench_write_table(r, &out);
    }
    return report_text(o, &out);
}

/* The figure, beside whatever else is written. */
static int draw(const options *o, const bench_results *r) {
    options to = *o;
    text out = {0};
    to.output = o->svg;
    bench_write_svg(r, bench_has_mode(r, BENCH_STREAM) ? BENCH_STREAM : BENCH_COLD, &out);
    return report_text(&to, &out);
}

static int show_all(const options *o, const bench_results *r) {
    const int shown = show(o, r), drawn = o->svg ? draw(o, r) : STATUS_GOOD;
    return shown > drawn ? shown : drawn;
}

static int bench_kernels(const options *o, gallery *g) {
    options with = *o; /* and the kernels of the suite */
    bench_results results = {.seconds = o->seconds};
    int status = o->suite ? suite_add(g, o->suite, &with) : STATUS_GOOD;
    status = status ? status : measure_all(&with, g, &results);
    if (results.nrows && o->rows) {
        const int read = bench_read(o->rows, true, &results);
        status = read > status ? read : status;
    }
    if (results.nrows) {
        const int shown = show_all(o, &results);
        status = shown > status ? shown : status;
    }
    bench_results_free(&results);
    return status;
}

/* Needs neither GPU nor kernels. */
static int replay(const options *o) {
    bench_results results = {.tegula = "?", .commit = "?", .date = "?"};
    int status = bench_read(o->replay, false, &results);
    status = status || !o->rows ? status : bench_read(o->rows, true, &results);
    if (!status && !results.nrows) {
        status = tool_fail(STATUS_FAULTY, "%s holds no rows", o->replay);
    }
    status = status ? status : show_all(o, &results);
    bench_results_free(&results);
    return status;
}

int verb_bench(const options *o) {
    if (o->replay) {
        return o->noperands || o->suite || o->jit
                   ? tool_fail(STATUS_FAULTY, "--replay shows a file; it takes no kernels, --suite or --jit")
                   : replay(o);
    }
    if (!o->jit && o->noperands == 0 && !o->suite) {
        return tool_fail(STATUS_FAULTY, "bench needs kernels, --suite, --replay or --jit");
    }
    return gallery_run(o, o->jit ? bench_jit : bench_kernels);
}
