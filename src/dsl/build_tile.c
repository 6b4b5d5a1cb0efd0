/* build_tile.c -- the builder's statements on tiles: copy, clear, fill, reduce, finalize, sync_threads; see
 * build.h.
 *
 * They belong to all threads of a block, except a copy, clear or fill of a local, which is each thread's own.
 * Here: not inside parallel, shapes, types.  Uniform conditions are judged by build_check.c. */

#include "dsl/build.h"

bool build_collective(tg_kernel *k, tg_loc at, const char *word) {
    build_scope *p = build_enclosing(k, TG_PARALLEL);
    if (p) {
        diag_error(&k->errors, at, "%s is collective: it cannot stand inside the parallel at %s", word,
                   build_place(k, p->at));
    }
    return !p;
}

/* ---- regions ------------------------------------------------------------------------------------------- */

static bool is_local(const node *region) {
    return region->buffer->space == TG_LOCAL;
}

/* Does a region certainly leave a buffer that must hold it?  (Of a tensor, reads outside are padded.) */
static bool region_inside(tg_kernel *k, tg_loc at, const char *word, const node *r) {
    const buffer *b = r->buffer;
    for (int i = 0; i < r->n && b->space != TG_GLOBAL; i++) {
        const node *corner = r->arg[i];
        if (corner->lo >= 0 ? corner->lo > b->dim[i] - r->dim[i] : corner->hi < 0) {
            diag_error(&k->errors, at, "%s: '%s' leaves the buffer: extent %d is %lld; it was made at %s",
                       word, expr_text(&k->memory, r), i, (long long)b->dim[i], build_place(k, b->at));
            return false;
        }
    }
    return true;
}

/* A region whose lengths are all known; NULL after a mistake. */
static bool has_lengths(tg_kernel *k, tg_loc at, const char *word, const node *r) {
    for (int i = 0; i < r->n; i++) {
        if (r->dim[i] < 0) {
            diag_error(&k->errors, at, "%s: extent %d of '%s' is known at launch only: use slice", word, i,
                       r->buffer->name);
            return false;
        }
        if (r->dim[i] == 0) {
            diag_error(&k->errors, at, "%s: '%s' takes its length from the other side of a copy: use slice",
                       word, expr_text(&k->memory, r));
            return false;
        }
    }
    return true;
}

/* r with lengths and its corner in elements. */
static node *resolved(tg_kernel *k, const node *r, const int64_t *length) {
    node *corner[TG_MAX_RANK];
    for (int i = 0; i < r->n; i++) {
        corner[i] = r->in_tiles ? expr_mul(&k->memory, r->arg[i], length[i]) : r->arg[i];
    }
    node *full = expr_region(&k->memory, r->at, r->buffer, r->n, corner);
    for (int i = 0; i < r->n; i++) {
        full->dim[i] = length[i];
    }
    return full;
}

/* ---- copy ---------------------------------------------------------------------------------------------- */

static bool say_extents_differ(tg_kernel *k, tg_loc at, const node *a, int i, int64_t n, const node *b, int j,
                               int64_t m) {
    const node *longer = i < 0 ? b : a;
    if (i < 0 || j < 0) {
        const node *other = i < 0 ? a : b;
        diag_error(&k->errors, at, "copy: extent %d of '%s' is %lld but '%s' has %d dimension%s",
                   i < 0 ? j : i, longer->buffer->name, (long long)(i < 0 ? m : n), other->buffer->name,
                   other->n, other->n == 1 ? "" : "s");
    } else if (i == j) {
        diag_error(&k->errors, at, "copy: extent %d of '%s' is %lld but that of '%s' is %lld", i,
                   a->buffer->name, (long long)n, b->buffer->name, (long long)m);
    } else {
        diag_error(&k->errors, at, "copy: extent %d of '%s' is %lld but extent %d of '%s' is %lld", i,
                   a->buffer->name, (long long)n, j, b->buffer->name, (long long)m);
    }
    return false;
}

static bool is_open_ended(const node *r) {
    return r->n > 0 && r->dim[0] == 0;
}

/* Lengths of both sides, matched from the right; what is missing on the left counts as 1. */
static bool match_lengths(tg_kernel *k, tg_loc at, const node *a, const node *b, int64_t *n, int64_t *m) {
    for (int p = 0; p < a->n || p < b->n; p++) {
        int i = a->n - 1 - p, j = b->n - 1 - p;
        int64_t x = i >= 0 ? a->dim[i] : 1, y = j >= 0 ? b->dim[j] : 1;
        x = x ? x : y;
        y = y ? y : x;
        if (x != y) {
            return say_extents_differ(k, at, a, i, x, b, j, y);
        }
        if (i >= 0) {
            n[i] = x;
        }
        if (j >= 0) {
            m[j] = y;
        }
    }
    return true;
}

