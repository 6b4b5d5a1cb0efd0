/* thread_dependent.c -- where a kernel waits that may start before the launch before it has ended.
 *
 * Reads   statements in their final order, and which tensors are constant.
 * Leaves  in a dependent launch one THREAD_LAUNCH_DEPENDENTS, and in the outermost block one THREAD_GRID_WAIT;
 *         before the wait nothing but reads of constant tensors.
 *
 *     launch n      ============================
 *     launch n + 1                   --------|wait|==================
 *     launch n + 2                                    ---------|wait|=========
 *                                    ^ all blocks of n have come to launch_dependents; registers, shared memory,
 *                                      indices and constant tensors are filled while n comes to its end
 *
 * Where the next launch is let in.  From then on its blocks take the room of those that have ended and do nothing but
 * wait, so it is let in late: when a block has read what it reads, and its threads only have to come together and
 * store.  Where copies run ahead in a loop, that is in its last iteration.  (On an H200 a GEMV of blocks of 64 threads
 * took 37.6 us with that at the beginning, 28.3 so, and 28.6 when launches do not overlap.)
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

/* The last statement of the block that reads global memory; NULL: none does. */
static thread_stmt *find_last_read(const thread_block *b) {
    thread_stmt *last = NULL;
    for (thread_stmt *s = b->first; s; s = s->next) {
        last = thread_deeds_of(s).reads ? s : last;
    }
    return last;
}

/* Of a loop whose copies run ahead and which reads nothing else: the commit, behind which the last iteration has all
 * that the loop reads; NULL of others. */
static thread_stmt *find_last_commit(const thread_stmt *loop) {
    thread_stmt *commit = NULL;
    bool has_waited = false;
    for (thread_stmt *s = loop->kind == THREAD_FOR ? loop->body.first : NULL; s; s = s->next) {
        const thread_deeds d = thread_deeds_of(s);
        if (d.waits || d.writes || (d.reads && (!has_waited || commit))) {
            return NULL;
        }
        has_waited |= s->kind == THREAD_WAIT;
        commit = s->kind == THREAD_COMMIT && has_waited ? s : commit;
    }
    return commit;
}

/* if i + 1 == n */
static thread_stmt *in_last_iteration(thread_kernel *t, const thread_stmt *loop) {
    thread_block alone = {NULL, NULL};
    arena *a = t->memory;
    node *next = expr_add(a, expr_var(a, loop->at, loop->result[0]), expr_int(a, loop->at, 1));
    return thread_if(t, &alone, expr_binary(a, loop->at, TG_EQ, next, loop->extent));
}

static void put_behind(thread_stmt *before, thread_stmt *s) {
    s->next = before->next;
    before->next = s;
}

/* Where a block has read what it reads: in the last iteration of a loop whose copies run ahead; else behind the last
 * statement that reads, or before it where it writes what it reads, and behind what each thread then does alone. */
static void let_next_in(thread_kernel *t) {
    thread_stmt *last = find_last_read(&t->body), *commit = last ? find_last_commit(last) : NULL;
    const tg_loc at = last ? last->at : t->body.last ? t->body.last->at : (tg_loc){NULL, 0};
    thread_stmt *let = new_statement(t, THREAD_LAUNCH_DEPENDENTS, at, "the next launch may start");
    if (commit) {
        thread_stmt *when = in_last_iteration(t, last);
        thread_add(&when->body, let);
        put_behind(commit, when);
        last->body.last = thread_last(last->body.first);
        return;
    }
    thread_stmt **place = &t->body.first;
    while (last && *place != last) {
        place = &(*place)->next;
    }
    place = last && !thread_deeds_of(last).writes ? &last->next : place;
    while (*place && is_alone(*place)) {
        place = &(*place)->next;
    }
    let->next = *place;
    *place = let;
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
