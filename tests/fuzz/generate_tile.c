/* generate_tile.c -- the launch, arguments and tiles of random kernels in block view: how they are made and filled; see
 * generate.h and generate_block.c. */
#include <string.h>

#include "generate_block.h"

int64_t block_pick(program *p, const int64_t *from, int n) {
    return from[roll_below(p, n)];
}

int block_new_axis(program *p, variable_kind kind, const char *stem, int size, bool uniform) {
    const int v = variable_new(p, kind, stem, INDEX);
    p->variable[v].size = size;
    p->variable[v].hi = size_value(p, size) > 0 ? size_value(p, size) - 1 : 0;
    p->variable[v].uniform = uniform;
    return v;
}

void block_any_contents(gbuffer *b) {
    b->lo = type_least(b->type);
    b->hi = type_most(b->type);
    b->most = b->type == TG_F16 ? 2000.0 : 1e6;
}

static void small_contents(gbuffer *b) {
    b->lo = type_signs(b->type) ? -8 : 0;
    b->hi = b->type == TG_BOOL ? 1 : 8;
    b->most = 4;
}

int64_t block_number_type(program *p) {
    const int64_t type = random_type(p);
    return type == TG_BOOL ? TG_F32 : type;
}

/* ---- launch and arguments -------------------------------------------------------------------------------- */

static void add_argument(program *p, bool is_tensor, int id) {
    p->arg[p->nargs++] = (gargument){is_tensor, id};
}

void block_make_launch(maker *m, scope *s) {
    program *p = m->p;
    static const int64_t counts[] = {1, 31, 32, 32, 48, 64, 96, 128, 128, 256, 1024, 7};
    int64_t rest = block_pick(p, counts, 12);
    p->nthreads = 1 + (rest % 2 == 0 && chance(p, 15));
    for (int i = 0; i < p->nthreads; i++) {
        const int64_t n = p->nthreads == 2 ? (i ? 2 : rest / 2) : rest;
        p->thread[i] = block_new_axis(p, V_THREAD, "t", size_number(p, n), false);
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
        p->grid[i] = block_new_axis(p, V_GRID, "g", size, true);
        p->grid_extent[i] = extent;
        s->variable[s->nvariables++] = p->grid[i];
    }
}

void block_make_extent(maker *m, scope *s) {
    program *p = m->p;
    m->rows = variable_new(p, V_EXTENT, "rows", INDEX);
    gvariable *x = &p->variable[m->rows];
    x->size = size_number(p, chance(p, 10) ? 0 : 1 + roll_below(p, 40));
    x->hi = INT32_MAX;
    x->uniform = true;
    add_argument(p, false, m->rows);
    s->variable[s->nvariables++] = m->rows;
}

void block_make_scalar(program *p, scope *s) {
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

int block_make_input(maker *m, int64_t type, int rank, const int *dim) {
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

int block_tile_extent(program *p, int rank) {
    static const int64_t extents[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 32, 64, 97, 128};
    return size_number(p, block_pick(p, extents, rank == 1 ? 15 : rank == 2 ? 12 : 7));
}

int64_t block_element_count(const program *p, const int *dim, int rank) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) {
        n *= size_value(p, dim[i]);
    }
    return n;
}

/* A buffer of given extents; NONE where shared memory would not hold it. */
int block_new_tile(maker *m, tg_space space, int64_t type, int rank, const int *dim) {
    program *p = m->p;
    const int64_t bytes = block_element_count(p, dim, rank) * type_size(type);
    if (m->shared_bytes + bytes > 20000 || p->nbuffers > MAX_BUFFERS - 4) {
        return NONE;
    }
    m->shared_bytes += bytes; /* fragments too: they may have to be published */
    const int b = buffer_new(p, space, space == TG_SHARED ? "sh" : space == TG_LOCAL ? "r" : "fr", type);
    p->buffer[b].rank = rank;
    memcpy(p->buffer[b].dim, dim, (size_t)rank * sizeof *dim);
    block_any_contents(&p->buffer[b]);
    return b;
}

int block_random_tile(maker *m, tg_space space, int64_t type) {
    int dim[TILE_RANK];
    const int rank = 1 + (int)roll_below(m->p, chance(m->p, 25) ? 3 : 2);
    for (int i = 0; i < rank; i++) {
        dim[i] = block_tile_extent(m->p, rank);
    }
    return block_new_tile(m, space, type, rank, dim);
}

