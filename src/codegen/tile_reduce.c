/* tile_reduce.c -- reduce and finalize: partial results of many threads become one.
 *
 * Reads the layout of the partial results; leaves the reduction in every thread that holds the element.  Threads
 * that hold the same element differ in the digits of their number that the layout does not use, the gaps:
 *
 *     tile [8][64] over 256 threads, summed over its columns: row = tid / 8 % 8, so there are two gaps
 *
 *         tid   gap 8 | row 8 | gap 4
 *               lanes            through shared memory
 *
 * The low part of a gap that lies inside a wave is combined by shuffles, in all lanes; one lane for each group
 * then puts what it has into shared memory, and every thread adds up what its element has there, all in the same
 * order.  What holds nothing holds the identity, and joins in where whole waves then can shuffle. */
#include "codegen/tile_decide.h"
#include "codegen/tile_lower.h"

#include <string.h>

/* A part of the thread's number: number / stride % extent. */
typedef struct part {
    int64_t stride, extent;
} part;

typedef struct combining {
    lowering *l;
    arena *a;
    const partials *p;
    tg_loc at;
    int nlanes, nrest, nkept, nidle;
    part lanes[LAYOUT_DIGITS], rest[LAYOUT_DIGITS], kept[LAYOUT_DIGITS], idle[LAYOUT_DIGITS];
    int64_t parts, groups; /* products of rest and kept */
    bool meets;            /* in shared memory */
    bool is_ragged;        /* the last part exists for some groups only */
    buffer *meeting;
} combining;

/* ---- partial results ----------------------------------------------------------------------------------- */

node *partials_register(lowering *l, const partials *p, node *slot, tg_loc at) {
    return expr_ref(l->a, at, p->registers, p->registers->rank, &slot, 1);
}

static node *identity_of(lowering *l, const partials *p, tg_loc at) {
    return expr_const(l->a, at, reduction_identity(p->reduction, p->shape->type));
}

/* Loops over more slots than these are left to CUDA's compiler. */
enum { UNROLLED_SLOTS = 64 };

/* A loop over the slots, its variable as result. */
static node *each_slot(lowering *l, thread_block **b, int64_t slots, tg_loc at) {
    if (slots == 1) {
        return expr_int(l->a, at, 0);
    }
    thread_stmt *loop = thread_for(l->t, *b, "slot", expr_int(l->a, at, slots));
    loop->at = at;
    loop->unroll = slots <= UNROLLED_SLOTS ? UNROLL_FULL : UNROLL_AUTO;
    *b = &loop->body;
    return expr_var(l->a, at, loop->result[0]);
}

partials partials_begin(lowering *l, thread_block *b, const buffer *shape, tg_reduction reduction,
                        const layout *held, tg_loc at) {
    partials p = {.layout = held, .shape = shape, .reduction = reduction};
    if (!held) {
        p.layout = decide_everywhere(l->a, shape->rank, shape->dim, thread_count(l->t));
    }
    p.registers = thread_buffer(l->t, TG_LOCAL, arena_print(l->a, "%s_part", shape->name), shape->type, at);
    p.registers->stands_for = shape;
    if (p.layout->slots > 1) {
        p.registers->rank = 1;
        p.registers->dim[0] = p.layout->slots;
    }
    thread_append(l->a, b, THREAD_DECL, at)->buffer = p.registers;
    node *slot = each_slot(l, &b, p.layout->slots, at);
    thread_store(l->t, b, partials_register(l, &p, slot, at), identity_of(l, &p, at))->at = at;
    return p;
}

/* x = x combined with y. */
static thread_stmt *combine_into(lowering *l, thread_block *b, const partials *p, node *x, node *y,
                                 tg_loc at) {
    const bool is_sum = p->reduction == TG_SUM;
    node *both = is_sum ? y : expr_binary(l->a, at, reduction_op(p->reduction), expr_load(l->a, at, x), y);
    thread_stmt *s = thread_store(l->t, b, x, both);
    s->accumulates = is_sum;
    s->at = at;
    return s;
}

/* ---- which threads hold the same ----------------------------------------------------------------------- */

