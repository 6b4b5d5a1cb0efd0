/* Expressions: folding, ranges, divisors and replacement against direct evaluation of random trees; offsets;
 * text. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "dsl/expr.h"

static const tg_loc here = {"test", 1};

enum { VARS = 4 };
static var vars[VARS] = {
    {.kind = VAR_GRID, .name = "pid", .type = TYPE_INDEX, .lo = 0, .hi = 36, .id = 0},
    {.kind = VAR_THREAD, .name = "tid", .type = TYPE_INDEX, .lo = 0, .hi = 31, .id = 1},
    {.kind = VAR_LOOP, .name = "i", .type = TYPE_INDEX, .lo = 0, .hi = 7, .id = 2},
    {.kind = VAR_LET, .name = "x", .type = TYPE_INDEX, .lo = -20, .hi = 20, .id = 3},
};

static const char *shown(arena *a, const node *x) {
    return expr_text(a, x);
}

/* ---- random trees -------------------------------------------------------------------------------------- */

static uint64_t state = 42;

static uint64_t next(uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
}

static int64_t values[VARS];
static bool faulted;

/* The value of a tree as it was written: an independent reading of each operator on small integers. */
static int64_t compute(tg_op op, int64_t a, int64_t b) {
    switch (op) {
    case TG_ADD:
        return a + b;
    case TG_SUB:
        return a - b;
    case TG_MUL:
        return a * b;
    case TG_QUO:
    case TG_MOD:
        if (b == 0) {
            faulted = true;
            return 0;
        }
        return op == TG_QUO ? a / b : a % b;
    case TG_MIN_OF:
        return a < b ? a : b;
    case TG_MAX_OF:
        return a > b ? a : b;
    case TG_BIT_AND:
        return a & b;
    case TG_BIT_OR:
        return a | b;
    case TG_BIT_XOR:
        return a ^ b;
    case TG_SHR:
        if (b < 0 || b > 63) {
            faulted = true;
            return 0;
        }
        return a >> b;
    case TG_NEG:
        return -a;
    case TG_ABS:
        return a < 0 ? -a : a;
    case TG_BIT_NOT:
        return ~a;
    case TG_EQ:
        return a == b;
    case TG_NE:
        return a != b;
    case TG_LT:
        return a < b;
    case TG_LE:
        return a <= b;
    case TG_GT:
        return a > b;
    case TG_GE:
        return a >= b;
    default:
        cr_assert_fail("op %d", op);
    }
    return 0;
}

typedef struct tree {
    tg_op op; /* 0: a leaf */
    int var;  /* -1: a constant */
    int64_t c;
    int kids; /* 3: choose */
    struct tree *kid[3];
} tree;

static tree *random_tree(arena *a, int depth, bool truth) {
    static const tg_op ops[] = {TG_ADD,     TG_ADD,    TG_MUL,    TG_SUB,     TG_QUO,
                                TG_MOD,     TG_MIN_OF, TG_MAX_OF, TG_BIT_AND, TG_BIT_OR,
                                TG_BIT_XOR, TG_SHR,    TG_NEG,    TG_ABS,     TG_BIT_NOT};
    static const tg_op compares[] = {TG_EQ, TG_NE, TG_LT, TG_LE, TG_GT, TG_GE};
    static const int64_t constants[] = {0, 1, 2, 3, 4, 5, 8, 16, 32, -1, -4, 37, 1000};
    tree *t = ARENA_NEW(a, tree);
    if (truth) {
        t->op = compares[next(6)];
        t->kids = 2;
    } else if (depth <= 0 || next(6) == 0) {
        t->var = next(3) ? (int)next(VARS) : -1;
        t->c = constants[next(13)];
        return t;
    } else if (next(12) == 0) {
        t->kids = 3;
        t->kid[0] = random_tree(a, depth - 1, true);
        t->kid[1] = random_tree(a, depth - 1, false);
        t->kid[2] = random_tree(a, depth - 1, false);
        return t;
    } else {
        t->op = ops[next(15)];
        t->kids = t->op == TG_NEG || t->op == TG_ABS || t->op == TG_BIT_NOT ? 1 : 2;
    }
    t->kid[0] = random_tree(a, depth - 1, false);
    t->kid[1] = random_tree(a, depth - 1, false);
    bool divides = t->op == TG_QUO || t->op == TG_MOD || t->op == TG_SHR;
    if (divides && next(4)) { /* mostly by a constant, where the folding is */
        *t->kid[1] = (tree){.var = -1, .c = 1 + (int64_t)next(9)};
    }
    return t;
}

