/* subject.c -- builds and lowers one kernel in one configuration. */
#include "tool/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dsl/diag.h"
#include "runtime/records.h"
#include "tool/child.h"
#include "tool/nearest.h"
#include "tool/report.h"
#include "tool/steps.h"
#include "tool/tool.h"

/* ---- the configuration --------------------------------------------------------------------------------- */

/* YAML's value shows whether a number or an element type is meant. */
static int check_kind(const subject *s, const setting *x) {
    int64_t usual;
    char word[32];
    if (!tg_config_get(&s->config, x->name, &usual) ||
        !tg_dtype_name(usual) == !tg_dtype_name(x->values[0])) {
        return STATUS_GOOD;
    }
    return tool_fail(STATUS_FAULTY, "-p %s=%s: %s is %s, such as %s", x->name, x->text, x->name,
                     tg_dtype_name(usual) ? "an element type" : "a number",
                     options_value_text(usual, word, sizeof word));
}

/* Where a scalar stands; behind the last: nowhere. */
static int scalar_number(const subject *s, const char *name) {
    int i = 0;
    while (i < s->nscalars && strcmp(s->scalars[i].name, name) != 0) {
        i++;
    }
    return i;
}

/* A launch scalar or extent, as will be seen once the kernel is built.  What comes later counts: the kernel's own. */
static int take_real(subject *s, const setting *x) {
    const int i = scalar_number(s, x->name);
    if (i == TG_MAX_CONFIG) {
        return tool_fail(STATUS_FAULTY, "-p %s=%s: more than %d scalars", x->name, x->text, TG_MAX_CONFIG);
    }
    s->scalars[i] = (subject_scalar){x->name, x->text, true, x->real, 0};
    s->nscalars += i == s->nscalars;
    return STATUS_GOOD;
}

static int take_integer(subject *s, const setting *x) {
    const int i = scalar_number(s, x->name);
    if (i < s->nscalars) {
        s->scalars[i] = s->scalars[--s->nscalars];
    }
    return tg_config_set(&s->config, x->name, x->values[0]) == TG_OK
               ? STATUS_GOOD
               : tool_fail(STATUS_FAULTY, "more than %d parameters", TG_MAX_CONFIG);
}

static int take_settings(subject *s, const settings *from) {
    for (int i = 0; i < from->n; i++) {
        const setting *x = &from->item[i];
        int status = x->is_real ? STATUS_GOOD : check_kind(s, x);
        status = status ? status : x->is_real ? take_real(s, x) : take_integer(s, x);
        if (status) {
            return status;
        }
    }
    return STATUS_GOOD;
}

int subject_open(const options *o, const gallery *g, const operand *which, subject *s) {
    *s = (subject){.kernel = gallery_find(g, which->name)};
    if (!s->kernel) {
        return STATUS_FAULTY;
    }
    if (s->kernel->row) {
        s->config = s->kernel->row->params;
    }
    int status = take_settings(s, &o->common);
    status = status ? status : take_settings(s, &which->own);
    return status ? status : steps_open(g, s);
}

int subject_only(const options *o, const operand **which) {
    if (o->noperands != 1) {
        return tool_fail(STATUS_FAULTY, "%s needs %s; 'tegula list' names the kernels", o->verb,
                         o->noperands ? "one kernel only" : "a kernel");
    }
    *which = &o->operands[0];
    return STATUS_GOOD;
}

/* ---- the target ---------------------------------------------------------------------------------------- */

static void say_target(const options *o, const char *gpu, const subject *s) {
    if (!o->quiet) {
        fprintf(stderr, gpu ? "target: %s (%s)\n" : "target: %s\n", s->target->name, gpu);
    }
    if (o->dependent && !s->target->dependent_launch) {
        fprintf(stderr, "%s has no dependent launches, sm_90 and newer have: these are plain ones\n",
                s->target->name);
    }
}

int subject_choose(const options *o, const char *otherwise, subject *s) {
    const int status = devices_choose(o, otherwise, &s->memory, &s->gpu, &s->target);
    if (!status) {
        say_target(o, s->gpu ? s->gpu->gpu : NULL, s);
    }
    return status;
}

int subject_choose_device(const options *o, int major, int minor, const char *name, subject *s) {
    if (o->gpu || o->target) {
        return subject_choose(o, "a100", s);
    }
    s->target = target_for_device(major, minor);
    if (!s->target) {
        return tool_fail(STATUS_LACKING, "%s has compute capability %d.%d; 8.0 is the least", name, major,
                         minor);
    }
    say_target(o, name, s);
    return STATUS_GOOD;
}

/* ---- tuned records ------------------------------------------------------------------------------------- */

