/* tile_parallel.c -- parallel: a thread's share of the iterations.
 *
 * Reads one parallel loop, its layout (tile_stmt.spread) and the layouts of the fragments that it touches; leaves
 * loops over the thread's iterations.  For each fragment
 *
 *   it fits       in every iteration the thread holds the element itself: a register
 *   it does not   the fragment is in shared memory as long as the loop runs: all holders' first replicas put it
 *                 there, iterations read and write it there, and what was written comes back afterwards
 *
 * Replicas run the same iterations: what goes to memory, to atomics, to reducers or to the terminal is done by
 * the first alone.  If nothing but that is done, the others stay out of the loop altogether; so they do where
 * they would read what the first has already overwritten.
 *
 * A reducer collects in registers of the thread; where its layout does not fit, the loop has partial results of
 * its own, which are combined behind the loop. */
#include <string.h>

#include "codegen/tile_decide.h"
#include "codegen/tile_lower.h"

/* A fragment or reducer as the loop sees it. */
typedef struct held {
    buffer *fragment;
    bool reads, writes, fits;
    bool is_overwritten; /* wholly, before any read */
    buffer *scratch;     /* a fragment that does not fit */
    partials own;        /* a reducer that does not fit */
} held;

/* A reference to one. */
typedef struct seen {
    node *ref, *element; /* as written; as an element of the fragment itself, not of a view */
    node *slot;          /* over `any_slot`; NULL when the thread may not hold it */
    held *of;
} seen;

enum { MAX_HELD = 32, MAX_SEEN = 256, MAX_PRIVATE = 32 };

/* A local of the thread that the loop writes: each iteration has its own. */
typedef struct private_local {
    buffer *outer, *own;
} private_local;

typedef struct sharing {
    lowering *l;
    arena *a;
    const tile_stmt *s;
    const layout *p;
    var *any_slot;
    int nheld, nseen, nlocals;
    held held[MAX_HELD];
    seen seen[MAX_SEEN];
    private_local local[MAX_PRIVATE];
    bool has_replicas;
    bool first_only; /* the other replicas stay out */
    bool writes_memory, has_conflict, writes_fragments, failed;
    node *trip[TG_MAX_RANK]; /* by axis, where the layout is gone over several times */
    node *axis[TG_MAX_RANK];
    spread w;
} sharing;

static bool is_spread(const buffer *b) {
    return b->space == TG_FRAGMENT || b->space == TG_REDUCER;
}

/* ---- what the loop touches ----------------------------------------------------------------------------- */

static node *flat_number(arena *a, const node *ref) {
    node *number = expr_int(a, ref->at, 0);
    for (int d = 0; d < ref->n; d++) {
        number = expr_add(a, expr_mul(a, number, ref->buffer->dim[d]), ref->arg[d]);
    }
    return number;
}

/* The same element of the fragment that a view shows. */
static node *element_of_root(arena *a, node *ref) {
    buffer *root = buffer_root(ref->buffer);
    const bool same =
        root->rank == ref->n && memcmp(root->dim, ref->buffer->dim, sizeof *root->dim * (size_t)ref->n) == 0;
    if (root == ref->buffer || same) {
        return root == ref->buffer ? ref : expr_ref(a, ref->at, root, ref->n, ref->arg, 1);
    }
    node *index[TG_MAX_RANK], *number = flat_number(a, ref);
    for (int d = root->rank - 1; d >= 0; d--) {
        node *length = expr_int(a, ref->at, root->dim[d]);
        index[d] = d == 0 ? number : expr_binary(a, ref->at, TG_MOD, number, length);
        number = expr_binary(a, ref->at, TG_QUO, number, length);
    }
    return expr_ref(a, ref->at, root, root->rank, index, 1);
}

static held *held_of(sharing *x, buffer *fragment) {
    for (int i = 0; i < x->nheld; i++) {
        if (x->held[i].fragment == fragment) {
            return &x->held[i];
        }
    }
    if (x->nheld == MAX_HELD) {
        return NULL;
    }
    x->held[x->nheld] = (held){.fragment = fragment, .fits = true};
    return &x->held[x->nheld++];
}

