/* test_facts.c -- what facts says about an expression holds at every point.
 *
 * Expressions are made by a seed and evaluated by the test itself, in plain 64-bit arithmetic, at all values
 * of their variables. */
#include <criterion/criterion.h>
#include <string.h>

#include "codegen/facts_point.h"

enum { VARS = 4 };

typedef struct world {
    arena memory;
    var v[VARS]; /* two thread axes, a loop, a block axis */
    var let[2];
    uint64_t state;
    int64_t now[VARS];
} world;

static const tg_loc here = {"facts.c", 1};

static void begin(world *w, uint64_t seed) {
    static const var_kind kind[VARS] = {VAR_THREAD, VAR_THREAD, VAR_LOOP, VAR_GRID};
    static const int64_t most[VARS] = {7, 3, 4, 9};
    static const char *const name[VARS] = {"tx", "ty", "k", "pid"};
    memset(w, 0, sizeof *w);
    w->state = seed * 2862933555777941757u + 3037000493u;
    for (int i = 0; i < VARS; i++) {
        w->v[i] = (var){.kind = kind[i], .name = name[i], .type = TYPE_INDEX, .hi = most[i], .id = i};
        w->v[i].axis = kind[i] == VAR_THREAD ? i : 0;
    }
}

static int64_t pick(world *w, int64_t n) {
    w->state = w->state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(w->state >> 33) % n;
}

static node *number(world *w, int64_t x) {
    return expr_int(&w->memory, here, x);
}

static node *made(world *w, int depth, int vars) {
    static const tg_op op[] = {TG_ADD, TG_ADD, TG_SUB, TG_MIN_OF, TG_MAX_OF};
    arena *a = &w->memory;
    const int64_t which = depth > 3 ? pick(w, 2) : pick(w, 9);
    if (which == 0) {
        return number(w, pick(w, 20) - 6);
    }
    if (which <= 2) {
        return expr_var(a, here, &w->v[pick(w, vars)]);
    }
    node *x = made(w, depth + 1, vars);
    if (which == 3) {
        return expr_mul(a, x, pick(w, 9));
    }
    if (which == 4) {
        return expr_binary(a, here, pick(w, 2) ? TG_QUO : TG_MOD, x, number(w, pick(w, 8) + 1));
    }
    if (which == 5 && !w->let[depth % 2].kind) {
        var *v = &w->let[depth % 2];
        *v = (var){.kind = VAR_LET, .name = "named", .type = TYPE_INDEX, .id = VARS + depth % 2};
        v->lo = x->lo;
        v->hi = x->hi;
        v->value = x;
        return expr_var(a, here, v);
    }
    return expr_binary(a, here, op[pick(w, 5)], x, made(w, depth + 1, vars));
}

static node *condition(world *w, int depth) {
    static const tg_op op[] = {TG_LT, TG_LE, TG_GT, TG_GE, TG_EQ, TG_NE};
    arena *a = &w->memory;
    if (depth < 2 && pick(w, 4) == 0) {
        node *x = condition(w, depth + 1);
        return pick(w, 3) == 0
                   ? expr_unary(a, here, TG_NEGATE, x)
                   : expr_binary(a, here, pick(w, 2) ? TG_BOTH : TG_EITHER, x, condition(w, depth + 1));
    }
    node *x = made(w, 1, VARS);
    return expr_binary(a, here, op[pick(w, 6)], x, made(w, 1, VARS));
}

/* ---- the test's own arithmetic ------------------------------------------------------------------------- */

static int64_t at_point(const world *w, const node *x);

