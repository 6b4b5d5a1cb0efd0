/* thread_early.c -- asynchronous copies that start before what the block waits for.
 *
 * Reads   statements in their order, none of which the passes behind take away.
 * Leaves  in the outermost block, copies and their commits before the first statement that waits for memory, where
 *         nothing between them minds.
 *
 *     x = a[..]                  waits: some 600 ns             copy async b -> s
 *     use x                                                     commit
 *     copy async b -> s          starts when x is there   ==>   x = a[..]        while b is on its way
 *     commit                                                    use x
 *     serial k: wait, use s                                     serial k: wait, use s
 *
 * A copy minds what writes its source or touches its destination, and names that are not known earlier; so shared
 * bytes that both need at once are two pieces then, and where the target has no room for all buffers side by side,
 * everything stays.  thread_dependent moves more by the same rules. */
#include "codegen/thread_early.h"

#include "codegen/passes.h"

/* ---- what a statement does ----------------------------------------------------------------------------- */

typedef struct noting {
    thread_deeds d;
    bool is_copy; /* the statement at hand .. */
    int loads;    /* .. and how often it loads from global memory: a copy once, or for its place as well */
} noting;

static void note_access(node *ref, bool is_write, void *user) {
    noting *n = user;
    const tg_space space = buffer_root(ref->buffer)->space;
    n->d.shares |= space == TG_SHARED;
    if (space == TG_GLOBAL) {
        const bool is_constant = !is_write && thread_is_constant(ref->buffer);
        n->d.is_early |= is_constant;
        n->d.is_late |= !is_constant;
        n->loads += !is_write;
        n->d.waits |= n->loads > n->is_copy;
        *(is_write ? &n->d.writes : &n->d.reads) = true;
    }
}

static void note_statement(thread_stmt *s, void *user) {
    noting *n = user;
    n->is_copy = s->kind == THREAD_COPY_ASYNC;
    n->loads = 0;
    n->d.copies |= n->is_copy;
    thread_accesses(s, note_access, n);
    switch (s->kind) {
    case THREAD_PRINT:
        n->d.is_late = true;
        break;
    case THREAD_CHECK: /* writes a record in memory; what it vouches for stays behind it */
        n->d.is_late = n->d.is_fixed = true;
        break;
    case THREAD_COMMIT:
        n->d.commits = true;
        break;
    case THREAD_BARRIER:
    case THREAD_REDUCE_LANES:
    case THREAD_SHUFFLE_XOR:
    case THREAD_WAIT:
    case THREAD_LAUNCH_DEPENDENTS:
    case THREAD_GRID_WAIT:
        n->d.is_fixed = true;
        break;
    case THREAD_DECL:
    case THREAD_LET:
    case THREAD_STORE:
    case THREAD_ATOMIC:
    case THREAD_FOR:
    case THREAD_IF:
    case THREAD_COPY_ASYNC:
        break;
    }
}

/* fn for s and what is in its bodies. */
static void walk(thread_stmt *s, void (*fn)(thread_stmt *s, void *user), void *user) {
    fn(s, user);
    thread_walk(&s->body, fn, user);
    thread_walk(&s->otherwise, fn, user);
}

thread_deeds thread_deeds_of(thread_stmt *s) {
    noting n = {.is_copy = false};
    walk(s, note_statement, &n);
    return n.d;
}

/* ---- what may move up ---------------------------------------------------------------------------------- */

/* What the statements that are passed over read and write. */
typedef struct passed {
    bool *reads, *writes; /* by buffer id */
    bool *defines;        /* by id of a name */
    bool meets;           /* the statement asked about minds */
} passed;

static void note_passed_access(node *ref, bool is_write, void *user) {
    passed *p = user;
    (is_write ? p->writes : p->reads)[buffer_root(ref->buffer)->id] = true;
}

static void note_passed(thread_stmt *s, void *user) {
    passed *p = user;
    thread_accesses(s, note_passed_access, p);
    if (s->kind == THREAD_DECL) {
        p->writes[s->buffer->id] = true;
    }
    for (int i = 0; i < s->nresults; i++) {
        p->defines[s->result[i]->id] = true;
    }
}

