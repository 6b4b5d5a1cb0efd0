/* test_facts_groups.c -- do threads of two warps meet?  What facts says of groups of threads holds for every two of them:
 * accesses made by a seed, against all elements of all threads worked out here. */
#include <criterion/criterion.h>
#include <string.h>

#include "codegen/facts_point.h"

#if defined TEGULA_SANITIZED /* many times as slow */
enum { CASES = 1500 };
#else
enum { CASES = 12000 };
#endif
enum { LOOPS = 8, VARS = 2 + LOOPS, ELEMENTS = 1 << 14, ZERO = ELEMENTS / 2 };

/* Thread axes first; behind them loops, of which most run once. */
typedef struct world {
    arena memory;
    buffer b;
    var v[VARS];
    int axes;
    int64_t group;
    fact_access access[2];
} world;

static const tg_loc here = {"facts.c", 1};
static uint64_t state = 1;

static int64_t below(int64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

static int64_t one_of(const int64_t *from, int n) {
    return from[below(n)];
}

/* ---- accesses --------------------------------------------------------------------------------------------- */

static node *number(world *w, int64_t x) {
    return expr_int(&w->memory, here, x);
}

static node *binary(world *w, tg_op op, node *x, int64_t n) {
    return expr_binary(&w->memory, here, op, x, number(w, n));
}

static node *part_of(world *w, node *x) {
    static const int64_t sizes[] = {2, 3, 4, 8, 8, 16, 32};
    switch (below(7)) {
    case 0:
        return binary(w, TG_QUO, x, one_of(sizes, 7));
    case 1:
        return binary(w, TG_MOD, x, one_of(sizes, 7));
    case 2:
        return binary(w, TG_MOD, binary(w, TG_QUO, x, one_of(sizes, 7)), one_of(sizes, 7));
    case 3:
        return binary(w, TG_BIT_XOR, x, below(16));
    default:
        return x;
    }
}

static node *variable(world *w, int i) {
    return expr_var(&w->memory, here, &w->v[i]);
}

static node *add_product(world *w, node *sum, node *x, int64_t factor) {
    return expr_add(&w->memory, sum, expr_mul(&w->memory, x, factor));
}

/* Anything; or what a group has of its own, and within it what its threads do: mostly no more than there is room for. */
static node *make_offset(world *w, int64_t pitch) {
    static const int64_t factors[] = {1, 1, 1, 2, 3, 4, 8, 16, -1, -2, -8};
    node *thread = variable(w, 0), *sum = number(w, below(3));
    if (w->axes == 1 && below(3)) {
        node *place = binary(w, TG_MOD, thread, w->group);
        sum = add_product(w, sum, binary(w, TG_QUO, thread, w->group), pitch);
        return add_product(w, sum, part_of(w, place), one_of(factors, 9));
    }
    const int64_t loops = below(8) ? below(3) : LOOPS; /* now and then more terms than a form holds */
    for (int64_t i = 0; i < loops; i++) {
        sum = add_product(w, sum, part_of(w, variable(w, 2 + (int)i)), one_of(factors, 11) * (i < 2 ? 8 : 1));
    }
    for (int i = 0; i < w->axes; i++) {
        sum = add_product(w, sum, part_of(w, variable(w, i)), one_of(factors, 11));
    }
    return sum;
}

static void add_guard(world *w, fact_access *x) {
    if (below(3) == 0) {
        node *t = below(4) ? variable(w, 0) : variable(w, 2);
        x->guard[x->n].condition =
            expr_binary(&w->memory, here, below(2) ? TG_LT : TG_GE, t, number(w, below(t->hi + 2)));
        x->guard[x->n++].negated = below(2);
    }
}

static void make_world(world *w) {
    static const int64_t threads[] = {1, 8, 16, 24, 32, 48, 64, 96}, groups[] = {1, 2, 4, 8, 16, 32, 32, 64};
    memset(w, 0, sizeof *w);
    w->axes = below(3) ? 1 : 2;
    w->group = one_of(groups, 8);
    const int64_t most[] = {one_of(threads, w->axes == 1 ? 8 : 4) - 1, below(4), below(3), below(3)};
    for (int i = 0; i < VARS; i++) {
        w->v[i] = (var){.kind = i < 2 ? VAR_THREAD : VAR_LOOP,
                        .name = i < 2 ? "t" : "k",
                        .type = TYPE_INDEX,
                        .hi = i < 4 ? most[i] : below(8) == 0,
                        .id = i};
    }
    w->b = (buffer){.name = "b", .space = TG_SHARED, .type = TG_I32, .rank = 1, .dim = {ELEMENTS}, .arg = -1};
    const int64_t pitch = w->group - 2 + below(5);
    node *first = make_offset(w, pitch), *second = below(3) ? make_offset(w, pitch) : first;
    for (int i = 0; i < 2; i++) {
        node *offset = i ? second : first;
        w->access[i].ref = expr_ref(&w->memory, here, &w->b, 1, &offset, below(3) ? 1 : 2);
        add_guard(w, &w->access[i]);
    }
}

/* ---- all of them ------------------------------------------------------------------------------------------- */

static int64_t value_at(const world *w, const node *x, const int64_t *now) {
    value_fault fault = FAULT_NONE;
    if (x->kind == E_CONST) {
        return x->ival;
    }
    if (x->kind == E_VAR) {
        return now[x->var - w->v];
    }
    const value a = value_int(TYPE_INDEX, value_at(w, x->arg[0], now));
    const value b = value_int(TYPE_INDEX, value_at(w, x->arg[x->n - 1], now));
    return value_as_int(value_binary(x->op, a, b, &fault));
}

static bool is_made(const world *w, const fact_access *x, const int64_t *now) {
    bool made = true;
    for (int i = 0; i < x->n; i++) {
        made = made && (value_at(w, x->guard[i].condition, now) != 0) != x->guard[i].negated;
    }
    return made;
}

/* Enters the elements of one side, or says whether another group has one of the other side's. */
static bool look(const world *w, int side, const int64_t *now, int *owner) {
    const fact_access *x = &w->access[side];
    const int me = 1 + (int)((now[0] + (w->axes > 1 ? now[1] * (w->v[0].hi + 1) : 0)) / w->group);
    bool met = false;
    for (int lane = 0; lane < x->ref->lanes && is_made(w, x, now); lane++) {
        int *o = &owner[ZERO + value_at(w, x->ref->arg[0], now) + lane];
        met |= side && *o != 0 && *o != me;
        *o = side ? *o : *o == 0 || *o == me ? me : -1;
    }
    return met;
}

/* To the next values of variables first .. VARS - 1; false after the last. */
static bool advance(const world *w, int64_t *now, int first) {
    for (int i = first; i < VARS; i++) {
        if (++now[i] <= w->v[i].hi) {
            return true;
        }
        now[i] = 0;
    }
    return false;
}

static bool advance_threads(const world *w, int64_t *now) {
    for (int i = 0; i < w->axes; i++) {
        if (++now[i] <= w->v[i].hi) {
            return true;
        }
        now[i] = 0;
    }
    return false;
}

/* Both sides in one iteration; or `anywhere`, in any two. */
static bool do_meet(const world *w, bool anywhere) {
    static int owner[ELEMENTS];
    int64_t now[VARS] = {0};
    bool met = false;
    memset(owner, 0, sizeof owner);
    for (int turn = 0; turn < (anywhere ? 2 : 1); turn++) {
        do {
            for (int side = turn; side < (anywhere ? turn + 1 : 2); side++) {
                do {
                    met |= look(w, side, now, owner);
                } while (advance_threads(w, now));
            }
            if (!anywhere) {
                memset(owner, 0, sizeof owner);
            }
        } while (advance(w, now, 2));
    }
    return met;
}

/* ---- the tests --------------------------------------------------------------------------------------------- */

static void judge(const world *w, fact said, bool anywhere, int *shown, int *apart) {
    const bool met = do_meet(w, anywhere);
    cr_assert(!met || said != FACT_YES, "%s and %s of groups of %d of %d x %d threads do meet",
              expr_text((arena *)(uintptr_t)&w->memory, w->access[0].ref),
              expr_text((arena *)(uintptr_t)&w->memory, w->access[1].ref), (int)w->group, (int)w->v[0].hi + 1,
              w->axes > 1 ? (int)w->v[1].hi + 1 : 1);
    *shown += said == FACT_YES;
    *apart += !met;
}

Test(facts_groups, groups_said_to_be_apart_never_meet) {
    int shown = 0, apart = 0, shown_anywhere = 0, apart_anywhere = 0;
    for (int i = 0; i < CASES; i++) {
        world w;
        make_world(&w);
        fact_block block =
            facts_block(&w.memory, (var *const[3]){&w.v[0], w.axes > 1 ? &w.v[1] : NULL, NULL});
        block.group = w.group;
        judge(&w, facts_apart(&block, &w.access[0], &w.access[1]), false, &shown, &apart);
        judge(&w, facts_apart_anywhere(&block, &w.access[0], &w.access[1]), true, &shown_anywhere,
              &apart_anywhere);
        arena_free(&w.memory);
    }
    cr_assert_gt(10 * shown, 9 * apart, "shown %d of %d", shown, apart);
    cr_assert_gt(2 * shown_anywhere, apart_anywhere, "shown %d of %d", shown_anywhere, apart_anywhere);
}

/* A form that has no room for one term more stays as it is, the same number. */
Test(facts_groups, a_form_taken_apart_by_groups_is_the_same_number) {
    int taken = 0;
    for (int i = 0; i < CASES; i++) {
        world w;
        affine a, by_group;
        make_world(&w);
        fact_block block =
            facts_block(&w.memory, (var *const[3]){&w.v[0], w.axes > 1 ? &w.v[1] : NULL, NULL});
        block.group = w.group;
        if (affine_of(w.access[0].ref->arg[0], &a)) {
            by_group = a;
            affine_group(&block, &by_group);
            taken += by_group.n > a.n;
            int64_t now[VARS] = {0};
            do {
                int64_t sum = by_group.constant;
                for (int k = 0; k < by_group.n; k++) {
                    sum += by_group.term[k].factor * value_at(&w, by_group.term[k].x, now);
                }
                cr_assert_eq(sum, value_at(&w, w.access[0].ref->arg[0], now), "%s of groups of %d",
                             expr_text(&w.memory, w.access[0].ref), (int)w.group);
            } while (advance(&w, now, 0));
        }
        arena_free(&w.memory);
    }
    cr_assert_gt(10 * taken, CASES, "taken apart: %d of %d", taken, (int)CASES);
}
