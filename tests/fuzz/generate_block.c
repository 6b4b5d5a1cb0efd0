/* generate_block.c -- random kernels in block view; see generate.h.
 *
 * Blocks write tiles of their own: an output has as many tiles as there are blocks, or a few elements fewer.  Inside
 * parallel an iteration writes elements numbered by the axes of the loop, and reads what this loop does not write.
 * What sums in an order of its own (reducers, reduce, atomics) sums whole numbers that every order sums exactly.
 *
 * The maker keeps the tiles that hold values: shared ones are read anywhere, fragments mostly where the axes of a
 * loop say. */
#include <string.h>

#include "generate.h"

enum { MAX_TILES = 24, TILE_RANK = 3 };

typedef struct tiles {
    int n;
    int buffer[MAX_TILES]; /* shared or fragment, every element written */
} tiles;

typedef struct maker {
    program *p;
    int outputs;
    int rows; /* an extent, or NONE */
    int64_t shared_bytes;
} maker;

static gstmt *episodes(maker *m, scope s, tiles t, int depth);

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

static void any_contents(gbuffer *b) {
    b->lo = type_least(b->type);
    b->hi = type_most(b->type);
    b->most = b->type == TG_F16 ? 2000.0 : 1e6;
}

static void small_contents(gbuffer *b) {
    b->lo = type_signs(b->type) ? -8 : 0;
    b->hi = b->type == TG_BOOL ? 1 : 8;
    b->most = 4;
}

static int64_t number_type(program *p) {
    const int64_t type = random_type(p);
    return type == TG_BOOL ? TG_F32 : type;
}

/* ---- launch and arguments -------------------------------------------------------------------------------- */

static void add_argument(program *p, bool is_tensor, int id) {
    p->arg[p->nargs++] = (gargument){is_tensor, id};
}

static void make_launch(maker *m, scope *s) {
    program *p = m->p;
    static const int64_t counts[] = {1, 31, 32, 32, 48, 64, 96, 128, 128, 256, 1024, 7};
    int64_t rest = pick(p, counts, 12);
    p->nthreads = 1 + (rest % 2 == 0 && chance(p, 15));
    for (int i = 0; i < p->nthreads; i++) {
        const int64_t n = p->nthreads == 2 ? (i ? 2 : rest / 2) : rest;
        p->thread[i] = new_axis(p, V_THREAD, "t", size_number(p, n), false);
    }
    p->named = p->nthreads > 1; /* several axes have names, which nothing uses */
    p->ngrid = 1 + (int)roll_below(p, 2);
    for (int i = 0; i < p->ngrid; i++) {
        int size = size_number(p, 1 + roll_below(p, 3));
        gexpr *extent = make_size(p, size);
        if (i == 0 && m->rows != NONE && chance(p, 50)) {
            const int part = size_number(p, 1 + roll_below(p, 16));
            size = size_make(p, SIZE_CEILDIV, p->variable[m->rows].size, part, 0);
            extent = make_binary(p, TG_QUO, make_variable(p, m->rows),
                                 make_size(p, part)); /* written as ceildiv */
        }
        p->grid[i] = new_axis(p, V_GRID, "g", size, true);
        p->grid_extent[i] = extent;
        s->variable[s->nvariables++] = p->grid[i];
    }
}

static void make_extent(maker *m, scope *s) {
    program *p = m->p;
    m->rows = variable_new(p, V_EXTENT, "rows", INDEX);
    gvariable *x = &p->variable[m->rows];
    x->size = size_number(p, chance(p, 10) ? 0 : 1 + roll_below(p, 40));
    x->hi = INT32_MAX;
    x->uniform = true;
    add_argument(p, false, m->rows);
    s->variable[s->nvariables++] = m->rows;
}

