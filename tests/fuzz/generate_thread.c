/* generate_thread.c -- random kernels in thread view, free of races by the way they are put together.
 *
 *   outputs   each thread of each block writes elements of its own: the index is a numbering of all axes
 *   shared    a phase that writes every element, each by one thread; a barrier; a phase that reads anything;
 *             a barrier
 *   locals    written before they are read
 *   atomics   one operator for each buffer and phase
 *
 * `plain` makes statements of single threads, `phases` those on which all threads of a block agree. */
#include <string.h>

#include "generate.h"

/* The loops around a statement, for those who number what they write. */
typedef struct nest {
    int n;
    int axis[8];
} nest;

typedef struct maker {
    program *p;
    int outputs;
} maker;

static gstmt *plain(maker *m, scope s, nest around, int depth);
static gstmt *phases(maker *m, scope s, nest around, int depth);

/* ---- launch and arguments -------------------------------------------------------------------------------- */

static int64_t pick(program *p, const int64_t *from, int n) {
    return from[roll_below(p, n)];
}

static int new_axis(program *p, variable_kind kind, const char *stem, int size, bool uniform) {
    const int v = variable_new(p, kind, stem, INDEX);
    p->variable[v].size = size;
    p->variable[v].hi = size_value(p, size) > 0 ? size_value(p, size) - 1 : 0;
    p->variable[v].uniform = uniform;
    return v;
}

static void add_variable(scope *s, int v) {
    s->variable[s->nvariables++] = v;
}

static void add_buffer(scope *s, int b) {
    s->buffer[s->nbuffers++] = b;
}

static void make_threads(program *p, scope *s) {
    static const int64_t counts[] = {1, 2, 7, 31, 32, 32, 33, 48, 64, 64, 96, 128, 256, 1024};
    int64_t rest = pick(p, counts, sizeof counts / sizeof counts[0]);
    p->nthreads = 1 + (int)roll_below(p, 3);
    p->named = true;
    for (int i = 0; i < p->nthreads; i++) {
        int64_t n = rest;
        if (i < p->nthreads - 1) {
            n = 1 + roll_below(p, rest < 40 ? rest : 40);
            while (rest % n) {
                n--;
            }
        }
        n = i == 2 && n > 64 ? 64 : n; /* no target has more along z */
        rest /= n;
        p->thread[i] = new_axis(p, V_THREAD, "t", size_number(p, n), n == 1);
        add_variable(s, p->thread[i]);
    }
}

static void make_grid(program *p, scope *s, int rows) {
    p->ngrid = 1 + (int)roll_below(p, 3);
    for (int i = 0; i < p->ngrid; i++) {
        int size = size_number(p, 1 + roll_below(p, 3));
        gexpr *extent = make_size(p, size);
        if (i == 0 && rows != NONE) {
            const int part = size_number(p, 1 + roll_below(p, 5));
            size = size_make(p, SIZE_CEILDIV, p->variable[rows].size, part, 0);
            extent =
                make_binary(p, TG_QUO, make_variable(p, rows), make_size(p, part)); /* written as ceildiv */
        }
        p->grid[i] = new_axis(p, V_GRID, "g", size, true);
        p->grid_extent[i] = extent;
        add_variable(s, p->grid[i]);
    }
}

static void add_argument(program *p, bool is_tensor, int id) {
    p->arg[p->nargs++] = (gargument){is_tensor, id};
}

static void make_scalar(program *p, scope *s) {
    const int64_t type = random_type(p);
    const int v = variable_new(p, V_SCALAR, "s", type);
    gvariable *x = &p->variable[v];
    x->uniform = true;
    x->lo = type_least(type);
    x->hi = type_most(type);
    x->most = 4;
    if (type_real(type)) {
        x->value.f = (double)(roll_below(p, 65) - 32) / 8;
    } else {
        x->value = cell_from_bits(type, chance(p, 60) ? (uint64_t)roll_below(p, 9) : roll(p));
    }
    add_argument(p, false, v);
    add_variable(s, v);
}

static int make_extent(program *p, scope *s) {
    const int v = variable_new(p, V_EXTENT, "rows", INDEX);
    gvariable *x = &p->variable[v];
    x->size = size_number(p, chance(p, 10) ? 0 : 1 + roll_below(p, 12));
    x->hi = INT32_MAX;
    x->uniform = true;
    add_argument(p, false, v);
    add_variable(s, v);
    return v;
}