static bool is_power_of_two(int64_t x) {
    return x > 0 && (x & (x - 1)) == 0;
}

/* The low part by shuffles, where all lanes of each group exist in one wave; what is left through memory. */
static int64_t lanes_in(const combining *c, part p) {
    const int64_t threads = c->p->layout->threads;
    int64_t width = 1;
    while (is_power_of_two(p.stride) && p.extent % (2 * width) == 0 &&
           p.stride * 2 * width <= c->l->t->target->wave && threads % (p.stride * 2 * width) == 0) {
        width *= 2;
    }
    return width;
}

static void add_dropped(combining *c, part p) {
    const int64_t width = lanes_in(c, p);
    if (width > 1) {
        c->lanes[c->nlanes++] = (part){p.stride, width};
    }
    if (p.extent > width) {
        c->rest[c->nrest++] = (part){p.stride * width, p.extent / width};
        c->parts *= p.extent / width;
    }
}

/* Does a thread digit of the layout cover the part?  Only as digits do: 3 of 4 is no part of it. */
static bool covers(const layout *l, part p) {
    for (int i = 0; i < l->n; i++) {
        const layout_digit *d = &l->digit[i];
        if (d->source == LAYOUT_THREAD && p.stride % d->stride == 0 &&
            d->stride * d->extent % (p.stride * p.extent) == 0) {
            return true;
        }
    }
    return false;
}

/* Where a digit of the layout begins or ends next above `at`. */
static int64_t next_bound(const layout *l, int64_t at, int64_t next) {
    for (int i = 0; i < l->n; i++) {
        const layout_digit *d = &l->digit[i];
        const int64_t bound[] = {d->stride, d->stride * d->extent};
        for (int j = 0; j < 2; j++) {
            next = d->source == LAYOUT_THREAD && bound[j] > at && bound[j] < next ? bound[j] : next;
        }
    }
    return next;
}

/* Where the digits of both layouts cut the thread's number next above `at`; INT64_MAX above the last. */
static int64_t next_cut(const combining *c, int64_t at) {
    const int64_t end = next_bound(c->p->layout, at, INT64_MAX);
    return c->p->from ? next_bound(c->p->from, at, end) : end;
}

/* All of the thread's number from `at` on. */
static part rest_above(const combining *c, int64_t at) {
    return (part){at, (c->p->layout->threads + at - 1) / at};
}

static bool is_kept(const combining *c, part p, bool is_top) {
    return !is_top && covers(c->p->layout, p);
}

/* Has a thread something of its own for each value of the part? */
static bool is_dropped(const combining *c, part p, bool is_top) {
    return !c->p->from || (!is_top && covers(c->p->from, p));
}

/* Is all from `at` on to be combined, or the identity where nothing is held? */
static bool can_join_above(const combining *c, int64_t at) {
    for (int64_t end; at < c->p->layout->threads; at = end) {
        end = next_cut(c, at);
        const bool is_top = end == INT64_MAX;
        const part p = is_top ? rest_above(c, at) : (part){at, end / at};
        if (is_kept(c, p, is_top) || (c->p->is_by_all && !is_dropped(c, p, is_top))) {
            return false;
        }
    }
    return true;
}

/* 125 threads of 128 have something: all 32 lanes of four waves can shuffle if the three others, which have the
 * identity, take part. */
static bool joins_above(const combining *c, part p) {
    const part all = rest_above(c, p.stride);
    return can_join_above(c, p.stride) && lanes_in(c, all) > lanes_in(c, p);
}

/* The thread's number in parts: of the element's place, of what is combined, of what is replicas. */
static void find_parts(combining *c) {
    const int64_t threads = c->p->layout->threads;
    c->parts = c->groups = 1;
    for (int64_t at = 1, end; at < threads; at = end) {
        end = next_cut(c, at);
        bool is_top = end == INT64_MAX;
        part p = is_top ? rest_above(c, at) : (part){at, end / at};
        if (is_kept(c, p, is_top)) {
            c->kept[c->nkept++] = p;
            c->groups *= p.extent;
        } else if (is_dropped(c, p, is_top)) {
            if (!is_top && joins_above(c, p)) {
                is_top = true;
                end = threads;
                p = rest_above(c, at);
            }
            c->is_ragged = is_top && threads % at != 0;
            add_dropped(c, p);
        } else {
            c->idle[c->nidle++] = p;
        }
    }
}

