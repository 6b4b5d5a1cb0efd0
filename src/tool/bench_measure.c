/* bench_measure.c -- one row a configuration: right before, timed, right after.
 *
 * Read time_subject() first. */
#define _POSIX_C_SOURCE 200809L /* gmtime_r */
#include "tool/bench_measure.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "build_id.h"
#include "runtime/bench_ceiling.h"
#include "runtime/cublas.h"
#include "tool/bench_inputs.h"
#include "tool/compare.h"
#include "tool/gpu.h"
#include "tool/progress.h"
#include "tool/report.h"
#include "tool/sweep.h"
#include "tool/tool.h"

/* The whole command. */
typedef struct measuring_all {
    const options *o;
    const gallery *g;
    const device_info *device;
    bench_inputs *inputs;
    bench_results *out;
    progress bar;
    int done;
    double todo;
    bool is_lost; /* the GPU: no further launch would work */
    int left_out; /* configurations, for that */
} measuring_all;

/* One configuration. */
typedef struct measuring {
    const options *o;
    const device_info *device;
    const subject *s;
    arguments *all;
    gpu_session *gpu;
    bench_results *out;
    int problem;
    bool is_lost; /* the GPU, afterwards */
} measuring;

static const double default_seconds = 0.1;

static bool has_mode(const options *o, int mode) {
    return o->bench_modes & (1 << mode);
}

static tg_bench_options how(const options *o, int mode) {
    return (tg_bench_options){.mode = mode == BENCH_COLD ? TG_BENCH_COLD : TG_BENCH_STREAM,
                              .seconds = o->seconds,
                              .timeout = o->timeout,
                              .min_samples = o->repeat,
                              .max_samples = o->repeat};
}

/* Has a measurement not ended?  Then whatever waits for the GPU would wait for ever. */
static bool is_stuck(const measuring *m) {
    return bench_is_stuck(gpu_timer(m->gpu));
}

/* ---- what is asked of a call --------------------------------------------------------------------------- */

static void count_bytes(const arguments *all, double *bytes, double *written) {
    *bytes = *written = 0.0;
    for (int i = 0; i < all->n; i++) {
        const argument *a = &all->item[i];
        if (a->is_tensor) {
            *bytes += (double)a->bytes * (a->is_read + a->is_written);
            *written += (double)a->bytes * a->is_written;
        }
    }
}

static bool is_right(const measuring *m) {
    for (int i = 0; i < m->all->n; i++) {
        const argument *a = &m->all->item[i];
        comparison c;
        if (a->is_tensor && a->is_result) {
            compare_tensor(a, compare_tolerance(m->s->kernel->row, a->type), &c);
            if (!c.is_good) {
                return false;
            }
        }
    }
    return true;
}

/* Parameters or tunables as the builder saw them. */
static const char *describe(arena *memory, const subject *s, bool is_problem) {
    const tg_kernel *k = s->result.kernel;
    tg_config some = {0};
    text t = {0};
    for (int i = 0; i < k->nparams; i++) {
        if ((k->params[i].source == PARAM_PROBLEM) == is_problem) {
            tg_config_set(&some, k->params[i].name, k->params[i].value);
        }
    }
    report_config(&some, &t);
    const char *kept = arena_copy(memory, t.s ? t.s : "");
    text_free(&t);
    return kept;
}

/* Params and extents. */
static const char *describe_problem(const measuring *m) {
    const char *words = describe(&m->out->memory, m->s, true);
    for (int i = 0; i < m->all->n; i++) {
        const argument *a = &m->all->item[i];
        if (a->is_extent) {
            words = arena_print(&m->out->memory, "%s%s%s=%" PRId64, words, *words ? " " : "", a->name,
                                value_as_int(a->scalar));
        }
    }
    return words;
}

/* "given" where the command line sets a tunable, "tuned" where a record did, else "default". */
static const char *variant_of(const subject *s) {
    const tg_kernel *k = s->result.kernel;
    bool is_tuned = false;
    for (int i = 0; i < k->nparams; i++) {
        if (k->params[i].source == PARAM_GIVEN) {
            return "given";
        }
        is_tuned = is_tuned || k->params[i].source == PARAM_TUNED;
    }
    return is_tuned ? "tuned" : "default";
}

/* ---- what the kernel is held against ------------------------------------------------------------------- */