/* What may lie in a buffer of a type. */
static void any_contents(gbuffer *b) {
    b->lo = type_least(b->type);
    b->hi = type_most(b->type);
    b->most = b->type == TG_F16 ? 2000.0 : 1e6;
}

static void make_input(program *p, scope *s, int rows) {
    const int b = buffer_new(p, TG_GLOBAL, "in", random_type(p));
    gbuffer *x = &p->buffer[b];
    x->rank = (int)roll_below(p, 4);
    for (int i = 0; i < x->rank; i++) {
        x->dim[i] = size_number(p, 1 + roll_below(p, 9));
    }
    if (x->rank > 0 && rows != NONE && size_value(p, p->variable[rows].size) > 0 && chance(p, 60)) {
        x->extent = rows;
        x->dim[0] = p->variable[rows].size;
    }
    if (x->rank > 1 && chance(p, 40)) {
        x->pitch = size_make(p, SIZE_PLUS, x->dim[x->rank - 1], NONE, roll_below(p, 4));
    }
    x->aligned = chance(p, 20) ? type_size(x->type) : 0;
    x->is_constant = chance(p, 20);
    x->is_input = true;
    x->seed = roll(p);
    any_contents(x);
    if (chance(p, 50) && x->type != TG_BOOL) {
        x->lo = type_signs(x->type) ? -8 : 0;
        x->hi = 8;
    }
    add_argument(p, true, b);
    add_buffer(s, b);
}

/* ---- numbering ------------------------------------------------------------------------------------------- */

/* Axes as one number below the product of their sizes. */
static gexpr *number(program *p, const int *axis, int n, int *size) {
    gexpr *x = make_variable(p, axis[0]);
    *size = p->variable[axis[0]].size;
    for (int i = 1; i < n; i++) {
        const int here = p->variable[axis[i]].size;
        gexpr *scaled = make_binary(p, TG_MUL, x, make_size(p, here));
        x = make_binary(p, TG_ADD, scaled, make_variable(p, axis[i]));
        *size = size_make(p, SIZE_TIMES, *size, here, 0);
    }
    return x;
}

/* The same numbers in another order. */
static gexpr *twist(program *p, gexpr *x, int size) {
    if (chance(p, 15)) {
        return make_binary(p, TG_SUB, make_size(p, size_make(p, SIZE_PLUS, size, NONE, -1)), x);
    }
    if (chance(p, 15)) {
        x = make_binary(p, TG_ADD, x, make_int(p, INDEX, roll_below(p, 5)));
        return make_binary(p, TG_MOD, x, make_size(p, size));
    }
    return x;
}

typedef struct owned {
    int rank;
    gexpr *index[TG_MAX_RANK];
    int dim[TG_MAX_RANK];
    gexpr *guard; /* NULL: none is needed */
} owned;

static void shuffle(program *p, int *x, int n) {
    for (int i = n - 1; i > 0; i--) {
        const int j = (int)roll_below(p, i + 1), t = x[i];
        x[i] = x[j];
        x[j] = t;
    }
}

/* An element for each setting of the axes. */
static owned own_element(program *p, const int *axes, int n) {
    int axis[16];
    memcpy(axis, axes, (size_t)n * sizeof *axes);
    shuffle(p, axis, n);
    owned o = {.rank = 0};
    for (int i = 0; i < n;) {
        const int left = n - i, room = TG_MAX_RANK - 1 - o.rank;
        const int take = room == 0 ? left : 1 + (int)roll_below(p, left);
        int size;
        gexpr *x = number(p, axis + i, take, &size);
        size = size_positive(p, size);
        o.index[o.rank] = twist(p, x, size);
        o.dim[o.rank] = size;
        if (chance(p, 15)) {
            o.dim[o.rank] = size_make(p, SIZE_PLUS, size, NONE, 1 + roll_below(p, 3));
        } else if (chance(p, 12) && size_value(p, size) > 1) {
            o.dim[o.rank] = size_make(p, SIZE_PLUS, size, NONE, -1);
            gexpr *inside = make_binary(p, TG_LT, o.index[o.rank], make_size(p, o.dim[o.rank]));
            o.guard = o.guard ? make_binary(p, TG_BOTH, o.guard, inside) : inside;
        }
        o.rank++;
        i += take;
    }
    return o;
}

