/* thread_sync.c -- barriers for collective operations.
 *
 * Requires that statements which are a thread's share of a collective operation have SCOPE_BLOCK participants,
 * and the number of the operation in `share`; leaves a barrier between any two accesses of different threads to
 * common bytes of which one writes and one is such a share, none of them to spare.  Barriers that the user wrote
 * count and stay.  Hazards among the user's own accesses are the user's own, as in CUDA.
 *
 *     insert   one walk in program order with the accesses since the last barrier; a conflict puts a barrier in
 *              front of the statement, as late as possible
 *     prune    each barrier is taken away and the same walk looks whether anything is uncovered; the first such
 *              thing is the reason of a barrier that stays
 *     narrow   where what is uncovered then lies within warps alone, a barrier of the warp is enough
 *
 * The body of a loop is walked twice, the second time behind its own end.  Accesses that are left behind by an
 * iteration are renamed: they use other variables than those of the iteration that is being walked, so that
 * facts compares one iteration with any other, and within an iteration equal with equal.
 *
 * A branch or loop that threads leave differently is taken whole: no barrier may stand inside.  So is what
 * belongs to one operation: it gives each element to one thread.
 *
 * An asynchronous copy writes twice: where it is issued, and at every wait that it may land at. */
#include <string.h>

#include "codegen/passes.h"

typedef struct access {
    fact_access where;
    struct access *place; /* an access of the same elements, for which facts has been asked */
    buffer *buffer;
    tg_loc at;
    bool is_write, is_atomic, is_collective, has_landed;
    int share;             /* the operation that makes it; 0: of none, or of an earlier execution */
    struct access *landed; /* the same at a wait */
    struct past *past;     /* the same in an earlier, or in the last iteration of this or that loop */
} access;

/* Which iteration of a loop that lies behind: the one before; any before; the last one. */
typedef enum past_kind { PAST_ONE, PAST_ANY, PAST_LAST } past_kind;

typedef struct past {
    const thread_stmt *loop;
    past_kind kind;
    access *x; /* NULL: it was none */
    struct past *next;
} past;

typedef struct accesses {
    arena *memory;
    int n, room;
    access **item;
} accesses;

/* What the walk carries along. */
typedef struct flow {
    accesses pending;  /* since the last barrier */
    accesses inflight; /* asynchronous copies that may land at the next wait */
} flow;

typedef struct renaming {
    var *from, *to;
} renaming;

/* What is worked out once for each statement. */
typedef struct entry {
    const thread_stmt *s;
    bool is_gathered, is_gathered_deep, has_names, is_open_known, is_share_known;
    bool is_one_share;
    fact is_open;
    accesses own, own_async; /* async: those of `own` that write later */
    accesses deep, deep_async;
    int nnames;
    renaming *name; /* of the variables that it defines, bodies included */
} entry;

typedef struct pair {
    const access *a, *b;
    bool conflict;
    struct pair *next;
} pair;

enum { PAIRS = 1 << 10 };

typedef struct inserted {
    thread_stmt *barrier;
    thread_block *block;
    const access *first, *second; /* what it is for */
} inserted;

typedef struct sync_state {
    thread_kernel *t;
    arena *a;
    diag *errors;
    fact_block block;
    bool has_all_axes;
    uniformity *uniform;
    int nentries; /* a power of two */
    entry **entries;
    bool *is_written; /* by buffer id: the bytes, by any name; what nobody writes is in nobody's way */
    pair *pairs[PAIRS];
    fact_access guards; /* the conditions around: no ref */
    bool is_check;      /* look, change nothing */
    bool asks_memory;   /* some scope is entered by what memory holds: that changes with the barriers */
    const access *first, *second; /* check: the first uncovered hazard */
    int n, room;
    inserted *item;
} sync_state;

/* ---- lists --------------------------------------------------------------------------------------------- */

static void add(accesses *list, access *x) {
    for (int i = 0; i < list->n; i++) {
        if (list->item[i] == x) {
            return;
        }
    }
    if (list->n == list->room) {
        list->room = list->room ? 2 * list->room : 8;
        access **more = ARENA_ARRAY(list->memory, access *, list->room);
        if (list->n > 0) {
            memcpy(more, list->item, sizeof *more * (size_t)list->n);
        }
        list->item = more;
    }
    list->item[list->n++] = x;
}