static void say_records(const options *o, const record *found, bool is_exact, const char *path,
                        const subject *s) {
    text line = {0};
    report_config(&found->config, &line);
    if (!is_exact) {
        text_add(&line, "; measured for ");
        report_config(&found->params, &line);
        text_add(&line, ", the nearest");
    }
    if (!o->quiet) {
        fprintf(stderr, "tuned: %s: %s (%s)\n", s->kernel->name, line.s ? line.s : "", path);
    }
    text_free(&line);
}

static void take_record(const options *o, const records *all, const records_query *q, const char *path,
                        subject *s) {
    bool is_exact;
    const record *found = records_best(all, q, &is_exact);
    if (!found) {
        return;
    }
    s->tuned.n = 0;
    for (int i = 0; i < found->config.n; i++) {
        const tg_param p = found->config.p[i];
        if (!tg_config_get(&s->config, p.name, NULL)) {
            tg_config_set(&s->tuned, arena_copy(&s->memory, p.name), p.value);
        }
    }
    if (s->tuned.n) {
        say_records(o, found, is_exact, path, s);
    }
}

int subject_use_records(const options *o, const char *device, int sms, subject *s) {
    records all;
    char *path = records_path(o->records);
    int code = path ? records_read(path, &all) : TG_OK;
    if (code || !path) {
        free(path);
        return code ? tool_fail_code(code, "--records") : STATUS_GOOD;
    }
    if (all.skipped && o->verbose) {
        fprintf(stderr, "tegula: %s: %d lines are no records, the first is line %d\n", path, all.skipped,
                all.first_skipped);
    }
    for (int i = 0; i < s->nsteps; i++) {
        if (!s->steps[i].fill) {
            subject *step = s->steps[i].s;
            const records_query query = {step->kernel->name, device, sms, &step->config};
            take_record(o, &all, &query, path, step);
        }
    }
    records_free(&all);
    free(path);
    return STATUS_GOOD;
}

int subject_use_records_of_row(const options *o, subject *s) {
    const char *tuned = getenv("TEGULA_TUNED");
    const bool is_wanted = o->gpu || o->records || (tuned && *tuned);
    return s->gpu && is_wanted ? subject_use_records(o, s->gpu->name, (int)s->gpu->sms, s) : STATUS_GOOD;
}

/* ---- building ------------------------------------------------------------------------------------------ */

