/* thread_arena.c -- where each shared buffer lies in the block's shared memory.
 *
 * Requires that no further shared buffer is made; leaves byte offsets, the total, and whether it must be asked
 * for at launch.
 *
 * Buffers that are never needed at the same time may share bytes.  A buffer is needed from the first to the last
 * statement of the kernel's outermost block that touches it: whatever happens inside a loop, its value may have
 * to live until the loop comes round again.  Bytes of asynchronous copies arrive until somebody has waited for
 * them, whether they are read or not.
 *
 *     statement   0       1       2         3       4
 *                 copy    loop    barrier   loop    copy
 *     first       |-------|                                bytes 0 .. 4095
 *     second                                |-------|      bytes 0 .. 4095 too: statement 2 lies between
 *
 * All threads must be done with the one before any begins with the other: a barrier must lie between.  Between
 * buffers of collective operations it is put there where that saves enough; in thread-view code barriers are the
 * user's own.  Where so little is used that other limits of a multiprocessor come first, every buffer stays a
 * variable of its own, which reads better. */
#include "codegen/passes.h"

/* The total must fall by one part in so many before bytes are shared. */
enum { WORTHWHILE = 8 };

typedef struct room {
    buffer *b;
    int first, last; /* statements of the outermost block */
    int64_t at, bytes;
    bool is_own; /* the user's own thread-view code touches it */
} room;

/* Which buffers may share bytes. */
typedef enum sharing { SHARE_NEVER, SHARE_BEHIND_BARRIERS, SHARE_WITH_NEW_BARRIERS } sharing;

typedef struct plan {
    thread_kernel *t;
    int n; /* rooms, in the order of declaration */
    room *item;
    bool *barrier; /* by statement: it is one, or one is to stand in front of it */
    thread_stmt **statement;
    int nstatements;
} plan;

/* Whose statements touch a buffer. */
typedef struct owner {
    const buffer *b;
    const thread_stmt *s;
    bool is_own;
} owner;

/* ---- lifetimes ----------------------------------------------------------------------------------------- */

static bool owns_shared_bytes(const buffer *b) {
    return b->space == TG_SHARED && !b->view_of;
}

static void number_statements(plan *p) {
    for (thread_stmt *s = p->t->body.first; s; s = s->next) {
        p->nstatements++;
    }
    p->statement = ARENA_ARRAY(p->t->memory, thread_stmt *, p->nstatements + 1);
    p->barrier = ARENA_ARRAY(p->t->memory, bool, p->nstatements + 1);
    int i = 0;
    for (thread_stmt *s = p->t->body.first; s; s = s->next, i++) {
        p->statement[i] = s;
        p->barrier[i] = thread_orders_block(p->t, s);
    }
}

static void note_ref(node *ref, bool is_write, void *user) {
    owner *o = user;
    (void)is_write;
    o->is_own |= buffer_root(ref->buffer) == o->b && o->s->participants != SCOPE_BLOCK;
}

static void note_owner(thread_stmt *s, void *user) {
    owner *o = user;
    o->s = s;
    thread_accesses(s, note_ref, o);
}

/* What of asynchronous copies stands in a statement. */
typedef struct ahead {
    const buffer *b;
    bool fills, waits; /* copies into b; waits for any */
} ahead;

static void note_ahead(thread_stmt *s, void *user) {
    ahead *h = user;
    h->fills |= s->kind == THREAD_COPY_ASYNC && buffer_root(s->dst->buffer) == h->b;
    h->waits |= s->kind == THREAD_WAIT;
}

static ahead ahead_in(thread_stmt *s, const buffer *b) {
    ahead h = {b, false, false};
    thread_block alone = {s, s};
    thread_stmt *next = s->next;
    s->next = NULL;
    thread_walk(&alone, note_ahead, &h);
    s->next = next;
    return h;
}

/* The statement by whose end nothing of b is in flight.  Groups are counted in the outermost block; a loop that
 * waits leaves none behind. */
static int settled(const plan *p, const buffer *b, int last) {
    int groups = -1; /* committed since the last copy into b; -1: none is in flight */
    for (int i = 0; i < p->nstatements; i++) {
        thread_stmt *s = p->statement[i];
        const ahead h = ahead_in(s, b);
        if (groups >= 0) {
            last = i > last ? i : last;
        }
        if (h.fills) {
            groups = 0;
        } else if (groups >= 0 && s->kind == THREAD_COMMIT) {
            groups++;
        }
        if (h.waits && (s->kind != THREAD_WAIT || groups > s->count)) {
            groups = -1;
        }
    }
    return last;
}