static void make_scalar(program *p, scope *s) {
    const int64_t type = chance(p, 50) ? TG_I32 : TG_F32;
    const int v = variable_new(p, V_SCALAR, "s", type);
    gvariable *x = &p->variable[v];
    x->uniform = true;
    x->lo = 0;
    x->hi = 9;
    x->most = 9;
    x->value = type == TG_I32 ? (cell){.i = roll_below(p, 10)} : (cell){.f = (double)roll_below(p, 65) / 8};
    add_argument(p, false, v);
    s->variable[s->nvariables++] = v;
}

static int make_input(maker *m, int64_t type, int rank, const int *dim) {
    program *p = m->p;
    const int b = buffer_new(p, TG_GLOBAL, "in", type);
    gbuffer *x = &p->buffer[b];
    x->rank = rank;
    for (int i = 0; i < rank; i++) {
        x->dim[i] = dim[i];
    }
    if (rank > 0 && m->rows != NONE && chance(p, 30)) {
        x->extent = m->rows;
        x->dim[0] = p->variable[m->rows].size;
    }
    if (rank > 1 && chance(p, 25)) {
        x->pitch = size_make(p, SIZE_PLUS, x->dim[rank - 1], NONE, roll_below(p, 4));
    }
    x->aligned = chance(p, 20) ? type_size(type) : 0;
    x->is_constant = chance(p, 15);
    x->is_input = true;
    x->seed = roll(p);
    small_contents(x);
    add_argument(p, true, b);
    return b;
}

/* ---- tiles ----------------------------------------------------------------------------------------------- */

static int tile_extent(program *p, int rank) {
    static const int64_t extents[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 32, 64, 97, 128};
    return size_number(p, pick(p, extents, rank == 1 ? 15 : rank == 2 ? 12 : 7));
}

static int64_t element_count(const program *p, const int *dim, int rank) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) {
        n *= size_value(p, dim[i]);
    }
    return n;
}

/* A buffer of given extents; NONE where shared memory would not hold it. */
static int new_tile(maker *m, tg_space space, int64_t type, int rank, const int *dim) {
    program *p = m->p;
    const int64_t bytes = element_count(p, dim, rank) * type_size(type);
    if (m->shared_bytes + bytes > 20000 || p->nbuffers > MAX_BUFFERS - 4) {
        return NONE;
    }
    m->shared_bytes += bytes; /* fragments too: they may have to be published */
    const int b = buffer_new(p, space, space == TG_SHARED ? "sh" : space == TG_LOCAL ? "r" : "fr", type);
    p->buffer[b].rank = rank;
    memcpy(p->buffer[b].dim, dim, (size_t)rank * sizeof *dim);
    any_contents(&p->buffer[b]);
    return b;
}

static int random_tile(maker *m, tg_space space, int64_t type) {
    int dim[TILE_RANK];
    const int rank = 1 + (int)roll_below(m->p, chance(m->p, 25) ? 3 : 2);
    for (int i = 0; i < rank; i++) {
        dim[i] = tile_extent(m->p, rank);
    }
    return new_tile(m, space, type, rank, dim);
}

static tg_space random_space(program *p) {
    return chance(p, 50) ? TG_SHARED : TG_FRAGMENT;
}

static int any_tile(maker *m) {
    const tg_space space = random_space(m->p);
    return random_tile(m, space, random_type(m->p));
}

static gstmt *alloc_stmt(program *p, int b) {
    gstmt *s = make_stmt(p, S_ALLOC);
    s->buffer = b;
    return s;
}

static void hold(program *p, scope *s, tiles *t, int b) {
    if (t->n < MAX_TILES) {
        t->buffer[t->n++] = b;
    }
    if (p->buffer[b].space == TG_SHARED) {
        s->buffer[s->nbuffers++] = b;
    }
}

static int root_of(const program *p, int b) {
    return p->buffer[b].view_of == NONE ? b : p->buffer[b].view_of;
}

