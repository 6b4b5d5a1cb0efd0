/* tile_copy.c -- copy, clear, fill: a thread's share of each.
 *
 * Reads one statement with its regions (lengths known, corners in elements) and the layout that tile_layout
 * gave it; leaves loops over the thread's elements.  One layout drives the loops: that of the fragment on the
 * one side (of the destination, when both are), else one made for the memory that is touched.
 *
 *      A[pid * 100 + row, 0 : +64]  ->  tile[row, 0 : +64]         A has 1000 rows, padded with 0
 *
 *          let row = tid / 8                                       names of what both sides use
 *          if pid * 100 + row < 1000                               what a whole run has in common
 *              for k below 8, try                                  the run: one access where that can be
 *                  tile[row, tid % 8 * 8 + k] = A[..]
 *          else
 *              for k below 8, try
 *                  tile[row, tid % 8 * 8 + k] = 0
 *
 * Where the edge of a tensor may cut a run, the run is made at once when it lies inside, else element by
 * element.  What facts show to be inside has no condition. */
#include "codegen/tile_lower.h"

#include <string.h>

/* A condition on one index of one region. */
typedef struct limit {
    const node *region;
    int d;         /* dimension of the region */
    bool is_lower; /* index >= at, else index < at */
    node *at;
    bool is_skip; /* elements beyond take no part; otherwise: are padded */
    bool varies;  /* may change within a run */
} limit;

enum { MAX_LIMITS = 6 * TG_MAX_RANK };

typedef struct move {
    lowering *l;
    const tile_stmt *s;
    const node *src, *dst; /* src NULL: a fill */
    node *value;           /* of a fill */
    node *outside;         /* what padded reads give, in the type of the destination */
    const node *driver;    /* the region of the fragment whose layout drives; NULL: memory */
    bool is_own;           /* of a local: every thread for itself */
    bool hands_over;       /* all of a fragment, to where every thread can read it */
    int share;             /* its number among collective operations; 0 where every thread is for itself */
    spread w;
    node *origin[TG_MAX_RANK]; /* by dimension of the layout: already part of w.index, so of no corner */
    int nlimits;
    limit limit[MAX_LIMITS];
} move;

/* Where names of what memory holds are put. */
typedef struct naming {
    lowering *l;
    thread_block *b;
    tg_loc at;
} naming;

/* ---- regions ------------------------------------------------------------------------------------------- */

static tg_space space_of(const node *region) {
    return buffer_root(region->buffer)->space;
}

static bool is_fragment(const node *region) {
    return region && (space_of(region) == TG_FRAGMENT || space_of(region) == TG_REDUCER);
}

static bool is_local(const node *region) {
    return region && space_of(region) == TG_LOCAL;
}

static bool is_memory(const node *region) {
    return region && (space_of(region) == TG_GLOBAL || space_of(region) == TG_SHARED);
}

static bool is_whole(const node *region) {
    for (int i = 0; i < region->n; i++) {
        if (!expr_is_int(region->arg[i], 0) || region->dim[i] != region->buffer->dim[i]) {
            return false;
        }
    }
    return true;
}

/* ---- how memory would like it -------------------------------------------------------------------------- */

static int64_t base_alignment(const target *t, buffer *b) {
    const buffer *root = buffer_root(b);
    return root->space == TG_GLOBAL && root->align > 0 && root->align < t->max_access ? root->align
                                                                                      : t->max_access;
}

/* Elements from one index of dimension d to the next. */
static int64_t stride_of(const buffer *b, int d) {
    int64_t stride = 1;
    for (int i = b->rank - 1; i > d; i--) {
        const int64_t row = b->pitch ? b->pitch : b->layout.pitch;
        stride = i == b->rank - 1 && row ? row : stride * b->dim[i];
    }
    return stride;
}

