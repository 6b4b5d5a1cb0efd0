/* tile_reduce.c -- reduce and finalize.
 *
 * Reads the layouts of source and destination, or how the loops that add to a reducer are spread; leaves loops that
 * make partial results, what tile_combine.c makes of them, and the results where the program wants them. */
#include "codegen/tile_decide.h"
#include "codegen/tile_lower.h"

#include <string.h>

/* ---- results ------------------------------------------------------------------------------------------- */

/* The combined results to memory of their shape. */
static void publish(lowering *l, thread_block *b, const partials *p, buffer *memory, tg_loc at) {
    spread w = spread_elements(l, b, p->layout, p->shape, true, at);
    node *place = expr_ref(l->a, at, memory, memory->rank, w.index, 1);
    thread_stmt *s =
        thread_store(l->t, w.block, place, expr_load(l->a, at, partials_register(l, p, w.slot, at)));
    s->at = at;
    s->participants = SCOPE_BLOCK;
}

void partials_merge(lowering *l, thread_block *b, buffer *reducer, const partials *p, tg_loc at) {
    buffer *memory = lower_scratch(l, reducer, at);
    partials enough = *p;
    enough.is_by_all = p->from != NULL; /* nobody but the first replica is asked */
    partials_combine(l, b, &enough, at);
    publish(l, b, p, memory, at);
    spread w = spread_elements(l, b, lower_layout(l, reducer), reducer, true, at);
    node *place = expr_ref(l->a, at, memory, memory->rank, w.index, 1);
    partials_add(l, w.block, p, lower_register(l, reducer, w.slot, at), expr_load(l->a, at, place), at)
        ->participants = SCOPE_BLOCK;
}

static bool same_threads(const layout *x, const layout *y) {
    for (int turn = 0; turn < 2; turn++) {
        const layout *a = turn ? x : y, *b = turn ? y : x;
        for (int i = 0; i < a->n; i++) {
            const layout_digit *d = &a->digit[i];
            if (d->source == LAYOUT_THREAD && !layout_covers(b, d->stride, d->extent)) {
                return false;
            }
        }
    }
    return x->threads == y->threads;
}

typedef struct adding {
    const buffer *reducer;
    const layout *from;
    bool differs;
} adding;

/* How the loops that add to a reducer are spread, when all are alike. */
static void find_loops(adding *x, const tile_block *b, const layout *loop) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        if (s->kind == TILE_ACCUM && s->dst->buffer == x->reducer && loop) {
            x->differs |= x->from && !same_threads(x->from, loop);
            x->from = loop;
        }
        const layout *here = s->kind == TILE_LOOP && s->scope == TG_PARALLEL ? s->spread : loop;
        find_loops(x, &s->body, here);
        find_loops(x, &s->otherwise, here);
    }
}

/* Within what the loops use? */
static bool is_part_of(const layout *held, const layout *from) {
    for (int i = 0; i < held->n; i++) {
        const layout_digit *d = &held->digit[i];
        if (d->source == LAYOUT_THREAD && !layout_covers(from, d->stride, d->extent)) {
            return false;
        }
    }
    return true;
}

/* What comes after finalize, as far as it is known yet. */
typedef struct following {
    const buffer *reducer;
    const tile_stmt *copy; /* the first */
    bool has_others;
} following;

static bool is_all_of(const node *region) {
    bool all = region->n == region->buffer->rank && !region->buffer->view_of;
    for (int d = 0; d < region->n && all; d++) {
        all = expr_is_int(region->arg[d], 0) && region->dim[d] == region->buffer->dim[d];
    }
    return all;
}

static void note_following(node *ref, bool is_write, const tile_stmt *at, void *user) {
    following *f = user;
    if (buffer_root(ref->buffer) != f->reducer) {
        return;
    }
    const bool is_copy = !is_write && at->kind == TILE_COPY && at->src == ref && is_all_of(ref);
    const tg_space to = is_copy ? buffer_root(at->dst->buffer)->space : TG_LOCAL;
    f->has_others |= to != TG_GLOBAL && to != TG_SHARED;
    f->copy = f->copy ? f->copy : at;
}