/* The distance y - x where it is a constant. */
static bool constant_distance(tg_kernel *k, node *x, node *y, int64_t *distance) {
    int64_t shift[2] = {0, 0};
    node *base[2] = {x, y};
    for (int i = 0; i < 2; i++) {
        node *e = base[i];
        if (e->kind == E_OP && (e->op == TG_ADD || e->op == TG_SUB) && expr_is_const(e->arg[1])) {
            shift[i] = e->op == TG_ADD ? e->arg[1]->ival : -e->arg[1]->ival;
            base[i] = e->arg[0];
        }
    }
    bool known = expr_equal(base[0], base[1]);
    if (known) {
        *distance = shift[1] - shift[0];
    } else {
        node *d = expr_binary(&k->memory, x->at, TG_SUB, y, x);
        known = expr_is_const(d);
        *distance = known ? d->ival : 0;
    }
    return known;
}

/* Two regions of one buffer that certainly share elements. */
static bool overlap(tg_kernel *k, const node *a, const node *b) {
    if (a->buffer != b->buffer) {
        return buffer_root(a->buffer) == buffer_root(b->buffer) && !a->n && !b->n;
    }
    for (int i = 0; i < a->n; i++) {
        int64_t d;
        if (!constant_distance(k, a->arg[i], b->arg[i], &d) || d >= a->dim[i] || d <= -b->dim[i]) {
            return false;
        }
    }
    return true;
}

static bool check_options(tg_kernel *k, tg_loc at, const tg_copy_options *o, const node *src) {
    const buffer *b = src->buffer;
    if (o->width < 0 || (o->width & (o->width - 1)) || o->width * type_bytes(b->type) > 16) {
        diag_error(&k->errors, at,
                   "copy: a width of %d elements of %s; it must be a power of two of up to 16 bytes",
                   o->width, type_name(b->type));
        return false;
    }
    if (o->layout < TG_LAYOUT_AUTO || o->layout > TG_STRIPED) {
        diag_error(&k->errors, at, "copy: %d is no layout; TG_BLOCKED and TG_STRIPED are", (int)o->layout);
        return false;
    }
    if (o->outside != 0.0 && b->space != TG_GLOBAL) {
        diag_error(&k->errors, at, "copy: nothing of '%s' is outside: only reads of tensors are padded",
                   b->name);
        return false;
    }
    const char *place = arena_print(&k->memory, "the .outside of '%s'", b->name);
    node *outside = expr_const(&k->memory, at, value_real(TYPE_REAL, o->outside));
    return o->outside == 0.0 || build_convert(k, at, place, b->type, outside) != NULL;
}

/* Tile operations do not write into reducers but through accum; `word` says what is tried. */
static bool not_a_reducer(tg_kernel *k, tg_loc at, const char *word, const buffer *b) {
    if (b->space != TG_REDUCER) {
        return true;
    }
    diag_error(&k->errors, at, "%s into the reducer '%s', made at %s: accum combines, fill seeds", word,
               b->name, build_place(k, b->at));
    return false;
}

void tg_copy(tg_kernel *k, tg_loc at, tg_tile src, tg_tile dst, tg_copy_options options) {
    node *a = src.node, *b = dst.node;
    if (!build_ready(k, at) || !build_inside(k, at, "copy") || build_poisoned(a) || build_poisoned(b)) {
        return;
    }
    bool own = is_local(a) || is_local(b);
    if ((!own && !build_collective(k, at, "copy")) || (own && !build_has_thread(k, at, "copy", b->buffer))) {
        return;
    }
    if (!not_a_reducer(k, at, "copy", b->buffer) || !build_uses(k, at, a) || !build_uses(k, at, b)) {
        return;
    }
    if (is_open_ended(a) && is_open_ended(b)) {
        diag_error(&k->errors, at, "copy: neither '%s' nor '%s' says how much: use slice on one side",
                   a->buffer->name, b->buffer->name);
        return;
    }
    if ((!is_open_ended(a) && !has_lengths(k, at, "copy", a)) ||
        (!is_open_ended(b) && !has_lengths(k, at, "copy", b))) {
        return;
    }
    int64_t n[TG_MAX_RANK], m[TG_MAX_RANK];
    if (!match_lengths(k, at, a, b, n, m) || !check_options(k, at, &options, a)) {
        return;
    }
    a = resolved(k, a, n);
    b = resolved(k, b, m);
    if (!region_inside(k, at, "copy", a) || !region_inside(k, at, "copy", b)) {
        return;
    }
    if (overlap(k, a, b)) {
        diag_error(&k->errors, at, "copy: '%s' and '%s' overlap", expr_text(&k->memory, a),
                   expr_text(&k->memory, b));
        return;
    }
    tile_stmt *s = build_stmt(k, at, TILE_COPY);
    s->src = a;
    s->dst = b;
    s->options = options;
    build_append(k, s);
}

/* ---- clear and fill ------------------------------------------------------------------------------------ */

static tile_stmt *fill(tg_kernel *k, tg_loc at, const char *word, node *r) {
    if (!build_ready(k, at) || !build_inside(k, at, word) || build_poisoned(r)) {
        return NULL;
    }
    if (!is_local(r) && !build_collective(k, at, word)) {
        return NULL;
    }
    if (!has_lengths(k, at, word, r) || !build_uses(k, at, r) || !region_inside(k, at, word, r)) {
        return NULL;
    }
    tile_stmt *s = build_stmt(k, at, TILE_FILL);
    s->dst = r;
    return s;
}