/* Replicas that have nothing get the result: by shuffles too if those alone are enough, else from memory. */
static void judge_idle(combining *c) {
    const bool needs_result = !c->p->is_by_all;
    c->meets = c->parts > 1;
    for (int i = 0; i < c->nidle && needs_result; i++) {
        c->meets = c->meets || lanes_in(c, c->idle[i]) < c->idle[i].extent;
    }
    for (int i = 0; i < c->nidle && needs_result && !c->meets; i++) {
        c->lanes[c->nlanes++] = c->idle[i];
    }
}

/* ---- by shuffles --------------------------------------------------------------------------------------- */

static node *register_of(const combining *c, node *slot) {
    return partials_register(c->l, c->p, slot, c->at);
}

/* What a thread has of its element, combined over its lanes. */
static node *lanes_value(const combining *c, thread_block *b, node *slot) {
    node *x = expr_load(c->a, c->at, register_of(c, slot));
    for (int i = 0; i < c->nlanes; i++) {
        thread_stmt *s = thread_append(c->a, b, THREAD_REDUCE_LANES, c->at);
        const char *name = arena_print(c->a, "%s_lanes", c->p->shape->name);
        s->result = ARENA_NEW(c->a, var *);
        s->result[0] = thread_variable(c->l->t, VAR_LET, name, c->p->shape->type, c->at);
        s->nresults = 1;
        s->value = x;
        s->participants = SCOPE_WARP;
        s->reduction = c->p->reduction;
        s->stride = (int)c->lanes[i].stride;
        s->width = (int)c->lanes[i].extent;
        s->count = s->width;
        x = expr_var(c->a, c->at, s->result[0]);
    }
    return x;
}

static void shuffle(const combining *c, thread_block *b) {
    node *slot = each_slot(c->l, &b, c->p->layout->slots, c->at);
    node *x = lanes_value(c, b, slot);
    thread_store(c->l->t, b, register_of(c, slot), x)->at = c->at;
}

/* ---- through shared memory ----------------------------------------------------------------------------- */

static node *quotient(const combining *c, tg_op op, node *x, int64_t y) {
    return y == 1 && op == TG_QUO ? x : expr_binary(c->a, c->at, op, x, expr_int(c->a, c->at, y));
}

/* Some parts of the thread's number as one number. */
static node *number_of(const combining *c, const part *parts, int n) {
    node *sum = expr_int(c->a, c->at, 0);
    int64_t place = 1;
    for (int i = 0; i < n; i++) {
        node *x = quotient(c, TG_QUO, lower_linear(c->l, c->at), parts[i].stride);
        x = parts[i].stride * parts[i].extent < c->p->layout->threads
                ? quotient(c, TG_MOD, x, parts[i].extent)
                : x;
        sum = expr_add(c->a, expr_mul(c->a, x, place), sum);
        place *= parts[i].extent;
    }
    return sum;
}

/* Shared memory for slots that meet at once: all of them, unless that takes more. */
enum { MEETING_BYTES = 16384 };

static bool meets_at_once(const combining *c) {
    return c->p->layout->slots * c->parts * c->groups * type_bytes(c->p->shape->type) <= MEETING_BYTES;
}

static void make_meeting(combining *c) {
    const char *name = arena_print(c->a, "%s_partial", c->p->shape->name);
    buffer *b = thread_buffer(c->l->t, TG_SHARED, name, c->p->shape->type, c->at);
    b->stands_for = c->p->shape;
    b->reduction = c->p->reduction;
    if (meets_at_once(c) && c->p->layout->slots > 1) {
        b->dim[b->rank++] = c->p->layout->slots;
    }
    if (c->parts > 1) {
        b->dim[b->rank++] = c->parts;
    }
    if (c->groups > 1) {
        b->dim[b->rank++] = c->groups;
    }
    c->meeting = b;
}