/* Why runs of `width` elements of a region cannot be one access each; NULL when they can. */
static const char *misfit(arena *a, const target *t, const node *region, int64_t width) {
    buffer *b = region->buffer;
    const int64_t bytes = width * type_bytes(b->type);
    if (!is_memory(region) || width == 1) {
        return NULL;
    }
    if (bytes > t->max_access) {
        return arena_print(a, "%lld elements of '%s' are more than %d bytes", (long long)width, b->name,
                           t->max_access);
    }
    if (base_alignment(t, b) < bytes) {
        return arena_print(a, "'%s' is aligned to %lld bytes only", b->name, (long long)base_alignment(t, b));
    }
    for (int i = 0; i < region->n - 1; i++) {
        if (region->dim[i] > 1 && stride_of(b, i) % width != 0) {
            return arena_print(a, "rows of '%s' begin every %lld elements", b->name,
                               (long long)stride_of(b, i));
        }
    }
    node *corner = expr_ref(a, region->at, b, region->n, region->arg, 1);
    if (facts_aligned(expr_offset(a, corner), width) != FACT_YES) {
        return arena_print(a, "'%s' is not known to begin at a multiple of %lld elements",
                           expr_text(a, region), (long long)width);
    }
    return NULL;
}

static const char *misfit_either(arena *a, const target *t, const tile_stmt *s, int64_t width) {
    const node *shape = s->src && s->src->n > s->dst->n ? s->src : s->dst;
    const int64_t last = shape->n > 0 ? shape->dim[shape->n - 1] : 1;
    if (last % width != 0) {
        return arena_print(a, "%lld does not divide the %lld elements of a row", (long long)width,
                           (long long)last);
    }
    const char *why = s->src ? misfit(a, t, s->src, width) : NULL;
    return why ? why : misfit(a, t, s->dst, width);
}

/* The widest run that is one access on both sides. */
static int64_t widest_run(arena *a, const target *t, const tile_stmt *s, int64_t most) {
    int64_t width = most;
    while (width > 1 && misfit_either(a, t, s, width)) {
        width /= 2;
    }
    return width;
}

static int64_t widest_access(const target *t, const tile_stmt *s) {
    const int64_t to = type_bytes(s->dst->buffer->type);
    const int64_t from = s->src ? type_bytes(s->src->buffer->type) : to;
    return t->max_access / (from > to ? from : to);
}

/* The region whose dimensions are those of the layout. */
static const node *shape_of(const tile_stmt *s) {
    if (is_fragment(s->dst) || !s->src) {
        return s->dst;
    }
    return is_fragment(s->src) || s->src->n > s->dst->n ? s->src : s->dst;
}

static int64_t elements_of(const node *region) {
    int64_t n = 1;
    for (int i = 0; i < region->n; i++) {
        n *= region->dim[i];
    }
    return n;
}

/* Each thread a block of consecutive elements, read `run` at a time. */
static layout *blocked(arena *a, const node *shape, int64_t threads, int64_t run, int64_t widest) {
    const int64_t elements = elements_of(shape);
    int64_t share = (elements + threads - 1) / threads;
    run = run ? run : widest;
    while (share % run != 0 && run > 1 && run == widest) {
        run /= 2;
        widest = run;
    }
    share = (share + run - 1) / run * run;
    return layout_runs(a, shape->n, shape->dim, threads, run, share);
}

layout *copy_layout(tg_kernel *k, const target *t, const tile_stmt *s, bool wants_split) {
    arena *a = &k->memory;
    const node *shape = shape_of(s);
    const bool is_own = is_local(s->dst) || is_local(s->src);
    const int64_t threads = is_own ? 1 : tile_threads(k);
    const int64_t widest = widest_run(a, t, s, widest_access(t, s));
    const bool fits = s->options.width > 0 && !misfit_either(a, t, s, s->options.width);
    const int64_t width = fits ? s->options.width : 0; /* what does not fit is a mistake, told when lowered */
    layout *l;
    if (s->options.layout == TG_BLOCKED && !is_own) {
        l = blocked(a, shape, threads, width, widest);
        l->why = ".layout = TG_BLOCKED: each thread a block of consecutive elements";
    } else if ((width || s->is_async) && !is_own) {
        l = layout_runs(a, shape->n, shape->dim, threads, width ? width : widest, width ? width : widest);
        l->why = width ? ".width: so many elements in one access" : "asynchronous: as wide as can be";
    } else {
        l = layout_spread(a, shape->n, shape->dim, threads, widest, wants_split);
        layout *split = layout_spread(a, shape->n, shape->dim, threads, widest, true);
        l = split->is_split && split->slots == l->slots ? split : l; /* rows and columns read better */
    }
    if (l->limit == LIMIT_TYPE && widest < widest_access(t, s)) {
        l->limit = LIMIT_OTHER;
    }
    l->at = s->at;
    return l;
}