static bool depends_on_trip(const sharing *x, const node *ref) {
    for (int i = 0; i < x->s->n; i++) {
        for (int d = 0; x->trip[i] && d < ref->n; d++) {
            if (facts_depends(ref->arg[d], x->s->axes[i])) {
                return true;
            }
        }
    }
    return false;
}

/* Every thread holds all elements, row by row. */
static bool is_everywhere(const layout *l) {
    return l->why && l->why == decide_everywhere_why;
}

/* The register of an element over the loop's slot; NULL. */
static node *slot_of(sharing *x, const layout *holds, const node *element) {
    if (is_everywhere(holds)) {
        return flat_number(x->a, element);
    }
    if (depends_on_trip(x, element)) {
        return NULL;
    }
    node *slot = expr_var(x->a, element->at, x->any_slot);
    const layout *follows = decide_from_loop(x->a, x->p, x->s, element);
    node *found =
        follows && layout_equal(follows, holds) ? decide_slot(x->a, x->p, x->s, element, holds, slot) : NULL;
    return found ? found : layout_slot_in(x->a, x->p, x->s->axes, holds, element->arg, slot);
}

static seen *seen_of(sharing *x, const node *ref) {
    for (int i = 0; i < x->nseen; i++) {
        if (x->seen[i].ref == ref) {
            return &x->seen[i];
        }
    }
    return NULL;
}

/* Is every element of the buffer met in some iteration? */
static bool ties_all(const sharing *x, const node *element) {
    tie ties[TG_MAX_RANK];
    bool all = decide_ties(x->s, element, ties);
    for (int i = 0; all && i < x->s->n; i++) {
        all = x->s->extents[i]->lo > 0;
    }
    for (int d = 0; all && d < element->n; d++) {
        const int64_t dim = element->buffer->dim[d];
        all = dim == 1 || (ties[d].axis >= 0 && ties[d].lo == 1 && ties[d].hi == INT64_MAX &&
                           expr_is_int(x->s->extents[ties[d].axis], dim));
    }
    return all;
}

/* Does a thread digit of the layout begin at or before `at` and end beyond it?  Then its end, else 0. */
static int64_t thread_digit_over(const layout *l, int64_t at) {
    for (int i = 0; i < l->n; i++) {
        const layout_digit *d = &l->digit[i];
        if (d->source == LAYOUT_THREAD && d->stride <= at && d->stride * d->extent > at) {
            return d->stride * d->extent;
        }
    }
    return 0;
}

/* Threads that hold one element run the same iterations: then what one writes they all write.  In a loop of one
 * iteration, or where a condition takes one of several, replicas of the element may lie in threads that are not
 * there. */
static bool reaches_replicas(const layout *loop, const layout *holds) {
    for (int i = 0; i < loop->n; i++) {
        const layout_digit *d = &loop->digit[i];
        for (int64_t at = d->stride; d->source == LAYOUT_THREAD && at && at < d->stride * d->extent;) {
            at = thread_digit_over(holds, at);
            if (!at) {
                return false;
            }
        }
    }
    return true;
}

static void see(node *ref, bool is_write, const tile_stmt *at, void *user) {
    sharing *x = user;
    buffer *root = buffer_root(ref->buffer);
    if (ref->kind != E_REF || !is_spread(root)) {
        return;
    }
    held *h = held_of(x, root);
    if (!h || (!seen_of(x, ref) && x->nseen == MAX_SEEN)) {
        x->failed = true;
        return;
    }
    seen *r = seen_of(x, ref);
    if (!r) {
        r = &x->seen[x->nseen++];
        *r = (seen){.ref = ref, .element = element_of_root(x->a, ref), .of = h};
        r->slot = slot_of(x, lower_layout(x->l, root), r->element);
        h->fits = h->fits && r->slot;
    }
    if (is_write && root->space == TG_FRAGMENT) {
        h->fits = h->fits && reaches_replicas(x->p, lower_layout(x->l, root));
    }
    h->is_overwritten |=
        is_write && !h->reads && at->kind == TILE_STORE && at->up == x->s && ties_all(x, r->element);
    h->reads |= !is_write && !(root->space == TG_REDUCER && at->dst == ref);
    h->writes |= is_write;
}