static int64_t read_tree(const tree *t) {
    if (!t->kids) {
        return t->var < 0 ? t->c : values[t->var];
    }
    if (t->kids == 3) {
        return read_tree(t->kid[0]) ? read_tree(t->kid[1]) : read_tree(t->kid[2]);
    }
    return compute(t->op, read_tree(t->kid[0]), t->kids == 2 ? read_tree(t->kid[1]) : 0);
}

static node *build_tree(arena *a, const tree *t) {
    if (!t->kids) {
        return t->var < 0 ? expr_int(a, here, t->c) : expr_var(a, here, &vars[t->var]);
    }
    node *x = build_tree(a, t->kid[0]);
    if (t->kids == 1) {
        return expr_unary(a, here, t->op, x);
    }
    node *y = build_tree(a, t->kid[1]);
    return t->kids == 2 ? expr_binary(a, here, t->op, x, y)
                        : expr_choose(a, here, x, y, build_tree(a, t->kid[2]));
}

/* The value of a node; the same reading, so that only what folding did can differ. */
static int64_t read_node(const node *x) {
    switch (x->kind) {
    case E_CONST:
        return x->ival;
    case E_VAR:
        return values[x->var->id];
    case E_OP:
        return compute(x->op, read_node(x->arg[0]), x->n == 2 ? read_node(x->arg[1]) : 0);
    case E_CHOOSE:
        return read_node(x->arg[0]) ? read_node(x->arg[1]) : read_node(x->arg[2]);
    default:
        cr_assert_fail("kind %d", x->kind);
    }
    return 0;
}

static void draw_values(void) {
    for (int v = 0; v < VARS; v++) {
        uint64_t span = (uint64_t)(vars[v].hi - vars[v].lo) + 1;
        values[v] = vars[v].lo + (int64_t)(next(4) ? next(span) : next(2) ? 0 : span - 1);
    }
}

static bool ranges_hold(const node *x, const char **bad, arena *a) {
    for (int i = 0; i < x->n; i++) {
        if (x->kind != E_CHOOSE && !ranges_hold(x->arg[i], bad, a)) {
            return false;
        }
    }
    faulted = false;
    int64_t v = read_node(x);
    if (!faulted && (v < x->lo || v > x->hi)) {
        *bad = shown(a, x);
        return false;
    }
    return true;
}

Test(expr, folding_keeps_the_value_and_ranges_hold) {
    for (int round = 0; round < 40000; round++) {
        arena a = {0};
        tree *t = random_tree(&a, 1 + (int)next(5), false);
        node *x = build_tree(&a, t);
        for (int draw = 0; draw < 12; draw++) {
            draw_values();
            faulted = false;
            int64_t want = read_tree(t);
            if (faulted || want > (int64_t)1 << 40 || want < -((int64_t)1 << 40)) {
                continue;
            }
            int64_t got = read_node(x);
            cr_assert(!faulted, "'%s' faults where the program does not", shown(&a, x));
            cr_assert_eq(got, want, "'%s' is %lld, not %lld", shown(&a, x), (long long)got, (long long)want);
            const char *bad = NULL;
            cr_assert(ranges_hold(x, &bad, &a), "the range of '%s' is wrong", bad);
            int64_t d = expr_divisor(x);
            cr_assert(d == 0 ? want == 0 : want % d == 0, "'%s' is %lld: no multiple of %lld", shown(&a, x),
                      (long long)want, (long long)d);
        }
        arena_free(&a);
    }
}