/* ---- indices and limits -------------------------------------------------------------------------------- */

/* The dimension of the layout that dimension d of a region follows; -1: none, its index is the corner's. */
static int followed(const move *m, const node *region, int d) {
    const int i = d + m->w.layout->rank - region->n;
    return i < 0 ? -1 : i;
}

/* A corner and an index, as one writes them: pid * 8 + row, but row - 1. */
static node *offset_by(arena *a, node *corner, node *index) {
    return expr_is_const(corner) ? expr_add(a, index, corner) : expr_add(a, corner, index);
}

/* The index of an element in dimension d of a region, from the indices of the layout. */
static node *index_in(const move *m, const node *region, int d, node *const *index) {
    arena *a = m->l->a;
    const int i = followed(m, region, d);
    if (i < 0) {
        return region->arg[d];
    }
    if (region == m->driver || m->origin[i]) {
        return index[i];
    }
    const node *from = m->driver ? m->driver->arg[i] : NULL;
    node *inside = !from || expr_is_int(from, 0)
                       ? index[i]
                       : expr_binary(a, region->at, TG_SUB, index[i], m->driver->arg[i]);
    return offset_by(a, region->arg[d], inside);
}

/* Indices `more` elements further along the run. */
static void along_run(const move *m, node *const *from, node **index, int64_t more) {
    memcpy(index, from, sizeof m->w.index);
    if (m->w.run_dim >= 0 && m->w.layout->run > 1) {
        index[m->w.run_dim] = expr_add(m->l->a, index[m->w.run_dim], expr_int(m->l->a, m->s->at, more));
    }
}

static node *condition(const move *m, const limit *x, node *const *index) {
    return expr_binary(m->l->a, x->region->at, x->is_lower ? TG_GE : TG_LT,
                       index_in(m, x->region, x->d, index), x->at);
}

/* The condition at the end of a run where it is strictest; from the indices of its first element. */
static node *strictest(const move *m, const limit *x, node *const *first) {
    node *index[TG_MAX_RANK];
    along_run(m, first, index, x->is_lower ? 0 : m->w.layout->run - 1);
    return condition(m, x, index);
}

/* May the condition change within a run?  Not where the limit lies a multiple of the run away. */
static bool may_vary(const move *m, const limit *x) {
    const int64_t run = m->w.layout->run;
    if (run == 1 || (m->w.run_dim >= 0 && followed(m, x->region, x->d) != m->w.run_dim)) {
        return false;
    }
    if (m->w.run_dim < 0) {
        return true;
    }
    node *distance = expr_binary(m->l->a, x->at->at, TG_SUB, index_in(m, x->region, x->d, m->w.proof), x->at);
    return facts_aligned(distance, run) != FACT_YES;
}

/* Notes a limit unless it always holds. */
static void add_limit(move *m, limit x) {
    if (m->w.run_dim < 0 || facts_truth(strictest(m, &x, m->w.proof)) != FACT_YES) {
        x.varies = may_vary(m, &x);
        m->limit[m->nlimits++] = x;
    }
}

static node *extent_of(const move *m, const buffer *b, int d) {
    return b->dim_expr[d] ? b->dim_expr[d] : expr_int(m->l->a, m->s->at, b->dim[d]);
}