/* Buffers of memory that are written: who reads them too? */
typedef struct memory_use {
    sharing *x;
    buffer *written;
} memory_use;

static bool is_memory_here(const sharing *x, buffer *b) {
    buffer *root = buffer_root(b);
    if (root->space == TG_FRAGMENT) {
        for (int i = 0; i < x->nheld; i++) {
            if (x->held[i].fragment == root) {
                return !x->held[i].fits;
            }
        }
    }
    return root->space == TG_SHARED || root->space == TG_GLOBAL;
}

static bool may_be_same(buffer *a, buffer *b) {
    const buffer *x = buffer_root(a), *y = buffer_root(b);
    for (int i = 0; i < x->naliases; i++) {
        if (x->alias_of[i] == y) {
            return true;
        }
    }
    for (int i = 0; i < y->naliases; i++) {
        if (y->alias_of[i] == x) {
            return true;
        }
    }
    return x == y;
}

static void find_read(node *ref, bool is_write, const tile_stmt *at, void *user) {
    memory_use *m = user;
    (void)at;
    if (!is_write && may_be_same(ref->buffer, m->written)) {
        m->x->has_conflict = true;
    }
}

static void find_memory(node *ref, bool is_write, const tile_stmt *at, void *user) {
    sharing *x = user;
    if (is_write && is_memory_here(x, ref->buffer)) {
        memory_use m = {x, ref->buffer};
        x->writes_memory = true;
        if (at->kind != TILE_ATOMIC) {
            decide_refs(x->s, find_read, &m);
        }
    }
    x->writes_memory |= is_write && buffer_root(ref->buffer)->space == TG_REDUCER;
    x->writes_fragments |=
        is_write && buffer_root(ref->buffer)->space == TG_FRAGMENT && !is_memory_here(x, ref->buffer);
}

static bool speaks(const tile_block *b) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        if (s->kind == TILE_PRINT || s->kind == TILE_CHECK || speaks(&s->body) || speaks(&s->otherwise)) {
            return true;
        }
    }
    return false;
}

/* May replicas run, and what must they leave to the first? */
static void judge_replicas(sharing *x) {
    x->has_replicas = layout_has_replicas(x->p);
    if (!x->has_replicas) {
        return;
    }
    decide_refs(x->s, find_memory, x);
    x->writes_memory |= speaks(&x->s->body);
    x->first_only = x->has_conflict || (x->writes_memory && !x->writes_fragments);
    for (int i = 0; i < x->nheld && x->first_only; i++) {
        held *h = &x->held[i];
        h->fits = h->fits && !(h->writes && h->fragment->space == TG_FRAGMENT);
    }
}

/* ---- fragments through shared memory ------------------------------------------------------------------- */

/* What a layout has beyond the fragment takes no part. */
static void keep_inside(lowering *l, spread *w, const buffer *fragment) {
    for (int d = 0; d < fragment->rank; d++) {
        node *inside = expr_binary(l->a, w->at, TG_LT, w->index[d], expr_int(l->a, w->at, fragment->dim[d]));
        if (w->layout->dim[d] > fragment->dim[d] && facts_truth(inside) != FACT_YES) {
            spread_when(l, w, inside);
        }
    }
}

static thread_stmt *move_share(lowering *l, thread_block *b, buffer *fragment, buffer *memory, bool out,
                               tg_loc at) {
    spread w = {.layout = lower_layout(l, fragment), .at = at, .in_registers = true, .once = out};
    spread_open(l, b, &w);
    keep_inside(l, &w, fragment);
    node *place = expr_ref(l->a, at, memory, memory->rank, w.index, 1);
    node *reg = lower_register(l, fragment, w.slot, at);
    thread_stmt *s = thread_store(l->t, w.block, out ? place : reg, expr_load(l->a, at, out ? reg : place));
    s->at = at;
    s->participants = SCOPE_BLOCK;
    s->hands_over = true;
    return s;
}