/* Without what shares its bytes. */
static void let_go(const program *p, scope *s, tiles *t, int b) {
    for (int i = s->nbuffers - 1; i >= 0; i--) {
        if (root_of(p, s->buffer[i]) == root_of(p, b)) {
            s->buffer[i] = s->buffer[--s->nbuffers];
        }
    }
    for (int i = t->n - 1; i >= 0; i--) {
        if (root_of(p, t->buffer[i]) == root_of(p, b)) {
            t->buffer[i] = t->buffer[--t->n];
        }
    }
}

static gregion whole(program *p, int b) {
    gregion r = {.kind = R_WHOLE, .buffer = b};
    memcpy(r.length, p->buffer[b].dim, sizeof r.length);
    return r;
}

/* ---- regions --------------------------------------------------------------------------------------------- */

static gexpr *uniform_index(program *p, const scope *s, int64_t most) {
    scope only = *s;
    only.uniform_only = true;
    return bring_into(p, random_expr(p, &only, INDEX, 1), 0, most);
}

/* Of a tensor, of the lengths of a tile, anywhere: often partly outside. */
static gregion random_region(maker *m, const scope *s, int tensor, int tile) {
    program *p = m->p;
    const gbuffer *x = &p->buffer[tensor], *y = &p->buffer[tile];
    gregion r = {.kind = (region_kind)(R_TILE + roll_below(p, 3)), .buffer = tensor};
    for (int i = 0; i < x->rank; i++) {
        const int j = i - (x->rank - y->rank);
        r.length[i] = j < 0 ? size_number(p, 1) : y->dim[j];
        const int64_t n = size_value(p, x->dim[i]), length = size_value(p, r.length[i]);
        if (r.kind == R_TILE) {
            r.corner[i] = uniform_index(p, s, (n + length - 1) / length);
        } else {
            gexpr *c = uniform_index(p, s, n + 1);
            r.corner[i] = chance(p, 25) ? make_binary(p, TG_SUB, c, make_int(p, INDEX, roll_below(p, 4))) : c;
        }
    }
    return r;
}

/* Types that a copy converts without a fault, whatever small value comes. */
static bool converts(const program *p, int64_t from, int64_t to) {
    if (from == to) {
        return true;
    }
    if (p->wild && type_real(from) && !type_real(to)) {
        return false;
    }
    return from != TG_BOOL && to != TG_BOOL && (!type_real(from) || type_real(to) || (type_signs(to)));
}

static gstmt *copy_stmt(program *p, gregion from, gregion to) {
    gstmt *s = make_stmt(p, S_COPY);
    s->from = from;
    s->to = to;
    const int64_t type = p->buffer[from.buffer].type;
    const int bytes = type_size(type);
    if (p->buffer[from.buffer].space == TG_GLOBAL && type != TG_BOOL && chance(p, 15)) {
        s->outside = type_real(type) ? (double)roll_below(p, 9) / 2 - 2 : (double)roll_below(p, 9);
    }
    if (chance(p, 6)) {
        s->width = 1 << roll_below(p, bytes == 8 ? 2 : bytes == 4 ? 3 : 4);
        s->layout = (tg_copy_layout)roll_below(p, 3);
    }
    return s;
}

/* A new input that covers about as much as the blocks and loops around ask for. */
static int input_for(maker *m, int tile) {
    program *p = m->p;
    const gbuffer *x = &p->buffer[tile];
    int dim[TG_MAX_RANK], rank = 0;
    if (chance(p, 25)) {
        dim[rank++] = size_number(p, 1 + roll_below(p, 4));
    }
    for (int i = 0; i < x->rank; i++) {
        const int64_t n = size_value(p, x->dim[i]);
        dim[rank++] = chance(p, 40)
                          ? size_make(p, SIZE_TIMES, x->dim[i], size_number(p, 1 + roll_below(p, 3)), 0)
                          : size_number(p, 1 + roll_below(p, 2 * n + 3));
    }
    const int64_t type = chance(p, 65) || !converts(p, TG_I8, x->type) ? x->type : number_type(p);
    return make_input(m, converts(p, type, x->type) ? type : x->type, rank, dim);
}