static int add_ceiling(const measuring *m, bench_ceilings *c, bench_ceiling_kind kind, double bytes) {
    bench_row line = {.kind = BENCH_CEILING,
                      .problem = m->problem,
                      .name = bench_ceiling_name(kind),
                      .variant = "",
                      .config = "",
                      .bytes = bytes};
    int code = TG_OK;
    for (int mode = 0; mode < BENCH_MODES && code == TG_OK; mode++) {
        const tg_bench_options timing = how(m->o, mode);
        const char *name = "";
        if (has_mode(m->o, mode)) {
            code = bench_ceiling_time(c, kind, &timing, &line.time[mode], &name);
            line.variant = *line.variant ? line.variant : arena_copy(&m->out->memory, name);
        }
    }
    if (code == TG_OK) {
        bench_add_row(m->out, &line);
    }
    return code;
}

static int add_ceilings(const measuring *m) {
    const double bytes = floor(m->out->problems[m->problem].bytes / 32.0) * 32.0;
    bench_ceilings *c = NULL;
    int code = bench_ceilings_open(gpu_timer(m->gpu), gpu_device(m->gpu), bytes, &c);
    for (int kind = 0; kind < BENCH_CEILINGS && code == TG_OK; kind++) {
        code = add_ceiling(m, c, (bench_ceiling_kind)kind, bytes);
    }
    bench_ceilings_close(c);
    return code ? tool_fail_code(code, "the memory's ceilings") : STATUS_GOOD;
}

/* ---- cuBLAS -------------------------------------------------------------------------------------------- */

/* Where the arguments of output = matrix * vector stand among those of the call. */
typedef struct gemv_call {
    cublas *library;
    const measuring *m;
    int matrix, vector, output, way;
} gemv_call;

static bool is_vector(const argument *a, int64_t length, int64_t type) {
    return a->is_tensor && a->rank == 1 && a->dim[0] == length && a->type == type;
}

/* False when the call computes no such thing. */
static bool find_gemv(const arguments *all, gemv_call *g) {
    g->matrix = g->vector = g->output = -1;
    for (int i = 0; i < all->n; i++) {
        const argument *a = &all->item[i];
        if (a->is_tensor && a->rank == 2 && !a->is_written && type_is_float(a->type) &&
            a->pitch == a->dim[1]) {
            g->matrix = i;
        }
    }
    for (int i = 0; i < all->n && g->matrix >= 0; i++) {
        const argument *a = &all->item[i], *matrix = &all->item[g->matrix];
        if (a->is_result && is_vector(a, matrix->dim[0], matrix->type)) {
            g->output = i;
        } else if (!a->is_written && is_vector(a, matrix->dim[1], matrix->type)) {
            g->vector = i;
        }
    }
    return g->vector >= 0 && g->output >= 0 && all->item[g->matrix].dim[0] <= INT_MAX &&
           all->item[g->matrix].dim[1] <= INT_MAX;
}

static int launch_gemv(void *user, int set, void *stream) {
    const gemv_call *g = user;
    const argument *matrix = &g->m->all->item[g->matrix];
    const cublas_gemv what = {matrix->type,
                              matrix->dim[0],
                              matrix->dim[1],
                              gpu_address(g->m->gpu, set, g->matrix),
                              gpu_address(g->m->gpu, set, g->vector),
                              gpu_address(g->m->gpu, set, g->output)};
    return cublas_gemv_launch(g->library, g->way, &what, stream);
}

static bench_check check_gemv(const gemv_call *g) {
    argument *a = &g->m->all->item[g->output];
    comparison c;
    if (device_get(gpu_device(g->m->gpu), a->after, gpu_address(g->m->gpu, 0, g->output), a->bytes)) {
        return BENCH_WRONG;
    }
    compare_tensor(a, compare_tolerance(g->m->s->kernel->row, a->type), &c);
    return c.is_good ? BENCH_RIGHT : BENCH_WRONG;
}

/* The fastest of the ways that the library has and takes for this problem, at a glance; -1 with the code of one that
 * failed when all do, or when one does not end. */
