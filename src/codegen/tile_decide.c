/* tile_decide.c -- the pass tile_layout: which layout each fragment, reducer and parallel loop gets.
 *
 * Reads the tile IR; leaves buffer.registers and tile_stmt.spread.  In this order:
 *
 *   0  copies with .width or .layout.
 *   1  loops, those of most axes first: a loop adopts the layout of a fragment that it writes, else of one that
 *      it reads, when that fragment is indexed by all of its axes; else it is spread freely.  Fragments that have
 *      no layout yet and that the loop covers follow from the loop.  What is indexed by fewer axes (row sums,
 *      a vector beside a matrix) so follows the larger tile, and copies into it follow too.
 *   2  reduce: the destination follows from the source.
 *   3  copies and fills decide what no loop has covered.
 *   4  what is left is spread freely.
 *   5  copies into shared memory: by warp, where each warp reads a part of its own (tile_warp.c).
 *
 * Nothing here must fit: a loop that touches a fragment of another layout reads and writes it through shared
 * memory (tile_parallel.c). */
#include "codegen/tile_decide.h"

#include <string.h>

#include "codegen/facts.h"
#include "codegen/tile_lower.h"

typedef struct deciding {
    tg_kernel *k;
    arena *a;
    const target *t;
    int64_t threads;
    int n; /* statements that all threads share, in program order */
    tile_stmt **item;
} deciding;

/* ---- references in a loop ------------------------------------------------------------------------------ */

typedef struct visiting {
    decide_visit *fn;
    const tile_stmt *at;
    void *user;
} visiting;

static void visit_load(node *place, void *user) {
    const visiting *v = user;
    v->fn(place, false, v->at, v->user);
}

static void visit_block(const tile_block *b, decide_visit *fn, void *user) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        visiting v = {fn, s, user};
        const bool adds = s->kind == TILE_ACCUM || s->kind == TILE_ATOMIC;
        expr_loads(s->value, visit_load, &v);
        for (int i = 0; s->kind == TILE_PRINT && i < s->n; i++) {
            expr_loads(s->values[i], visit_load, &v);
        }
        for (int i = 0; s->kind == TILE_LOOP && i < s->n; i++) {
            expr_loads(s->extents[i], visit_load, &v);
        }
        expr_loads(s->dst, visit_load, &v);
        if (s->dst && adds) {
            fn(s->dst, false, s, user);
        }
        if (s->dst) {
            fn(s->dst, true, s, user);
        }
        if (s->src) {
            fn(s->src, false, s, user);
        }
        visit_block(&s->body, fn, user);
        visit_block(&s->otherwise, fn, user);
    }
}

void decide_refs(const tile_stmt *s, decide_visit *fn, void *user) {
    visit_block(&s->body, fn, user);
}

static bool is_spread(const buffer *b) {
    return b->space == TG_FRAGMENT || b->space == TG_REDUCER;
}

static bool is_parallel(const tile_stmt *s) {
    return s->kind == TILE_LOOP && s->scope == TG_PARALLEL;
}

/* ---- how dimensions follow axes ------------------------------------------------------------------------ */

static const node *meaning(const node *x) {
    while ((x->kind == E_VAR && x->var->kind == VAR_LET && x->var->value) ||
           (x->kind == E_CAST && type_is_integer(x->type) && type_is_integer(x->arg[0]->type))) {
        x = x->kind == E_VAR ? x->var->value : x->arg[0];
    }
    return x;
}

static int axis_of(const tile_stmt *s, const node *x) {
    x = meaning(x);
    for (int i = 0; x->kind == E_VAR && i < s->n; i++) {
        if (s->axes[i] == x->var) {
            return i;
        }
    }
    return -1;
}

static bool depends_on_axes(const tile_stmt *s, const node *x) {
    for (int i = 0; i < s->n; i++) {
        if (facts_depends(x, s->axes[i])) {
            return true;
        }
    }
    return false;
}

