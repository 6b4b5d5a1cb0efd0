/* build_buffer.c -- buffers, elements and regions of the builder; see build.h. */
#include <string.h>

#include "dsl/build.h"

enum { MAX_BYTES = 1 << 30 }; /* of a buffer that is no tensor: far beyond every device */

static tg_buf poison_buf(tg_kernel *k) {
    return (tg_buf){build_poison(k)};
}

static tg_buf handle_of(tg_kernel *k, tg_loc at, buffer *b) {
    node *x = ARENA_NEW(&k->memory, node);
    *x = (node){.kind = E_BUFFER, .type = b->type, .at = at, .lanes = 1, .size = 1, .buffer = b};
    return (tg_buf){x};
}

/* ---- making -------------------------------------------------------------------------------------------- */

/* The type and the extents of something called `name`; false after a mistake. */
static bool check_shape(tg_kernel *k, tg_loc at, const char *word, const char *name, const tg_shape *shape) {
    if (shape->n < 1 || shape->n > TG_MAX_RANK + 1) {
        diag_error(&k->errors, at, "%s '%s' has %d dimensions; at most %d are possible", word, name,
                   shape->n - 1, TG_MAX_RANK);
        return false;
    }
    if (!type_is_element(shape->v[0])) {
        diag_error(&k->errors, at, "%s '%s': %lld is no element type", word, name, (long long)shape->v[0]);
        return false;
    }
    double bytes = type_bytes(shape->v[0]);
    for (int i = 1; i < shape->n; i++) {
        if (shape->v[i] < 1) {
            diag_error(&k->errors, at, "%s '%s': extent %d is %lld; it must be positive", word, name, i - 1,
                       (long long)shape->v[i]);
            return false;
        }
        if (type_is_element(shape->v[i])) {
            diag_error(&k->errors, at, "%s '%s': extent %d is the element type %s, not a number", word, name,
                       i - 1, type_name(shape->v[i]));
            return false;
        }
        bytes *= (double)shape->v[i];
    }
    if (bytes > MAX_BYTES) {
        diag_error(&k->errors, at, "%s '%s' would have %.4g bytes, more than any device gives", word, name,
                   bytes);
        return false;
    }
    return true;
}

static void take_shape(buffer *b, const tg_shape *shape) {
    b->rank = shape->n - 1;
    for (int i = 0; i < b->rank; i++) {
        b->dim[i] = shape->v[i + 1];
    }
}

/* As wide accesses want it, but no wider than the buffer: a power of two up to 16. */
static int64_t natural_align(const buffer *b) {
    int64_t align = type_bytes(b->type), bytes = buffer_bytes(b);
    while (align < 16 && align < bytes) {
        align *= 2;
    }
    return align;
}

static tg_buf allocate(tg_kernel *k, tg_loc at, tg_space space, tg_reduction reduction, const char *name,
                       const tg_shape *shape) {
    const char *word = tile_space_word(space);
    name = name ? name : "buffer";
    if (!build_inside(k, at, arena_print(&k->memory, "%s '%s'", word, name)) ||
        !check_shape(k, at, word, name, shape)) {
        return poison_buf(k);
    }
    build_scope *parallel = build_enclosing(k, TG_PARALLEL);
    if (parallel && space != TG_LOCAL) {
        diag_error(&k->errors, at, "%s '%s' belongs to the whole block: declare it before the parallel at %s",
                   word, name, build_place(k, parallel->at));
        return poison_buf(k);
    }
    buffer *b = build_new_buffer(k, at, space, name, shape->v[0]);
    take_shape(b, shape);
    b->align = natural_align(b);
    b->reduction = reduction;
    tile_stmt *s = build_stmt(k, at, TILE_ALLOC);
    s->buffer = b;
    build_append(k, s);
    return handle_of(k, at, b);
}