Test(expr, replacing_a_variable_is_evaluating_with_its_value) {
    for (int round = 0; round < 10000; round++) {
        arena a = {0};
        tree *t = random_tree(&a, 1 + (int)next(4), false);
        node *x = build_tree(&a, t);
        draw_values();
        node *y = expr_replace(&a, x, &vars[1], expr_int(&a, here, values[1]));
        faulted = false;
        int64_t want = read_node(x);
        if (!faulted) {
            cr_assert_eq(read_node(y), want, "'%s' became '%s'", shown(&a, x), shown(&a, y));
        }
        cr_assert(expr_equal(x, build_tree(&a, t)));
        arena_free(&a);
    }
}

static bool drawn_value(const var *v, const void *user, value *out) {
    (void)user;
    *out = value_int(v->type, values[v->id]);
    return true;
}

Test(expr, evaluating_is_reading_the_tree) {
    for (int round = 0; round < 10000; round++) {
        arena a = {0};
        tree *t = random_tree(&a, 1 + (int)next(5), false);
        node *x = build_tree(&a, t);
        for (int draw = 0; draw < 8; draw++) {
            value got;
            draw_values();
            faulted = false;
            const int64_t want = read_tree(t);
            if (faulted || want > (int64_t)1 << 40 || want < -((int64_t)1 << 40)) {
                continue;
            }
            cr_assert(expr_evaluate(x, drawn_value, NULL, &got), "'%s' has a value", shown(&a, x));
            cr_assert_eq(value_as_int(got), want, "'%s' is %lld, not %lld", shown(&a, x),
                         (long long)value_as_int(got), (long long)want);
        }
        arena_free(&a);
    }
}

/* ---- at many points ------------------------------------------------------------------------------------ */

/* What each variable is at each point; one of them may have no value. */
typedef struct drawn {
    int64_t at[VARS][EXPR_POINTS];
    int unknown, n;
    int now; /* the point that is looked at alone */
} drawn;

static bool drawn_each(const var *v, const void *user, int from, int n, int64_t *out) {
    const drawn *d = user;
    cr_assert(from >= 0 && n > 0 && from + n <= d->n);
    memcpy(out, &d->at[v->id][from], sizeof *out * (size_t)n);
    return v->id != d->unknown;
}

static bool drawn_now(const var *v, const void *user, value *out) {
    const drawn *d = user;
    *out = value_int(v->type, d->at[v->id][d->now]);
    return v->id != d->unknown;
}

static void draw_points(drawn *d) {
    d->n = 1 + (int)next(EXPR_POINTS);
    d->unknown = next(2) ? -1 : (int)next(VARS);
    for (int i = 0; i < d->n; i++) {
        draw_values();
        for (int v = 0; v < VARS; v++) {
            d->at[v][i] = values[v];
        }
    }
}

/* One of the kinds that decide by their left side, or that are asked point by point: shifts that may fault, typed
 * integers, numbers that may leave 64 bits. */
static node *random_node(arena *a) {
    static const tg_op joins[] = {TG_BOTH, TG_EITHER};
    const int depth = 1 + (int)next(4);
    node *x = build_tree(a, random_tree(a, depth, next(2)));
    node *y = build_tree(a, random_tree(a, depth, x->type == TG_BOOL));
    if (x->type == TG_BOOL) {
        x = expr_binary(a, here, joins[next(2)], x, y);
        return next(3) ? x : expr_unary(a, here, TG_NEGATE, x);
    }
    switch (next(5)) {
    case 0:
        return expr_cast(a, here, TG_I32, x);
    case 1:
        return expr_cast(a, here, TG_F32, x);
    case 2:
        return expr_binary(a, here, TG_SHL, x, expr_int(a, here, (int64_t)next(40)));
    case 3:
        return expr_mul(a, expr_mul(a, x, INT32_MAX), INT32_MAX);
    default:
        return x;
    }
}