static bool tie_of(const tile_stmt *s, const node *x, tie *out) {
    x = meaning(x);
    *out = (tie){axis_of(s, x), 1, INT64_MAX};
    if (out->axis >= 0 || (!depends_on_axes(s, x) && !facts_reads_memory(x))) {
        return true;
    }
    const bool cuts = x->kind == E_OP && (x->op == TG_QUO || x->op == TG_MOD) && expr_is_const(x->arg[1]) &&
                      x->arg[1]->ival > 0;
    if (!cuts || axis_of(s, x->arg[0]) < 0) {
        return false;
    }
    out->axis = axis_of(s, x->arg[0]);
    out->lo = x->op == TG_QUO ? x->arg[1]->ival : 1;
    out->hi = x->op == TG_MOD ? x->arg[1]->ival : INT64_MAX;
    return true;
}

bool decide_ties(const tile_stmt *s, const node *ref, tie *ties) {
    unsigned seen = 0;
    for (int d = 0; d < ref->n; d++) {
        if (!tie_of(s, ref->arg[d], &ties[d])) {
            return false;
        }
        if (ties[d].axis >= 0 && (seen & 1u << ties[d].axis)) {
            return false;
        }
        seen |= ties[d].axis >= 0 ? 1u << ties[d].axis : 0;
    }
    return true;
}

static bool is_whole(const tie *t) {
    return t->lo == 1 && t->hi == INT64_MAX;
}

/* Dimension after dimension, each along the axis of its number. */
static bool is_identity(const tile_stmt *s, const node *ref, const tie *ties) {
    bool same = ref->n == s->n;
    for (int d = 0; same && d < ref->n; d++) {
        same = ties[d].axis == d && is_whole(&ties[d]);
    }
    return same;
}

/* ---- putting layouts together -------------------------------------------------------------------------- */

/* The digits of one dimension, places counted within it. */
typedef struct digits {
    int n;
    layout_digit d[LAYOUT_DIGITS];
} digits;

static int64_t place_of_dim(const layout *l, int d) {
    int64_t place = 1;
    for (int i = l->rank - 1; i > d; i--) {
        place *= l->dim[i];
    }
    return place;
}

/* The part of a digit between the places lo and hi; false when it cannot be cut there. */
static bool cut_digit(layout_digit *d, int64_t lo, int64_t hi) {
    if (d->place < lo) {
        const int64_t below = lo / d->place;
        if (lo % d->place != 0 || d->extent % below != 0) {
            return false;
        }
        d->extent /= below;
        d->stride *= below;
        d->place = lo;
    }
    if (d->extent > hi / d->place) {
        if (hi % d->place != 0 || d->extent % (hi / d->place) != 0) {
            return false;
        }
        d->extent = hi / d->place;
    }
    return true;
}

static bool digits_of(const layout *l, int dim, int64_t lo, int64_t hi, digits *out) {
    out->n = 0;
    for (int i = 0; i < l->n; i++) {
        layout_digit d = l->digit[i];
        if (d.dim != dim) {
            continue;
        }
        d.place /= place_of_dim(l, dim);
        if (d.place * d.extent <= lo || d.place >= hi) {
            continue;
        }
        if (!cut_digit(&d, lo, hi)) {
            return false;
        }
        d.place /= lo;
        out->d[out->n++] = d;
    }
    return true;
}

static digits all_slots(int64_t extent) {
    digits x = {0};
    if (extent > 1) {
        x.n = 1;
        x.d[0] = (layout_digit){LAYOUT_SLOT, extent, 1, 0, 1};
    }
    return x;
}

static int64_t product_of(const digits *x) {
    int64_t product = 1;
    for (int i = 0; i < x->n; i++) {
        product *= x->d[i].extent;
    }
    return product;
}