static node *meeting_place(const combining *c, node *slot, node *part_number) {
    node *index[3];
    int n = 0;
    if (meets_at_once(c) && c->p->layout->slots > 1) {
        index[n++] = slot;
    }
    if (c->parts > 1) {
        index[n++] = part_number;
    }
    if (c->groups > 1) {
        index[n++] = number_of(c, c->kept, c->nkept);
    }
    return expr_ref(c->a, c->at, c->meeting, n, index, 1);
}

static thread_block *under(const combining *c, thread_block *b, node *condition) {
    if (!condition || expr_is_int(condition, 1)) {
        return b;
    }
    thread_stmt *s = thread_if(c->l->t, b, condition);
    s->at = c->at;
    s->participants = SCOPE_BLOCK;
    return &s->body;
}

static node *is_zero(const combining *c, const part *p) {
    const bool is_top = p->stride * p->extent >= c->p->layout->threads;
    return is_top
               ? expr_binary(c->a, c->at, TG_LT, lower_linear(c->l, c->at), expr_int(c->a, c->at, p->stride))
               : expr_binary(c->a, c->at, TG_EQ, number_of(c, p, 1), expr_int(c->a, c->at, 0));
}

/* One lane of those that agree by now, one replica. */
static node *is_first(const combining *c) {
    node *all = NULL;
    for (int i = 0; i < c->nlanes; i++) {
        all = lower_both(c->l, all, is_zero(c, &c->lanes[i]));
    }
    for (int i = 0; i < c->nidle; i++) {
        all = lower_both(c->l, all, is_zero(c, &c->idle[i]));
    }
    return all;
}

static void put(const combining *c, thread_block *b, node *slot, node *number, node *x) {
    thread_stmt *s = thread_store(c->l->t, b, meeting_place(c, slot, number), x);
    s->at = c->at;
    s->participants = SCOPE_BLOCK;
}

/* Where the last part has no thread, one of the first part puts the identity in its place. */
static void put_missing(const combining *c, thread_block *b, node *slot) {
    if (!c->is_ragged) {
        return;
    }
    const part *top = &c->rest[c->nrest - 1];
    const int64_t last = top->stride * (top->extent - 1);
    node *thread = lower_linear(c->l, c->at);
    node *beyond =
        expr_binary(c->a, c->at, TG_GE, thread, expr_int(c->a, c->at, c->p->layout->threads - last));
    node *lowest = expr_binary(c->a, c->at, TG_LT, thread, expr_int(c->a, c->at, top->stride));
    node *above = expr_int(c->a, c->at, c->parts / top->extent * (top->extent - 1));
    b = under(c, b, lower_both(c->l, lowest, beyond));
    put(c, b, slot, expr_add(c->a, number_of(c, c->rest, c->nrest), above), identity_of(c->l, c->p, c->at));
}

static void put_parts(const combining *c, thread_block *b, node *slot) {
    node *x = lanes_value(c, b, slot);
    thread_block *inside = under(c, b, is_first(c));
    put(c, inside, slot, number_of(c, c->rest, c->nrest), x);
    put_missing(c, inside, slot);
}

static node *part_number(const combining *c, node *slot, node *number) {
    return expr_load(c->a, c->at, meeting_place(c, slot, number));
}

/* More parts than these are combined by a loop, fewer by one expression. */
enum { CHAIN_LIMIT = 8 };

/* The parts of the thread's element, first to last. */
static void take_parts(const combining *c, thread_block *b, node *slot) {
    node *total = part_number(c, slot, expr_int(c->a, c->at, 0));
    const int64_t n = c->parts <= CHAIN_LIMIT ? c->parts : 1;
    for (int64_t i = 1; i < n; i++) {
        total = expr_binary(c->a, c->at, reduction_op(c->p->reduction), total,
                            part_number(c, slot, expr_int(c->a, c->at, i)));
    }
    thread_stmt *s = thread_store(c->l->t, b, register_of(c, slot), total);
    s->at = c->at;
    s->participants = SCOPE_BLOCK;
    if (n < c->parts) {
        thread_stmt *loop = thread_for(c->l->t, b, "part", expr_int(c->a, c->at, c->parts - 1));
        loop->at = c->at;
        node *i = expr_add(c->a, expr_var(c->a, c->at, loop->result[0]), expr_int(c->a, c->at, 1));
        combine_into(c->l, &loop->body, c->p, register_of(c, slot), part_number(c, slot, i), c->at)
            ->participants = SCOPE_BLOCK;
    }
}