/* All axes of the launch and the loops around. */
static int all_axes(const program *p, const nest *around, int *axis) {
    int n = 0;
    for (int i = 0; i < p->ngrid; i++) {
        axis[n++] = p->grid[i];
    }
    for (int i = 0; i < p->nthreads; i++) {
        axis[n++] = p->thread[i];
    }
    for (int i = 0; i < around->n; i++) {
        axis[n++] = around->axis[i];
    }
    return n;
}

static int64_t element_count(const program *p, const owned *o) {
    int64_t n = 1;
    for (int i = 0; i < o->rank; i++) {
        n *= size_value(p, o->dim[i]);
    }
    return n;
}

static int new_output(maker *m, const owned *o, int64_t type) {
    program *p = m->p;
    const int b = buffer_new(p, TG_GLOBAL, "out", type);
    gbuffer *x = &p->buffer[b];
    x->rank = o->rank;
    memcpy(x->dim, o->dim, sizeof x->dim);
    if (x->rank > 1 && chance(p, 25)) {
        x->pitch = size_make(p, SIZE_PLUS, x->dim[x->rank - 1], NONE, roll_below(p, 3));
    }
    x->seed = roll(p);
    any_contents(x);
    add_argument(p, true, b);
    m->outputs++;
    return b;
}

static gstmt *store(program *p, stmt_kind kind, int b, gexpr *const *index, gexpr *value) {
    gstmt *s = make_stmt(p, kind);
    s->buffer = b;
    for (int i = 0; i < p->buffer[b].rank; i++) {
        s->index[i] = index[i];
    }
    s->value = value;
    return s;
}

static gstmt *when_stmt(program *p, gexpr *condition, gstmt *body) {
    gstmt *s = make_stmt(p, S_WHEN);
    s->value = condition;
    s->body = body;
    return s;
}

/* A value that may be stored in buffer b. */
static gexpr *storable(program *p, const scope *s, int b, int depth) {
    const int64_t type = p->buffer[b].type;
    if (type_whole(type) && type != TG_U64 && chance(p, 15)) { /* an index meets an integer place */
        return bring_into(p, random_expr(p, s, INDEX, depth), type_least(type), type_most(type));
    }
    gexpr *x = random_expr(p, s, type, depth);
    return type_real(type) ? limit_real(p, x, p->buffer[b].most) : x;
}

/* What may be added to an element many times. */
static gexpr *addend(program *p, const scope *s, int64_t type, int depth) {
    gexpr *x = random_expr(p, s, type, depth);
    return type_real(type) ? limit_real(p, x, 8) : type_signs(type) ? bring_into(p, x, -100, 100) : x;
}

static gstmt *write_output(maker *m, const scope *s, const nest *around) {
    program *p = m->p;
    int axis[16];
    const owned o = own_element(p, axis, all_axes(p, around, axis));
    if (element_count(p, &o) > 40000 || m->outputs > 6) {
        return NULL;
    }
    const int b = new_output(m, &o, random_type(p));
    const int64_t type = p->buffer[b].type;
    gstmt *w;
    if (type != TG_BOOL && chance(p, 25)) {
        p->buffer[b].lo = type_signs(type) ? -8 : 0;
        p->buffer[b].hi = 8;
        w = store(p, S_ACCUM, b, o.index, addend(p, s, type, 2));
    } else {
        w = store(p, S_SET, b, o.index, storable(p, s, b, 3));
        if (chance(p, 15) && type != TG_BOOL) { /* and reads what it has just written */
            gexpr *own = make_load(p, b, o.index);
            w->next = store(p, S_SET, b, o.index, make_binary(p, TG_MAX_OF, own, storable(p, s, b, 1)));
            if (w->next->value->type != type) {
                w->next = NULL;
            }
        }
    }
    return o.guard ? when_stmt(p, o.guard, w) : w;
}

/* ---- loops and branches ---------------------------------------------------------------------------------- */

static gstmt *loop_stmt(program *p, tg_scope_kind kind, int axis, gexpr *extent) {
    gstmt *s = make_stmt(p, S_LOOP);
    s->scope = kind;
    s->n = 1;
    s->axis[0] = axis;
    s->extent[0] = extent;
    return s;
}

