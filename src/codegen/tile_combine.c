/* tile_combine.c -- partial results of many threads become one: what reduce and finalize have in common.
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

void partials_clear(lowering *l, thread_block *b, const partials *p, tg_loc at) {
    node *slot = each_slot(l, &b, p->layout->slots, at);
    thread_store(l->t, b, partials_register(l, p, slot, at), identity_of(l, p, at))->at = at;
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
    partials_clear(l, b, &p, at);
    return p;
}

thread_stmt *partials_add(lowering *l, thread_block *b, const partials *p, node *x, node *y, tg_loc at) {
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
    return !is_top && layout_covers(c->p->layout, p.stride, p.extent);
}

/* Has a thread something of its own for each value of the part? */
static bool is_dropped(const combining *c, part p, bool is_top) {
    return !c->p->from || (!is_top && layout_covers(c->p->from, p.stride, p.extent));
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

static void put_slot(const combining *c, thread_block *b, node *slot, node *condition, node *x) {
    thread_block *inside = under(c, b, condition);
    put(c, inside, slot, number_of(c, c->rest, c->nrest), x);
    put_missing(c, inside, slot);
}

static void put_parts(const combining *c, thread_block *b, node *slot) {
    node *x = lanes_value(c, b, slot);
    put_slot(c, b, slot, is_first(c), x);
}

/* ---- lanes that share the slots ------------------------------------------------------------------------ */

/* Of several slots each lane needs to end up with one, since others will read them from memory.  With each step a lane
 * gives half of its slots away and takes the partner's half of the others:
 *
 *     lane 0    0 1 2 3    0+ 2+    0++
 *     lane 1    0 1 2 3    1+ 3+    1++
 *     lane 2    0 1 2 3    0+ 2+    2++
 *     lane 3    0 1 2 3    1+ 3+    3++
 *
 * so that lane % slots is the number of the slot.  A step takes half the shuffles of the one before; to combine each
 * slot in all lanes takes as many every time.  Every sum is made in the same order. */
static bool can_share(const combining *c) {
    const int64_t slots = c->p->layout->slots;
    return c->nlanes == 1 && slots > 1 && slots <= UNROLLED_SLOTS && is_power_of_two(slots) &&
           slots <= c->lanes[0].extent;
}

/* result = value of the lane `stride` away. */
static node *partner_value(const combining *c, thread_block *b, node *x, int64_t stride) {
    thread_stmt *s = thread_append(c->a, b, THREAD_SHUFFLE_XOR, c->at);
    s->result = ARENA_NEW(c->a, var *);
    s->result[0] = thread_variable(c->l->t, VAR_LET, "taken", c->p->shape->type, c->at);
    s->nresults = 1;
    s->value = x;
    s->participants = SCOPE_WARP;
    s->stride = (int)stride;
    return expr_var(c->a, c->at, s->result[0]);
}

/* Slots 2 * i and 2 * i + 1 become slot i: one of them is kept, the other given away. */
static void exchange(const combining *c, thread_block *b, int64_t slots, int64_t stride) {
    const part lane = {stride, 2};
    node *is_odd = expr_binary(c->a, c->at, TG_NE, number_of(c, &lane, 1), expr_int(c->a, c->at, 0));
    node *odd_lane = expr_var(c->a, c->at, thread_let(c->l->t, b, "odd_lane", is_odd));
    b->last->at = c->at;
    b->last->why =
        slots == c->p->layout->slots ? "keeps one of each pair, gives the other to its partner" : NULL;
    node *slot = each_slot(c->l, &b, slots / 2, c->at);
    node *even = expr_mul(c->a, slot, 2), *odd = expr_add(c->a, even, expr_int(c->a, c->at, 1));
    node *x = expr_load(c->a, c->at, register_of(c, even)), *y = expr_load(c->a, c->at, register_of(c, odd));
    var *kept = thread_let(c->l->t, b, "kept", expr_choose(c->a, c->at, odd_lane, y, x));
    b->last->at = c->at;
    node *taken = partner_value(c, b, expr_choose(c->a, c->at, odd_lane, x, y), stride);
    node *both = expr_binary(c->a, c->at, reduction_op(c->p->reduction), expr_var(c->a, c->at, kept), taken);
    thread_store(c->l->t, b, register_of(c, slot), both)->at = c->at;
}

/* What one lane of each group has by then. */
static void put_shared(const combining *c, thread_block *b) {
    const part all = c->lanes[0];
    const int64_t slots = c->p->layout->slots;
    combining left = *c;
    for (int64_t n = slots, stride = all.stride; n > 1; n /= 2, stride *= 2) {
        exchange(c, b, n, stride);
    }
    left.lanes[0] = (part){all.stride * slots, all.extent / slots};
    left.nlanes = all.extent > slots ? 1 : 0;
    const part mine = {all.stride, slots};
    node *x = lanes_value(&left, b, expr_int(c->a, c->at, 0));
    put_slot(c, b, number_of(c, &mine, 1), is_first(&left), x);
}

static node *part_number(const combining *c, node *slot, node *number) {
    return expr_load(c->a, c->at, meeting_place(c, slot, number));
}

/* More parts than these are combined by a loop, fewer by one expression. */
enum { CHAIN_LIMIT = 8 };

/* The parts of an element, first to last, into a register. */
static void take_parts(const combining *c, thread_block *b, node *slot, node *to) {
    node *total = part_number(c, slot, expr_int(c->a, c->at, 0));
    const int64_t n = c->parts <= CHAIN_LIMIT ? c->parts : 1;
    for (int64_t i = 1; i < n; i++) {
        total = expr_binary(c->a, c->at, reduction_op(c->p->reduction), total,
                            part_number(c, slot, expr_int(c->a, c->at, i)));
    }
    thread_stmt *s = thread_store(c->l->t, b, to, total);
    s->at = c->at;
    s->participants = SCOPE_BLOCK;
    if (n < c->parts) {
        thread_stmt *loop = thread_for(c->l->t, b, "part", expr_int(c->a, c->at, c->parts - 1));
        loop->at = c->at;
        node *i = expr_add(c->a, expr_var(c->a, c->at, loop->result[0]), expr_int(c->a, c->at, 1));
        partials_add(c->l, &loop->body, c->p, to, part_number(c, slot, i), c->at)->participants = SCOPE_BLOCK;
    }
}

/* Every thread takes what it holds. */
static void take_held(const combining *c, thread_block *b) {
    node *slot = each_slot(c->l, &b, c->p->layout->slots, c->at);
    take_parts(c, b, slot, register_of(c, slot));
}

/* Slots in every thread, numbered as the elements are. */
static bool is_held_by_all(const partials *p) {
    const layout *held = p->layout; /* of dimensions that may have grown */
    bool all = held->rank == p->shape->rank;
    for (int i = 0; i < held->n && all; i++) {
        all = held->digit[i].source == LAYOUT_SLOT && held->digit[i].stride == held->digit[i].place;
    }
    return all;
}

/* Where every thread holds everything, but only copies to memory follow: each thread takes what it copies. */
static void take_all(const combining *c, thread_block *b) {
    if (!c->p->goes_to || c->p->layout->slots == 1 || !is_held_by_all(c->p)) {
        take_held(c, b);
        return;
    }
    const buffer *shape = c->p->shape;
    const layout *held = c->p->layout;
    partials total = {.layout = c->p->goes_to, .shape = shape};
    total.registers = lower_move(c->l, shape, c->p->goes_to);
    thread_append(c->a, b, THREAD_DECL, c->at)->buffer = total.registers;
    spread w = spread_elements(c->l, b, total.layout, shape, false, c->at);
    node *number = expr_int(c->a, c->at, 0);
    for (int d = 0; d < shape->rank; d++) {
        number = expr_add(c->a, expr_mul(c->a, number, held->dim[d]), w.index[d]);
    }
    take_parts(c, w.block, number, partials_register(c->l, &total, w.slot, c->at));
}

static void put_all(const combining *c, thread_block *b) {
    if (can_share(c)) {
        put_shared(c, b);
    } else {
        node *slot = each_slot(c->l, &b, c->p->layout->slots, c->at);
        put_parts(c, b, slot);
    }
}

static void meet(combining *c, thread_block *b) {
    make_meeting(c);
    if (meets_at_once(c)) {
        put_all(c, b);
        take_all(c, b);
        return;
    }
    node *slot = each_slot(c->l, &b, c->p->layout->slots, c->at);
    put_parts(c, b, slot);
    take_parts(c, b, slot, register_of(c, slot));
}

void partials_combine(lowering *l, thread_block *b, const partials *p, tg_loc at) {
    combining c = {.l = l, .a = l->a, .p = p, .at = at};
    find_parts(&c);
    judge_idle(&c);
    if (c.meets) {
        meet(&c, b);
    } else if (c.nlanes > 0) {
        shuffle(&c, b);
    }
}
