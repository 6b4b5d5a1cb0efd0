/* bench.c -- see bench.h.  Read bench_calls() first, then sample_batch(), which queues one batch. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/bench.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/bench_clock.h"
#include "runtime/bench_flush.h"
#include "runtime/error.h"

enum {
    BATCH = 32,         /* samples between two looks at the clock */
    MAX_LAUNCHES = 128, /* calls in a graph; more only make it dearer to build */
    MAX_QUEUED = 256,   /* calls under way: the driver takes 1024 launches, and a call may be several */
    ESTIMATES = 5,
    DEFAULT_MIN_SAMPLES = 10,
    DEFAULT_MAX_SAMPLES = 1000
};

static const double default_seconds = 0.1, default_warm_up = 0.025, default_timeout = 60.0;
static const double patience = 10.0;   /* times what calls took before: longer, and they count as hung */
static const double graph_us = 4000.0; /* of a replay: events tell 0.5 us */
static const double flush_us = 60.0;   /* of a flush: enough to launch a call of several kernels behind it */
static const double noise_share = 0.01, event_us = 0.5;
static const double steady_clock = 0.95; /* of the highest reading: below it, samples were throttled */

struct bench_timer {
    device_handle *device;
    const api_driver *driver;
    void *stream;
    void *events[2 * BATCH];
    void *marks[2]; /* behind every MAX_QUEUED / 2 calls, in turn */
    bench_flush flush;
    bool is_stuck; /* calls have not ended: whatever waits for the GPU would wait for ever */
};

/* One measurement. */
typedef struct {
    bench_timer *t;
    tg_bench_call *call;
    void *user;
    int nsets;
    tg_bench_options how;
    int launches;       /* calls in a sample */
    int next_set;       /* cold mode rotates too */
    double call_us;     /* what a call took last */
    int mark, unmarked; /* the next of the marks, and calls since the last */
    api_graph graph;
    api_graph_exec replay;
    double *us;
    int n;
    double sample_us;                 /* what a sample costs, flush included */
    int clock_mhz, low_mhz, high_mhz; /* the last reading, the least and the most; 0: none */
} measurement;

static int driver_call(const bench_timer *t, const char *name, api_result code) {
    return code == 0 ? TG_OK : api_driver_failed(t->driver, name, code);
}

/* ---- figures ------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The interval is that of order statistics: whatever the distribution, the median lies between the samples
 * number n/2 - 0.98 sqrt(n) and n/2 + 0.98 sqrt(n) in 95 of 100 cases. */
void bench_summarise(double *us, int n, tg_bench_figures *figures) {
    qsort(us, (size_t)n, sizeof *us, by_size);
    const int away = (int)ceil(0.98 * sqrt((double)n));
    const int low = n / 2 - away < 0 ? 0 : n / 2 - away;
    const int high = n / 2 + away > n - 1 ? n - 1 : n / 2 + away;
    const double median = us[n / 2], interval = (us[high] - us[low]) / 2.0;
    *figures = (tg_bench_figures){.median_us = median,
                                  .low_us = us[n / 4],
                                  .high_us = us[n - 1 - n / 4],
                                  .min_us = us[0],
                                  .interval_us = interval,
                                  .samples = n,
                                  .is_noisy = interval > noise_share * median && interval > event_us};
}

int bench_sets(const device_info *device, double bytes, double times, int most) {
    const double sets = ceil(times * (double)device->l2_bytes / (bytes > 1.0 ? bytes : 1.0));
    return sets < 2.0 ? 2 : sets > (double)most ? most : (int)sets;
}

/* ---- queueing ------------------------------------------------------------------------------------------ */

/* How long to wait for what should take so many microseconds. */
static double limit_of(const measurement *m, double us) {
    return fmax(m->how.timeout, patience * us * 1e-6);
}

/* Until all that is queued has run, which should take so many microseconds.  Asked of the driver when everything is
 * queued, the last event too, so that no sample knows of it. */
static int wait_for(const measurement *m, double us) {
    bench_timer *t = m->t;
    return isinf(m->how.timeout) ? device_synchronize(t->device, t->stream)
                                 : device_wait(t->device, t->stream, limit_of(m, us), &t->is_stuck);
}

/* For one more call: waits for those of a while ago.  The GPU then still has MAX_QUEUED / 2 to do. */
static int make_room(measurement *m) {
    bench_timer *t = m->t;
    if (m->unmarked++ < MAX_QUEUED / 2) {
        return TG_OK;
    }
    m->unmarked = 1;
    int code = device_event_record(t->device, t->marks[m->mark], t->stream);
    m->mark = 1 - m->mark;
    return code ? code
                : device_event_wait(t->device, t->marks[m->mark], limit_of(m, MAX_QUEUED * m->call_us),
                                    &t->is_stuck);
}