/* A loop with one or two axes; its axes go into the scope and the nest. */
static gstmt *random_loop(maker *m, scope *s, nest *around, bool uniform) {
    program *p = m->p;
    gstmt *l = make_stmt(p, S_LOOP);
    l->scope = chance(p, 30) ? TG_UNROLLED : TG_SERIAL;
    l->option = l->scope == TG_SERIAL && chance(p, 30) ? 1 + roll_below(p, 4) : 0;
    l->n = around->n < 6 && chance(p, 20) ? 2 : 1;
    scope outside = *s;
    outside.uniform_only = uniform;
    for (int i = 0; i < l->n; i++) {
        int size = size_number(p, chance(p, 6) ? 0 : 1 + roll_below(p, 5));
        gexpr *extent = make_size(p, size);
        bool same = true;
        if (l->scope == TG_SERIAL && chance(p, 30)) {
            extent = bring_into(p, random_expr(p, &outside, chance(p, 70) ? INDEX : TG_I32, 1), 0, 5);
            size = size_number(p, 5);
            same = uniform;
        } else if (size_value(p, size) == 0) {
            size = size_number(p, 1);
        }
        l->axis[i] = new_axis(p, V_LOOP, "i", size, same);
        l->extent[i] = extent;
        around->axis[around->n++] = l->axis[i];
    }
    for (int i = 0; i < l->n; i++) {
        add_variable(s, l->axis[i]);
    }
    return l;
}

static gstmt *plain_loop(maker *m, scope s, nest around, int depth) {
    gstmt *l = random_loop(m, &s, &around, false);
    l->body = plain(m, s, around, depth - 1);
    return l;
}

static gstmt *plain_when(maker *m, const scope *s, const nest *around, int depth) {
    program *p = m->p;
    gexpr *condition = random_truth(p, s, 2);
    gstmt *w = when_stmt(p, condition, plain(m, *s, *around, depth - 1));
    if (chance(p, 50)) {
        w->otherwise = plain(m, *s, *around, depth - 1);
    }
    return w;
}

/* ---- single threads -------------------------------------------------------------------------------------- */

static gstmt *random_let(program *p, scope *s, bool uniform) {
    scope from = *s;
    from.uniform_only = uniform;
    const int64_t type = chance(p, 30) ? INDEX : random_type(p);
    gexpr *x = random_expr(p, &from, type, 2);
    const int v = variable_new(p, V_LET, "x", x->type);
    gvariable *to = &p->variable[v];
    to->lo = x->lo;
    to->hi = x->hi;
    to->most = x->most;
    to->uniform = uniform;
    gstmt *l = make_stmt(p, S_LET);
    l->variable = v;
    l->value = x;
    add_variable(s, v);
    return l;
}

static gstmt *alloc_stmt(program *p, int b) {
    gstmt *s = make_stmt(p, S_ALLOC);
    s->buffer = b;
    return s;
}

/* Loops over all elements of a small buffer; the axes become indices. */
static gstmt *over_elements(program *p, int b, scope *inside, gexpr **index, gstmt **innermost) {
    gstmt *first = NULL, *last = NULL;
    for (int i = 0; i < p->buffer[b].rank; i++) {
        const int v = new_axis(p, V_LOOP, "j", p->buffer[b].dim[i], true);
        gstmt *l =
            loop_stmt(p, chance(p, 40) ? TG_UNROLLED : TG_SERIAL, v, make_size(p, p->buffer[b].dim[i]));
        if (last) {
            last->body = l;
        } else {
            first = l;
        }
        last = l;
        index[i] = make_variable(p, v);
        add_variable(inside, v);
    }
    *innermost = last;
    return first;
}

static gstmt *random_local(maker *m, scope *s) {
    program *p = m->p;
    const int b = buffer_new(p, TG_LOCAL, "r", random_type(p));
    gbuffer *x = &p->buffer[b];
    x->rank = (int)roll_below(p, 3);
    for (int i = 0; i < x->rank; i++) {
        x->dim[i] = size_number(p, 1 + roll_below(p, 4));
    }
    any_contents(x);
    scope inside = *s;
    gexpr *index[TG_MAX_RANK] = {NULL};
    gstmt *innermost, *list = alloc_stmt(p, b), *loops = over_elements(p, b, &inside, index, &innermost);
    gstmt *set = store(p, S_SET, b, index, storable(p, &inside, b, 2));
    if (loops) {
        innermost->body = set;
    }
    list->next = loops ? loops : set;
    add_buffer(s, b);
    if (x->type != TG_BOOL && type_real(x->type) && chance(p, 50)) { /* adds up in a loop */
        scope body = *s;
        nest none = {.n = 0};
        gstmt *l = random_loop(m, &body, &none, false);
        gexpr *place[TG_MAX_RANK];
        for (int i = 0; i < x->rank; i++) {
            place[i] = random_index(p, &body, x->dim[i], 1);
        }
        l->body = store(p, S_ACCUM, b, place, addend(p, &body, x->type, 2));
        list->next->next = l;
        x->most = x->type == TG_F16 ? 2300 : 1.1e6;
    }
    return list;
}

