/* tune_gpu.c -- the process that has the GPU: runs compiled points, compares, times; alone on the device.
 *
 * Arguments stay on the device from point to point, and from kernel to kernel where names, shapes and reference are
 * the same: only what a kernel writes is set back before its result is looked at.  The reference is asked again for a
 * point in which something has another value that it looked at the last time.  After an error that leaves the
 * context unusable the process answers and ends; the master starts another. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/error.h"
#include "runtime/jit.h"
#include "tool/child.h"
#include "tool/compare.h"
#include "tool/gpu.h"
#include "tool/reference.h"
#include "tool/tool.h"
#include "tool/tune.h"

/* The arguments that lie on the device, and what must come out. */
typedef struct prepared {
    const tune_problem *of; /* whose they were made; NULL: none yet */
    subject *owner;         /* names live in it */
    reference_function *reference, *inputs;
    arguments all;
    int nsets;
    void *address[BENCH_MAX_SETS][INPUTS_MAX];
    tg_arg args[BENCH_MAX_SETS][INPUTS_MAX];
    void *good[INPUTS_MAX]; /* a result that was compared and is right; NULL */
    bool is_own;            /* a reference of the kernel's own has said what must come out */
    config_reads reads;     /* what it asked for */
    arena names;            /* in `reads`: they live longer than the point */
} prepared;

typedef struct session {
    const tune *t;
    int channel;
    device_handle *device;
    tune_clock clock;
    prepared now;
} session;

/* A point, compiled and loaded. */
typedef struct call {
    session *x;
    subject s;
    tg_jit **jit; /* one a step */
    int point;
    tune_outcome out;
} call;

static bool answer(const session *x, tune_answer_kind kind, int problem, int point, const tune_outcome *out) {
    tune_answer a = {.kind = kind, .problem = problem, .point = point};
    if (out) {
        a.out = *out;
    }
    return tune_send(x->channel, &a, sizeof a);
}

/* ---- outcomes of failures ------------------------------------------------------------------------------ */

static bool says(const char *word) {
    return strstr(tg_error(), word) != NULL;
}

static void fail(tune_outcome *out, int code) {
    switch ((tg_status)code) {
    case TG_EKERNEL:
        out->status = says("check failed") ? RECORD_WRONG : RECORD_REJECTED;
        break;
    case TG_EARG:
        out->status = RECORD_REJECTED;
        break;
    case TG_EDRIVER:
        out->status = says("OUT_OF_RESOURCES") || says("OUT_OF_MEMORY") || says("INVALID_VALUE")
                          ? RECORD_RESOURCES
                          : RECORD_CRASHED;
        break;
    default:
        out->status = RECORD_CRASHED;
        break;
    }
    snprintf(out->reason, sizeof out->reason, "%.*s", (int)strcspn(tg_error(), "\n"), tg_error());
}

/* The last answer to a job; after a failure the context may be lost, and the process with it. */
static void answer_last(const session *x, tune_answer_kind kind, int problem, int point,
                        const tune_outcome *out) {
    tune_answer a = {.kind = kind, .problem = problem, .point = point};
    if (out) {
        a.out = *out;
    }
    a.is_leaving = (!out || out->status != RECORD_OK) && device_synchronize(x->device, NULL) != TG_OK;
    tune_send(x->channel, &a, sizeof a);
    if (a.is_leaving) {
        _exit(1);
    }
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

static bool same_argument(const argument *a, const argument *b) {
    return strcmp(a->name, b->name) == 0 && a->is_tensor == b->is_tensor && a->is_extent == b->is_extent &&
           a->type == b->type && a->scalar.type == b->scalar.type && a->scalar.bits == b->scalar.bits &&
           a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim) == 0 && a->pitch == b->pitch &&
           a->bytes == b->bytes && a->is_read == b->is_read && a->is_written == b->is_written &&
           a->is_result == b->is_result;
}

static bool same_shapes(const arguments *a, const arguments *b) {
    bool is = a->n == b->n;
    for (int i = 0; is && i < a->n; i++) {
        is = same_argument(&a->item[i], &b->item[i]);
    }
    return is;
}

