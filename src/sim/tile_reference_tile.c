/* tile_reference_tile.c -- operations on whole regions: copy, clear, fill, reduce, finalize.
 *
 * Reads regions (corners evaluated in the current thread) and places.  A region is walked row by row: along
 * its innermost dimension elements follow each other, and those inside the buffer are one run lo..hi.
 *
 *     j:      0 1 2 3 4 5 6 7          a row of 8 that hangs over the right edge of a tensor:
 *     inside  . . . . . x x x          lo = 0, hi = 5
 *
 * Outside a tensor reads give `.outside` and writes are dropped; leaving another buffer is a finding.
 * Elements of one dst element are combined in ascending order of the source. */
#include "sim/tile_reference_state.h"

#include <stdio.h>
#include <string.h>

typedef struct region {
    const node *what;
    place *p;
    int n;
    int64_t corner[TG_MAX_RANK], length[TG_MAX_RANK];
} region;

/* The run of elements of a region that share all indices but the last. */
typedef struct row {
    int64_t offset; /* bytes, of j = 0, which may lie outside */
    int64_t lo, hi; /* j in lo..hi-1 are inside */
} row;

/* ---- regions ------------------------------------------------------------------------------------------- */

static region read_region(machine *m, const node *x) {
    region g = {.what = x, .p = reference_place(m, x->buffer), .n = x->n};
    for (int i = 0; i < x->n; i++) {
        g.length[i] = x->dim[i] >= 0 ? x->dim[i] : g.p->dim[i];
        g.corner[i] = reference_eval_int(m, x->arg[i]);
        if (x->in_tiles) {
            const value c = {TYPE_INDEX, (uint64_t)g.corner[i]}, l = {TYPE_INDEX, (uint64_t)g.length[i]};
            g.corner[i] = value_as_int(reference_combine(m, TG_MUL, c, l, x));
        }
    }
    return g;
}

/* Length along dimension i of n, matched from the right: what the region lacks is 1. */
static int64_t length_of(const region *g, int n, int i) {
    return i < n - g->n ? 1 : g->length[i - (n - g->n)];
}

/* x + y, at the nearest end of the range where that is outside: far off any buffer all the same. */
static int64_t plus(int64_t x, int64_t y) {
    return y > 0 && x > INT64_MAX - y ? INT64_MAX : x + y;
}

/* A finding where a region leaves a buffer that is no tensor. */
static void expect_inside(machine *m, const region *g) {
    for (int i = 0; i < g->n; i++) {
        const int64_t end = plus(g->corner[i], g->length[i]);
        if (g->p->root->buffer->space == TG_GLOBAL || (g->corner[i] >= 0 && end <= g->p->dim[i])) {
            continue;
        }
        finding *f = reference_find(m, FINDING_BOUNDS, g->what);
        if (f != NULL) {
            text t = {0};
            expr_print(g->what, &t);
            snprintf(f->text, sizeof f->text, "'%s' leaves '%s': dimension %d covers %lld..%lld of 0..%lld",
                     t.s != NULL ? t.s : "", g->p->buffer->name, i, (long long)g->corner[i],
                     (long long)end - 1, (long long)g->p->dim[i] - 1);
            text_free(&t);
        }
        return;
    }
}

static void expect_aligned(machine *m, const region *g) {
    finding *f = g->p->misaligned ? reference_find(m, FINDING_MISALIGNED, g->what) : NULL;
    if (f != NULL) {
        snprintf(f->text, sizeof f->text, "the memory of '%s' is not aligned for %s", g->p->buffer->name,
                 type_name(g->p->type));
    }
}

