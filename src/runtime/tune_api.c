/* tune_api.c -- tg_tune(): tuning inside a program, for its own kernel and arguments.
 *
 *     threads   tune_search_next -> jit_compile ---- ready ---+
 *     caller    tg_prepare, launch, is_right, tune_look <-----+     then tune_converge of the best few
 *
 * Read tg_tune() last: it only opens, runs and closes what stands above it. */
#define _GNU_SOURCE /* sched_getaffinity */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "build_id.h"
#include "codegen/target.h"
#include "runtime/error.h"
#include "runtime/jit.h"
#include "runtime/records.h"
#include "runtime/tune.h"
#include "runtime/tune_search.h"

enum { MAX_THREADS = 64, DEFAULT_THREADS = 8 };
static const double default_timeout = 10;

typedef struct entry {
    tg_config config; /* params and tunables */
    const tg_config *own;
    tg_config extents; /* of its launches, once it is compiled; names in its plan */
    bool is_ready, is_done, is_careful;
    record r; /* without params, config and extents */
} entry;

typedef struct tuning {
    tg_jit *jit;
    tg_config params;
    tg_tune_options how;
    int nargs;
    const tg_arg *args;
    device_info device;
    device_handle *handle;
    tune_clock clock;
    const char *target, *nvrtc;
    records old;
    records_file file;
    int n, done, right, best; /* best: entry; -1 */
    entry *entries;
    int64_t *values;
    double began;
    bool is_entered; /* the device's context is the thread's */
    bool is_stuck;   /* a launch has not ended: whatever waits for the GPU would wait for ever */
    /* Shared with the threads. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    tune_search *search;
    bool is_over; /* nothing more is to be compiled */
    int compiling;
} tuning;

/* A launch of one entry, as the timer takes it. */
typedef struct entry_call {
    const tuning *t;
    const entry *e;
} entry_call;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool is_late(const tuning *t) {
    return t->how.seconds > 0 && now() - t->began > t->how.seconds;
}

/* ---- compiling, in threads ----------------------------------------------------------------------------- */

static void first_line(const char *from, char *out, size_t size) {
    snprintf(out, size, "%.*s", (int)strcspn(from, "\n"), from);
}

/* Those of the first set stand for all. */
static void take_extents(const tuning *t, const launch_plan *plan, entry *e) {
    for (int i = 0; i < plan->nparams; i++) {
        const plan_param *p = &plan->params[i];
        if (p->kind == PLAN_EXTENT && p->arg < t->nargs) {
            tg_config_set(&e->extents, p->name, t->args[p->arg].integer);
        }
    }
}

static void compile(const tuning *t, entry *e) {
    jit_compiled made;
    const int code = jit_compile(t->jit, &e->config, t->target, &made);
    if (code) {
        const bool is_compiler = code == TG_EKERNEL && strstr(tg_error(), "CUDA line");
        e->r.status = is_compiler ? RECORD_COMPILE_FAILED : RECORD_REJECTED;
        first_line(tg_error(), e->r.reason, sizeof e->r.reason);
    } else {
        e->r.code = made.code;
        e->r.compile_ms = made.image->notes.compile_ms;
        take_extents(t, made.plan, e);
    }
}