static int call_set(const measurement *m, int set) {
    return m->call(m->user, set % m->nsets, m->t->stream);
}

/* Calls one by one, from a set on. */
static int launch_calls(measurement *m, int set, int n) {
    int code = TG_OK;
    for (int i = 0; i < n && code == TG_OK; i++) {
        code = make_room(m);
        code = code ? code : call_set(m, set + i);
    }
    return code;
}

static int record_event(const measurement *m, int number) {
    return device_event_record(m->t->device, m->t->events[number], m->t->stream);
}

/* What a sample times. */
static int launch_sample(measurement *m) {
    switch (m->how.mode) {
    case TG_BENCH_STREAM:
        return driver_call(m->t, "cuGraphLaunch", m->t->driver->graph_launch(m->replay, m->t->stream));
    case TG_BENCH_LAUNCHES:
        return launch_calls(m, 0, m->launches);
    case TG_BENCH_COLD:
        break;
    }
    const int set = m->next_set;
    m->next_set = (set + 1) % m->nsets;
    return call_set(m, set);
}

/* Sample i lies between the events 2i and 2i + 1 in cold mode, i and i + 1 otherwise. */
static int queue_cold(measurement *m, int n) {
    int code = TG_OK;
    for (int i = 0; i < n && code == TG_OK; i++) {
        code = bench_flush_enqueue(&m->t->flush, m->t->stream);
        code = code ? code : record_event(m, 2 * i);
        code = code ? code : launch_sample(m);
        code = code ? code : record_event(m, 2 * i + 1);
    }
    return code;
}

static int queue_stream(measurement *m, int n) {
    int code = launch_sample(m); /* the lead: the GPU is busy while the rest is queued */
    code = code ? code : record_event(m, 0);
    for (int i = 0; i < n && code == TG_OK; i++) {
        code = launch_sample(m);
        code = code ? code : record_event(m, i + 1);
    }
    return code;
}

/* Times n samples, at most BATCH, and keeps them. */
static int sample_batch(measurement *m, int n) {
    const bool is_cold = m->how.mode == TG_BENCH_COLD;
    int code = is_cold ? queue_cold(m, n) : queue_stream(m, n);
    code = code ? code : wait_for(m, (n + 1) * m->sample_us);
    for (int i = 0; i < n && code == TG_OK; i++) {
        double milliseconds = 0.0;
        const int first = is_cold ? 2 * i : i;
        code =
            device_event_elapsed(m->t->device, m->t->events[first], m->t->events[first + 1], &milliseconds);
        m->us[m->n++] = milliseconds * 1e3 / m->launches;
    }
    return code;
}

/* ---- preparing ----------------------------------------------------------------------------------------- */

/* Of n calls in a row, launched one by one; leaves what one took. */
static int time_calls(measurement *m, int n) {
    double milliseconds = 0.0;
    int code = record_event(m, 0);
    code = code ? code : launch_calls(m, 0, n);
    code = code ? code : record_event(m, 1);
    code = code ? code : wait_for(m, n * m->call_us);
    code = code ? code : device_event_elapsed(m->t->device, m->t->events[0], m->t->events[1], &milliseconds);
    m->call_us = milliseconds > 0.0 ? milliseconds * 1e3 / n : event_us;
    return code;
}

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* One call a set.  The first may compile and load before it is queued; how long it then takes is what the others are
 * given. */
static int first_round(measurement *m) {
    int code = launch_calls(m, 0, 1);
    const double from = now_us();
    code = code ? code : wait_for(m, 0.0);
    m->call_us = now_us() - from;
    code = code ? code : launch_calls(m, 1, m->nsets - 1);
    return code ? code : wait_for(m, (m->nsets - 1) * m->call_us);
}

/* Leaves the GPU at work and how long a call takes. */
static int warm_up(measurement *m) {
    int code = first_round(m);
    code = code ? code : time_calls(m, ESTIMATES);
    const double rest = m->how.warm_up * 1e6 / m->call_us;
    const int n = rest < 1e4 ? (int)rest : 10000;
    return code || n <= ESTIMATES ? code : time_calls(m, n);
}

/* Whole rounds over the sets. */
static int choose_launches(const measurement *m) {
    const double wanted = graph_us / m->call_us;
    const int n = wanted > MAX_LAUNCHES ? MAX_LAUNCHES : wanted < 1.0 ? 1 : (int)wanted;
    const int rounds = n / m->nsets;
    return m->nsets * (rounds > 0 ? rounds : 1);
}