static void finish(layout *l) {
    int64_t product = 1;
    l->slots = 1;
    l->elements = 1;
    for (int i = 0; i < l->n; i++) {
        product *= l->digit[i].extent;
        l->slots *= l->digit[i].source == LAYOUT_SLOT ? l->digit[i].extent : 1;
    }
    for (int d = 0; d < l->rank; d++) {
        l->elements *= l->dim[d];
    }
    l->is_split = true;
    l->is_padded = product > l->elements;
    l->run = l->n > 0 && l->digit[0].source == LAYOUT_SLOT ? l->digit[0].extent : 1;
}

/* A layout of the given digits, dimension by dimension.  Where an inner dimension's digits reach beyond it, it
 * grows when `grows` allows that; else NULL. */
static layout *assemble(arena *a, int rank, const int64_t *dim, const digits *part, int64_t threads,
                        bool grows) {
    layout *l = ARENA_NEW(a, layout);
    int64_t place = 1, slot = 1;
    l->rank = rank;
    l->threads = threads;
    for (int d = rank - 1; d >= 0; d--) {
        const int64_t product = product_of(&part[d]);
        if (product < dim[d] || (d > 0 && product > dim[d] && !grows) || l->n + part[d].n > LAYOUT_DIGITS) {
            return NULL;
        }
        l->dim[d] = d > 0 ? product : dim[d];
        for (int i = 0; i < part[d].n; i++) {
            layout_digit digit = part[d].d[i];
            digit.dim = d;
            digit.place *= place;
            digit.stride = digit.source == LAYOUT_SLOT ? slot : digit.stride;
            slot *= digit.source == LAYOUT_SLOT ? digit.extent : 1;
            l->digit[l->n++] = digit;
        }
        place *= l->dim[d];
    }
    finish(l);
    return l;
}

const char decide_everywhere_why[] =
    "every thread holds all: what goes where is known when the kernel runs only";

layout *decide_everywhere(arena *a, int rank, const int64_t *dim, int64_t threads) {
    digits part[TG_MAX_RANK];
    for (int d = 0; d < rank; d++) {
        part[d] = all_slots(dim[d]);
    }
    layout *l = assemble(a, rank, dim, part, threads, false);
    if (l) {
        l->why = decide_everywhere_why;
    }
    return l;
}

layout *decide_without(arena *a, const layout *held, int dim) {
    bool keep[TG_MAX_RANK];
    for (int d = 0; d < held->rank; d++) {
        keep[d] = d != dim;
    }
    return layout_project(a, held, keep);
}

static layout *copy_of(arena *a, const layout *l) {
    layout *copy = ARENA_NEW(a, layout);
    *copy = *l;
    return copy;
}

static bool same_dims(const layout *l, const buffer *b) {
    return l->rank == b->rank && memcmp(l->dim, b->dim, sizeof *b->dim * (size_t)b->rank) == 0;
}

layout *decide_from_loop(arena *a, const layout *loop, const tile_stmt *s, const node *ref) {
    tie ties[TG_MAX_RANK];
    digits part[TG_MAX_RANK];
    const buffer *b = ref->buffer;
    if (!decide_ties(s, ref, ties)) {
        return NULL;
    }
    if (is_identity(s, ref, ties) && same_dims(loop, b)) {
        return copy_of(a, loop);
    }
    for (int d = 0; d < b->rank; d++) {
        if (ties[d].axis < 0) {
            part[d] = all_slots(b->dim[d]);
        } else if (!loop->is_split || !digits_of(loop, ties[d].axis, ties[d].lo, ties[d].hi, &part[d])) {
            return NULL;
        }
    }
    layout *l = assemble(a, b->rank, b->dim, part, loop->threads, true);
    if (l && l->run == loop->run) {
        l->limit = loop->limit;
        l->limit_at = loop->limit_at;
    }
    return l;
}

