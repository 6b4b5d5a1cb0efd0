/* plan.c -- the launch plan of a lowered kernel.
 *
 * Reads thread IR, once; copies everything, so that the plan outlives the kernel.  Extents that are known at
 * launch only become little postfix programs over the caller's arguments. */
#include "codegen/plan.h"

#include <stdlib.h>

#include "codegen/cuda_print.h"
#include "dsl/diag.h"

/* ---- expressions --------------------------------------------------------------------------------------- */

static bool push(plan_expr *out, plan_op op, int64_t x) {
    if (out->n == PLAN_MAX_STEPS) {
        return false;
    }
    out->step[out->n++] = (plan_step){op, x};
    return true;
}

static bool can_apply(tg_op op) {
    switch (op) {
    case TG_ADD:
    case TG_SUB:
    case TG_MUL:
    case TG_QUO:
    case TG_MOD:
    case TG_NEG:
    case TG_MIN_OF:
    case TG_MAX_OF:
    case TG_ABS:
    case TG_SHL:
    case TG_SHR:
    case TG_BIT_AND:
    case TG_BIT_OR:
    case TG_BIT_XOR:
    case TG_BIT_NOT:
        return true;
    case TG_EQ:
    case TG_NE:
    case TG_LT:
    case TG_LE:
    case TG_GT:
    case TG_GE:
    case TG_BOTH:
    case TG_EITHER:
    case TG_NEGATE:
    case TG_EXP:
    case TG_LOG:
    case TG_SQRT:
    case TG_RSQRT:
    case TG_TANH:
        return false;
    }
    return false;
}

/* The position of a scalar or extent among the caller's arguments; -1. */
static int argument_of(const thread_kernel *t, const var *v) {
    for (int i = 0; i < t->nparams; i++) {
        if (t->params[i].var == v) {
            return i;
        }
    }
    return -1;
}

static bool append(const thread_kernel *t, const node *x, plan_expr *out) {
    if (!type_is_integer(x->type)) {
        return false;
    }
    if (x->kind == E_CONST) {
        return push(out, PLAN_PUSH, x->ival);
    }
    if (x->kind == E_VAR) {
        if (x->var->kind == VAR_LET && x->var->value) {
            return append(t, x->var->value, out);
        }
        const int arg = argument_of(t, x->var);
        return arg >= 0 && push(out, PLAN_ARG, arg);
    }
    if (x->kind == E_CAST && x->arg[0]->lo >= type_min(x->type) && x->arg[0]->hi <= type_max(x->type)) {
        return append(t, x->arg[0], out);
    }
    if (x->kind != E_OP || !can_apply(x->op) || !append(t, x->arg[0], out)) {
        return false;
    }
    return (x->n == 1 || append(t, x->arg[1], out)) && push(out, PLAN_APPLY, x->op);
}

bool plan_expr_make(const thread_kernel *t, const node *x, plan_expr *out) {
    out->n = 0;
    return append(t, x, out);
}

bool plan_expr_is_sound(const plan_expr *e, int nargs) {
    bool is_sound = e->n >= 0 && e->n <= PLAN_MAX_STEPS;
    for (int i = 0; is_sound && i < e->n; i++) {
        const plan_step *s = &e->step[i];
        is_sound =
            s->op == PLAN_PUSH || (s->op == PLAN_ARG && s->value >= 0 && s->value < nargs) ||
            (s->op == PLAN_APPLY && s->value >= TG_ADD && s->value <= TG_TANH && can_apply((tg_op)s->value));
    }
    return is_sound;
}

static bool is_unary(tg_op op) {
    return op == TG_NEG || op == TG_ABS || op == TG_BIT_NOT;
}

static bool apply(tg_op op, int64_t *stack, int *depth) {
    value_fault fault = FAULT_NONE;
    const int operands = is_unary(op) ? 1 : 2;
    if (*depth < operands) {
        return false;
    }
    *depth -= operands - 1;
    const value a = value_int(TYPE_INDEX, stack[*depth - 1]);
    const value r = operands == 1 ? value_unary(op, a, &fault)
                                  : value_binary(op, a, value_int(TYPE_INDEX, stack[*depth]), &fault);
    stack[*depth - 1] = value_as_int(r);
    return fault == FAULT_NONE;
}

bool plan_eval(const plan_expr *e, const int64_t *args, int64_t *result) {
    int64_t stack[PLAN_MAX_STEPS + 1];
    int depth = 0;
    for (int i = 0; i < e->n; i++) {
        const plan_step *s = &e->step[i];
        switch (s->op) {
        case PLAN_PUSH:
            stack[depth++] = s->value;
            break;
        case PLAN_ARG:
            stack[depth++] = args[s->value];
            break;
        case PLAN_APPLY:
            if (!apply((tg_op)s->value, stack, &depth)) {
                return false;
            }
            break;
        }
    }
    if (depth == 1) {
        *result = stack[0];
    }
    return depth == 1;
}

/* ---- parameters ---------------------------------------------------------------------------------------- */

static void constant(plan_expr *out, int64_t x) {
    out->n = 0;
    push(out, PLAN_PUSH, x);
}

static void make_dim(const thread_kernel *t, const buffer *b, int i, plan_expr *out) {
    if (!b->dim_expr[i]) {
        constant(out, b->dim[i]);
    } else if (!plan_expr_make(t, b->dim_expr[i], out)) {
        tg_bug("the extent of '%s' is no launch expression", b->name);
    }
}

/* From the first to past the last element: ((product of the outer extents - 1) * pitch + inner) * element,
 * and 0 where an extent is 0. */
