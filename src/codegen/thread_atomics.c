/* thread_atomics.c -- lanes that add to one place add to each other first.
 *
 * Reads atomics on f32 and f64.  Where the lanes of a wave along a thread axis all do one atomic to one place, they
 * would wait for each other: shared memory has no addition of floats, so each tries until nobody came in between.
 * Leaves shuffles, and one atomic for all of them:
 *
 *     atomic reduced[tid_n] += x          32 lanes along tid_k, one after the other
 *   becomes
 *     reduced_lanes = x reduced over 32 lanes
 *     if tid_k % 32 == 0
 *         atomic reduced[tid_n] += reduced_lanes
 *
 * In which order atomics add, nobody could rely on before either.  Integers stay as they are: their hardware atomics
 * are fast, and a sum of lanes might leave the type where the sums of atomics wrap. */
#include "codegen/passes.h"

typedef struct joining {
    thread_kernel *t;
    uniformity *uniform;
} joining;

/* Is x known to be the same for all threads along axis v? */
static bool is_same_along(const node *x, const var *v) {
    if (x->kind == E_LOAD || x->kind == E_POISON) {
        return false;
    }
    if (x->kind == E_VAR && x->var->kind == VAR_LET) {
        return x->var->value && is_same_along(x->var->value, v);
    }
    if (x->kind == E_VAR && (x->var == v || x->var->kind == VAR_PARALLEL)) {
        return false;
    }
    for (int i = 0; i < x->n; i++) {
        if (!is_same_along(x->arg[i], v)) {
            return false;
        }
    }
    return true;
}

/* The axis along which most lanes of a wave meet at the place; -1 when none do. */
static int best_axis(const thread_kernel *t, const node *place) {
    int best = -1;
    int64_t most = 1;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t lanes = thread_lanes_along(t, axis);
        if (lanes > most && is_same_along(place, t->thread_var[axis])) {
            best = axis;
            most = lanes;
        }
    }
    return best;
}

static bool is_slow(const thread_stmt *s) {
    const int64_t type = s->dst->buffer->type;
    return type == TG_F32 || type == TG_F64;
}

/* s becomes the reduction, and what it was comes after it, under a condition. */
static void join(thread_kernel *t, thread_stmt *s, int axis) {
    arena *a = t->memory;
    const tg_loc at = s->at;
    const int64_t lanes = thread_lanes_along(t, axis);
    thread_stmt *const next = s->next;
    thread_block after = {NULL, NULL};

    node *place = thread_axis(t, at, axis), *width = expr_int(a, at, lanes);
    node *lane = lanes == t->threads[axis] ? place : expr_binary(a, at, TG_MOD, place, width);
    thread_stmt *first = thread_if(t, &after, expr_binary(a, at, TG_EQ, lane, expr_int(a, at, 0)));
    first->at = at;
    thread_stmt *once = thread_append(a, &first->body, THREAD_ATOMIC, at);
    *once = *s;
    once->next = NULL;
    once->why = "once for the lanes that would meet here";

    const allreduce sum = {.result =
                               thread_variable(t, VAR_LET, arena_print(a, "%s_lanes", s->dst->buffer->name),
                                               s->dst->buffer->type, at),
                           .value = s->value,
                           .reduction = s->reduction,
                           .axis = axis,
                           .at = at};
    once->value = expr_var(a, at, sum.result);
    thread_block before = {NULL, NULL};
    thread_reduce_lanes(t, &before, &sum);
    *s = *before.first;
    s->next = first;
    first->next = next;
}

static bool is_open(const joining *j, const node *decides) {
    return !facts_reads_memory(decides) && facts_uniform(j->uniform, decides) == FACT_YES;
}

/* Only where all threads of the block come do all lanes come together. */
static void join_block(joining *j, thread_block *b) {
    for (thread_stmt *s = b->first; s; s = s->next) {
        thread_note(j->t, j->uniform, s);
        if (s->kind == THREAD_ATOMIC && is_slow(s)) {
            const int axis = best_axis(j->t, s->dst);
            if (axis >= 0) {
                const bool was_last = b->last == s;
                join(j->t, s, axis);
                s = s->next;
                b->last = was_last ? s : b->last;
            }
        } else if ((s->kind == THREAD_FOR && is_open(j, s->extent)) ||
                   (s->kind == THREAD_IF && is_open(j, s->value))) {
            join_block(j, &s->body);
            join_block(j, &s->otherwise);
        }
    }
}

void thread_atomics(thread_kernel *t, diag *errors) {
    (void)errors;
    joining j = {t, uniformity_new(t->memory, t->nvars, t->nbuffers)};
    join_block(&j, &t->body);
}