Test(expr, many_points_are_each_of_them) {
    int64_t counted[2] = {0, 0};
    for (int round = 0; round < 20000; round++) {
        arena a = {0};
        node *x = random_node(&a);
        drawn d;
        int64_t got[EXPR_POINTS];
        draw_points(&d);
        const uint64_t known = expr_evaluate_each(x, drawn_each, &d, d.n, got);
        cr_assert(d.n == EXPR_POINTS || known >> d.n == 0);
        for (d.now = 0; d.now < d.n; d.now++) {
            value want;
            const bool is_known = expr_evaluate(x, drawn_now, &d, &want);
            counted[is_known]++;
            cr_assert_eq(known >> d.now & 1, is_known, "'%s' at point %d", shown(&a, x), d.now);
            if (is_known) {
                const int64_t number = type_is_float(want.type) ? (int64_t)want.bits : value_as_int(want);
                cr_assert_eq(got[d.now], number, "'%s' is %lld, not %lld", shown(&a, x),
                             (long long)got[d.now], (long long)number);
            }
        }
        arena_free(&a);
    }
    cr_assert(counted[0] > 10000 && counted[1] > 10000, "both kinds: %lld, %lld", (long long)counted[0],
              (long long)counted[1]);
}

/* ---- what folds to what -------------------------------------------------------------------------------- */

static arena memory;
static node *pid, *tid, *i, *x;

static void setup(void) {
    pid = expr_var(&memory, here, &vars[0]);
    tid = expr_var(&memory, here, &vars[1]);
    i = expr_var(&memory, here, &vars[2]);
    x = expr_var(&memory, here, &vars[3]);
}

static void teardown(void) {
    arena_free(&memory);
}

TestSuite(folds, .init = setup, .fini = teardown);

static node *num(int64_t n) {
    return expr_int(&memory, here, n);
}

static node *op(tg_op o, node *a, node *b) {
    return expr_binary(&memory, here, o, a, b);
}

static void shows(const node *e, const char *want) {
    cr_assert_str_eq(expr_text(&memory, e), want);
}

Test(folds, index_identities) {
    shows(op(TG_ADD, tid, num(0)), "tid");
    shows(op(TG_ADD, num(0), tid), "tid");
    shows(op(TG_MUL, tid, num(1)), "tid");
    shows(op(TG_MUL, num(0), tid), "0");
    shows(op(TG_MUL, op(TG_MUL, tid, num(4)), num(8)), "tid * 32");
    shows(op(TG_ADD, op(TG_ADD, tid, num(4)), num(8)), "tid + 12");
    shows(op(TG_SUB, op(TG_ADD, tid, num(4)), num(8)), "tid - 4");
    shows(op(TG_ADD, op(TG_SUB, tid, num(4)), num(4)), "tid");
    shows(op(TG_ADD, num(3), op(TG_ADD, tid, num(4))), "tid + 7");
    shows(op(TG_SUB, tid, tid), "0");
    shows(op(TG_ADD, num(2), num(3)), "5");
    shows(op(TG_QUO, tid, num(32)), "0");
    shows(op(TG_MOD, tid, num(32)), "tid");
    shows(op(TG_QUO, op(TG_QUO, pid, num(2)), num(3)), "pid / 6");
    shows(op(TG_MOD, x, num(21)), "x");
    shows(op(TG_MOD, x, num(20)), "x % 20");
}

Test(folds, quotients_and_remainders_of_tiles) {
    node *row = op(TG_ADD, op(TG_MUL, pid, num(32)), tid);
    shows(op(TG_QUO, row, num(32)), "pid");
    shows(op(TG_MOD, row, num(32)), "tid");
    shows(op(TG_QUO, row, num(16)), "pid * 2 + tid / 16");
    shows(op(TG_MOD, row, num(16)), "tid % 16");
    shows(op(TG_MOD, op(TG_MUL, row, num(8)), num(8)), "0");
    node *signed_row = op(TG_ADD, op(TG_MUL, x, num(32)), tid);
    shows(op(TG_QUO, signed_row, num(32)), "(x * 32 + tid) / 32"); /* -31 / 32 is 0 and not -1 */
}