void lower_publish(lowering *l, thread_block *b, buffer *fragment, buffer *memory, tg_loc at) {
    move_share(l, b, fragment, memory, true, at)->why =
        arena_print(l->a, "other threads need these elements of %s", fragment->name);
}

void lower_reload(lowering *l, thread_block *b, buffer *fragment, const buffer *memory, tg_loc at) {
    (void)move_share(l, b, fragment, (buffer *)(uintptr_t)memory, false, at);
}

static bool written_elsewhere(const tile_block *b, const tile_stmt *but, const buffer *fragment) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        if (s == but) {
            continue;
        }
        if ((s->dst && buffer_root(s->dst->buffer) == fragment) ||
            written_elsewhere(&s->body, but, fragment) || written_elsewhere(&s->otherwise, but, fragment)) {
            return true;
        }
    }
    return false;
}

/* Fragments go out, reducers that do not fit begin anew. */
static void prepare(sharing *x, thread_block *b) {
    for (int i = 0; i < x->nheld; i++) {
        held *h = &x->held[i];
        if (h->fits) {
            continue;
        }
        if (h->fragment->space == TG_REDUCER && !h->reads) {
            const seen *r = &x->seen[0];
            while (r->of != h) {
                r++;
            }
            const layout *l =
                depends_on_trip(x, r->element) ? NULL : decide_from_loop(x->a, x->p, x->s, r->element);
            h->own = partials_begin(x->l, b, h->fragment, h->fragment->reduction, l, x->s->at);
            h->own.from = l ? x->p : NULL;
            continue;
        }
        h->scratch = lower_scratch(x->l, h->fragment, x->s->at);
        if (h->reads || (!h->is_overwritten && written_elsewhere(&x->l->k->body, x->s, h->fragment))) {
            lower_publish(x->l, b, h->fragment, h->scratch, x->s->at);
        }
    }
}

static void return_results(sharing *x, thread_block *b) {
    for (int i = 0; i < x->nheld; i++) {
        held *h = &x->held[i];
        if (h->scratch && h->writes) {
            lower_reload(x->l, b, h->fragment, h->scratch, x->s->at);
        }
        if (h->own.registers) {
            partials_merge(x->l, b, h->fragment, &h->own, x->s->at);
        }
    }
}

/* ---- expressions --------------------------------------------------------------------------------------- */

static node *rewrite(node *ref, void *user);

static node *own_local(sharing *x, node *ref) {
    buffer *root = buffer_root(ref->buffer);
    for (int i = 0; i < x->nlocals; i++) {
        if (x->local[i].outer == root && ref->buffer != root) {
            buffer *view = thread_buffer(x->l->t, TG_LOCAL, ref->buffer->name, ref->buffer->type, ref->at);
            const int id = view->id;
            *view = *ref->buffer;
            view->id = id;
            view->view_of = x->local[i].own;
            x->local[x->nlocals < MAX_PRIVATE ? x->nlocals++ : i] = (private_local){ref->buffer, view};
            return expr_ref(x->a, ref->at, view, ref->n, ref->arg, ref->lanes);
        }
        if (x->local[i].outer == ref->buffer) {
            return expr_ref(x->a, ref->at, x->local[i].own, ref->n, ref->arg, ref->lanes);
        }
    }
    return NULL;
}

