/* tune_table.c -- what a tuning run found: tables for people, JSON for programs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/inputs.h"
#include "tool/report.h"
#include "tool/tool.h"
#include "tool/tune.h"

enum { SHOWN = 10 };

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* Order of two reasons, numbers in them left out: "32 * 64 threads" and "16 * 256 threads" are one reason. */
static int compare_reasons(const char *a, const char *b) {
    static const char digits[] = "0123456789";
    for (;;) {
        a += strspn(a, digits);
        b += strspn(b, digits);
        if (!*a || *a != *b) {
            return (unsigned char)*a - (unsigned char)*b;
        }
        a++;
        b++;
    }
}

/* Timed with care before looked at, then by time; what failed comes last, in the order of the statuses. */
static const tune_problem *sorted_problem;

static int by_result(const void *a, const void *b) {
    const tune_outcome *x = &sorted_problem->points[*(const int *)a].out;
    const tune_outcome *y = &sorted_problem->points[*(const int *)b].out;
    const int failed_x = x->status != RECORD_OK, failed_y = y->status != RECORD_OK;
    if (failed_x || failed_y) {
        const int reasons = compare_reasons(x->reason, y->reason);
        return failed_x != failed_y     ? failed_x - failed_y
               : x->status != y->status ? (int)x->status - (int)y->status
               : reasons                ? reasons
                                        : *(const int *)a - *(const int *)b;
    }
    const int looked_x = x->mode == RECORD_LOOK, looked_y = y->mode == RECORD_LOOK;
    return looked_x != looked_y           ? looked_x - looked_y
           : x->median_us != y->median_us ? (x->median_us > y->median_us ? 1 : -1)
                                          : *(const int *)a - *(const int *)b;
}

/* Points that are done, the best first; how many.  `good`: how many of them are right. */
static int sort_points(const tune_problem *p, int *order, int *good) {
    int n = 0;
    *good = 0;
    for (int i = 0; i < p->n; i++) {
        if (p->points[i].state == POINT_DONE) {
            order[n++] = i;
            *good += p->points[i].out.status == RECORD_OK;
        }
    }
    sorted_problem = p;
    if (n > 0) {
        qsort(order, (size_t)n, sizeof *order, by_result);
    }
    return n;
}

/* What a call reads and writes at least. */
static double bytes_moved(const tune_problem *p) {
    arguments all;
    double bytes = 0;
    if (!p->s.result.plan || inputs_shapes(&p->one, &p->s, &all) != STATUS_GOOD) {
        return 0;
    }
    for (int i = 0; i < all.n; i++) {
        const argument *a = &all.item[i];
        bytes += (double)a->bytes * (a->is_tensor ? a->is_read + a->is_written : 0);
    }
    return bytes;
}

/* ---- text ---------------------------------------------------------------------------------------------- */

static void print_time(const tune_problem *p, int point, double bytes, text *out) {
    const tune_outcome *x = &p->points[point].out;
    const tg_config config = tune_config(p, point);
    text_print(out, "  %10.2f us", x->median_us);
    if (x->mode == RECORD_LOOK) {
        text_print(out, "  %-20s", "(a look)");
    } else {
        char quartiles[48];
        snprintf(quartiles, sizeof quartiles, "(%.2f to %.2f)", x->low_us, x->high_us);
        text_print(out, "  %-20s", quartiles);
    }
    if (bytes > 0) {
        text_print(out, " %8.1f GB/s", bytes / x->median_us * 1e-3);
    }
    text_print(out, " %4d registers", x->registers);
    text_print(out, x->spill_bytes ? ", %d bytes spilled  " : "  ", x->spill_bytes);
    report_config(&config, out);
    text_add(out, point == p->standard ? "  (default)\n" : "\n");
}

static void print_times(const tune *t, const tune_problem *p, const int *order, int good, text *out) {
    const double bytes = bytes_moved(p);
    const int shown = t->o->verbose || good < SHOWN ? good : SHOWN;
    bool has_default = false;
    for (int i = 0; i < good; i++) {
        if (i < shown || order[i] == p->standard) {
            if (i >= shown) {
                text_print(out, "  %13s\n", "..");
            }
            print_time(p, order[i], bytes, out);
        }
        has_default = has_default || order[i] == p->standard;
    }
    if (shown < good) {
        text_print(out, "  (%d more: -v)\n", good - shown);
    }
    if (has_default && order[0] != p->standard) {
        text_print(out, "  the best is %.2f times as fast as the default\n",
                   p->points[p->standard].out.median_us / p->points[order[0]].out.median_us);
    }
}

/* Equal reasons stand together: one line with the first configuration of them; with -v all, each with its own. */
static void print_failures(const tune *t, const tune_problem *p, const int *order, int from, int n,
                           text *out) {
    for (int i = from; i < n;) {
        const tune_outcome *x = &p->points[order[i]].out;
        int equal = 1;
        while (i + equal < n && p->points[order[i + equal]].out.status == x->status &&
               compare_reasons(p->points[order[i + equal]].out.reason, x->reason) == 0) {
            equal++;
        }
        text_print(out, "  %4d %s: %s\n", equal, record_status_name(x->status), x->reason);
        for (int j = 0; j < (t->o->verbose ? equal : 1); j++) {
            const tg_config config = tune_config(p, order[i + j]);
            text_add(out, t->o->verbose ? "         " : "         such as ");
            report_config(&config, out);
            if (t->o->verbose) {
                text_print(out, "  %s", p->points[order[i + j]].out.reason);
            }
            text_add(out, "\n");
        }
        i += equal;
    }
}