/* Is the same already asked of the destination? */
static bool is_implied(const move *m, const limit *x) {
    for (int i = 0; i < m->nlimits; i++) {
        const limit *y = &m->limit[i];
        if (y->is_skip && y->is_lower == x->is_lower && expr_equal(y->at, x->at) &&
            expr_equal(index_in(m, y->region, y->d, m->w.index), index_in(m, x->region, x->d, m->w.index))) {
            return true;
        }
    }
    return false;
}

static void limits_of_tensor(move *m, const node *region, bool is_skip) {
    for (int d = 0; region && space_of(region) == TG_GLOBAL && d < region->n; d++) {
        limit below = {region, d, true, expr_int(m->l->a, m->s->at, 0), is_skip, false};
        limit above = {region, d, false, extent_of(m, region->buffer, d), is_skip, false};
        if (!is_implied(m, &below)) {
            add_limit(m, below);
        }
        if (!is_implied(m, &above)) {
            add_limit(m, above);
        }
    }
}

/* A slice of a fragment: the loops run over all of it. */
static void limits_of_driver(move *m) {
    for (int d = 0; m->driver && d < m->driver->n; d++) {
        node *corner = m->driver->arg[d];
        if (expr_is_int(corner, 0) && m->driver->dim[d] == m->w.layout->dim[d]) { /* which may be padded */
            continue;
        }
        node *end = expr_add(m->l->a, corner, expr_int(m->l->a, m->s->at, m->driver->dim[d]));
        add_limit(m, (limit){m->driver, d, true, corner, true, false});
        add_limit(m, (limit){m->driver, d, false, end, true, false});
    }
}

/* ---- names --------------------------------------------------------------------------------------------- */

static const char *name_of(int rank, int d) {
    static const char *const name[] = {"col", "row", "plane"};
    return rank == 1 ? "offset" : rank - 1 - d < 3 ? name[rank - 1 - d] : "outer";
}

static node *corner_of(const move *m, const node *region, int i) {
    const int d = i - (m->w.layout->rank - region->n);
    return d < 0 ? NULL : region->arg[d];
}

/* Both sides of a copy between equal places: the common corner becomes part of the index. */
static void take_common_corners(move *m) {
    for (int i = 0; i < m->w.layout->rank && m->w.run_dim >= 0; i++) {
        if (!m->src || m->driver || m->is_own) {
            continue;
        }
        node *from = corner_of(m, m->src, i), *to = corner_of(m, m->dst, i);
        if (from && to && expr_equal(from, to) && !expr_is_int(from, 0)) {
            m->origin[i] = from;
            m->w.index[i] = offset_by(m->l->a, from, m->w.index[i]);
            m->w.proof[i] = offset_by(m->l->a, from, m->w.proof[i]);
        }
    }
}

/* Names the indices that are written down more than once. */
static void name_indices(move *m) {
    for (int i = 0; i < m->w.layout->rank && m->w.run_dim >= 0; i++) {
        int uses = is_memory(m->dst) + is_memory(m->src);
        for (int j = 0; j < m->nlimits; j++) {
            uses += followed(m, m->limit[j].region, m->limit[j].d) == i;
        }
        if (uses > 1) {
            spread_name(m->l, &m->w, i, name_of(m->w.layout->rank, i));
        }
    }
}

/* ---- elements ------------------------------------------------------------------------------------------ */

/* An element of a region that lies in memory or in a local. */
static node *element_of(const move *m, const node *region, node *const *index, int lanes) {
    node *place[TG_MAX_RANK];
    for (int d = 0; d < region->n; d++) {
        place[d] = index_in(m, region, d, index);
    }
    return expr_ref(m->l->a, region->at, region->buffer, region->n, place, lanes);
}