static bool same_inputs(const row *a, const row *b) {
    const int n = a ? a->ninputs : 0;
    if (n != (b ? b->ninputs : 0)) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        const row_input *x = &a->inputs[i], *y = &b->inputs[i];
        if (strcmp(x->name, y->name) != 0 || x->kind != y->kind || x->low != y->low || x->high != y->high) {
            return false;
        }
    }
    return true;
}

/* Whether what lies on the device serves this problem too. */
static bool is_prepared(const prepared *now, const tune_problem *p, const subject *s, const arguments *wanted,
                        reference_function *reference) {
    const bool is = now->of && same_shapes(&now->all, wanted);
    if (!is || now->of == p) {
        return is;
    }
    return reference && reference == now->reference && gallery_inputs(s->kernel) == now->inputs &&
           same_inputs(now->of->kernel->row, p->kernel->row) &&
           records_same_config(&now->of->params, &p->params);
}

static void forget_wanted(prepared *now) {
    for (int i = 0; i < now->all.n; i++) {
        free(now->good[i]);
        now->good[i] = NULL;
    }
    arena_free(&now->names);
    now->names = (arena){0};
}

static void forget(session *x) {
    prepared *now = &x->now;
    forget_wanted(now);
    for (int i = 0; i < now->all.n; i++) {
        for (int j = 0; j < now->nsets; j++) {
            device_free(x->device, now->address[j][i]);
        }
    }
    inputs_free(&now->all);
    if (now->owner) {
        subject_free(now->owner);
    }
    free(now->owner);
    *now = (prepared){0};
}

static int upload_set(session *x, int set) {
    prepared *now = &x->now;
    int code = TG_OK;
    for (int i = 0; i < now->all.n && !code; i++) {
        const argument *a = &now->all.item[i];
        if (a->is_tensor) {
            code = device_alloc(x->device, a->bytes ? a->bytes : 1, &now->address[set][i]);
            code =
                code || !a->bytes ? code : device_put(x->device, now->address[set][i], a->before, a->bytes);
        }
        now->args[set][i] = gpu_argument(a, now->address[set][i]);
    }
    return code;
}

static double bytes_of(const arguments *all) {
    double bytes = 1;
    for (int i = 0; i < all->n; i++) {
        bytes += all->item[i].is_tensor ? (double)all->item[i].bytes : 0;
    }
    return bytes;
}

/* More sets than the cache holds; fewer where the device's memory is short, one at least. */
static int upload(session *x) {
    prepared *now = &x->now;
    const int wanted = bench_sets(&x->t->device, bytes_of(&now->all), 5.0, BENCH_MAX_SETS);
    int code = TG_OK;
    for (int i = 0; i < wanted && !code; i++) {
        now->nsets = i + 1;
        code = upload_set(x, i);
        if (code == TG_ENOMEM && i > 0) {
            for (int j = 0; j < now->all.n; j++) {
                device_free(x->device, now->address[i][j]);
                now->address[i][j] = NULL;
            }
            now->nsets = i;
            return TG_OK;
        }
    }
    return code;
}

static int compute_reference(session *x, const subject *s) {
    prepared *now = &x->now;
    reference_run run = {0};
    forget_wanted(now);
    for (int i = 0; i < now->all.n; i++) {
        const argument *a = &now->all.item[i];
        if (a->is_tensor && a->is_written) {
            memcpy(a->wanted, a->before, a->bytes);
        }
    }
    const int status = reference_compute(x->t->o, s, &now->all, &run);
    reference_free(&run.tile);
    now->is_own = run.is_own;
    now->reads = run.reads;
    for (int i = 0; i < now->reads.of.n; i++) {
        now->reads.of.p[i].name = arena_copy(&now->names, now->reads.of.p[i].name);
    }
    return status || !now->names.failed ? status : tool_fail(STATUS_FAULTY, "out of memory");
}

/* Whether what the reference said last holds for this point too.  (What a kernel means without a reference of its own
 * does not depend on how it is scheduled.) */
static bool is_wanted_of(const prepared *now, const subject *s) {
    const tg_config config = inputs_config(s, &now->all);
    return !now->is_own || config_reads_same(&now->reads, &config);
}