static void *compile_all(void *user) {
    tuning *t = user;
    int next;
    pthread_mutex_lock(&t->lock);
    while (!t->is_over && (next = tune_search_next(t->search)) >= 0) {
        t->compiling++;
        pthread_mutex_unlock(&t->lock);
        compile(t, &t->entries[next]);
        pthread_mutex_lock(&t->lock);
        t->compiling--;
        t->entries[next].is_ready = true;
        pthread_cond_broadcast(&t->changed);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* The next compiled entry; NULL when all that is to be tried was. */
static entry *wait_for_ready(tuning *t, bool (*is_running)(const tuning *t)) {
    entry *found = NULL;
    pthread_mutex_lock(&t->lock);
    for (;;) {
        for (int i = 0; i < t->n && !found; i++) {
            found = t->entries[i].is_ready && !t->entries[i].is_done ? &t->entries[i] : NULL;
        }
        if (found || !is_running(t)) {
            break;
        }
        pthread_cond_wait(&t->changed, &t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    return found;
}

/* ---- records ------------------------------------------------------------------------------------------- */

/* What it is a record of. */
static void name_record(const tuning *t, const entry *e, record *r) {
    r->params = t->params;
    r->config = *e->own;
    r->extents = e->extents;
    r->sms = t->device.sms;
    snprintf(r->kernel, sizeof r->kernel, "%s", jit_name(t->jit));
    snprintf(r->device, sizeof r->device, "%s", t->device.name);
}

static void note(tuning *t, const entry *e) {
    record r = e->r;
    if (t->file.descriptor < 0) {
        return;
    }
    name_record(t, e, &r);
    r.cc_major = t->device.major;
    r.cc_minor = t->device.minor;
    r.seed = t->how.seed;
    r.time = (int64_t)time(NULL);
    const int driver = device_driver_version();
    snprintf(r.tegula, sizeof r.tegula, "%s %.16s", TG_VERSION, TG_BUILD_ID);
    snprintf(r.driver, sizeof r.driver, "%d.%d", driver / 1000, driver % 1000 / 10);
    if (records_add(&t->file, &r) != TG_OK) {
        error_log(TG_LOG_WARNING, "tg_tune: %s", tg_error());
    }
}

/* What the file says of this code. */
static bool recall(const tuning *t, entry *e) {
    record like = {0};
    name_record(t, e, &like);
    const record *r = records_of(&t->old, &like);
    if (!r || !e->r.code || r->code != e->r.code) {
        return false;
    }
    e->r = *r;
    e->is_careful = r->mode == RECORD_STREAM || r->mode == RECORD_COLD;
    return true;
}

/* ---- one configuration --------------------------------------------------------------------------------- */

static int launch(void *user, int set, void *stream) {
    const entry_call *c = user;
    const tuning *t = c->t;
    return tg_launch(t->jit, c->e->config, stream, t->nargs, t->args + (size_t)set * (size_t)t->nargs);
}

static void take_figures(const tg_bench_figures *f, record_mode mode, record *r) {
    r->mode = mode;
    r->median_us = f->median_us;
    r->low_us = f->low_us;
    r->high_us = f->high_us;
    r->min_us = f->min_us;
    r->launches = f->samples * f->launches;
    r->clock_mhz = f->clock_mhz;
}

/* A launch failed: is the GPU still of use?  A code: it is not. */
static int judge_failure(tuning *t, entry *e, int code) {
    first_line(tg_error(), e->r.reason, sizeof e->r.reason);
    t->is_stuck = t->is_stuck || t->clock.is_stuck;
    const int lost = t->is_stuck ? TG_EDRIVER : device_synchronize(t->handle, NULL);
    e->r.status = t->is_stuck          ? RECORD_TIMEOUT
                  : lost               ? RECORD_CRASHED
                  : code == TG_EKERNEL ? RECORD_WRONG
                                       : RECORD_RESOURCES;
    if (!lost) {
        return TG_OK;
    }
    text values = {0};
    for (int i = 0; i < e->own->n; i++) {
        text_print(&values, "%s%s=%" PRId64, i ? " " : "", e->own->p[i].name, e->own->p[i].value);
    }
    error_set(lost, "the GPU is lost to this process by '%s' with %s: %s", jit_name(t->jit),
              values.s ? values.s : "", e->r.reason);
    text_free(&values);
    return lost;
}

/* Loads and runs it once.  A code: nothing can go on. */
static int run_once(tuning *t, entry *e) {
    tg_kernel_info info;
    const entry_call c = {t, e};
    int code = t->how.calls.reset ? t->how.calls.reset(t->how.calls.user) : TG_OK;
    if (code) {
        return code;
    }
    code = tg_info(t->jit, e->config, &info);
    code = code ? code : launch((void *)(uintptr_t)&c, 0, t->clock.stream);
    code = code ? code : device_wait(t->handle, t->clock.stream, t->clock.timeout, &t->is_stuck);
    code = code ? code : tg_wait(t->jit, t->clock.stream);
    if (code) {
        return judge_failure(t, e, code);
    }
    e->r.registers = info.registers;
    e->r.spill_bytes = info.spill_bytes;
    e->r.shared_bytes = info.shared_bytes;
    if (t->how.calls.is_right && !t->how.calls.is_right(t->how.calls.user, &e->config)) {
        e->r.status = RECORD_WRONG;
        snprintf(e->r.reason, sizeof e->r.reason, "the program does not take its result");
    }
    return TG_OK;
}

static int look(tuning *t, entry *e) {
    entry_call c = {t, e};
    tg_bench_figures figures;
    int code = run_once(t, e);
    if (code || e->r.status != RECORD_OK) {
        return code;
    }
    const double best = t->best < 0 ? 0 : t->entries[t->best].r.median_us;
    code = tune_look(&t->clock, launch, &c, t->how.nsets, best, &figures);
    if (code) {
        return judge_failure(t, e, code);
    }
    take_figures(&figures, RECORD_LOOK, &e->r);
    return TG_OK;
}

static void finish(tuning *t, entry *e) {
    e->is_done = true;
    t->done++;
    if (e->r.status != RECORD_OK) {
        return;
    }
    const int number = (int)(e - t->entries);
    t->right++;
    if (t->best < 0 || e->r.median_us < t->entries[t->best].r.median_us) {
        t->best = number;
    }
    pthread_mutex_lock(&t->lock);
    tune_search_tell(t->search, number, e->r.median_us);
    pthread_mutex_unlock(&t->lock);
}

static bool tell_progress(const tuning *t) {
    const entry *best = t->best < 0 ? NULL : &t->entries[t->best];
    return !t->how.calls.progress ||
           t->how.calls.progress(t->how.calls.user, t->done, t->n, best ? &best->config : NULL,
                                 best ? best->r.median_us : 0);
}

/* ---- all of them --------------------------------------------------------------------------------------- */

static bool is_compiling(const tuning *t) {
    return t->compiling > 0 || !t->is_over;
}

static int count_threads(const tuning *t) {
    cpu_set_t set;
    const int processors = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    int n = t->how.jobs > 0 ? t->how.jobs : processors < DEFAULT_THREADS ? processors : DEFAULT_THREADS;
    n = n < t->n ? n : t->n;
    return n > MAX_THREADS ? MAX_THREADS : n;
}

static void end_compiling(tuning *t) {
    pthread_mutex_lock(&t->lock);
    t->is_over = true;
    pthread_mutex_unlock(&t->lock);
}

/* Everybody who compiles has ended when this thread is joined. */
static void *wait_for_threads(void *user) {
    tuning *t = user;
    pthread_t threads[MAX_THREADS];
    const int wanted = count_threads(t);
    int n = 0;
    while (n < wanted && pthread_create(&threads[n], NULL, compile_all, t) == 0) {
        n++;
    }
    if (n == 0) {
        compile_all(t);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
    }
    end_compiling(t);
    pthread_cond_broadcast(&t->changed);
    return NULL;
}

/* What is compiled already when the program or the clock ends it stays untried. */
static int look_at_all(tuning *t) {
    entry *e;
    int code = TG_OK;
    bool is_ended = false;
    while (!code && !is_ended && (e = wait_for_ready(t, is_compiling)) != NULL) {
        if (e->r.status == RECORD_OK && !recall(t, e)) {
            code = look(t, e);
            note(t, e);
        } else if (e->r.status != RECORD_OK) {
            note(t, e);
        }
        finish(t, e);
        is_ended = !tell_progress(t) || is_late(t);
    }
    end_compiling(t);
    return code;
}

/* The best few, the fastest first. */
static int find_best(const tuning *t, int *best) {
    int n = 0;
    for (int i = 0; i < t->n; i++) {
        if (!t->entries[i].is_done || t->entries[i].r.status != RECORD_OK) {
            continue;
        }
        int at = n < TUNE_FINALISTS ? n++ : TUNE_FINALISTS;
        while (at > 0 && t->entries[i].r.median_us < t->entries[best[at - 1]].r.median_us) {
            if (at < TUNE_FINALISTS) {
                best[at] = best[at - 1];
            }
            at--;
        }
        if (at < TUNE_FINALISTS) {
            best[at] = i;
        }
    }
    return n;
}

static int converge(tuning *t, tg_bench_figures *figures) {
    int best[TUNE_FINALISTS], failed = 0;
    entry_call calls[TUNE_FINALISTS];
    tune_finalist f[TUNE_FINALISTS];
    const int n = find_best(t, best);
    for (int i = 0; i < n; i++) {
        calls[i] = (entry_call){t, &t->entries[best[i]]};
        f[i] = (tune_finalist){.call = launch, .user = &calls[i]};
    }
    const int code = tune_converge(&t->clock, t->how.mode, t->how.nsets, f, n, &failed);
    if (code) {
        entry *e = &t->entries[best[failed]];
        const int lost = judge_failure(t, e, code);
        note(t, e);
        return lost ? lost : code;
    }
    for (int i = 0; i < n; i++) {
        entry *e = &t->entries[best[i]];
        take_figures(&f[i].figures, t->how.mode == TG_BENCH_COLD ? RECORD_COLD : RECORD_STREAM, &e->r);
        note(t, e);
        if (i == 0 || f[i].figures.median_us < figures->median_us) {
            t->best = best[i];
            *figures = f[i].figures;
        }
    }
    return TG_OK;
}

static int fail_all(const tuning *t) {
    for (int i = 0; i < t->n; i++) {
        if (t->entries[i].is_done) {
            return error_set(TG_EKERNEL, "none of %d configurations of '%s' is right; the first: %s: %s",
                             t->done, jit_name(t->jit), record_status_name(t->entries[i].r.status),
                             t->entries[i].r.reason);
        }
    }
    return error_set(TG_EKERNEL, "no configuration of '%s' was tried", jit_name(t->jit));
}

/* ---- opening and closing ------------------------------------------------------------------------------- */

/* A row of values for each entry; what a configuration leaves out is a value of its own. */
static int make_values(tuning *t) {
    tg_config names = {0};
    for (int i = 0; i < t->n; i++) {
        for (int j = 0; j < t->entries[i].own->n; j++) {
            if (tg_config_set(&names, t->entries[i].own->p[j].name, INT64_MIN) != TG_OK) {
                return error_set(TG_EARG, "tg_tune: more than %d names", TG_MAX_CONFIG);
            }
        }
    }
    t->values = malloc(((size_t)t->n * (size_t)names.n + 1) * sizeof *t->values);
    for (int i = 0; t->values && i < t->n; i++) {
        for (int j = 0; j < names.n; j++) {
            int64_t *cell = &t->values[(size_t)i * (size_t)names.n + (size_t)j];
            *cell = INT64_MIN;
            tg_config_get(t->entries[i].own, names.p[j].name, cell);
        }
    }
    const tune_search_options how = {.seed = t->how.seed, .in_order = !(t->how.seconds > 0)};
    t->search = t->values ? tune_search_new(t->values, t->n, names.n, &how) : NULL;
    return t->search ? TG_OK : error_set(TG_ENOMEM, "no memory for %d configurations", t->n);
}

static int make_entries(tuning *t, const tg_config *configs) {
    if (t->params.n < 0 || t->params.n > TG_MAX_CONFIG) {
        return error_set(TG_EARG, "tg_tune: the params are %d values; at most %d are allowed", t->params.n,
                         TG_MAX_CONFIG);
    }
    t->entries = calloc((size_t)t->n, sizeof *t->entries);
    if (!t->entries) {
        return error_set(TG_ENOMEM, "no memory for %d configurations", t->n);
    }
    for (int i = 0; i < t->n; i++) {
        entry *e = &t->entries[i];
        e->own = &configs[i];
        e->config = t->params;
        if (configs[i].n < 0 || configs[i].n > TG_MAX_CONFIG) {
            return error_set(TG_EARG, "tg_tune: configuration %d has %d values", i, configs[i].n);
        }
        for (int j = 0; j < configs[i].n; j++) {
            const tg_param *p = &configs[i].p[j];
            if (!p->name || tg_config_set(&e->config, p->name, p->value) != TG_OK) {
                return error_set(TG_EARG,
                                 "tg_tune: configuration %d has too many values, or one without a name", i);
            }
        }
    }
    return make_values(t);
}

static int open_device(tuning *t) {
    int code = device_open_current(&t->handle);
    code = code ? code : device_describe(device_ordinal(t->handle), &t->device);
    if (code) {
        return code;
    }
    const target *arch = target_for_device(t->device.major, t->device.minor);
    if (!arch) {
        return error_set(TG_ENODEVICE, "%s has compute capability %d.%d; 8.0 or newer is needed",
                         t->device.name, t->device.major, t->device.minor);
    }
    t->target = arch->name;
    code = device_enter(t->handle);
    t->is_entered = code == TG_OK;
    code = code ? code : tune_clock_open(t->handle, &t->clock);
    t->clock.timeout = t->how.timeout > 0 ? t->how.timeout : default_timeout;
    return code;
}

static int open_records(tuning *t) {
    int code = t->how.records ? records_read(t->how.records, &t->old) : TG_OK;
    return code || !t->how.records ? code : records_open(t->how.records, &t->file);
}

static void close_all(tuning *t) {
    if (t->clock.device && !t->is_stuck) {
        tune_clock_close(&t->clock);
    }
    if (t->is_entered) {
        device_leave(t->handle);
    }
    device_close(t->handle);
    records_close(&t->file);
    records_free(&t->old);
    tune_search_free(t->search);
    free(t->values);
    free(t->entries);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
}

static int run(tuning *t, tg_tune_result *result) {
    pthread_t compilers;
    if (pthread_create(&compilers, NULL, wait_for_threads, t) != 0) {
        return error_set(TG_ENOMEM, "no thread could be started");
    }
    int code = look_at_all(t);
    char why[512];
    snprintf(why, sizeof why, "%s", tg_error());
    pthread_join(compilers, NULL);
    if (code) {
        return error_set(code, "%s", why);
    }
    code = t->best < 0 ? fail_all(t) : converge(t, &result->figures);
    result->tried = t->done;
    result->right = t->right;
    if (code == TG_OK) {
        result->config = t->entries[t->best].config;
    }
    return code;
}

int tg_tune(tg_jit *jit, tg_config params, int nconfigs, const tg_config *configs, int nargs,
            const tg_arg *args, const tg_tune_options *options, tg_tune_result *result) {
    if (!result) {
        return error_set(TG_EARG, "tg_tune needs a place for its result");
    }
    *result = (tg_tune_result){0};
    if (!jit || nconfigs < 1 || !configs || nargs < 0 || (nargs > 0 && !args)) {
        return error_set(TG_EARG, "tg_tune needs a tg_jit, configurations and arguments");
    }
    tuning t;
    memset(&t, 0, sizeof t);
    t.jit = jit;
    t.params = params;
    t.nargs = nargs;
    t.args = args;
    t.file.descriptor = -1;
    t.n = nconfigs;
    t.best = -1;
    t.began = now();
    pthread_mutex_init(&t.lock, NULL);
    pthread_cond_init(&t.changed, NULL);
    if (options) {
        t.how = *options;
    }
    t.how.nsets = t.how.nsets > 0 ? t.how.nsets : 1;
    int code = make_entries(&t, configs);
    code = code ? code : open_device(&t);
    code = code ? code : open_records(&t);
    code = code ? code : run(&t, result);
    close_all(&t);
    return code;
}