/* How what was finalized is spread best if all that follows is that it is copied to memory; else NULL.  In the outermost
 * block, where nothing comes round again. */
static const layout *layout_of_copies(lowering *l, const tile_stmt *s) {
    following f = {.reducer = s->dst->buffer};
    tile_stmt rest = {.body = {s->next, NULL}};
    bool is_outermost = false;
    for (const tile_stmt *x = l->k->body.first; x && !is_outermost; x = x->next) {
        is_outermost = x == s;
    }
    decide_refs(&rest, note_following, &f);
    return is_outermost && f.copy && !f.has_others ? copy_layout(l->k, l->t->target, f.copy, false) : NULL;
}

void lower_finalize(lowering *l, const tile_stmt *s, thread_block *b) {
    buffer *reducer = s->dst->buffer;
    adding x = {.reducer = reducer};
    find_loops(&x, &l->k->body, NULL);
    partials p = {.registers = lower_registers(l, reducer),
                  .layout = lower_layout(l, reducer),
                  .shape = reducer,
                  .reduction = reducer->reduction,
                  .goes_to = layout_of_copies(l, s)};
    p.from = x.from && !x.differs && is_part_of(p.layout, x.from) ? x.from : NULL;
    partials_combine(l, b, &p, s->at);
}

/* ---- reduce -------------------------------------------------------------------------------------------- */

/* Is the destination a fragment whose registers can take the partial results? */
static bool lies_there(const partials *p, const buffer *dst) {
    return dst->space == TG_FRAGMENT && !dst->view_of && layout_equal(p->layout, dst->registers);
}

/* The register of the result to which an element of the source belongs: as in a loop over the source. */
static node *result_slot(lowering *l, const tile_stmt *s, const partials *p, var **axis, node **kept,
                         node *slot) {
    tile_stmt loop = {
        .kind = TILE_LOOP, .at = s->at, .scope = TG_PARALLEL, .n = s->src->buffer->rank, .axes = axis};
    node *extents[TG_MAX_RANK];
    for (int d = 0; d < loop.n; d++) {
        extents[d] = expr_int(l->a, s->at, s->src->buffer->dim[d]);
    }
    loop.extents = extents;
    const node *ref = expr_ref(l->a, s->at, s->dst->buffer, s->dst->buffer->rank, kept, 1);
    const layout *follows = decide_from_loop(l->a, s->spread, &loop, ref);
    node *to = follows && layout_equal(follows, p->layout)
                   ? decide_slot(l->a, s->spread, &loop, ref, p->layout, slot)
                   : NULL;
    return to ? to : layout_slot_in(l->a, s->spread, axis, p->layout, kept, slot);
}

/* Partial results of what each thread holds of the source. */
static void accumulate(lowering *l, thread_block *b, const tile_stmt *s, const partials *p) {
    buffer *src = s->src->buffer;
    spread w = spread_elements(l, b, s->spread, src, !p->is_by_all, s->at);
    node *slot = w.slot, *kept[TG_MAX_RANK];
    var *axis[TG_MAX_RANK];
    node *index[TG_MAX_RANK];
    for (int d = 0, n = 0; d < src->rank; d++) {
        axis[d] = thread_variable(l->t, VAR_PARALLEL, "axis", TYPE_INDEX, s->at);
        axis[d]->lo = 0;
        axis[d]->hi = src->dim[d] - 1;
        index[d] = expr_var(l->a, s->at, axis[d]);
        if (d != (int)s->dim) {
            kept[n++] = index[d];
        }
    }
    node *to = result_slot(l, s, p, axis, kept, slot);
    if (!to) {
        tg_bug("reduce: partial results of '%s' are not where they were (line %d)", src->name, s->at.line);
        return;
    }
    node *from = buffer_root(src)->space == TG_SHARED ? expr_ref(l->a, s->at, src, src->rank, w.index, 1)
                                                      : lower_register(l, src, slot, s->at);
    node *x = expr_cast(l->a, s->at, p->shape->type, expr_load(l->a, s->at, from));
    partials_add(l, w.block, p, partials_register(l, p, to, s->at), x, s->at)->participants = SCOPE_BLOCK;
}

