/* tune_replay.c -- `tegula tune --replay FILE`: the search on a file of records, as if they were measured now.
 *
 * The points are those that the file has for the kernel, its params and the device; time passes as it would on the
 * processors of this machine (or -j N), so that searches and budgets can be compared without a GPU. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/report.h"
#include "tool/tool.h"
#include "tool/tune.h"

/* Seconds of a look, of the finals, and of a point that is rejected before it is compiled. */
static const double look_s = 0.005, finals_s = 0.3, examine_s = 0.0005;

/* The device of most records. */
static const record *main_device(const records *r) {
    const record *best = NULL;
    int most = 0;
    for (int i = 0; i < r->n; i++) {
        int n = 0;
        for (int j = 0; j < r->n; j++) {
            n += r->item[i].sms == r->item[j].sms && strcmp(r->item[i].device, r->item[j].device) == 0;
        }
        if (n > most) {
            most = n;
            best = &r->item[i];
        }
        i += 63; /* a file has few devices and many lines of each */
    }
    return best;
}

static void take_outcome(const record *r, tune_outcome *out) {
    *out = (tune_outcome){.status = r->status,
                          .mode = r->mode,
                          .median_us = r->median_us,
                          .low_us = r->low_us,
                          .high_us = r->high_us,
                          .min_us = r->min_us,
                          .launches = r->launches,
                          .registers = r->registers,
                          .spill_bytes = r->spill_bytes,
                          .shared_bytes = r->shared_bytes,
                          .compile_ms = r->compile_ms,
                          .code = r->code};
    snprintf(out->reason, sizeof out->reason, "%s", r->reason);
}

static bool is_of(const record *r, const tune_problem *p, const char *device, int sms) {
    return r->sms == sms && strcmp(r->device, device) == 0 && strcmp(r->kernel, p->kernel->name) == 0 &&
           records_same_config(&r->params, &p->params) && records_same_config(&r->extents, &p->extents);
}

/* Points and how they ended, one outcome a point; free it. */
static int points_of_records(tune_problem *p, const records *r, const char *device, int sms,
                             tune_outcome **out) {
    const size_t width = (size_t)p->tunables.n;
    int64_t *values = malloc(((size_t)r->n + 1) * (width + 1) * sizeof *values);
    *out = calloc((size_t)r->n + 1, sizeof **out);
    int n = 0;
    for (int i = 0; values && *out && i < r->n; i++) {
        bool is_whole = !r->is_old[i] && is_of(&r->item[i], p, device, sms);
        for (size_t j = 0; j < width && is_whole; j++) {
            is_whole =
                tg_config_get(&r->item[i].config, p->tunables.p[j].name, &values[(size_t)n * width + j]);
        }
        if (is_whole) {
            take_outcome(&r->item[i], &(*out)[n++]);
        }
    }
    free(p->values);
    free(p->points);
    tune_search_free(p->search);
    const tune_search_options how = {.seed = p->one.seed, .in_order = !(p->one.budget > 0)};
    p->values = values;
    p->n = n;
    p->points = calloc((size_t)n + 1, sizeof *p->points);
    p->search = values ? tune_search_new(values, n, (int)width, &how) : NULL;
    if (!values || !*out || !p->points || !p->search) {
        return tool_fail(STATUS_LACKING, "out of memory");
    }
    p->standard = -1;
    for (int i = 0; i < n; i++) {
        const tg_config config = tune_config(p, i);
        p->points[i].twin = -1;
        p->standard = records_same_config(&config, &p->tunables) ? i : p->standard;
    }
    return STATUS_GOOD;
}

/* Without a budget in the order of the file. */
static int replay_problem(tune *t, tune_problem *p, double until, double *clock) {
    tune_outcome *out = NULL;
    int point = 0, status = points_of_records(p, &t->old, t->device.name, t->device.sms, &out);
    const double workers = t->o->jobs ? t->o->jobs : 15;
    while (!status && (t->o->budget <= 0 || *clock < until) && (point = tune_search_next(p->search)) >= 0) {
        const tune_outcome *x = &out[point];
        const double compiling = x->compile_ms / 1000 / workers;
        *clock += x->code ? (compiling > look_s ? compiling : look_s) : examine_s;
        p->nproposed++;
        t->examined++;
        tune_take(p, point, x);
        if (x->status == RECORD_OK) {
            tune_search_tell(p->search, point, x->median_us);
        }
    }
    for (int i = 0; !status && i < p->n; i++) {
        if (out[i].status == RECORD_OK && (p->known_us == 0 || out[i].median_us < p->known_us)) {
            p->known_us = out[i].median_us;
        }
    }
    t->is_late = t->is_late || (!status && point >= 0 && p->nproposed < p->n);
    *clock += finals_s;
    p->is_proposed = p->is_final = true;
    free(out);
    return status;
}

/* What the file has instead. */
static int fail_empty(const tune *t, const tune_problem *p) {
    text known = {0}, wanted = {0}, last = {0};
    tune_describe(p, &wanted);
    for (int i = 0; i < t->old.n; i++) {
        const record *r = &t->old.item[i];
        text now = {0};
        if (strcmp(r->kernel, p->kernel->name) == 0) {
            report_config(&r->params, &now);
            text_add(&now, r->extents.n ? " " : "");
            report_config(&r->extents, &now);
            text_print(&now, " on %s", r->device);
            if (!last.s || strcmp(last.s, now.s) != 0) {
                text_print(&known, "%s%s", known.length ? "; " : "", now.s);
            }
            text_free(&last);
            last = now;
        }
    }
    tool_fail(STATUS_FAULTY, "--replay %s: no record of %s with %s on %s%s%s", t->o->replay, p->kernel->name,
              wanted.s ? wanted.s : "", t->device.name, known.s ? "; there are: " : "",
              known.s ? known.s : "");
    text_free(&known);
    text_free(&wanted);
    text_free(&last);
    return STATUS_FAULTY;
}

int tune_replay(tune *t) {
    const record *from = main_device(&t->old);
    double clock = 0;
    int status = STATUS_GOOD;
    if (!from) {
        return tool_fail(STATUS_FAULTY, "--replay %s: the file has no record", t->o->replay);
    }
    snprintf(t->device.name, sizeof t->device.name, "%s", from->device);
    t->device.sms = from->sms;
    for (int i = 0; i < t->n && !status; i++) {
        status = replay_problem(t, &t->problems[i], t->o->budget * (i + 1) / t->n - finals_s, &clock);
        if (!status && t->problems[i].n == 0) {
            status = fail_empty(t, &t->problems[i]);
        }
    }
    t->seconds = clock;
    return status;
}