static int64_t of_op(const world *w, const node *x) {
    const int64_t a = at_point(w, x->arg[0]), b = x->n > 1 ? at_point(w, x->arg[1]) : 0;
    switch (x->op) {
    case TG_ADD:
        return a + b;
    case TG_SUB:
        return a - b;
    case TG_MUL:
        return a * b;
    case TG_QUO:
        return a / b;
    case TG_MOD:
        return a % b;
    case TG_MIN_OF:
        return a < b ? a : b;
    case TG_MAX_OF:
        return a > b ? a : b;
    case TG_NEG:
        return -a;
    case TG_LT:
        return a < b;
    case TG_LE:
        return a <= b;
    case TG_GT:
        return a > b;
    case TG_GE:
        return a >= b;
    case TG_EQ:
        return a == b;
    case TG_NE:
        return a != b;
    case TG_BOTH:
        return a && b;
    case TG_EITHER:
        return a || b;
    case TG_NEGATE:
        return !a;
    default:
        cr_assert_fail("an operator that the test does not make");
        return 0;
    }
}

static int64_t at_point(const world *w, const node *x) {
    if (x->kind == E_CONST) {
        return x->ival;
    }
    if (x->kind == E_VAR) {
        return x->var->kind == VAR_LET ? at_point(w, x->var->value) : w->now[x->var->id];
    }
    cr_assert_eq(x->kind, E_OP);
    return of_op(w, x);
}

static bool next(world *w) {
    for (int i = 0; i < VARS; i++) {
        if (++w->now[i] <= w->v[i].hi) {
            return true;
        }
        w->now[i] = 0;
    }
    return false;
}

/* ---- facts against all points -------------------------------------------------------------------------- */

Test(facts, what_is_said_to_be_true_is_true_everywhere) {
    int decided = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        world w;
        begin(&w, seed);
        const node *c = condition(&w, 0);
        const fact f = facts_truth(c);
        bool any = false, all = true;
        do {
            const bool x = at_point(&w, c) != 0;
            any |= x;
            all &= x;
        } while (next(&w));
        cr_assert(f != FACT_YES || all, "%s", expr_text(&w.memory, c));
        cr_assert(f != FACT_NO || !any, "%s", expr_text(&w.memory, c));
        cr_assert(f != FACT_UNKNOWN || (any && !all), "%s is decided, and small enough",
                  expr_text(&w.memory, c));
        decided += f != FACT_UNKNOWN;
        arena_free(&w.memory);
    }
    cr_assert_gt(decided, 300);
}

Test(facts, what_is_said_to_be_inside_is_inside_everywhere) {
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        world w;
        begin(&w, seed);
        const node *x = made(&w, 0, VARS);
        int64_t lo = INT64_MAX, hi = INT64_MIN;
        do {
            const int64_t v = at_point(&w, x);
            lo = v < lo ? v : lo;
            hi = v > hi ? v : hi;
        } while (next(&w));
        cr_assert_eq(facts_inside(x, lo, hi), FACT_YES, "%s", expr_text(&w.memory, x));
        cr_assert_neq(facts_inside(x, lo + 1, hi), FACT_YES, "%s", expr_text(&w.memory, x));
        cr_assert_neq(facts_inside(x, lo, hi - 1), FACT_YES, "%s", expr_text(&w.memory, x));
        cr_assert_eq(facts_inside(x, hi + 1, hi + 5), FACT_NO, "%s", expr_text(&w.memory, x));
        arena_free(&w.memory);
    }
}

Test(facts, what_is_said_to_be_aligned_is_a_multiple_everywhere) {
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        for (int64_t n = 1; n <= 16; n *= 2) {
            world w;
            begin(&w, seed);
            const node *x = made(&w, 0, VARS);
            bool all = true;
            do {
                all &= at_point(&w, x) % n == 0;
            } while (next(&w));
            cr_assert_eq(facts_aligned(x, n), all ? FACT_YES : FACT_NO, "%s by %d", expr_text(&w.memory, x),
                         (int)n);
            arena_free(&w.memory);
        }
    }
}

