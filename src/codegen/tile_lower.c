/* tile_lower.c -- tile IR to thread IR: only the files tile_*.c know both.
 *
 * Reads the kernel as recorded and checked, with its layouts; leaves what one thread does.  A statement of
 * the thread view becomes one or a few statements of the thread IR; a collective one becomes this thread's
 * share of it (tile_spread.c, tile_copy.c). Buffers and expressions are taken over as they are; loops marked
 * vectorized are done by thread_vectorize, barriers of collective operations by thread_sync. */
#include "codegen/tile_lower.h"

#include <limits.h>

#include "codegen/plan.h"

/* ---- the launch ---------------------------------------------------------------------------------------- */

static void lower_settings(lowering *l) {
    static const char *const source[] = {
        [PARAM_PROBLEM] = "", [PARAM_GIVEN] = "given", [PARAM_TUNED] = "tuned", [PARAM_DEFAULT] = "default"};
    l->t->settings = ARENA_ARRAY(l->a, thread_setting, l->k->nparams + 1);
    for (int i = 0; i < l->k->nparams; i++) {
        const tile_param *p = &l->k->params[i];
        l->t->settings[l->t->nsettings++] = (thread_setting){p->name, p->value, source[p->source]};
    }
}

static void lower_params(lowering *l) {
    l->t->params = ARENA_ARRAY(l->a, thread_param, l->k->nargs + 1); /* one more for the checks */
    for (int i = 0; i < l->k->nargs; i++) {
        const tile_arg *from = &l->k->args[i];
        thread_param *p = &l->t->params[l->t->nparams++];
        p->buffer = from->tensor;
        p->var = from->scalar;
        p->kind = from->tensor                       ? PARAM_TENSOR
                  : from->scalar->kind == VAR_EXTENT ? PARAM_EXTENT
                                                     : PARAM_SCALAR;
    }
}

/* The host computes the grid before each launch. */
static void check_grid(lowering *l, int i) {
    plan_expr ignored;
    if (!plan_expr_make(l->t, l->t->grid[i], &ignored)) {
        diag_error(l->errors, l->k->grid_at,
                   "grid: axis %c must be short integer arithmetic on extents and integer scalars, not '%s'",
                   "xyz"[i], expr_text(l->a, l->t->grid[i]));
    }
}

static void lower_launch(lowering *l) {
    for (int i = 0; i < 3; i++) {
        const bool given = i < l->k->ngrid;
        l->t->grid[i] = given ? l->k->grid[i] : expr_int(l->a, l->k->grid_at, 1);
        l->t->grid_var[i] = given ? l->k->grid_var[i] : NULL;
        l->t->threads[i] = i < l->k->nthreads ? l->k->threads[i] : 1;
        l->t->thread_var[i] = i < l->k->nthreads ? l->k->thread_var[i] : NULL;
    }
    l->t->min_blocks = l->k->min_blocks;
    for (int i = 0; i < l->k->ngrid; i++) {
        check_grid(l, i);
    }
}

static void lower_buffers(lowering *l) {
    l->t->nbuffers = l->k->nbuffers;
    l->t->buffers = ARENA_ARRAY(l->a, buffer *, l->k->nbuffers + 1);
    for (int i = 0; i < l->k->nbuffers; i++) {
        l->t->buffers[i] = l->k->buffers[i];
    }
}

/* ---- statements ---------------------------------------------------------------------------------------- */

static void lower_alloc(lowering *l, const tile_stmt *s, thread_block *b) {
    switch (s->buffer->space) {
    case TG_LOCAL:
        thread_append(l->a, b, THREAD_DECL, s->at)->buffer = s->buffer;
        break;
    case TG_FRAGMENT:
    case TG_REDUCER:
        lower_fragment(l, s->buffer, b, s->at);
        break;
    case TG_SHARED: /* exists as long as the block */
    case TG_GLOBAL:
        break;
    }
}

