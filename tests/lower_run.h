/* lower_run.h -- lowers a kernel and holds the result against the tile reference on the simulator.
 *
 * Tensors are filled with small integers, different in each element, so that sums are exact in any order. */
#ifndef TESTS_LOWER_RUN_H
#define TESTS_LOWER_RUN_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/pipeline.h"
#include "sim/sim.h"
#include "sim/tile_reference.h"

enum { LOWERED_ARGS = 8 };

typedef struct lowered {
    const char *name;
    int status;
    pipeline_result made;
    text messages;
    witness_arg args[LOWERED_ARGS];
    int nargs;
} lowered;

/* The whole pipeline, spec checked after every pass. */
static inline lowered lower(const char *name, tg_builder *build, const char *machine, tg_config config) {
    lowered l = {.name = name};
    const pipeline_options options = {.target = target_find(machine), .verify = true};
    const pipeline_input input = {.name = name, .build = build, .config = &config};
    l.status = pipeline_run(&input, &options, &l.made);
    if (l.made.kernel) {
        diag_print(&l.made.kernel->errors, &l.messages);
    }
    const char *bug = diag_take_bug();
    cr_assert_null(bug, "%s: %s", name, bug ? bug : "");
    return l;
}

static inline const char *messages(const lowered *l) {
    return l->messages.s ? l->messages.s : "";
}

static inline void expect_good(const lowered *l) {
    cr_assert_eq(l->status, TG_OK, "%s: %s", l->name, messages(l));
}

static inline void expect_message(const lowered *l, const char *part) {
    cr_assert_eq(l->status, TG_EKERNEL, "%s is accepted", l->name);
    cr_assert(strstr(messages(l), part) != NULL, "%s: '%s' lacks '%s'", l->name, messages(l), part);
}