static void find_room(plan *p, buffer *b) {
    room r = {b, -1, -1, -1, thread_shared_bytes(b), false};
    for (int i = 0; i < p->nstatements; i++) {
        if (thread_touches(p->statement[i], b)) {
            r.first = r.first < 0 ? i : r.first;
            r.last = i;
        }
    }
    r.last = r.first < 0 ? r.last : settled(p, b, r.last);
    owner o = {b, NULL, false};
    thread_walk(&p->t->body, note_owner, &o);
    r.is_own = o.is_own;
    if (r.first >= 0) {
        p->item[p->n++] = r;
    }
}

static plan plan_of(thread_kernel *t) {
    plan p = {.t = t, .item = ARENA_ARRAY(t->memory, room, t->nbuffers + 1)};
    number_statements(&p);
    for (int i = 0; i < t->nbuffers; i++) {
        if (owns_shared_bytes(t->buffers[i])) {
            find_room(&p, t->buffers[i]);
        }
    }
    return p;
}

/* Does a barrier lie between the last of a and the first of b? */
static bool has_barrier(const plan *p, const room *a, const room *b) {
    for (int i = a->last + 1; i <= b->first; i++) {
        if (p->barrier[i]) {
            return true;
        }
    }
    return false;
}

static bool may_share(const plan *p, const room *a, const room *b, sharing how) {
    const room *before = a->first < b->first ? a : b, *after = before == a ? b : a;
    if (how == SHARE_NEVER || before->last >= after->first) {
        return false;
    }
    const bool may_insert = how == SHARE_WITH_NEW_BARRIERS && !a->is_own && !b->is_own;
    return may_insert || has_barrier(p, before, after);
}

/* ---- places -------------------------------------------------------------------------------------------- */

static bool overlaps(const room *a, const room *b) {
    return a->at < b->at + b->bytes && b->at < a->at + a->bytes;
}

static bool collides(const plan *p, const room *r, sharing how) {
    for (int i = 0; i < p->n; i++) {
        const room *other = &p->item[i];
        if (other != r && other->at >= 0 && overlaps(r, other) && !may_share(p, r, other, how)) {
            return true;
        }
    }
    return false;
}

/* The lowest place that is free: the beginning, or behind another buffer. */
static void settle(const plan *p, room *r, sharing how) {
    const int64_t align = p->t->target->max_access; /* any buffer may be accessed as widely as can be */
    int64_t best = -1;
    for (int i = -1; i < p->n; i++) {
        const room *other = i < 0 ? NULL : &p->item[i];
        if (other == r || (other && other->at < 0)) {
            continue;
        }
        r->at = other ? (other->at + other->bytes + align - 1) / align * align : 0;
        if ((best < 0 || r->at < best) && !collides(p, r, how)) {
            best = r->at;
        }
    }
    r->at = best;
}

/* The largest first, so that small ones fill what is left beside them; of equals, and where nothing is shared, in
 * the order of declaration.  Returns the total. */
static int64_t settle_all(plan *p, sharing how) {
    int64_t total = 0;
    for (int i = 0; i < p->n; i++) {
        p->item[i].at = -1;
    }
    for (int done = 0; done < p->n; done++) {
        room *next = NULL;
        for (int i = 0; i < p->n; i++) {
            room *r = &p->item[i];
            if (r->at < 0 && (!next || (how != SHARE_NEVER && r->bytes > next->bytes))) {
                next = r;
            }
        }
        settle(p, next, how);
        total = next->at + next->bytes > total ? next->at + next->bytes : total;
    }
    return total;
}

/* Is the smaller total worth the words (and perhaps a barrier) that it takes? */
static bool is_worth(const thread_kernel *t, int64_t total, int64_t instead) {
    return total < instead - instead / WORTHWHILE ||
           (total <= t->target->max_shared && instead > t->target->max_shared);
}

static sharing decide(plan *p) {
    const thread_kernel *t = p->t;
    const int64_t alone = settle_all(p, SHARE_NEVER);
    if (alone <= t->target->max_shared / t->target->max_blocks) {
        return SHARE_NEVER;
    }
    const int64_t behind = settle_all(p, SHARE_BEHIND_BARRIERS);
    const sharing how = is_worth(t, behind, alone) ? SHARE_BEHIND_BARRIERS : SHARE_NEVER;
    const int64_t with_new = settle_all(p, SHARE_WITH_NEW_BARRIERS);
    return is_worth(t, with_new, how == SHARE_NEVER ? alone : behind) ? SHARE_WITH_NEW_BARRIERS : how;
}