/* True when the kernel has a launch scalar or extent of that name. */
static bool is_scalar(const tg_kernel *k, const char *name) {
    for (int i = 0; i < k->nargs; i++) {
        if (k->args[i].scalar && strcmp(k->args[i].scalar->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Moves values that the builder did not ask for, but that are launch scalars, out of the configuration. */
static int take_scalars(subject *s) {
    const tg_kernel *k = s->result.kernel;
    int moved = 0;
    for (int i = 0; k && i < s->config.n;) {
        const tg_param p = s->config.p[i];
        if (!is_scalar(k, p.name) || s->nscalars == TG_MAX_CONFIG) {
            i++;
            continue;
        }
        s->scalars[s->nscalars++] = (subject_scalar){p.name, NULL, false, (double)p.value, p.value};
        s->config.n--;
        memmove(&s->config.p[i], &s->config.p[i + 1], (size_t)(s->config.n - i) * sizeof p);
        moved++;
    }
    return moved;
}

/* The builder, with word to the parent process when it came back. */
static tg_builder *builder;
static const options *builder_options;

static void build_and_tell(void) {
    builder();
    child_phase(PHASE_LOWERING, builder_options);
}

static int run_pipeline(const options *o, const pipeline_options *how, subject *s) {
    const pipeline_input input = {.name = s->kernel->name,
                                  .build = build_and_tell,
                                  .config = &s->config,
                                  .tuned = &s->tuned,
                                  .user = s->user,
                                  .user_size = s->user_size};
    builder = s->kernel->build;
    builder_options = o;
    pipeline_options with = *how;
    with.target = s->target;
    with.dependent = o->dependent;
    child_phase(PHASE_BUILDING, o);
    const int code = pipeline_run(&input, &with, &s->result);
    child_phase(PHASE_OTHER, o);
    return code;
}

/* Real numbers are for scalar arguments.  (Other names that nobody asked for are the builder's errors.) */
static int check_reals(const subject *s) {
    const tg_kernel *k = s->result.kernel;
    const char *names[TG_MAX_CONFIG];
    for (int i = 0; i < k->nparams; i++) {
        names[i] = k->params[i].name;
    }
    for (int i = 0; i < s->nscalars; i++) {
        if (s->scalars[i].is_real && !is_scalar(k, s->scalars[i].name)) {
            const char *name = s->scalars[i].name;
            bool is_param = false;
            for (int j = 0; j < k->nparams; j++) {
                is_param = is_param || strcmp(names[j], name) == 0;
            }
            return is_param ? tool_fail(STATUS_FAULTY, "-p %s=%s: expected an integer or an element type",
                                        name, s->scalars[i].word)
                            : tool_fail(STATUS_FAULTY, "unknown parameter '%s' of %s%s", name,
                                        s->kernel->name, nearest_hint(name, names, k->nparams));
        }
    }
    return STATUS_GOOD;
}

bool subject_mistake(const subject *s, text *out) {
    const tg_kernel *k = s->result.kernel;
    if (k && k->errors.n) {
        const diag_message *first = &k->errors.message[0];
        text_print(out, "%s:%d: %s", diag_base(first->at.file), first->at.line, first->text);
    }
    return k && k->errors.n;
}

/* The first mistake in one line. */
static void note_mistake(const subject *s, int code) {
    if (!subject_mistake(s, s->why)) {
        const char *bug = diag_take_bug();
        text_add(s->why, bug ? bug : code == TG_ENOMEM ? "out of memory" : tg_error());
    }
}

/* "give -p N=.. -p K=..": of the params that nobody gave, which the builder took for 1. */
static void say_missing(const subject *s) {
    const tg_kernel *k = s->result.kernel;
    const char *before = "tegula: give";
    for (int i = 0; i < k->nparams; i++) {
        if (k->params[i].source == PARAM_PROBLEM && !tg_config_get(&s->config, k->params[i].name, NULL)) {
            fprintf(stderr, "%s -p %s=..", before, k->params[i].name);
            before = "";
        }
    }
    if (!*before) {
        fputs("\n", stderr);
    }
}

static int fail_build(const subject *s, int code) {
    const tg_kernel *k = s->result.kernel;
    if (s->why) {
        note_mistake(s, code);
        return code == TG_EKERNEL ? STATUS_FAULTY : tool_status(code);
    }
    if (code != TG_EKERNEL || !k) {
        return tool_fail_code(code, s->kernel->name);
    }
    fflush(stdout);
    if (!s->keeps_quiet) {
        tg_report(k, stderr);
        say_missing(s);
    }
    if (k->errors.n == 0 && !k->unmet) {
        return tool_fail_code(code, s->kernel->name);
    }
    return STATUS_FAULTY;
}

static int run_again(const options *o, const pipeline_options *how, subject *s) {
    pipeline_free(&s->result);
    s->result = (pipeline_result){0};
    return run_pipeline(o, how, s);
}

/* From here on they count as given, to whoever launches the kernel. */
static void keep_tuned(subject *s) {
    const tg_kernel *k = s->result.kernel;
    for (int i = 0; k && s->tuned.n && i < k->nparams; i++) {
        if (k->params[i].source == PARAM_TUNED) {
            tg_config_set(&s->config, k->params[i].name, k->params[i].value);
        }
    }
}

int subject_build_one(const options *o, const pipeline_options *how, subject *s) {
    int code = run_pipeline(o, how, s);
    if (take_scalars(s)) {
        code = run_again(o, how, s);
    }
    if (code == TG_EKERNEL && s->tuned.n) {
        fprintf(stderr, "tegula: %s does not take its tuned values; the defaults are used\n",
                s->kernel->name);
        s->tuned.n = 0;
        code = run_again(o, how, s);
    }
    keep_tuned(s);
    const int status = s->result.kernel ? check_reals(s) : STATUS_GOOD;
    return status ? status : code ? fail_build(s, code) : STATUS_GOOD;
}

int subject_build(const options *o, const pipeline_options *how, subject *s) {
    const int status = subject_build_one(o, how, s);
    return status ? status : steps_build(o, how, s);
}

const char *subject_refusal(const subject *s) {
    const tg_kernel *k = s->result.kernel;
    if (!k || (k->errors.n == 0 && !k->unmet)) {
        return NULL;
    }
    return k->unmet ? k->unmet : k->errors.message[0].text;
}

void subject_free(subject *s) {
    steps_free(s);
    pipeline_free(&s->result);
    arena_free(&s->memory);
}

const subject_scalar *subject_scalar_named(const subject *s, const char *name) {
    const int i = scalar_number(s, name);
    return i < s->nscalars ? &s->scalars[i] : NULL;
}

void subject_describe(const subject *s, text *out) {
    const tg_kernel *k = s->result.kernel;
    tg_config all = {0};
    for (int i = 0; i < k->nparams; i++) {
        tg_config_set(&all, k->params[i].name, k->params[i].value);
    }
    report_config(&all, out);
}