static int64_t atomic_type(program *p) {
    static const int64_t types[] = {TG_I32, TG_I32, TG_U32, TG_U64, TG_I64, TG_F32, TG_F64};
    return pick(p, types, sizeof types / sizeof types[0]);
}

/* One atomic on any element of b. */
static gstmt *atomic_stmt(program *p, const scope *s, int b, tg_reduction op) {
    gexpr *index[TG_MAX_RANK] = {NULL};
    for (int i = 0; i < p->buffer[b].rank; i++) {
        index[i] = random_index(p, s, p->buffer[b].dim[i], 2);
    }
    const int64_t type = p->buffer[b].type;
    gexpr *x = op == TG_SUM ? random_summand(p, s, type, 200000, 2) : random_expr(p, s, type, 2);
    gstmt *a = store(p, S_ATOMIC, b, index, type_real(type) ? limit_real(p, x, 1e6) : x);
    a->reduction = op;
    return a;
}

static gstmt *global_atomic(maker *m, const scope *s) {
    program *p = m->p;
    const int b = buffer_new(p, TG_GLOBAL, "acc", atomic_type(p));
    gbuffer *x = &p->buffer[b];
    x->rank = (int)roll_below(p, 3);
    for (int i = 0; i < x->rank; i++) {
        x->dim[i] = size_number(p, 1 + roll_below(p, 7));
    }
    x->seed = roll(p);
    x->lo = type_signs(x->type) ? -8 : 0;
    x->hi = 8;
    x->most = 0; /* whole numbers */
    add_argument(p, true, b);
    m->outputs++;
    return atomic_stmt(p, s, b, (tg_reduction)(TG_SUM + roll_below(p, 3)));
}

static gstmt *random_check(program *p, const scope *s) {
    gstmt *c = make_stmt(p, S_CHECK);
    gexpr *x = random_expr(p, s, TG_I32, 2);
    c->value = make_binary(p, TG_LE, bring_into(p, x, -50, 50), make_int(p, TG_I32, 50));
    return c;
}

/* vectorized: a row of an input of the same shape, changed on the way, or added up. */
static gstmt *wide_loop(maker *m, const scope *s, const nest *around) {
    program *p = m->p;
    int axis[16];
    static const int64_t lengths[] = {2, 2, 4, 4, 8, 8, 16, 6};
    owned o = own_element(p, axis, all_axes(p, around, axis));
    const int width = size_number(p, pick(p, lengths, 8));
    const int pieces = size_number(p, 1 + roll_below(p, 2));
    if (o.rank == TG_MAX_RANK || element_count(p, &o) * 16 > 40000 || m->outputs > 5) {
        return NULL;
    }
    const int v = new_axis(p, V_LOOP, "v", width, true);
    gexpr *inner = make_variable(p, v);
    if (size_value(p, pieces) > 1) {
        inner = make_binary(p, TG_ADD, make_size(p, width), inner);
    }
    o.index[o.rank] = inner;
    o.dim[o.rank++] = size_make(p, SIZE_TIMES, width, pieces, 0);
    const int64_t type = random_type(p);
    const int out = new_output(m, &o, type), in = new_output(m, &o, type);
    if (chance(p, 80)) { /* odd pitches are refused */
        p->buffer[out].pitch = p->buffer[in].pitch = NONE;
    }
    p->buffer[in].is_input = true;
    p->buffer[in].lo = type_signs(type) ? -8 : 0;
    p->buffer[in].hi = type == TG_BOOL ? 1 : 8;
    m->outputs--;
    scope outside = *s;
    gexpr *got = make_load(p, in, o.index), *value = got;
    if (type != TG_BOOL && chance(p, 60)) {
        gexpr *with = type_real(type) ? limit_real(p, random_expr(p, &outside, type, 1), 100)
                                      : bring_into(p, random_expr(p, &outside, type, 1),
                                                   type_signs(type) ? -100 : 0, 100);
        value = make_binary(p, chance(p, 50) ? TG_ADD : TG_MAX_OF, got, with);
    }
    gstmt *l = loop_stmt(p, TG_VECTORIZED, v, make_size(p, width));
    l->body = store(p, S_SET, out, o.index, value);
    return o.guard ? when_stmt(p, o.guard, l) : l;
}

