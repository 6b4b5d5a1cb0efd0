/* verb_run.c -- `tegula run KERNEL`: runs a kernel on inputs and compares with the reference.
 *
 * In a child process: build, make the arguments, run (simulator or GPU), run the reference, compare, say so.
 * The last line on stdout begins "ok" or "FAILED", whatever happens to the kernel.  Several configurations at once:
 * run_configs.c. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/verb_run.h"

#include "tool/child.h"
#include "tool/npy.h"
#include "tool/progress.h"
#include "tool/report.h"
#include "tool/tool.h"

enum { GPU_LAUNCHES = 20 };

/* ---- the simulator ------------------------------------------------------------------------------------- */

static bool show_progress(double done, void *user) {
    progress_show(user, done);
    return true;
}

static int simulate_step(const options *o, const subject_step *step, arguments *all, sim_result *result) {
    witness_arg args[INPUTS_MAX];
    progress bar;
    text error = {0};
    reference_arguments(all, step, false, args);
    progress_begin(&bar, step->s->kernel->name, o);
    const sim_options how = {.strict = o->strict, .user = &bar, .progress = show_progress};
    child_phase(PHASE_RUNNING, o);
    const int code = sim_run(step->s->result.thread, step->nargs, args, &how, result, &error);
    child_phase(PHASE_OTHER, o);
    progress_end(&bar);
    const int status = code ? reference_failed(step->s, code, &error) : STATUS_GOOD;
    text_free(&error);
    return status;
}

/* The steps one after the other, up to one with findings; their numbers are added up. */
static int simulate(const options *o, const subject *s, arguments *all, outcome *out) {
    int status = STATUS_GOOD;
    for (int i = 0; i < s->nsteps && !status && !findings_failed(&out->sim.findings, o->strict); i++) {
        sim_result one = {0};
        status = simulate_step(o, &s->steps[i], all, &one);
        findings_join(&out->sim.findings, &one.findings);
        out->sim.warp_instructions += one.warp_instructions;
        out->sim.barriers += one.barriers;
        out->sim.blocks += one.blocks;
        out->sim.seconds += one.seconds;
        text_add(&out->sim.printed, one.printed.s ? one.printed.s : "");
        sim_free(&one);
    }
    return status;
}

/* Who wrote the wrong elements last: the simulation runs again, watched. */
typedef struct watch {
    comparison *c;
    const buffer *tensor;
    int64_t element_bytes;
} watch;

static void note_write(const sim_access *access, void *user) {
    const watch *w = user;
    if ((!access->is_write && !access->is_atomic) || !access->ref || access->ref->buffer != w->tensor) {
        return;
    }
    for (int i = 0; i < w->c->nfirst; i++) {
        wrong_element *x = &w->c->first[i];
        const uint64_t place = (uint64_t)(x->place * w->element_bytes);
        for (int lane = 0; lane < access->lanes; lane++) {
            if (place >= access->address[lane] && place < access->address[lane] + (uint64_t)access->bytes) {
                x->written_at = access->ref->at;
            }
        }
    }
}

/* What the step calls the tensor. */
static const buffer *tensor_of(const subject_step *step, const arguments *all, const argument *tensor) {
    for (int i = 0; i < step->nargs; i++) {
        if (&all->item[step->arg[i]] == tensor) {
            return step->s->result.kernel->args[i].tensor;
        }
    }
    return NULL;
}

static void find_writers(const options *o, const subject *s, arguments *all, comparison *c) {
    witness_arg args[INPUTS_MAX];
    sim_result again = {0};
    text error = {0};
    const subject_step *last = &s->steps[s->nsteps - 1];
    watch w = {c, tensor_of(last, all, c->tensor), type_bytes(c->tensor->type)};
    const sim_options how = {.skip_races = true, .on_access = note_write, .user = &w};
    for (int i = 0; i < all->n; i++) {
        const argument *a = &all->item[i];
        if (a->is_tensor && a->is_result) {
            memcpy(a->after, a->before, a->bytes);
        }
    }
    reference_arguments(all, last, false, args);
    child_phase(PHASE_RUNNING, o);
    sim_run(last->s->result.thread, last->nargs, args, &how, &again, &error);
    child_phase(PHASE_OTHER, o);
    sim_free(&again);
    text_free(&error);
}

/* ---- what came out ------------------------------------------------------------------------------------- */

static bool compare_all(const options *o, const subject *s, arguments *all, outcome *out) {
    bool is_good = true;
    for (int i = 0; i < all->n; i++) {
        const argument *a = &all->item[i];
        if (a->is_tensor && a->is_result) {
            comparison *c = &out->compared[out->ncompared++];
            compare_tensor(a, compare_tolerance(s->kernel->row, a->type), c);
            is_good = is_good && c->is_good;
        }
    }
    for (int i = 0; i < out->ncompared && !out->on_gpu; i++) {
        if (!out->compared[i].is_good) {
            find_writers(o, s, all, &out->compared[i]);
        }
    }
    return is_good;
}

