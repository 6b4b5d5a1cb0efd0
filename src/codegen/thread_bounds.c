/* thread_bounds.c -- conditions that are decided before the kernel runs.
 *
 * Requires nothing; leaves constants for the conditions of branches, and the parts of them, that facts can
 * decide, and the side taken for choices.  Inside a branch its condition is known, and what follows from it:
 *
 *     if (tid < 8)                                  if (tid < 8)
 *         if (tid < 8 && pid * 8 + tid < 4096)          output[pid * 8 + tid] = ..
 *             output[pid * 8 + tid] = ..
 *
 * thread_simplify then drops the branch not taken.  Accesses themselves are never guarded here: at() outside a
 * buffer is a fault of the kernel, which the simulator reports. */
#include "codegen/passes.h"

/* What holds where a statement stands: a condition, or that a variable is what a narrower one is. */
typedef struct known {
    const struct known *outer;
    const node *condition;
    const var *wide;
    node *narrow;
} known;

typedef struct place {
    thread_kernel *t;
    const known *known;
} place;

static bool is_pair(const node *x) {
    return x->kind == E_OP && (x->op == TG_BOTH || x->op == TG_EITHER);
}

/* ---- what is known ------------------------------------------------------------------------------------- */

static const known *learn(const place *p, const known *outer, known one) {
    known *k = ARENA_NEW(p->t->memory, known);
    one.outer = outer;
    *k = one;
    return k;
}

/* The variable of "v < n" with fewer values; NULL where the condition is another. */
static node *narrowed(const place *p, const node *x) {
    const node *left = x->n == 2 ? x->arg[0] : NULL;
    if (x->kind != E_OP || x->op != TG_LT || left->kind != E_VAR || left->var->kind == VAR_LET ||
        !expr_is_const(x->arg[1]) || x->arg[1]->ival <= left->var->lo || x->arg[1]->ival > left->var->hi) {
        return NULL;
    }
    var *v = ARENA_NEW(p->t->memory, var);
    *v = *left->var;
    v->hi = x->arg[1]->ival - 1;
    return expr_var(p->t->memory, x->at, v);
}

/* What holds in a branch on x.  What memory holds may change inside. */
static const known *learn_condition(const place *p, const known *k, const node *x) {
    if (x->kind == E_OP && x->op == TG_BOTH) {
        return learn_condition(p, learn_condition(p, k, x->arg[0]), x->arg[1]);
    }
    if (facts_reads_memory(x)) {
        return k;
    }
    node *narrow = narrowed(p, x);
    k = learn(p, k, (known){.condition = x});
    return narrow ? learn(p, k, (known){.wide = x->arg[0]->var, .narrow = narrow}) : k;
}

/* x with narrower variables. */
static node *in_place(const place *p, node *x) {
    for (const known *k = p->known; k; k = k->outer) {
        x = k->wide ? expr_replace(p->t->memory, x, k->wide, k->narrow) : x;
    }
    return x;
}

/* The same computation, if names are seen through. */
static bool means_the_same(const node *x, const node *y) {
    x = facts_meaning(x);
    y = facts_meaning(y);
    if (x->kind != E_OP || y->kind != E_OP || x->op != y->op || x->n != y->n || x->type != y->type) {
        return expr_equal(x, y);
    }
    for (int i = 0; i < x->n; i++) {
        if (!means_the_same(x->arg[i], y->arg[i])) {
            return false;
        }
    }
    return true;
}

static fact truth(const place *p, node *x) {
    const fact f = facts_truth(x);
    if (f != FACT_UNKNOWN || !p->known) {
        return f;
    }
    for (const known *k = p->known; k; k = k->outer) {
        const fact given = !k->condition                     ? FACT_UNKNOWN
                           : means_the_same(k->condition, x) ? FACT_YES
                                                             : facts_truth_given(x, k->condition);
        if (given != FACT_UNKNOWN) {
            return given;
        }
    }
    node *narrow = in_place(p, x);
    return narrow == x ? f : facts_truth(narrow);
}

/* A name given here stands for a value of narrower variables. */
static void learn_name(place *p, const thread_stmt *s) {
    node *narrow = s->result[0]->value ? in_place(p, s->result[0]->value) : NULL;
    if (narrow && narrow != s->result[0]->value) {
        var *v = ARENA_NEW(p->t->memory, var);
        *v = *s->result[0];
        v->value = narrow;
        v->lo = narrow->lo > v->lo ? narrow->lo : v->lo;
        v->hi = narrow->hi < v->hi ? narrow->hi : v->hi;
        p->known =
            learn(p, p->known, (known){.wide = s->result[0], .narrow = expr_var(p->t->memory, s->at, v)});
    }
}

/* ---- conditions ---------------------------------------------------------------------------------------- */

/* A condition without what is decided. */
static node *decided(const place *p, node *x) {
    arena *a = p->t->memory;
    const fact f = expr_is_const(x) ? FACT_UNKNOWN : truth(p, x);
    if (f != FACT_UNKNOWN) {
        return expr_const(a, x->at, value_int(TG_BOOL, f == FACT_YES));
    }
    if (!is_pair(x)) {
        return x;
    }
    node *left = decided(p, x->arg[0]), *right = decided(p, x->arg[1]);
    return left == x->arg[0] && right == x->arg[1] ? x : expr_binary(a, x->at, x->op, left, right);
}

static node *side_taken(node *x, void *user) {
    place *p = user;
    const fact f = x->kind == E_CHOOSE ? truth(p, x->arg[0]) : FACT_UNKNOWN;
    return f == FACT_UNKNOWN ? NULL : thread_map(p->t->memory, x->arg[f == FACT_YES ? 1 : 2], side_taken, p);
}

static node *taken(place *p, node *x) {
    return x ? thread_map(p->t->memory, x, side_taken, p) : NULL;
}

/* ---- statements ---------------------------------------------------------------------------------------- */

static void decide_block(const place *around, thread_block *b);

static void decide(place *p, thread_stmt *s) {
    s->value = taken(p, s->value);
    if (s->kind == THREAD_COPY_ASYNC) {
        s->extent = taken(p, s->extent);
        s->extent = s->extent && expr_is_int(s->extent, s->dst->lanes) ? NULL : s->extent;
    }
    if (s->kind == THREAD_IF) {
        s->value = decided(p, s->value);
        const place inside = {p->t, learn_condition(p, p->known, s->value)};
        decide_block(&inside, &s->body);
    } else {
        decide_block(p, &s->body);
    }
    decide_block(p, &s->otherwise);
    if (s->kind == THREAD_LET && s->result[0]->value) {
        s->result[0]->value = s->value;
        learn_name(p, s);
    }
}

static void decide_block(const place *around, thread_block *b) {
    place p = *around; /* names given in a block end with it */
    for (thread_stmt *s = b->first; s; s = s->next) {
        decide(&p, s);
    }
}

void thread_bounds(thread_kernel *t, diag *errors) {
    (void)errors;
    decide_block(&(place){t, NULL}, &t->body);
}
