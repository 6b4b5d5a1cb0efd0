/* tile_run.h -- what the tests of the block view share: a kernel through both witnesses, its results at hand. */
#ifndef TESTS_TILE_RUN_H
#define TESTS_TILE_RUN_H

#include "lower_run.h"

/* A lowered kernel after its run: l.args as before it, `after` as behind it. */
typedef struct ran {
    lowered l;
    witness_arg after[LOWERED_ARGS];
} ran;

/* Even two writes of one value to one place count as a race. */
static inline void run_strictly(const lowered *l, witness_arg *args) {
    const sim_options options = {.strict = true};
    sim_result result = {0};
    text error = {0}, t = {0};
    const int status = sim_run(l->made.thread, l->nargs, args, &options, &result, &error);
    findings_print(&result.findings, &t);
    cr_assert_eq(status, TG_OK, "%s, simulator: %s", l->name, error.s ? error.s : "");
    cr_assert_not(findings_failed(&result.findings, true), "%s, simulator: %s", l->name, t.s ? t.s : "");
    text_free(&t);
    sim_free(&result);
    text_free(&error);
}

/* Tile reference and simulator, races on, bit for bit the same. */
static inline ran run_both(lowered l, int64_t rows) {
    ran r = {.l = l};
    witness_arg want[LOWERED_ARGS];
    expect_good(&l);
    fill_args(&r.l, rows);
    copy_args(&r.l, want);
    copy_args(&r.l, r.after);
    run_reference(&r.l, want, 0);
    run_strictly(&r.l, r.after);
    for (int i = 0; i < r.l.nargs; i++) {
        cr_assert(!want[i].data || memcmp(want[i].data, r.after[i].data, want[i].bytes) == 0,
                  "%s: argument %d differs between reference and simulator", l.name, i);
    }
    free_args(&r.l, want);
    return r;
}

static inline double element_of(const lowered *l, const witness_arg *a, int arg, int64_t i) {
    const int64_t type = l->made.kernel->args[arg].tensor->type;
    value v = {type, 0};
    memcpy(&v.bits, (const char *)a[arg].data + i * type_bytes(type), (size_t)type_bytes(type));
    return value_as_real(v);
}

/* Element i of argument `arg` before the run, and after. */
static inline double before(const ran *r, int arg, int64_t i) {
    return element_of(&r->l, r->l.args, arg, i);
}

static inline double after(const ran *r, int arg, int64_t i) {
    return element_of(&r->l, r->after, arg, i);
}

static inline void expect_element(const ran *r, int arg, int64_t i, double want) {
    const double got = after(r, arg, i);
    cr_assert(got == want, "%s: element %lld of argument %d is %g, not %g", r->l.name, (long long)i, arg, got,
              want);
}

static inline void finish_run(ran *r) {
    free_args(&r->l, r->after);
    finish(&r->l);
}

/* Takes each inserted barrier away in turn: the simulator must find a race every time. */
static inline void expect_no_barrier_to_spare(const char *name, tg_builder *build, tg_config config,
                                              int wanted) {
    for (int n = 0;; n++) {
        lowered l = lower(name, build, "sm_80", config);
        expect_good(&l);
        cr_assert_eq(tally_of(&l).of[THREAD_BARRIER], wanted, "%s has %d barriers, not %d", name,
                     tally_of(&l).of[THREAD_BARRIER], wanted);
        bool removed = false;
        const bool raced = races_without(&l, n, &removed);
        finish(&l);
        if (!removed) {
            return;
        }
        cr_assert(raced, "%s: barrier %d is not needed", name, n);
    }
}

#endif