static bool faulty(session *x, int problem, const char *why) {
    tune_outcome out = {.status = RECORD_CRASHED};
    snprintf(out.reason, sizeof out.reason, "%s", why);
    answer(x, ANSWER_FAULTY, problem, 0, &out);
    forget(x);
    return false;
}

/* Makes arguments and what must come out of them; false after ANSWER_FAULTY. */
static bool prepare(session *x, int problem, int point) {
    const tune_problem *p = &x->t->problems[problem];
    const pipeline_options how = {0};
    forget(x);
    answer(x, ANSWER_PREPARING, problem, point, NULL);
    subject *owner = calloc(1, sizeof *owner);
    if (!owner) {
        return faulty(x, problem, "out of memory");
    }
    x->now.owner = owner;
    int status = tune_subject(p, x->t->g, point, NULL, owner);
    status = status ? status : subject_build(&p->one, &how, owner);
    status = status ? status : inputs_shapes(&p->one, owner, &x->now.all);
    status = status ? status : inputs_fill(&p->one, owner, &x->now.all);
    if (!status && !gallery_reference(p->kernel, &x->now.reference)) {
        status = STATUS_FAULTY;
    }
    x->now.inputs = gallery_inputs(p->kernel);
    status = status ? status : compute_reference(x, owner);
    if (status) {
        return faulty(x, problem, "its arguments or its reference cannot be made (see above)");
    }
    if (upload(x) != TG_OK) {
        return faulty(x, problem, tg_error());
    }
    x->now.of = p;
    return answer(x, ANSWER_PREPARED, problem, point, NULL);
}

/* ---- a point, ready to be launched --------------------------------------------------------------------- */

static int launch(void *user, int set, void *stream) {
    const call *c = user;
    int code = TG_OK;
    for (int i = 0; i < c->s.nsteps && !code; i++) {
        const subject_step *step = &c->s.steps[i];
        tg_arg own[INPUTS_MAX];
        for (int j = 0; j < step->nargs; j++) {
            own[j] = c->x->now.args[set][step->arg[j]];
        }
        code = tg_launch(c->jit[i], step->s->config, stream, step->nargs, own);
    }
    return code;
}

static int load_step(call *c, int number) {
    const jit_settings how = {.ignores_records = true};
    const subject *s = c->s.steps[number].s;
    tg_kernel_info info;
    c->jit[number] = tg_jit_new(s->kernel->name, s->kernel->build, s->user, s->user_size);
    if (!c->jit[number]) {
        return TG_ENOMEM;
    }
    jit_set(c->jit[number], &how);
    const int code = tg_info(c->jit[number], s->config, &info);
    if (!code && s == &c->s) {
        c->out.registers = info.registers;
        c->out.spill_bytes = info.spill_bytes;
        c->out.shared_bytes = info.shared_bytes;
        if (info.blocks_per_sm == 0) {
            return error_set(TG_EDRIVER, "OUT_OF_RESOURCES: not one block fits a multiprocessor");
        }
    }
    return code;
}

typedef enum opened {
    OPENED,
    FAILED,         /* c->out says why */
    FAULTY_PROBLEM, /* the master knows */
    OTHER_ARGUMENTS /* than those on the device, which must stay */
} opened;

/* Builds, loads, and, where allowed, makes arguments when those on the device do not fit. */
static opened open_call(session *x, int problem, int point, bool may_prepare, call *c) {
    const tune_problem *p = &x->t->problems[problem];
    const pipeline_options how = {0};
    arguments wanted;
    reference_function *reference;
    text why = {0};
    *c = (call){.x = x, .point = point, .out = {.status = RECORD_OK}};
    int status = tune_subject(p, x->t->g, point, &why, &c->s);
    status = status ? status : subject_build(&p->one, &how, &c->s);
    status = status ? status : inputs_shapes(&p->one, &c->s, &wanted);
    if (status) {
        c->out.status = RECORD_REJECTED;
        snprintf(c->out.reason, sizeof c->out.reason, "%s", why.s ? why.s : "it cannot be built");
        text_free(&why);
        return FAILED;
    }
    c->s.why = NULL;
    reference = NULL;
    gallery_reference(p->kernel, &reference);
    if (!is_prepared(&x->now, p, &c->s, &wanted, reference)) {
        if (!may_prepare) {
            return OTHER_ARGUMENTS;
        }
        if (!prepare(x, problem, point)) {
            return FAULTY_PROBLEM;
        }
    }
    c->jit = calloc((size_t)c->s.nsteps, sizeof(tg_jit *));
    int code = c->jit ? TG_OK : TG_ENOMEM;
    for (int i = 0; i < c->s.nsteps && !code; i++) {
        code = load_step(c, i);
    }
    if (code) {
        fail(&c->out, code);
    }
    return code ? FAILED : OPENED;
}

