/* run_configs.c -- `tegula run KERNEL --configs N|all`: is the kernel right in all its configurations?
 *
 * The default and N configurations of its tune space, chosen by --seed; or all of them.  Configurations that the kernel
 * or the target refuses are counted by their reason; of a wrong one the full report is shown. */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/report.h"
#include "tool/space.h"
#include "tool/tool.h"
#include "tool/verb_run.h"

enum { REASONS_MAX = 16, DEFAULT = -1 };

typedef struct refusal {
    char *why;
    int64_t count;
} refusal;

typedef struct sweep {
    const options *o;
    options one; /* of a single run: text, and quiet from the second on */
    const gallery *g;
    const operand *which;
    space all;
    int64_t right, wrong, refused, unnamed; /* unnamed: refused for reasons beyond REASONS_MAX */
    int nreasons;
    refusal reasons[REASONS_MAX];
    text reports; /* of the wrong ones, and with -v of all */
} sweep;

static void note_refusal(sweep *w, const char *why) {
    w->refused++;
    for (int i = 0; i < w->nreasons; i++) {
        if (strcmp(w->reasons[i].why, why) == 0) {
            w->reasons[i].count++;
            return;
        }
    }
    if (w->nreasons < REASONS_MAX) {
        w->reasons[w->nreasons++] = (refusal){strdup(why), 1};
    } else {
        w->unnamed++;
    }
}

static void note_outcome(sweep *w, const subject *s, const outcome *out) {
    *(out->is_good ? &w->right : &w->wrong) += 1;
    if (!out->is_good || w->o->verbose) {
        if (w->one.quiet) { /* else the report begins with it */
            text_print(&w->reports, "%s ", s->kernel->name);
            subject_describe(s, &w->reports);
            text_add(&w->reports, "\n");
        }
        text_print(&w->reports, "%s", out->report.s);
    }
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
    note_refusal(w, why);
    return STATUS_GOOD;
}

/* Number DEFAULT: no value of the tune space at all. */
static int run_number(sweep *w, int64_t number, outcome *out) {
    operand which = *w->which;
    subject s;
    if (number != DEFAULT) {
        space_settings(&w->all, number, &which.own);
    }
    int status = subject_open(&w->one, w->g, &which, &s);
    s.keeps_quiet = true;
    status = status ? status : run_subject(&w->one, &s, out);
    const char *why = status == STATUS_FAULTY ? subject_refusal(&s) : NULL;
    if (why) {
        status = refuse(w, &s, why);
    } else if (!status) {
        note_outcome(w, &s, out);
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

static void print_result(const sweep *w, text *t) {
    const bool is_good = w->wrong == 0 && w->right > 0;
    text_print(t, "%s %s: %" PRId64 " configuration%s right, %" PRId64 " wrong, %" PRId64 " refused%s\n",
               is_good ? "ok" : "FAILED", w->which->name, w->right, w->right == 1 ? "" : "s", w->wrong,
               w->refused, has_space(w) ? "" : "; there is nothing to vary");
}

static void print_json(const sweep *w, text *t) {
    json j = {.out = t};
    json_object(&j, NULL);
    json_string(&j, "result", w->wrong == 0 && w->right > 0 ? "ok" : "FAILED");
    json_string(&j, "kernel", w->which->name);
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
    json_string(&j, "reports", w->reports.s);
    json_end(&j);
}

static int print_sweep(const sweep *w) {
    text t = {0};
    if (w->o->json) {
        print_json(w, &t);
    } else {
        text_add(&t, w->reports.s ? w->reports.s : "");
        for (int i = 0; i < w->nreasons && !w->o->quiet; i++) {
            text_print(&t, "%" PRId64 " refused: %s\n", w->reasons[i].count, w->reasons[i].why);
        }
        if (w->unnamed && !w->o->quiet) {
            text_print(&t, "%" PRId64 " refused for other reasons\n", w->unnamed);
        }
        print_result(w, &t);
    }
    const int status = report_text(w->o, &t);
    return status ? status : w->wrong ? STATUS_WRONG : w->right ? STATUS_GOOD : STATUS_FAULTY;
}

int run_configs(const options *o, const gallery *g, const operand *which, bool *is_said) {
    const settings *fixed[] = {&o->common, &which->own};
    const gallery_kernel *kernel = gallery_find(g, which->name);
    sweep w = {.o = o, .one = *o, .g = g, .which = which};
    w.one.json = false;
    if (!kernel) {
        return STATUS_FAULTY;
    }
    if (!space_open(kernel->row, fixed, 2, &w.all)) {
        return tool_fail(STATUS_FAULTY, "the tune space of %s has more than 2^63 configurations",
                         which->name);
    }
    int status = run_all(&w);
    *is_said = !status;
    status = status ? status : print_sweep(&w);
    for (int i = 0; i < w.nreasons; i++) {
        free(w.reasons[i].why);
    }
    text_free(&w.reports);
    return status;
}
