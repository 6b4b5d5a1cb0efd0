/* thread_allreduce.c -- one value from all threads along an axis, the same bits in each.
 *
 * The e threads of a group along an axis of stride s lie at linear threads base, base + s, .. base + s * (e -
 * 1). Runs of w of them, w a power of two that divides e, lie inside one wave at places that differ in
 * log2(w) bits of their number alone: those combine by shuffles.  The e / w runs of a group then meet in
 * shared memory:
 *
 *     lanes   0 1 2 3 | 4 5 6 7 | 8 9 10 11     e = 12, w = 4, e / w = 3 runs
 *     shuffles    a   |    b    |     c
 *     partial[0..2] = a, b, c;  every thread: (a + b) + c
 *
 * Butterflies give all lanes the same bits (both partners combine the same two values, and SUM, MAX and MIN
 * commute), and all threads read the partials in the same order. */
#include "codegen/passes.h"

/* How a group of threads is cut. */
typedef struct cut {
    int64_t stride, extent; /* of the axis */
    int64_t width;          /* lanes that shuffle */
    int64_t runs;           /* extent / width */
    int64_t groups;         /* in the block */
} cut;

static bool is_power_of_two(int64_t x) {
    return x > 0 && (x & (x - 1)) == 0;
}

static cut cut_axis(const thread_kernel *t, int axis) {
    cut c = {.stride = 1, .extent = t->threads[axis], .width = 1};
    for (int i = 0; i < axis; i++) {
        c.stride *= t->threads[i];
    }
    if (is_power_of_two(c.stride)) {
        while (c.extent % (2 * c.width) == 0 && c.stride * 2 * c.width <= t->target->wave) {
            c.width *= 2;
        }
    }
    c.runs = c.extent / c.width;
    c.groups = thread_count(t) / c.extent;
    return c;
}

/* The group's number: the linear thread with this axis taken out. */
static node *group_of(thread_kernel *t, const allreduce *r) {
    node *sum = expr_int(t->memory, r->at, 0);
    int64_t stride = 1;
    for (int i = 0; i < 3; i++) {
        if (i != r->axis) {
            sum = expr_add(t->memory, sum, expr_mul(t->memory, thread_axis(t, r->at, i), stride));
            stride *= t->threads[i];
        }
    }
    return sum;
}

static node *combine(thread_kernel *t, const allreduce *r, node *x, node *y) {
    return expr_binary(t->memory, r->at, reduction_op(r->reduction), x, y);
}

/* result = value, by whatever statement. */
static thread_stmt *give(thread_kernel *t, thread_block *b, const allreduce *r, thread_kind kind, node *x) {
    thread_stmt *s = thread_append(t->memory, b, kind, r->at);
    s->result = ARENA_NEW(t->memory, var *);
    s->result[0] = r->result;
    s->nresults = 1;
    s->value = x;
    return s;
}

int64_t thread_lanes_along(const thread_kernel *t, int axis) {
    return cut_axis(t, axis).width;
}

static void shuffle(thread_kernel *t, thread_block *b, const allreduce *r, const cut *c) {
    thread_stmt *s = give(t, b, r, THREAD_REDUCE_LANES, r->value);
    s->participants = SCOPE_WARP;
    s->reduction = r->reduction;
    s->count = c->width;
    s->stride = (int)c->stride;
    s->width = (int)c->width;
}

void thread_reduce_lanes(thread_kernel *t, thread_block *b, const allreduce *r) {
    const cut c = cut_axis(t, r->axis);
    shuffle(t, b, r, &c);
}

/* The reduction of one run, as a value that is evaluated once. */
static node *reduce_run(thread_kernel *t, thread_block *b, const allreduce *r, const cut *c) {
    if (c->width == 1) {
        return r->value;
    }
    const char *name = arena_print(t->memory, "%s_lanes", r->result->name);
    allreduce run = *r;
    run.result = thread_variable(t, VAR_LET, name, r->value->type, r->at);
    shuffle(t, b, &run, c);
    return expr_var(t->memory, r->at, run.result);
}