/* Row number r of the region; rows count in row-major order over all dimensions but the last. */
static row find_row(const machine *m, const region *g, int64_t r) {
    const place *p = g->p;
    const int last = g->n - 1;
    if (last < 0) {
        return (row){.offset = reference_share(m, p), .lo = 0, .hi = 1};
    }
    int64_t element = 0;
    bool inside = true;
    for (int i = last - 1; i >= 0; i--) {
        const int64_t x = plus(g->corner[i], r % g->length[i]);
        r /= g->length[i];
        inside = inside && x >= 0 && x < p->dim[i];
        element += inside ? x * p->step[i] : 0;
    }
    const int64_t from = g->corner[last];
    inside = inside && from < p->dim[last] && plus(from, g->length[last]) > 0;
    if (!inside) {
        return (row){0};
    }
    return (row){.offset = (element + from) * (int64_t)p->size + reference_share(m, p),
                 .lo = from < 0 ? -from : 0,
                 .hi = p->dim[last] - from};
}

static int64_t min(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- copy ---------------------------------------------------------------------------------------------- */

/* The same buffer on both sides, and a common element. */
static void expect_apart(machine *m, const region *src, const region *dst) {
    bool overlap = src->p == dst->p;
    for (int i = 0; overlap && i < src->n; i++) {
        overlap = src->corner[i] < plus(dst->corner[i], dst->length[i]) &&
                  dst->corner[i] < plus(src->corner[i], src->length[i]);
    }
    finding *f = overlap ? reference_find(m, FINDING_RACE, src->what) : NULL;
    if (f != NULL) {
        snprintf(f->text, sizeof f->text, "source and destination of the copy overlap in '%s'",
                 src->p->buffer->name);
    }
}

/* As whole bytes, where nothing is converted, outside or unwritten; else false and nothing happened. */
static bool copy_bytes(machine *m, const region *src, row from, const region *dst, row to, int64_t n) {
    const place *p = src->p;
    const size_t bytes = (size_t)n * p->size;
    if (p->type != dst->p->type || from.lo > 0 || to.lo > 0 || from.hi < n || to.hi < n || n <= 0) {
        return false;
    }
    if (p->written != NULL && memchr(p->written + from.offset, 0, bytes) != NULL) {
        return false;
    }
    reference_touch(m, dst->p);
    memmove(dst->p->bytes + to.offset, p->bytes + from.offset, bytes);
    if (dst->p->written != NULL) {
        memset(dst->p->written + to.offset, 0xff, bytes);
    }
    return true;
}

static void copy_elements(machine *m, const region *src, row from, const region *dst, row to, value outside) {
    const int64_t size = (int64_t)src->p->size;
    for (int64_t j = to.lo; j < to.hi; j++) {
        const bool inside = j >= from.lo && j < from.hi;
        const value v = inside ? reference_get(m, src->p, from.offset + j * size, src->what) : outside;
        reference_put(m, dst->p, to.offset + j * (int64_t)dst->p->size,
                      reference_fit(m, dst->p, v, src->what));
    }
}

/* Rows of a region that is seen with n dimensions. */
static int64_t count_rows(const region *g, int n) {
    int64_t rows = 1;
    for (int i = 0; i < n - 1; i++) {
        rows *= length_of(g, n, i);
    }
    return rows;
}

/* What must hold of a copy before its first element moves; false when the builder let a mistake pass. */
static bool check_copy(machine *m, const region *src, const region *dst, int n) {
    for (int i = 0; i < n; i++) {
        if (length_of(src, n, i) != length_of(dst, n, i)) {
            tg_bug("copy: extent %d is %lld and %lld", i, (long long)length_of(src, n, i),
                   (long long)length_of(dst, n, i));
            return false;
        }
    }
    expect_inside(m, src);
    expect_inside(m, dst);
    expect_aligned(m, src);
    expect_aligned(m, dst);
    expect_apart(m, src, dst);
    reference_expect(m, src->p, EPOCH_CLOSED, src->what);
    return true;
}

void reference_copy(machine *m, const tile_stmt *s) {
    const region src = read_region(m, s->src), dst = read_region(m, s->dst);
    const int n = src.n > dst.n ? src.n : dst.n;
    if (!check_copy(m, &src, &dst, n)) {
        return;
    }
    const double filler = src.p->root->buffer->space == TG_GLOBAL ? s->options.outside : 0;
    const value outside = reference_fit(m, dst.p, value_real(TG_F64, filler), src.what);
    const int64_t rows = count_rows(&src, n), length = n > 0 ? length_of(&src, n, n - 1) : 1;
    for (int64_t r = 0; r < rows; r++) {
        const row from = find_row(m, &src, r);
        row to = find_row(m, &dst, r);
        if (!copy_bytes(m, &src, from, &dst, to, length)) {
            to.hi = min(to.hi, length);
            copy_elements(m, &src, from, &dst, to, outside);
        }
    }
}

/* ---- clear and fill ------------------------------------------------------------------------------------ */

static value fill_value(machine *m, const tile_stmt *s, const place *p) {
    const buffer *b = p->root->buffer;
    if (!s->is_clear) {
        return reference_fit(m, p, reference_eval(m, s->value), s->value);
    }
    return b->space == TG_REDUCER ? reduction_identity(b->reduction, p->type) : value_int(p->type, 0);
}

void reference_fill(machine *m, const tile_stmt *s) {
    const region g = read_region(m, s->dst);
    const value v = fill_value(m, s, g.p);
    const int64_t length = g.n > 0 ? g.length[g.n - 1] : 1;
    const int64_t rows = count_rows(&g, g.n);
    expect_inside(m, &g);
    expect_aligned(m, &g);
    for (int64_t r = 0; r < rows; r++) {
        const row to = find_row(m, &g, r);
        for (int64_t j = to.lo; j < min(to.hi, length); j++) {
            reference_put(m, g.p, to.offset + j * (int64_t)g.p->size, v);
        }
    }
    g.p->root->epoch = EPOCH_OPEN; /* means something to reducers only */
}

/* ---- reduce and finalize ------------------------------------------------------------------------------- */

/* One element of dst: the elements of src from number `first`, `stride` apart, in dst's type. */
static value reduce_one(machine *m, const tile_stmt *s, int64_t first, int64_t stride, int64_t n) {
    place *src = reference_place(m, s->src->buffer);
    const place *dst = reference_place(m, s->dst->buffer);
    const int64_t type = reference_type(m, dst->type), share = reference_share(m, src);
    value sum = reduction_identity(s->reduction, type);
    for (int64_t j = 0; j < n; j++) {
        const int64_t offset = share + reference_element(src, first + j * stride) * (int64_t)src->size;
        value_fault fault = FAULT_NONE;
        const value x = value_cast(reference_get(m, src, offset, s->src), type, &fault);
        reference_fault(m, fault, s->src);
        sum = reference_combine(m, reduction_op(s->reduction), sum, x, s->src);
    }
    return reference_fit(m, dst, sum, s->src);
}

void reference_reduce(machine *m, const tile_stmt *s) {
    const place *src = reference_place(m, s->src->buffer);
    place *dst = reference_place(m, s->dst->buffer);
    const int64_t length = src->dim[s->dim];
    int64_t inner = 1;
    for (int i = (int)s->dim + 1; i < src->rank; i++) {
        inner *= src->dim[i];
    }
    reference_expect(m, src, EPOCH_CLOSED, s->src);
    for (int64_t i = 0, n = reference_count(dst); i < n; i++) {
        const value v = reduce_one(m, s, i / inner * length * inner + i % inner, inner, length);
        reference_put(m, dst, reference_share(m, dst) + reference_element(dst, i) * (int64_t)dst->size, v);
    }
}

void reference_finalize(machine *m, const tile_stmt *s) {
    place *p = reference_place(m, s->dst->buffer)->root;
    reference_expect(m, p, EPOCH_OPEN, s->dst);
    p->epoch = EPOCH_CLOSED;
}