/* ---- barriers ------------------------------------------------------------------------------------------ */

static void insert_before(plan *p, int i, const char *why) {
    thread_stmt *barrier = ARENA_NEW(p->t->memory, thread_stmt);
    *barrier = (thread_stmt){.kind = THREAD_BARRIER,
                             .at = p->statement[i]->at,
                             .participants = SCOPE_BLOCK,
                             .why = why,
                             .next = p->statement[i]};
    thread_stmt **link = &p->t->body.first;
    while (*link != p->statement[i]) {
        link = &(*link)->next;
    }
    *link = barrier;
    p->barrier[i] = true;
}

/* In front of the first statement of each buffer whose bytes were another's just before; earlier ones first, since
 * one barrier may serve several. */
static void insert_barriers(plan *p) {
    for (int i = 0; i < p->nstatements; i++) {
        for (int j = 0; j < p->n * p->n; j++) {
            const room *before = &p->item[j / p->n], *after = &p->item[j % p->n];
            if (after->first == i && before->last < i && overlaps(before, after) &&
                !has_barrier(p, before, after)) {
                insert_before(p, i,
                              arena_print(p->t->memory, "all are done with %s, whose bytes become %s",
                                          before->b->name, after->b->name));
            }
        }
    }
}

/* ---- the pass ------------------------------------------------------------------------------------------ */

/* "a 1024, b 2048" */
static const char *list(thread_kernel *t) {
    const char *names = "";
    for (int i = 0; i < t->nbuffers; i++) {
        const buffer *b = t->buffers[i];
        if (owns_shared_bytes(b) && b->offset >= 0) {
            names = arena_print(t->memory, "%s%s'%s' %lld", names, names[0] ? ", " : "", b->name,
                                (long long)thread_shared_bytes(b));
        }
    }
    return names;
}

static const buffer *largest(const thread_kernel *t) {
    const buffer *most = NULL;
    for (int i = 0; i < t->nbuffers; i++) {
        const buffer *b = t->buffers[i];
        if (owns_shared_bytes(b) && (!most || thread_shared_bytes(b) > thread_shared_bytes(most))) {
            most = b;
        }
    }
    return most;
}

void thread_arena(thread_kernel *t, diag *errors) {
    plan p = plan_of(t);
    const sharing how = decide(&p);
    t->shared_bytes = settle_all(&p, how);
    for (int i = 0; i < t->nbuffers; i++) {
        t->buffers[i]->offset = owns_shared_bytes(t->buffers[i]) ? -1 : t->buffers[i]->offset;
    }
    for (int i = 0; i < p.n; i++) {
        p.item[i].b->offset = p.item[i].at;
        p.item[i].b->align = t->target->max_access;
    }
    if (how == SHARE_WITH_NEW_BARRIERS) {
        insert_barriers(&p);
    }
    t->shared_is_dynamic = t->shared_bytes > t->target->static_shared;
    if (t->shared_bytes > t->target->max_shared) {
        diag_error(errors, largest(t)->at,
                   "shared memory: %lld bytes exceed the %lld that %s allows a block: %s",
                   (long long)t->shared_bytes, (long long)t->target->max_shared, t->target->name, list(t));
    }
}

/* ---- its spec ------------------------------------------------------------------------------------------ */

static bool is_placed(const plan *p, const room *r, text *error) {
    const bool good =
        r->at >= 0 && r->at % p->t->target->max_access == 0 && r->at + r->bytes <= p->t->shared_bytes;
    if (!good) {
        text_print(error, "%s: '%s' of %lld bytes lies at %lld of %lld", p->t->name, r->b->name,
                   (long long)r->bytes, (long long)r->at, (long long)p->t->shared_bytes);
    }
    return good;
}

bool thread_arena_verify(const thread_kernel *t, text *error) {
    plan p = plan_of((thread_kernel *)t); /* which is only looked at */
    for (int i = 0; i < p.n; i++) {
        p.item[i].at = p.item[i].b->offset;
        if (!is_placed(&p, &p.item[i], error)) {
            return false;
        }
        for (int j = 0; j < i; j++) {
            if (overlaps(&p.item[i], &p.item[j]) &&
                !may_share(&p, &p.item[i], &p.item[j], SHARE_BEHIND_BARRIERS)) {
                text_print(error, "%s: '%s' and '%s' share bytes that both need", t->name, p.item[j].b->name,
                           p.item[i].b->name);
                return false;
            }
        }
    }
    return thread_verify(t, error);
}