/* Neighbouring groups on neighbouring banks, so that a wave's lanes of different groups do not collide. */
static buffer *scratch(thread_kernel *t, const allreduce *r, const cut *c) {
    const char *name = arena_print(t->memory, "%s_partial", r->result->name);
    buffer *b = thread_buffer(t, TG_SHARED, name, r->value->type, r->at);
    b->reduction = r->reduction;
    b->rank = c->groups > 1 ? 2 : 1;
    b->dim[0] = c->runs;
    b->dim[1] = c->groups > 1 ? c->groups : 0;
    return b;
}

static node *partial(thread_kernel *t, const allreduce *r, buffer *b, node *run) {
    node *index[2] = {run, b->rank == 2 ? group_of(t, r) : NULL};
    return expr_ref(t->memory, r->at, b, b->rank, index, 1);
}

static node *partial_number(thread_kernel *t, const allreduce *r, buffer *b, int64_t run) {
    return expr_load(t->memory, r->at, partial(t, r, b, expr_int(t->memory, r->at, run)));
}

/* One lane of each run stores its partial. */
static void store_partial(thread_kernel *t, thread_block *b, const allreduce *r, const cut *c, buffer *to) {
    arena *a = t->memory;
    node *lane = reduce_run(t, b, r, c);
    node *place = thread_axis(t, r->at, r->axis), *width = expr_int(a, r->at, c->width);
    if (c->width > 1) {
        node *first = expr_binary(a, r->at, TG_MOD, place, width);
        b = &thread_if(t, b, expr_binary(a, r->at, TG_EQ, first, expr_int(a, r->at, 0)))->body;
    }
    node *run = expr_binary(a, r->at, TG_QUO, place, width);
    thread_store(t, b, partial(t, r, to, run), lane)->participants = SCOPE_BLOCK;
}

/* The first few partials combined in one expression. */
static node *chain(thread_kernel *t, const allreduce *r, buffer *from, int64_t n) {
    node *sum = partial_number(t, r, from, 0);
    for (int64_t i = 1; i < n; i++) {
        sum = combine(t, r, sum, partial_number(t, r, from, i));
    }
    return sum;
}

/* All of them, in a loop, into a variable of the thread. */
static node *loop(thread_kernel *t, thread_block *b, const allreduce *r, buffer *from, int64_t n) {
    arena *a = t->memory;
    buffer *total =
        thread_buffer(t, TG_LOCAL, arena_print(a, "%s_total", r->result->name), from->type, r->at);
    thread_stmt *decl = thread_append(a, b, THREAD_DECL, r->at);
    decl->buffer = total;
    decl->value = partial_number(t, r, from, 0);
    decl->participants = SCOPE_BLOCK;
    thread_stmt *turns = thread_for(t, b, "i", expr_int(a, r->at, n - 1));
    node *i = expr_add(a, expr_var(a, r->at, turns->result[0]), expr_int(a, r->at, 1));
    node *next = expr_load(a, r->at, partial(t, r, from, i));
    node *so_far = expr_ref(a, r->at, total, 0, NULL, 1);
    const bool is_sum = r->reduction == TG_SUM;
    thread_stmt *step = thread_store(t, &turns->body, so_far,
                                     is_sum ? next : combine(t, r, expr_load(a, r->at, so_far), next));
    step->accumulates = is_sum;
    step->participants = SCOPE_BLOCK;
    return expr_load(a, r->at, so_far);
}

/* More partial results than these are combined by a loop, fewer by one expression. */
enum { CHAIN_LIMIT = 8 };

void thread_allreduce(thread_kernel *t, thread_block *b, const allreduce *r) {
    const cut c = cut_axis(t, r->axis);
    if (c.extent == 1) {
        give(t, b, r, THREAD_LET, r->value);
        return;
    }
    if (c.runs == 1) {
        shuffle(t, b, r, &c);
        return;
    }
    buffer *partials = scratch(t, r, &c);
    store_partial(t, b, r, &c, partials);
    node *total = c.runs <= CHAIN_LIMIT ? chain(t, r, partials, c.runs) : loop(t, b, r, partials, c.runs);
    thread_stmt *result = give(t, b, r, THREAD_LET, total);
    result->participants = SCOPE_BLOCK;
    result->count = c.extent;
}