/* Is each group of replicas as good as the first? */
static bool replicas_are_whole(const layout *l) {
    int64_t used = 1;
    for (int i = 0; i < l->n; i++) {
        const layout_digit *d = &l->digit[i];
        used = d->source == LAYOUT_THREAD && d->stride * d->extent > used ? d->stride * d->extent : used;
    }
    return l->threads % used == 0;
}

/* Memory in which all of the source can be read. */
static buffer *source_memory(lowering *l, thread_block *b, const tile_stmt *s) {
    buffer *src = s->src->buffer;
    if (buffer_root(src)->space == TG_SHARED) {
        return src;
    }
    buffer *root = buffer_root(src), *memory = lower_scratch(l, root, s->at);
    lower_publish(l, b, root, memory, s->at);
    if (src == root) {
        return memory;
    }
    buffer *view = thread_buffer(l->t, TG_SHARED, src->name, src->type, s->at);
    view->rank = src->rank;
    memcpy(view->dim, src->dim, sizeof view->dim);
    view->view_of = memory;
    return view;
}

/* Each element of a tile by a thread of its own, one element of the source after the other. */
static void one_by_one(lowering *l, thread_block *b, const tile_stmt *s, const partials *p) {
    buffer *memory = source_memory(l, b, s);
    spread w = spread_elements(l, b, p->layout, p->shape, false, s->at);
    thread_stmt *loop = thread_for(l->t, w.block, "i", expr_int(l->a, s->at, memory->dim[s->dim]));
    node *index[TG_MAX_RANK];
    for (int d = 0, n = 0; d < memory->rank; d++) {
        index[d] = d == (int)s->dim ? expr_var(l->a, s->at, loop->result[0]) : w.index[n++];
    }
    node *x = expr_load(l->a, s->at, expr_ref(l->a, s->at, memory, memory->rank, index, 1));
    partials_add(l, &loop->body, p, partials_register(l, p, w.slot, s->at),
                 expr_cast(l->a, s->at, p->shape->type, x), s->at)
        ->participants = SCOPE_BLOCK;
}

/* To where the program wants them. */
static void deliver(lowering *l, thread_block *b, const tile_stmt *s, const partials *p) {
    buffer *dst = s->dst->buffer;
    if (buffer_root(dst)->space == TG_SHARED) {
        publish(l, b, p, dst, s->at);
        return;
    }
    buffer *root = buffer_root(dst), *memory = lower_scratch(l, root, s->at), *seen = memory;
    if (root != dst) {
        seen = thread_buffer(l->t, TG_SHARED, dst->name, dst->type, s->at);
        seen->rank = dst->rank;
        memcpy(seen->dim, dst->dim, sizeof seen->dim);
        seen->view_of = memory;
    }
    publish(l, b, p, seen, s->at);
    lower_reload(l, b, root, memory, s->at);
}

void lower_reduce(lowering *l, const tile_stmt *s, thread_block *b) {
    const buffer *src = s->src->buffer;
    buffer *dst = s->dst->buffer;
    const layout *held = s->spread && s->spread->rank == src->rank && s->spread->is_split
                             ? decide_without(l->a, s->spread, (int)s->dim)
                             : NULL;
    const bool direct = held && !src->view_of;
    const layout *lies = dst->space == TG_FRAGMENT && !dst->view_of ? lower_layout(l, dst) : NULL;
    if (!direct) {
        held = lies ? lies : layout_spread(l->a, dst->rank, dst->dim, thread_count(l->t), 1, false);
    }
    partials p = {.layout = held, .shape = dst, .reduction = s->reduction};
    const bool in_place = lies && lies_there(&p, dst);
    if (in_place) {
        p.registers = lower_registers(l, dst);
        partials_clear(l, b, &p, s->at);
    } else {
        p = partials_begin(l, b, dst, s->reduction, held, s->at);
    }
    if (direct) {
        p.from = s->spread;
        p.is_by_all = replicas_are_whole(s->spread);
        accumulate(l, b, s, &p);
        partials_combine(l, b, &p, s->at);
    } else {
        one_by_one(l, b, s, &p);
    }
    if (!in_place) {
        deliver(l, b, s, &p);
    }
}