/* Digit i of `held` is read off digit of the loop with the same thread or slot part. */
static node *digit_value(arena *a, const layout *loop, const layout_digit *d, const tie *t, int64_t local,
                         node *slot) {
    for (int i = 0; i < loop->n; i++) {
        const layout_digit *from = &loop->digit[i];
        const int64_t place = from->place / place_of_dim(loop, t->axis < 0 ? 0 : t->axis);
        if (from->source != LAYOUT_SLOT || from->dim != t->axis || place * from->extent <= local * t->lo ||
            place > local * t->lo) {
            continue;
        }
        const int64_t stride = from->stride * (local * t->lo / place);
        node *x = stride == 1 ? slot : expr_binary(a, slot->at, TG_QUO, slot, expr_int(a, slot->at, stride));
        return stride * d->extent >= loop->slots
                   ? x
                   : expr_binary(a, slot->at, TG_MOD, x, expr_int(a, slot->at, d->extent));
    }
    return NULL;
}

node *decide_slot(arena *a, const layout *loop, const tile_stmt *s, const node *ref, const layout *held,
                  node *slot) {
    tie ties[TG_MAX_RANK];
    if (!decide_ties(s, ref, ties)) {
        return NULL;
    }
    if (is_identity(s, ref, ties) && layout_equal(loop, held)) {
        return slot;
    }
    node *sum = NULL;
    for (int i = 0; i < held->n; i++) {
        const layout_digit *d = &held->digit[i];
        if (d->source != LAYOUT_SLOT) {
            continue;
        }
        const tie *t = &ties[d->dim];
        node *x = t->axis < 0 ? ref->arg[d->dim]
                              : digit_value(a, loop, d, t, d->place / place_of_dim(held, d->dim), slot);
        if (!x) {
            return NULL;
        }
        x = expr_mul(a, x, d->stride);
        sum = sum ? expr_add(a, x, sum) : x;
    }
    return sum ? sum : expr_int(a, slot->at, 0);
}

bool layout_has_replicas(const layout *l) {
    int64_t used = 1;
    for (int i = 0; i < l->n; i++) {
        used *= l->digit[i].source == LAYOUT_THREAD ? l->digit[i].extent : 1;
    }
    return used < l->threads;
}

/* ---- free choice --------------------------------------------------------------------------------------- */

static int64_t power_of_two_above(int64_t x) {
    int64_t p = 1;
    while (p < x) {
        p *= 2;
    }
    return p;
}

/* Spread freely; `must_split`: inner dimensions grow to powers of two where it is not split otherwise. */
static layout *choose(const deciding *d, int rank, const int64_t *dim, int64_t run, bool wants_split,
                      bool must_split) {
    layout *l = layout_spread(d->a, rank, dim, d->threads, run, wants_split || must_split);
    if (l->is_split || !must_split) {
        return l;
    }
    int64_t grown[TG_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        grown[i] = i > 0 ? power_of_two_above(dim[i]) : dim[i];
    }
    return layout_spread(d->a, rank, grown, d->threads, run, true);
}

static int64_t run_of_type(const deciding *d, int64_t type) {
    const int64_t run = d->t->max_access / type_bytes(type);
    return run > 0 ? run : 1;
}

/* Is the fragment seen as another shape too?  Then its dimensions do not grow: elements are numbered as they are. */
static bool is_reshaped(const deciding *d, const buffer *b) {
    for (int i = 0; i < d->k->nbuffers; i++) {
        buffer *v = d->k->buffers[i];
        if (v != b && buffer_root(v) == b &&
            (v->rank != b->rank || memcmp(v->dim, b->dim, sizeof *b->dim * (size_t)b->rank) != 0)) {
            return true;
        }
    }
    return false;
}

/* ---- what a loop asks of its layout -------------------------------------------------------------------- */

typedef struct wishes {
    const deciding *d;
    const tile_stmt *s;
    int64_t run; /* 0: no access goes along the innermost axis */
    bool must_split;
} wishes;

static int axes_tied(const tie *ties, int n) {
    int axes = 0;
    for (int i = 0; i < n; i++) {
        axes += ties[i].axis >= 0;
    }
    return axes;
}

static bool is_reduced(const deciding *d, const buffer *b) {
    for (int i = 0; i < d->n; i++) {
        if (d->item[i]->kind == TILE_REDUCE && d->item[i]->src->buffer == b) {
            return true;
        }
    }
    return false;
}