Test(folds, comparisons_that_ranges_decide) {
    shows(op(TG_LT, tid, num(32)), "true");
    shows(op(TG_LT, tid, num(31)), "tid < 31");
    shows(op(TG_GE, tid, num(32)), "false");
    shows(op(TG_GE, x, num(-20)), "true");
    shows(op(TG_EQ, tid, num(99)), "false");
    shows(op(TG_NE, tid, num(-1)), "true");
    shows(op(TG_BOTH, op(TG_LT, tid, num(32)), op(TG_LT, i, num(4))), "i < 4");
    shows(op(TG_BOTH, op(TG_LT, i, num(4)), op(TG_GT, tid, num(31))), "false");
    shows(op(TG_EITHER, op(TG_LT, tid, num(32)), op(TG_LT, i, num(4))), "true");
    shows(op(TG_MIN_OF, tid, num(31)), "tid");
    shows(op(TG_MAX_OF, tid, num(40)), "40");
    shows(expr_choose(&memory, here, op(TG_LT, tid, num(32)), i, x), "i");
}

Test(folds, floats_do_not_fold_but_constants) {
    var f = {.kind = VAR_LET, .name = "f", .type = TG_F32};
    node *v = expr_var(&memory, here, &f);
    node *zero = expr_const(&memory, here, value_real(TG_F32, 0)),
         *one = expr_const(&memory, here, value_real(TG_F32, 1));
    shows(op(TG_MUL, v, zero), "f * 0.0");
    shows(op(TG_ADD, v, zero), "f + 0.0");
    shows(op(TG_MUL, v, one), "f * 1.0");
    shows(op(TG_SUB, v, v), "f - f");
    shows(op(TG_EQ, v, v), "f == f");
    node *tenth = expr_const(&memory, here, value_real(TG_F32, 0.1));
    node *sum = op(TG_ADD, tenth, expr_const(&memory, here, value_real(TG_F32, 0.2)));
    cr_assert_float_eq(sum->fval, (double)(0.1f + 0.2f), 0);
    shows(tenth, "0.1");
    shows(expr_unary(&memory, here, TG_EXP, one), "exp_of(1.0)");
    shows(expr_unary(&memory, here, TG_EXP, expr_const(&memory, here, value_real(TYPE_REAL, 0))), "1.0");
}

Test(folds, a_constant_that_would_fault_stays) {
    node *big = expr_const(&memory, here, value_int(TG_I32, INT32_MAX)),
         *one = expr_const(&memory, here, value_int(TG_I32, 1));
    shows(op(TG_ADD, big, one), "2147483647 + 1");
    shows(op(TG_QUO, one, expr_const(&memory, here, value_int(TG_I32, 0))), "1 / 0");
}

Test(folds, casts_of_an_index) {
    node *typed = expr_cast(&memory, here, TG_I32, tid);
    shows(typed, "i32(tid)");
    cr_assert_eq(typed->hi, 31);
    cr_assert_eq(expr_cast(&memory, here, TYPE_INDEX, typed), tid);
    node *narrow = expr_cast(&memory, here, TG_U8, op(TG_MUL, pid, num(100)));
    cr_assert_eq(narrow->hi, 255);
    cr_assert_neq(expr_cast(&memory, here, TYPE_INDEX, narrow)->kind, E_VAR);
    cr_assert_eq(expr_cast(&memory, here, TG_F32, num(3))->kind, E_CONST);
    shows(expr_bitcast(&memory, here, TG_U32, expr_const(&memory, here, value_real(TG_F32, 1))),
          "1065353216");
}

/* ---- offsets ------------------------------------------------------------------------------------------- */