/* A shared tile of integers whose elements may be addresses; NONE where there is none. */
static int address_tile(const program *p, const scope *s) {
    for (int i = 0; i < s->nbuffers; i++) {
        const gbuffer *b = &p->buffer[s->buffer[i]];
        if (b->space == TG_SHARED && (b->type == TG_I32 || b->type == TG_U8 || b->type == TG_I16)) {
            return s->buffer[i];
        }
    }
    return NONE;
}

/* The corner becomes what an element says that all threads read alike. */
static void address_by_value(maker *m, const scope *s, gregion *r, int by) {
    program *p = m->p;
    gexpr *index[TG_MAX_RANK];
    for (int i = 0; i < p->buffer[by].rank; i++) {
        index[i] = uniform_index(p, s, size_value(p, p->buffer[by].dim[i]) - 1);
    }
    gexpr *x = bring_into(p, make_load(p, by, index), 0, 3);
    r->corner[0] = make_binary(p, TG_ADD, x, make_int(p, INDEX, 0));
}

static gstmt *load_into(maker *m, const scope *s, int tile) {
    const int in = input_for(m, tile), by = address_tile(m->p, s);
    gregion r = random_region(m, s, in, tile);
    if (by != NONE && by != tile && m->p->buffer[in].rank > 0 && chance(m->p, 25)) {
        address_by_value(m, s, &r, by);
    }
    return copy_stmt(m->p, r, whole(m->p, tile));
}

static gstmt *load_tile(maker *m, scope *s, tiles *t) {
    program *p = m->p;
    const int b = any_tile(m);
    if (b == NONE) {
        return NULL;
    }
    gstmt *list = alloc_stmt(p, b);
    list->next = load_into(m, s, b);
    hold(p, s, t, b);
    return list;
}

static gexpr *uniform_value(program *p, const scope *s, int64_t type) {
    scope only = *s;
    only.uniform_only = true;
    gexpr *x = random_expr(p, &only, type, 1);
    return type_real(type) ? limit_real(p, x, 100) : x;
}

static gstmt *fill_stmt(maker *m, const scope *s, int b) {
    program *p = m->p;
    gstmt *f = make_stmt(p, chance(p, 50) ? S_CLEAR : S_FILL);
    f->to = whole(p, b);
    if (f->kind == S_FILL) {
        f->value = uniform_value(p, s, p->buffer[b].type);
    }
    return f;
}

static gstmt *fill_tile(maker *m, scope *s, tiles *t) {
    program *p = m->p;
    const int b = any_tile(m);
    if (b == NONE) {
        return NULL;
    }
    gstmt *list = alloc_stmt(p, b);
    list->next = fill_stmt(m, s, b);
    hold(p, s, t, b);
    return list;
}

/* Part of a shared tile or fragment gets one value. */
static gstmt *fill_part(maker *m, const scope *s, const tiles *t) {
    program *p = m->p;
    if (t->n == 0) {
        return NULL;
    }
    const int b = t->buffer[roll_below(p, t->n)];
    const gbuffer *x = &p->buffer[b];
    if (x->space == TG_REDUCER) { /* that would begin anew */
        return NULL;
    }
    gstmt *f = make_stmt(p, chance(p, 50) ? S_CLEAR : S_FILL);
    f->to = (gregion){.kind = R_SLICE, .buffer = b};
    for (int i = 0; i < x->rank; i++) {
        const int64_t n = size_value(p, x->dim[i]), length = 1 + roll_below(p, n);
        f->to.length[i] = size_number(p, length);
        f->to.corner[i] = uniform_index(p, s, n - length);
    }
    if (f->kind == S_FILL) {
        f->value = uniform_value(p, s, x->type);
    }
    return f;
}