static void meet(combining *c, thread_block *b) {
    make_meeting(c);
    if (meets_at_once(c)) {
        thread_block *first = b;
        node *slot = each_slot(c->l, &first, c->p->layout->slots, c->at);
        put_parts(c, first, slot);
        slot = each_slot(c->l, &b, c->p->layout->slots, c->at);
        take_parts(c, b, slot);
        return;
    }
    node *slot = each_slot(c->l, &b, c->p->layout->slots, c->at);
    put_parts(c, b, slot);
    take_parts(c, b, slot);
}

/* Gives all holders the reduction. */
static void combine_partials(lowering *l, thread_block *b, const partials *p, tg_loc at) {
    combining c = {.l = l, .a = l->a, .p = p, .at = at};
    find_parts(&c);
    judge_idle(&c);
    if (c.meets) {
        meet(&c, b);
    } else if (c.nlanes > 0) {
        shuffle(&c, b);
    }
}

/* ---- results ------------------------------------------------------------------------------------------- */

static void keep_inside(lowering *l, spread *w, const buffer *shape) {
    for (int d = 0; d < shape->rank; d++) {
        node *inside = expr_binary(l->a, w->at, TG_LT, w->index[d], expr_int(l->a, w->at, shape->dim[d]));
        if (w->layout->dim[d] > shape->dim[d] && facts_truth(inside) != FACT_YES) {
            spread_when(l, w, inside);
        }
    }
}

/* Loops over the elements that a thread holds. */
static spread each_element(lowering *l, thread_block *b, const layout *held, const buffer *shape, bool once,
                           tg_loc at) {
    spread w = {.layout = held, .at = at, .in_registers = true, .once = once};
    spread_open(l, b, &w);
    keep_inside(l, &w, shape);
    return w;
}

/* The combined results to memory of their shape. */
static void publish(lowering *l, thread_block *b, const partials *p, buffer *memory, tg_loc at) {
    spread w = each_element(l, b, p->layout, p->shape, true, at);
    node *place = expr_ref(l->a, at, memory, memory->rank, w.index, 1);
    thread_stmt *s =
        thread_store(l->t, w.block, place, expr_load(l->a, at, partials_register(l, p, w.slot, at)));
    s->at = at;
    s->participants = SCOPE_BLOCK;
}

void partials_merge(lowering *l, thread_block *b, buffer *reducer, const partials *p, tg_loc at) {
    buffer *memory = lower_scratch(l, reducer, at);
    partials enough = *p;
    enough.is_by_all = p->from != NULL; /* nobody but the first replica is asked */
    combine_partials(l, b, &enough, at);
    publish(l, b, p, memory, at);
    spread w = each_element(l, b, lower_layout(l, reducer), reducer, true, at);
    node *place = expr_ref(l->a, at, memory, memory->rank, w.index, 1);
    combine_into(l, w.block, p, lower_register(l, reducer, w.slot, at), expr_load(l->a, at, place), at)
        ->participants = SCOPE_BLOCK;
}

static bool same_threads(const layout *x, const layout *y) {
    for (int turn = 0; turn < 2; turn++) {
        const layout *a = turn ? x : y, *b = turn ? y : x;
        for (int i = 0; i < a->n; i++) {
            const layout_digit *d = &a->digit[i];
            if (d->source == LAYOUT_THREAD && !covers(b, (part){d->stride, d->extent})) {
                return false;
            }
        }
    }
    return x->threads == y->threads;
}

typedef struct adding {
    const buffer *reducer;
    const layout *from;
    bool differs;
} adding;

/* How the loops that add to a reducer are spread, when all are alike. */
static void find_loops(adding *x, const tile_block *b, const layout *loop) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        if (s->kind == TILE_ACCUM && s->dst->buffer == x->reducer && loop) {
            x->differs |= x->from && !same_threads(x->from, loop);
            x->from = loop;
        }
        const layout *here = s->kind == TILE_LOOP && s->scope == TG_PARALLEL ? s->spread : loop;
        find_loops(x, &s->body, here);
        find_loops(x, &s->otherwise, here);
    }
}