static void wish(node *ref, bool is_write, const tile_stmt *at, void *user) {
    wishes *w = user;
    tie ties[TG_MAX_RANK];
    (void)is_write;
    (void)at;
    if (ref->kind == E_REF && w->s->n > 0 && ref->n > 0 && buffer_root(ref->buffer)->space != TG_LOCAL) {
        int64_t step = 0;
        const var *inner = w->s->axes[w->s->n - 1];
        if (affine_step(ref->arg[ref->n - 1], inner, &step) && step == 1) {
            const int64_t run = run_of_type(w->d, ref->buffer->type);
            w->run = w->run == 0 || run < w->run ? run : w->run;
        }
    }
    if (ref->kind == E_REF && is_spread(buffer_root(ref->buffer)) && decide_ties(w->s, ref, ties)) {
        w->must_split |= axes_tied(ties, ref->n) < w->s->n || is_reduced(w->d, ref->buffer);
    }
}

/* Extents that are known at launch only: short ones count as their largest value; of the others the innermost is
 * gone over in pieces that give the threads left over by the rest something to do, the outer ones one by one
 * (tile_parallel.c). */
enum { SHORT = 4096 };

static bool is_long(const node *extent) {
    return extent->hi > SHORT && !expr_is_const(extent);
}

static void loop_dims(const deciding *d, const tile_stmt *s, int64_t *dim) {
    int64_t elements = 1;
    int innermost = -1;
    for (int i = 0; i < s->n; i++) {
        const node *x = s->extents[i];
        dim[i] = is_long(x) || x->hi < 1 ? 1 : x->hi;
        elements *= dim[i];
        innermost = is_long(x) ? i : innermost;
    }
    if (innermost >= 0 && elements < d->threads) {
        dim[innermost] = d->threads / elements;
    }
}

static layout *free_loop(const deciding *d, const tile_stmt *s) {
    int64_t dim[TG_MAX_RANK];
    wishes w = {.d = d, .s = s};
    decide_refs(s, wish, &w);
    loop_dims(d, s, dim);
    return choose(d, s->n, dim, w.run ? w.run : 1, false, w.must_split);
}

/* ---- adopting ------------------------------------------------------------------------------------------ */

/* The loop that touches each element of `held` where it lies; NULL. */
static layout *adopt(const deciding *d, const layout *held, const tile_stmt *s, const node *ref) {
    tie ties[TG_MAX_RANK];
    digits part[TG_MAX_RANK];
    int64_t dim[TG_MAX_RANK];
    if (!decide_ties(s, ref, ties) || axes_tied(ties, ref->n) < s->n) {
        return NULL;
    }
    for (int i = 0; i < ref->n; i++) {
        const int axis = ties[i].axis;
        if (axis < 0) {
            continue;
        }
        if (!is_whole(&ties[i]) || s->extents[axis]->hi > held->dim[i]) {
            return NULL;
        }
        dim[axis] = held->dim[i];
        if (held->is_split && !digits_of(held, i, 1, INT64_MAX, &part[axis])) {
            return NULL;
        }
    }
    if (is_identity(s, ref, ties)) {
        return copy_of(d->a, held);
    }
    return held->is_split ? assemble(d->a, s->n, dim, part, d->threads, true) : NULL;
}

typedef struct adopting {
    const deciding *d;
    const tile_stmt *s;
    bool writes;
    layout *found;
} adopting;

/* A loop over what has been reduced goes on where it lies: everything else is an exchange and a barrier.  But a
 * thread that holds many of the results would work on all of them while others do the same. */
enum { FEW_RESULTS = 4 };

static bool can_adopt_from(const buffer *b, bool is_write) {
    if (b->view_of || !b->registers) {
        return false;
    }
    return b->space == TG_FRAGMENT ||
           (b->space == TG_REDUCER && !is_write && b->registers->slots <= FEW_RESULTS);
}