Test(folds, offsets_are_row_major_with_pitch) {
    buffer b = {.name = "b", .space = TG_GLOBAL, .type = TG_F16, .rank = 3, .dim = {5, 7, 11}};
    node *index[] = {pid, tid, i};
    node *ref = expr_ref(&memory, here, &b, 3, index, 1);
    shows(expr_offset(&memory, ref), "pid * 77 + tid * 11 + i");
    shows(ref, "b[pid, tid, i]");
    cr_assert_eq(buffer_elements(&b), 5 * 7 * 11);
    b.pitch = 16;
    shows(expr_offset(&memory, ref), "pid * 112 + tid * 16 + i");
    cr_assert_eq(buffer_elements(&b), 34 * 16 + 11);
    cr_assert_eq(buffer_bytes(&b), (34 * 16 + 11) * 2);
    b.pitch = 0;
    b.layout.pitch = 12;
    shows(expr_offset(&memory, ref), "pid * 84 + tid * 12 + i");
    b.dim[0] = -1;
    cr_assert_eq(buffer_elements(&b), -1);
    buffer scalar = {.name = "s", .type = TG_F32};
    shows(expr_offset(&memory, expr_ref(&memory, here, &scalar, 0, NULL, 1)), "0");
    cr_assert_eq(buffer_elements(&scalar), 1);
    buffer view = {.name = "v", .view_of = &scalar};
    cr_assert_eq(buffer_root(&view), &scalar);
    shows(expr_ref(&memory, here, &b, 3, index, 8), "b[pid, tid, i : +8]");
}

Test(folds, a_shift_to_the_left_wraps_in_every_type) {
    static const int64_t type[] = {TG_I8, TG_I16, TG_I32, TG_I64};
    for (int t = 0; t < 4; t++) {
        for (int bit = 0; bit < type_bits(type[t]) - 1; bit++) {
            node *large = expr_const(&memory, here, value_int(type[t], (int64_t)((uint64_t)3 << bit >> 1)));
            node *by = expr_cast(&memory, here, type[t], tid);
            const node *shifted = expr_binary(&memory, here, TG_SHL, large, by);
            for (int64_t n = 0; n < type_bits(type[t]) && n < 32; n++) {
                value_fault fault = FAULT_NONE;
                const value v =
                    value_binary(TG_SHL, value_int(type[t], large->ival), value_int(type[t], n), &fault);
                cr_assert(shifted->lo <= value_as_int(v) && value_as_int(v) <= shifted->hi, "%lld << %d",
                          (long long)large->ival, (int)n);
            }
        }
    }
}

/* ---- evaluating ----------------------------------------------------------------------------------------- */

/* tid is 5, and nothing else is known. */
static bool only_tid(const var *v, const void *user, value *out) {
    *out = value_int(v->type, *(const int64_t *)user);
    return v == &vars[1];
}

static bool comes_to(const node *e, int64_t now, int64_t *result) {
    value v;
    const bool is_known = expr_evaluate(e, only_tid, &now, &v);
    *result = is_known ? value_as_int(v) : 0;
    return is_known;
}

Test(folds, casts_wrap_where_they_are_evaluated) {
    static const int64_t type[] = {TG_I8, TG_U8, TG_I16, TG_U16, TG_I32, TG_U32};
    static const int64_t number[] = {0, 1, 127, 128, 255, 256, 300, 32768, 65536, 1000000, -1, -129};
    for (size_t t = 0; t < sizeof type / sizeof type[0]; t++) {
        for (size_t n = 0; n < sizeof number / sizeof number[0]; n++) {
            const int bits = type_bits(type[t]);
            const uint64_t low = (uint64_t)number[n] & (((uint64_t)1 << bits) - 1);
            const bool is_negative = type_is_signed(type[t]) && low >> (bits - 1);
            const int64_t want = (int64_t)low - (is_negative ? (int64_t)1 << bits : 0);
            int64_t got;
            node *wide = expr_cast(&memory, here, TG_I64, tid); /* as written casts go */
            cr_assert(comes_to(expr_cast(&memory, here, type[t], wide), number[n], &got));
            cr_assert_eq(got, want, "%lld as %s is %lld, not %lld", (long long)number[n], type_name(type[t]),
                         (long long)got, (long long)want);
        }
    }
}