static void close_call(call *c) {
    for (int i = 0; c->jit && i < c->s.nsteps; i++) {
        tg_jit_free(c->jit[i]);
    }
    free(c->jit);
    subject_free(&c->s);
}

/* ---- right or wrong ------------------------------------------------------------------------------------ */

static int run_once(call *c) {
    session *x = c->x;
    prepared *now = &x->now;
    int code = TG_OK;
    for (int i = 0; i < now->all.n && !code; i++) {
        const argument *a = &now->all.item[i];
        if (a->is_tensor && a->is_written && a->bytes) {
            code = device_put(x->device, now->address[0][i], a->before, a->bytes);
        }
    }
    code = code ? code : launch(c, 0, x->clock.stream);
    code = code ? code : device_synchronize(x->device, x->clock.stream);
    for (int i = 0; i < c->s.nsteps && !code; i++) { /* has a check() failed? */
        if (c->s.steps[i].s->result.plan->nchecks) {
            code = tg_wait(c->jit[i], x->clock.stream);
        }
    }
    for (int i = 0; i < now->all.n && !code; i++) {
        argument *a = &now->all.item[i];
        if (a->is_tensor && a->is_result && a->bytes) {
            code = device_get(x->device, a->after, now->address[0][i], a->bytes);
        }
    }
    return code;
}

static void say_wrong(const comparison *c, tune_outcome *out) {
    const wrong_element *w = &c->first[0];
    text why = {0};
    text_print(&why, "%" PRId64 " of %" PRId64 " elements of %s wrong", c->wrong, c->elements,
               c->tensor->name);
    if (c->nfirst) {
        text_print(&why, ", the first at [");
        for (int d = 0; d < c->tensor->rank; d++) {
            text_print(&why, "%s%" PRId64, d ? ", " : "", w->index[d]);
        }
        text_print(&why, w->is_unwritten ? "] never written" : "] is %.6g, wanted %.6g", w->got, w->wanted);
    } else {
        text_print(&why, ": error %.2e of %.0e allowed", c->error, c->tolerance);
    }
    out->status = RECORD_WRONG;
    snprintf(out->reason, sizeof out->reason, "%s", why.s ? why.s : "");
    text_free(&why);
}

/* What is equal to a right result byte for byte needs no second comparison. */
static bool compare_all(call *c) {
    prepared *now = &c->x->now;
    for (int i = 0; i < now->all.n; i++) {
        const argument *a = &now->all.item[i];
        comparison found;
        if (!a->is_tensor || !a->is_result ||
            (now->good[i] && memcmp(now->good[i], a->after, a->bytes) == 0)) {
            continue;
        }
        compare_tensor(a, compare_tolerance(c->s.kernel->row, a->type), &found);
        if (!found.is_good) {
            say_wrong(&found, &c->out);
            return false;
        }
        now->good[i] = now->good[i] ? now->good[i] : malloc(a->bytes + 1);
        if (now->good[i]) {
            memcpy(now->good[i], a->after, a->bytes);
        }
    }
    return true;
}

static bool compare_by_reference(call *c) {
    if (!is_wanted_of(&c->x->now, &c->s) && compute_reference(c->x, &c->s)) {
        c->out.status = RECORD_CRASHED;
        snprintf(c->out.reason, sizeof c->out.reason, "its reference cannot be computed");
        return false;
    }
    return compare_all(c);
}

/* Runs it and compares; false with c->out.  How long a large tensor takes to compare says nothing of the kernel. */
static bool is_right(call *c, int problem) {
    const int code = run_once(c);
    if (code) {
        fail(&c->out, code);
        return false;
    }
    answer(c->x, ANSWER_COMPARING, problem, c->point, NULL);
    const bool is_good = compare_by_reference(c);
    answer(c->x, ANSWER_PREPARED, problem, c->point, NULL);
    return is_good;
}