tg_space block_random_space(program *p) {
    return chance(p, 50) ? TG_SHARED : TG_FRAGMENT;
}

int block_any_tile(maker *m) {
    const tg_space space = block_random_space(m->p);
    return block_random_tile(m, space, random_type(m->p));
}

gstmt *block_alloc(program *p, int b) {
    gstmt *s = make_stmt(p, S_ALLOC);
    s->buffer = b;
    return s;
}

void block_hold(program *p, scope *s, tiles *t, int b) {
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
void block_let_go(const program *p, scope *s, tiles *t, int b) {
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

gregion block_whole(program *p, int b) {
    gregion r = {.kind = R_WHOLE, .buffer = b};
    memcpy(r.length, p->buffer[b].dim, sizeof r.length);
    return r;
}

/* ---- views ----------------------------------------------------------------------------------------------- */

/* A shape of so many elements: that of buffer `of` with its extents in another order or put together, or any. */
static void view_shape(program *p, int of, int64_t elements, gbuffer *v) {
    const gbuffer *x = &p->buffer[of];
    const bool same_size = type_size(x->type) == type_size(v->type);
    if (same_size && x->rank > 1 && chance(p, 40)) {
        v->rank = x->rank;
        for (int i = 0; i < x->rank; i++) {
            v->dim[i] = x->dim[(i + 1) % x->rank];
        }
        return;
    }
    if (same_size && x->rank > 1 && chance(p, 40)) {
        v->rank = x->rank - 1;
        v->dim[0] = size_make(p, SIZE_TIMES, x->dim[0], x->dim[1], 0);
        memcpy(v->dim + 1, x->dim + 2, sizeof *v->dim * (size_t)(x->rank - 2));
        return;
    }
    v->rank = 1 + (int)roll_below(p, TILE_RANK);
    for (int i = 0; i < v->rank; i++) {
        int64_t n = i == v->rank - 1 ? elements : 1 + roll_below(p, elements < 40 ? elements : 40);
        while (elements % n != 0) {
            n--;
        }
        v->dim[i] = size_number(p, n);
        elements /= n;
    }
}

/* The bytes of a buffer as another type and shape; NONE where there can be no such view. */
int block_new_view(maker *m, int of, int64_t type) {
    program *p = m->p;
    const gbuffer *x = &p->buffer[of];
    const int64_t bytes = buffer_count(p, of) * type_size(x->type);
    if (x->view_of != NONE || x->space == TG_REDUCER || x->rank == 0 || x->pitch != NONE ||
        x->extent != NONE || p->nbuffers > MAX_BUFFERS - 4 || bytes % type_size(type) != 0 ||
        (x->space == TG_FRAGMENT && type_size(type) != type_size(x->type))) {
        return NONE;
    }
    const int v = buffer_new(p, x->space, "vw", type);
    gbuffer *y = &p->buffer[v];
    x = &p->buffer[of];
    y->view_of = of;
    y->is_input = x->is_input;
    y->is_read_only = type != x->type && (!type_whole(type) || !type_whole(x->type) || x->type == TG_BOOL);
    view_shape(p, of, bytes / type_size(type), y);
    if (type == x->type) {
        y->lo = x->lo;
        y->hi = x->hi;
        y->most = x->most;
    } else {
        block_any_contents(y);
    }
    return v;
}

/* Now and then a view of a tile that takes the tile's place; made behind *tail. */
int block_perhaps_view(maker *m, int b, int percent, gstmt ***tail) {
    const int v = chance(m->p, percent) ? block_new_view(m, b, m->p->buffer[b].type) : NONE;
    if (v == NONE) {
        return b;
    }
    append(tail, block_alloc(m->p, v));
    return v;
}

void block_hold_both(program *p, scope *s, tiles *t, int b, int v) {
    block_hold(p, s, t, b);
    if (v != b) {
        block_hold(p, s, t, v);
    }
}

/* Integers of the bits of a tile, or its elements in another shape. */
static int64_t type_of_view(program *p, const gbuffer *x) {
    static const int64_t sized[] = {0, TG_U8, TG_I16, 0, TG_U32, 0, 0, 0, TG_I64};
    if (chance(p, 50)) {
        return x->type;
    }
    if (x->space == TG_FRAGMENT || chance(p, 30)) {
        return sized[type_size(x->type)];
    }
    return chance(p, 50) ? TG_U8 : chance(p, 50) ? TG_I16 : TG_U32;
}

/* The bytes of a tile once more, beside it. */
gstmt *block_view_tile(maker *m, scope *s, tiles *t) {
    program *p = m->p;
    int own = NONE;
    for (int i = 0; i < s->nbuffers; i++) {
        own = p->buffer[s->buffer[i]].space == TG_LOCAL ? s->buffer[i] : own;
    }
    if (t->n == 0 && own == NONE) {
        return NULL;
    }
    const bool of_own = own != NONE && (t->n == 0 || chance(p, 30));
    const int of = of_own ? own : t->buffer[roll_below(p, t->n)];
    const int v = block_new_view(m, of, type_of_view(p, &p->buffer[of]));
    if (v == NONE) {
        return NULL;
    }
    if (of_own) {
        s->buffer[s->nbuffers++] = v;
    } else {
        block_hold(p, s, t, v);
    }
    return block_alloc(p, v);
}

/* ---- regions --------------------------------------------------------------------------------------------- */

gexpr *block_uniform_index(program *p, const scope *s, int64_t most) {
    scope only = *s;
    only.uniform_only = true;
    return bring_into(p, random_expr(p, &only, INDEX, chance(p, 25) ? 3 : 1), 0, most);
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
            r.corner[i] = block_uniform_index(p, s, (n + length - 1) / length);
        } else {
            gexpr *c = block_uniform_index(p, s, n + 1);
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
    const int64_t type = chance(p, 65) || !converts(p, TG_I8, x->type) ? x->type : block_number_type(p);
    return block_make_input(m, converts(p, type, x->type) ? type : x->type, rank, dim);
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
        index[i] = block_uniform_index(p, s, size_value(p, p->buffer[by].dim[i]) - 1);
    }
    gexpr *x = bring_into(p, make_load(p, by, index), 0, 3);
    r->corner[0] = make_binary(p, TG_ADD, x, make_int(p, INDEX, 0));
}

gstmt *block_load_into(maker *m, const scope *s, int tile) {
    gstmt *list = NULL, **tail = &list;
    const int by = address_tile(m->p, s), all = input_for(m, tile);
    int in = block_perhaps_view(m, all, 12, &tail);
    in = m->p->buffer[in].rank < m->p->buffer[tile].rank ? all : in;
    gregion r = random_region(m, s, in, tile);
    if (by != NONE && m->p->buffer[in].rank > 0 && chance(m->p, 25)) {
        address_by_value(m, s, &r, by);
    }
    append(&tail, copy_stmt(m->p, r, block_whole(m->p, tile)));
    return list;
}

gstmt *block_load_tile(maker *m, scope *s, tiles *t) {
    program *p = m->p;
    const int b = block_any_tile(m);
    if (b == NONE) {
        return NULL;
    }
    gstmt *list = NULL, **tail = &list;
    append(&tail, block_alloc(p, b));
    const int v = block_perhaps_view(m, b, 15, &tail);
    append(&tail, block_load_into(m, s, v));
    block_hold_both(p, s, t, b, v);
    return list;
}

static gexpr *uniform_value(program *p, const scope *s, int64_t type) {
    scope only = *s;
    only.uniform_only = true;
    gexpr *x = random_expr(p, &only, type, 1);
    return type_real(type) ? limit_real(p, x, 100) : x;
}

gstmt *block_fill(maker *m, const scope *s, int b) {
    program *p = m->p;
    gstmt *f = make_stmt(p, chance(p, 50) ? S_CLEAR : S_FILL);
    f->to = block_whole(p, b);
    if (f->kind == S_FILL) {
        f->value = uniform_value(p, s, p->buffer[b].type);
    }
    return f;
}

gstmt *block_fill_tile(maker *m, scope *s, tiles *t) {
    program *p = m->p;
    const int b = block_any_tile(m);
    if (b == NONE) {
        return NULL;
    }
    gstmt *list = NULL, **tail = &list;
    append(&tail, block_alloc(p, b));
    const int v = block_perhaps_view(m, b, 15, &tail);
    append(&tail, block_fill(m, s, v));
    block_hold_both(p, s, t, b, v);
    return list;
}

/* Part of a shared tile or fragment gets one value. */
gstmt *block_fill_part(maker *m, const scope *s, const tiles *t) {
    program *p = m->p;
    if (t->n == 0) {
        return NULL;
    }
    const int b = t->buffer[roll_below(p, t->n)];
    const gbuffer *x = &p->buffer[b];
    if (x->space == TG_REDUCER || x->is_read_only) { /* a reducer would begin anew */
        return NULL;
    }
    gstmt *f = make_stmt(p, chance(p, 50) ? S_CLEAR : S_FILL);
    f->to = (gregion){.kind = R_SLICE, .buffer = b};
    for (int i = 0; i < x->rank; i++) {
        const int64_t n = size_value(p, x->dim[i]), length = 1 + roll_below(p, n);
        f->to.length[i] = size_number(p, length);
        f->to.corner[i] = block_uniform_index(p, s, n - length);
    }
    if (f->kind == S_FILL) {
        f->value = uniform_value(p, s, x->type);
    }
    return f;
}

/* local(r, n) outside parallel, the same in all threads; read inside. */
gstmt *block_local_tile(maker *m, scope *s) {
    program *p = m->p;
    const int dim = size_number(p, 1 + roll_below(p, 8)),
              b = block_new_tile(m, TG_LOCAL, random_type(p), 1, &dim);
    if (b == NONE) {
        return NULL;
    }
    gstmt *list = block_alloc(p, b);
    list->next = chance(p, 50) ? block_load_into(m, s, b) : block_fill(m, s, b);
    for (gstmt *x = list; x; x = x->next) {
        x->width = 0;
    }
    s->buffer[s->nbuffers++] = b;
    return list;
}

/* The view has the shape and its buffer another. */
static void change_shapes(program *p, int b, int view) {
    const gbuffer x = p->buffer[b];
    p->buffer[b].rank = p->buffer[view].rank;
    memcpy(p->buffer[b].dim, p->buffer[view].dim, sizeof x.dim);
    p->buffer[view].rank = x.rank;
    memcpy(p->buffer[view].dim, x.dim, sizeof x.dim);
}

/* From one tile to another of the same shape, transposed spaces and all types. */
gstmt *block_copy_tile(maker *m, scope *s, tiles *t) {
    program *p = m->p;
    if (t->n == 0) {
        return NULL;
    }
    const int from = t->buffer[roll_below(p, t->n)];
    const gbuffer *x = &p->buffer[from];
    const tg_space space = block_random_space(p);
    const int64_t type = type_real(x->type) || chance(p, 60) ? x->type : random_type(p);
    const int b = block_new_tile(m, space, type, x->rank, x->dim);
    if (b == NONE) {
        return NULL;
    }
    if (!converts(p, p->buffer[from].type, p->buffer[b].type) ||
        (p->buffer[from].type != p->buffer[b].type && type_real(p->buffer[b].type))) {
        p->buffer[b].type = p->buffer[from].type;
    }
    block_any_contents(&p->buffer[b]);
    gstmt *list = NULL, **tail = &list;
    append(&tail, block_alloc(p, b));
    const int v = block_perhaps_view(m, b, 20, &tail);
    change_shapes(p, b, v);
    gstmt *copy = copy_stmt(p, block_whole(p, from), block_whole(p, v));
    copy->width = 0;
    append(&tail, copy);
    block_hold_both(p, s, t, b, v);
    return list;
}

/* ---- outputs --------------------------------------------------------------------------------------------- */

int block_new_output(maker *m, int64_t type, int rank, const int *dim) {
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
    block_any_contents(x);
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
    r.buffer = block_new_output(m, type, rank, dim);
    if (rank > 0 && m->rows != NONE &&
        chance(p, 40)) { /* as many rows as the launch says: what is beyond is dropped */
        p->buffer[r.buffer].extent = m->rows;
        p->buffer[r.buffer].dim[0] = p->variable[m->rows].size;
    }
    return r;
}

gstmt *block_store_tile(maker *m, int tile) {
    program *p = m->p;
    if (m->outputs > 6 || p->nbuffers > MAX_BUFFERS - 3) {
        return NULL;
    }
    const int64_t type = p->buffer[tile].type;
    const int64_t other = type_real(type) ? (chance(p, 50) ? TG_F64 : TG_F32) : TG_I64;
    return copy_stmt(p, block_whole(p, tile),
                     own_region(m, tile, type != TG_BOOL && type != TG_U64 && chance(p, 25) ? other : type));
}