/* local(r, n) outside parallel, the same in all threads; read inside. */
static gstmt *local_tile(maker *m, scope *s) {
    program *p = m->p;
    const int dim = size_number(p, 1 + roll_below(p, 8)), b = new_tile(m, TG_LOCAL, random_type(p), 1, &dim);
    if (b == NONE) {
        return NULL;
    }
    gstmt *list = alloc_stmt(p, b);
    list->next = chance(p, 50) ? load_into(m, s, b) : fill_stmt(m, s, b);
    list->next->width = 0;
    s->buffer[s->nbuffers++] = b;
    return list;
}

/* The bytes of a shared tile as integers of another width. */
static gstmt *view_tile(maker *m, scope *s) {
    program *p = m->p;
    const int64_t to = chance(p, 50) ? TG_U8 : chance(p, 50) ? TG_I16 : TG_U32;
    int of = NONE, total = NONE;
    for (int i = 0; i < s->nbuffers; i++) {
        const gbuffer *x = &p->buffer[s->buffer[i]];
        of = x->space == TG_SHARED && x->view_of == NONE && (of == NONE || chance(p, 50)) ? s->buffer[i] : of;
    }
    if (of == NONE || p->nbuffers > MAX_BUFFERS - 4) {
        return NULL;
    }
    for (int i = 0; i < p->buffer[of].rank; i++) {
        total = i ? size_make(p, SIZE_TIMES, total, p->buffer[of].dim[i], 0) : p->buffer[of].dim[0];
    }
    if (total == NONE || size_value(p, total) * type_size(p->buffer[of].type) % type_size(to)) {
        return NULL;
    }
    const int bytes = size_make(p, SIZE_TIMES, total, size_number(p, type_size(p->buffer[of].type)), 0);
    const int v = buffer_new(p, TG_SHARED, "vw", to);
    p->buffer[v].view_of = of;
    p->buffer[v].rank = 1;
    p->buffer[v].dim[0] = size_make(p, SIZE_CEILDIV, bytes, size_number(p, type_size(to)), 0);
    any_contents(&p->buffer[v]);
    s->buffer[s->nbuffers++] = v;
    return alloc_stmt(p, v);
}

/* From one tile to another of the same shape, transposed spaces and all types. */
static gstmt *copy_tile(maker *m, scope *s, tiles *t) {
    program *p = m->p;
    if (t->n == 0) {
        return NULL;
    }
    const int from = t->buffer[roll_below(p, t->n)];
    const gbuffer *x = &p->buffer[from];
    const tg_space space = random_space(p);
    const int64_t type = type_real(x->type) || chance(p, 60) ? x->type : random_type(p);
    const int b = new_tile(m, space, type, x->rank, x->dim);
    if (b == NONE) {
        return NULL;
    }
    if (!converts(p, p->buffer[from].type, p->buffer[b].type) ||
        (p->buffer[from].type != p->buffer[b].type && type_real(p->buffer[b].type))) {
        p->buffer[b].type = p->buffer[from].type;
    }
    any_contents(&p->buffer[b]);
    gstmt *list = alloc_stmt(p, b);
    list->next = copy_stmt(p, whole(p, from), whole(p, b));
    list->next->width = 0;
    hold(p, s, t, b);
    return list;
}

/* ---- outputs --------------------------------------------------------------------------------------------- */

static int new_output(maker *m, int64_t type, int rank, const int *dim) {
    program *p = m->p;
    const int b = buffer_new(p, TG_GLOBAL, "out", type);
    gbuffer *x = &p->buffer[b];
    x->rank = rank;
    memcpy(x->dim, dim, (size_t)rank * sizeof *dim);
    if (rank > 1 && chance(p, 20)) {
        x->pitch = size_make(p, SIZE_PLUS, dim[rank - 1], NONE, roll_below(p, 3));
    }
    x->aligned = chance(p, 15) ? type_size(type) : 0;
    x->seed = roll(p);
    any_contents(x);
    add_argument(p, true, b);
    m->outputs++;
    return b;
}

