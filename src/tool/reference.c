/* reference.c -- what a kernel must compute: by its own reference, else by the tile reference in double. */
#include "tool/reference.h"

#include "dsl/diag.h"
#include "tool/child.h"
#include "tool/tool.h"

void reference_arguments(const arguments *all, const subject_step *step, bool wanted, witness_arg *out) {
    for (int i = 0; i < step->nargs; i++) {
        const argument *a = &all->item[step->arg[i]];
        out[i] = (witness_arg){wanted ? a->wanted : a->after, a->bytes, a->scalar};
    }
}

int reference_failed(const subject *s, int code, const text *error) {
    if (code == TG_EARG && error->s) {
        return tool_fail(STATUS_FAULTY, "%s: %s", s->kernel->name, error->s);
    }
    const char *bug = diag_take_bug();
    return tool_fail(tool_status(code), "%s: the run ended early: %s", s->kernel->name,
                     error->s            ? error->s
                     : bug               ? bug
                     : code == TG_ENOMEM ? "out of memory"
                                         : "an internal fault");
}

static void call_reference(const options *o, const subject *s, reference_function *reference, arguments *all,
                           config_reads *reads) {
    void *args[INPUTS_MAX];
    reads->of = inputs_config(s, all);
    for (int i = 0; i < all->n; i++) {
        argument *a = &all->item[i];
        args[i] = a->is_tensor ? a->wanted : &a->scalar.bits;
    }
    child_phase(PHASE_RUNNING, o);
    config_watch(reads);
    reference(&reads->of, args);
    config_watch(NULL);
    child_phase(PHASE_OTHER, o);
}

static int run_step(const options *o, const subject_step *step, arguments *all, reference_run *out) {
    witness_arg args[INPUTS_MAX];
    text error = {0};
    const reference_options how = {.seed = 0, .in_double = true};
    reference_arguments(all, step, true, args);
    reference_free(&out->tile);
    child_phase(PHASE_RUNNING, o);
    const int code = tile_reference_run(step->s->result.kernel, step->nargs, args, &how, &out->tile, &error);
    child_phase(PHASE_OTHER, o);
    const int status = code ? reference_failed(step->s, code, &error) : STATUS_GOOD;
    text_free(&error);
    return status;
}

/* The steps one after the other, up to one with findings. */
static int run_tile_reference(const options *o, const subject *s, arguments *all, reference_run *out) {
    int status = STATUS_GOOD;
    for (int i = 0; i < s->nsteps && !status && !out->tile.findings.total; i++) {
        status = run_step(o, &s->steps[i], all, out);
    }
    return status;
}

int reference_compute(const options *o, const subject *s, arguments *all, reference_run *out) {
    reference_function *reference;
    if (!gallery_reference(s->kernel, &reference)) {
        return STATUS_FAULTY;
    }
    out->is_own = reference != NULL;
    if (!reference) {
        return run_tile_reference(o, s, all, out);
    }
    call_reference(o, s, reference, all, &out->reads);
    return STATUS_GOOD;
}
