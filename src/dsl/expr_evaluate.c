/* expr_evaluate.c -- what an expression comes to where its variables have values.
 *
 * Reads   a node, and through a callback the values of its variables.
 * Leaves  a value, exactly as value.h says; or false, where memory or an unknown variable decides. */
#include "dsl/expr.h"

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