/* An output in which each block has a tile as large as `tile`; the last ones may be cut. */
static gregion own_region(maker *m, int tile, int64_t type) {
    program *p = m->p;
    const gbuffer *x = &p->buffer[tile];
    gregion r = {.kind = R_TILE};
    int dim[TG_MAX_RANK], rank = 0, taken[TG_MAX_AXES] = {0};
    for (int i = 0; i < p->ngrid;
         i++) { /* an axis of the grid is a dimension of its own or numbers tiles of one */
        taken[i] = chance(p, 70) && i < x->rank;
        if (!taken[i]) {
            r.corner[rank] = make_variable(p, p->grid[i]);
            r.length[rank] = size_number(p, 1);
            dim[rank++] = size_positive(p, p->variable[p->grid[i]].size);
        }
    }
    const bool cut = chance(p, 50), by_tiles = chance(p, 60);
    r.kind = by_tiles ? R_TILE : chance(p, 50) ? R_FROM : R_SLICE;
    for (int j = 0; j < x->rank; j++, rank++) {
        const bool mine = j < p->ngrid && taken[j];
        r.length[rank] = dim[rank] = x->dim[j];
        r.corner[rank] = make_int(p, INDEX, 0);
        if (mine) {
            const int axis = p->grid[j];
            dim[rank] = size_positive(p, size_make(p, SIZE_TIMES, x->dim[j], p->variable[axis].size, 0));
            r.corner[rank] = make_variable(p, axis);
            if (!by_tiles) {
                r.corner[rank] = make_binary(p, TG_MUL, r.corner[rank], make_size(p, x->dim[j]));
            }
        }
        if (cut && size_value(p, dim[rank]) > 1) {
            dim[rank] = size_make(p, SIZE_PLUS, dim[rank], NONE,
                                  -roll_below(p, size_value(p, dim[rank]) < 4 ? 2 : 4));
        }
    }
    r.buffer = new_output(m, type, rank, dim);
    if (rank > 0 && m->rows != NONE &&
        chance(p, 40)) { /* as many rows as the launch says: what is beyond is dropped */
        p->buffer[r.buffer].extent = m->rows;
        p->buffer[r.buffer].dim[0] = p->variable[m->rows].size;
    }
    return r;
}

static gstmt *store_tile(maker *m, int tile) {
    program *p = m->p;
    if (m->outputs > 6 || p->nbuffers > MAX_BUFFERS - 3) {
        return NULL;
    }
    const int64_t type = p->buffer[tile].type;
    const int64_t other = type_real(type) ? (chance(p, 50) ? TG_F64 : TG_F32) : TG_I64;
    return copy_stmt(p, whole(p, tile),
                     own_region(m, tile, type != TG_BOOL && type != TG_U64 && chance(p, 25) ? other : type));
}

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
        l->axis[i] = new_axis(p, V_LOOP, "p", size, false);
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
    l->axis[0] = new_axis(p, V_LOOP, "i", size, false);
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
    any_contents(&p->buffer[own]);
    append(tail, alloc_stmt(p, own));
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
    any_contents(&p->buffer[own]);
    append(tail, alloc_stmt(p, own));
    append(tail, element_stmt(p, S_SET, own, NULL, iteration_value(m, s, t, loop, type, 1)));
    gstmt *l = make_stmt(p, S_LOOP);
    l->scope = chance(p, 70) ? TG_SERIAL : TG_UNROLLED;
    l->n = 1;
    const int trips = size_number(p, 1 + roll_below(p, 5));
    l->axis[0] = new_axis(p, V_LOOP, "i", trips, false);
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
        const tg_space space = random_space(p);
        b = new_tile(m, space, random_type(p), x->rank, x->dim);
    } else if (b == NONE) {
        b = any_tile(m);
    }
    if (b == NONE || p->buffer[b].space == TG_REDUCER) {
        return NULL;
    }
    gstmt *list = NULL, **tail = &list;
    if (!in_place) {
        append(&tail, alloc_stmt(p, b));
    }
    scope inside = *s;
    tiles others = *t;
    let_go(p, &inside, &others, b);
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
        hold(p, s, t, b);
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
        dim[i] = tile_extent(p, rank);
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
    const int b = new_output(m, type, n, out);
    gstmt *set = element_stmt(p, S_SET, b, place, value);
    append(&end, guard ? when_stmt(p, guard, set) : set);
    l->body = body;
    return l;
}