static gstmt *plain(maker *m, scope s, nest around, int depth) {
    program *p = m->p;
    gstmt *list = NULL, **tail = &list;
    const int n = 1 + (int)roll_below(p, 3);
    for (int i = 0; i < n; i++) {
        gstmt *made = NULL;
        switch (roll_below(p, 12)) {
        case 0:
        case 1:
            made = random_let(p, &s, false);
            break;
        case 2:
            made = random_local(m, &s);
            break;
        case 3:
            made = depth > 0 && around.n < 3 ? plain_loop(m, s, around, depth) : NULL;
            break;
        case 4:
            made = depth > 0 ? plain_when(m, &s, &around, depth) : NULL;
            break;
        case 5:
            made = m->outputs < 6 ? global_atomic(m, &s) : NULL;
            break;
        case 6:
            made = random_check(p, &s);
            break;
        case 7:
            made = wide_loop(m, &s, &around);
            break;
        default:
            made = write_output(m, &s, &around);
            break;
        }
        if (made) {
            append(&tail, made);
        }
    }
    return list;
}

/* ---- all threads of a block ------------------------------------------------------------------------------ */

static gexpr *linear_thread(program *p, int *size) {
    int axis[TG_MAX_AXES];
    for (int i = 0; i < p->nthreads; i++) {
        axis[i] = p->thread[p->nthreads - 1 - i];
    }
    return number(p, axis, p->nthreads, size);
}

/* Element `flat` of buffer b. */
static void unflatten(program *p, int b, gexpr *flat, gexpr **index) {
    const gbuffer *x = &p->buffer[b];
    for (int i = x->rank - 1; i > 0; i--) {
        index[i] = make_binary(p, TG_MOD, flat, make_size(p, x->dim[i]));
        flat = make_binary(p, TG_QUO, flat, make_size(p, x->dim[i]));
    }
    index[0] = flat;
}

/* One statement for each element of a shared buffer, by threads that share them out. */
static gstmt *share_out(program *p, int b, scope *inside, gexpr **index, gstmt ***place) {
    int threads, total = p->buffer[b].dim[0];
    for (int i = 1; i < p->buffer[b].rank; i++) {
        total = size_make(p, SIZE_TIMES, total, p->buffer[b].dim[i], 0);
    }
    gexpr *tid = linear_thread(p, &threads);
    const int rounds = size_make(p, SIZE_CEILDIV, total, threads, 0);
    const int v = new_axis(p, V_LOOP, "l", rounds, true);
    const bool runs = chance(p, 30); /* neighbours for one thread, else for neighbours */
    gexpr *flat =
        runs
            ? make_binary(p, TG_ADD, make_binary(p, TG_MUL, tid, make_size(p, rounds)), make_variable(p, v))
            : make_binary(p, TG_ADD, make_binary(p, TG_MUL, make_variable(p, v), make_size(p, threads)), tid);
    gstmt *loop = loop_stmt(p, chance(p, 20) ? TG_UNROLLED : TG_SERIAL, v, make_size(p, rounds));
    add_variable(inside, v);
    gstmt *guard = when_stmt(p, make_binary(p, TG_LT, flat, make_size(p, total)), NULL);
    loop->body = guard;
    unflatten(p, b, flat, index);
    *place = &guard->body;
    return loop;
}

static int new_shared(program *p, int64_t type) {
    const int b = buffer_new(p, TG_SHARED, "sh", type);
    gbuffer *x = &p->buffer[b];
    static const int64_t extents[] = {1, 2, 3, 5, 7, 8, 13, 16, 17, 31};
    x->rank = 1 + (int)roll_below(p, 3);
    for (int i = 0; i < x->rank; i++) {
        x->dim[i] = size_number(p, pick(p, extents, x->rank == 3 ? 6 : 10));
    }
    any_contents(x);
    return b;
}

static gstmt *fill_shared(program *p, const scope *s, int b, gexpr *value) {
    scope inside = *s;
    gexpr *index[TG_MAX_RANK] = {NULL};
    gstmt **place, *l = share_out(p, b, &inside, index, &place);
    *place = store(p, S_SET, b, index, value ? value : storable(p, &inside, b, 2));
    return l;
}