static void compare_access(node *ref, bool is_write, void *user) {
    passed *p = user;
    const buffer *b = buffer_root(ref->buffer);
    p->meets |= p->writes[b->id] || (is_write && p->reads[b->id]);
    for (int i = 0; i < b->naliases; i++) {
        const int id = buffer_root(b->alias_of[i])->id;
        p->meets |= p->writes[id] || (is_write && p->reads[id]);
    }
}

static void find_names(passed *p, const node *x) {
    p->meets |= x && x->kind == E_VAR && p->defines[x->var->id];
    for (int i = 0; x && i < x->n; i++) {
        find_names(p, x->arg[i]);
    }
}

static void compare(thread_stmt *s, void *user) {
    passed *p = user;
    thread_accesses(s, compare_access, p);
    find_names(p, s->dst);
    find_names(p, s->value);
    find_names(p, s->extent);
}

static bool minds(passed *p, thread_stmt *s) {
    p->meets = false;
    walk(s, compare, p);
    return p->meets;
}

thread_block thread_take_early(thread_kernel *t, thread_stmt *late, bool (*wants)(const thread_deeds *d)) {
    thread_block early = {NULL, NULL};
    passed p = {.reads = ARENA_ARRAY(t->memory, bool, t->nbuffers + 1),
                .writes = ARENA_ARRAY(t->memory, bool, t->nbuffers + 1),
                .defines = ARENA_ARRAY(t->memory, bool, t->nvars + 1)};
    bool is_whole = !thread_deeds_of(late).copies; /* no copy was left behind */
    walk(late, note_passed, &p);
    for (thread_stmt *before = late; before->next;) {
        thread_stmt *s = before->next;
        const thread_deeds d = thread_deeds_of(s);
        const bool moves = s->kind == THREAD_COMMIT ? early.first && is_whole
                                                    : wants(&d) && !minds(&p, s) && (is_whole || !d.commits);
        if (d.is_fixed || (d.commits && !moves)) {
            break;
        }
        if (!moves) {
            walk(s, note_passed, &p);
            is_whole &= !d.copies;
            before = s;
            continue;
        }
        before->next = s->next;
        s->next = NULL;
        *(early.last ? &early.last->next : &early.first) = s;
        early.last = s;
    }
    return early;
}

thread_stmt *thread_last(thread_stmt *first) {
    thread_stmt *last = first;
    while (last && last->next) {
        last = last->next;
    }
    return last;
}

/* ---- the pass ------------------------------------------------------------------------------------------ */

static bool is_mere_copy(const thread_deeds *d) {
    return d->copies && !d->waits && !d->writes;
}

static bool is_used(const thread_kernel *t, const buffer *b) {
    thread_stmt *s = t->body.first;
    while (s && !thread_touches(s, b)) {
        s = s->next;
    }
    return s != NULL;
}

/* All shared buffers side by side. */
static bool has_room(const thread_kernel *t) {
    int64_t bytes = 0;
    for (int i = 0; i < t->nbuffers; i++) {
        const buffer *b = t->buffers[i];
        const bool is_own = b->space == TG_SHARED && !b->view_of;
        bytes += is_own && is_used(t, b) ? thread_shared_bytes(b) : 0;
    }
    return bytes <= t->target->max_shared;
}

static bool any_copies(thread_stmt *s) {
    while (s && !thread_deeds_of(s).copies) {
        s = s->next;
    }
    return s != NULL;
}

void thread_early(thread_kernel *t, diag *errors) {
    thread_stmt **place = &t->body.first;
    (void)errors;
    while (*place && !thread_deeds_of(*place).waits) {
        place = &(*place)->next;
    }
    thread_stmt *late = *place;
    if (!late || !any_copies(late->next) || !has_room(t)) {
        return;
    }
    const thread_block early = thread_take_early(t, late, is_mere_copy);
    if (early.first) {
        if (early.first->kind == THREAD_FOR && !early.first->why) {
            early.first->why = "on their way while the block waits for what it reads next";
        }
        *place = early.first;
        early.last->next = late;
        t->body.last = thread_last(t->body.first);
    }
}
