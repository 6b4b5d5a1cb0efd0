/* thread_sync.c -- barriers for collective operations.
 *
 * Requires that statements which are a thread's share of a collective operation have SCOPE_BLOCK participants,
 * and the number of the operation in `share`; leaves a barrier between any two accesses of different threads to
 * common bytes of which one writes and one is such a share, none of them to spare.  Barriers that the user wrote
 * count and stay.  Hazards among the user's own accesses are the user's own, as in CUDA.
 *
 *     insert   one walk in program order with the accesses since the last barrier; a hazard puts a barrier in
 *              front of the statement, as late as possible
 *     prune    each barrier is taken away and the same walk looks whether anything is uncovered; the first such
 *              thing is the reason of a barrier that stays
 *     narrow   where what is uncovered then lies within warps alone, a barrier of the warp is enough
 *
 * The body of a loop is walked twice, the second time behind its own end, with the accesses of the first as those
 * of an iteration that lies behind.
 *
 * A branch or loop that threads leave differently is taken whole: no barrier may stand inside.  So is what
 * belongs to one operation: it gives each element to one thread.
 *
 * An asynchronous copy writes twice: where it is issued, and at every wait that it may land at. */
#include "codegen/thread_sync.h"

#include <string.h>

/* What the walk carries along. */
typedef struct flow {
    access_list pending;  /* since the last barrier */
    access_list inflight; /* asynchronous copies that may land at the next wait */
} flow;

typedef struct inserted {
    thread_stmt *barrier;
    thread_block *block;
    const access *first, *second; /* what it is for */
} inserted;

typedef struct sync_state {
    thread_kernel *t;
    diag *errors;
    access_table all;
    hazard_table hazards;
    uniformity *uniform;
    bool is_check;    /* look, change nothing */
    bool asks_memory; /* some scope is entered by what memory holds: that changes with the barriers */
    const access *first, *second; /* check: the first uncovered hazard */
    int n, room;
    inserted *item;
} sync_state;

/* ---- barriers ------------------------------------------------------------------------------------------ */

/* A barrier of the block that stands; while it is looked whether it must, it does not. */
static bool is_barrier(const thread_stmt *s) {
    return s->kind == THREAD_BARRIER && s->participants == SCOPE_BLOCK;
}

