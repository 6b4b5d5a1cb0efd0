/* test_facts_below.c -- what facts says of variables that stay below something known at launch only: cases that it
 * has to decide, and random conditions, held against all small launches. */
#include <criterion/criterion.h>
#include <string.h>

#include "codegen/facts.h"

enum { ROWS, OTHER, N, PID, K, TX, VARS };

/* Two extents and a scalar of the launch, a block axis, a loop, a thread axis. */
typedef struct world {
    arena memory;
    var v[VARS];
    uint64_t state;
    int64_t now[VARS];
} world;

static const tg_loc here = {"below.c", 1};

static void begin(world *w, uint64_t seed) {
    static const struct {
        var_kind kind;
        const char *name;
        int64_t type, lo, hi;
    } is[VARS] = {
        {VAR_EXTENT, "rows", TYPE_INDEX, 0, INT32_MAX},  {VAR_EXTENT, "other", TYPE_INDEX, 0, INT32_MAX},
        {VAR_SCALAR, "n", TG_I32, INT32_MIN, INT32_MAX}, {VAR_GRID, "pid", TYPE_INDEX, 0, INT32_MAX - 1},
        {VAR_LOOP, "k", TYPE_INDEX, 0, INT32_MAX - 1},   {VAR_THREAD, "tx", TYPE_INDEX, 0, 7}};
    memset(w, 0, sizeof *w);
    w->state = seed * 2862933555777941757u + 3037000493u;
    for (int i = 0; i < VARS; i++) {
        w->v[i] = (var){.kind = is[i].kind, .name = is[i].name, .type = is[i].type, .id = i};
        w->v[i].lo = is[i].lo;
        w->v[i].hi = is[i].hi;
    }
}

static int64_t pick(world *w, int64_t n) {
    w->state = w->state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(w->state >> 33) % n;
}

static node *number(world *w, int64_t x) {
    return expr_int(&w->memory, here, x);
}

static node *use(world *w, int which) {
    node *x = expr_var(&w->memory, here, &w->v[which]);
    return which == N ? expr_cast(&w->memory, here, TYPE_INDEX, x) : x;
}

static node *op(world *w, tg_op o, node *x, node *y) {
    return expr_binary(&w->memory, here, o, x, y);
}

static node *times(world *w, int64_t c, node *x) {
    return op(w, TG_MUL, x, number(w, c));
}

static node *plus(world *w, node *x, int64_t c) {
    return op(w, TG_ADD, x, number(w, c));
}

static node *parts(world *w, node *x, int64_t n) {
    return op(w, TG_QUO, x, number(w, n));
}

/* ---- cases --------------------------------------------------------------------------------------------- */

static void expect_below(world *w, node *pid_below, node *x, node *limit, fact want) {
    w->v[PID].below = pid_below;
    cr_assert_eq(facts_truth(op(w, TG_LT, x, limit)), want, "pid < %s: %s < %s",
                 expr_text(&w->memory, pid_below), expr_text(&w->memory, x), expr_text(&w->memory, limit));
}

