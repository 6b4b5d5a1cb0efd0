/* generate_build.c -- a program as calls of the builder; see generate.h.
 *
 * Statements are at line gstmt.line of the file "program", which is what generate_words.c prints. */
#include "generate.h"

typedef struct building {
    const program *p;
    tg_kernel *k;
    tg_loc at;
    tg_expr variable[MAX_VARIABLES];
    tg_buf buffer[MAX_BUFFERS];
} building;

static tg_expr build_expr(building *b, const gexpr *x);
static void build_list(building *b, const gstmt *s);

static tg_index build_index(building *b, gexpr *const *from, int n) {
    tg_index index = {.n = n};
    for (int i = 0; i < n; i++) {
        index.e[i] = build_expr(b, from[i]);
    }
    return index;
}

static tg_expr literal(building *b, const gexpr *x) {
    const tg_expr v = x->kind == X_INT ? tg_int(b->k, b->at, x->i) : tg_float(b->k, b->at, x->f);
    return x->bare || x->type == INDEX ? v : tg_cast(b->k, b->at, x->type, v);
}

static tg_expr build_expr(building *b, const gexpr *x) {
    tg_kernel *k = b->k;
    switch (x->kind) {
    case X_INT:
    case X_REAL:
        return literal(b, x);
    case X_SIZE:
        return tg_int(k, b->at, size_value(b->p, x->id));
    case X_VARIABLE:
        return b->variable[x->id];
    case X_LOAD:
        return tg_load(k, b->at, tg_at(k, b->at, b->buffer[x->id], build_index(b, x->arg, x->n)));
    case X_UNARY:
        return tg_unary(k, b->at, x->op, build_expr(b, x->arg[0]));
    case X_BINARY: {
        const tg_expr left = build_expr(b, x->arg[0]);
        return tg_binary(k, b->at, x->op, left, build_expr(b, x->arg[1]));
    }
    case X_CHOOSE: {
        const tg_expr c = build_expr(b, x->arg[0]), left = build_expr(b, x->arg[1]);
        return tg_choose(k, b->at, c, left, build_expr(b, x->arg[2]));
    }
    case X_CAST:
        return tg_cast(k, b->at, x->type, build_expr(b, x->arg[0]));
    case X_BITCAST:
        break;
    }
    return tg_bitcast(k, b->at, x->type, build_expr(b, x->arg[0]));
}

/* ---- buffers --------------------------------------------------------------------------------------------- */

static void build_tensor(building *b, int id) {
    const gbuffer *x = &b->p->buffer[id];
    tg_index dims = {.n = x->rank};
    for (int i = 0; i < x->rank; i++) {
        dims.e[i] = tg_int(b->k, b->at, size_value(b->p, x->dim[i]));
    }
    if (x->extent != NONE) {
        dims.e[0] = b->variable[x->extent];
    }
    const int64_t pitch = x->pitch == NONE ? 0 : size_value(b->p, x->pitch);
    b->buffer[id] = tg_tensor(b->k, b->at, x->name, x->type, pitch, dims);
    if (x->aligned) {
        tg_aligned(b->k, b->at, b->buffer[id], x->aligned);
    }
    if (x->is_constant) {
        tg_constant(b->k, b->at, b->buffer[id]);
    }
}

static void build_alloc(building *b, int id) {
    const gbuffer *x = &b->p->buffer[id];
    tg_shape shape = {.n = x->rank + 1, .v = {x->type}};
    for (int i = 0; i < x->rank; i++) {
        shape.v[i + 1] = size_value(b->p, x->dim[i]);
    }
    b->buffer[id] = x->view_of != NONE       ? tg_view(b->k, b->at, b->buffer[x->view_of], shape)
                    : x->space == TG_REDUCER ? tg_reducer(b->k, b->at, x->reduction, x->name, shape)
                                             : tg_alloc(b->k, b->at, x->space, x->name, shape);
}

static tg_tile build_region(building *b, const gregion *r) {
    const gbuffer *x = &b->p->buffer[r->buffer];
    const tg_buf buf = b->buffer[r->buffer];
    switch (r->kind) {
    case R_WHOLE:
        return tg_whole(b->k, b->at, buf);
    case R_TILE:
        return tg_tile_at(b->k, b->at, buf, build_index(b, r->corner, x->rank));
    case R_FROM:
        return tg_tile_from(b->k, b->at, buf, build_index(b, r->corner, x->rank));
    case R_SLICE:
        break;
    }
    tg_index pairs = {.n = 2 * x->rank};
    for (int i = 0; i < x->rank; i++) {
        pairs.e[2 * i] = build_expr(b, r->corner[i]);
        pairs.e[2 * i + 1] = tg_int(b->k, b->at, size_value(b->p, r->length[i]));
    }
    return tg_slice(b->k, b->at, buf, pairs);
}

/* ---- statements ------------------------------------------------------------------------------------------ */

static void close(tg_scope *s) {
    s->done = true;
    tg_close(s);
}

static void build_loop(building *b, const gstmt *s) {
    tg_axes axes = {.n = s->n};
    for (int i = 0; i < s->n; i++) {
        axes.name[i] = b->p->variable[s->axis[i]].name;
        axes.extent[i] = build_expr(b, s->extent[i]);
    }
    tg_scope opened = tg_open(b->k, b->at, s->scope, s->option, axes);
    for (int i = 0; i < s->n; i++) {
        b->variable[s->axis[i]] = opened.axis[i];
    }
    build_list(b, s->body);
    close(&opened);
}