/* ---- times --------------------------------------------------------------------------------------------- */

static void take_figures(const tg_bench_figures *f, record_mode mode, tune_outcome *out) {
    out->mode = mode;
    out->median_us = f->median_us;
    out->low_us = f->low_us;
    out->high_us = f->high_us;
    out->min_us = f->min_us;
    out->launches = f->samples * f->launches;
    out->clock_mhz = f->clock_mhz;
}

static void look(session *x, const tune_job *job) {
    call c;
    tg_bench_figures figures;
    const opened how = open_call(x, job->problem, job->point, true, &c);
    if (how == FAULTY_PROBLEM) {
        close_call(&c);
        return;
    }
    if (how == OPENED && is_right(&c, job->problem)) {
        const int code = tune_look(&x->clock, launch, &c, x->now.nsets, job->best_us, &figures);
        if (code) {
            fail(&c.out, code);
        } else {
            take_figures(&figures, RECORD_LOOK, &c.out);
        }
    }
    answer_last(x, ANSWER_DONE, job->problem, job->point, &c.out);
    close_call(&c);
}

/* Times n open calls in turn and runs each once more: is the result still right? */
static void converge(session *x, int problem, call *c, int n) {
    tune_finalist f[TUNE_FINALISTS];
    int failed = 0;
    for (int i = 0; i < n; i++) {
        f[i] = (tune_finalist){.call = launch, .user = &c[i]};
    }
    const int code = tune_converge(&x->clock, TG_BENCH_STREAM, x->now.nsets, f, n, &failed);
    if (code) {
        fail(&c[failed].out, code);
        answer(x, ANSWER_DONE, problem, c[failed].point, &c[failed].out);
    }
    for (int i = 0; i < n && !code; i++) {
        take_figures(&f[i].figures, RECORD_STREAM, &c[i].out);
        is_right(&c[i], problem);
        answer(x, ANSWER_DONE, problem, c[i].point, &c[i].out);
    }
}

/* One that cannot be opened is told; the master asks again without it. */
static bool open_finalist(session *x, const tune_job *job, int number, bool may_prepare, call *c,
                          opened *how) {
    *how = open_call(x, job->problem, job->finalists[number], may_prepare, c);
    if (*how == FAILED) {
        answer(x, ANSWER_DONE, job->problem, c->point, &c->out);
    }
    return *how == OPENED;
}

static void finals(session *x, const tune_job *job) {
    call c[TUNE_FINALISTS];
    opened how = OPENED;
    int n = 0;
    while (n < job->n && open_finalist(x, job, n, n == 0, &c[n], &how)) {
        n++;
    }
    if (how == OPENED) {
        converge(x, job->problem, c, n);
    }
    for (int i = 0; i < (how == OPENED ? n : n + 1); i++) {
        close_call(&c[i]);
    }
    for (int i = 0; how == OTHER_ARGUMENTS && i < job->n; i++) { /* each has its own: one by one */
        opened one;
        if (open_finalist(x, job, i, true, &c[0], &one)) {
            converge(x, job->problem, c, 1);
        }
        close_call(&c[0]);
    }
    answer_last(x, ANSWER_END, job->problem, 0, NULL);
}

/* ---- the process --------------------------------------------------------------------------------------- */

static void lacking(const session *x) {
    tune_outcome out = {.status = RECORD_CRASHED};
    snprintf(out.reason, sizeof out.reason, "%s", tg_error());
    answer(x, ANSWER_LACKING, 0, 0, &out);
    _exit(1);
}

void tune_gpu(const tune *t, int channel) {
    session x = {.t = t, .channel = channel};
    tune_job job;
    int code = device_open(t->device.ordinal, &x.device);
    code = code ? code : device_enter(x.device);
    code = code ? code : tune_clock_open(x.device, &x.clock);
    if (code) {
        lacking(&x);
    }
    answer(&x, ANSWER_READY, 0, 0, NULL);
    while (tune_receive(channel, &job, sizeof job)) {
        if (job.kind == JOB_FINALS) {
            finals(&x, &job);
        } else {
            look(&x, &job);
        }
    }
    _exit(0);
}