static int choose_way(gemv_call *g, const tg_bench_options *timing, int *code) {
    const tg_bench_options glance = bench_glance(timing);
    const int64_t type = g->m->all->item[g->matrix].type;
    double least_us = 0.0;
    int best = -1;
    for (g->way = 0; g->way < CUBLAS_WAYS; g->way++) {
        tg_bench_figures now;
        if (!cublas_way(g->library, g->way, type)) {
            continue;
        }
        const int tried =
            bench_calls(gpu_timer(g->m->gpu), launch_gemv, g, gpu_sets(g->m->gpu), &glance, &now);
        *code = tried ? tried : *code;
        if (is_stuck(g->m)) {
            return -1;
        }
        if (!tried && (best < 0 || now.median_us < least_us)) {
            least_us = now.median_us;
            best = g->way;
        }
    }
    return best;
}

static int time_gemv(gemv_call *g, int mode, bench_row *line, const char **best) {
    const tg_bench_options timing = how(g->m->o, mode);
    int code = TG_OK;
    g->way = choose_way(g, &timing, &code);
    if (g->way < 0) {
        return code;
    }
    code = bench_calls(gpu_timer(g->m->gpu), launch_gemv, g, gpu_sets(g->m->gpu), &timing, &line->time[mode]);
    line->check = code || line->check == BENCH_WRONG ? line->check : check_gemv(g);
    *best = cublas_way(g->library, g->way, g->m->all->item[g->matrix].type);
    return code;
}

static int time_library(const measuring *m, gemv_call *g, bench_row *line) {
    const char *best[BENCH_MODES] = {NULL};
    int code = cublas_open(gpu_device(m->gpu), &g->library);
    for (int mode = 0; mode < BENCH_MODES && code == TG_OK; mode++) {
        code = has_mode(m->o, mode) ? time_gemv(g, mode, line, &best[mode]) : TG_OK;
    }
    if (code == TG_OK) {
        m->out->cublas = arena_copy(&m->out->memory, cublas_version(g->library));
    }
    if (!is_stuck(m)) {
        cublas_close(g->library);
    }
    const char *stream = best[BENCH_STREAM], *cold = best[BENCH_COLD];
    line->variant = !stream ? cold ? cold : ""
                    : !cold || !strcmp(stream, cold)
                        ? stream
                        : arena_print(&m->out->memory, "%s; cold: %s", stream, cold);
    return code;
}

/* A library that is missing or refuses is a row with its reason; only one that never ends is a failure too. */
static int add_library(const measuring *m) {
    gemv_call g = {.m = m};
    bench_row line = {.kind = BENCH_LIBRARY,
                      .problem = m->problem,
                      .name = "cuBLAS",
                      .variant = "",
                      .config = "",
                      .bytes = m->out->problems[m->problem].bytes};
    if (!find_gemv(m->all, &g)) {
        return STATUS_GOOD;
    }
    const int code = time_library(m, &g, &line);
    if (code != TG_OK) {
        line.word = arena_copy(&m->out->memory, tg_error());
    }
    bench_add_row(m->out, &line);
    return is_stuck(m) ? tool_fail_code(code, "cuBLAS") : STATUS_GOOD;
}

/* ---- one configuration --------------------------------------------------------------------------------- */

/* Small problems come back to a set before the cache has forgotten it. */
static void note_cache(const measuring *m, bench_row *line) {
    if (has_mode(m->o, BENCH_STREAM) && gpu_sets(m->gpu) * line->bytes < 2.0 * m->device->l2_bytes) {
        line->word = "stream mode: partly from the L2 cache";
    }
}

static int time_modes(const measuring *m, bench_row *line) {
    int status = gpu_make_sets(m->gpu, m->all);
    for (int mode = 0; mode < BENCH_MODES && !status; mode++) {
        const tg_bench_options timing = how(m->o, mode);
        status = has_mode(m->o, mode) ? gpu_time(m->gpu, &timing, &line->time[mode]) : STATUS_GOOD;
    }
    note_cache(m, line);
    return status;
}

/* Runs the call once and judges it. */
static int check_call(const measuring *m, bench_row *line, const char *when) {
    gpu_run run;
    const int status = gpu_call(m->gpu, m->all, &run);
    if (status) {
        return status;
    }
    if (run.failed_check[0]) {
        line->check = BENCH_WRONG;
        line->word = arena_copy(&m->out->memory, run.failed_check);
    } else if (!is_right(m)) {
        line->check = BENCH_WRONG;
        line->word = arena_print(&m->out->memory,
                                 "differs from the reference %s timing: 'tegula run' shows where", when);
    } else {
        line->check = line->check == BENCH_WRONG ? BENCH_WRONG : BENCH_RIGHT;
    }
    return STATUS_GOOD;
}