void tg_clear(tg_kernel *k, tg_loc at, tg_tile dst) {
    tile_stmt *s = fill(k, at, "clear", dst.node);
    if (s) {
        const buffer *b = s->dst->buffer;
        s->is_clear = true;
        s->value = expr_const(&k->memory, at,
                              b->space == TG_REDUCER ? reduction_identity(b->reduction, b->type)
                                                     : value_int(b->type, 0));
        build_append(k, s);
    }
}

void tg_fill(tg_kernel *k, tg_loc at, tg_tile dst, tg_expr v) {
    if (build_poisoned(v.node)) {
        return;
    }
    tile_stmt *s = fill(k, at, "fill", dst.node);
    if (!s) {
        return;
    }
    const buffer *b = s->dst->buffer;
    s->value = build_convert(k, at, arena_print(&k->memory, "'%s'", b->name), b->type, v.node);
    if (s->value && build_uses(k, at, s->value)) {
        build_append(k, s);
    }
}

/* ---- reduce, finalize, sync_threads -------------------------------------------------------------------- */

static bool can_reduce(tg_kernel *k, tg_loc at, const buffer *b) {
    if (b->space == TG_GLOBAL || b->space == TG_LOCAL) {
        diag_error(&k->errors, at,
                   "reduce works on fragments and shared buffers; '%s', made at %s, is neither", b->name,
                   build_place(k, b->at));
        return false;
    }
    if (b->type == TG_BOOL) {
        diag_error(&k->errors, at, "reduce: '%s' is bool; it must be a number", b->name);
        return false;
    }
    return true;
}

/* dst must be src without dimension dim. */
static bool reduce_shapes(tg_kernel *k, tg_loc at, const buffer *src, const buffer *dst, int64_t dim) {
    if (dim < 0 || dim >= src->rank) {
        diag_error(&k->errors, at, "reduce: '%s' has no dimension %lld; it has %d", src->name, (long long)dim,
                   src->rank);
        return false;
    }
    if (dst->rank != src->rank - 1) {
        diag_error(&k->errors, at, "reduce: '%s' has %d dimensions, so '%s' must have %d and not %d",
                   src->name, src->rank, dst->name, src->rank - 1, dst->rank);
        return false;
    }
    for (int i = 0; i < dst->rank; i++) {
        int j = i < dim ? i : i + 1;
        if (src->dim[j] != dst->dim[i]) {
            diag_error(&k->errors, at, "reduce: extent %d of '%s' is %lld but extent %d of '%s' is %lld", j,
                       src->name, (long long)src->dim[j], i, dst->name, (long long)dst->dim[i]);
            return false;
        }
    }
    return true;
}

void tg_reduce(tg_kernel *k, tg_loc at, int64_t reduction, tg_buf src, tg_buf dst, int64_t dim) {
    if (!build_ready(k, at) || !build_inside(k, at, "reduce") || !build_collective(k, at, "reduce") ||
        build_poisoned(src.node) || build_poisoned(dst.node)) {
        return;
    }
    if (reduction < TG_SUM || reduction > TG_MIN) {
        diag_error(&k->errors, at, "reduce: %lld is no reduction; SUM, MAX and MIN are",
                   (long long)reduction);
        return;
    }
    const buffer *a = src.node->buffer, *b = dst.node->buffer;
    if (!can_reduce(k, at, a) || !can_reduce(k, at, b) || !not_a_reducer(k, at, "reduce", b) ||
        !reduce_shapes(k, at, a, b, dim) || !build_uses(k, at, src.node) || !build_uses(k, at, dst.node)) {
        return;
    }
    tile_stmt *s = build_stmt(k, at, TILE_REDUCE);
    s->src = src.node;
    s->dst = dst.node;
    s->reduction = (tg_reduction)reduction;
    s->dim = dim;
    build_append(k, s);
}

void tg_finalize(tg_kernel *k, tg_loc at, tg_buf reducer) {
    if (!build_ready(k, at) || !build_inside(k, at, "finalize") || !build_collective(k, at, "finalize") ||
        build_poisoned(reducer.node)) {
        return;
    }
    const buffer *b = reducer.node->buffer;
    if (b->space != TG_REDUCER) {
        diag_error(&k->errors, at, "finalize: '%s', made at %s, is no reducer", b->name,
                   build_place(k, b->at));
    } else if (build_uses(k, at, reducer.node)) {
        tile_stmt *s = build_stmt(k, at, TILE_FINALIZE);
        s->dst = reducer.node;
        build_append(k, s);
    }
}

void tg_sync_threads(tg_kernel *k, tg_loc at) {
    if (build_ready(k, at) && build_inside(k, at, "sync_threads") &&
        build_collective(k, at, "sync_threads")) {
        build_append(k, build_stmt(k, at, TILE_SYNC));
    }
}