/* The register of the other fragment that the same thread holds; NULL when it may be another thread's. */
static node *other_slot(const move *m) {
    lowering *l = m->l;
    const layout *held = lower_layout(l, m->src->buffer);
    bool is_same = layout_equal(held, m->w.layout) && m->src->n == m->dst->n;
    for (int d = 0; d < m->src->n && is_same; d++) {
        is_same = expr_equal(m->src->arg[d], m->dst->arg[d]);
    }
    if (is_same) {
        return m->w.slot;
    }
    var *axis[TG_MAX_RANK];
    node *index[TG_MAX_RANK], *place[TG_MAX_RANK];
    for (int i = 0; i < m->w.layout->rank; i++) {
        axis[i] = thread_variable(l->t, VAR_PARALLEL, "axis", TYPE_INDEX, m->s->at);
        axis[i]->lo = 0;
        axis[i]->hi = m->w.layout->dim[i] - 1;
        index[i] = expr_var(l->a, m->s->at, axis[i]);
    }
    for (int d = 0; d < m->src->n; d++) {
        place[d] = index_in(m, m->src, d, index);
    }
    return layout_slot_in(l->a, m->w.layout, axis, held, place, m->w.slot);
}

static node *destination(const move *m) {
    return is_fragment(m->dst) ? lower_register(m->l, m->dst->buffer, m->w.slot, m->s->at)
                               : element_of(m, m->dst, m->w.index, 1);
}

static node *source(const move *m) {
    if (!m->src) {
        return m->value;
    }
    node *from =
        !is_fragment(m->src)
            ? element_of(m, m->src, m->w.index, 1)
            : lower_register(m->l, m->src->buffer, m->src == m->driver ? m->w.slot : other_slot(m), m->s->at);
    return expr_cast(m->l->a, m->s->at, m->dst->buffer->type, expr_load(m->l->a, m->s->at, from));
}

static void store(const move *m, node *x) {
    thread_stmt *s = thread_store(m->l->t, m->w.block, destination(m), x);
    s->at = m->s->at;
    s->participants = m->is_own ? SCOPE_THREAD : SCOPE_BLOCK;
    s->share = m->share;
    s->hands_over = m->hands_over;
    s->spread = m->w.layout;
    s->why = m->s->is_async ? "not asynchronous: no 4, 8 or 16 bytes that are aligned and begin inside"
                            : m->s->why;
}

/* The conditions, of those that vary or not, that are skips or not, at the present indices. */
static node *conditions(const move *m, bool varies, bool is_skip) {
    node *all = NULL;
    for (int i = 0; i < m->nlimits; i++) {
        if (m->limit[i].varies == varies && m->limit[i].is_skip == is_skip) {
            all = lower_both(m->l, all, condition(m, &m->limit[i], m->w.index));
        }
    }
    return all;
}

