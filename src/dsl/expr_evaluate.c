/* expr_evaluate.c -- what an expression comes to where its variables have values.
 *
 * Reads   a node, and through a callback the values of its variables.
 * Leaves  a value, exactly as value.h says; or false, where memory or an unknown variable decides.  The same at many
 *         points at once. */
#include "dsl/expr.h"

/* ---- at one point -------------------------------------------------------------------------------------- */

typedef struct evaluation {
    expr_look_up *look_up;
    const void *user;
} evaluation;

static bool evaluate(const evaluation *e, const node *x, value *out);

static bool evaluate_var(const evaluation *e, const var *v, value *out) {
    return e->look_up(v, e->user, out) || (v->kind == VAR_LET && v->value && evaluate(e, v->value, out));
}

static bool evaluate_op(const evaluation *e, const node *x, value *out) {
    value a, b = {0, 0};
    value_fault fault = FAULT_NONE;
    if (!evaluate(e, x->arg[0], &a)) {
        return false;
    }
    if ((x->op == TG_BOTH || x->op == TG_EITHER) && (a.bits != 0) == (x->op == TG_EITHER)) {
        *out = a;
        return true;
    }
    if (x->n == 1) {
        *out = value_unary(x->op, a, &fault);
        return fault == FAULT_NONE;
    }
    if (!evaluate(e, x->arg[1], &b)) {
        return false;
    }
    *out = value_binary(x->op, a, b, &fault);
    return fault == FAULT_NONE;
}

static bool evaluate(const evaluation *e, const node *x, value *out) {
    value_fault fault = FAULT_NONE;
    value a;
    switch (x->kind) {
    case E_CONST:
        *out = expr_value(x);
        return true;
    case E_VAR:
        return evaluate_var(e, x->var, out);
    case E_OP:
        return evaluate_op(e, x, out);
    case E_CHOOSE:
        return evaluate(e, x->arg[0], &a) && evaluate(e, x->arg[a.bits != 0 ? 1 : 2], out);
    case E_CAST:
        if (!evaluate(e, x->arg[0], &a)) {
            return false;
        }
        *out = value_cast(a, x->type, &fault);
        return fault == FAULT_NONE;
    case E_BITCAST:
        if (!evaluate(e, x->arg[0], &a)) {
            return false;
        }
        *out = value_bitcast(a, x->type);
        return true;
    case E_POISON:
    case E_LOAD:
    case E_BUFFER:
    case E_REF:
    case E_REGION:
        break;
    }
    return false;
}

bool expr_evaluate(const node *x, expr_look_up *look_up, const void *user, value *out) {
    const evaluation e = {look_up, user};
    return evaluate(&e, x, out);
}

/* ---- at many points ------------------------------------------------------------------------------------ */

typedef struct evaluation_each {
    expr_look_up_each *look_up;
    const void *user;
    int from, n;
    bool asks; /* something is not so simple: it must be asked point by point */
} evaluation_each;

static uint64_t each(evaluation_each *e, const node *x, int64_t *out);

static uint64_t all_points(const evaluation_each *e) {
    return UINT64_MAX >> (EXPR_POINTS - e->n);
}

static uint64_t fill(const evaluation_each *e, int64_t x, int64_t *out) {
    for (int i = 0; i < e->n; i++) {
        out[i] = x;
    }
    return all_points(e);
}

/* Numbers of which no operator makes one that leaves 64 bits. */
static bool is_simple(const node *x) {
    enum { SMALL = INT32_MAX };
    return x->type == TG_BOOL || (x->type == TYPE_INDEX && -SMALL <= x->lo && x->hi <= SMALL);
}

/* Has it a result whatever its operands, within their ranges? */
static bool is_total(tg_op op, const node *right) {
    switch ((int)op) {
    case TG_QUO:
    case TG_MOD:
        return right->lo > 0;
    case TG_SHL:
    case TG_SHR:
        return right->lo >= 0 && right->hi < 32;
    default:
        return op <= TG_MAX_OF && op != TG_BIT_NOT;
    }
}

