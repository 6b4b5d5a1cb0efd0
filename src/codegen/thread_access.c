/* thread_access.c -- what each statement touches that others may be in the way of.
 *
 * Reads statements, and the conditions around them as thread_sync.c enters and leaves them.  Leaves, once for each
 * statement, its accesses to shared and global memory that somebody writes: those of its own, and when asked those
 * of everything in it. */
#include "codegen/thread_sync.h"

#include <string.h>

/* ---- lists --------------------------------------------------------------------------------------------- */

void access_add(access_list *list, access *x) {
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

void access_add_all(access_list *list, const access_list *more) {
    for (int i = 0; i < more->n; i++) {
        access_add(list, more->item[i]);
    }
}

access_list access_copy(const access_list *list) {
    access_list copy = {list->memory, list->n, list->n, NULL};
    if (list->n > 0) {
        copy.item = ARENA_ARRAY(list->memory, access *, list->n);
        memcpy(copy.item, list->item, sizeof(access *) * (size_t)list->n);
    }
    return copy;
}

access_list access_none(const access_table *all) {
    return (access_list){all->memory, 0, 0, NULL};
}

/* ---- conditions ---------------------------------------------------------------------------------------- */

int access_enter(access_table *all, const thread_stmt *s, bool negated) {
    const int before = all->guards.n;
    if (s->kind == THREAD_IF && before < FACT_GUARDS) {
        all->guards.guard[before].condition = s->value;
        all->guards.guard[before].negated = negated;
        all->guards.n = before + 1;
    }
    return before;
}

void access_leave(access_table *all, int before) {
    all->guards.n = before;
}

/* ---- of a statement ------------------------------------------------------------------------------------ */

typedef struct gathering {
    const access_table *all;
    const thread_stmt *s;
    touched *of;
} gathering;

/* Does s put down partial results of a reduction? */
static bool is_partial(const thread_stmt *s) {
    return !s->dst || buffer_root(s->dst->buffer)->reduction;
}

static void gather(node *ref, bool is_write, void *user) {
    const gathering *g = user;
    const buffer *root = buffer_root(ref->buffer);
    if ((root->space != TG_SHARED && root->space != TG_GLOBAL) || !g->all->is_written[root->id]) {
        return;
    }
    /* what the operand of an allreduce reads on its way to the partial results is the user's own access */
    const bool is_operand = !is_write && !root->reduction && is_partial(g->s);
    access *x = ARENA_NEW(g->all->memory, access);
    x->where = g->all->guards;
    x->where.ref = ref;
    x->place = x;
    x->buffer = ref->buffer;
    x->at = g->s->at;
    x->is_write = is_write;
    x->is_atomic = g->s->kind == THREAD_ATOMIC && is_write;
    x->is_collective = g->s->participants == SCOPE_BLOCK && !is_operand;
    x->share = g->s->share;
    access_add(&g->of->own, x);
    if (is_write && g->s->kind == THREAD_COPY_ASYNC) {
        x->is_collective = true;
        access_add(&g->of->own_async, x);
    }
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

/* Is s a branch or loop that is not of one operation alone? */
static bool is_scope(thread_stmt *s) {
    sharing all = {0, false};
    if (s->kind != THREAD_FOR && s->kind != THREAD_IF) {
        return false;
    }
    note_share(s, &all);
    thread_walk(&s->body, note_share, &all);
    thread_walk(&s->otherwise, note_share, &all);
    return !all.share || all.is_mixed || s->repeats;
}

static touched *make_touched(const access_table *all, thread_stmt *s) {
    touched *of = ARENA_NEW(all->memory, touched);
    gathering g = {all, s, of};
    of->s = s;
    of->own = of->own_async = of->deep = of->deep_async = access_none(all);
    of->is_scope = is_scope(s);
    thread_accesses(s, gather, &g);
    return of;
}

touched *access_of(access_table *all, thread_stmt *s) {
    size_t at = ((size_t)(const void *)s >> 4) * 0x9e3779b97f4a7c15u >> 20;
    for (;; at++) {
        touched **slot = &all->slot[at & (size_t)(all->size - 1)];
        if (!*slot) {
            *slot = make_touched(all, s);
        }
        if ((*slot)->s == s) {
            return *slot;
        }
    }
}

static void gather_deep(access_table *all, thread_stmt *s, touched *of) {
    const touched *own = access_of(all, s);
    access_add_all(&of->deep, &own->own);
    access_add_all(&of->deep_async, &own->own_async);
    int guards = access_enter(all, s, false);
    for (thread_stmt *c = s->body.first; c; c = c->next) {
        gather_deep(all, c, of);
    }
    access_leave(all, guards);
    guards = access_enter(all, s, true);
    for (thread_stmt *c = s->otherwise.first; c; c = c->next) {
        gather_deep(all, c, of);
    }
    access_leave(all, guards);
}

touched *access_deep(access_table *all, thread_stmt *s) {
    touched *of = access_of(all, s);
    if (!of->has_deep) {
        gather_deep(all, s, of);
        of->has_deep = true;
    }
    return of;
}

access *access_landed(const access_table *all, access *x) {
    if (!x->landed) {
        x->landed = ARENA_NEW(all->memory, access);
        *x->landed = *x;
        x->landed->has_landed = true;
        x->landed->share = 0;
        x->landed->past = NULL;
    }
    return x->landed;
}

/* ---- of a kernel --------------------------------------------------------------------------------------- */

static void count_statement(thread_stmt *s, void *user) {
    (void)s;
    ++*(int *)user;
}

static void note_written(node *ref, bool is_write, void *user) {
    bool *written = user;
    const buffer *root = buffer_root(ref->buffer);
    written[root->id] |= is_write;
    for (int i = 0; i < root->naliases; i++) {
        written[buffer_root(root->alias_of[i])->id] |= is_write;
    }
}

static void find_written(thread_stmt *s, void *user) {
    thread_accesses(s, note_written, user);
}

access_table access_table_of(thread_kernel *t) {
    access_table all = {.t = t, .memory = t->memory, .size = 64};
    int n = 0;
    thread_walk(&t->body, count_statement, &n);
    while (all.size < 4 * n) {
        all.size *= 2;
    }
    all.slot = ARENA_ARRAY(t->memory, touched *, all.size);
    all.is_written = ARENA_ARRAY(t->memory, bool, t->nbuffers + 1);
    thread_walk(&t->body, find_written, all.is_written);
    return all;
}