/* ---- what sums in any order ------------------------------------------------------------------------------ */

static int64_t atomic_type(program *p) {
    static const int64_t types[] = {TG_I32, TG_I32, TG_U32, TG_U64, TG_I64, TG_F32, TG_F64};
    return pick(p, types, 7);
}

/* fill(sh, 3); parallel(..) atomic(at(sh, ..), ..) */
static gstmt *atomics(maker *m, scope *s, tiles *t) {
    program *p = m->p;
    const int64_t type = atomic_type(p);
    const int b = random_tile(m, TG_SHARED, type);
    if (b == NONE) {
        return NULL;
    }
    gstmt *list = NULL, **tail = &list, *f = make_stmt(p, S_FILL);
    append(&tail, alloc_stmt(p, b));
    f->to = whole(p, b);
    f->value = type_real(type) ? make_real(p, type, 3) : make_int(p, type, 3);
    append(&tail, f);
    int dim[2] = {tile_extent(p, 1)};
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
    hold(p, s, t, b);
    return list;
}

/* reduce(op, src, dst, dim), of whole numbers made for it. */
static gstmt *reduce_tile(maker *m, scope *s, tiles *t) {
    program *p = m->p;
    const int64_t type = number_type(p);
    const int from = random_tile(m, random_space(p), type);
    if (from == NONE) {
        return NULL;
    }
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
    const int to = new_tile(m, random_space(p), type, n, dim);
    if (to == NONE) {
        return NULL;
    }
    gstmt *list = NULL, **tail = &list;
    scope inside = *s;
    gexpr *index[TG_MAX_RANK] = {NULL};
    append(&tail, alloc_stmt(p, from));
    append(&tail, alloc_stmt(p, to));
    gstmt *l = over(p, x->rank, x->dim, &inside, index);
    l->body = element_stmt(p, S_SET, from, index,
                           random_summand(p, &inside, type, size_value(p, x->dim[r->dim]), 2));
    append(&tail, l);
    r->from = whole(p, from);
    r->to = whole(p, to);
    append(&tail, r);
    hold(p, s, t, from);
    hold(p, s, t, to);
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
    const int64_t type = p->buffer[b].type, each = element_count(p, dim, rank) * rounds;
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
        dim[i] = tile_extent(p, rank);
        if (chance(p, 50)) {
            extents[nkept] = dim[i];
            kept[nkept++] = i;
        }
    }
    const int64_t type = number_type(p);
    if (p->nbuffers > MAX_BUFFERS - 4 || m->shared_bytes > 15000) {
        return NULL;
    }
    const int b = buffer_new(p, TG_REDUCER, "red", type);
    gbuffer *x = &p->buffer[b];
    x->rank = nkept;
    memcpy(x->dim, extents, sizeof extents);
    x->reduction = (tg_reduction)(TG_SUM + roll_below(p, 3));
    any_contents(x);
    m->shared_bytes += element_count(p, extents, nkept) * type_size(type);
    gstmt *list = NULL, **tail = &list;
    append(&tail, alloc_stmt(p, b));
    gstmt *f = make_stmt(p, chance(p, 60) ? S_CLEAR : S_FILL);
    f->to = whole(p, b);
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
        l->axis[0] = new_axis(p, V_LOOP, "k", trips, true);
        l->extent[0] = make_size(p, trips);
        inside.variable[inside.nvariables++] = l->axis[0];
        gstmt *body = NULL, **end = &body, *load = load_tile(m, &inside, &inner);
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
    hold(p, s, t, b);
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
        l->extent[0] = uniform_index(p, s, 5);
        size = size_number(p, 5);
        *certain = false;
    }
    l->axis[0] = new_axis(p, V_LOOP, stem, size, true);
}