/* Each thread changes its own elements. */
static gstmt *update_shared(program *p, const scope *s, int b) {
    scope inside = *s;
    gexpr *index[TG_MAX_RANK] = {NULL};
    gstmt **place, *l = share_out(p, b, &inside, index, &place);
    gexpr *own = make_load(p, b, index);
    gexpr *value = p->buffer[b].type == TG_BOOL
                       ? make_binary(p, TG_BIT_XOR, own, random_truth(p, &inside, 1))
                       : make_binary(p, TG_MIN_OF, own, random_expr(p, &inside, p->buffer[b].type, 2));
    *place = store(p, S_SET, b, index, value);
    return l;
}

static gstmt *sync_stmt(program *p) {
    return make_stmt(p, S_SYNC);
}

/* The same bytes as integers of another width; NONE where that does not go. */
static int view_of(program *p, int b) {
    const int64_t to = chance(p, 50) ? TG_U8 : chance(p, 50) ? TG_I16 : TG_U32;
    const gbuffer *x = &p->buffer[b];
    int total = x->dim[0];
    for (int i = 1; i < x->rank; i++) {
        total = size_make(p, SIZE_TIMES, total, x->dim[i], 0);
    }
    const int64_t bytes = size_value(p, total) * type_size(x->type);
    if (bytes % type_size(to)) {
        return NONE;
    }
    const int v = buffer_new(p, TG_SHARED, "vw", to);
    gbuffer *y = &p->buffer[v];
    const int bytes_size = size_make(p, SIZE_TIMES, total, size_number(p, type_size(x->type)), 0);
    y->view_of = b;
    y->rank = 1;
    y->dim[0] = size_make(p, SIZE_CEILDIV, bytes_size, size_number(p, type_size(to)), 0);
    any_contents(y);
    return v;
}

/* copy(slice(in, ..), sh), clear(sh) or fill(sh, ..): words of the block view, which bring their barriers along. */
static gstmt *tile_stmt(maker *m, const scope *s, int b) {
    program *p = m->p;
    const gbuffer *x = &p->buffer[b];
    gstmt *t = make_stmt(p, (stmt_kind)(S_COPY + roll_below(p, 3)));
    t->to = (gregion){.kind = R_WHOLE, .buffer = b};
    memcpy(t->to.length, x->dim, sizeof x->dim);
    scope only = *s;
    only.uniform_only = true;
    if (t->kind == S_FILL) {
        t->value = random_expr(p, &only, x->type, 1);
    } else if (t->kind == S_COPY) {
        const int in = buffer_new(p, TG_GLOBAL, "in", x->type);
        gbuffer *y = &p->buffer[in];
        t->from = t->to;
        t->from.buffer = in;
        t->from.kind = R_SLICE;
        y->rank = x->rank;
        y->seed = roll(p);
        y->is_input = true;
        any_contents(y);
        for (int i = 0; i < x->rank; i++) {
            y->dim[i] = size_number(p, 1 + roll_below(p, 2 * size_value(p, x->dim[i])));
            t->from.corner[i] = bring_into(p, random_expr(p, &only, INDEX, 1), -2, size_value(p, y->dim[i]));
        }
        add_argument(p, true, in);
    }
    return t;
}

static gstmt *shared_phases(maker *m, scope s, const nest *around, int depth) {
    program *p = m->p;
    const int b = new_shared(p, random_type(p));
    gstmt *list = NULL, **tail = &list;
    append(&tail, alloc_stmt(p, b));
    const bool by_tile = chance(p, 25);
    append(&tail, by_tile ? tile_stmt(m, &s, b) : fill_shared(p, &s, b, NULL));
    const bool second = chance(p, 25);
    if (second) { /* two buffers for one barrier */
        const int c = new_shared(p, random_type(p));
        append(&tail, alloc_stmt(p, c));
        append(&tail, fill_shared(p, &s, c, NULL));
        add_buffer(&s, c);
    }
    if (!by_tile || second) { /* a copy alone needs no barrier of the user's */
        append(&tail, sync_stmt(p));
    }
    if (chance(p, 25)) {
        append(&tail, update_shared(p, &s, b));
        append(&tail, sync_stmt(p));
    }
    add_buffer(&s, b);
    const int v = chance(p, 25) ? view_of(p, b) : NONE;
    if (v != NONE) {
        append(&tail, alloc_stmt(p, v));
        add_buffer(&s, v);
    }
    gstmt *readers =
        depth > 0 && chance(p, 40) ? phases(m, s, *around, depth - 1) : plain(m, s, *around, depth);
    if (readers) {
        append(&tail, readers);
    }
    gstmt *out = write_output(m, &s, around);
    if (out) {
        append(&tail, out);
    }
    append(&tail, sync_stmt(p));
    return list;
}

