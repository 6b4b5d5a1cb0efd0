/* thread_dependent.c -- where a kernel waits that may start before the launch before it has ended.
 *
 * Reads   statements in their final order, and which tensors are constant.
 * Leaves  in a dependent launch one THREAD_LAUNCH_DEPENDENTS and one THREAD_GRID_WAIT, both in the outermost
 *         block; before the wait nothing but reads of constant tensors.
 *
 *     launch n      ============================
 *     launch n + 1                   --------|wait|==================
 *     launch n + 2                                    ---------|wait|=========
 *                                    ^ all blocks of n have come to launch_dependents; registers, shared memory,
 *                                      indices and constant tensors are filled while n comes to its end
 *
 * Where the next launch is let in.  From then on its blocks take the room of those that have ended and do nothing but
 * wait, so it is let in late: when a block has read what it reads, and its threads only have to come together and
 * store.  (On an H200 a GEMV of blocks of 64 threads took 37.6 us with that at the beginning, 28.3 so, and 28.6 when
 * launches do not overlap.)
 *
 * Why that is enough.  The wait ends when launch n has ended and its writes can be seen.  Launch n had waited for
 * n - 1 in each of its threads, for it stands where all of them come; so by the end of n all earlier launches have
 * ended too.  That is why a kernel waits that touches no memory at all, too.
 *
 * Copies from constant tensors that stand among others move up before the wait where nothing between them minds. */
#include "codegen/passes.h"

/* ---- what a statement does ----------------------------------------------------------------------------- */

/* Of a statement with its bodies. */
typedef struct deeds {
    bool is_early;      /* reads a constant tensor */
    bool is_late;       /* touches what other launches may touch */
    bool is_fixed;      /* nothing moves past it, nor it past anything */
    bool reads, writes; /* global memory */
    bool shares;        /* touches shared memory */
} deeds;

static void note_access(node *ref, bool is_write, void *user) {
    deeds *d = user;
    const tg_space space = buffer_root(ref->buffer)->space;
    d->shares |= space == TG_SHARED;
    if (space == TG_GLOBAL) {
        const bool is_constant = !is_write && thread_is_constant(ref->buffer);
        d->is_early |= is_constant;
        d->is_late |= !is_constant;
        *(is_write ? &d->writes : &d->reads) = true;
    }
}

static void note_statement(thread_stmt *s, void *user) {
    deeds *d = user;
    thread_accesses(s, note_access, d);
    switch (s->kind) {
    case THREAD_PRINT:
    case THREAD_CHECK: /* writes a record in memory */
        d->is_late = true;
        break;
    case THREAD_BARRIER:
    case THREAD_REDUCE_LANES:
    case THREAD_SHUFFLE_XOR:
    case THREAD_COMMIT:
    case THREAD_WAIT:
    case THREAD_LAUNCH_DEPENDENTS:
    case THREAD_GRID_WAIT:
        d->is_fixed = true;
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

static deeds deeds_of(thread_stmt *s) {
    deeds d = {.is_early = false};
    walk(s, note_statement, &d);
    return d;
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
    const int id = buffer_root(ref->buffer)->id;
    p->meets |= p->writes[id] || (is_write && p->reads[id]);
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

/* Takes the statements after `late` that may go before it out of the block, as a list. */
static thread_block take_early(thread_kernel *t, thread_stmt *late) {
    thread_block early = {NULL, NULL};
    passed p = {.reads = ARENA_ARRAY(t->memory, bool, t->nbuffers + 1),
                .writes = ARENA_ARRAY(t->memory, bool, t->nbuffers + 1),
                .defines = ARENA_ARRAY(t->memory, bool, t->nvars + 1)};
    walk(late, note_passed, &p);
    for (thread_stmt *before = late; before->next;) {
        thread_stmt *s = before->next;
        const deeds d = deeds_of(s);
        if (d.is_fixed) {
            break;
        }
        if (!d.is_early || d.is_late || minds(&p, s)) {
            walk(s, note_passed, &p);
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

/* ---- the pass ------------------------------------------------------------------------------------------ */

static thread_stmt *new_statement(thread_kernel *t, thread_kind kind, tg_loc at, const char *why) {
    thread_block alone = {NULL, NULL};
    thread_stmt *s = thread_append(t->memory, &alone, kind, at);
    s->why = why;
    return s;
}

static thread_stmt *last_of(thread_stmt *first) {
    thread_stmt *last = first;
    while (last && last->next) {
        last = last->next;
    }
    return last;
}

/* Where the block's first late statement hangs; the end when there is none. */
static thread_stmt **find_late(thread_block *b) {
    thread_stmt **at = &b->first;
    while (*at && !deeds_of(*at).is_late) {
        at = &(*at)->next;
    }
    return at;
}

/* Touches registers alone, and no other thread. */
static bool is_alone(thread_stmt *s) {
    const deeds d = deeds_of(s);
    return !d.reads && !d.writes && !d.shares && !d.is_late && !d.is_fixed;
}

/* Behind the last statement of the block that reads global memory, or before it where it writes what it reads; and
 * behind what each thread then does alone. */
static thread_stmt **find_end_of_reads(thread_block *b) {
    thread_stmt **place = &b->first;
    for (thread_stmt **at = &b->first; *at; at = &(*at)->next) {
        const deeds d = deeds_of(*at);
        if (d.reads) {
            place = d.writes ? at : &(*at)->next;
        }
    }
    while (*place && is_alone(*place)) {
        place = &(*place)->next;
    }
    return place;
}

static void let_next_in(thread_kernel *t) {
    thread_stmt **place = find_end_of_reads(&t->body);
    const thread_stmt *beside = *place ? *place : t->body.last;
    thread_stmt *s = new_statement(t, THREAD_LAUNCH_DEPENDENTS, beside ? beside->at : (tg_loc){NULL, 0},
                                   "the next launch may start");
    s->next = *place;
    *place = s;
}

void thread_dependent(thread_kernel *t, diag *errors) {
    (void)errors;
    if (!t->is_dependent) {
        return;
    }
    const tg_loc at = t->body.first ? t->body.first->at : (tg_loc){NULL, 0};
    thread_stmt **place = find_late(&t->body);
    thread_stmt *late = *place;
    thread_stmt *wait =
        new_statement(t, THREAD_GRID_WAIT, late ? late->at : at, "the launches before have ended");
    if (late) {
        const thread_block early = take_early(t, late);
        *place = early.first ? early.first : wait;
        if (early.last) {
            early.last->next = wait;
        }
    } else {
        *place = wait;
    }
    wait->next = late;
    let_next_in(t);
    t->body.last = last_of(t->body.first);
    t->waits = true;
}

/* ---- the spec ------------------------------------------------------------------------------------------ */

static void count_wait(thread_stmt *s, void *user) {
    *(int *)user += s->kind == THREAD_GRID_WAIT;
}

static bool waits_in_time(const thread_kernel *t) {
    thread_block body = t->body;
    int waits = 0;
    thread_walk(&body, count_wait, &waits);
    thread_stmt *s = body.first;
    while (s && s->kind != THREAD_GRID_WAIT && !deeds_of(s).is_late) {
        s = s->next;
    }
    return s && s->kind == THREAD_GRID_WAIT && waits == 1;
}

bool thread_dependent_verify(const thread_kernel *t, text *error) {
    if (!thread_verify(t, error)) {
        return false;
    }
    const bool is_good = !t->waits || waits_in_time(t);
    if (!is_good) {
        text_print(error, "%s: a dependent launch does not wait before what earlier ones may write", t->name);
    }
    return is_good;
}
