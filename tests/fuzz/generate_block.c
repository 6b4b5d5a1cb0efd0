/* generate_block.c -- random kernels in block view; see generate.h.
 *
 * Blocks write tiles of their own: an output has as many tiles as there are blocks, or a few elements fewer.  Inside
 * parallel an iteration writes elements numbered by the axes of the loop, and reads what this loop does not write.
 * What sums in an order of its own (reducers, reduce, atomics) sums whole numbers that every order sums exactly.
 *
 * The maker keeps the tiles that hold values: shared ones are read anywhere, fragments mostly where the axes of a
 * loop say. */
#include <string.h>

#include "generate_block.h"

static gstmt *episodes(maker *m, scope s, tiles t, int depth);

/* ---- parallel -------------------------------------------------------------------------------------------- */

/* x as a value of another type, whatever it is. */
static gexpr *convert(program *p, gexpr *x, int64_t type) {
    if (x->type == type) {
        return x;
    }
    if (type == TG_BOOL) {
        return make_binary(p, TG_NE, x,
                           type_real(x->type) ? make_real(p, x->type, 0) : make_int(p, x->type, 0));
    }
    if (type_real(x->type) && p->wild && !type_real(type)) { /* what may be no number is only compared */
        return make_cast(p, type, make_binary(p, TG_LT, x, make_real(p, x->type, 1)));
    }
    if (type_real(x->type)) {
        x = limit_real(p, x, 100);
        return make_cast(p, type, type_real(type) || type_signs(type) ? x : make_unary(p, TG_ABS, x));
    }
    if (type_real(type) && x->type != TG_BOOL) {
        x = bring_into(p, x, type_signs(x->type) ? -1000 : 0, 1000);
    }
    return make_cast(p, type, x);
}

static gexpr *join(program *p, gexpr *a, gexpr *b) {
    const int64_t type = a->type;
    if (type == TG_BOOL) {
        return make_binary(p, (tg_op)(TG_BIT_AND + roll_below(p, 3)), a, b);
    }
    if (type_real(type)) {
        const tg_op op = chance(p, 60) ? TG_ADD : TG_MAX_OF;
        a = limit_real(p, a, 900);
        return make_binary(p, op, a, limit_real(p, b, 900));
    }
    return make_binary(p, chance(p, 50) ? TG_MIN_OF : TG_BIT_XOR, a, b);
}

/* An element of a fragment: where the axes of the loop say, if they are within its extents. */
static gexpr *read_fragment(program *p, const scope *s, int b, const gstmt *loop) {
    const gbuffer *x = &p->buffer[b];
    gexpr *index[TG_MAX_RANK];
    for (int i = 0; i < x->rank; i++) {
        index[i] = NULL;
        const int first = chance(p, 80) ? i : (int)roll_below(p, loop->n);
        for (int j = 0; j < loop->n && !index[i]; j++) {
            const int axis = loop->axis[(first + j) % loop->n];
            if (p->variable[axis].hi < size_value(p, x->dim[i])) {
                index[i] = make_variable(p, axis);
            }
        }
        if (!index[i] || chance(p, 6)) {
            index[i] = random_index(p, s, x->dim[i], 1);
        }
    }
    return make_load(p, b, index);
}

/* A value of a type, of what iterations may read. */
static gexpr *iteration_value(maker *m, const scope *s, const tiles *t, const gstmt *loop, int64_t type,
                              int depth) {
    program *p = m->p;
    gexpr *x = random_expr(p, s, type, depth);
    for (int i = 0; i < 2 && t->n > 0; i++) {
        const int b = t->buffer[roll_below(p, t->n)];
        if (p->buffer[b].space != TG_FRAGMENT && p->buffer[b].space != TG_REDUCER && chance(p, 70)) {
            continue;
        }
        x = join(p, x, convert(p, read_fragment(p, s, b, loop), type));
    }
    return type_real(type) ? limit_real(p, x, type == TG_F16 ? 2000.0 : 1e6) : x;
}

