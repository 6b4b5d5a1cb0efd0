/* run_configs.c -- `tegula run KERNEL --configs N|all`: is the kernel right in all its configurations?
 *
 * The default and N configurations of its tune space, chosen by --seed; or all of them.  Configurations that the kernel
 * or the target refuses are counted by their reason; of a wrong one the full report is shown, as soon as it is known: a
 * later one may hang.  What is counted lies in memory that the waiting process sees and prints (run_sweep). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/report.h"
#include "tool/space.h"
#include "tool/tool.h"
#include "tool/verb_run.h"

enum { DEFAULT = -1 };

typedef struct sweep {
    const options *o;
    options one; /* of a single run: text, and quiet from the second on */
    const gallery *g;
    const operand *which;
    space all;
    run_sweep *known;
} sweep;

/* ---- what is known of one ------------------------------------------------------------------------------ */

static void note_refusal(run_sweep *w, const char *reason) {
    char why[RUN_WORDS];
    snprintf(why, sizeof why, "%s", reason);
    w->refused++;
    for (int i = 0; i < w->nreasons; i++) {
        if (strcmp(w->reasons[i].why, why) == 0) {
            w->reasons[i].count++;
            return;
        }
    }
    if (w->nreasons < RUN_REASONS) {
        memcpy(w->reasons[w->nreasons].why, why, sizeof why);
        w->reasons[w->nreasons++].count = 1;
    } else {
        w->unnamed++;
    }
}

static bool is_printed_at_once(const options *o) {
    return !o->json && (!o->output || strcmp(o->output, "-") == 0);
}

static void keep_report(run_sweep *w, const text *report) {
    const size_t room = (size_t)(RUN_REPORTS - w->length), n = report->length < room ? report->length : room;
    memcpy(w->reports + w->length, report->s, n);
    w->length += (int)n;
}

static int note_outcome(sweep *w, const subject *s, const outcome *out) {
    int status = STATUS_GOOD;
    text report = {0};
    *(out->is_good ? &w->known->right : &w->known->wrong) += 1;
    if (out->is_good && !w->o->verbose) {
        return STATUS_GOOD;
    }
    if (w->one.quiet) { /* else the report begins with it */
        text_print(&report, "%s ", s->kernel->name);
        subject_describe(s, &report);
        text_add(&report, "\n");
    }
    text_add(&report, out->report.s);
    if (report.failed) {
        status = tool_fail(STATUS_LACKING, "out of memory");
    } else if (is_printed_at_once(w->o)) {
        status = report_write(w->o, report.s, report.length);
    } else {
        keep_report(w->known, &report);
    }
    text_free(&report);
    return status;
}