tg_buf tg_alloc(tg_kernel *k, tg_loc at, tg_space space, const char *name, tg_shape shape) {
    if (!build_ready(k, at)) {
        return poison_buf(k);
    }
    if (space != TG_SHARED && space != TG_LOCAL && space != TG_FRAGMENT) {
        diag_error(&k->errors, at, "'%s': tg_alloc() makes shared, local and fragment buffers", name);
        return poison_buf(k);
    }
    return allocate(k, at, space, (tg_reduction)0, name, &shape);
}

tg_buf tg_reducer(tg_kernel *k, tg_loc at, int64_t reduction, const char *name, tg_shape shape) {
    if (!build_ready(k, at)) {
        return poison_buf(k);
    }
    if (reduction < TG_SUM || reduction > TG_MIN) {
        diag_error(&k->errors, at, "reducer '%s': %lld is no reduction; SUM, MAX and MIN are", name,
                   (long long)reduction);
        return poison_buf(k);
    }
    if (shape.v[0] == TG_BOOL) {
        diag_error(&k->errors, at, "reducer '%s' is bool; it must be a number", name);
        return poison_buf(k);
    }
    return allocate(k, at, TG_REDUCER, (tg_reduction)reduction, name, &shape);
}

/* ---- views --------------------------------------------------------------------------------------------- */

/* Why the bytes of b cannot be seen as `shape`; NULL when they can. */
static const char *view_mistake(tg_kernel *k, const buffer *b, const tg_shape *shape) {
    int64_t type = shape->v[0], n = 1;
    for (int i = 1; i < shape->n; i++) {
        n *= shape->v[i];
    }
    if (buffer_bytes(b) < 0) {
        return "its outermost extent is known at launch only";
    }
    if (b->pitch) {
        return "its rows are pitched, so its bytes are not all its own";
    }
    if (b->space == TG_REDUCER || (b->space == TG_FRAGMENT && type_bits(type) != type_bits(b->type))) {
        return "its elements are spread over the threads";
    }
    if (type == TG_BOOL && b->type != TG_BOOL) {
        return "not every byte is a bool";
    }
    if (n * type_bytes(type) != buffer_bytes(b)) {
        return arena_print(&k->memory, "the view has %lld bytes but it has %lld",
                           (long long)(n * type_bytes(type)), (long long)buffer_bytes(b));
    }
    if (b->space == TG_GLOBAL && type_bytes(type) > b->align) {
        return arena_print(&k->memory, "%s needs an alignment of %d bytes but it is aligned to %lld",
                           type_name(type), type_bytes(type), (long long)b->align);
    }
    return NULL;
}

tg_buf tg_view(tg_kernel *k, tg_loc at, tg_buf buf, tg_shape shape) {
    if (!build_ready(k, at) || build_poisoned(buf.node)) {
        return poison_buf(k);
    }
    buffer *b = buf.node->buffer;
    if (!check_shape(k, at, "view of", b->name, &shape)) {
        return poison_buf(k);
    }
    const char *mistake = view_mistake(k, b, &shape);
    if (mistake) {
        diag_error(&k->errors, at, "view of '%s', made at %s: %s", b->name, build_place(k, b->at), mistake);
        return poison_buf(k);
    }
    const char *name = arena_print(&k->memory, "%s_%s", b->name, type_name(shape.v[0]));
    buffer *v = build_new_buffer(k, at, b->space, name, shape.v[0]);
    take_shape(v, &shape);
    v->view_of = b;
    v->is_constant = b->is_constant;
    buffer *root = buffer_root(b);
    if (root->space != TG_GLOBAL && root->align < type_bytes(v->type)) {
        root->align = type_bytes(v->type);
    }
    v->align = root->align;
    return handle_of(k, at, v);
}

/* ---- elements ------------------------------------------------------------------------------------------ */

static const char *dimensions(tg_kernel *k, int n) {
    return arena_print(&k->memory, "%d dimension%s", n, n == 1 ? "" : "s");
}

/* Indices or corners of b as index expressions in `to`; false when one is poison or a mistake. */
static bool take_indices(tg_kernel *k, tg_loc at, const buffer *b, const tg_index *from, int step,
                         node **to) {
    for (int i = 0; i < b->rank; i++) {
        node *x = from->e[i * step].node;
        if (build_poisoned(x)) {
            return false;
        }
        to[i] = x->type == TYPE_INDEX
                    ? x
                    : build_index(k, at, arena_print(&k->memory, "index %d of '%s'", i, b->name), x);
        if (!to[i]) {
            return false;
        }
    }
    return true;
}