/* Within what the loops use? */
static bool is_part_of(const layout *held, const layout *from) {
    for (int i = 0; i < held->n; i++) {
        const layout_digit *d = &held->digit[i];
        if (d->source == LAYOUT_THREAD && !covers(from, (part){d->stride, d->extent})) {
            return false;
        }
    }
    return true;
}

void lower_finalize(lowering *l, const tile_stmt *s, thread_block *b) {
    buffer *reducer = s->dst->buffer;
    adding x = {.reducer = reducer};
    find_loops(&x, &l->k->body, NULL);
    partials p = {
        lower_registers(l, reducer), lower_layout(l, reducer), reducer, reducer->reduction, NULL, false};
    p.from = x.from && !x.differs && is_part_of(p.layout, x.from) ? x.from : NULL;
    combine_partials(l, b, &p, s->at);
}

/* ---- reduce -------------------------------------------------------------------------------------------- */

/* Is the destination a fragment whose registers can take the partial results? */
static bool lies_there(const partials *p, const buffer *dst) {
    return dst->space == TG_FRAGMENT && !dst->view_of && layout_equal(p->layout, dst->registers);
}

/* The register of the result to which an element of the source belongs: as in a loop over the source. */
static node *result_slot(lowering *l, const tile_stmt *s, const partials *p, var **axis, node **kept,
                         node *slot) {
    tile_stmt loop = {
        .kind = TILE_LOOP, .at = s->at, .scope = TG_PARALLEL, .n = s->src->buffer->rank, .axes = axis};
    node *extents[TG_MAX_RANK];
    for (int d = 0; d < loop.n; d++) {
        extents[d] = expr_int(l->a, s->at, s->src->buffer->dim[d]);
    }
    loop.extents = extents;
    const node *ref = expr_ref(l->a, s->at, s->dst->buffer, s->dst->buffer->rank, kept, 1);
    const layout *follows = decide_from_loop(l->a, s->spread, &loop, ref);
    node *to = follows && layout_equal(follows, p->layout)
                   ? decide_slot(l->a, s->spread, &loop, ref, p->layout, slot)
                   : NULL;
    return to ? to : layout_slot_in(l->a, s->spread, axis, p->layout, kept, slot);
}

/* Partial results of what each thread holds of the source. */
static void accumulate(lowering *l, thread_block *b, const tile_stmt *s, const partials *p) {
    buffer *src = s->src->buffer;
    spread w = each_element(l, b, s->spread, src, !p->is_by_all, s->at);
    node *slot = w.slot, *kept[TG_MAX_RANK];
    var *axis[TG_MAX_RANK];
    node *index[TG_MAX_RANK];
    for (int d = 0, n = 0; d < src->rank; d++) {
        axis[d] = thread_variable(l->t, VAR_PARALLEL, "axis", TYPE_INDEX, s->at);
        axis[d]->lo = 0;
        axis[d]->hi = src->dim[d] - 1;
        index[d] = expr_var(l->a, s->at, axis[d]);
        if (d != (int)s->dim) {
            kept[n++] = index[d];
        }
    }
    node *to = result_slot(l, s, p, axis, kept, slot);
    if (!to) {
        tg_bug("reduce: partial results of '%s' are not where they were (line %d)", src->name, s->at.line);
        return;
    }
    node *from = buffer_root(src)->space == TG_SHARED ? expr_ref(l->a, s->at, src, src->rank, w.index, 1)
                                                      : lower_register(l, src, slot, s->at);
    node *x = expr_cast(l->a, s->at, p->shape->type, expr_load(l->a, s->at, from));
    combine_into(l, w.block, p, partials_register(l, p, to, s->at), x, s->at)->participants = SCOPE_BLOCK;
}

/* Is each group of replicas as good as the first? */
static bool replicas_are_whole(const layout *l) {
    int64_t used = 1;
    for (int i = 0; i < l->n; i++) {
        const layout_digit *d = &l->digit[i];
        used = d->source == LAYOUT_THREAD && d->stride * d->extent > used ? d->stride * d->extent : used;
    }
    return l->threads % used == 0;
}