static int64_t apply(tg_op op, int64_t a, int64_t b) {
    switch ((int)op) {
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
    case TG_NEG:
        return -a;
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
    case TG_BOTH:
    case TG_BIT_AND:
        return a & b;
    case TG_EITHER:
    case TG_BIT_OR:
        return a | b;
    case TG_NEGATE:
        return !a;
    case TG_BIT_XOR:
        return a ^ b;
    case TG_SHL:
        return a * ((int64_t)1 << b);
    case TG_SHR:
        return a >> b;
    case TG_MIN_OF:
        return a < b ? a : b;
    default: /* TG_MAX_OF */
        return a > b ? a : b;
    }
}

/* Points where the left side decides alone. */
static uint64_t decided(const evaluation_each *e, tg_op op, const int64_t *left) {
    uint64_t points = 0;
    for (int i = 0; i < e->n && (op == TG_BOTH || op == TG_EITHER); i++) {
        points |= (uint64_t)(left[i] == (op == TG_EITHER)) << i;
    }
    return points;
}

static uint64_t each_var(evaluation_each *e, const var *v, int64_t *out) {
    if (e->look_up(v, e->user, 0, e->n, out)) {
        return all_points(e);
    }
    if (v->kind == VAR_LET && v->value) {
        return each(e, v->value, out);
    }
    fill(e, v->lo, out);
    return 0;
}

static uint64_t each_op(evaluation_each *e, const node *x, int64_t *out) {
    int64_t right[EXPR_POINTS];
    uint64_t known = each(e, x->arg[0], out);
    if (!is_total(x->op, x->arg[x->n - 1])) {
        e->asks = true;
    } else if (x->n == 1) {
        fill(e, 0, right);
    } else {
        known &= each(e, x->arg[1], right) | decided(e, x->op, out);
    }
    for (int i = 0; i < e->n && !e->asks; i++) {
        out[i] = apply(x->op, out[i], right[i]);
    }
    return known;
}

static uint64_t each_choose(evaluation_each *e, const node *x, int64_t *out) {
    int64_t side[2][EXPR_POINTS];
    const uint64_t known = each(e, x->arg[0], out);
    const uint64_t of[2] = {each(e, x->arg[2], side[0]), each(e, x->arg[1], side[1])};
    uint64_t points = 0;
    for (int i = 0; i < e->n; i++) {
        const int taken = out[i] != 0;
        points |= known & of[taken] & (uint64_t)1 << i;
        out[i] = side[taken][i];
    }
    return points;
}

/* Where x has no value, out is one that it might have: operators may rely on ranges. */
static uint64_t each(evaluation_each *e, const node *x, int64_t *out) {
    if (x->kind == E_LOAD) {
        fill(e, x->lo, out);
        return 0;
    }
    e->asks |= !is_simple(x);
    if (x->kind == E_CONST && !e->asks) {
        return fill(e, x->ival, out);
    }
    if (x->kind == E_OP && !e->asks) {
        return each_op(e, x, out);
    }
    if (x->kind == E_CHOOSE && !e->asks) {
        return each_choose(e, x, out);
    }
    if (x->kind == E_VAR && !e->asks) {
        return each_var(e, x->var, out);
    }
    e->asks = true;
    return 0;
}

/* The variable at one of the points. */
static bool look_up_one(const var *v, const void *user, value *out) {
    const evaluation_each *e = user;
    int64_t x;
    const bool is_known = e->look_up(v, e->user, e->from, 1, &x);
    if (is_known) {
        *out = value_int(v->type, x);
    }
    return is_known;
}

uint64_t expr_evaluate_each(const node *x, expr_look_up_each *look_up, const void *user, int n,
                            int64_t *out) {
    evaluation_each e = {look_up, user, 0, n, false};
    uint64_t known = each(&e, x, out);
    if (!e.asks) {
        return known;
    }
    for (known = 0; e.from < n; e.from++) {
        value v;
        if (expr_evaluate(x, look_up_one, &e, &v)) {
            known |= (uint64_t)1 << e.from;
            out[e.from] = type_is_float(v.type) ? (int64_t)v.bits : value_as_int(v);
        }
    }
    return known;
}
