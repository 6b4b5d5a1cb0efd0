/* thread_past.c -- accesses of iterations that lie behind.
 *
 * Reads accesses as they stand in the body of a loop.  Leaves the same with other variables than those of the
 * iteration that is being walked:
 *
 *     for k below 8                 PAST_ONE                PAST_ANY           PAST_LAST
 *         row = k % 2
 *         x = from[k]
 *         tile[row, x] = ..         tile[(k + 1) % 2, x']   tile[k' % 2, x']   tile[1, x]
 *
 * so that facts compares one iteration with any other, and within an iteration equal with equal.  A name of what
 * depends on no memory is opened. */
#include "codegen/thread_sync.h"

/* An access in an iteration that lies behind; x is NULL where it was none. */
typedef struct past {
    const thread_stmt *loop;
    past_kind kind;
    access *x;
    struct past *next;
} past;

typedef struct renaming {
    var *from, *to;
} renaming;

/* ---- the names of a loop ------------------------------------------------------------------------------- */

typedef struct naming {
    thread_kernel *t;
    touched *of;
} naming;

static void count_names(thread_stmt *s, void *user) {
    *(int *)user += s->nresults;
}

static void add_names(thread_stmt *s, void *user) {
    const naming *n = user;
    for (int i = 0; i < s->nresults; i++) {
        var *v = s->result[i];
        var *other = thread_variable(n->t, v->kind, v->name, v->type, v->at);
        other->lo = v->lo;
        other->hi = v->hi;
        n->of->name[n->of->nnames++] = (renaming){v, other};
    }
}

/* With another variable for each that the loop and its body define. */
static const touched *with_names(access_table *all, thread_stmt *loop) {
    touched *of = access_of(all, loop);
    if (!of->name) {
        int n = loop->nresults;
        naming each = {all->t, of};
        thread_walk(&loop->body, count_names, &n);
        of->name = ARENA_ARRAY(all->memory, renaming, n + 1);
        add_names(loop, &each);
        thread_walk(&loop->body, add_names, &each);
    }
    return of;
}

/* ---- one iteration in place of another ----------------------------------------------------------------- */

typedef struct shift {
    arena *memory;
    past_kind kind;
    const var *counter;
    node *was;         /* PAST_ONE, PAST_LAST: the counter's value then */
    const touched *of; /* PAST_ONE, PAST_ANY: the loop, with names */
} shift;

static node *shift_node(node *x, void *user);

/* The remainder as it was, of a number that is not negative. */
static node *shift_remainder(node *x, shift *to) {
    arena *a = to->memory;
    node *was = thread_map(a, x->arg[0], shift_node, to);
    const int64_t m = x->arg[1]->ival;
    if (was == x->arg[0] || was->lo >= 0 || was->lo < -m * 1024) {
        return NULL;
    }
    return expr_binary(a, x->at, TG_MOD, expr_add(a, was, expr_int(a, x->at, (m - 1 - was->lo) / m * m)),
                       x->arg[1]);
}

static bool is_remainder(const node *x) {
    return x->kind == E_OP && x->op == TG_MOD && x->arg[0]->lo >= 0 && x->arg[1]->kind == E_CONST &&
           x->arg[1]->ival > 0;
}

/* What the variable is called when its iteration lies behind; itself where it is none of the loop's. */
static var *other_name(const shift *to, var *v) {
    for (int i = 0; to->of && i < to->of->nnames; i++) {
        if (to->of->name[i].from == v) {
            return to->of->name[i].to;
        }
    }
    return v;
}

static node *shift_node(node *x, void *user) {
    shift *to = user;
    if (to->kind == PAST_ONE && is_remainder(x)) {
        return shift_remainder(x, to);
    }
    if (x->kind != E_VAR) {
        return NULL;
    }
    if (to->was && x->var == to->counter) {
        return to->was;
    }
    var *other = other_name(to, x->var);
    const bool changes = to->kind == PAST_LAST ? facts_depends(x, to->counter) : other != x->var;
    if (changes && x->var->value && !facts_reads_memory(x->var->value)) {
        return thread_map(to->memory, x->var->value, shift_node, to);
    }
    return other != x->var ? expr_var(to->memory, x->at, other) : NULL;
}

static shift shift_to(access_table *all, thread_stmt *loop, past_kind kind) {
    arena *a = all->memory;
    shift to = {.memory = a, .kind = kind, .counter = loop->result[0]};
    if (kind != PAST_LAST) {
        to.of = with_names(all, loop);
    }
    if (kind != PAST_ANY) {
        node *end = kind == PAST_LAST ? loop->extent : expr_var(a, loop->at, loop->result[0]);
        to.was = expr_binary(a, loop->at, TG_SUB, end, expr_int(a, loop->at, 1));
    }
    return to;
}

/* ---- accesses ------------------------------------------------------------------------------------------ */

static access *make_past(access_table *all, const access *x, thread_stmt *loop, past_kind kind) {
    shift to = shift_to(all, loop, kind);
    access *y = ARENA_NEW(all->memory, access);
    *y = *x;
    y->where.ref = thread_map(all->memory, x->where.ref, shift_node, &to);
    for (int i = 0; i < y->where.n; i++) {
        y->where.guard[i].condition = thread_map(all->memory, x->where.guard[i].condition, shift_node, &to);
    }
    y->place = y->where.ref == x->where.ref ? x->place : y;
    y->share = kind == PAST_LAST ? x->share : 0;
    y->past = NULL;
    y->landed = NULL;
    return y;
}

/* Is there no such access, whatever the thread? */
static bool is_shut_out(const access *x) {
    for (int i = 0; i < x->where.n; i++) {
        if (facts_truth(x->where.guard[i].condition) == (x->where.guard[i].negated ? FACT_YES : FACT_NO)) {
            return true;
        }
    }
    return false;
}

/* x as that of an iteration of the loop that lies behind; NULL: it is none. */
static access *past_of(access_table *all, access *x, thread_stmt *loop, past_kind kind) {
    for (const past *p = x->past; p; p = p->next) {
        if (p->loop == loop && p->kind == kind) {
            return p->x;
        }
    }
    access *y = make_past(all, x, loop, kind);
    past *p = ARENA_NEW(all->memory, past);
    *p = (past){loop, kind, y, x->past};
    if (kind == PAST_LAST && is_shut_out(y)) {
        p->x = NULL;
    } else if (y->where.ref == x->where.ref && y->share == x->share) {
        p->x = x;
    }
    x->past = p;
    return p->x;
}

void past_leave(access_table *all, access_list *list, thread_stmt *loop, past_kind kind) {
    if (kind == PAST_LAST && facts_reads_memory(loop->extent)) {
        return;
    }
    const access_list old = access_copy(list);
    list->n = 0;
    for (int i = 0; i < old.n; i++) {
        access *x = past_of(all, old.item[i], loop, kind);
        if (x) {
            access_add(list, x);
        }
    }
}