/* The target may have no such launches, or the kernel nothing to gain: subject.c has said so. */
static bool is_dependent(const measuring *m) {
    return m->o->dependent && m->s->target->dependent_launch;
}

static bool has_kind(const measuring *m, bench_kind kind) {
    for (int i = 0; i < m->out->nrows; i++) {
        if (m->out->rows[i].problem == m->problem && m->out->rows[i].kind == kind) {
            return true;
        }
    }
    return false;
}

/* The ceilings and the library, once a problem. */
static int hold_against(const measuring *m) {
    const int status = has_kind(m, BENCH_CEILING) ? STATUS_GOOD : add_ceilings(m);
    const int library = has_kind(m, BENCH_LIBRARY) || is_stuck(m) ? STATUS_GOOD : add_library(m);
    return status ? status : library;
}

static int time_on_gpu(measuring *m) {
    double bytes, written;
    arena *memory = &m->out->memory;
    bench_row line = {
        .kind = BENCH_KERNEL,
        .name = arena_print(memory, "%s%s", m->s->kernel->name, is_dependent(m) ? ", dependent" : ""),
        .variant = variant_of(m->s),
        .config = describe(memory, m->s, false)};
    count_bytes(m->all, &bytes, &written);
    line.bytes = bytes;
    m->problem = line.problem = bench_problem_number(m->out, describe_problem(m), bytes, written);
    int status = check_call(m, &line, "before");
    if (!status && line.check == BENCH_RIGHT && !m->o->profile) {
        status = time_modes(m, &line);
        status = status ? status : check_call(m, &line, "after");
    }
    if (status) { /* a configuration that fails is a row too */
        line.check = BENCH_UNCHECKED;
        line.word = arena_copy(memory, tg_error());
        memset(line.time, 0, sizeof line.time);
    }
    bench_add_row(m->out, &line);
    if (!status && gpu_timer(m->gpu)) {
        status = hold_against(m);
    }
    return status ? status : line.check == BENCH_WRONG ? STATUS_WRONG : STATUS_GOOD;
}

static int open_and_time(measuring *m) {
    gpu_run run;
    int status = gpu_open(m->o, m->s, m->device, NULL, &m->gpu, &run);
    status = status ? status : time_on_gpu(m);
    m->is_lost = status == STATUS_WRONG && gpu_is_lost(m->gpu);
    gpu_close(m->gpu);
    m->gpu = NULL;
    return status;
}

/* What --tuned asks for is a row of its own; without a record there is none. */
static bool has_record(const subject *s) {
    for (int i = 0; i < s->nsteps; i++) {
        if (s->steps[i].s->tuned.n) {
            return true;
        }
    }
    return false;
}

/* DEFAULTS: tunables that are not given have their defaults.  AS_USED: those of a record where there is one.  TUNED:
 * those of a record, else nothing is measured. */
typedef enum schedule { DEFAULTS, AS_USED, TUNED } schedule;

static int time_subject(measuring_all *all, const options *o, schedule which, subject *s) {
    const pipeline_options plain = {0};
    measuring m = {.o = o, .device = all->device, .s = s, .all = &all->inputs->all, .out = all->out};
    int status = subject_choose_device(o, all->device->major, all->device->minor, all->device->name, s);
    if (!status && which != DEFAULTS) {
        status = subject_use_records(o, all->device->name, all->device->sms, s);
    }
    if (!status && which == TUNED && !has_record(s)) {
        fprintf(stderr, "tegula: no tuned record for %s\n", s->kernel->name);
        return STATUS_GOOD;
    }
    status = status ? status : subject_build(o, &plain, s);
    if (status) {
        return status;
    }
    const char *problem = describe(&all->out->memory, s, true);
    const int kept = all->out->nrows;
    status = bench_inputs_get(o, s, problem, all->inputs);
    status = status ? status : open_and_time(&m);
    if (status == STATUS_WRONG && all->inputs->is_reused &&
        !m.is_lost) { /* perhaps its reference reads tunables */
        all->out->nrows = kept;
        bench_inputs_free(all->inputs);
        status = bench_inputs_get(o, s, problem, all->inputs);
        status = status ? status : open_and_time(&m);
    }
    all->is_lost = m.is_lost;
    return status;
}

