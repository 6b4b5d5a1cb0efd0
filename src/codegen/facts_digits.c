/* facts_digits.c -- do two accesses of different threads meet?  Shown from the factors of their offsets alone.
 *
 * Reads two accesses; leaves nothing behind.  Offsets are read like numbers whose digits are the terms:
 *
 *     a: 2048 * stage + 128 * i + 8 * tid : +8            meet only where
 *     b: 2048 * ahead + 128 * j + 8 * tid : +8
 *                   2048 * (stage - ahead) + 128 * (i - j) + 8 * (tid - tid') + (-7 .. 7) = 0
 *
 * From the largest factor down: a difference that the smaller digits cannot make up for must be 0.  Where that
 * holds for digits that tell the threads apart, two threads never meet.  Digits which are more than the number of
 * the thread, tid / 16 and tid % 4, are worked out for every thread; loops are never enumerated.
 *
 * Where rows are ragged, only the guard of an access keeps it from reaching into the next row.  Accesses that are kept
 * inside their rows meet only where every index is the same: then each index is read as such a number. */
#include "codegen/facts_point.h"

enum { DIGITS = 2 * AFFINE_TERMS };

/* All terms of one factor: what a has there minus what b has. */
typedef struct digit {
    int64_t factor;
    int64_t lo, hi; /* of the difference; meant where known */
    bool is_known;
    int from_a, from_b; /* terms */
    const node *x;      /* the last of them; the only one where both sides have one and the same */
    bool is_same;
} digit;

typedef struct numbers {
    const fact_block *block;
    const digits_side *a, *b;
    int n;
    digit item[DIGITS]; /* largest factor first, once sorted */
    int nthreads;       /* digits of threads alone that are equal wherever a and b meet */
    const digit *of_threads[DIGITS];
} numbers;

/* ---- groups of threads --------------------------------------------------------------------------------- */

static node *part_of(arena *a, tg_op op, const node *x, int64_t n) {
    return expr_binary(a, x->at, op, (node *)(uintptr_t)x, expr_int(a, x->at, n));
}

/* Term i, factor * (tid / per), as the group's number and the place in the group. */
static bool group_term(const fact_block *block, affine *a, int i, const node *thread, int64_t per) {
    const int64_t factor = a->term[i].factor;
    int64_t of_group;
    node *place = part_of(block->memory, TG_MOD, thread, block->group);
    if (a->n == AFFINE_TERMS || !facts_multiply(factor, block->group / per, &of_group)) {
        return false;
    }
    a->term[i].x = part_of(block->memory, TG_QUO, thread, block->group);
    a->term[i].factor = of_group;
    a->term[a->n].x = per == 1 ? place : part_of(block->memory, TG_QUO, place, per);
    a->term[a->n++].factor = factor;
    return true;
}