Test(facts, what_is_said_to_be_uniform_is_the_same_in_all_threads) {
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        world w;
        begin(&w, seed);
        const node *x = made(&w, 0, VARS);
        uniformity *u = uniformity_new(&w.memory, VARS + 2, 1);
        const fact f = facts_uniform(u, x);
        int64_t first[10][5];
        bool same = true;
        do {
            int64_t *of = &first[w.now[3]][w.now[2]];
            const int64_t v = at_point(&w, x);
            if (w.now[0] == 0 && w.now[1] == 0) {
                *of = v;
            }
            same &= *of == v;
        } while (next(&w));
        cr_assert(f != FACT_YES || same, "%s", expr_text(&w.memory, x));
        cr_assert(f != FACT_NO || !same, "%s", expr_text(&w.memory, x));
        arena_free(&w.memory);
    }
}

Test(facts, an_affine_form_is_the_expression) {
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        world w;
        begin(&w, seed);
        const node *x = made(&w, 0, VARS);
        affine a;
        if (affine_of(x, &a)) {
            do {
                int64_t sum = a.constant;
                for (int i = 0; i < a.n; i++) {
                    sum += a.term[i].factor * at_point(&w, a.term[i].x);
                }
                cr_assert_eq(sum, at_point(&w, x), "%s", expr_text(&w.memory, x));
            } while (next(&w));
        }
        arena_free(&w.memory);
    }
}

Test(facts, a_step_is_what_each_iteration_adds) {
    int known = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        world w;
        begin(&w, seed);
        const node *x = made(&w, 0, VARS);
        int64_t step;
        if (affine_step(x, &w.v[2], &step)) {
            known++;
            do {
                const int64_t before = at_point(&w, x);
                w.now[2]++;
                cr_assert_eq(at_point(&w, x), before + step, "%s", expr_text(&w.memory, x));
                w.now[2]--;
            } while (next(&w));
        }
        arena_free(&w.memory);
    }
    cr_assert_gt(known, 1000);
}

/* ---- large ranges -------------------------------------------------------------------------------------- */

Test(facts, block_axes_enter_by_range_and_residue) {
    world w;
    begin(&w, 1);
    w.v[3].hi = 1 << 20; /* pid */
    arena *a = &w.memory;
    node *pid = expr_var(a, here, &w.v[3]), *tx = expr_var(a, here, &w.v[0]);
    node *x = expr_add(a, expr_mul(a, pid, 64), expr_mul(a, tx, 8));
    cr_assert_eq(facts_aligned(x, 8), FACT_YES);
    cr_assert_eq(facts_aligned(x, 16), FACT_NO);
    cr_assert_eq(facts_aligned(expr_add(a, expr_mul(a, pid, 4), expr_mul(a, pid, 4)), 8), FACT_YES);
    cr_assert_eq(facts_aligned(expr_mul(a, pid, 4), 8), FACT_NO);
    cr_assert_eq(facts_inside(x, 0, 64 * (1 << 20) + 56), FACT_YES);
    cr_assert_eq(facts_inside(x, 0, 64 * (1 << 20) + 55), FACT_UNKNOWN);
    cr_assert_eq(facts_inside(x, -9, -1), FACT_NO);
    arena_free(a);
}

Test(facts, a_shift_to_the_left_is_no_product_where_it_wraps) {
    world w;
    begin(&w, 1);
    arena *a = &w.memory;
    node *k = expr_cast(a, here, TG_I32, expr_add(a, expr_var(a, here, &w.v[2]), number(&w, 5))); /* 5 .. 9 */
    node *zero = expr_const(a, here, value_int(TG_I32, 0));
    node *far = expr_binary(a, here, TG_SHL, k, number(&w, 31)),
         *near = expr_binary(a, here, TG_SHL, k, number(&w, 4));
    affine f;
    cr_assert(affine_of(near, &f) && f.n == 1 && f.term[0].factor == 16);
    cr_assert(affine_of(far, &f) && f.n == 1 && f.term[0].x == far);
    cr_assert_eq(facts_truth(expr_binary(a, here, TG_LE, far, zero)), FACT_YES); /* -2^31 or 0 */
    cr_assert_eq(facts_truth(expr_binary(a, here, TG_GT, near, zero)), FACT_YES);
    arena_free(a);
}