static void try_adopt(node *ref, bool is_write, const tile_stmt *at, void *user) {
    adopting *x = user;
    (void)at;
    const buffer *b = ref->buffer;
    if (x->found || ref->kind != E_REF || is_write != x->writes || !can_adopt_from(b, is_write)) {
        return;
    }
    x->found = adopt(x->d, b->registers, x->s, ref);
    if (x->found) {
        x->found->why = arena_print(x->d->a, "adopted from '%s', which the loop %s", b->name,
                                    is_write ? "writes" : "reads");
    }
}

static layout *adopted(const deciding *d, const tile_stmt *s) {
    adopting x = {d, s, true, NULL};
    decide_refs(s, try_adopt, &x);
    x.writes = false;
    decide_refs(s, try_adopt, &x);
    return x.found;
}

/* ---- fragments follow loops ---------------------------------------------------------------------------- */

/* Does the loop reach all of the fragment through this reference? */
static bool covers(const tile_stmt *s, const node *ref) {
    tie ties[TG_MAX_RANK];
    if (!decide_ties(s, ref, ties)) {
        return false;
    }
    for (int d = 0; d < ref->n; d++) {
        const node *x = ties[d].axis < 0 ? NULL : s->extents[ties[d].axis];
        const int64_t reach = !x                     ? ref->buffer->dim[d]
                              : !expr_is_const(x)    ? 0
                              : ties[d].hi < x->ival ? ties[d].hi
                                                     : (x->ival + ties[d].lo - 1) / ties[d].lo;
        if (reach < ref->buffer->dim[d]) {
            return false;
        }
    }
    return true;
}

static void follow(node *ref, bool is_write, const tile_stmt *at, void *user) {
    const adopting *x = user;
    buffer *b = ref->buffer;
    (void)at;
    if (ref->kind != E_REF || b->view_of || !is_spread(b) || b->registers || is_write != x->writes ||
        !covers(x->s, ref)) {
        return;
    }
    layout *l = decide_from_loop(x->d->a, x->s->spread, x->s, ref);
    if (l && (same_dims(l, b) || !is_reshaped(x->d, b))) {
        l->why = arena_print(x->d->a, "as the loop at line %d touches it", x->s->at.line);
        l->at = x->s->at;
        b->registers = l;
    }
}

/* What it writes first: that must be right for later loops. */
static void follow_loop(const deciding *d, const tile_stmt *s) {
    adopting x = {d, s, true, NULL};
    decide_refs(s, follow, &x);
    x.writes = false;
    decide_refs(s, follow, &x);
}

/* ---- loops --------------------------------------------------------------------------------------------- */

typedef struct waiting_for {
    const tile_stmt *s;
    bool undecided, covered;
} waiting_for;

static void find_undecided(node *ref, bool is_write, const tile_stmt *at, void *user) {
    waiting_for *w = user;
    (void)is_write;
    (void)at;
    if (ref->kind == E_REF && buffer_root(ref->buffer)->space == TG_FRAGMENT &&
        !buffer_root(ref->buffer)->registers) {
        w->undecided = true;
        w->covered |= covers(w->s, ref);
    }
}

static void decide_loop(const deciding *d, tile_stmt *s, bool must) {
    layout *l = adopted(d, s);
    waiting_for w = {s, false, false};
    decide_refs(s, find_undecided, &w);
    if (!l && w.undecided && !w.covered && !must) {
        return; /* another statement knows better */
    }
    if (!l) {
        l = free_loop(d, s);
    }
    l->at = s->at;
    s->spread = l;
    follow_loop(d, s);
}

/* ---- reduce, copy, fill -------------------------------------------------------------------------------- */

static void follow_reduce(const deciding *d, const tile_stmt *s) {
    const buffer *src = s->src->buffer;
    buffer *dst = s->dst->buffer;
    if (is_spread(src) && !src->view_of && src->registers && dst->space == TG_FRAGMENT && !dst->view_of &&
        !dst->registers && same_dims(src->registers, src)) {
        layout *l = decide_without(d->a, src->registers, (int)s->dim);
        if (l && same_dims(l, dst)) {
            l->why = arena_print(d->a, "'%s' without dimension %lld", src->name, (long long)s->dim);
            l->at = s->at;
            dst->registers = l;
        }
    }
}