static void build_when(building *b, const gstmt *s) {
    const tg_axes condition = {.n = 1, .extent = {build_expr(b, s->value)}}, none = {.n = 0};
    tg_scope opened = tg_open(b->k, b->at, TG_WHEN, 0, condition);
    build_list(b, s->body);
    close(&opened);
    if (s->otherwise) {
        opened = tg_open(b->k, b->at, TG_OTHERWISE, 0, none);
        build_list(b, s->otherwise);
        close(&opened);
    }
}

static tg_ref build_place(building *b, const gstmt *s) {
    const tg_index index = build_index(b, s->index, b->p->buffer[s->buffer].rank);
    return tg_at(b->k, b->at, b->buffer[s->buffer], index);
}

static void build_stmt(building *b, const gstmt *s) {
    tg_kernel *k = b->k;
    const tg_loc at = b->at = tg_here("program", s->line);
    switch (s->kind) {
    case S_LET:
        b->variable[s->variable] = tg_let(k, at, b->p->variable[s->variable].name, build_expr(b, s->value));
        break;
    case S_ALLOC:
        build_alloc(b, s->buffer);
        break;
    case S_SET: {
        const tg_ref place = build_place(b, s);
        tg_store(k, at, place, build_expr(b, s->value));
        break;
    }
    case S_ACCUM: {
        const tg_ref place = build_place(b, s);
        tg_accum(k, at, place, build_expr(b, s->value));
        break;
    }
    case S_ATOMIC: {
        const tg_ref place = build_place(b, s);
        tg_atomic(k, at, s->reduction, place, build_expr(b, s->value));
        break;
    }
    case S_ALLREDUCE: {
        const tg_expr x = tg_allreduce(k, at, s->reduction, build_expr(b, s->value), b->variable[s->along]);
        b->variable[s->variable] = tg_let(k, at, b->p->variable[s->variable].name, x);
        break;
    }
    case S_SYNC:
        tg_sync_threads(k, at);
        break;
    case S_LOOP:
        build_loop(b, s);
        break;
    case S_WHEN:
        build_when(b, s);
        break;
    case S_CHECK:
        tg_check(k, at, build_expr(b, s->value), "what holds");
        break;
    case S_COPY: {
        const tg_copy_options options = {.width = s->width, .layout = s->layout, .outside = s->outside};
        const tg_tile from = build_region(b, &s->from);
        tg_copy(k, at, from, build_region(b, &s->to), options);
        break;
    }
    case S_CLEAR:
        tg_clear(k, at, build_region(b, &s->to));
        break;
    case S_FILL: {
        const tg_tile to = build_region(b, &s->to);
        tg_fill(k, at, to, build_expr(b, s->value));
        break;
    }
    case S_REDUCE:
        tg_reduce(k, at, s->reduction, b->buffer[s->from.buffer], b->buffer[s->to.buffer], s->dim);
        break;
    case S_FINALIZE:
        tg_finalize(k, at, b->buffer[s->buffer]);
        break;
    }
}

static void build_list(building *b, const gstmt *s) {
    for (; s; s = s->next) {
        build_stmt(b, s);
    }
}

/* ---- the launch ------------------------------------------------------------------------------------------ */

static void build_argument(building *b, const gargument *a) {
    const gvariable *v = &b->p->variable[a->id];
    if (a->is_tensor) {
        build_tensor(b, a->id);
    } else {
        b->variable[a->id] =
            v->kind == V_EXTENT ? tg_extent(b->k, b->at, v->name) : tg_scalar(b->k, b->at, v->name, v->type);
    }
}

static tg_scope build_grid(building *b) {
    const program *p = b->p;
    tg_axes axes = {.n = p->ngrid};
    for (int i = 0; i < p->ngrid; i++) {
        const gexpr *x = p->grid_extent[i];
        axes.name[i] = p->variable[p->grid[i]].name;
        axes.extent[i] = x->kind == X_BINARY ? tg_ceildiv_expr(b->k, b->at, build_expr(b, x->arg[0]),
                                                               size_value(p, x->arg[1]->id))
                                             : build_expr(b, x);
    }
    tg_scope s = tg_open(b->k, b->at, TG_GRID, 0, axes);
    for (int i = 0; i < p->ngrid; i++) {
        b->variable[p->grid[i]] = s.axis[i];
    }
    return s;
}

static tg_scope build_threads(building *b) {
    const program *p = b->p;
    tg_axes axes = {.n = p->nthreads};
    for (int i = 0; i < p->nthreads; i++) {
        axes.name[i] = p->named ? p->variable[p->thread[i]].name : NULL;
        axes.extent[i] = tg_int(b->k, b->at, size_value(p, p->variable[p->thread[i]].size));
    }
    tg_scope s = tg_open(b->k, b->at, TG_THREADS, 0, axes);
    for (int i = 0; i < p->nthreads; i++) {
        b->variable[p->thread[i]] = s.axis[i];
    }
    return s;
}

void program_build(void) {
    tg_kernel *k = tg_now();
    building b = {.p = *(const program *const *)tg_user(k), .k = k, .at = tg_here("program", 1)};
    for (int i = 0; i < b.p->nargs; i++) {
        build_argument(&b, &b.p->arg[i]);
    }
    tg_scope grid = build_grid(&b), threads = build_threads(&b);
    build_list(&b, b.p->body);
    close(&threads);
    close(&grid);
}