static inline void finish(lowered *l) {
    for (int i = 0; i < l->nargs; i++) {
        free(l->args[i].data);
    }
    text_free(&l->messages);
    pipeline_free(&l->made);
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

static inline void fill_tensor(witness_arg *a, const buffer *b, int64_t elements, int seed) {
    a->bytes = (size_t)(elements * type_bytes(b->type));
    a->data = calloc(a->bytes + 1, 1);
    for (int64_t i = 0; i < elements; i++) {
        const value v = value_int(b->type, (i * 7 + seed * 3 + i / 11) % 13);
        memcpy((char *)a->data + i * type_bytes(b->type), &v.bits, (size_t)type_bytes(b->type));
    }
}

/* Every extent is `rows`, every scalar 5. */
static inline void fill_args(lowered *l, int64_t rows) {
    const tg_kernel *k = l->made.kernel;
    l->nargs = k->nargs;
    for (int i = 0; i < k->nargs; i++) {
        const buffer *b = k->args[i].tensor;
        if (!b) {
            const var *v = k->args[i].scalar;
            l->args[i].scalar = v->kind == VAR_EXTENT ? value_int(TYPE_INDEX, rows) : value_int(v->type, 5);
            continue;
        }
        buffer known = *b;
        known.dim[0] = known.dim[0] < 0 ? rows : known.dim[0];
        fill_tensor(&l->args[i], b, buffer_elements(&known), i);
    }
}

static inline void copy_args(const lowered *l, witness_arg *to) {
    for (int i = 0; i < l->nargs; i++) {
        to[i] = l->args[i];
        if (to[i].data) {
            to[i].data = malloc(to[i].bytes + 1);
            memcpy(to[i].data, l->args[i].data, to[i].bytes);
        }
    }
}

static inline void free_args(const lowered *l, witness_arg *args) {
    for (int i = 0; i < l->nargs; i++) {
        free(args[i].data);
    }
}

/* ---- both witnesses ------------------------------------------------------------------------------------ */

static inline void expect_clean(const lowered *l, const char *who, int status, const findings *f,
                                const text *error) {
    text t = {0};
    findings_print(f, &t);
    cr_assert_eq(status, TG_OK, "%s, %s: %s", l->name, who, error->s ? error->s : "");
    cr_assert_not(findings_failed(f, false), "%s, %s: %s", l->name, who, t.s ? t.s : "");
    text_free(&t);
}

static inline void run_reference(const lowered *l, witness_arg *args, uint64_t seed) {
    reference_options options = {.seed = seed};
    reference_result result = {0};
    text error = {0};
    const int status = tile_reference_run(l->made.kernel, l->nargs, args, &options, &result, &error);
    expect_clean(l, "reference", status, &result.findings, &error);
    reference_free(&result);
    text_free(&error);
}

static inline void run_simulator(const lowered *l, witness_arg *args) {
    sim_options options = {.strict = false};
    sim_result result = {0};
    text error = {0};
    const int status = sim_run(l->made.thread, l->nargs, args, &options, &result, &error);
    expect_clean(l, "simulator", status, &result.findings, &error);
    sim_free(&result);
    text_free(&error);
}

/* The lowered kernel does what the words say, bit for bit. */
static inline void expect_agreement(lowered *l, int64_t rows) {
    witness_arg want[LOWERED_ARGS], got[LOWERED_ARGS];
    expect_good(l);
    fill_args(l, rows);
    copy_args(l, want);
    copy_args(l, got);
    run_reference(l, want, 0);
    run_simulator(l, got);
    for (int i = 0; i < l->nargs; i++) {
        cr_assert(!want[i].data || memcmp(want[i].data, got[i].data, want[i].bytes) == 0,
                  "%s: argument %d differs between reference and simulator", l->name, i);
    }
    free_args(l, want);
    free_args(l, got);
}

/* ---- looking at thread IR ------------------------------------------------------------------------------ */

typedef struct tally {
    int of[THREAD_GRID_WAIT + 1];
    int lanes;  /* of the widest store */
    int widest; /* bytes of it */
} tally;

static inline void tally_statement(thread_stmt *s, void *user) {
    tally *t = user;
    t->of[s->kind]++;
    if (s->kind == THREAD_STORE && s->dst->lanes > t->lanes) {
        t->lanes = s->dst->lanes;
        t->widest = s->dst->lanes * type_bytes(s->dst->type);
    }
}

static inline tally tally_of(const lowered *l) {
    tally t = {.lanes = 0};
    thread_walk(&l->made.thread->body, tally_statement, &t);
    return t;
}

/* The text of the lowered kernel; caller frees. */
static inline text thread_text(const lowered *l) {
    text t = {0};
    thread_print(l->made.thread, &t, false);
    return t;
}

/* ---- no barrier to spare ------------------------------------------------------------------------------- */

/* Takes the n-th barrier away; false when there are fewer. */
static inline bool remove_barrier(thread_block *b, int *n) {
    for (thread_stmt *s = b->first, *before = NULL; s; before = s, s = s->next) {
        if (s->kind == THREAD_BARRIER && (*n)-- == 0) {
            if (before) {
                before->next = s->next;
            } else {
                b->first = s->next;
            }
            b->last = b->last == s ? before : b->last;
            return true;
        }
        if (remove_barrier(&s->body, n) || remove_barrier(&s->otherwise, n)) {
            return true;
        }
    }
    return false;
}

static inline bool races_without(lowered *l, int n, bool *removed) {
    witness_arg args[LOWERED_ARGS];
    sim_options options = {.strict = true};
    sim_result result = {0};
    text error = {0};
    *removed = remove_barrier(&l->made.thread->body, &n);
    fill_args(l, 0);
    copy_args(l, args);
    cr_assert_eq(sim_run(l->made.thread, l->nargs, args, &options, &result, &error), TG_OK);
    const bool raced = findings_failed(&result.findings, true);
    sim_free(&result);
    text_free(&error);
    free_args(l, args);
    return raced;
}

#define LOWER(machine, name, ...) lower(#name, name, machine, TG_CONFIG(__VA_ARGS__))
#define LOWER_PLAIN(machine, name) lower(#name, name, machine, (tg_config){.n = 0})

#endif