static bool is_whole_region(const node *r) {
    bool whole = r->n == r->buffer->rank && !r->buffer->view_of;
    for (int i = 0; whole && i < r->n; i++) {
        whole = expr_is_int(r->arg[i], 0) && r->dim[i] == r->buffer->dim[i];
    }
    return whole;
}

/* A fragment copied whole to another of its shape gives it its layout. */
static void follow_copy(const node *from, const node *to) {
    if (is_spread(from->buffer) && to->buffer->space == TG_FRAGMENT && is_whole_region(from) &&
        is_whole_region(to) && from->buffer->registers && !to->buffer->registers &&
        same_dims(from->buffer->registers, to->buffer)) {
        to->buffer->registers = from->buffer->registers;
    }
}

/* Everything that follows from what is decided. */
static void propagate(const deciding *d) {
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < d->n; i++) {
            const tile_stmt *s = d->item[i];
            if (s->kind == TILE_REDUCE) {
                follow_reduce(d, s);
            } else if (s->kind == TILE_COPY) {
                follow_copy(s->src, s->dst);
                follow_copy(s->dst, s->src);
            }
        }
    }
}

static void free_fragment(const deciding *d, buffer *b, const tile_stmt *s) {
    layout *l = s && (s->kind == TILE_COPY || s->kind == TILE_FILL)
                    ? copy_layout(d->k, d->t, s, true)
                    : choose(d, b->rank, b->dim, run_of_type(d, b->type), true, !is_reshaped(d, b));
    l->at = s ? s->at : b->at;
    b->registers = l;
}

/* A copy or fill decides a fragment that it covers; those that say how before anything else. */
static void decide_copies(const deciding *d, bool imposing) {
    for (int i = 0; i < d->n; i++) {
        const tile_stmt *s = d->item[i];
        if (s->kind != TILE_COPY && s->kind != TILE_FILL) {
            continue;
        }
        if (imposing && s->options.width == 0 && s->options.layout == TG_LAYOUT_AUTO) {
            continue;
        }
        const node *side[] = {s->dst, s->src};
        for (int j = 0; j < (s->src ? 2 : 1); j++) {
            buffer *b = side[j]->buffer;
            if (b->space == TG_FRAGMENT && !b->view_of && !b->registers && is_whole_region(side[j])) {
                free_fragment(d, b, s);
            }
        }
    }
}

/* A source of reduce that no loop has covered. */
static void decide_reduced(const deciding *d, int rank) {
    for (int i = 0; i < d->n; i++) {
        const tile_stmt *s = d->item[i];
        if (s->kind == TILE_REDUCE && s->src->buffer->rank >= rank && s->src->buffer->space == TG_FRAGMENT &&
            !s->src->buffer->view_of && !s->src->buffer->registers) {
            free_fragment(d, s->src->buffer, s);
        }
    }
}

/* Over what is reduced: as the source lies, else freely. */
static void spread_reduce(const deciding *d, tile_stmt *s) {
    const buffer *b = s->src->buffer;
    s->spread = is_spread(buffer_root(s->src->buffer)) && !b->view_of
                    ? b->registers
                    : choose(d, b->rank, b->dim, run_of_type(d, b->type), true, true);
}

/* ---- the pass ------------------------------------------------------------------------------------------ */

static bool is_shared_out(const tile_stmt *s) {
    return is_parallel(s) || s->kind == TILE_COPY || s->kind == TILE_FILL || s->kind == TILE_REDUCE;
}

static int gather(deciding *d, tile_block *b, int n) {
    for (tile_stmt *s = b->first; s; s = s->next) {
        if (is_shared_out(s)) {
            if (d->item) {
                d->item[n] = s;
            }
            n++;
        }
        if (!is_parallel(s)) {
            n = gather(d, &s->body, n);
            n = gather(d, &s->otherwise, n);
        }
    }
    return n;
}