Test(below, a_block_axis_stays_below_its_extent) {
    world w;
    begin(&w, 1);
    node *rows = use(&w, ROWS), *other = use(&w, OTHER), *n = use(&w, N), *pid = use(&w, PID);
    node *tiles = parts(&w, plus(&w, rows, 3), 4);
    expect_below(&w, rows, pid, rows, FACT_YES);
    expect_below(&w, rows, plus(&w, pid, 1), rows, FACT_UNKNOWN);
    expect_below(&w, rows, pid, plus(&w, rows, -1), FACT_UNKNOWN);
    expect_below(&w, rows, pid, other, FACT_UNKNOWN);
    expect_below(&w, rows, rows, pid, FACT_NO);
    expect_below(&w, n, pid, n, FACT_YES); /* which is positive where there is a block */
    expect_below(&w, plus(&w, rows, -2), plus(&w, pid, 2), rows, FACT_YES);
    expect_below(&w, plus(&w, rows, 1), pid, rows, FACT_UNKNOWN);
    expect_below(&w, op(&w, TG_MIN_OF, rows, other), pid, other, FACT_YES);
    expect_below(&w, op(&w, TG_MAX_OF, rows, other), pid, other, FACT_UNKNOWN);
    expect_below(&w, tiles, pid, tiles, FACT_YES);
    expect_below(&w, tiles, times(&w, 4, pid), rows, FACT_YES);
    expect_below(&w, tiles, times(&w, 8, pid), times(&w, 2, rows), FACT_YES);
    expect_below(&w, tiles, plus(&w, times(&w, 4, pid), 1), rows, FACT_UNKNOWN);
    expect_below(&w, tiles, times(&w, 5, pid), rows, FACT_UNKNOWN);
    expect_below(&w, parts(&w, rows, 4), plus(&w, times(&w, 4, pid), 3), rows, FACT_YES);
    expect_below(&w, parts(&w, rows, 4), plus(&w, times(&w, 4, pid), 4), rows, FACT_UNKNOWN);
    expect_below(&w, parts(&w, n, 4), plus(&w, times(&w, 4, pid), 3), n, FACT_YES); /* n may be negative */
    expect_below(&w, times(&w, 4, rows), parts(&w, pid, 4), rows, FACT_YES);
    expect_below(&w, plus(&w, times(&w, 4, rows), 1), parts(&w, pid, 4), rows, FACT_UNKNOWN);
    expect_below(&w, times(&w, 4, rows), pid, rows, FACT_UNKNOWN);
    arena_free(&w.memory);
}

Test(below, a_loop_stays_below_what_is_left) {
    world w;
    begin(&w, 1);
    node *rows = use(&w, ROWS), *pid = use(&w, PID), *first = times(&w, 4, pid);
    w.v[PID].below = parts(&w, plus(&w, rows, 3), 4);
    w.v[K].below = op(&w, TG_MIN_OF, number(&w, 4), op(&w, TG_SUB, rows, first));
    node *row = op(&w, TG_ADD, first, use(&w, K)), *last = plus(&w, op(&w, TG_SUB, rows, row), -1);
    cr_assert_eq(facts_truth(op(&w, TG_LT, row, rows)), FACT_YES);
    cr_assert_eq(facts_truth(op(&w, TG_LT, plus(&w, row, 1), rows)), FACT_UNKNOWN);
    cr_assert_eq(facts_truth(op(&w, TG_GE, last, number(&w, 0))), FACT_YES);
    cr_assert_eq(facts_inside(last, 0, INT32_MAX), FACT_YES);
    cr_assert_eq(facts_inside(last, 1, INT32_MAX), FACT_UNKNOWN);
    cr_assert_eq(facts_truth(op(&w, TG_LT, use(&w, K), number(&w, 4))), FACT_YES);
    arena_free(&w.memory);
}

/* ---- random ones --------------------------------------------------------------------------------------- */

/* What is said to a launch or a loop: of the first `vars` variables. */
static node *extent(world *w, int vars) {
    node *x = use(w, (int)pick(w, vars));
    x = pick(w, 3) ? x : times(w, 1 + pick(w, 4), x);
    x = pick(w, 3) ? x : plus(w, x, pick(w, 9) - 4);
    x = pick(w, 2) ? x : parts(w, x, 1 + pick(w, 4));
    x = pick(w, 4)
            ? x
            : op(w, pick(w, 3) ? TG_MIN_OF : TG_MAX_OF, x, plus(w, use(w, (int)pick(w, vars)), pick(w, 3)));
    return pick(w, 4) ? x : op(w, TG_SUB, x, times(w, 1 + pick(w, 4), use(w, (int)pick(w, vars))));
}

