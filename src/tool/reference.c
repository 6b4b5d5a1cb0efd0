/* reference.c -- what a kernel must compute: by its own reference, else by the tile reference in double. */
#include "tool/reference.h"

#include "dsl/diag.h"
#include "tool/child.h"
#include "tool/tool.h"

void reference_arguments(const arguments *all, bool wanted, witness_arg *out) {
    for (int i = 0; i < all->n; i++) {
        const argument *a = &all->item[i];
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

/* The configuration as a reference sees it: params, tunables, extents. */
static tg_config reference_config(const subject *s, const arguments *all) {
    const tg_kernel *k = s->result.kernel;
    tg_config config = s->config;
    for (int i = 0; i < k->nparams; i++) {
        tg_config_set(&config, k->params[i].name, k->params[i].value);
    }
    for (int i = 0; i < all->n; i++) {
        if (all->item[i].is_extent) {
            tg_config_set(&config, all->item[i].name, value_as_int(all->item[i].scalar));
        }
    }
    return config;
}

static void call_reference(const options *o, const subject *s, reference_function *reference,
                           arguments *all) {
    void *args[INPUTS_MAX];
    const tg_config config = reference_config(s, all);
    for (int i = 0; i < all->n; i++) {
        argument *a = &all->item[i];
        args[i] = a->is_tensor ? a->wanted : &a->scalar.bits;
    }
    child_phase(PHASE_RUNNING, o);
    reference(&config, args);
    child_phase(PHASE_OTHER, o);
}

static int run_tile_reference(const options *o, const subject *s, arguments *all, reference_run *out) {
    witness_arg args[INPUTS_MAX];
    text error = {0};
    const reference_options how = {.seed = 0, .in_double = true};
    reference_arguments(all, true, args);
    child_phase(PHASE_RUNNING, o);
    const int code = tile_reference_run(s->result.kernel, all->n, args, &how, &out->tile, &error);
    child_phase(PHASE_OTHER, o);
    const int status = code ? reference_failed(s, code, &error) : STATUS_GOOD;
    text_free(&error);
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
    call_reference(o, s, reference, all);
    return STATUS_GOOD;
}
