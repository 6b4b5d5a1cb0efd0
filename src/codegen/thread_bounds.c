/* thread_bounds.c -- conditions that are decided before the kernel runs.
 *
 * Requires nothing; leaves constants as the conditions of branches that facts can decide.  thread_simplify
 * then drops the branch not taken.  Accesses themselves are never guarded here: at() outside a buffer is a
 * fault of the kernel, which the simulator reports. */
#include "codegen/passes.h"

static void decide(thread_stmt *s, void *user) {
    thread_kernel *t = user;
    if (s->kind != THREAD_IF || expr_is_const(s->value)) {
        return;
    }
    const fact f = facts_truth(s->value);
    if (f != FACT_UNKNOWN) {
        s->value = expr_const(t->memory, s->at, value_int(TG_BOOL, f == FACT_YES));
    }
}

void thread_bounds(thread_kernel *t, diag *errors) {
    (void)errors;
    thread_walk(&t->body, decide, t);
}