Test(facts, comparisons_of_u64_are_not_those_of_int64) {
    world w;
    begin(&w, 1);
    arena *a = &w.memory;
    node *k = expr_cast(a, here, TG_U64, expr_var(a, here, &w.v[2]));
    node *large = expr_const(a, here, value_int(TG_U64, -9)); /* 2^64 - 9 */
    cr_assert_eq(facts_truth(expr_binary(a, here, TG_LT, k, large)), FACT_YES);
    cr_assert_neq(facts_truth(expr_binary(a, here, TG_GT, k, large)), FACT_YES);
    var s = {.kind = VAR_SCALAR, .name = "s", .type = TG_U64, .lo = 0, .hi = INT64_MAX};
    node *any = expr_var(a, here, &s), *half = expr_const(a, here, value_int(TG_U64, INT64_MIN));
    cr_assert_eq(facts_truth(expr_binary(a, here, TG_LT, any, half)), FACT_UNKNOWN);
    affine f;
    cr_assert_not(affine_of(any, &f));
    arena_free(a);
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static node *element(world *w, buffer *b, node *index) {
    return expr_load(&w->memory, here, expr_ref(&w->memory, here, b, 1, &index, 1));
}

Test(facts, loads_are_uniform_until_somebody_writes) {
    world w;
    begin(&w, 1);
    buffer b = {.name = "flag", .space = TG_SHARED, .type = TG_I32, .rank = 1, .dim = {64}, .arg = -1};
    uniformity *u = uniformity_new(&w.memory, VARS, 1);
    const node *same = element(&w, &b, number(&w, 3));
    const node *own = element(&w, &b, expr_var(&w.memory, here, &w.v[0]));
    cr_assert_eq(facts_uniform(u, same), FACT_YES);
    cr_assert_eq(facts_uniform(u, own), FACT_UNKNOWN);
    uniformity_write(u, &b);
    cr_assert_eq(facts_uniform(u, same), FACT_UNKNOWN);
    uniformity_barrier(u);
    cr_assert_eq(facts_uniform(u, same), FACT_YES);
    b.space = TG_LOCAL;
    cr_assert_eq(facts_uniform(u, same), FACT_UNKNOWN);
    arena_free(&w.memory);
}

Test(facts, a_name_of_what_memory_held_does_not_stand_for_what_it_holds) {
    world w;
    begin(&w, 1);
    buffer b = {.name = "b", .space = TG_SHARED, .type = TG_I32, .rank = 1, .dim = {64}, .arg = -1};
    node *x = expr_cast(&w.memory, here, TYPE_INDEX, element(&w, &b, number(&w, 3)));
    var v = {.kind = VAR_LET, .name = "held", .type = TYPE_INDEX, .lo = x->lo, .hi = x->hi, .value = x};
    affine named, now;
    cr_assert(affine_of(expr_var(&w.memory, here, &v), &named));
    cr_assert(affine_of(x, &now));
    cr_assert(affine_subtract(&named, &now));
    cr_assert_neq(named.n, 0);
    arena_free(&w.memory);
}

/* ---- disjoint ------------------------------------------------------------------------------------------ */

static fact apart(world *w, buffer *b, node *x, node *y, int lanes) {
    var *const thread_var[3] = {&w->v[0], &w->v[1], NULL};
    const fact_block block = facts_block(&w->memory, thread_var);
    const fact_access first = {.ref = expr_ref(&w->memory, here, b, 1, &x, lanes)};
    const fact_access second = {.ref = expr_ref(&w->memory, here, b, 1, &y, 1)};
    return facts_apart(&block, &first, &second);
}

Test(facts, threads_that_keep_to_their_own_elements_are_disjoint) {
    world w;
    begin(&w, 1);
    arena *a = &w.memory;
    buffer b = {.name = "b", .space = TG_SHARED, .type = TG_I32, .rank = 1, .dim = {4096}, .arg = -1};
    node *tx = expr_var(a, here, &w.v[0]), *ty = expr_var(a, here, &w.v[1]), *k = expr_var(a, here, &w.v[2]);
    node *pid = expr_var(a, here, &w.v[3]);
    node *me = expr_add(a, tx, expr_mul(a, ty, 8));
    cr_assert_eq(apart(&w, &b, me, me, 1), FACT_YES);
    cr_assert_eq(apart(&w, &b, tx, tx, 1), FACT_UNKNOWN); /* ty is not in it */
    cr_assert_eq(apart(&w, &b, me, expr_add(a, me, number(&w, 1)), 1), FACT_UNKNOWN);
    cr_assert_eq(apart(&w, &b, me, expr_add(a, me, number(&w, 32)), 1), FACT_YES);
    cr_assert_eq(apart(&w, &b, me, me, 2), FACT_UNKNOWN);
    cr_assert_eq(apart(&w, &b, expr_mul(a, me, 2), expr_mul(a, me, 2), 2), FACT_YES);
    cr_assert_eq(apart(&w, &b, expr_add(a, me, expr_mul(a, k, 32)), expr_add(a, me, expr_mul(a, k, 64)), 1),
                 FACT_YES);
    cr_assert_eq(apart(&w, &b, expr_add(a, me, k), me, 1), FACT_UNKNOWN);
    cr_assert_eq(apart(&w, &b, expr_add(a, me, expr_mul(a, pid, 5)), expr_add(a, me, expr_mul(a, pid, 5)), 1),
                 FACT_YES);
    cr_assert_eq(apart(&w, &b, expr_add(a, me, expr_mul(a, pid, 5)), me, 1), FACT_UNKNOWN);
    arena_free(a);
}

Test(facts, versions_of_one_iteration_are_disjoint) {
    world w;
    begin(&w, 1);
    arena *a = &w.memory;
    buffer b = {.name = "b", .space = TG_SHARED, .type = TG_I32, .rank = 1, .dim = {4096}, .arg = -1};
    node *k = expr_var(a, here, &w.v[2]);
    node *me = expr_add(a, expr_var(a, here, &w.v[0]), expr_mul(a, expr_var(a, here, &w.v[1]), 8));
    node *other = expr_binary(a, here, TG_SUB, number(&w, 31), me);
    for (int64_t most = 4; most < 100000; most *= 20) { /* enumerated, then by residue */
        w.v[2].hi = most;
        for (int64_t ahead = 0; ahead < 5; ahead++) {
            node *now = expr_binary(a, here, TG_MOD, k, number(&w, 3));
            node *later = expr_binary(a, here, TG_MOD, expr_add(a, k, number(&w, ahead)), number(&w, 3));
            node *x = expr_add(a, expr_mul(a, now, 32), me), *y = expr_add(a, expr_mul(a, later, 32), other);
            cr_assert_eq(apart(&w, &b, x, y, 1), ahead % 3 == 0 ? FACT_UNKNOWN : FACT_YES, "%d of %d",
                         (int)ahead, (int)most);
        }
    }
    arena_free(a);
}

Test(facts, a_guard_keeps_threads_out) {
    world w;
    begin(&w, 1);
    arena *a = &w.memory;
    buffer b = {.name = "b", .space = TG_SHARED, .type = TG_I32, .rank = 1, .dim = {64}, .arg = -1};
    var *const thread_var[3] = {&w.v[0], NULL, NULL};
    const fact_block block = facts_block(a, thread_var);
    node *tx = expr_var(a, here, &w.v[0]), *first = number(&w, 0),
         *half = expr_binary(a, here, TG_QUO, tx, number(&w, 4));
    const fact_access all = {.ref = expr_ref(a, here, &b, 1, &half, 1)};
    fact_access one = {.ref = expr_ref(a, here, &b, 1, &first, 1)};
    cr_assert_eq(facts_apart(&block, &all, &one), FACT_UNKNOWN);
    fact_access upper = all;
    upper.n = 1;
    upper.guard[0].condition = expr_binary(a, here, TG_GE, tx, number(&w, 4));
    cr_assert_eq(facts_apart(&block, &upper, &one), FACT_YES);
    upper.guard[0].negated = true;
    cr_assert_eq(facts_apart(&block, &upper, &one), FACT_UNKNOWN);
    arena_free(a);
}

/* ---- digits -------------------------------------------------------------------------------------------- */

static uint64_t state = 1;

static int64_t below(int64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

/* An offset such as tiles have: factors of one and another variable, parts of divisions among them. */
static node *random_offset(world *w, int64_t *values) {
    static const int64_t factors[] = {1, 2, 3, 4, 8, 8, 12, 16, 24, 32, 64};
    arena *a = &w->memory;
    node *sum = number(w, below(4));
    for (int i = 0; i < 3; i++) {
        node *x = expr_var(a, here, &w->v[below(3)]);
        const int64_t n = 2 + below(3);
        if (below(3) == 0) {
            x = expr_binary(a, here, below(2) ? TG_QUO : TG_MOD, x, number(w, n));
        } else if (below(4) == 0) { /* both parts: a row and a column */
            node *whole = expr_binary(a, here, TG_QUO, x, number(w, n));
            node *rest = expr_binary(a, here, TG_MOD, x, number(w, n));
            x = expr_add(a, expr_mul(a, whole, n * (1 + below(2))), rest);
        }
        sum = expr_add(a, sum, expr_mul(a, x, factors[below(11)]));
    }
    *values = sum->hi + 8;
    return sum;
}

static int64_t value_at(const node *x, const var *const *v, const int64_t *now) {
    value_fault fault = FAULT_NONE;
    if (x->kind == E_CONST) {
        return x->ival;
    }
    for (int i = 0; x->kind == E_VAR; i++) {
        if (v[i] == x->var) {
            return now[i];
        }
    }
    const value a = value_int(TYPE_INDEX, value_at(x->arg[0], v, now));
    const value b = value_int(TYPE_INDEX, value_at(x->arg[x->n - 1], v, now));
    return value_as_int(value_binary(x->op, a, b, &fault));
}

/* Do two threads meet, one in x and the other in y, the loops at any values? */
static bool meet(const world *w, const node *x, const node *y, int lanes, int64_t values) {
    const var *const v[3] = {&w->v[0], &w->v[1], &w->v[2]};
    int owner[4096] = {0};
    cr_assert(values < 4096);
    for (int turn = 0; turn < 2; turn++) {
        int64_t now[3];
        for (now[0] = 0; now[0] <= v[0]->hi; now[0]++) {
            for (now[1] = 0; now[1] <= v[1]->hi; now[1]++) {
                const int me = 1 + (int)(now[0] + now[1] * (v[0]->hi + 1));
                for (now[2] = 0; now[2] <= v[2]->hi; now[2]++) {
                    const int64_t at = value_at(turn ? y : x, v, now);
                    for (int lane = 0; lane < (turn ? 1 : lanes); lane++) {
                        int *o = &owner[at + lane];
                        if (turn && *o != 0 && *o != me) {
                            return true;
                        }
                        *o = turn ? *o : *o == 0 || *o == me ? me : -1;
                    }
                }
            }
        }
    }
    return false;
}

Test(facts, offsets_read_as_digits_are_apart_only_where_they_are) {
    int shown = 0, apart_at_all = 0;
    for (int i = 0; i < 4000; i++) {
        world w;
        begin(&w, 1);
        w.v[0].hi = below(8);
        w.v[1].hi = below(4);
        w.v[2].hi = below(5);
        int64_t values[2];
        node *x = random_offset(&w, &values[0]), *y = below(2) ? x : random_offset(&w, &values[1]);
        const int lanes = 1 << below(4);
        buffer b = {.name = "b", .space = TG_SHARED, .type = TG_I32, .rank = 1, .dim = {4096}, .arg = -1};
        const fact_block block = facts_block(&w.memory, (var *const[3]){&w.v[0], &w.v[1], NULL});
        const fact_access first = {.ref = expr_ref(&w.memory, here, &b, 1, &x, lanes)};
        const fact_access second = {.ref = expr_ref(&w.memory, here, &b, 1, &y, 1)};
        const int64_t most = values[0] > y->hi + 8 ? values[0] : y->hi + 8;
        const bool met = meet(&w, x, y, lanes, most);
        const fact f = facts_apart_anywhere(&block, &first, &second);
        cr_assert(!met || f != FACT_YES, "%s and %s, %d lanes", expr_text(&w.memory, x),
                  expr_text(&w.memory, y), lanes);
        shown += f == FACT_YES;
        apart_at_all += !met;
        arena_free(&w.memory);
    }
    cr_assert_gt(2 * shown, apart_at_all, "shown %d of %d", shown, apart_at_all);
}

/* Four rows of a word for each thread, one side two by two: no difference of the pairs is the
 * only one, that of pair and row together is.  Rows too short for all threads do meet. */
Test(facts, a_row_in_two_parts_is_one_digit) {
    world w;
    begin(&w, 1);
    arena *a = &w.memory;
    var half = {.kind = VAR_LOOP, .name = "half", .type = TYPE_INDEX, .hi = 1, .id = VARS};
    var row = {.kind = VAR_LOOP, .name = "row", .type = TYPE_INDEX, .hi = 3, .id = VARS + 1};
    node *place = expr_add(a, expr_mul(a, expr_var(a, here, &w.v[1]), 8), expr_var(a, here, &w.v[0]));
    buffer b = {.name = "b", .space = TG_SHARED, .type = TG_I32, .rank = 1, .dim = {4096}, .arg = -1};
    const fact_block block = facts_block(a, (var *const[3]){&w.v[0], &w.v[1], NULL});
    for (int64_t pitch = 31; pitch <= 33; pitch++) {
        node *k = expr_binary(a, here, TG_MOD, expr_var(a, here, &w.v[2]), number(&w, 2));
        node *halves = expr_add(a, expr_mul(a, expr_var(a, here, &half), 2 * pitch), expr_mul(a, k, pitch));
        node *rows = expr_mul(a, expr_var(a, here, &row), pitch);
        node *x = expr_add(a, halves, place), *y = expr_add(a, rows, place);
        const fact_access first = {.ref = expr_ref(a, here, &b, 1, &x, 1)};
        const fact_access second = {.ref = expr_ref(a, here, &b, 1, &y, 1)};
        const fact f = facts_apart_anywhere(&block, &first, &second);
        cr_expect_eq(f, pitch < 32 ? FACT_UNKNOWN : FACT_YES, "rows of %d: %d", (int)pitch, (int)f);
    }
    arena_free(a);
}

/* ---- ragged rows ---------------------------------------------------------------------------------------- */

enum { ROWS = 6 };

/* Two accesses of different iterations of one loop: variables 2 and 3 are what its counter was. */
typedef struct ragged {
    world w;
    buffer b;
    fact_access access[2];
} ragged;

static node *part_of_thread(world *w, int64_t n) {
    node *x = expr_var(&w->memory, here, &w->v[below(2)]);
    return below(2) ? x : expr_binary(&w->memory, here, below(2) ? TG_QUO : TG_MOD, x, number(w, n));
}

static void make_ragged(ragged *r) {
    static const int64_t factors[] = {0, 1, 2, 4, 8, 5};
    world *w = &r->w;
    arena *a = &w->memory;
    begin(w, 1);
    w->v[0].hi = below(8);
    w->v[1].hi = below(4);
    w->v[2].hi = w->v[3].hi = 1 + below(3);
    w->v[3].kind = VAR_LOOP;
    const int64_t columns = 3 + below(14), row_step = factors[below(3)], step = factors[below(6)];
    const int64_t lanes = below(3) ? 1 : 2, guards = below(4), n = 1 + below(4);
    node *row = expr_mul(a, part_of_thread(w, n), factors[below(3)]);
    node *column = expr_mul(a, part_of_thread(w, n), lanes * factors[below(4)]);
    r->b = (buffer){.name = "b", .space = TG_GLOBAL, .type = TG_I32, .rank = 2, .arg = -1};
    r->b.dim[0] = ROWS * 8;
    r->b.dim[1] = columns;
    for (int i = 0; i < 2; i++) {
        node *k = expr_var(a, here, &w->v[2 + i]);
        node *index[2] = {expr_add(a, expr_mul(a, k, row_step), row),
                          expr_add(a, expr_mul(a, k, step), column)};
        r->access[i] = (fact_access){.ref = expr_ref(a, here, &r->b, 2, index, (int)lanes), .n = guards != 0};
        node *last = expr_add(a, index[1], number(w, lanes - (guards == 2 ? 2 : 1)));
        node *inside = expr_binary(a, here, TG_LT, last, number(w, columns)); /* one too many with 2 */
        r->access[i].guard[0].condition = guards == 3 ? expr_unary(a, here, TG_NEGATE, inside) : inside;
        r->access[i].guard[0].negated = guards == 3;
    }
}

/* By looking at all of them; owner[] by element, a thread for each side. */
static bool ragged_meet(ragged *r) {
    int owner[2048] = {0};
    const var *const v[4] = {&r->w.v[0], &r->w.v[1], &r->w.v[2], &r->w.v[3]};
    for (int side = 0; side < 2; side++) {
        const fact_access *x = &r->access[side];
        int64_t now[4] = {0};
        for (int64_t at = 0; at < (v[0]->hi + 1) * (v[1]->hi + 1) * (v[2]->hi + 1); at++) {
            now[0] = at % (v[0]->hi + 1);
            now[1] = at / (v[0]->hi + 1) % (v[1]->hi + 1);
            now[2 + side] = at / (v[0]->hi + 1) / (v[1]->hi + 1);
            const int me = 1 + (int)(now[0] + now[1] * (v[0]->hi + 1));
            const node *guard = x->n ? x->guard[0].condition : NULL;
            guard =
                guard && x->guard[0].negated && guard->kind == E_OP && guard->n == 1 ? guard->arg[0] : guard;
            if (guard && value_at(guard, v, now) == 0) {
                continue;
            }
            const int64_t first =
                value_at(x->ref->arg[0], v, now) * r->b.dim[1] + value_at(x->ref->arg[1], v, now);
            for (int64_t e = first; e < first + x->ref->lanes; e++) {
                if (side && owner[e] != 0 && owner[e] != me) {
                    return true;
                }
                owner[e] = side ? owner[e] : owner[e] == 0 || owner[e] == me ? me : -1;
            }
        }
    }
    return false;
}

Test(facts, accesses_kept_inside_their_rows_are_apart_only_where_they_are) {
    int shown = 0, apart_at_all = 0;
    for (int i = 0; i < 20000; i++) {
        ragged r;
        make_ragged(&r);
        const fact_block block = facts_block(&r.w.memory, (var *const[3]){&r.w.v[0], &r.w.v[1], NULL});
        const bool met = ragged_meet(&r);
        const bool by_index = facts_indices_apart(&block, &r.access[0], &r.access[1]);
        const fact f = facts_apart(&block, &r.access[0], &r.access[1]);
        cr_assert(!met || (f != FACT_YES && !by_index), "%s where %s",
                  expr_text(&r.w.memory, r.access[0].ref),
                  expr_text(&r.w.memory, r.access[0].guard[0].condition));
        shown += by_index;
        apart_at_all += !met;
        arena_free(&r.w.memory);
    }
    cr_assert_gt(5 * shown, apart_at_all, "shown %d of %d", shown, apart_at_all);
}