void affine_group(const fact_block *block, affine *a) {
    const var *tid = block->thread_var[0];
    const int n = block->group > 1 && tid && !block->thread_var[1] && !block->thread_var[2] ? a->n : 0;
    for (int i = 0; i < n; i++) {
        const node *x = a->term[i].x;
        const bool is_part = x->kind == E_OP && x->op == TG_QUO && x->arg[1]->kind == E_CONST;
        const node *thread = is_part ? facts_plain(x->arg[0]) : x;
        const int64_t per = is_part ? x->arg[1]->ival : 1;
        if (thread->kind == E_VAR && thread->var == tid && per > 0 && per < block->group &&
            block->group % per == 0 && !group_term(block, a, i, thread, per)) {
            return;
        }
    }
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

static int64_t divide_down(int64_t x, int64_t n) {
    return x / n - (x % n < 0);
}

/* The range of x where factor * x + constant < 0. */
static void narrow_below(int64_t factor, int64_t constant, int64_t *lo, int64_t *hi) {
    if (factor > 0) {
        const int64_t most = divide_down(-constant - 1, factor);
        *hi = most < *hi ? most : *hi;
    } else {
        const int64_t least = divide_down(constant, -factor) + 1;
        *lo = least > *lo ? least : *lo;
    }
}

/* The range of variable x where a condition holds, or with `negated` does not. */
static void narrow(const node *condition, bool negated, const node *x, int64_t *lo, int64_t *hi) {
    affine d;
    condition = facts_meaning(condition);
    if (condition->kind != E_OP) {
        return;
    }
    if (condition->op == (negated ? TG_EITHER : TG_BOTH)) {
        narrow(condition->arg[0], negated, x, lo, hi);
        narrow(condition->arg[1], negated, x, lo, hi);
    }
    if (affine_below_zero(condition, negated, &d) && d.n == 1 && d.term[0].x->kind == E_VAR &&
        d.term[0].x->var == x->var) {
        narrow_below(d.term[0].factor, d.constant, lo, hi);
    }
}

bool facts_term_range(const fact_access *access, const node *x, int64_t factor, int64_t *lo, int64_t *hi) {
    const bool is_part = x->kind == E_OP && x->op == TG_QUO && type_is_integer(x->type) &&
                         x->arg[1]->kind == E_CONST && x->arg[1]->ival > 0;
    const node *v = is_part ? facts_plain(x->arg[0]) : x;
    const int64_t parts = is_part ? x->arg[1]->ival : 1;
    int64_t product;
    *lo = v->lo;
    *hi = v->hi;
    for (int i = 0; i < access->n && v->kind == E_VAR; i++) {
        narrow(access->guard[i].condition, access->guard[i].negated, v, lo, hi);
    }
    *lo = *lo / parts > x->lo ? *lo / parts : x->lo;
    *hi = *hi / parts < x->hi ? *hi / parts : x->hi;
    return facts_multiply(factor, *lo, &product) && facts_multiply(factor, *hi, &product);
}

/* ---- digits -------------------------------------------------------------------------------------------- */

static digit *digit_of(numbers *w, int64_t factor) {
    for (int i = 0; i < w->n; i++) {
        if (w->item[i].factor == factor) {
            return &w->item[i];
        }
    }
    w->item[w->n] = (digit){.factor = factor, .is_known = true};
    return &w->item[w->n++];
}

static void add_terms(numbers *w, const digits_side *s, bool is_a) {
    for (int i = 0; i < s->a.n; i++) {
        const node *x = s->a.term[i].x;
        digit *d = digit_of(w, s->a.term[i].factor);
        int64_t lo, hi;
        d->is_known &= facts_term_range(s->access, x, d->factor, &lo, &hi);
        if (d->is_known) {
            d->lo += is_a ? lo : -hi;
            d->hi += is_a ? hi : -lo;
        }
        *(is_a ? &d->from_a : &d->from_b) += 1;
        d->is_same = !is_a && d->from_a == 1 && d->from_b == 1 && expr_equal(d->x, x);
        d->x = x;
    }
}

static int64_t magnitude(const digit *d) {
    return d->factor < 0 ? -d->factor : d->factor;
}

static void sort(numbers *w) {
    for (int i = 1; i < w->n; i++) {
        const digit moved = w->item[i];
        int at = i;
        for (; at > 0 && magnitude(&w->item[at - 1]) < magnitude(&moved); at--) {
            w->item[at] = w->item[at - 1];
        }
        w->item[at] = moved;
    }
}

/* lo..hi of the sum of all digits from the first on; false where one is not known. */
static bool sum_from(const numbers *w, int first, int64_t *lo, int64_t *hi) {
    *lo = *hi = 0;
    for (int i = first; i < w->n; i++) {
        const digit *d = &w->item[i];
        const int64_t p = d->factor * d->lo, q = d->factor * d->hi;
        if (!d->is_known) {
            return false;
        }
        *lo += p < q ? p : q;
        *hi += p < q ? q : p;
    }
    return true;
}

static bool is_of_threads(const fact_block *block, const node *x) {
    x = facts_meaning(x);
    if (x->kind == E_VAR) {
        return x->var == block->thread_var[0] || x->var == block->thread_var[1] ||
               x->var == block->thread_var[2];
    }
    bool all = x->kind == E_CONST || x->kind == E_OP || x->kind == E_CAST || x->kind == E_CHOOSE;
    for (int i = 0; i < x->n && all; i++) {
        all = is_of_threads(block, x->arg[i]);
    }
    return all;
}

/* Digit i in the next one, as 8064 * i + 2016 * j is 2016 * (4 * i + j); false where that is not so. */
static bool put_down(numbers *w, int i) {
    const digit *d = &w->item[i];
    digit *to = &w->item[i + 1];
    if (i + 1 == w->n || !d->is_known || d->factor % to->factor != 0) {
        return false;
    }
    const int64_t times = d->factor / to->factor, p = times * d->lo, q = times * d->hi;
    to->lo += p < q ? p : q;
    to->hi += p < q ? q : p;
    to->is_same = false;
    return true;
}

/* From the largest digit down, as far as each must have one difference, by itself or together with the next ones.  True
 * when they never meet at all. */
static bool find_equal(numbers *w) {
    int64_t lo, hi;
    int64_t least = w->b->a.constant - w->a->a.constant - (w->a->lanes - 1);
    int64_t most = w->b->a.constant - w->a->a.constant + (w->b->lanes - 1);
    for (int i = 0; i < w->n; i++) {
        const digit *d = &w->item[i];
        const int64_t size = magnitude(d);
        if (!sum_from(w, i + 1, &lo, &hi)) {
            return false;
        }
        int64_t from = -divide_down(-(least - hi), size) * size, to = divide_down(most - lo, size) * size;
        if (d->is_known) {
            const int64_t p = d->factor * d->lo, q = d->factor * d->hi;
            from = from < (p < q ? p : q) ? (p < q ? p : q) : from;
            to = to > (p < q ? q : p) ? (p < q ? q : p) : to;
        }
        if (from > to) {
            return true;
        }
        if (from < to && !put_down(w, i)) {
            return false;
        }
        if (from < to) {
            continue;
        }
        least -= from;
        most -= from;
        if (from == 0 && d->is_same && is_of_threads(w->block, d->x)) {
            w->of_threads[w->nthreads++] = d;
        }
    }
    return least > 0 || most < 0;
}

/* ---- threads ------------------------------------------------------------------------------------------- */

/* The number of the thread's group, in a block of one axis. */
static bool is_group(const fact_block *block, const node *x) {
    return x->kind == E_OP && x->op == TG_QUO && expr_is_int(x->arg[1], block->group) &&
           facts_plain(x->arg[0])->kind == E_VAR && facts_plain(x->arg[0])->var == block->thread_var[0] &&
           !block->thread_var[1] && !block->thread_var[2];
}

/* Is every axis a digit of its own, or the number of the group one? */
static bool names_threads(const numbers *w) {
    for (int i = 0; i < w->nthreads; i++) {
        if (is_group(w->block, w->of_threads[i]->x)) {
            return true;
        }
    }
    for (int axis = 0; axis < 3; axis++) {
        const var *v = w->block->thread_var[axis];
        bool found = !v || v->hi == 0;
        for (int i = 0; i < w->nthreads && !found; i++) {
            found = w->of_threads[i]->x->kind == E_VAR && w->of_threads[i]->x->var == v;
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

static point all_threads(const fact_block *block) {
    point p = {.n = 0};
    for (int i = 0; i < 3; i++) {
        if (block->thread_var[i]) {
            p.v[p.n] = block->thread_var[i];
            p.hi[p.n++] = block->thread_var[i]->hi;
        }
    }
    return p;
}

/* The digits of each thread together; false where one cannot be worked out. */
static bool add_worth(const numbers *w, const points *threads, int64_t *sum) {
    for (int i = 0; i < w->nthreads; i++) {
        int64_t v[EXPR_POINTS];
        if (point_evaluate_each(w->of_threads[i]->x, threads, v) != point_all(threads)) {
            return false;
        }
        for (int j = 0; j < threads->n; j++) {
            sum[j] += w->of_threads[i]->factor * v[j];
        }
    }
    return true;
}

uint64_t facts_let_in(const fact_access *access, unsigned guards, const points *at) {
    uint64_t in = point_all(at);
    for (int i = 0; i < access->n; i++) {
        int64_t v[EXPR_POINTS];
        const uint64_t known = guards >> i & 1 ? point_evaluate_each(access->guard[i].condition, at, v) : 0;
        for (int j = 0; j < at->n && known; j++) {
            const bool is_out = (v[j] != 0) == access->guard[i].negated;
            in &= ~((known >> j & is_out) << j);
        }
    }
    return in;
}

static int32_t group_of(const fact_block *block, int64_t thread) {
    return (int32_t)(thread / block->group) + 1;
}

/* The digits of each thread together, counted from the lowest; NULL where one cannot be worked out. */
static const int32_t *worth_of_each(const numbers *w, int64_t lowest) {
    point p = all_threads(w->block);
    points threads;
    int32_t *all = ARENA_ARRAY(w->block->memory, int32_t, point_count(&p));
    point_start(&threads);
    for (int32_t *to = all; !threads.is_last; to += threads.n) {
        int64_t sum[EXPR_POINTS] = {0};
        point_take(&p, &threads);
        if (!add_worth(w, &threads, sum)) {
            return NULL;
        }
        for (int i = 0; i < threads.n; i++) {
            to[i] = (int32_t)(sum[i] - lowest);
        }
    }
    return all;
}

/* Enters the threads that make an access at their places, or with `check` compares with those entered: false where
 * another has entered. */
static bool claim_places(const numbers *w, const digits_side *s, const int32_t *place, int32_t *owner,
                         bool check) {
    point p = all_threads(w->block);
    points threads;
    point_start(&threads);
    for (int64_t thread = 0; !threads.is_last; thread += threads.n) {
        point_take(&p, &threads);
        const uint64_t in = facts_let_in(s->access, ~0u, &threads);
        for (int i = 0; i < threads.n; i++) {
            int32_t *its = &owner[place[thread + i]];
            const int32_t me = group_of(w->block, thread + i);
            if (!(in >> i & 1)) {
                continue;
            }
            if (check && *its != 0 && *its != me) {
                return false;
            }
            if (!check) {
                *its = *its == 0 || *its == me ? me : -1;
            }
        }
    }
    return true;
}

/* Do no two threads have the same digits, the one where a is made and the other where b is? */
static bool are_told_apart(const numbers *w) {
    int64_t from = 0, to = 0;
    for (int i = 0; i < w->nthreads; i++) {
        const digit *d = w->of_threads[i];
        const int64_t p = d->factor * d->x->lo, q = d->factor * d->x->hi;
        from += p < q ? p : q;
        to += p < q ? q : p;
    }
    const int32_t *place = to - from < SPAN_LIMIT && w->block->owners ? worth_of_each(w, from) : NULL;
    if (!place) {
        return false;
    }
    int32_t *owner = facts_owners(w->block, to - from + 1);
    return claim_places(w, w->a, place, owner, false) && claim_places(w, w->b, place, owner, true);
}

bool facts_digits_apart(const fact_block *block, const digits_side *a, const digits_side *b) {
    numbers w = {.block = block, .a = a, .b = b};
    add_terms(&w, a, true);
    add_terms(&w, b, false);
    sort(&w);
    return find_equal(&w) || names_threads(&w) || (w.nthreads > 0 && are_told_apart(&w));
}

/* ---- index by index ------------------------------------------------------------------------------------ */

/* Does a condition that holds, or with `negated` does not, show that x <= 0?  A form that is below 0 and a multiple of
 * the lanes, as of a wide access in a row of whole ones, is below by so many. */
static bool shows(const node *condition, bool negated, const affine *x, int64_t lanes) {
    affine rest = *x, below;
    int64_t lo, hi;
    condition = facts_meaning(condition);
    if (condition->kind != E_OP) {
        return false;
    }
    if (condition->op == (negated ? TG_EITHER : TG_BOTH)) {
        return shows(condition->arg[0], negated, x, lanes) || shows(condition->arg[1], negated, x, lanes);
    }
    return affine_below_zero(condition, negated, &below) && affine_subtract(&rest, &below) &&
           affine_bounds(&rest, &lo, &hi) && hi <= lanes &&
           (hi <= 1 || affine_aligned(&below, lanes) == FACT_YES);
}

static bool is_at_most_zero(const fact_access *access, const affine *x) {
    int64_t lo, hi;
    bool shown = affine_bounds(x, &lo, &hi) && hi <= 0;
    for (int i = 0; i < access->n && !shown; i++) {
        shown = shows(access->guard[i].condition, access->guard[i].negated, x, access->ref->lanes);
    }
    return shown;
}

static int64_t lanes_along(const node *ref, int d) {
    return d == ref->n - 1 ? ref->lanes : 1;
}

/* All elements of the access lie between 0 and the extent in dimension d. */
static bool stays_inside(const fact_access *access, int d) {
    const affine zero = {.n = 0};
    affine index, below = zero;
    if (!affine_of(access->ref->arg[d], &index) || !affine_subtract(&below, &index)) {
        return false;
    }
    index.constant += lanes_along(access->ref, d) - access->ref->buffer->dim[d];
    return is_at_most_zero(access, &below) && is_at_most_zero(access, &index);
}

/* Elements of one type in one shape, each in its row, plane and so on. */
static bool have_indices(const fact_access *a, const fact_access *b) {
    const buffer *x = a->ref->buffer, *y = b->ref->buffer;
    bool good = x->type == y->type && x->rank == y->rank && x->rank > 1;
    for (int d = 1; d < x->rank && good; d++) {
        good = x->dim[d] == y->dim[d] && stays_inside(a, d) && stays_inside(b, d);
    }
    return good;
}

static bool make_index(const fact_block *block, const fact_access *access, int d, digits_side *s) {
    *s = (digits_side){.access = access, .lanes = lanes_along(access->ref, d)};
    if (!affine_of(access->ref->arg[d], &s->a) || !affine_rejoin(&s->a)) {
        return false;
    }
    affine_group(block, &s->a);
    return true;
}

/* What dimension d says of threads that meet there; true when none do.  `stride` keeps dimensions apart. */
static bool note_dimension(numbers *all, int d, int64_t stride) {
    digits_side a, b;
    if (!make_index(all->block, all->a->access, d, &a) || !make_index(all->block, all->b->access, d, &b)) {
        return false;
    }
    affine_cancel(&a.a, &b.a);
    numbers w = {.block = all->block, .a = &a, .b = &b};
    add_terms(&w, &a, true);
    add_terms(&w, &b, false);
    sort(&w);
    if (find_equal(&w)) {
        return true;
    }
    for (int i = 0; i < w.nthreads && all->n < DIGITS; i++) {
        digit *to = &all->item[all->n++];
        *to = *w.of_threads[i];
        to->factor *= stride;
        all->of_threads[all->nthreads++] = to;
    }
    return false;
}

bool facts_indices_apart(const fact_block *block, const fact_access *a, const fact_access *b) {
    const digits_side first = {.access = a}, second = {.access = b};
    numbers all = {.block = block, .a = &first, .b = &second};
    int64_t stride = 1;
    if (!have_indices(a, b)) {
        return false;
    }
    for (int d = a->ref->n - 1; d >= 0; d--) {
        if (note_dimension(&all, d, stride)) {
            return true;
        }
        stride *= d > 0 ? a->ref->buffer->dim[d] : 1;
    }
    return all.nthreads > 0 && (names_threads(&all) || are_told_apart(&all));
}