static const comparison *worst(const outcome *out) {
    const comparison *w = NULL;
    for (int i = 0; i < out->ncompared; i++) {
        const comparison *c = &out->compared[i];
        if (!w || c->is_good < w->is_good || (c->is_good == w->is_good && c->error > w->error)) {
            w = c;
        }
    }
    return w;
}

static void print_where(const outcome *out, text *line) {
    if (out->on_gpu && out->gpu.count == 0) {
        text_print(line, ", on %s", out->device.name);
    } else if (out->on_gpu) {
        text_print(line, ", %.2f us on %s", out->gpu.median, out->device.name);
    } else {
        const double seconds = out->sim.seconds > 1e-9 ? out->sim.seconds : 1e-9;
        text_print(line, ", simulated in %.2f s (%.1f M warp instructions/s)", out->sim.seconds,
                   (double)out->sim.warp_instructions / seconds * 1e-6);
    }
}

/* The finding that says most: a race rather than what came of it. */
static const char *first_finding(const findings *f) {
    for (int i = 0; i < f->n; i++) {
        if (f->item[i].kind == FINDING_RACE) {
            return finding_name(FINDING_RACE);
        }
    }
    for (int i = 0; i < f->n; i++) {
        if (f->item[i].kind != FINDING_NOTE) {
            return finding_name(f->item[i].kind);
        }
    }
    return "race of equal values";
}

static void print_why(const outcome *out, text *line) {
    const comparison *c = worst(out);
    if (out->gpu.failed_check[0]) {
        text_add(line, " (check failed)");
    } else if (out->has_findings) {
        const findings *f = out->sim.findings.total ? &out->sim.findings : &out->reference.tile.findings;
        text_print(line, " (%s)", first_finding(f));
    } else if (c && !c->is_good) {
        text_print(line, " (%" PRId64 " of %" PRId64 " elements of %s wrong)", c->wrong, c->elements,
                   c->tensor->name);
    }
}

static void print_last_line(const subject *s, const outcome *out, bool is_good, text *line) {
    const comparison *c = worst(out);
    text_print(line, "%s %s", is_good ? "ok" : "FAILED", s->kernel->name);
    if (!is_good) {
        print_why(out, line);
    }
    if (c && isnan(c->error)) {
        text_add(line, ": error nan");
    } else if (c) {
        text_print(line, ": error %.2e of %.0e allowed", c->error, c->tolerance);
    } else {
        text_add(line, ": it writes nothing");
    }
    print_where(out, line);
    if (!out->reference.is_own) {
        text_add(line, "; no reference of its own: compared with the tile reference in double");
    }
    text_add(line, "\n");
}