static node *in_scratch(sharing *x, const seen *r) {
    node *index[TG_MAX_RANK];
    for (int d = 0; d < r->element->n; d++) {
        index[d] = thread_map(x->a, r->element->arg[d], rewrite, x);
    }
    node *place = expr_ref(x->a, r->ref->at, r->of->scratch, r->element->n, index, 1);
    if (r->ref->type == r->element->type) {
        return place;
    }
    buffer *view = thread_buffer(x->l->t, TG_SHARED, r->ref->buffer->name, r->ref->buffer->type, r->ref->at);
    view->rank = r->of->scratch->rank;
    memcpy(view->dim, r->of->scratch->dim, sizeof view->dim);
    view->view_of = r->of->scratch;
    return expr_ref(x->a, r->ref->at, view, r->element->n, index, 1);
}

static node *slot_here(sharing *x, node *slot) {
    return expr_replace(x->a, slot, x->any_slot, x->w.slot);
}

static node *in_partials(sharing *x, const seen *r) {
    const layout *holds = r->of->own.layout;
    const layout *follows = decide_from_loop(x->a, x->p, x->s, r->element);
    node *slot = is_everywhere(holds) || (follows && layout_equal(follows, holds))
                     ? slot_of(x, holds, r->element)
                     : NULL;
    if (!slot) {
        diag_error(x->l->errors, r->ref->at,
                   "parallel: reducer '%s' is indexed in two ways by one loop, by '%s' too: use two loops",
                   r->of->fragment->name, expr_text(x->a, r->ref));
        slot = expr_int(x->a, r->ref->at, 0);
    }
    slot = thread_map(x->a, slot_here(x, slot), rewrite, x);
    return partials_register(x->l, &r->of->own, slot, r->ref->at);
}

static node *rewrite(node *ref, void *user) {
    sharing *x = user;
    if (ref->kind != E_REF) {
        return NULL;
    }
    const seen *r = seen_of(x, ref);
    if (!r) {
        node *own = own_local(x, ref);
        node *arg[TG_MAX_RANK];
        for (int i = 0; own && i < own->n; i++) {
            arg[i] = thread_map(x->a, own->arg[i], rewrite, x);
        }
        return own ? expr_ref(x->a, own->at, own->buffer, own->n, arg, own->lanes) : NULL;
    }
    if (r->of->own.registers) {
        return in_partials(x, r);
    }
    if (r->of->scratch && (r->of->writes || !r->slot)) {
        return in_scratch(x, r);
    }
    node *slot = thread_map(x->a, slot_here(x, r->slot), rewrite, x);
    return lower_register(x->l, ref->buffer, slot, ref->at);
}

static node *rewritten(sharing *x, node *e) {
    return e ? thread_map(x->a, e, rewrite, x) : NULL;
}

/* ---- statements ---------------------------------------------------------------------------------------- */

/* Left to the first replica? */
static bool is_for_first(const sharing *x, const thread_stmt *s) {
    if (!x->has_replicas || x->first_only) {
        return false;
    }
    switch (s->kind) {
    case THREAD_STORE:
        return is_memory_here(x, s->dst->buffer) || buffer_root(s->dst->buffer)->space == TG_REDUCER;
    case THREAD_ATOMIC:
    case THREAD_PRINT:
    case THREAD_CHECK:
        return true;
    case THREAD_DECL:
    case THREAD_LET:
    case THREAD_FOR:
    case THREAD_IF:
    case THREAD_BARRIER:
    case THREAD_REDUCE_LANES:
    case THREAD_SHUFFLE_XOR:
    case THREAD_COPY_ASYNC:
    case THREAD_COMMIT:
    case THREAD_WAIT:
    case THREAD_LAUNCH_DEPENDENTS:
    case THREAD_GRID_WAIT:
        break;
    }
    return false;
}

/* accum on a reducer combines by its operator. */
static void combine_by(sharing *x, thread_stmt *s, const buffer *reducer, node *dst) {
    if (reducer->reduction != TG_SUM) {
        s->value =
            expr_binary(x->a, s->at, reduction_op(reducer->reduction), expr_load(x->a, s->at, dst), s->value);
        s->accumulates = false;
    }
}