static void remember(sync_state *st, thread_stmt *barrier, thread_block *b) {
    if (st->n == st->room) {
        st->room = st->room ? 2 * st->room : 8;
        inserted *more = ARENA_ARRAY(st->t->memory, inserted, st->room);
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
    thread_stmt *barrier = ARENA_NEW(st->t->memory, thread_stmt);
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
static bool order(sync_state *st, cursor *c, access_list *before, const access_list *now) {
    const access *second = NULL;
    const access *first = hazard_first(&st->hazards, before, now, &second);
    if (first) {
        need(st, c, first, second);
        before->n = 0;
    }
    return first != NULL;
}

/* ---- the walk ------------------------------------------------------------------------------------------ */

static void walk(sync_state *st, thread_block *b, flow *f);

/* Do all threads of the block take the same way through s? */
static bool is_open(sync_state *st, thread_stmt *s) {
    touched *of = access_of(&st->all, s);
    const node *decides = s->kind == THREAD_FOR ? s->extent : s->value;
    if (!of->is_open_known) {
        of->is_open = facts_uniform(st->uniform, decides);
        of->is_open_known = !facts_reads_memory(decides);
    }
    return of->is_open == FACT_YES;
}

/* A scope that is walked through, and not taken whole. */
static bool is_walked(sync_state *st, thread_stmt *s) {
    return access_of(&st->all, s)->is_scope && is_open(st, s);
}

static bool before_barrier(sync_state *st, thread_block *b, access_list *out);

/* What a scope touches before its first barrier; true when every way through it meets one. */
static bool before_barrier_inside(sync_state *st, thread_stmt *s, access_list *out) {
    int guards = access_enter(&st->all, s, false);
    const bool body = before_barrier(st, &s->body, out);
    access_leave(&st->all, guards);
    guards = access_enter(&st->all, s, true);
    const bool other = before_barrier(st, &s->otherwise, out);
    access_leave(&st->all, guards);
    return body && (s->kind == THREAD_IF ? other : s->extent->lo > 0);
}

/* The same of a block. */
static bool before_barrier(sync_state *st, thread_block *b, access_list *out) {
    for (thread_stmt *s = b->first; s; s = s->next) {
        if (is_barrier(s)) {
            return true;
        }
        if (!is_walked(st, s)) {
            access_add_all(out, &access_deep(&st->all, s)->deep);
            continue;
        }
        access_add_all(out, &access_of(&st->all, s)->own);
        if (before_barrier_inside(st, s, out)) {
            return true;
        }
    }
    return false;
}

/* What came before a scope and what the scope itself leaves.  An access before it that it must not overtake asks
 * for one barrier in front of it, and not for one inside. */
static void join_before(sync_state *st, cursor *c, access_list *before, flow *f) {
    access_list start = access_none(&st->all);
    const bool always = before_barrier_inside(st, c->s, &start);
    if (!order(st, c, before, &start) && !always) {
        access_add_all(&f->pending, before);
    }
}

/* First what the branches need by themselves: what decides has been read when they begin. */
static void walk_branch(sync_state *st, cursor *c, flow *f) {
    thread_stmt *s = c->s;
    const access_list *own = &access_of(&st->all, s)->own;
    access_list before = access_copy(&f->pending);
    flow other = {access_copy(own), access_copy(&f->inflight)};
    f->pending = access_copy(own);
    int guards = access_enter(&st->all, s, false);
    walk(st, &s->body, f);
    access_leave(&st->all, guards);
    guards = access_enter(&st->all, s, true);
    walk(st, &s->otherwise, &other);
    access_leave(&st->all, guards);
    access_add_all(&f->pending, &other.pending);
    access_add_all(&f->inflight, &other.inflight);
    join_before(st, c, &before, f);
}

static void walk_loop(sync_state *st, cursor *c, flow *f) {
    thread_stmt *s = c->s;
    const access_list *own = &access_of(&st->all, s)->own;
    access_list before = access_copy(&f->pending);
    f->pending = access_copy(own);
    walk(st, &s->body, f);
    if (s->extent->hi > 1) {
        access_list ignored = access_none(&st->all);
        const bool always = before_barrier(st, &s->body, &ignored); /* what is left is of one iteration */
        past_leave(&st->all, &f->pending, s, always ? PAST_ONE : PAST_ANY);
        past_leave(&st->all, &f->inflight, s, PAST_ANY);
        walk(st, &s->body, f);
    }
    past_leave(&st->all, &f->pending, s, PAST_LAST);
    past_leave(&st->all, &f->inflight, s, PAST_LAST);
    if (s->extent->lo <= 0) { /* there may have been no iteration */
        access_add_all(&f->pending, own);
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
static void refuse_inside(sync_state *st, const thread_stmt *s, const access_list *now) {
    for (int i = 0; i < now->n; i++) {
        for (int j = i + 1; j < now->n; j++) {
            const access *a = now->item[i], *b = now->item[j];
            if (is_behind_itself(a, b) || !hazard_between(&st->hazards, a, b)) {
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
    const touched *of = access_deep(&st->all, s);
    order(st, c, &f->pending, &of->deep);
    if (of->is_scope && !st->is_check) {
        refuse_inside(st, s, &of->deep);
    }
    access_add_all(&f->pending, &of->deep);
    access_add_all(&f->inflight, &of->deep_async);
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
            access_add(&f->pending, access_landed(&st->all, f->inflight.item[i]));
        }
        f->inflight.n = s->count == 0 ? 0 : f->inflight.n;
        return;
    }
    const touched *of = access_of(&st->all, s);
    if (of->is_scope) { /* what decides is read first, and agreed upon then */
        order(st, c, &f->pending, &of->own);
    }
    if (!is_walked(st, s)) {
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
    flow f = {access_none(&st->all), access_none(&st->all)};
    st->uniform = uniformity_new(st->t->memory, st->t->nvars, st->t->nbuffers);
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
            barrier->why = hazard_reason(&st->hazards, st->first, st->second);
            barrier->apart[0] = st->first->at;
            barrier->apart[1] = st->second->at;
        } else {
            unlink_barrier(&st->item[i]);
        }
    }
}

/* Barriers without which warps do not get into each other's way. */
static void narrow(sync_state *st) {
    hazard_compare_warps(&st->hazards);
    for (int i = 0; i < st->n; i++) {
        thread_stmt *barrier = st->item[i].barrier;
        if (is_barrier(barrier) &&
            !hazard_between_warps(&st->hazards, st->item[i].first, st->item[i].second)) {
            barrier->participants = SCOPE_WARP;
            walk_kernel(st);
            barrier->participants = st->first ? SCOPE_BLOCK : SCOPE_WARP;
            barrier->why =
                st->first ? barrier->why : hazard_reason(&st->hazards, st->item[i].first, st->item[i].second);
        }
    }
}

static void find_collective(thread_stmt *s, void *user) {
    bool *found = user;
    *found |= (s->participants == SCOPE_BLOCK && s->kind != THREAD_BARRIER) || s->kind == THREAD_COPY_ASYNC;
}

static void find_asking(thread_stmt *s, void *user) {
    const node *decides = s->kind == THREAD_FOR ? s->extent : s->kind == THREAD_IF ? s->value : NULL;
    *(bool *)user |= decides && facts_reads_memory(decides);
}

void thread_sync(thread_kernel *t, diag *errors) {
    bool any = false;
    thread_walk(&t->body, find_collective, &any);
    if (any) {
        sync_state st = {.t = t, .errors = errors, .all = access_table_of(t), .hazards = hazard_table_of(t)};
        thread_walk(&t->body, find_asking, &st.asks_memory);
        walk_kernel(&st);
        prune(&st);
        if (thread_count(t) % t->target->wave == 0) {
            narrow(&st);
        }
    }
}