/* Records the calls; a failed call still ends the capture. */
static int record_graph(measurement *m) {
    const api_driver *driver = m->t->driver;
    int code =
        driver_call(m->t, "cuStreamBeginCapture", driver->capture_begin(m->t->stream, API_CAPTURE_RELAXED));
    if (code != TG_OK) {
        return code;
    }
    int launched = TG_OK;
    for (int i = 0; i < m->launches && launched == TG_OK; i++) {
        launched = call_set(m, i);
    }
    code = driver_call(m->t, "cuStreamEndCapture", driver->capture_end(m->t->stream, &m->graph));
    if (launched != TG_OK || code != TG_OK) {
        return launched != TG_OK ? launched : code;
    }
    return driver_call(m->t, "cuGraphInstantiateWithFlags",
                       driver->graph_instantiate(&m->replay, m->graph, 0));
}

/* The flush takes as long as the processor needs to launch what follows it. */
static int prepare_cold(const measurement *m, double *flush) {
    bench_timer *t = m->t;
    double milliseconds = 0.0;
    int code = t->flush.memory ? TG_OK : bench_flush_open(t->driver, device_ordinal(t->device), &t->flush);
    t->flush.rounds = 1;
    for (int i = 0; i < 2 && code == TG_OK; i++) { /* the first loads its kernel */
        code = record_event(m, 0);
        code = code ? code : bench_flush_enqueue(&t->flush, t->stream);
        code = code ? code : record_event(m, 1);
        code = code ? code : wait_for(m, 0.0);
        code = code ? code : device_event_elapsed(t->device, t->events[0], t->events[1], &milliseconds);
    }
    *flush = milliseconds > 0.0 ? milliseconds * 1e3 : event_us;
    t->flush.rounds = *flush < flush_us ? (int)ceil(flush_us / *flush) : 1;
    *flush *= t->flush.rounds;
    return code;
}

static int prepare(measurement *m) {
    double flush = 0.0;
    int code = warm_up(m);
    if (code != TG_OK) {
        return code;
    }
    if (m->how.mode == TG_BENCH_COLD) {
        m->launches = 1;
        code = prepare_cold(m, &flush);
    } else {
        m->launches = choose_launches(m);
        code = m->how.mode == TG_BENCH_STREAM ? record_graph(m) : TG_OK;
    }
    m->sample_us = m->call_us * m->launches + flush;
    return code;
}

/* ---- measuring ----------------------------------------------------------------------------------------- */

static bool is_enough(const measurement *m, tg_bench_figures *figures) {
    const double interval = figures->interval_us, median = figures->median_us;
    if (m->how.give_up_us > 0.0 && median - interval > m->how.give_up_us) {
        figures->gave_up = true;
        return true;
    }
    return m->how.precision > 0.0 && (interval <= m->how.precision * median || interval <= event_us);
}

static int count_samples(const measurement *m) {
    const double wanted = m->how.seconds * 1e6 / m->sample_us;
    return wanted < m->how.min_samples   ? m->how.min_samples
           : wanted > m->how.max_samples ? m->how.max_samples
                                         : (int)wanted;
}

/* After a batch, while the GPU still has the clock that it ran with. */
static void read_clock(measurement *m) {
    const int mhz = bench_clock_mhz(m->t->device);
    if (mhz > 0) {
        m->clock_mhz = mhz;
        m->low_mhz = m->low_mhz == 0 || mhz < m->low_mhz ? mhz : m->low_mhz;
        m->high_mhz = mhz > m->high_mhz ? mhz : m->high_mhz;
    }
}

static int measure(measurement *m, tg_bench_figures *figures) {
    int code = prepare(m);
    if (code != TG_OK) {
        return code;
    }
    const int wanted = count_samples(m);
    m->us = malloc((size_t)wanted * sizeof *m->us);
    if (!m->us) {
        return error_set(TG_ENOMEM, "no memory for %d samples", wanted);
    }
    do {
        const int least = m->n == 0 && m->how.min_samples < BATCH ? m->how.min_samples : BATCH;
        code = sample_batch(m, wanted - m->n < least ? wanted - m->n : least);
        if (code != TG_OK) {
            return code;
        }
        read_clock(m);
        bench_summarise(m->us, m->n, figures);
    } while (m->n < wanted && !is_enough(m, figures));
    figures->launches = m->launches;
    figures->clock_mhz = m->clock_mhz;
    figures->is_noisy = figures->is_noisy || m->low_mhz < steady_clock * m->high_mhz;
    return TG_OK;
}

static tg_bench_options with_defaults(const tg_bench_options *options) {
    tg_bench_options how = options ? *options : (tg_bench_options){0};
    how.seconds = how.seconds > 0.0 ? how.seconds : default_seconds;
    how.warm_up = how.warm_up > 0.0 ? how.warm_up : default_warm_up;
    how.timeout = how.timeout > 0.0 ? how.timeout : default_timeout;
    how.min_samples = how.min_samples > 0 ? how.min_samples : DEFAULT_MIN_SAMPLES;
    how.max_samples = how.max_samples > 0 ? how.max_samples : DEFAULT_MAX_SAMPLES;
    how.max_samples = how.max_samples > how.min_samples ? how.max_samples : how.min_samples;
    return how;
}

