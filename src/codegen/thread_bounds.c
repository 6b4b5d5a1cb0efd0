/* thread_bounds.c -- conditions that are decided before the kernel runs.
 *
 * Requires nothing; leaves constants for the conditions of branches, and the parts of them, that facts can
 * decide, and the side taken for choices.  thread_simplify then drops the branch not taken.  Accesses
 * themselves are never guarded here: at() outside a buffer is a fault of the kernel, which the simulator
 * reports. */
#include "codegen/passes.h"

static bool is_pair(const node *x) {
    return x->kind == E_OP && (x->op == TG_BOTH || x->op == TG_EITHER);
}

/* A condition without what is decided. */
static node *decided(thread_kernel *t, node *x) {
    const fact f = expr_is_const(x) ? FACT_UNKNOWN : facts_truth(x);
    if (f != FACT_UNKNOWN) {
        return expr_const(t->memory, x->at, value_int(TG_BOOL, f == FACT_YES));
    }
    if (!is_pair(x)) {
        return x;
    }
    node *left = decided(t, x->arg[0]), *right = decided(t, x->arg[1]);
    return left == x->arg[0] && right == x->arg[1] ? x : expr_binary(t->memory, x->at, x->op, left, right);
}

static node *side_taken(node *x, void *user) {
    thread_kernel *t = user;
    const fact f = x->kind == E_CHOOSE ? facts_truth(x->arg[0]) : FACT_UNKNOWN;
    return f == FACT_UNKNOWN ? NULL : thread_map(t->memory, x->arg[f == FACT_YES ? 1 : 2], side_taken, t);
}

static void decide(thread_stmt *s, void *user) {
    thread_kernel *t = user;
    s->value = s->value ? thread_map(t->memory, s->value, side_taken, t) : NULL;
    if (s->kind == THREAD_IF) {
        s->value = decided(t, s->value);
    }
    if (s->kind == THREAD_LET && s->result[0]->value) {
        s->result[0]->value = s->value;
    }
}

void thread_bounds(thread_kernel *t, diag *errors) {
    (void)errors;
    thread_walk(&t->body, decide, t);
}