static void rewrite_statement(sharing *x, thread_stmt *s) {
    buffer *to = s->dst ? buffer_root(s->dst->buffer) : NULL;
    s->value = rewritten(x, s->value);
    s->extent = rewritten(x, s->extent);
    s->dst = rewritten(x, s->dst);
    if (s->kind == THREAD_STORE && to->space == TG_REDUCER) {
        combine_by(x, s, to, s->dst);
    }
    node **old = s->values; /* the tile IR's */
    if (s->nvalues > 0) {
        s->values = ARENA_ARRAY(x->a, node *, s->nvalues);
    }
    for (int i = 0; i < s->nvalues; i++) {
        s->values[i] = rewritten(x, old[i]);
    }
    s->participants = SCOPE_BLOCK;
}

static void rewrite_block(sharing *x, thread_block *b) {
    thread_block out = {NULL, NULL};
    thread_stmt *guard = NULL; /* the one that neighbours share */
    for (thread_stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        const bool guarded = is_for_first(x, s);
        rewrite_statement(x, s);
        rewrite_block(x, &s->body);
        rewrite_block(x, &s->otherwise);
        if (guarded && !guard) {
            guard = thread_if(x->l->t, &out, layout_first(x->a, x->p, lower_linear(x->l, s->at)));
            guard->at = s->at;
            guard->participants = SCOPE_BLOCK;
        }
        guard = guarded ? guard : NULL;
        thread_add(guarded ? &guard->body : &out, s);
    }
    *b = out;
}

/* ---- serial loops inside ------------------------------------------------------------------------------- */

typedef struct inner {
    const var *v;
    bool reads_along, writes_memory, has_loop;
} inner;

static void look_at_ref(node *ref, bool is_write, void *user) {
    inner *n = user;
    int64_t step = 0;
    if (buffer_root(ref->buffer)->space != TG_LOCAL) {
        n->writes_memory |= is_write;
        n->reads_along |= !is_write && ref->n > 0 && affine_step(ref->arg[ref->n - 1], n->v, &step) &&
                          step == 1 &&
                          (ref->buffer->dim[ref->n - 1] * type_bytes(ref->buffer->type)) % 4 == 0;
    }
}

static void look_at(thread_stmt *s, void *user) {
    inner *n = user;
    n->has_loop |= s->kind == THREAD_FOR;
    thread_accesses(s, look_at_ref, user);
}

enum { UNROLLED_INNER = 1024 }; /* trips */

/* Loops that index registers are unrolled; one that reads memory along its variable may read several elements at
 * once, in the order that it has. */
static void unroll_inner(thread_stmt *s, void *user) {
    (void)user;
    if (s->kind != THREAD_FOR || s->unroll != UNROLL_AUTO || !expr_is_const(s->extent)) {
        return;
    }
    inner n = {.v = s->result[0]};
    thread_walk(&s->body, look_at, &n);
    if (thread_indexes_registers(s) && s->extent->ival <= UNROLLED_INNER) {
        s->unroll = UNROLL_FULL;
    } else if (n.reads_along && !n.writes_memory && !n.has_loop && s->extent->ival % 2 == 0) {
        s->unroll = UNROLL_TRY;
    }
}

/* ---- locals -------------------------------------------------------------------------------------------- */

static bool declares(const tile_block *b, const buffer *wanted) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        if ((s->kind == TILE_ALLOC && s->buffer == wanted) || declares(&s->body, wanted) ||
            declares(&s->otherwise, wanted)) {
            return true;
        }
    }
    return false;
}

static bool written_outside_parallel(const tile_block *b, const buffer *local) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        if (s->dst && buffer_root(s->dst->buffer) == local) {
            return true;
        }
        const bool inside = s->kind == TILE_LOOP && s->scope == TG_PARALLEL;
        if (!inside &&
            (written_outside_parallel(&s->body, local) || written_outside_parallel(&s->otherwise, local))) {
            return true;
        }
    }
    return false;
}