static void add_all(accesses *list, const accesses *more) {
    for (int i = 0; i < more->n; i++) {
        add(list, more->item[i]);
    }
}

static accesses no_accesses(const sync_state *st) {
    return (accesses){st->a, 0, 0, NULL};
}

static accesses copy_of(const accesses *list) {
    accesses copy = {list->memory, 0, 0, NULL};
    add_all(&copy, list);
    return copy;
}

/* ---- statements ---------------------------------------------------------------------------------------- */

static entry *entry_of(sync_state *st, const thread_stmt *s) {
    size_t at = ((size_t)(const void *)s >> 4) * 0x9e3779b97f4a7c15u >> 20;
    for (;; at++) {
        entry **slot = &st->entries[at & (size_t)(st->nentries - 1)];
        if (!*slot) {
            *slot = ARENA_NEW(st->a, entry);
            (*slot)->s = s;
            (*slot)->own = (*slot)->own_async = (*slot)->deep = (*slot)->deep_async = no_accesses(st);
        }
        if ((*slot)->s == s) {
            return *slot;
        }
    }
}

static void count_statement(thread_stmt *s, void *user) {
    (void)s;
    ++*(int *)user;
}

/* A barrier of the block that stands; while it is looked whether it must, it does not. */
static bool is_barrier(const thread_stmt *s) {
    return s->kind == THREAD_BARRIER && s->participants == SCOPE_BLOCK;
}

/* ---- accesses ------------------------------------------------------------------------------------------ */

/* Goes into a scope, where a branch's condition holds, or does not; returns what leave_scope() needs. */
static int enter_scope(sync_state *st, const thread_stmt *s, bool negated) {
    const int before = st->guards.n;
    if (s->kind == THREAD_IF && before < FACT_GUARDS) {
        st->guards.guard[before].condition = s->value;
        st->guards.guard[before].negated = negated;
        st->guards.n = before + 1;
    }
    return before;
}

static void leave_scope(sync_state *st, int before) {
    st->guards.n = before;
}

typedef struct gathering {
    sync_state *st;
    const thread_stmt *s;
    entry *e;
} gathering;

/* Does s put down partial results of a reduction? */
static bool is_partial(const thread_stmt *s) {
    return !s->dst || buffer_root(s->dst->buffer)->reduction;
}

static void gather(node *ref, bool is_write, void *user) {
    const gathering *g = user;
    const buffer *root = buffer_root(ref->buffer);
    if ((root->space != TG_SHARED && root->space != TG_GLOBAL) || !g->st->is_written[root->id]) {
        return;
    }
    /* what the operand of an allreduce reads on its way to the partial results is the user's own access */
    const bool is_operand = !is_write && !root->reduction && is_partial(g->s);
    access *x = ARENA_NEW(g->st->a, access);
    x->where = g->st->guards;
    x->where.ref = ref;
    x->place = x;
    x->buffer = ref->buffer;
    x->at = g->s->at;
    x->is_write = is_write;
    x->is_atomic = g->s->kind == THREAD_ATOMIC && is_write;
    x->is_collective = g->s->participants == SCOPE_BLOCK && !is_operand;
    x->share = g->s->share;
    add(&g->e->own, x);
    if (is_write && g->s->kind == THREAD_COPY_ASYNC) {
        x->is_collective = true;
        add(&g->e->own_async, x);
    }
}

/* Of the statement itself. */
static entry *own_accesses(sync_state *st, thread_stmt *s) {
    entry *e = entry_of(st, s);
    if (!e->is_gathered) {
        gathering g = {st, s, e};
        thread_accesses(s, gather, &g);
        e->is_gathered = true;
    }
    return e;
}

static void gather_deep(sync_state *st, thread_stmt *s, entry *all) {
    const entry *e = own_accesses(st, s);
    add_all(&all->deep, &e->own);
    add_all(&all->deep_async, &e->own_async);
    int guards = enter_scope(st, s, false);
    for (thread_stmt *c = s->body.first; c; c = c->next) {
        gather_deep(st, c, all);
    }
    leave_scope(st, guards);
    guards = enter_scope(st, s, true);
    for (thread_stmt *c = s->otherwise.first; c; c = c->next) {
        gather_deep(st, c, all);
    }
    leave_scope(st, guards);
}