/* Copies and what is computed of them, in a loop whose copies may run ahead. */
static gstmt *pipeline(maker *m, const scope *s, const tiles *t) {
    program *p = m->p;
    gstmt *list = NULL, **tail = &list;
    scope outside = *s;
    tiles held = *t;
    int loaded[3], n = 1 + (int)roll_below(p, 3), sums = NONE;
    for (int i = 0; i < n; i++) {
        const tg_space space = chance(p, 75) ? TG_SHARED : TG_FRAGMENT;
        loaded[i] = random_tile(m, space, number_type(p));
        if (loaded[i] == NONE) {
            n = i;
            break;
        }
        append(&tail, alloc_stmt(p, loaded[i]));
    }
    const int64_t type = chance(p, 50) ? TG_I32 : TG_F32;
    sums = random_tile(m, random_space(p), type);
    if (n == 0 || sums == NONE) {
        return NULL;
    }
    append(&tail, alloc_stmt(p, sums));
    append(&tail, fill_stmt(m, &outside, sums));
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
        gstmt *load = load_into(m, &inside, loaded[i]);
        if (chance(p, 15)) { /* not in every iteration */
            scope only = inside;
            only.uniform_only = true;
            load = when_stmt(p, random_truth(p, &only, 1), load);
            filled[nfilled++] = loaded[i];
        }
        append(&end, load);
        hold(p, &inside, &held, loaded[i]);
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
        gstmt *f = fill_part(m, &inside, &held);
        if (f) {
            append(&end, f);
        }
    }
    l->body = body;
    for (int i = 0; i < nfilled; i++) {
        append(&tail, fill_stmt(m, &outside, filled[i]));
    }
    append(&tail, l);
    gstmt *out = store_tile(m, sums);
    if (out) {
        append(&tail, out);
    }
    if (chance(p, 30) && certain) { /* read after the loop */
        out = store_tile(m, loaded[0]);
        if (out) {
            append(&tail, out);
        }
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
    switch (roll_below(p, 20)) {
    case 0:
    case 1:
        return load_tile(m, s, t);
    case 2:
        return fill_tile(m, s, t);
    case 3:
        return fill_part(m, s, t);
    case 4:
        return copy_tile(m, s, t);
    case 5:
        return t->n ? store_tile(m, t->buffer[roll_below(p, t->n)]) : NULL;
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
        return local_tile(m, s);
    case 17:
        return view_tile(m, s);
    case 18:
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
        gstmt *out = chance(p, 40) ? store_tile(m, t.buffer[i]) : NULL;
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
        make_extent(&m, &s);
    }
    for (int64_t n = roll_below(p, 3); n > 0; n--) {
        make_scalar(p, &s);
    }
    make_launch(&m, &s);
    for (int64_t n = 1 + roll_below(p, 2); n > 0; n--) {
        int dim[TILE_RANK];
        const int rank = (int)roll_below(p, 3);
        for (int i = 0; i < rank; i++) {
            dim[i] = size_number(p, 1 + roll_below(p, 20));
        }
        const int b = make_input(&m, random_type(p), rank, dim);
        if (rank == 0 || size_value(p, p->buffer[b].dim[0]) > 0) { /* no row: nothing to read */
            s.buffer[s.nbuffers++] = b;
        }
    }
    const tiles none = {.n = 0};
    p->body = episodes(&m, s, none, 2);
}
