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
#include "codegen/thread_early.h"

/* ---- the pass ------------------------------------------------------------------------------------------ */

static thread_stmt *new_statement(thread_kernel *t, thread_kind kind, tg_loc at, const char *why) {
    thread_block alone = {NULL, NULL};
    thread_stmt *s = thread_append(t->memory, &alone, kind, at);
    s->why = why;
    return s;
}

/* What needs nothing of earlier launches. */
static bool is_free_of_them(const thread_deeds *d) {
    return d->is_early && !d->is_late;
}

/* Where the block's first late statement hangs; the end when there is none. */
static thread_stmt **find_late(thread_block *b) {
    thread_stmt **at = &b->first;
    while (*at && !thread_deeds_of(*at).is_late) {
        at = &(*at)->next;
    }
    return at;
}

/* Touches registers alone, and no other thread. */
static bool is_alone(thread_stmt *s) {
    const thread_deeds d = thread_deeds_of(s);
    return !d.reads && !d.writes && !d.shares && !d.is_late && !d.is_fixed && !d.commits;
}

/* Behind the last statement of the block that reads global memory, or before it where it writes what it reads; and
 * behind what each thread then does alone. */
static thread_stmt **find_end_of_reads(thread_block *b) {
    thread_stmt **place = &b->first;
    for (thread_stmt **at = &b->first; *at; at = &(*at)->next) {
        const thread_deeds d = thread_deeds_of(*at);
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
        const thread_block early = thread_take_early(t, late, is_free_of_them);
        *place = early.first ? early.first : wait;
        if (early.last) {
            early.last->next = wait;
        }
    } else {
        *place = wait;
    }
    wait->next = late;
    let_next_in(t);
    t->body.last = thread_last(t->body.first);
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
    while (s && s->kind != THREAD_GRID_WAIT && !thread_deeds_of(s).is_late) {
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