static void make_bytes(const thread_kernel *t, const buffer *b, plan_expr *out) {
    const int element = type_bytes(b->type);
    if (b->rank == 0) {
        constant(out, element);
        return;
    }
    const int64_t inner = b->rank > 1 || !b->dim_expr[0] ? b->dim[b->rank - 1] : 1;
    const int64_t pitch = b->pitch ? b->pitch : inner;
    int64_t rows = 1; /* per step of the outermost extent */
    for (int i = 1; i < b->rank - 1; i++) {
        rows *= b->dim[i];
    }
    if (b->rank == 1) {
        make_dim(t, b, 0, out);
        push(out, PLAN_PUSH, element);
        push(out, PLAN_APPLY, TG_MUL);
        return;
    }
    make_dim(t, b, 0, out);
    push(out, PLAN_PUSH, rows * pitch * element);
    push(out, PLAN_APPLY, TG_MUL);
    push(out, PLAN_PUSH, (inner - pitch) * element);
    push(out, PLAN_APPLY, TG_ADD);
    push(out, PLAN_PUSH, 0);
    push(out, PLAN_APPLY, TG_MAX_OF);
}

static void make_tensor(const thread_kernel *t, plan_param *p, const buffer *b) {
    p->kind = PLAN_TENSOR;
    p->type = b->type;
    p->rank = b->rank;
    for (int i = 0; i < b->rank; i++) {
        make_dim(t, b, i, &p->dim[i]);
    }
    p->pitch = b->pitch;
    make_bytes(t, b, &p->bytes);
    p->align = type_bytes(b->type);
    p->is_read = b->is_read || b->is_atomic;
    p->is_written = b->is_written || b->is_atomic;
    p->is_constant = b->is_constant;
    p->naliases = b->naliases;
    for (int i = 0; i < b->naliases; i++) {
        p->alias[i] = b->alias_of[i]->arg;
    }
}

static void make_param(const thread_kernel *t, launch_plan *plan, int i) {
    plan_param *p = &plan->params[i];
    const thread_param *from = &t->params[i];
    p->arg = from->kind == PARAM_CHECKS ? -1 : plan->nargs++;
    switch (from->kind) {
    case PARAM_TENSOR:
        p->name = arena_copy(&plan->memory, from->buffer->name);
        make_tensor(t, p, from->buffer);
        break;
    case PARAM_SCALAR:
        p->kind = PLAN_SCALAR;
        p->name = arena_copy(&plan->memory, from->var->name);
        p->type = from->var->type;
        break;
    case PARAM_EXTENT:
        p->kind = PLAN_EXTENT;
        p->name = arena_copy(&plan->memory, from->var->name);
        p->type = TG_I32;
        break;
    case PARAM_CHECKS:
        p->kind = PLAN_CHECKS;
        p->name = "checks";
        p->align = 4;
        break;
    }
}

/* ---- the pointers' alignment: what the widest access needs, at least the element ----------------------- */

static void widen(node *ref, bool is_write, void *user) {
    launch_plan *plan = user;
    (void)is_write;
    const buffer *root = buffer_root(ref->buffer);
    const int64_t bytes = (int64_t)ref->lanes * type_bytes(ref->buffer->type);
    if (root->space != TG_GLOBAL) {
        return;
    }
    for (int i = 0; i < plan->nparams; i++) {
        plan_param *p = &plan->params[i];
        if (p->kind == PLAN_TENSOR && p->arg == root->arg && p->align < bytes) {
            p->align = bytes;
        }
    }
}

static void widen_statement(thread_stmt *s, void *plan) {
    thread_accesses(s, widen, plan);
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

static void make_checks(const thread_kernel *t, launch_plan *plan) {
    plan->nchecks = t->nchecks;
    plan->checks = ARENA_ARRAY(&plan->memory, plan_check, t->nchecks + 1);
    for (int i = 0; i < t->nchecks; i++) {
        const thread_check *c = &t->checks[i];
        plan->checks[i] = (plan_check){arena_copy(&plan->memory, c->at.file ? c->at.file : ""), c->at.line,
                                       arena_copy(&plan->memory, c->message ? c->message : "")};
    }
}

static void make_launch(const thread_kernel *t, launch_plan *plan) {
    for (int i = 0; i < 3; i++) {
        if (!plan_expr_make(t, t->grid[i], &plan->grid[i])) {
            tg_bug("grid axis %d is no launch expression", i);
        }
        plan->threads[i] = (int)t->threads[i];
        plan->max_grid[i] = t->target->max_grid_dim[i];
        plan->cluster[i] = 1;
    }
    plan->static_shared = t->shared_is_dynamic ? 0 : t->shared_bytes;
    plan->dynamic_shared = t->shared_is_dynamic ? t->shared_bytes : 0;
    plan->dependent_launch = t->waits;
}

launch_plan *plan_make(const thread_kernel *t) {
    launch_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        return NULL;
    }
    plan->name = arena_copy(&plan->memory, cuda_function_name(t));
    plan->nparams = t->nparams;
    plan->params = ARENA_ARRAY(&plan->memory, plan_param, t->nparams + 1);
    for (int i = 0; i < t->nparams; i++) {
        make_param(t, plan, i);
    }
    thread_block body = t->body;
    thread_walk(&body, widen_statement, plan);
    make_launch(t, plan);
    make_checks(t, plan);
    if (plan->memory.failed) {
        plan_free(plan);
        return NULL;
    }
    return plan;
}

void plan_free(launch_plan *plan) {
    if (plan) {
        arena_free(&plan->memory);
        free(plan);
    }
}
