/* tune.c -- see tune.h. */
#include "runtime/tune.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 3, BATCHES = 3, MAX_BATCH = 64, MIN_BATCH = 2 };

static const double batch_us = 600; /* of a look: events tell 0.5 us, a launch is queued in 3 */
static const double hopeless = 3;   /* times the best: not worth more */
static const double event_us = 10;  /* what the first launch alone may take more than its share of a batch */
static const double round_s = 0.012, round_warm_up_s = 0.001;

/* ---- the clock ----------------------------------------------------------------------------------------- */

int tune_clock_open(device_handle *d, tune_clock *out) {
    *out = (tune_clock){.device = d};
    int code = device_stream_new(d, &out->stream);
    code = code ? code : device_event_new(d, &out->start);
    code = code ? code : device_event_new(d, &out->stop);
    return code ? code : bench_open(d, &out->timer);
}

void tune_clock_close(tune_clock *c) {
    bench_close(c->timer);
    device_event_free(c->device, c->start);
    device_event_free(c->device, c->stop);
    device_stream_free(c->device, c->stream);
    *c = (tune_clock){0};
}

/* ---- a look -------------------------------------------------------------------------------------------- */

/* Microseconds of one of n calls. */
static int time_batch(tune_clock *c, tg_bench_call *call, void *user, int nsets, int n, double *us) {
    double milliseconds = 0;
    int code = device_event_record(c->device, c->start, c->stream);
    for (int i = 0; i < n && !code; i++) {
        code = call(user, i % nsets, c->stream);
    }
    code = code ? code : device_event_record(c->device, c->stop, c->stream);
    if (c->timeout > 0) { /* all is queued by now: no event knows of it */
        code = code ? code : device_wait(c->device, c->stream, c->timeout, &c->is_stuck);
    }
    code = code ? code : device_event_elapsed(c->device, c->start, c->stop, &milliseconds);
    *us = 1000 * milliseconds / n;
    return code;
}

int tune_look(tune_clock *c, tg_bench_call *call, void *user, int nsets, double best_us,
              tg_bench_figures *figures) {
    double us[BATCHES], first = 0;
    int code = time_batch(c, call, user, nsets, 1, &first);
    *figures = (tg_bench_figures){first, first, first, first, 0, 1, 1, false, true, 0};
    if (code || (best_us > 0 && first > hopeless * best_us + event_us)) {
        return code;
    }
    const double wanted = batch_us / (first > 1 ? first : 1);
    const int n = wanted > MAX_BATCH ? MAX_BATCH : wanted < MIN_BATCH ? MIN_BATCH : (int)wanted;
    int done = 0;
    while (done < BATCHES && !code) {
        code = time_batch(c, call, user, nsets, n, &us[done]);
        const bool is_hopeless = best_us > 0 && us[done] > hopeless * best_us;
        done++;
        if (is_hopeless) {
            break;
        }
    }
    if (!code) {
        bench_summarise(us, done, figures);
        figures->launches = n;
        figures->gave_up = done < BATCHES;
    }
    return code;
}

/* ---- the best few -------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of_rounds(const double *x) {
    double sorted[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        sorted[i] = x[i];
    }
    qsort(sorted, ROUNDS, sizeof *sorted, by_size);
    return sorted[ROUNDS / 2];
}

/* One finalist's rounds as one measurement. */
static void unite(const tg_bench_figures *rounds, tg_bench_figures *out) {
    double median[ROUNDS], low[ROUNDS], high[ROUNDS];
    *out = rounds[0];
    out->samples = 0;
    for (int i = 0; i < ROUNDS; i++) {
        median[i] = rounds[i].median_us;
        low[i] = rounds[i].low_us;
        high[i] = rounds[i].high_us;
        out->min_us = rounds[i].min_us < out->min_us ? rounds[i].min_us : out->min_us;
        out->samples += rounds[i].samples;
        out->clock_mhz = rounds[i].clock_mhz;
        out->is_noisy = out->is_noisy || rounds[i].is_noisy;
    }
    out->median_us = median_of_rounds(median);
    out->low_us = median_of_rounds(low);
    out->high_us = median_of_rounds(high);
}

int tune_converge(tune_clock *c, tg_bench_mode mode, int nsets, tune_finalist *f, int n, int *failed) {
    const tg_bench_options how = {.mode = mode,
                                  .seconds = round_s,
                                  .warm_up = round_warm_up_s,
                                  .min_samples = 3,
                                  .max_samples = 40,
                                  .timeout = c->timeout > 0 ? c->timeout : (double)INFINITY};
    tg_bench_figures figures[TUNE_FINALISTS][ROUNDS];
    n = n < TUNE_FINALISTS ? n : TUNE_FINALISTS;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < n; i++) {
            *failed = i;
            const int code = bench_calls(c->timer, f[i].call, f[i].user, nsets, &how, &figures[i][round]);
            if (code) {
                c->is_stuck = bench_is_stuck(c->timer);
                return code;
            }
        }
    }
    for (int i = 0; i < n; i++) {
        unite(figures[i], &f[i].figures);
    }
    return TG_OK;
}