static node *side(world *w) {
    node *x = number(w, pick(w, 5) - 2);
    for (int64_t n = pick(w, 3); n >= 0; n--) {
        node *more = times(w, pick(w, 3) ? 1 : pick(w, 8) - 3, use(w, pick(w, 2) ? PID : (int)pick(w, VARS)));
        x = op(w, TG_ADD, x, pick(w, 4) ? more : parts(w, more, 1 + pick(w, 4)));
    }
    return x;
}

static bool value_of(const var *v, const void *user, value *out) {
    const world *w = user;
    *out = value_int(v->type, w->now[v->id]);
    return true;
}

static int64_t at_point(const world *w, const node *x) {
    value v;
    cr_assert(expr_evaluate(x, value_of, w, &v));
    return value_as_int(v);
}

typedef struct truths {
    bool any, all;
} truths;

/* All values of variable i and those behind it, where `known` holds. */
static void visit(world *w, int i, const node *known, const node *c, truths *t) {
    static const int64_t lo[] = {0, 0, -5, 0, 0, 0}, hi[] = {7, 3, 6, 90, 90, 7};
    if (i == VARS && known && at_point(w, known) == 0) {
        return;
    }
    if (i == VARS) {
        const bool x = at_point(w, c) != 0;
        t->any |= x;
        t->all &= x;
        return;
    }
    const int64_t end = w->v[i].below ? at_point(w, w->v[i].below) : hi[i] + 1;
    cr_assert_leq(end, 1000);
    for (w->now[i] = lo[i]; w->now[i] < end; w->now[i] += i == TX ? 7 : 1) {
        visit(w, i + 1, known, c, t);
    }
}

Test(below, what_is_said_to_be_true_is_true_in_every_launch) {
    static const tg_op compare[] = {TG_LT, TG_LE, TG_GT, TG_GE, TG_EQ, TG_NE};
    int shown = 0, without = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        world w;
        begin(&w, seed);
        node *c = op(&w, compare[pick(&w, 6)], side(&w), pick(&w, 2) ? side(&w) : use(&w, ROWS));
        without += facts_truth(c) != FACT_UNKNOWN;
        w.v[PID].below = extent(&w, N + 1);
        w.v[K].below = extent(&w, PID + 1);
        const fact f = facts_truth(c);
        if (f != FACT_UNKNOWN) {
            truths t = {.all = true};
            visit(&w, 0, NULL, c, &t);
            cr_assert(f == FACT_YES ? t.all : !t.any, "pid < %s, k < %s: %s is said to be %s",
                      expr_text(&w.memory, w.v[PID].below), expr_text(&w.memory, w.v[K].below),
                      expr_text(&w.memory, c), f == FACT_YES ? "true" : "false");
            shown++;
        }
        arena_free(&w.memory);
    }
    cr_assert_gt(shown - without, 100, "%d are decided, %d without that", shown, without);
}

Test(below, what_is_said_to_follow_from_a_condition_does) {
    static const tg_op compare[] = {TG_LT, TG_LE, TG_GT, TG_GE};
    int shown = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        world w;
        begin(&w, seed);
        w.v[PID].below = extent(&w, N + 1);
        w.v[K].below = extent(&w, PID + 1);
        node *x = side(&w), *y = pick(&w, 2) ? use(&w, ROWS) : number(&w, pick(&w, 9));
        node *known = op(&w, compare[pick(&w, 4)], x, y);
        node *c = op(&w, compare[pick(&w, 4)], plus(&w, pick(&w, 2) ? x : side(&w), pick(&w, 7) - 3), y);
        const fact f = facts_truth_given(c, known);
        if (f != FACT_UNKNOWN && facts_truth(c) == FACT_UNKNOWN) {
            truths t = {.all = true};
            visit(&w, 0, known, c, &t);
            cr_assert(f == FACT_YES ? t.all : !t.any, "where %s: %s is said to be %s",
                      expr_text(&w.memory, known), expr_text(&w.memory, c), f == FACT_YES ? "true" : "false");
            shown++;
        }
        arena_free(&w.memory);
    }
    cr_assert_gt(shown, 150, "%d", shown);
}