Test(folds, only_what_decides_is_evaluated) {
    static const buffer held = {
        .name = "held", .space = TG_SHARED, .type = TYPE_INDEX, .rank = 1, .dim = {9}};
    node *place[] = {tid};
    node *read = expr_load(&memory, here, expr_ref(&memory, here, (buffer *)(uintptr_t)&held, 1, place, 1));
    node *is_first = op(TG_LT, tid, num(3));
    int64_t got;
    cr_assert(comes_to(expr_choose(&memory, here, is_first, num(7), read), 2, &got) && got == 7);
    cr_assert_not(comes_to(expr_choose(&memory, here, is_first, num(7), read), 3, &got),
                  "an element is read");
    cr_assert_not(comes_to(op(TG_ADD, tid, pid), 2, &got), "pid has no value");
    cr_assert_not(comes_to(op(TG_QUO, num(1), tid), 0, &got), "division by zero");
    cr_assert(comes_to(op(TG_BOTH, is_first, op(TG_LT, read, num(1))), 5, &got) && got == 0);
    var name = {.kind = VAR_LET, .name = "n", .type = TYPE_INDEX, .lo = 0, .hi = 62, .id = 3};
    name.value = op(TG_MUL, tid, num(2));
    cr_assert(comes_to(expr_var(&memory, here, &name), 4, &got) && got == 8, "a name is opened");
}

/* ---- text ---------------------------------------------------------------------------------------------- */

Test(folds, parentheses_only_where_they_matter) {
    var v = {.kind = VAR_LET, .name = "f", .type = TG_F32},
        w = {.kind = VAR_LET, .name = "g", .type = TG_F32};
    node *f = expr_var(&memory, here, &v), *g = expr_var(&memory, here, &w);
    shows(op(TG_MUL, op(TG_ADD, f, g), g), "(f + g) * g");
    shows(op(TG_ADD, op(TG_MUL, f, g), g), "f * g + g");
    shows(op(TG_SUB, f, op(TG_SUB, f, g)), "f - (f - g)");
    shows(op(TG_SUB, op(TG_SUB, f, g), g), "f - g - g");
    shows(op(TG_ADD, f, op(TG_ADD, f, g)), "f + (f + g)"); /* of floats the order matters */
    shows(op(TG_ADD, tid, op(TG_ADD, pid, i)), "tid + pid + i");
    shows(expr_unary(&memory, here, TG_NEG, expr_unary(&memory, here, TG_NEG, f)), "-(-f)");
    shows(expr_unary(&memory, here, TG_NEG, op(TG_ADD, f, g)), "-(f + g)");
    shows(op(TG_LT, op(TG_ADD, f, g), g), "f + g < g");
    node *c = op(TG_LT, f, g);
    shows(expr_unary(&memory, here, TG_NEGATE, c), "!(f < g)");
    shows(expr_unary(&memory, here, TG_NEGATE, expr_unary(&memory, here, TG_NEGATE, c)), "f < g");
    shows(expr_choose(&memory, here, c, f, g), "f < g ? f : g");
    shows(op(TG_ADD, expr_choose(&memory, here, c, f, g), f), "(f < g ? f : g) + f");
    shows(op(TG_MIN_OF, op(TG_ADD, f, g), f), "min_of(f + g, f)");
    shows(op(TG_BIT_AND, op(TG_BIT_OR, tid, i), pid), "(tid | i) & pid");
    shows(op(TG_MUL, x, num(-3)), "x * -3");
    shows(op(TG_SUB, x, expr_const(&memory, here, value_int(TYPE_INDEX, -3))), "x + 3");
    shows(expr_const(&memory, here, value_real(TG_F32, (double)INFINITY)), "inf");
    shows(expr_const(&memory, here, value_real(TG_F64, 1e300)), "1e+300");
    shows(expr_const(&memory, here, value_real(TG_F16, 0.1)), "0.1");
    shows(expr_const(&memory, here, (value){TG_U64, UINT64_MAX}), "18446744073709551615");
}

Test(folds, size_counts_shared_nodes_each_time) {
    node *e = tid;
    for (int n = 0; n < 100; n++) {
        e = op(TG_MUL, e, e);
    }
    cr_assert_eq(expr_size(e), INT32_MAX);
    cr_assert_eq(expr_size(op(TG_ADD, tid, pid)), 3);
}