static void decide_loops(const deciding *d, int rank, bool must) {
    for (int i = 0; i < d->n; i++) {
        if (is_parallel(d->item[i]) && d->item[i]->n == rank && !d->item[i]->spread) {
            decide_loop(d, d->item[i], must);
        }
    }
    propagate(d);
}

static void decide_rest(const deciding *d) {
    for (int i = 0; i < d->k->nbuffers; i++) {
        buffer *b = d->k->buffers[i];
        if (b->space == TG_FRAGMENT && !b->view_of && !b->registers) {
            free_fragment(d, b, NULL);
        }
    }
}

/* Reducers of so many elements may stand whole in every thread, where loops add to an element that is known only when
 * they run. */
enum { FEW = 1024 };

typedef struct adding {
    const buffer *reducer;
    bool found;
} adding;

static void find_adding(node *ref, bool is_write, const tile_stmt *at, void *user) {
    adding *x = user;
    (void)at;
    x->found |= is_write && ref->buffer == x->reducer;
}

static void decide_reducers(const deciding *d) {
    for (int i = 0; i < d->k->nbuffers; i++) {
        buffer *b = d->k->buffers[i];
        adding x = {b, false};
        for (int j = 0; j < d->n && b->space == TG_REDUCER && !b->registers; j++) {
            decide_refs(d->item[j], find_adding, &x);
        }
        if (x.found && buffer_elements(b) <= FEW) {
            b->registers = decide_everywhere(d->a, b->rank, b->dim, d->threads);
        } else if (b->space == TG_REDUCER && !b->registers) {
            free_fragment(d, b, NULL);
        }
    }
}

/* What an earlier run has decided. */
static void forget(const deciding *d) {
    for (int i = 0; i < d->k->nbuffers; i++) {
        d->k->buffers[i]->registers = NULL;
    }
    for (int i = 0; i < d->n; i++) {
        d->item[i]->spread = NULL;
    }
}

void tile_layout(tg_kernel *k, const target *t) {
    deciding d = {.k = k, .a = &k->memory, .t = t, .threads = tile_threads(k)};
    tile_independent(k);
    d.n = gather(&d, &k->body, 0);
    d.item = ARENA_ARRAY(d.a, tile_stmt *, d.n + 1);
    (void)gather(&d, &k->body, 0);
    forget(&d);
    decide_copies(&d, true);
    propagate(&d);
    for (int rank = TG_MAX_RANK; rank >= 0; rank--) {
        decide_loops(&d, rank, false);
        decide_reduced(&d, rank);
        propagate(&d);
    }
    decide_copies(&d, false);
    propagate(&d);
    decide_rest(&d);
    for (int rank = TG_MAX_RANK; rank >= 0; rank--) {
        decide_loops(&d, rank, true);
    }
    decide_reducers(&d);
    for (int i = 0; i < d.n; i++) {
        if (d.item[i]->kind == TILE_REDUCE) {
            spread_reduce(&d, d.item[i]);
        }
    }
    tile_by_warp(k, t, d.item, d.n);
}

/* ---- for people ---------------------------------------------------------------------------------------- */

static void print_loops(const tile_block *b, text *out) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        if (is_parallel(s) && s->spread) {
            text name = {NULL, 0, 0, false};
            text_print(&name, "parallel at line %d", s->at.line);
            layout_print(s->spread, name.s ? name.s : "parallel", out);
            text_free(&name);
        }
        print_loops(&s->body, out);
        print_loops(&s->otherwise, out);
    }
}

void tile_layout_print(const tg_kernel *k, text *out) {
    for (int i = 0; i < k->nbuffers; i++) {
        if (k->buffers[i]->registers) {
            layout_print(k->buffers[i]->registers, k->buffers[i]->name, out);
        }
    }
    print_loops(&k->body, out);
}