tg_bench_options bench_glance(const tg_bench_options *options) {
    tg_bench_options how = with_defaults(options);
    how.seconds /= 10.0;
    how.warm_up /= 10.0;
    how.min_samples = how.min_samples < 5 ? how.min_samples : 5;
    return how;
}

int bench_calls(bench_timer *t, tg_bench_call *call, void *user, int nsets, const tg_bench_options *options,
                tg_bench_figures *figures) {
    *figures = (tg_bench_figures){0};
    if (nsets < 1) {
        return error_set(TG_EARG, "a measurement needs at least one set of arguments, not %d", nsets);
    }
    if (t->is_stuck) {
        return error_set(TG_EDRIVER, "the GPU is still busy with a launch that did not end");
    }
    measurement m = {.t = t, .call = call, .user = user, .nsets = nsets, .how = with_defaults(options)};
    int code = device_enter(t->device);
    if (code != TG_OK) {
        return code;
    }
    code = measure(&m, figures);
    if (m.replay && !t->is_stuck) {
        t->driver->graph_exec_destroy(m.replay);
    }
    if (m.graph && !t->is_stuck) {
        t->driver->graph_destroy(m.graph);
    }
    device_leave(t->device);
    free(m.us);
    if (code != TG_OK) {
        *figures = (tg_bench_figures){0};
    }
    return code;
}

/* ---- the timer ----------------------------------------------------------------------------------------- */

int bench_open(device_handle *d, bench_timer **out) {
    *out = NULL;
    bench_timer *t = calloc(1, sizeof *t);
    if (!t) {
        return error_set(TG_ENOMEM, "no memory for a timer");
    }
    t->device = d;
    t->driver = api_driver_open();
    int code = t->driver ? device_stream_new(d, &t->stream) : TG_ENODEVICE;
    for (int i = 0; i < 2 * BATCH && code == TG_OK; i++) {
        code = device_event_new(d, &t->events[i]);
    }
    for (int i = 0; i < 2 && code == TG_OK; i++) {
        code = device_event_new(d, &t->marks[i]);
    }
    if (code != TG_OK) {
        bench_close(t);
        return code;
    }
    *out = t;
    return TG_OK;
}

bool bench_is_stuck(const bench_timer *t) {
    return t->is_stuck;
}

void bench_close(bench_timer *t) {
    if (!t || t->is_stuck) { /* freeing would wait, too */
        return;
    }
    if (t->flush.memory && device_enter(t->device) == TG_OK) {
        bench_flush_close(&t->flush);
        device_leave(t->device);
    }
    for (int i = 0; i < 2 * BATCH; i++) {
        device_event_free(t->device, t->events[i]);
    }
    for (int i = 0; i < 2; i++) {
        device_event_free(t->device, t->marks[i]);
    }
    device_stream_free(t->device, t->stream);
    free(t);
}

/* ---- for programs -------------------------------------------------------------------------------------- */

int tg_bench_calls(tg_bench_call *call, void *user, int nsets, const tg_bench_options *options,
                   tg_bench_figures *figures) {
    device_handle *d = NULL;
    bench_timer *t = NULL;
    if (!call || !figures) {
        return error_set(TG_EARG, "a measurement needs a call and a place for its figures");
    }
    *figures = (tg_bench_figures){0};
    int code = device_open_current(&d);
    code = code ? code : bench_open(d, &t);
    code = code ? code : bench_calls(t, call, user, nsets, options, figures);
    bench_close(t);
    device_close(d);
    return code;
}

typedef struct {
    tg_jit *jit;
    tg_config config;
    int nargs;
    const tg_arg *args;
} launch_of_set;

static int launch_set(void *user, int set, void *stream) {
    const launch_of_set *l = user;
    const tg_arg *args = l->nargs > 0 ? l->args + (size_t)set * (size_t)l->nargs : NULL;
    return tg_launch(l->jit, l->config, stream, l->nargs, args);
}

int tg_bench(tg_jit *jit, tg_config config, int nsets, int nargs, const tg_arg *args,
             const tg_bench_options *options, tg_bench_figures *figures) {
    launch_of_set l = {jit, config, nargs, args};
    if (nargs < 0 || (nargs > 0 && !args)) {
        return error_set(TG_EARG, "a measurement needs the %d arguments of each set", nargs);
    }
    return tg_bench_calls(launch_set, &l, nsets, options, figures);
}