static void find_local(node *ref, bool is_write, const tile_stmt *at, void *user) {
    sharing *x = user;
    buffer *root = buffer_root(ref->buffer);
    (void)at;
    if (!is_write || root->space != TG_LOCAL || declares(&x->s->body, root)) {
        return;
    }
    for (int i = 0; i < x->nlocals; i++) {
        if (x->local[i].outer == root) {
            return;
        }
    }
    if (x->nlocals == MAX_PRIVATE) {
        x->failed = true;
        return;
    }
    buffer *own = thread_buffer(x->l->t, TG_LOCAL, root->name, root->type, root->at);
    own->rank = root->rank;
    own->align = root->align;
    memcpy(own->dim, root->dim, sizeof own->dim);
    x->local[x->nlocals++] = (private_local){root, own};
}

/* An iteration begins with what the thread has put there before. */
static void copy_in(sharing *x, thread_block *b, const private_local *p) {
    node *index[TG_MAX_RANK];
    for (int d = 0; d < p->own->rank; d++) {
        thread_stmt *loop = thread_for(x->l->t, b, "i", expr_int(x->a, x->s->at, p->own->dim[d]));
        loop->unroll = UNROLL_FULL;
        index[d] = expr_var(x->a, x->s->at, loop->result[0]);
        b = &loop->body;
    }
    node *from = expr_ref(x->a, x->s->at, p->outer, p->outer->rank, index, 1);
    node *to = expr_ref(x->a, x->s->at, p->own, p->own->rank, index, 1);
    thread_store(x->l->t, b, to, expr_load(x->a, x->s->at, from));
}

static void own_locals(sharing *x, thread_block *b) {
    const int n = x->nlocals;
    for (int i = 0; i < n; i++) {
        thread_append(x->a, b, THREAD_DECL, x->s->at)->buffer = x->local[i].own;
        if (written_outside_parallel(&x->l->k->body, x->local[i].outer)) {
            copy_in(x, b, &x->local[i]);
        }
    }
}

/* ---- the loops ----------------------------------------------------------------------------------------- */

/* An axis that is longer than the layout, or may be: the layout is laid down again and again. */
static void open_trips(sharing *x, thread_block **b) {
    for (int i = 0; i < x->s->n; i++) {
        node *extent = x->s->extents[i];
        if (!x->trip[i]) {
            continue;
        }
        node *most = expr_int(x->a, extent->at, x->p->dim[i] - 1);
        node *trips = expr_binary(x->a, extent->at, TG_QUO, expr_add(x->a, extent, most),
                                  expr_int(x->a, extent->at, x->p->dim[i]));
        const char *name = x->s->axes[i]->name;
        name = x->p->dim[i] == 1 ? name : arena_print(x->a, "%s_tile", name);
        thread_stmt *loop = thread_for(x->l->t, *b, name, trips);
        loop->at = x->s->at;
        loop->participants = SCOPE_BLOCK;
        x->trip[i] = expr_var(x->a, x->s->at, loop->result[0]);
        *b = &loop->body;
    }
}

static void note_trips(sharing *x) {
    for (int i = 0; i < x->s->n; i++) {
        x->trip[i] = x->s->extents[i]->hi > x->p->dim[i] ? x->s->extents[i] : NULL; /* to be replaced */
    }
}

/* The value of an axis from what the layout gives now. */
static node *axis_value(const sharing *x, int i) {
    node *inside = x->w.index[i];
    return x->trip[i] ? expr_add(x->a, expr_mul(x->a, x->trip[i], x->p->dim[i]), inside) : inside;
}

/* Within the layout's own extent nothing has to be asked. */
static void limit_axis(sharing *x, int i, node *at) {
    const bool is_single = x->trip[i] && x->p->dim[i] == 1;
    if (is_single || (!x->trip[i] && expr_is_int(x->s->extents[i], x->p->dim[i]))) {
        return;
    }
    node *inside = expr_binary(x->a, x->s->at, TG_LT, at, x->s->extents[i]);
    if (facts_truth(inside) != FACT_YES) {
        spread_when(x->l, &x->w, inside);
    }
}