/* Of the statement and everything in it. */
static entry *deep_accesses(sync_state *st, thread_stmt *s) {
    entry *e = entry_of(st, s);
    if (!e->is_gathered_deep) {
        gather_deep(st, s, e);
        e->is_gathered_deep = true;
    }
    return e;
}

/* The operation that all of a statement, bodies included, is a share of. */
typedef struct sharing {
    int share;
    bool is_mixed;
} sharing;

static void note_memory(node *ref, bool is_write, void *user) {
    (void)is_write;
    *(bool *)user |= buffer_root(ref->buffer)->space != TG_LOCAL;
}

/* Names, declarations and conditions may stand between without a number, unless they read memory. */
static bool is_apart(thread_stmt *s) {
    bool touches =
        s->kind != THREAD_FOR && s->kind != THREAD_IF && s->kind != THREAD_LET && s->kind != THREAD_DECL;
    thread_accesses(s, note_memory, &touches);
    return touches;
}

static void note_share(thread_stmt *s, void *user) {
    sharing *all = user;
    if (s->share) {
        all->is_mixed |= all->share && all->share != s->share;
        all->share = s->share;
    } else if (is_apart(s)) {
        all->is_mixed = true;
    }
}

static bool is_one_share(sync_state *st, thread_stmt *s) {
    entry *e = entry_of(st, s);
    if (!e->is_share_known) {
        sharing all = {0, false};
        note_share(s, &all);
        thread_walk(&s->body, note_share, &all);
        thread_walk(&s->otherwise, note_share, &all);
        e->is_one_share = all.share && !all.is_mixed && !s->repeats;
        e->is_share_known = true;
    }
    return e->is_one_share;
}

/* Do all threads of the block take the same way through s? */
static bool is_open(sync_state *st, const thread_stmt *s) {
    entry *e = entry_of(st, s);
    const node *decides = s->kind == THREAD_FOR ? s->extent : s->value;
    if (!e->is_open_known) {
        e->is_open = facts_uniform(st->uniform, decides);
        e->is_open_known = !facts_reads_memory(decides);
    }
    return e->is_open == FACT_YES;
}

/* ---- iterations that lie behind ------------------------------------------------------------------------ */

typedef struct names {
    sync_state *st;
    entry *e;
    const var *counter; /* PAST_ONE: the loop's variable, and what it was then */
    node *previous;
} names;

static void count_names(thread_stmt *s, void *user) {
    *(int *)user += s->nresults;
}

static void add_names(thread_stmt *s, void *user) {
    const names *n = user;
    for (int i = 0; i < s->nresults; i++) {
        var *v = s->result[i];
        var *other = thread_variable(n->st->t, v->kind, v->name, v->type, v->at);
        other->lo = v->lo;
        other->hi = v->hi;
        n->e->name[n->e->nnames++] = (renaming){v, other};
    }
}

static entry *names_of(sync_state *st, thread_stmt *s) {
    entry *e = entry_of(st, s);
    if (!e->has_names) {
        int n = s->nresults;
        names all = {.st = st, .e = e};
        e->has_names = true;
        thread_walk(&s->body, count_names, &n);
        thread_walk(&s->otherwise, count_names, &n);
        e->name = ARENA_ARRAY(st->a, renaming, n + 1);
        add_names(s, &all);
        thread_walk(&s->body, add_names, &all);
        thread_walk(&s->otherwise, add_names, &all);
    }
    return e;
}

static node *rename_node(node *x, void *user);

/* The remainder as it was, of a number that is not negative. */
static node *rename_remainder(node *x, const names *n) {
    arena *a = n->st->a;
    node *was = thread_map(a, x->arg[0], rename_node, (void *)(uintptr_t)n);
    const int64_t m = x->arg[1]->ival;
    if (was == x->arg[0] || was->lo >= 0 || was->lo < -m * 1024) {
        return NULL;
    }
    return expr_binary(a, x->at, TG_MOD, expr_add(a, was, expr_int(a, x->at, (m - 1 - was->lo) / m * m)),
                       x->arg[1]);
}