static bool any_varies(const move *m) {
    for (int i = 0; i < m->nlimits; i++) {
        if (m->limit[i].varies) {
            return true;
        }
    }
    return false;
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

/* A run whose elements all take part. */
static void whole_run(move m, thread_block *b) {
    m.w.block = b;
    spread_run(m.l, &m.w);
    store(&m, source(&m));
}

static void padded_run(move m, thread_block *b) {
    m.w.block = b;
    spread_run(m.l, &m.w);
    store(&m, m.outside);
}

/* Element by element. */
static void ragged_run(move m, thread_block *b, node *padded) {
    m.w.block = b;
    spread_run(m.l, &m.w);
    spread_when(m.l, &m.w, conditions(&m, true, true));
    node *is_there = lower_both(m.l, padded, conditions(&m, true, false));
    node *x = source(&m);
    store(&m, is_there ? expr_choose(m.l->a, m.s->at, is_there, x, m.outside) : x);
}

/* All conditions that a run must meet to be made at once. */
static node *run_is_inside(const move *m, node *padded) {
    node *all = padded;
    for (int i = 0; i < m->nlimits; i++) {
        if (m->limit[i].varies) {
            all = lower_both(m->l, all, strictest(m, &m->limit[i], m->w.index));
        }
    }
    return all;
}

static thread_stmt *branch(const move *m, node *condition) {
    thread_stmt *s = thread_if(m->l->t, m->w.block, condition);
    s->at = m->s->at;
    return s;
}

/* The body of the loops over runs. */
static void emit_run(move *m) {
    spread_when(m->l, &m->w, conditions(m, false, true));
    node *padded = conditions(m, false, false);
    const bool is_single = m->w.layout->run == 1;
    if (m->w.run_dim < 0 || (is_single && padded)) {
        ragged_run(*m, m->w.block, padded);
    } else if (any_varies(m)) {
        thread_stmt *s = branch(m, run_is_inside(m, padded));
        whole_run(*m, &s->body);
        ragged_run(*m, &s->otherwise, padded);
    } else if (padded) {
        thread_stmt *s = branch(m, padded);
        whole_run(*m, &s->body);
        padded_run(*m, &s->otherwise);
    } else {
        whole_run(*m, m->w.block);
    }
}

/* ---- asynchronous copies ------------------------------------------------------------------------------- */

/* How many leading elements of a run lie inside; NULL: all. */
static node *valid_elements(const move *m) {
    arena *a = m->l->a;
    const tg_loc at = m->s->at;
    node *lanes = expr_int(a, at, m->w.layout->run), *zero = expr_int(a, at, 0), *n = NULL;
    for (int i = 0; i < m->nlimits; i++) {
        const limit *x = &m->limit[i];
        if (x->varies) {
            node *left = expr_binary(a, at, TG_SUB, x->at, index_in(m, x->region, x->d, m->w.index));
            left = expr_binary(a, at, TG_MAX_OF, expr_binary(a, at, TG_MIN_OF, left, lanes), zero);
            n = n ? expr_binary(a, at, TG_MIN_OF, n, left) : left;
        }
    }
    node *inside = conditions(m, false, false);
    return inside ? expr_choose(a, at, inside, n ? n : lanes, zero) : n;
}

/* A run is what a thread has side by side, which may be more than one access takes.  A lower limit that cuts a
 * run leaves trailing elements, which the instruction has no way to say. */
static bool can_be_async(const move *m) {
    const int64_t run = m->w.layout->run, bytes = run * type_bytes(m->dst->buffer->type);
    bool good = m->w.run_dim >= 0 && target_copies_async(m->l->t->target, bytes) &&
                !misfit_either(m->l->a, m->l->t->target, m->s, run);
    for (int i = 0; i < m->nlimits; i++) {
        good = good && !(m->limit[i].varies && m->limit[i].is_lower) && !m->limit[i].is_skip;
    }
    return good;
}

static void emit_async(move *m) {
    lowering *l = m->l;
    const int lanes = (int)m->w.layout->run;
    thread_stmt *s = thread_append(l->a, m->w.block, THREAD_COPY_ASYNC, m->s->at);
    s->dst = element_of(m, m->dst, m->w.index, lanes);
    s->value = expr_load(l->a, m->s->at, element_of(m, m->src, m->w.index, lanes));
    s->extent = valid_elements(m);
    s->participants = SCOPE_BLOCK;
    s->share = m->share;
    s->spread = m->w.layout;
    s->why = m->s->why;
}

/* ---- one statement ------------------------------------------------------------------------------------- */

static void emit(move *m, thread_block *b) {
    m->share = m->is_own ? 0 : ++m->l->t->nshares;
    m->w.at = m->s->at;
    m->w.in_registers = is_fragment(m->dst) || is_fragment(m->src) || m->is_own;
    m->w.once = !m->is_own && !is_fragment(m->dst);
    spread_begin(m->l, b, &m->w);
    take_common_corners(m);
    limits_of_driver(m);
    limits_of_tensor(m, m->dst, true);
    limits_of_tensor(m, m->src, false);
    name_indices(m);
    if (m->s->is_async && m->src && can_be_async(m)) {
        emit_async(m);
        return;
    }
    emit_run(m);
}

static const layout *driving_layout(lowering *l, const tile_stmt *s, const node *driver) {
    const bool is_own = is_local(s->dst) || is_local(s->src);
    return driver                 ? lower_layout(l, driver->buffer)
           : s->spread && !is_own ? s->spread
                                  : copy_layout(l->k, l->t->target, s, false);
}

/* ---- copy ---------------------------------------------------------------------------------------------- */

static bool check_width(lowering *l, const tile_stmt *s, const layout *drives) {
    const int64_t width = s->options.width;
    const char *why = width > 1 ? misfit_either(l->a, l->t->target, s, width) : NULL;
    if (!why && width > 1 && drives->run % width != 0) {
        why = arena_print(l->a, "its layout, decided at line %d, gives a thread %lld consecutive elements",
                          drives->at.line, (long long)drives->run);
    }
    if (why) {
        diag_error(l->errors, s->at, "copy: a width of %lld is impossible: %s", (long long)width, why);
    }
    return !why;
}

/* Each thread has a local of its own, but a share of a fragment. */
static bool check_sides(lowering *l, const tile_stmt *s) {
    const node *own = is_local(s->src) ? s->src : is_local(s->dst) ? s->dst : NULL;
    const node *shared = is_fragment(s->src) ? s->src : is_fragment(s->dst) ? s->dst : NULL;
    if (own && shared) {
        diag_error(
            l->errors, s->at,
            "copy: every thread has a '%s' of its own, but '%s' is spread over the threads: go through "
            "a shared buffer, or write the elements in parallel",
            own->buffer->name, shared->buffer->name);
    }
    return !(own && shared);
}

static node *outside_value(lowering *l, const tile_stmt *s) {
    value_fault fault = FAULT_NONE;
    const double given = space_of(s->src) == TG_GLOBAL ? s->options.outside : 0;
    return expr_const(l->a, s->at, value_cast(value_real(TG_F64, given), s->dst->buffer->type, &fault));
}

/* The same region of another buffer. */
static const node *region_of(lowering *l, const node *region, buffer *b) {
    node *other = ARENA_NEW(l->a, node);
    *other = *region;
    other->buffer = b;
    return other;
}

/* What memory holds, or may hold, by a name. */
static node *name_memory(node *x, void *user) {
    const naming *n = user;
    const bool may_stay_unread =
        x->kind == E_CHOOSE || (x->kind == E_OP && (x->op == TG_BOTH || x->op == TG_EITHER));
    if (x->kind != E_LOAD && !(may_stay_unread && facts_reads_memory(x))) {
        return NULL;
    }
    var *v = thread_let(n->l->t, n->b, "corner", x);
    n->b->last->at = n->at;
    return expr_var(n->l->a, n->at, v);
}

static node *with_named_corners(const naming *n, node *region) {
    node *other = region;
    for (int i = 0; region && i < region->n; i++) {
        node *corner = thread_map(n->l->a, region->arg[i], name_memory, (void *)(uintptr_t)n);
        if (corner != region->arg[i] && other == region) {
            other = ARENA_NEW(n->l->a, node);
            *other = *region;
            other->arg = ARENA_ARRAY(n->l->a, node *, region->n);
            memcpy(other->arg, region->arg, sizeof *other->arg * (size_t)region->n);
            other->reads = false;
        }
        other->arg[i] = corner;
    }
    return other;
}

/* Where regions lie is read once, before anything is written: a copy may overwrite what told where it goes. */
static const tile_stmt *settled(lowering *l, const tile_stmt *s, thread_block *b) {
    const naming n = {l, b, s->at};
    node *src = with_named_corners(&n, s->src), *dst = with_named_corners(&n, s->dst);
    if (src == s->src && dst == s->dst) {
        return s;
    }
    tile_stmt *other = ARENA_NEW(l->a, tile_stmt);
    *other = *s;
    other->src = src;
    other->dst = dst;
    return other;
}

/* All of a fragment into shared memory, where every thread can read it. */
static const node *publish(lowering *l, const tile_stmt *s, thread_block *b) {
    buffer *f = s->src->buffer, *scratch = lower_scratch(l, f, s->at);
    node *corner[TG_MAX_RANK];
    for (int i = 0; i < f->rank; i++) {
        corner[i] = expr_int(l->a, s->at, 0);
    }
    node *all = expr_region(l->a, s->src->at, f, f->rank, corner);
    memcpy(all->dim, f->dim, sizeof *all->dim * (size_t)f->rank);
    tile_stmt *out = ARENA_NEW(l->a, tile_stmt);
    *out = *s;
    out->why = NULL;
    move m = {.l = l, .s = out, .src = all, .dst = region_of(l, all, scratch), .driver = all};
    m.hands_over = true;
    m.outside = expr_const(l->a, s->at, value_int(f->type, 0));
    m.w.layout = lower_layout(l, f);
    emit(&m, b);
    return region_of(l, s->src, scratch);
}

static bool meets_in_registers(move *m) {
    spread trial = {.layout = m->w.layout, .at = m->s->at, .in_registers = true};
    thread_block nowhere = {NULL, NULL};
    move other = *m;
    spread_open(m->l, &nowhere, &trial);
    other.w = trial;
    return other_slot(&other) != NULL;
}

void lower_copy(lowering *l, const tile_stmt *as_written, thread_block *b) {
    const tile_stmt *s = settled(l, as_written, b);
    move m = {.l = l, .s = s, .src = s->src, .dst = s->dst, .is_own = is_local(s->src) || is_local(s->dst)};
    if (!check_sides(l, s)) {
        return;
    }
    m.driver = is_fragment(s->dst) ? s->dst : is_fragment(s->src) ? s->src : NULL;
    m.w.layout = driving_layout(l, s, m.driver);
    m.outside = outside_value(l, s);
    if (!check_width(l, s, m.w.layout)) {
        return;
    }
    if (is_fragment(s->src) && is_fragment(s->dst) && !meets_in_registers(&m)) {
        m.src = publish(l, s, b);
    }
    emit(&m, b);
}

/* ---- clear and fill ------------------------------------------------------------------------------------ */

/* Of a reducer each replica holds partial results: the first begins with the seed, the others with what
 * changes nothing. */
static node *seed(lowering *l, const tile_stmt *s, node *x) {
    buffer *b = buffer_root(s->dst->buffer);
    if (b->space != TG_REDUCER || s->is_clear) {
        return x;
    }
    node *first = layout_first(l->a, lower_layout(l, b), lower_linear(l, s->at));
    node *identity = expr_const(l->a, s->at, reduction_identity(b->reduction, b->type));
    return first ? expr_choose(l->a, s->at, first, x, identity) : x;
}

/* What memory holds is read once, before anything is written. */
static node *fill_value(lowering *l, const tile_stmt *s, thread_block *b) {
    node *x = s->value;
    if (facts_reads_memory(x) && x->kind != E_VAR) {
        x = expr_var(l->a, s->at, thread_let(l->t, b, "value", x));
        b->last->at = s->at;
    }
    return seed(l, s, x);
}

/* Every register of a share, those without element too. */
static void fill_registers(lowering *l, const tile_stmt *s, thread_block *b, node *x) {
    const layout *held = lower_layout(l, s->dst->buffer);
    node *slot = expr_int(l->a, s->at, 0);
    if (held->slots > 1) {
        thread_stmt *loop = thread_for(l->t, b, "i", expr_int(l->a, s->at, held->slots));
        loop->at = s->at;
        loop->unroll = UNROLL_FULL;
        slot = expr_var(l->a, s->at, loop->result[0]);
        b = &loop->body;
    }
    thread_store(l->t, b, lower_register(l, s->dst->buffer, slot, s->at), x)->at = s->at;
}

void lower_fill(lowering *l, const tile_stmt *as_written, thread_block *b) {
    const tile_stmt *s = settled(l, as_written, b);
    move m = {.l = l, .s = s, .dst = s->dst, .is_own = is_local(s->dst)};
    m.value = fill_value(l, s, b);
    if (is_fragment(s->dst) && is_whole(s->dst)) {
        fill_registers(l, s, b, m.value);
        return;
    }
    m.driver = is_fragment(s->dst) ? s->dst : NULL;
    m.w.layout = driving_layout(l, s, m.driver);
    emit(&m, b);
}