static void name_axis(sharing *x, int i) {
    node *at = axis_value(x, i);
    if (at->kind != E_VAR && at->kind != E_CONST) {
        at = expr_var(x->a, x->s->at, thread_let(x->l->t, x->w.block, x->s->axes[i]->name, at));
        x->w.block->last->at = x->s->at;
    }
    x->axis[i] = at;
}

/* A run ends where the axis does. */
static bool run_is_whole(const sharing *x, int i) {
    return facts_aligned(x->s->extents[i], x->p->run) == FACT_YES &&
           facts_aligned(axis_value(x, i), x->p->run) == FACT_YES;
}

/* The names i, j, .. are the program's. */
static void rename_loops(sharing *x) {
    for (int i = 0; i < x->p->n; i++) {
        if (x->w.digit[i]) {
            x->w.digit[i]->var->name = "turn";
        }
    }
}

static void open_axes(sharing *x, thread_block *b) {
    const bool has_run = x->p->run > 1;
    x->w = (spread){.layout = x->p, .at = x->s->at, .in_registers = x->nheld > 0, .once = x->first_only};
    open_trips(x, &b);
    spread_begin(x->l, b, &x->w);
    rename_loops(x);
    for (int i = 0; i < x->s->n; i++) {
        if (!has_run || (x->w.run_dim >= 0 && i != x->w.run_dim)) {
            name_axis(x, i);
            limit_axis(x, i, x->axis[i]);
        }
    }
    const bool whole = has_run && x->w.run_dim >= 0 && run_is_whole(x, x->w.run_dim);
    if (whole) {
        limit_axis(x, x->w.run_dim, axis_value(x, x->w.run_dim));
    }
    spread_run(x->l, &x->w);
    if (x->w.run) {
        x->w.run->var->name = "lane";
    }
    for (int i = 0; i < x->s->n; i++) {
        if (!x->axis[i]) {
            name_axis(x, i);
            if (!whole) {
                limit_axis(x, i, x->axis[i]);
            }
        }
    }
}

static void mark_shared(thread_stmt *s, void *user) {
    const sharing *x = user;
    s->participants = SCOPE_BLOCK;
    s->share = x->l->t->nshares;
    s->spread = x->p;
}

static void lower_body(sharing *x) {
    thread_block body = {NULL, NULL};
    x->l->in_parallel++;
    lower_block(x->l, &x->s->body, &body);
    x->l->in_parallel--;
    rewrite_block(x, &body);
    for (int i = 0; i < x->s->n; i++) {
        thread_replace(x->l->t, &body, x->s->axes[i], x->axis[i]);
    }
    thread_walk(&body, unroll_inner, NULL);
    own_locals(x, x->w.block);
    thread_splice(x->w.block, &body);
}

void lower_parallel(lowering *l, const tile_stmt *s, thread_block *b) {
    sharing *x = ARENA_NEW(l->a, sharing);
    x->l = l;
    x->a = l->a;
    x->s = s;
    x->p = s->spread;
    if (!x->p) {
        tg_bug("a parallel loop without layout (line %d)", s->at.line);
        return;
    }
    x->any_slot = thread_variable(l->t, VAR_LOOP, "slot", TYPE_INDEX, s->at);
    x->any_slot->lo = 0;
    x->any_slot->hi = x->p->slots - 1;
    note_trips(x);
    decide_refs(s, see, x);
    decide_refs(s, find_local, x);
    if (x->failed) {
        diag_error(l->errors, s->at,
                   "parallel: the body touches more than %d fragments, %d elements of them or %d "
                   "locals: split it",
                   MAX_HELD, MAX_SEEN, MAX_PRIVATE);
        return;
    }
    judge_replicas(x);
    prepare(x, b);
    thread_block loops = {NULL, NULL};
    open_axes(x, &loops);
    lower_body(x);
    l->t->nshares++;
    thread_walk(&loops, mark_shared, x);
    thread_splice(b, &loops);
    return_results(x, b);
}