/* ---- all configurations -------------------------------------------------------------------------------- */

static int measure_operand(measuring_all *all, const options *one, const operand *which,
                           schedule how_scheduled) {
    subject s;
    if (all->is_lost) {
        all->left_out++;
        return STATUS_WRONG;
    }
    int status = subject_open(one, all->g, which, &s);
    status = status ? status : time_subject(all, one, how_scheduled, &s);
    subject_free(&s);
    return status;
}

/* With --tuned the defaults and what the records say, else what a launch would use. */
static int measure_schedules(measuring_all *all, const options *one, const operand *which) {
    if (!all->o->tuned) {
        return measure_operand(all, one, which, AS_USED);
    }
    const int status = measure_operand(all, one, which, DEFAULTS),
              tuned = measure_operand(all, one, which, TUNED);
    return status > tuned ? status : tuned;
}

/* One configuration; with --dependent as plain launches and as dependent ones, so that both are of one run. */
static int measure_configuration(measuring_all *all, options *one, const operand *which) {
    const target *t = target_for_device(all->device->major, all->device->minor);
    const bool is_both = all->o->dependent && t && t->dependent_launch;
    int worst = STATUS_GOOD;
    for (int i = 0; i <= (int)is_both; i++) {
        one->dependent = all->o->dependent && (i == 1 || !is_both);
        one->quiet = all->o->quiet || all->done > 0 || i == 1; /* the target is said once */
        const int status = measure_schedules(all, one, which);
        worst = status > worst ? status : worst;
    }
    return worst;
}

/* One kernel with the common values chosen: its own sweeps. */
static int measure_kernel(measuring_all *all, const settings *common, const operand *which) {
    const settings swept = sweep_merge(common, &which->own);
    options one = *all->o; /* the settings are in the operand */
    sweep m = {{0}};
    int worst = STATUS_GOOD;
    one.common.n = 0;
    do {
        const operand now = {which->name, sweep_chosen(&m, &swept)};
        const int status = measure_configuration(all, &one, &now);
        worst = status > worst ? status : worst;
        progress_show(&all->bar, (double)++all->done / all->todo);
    } while (sweep_advance(&m, &swept));
    return worst;
}

static double combinations(const settings *all) {
    double n = 1.0;
    for (int i = 0; i < all->n; i++) {
        n *= all->item[i].n > 1 ? all->item[i].n : 1;
    }
    return n;
}

int bench_measure(const options *o, const gallery *g, const device_info *device, bench_results *out) {
    bench_inputs inputs = {0};
    measuring_all all = {.o = o, .g = g, .device = device, .inputs = &inputs, .out = out};
    sweep m = {{0}};
    int worst = STATUS_GOOD;
    for (int i = 0; i < o->noperands; i++) {
        const settings swept = sweep_merge(&o->common, &o->operands[i].own);
        all.todo += combinations(&swept);
    }
    progress_begin(&all.bar, "measuring", o);
    do {
        const settings common = sweep_chosen(&m, &o->common);
        for (int i = 0; i < o->noperands; i++) {
            const int status = measure_kernel(&all, &common, &o->operands[i]);
            worst = status > worst ? status : worst;
        }
    } while (sweep_advance(&m, &o->common));
    progress_end(&all.bar);
    bench_inputs_free(&inputs);
    if (all.left_out) {
        tool_fail(worst, "the GPU is lost with that: %d more configurations were not measured", all.left_out);
    }
    return worst;
}

/* ---- the machine --------------------------------------------------------------------------------------- */

void bench_describe_machine(const device_info *device, bench_results *out) {
    const int driver = device_driver_version();
    const api_nvrtc *nvrtc = api_nvrtc_open(NULL);
    const time_t now = time(NULL);
    char date[32] = "";
    struct tm utc;
    if (gmtime_r(&now, &utc)) {
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
    out->tegula = tg_version();
    out->commit = TG_BUILD_COMMIT;
    out->date = arena_copy(&out->memory, date);
    out->gpu = arena_copy(&out->memory, device->name);
    out->driver = arena_print(&out->memory, "%d.%d", driver / 1000, driver % 1000 / 10);
    out->nvrtc = nvrtc ? arena_print(&out->memory, "%d.%d", nvrtc->major, nvrtc->minor) : NULL;
    out->seconds = out->seconds > 0.0 ? out->seconds : default_seconds;
}