static void print_problem(const tune *t, const tune_problem *p, text *out) {
    int *order = malloc(((size_t)p->n + 1) * sizeof *order), good = 0;
    if (!order) {
        return;
    }
    const int n = sort_points(p, order, &good);
    text_print(out, "%s ", p->kernel->name);
    tune_describe(p, out);
    text_print(out, " on %s: %d configurations, %d right", t->device.name, n, good);
    if (n < p->n || p->space > TUNE_MAX_POINTS) {
        text_print(out, ", of %.10g", p->space > (double)p->n ? p->space : (double)p->n);
    }
    text_add(out, "\n");
    print_times(t, p, order, good, out);
    if (p->known_us > 0 && n < p->n && p->best >= 0) {
        text_print(out, "  %.1f %% of the speed of the best in the file, %.2f us, after %d of %d\n",
                   100 * p->known_us / p->best_us, p->known_us, n, p->n);
    }
    print_failures(t, p, order, good, n, out);
    free(order);
}

static void print_summary(const tune *t, text *out) {
    int done = 0, recorded = 0;
    for (int i = 0; i < t->n; i++) {
        done += t->problems[i].ndone;
        for (int j = 0; j < t->problems[i].n; j++) {
            recorded += t->problems[i].points[j].is_recorded;
        }
    }
    if (t->lacking[0]) {
        text_print(out, "ended early: %s\n", t->lacking);
    }
    text_print(out, "%d configurations in %.1f s, %.1f a second", done, t->seconds,
               t->seconds > 0 ? done / t->seconds : 0);
    if (recorded) {
        text_print(out, "; %d of them were in the file already", recorded);
    }
    if (t->path) {
        text_print(out, "; records in %s", t->path);
    }
    text_add(out, t->is_late ? "; time is up before all were tried\n" : "\n");
    if (t->is_interrupted) {
        text_add(out, "interrupted: the same command goes on from here\n");
    }
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static void json_config(json *j, const char *key, const tg_config *config) {
    json_object(j, key);
    for (int i = 0; i < config->n; i++) {
        json_value(j, config->p[i].name, config->p[i].value);
    }
    json_end(j);
}

static void json_point(json *j, const tune_problem *p, int point) {
    const tune_outcome *x = &p->points[point].out;
    const tg_config config = tune_config(p, point);
    json_object(j, NULL);
    json_config(j, "config", &config);
    json_bool(j, "default", point == p->standard);
    json_string(j, "status", record_status_name(x->status));
    if (x->status != RECORD_OK) {
        json_string(j, "reason", x->reason);
    } else {
        json_string(j, "mode", record_mode_name(x->mode));
        json_real(j, "median_us", x->median_us);
        json_real(j, "low_quartile_us", x->low_us);
        json_real(j, "high_quartile_us", x->high_us);
        json_int(j, "launches", x->launches);
    }
    if (x->code) {
        json_int(j, "registers", x->registers);
        json_int(j, "spill_bytes", x->spill_bytes);
        json_int(j, "shared_bytes", x->shared_bytes);
        json_real(j, "compile_ms", x->compile_ms);
    }
    json_end(j);
}

static void json_problem(json *j, const tune_problem *p) {
    int *order = malloc(((size_t)p->n + 1) * sizeof *order), good = 0;
    const int n = order ? sort_points(p, order, &good) : 0;
    json_object(j, NULL);
    json_string(j, "kernel", p->kernel->name);
    json_config(j, "params", &p->params);
    json_config(j, "extents", &p->extents);
    json_real(j, "space", p->space);
    json_int(j, "right", good);
    json_real(j, "bytes_moved", bytes_moved(p));
    json_array(j, "configurations");
    for (int i = 0; i < n; i++) {
        json_point(j, p, order[i]);
    }
    json_end(j);
    json_end(j);
    free(order);
}

static void json_all(const tune *t, text *out) {
    json j = {.out = out};
    int done = 0;
    json_object(&j, NULL);
    json_string(&j, "device", t->device.name);
    json_int(&j, "sms", t->device.sms);
    json_array(&j, "problems");
    for (int i = 0; i < t->n; i++) {
        json_problem(&j, &t->problems[i]);
        done += t->problems[i].ndone;
    }
    json_end(&j);
    json_real(&j, "seconds", t->seconds);
    json_real(&j, "configurations_per_second", t->seconds > 0 ? done / t->seconds : 0);
    json_string(&j, "records", t->path);
    json_bool(&j, "interrupted", t->is_interrupted);
    json_bool(&j, "out_of_time", t->is_late);
    json_string(&j, "ended_early", t->lacking[0] ? t->lacking : NULL);
    json_end(&j);
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* A problem without a right configuration: wrong when one ran, faulty when none could. */
static int status_of(const tune_problem *p) {
    if (p->best >= 0) {
        return STATUS_GOOD;
    }
    for (int i = 0; i < p->n; i++) {
        const tune_point *x = &p->points[i];
        if (x->state == POINT_DONE && (x->out.status == RECORD_WRONG || x->out.status == RECORD_TIMEOUT ||
                                       x->out.status == RECORD_CRASHED)) {
            return STATUS_WRONG;
        }
    }
    return STATUS_FAULTY;
}

int tune_report(const tune *t) {
    enum { INTERRUPTED = 130 }; /* as a shell says it of SIGINT */
    text out = {0};
    int status = STATUS_GOOD;
    if (t->o->json) {
        json_all(t, &out);
    }
    for (int i = 0; i < t->n; i++) {
        const int one = status_of(&t->problems[i]);
        status = one > status ? one : status;
        if (!t->o->json) {
            print_problem(t, &t->problems[i], &out);
        }
    }
    if (!t->o->json) {
        print_summary(t, &out);
    }
    const int written = report_text(t->o, &out);
    return written ? written : t->is_interrupted ? INTERRUPTED : t->lacking[0] ? STATUS_LACKING : status;
}