/* A parallel loop over the extents of a buffer. */
static gstmt *over(program *p, int rank, const int *dim, scope *inside, gexpr **index) {
    gstmt *l = make_stmt(p, S_LOOP);
    l->scope = TG_PARALLEL;
    l->n = rank ? rank : 1;
    const int one = rank ? NONE : size_number(p, 1);
    for (int i = 0; i < l->n; i++) {
        const int size = rank ? dim[i] : one;
        l->axis[i] = block_new_axis(p, V_LOOP, "p", size, false);
        l->extent[i] = make_size(p, size);
        index[i] = make_variable(p, l->axis[i]);
        inside->variable[inside->nvariables++] = l->axis[i];
    }
    return l;
}

/* The same loop with its axes in another order: index[] follows. */
static void permute(program *p, gstmt *l, gexpr **index) {
    if (l->n < 2 || chance(p, 75)) {
        return;
    }
    const int axis = l->axis[0];
    gexpr *extent = l->extent[0];
    l->axis[0] = l->axis[1];
    l->extent[0] = l->extent[1];
    l->axis[1] = axis;
    l->extent[1] = extent;
    for (int i = 0; i < 2; i++) {
        index[i] = make_variable(p, l->axis[1 - i]);
    }
}

static gstmt *element_stmt(program *p, stmt_kind kind, int b, gexpr *const *index, gexpr *value) {
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

static gstmt *over_own(program *p, int size, scope *inside, gexpr **index) {
    gstmt *l = make_stmt(p, S_LOOP);
    l->scope = chance(p, 60) ? TG_SERIAL : TG_UNROLLED;
    l->n = 1;
    l->axis[0] = block_new_axis(p, V_LOOP, "i", size, false);
    l->extent[0] = make_size(p, size);
    inside->variable[inside->nvariables++] = l->axis[0];
    *index = make_variable(p, l->axis[0]);
    return l;
}

/* local(r, ..) of several elements, each set and then changed; the value is one of them. */
static gexpr *own_array(maker *m, const scope *s, const tiles *t, const gstmt *loop, int64_t type,
                        gstmt ***tail) {
    program *p = m->p;
    const int own = buffer_new(p, TG_LOCAL, "r", type), size = size_number(p, 1 + roll_below(p, 6));
    p->buffer[own].rank = 1;
    p->buffer[own].dim[0] = size;
    block_any_contents(&p->buffer[own]);
    append(tail, block_alloc(p, own));
    scope first = *s, second = *s;
    gexpr *index, *x;
    gstmt *l = over_own(p, size, &first, &index);
    x = iteration_value(m, &first, t, loop, type, 1);
    l->body = element_stmt(p, S_SET, own, &index, x);
    append(tail, l);
    second.buffer[second.nbuffers++] = own;
    if (chance(p, 50)) {
        l = over_own(p, size, &second, &index);
        x = random_expr(p, &second, type, 2);
        x = type_real(type) ? limit_real(p, x, 8) : type_signs(type) ? bring_into(p, x, -100, 100) : x;
        gexpr *old = make_load(p, own, &index);
        l->body = element_stmt(p, S_SET, own, &index, make_binary(p, TG_MAX_OF, old, x));
        append(tail, l);
    }
    index = random_index(p, s, size, 1);
    return make_load(p, own, &index);
}

/* Statements before the store of an iteration: names, an own sum or array; the value is then this. */
static gexpr *prepare(maker *m, scope *s, const tiles *t, const gstmt *loop, int64_t type, gstmt ***tail) {
    program *p = m->p;
    if (chance(p, 30)) {
        gexpr *x = iteration_value(m, s, t, loop, random_type(p), 1);
        gstmt *l = make_stmt(p, S_LET);
        l->variable = variable_new(p, V_LET, "x", x->type);
        l->value = x;
        gvariable *v = &p->variable[l->variable];
        v->lo = x->lo;
        v->hi = x->hi;
        v->most = x->most;
        s->variable[s->nvariables++] = l->variable;
        append(tail, l);
    }
    if (type == TG_BOOL || chance(p, 70)) {
        return iteration_value(m, s, t, loop, type, 2);
    }
    if (chance(p, 40)) {
        return own_array(m, s, t, loop, type, tail);
    }
    const int own = buffer_new(p, TG_LOCAL, "r", type);
    block_any_contents(&p->buffer[own]);
    append(tail, block_alloc(p, own));
    append(tail, element_stmt(p, S_SET, own, NULL, iteration_value(m, s, t, loop, type, 1)));
    gstmt *l = make_stmt(p, S_LOOP);
    l->scope = chance(p, 70) ? TG_SERIAL : TG_UNROLLED;
    l->n = 1;
    const int trips = size_number(p, 1 + roll_below(p, 5));
    l->axis[0] = block_new_axis(p, V_LOOP, "i", trips, false);
    l->extent[0] = make_size(p, trips);
    scope body = *s;
    body.variable[body.nvariables++] = l->axis[0];
    gexpr *x = random_expr(p, &body, type, 2);
    x = type_real(type) ? limit_real(p, x, 8) : type_signs(type) ? bring_into(p, x, -100, 100) : x;
    gexpr *sum = make_load(p, own, NULL);
    l->body = type_real(type) ? element_stmt(p, S_ACCUM, own, NULL, x)
                              : element_stmt(p, S_SET, own, NULL, make_binary(p, TG_MAX_OF, sum, x));
    p->buffer[own].most = type == TG_F16 ? 2100 : 1.1e6;
    append(tail, l);
    return make_load(p, own, NULL);
}

/* parallel(..) set(at(tile, ..), ..): a new tile, or an old one in place. */
static gstmt *compute_tile(maker *m, scope *s, tiles *t) {
    program *p = m->p;
    const bool in_place = t->n > 0 && chance(p, 35);
    int b = in_place ? t->buffer[roll_below(p, t->n)] : NONE;
    if (b == NONE && t->n > 0 && chance(p, 50)) { /* of a shape that there is */
        const gbuffer *x = &p->buffer[t->buffer[roll_below(p, t->n)]];
        const tg_space space = block_random_space(p);
        b = block_new_tile(m, space, random_type(p), x->rank, x->dim);
    } else if (b == NONE) {
        b = block_any_tile(m);
    }
    if (b == NONE || p->buffer[b].space == TG_REDUCER || p->buffer[b].is_read_only) {
        return NULL;
    }
    gstmt *list = NULL, **tail = &list;
    const int root = b;
    if (!in_place) {
        append(&tail, block_alloc(p, b));
        b = block_perhaps_view(m, b, 15, &tail);
    }
    scope inside = *s;
    tiles others = *t;
    block_let_go(p, &inside, &others, b);
    gexpr *index[TG_MAX_RANK] = {NULL};
    gstmt *l = over(p, p->buffer[b].rank, p->buffer[b].dim, &inside, index);
    permute(p, l, index);
    gstmt *body = NULL, **end = &body;
    gexpr *value = prepare(m, &inside, &others, l, p->buffer[b].type, &end);
    if (in_place) {
        value = join(p, make_load(p, b, index), value);
    }
    gstmt *set = element_stmt(p, S_SET, b, index, value);
    append(&end, in_place && chance(p, 40) ? when_stmt(p, random_truth(p, &inside, 1), set) : set);
    l->body = body;
    append(&tail, l);
    if (!in_place) {
        block_hold_both(p, s, t, root, b);
    }
    return list;
}

/* parallel(..) set(at(out, ..), ..): elements numbered by the blocks and the loop. */
static gstmt *write_elements(maker *m, const scope *s, const tiles *t) {
    program *p = m->p;
    if (m->outputs > 6) {
        return NULL;
    }
    int dim[TG_MAX_RANK], rank = 1 + (int)roll_below(p, 2);
    for (int i = 0; i < rank; i++) {
        dim[i] = block_tile_extent(p, rank);
    }
    scope inside = *s;
    gexpr *index[TG_MAX_RANK] = {NULL}, *place[TG_MAX_RANK];
    gstmt *l = over(p, rank, dim, &inside, index);
    gexpr *guard = NULL;
    int out[TG_MAX_RANK], n = 0;
    for (int i = 1; i < p->ngrid; i++) {
        place[n] = make_variable(p, p->grid[i]);
        out[n++] = size_positive(p, p->variable[p->grid[i]].size);
    }
    for (int i = 0; i < rank; i++, n++) {
        place[n] = index[i];
        out[n] = dim[i];
        if (i == 0) {
            place[n] = make_binary(p, TG_ADD,
                                   make_binary(p, TG_MUL, make_variable(p, p->grid[0]), make_size(p, dim[0])),
                                   index[0]);
            out[n] = size_positive(p, size_make(p, SIZE_TIMES, dim[0], p->variable[p->grid[0]].size, 0));
            if (chance(p, 50) && size_value(p, out[n]) > 1) {
                out[n] = size_make(p, SIZE_PLUS, out[n], NONE, -1);
                guard = make_binary(p, TG_LT, place[n], make_size(p, out[n]));
            }
        }
    }
    const int64_t type = random_type(p);
    gstmt *body = NULL, **end = &body;
    gexpr *value = prepare(m, &inside, t, l, type, &end);
    const int b = block_new_output(m, type, n, out);
    gstmt *set = element_stmt(p, S_SET, b, place, value);
    append(&end, guard ? when_stmt(p, guard, set) : set);
    l->body = body;
    return l;
}

/* ---- what sums in any order ------------------------------------------------------------------------------ */

static int64_t atomic_type(program *p) {
    static const int64_t types[] = {TG_I32, TG_I32, TG_U32, TG_U64, TG_I64, TG_F32, TG_F64};
    return block_pick(p, types, 7);
}

/* fill(sh, 3); parallel(..) atomic(at(sh, ..), ..) */
static gstmt *atomics(maker *m, scope *s, tiles *t) {
    program *p = m->p;
    const int64_t type = atomic_type(p);
    const int b = block_random_tile(m, TG_SHARED, type);
    if (b == NONE) {
        return NULL;
    }
    gstmt *list = NULL, **tail = &list, *f = make_stmt(p, S_FILL);
    append(&tail, block_alloc(p, b));
    f->to = block_whole(p, b);
    f->value = type_real(type) ? make_real(p, type, 3) : make_int(p, type, 3);
    append(&tail, f);
    int dim[2] = {block_tile_extent(p, 1)};
    dim[1] = size_number(p, 1 + roll_below(p, 5));
    scope inside = *s;
    gexpr *index[TG_MAX_RANK] = {NULL}, *place[TG_MAX_RANK];
    gstmt *l = over(p, 1 + (int)roll_below(p, 2), dim, &inside, index);
    for (int i = 0; i < p->buffer[b].rank; i++) {
        place[i] = random_index(p, &inside, p->buffer[b].dim[i], 2);
    }
    const tg_reduction op = (tg_reduction)(TG_SUM + roll_below(p, 3));
    gexpr *x = op == TG_SUM ? random_summand(p, &inside, type, 4000, 2) : random_expr(p, &inside, type, 2);
    l->body = element_stmt(p, S_ATOMIC, b, place, type_real(type) ? limit_real(p, x, 1e6) : x);
    l->body->reduction = op;
    append(&tail, l);
    block_hold(p, s, t, b);
    return list;
}

/* reduce(op, src, dst, dim), of whole numbers made for it. */
static gstmt *reduce_tile(maker *m, scope *s, tiles *t) {
    program *p = m->p;
    const int64_t type = block_number_type(p);
    const int all = block_random_tile(m, block_random_space(p), type);
    if (all == NONE) {
        return NULL;
    }
    gstmt *list = NULL, **tail = &list;
    append(&tail, block_alloc(p, all));
    const int from = block_perhaps_view(m, all, 25, &tail);
    const gbuffer *x = &p->buffer[from];
    gstmt *r = make_stmt(p, S_REDUCE);
    r->dim = (int)roll_below(p, x->rank);
    r->reduction = (tg_reduction)(TG_SUM + roll_below(p, 3));
    int dim[TG_MAX_RANK], n = 0;
    for (int i = 0; i < x->rank; i++) {
        if (i != r->dim) {
            dim[n++] = x->dim[i];
        }
    }
    const int to = block_new_tile(m, block_random_space(p), type, n, dim);
    if (to == NONE) {
        return NULL;
    }
    scope inside = *s;
    gexpr *index[TG_MAX_RANK] = {NULL};
    append(&tail, block_alloc(p, to));
    const int made = chance(p, 50) ? all : from; /* where its elements are made may be the one or the other */
    gstmt *l = over(p, p->buffer[made].rank, p->buffer[made].dim, &inside, index);
    l->body = element_stmt(p, S_SET, made, index,
                           random_summand(p, &inside, type, size_value(p, x->dim[r->dim]), 2));
    append(&tail, l);
    r->from = block_whole(p, from);
    r->to = block_whole(p, to);
    append(&tail, r);
    block_hold_both(p, s, t, all, from);
    block_hold(p, s, t, to);
    return list;
}

/* A parallel loop that feeds a reducer; `kept` are the axes that index it. */
static gstmt *feed(maker *m, const scope *s, const tiles *t, int b, const int *dim, int rank, const int *kept,
                   int nkept, int64_t rounds) {
    program *p = m->p;
    scope inside = *s;
    gexpr *index[TG_MAX_RANK] = {NULL}, *place[TG_MAX_RANK] = {NULL};
    gstmt *l = over(p, rank, dim, &inside, index);
    for (int i = 0; i < nkept; i++) {
        place[i] = index[kept[i]];
    }
    const int64_t type = p->buffer[b].type;
    const int64_t each = block_element_count(p, dim, rank) * rounds + 2; /* as much as it is filled with */
    gexpr *x;
    if (p->buffer[b].reduction == TG_SUM) {
        x = random_summand(p, &inside, type, each, 2);
    } else {
        x = iteration_value(m, &inside, t, l, type, 2);
    }
    gstmt *a = element_stmt(p, S_ACCUM, b, place, x);
    l->body = chance(p, 20) ? when_stmt(p, random_truth(p, &inside, 1), a) : a;
    return l;
}

static gstmt *reducing(maker *m, scope *s, tiles *t) {
    program *p = m->p;
    int dim[TILE_RANK], kept[TILE_RANK], nkept = 0, extents[TILE_RANK];
    const int rank = 1 + (int)roll_below(p, 3);
    for (int i = 0; i < rank; i++) {
        dim[i] = block_tile_extent(p, rank);
        if (chance(p, 50)) {
            extents[nkept] = dim[i];
            kept[nkept++] = i;
        }
    }
    const int64_t type = block_number_type(p);
    if (p->nbuffers > MAX_BUFFERS - 4 || m->shared_bytes > 15000) {
        return NULL;
    }
    const int b = buffer_new(p, TG_REDUCER, "red", type);
    gbuffer *x = &p->buffer[b];
    x->rank = nkept;
    memcpy(x->dim, extents, sizeof extents);
    x->reduction = (tg_reduction)(TG_SUM + roll_below(p, 3));
    block_any_contents(x);
    m->shared_bytes += block_element_count(p, extents, nkept) * type_size(type);
    gstmt *list = NULL, **tail = &list;
    append(&tail, block_alloc(p, b));
    gstmt *f = make_stmt(p, chance(p, 60) ? S_CLEAR : S_FILL);
    f->to = block_whole(p, b);
    f->value = f->kind == S_FILL ? (type_real(type) ? make_real(p, type, 2) : make_int(p, type, 2)) : NULL;
    append(&tail, f);
    const int64_t rounds = chance(p, 40) ? 3 : 1;
    if (rounds > 1) {
        scope inside = *s;
        tiles inner = *t;
        gstmt *l = make_stmt(p, S_LOOP);
        l->scope = chance(p, 50) ? TG_PIPELINED : TG_SERIAL;
        l->option = l->scope == TG_PIPELINED ? 1 + roll_below(p, 4) : 0;
        l->n = 1;
        const int trips = size_number(p, 1 + roll_below(p, rounds));
        l->axis[0] = block_new_axis(p, V_LOOP, "k", trips, true);
        l->extent[0] = make_size(p, trips);
        inside.variable[inside.nvariables++] = l->axis[0];
        gstmt *body = NULL, **end = &body, *load = block_load_tile(m, &inside, &inner);
        if (load) {
            append(&end, load);
        }
        append(&end, feed(m, &inside, &inner, b, dim, rank, kept, nkept, rounds));
        l->body = body;
        append(&tail, l);
    } else {
        append(&tail, feed(m, s, t, b, dim, rank, kept, nkept, 1));
    }
    gstmt *done = make_stmt(p, S_FINALIZE);
    done->buffer = b;
    append(&tail, done);
    block_hold(p, s, t, b);
    return list;
}

/* ---- loops and branches ---------------------------------------------------------------------------------- */

/* A uniform loop's axis and extent: a number, or what the launch or the block says. */
static void trip_count(maker *m, const scope *s, gstmt *l, const char *stem, int64_t trips, bool *certain) {
    program *p = m->p;
    int size = size_number(p, trips);
    l->n = 1;
    l->extent[0] = make_size(p, size);
    *certain = trips > 0;
    if (l->scope != TG_UNROLLED && chance(p, 25)) {
        l->extent[0] = block_uniform_index(p, s, 5);
        size = size_number(p, 5);
        *certain = false;
    }
    l->axis[0] = block_new_axis(p, V_LOOP, stem, size, true);
}

/* Copies and what is computed of them, in a loop whose copies may run ahead. */
static gstmt *pipeline(maker *m, const scope *s, const tiles *t) {
    program *p = m->p;
    gstmt *list = NULL, **tail = &list;
    scope outside = *s;
    tiles held = *t;
    int loaded[3], seen[3], n = 1 + (int)roll_below(p, 3), sums = NONE;
    for (int i = 0; i < n; i++) {
        const tg_space space = chance(p, 75) ? TG_SHARED : TG_FRAGMENT;
        loaded[i] = block_random_tile(m, space, block_number_type(p));
        if (loaded[i] == NONE) {
            n = i;
            break;
        }
        append(&tail, block_alloc(p, loaded[i]));
        seen[i] = block_perhaps_view(m, loaded[i], 20, &tail);
    }
    const int64_t type = chance(p, 50) ? TG_I32 : TG_F32;
    sums = block_random_tile(m, block_random_space(p), type);
    if (n == 0 || sums == NONE) {
        return NULL;
    }
    append(&tail, block_alloc(p, sums));
    append(&tail, block_fill(m, &outside, sums));
    gstmt *l = make_stmt(p, S_LOOP);
    l->scope = TG_PIPELINED;
    const bool deep = chance(p, 20);
    l->option = deep ? 5 + roll_below(p, 5) : 1 + roll_below(p, 5);
    l->n = 1;
    bool certain;
    trip_count(m, &outside, l, "k", roll_below(p, deep ? 14 : 6), &certain);
    int filled[3], nfilled = 0;
    scope inside = outside;
    inside.variable[inside.nvariables++] = l->axis[0];
    gstmt *body = NULL, **end = &body;
    for (int i = 0; i < n; i++) {
        gstmt *load = block_load_into(m, &inside, chance(p, 75) ? loaded[i] : seen[i]);
        if (chance(p, 15)) { /* not in every iteration */
            scope only = inside;
            only.uniform_only = true;
            load = when_stmt(p, random_truth(p, &only, 1), load);
            filled[nfilled++] = loaded[i];
        }
        append(&end, load);
        block_hold_both(p, &inside, &held, loaded[i], seen[i]);
    }
    scope loop_scope = inside;
    gexpr *index[TG_MAX_RANK] = {NULL};
    gstmt *work = over(p, p->buffer[sums].rank, p->buffer[sums].dim, &loop_scope, index);
    gexpr *x = iteration_value(m, &loop_scope, &held, work, type, 2);
    gexpr *sum = make_load(p, sums, index);
    work->body = type_real(type) ? element_stmt(p, S_ACCUM, sums, index, limit_real(p, x, 8))
                                 : element_stmt(p, S_SET, sums, index, make_binary(p, TG_BIT_XOR, sum, x));
    append(&end, work);
    if (chance(p, 25)) { /* the body writes what it has read */
        gstmt *f = block_fill_part(m, &inside, &held);
        if (f) {
            append(&end, f);
        }
    }
    l->body = body;
    for (int i = 0; i < nfilled; i++) {
        append(&tail, block_fill(m, &outside, filled[i]));
    }
    append(&tail, l);
    gstmt *out = block_store_tile(m, sums);
    if (out) {
        append(&tail, out);
    }
    if (chance(p, 30) && certain) { /* read after the loop */
        out = block_store_tile(m, seen[0]);
        if (out) {
            append(&tail, out);
        }
    }
    return list;
}

/* ---- parts of threads ------------------------------------------------------------------------------------- */

/* Rows of so many parts of so many elements, in shared memory: as many parts as threads, or about. */
static int rows_of_parts(maker *m, const int dim[3], gstmt ***tail, int *view) {
    program *p = m->p;
    static const int64_t types[] = {TG_F16, TG_F32, TG_I8, TG_U8, TG_I32, TG_BF16, TG_F64};
    const int64_t type = block_pick(p, types, 7);
    const int flat[2] = {dim[0], size_make(p, SIZE_TIMES, dim[1], dim[2], 0)};
    const bool is_flat = chance(p, 60);
    const int b = block_new_tile(m, TG_SHARED, type, is_flat ? 2 : 3, is_flat ? flat : dim);
    *view = b;
    if (b == NONE) {
        return NONE;
    }
    append(tail, block_alloc(p, b));
    if (is_flat) {
        *view = block_new_view(m, b, type);
        if (*view == NONE) {
            return NONE;
        }
        p->buffer[*view].rank = 3;
        memcpy(p->buffer[*view].dim, dim, 3 * sizeof *dim);
        append(tail, block_alloc(p, *view));
    }
    return b;
}

/* The iteration's own part of every row, element after element, into its sum; now and then another one's part. */
static gstmt *sum_of_part(maker *m, const scope *s, int view, int sums) {
    program *p = m->p;
    const int *dim = p->buffer[view].dim;
    scope inside = *s;
    gexpr *own, *index[3];
    gstmt *l = over(p, 1, &dim[1], &inside, &own);
    gstmt *rows = over_own(p, dim[0], &inside, &index[0]);
    gstmt *elements = over_own(p, dim[2], &inside, &index[2]);
    index[1] = chance(p, 85) ? own : random_index(p, &inside, dim[1], 1);
    const int64_t type = p->buffer[sums].type;
    gexpr *x = convert(p, make_load(p, view, index), type), *sum = make_load(p, sums, &own);
    elements->body = type_real(type) ? element_stmt(p, S_ACCUM, sums, &own, limit_real(p, x, 8))
                                     : element_stmt(p, S_SET, sums, &own, make_binary(p, TG_BIT_XOR, sum, x));
    rows->body = elements;
    l->body = rows;
    return l;
}

/* Tiles of which each thread reads a part of its own, copied again and again. */
static gstmt *parts_of_threads(maker *m, const scope *s) {
    program *p = m->p;
    static const int64_t sizes[] = {1, 2, 3, 4, 8, 8, 9, 16, 16, 32};
    const int64_t threads = program_threads(p);
    const int64_t parts = chance(p, 70) ? threads : chance(p, 50) ? 2 * threads : 1 + roll_below(p, threads);
    const int64_t type = chance(p, 50) ? TG_I32 : TG_F32, n = 1 + roll_below(p, 2);
    const int of_sums = size_number(p, parts);
    gstmt *list = NULL, **tail = &list;
    scope outside = *s;
    int tile[2], view[2];
    for (int i = 0; i < n; i++) {
        const int dim[3] = {size_number(p, 1 + roll_below(p, 4)), of_sums,
                            size_number(p, block_pick(p, sizes, 10))};
        tile[i] = rows_of_parts(m, dim, &tail, &view[i]);
        if (tile[i] == NONE) {
            return NULL;
        }
    }
    const int sums = block_new_tile(m, block_random_space(p), type, 1, &of_sums);
    if (sums == NONE) {
        return NULL;
    }
    append(&tail, block_alloc(p, sums));
    append(&tail, block_fill(m, &outside, sums));
    gstmt *l = make_stmt(p, S_LOOP);
    l->scope = chance(p, 75) ? TG_PIPELINED : TG_SERIAL;
    l->option = l->scope == TG_PIPELINED ? 1 + roll_below(p, 4) : 0;
    bool certain;
    trip_count(m, &outside, l, "k", 1 + roll_below(p, 5), &certain);
    scope inside = outside;
    inside.variable[inside.nvariables++] = l->axis[0];
    gstmt *body = NULL, **end = &body;
    for (int i = 0; i < n; i++) {
        append(&end, block_load_into(m, &inside, tile[i]));
    }
    for (int i = 0; i < n; i++) {
        append(&end, sum_of_part(m, &inside, view[i], sums));
    }
    l->body = body;
    append(&tail, l);
    gstmt *out = block_store_tile(m, sums);
    if (out) {
        append(&tail, out);
    }
    return list;
}

static gstmt *uniform_loop(maker *m, scope s, const tiles *t, int depth) {
    program *p = m->p;
    gstmt *l = make_stmt(p, S_LOOP);
    l->scope = chance(p, 25) ? TG_PIPELINED : chance(p, 30) ? TG_UNROLLED : TG_SERIAL;
    l->option = l->scope == TG_PIPELINED ? 1 + roll_below(p, 4) : 0;
    l->n = 1;
    bool certain;
    trip_count(m, &s, l, "i", chance(p, 10) ? 0 : 1 + roll_below(p, 3), &certain);
    s.variable[s.nvariables++] = l->axis[0];
    l->body = episodes(m, s, *t, depth - 1);
    return l;
}

static gstmt *uniform_when(maker *m, const scope *s, const tiles *t, int depth) {
    program *p = m->p;
    scope only = *s;
    only.uniform_only = true;
    gexpr *condition = random_truth(p, &only, 1);
    gstmt *w = when_stmt(p, condition, episodes(m, *s, *t, depth - 1));
    if (chance(p, 40)) {
        w->otherwise = episodes(m, *s, *t, depth - 1);
    }
    return w;
}

static gstmt *episode(maker *m, scope *s, tiles *t, int depth) {
    program *p = m->p;
    switch (roll_below(p, 21)) {
    case 0:
    case 1:
        return block_load_tile(m, s, t);
    case 2:
        return block_fill_tile(m, s, t);
    case 3:
        return block_fill_part(m, s, t);
    case 4:
        return block_copy_tile(m, s, t);
    case 5:
        return t->n ? block_store_tile(m, t->buffer[roll_below(p, t->n)]) : NULL;
    case 6:
    case 7:
    case 8:
        return compute_tile(m, s, t);
    case 9:
        return write_elements(m, s, t);
    case 10:
        return atomics(m, s, t);
    case 11:
        return reduce_tile(m, s, t);
    case 12:
    case 13:
        return reducing(m, s, t);
    case 14:
    case 15:
        return pipeline(m, s, t);
    case 16:
        return block_local_tile(m, s);
    case 17:
        return block_view_tile(m, s, t);
    case 18:
        return parts_of_threads(m, s);
    case 19:
        return depth > 0 ? uniform_loop(m, *s, t, depth) : NULL;
    default:
        return depth > 0 ? uniform_when(m, s, t, depth) : NULL;
    }
}

static gstmt *episodes(maker *m, scope s, tiles t, int depth) {
    program *p = m->p;
    gstmt *list = NULL, **tail = &list;
    for (int64_t n = 1 + roll_below(p, depth > 1 ? 4 : 3); n > 0 && p->nbuffers < MAX_BUFFERS - 12; n--) {
        gstmt *made = episode(m, &s, &t, depth);
        if (made) {
            append(&tail, made);
        }
    }
    for (int i = 0; i < t.n; i++) {
        gstmt *out = chance(p, 40) ? block_store_tile(m, t.buffer[i]) : NULL;
        if (out) {
            append(&tail, out);
        }
    }
    return list;
}

void generate_block_view(program *p) {
    maker m = {.p = p, .rows = NONE};
    scope s = {.nvariables = 0};
    p->wild = chance(p, 20);
    if (chance(p, 30)) {
        block_make_extent(&m, &s);
    }
    for (int64_t n = roll_below(p, 3); n > 0; n--) {
        block_make_scalar(p, &s);
    }
    block_make_launch(&m, &s);
    for (int64_t n = 1 + roll_below(p, 2); n > 0; n--) {
        int dim[TILE_RANK];
        const int rank = (int)roll_below(p, 3);
        for (int i = 0; i < rank; i++) {
            dim[i] = size_number(p, 1 + roll_below(p, 20));
        }
        const int b = block_make_input(&m, random_type(p), rank, dim);
        if (rank == 0 || size_value(p, p->buffer[b].dim[0]) > 0) { /* no row: nothing to read */
            s.buffer[s.nbuffers++] = b;
        }
    }
    const tiles none = {.n = 0};
    p->body =
        chance(p, 10) ? parts_of_threads(&m, &s) : NULL; /* alone: one other copy, and all are the block's */
    p->body = p->body ? p->body : episodes(&m, s, none, 2);
}