/* Memory in which all of the source can be read. */
static buffer *source_memory(lowering *l, thread_block *b, const tile_stmt *s) {
    buffer *src = s->src->buffer;
    if (buffer_root(src)->space == TG_SHARED) {
        return src;
    }
    buffer *root = buffer_root(src), *memory = lower_scratch(l, root, s->at);
    lower_publish(l, b, root, memory, s->at);
    if (src == root) {
        return memory;
    }
    buffer *view = thread_buffer(l->t, TG_SHARED, src->name, src->type, s->at);
    view->rank = src->rank;
    memcpy(view->dim, src->dim, sizeof view->dim);
    view->view_of = memory;
    return view;
}

/* Each element of a tile by a thread of its own, one element of the source after the other. */
static void one_by_one(lowering *l, thread_block *b, const tile_stmt *s, const partials *p) {
    buffer *memory = source_memory(l, b, s);
    spread w = each_element(l, b, p->layout, p->shape, false, s->at);
    thread_stmt *loop = thread_for(l->t, w.block, "i", expr_int(l->a, s->at, memory->dim[s->dim]));
    node *index[TG_MAX_RANK];
    for (int d = 0, n = 0; d < memory->rank; d++) {
        index[d] = d == (int)s->dim ? expr_var(l->a, s->at, loop->result[0]) : w.index[n++];
    }
    node *x = expr_load(l->a, s->at, expr_ref(l->a, s->at, memory, memory->rank, index, 1));
    combine_into(l, &loop->body, p, partials_register(l, p, w.slot, s->at),
                 expr_cast(l->a, s->at, p->shape->type, x), s->at)
        ->participants = SCOPE_BLOCK;
}

/* To where the program wants them. */
static void deliver(lowering *l, thread_block *b, const tile_stmt *s, const partials *p) {
    buffer *dst = s->dst->buffer;
    if (buffer_root(dst)->space == TG_SHARED) {
        publish(l, b, p, dst, s->at);
        return;
    }
    buffer *root = buffer_root(dst), *memory = lower_scratch(l, root, s->at), *seen = memory;
    if (root != dst) {
        seen = thread_buffer(l->t, TG_SHARED, dst->name, dst->type, s->at);
        seen->rank = dst->rank;
        memcpy(seen->dim, dst->dim, sizeof seen->dim);
        seen->view_of = memory;
    }
    publish(l, b, p, seen, s->at);
    lower_reload(l, b, root, memory, s->at);
}

void lower_reduce(lowering *l, const tile_stmt *s, thread_block *b) {
    const buffer *src = s->src->buffer;
    buffer *dst = s->dst->buffer;
    const layout *held = s->spread && s->spread->rank == src->rank && s->spread->is_split
                             ? decide_without(l->a, s->spread, (int)s->dim)
                             : NULL;
    const bool direct = held && !src->view_of;
    const layout *lies = dst->space == TG_FRAGMENT && !dst->view_of ? lower_layout(l, dst) : NULL;
    if (!direct) {
        held = lies ? lies : layout_spread(l->a, dst->rank, dst->dim, thread_count(l->t), 1, false);
    }
    partials p = {.layout = held, .shape = dst, .reduction = s->reduction};
    const bool in_place = lies && lies_there(&p, dst);
    if (in_place) {
        p.registers = lower_registers(l, dst);
        thread_block *each = b;
        node *slot = each_slot(l, &each, held->slots, s->at);
        thread_store(l->t, each, partials_register(l, &p, slot, s->at), identity_of(l, &p, s->at))->at =
            s->at;
    } else {
        p = partials_begin(l, b, dst, s->reduction, held, s->at);
    }
    if (direct) {
        p.from = s->spread;
        p.is_by_all = replicas_are_whole(s->spread);
        accumulate(l, b, s, &p);
        combine_partials(l, b, &p, s->at);
    } else {
        one_by_one(l, b, s, &p);
    }
    if (!in_place) {
        deliver(l, b, s, &p);
    }
}