static gstmt *shared_atomics(maker *m, scope s, const nest *around) {
    program *p = m->p;
    const int b = new_shared(p, atomic_type(p));
    const int64_t type = p->buffer[b].type;
    gstmt *list = NULL, **tail = &list;
    append(&tail, alloc_stmt(p, b));
    append(&tail, fill_shared(p, &s, b, type_real(type) ? make_real(p, type, 3) : make_int(p, type, 3)));
    append(&tail, sync_stmt(p));
    gstmt *a = atomic_stmt(p, &s, b, (tg_reduction)(TG_SUM + roll_below(p, 3)));
    append(&tail, chance(p, 40) ? when_stmt(p, random_truth(p, &s, 1), a) : a);
    append(&tail, sync_stmt(p));
    add_buffer(&s, b);
    gstmt *out = write_output(m, &s, around);
    if (out) {
        append(&tail, out);
    }
    append(&tail, sync_stmt(p));
    return list;
}

static gstmt *random_allreduce(program *p, scope *s) {
    gstmt *a = make_stmt(p, S_ALLREDUCE);
    int64_t type = random_type(p);
    type = type == TG_BOOL ? TG_I32 : type;
    a->reduction = (tg_reduction)(TG_SUM + roll_below(p, 3));
    a->along = p->thread[roll_below(p, p->nthreads)];
    const int64_t count = size_value(p, p->variable[a->along].size);
    a->value = a->reduction == TG_SUM ? random_summand(p, s, type, count, 2) : random_expr(p, s, type, 2);
    const int v = variable_new(p, V_LET, "a", a->value->type);
    gvariable *to = &p->variable[v];
    to->lo = type_least(type);
    to->hi = type_most(type);
    to->most = a->reduction == TG_SUM ? a->value->most * (double)count : a->value->most;
    a->variable = v;
    add_variable(s, v);
    return a;
}

static gstmt *uniform_loop(maker *m, scope s, nest around, int depth) {
    gstmt *l = random_loop(m, &s, &around, true);
    l->body = phases(m, s, around, depth - 1);
    return l;
}

static gstmt *uniform_when(maker *m, const scope *s, const nest *around, int depth) {
    program *p = m->p;
    scope only = *s;
    only.uniform_only = true;
    gexpr *condition = random_truth(p, &only, 2);
    gstmt *w = when_stmt(p, condition, phases(m, *s, *around, depth - 1));
    if (chance(p, 40)) {
        w->otherwise = phases(m, *s, *around, depth - 1);
    }
    return w;
}

static gstmt *phases(maker *m, scope s, nest around, int depth) {
    program *p = m->p;
    gstmt *list = NULL, **tail = &list;
    const int n = 1 + (int)roll_below(p, 3);
    for (int i = 0; i < n; i++) {
        gstmt *made = NULL;
        switch (roll_below(p, 9)) {
        case 0:
        case 1:
            made = shared_phases(m, s, &around, depth);
            break;
        case 2:
            made = random_allreduce(p, &s);
            break;
        case 3:
            made = depth > 0 && around.n < 2 ? uniform_loop(m, s, around, depth) : NULL;
            break;
        case 4:
            made = depth > 0 ? uniform_when(m, &s, &around, depth) : NULL;
            break;
        case 5:
            made = shared_atomics(m, s, &around);
            break;
        case 6:
            made = random_let(p, &s, true);
            break;
        default:
            made = plain(m, s, around, depth);
            break;
        }
        if (made) {
            append(&tail, made);
        }
    }
    return list;
}

void generate_thread_view(program *p) {
    maker m = {.p = p};
    scope s = {.nvariables = 0};
    p->wild = chance(p, 20);
    const int rows = chance(p, 30) ? make_extent(p, &s) : NONE;
    for (int64_t n = roll_below(p, 3); n > 0; n--) {
        make_scalar(p, &s);
    }
    make_grid(p, &s, rows != NONE && chance(p, 50) ? rows : NONE);
    make_threads(p, &s);
    for (int64_t n = 1 + roll_below(p, 4); n > 0; n--) {
        make_input(p, &s, rows);
    }
    const nest none = {.n = 0};
    gstmt *list = NULL, **tail = &list;
    gstmt *body = phases(&m, s, none, 2);
    if (body) {
        append(&tail, body);
    }
    gstmt *out = write_output(&m, &s, &none);
    if (out) {
        append(&tail, out);
    }
    p->body = list;
}