static thread_stmt *with_result(lowering *l, thread_stmt *s, var *v) {
    s->result = ARENA_NEW(l->a, var *);
    s->result[0] = v;
    s->nresults = 1;
    return s;
}

static void lower_let(lowering *l, const tile_stmt *s, thread_block *b) {
    with_result(l, thread_append(l->a, b, THREAD_LET, s->at), s->var)->value = s->value;
}

static void lower_store(lowering *l, const tile_stmt *s, thread_block *b) {
    thread_stmt *store = thread_store(l->t, b, s->dst, s->value);
    store->at = s->at;
    store->accumulates = s->kind == TILE_ACCUM;
}

static void lower_atomic(lowering *l, const tile_stmt *s, thread_block *b) {
    thread_stmt *atomic = thread_append(l->a, b, THREAD_ATOMIC, s->at);
    atomic->dst = s->dst;
    atomic->value = s->value;
    atomic->reduction = s->reduction;
}

static void lower_print(lowering *l, const tile_stmt *s, thread_block *b) {
    thread_stmt *print = thread_append(l->a, b, THREAD_PRINT, s->at);
    print->format = s->format;
    print->values = s->values;
    print->nvalues = s->n;
}

/* Room for the checks is made by count_checks(). */
static void lower_check(lowering *l, const tile_stmt *s, thread_block *b) {
    thread_stmt *check = thread_append(l->a, b, THREAD_CHECK, s->at);
    check->value = s->value;
    check->check = l->t->nchecks;
    l->t->checks[l->t->nchecks++] = (thread_check){s->at, s->format};
}

static int unroll_factor(const tile_stmt *s) {
    return s->scope == TG_PIPELINED ? UNROLL_AUTO : s->option > INT_MAX ? INT_MAX : (int)s->option;
}

static bool has_parallel(const tile_block *b) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        if ((s->kind == TILE_LOOP && s->scope == TG_PARALLEL) || has_parallel(&s->body) ||
            has_parallel(&s->otherwise)) {
            return true;
        }
    }
    return false;
}

/* CUDA's compiler unrolls no loop as long as one around the block's operations by itself; up to so many trips are
 * unrolled here. */
enum { UNROLLED_TRIPS = 16 };

static void unroll_registers(const tile_stmt *s, thread_stmt *loop) {
    const node *extent = loop->extent;
    if (loop->repeats && loop->unroll == UNROLL_AUTO && expr_is_const(extent) &&
        extent->ival <= UNROLLED_TRIPS && has_parallel(&s->body) && thread_indexes_registers(loop)) {
        loop->unroll = UNROLL_FULL;
    }
}

/* A loop's extents are worked out once, but CUDA's `for` asks in every iteration: what memory holds has a name.  Also
 * where it stays the same meanwhile: of `i < abs(x[t])` the assembler of CUDA 13.0 may make a loop whose counter all
 * threads of a warp share, and whose trips differ (wrong results on an H200). */
static node *trips_of(lowering *l, const tile_stmt *s, int axis, thread_block *b) {
    node *extent = s->extents[axis];
    if (!extent->reads) {
        return extent;
    }
    var *v = thread_let(l->t, b, arena_print(l->a, "%s_trips", s->axes[axis]->name), extent);
    b->last->at = s->at;
    return expr_var(l->a, s->at, v);
}

static void lower_loop(lowering *l, const tile_stmt *s, thread_block *b) {
    if (s->scope == TG_PARALLEL) {
        lower_parallel(l, s, b);
        return;
    }
    thread_stmt *loop = NULL;
    node *trips[TG_MAX_RANK];
    for (int i = 0; i < s->n; i++) {
        trips[i] = trips_of(l, s, i, b);
    }
    for (int i = 0; i < s->n; i++) {
        loop = with_result(l, thread_append(l->a, b, THREAD_FOR, s->at), s->axes[i]);
        loop->extent = trips[i];
        loop->why = i == 0 ? s->why : NULL;
        loop->repeats = l->in_parallel == 0;
        loop->unroll = s->scope == TG_UNROLLED     ? UNROLL_FULL
                       : s->scope == TG_VECTORIZED ? UNROLL_WIDE
                       : i == s->n - 1             ? unroll_factor(s)
                                                   : UNROLL_AUTO;
        b = &loop->body;
    }
    lower_block(l, &s->body, b);
    if (loop) {
        unroll_registers(s, loop);
    }
}