static void print_text(const options *o, const subject *s, const arguments *all, const outcome *out,
                       bool is_good, text *t) {
    if (!o->quiet) {
        text_print(t, s->result.kernel->nparams ? "%s " : "%s", s->kernel->name);
        subject_describe(s, t);
        inputs_describe(all, t);
        text_add(t, "\n");
    }
    if (out->sim.printed.s) {
        text_add(t, out->sim.printed.s);
    }
    if (out->gpu.failed_check[0]) {
        text_print(t, "%s\n", out->gpu.failed_check);
    }
    findings_print(&out->sim.findings, t);
    if (out->reference.tile.findings.total && !out->sim.findings.total) {
        text_add(t, "in the tile reference:\n");
        findings_print(&out->reference.tile.findings, t);
    }
    for (int i = 0; i < out->ncompared; i++) {
        compare_print(&out->compared[i], t);
    }
    if (o->verbose && !out->on_gpu) {
        text_print(t, "%" PRId64 " blocks, %" PRId64 " warp instructions, %" PRId64 " barriers\n",
                   out->sim.blocks, out->sim.warp_instructions, out->sim.barriers);
    }
    if (o->verbose && out->on_gpu) {
        text_print(t, "%d launches: quartiles %.2f and %.2f us; %d registers, %d bytes spilled\n",
                   out->gpu.count, out->gpu.low, out->gpu.high, out->gpu.registers, out->gpu.spill_bytes);
    }
    print_last_line(s, out, is_good, t);
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static void json_place(json *j, const char *key, tg_loc at) {
    text place = {0};
    if (at.file) {
        text_print(&place, "%s:%d", at.file, at.line);
    }
    json_string(j, key, place.s);
    text_free(&place);
}

static void json_findings(json *j, const findings *f) {
    for (int i = 0; i < f->n; i++) {
        const finding *x = &f->item[i];
        json_object(j, NULL);
        json_string(j, "kind", finding_name(x->kind));
        json_string(j, "text", x->text);
        json_place(j, "at", x->at);
        json_place(j, "other", x->other);
        json_int(j, "count", x->count);
        json_end(j);
    }
}

static void json_comparison(json *j, const comparison *c) {
    json_object(j, NULL);
    json_string(j, "tensor", c->tensor->name);
    json_bool(j, "good", c->is_good);
    json_real(j, "error", c->error);
    json_real(j, "tolerance", c->tolerance);
    json_int(j, "elements", c->elements);
    json_int(j, "wrong", c->wrong);
    json_int(j, "never_written", c->unwritten);
    json_int(j, "nan", c->nans);
    json_array(j, "first_wrong");
    for (int i = 0; i < c->nfirst; i++) {
        json_object(j, NULL);
        json_array(j, "index");
        for (int d = 0; d < c->tensor->rank; d++) {
            json_int(j, NULL, c->first[i].index[d]);
        }
        json_end(j);
        json_real(j, "got", c->first[i].got);
        json_real(j, "wanted", c->first[i].wanted);
        json_place(j, "written_at", c->first[i].written_at);
        json_end(j);
    }
    json_end(j);
    json_end(j);
}

static void print_json(const subject *s, const outcome *out, bool is_good, text *t) {
    const tg_kernel *k = s->result.kernel;
    json j = {.out = t};
    json_object(&j, NULL);
    json_string(&j, "result", is_good ? "ok" : "FAILED");
    json_string(&j, "kernel", s->kernel->name);
    json_object(&j, "config");
    for (int i = 0; i < k->nparams; i++) {
        json_value(&j, k->params[i].name, k->params[i].value);
    }
    json_end(&j);
    json_string(&j, "target", s->target->name);
    json_string(&j, "device", out->on_gpu ? out->device.name : "sim");
    json_string(&j, "reference", out->reference.is_own ? "own" : "tile reference in double");
    if (out->on_gpu) {
        json_real(&j, "microseconds", out->gpu.median);
        json_int(&j, "launches", out->gpu.count);
    } else {
        json_real(&j, "seconds", out->sim.seconds);
        json_int(&j, "warp_instructions", out->sim.warp_instructions);
        json_int(&j, "barriers", out->sim.barriers);
    }
    if (out->gpu.failed_check[0]) {
        json_string(&j, "failed_check", out->gpu.failed_check);
    }
    json_array(&j, "findings");
    json_findings(&j, &out->sim.findings);
    json_findings(&j, &out->reference.tile.findings);
    json_end(&j);
    json_array(&j, "outputs");
    for (int i = 0; i < out->ncompared; i++) {
        json_comparison(&j, &out->compared[i]);
    }
    json_end(&j);
    json_end(&j);
}

/* ---- running it ---------------------------------------------------------------------------------------- */

static int judge(const options *o, const subject *s, arguments *all, outcome *out) {
    out->has_findings = findings_failed(&out->sim.findings, o->strict) ||
                        findings_failed(&out->reference.tile.findings, o->strict);
    if (o->save) {
        const int status = inputs_save(o->save, all);
        if (status) {
            return status;
        }
    }
    out->is_good = compare_all(o, s, all, out) && !out->has_findings && !out->gpu.failed_check[0];
    if (o->json) {
        print_json(s, out, out->is_good, &out->report);
    } else {
        print_text(o, s, all, out, out->is_good, &out->report);
    }
    return STATUS_GOOD;
}

/* --cuda: the text instead of the kernel's own. */
static int read_cuda(const options *o, const outcome *out, char **cuda) {
    size_t size = 0;
    text error = {0};
    *cuda = NULL;
    if (!o->cuda) {
        return STATUS_GOOD;
    }
    *cuda = npy_load(o->cuda, &size, &error);
    int status = *cuda ? STATUS_GOOD : tool_fail(STATUS_FAULTY, "--cuda %s", error.s ? error.s : "");
    if (*cuda) {
        (*cuda)[size] = '\0';
    }
    if (!status && !out->on_gpu) {
        status =
            tool_fail(STATUS_LACKING, "--cuda runs on a GPU only: the simulator runs kernels, not CUDA text");
    }
    text_free(&error);
    return status;
}

static int run_arguments(const options *o, const subject *s, arguments *all, outcome *out) {
    char *cuda;
    int status = read_cuda(o, out, &cuda);
    if (!status) {
        status = out->on_gpu ? gpu_launch(o, s, &out->device, cuda, GPU_LAUNCHES, all, &out->gpu)
                             : simulate(o, s, all, out);
    }
    free(cuda);
    status = status ? status : reference_compute(o, s, all, &out->reference);
    return status ? status : judge(o, s, all, out);
}

static int choose(const options *o, subject *s, outcome *out) {
    int status = gpu_choose(o, &out->device, &out->on_gpu);
    if (status) {
        return status;
    }
    if (o->pack && !out->on_gpu) {
        return tool_fail(STATUS_LACKING, "--pack runs on a GPU only: the simulator runs kernels, not images");
    }
    if (!o->quiet && !out->on_gpu) {
        fputs("device: simulator\n", stderr);
    }
    if (!out->on_gpu) {
        status = subject_choose(o, "a100", s);
        return status ? status : subject_use_records_of_row(o, s);
    }
    status = subject_choose_device(o, out->device.major, out->device.minor, out->device.name, s);
    return status ? status : subject_use_records(o, out->device.name, out->device.sms, s);
}

int run_subject(const options *o, subject *s, outcome *out) {
    const pipeline_options how = {.lineinfo = o->lineinfo};
    arguments all = {0};
    int status = choose(o, s, out);
    status = status ? status : subject_build(o, &how, s);
    status = status ? status : inputs_make(o, s, &all);
    status = status ? status : run_arguments(o, s, &all, out);
    inputs_free(&all);
    return status;
}

void run_free(outcome *out) {
    sim_free(&out->sim);
    reference_free(&out->reference.tile);
    text_free(&out->report);
}

/* ---- the verb ------------------------------------------------------------------------------------------ */

/* What the process that runs the kernel tells the one that waits for it: the last line is said even of a kernel that
 * ends its process. */
typedef struct last_line {
    bool is_said;
    char why[512]; /* not */
} last_line;

static last_line *told;
static run_sweep *known; /* of --configs */

static void tell_why(const subject *s) {
    text why = {0};
    if (!s || !subject_mistake(s, &why)) {
        text_add(&why, tool_failure());
    }
    snprintf(told->why, sizeof told->why, "%s", why.s ? why.s : "");
    text_free(&why);
}

static int run_one(const options *o, const gallery *g, const operand *which, outcome *out) {
    subject s;
    int status = subject_open(o, g, which, &s);
    status = status ? status : run_subject(o, &s, out);
    if (!status) {
        told->is_said = true;
        status = report_text(o, &out->report);
        status = status ? status : out->is_good ? STATUS_GOOD : STATUS_WRONG;
    } else {
        tell_why(&s);
    }
    subject_free(&s);
    return status;
}

static int run(const options *o, gallery *g) {
    const operand *which;
    int status = subject_only(o, &which);
    if (!status && o->configs) {
        status = run_configs(o, g, which, known);
        tell_why(NULL);
    } else if (!status) {
        outcome *out = calloc(1, sizeof *out);
        status = out ? run_one(o, g, which, out) : tool_fail(STATUS_LACKING, "out of memory");
        if (out) {
            run_free(out);
        }
        free(out);
    }
    return status;
}

/* The first line of why, without the kernel's name before it. */
static void add_why(const char *kernel, const char *why, text *line) {
    const size_t n = strlen(kernel);
    why = *why ? why : "the reason is printed before";
    why += strncmp(why, kernel, n) == 0 && strncmp(why + n, ": ", 2) == 0 ? n + 2 : 0;
    text_add_n(line, why, strcspn(why, "\n"));
}

/* Of a kernel that could not be run, or not to its end. */
static int print_failed(const options *o, const char *kernel, const char *why, int status) {
    text line = {0};
    if (o->json) {
        json j = {.out = &line};
        json_object(&j, NULL);
        json_string(&j, "result", "FAILED");
        json_string(&j, "kernel", kernel);
        json_string(&j, "why", why);
        json_end(&j);
    } else {
        text_print(&line, "FAILED %s: %s\n", kernel, why);
    }
    const int written = report_text(o, &line);
    return written ? written : status;
}

/* What the child has not said itself. */
static int print_rest(const options *o, int status) {
    const char *kernel = o->operands[0].name;
    text reason = {0};
    add_why(kernel, told->why[0] ? told->why : tool_failure(), &reason);
    const char *why = reason.s ? reason.s : "out of memory";
    if (known && known->all) {
        status = run_configs_print(o, known, status, why);
    } else if (status && !told->is_said) {
        status = print_failed(o, kernel, why, status);
    }
    text_free(&reason);
    return status;
}

int verb_run(const options *o) {
    told = child_shared(sizeof *told);
    known = o->configs ? child_shared(sizeof *known) : NULL;
    if (!told || (o->configs && !known)) {
        return tool_fail(STATUS_LACKING, "out of memory");
    }
    const int status = gallery_run(o, run);
    return o->noperands == 1 ? print_rest(o, status) : status;
}
