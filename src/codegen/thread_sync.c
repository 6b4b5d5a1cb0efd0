/* thread_sync.c -- barriers for collective operations.
 *
 * Requires that statements which are a thread's share of a collective operation have SCOPE_BLOCK
 * participants; leaves a barrier between any two accesses of different threads to common bytes of which one
 * writes and one is such a share.  Barriers that the user wrote count and stay.  Hazards among the user's own
 * accesses are the user's own, as in CUDA.
 *
 * One walk in program order with the list of accesses since the last barrier.  A conflict puts a barrier in
 * front of the statement, as late as possible; a loop's body is walked twice, the second time behind its own
 * end.  A branch or loop that threads leave differently is one statement: no barrier may stand inside. */
#include <string.h>

#include "codegen/passes.h"

typedef struct access {
    node *ref;
    bool is_write, is_atomic, is_collective;
} access;

typedef struct accesses {
    arena *memory;
    int n, room;
    access *item;
} accesses;

typedef struct sync_state {
    thread_kernel *t;
    uniformity *uniform;
} sync_state;

/* ---- accesses ------------------------------------------------------------------------------------------ */

static void add(accesses *list, access x) {
    for (int i = 0; i < list->n; i++) {
        const access *old = &list->item[i];
        if (old->ref == x.ref && old->is_write == x.is_write) {
            return;
        }
    }
    if (list->n == list->room) {
        list->room = list->room ? 2 * list->room : 8;
        access *more = ARENA_ARRAY(list->memory, access, list->room);
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

static accesses copy_of(const accesses *list) {
    accesses copy = {list->memory, 0, 0, NULL};
    add_all(&copy, list);
    return copy;
}

typedef struct gathering {
    accesses *list;
    const thread_stmt *s;
} gathering;

static void gather(node *ref, bool is_write, void *user) {
    const gathering *g = user;
    const buffer *root = buffer_root(ref->buffer);
    if (root->space == TG_SHARED || root->space == TG_GLOBAL) {
        /* what the operand of a fill or an allreduce reads is the user's own access */
        const bool is_collective = g->s->participants == SCOPE_BLOCK && (is_write || root->reduction);
        add(g->list, (access){ref, is_write, g->s->kind == THREAD_ATOMIC && is_write, is_collective});
    }
}

/* Of the statement itself. */
static void own_accesses(thread_stmt *s, accesses *out) {
    gathering g = {out, s};
    thread_accesses(s, gather, &g);
}

static void deep_accesses(thread_stmt *s, accesses *out) {
    own_accesses(s, out);
    for (thread_stmt *c = s->body.first; c; c = c->next) {
        deep_accesses(c, out);
    }
    for (thread_stmt *c = s->otherwise.first; c; c = c->next) {
        deep_accesses(c, out);
    }
}

/* ---- conflicts ----------------------------------------------------------------------------------------- */

static bool may_share_bytes(buffer *a, buffer *b) {
    const buffer *x = buffer_root(a), *y = buffer_root(b);
    for (int i = 0; i < x->naliases; i++) {
        if (x->alias_of[i] == y) {
            return true;
        }
    }
    return x == y;
}

/* Every axis of more than one thread has a name by which it can be reasoned about. */
static bool has_all_axes(const thread_kernel *t) {
    for (int i = 0; i < 3; i++) {
        if (t->threads[i] > 1 && !t->thread_var[i]) {
            return false;
        }
    }
    return true;
}

static bool conflict(const thread_kernel *t, const access *a, const access *b) {
    if (!(a->is_write || b->is_write) || !(a->is_collective || b->is_collective) ||
        (a->is_atomic && b->is_atomic) || !may_share_bytes(a->ref->buffer, b->ref->buffer)) {
        return false;
    }
    if (a->ref == b->ref && a->is_collective) {
        return false; /* a collective operation gives each element to one thread, the same every time */
    }
    return !has_all_axes(t) || facts_disjoint(t->memory, t->thread_var, a->ref, b->ref) != FACT_YES;
}

/* The first access in `before` that one in `now` must not overtake. */
static const access *hazard(const thread_kernel *t, const accesses *before, const accesses *now,
                            const access **second) {
    for (int i = 0; i < before->n; i++) {
        for (int j = 0; j < now->n; j++) {
            if (conflict(t, &before->item[i], &now->item[j])) {
                *second = &now->item[j];
                return &before->item[i];
            }
        }
    }
    return NULL;
}

static const char *reason(const thread_kernel *t, const access *first, const access *second) {
    static const char *const partial[] = {[TG_SUM] = "sum", [TG_MAX] = "maximum", [TG_MIN] = "minimum"};
    const buffer *b = first->ref->buffer;
    if (!first->is_write) {
        return arena_print(t->memory, "%s has been read before it is written again", b->name);
    }
    if (second->is_write) {
        return arena_print(t->memory, "%s is written in this order", b->name);
    }
    if (b->space == TG_SHARED && b->reduction) {
        return arena_print(t->memory, "every partial %s is in %s before it is read", partial[b->reduction],
                           b->name);
    }
    return arena_print(t->memory, "all of %s is written before it is read", b->name);
}

/* ---- the walk ------------------------------------------------------------------------------------------ */

static void walk(sync_state *st, thread_block *b, accesses *pending);

static thread_stmt *barrier_before(sync_state *st, thread_stmt *s, const char *why) {
    thread_stmt *barrier = ARENA_NEW(st->t->memory, thread_stmt);
    barrier->kind = THREAD_BARRIER;
    barrier->at = s->at;
    barrier->participants = SCOPE_BLOCK;
    barrier->why = why;
    barrier->next = s;
    uniformity_barrier(st->uniform);
    return barrier;
}

/* Do all threads of the block take the same way through s? */
static bool is_open(sync_state *st, const thread_stmt *s) {
    const node *decides = s->kind == THREAD_FOR ? s->extent : s->value;
    return (s->kind == THREAD_FOR || s->kind == THREAD_IF) && facts_uniform(st->uniform, decides) == FACT_YES;
}

static void walk_branch(sync_state *st, thread_stmt *s, accesses *pending) {
    accesses other = copy_of(pending);
    walk(st, &s->body, pending);
    walk(st, &s->otherwise, &other);
    add_all(pending, &other);
}

/* What a block touches before its first barrier; true when every way through it meets one. */
static bool before_barrier(thread_block *b, accesses *out) {
    for (thread_stmt *s = b->first; s; s = s->next) {
        if (s->kind == THREAD_BARRIER) {
            return true;
        }
        own_accesses(s, out);
        const bool body = before_barrier(&s->body, out), other = before_barrier(&s->otherwise, out);
        if ((s->kind == THREAD_IF && body && other) || (s->kind == THREAD_FOR && body && s->extent->lo > 0)) {
            return true;
        }
    }
    return false;
}

/* First what the loop needs by itself, round its end too; then what comes in.  An access before the loop that
 * the loop must not overtake, given here, asks for one barrier in front of the loop and not one an iteration.
 */
static const access *walk_loop(sync_state *st, thread_stmt *s, accesses *pending, const access **second) {
    const accesses before = copy_of(pending);
    accesses *start = ARENA_NEW(pending->memory, accesses);
    *start = (accesses){pending->memory, 0, 0, NULL};
    pending->n = 0;
    walk(st, &s->body, pending);
    if (s->extent->hi > 1) {
        walk(st, &s->body, pending);
    }
    const bool always_barrier = before_barrier(&s->body, start) && s->extent->lo > 0;
    const access *first = hazard(st->t, &before, start, second);
    if (!first && !always_barrier) {
        add_all(pending, &before);
    }
    return first;
}

/* One statement; the reason when a barrier must stand in front of it, else NULL. */
static const char *step(sync_state *st, thread_stmt *s, accesses *pending) {
    const bool open = is_open(st, s);
    accesses now = {pending->memory, 0, 0, NULL};
    const access *second = NULL;
    if (open) {
        own_accesses(s, &now);
    } else {
        deep_accesses(s, &now);
    }
    const access *first = hazard(st->t, pending, &now, &second);
    const char *why = first ? reason(st->t, first, second) : NULL;
    if (first) {
        pending->n = 0;
    }
    add_all(pending, &now);
    thread_note(st->t, st->uniform, s);
    if (open && s->kind == THREAD_IF) {
        walk_branch(st, s, pending);
    } else if (open) {
        first = walk_loop(st, s, pending, &second);
        why = first ? reason(st->t, first, second) : why;
    } else if ((s->kind == THREAD_IF || s->kind == THREAD_FOR) && hazard(st->t, &now, &now, &second)) {
        tg_bug("a barrier would have to stand where threads part (line %d)", s->at.line);
    }
    return why;
}

static void walk(sync_state *st, thread_block *b, accesses *pending) {
    thread_stmt *before = NULL;
    for (thread_stmt *s = b->first; s; before = s, s = s->next) {
        const char *why = NULL;
        if (s->kind == THREAD_BARRIER) {
            pending->n = 0;
            uniformity_barrier(st->uniform);
        } else if ((why = step(st, s, pending)) != NULL) {
            thread_stmt *barrier = barrier_before(st, s, why);
            if (before) {
                before->next = barrier;
            } else {
                b->first = barrier;
            }
        }
    }
}

static void find_collective(thread_stmt *s, void *user) {
    bool *found = user;
    *found |= s->participants == SCOPE_BLOCK && s->kind != THREAD_BARRIER;
}

void thread_sync(thread_kernel *t, diag *errors) {
    bool any = false;
    (void)errors;
    thread_walk(&t->body, find_collective, &any);
    if (any) {
        sync_state st = {t, uniformity_new(t->memory, t->nvars, t->nbuffers)};
        accesses pending = {t->memory, 0, 0, NULL};
        walk(&st, &t->body, &pending);
    }
}