static void lower_when(lowering *l, const tile_stmt *s, thread_block *b) {
    thread_stmt *branch = thread_append(l->a, b, THREAD_IF, s->at);
    branch->value = s->value;
    lower_block(l, &s->body, &branch->body);
    lower_block(l, &s->otherwise, &branch->otherwise);
}

static void lower_statement(lowering *l, const tile_stmt *s, thread_block *b) {
    switch (s->kind) {
    case TILE_ALLOC:
        lower_alloc(l, s, b);
        break;
    case TILE_LET:
        lower_let(l, s, b);
        break;
    case TILE_ALLREDUCE:
        thread_allreduce(l->t, b, &(allreduce){s->var, s->value, s->reduction, s->axis->axis, s->at});
        break;
    case TILE_STORE:
    case TILE_ACCUM:
        lower_store(l, s, b);
        break;
    case TILE_ATOMIC:
        lower_atomic(l, s, b);
        break;
    case TILE_COPY:
        lower_copy(l, s, b);
        break;
    case TILE_FILL:
        lower_fill(l, s, b);
        break;
    case TILE_REDUCE:
        lower_reduce(l, s, b);
        break;
    case TILE_FINALIZE:
        lower_finalize(l, s, b);
        break;
    case TILE_SYNC:
        thread_append(l->a, b, THREAD_BARRIER, s->at)->participants = SCOPE_BLOCK;
        break;
    case TILE_PRINT:
        lower_print(l, s, b);
        break;
    case TILE_CHECK:
        lower_check(l, s, b);
        break;
    case TILE_LOOP:
        lower_loop(l, s, b);
        break;
    case TILE_WHEN:
        lower_when(l, s, b);
        break;
    case TILE_COMMIT:
        thread_append(l->a, b, THREAD_COMMIT, s->at)->why = s->why;
        break;
    case TILE_WAIT:
        thread_append(l->a, b, THREAD_WAIT, s->at)->count = s->option;
        break;
    }
}

void lower_block(lowering *l, const tile_block *from, thread_block *b) {
    for (const tile_stmt *s = from->first; s; s = s->next) {
        lower_statement(l, s, b);
    }
}

/* ---- the pass ------------------------------------------------------------------------------------------ */

static int count_checks(const tile_block *b) {
    int n = 0;
    for (const tile_stmt *s = b->first; s; s = s->next) {
        n += s->kind == TILE_CHECK;
        n += count_checks(&s->body) + count_checks(&s->otherwise);
    }
    return n;
}

thread_kernel *tile_lower(tg_kernel *k, const target *t) {
    lowering l = {.k = k, .t = ARENA_NEW(&k->memory, thread_kernel), .a = &k->memory, .errors = &k->errors};
    l.t->name = k->name;
    l.t->memory = &k->memory;
    l.t->target = t;
    l.t->nvars = k->nvars;
    l.t->checks = ARENA_ARRAY(l.a, thread_check, count_checks(&k->body) + 1);
    l.nregisters = k->nbuffers;
    l.registers = ARENA_ARRAY(l.a, buffer *, k->nbuffers + 1);
    l.moved = ARENA_ARRAY(l.a, const layout *, k->nbuffers + 1);
    lower_settings(&l);
    lower_buffers(&l);
    lower_params(&l);
    lower_launch(&l);
    lower_block(&l, &k->body, &l.t->body);
    if (l.t->nchecks > 0) {
        l.t->params[l.t->nparams++].kind = PARAM_CHECKS;
    }
    return l.t;
}