tg_ref tg_at(tg_kernel *k, tg_loc at, tg_buf buf, tg_index index) {
    tg_ref none = {build_poison(k)};
    if (!build_ready(k, at) || build_poisoned(buf.node)) {
        return none;
    }
    buffer *b = buf.node->buffer;
    if (index.n != b->rank) {
        diag_error(&k->errors, at, "'%s' has %s but is indexed with %d; it was made at %s", b->name,
                   dimensions(k, b->rank), index.n, build_place(k, b->at));
        return none;
    }
    node *x[TG_MAX_RANK];
    if (!take_indices(k, at, b, &index, 1, x)) {
        return none;
    }
    return (tg_ref){build_bounded(k, at, expr_ref(&k->memory, at, b, index.n, x, 1))};
}

/* ---- regions ------------------------------------------------------------------------------------------- */

tg_tile tg_whole(tg_kernel *k, tg_loc at, tg_buf buf) {
    if (!build_ready(k, at) || build_poisoned(buf.node)) {
        return (tg_tile){build_poison(k)};
    }
    buffer *b = buf.node->buffer;
    node *corner[TG_MAX_RANK];
    for (int i = 0; i < b->rank; i++) {
        corner[i] = expr_int(&k->memory, at, 0);
    }
    node *r = expr_region(&k->memory, at, b, b->rank, corner);
    for (int i = 0; i < b->rank; i++) {
        r->dim[i] = b->dim[i];
    }
    return (tg_tile){r};
}

/* The region of b with as many corners as it has dimensions; poison after a mistake. */
static node *cornered(tg_kernel *k, tg_loc at, tg_buf buf, const tg_index *index, int step) {
    if (!build_ready(k, at) || build_poisoned(buf.node)) {
        return build_poison(k);
    }
    buffer *b = buf.node->buffer;
    node *corner[TG_MAX_RANK];
    if (index->n != b->rank * step) {
        diag_error(&k->errors, at, "'%s' has %s but the region names %d; it was made at %s", b->name,
                   dimensions(k, b->rank), index->n / step, build_place(k, b->at));
        return build_poison(k);
    }
    if (!take_indices(k, at, b, index, step, corner)) {
        return build_poison(k);
    }
    return build_bounded(k, at, expr_region(&k->memory, at, b, b->rank, corner));
}

tg_tile tg_tile_at(tg_kernel *k, tg_loc at, tg_buf buf, tg_index tile) {
    node *r = cornered(k, at, buf, &tile, 1);
    if (!build_poisoned(r)) {
        r->in_tiles = true;
    }
    return (tg_tile){r};
}

tg_tile tg_tile_from(tg_kernel *k, tg_loc at, tg_buf buf, tg_index corner) {
    return (tg_tile){cornered(k, at, buf, &corner, 1)};
}

tg_tile tg_slice(tg_kernel *k, tg_loc at, tg_buf buf, tg_index pairs) {
    if (build_ready(k, at) && pairs.n % 2) {
        diag_error(&k->errors, at, "slice takes an offset and a length for each dimension");
        return (tg_tile){build_poison(k)};
    }
    node *r = cornered(k, at, buf, &pairs, 2);
    for (int i = 0; !build_poisoned(r) && i < r->n; i++) {
        node *length = pairs.e[2 * i + 1].node;
        if (build_poisoned(length)) {
            return (tg_tile){build_poison(k)};
        }
        if (length->kind != E_CONST || length->type != TYPE_INDEX || length->ival < 1) {
            diag_error(&k->errors, at, "slice: length %d of '%s' is '%s'; it must be a positive host integer",
                       i, r->buffer->name, expr_text(&k->memory, length));
            return (tg_tile){build_poison(k)};
        }
        r->dim[i] = length->ival;
    }
    return (tg_tile){r};
}