/* A name of what depends on no memory is opened; the others get other names. */
static node *rename_node(node *x, void *user) {
    const names *n = user;
    if (n->previous && x->kind == E_OP && x->op == TG_MOD && x->arg[0]->lo >= 0 &&
        x->arg[1]->kind == E_CONST && x->arg[1]->ival > 0) {
        return rename_remainder(x, n);
    }
    if (x->kind == E_VAR && x->var == n->counter) {
        return n->previous;
    }
    for (int i = 0; x->kind == E_VAR && i < n->e->nnames; i++) {
        if (n->e->name[i].from == x->var) {
            node *named = x->var->value;
            return named && !facts_reads_memory(named) ? thread_map(n->st->a, named, rename_node, user)
                                                       : expr_var(n->st->a, x->at, n->e->name[i].to);
        }
    }
    return NULL;
}

typedef struct last_trip {
    sync_state *st;
    const var *v;
    node *last;
} last_trip;

static node *last_node(node *x, void *user) {
    const last_trip *l = user;
    if (x->kind == E_VAR && x->var == l->v) {
        return l->last;
    }
    return x->kind == E_VAR && x->var->kind == VAR_LET && x->var->value && facts_depends(x, l->v) &&
                   !facts_reads_memory(x->var->value)
               ? thread_map(l->st->a, x->var->value, last_node, user)
               : NULL;
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

static access *with_mapped(sync_state *st, const access *x, node *(*fn)(node *x, void *user), void *user) {
    access *y = ARENA_NEW(st->a, access);
    *y = *x;
    y->place = y;
    y->past = NULL;
    y->landed = NULL;
    y->where.ref = thread_map(st->a, x->where.ref, fn, user);
    for (int i = 0; i < y->where.n; i++) {
        y->where.guard[i].condition = thread_map(st->a, x->where.guard[i].condition, fn, user);
    }
    return y;
}

static access *make_past(sync_state *st, const access *x, thread_stmt *loop, past_kind kind) {
    node *one = expr_int(st->a, loop->at, 1);
    names n = {.st = st, .e = names_of(st, loop)};
    last_trip l = {st, loop->result[0], expr_binary(st->a, loop->at, TG_SUB, loop->extent, one)};
    if (kind == PAST_ONE) {
        n.counter = loop->result[0];
        n.previous = expr_binary(st->a, loop->at, TG_SUB, expr_var(st->a, loop->at, loop->result[0]), one);
    }
    access *y = kind == PAST_LAST ? with_mapped(st, x, last_node, &l) : with_mapped(st, x, rename_node, &n);
    y->share = kind == PAST_LAST ? x->share : 0;
    y->place = y->where.ref == x->where.ref ? x->place : y;
    return y;
}

/* x as that of an iteration of the loop that lies behind; NULL: it is none. */
static access *past_of(sync_state *st, access *x, thread_stmt *loop, past_kind kind) {
    for (const past *p = x->past; p; p = p->next) {
        if (p->loop == loop && p->kind == kind) {
            return p->x;
        }
    }
    access *y = make_past(st, x, loop, kind);
    past *p = ARENA_NEW(st->a, past);
    *p = (past){loop, kind, y, x->past};
    if (kind == PAST_LAST && is_shut_out(y)) {
        p->x = NULL;
    } else if (y->where.ref == x->where.ref && y->share == x->share) {
        p->x = x;
    }
    x->past = p;
    return p->x;
}

/* Round the end of the loop, or out of it. */
static void leave(sync_state *st, accesses *list, thread_stmt *loop, past_kind kind) {
    if (kind == PAST_LAST && facts_reads_memory(loop->extent)) {
        return;
    }
    const accesses old = copy_of(list);
    list->n = 0;
    for (int i = 0; i < old.n; i++) {
        access *x = past_of(st, old.item[i], loop, kind);
        if (x) {
            add(list, x);
        }
    }
}

static access *landed(sync_state *st, access *x) {
    if (!x->landed) {
        x->landed = ARENA_NEW(st->a, access);
        *x->landed = *x;
        x->landed->has_landed = true;
        x->landed->share = 0;
        x->landed->past = NULL;
    }
    return x->landed;
}

/* ---- conflicts ----------------------------------------------------------------------------------------- */

/* Every axis of more than one thread has a name by which it can be reasoned about. */
static bool has_all_axes(const thread_kernel *t) {
    for (int i = 0; i < 3; i++) {
        if (t->threads[i] > 1 && !t->thread_var[i]) {
            return false;
        }
    }
    return true;
}

/* No threads of the block are told apart. */
static bool is_one_group(const sync_state *st) {
    return st->block.group >= thread_count(st->t);
}

/* Facts are asked once for each pair. */
static bool may_meet(sync_state *st, const access *a, const access *b) {
    a = a->place;
    b = b->place;
    const size_t hash = ((size_t)(const void *)a >> 4) * 31 + ((size_t)(const void *)b >> 4);
    pair **slot = &st->pairs[(hash ^ hash >> 10) % PAIRS];
    for (pair *p = *slot; p; p = p->next) {
        if (p->a == a && p->b == b) {
            return p->conflict;
        }
    }
    pair *p = ARENA_NEW(st->a, pair);
    *p = (pair){a, b, true, *slot};
    *slot = p;
    p->conflict =
        !is_one_group(st) && (!st->has_all_axes || facts_apart(&st->block, &a->where, &b->where) != FACT_YES);
    return p->conflict;
}

static bool conflict(sync_state *st, const access *a, const access *b) {
    return (a->is_write || b->is_write) && (a->is_collective || b->is_collective) &&
           !(a->is_atomic && b->is_atomic) && buffer_may_overlap(a->buffer, b->buffer) &&
           !(a->share && a->share == b->share) && may_meet(st, a, b);
}

/* The first access in `before` that one in `now` must not overtake. */
static const access *hazard(sync_state *st, const accesses *before, const accesses *now,
                            const access **second) {
    for (int i = 0; i < before->n; i++) {
        for (int j = 0; j < now->n; j++) {
            if (conflict(st, before->item[i], now->item[j])) {
                *second = now->item[j];
                return before->item[i];
            }
        }
    }
    return NULL;
}

static const char *reason(const sync_state *st, const access *first, const access *second) {
    static const char *const partial[] = {[TG_SUM] = "sum", [TG_MAX] = "maximum", [TG_MIN] = "minimum"};
    const buffer *b = first->buffer;
    const bool is_part = st->block.group > 1 && !is_one_group(st);
    const char *part = is_part ? "the warp's part of " : "";
    if (!first->is_write) {
        return arena_print(st->a, "%s%s has been read before it is written again", part, b->name);
    }
    if (second->is_write) {
        return arena_print(st->a, "%s%s is written in this order", part, b->name);
    }
    if (b->space == TG_SHARED && b->reduction) {
        return arena_print(st->a, "every partial %s is in %s before it is read", partial[b->reduction],
                           b->name);
    }
    return arena_print(st->a, "%s%s %s before it is read", is_part ? part : "all of ", b->name,
                       first->has_landed ? "has landed" : "is written");
}

/* ---- barriers ------------------------------------------------------------------------------------------ */

static void remember(sync_state *st, thread_stmt *barrier, thread_block *b) {
    if (st->n == st->room) {
        st->room = st->room ? 2 * st->room : 8;
        inserted *more = ARENA_ARRAY(st->a, inserted, st->room);
        if (st->n > 0) {
            memcpy(more, st->item, sizeof *more * (size_t)st->n);
        }
        st->item = more;
    }
    st->item[st->n++] = (inserted){barrier, b, NULL, NULL};
}

/* Where a block is being walked. */
typedef struct cursor {
    thread_block *block;
    thread_stmt *before, *s; /* the last statement or barrier in front of s */
} cursor;

/* A barrier must stand in front of the statement: it is put there, or the lack of it noted. */
static void need(sync_state *st, cursor *c, const access *first, const access *second) {
    if (st->is_check) {
        st->second = st->first ? st->second : second;
        st->first = st->first ? st->first : first;
        return;
    }
    thread_stmt *barrier = ARENA_NEW(st->a, thread_stmt);
    barrier->kind = THREAD_BARRIER;
    barrier->at = c->s->at;
    barrier->participants = SCOPE_BLOCK;
    barrier->next = c->s;
    if (c->before) {
        c->before->next = barrier;
    } else {
        c->block->first = barrier;
    }
    c->before = barrier;
    remember(st, barrier, c->block);
    uniformity_barrier(st->uniform);
}

/* What must be ordered behind `before`; true when a barrier was needed. */
static bool order(sync_state *st, cursor *c, accesses *before, const accesses *now) {
    const access *second = NULL;
    const access *first = hazard(st, before, now, &second);
    if (first) {
        need(st, c, first, second);
        before->n = 0;
    }
    return first != NULL;
}

/* ---- the walk ------------------------------------------------------------------------------------------ */

static void walk(sync_state *st, thread_block *b, flow *f);

/* Scopes that are walked through, and not taken whole. */
static bool is_walked(sync_state *st, thread_stmt *s) {
    return (s->kind == THREAD_FOR || s->kind == THREAD_IF) && !is_one_share(st, s) && is_open(st, s);
}

/* What a block touches before its first barrier; true when every way through it meets one. */
static bool before_barrier(sync_state *st, thread_block *b, accesses *out) {
    for (thread_stmt *s = b->first; s; s = s->next) {
        if (is_barrier(s)) {
            return true;
        }
        if (!is_walked(st, s)) {
            add_all(out, &deep_accesses(st, s)->deep);
            continue;
        }
        add_all(out, &own_accesses(st, s)->own);
        int guards = enter_scope(st, s, false);
        const bool body = before_barrier(st, &s->body, out);
        leave_scope(st, guards);
        guards = enter_scope(st, s, true);
        const bool other = before_barrier(st, &s->otherwise, out);
        leave_scope(st, guards);
        if ((s->kind == THREAD_IF && body && other) || (s->kind == THREAD_FOR && body && s->extent->lo > 0)) {
            return true;
        }
    }
    return false;
}

/* What came before a scope and what the scope itself leaves.  An access before it that it must not overtake asks
 * for one barrier in front of it, and not for one inside. */
static void join_before(sync_state *st, cursor *c, accesses *before, flow *f) {
    accesses start = no_accesses(st);
    thread_stmt *s = c->s;
    int guards = enter_scope(st, s, false);
    bool always = before_barrier(st, &s->body, &start);
    leave_scope(st, guards);
    if (s->kind == THREAD_IF) {
        guards = enter_scope(st, s, true);
        always = before_barrier(st, &s->otherwise, &start) && always;
        leave_scope(st, guards);
    }
    always = always && (s->kind == THREAD_IF || s->extent->lo > 0);
    if (!order(st, c, before, &start) && !always) {
        add_all(&f->pending, before);
    }
}

/* First what the branches need by themselves: what decides has been read when they begin. */
static void walk_branch(sync_state *st, cursor *c, flow *f) {
    thread_stmt *s = c->s;
    const accesses *own = &own_accesses(st, s)->own;
    accesses before = copy_of(&f->pending);
    flow other = {copy_of(own), copy_of(&f->inflight)};
    f->pending = copy_of(own);
    int guards = enter_scope(st, s, false);
    walk(st, &s->body, f);
    leave_scope(st, guards);
    guards = enter_scope(st, s, true);
    walk(st, &s->otherwise, &other);
    leave_scope(st, guards);
    add_all(&f->pending, &other.pending);
    add_all(&f->inflight, &other.inflight);
    join_before(st, c, &before, f);
}

static void walk_loop(sync_state *st, cursor *c, flow *f) {
    thread_stmt *s = c->s;
    const accesses *own = &own_accesses(st, s)->own;
    accesses before = copy_of(&f->pending);
    f->pending = copy_of(own);
    walk(st, &s->body, f);
    if (s->extent->hi > 1) {
        accesses ignored = no_accesses(st);
        const int guards = st->guards.n;
        const bool always = before_barrier(st, &s->body, &ignored); /* what is left is of one iteration */
        leave_scope(st, guards);
        leave(st, &f->pending, s, always ? PAST_ONE : PAST_ANY);
        leave(st, &f->inflight, s, PAST_ANY);
        walk(st, &s->body, f);
    }
    leave(st, &f->pending, s, PAST_LAST);
    leave(st, &f->inflight, s, PAST_LAST);
    if (s->extent->lo <= 0) { /* there may have been no iteration */
        add_all(&f->pending, own);
    }
    join_before(st, c, &before, f);
}

/* What s does to what is uniform.  What an operation of the block writes, others read in order: this pass sees to it. */
static void note(sync_state *st, thread_stmt *s) {
    if (st->is_check && !st->asks_memory) { /* which scopes are open is known since the first walk */
        return;
    }
    const bool is_ordered = s->participants == SCOPE_BLOCK || s->kind == THREAD_COPY_ASYNC;
    if (!s->dst || !is_ordered) {
        thread_note(st->t, st->uniform, s);
    }
}

/* Bodies included. */
static void note_deep(sync_state *st, thread_stmt *s) {
    note(st, s);
    for (thread_stmt *c = s->body.first; c; c = c->next) {
        note_deep(st, c);
    }
    for (thread_stmt *c = s->otherwise.first; c; c = c->next) {
        note_deep(st, c);
    }
}

static bool is_behind_itself(const access *first, const access *second) {
    return first == second || (first->where.ref == second->where.ref && first->share == second->share);
}

/* Both ends in a scope that threads leave differently. */
static void refuse_inside(sync_state *st, const thread_stmt *s, const accesses *now) {
    for (int i = 0; i < now->n; i++) {
        for (int j = i + 1; j < now->n; j++) {
            const access *a = now->item[i], *b = now->item[j];
            if (is_behind_itself(a, b) || !conflict(st, a, b)) {
                continue;
            }
            diag_error(
                st->errors, b->at,
                "a barrier is needed between the access to '%s' at line %d and this one, but threads part "
                "at line %d: move one of them out of that scope",
                a->buffer->name, a->at.line, s->at.line);
            return;
        }
    }
}

/* A statement without scopes, or a scope taken whole. */
static void step_whole(sync_state *st, cursor *c, flow *f) {
    thread_stmt *s = c->s;
    const bool is_scope = s->kind == THREAD_FOR || s->kind == THREAD_IF;
    const entry *e = deep_accesses(st, s);
    order(st, c, &f->pending, &e->deep);
    if (is_scope && !st->is_check && !is_one_share(st, s)) {
        refuse_inside(st, s, &e->deep);
    }
    add_all(&f->pending, &e->deep);
    add_all(&f->inflight, &e->deep_async);
    note_deep(st, s);
}

static void step(sync_state *st, cursor *c, flow *f) {
    thread_stmt *s = c->s;
    if (is_barrier(s)) {
        f->pending.n = 0;
        uniformity_barrier(st->uniform);
        return;
    }
    if (s->kind == THREAD_WAIT) {
        for (int i = 0; i < f->inflight.n; i++) {
            add(&f->pending, landed(st, f->inflight.item[i]));
        }
        f->inflight.n = s->count == 0 ? 0 : f->inflight.n;
        return;
    }
    const bool is_scope = (s->kind == THREAD_FOR || s->kind == THREAD_IF) && !is_one_share(st, s);
    if (is_scope) { /* what decides is read first, and agreed upon then */
        order(st, c, &f->pending, &own_accesses(st, s)->own);
    }
    if (!is_scope || !is_open(st, s)) {
        step_whole(st, c, f);
        return;
    }
    note(st, s);
    if (s->kind == THREAD_FOR) {
        walk_loop(st, c, f);
    } else {
        walk_branch(st, c, f);
    }
}

static void walk(sync_state *st, thread_block *b, flow *f) {
    cursor c = {b, NULL, NULL};
    for (c.s = b->first; c.s && !st->first; c.s = c.s->next) {
        step(st, &c, f);
        c.before = c.s;
    }
}

/* ---- the pass ------------------------------------------------------------------------------------------ */

static void walk_kernel(sync_state *st) {
    flow f = {no_accesses(st), no_accesses(st)};
    st->uniform = uniformity_new(st->a, st->t->nvars, st->t->nbuffers);
    st->first = st->second = NULL;
    walk(st, &st->t->body, &f);
}

static void unlink_barrier(const inserted *x) {
    thread_stmt *before = NULL;
    for (thread_stmt *s = x->block->first; s != x->barrier; s = s->next) {
        before = s;
    }
    if (before) {
        before->next = x->barrier->next;
    } else {
        x->block->first = x->barrier->next;
    }
}

/* What one barrier does, others may do too. */
static void prune(sync_state *st) {
    st->is_check = true;
    for (int i = 0; i < st->n; i++) {
        thread_stmt *barrier = st->item[i].barrier;
        barrier->participants = SCOPE_THREAD;
        walk_kernel(st);
        if (st->first) {
            barrier->participants = SCOPE_BLOCK;
            st->item[i].first = st->first;
            st->item[i].second = st->second;
            barrier->why = reason(st, st->first, st->second);
            barrier->apart[0] = st->first->at;
            barrier->apart[1] = st->second->at;
        } else {
            unlink_barrier(&st->item[i]);
        }
    }
}

/* From here on threads of one warp are no different threads: of accesses that any two meet in is asked again. */
static void compare_warps(sync_state *st) {
    st->block.group = st->t->target->wave;
    for (int i = 0; i < PAIRS; i++) {
        for (pair **link = &st->pairs[i]; *link;) {
            if ((*link)->conflict) {
                *link = (*link)->next;
            } else {
                link = &(*link)->next;
            }
        }
    }
}

/* Does it keep warps apart?  Partial results meet in memory because they are of several. */
static bool is_between_warps(sync_state *st, const inserted *x) {
    return (buffer_root(x->first->buffer)->reduction && !is_one_group(st)) ||
           conflict(st, x->first, x->second);
}

/* Barriers without which warps do not get into each other's way. */
static void narrow(sync_state *st) {
    compare_warps(st);
    for (int i = 0; i < st->n; i++) {
        thread_stmt *barrier = st->item[i].barrier;
        if (is_barrier(barrier) && !is_between_warps(st, &st->item[i])) {
            barrier->participants = SCOPE_WARP;
            walk_kernel(st);
            barrier->participants = st->first ? SCOPE_BLOCK : SCOPE_WARP;
            barrier->why = st->first ? barrier->why : reason(st, st->item[i].first, st->item[i].second);
        }
    }
}

static void find_collective(thread_stmt *s, void *user) {
    bool *found = user;
    *found |= (s->participants == SCOPE_BLOCK && s->kind != THREAD_BARRIER) || s->kind == THREAD_COPY_ASYNC;
}

static void note_written(node *ref, bool is_write, void *user) {
    bool *written = user;
    const buffer *root = buffer_root(ref->buffer);
    written[root->id] |= is_write;
    for (int i = 0; i < root->naliases; i++) {
        written[buffer_root(root->alias_of[i])->id] |= is_write;
    }
}

static void find_asking(thread_stmt *s, void *user) {
    const node *decides = s->kind == THREAD_FOR ? s->extent : s->kind == THREAD_IF ? s->value : NULL;
    *(bool *)user |= decides && facts_reads_memory(decides);
}

static void find_written(thread_stmt *s, void *user) {
    thread_accesses(s, note_written, user);
}

static sync_state prepare(thread_kernel *t, diag *errors) {
    sync_state st = {
        .t = t, .a = t->memory, .errors = errors, .block = facts_block(t->memory, t->thread_var)};
    int n = 0;
    thread_walk(&t->body, count_statement, &n);
    st.has_all_axes = has_all_axes(t);
    for (st.nentries = 64; st.nentries < 4 * n;) {
        st.nentries *= 2;
    }
    st.entries = ARENA_ARRAY(st.a, entry *, st.nentries);
    st.is_written = ARENA_ARRAY(st.a, bool, t->nbuffers + 1);
    thread_walk(&t->body, find_written, st.is_written);
    thread_walk(&t->body, find_asking, &st.asks_memory);
    return st;
}

void thread_sync(thread_kernel *t, diag *errors) {
    bool any = false;
    thread_walk(&t->body, find_collective, &any);
    if (any) {
        sync_state st = prepare(t, errors);
        walk_kernel(&st);
        prune(&st);
        if (thread_count(t) % t->target->wave == 0) {
            narrow(&st);
        }
    }
}