static bool asks_for(const tg_kernel *k, const char *name) {
    for (int i = 0; i < k->nparams; i++) {
        if (strcmp(k->params[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The name of an axis that the kernel does not ask for; NULL.  A builder that a require() left has not asked for all. */
static const char *unknown_axis(const sweep *w, const tg_kernel *k) {
    for (int i = 0; i < w->all.nparts && !k->unmet; i++) {
        for (int j = 0; j < w->all.part[i].naxes; j++) {
            if (!asks_for(k, w->all.part[i].axis[j]->name)) {
                return w->all.part[i].axis[j]->name;
            }
        }
    }
    return NULL;
}

static int refuse(sweep *w, const subject *s, const char *why) {
    const char *name = unknown_axis(w, s->result.kernel);
    if (name) {
        return tool_fail(STATUS_FAULTY, "the tune space of %s has '%s', which the kernel does not ask for",
                         s->kernel->name, name);
    }
    note_refusal(w->known, why);
    return STATUS_GOOD;
}

/* Whatever becomes of it. */
static void note_begin(run_sweep *w, const setting *special, int n) {
    char word[32];
    int length = snprintf(w->running, sizeof w->running, "%s", n ? "" : "the default");
    for (int i = 0; i < n && length < RUN_WORDS; i++) {
        length += snprintf(w->running + length, (size_t)(RUN_WORDS - length), "%s%s=%s", i ? " " : "",
                           special[i].name, options_value_text(special[i].values[0], word, sizeof word));
    }
}

/* Number DEFAULT: no value of the tune space at all. */
static int run_number(sweep *w, int64_t number, outcome *out) {
    operand which = *w->which;
    const int given = which.own.n;
    subject s;
    if (number != DEFAULT) {
        space_settings(&w->all, number, &which.own);
    }
    note_begin(w->known, which.own.item + given, which.own.n - given);
    int status = subject_open(&w->one, w->g, &which, &s);
    s.keeps_quiet = true;
    status = status ? status : run_subject(&w->one, &s, out);
    const char *why = status == STATUS_FAULTY ? subject_refusal(&s) : NULL;
    if (why) {
        status = refuse(w, &s, why);
    } else if (!status) {
        status = note_outcome(w, &s, out);
    }
    w->one.quiet = true;
    subject_free(&s);
    return status;
}

static bool has_space(const sweep *w) {
    return w->all.nparts > 1 || w->all.part[0].naxes > 0;
}

static int run_all(sweep *w) {
    const bool every = w->o->configs == CONFIGS_ALL;
    const int64_t asked = every || w->o->configs > w->all.count ? w->all.count : w->o->configs;
    const int64_t n = has_space(w) ? asked : 0;
    int status = STATUS_GOOD;
    w->known->can_vary = has_space(w);
    w->known->all = n + 1;
    for (int64_t i = DEFAULT; i < n && !status; i++) {
        outcome *out = calloc(1, sizeof *out);
        if (!out) {
            return tool_fail(STATUS_LACKING, "out of memory");
        }
        status = run_number(w, i == DEFAULT || every ? i : space_pick(&w->all, w->o->seed, i), out);
        run_free(out);
        free(out);
    }
    return status;
}

int run_configs(const options *o, const gallery *g, const operand *which, run_sweep *known) {
    const settings *fixed[] = {&o->common, &which->own};
    const gallery_kernel *kernel = gallery_find(g, which->name);
    sweep w = {.o = o, .one = *o, .g = g, .which = which, .known = known};
    w.one.json = false;
    if (!kernel) {
        return STATUS_FAULTY;
    }
    if (!space_open(kernel->row, fixed, 2, &w.all)) {
        return tool_fail(STATUS_FAULTY, "the tune space of %s has more than 2^63 configurations",
                         which->name);
    }
    const int status = run_all(&w);
    known->is_done = !status;
    return status;
}

/* ---- the report ---------------------------------------------------------------------------------------- */

static bool is_good(const run_sweep *w) {
    return w->is_done && w->wrong == 0 && w->right > 0;
}

/* Behind the one that ended the sweep. */
static int64_t count_left(const run_sweep *w) {
    return w->is_done ? 0 : w->all - w->right - w->wrong - w->refused - 1;
}

static void print_result(const run_sweep *w, const char *kernel, const char *why, text *t) {
    text_print(t, "%s %s: %" PRId64 " configuration%s right, %" PRId64 " wrong, %" PRId64 " refused",
               is_good(w) ? "ok" : "FAILED", kernel, w->right, w->right == 1 ? "" : "s", w->wrong,
               w->refused);
    text_add(t, w->can_vary ? "" : "; there is nothing to vary");
    if (!w->is_done) {
        text_print(t, "; %s: %s", w->running, why);
    }
    if (count_left(w) > 0) {
        text_print(t, "; %" PRId64 " more not run", count_left(w));
    }
    text_add(t, "\n");
}

static void print_json(const run_sweep *w, const char *kernel, const char *why, text *t) {
    text reports = {0};
    json j = {.out = t};
    text_add_n(&reports, w->reports, (size_t)w->length);
    json_object(&j, NULL);
    json_string(&j, "result", is_good(w) ? "ok" : "FAILED");
    json_string(&j, "kernel", kernel);
    json_int(&j, "right", w->right);
    json_int(&j, "wrong", w->wrong);
    json_int(&j, "refused", w->refused);
    json_array(&j, "refusals");
    for (int i = 0; i < w->nreasons; i++) {
        json_object(&j, NULL);
        json_string(&j, "why", w->reasons[i].why);
        json_int(&j, "count", w->reasons[i].count);
        json_end(&j);
    }
    json_end(&j);
    json_int(&j, "refused_for_other_reasons", w->unnamed);
    if (!w->is_done) {
        json_string(&j, "ended_by", w->running);
        json_string(&j, "why", why);
        json_int(&j, "not_run", count_left(w));
    }
    json_string(&j, "reports", reports.s);
    json_end(&j);
    text_free(&reports);
}

static void print_text(const options *o, const run_sweep *w, const char *why, text *t) {
    text_add_n(t, w->reports, (size_t)w->length);
    for (int i = 0; i < w->nreasons && !o->quiet; i++) {
        text_print(t, "%" PRId64 " refused: %s\n", w->reasons[i].count, w->reasons[i].why);
    }
    if (w->unnamed && !o->quiet) {
        text_print(t, "%" PRId64 " refused for other reasons\n", w->unnamed);
    }
    print_result(w, o->operands[0].name, why, t);
}

int run_configs_print(const options *o, const run_sweep *known, int status, const char *why) {
    text t = {0};
    if (o->json) {
        print_json(known, o->operands[0].name, why, &t);
    } else {
        print_text(o, known, why, &t);
    }
    const int written = report_text(o, &t);
    return written        ? written
           : status       ? status
           : known->wrong ? STATUS_WRONG
           : known->right ? STATUS_GOOD
                          : STATUS_FAULTY;
}
