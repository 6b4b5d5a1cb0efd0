/* tile_layout.c -- layouts as mixed-radix digits: making them, enumerating them, writing them as expressions.
 *
 * Reads and leaves nothing but layouts; which statement gets which one is decided elsewhere.  Digits
 * are kept least significant first; the place of each is the product of the extents before it, so that a
 * number is taken apart by dividing and put together by multiplying. */
#include "codegen/tile_layout.h"

#include <string.h>

/* ---- dimensions ---------------------------------------------------------------------------------------- */

/* What the element number grows by when index d grows by one. */
static int64_t dim_place(const layout *l, int d) {
    int64_t place = 1;
    for (int i = l->rank - 1; i > d; i--) {
        place *= l->dim[i];
    }
    return place;
}

/* The innermost dimension whose indices a digit at this place can change. */
static int dim_at(const layout *l, int64_t place) {
    int d = l->rank - 1;
    while (d > 0 && dim_place(l, d) * l->dim[d] <= place) {
        d--;
    }
    return d;
}

/* Where the dimension ends; the outermost one does not, so that padding belongs to it. */
static int64_t dim_end(const layout *l, int d) {
    return d <= 0 ? INT64_MAX : dim_place(l, d) * l->dim[d];
}

/* ---- making -------------------------------------------------------------------------------------------- */

/* Adds a digit above those there are, cut at the ends of dimensions where the extents allow it. */
static void add_digit(layout *l, layout_source source, int64_t extent, int64_t stride) {
    int64_t place = 1;
    for (int i = 0; i < l->n; i++) {
        place *= l->digit[i].extent;
    }
    while (extent > 1 && l->n < LAYOUT_DIGITS) {
        const int d = dim_at(l, place);
        const int64_t end = dim_end(l, d);
        const bool reaches_over = end / place < extent;
        const bool can_cut = reaches_over && end % place == 0 && extent % (end / place) == 0;
        const int64_t part = can_cut ? end / place : extent;
        const int dim = reaches_over && !can_cut ? -1 : d;
        l->is_split = l->is_split && dim >= 0;
        l->digit[l->n++] = (layout_digit){source, part, stride, dim, place};
        place *= part;
        stride *= part;
        extent /= part;
    }
    if (extent > 1) {
        l->is_split = false;
        tg_bug("a layout of more than %d digits", LAYOUT_DIGITS);
    }
}

static void finish(layout *l) {
    int64_t product = 1;
    l->slots = 1;
    for (int i = 0; i < l->n; i++) {
        product *= l->digit[i].extent;
        if (l->digit[i].source == LAYOUT_SLOT) {
            l->slots *= l->digit[i].extent;
        }
    }
    l->is_padded = product > l->elements;
    l->run = l->n > 0 && l->digit[0].source == LAYOUT_SLOT ? l->digit[0].extent : 1;
}

static layout *begin(arena *a, int rank, const int64_t *dim, int64_t threads) {
    layout *l = ARENA_NEW(a, layout);
    l->rank = rank;
    l->elements = 1;
    l->threads = threads;
    l->is_split = true;
    for (int i = 0; i < rank; i++) {
        l->dim[i] = dim[i];
        l->elements *= dim[i];
    }
    return l;
}

layout *layout_runs(arena *a, int rank, const int64_t *dim, int64_t threads, int64_t run, int64_t share) {
    layout *l = begin(a, rank, dim, threads);
    const int64_t pieces = (l->elements + share - 1) / share;
    const int64_t used = pieces < threads ? pieces : threads;
    add_digit(l, LAYOUT_SLOT, run, 1);
    add_digit(l, LAYOUT_SLOT, share / run, run);
    add_digit(l, LAYOUT_THREAD, used, 1);
    add_digit(l, LAYOUT_SLOT, (pieces + used - 1) / used, share);
    finish(l);
    l->run = run == 1 ? 1 : l->run; /* the rest of a share follows, but is no part of the run */
    return l;
}

layout *layout_sliced(arena *a, const layout *free, int64_t below, int64_t across, int64_t down) {
    layout *l = begin(a, free->rank, free->dim, free->threads);
    const int64_t wave = across * down, warps = free->threads / wave, pieces = below / (free->run * across);
    add_digit(l, LAYOUT_SLOT, free->run, 1);
    add_digit(l, LAYOUT_THREAD, across, 1);
    add_digit(l, LAYOUT_SLOT, pieces, free->run);
    add_digit(l, LAYOUT_THREAD, warps, wave);
    add_digit(l, LAYOUT_THREAD, down, across);
    add_digit(l, LAYOUT_SLOT, l->elements / (below * warps * down), free->run * pieces);
    finish(l);
    l->limit = free->limit;
    l->limit_at = free->limit_at;
    return l;
}

/* After the run was chosen. */
static void set_limit(layout *l, const int64_t *dim, int64_t run, int64_t max_run) {
    const int64_t row = l->rank > 0 ? dim[l->rank - 1] : 1;
    l->limit = 2 * run > max_run ? LIMIT_TYPE : row % (2 * run) != 0 ? LIMIT_ROW : LIMIT_THREADS;
    l->limit_at = row;
}

static layout *spread_over(arena *a, int rank, const int64_t *dim, int64_t threads, int64_t run,
                           int64_t used) {
    layout *l = begin(a, rank, dim, threads);
    const int64_t pass = run * used;
    add_digit(l, LAYOUT_SLOT, run, 1);
    add_digit(l, LAYOUT_THREAD, used, 1);
    add_digit(l, LAYOUT_SLOT, (l->elements + pass - 1) / pass, run);
    finish(l);
    l->why = "spread: runs of consecutive elements, neighbours on neighbours";
    return l;
}

layout *layout_spread(arena *a, int rank, const int64_t *dim, int64_t threads, int64_t max_run,
                      bool wants_split) {
    int64_t elements = 1;
    for (int i = 0; i < rank; i++) {
        elements *= dim[i];
    }
    int64_t run = 1;
    while (rank > 0 && 2 * run <= max_run && dim[rank - 1] % (2 * run) == 0 &&
           elements / (2 * run) >= threads) {
        run *= 2;
    }
    const int64_t pieces = elements / run;
    const int64_t most = pieces < threads ? pieces : threads;
    layout *best = spread_over(a, rank, dim, threads, run, most);
    for (int64_t used = most - 1; wants_split && !best->is_split && 2 * used >= most; used--) {
        layout *l = spread_over(a, rank, dim, threads, run, used);
        best = l->is_split ? l : best;
    }
    set_limit(best, dim, run, max_run);
    return best;
}

layout *layout_project(arena *a, const layout *l, const bool *keep) {
    int64_t dim[TG_MAX_RANK];
    int to[TG_MAX_RANK], rank = 0;
    for (int d = 0; d < l->rank; d++) {
        to[d] = keep[d] ? rank : -1;
        if (keep[d]) {
            dim[rank++] = l->dim[d];
        }
    }
    if (!l->is_split) {
        return NULL;
    }
    layout *p = begin(a, rank, dim, l->threads);
    p->limit = l->limit;
    p->limit_at = l->limit_at;
    int64_t stride = 1;
    for (int i = 0; i < l->n; i++) {
        layout_digit digit = l->digit[i];
        if (to[digit.dim] < 0) {
            continue;
        }
        digit.place = digit.place / dim_place(l, digit.dim) * dim_place(p, to[digit.dim]);
        digit.dim = to[digit.dim];
        if (digit.source == LAYOUT_SLOT) {
            digit.stride = stride;
            stride *= digit.extent;
        }
        p->digit[p->n++] = digit;
    }
    finish(p);
    p->why = l->why;
    p->at = l->at;
    return p;
}

layout *layout_reshape(arena *a, const layout *l, int rank, const int64_t *dim) {
    layout *r = begin(a, rank, dim, l->threads);
    for (int i = 0; i < l->n; i++) {
        add_digit(r, l->digit[i].source, l->digit[i].extent, l->digit[i].stride);
    }
    finish(r);
    r->run = r->run < l->run ? r->run : l->run;
    r->why = l->why;
    r->at = l->at;
    return r;
}

bool layout_equal(const layout *a, const layout *b) {
    if (a->rank != b->rank || a->n != b->n || a->threads != b->threads ||
        memcmp(a->dim, b->dim, sizeof *a->dim * (size_t)a->rank) != 0) {
        return false;
    }
    for (int i = 0; i < a->n; i++) {
        const layout_digit *x = &a->digit[i], *y = &b->digit[i];
        if (x->source != y->source || x->extent != y->extent || x->stride != y->stride ||
            x->place != y->place) {
            return false;
        }
    }
    return true;
}

bool layout_covers(const layout *l, int64_t stride, int64_t extent) {
    for (int i = 0; i < l->n; i++) {
        const layout_digit *d = &l->digit[i];
        if (d->source == LAYOUT_THREAD && stride % d->stride == 0 &&
            d->stride * d->extent % (stride * extent) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- enumerating --------------------------------------------------------------------------------------- */

static int64_t digit_of(const layout_digit *d, int64_t thread, int64_t slot) {
    return (d->source == LAYOUT_SLOT ? slot : thread) / d->stride % d->extent;
}

bool layout_element(const layout *l, int64_t t, int64_t s, int64_t *index) {
    int64_t number = 0;
    for (int i = 0; i < l->n; i++) {
        number += digit_of(&l->digit[i], t, s) * l->digit[i].place;
    }
    const bool exists = number < l->elements;
    for (int d = l->rank - 1; d >= 0; d--) {
        index[d] = number % l->dim[d];
        number /= l->dim[d];
    }
    return exists;
}

bool layout_is_first(const layout *l, int64_t t) {
    int64_t lowest = 0;
    for (int i = 0; i < l->n; i++) {
        if (l->digit[i].source == LAYOUT_THREAD) {
            lowest += digit_of(&l->digit[i], t, 0) * l->digit[i].stride;
        }
    }
    return t == lowest;
}

int64_t layout_slot(const layout *l, int64_t t, const int64_t *index) {
    int64_t number = 0, slot = 0;
    for (int d = 0; d < l->rank; d++) {
        if (index[d] < 0 || index[d] >= l->dim[d]) {
            return -1;
        }
        number = number * l->dim[d] + index[d];
    }
    for (int i = 0; i < l->n; i++) {
        const layout_digit *d = &l->digit[i];
        const int64_t x = number / d->place % d->extent;
        if (d->source == LAYOUT_SLOT) {
            slot += x * d->stride;
        } else if (t / d->stride % d->extent != x) {
            return -1;
        }
    }
    return slot;
}

/* ---- as expressions ------------------------------------------------------------------------------------ */

static node *apply(arena *a, tg_op op, node *x, int64_t c) {
    return expr_binary(a, x->at, op, x, expr_int(a, x->at, c));
}

/* source / stride % extent, without what changes nothing. */
static node *digit_expr(arena *a, const layout_digit *d, node *x, int64_t below) {
    node *part = d->stride == 1 ? x : apply(a, TG_QUO, x, d->stride);
    return below <= d->stride * d->extent ? part : apply(a, TG_MOD, part, d->extent);
}

static node *digit_value(arena *a, const layout *l, const layout_digit *d, node *t, node *s) {
    return d->source == LAYOUT_SLOT ? digit_expr(a, d, s, l->slots) : digit_expr(a, d, t, l->threads);
}

/* Digits of one source that follow each other in place and stride read as one: fewer operations. */
static layout_digit joined(const layout *l, int *i) {
    layout_digit d = l->digit[*i];
    while (*i + 1 < l->n) {
        const layout_digit *next = &l->digit[*i + 1];
        if (next->source != d.source || next->dim != d.dim || next->place != d.place * d.extent ||
            next->stride != d.stride * d.extent) {
            break;
        }
        d.extent *= next->extent;
        ++*i;
    }
    return d;
}

static node *sum_of_digits(arena *a, const layout *l, int dim, node *t, node *s) {
    node *sum = expr_int(a, t->at, 0);
    for (int i = 0; i < l->n; i++) {
        const layout_digit d = joined(l, &i);
        if (dim >= 0 && d.dim != dim) {
            continue;
        }
        const int64_t place = dim < 0 ? d.place : d.place / dim_place(l, dim);
        node *term = expr_mul(a, digit_value(a, l, &d, t, s), place);
        sum = expr_add(a, term, sum); /* the most significant first, as one writes it */
    }
    return sum;
}

void layout_indices(arena *a, const layout *l, node *t, node *s, node **index, node **inside) {
    *inside = NULL;
    if (l->is_split) {
        for (int d = 0; d < l->rank; d++) {
            index[d] = sum_of_digits(a, l, d, t, s);
        }
        if (l->is_padded && l->rank > 0) {
            *inside = apply(a, TG_LT, index[0], l->dim[0]);
        }
        return;
    }
    node *number = sum_of_digits(a, l, -1, t, s);
    if (l->is_padded) {
        *inside = apply(a, TG_LT, number, l->elements);
    }
    for (int d = l->rank - 1; d >= 0; d--) {
        index[d] = d == 0 ? number : apply(a, TG_MOD, number, l->dim[d]);
        number = d == 0 ? number : apply(a, TG_QUO, number, l->dim[d]);
    }
}

/* As sum_of_digits(): the value of each slot digit is given, that of a thread digit read off t. */
static node *sum_by(arena *a, const layout *l, int dim, node *t, int64_t threads, node *const *slot_digit) {
    node *sum = expr_int(a, t->at, 0);
    for (int i = 0; i < l->n; i++) {
        const int first = i;
        const bool is_slot = l->digit[i].source == LAYOUT_SLOT;
        const layout_digit d = is_slot ? l->digit[i] : joined(l, &i);
        if ((dim >= 0 && d.dim != dim) || (is_slot && !slot_digit[first])) {
            continue;
        }
        node *x = is_slot ? slot_digit[first] : digit_expr(a, &d, t, threads);
        sum = expr_add(a, expr_mul(a, x, dim < 0 ? d.place : d.place / dim_place(l, dim)), sum);
    }
    return sum;
}

void layout_indices_by(arena *a, const layout *l, node *t, int64_t threads, node *const *slot_digit,
                       node **index, node **inside) {
    *inside = NULL;
    for (int d = 0; l->is_split && d < l->rank; d++) {
        index[d] = sum_by(a, l, d, t, threads, slot_digit);
    }
    if (l->is_split) {
        *inside = l->is_padded && l->rank > 0 ? apply(a, TG_LT, index[0], l->dim[0]) : NULL;
        return;
    }
    node *number = sum_by(a, l, -1, t, threads, slot_digit);
    *inside = l->is_padded ? apply(a, TG_LT, number, l->elements) : NULL;
    for (int d = l->rank - 1; d >= 0; d--) {
        index[d] = d == 0 ? number : apply(a, TG_MOD, number, l->dim[d]);
        number = d == 0 ? number : apply(a, TG_QUO, number, l->dim[d]);
    }
}

static node *and_also(arena *a, node *x, node *y) {
    return !x ? y : !y ? x : expr_binary(a, x->at, TG_BOTH, x, y);
}

/* The next thread digit at or above a stride; NULL when there is none. */
static const layout_digit *thread_digit_above(const layout *l, int64_t stride) {
    const layout_digit *lowest = NULL;
    for (int i = 0; i < l->n; i++) {
        const layout_digit *d = &l->digit[i];
        if (d->source == LAYOUT_THREAD && d->stride >= stride && (!lowest || d->stride < lowest->stride)) {
            lowest = d;
        }
    }
    return lowest;
}

node *layout_first(arena *a, const layout *l, node *t) {
    node *condition = NULL;
    int64_t covered =
        1; /* threads differ below this stride only by digits, or are replicas ruled out already */
    for (const layout_digit *d = thread_digit_above(l, 1); d; d = thread_digit_above(l, covered)) {
        if (d->stride > covered) {
            node *gap =
                apply(a, TG_MOD, covered == 1 ? t : apply(a, TG_QUO, t, covered), d->stride / covered);
            condition = and_also(a, condition, apply(a, TG_EQ, gap, 0));
        }
        covered = d->stride * d->extent;
    }
    if (covered < l->threads) {
        condition =
            and_also(a, condition, covered == 1 ? apply(a, TG_EQ, t, 0) : apply(a, TG_LT, t, covered));
    }
    return condition;
}

/* ---- a fragment seen from a loop ----------------------------------------------------------------------- */

enum { MAX_FREE = TG_MAX_RANK + 6, MAX_VISITS = 1 << 21 };

/* Variables of the index expressions and their present values: the axes of the loop, then the others. */
typedef struct binding {
    int n, naxes;
    const var *v[MAX_FREE];
    int64_t value[MAX_FREE];
} binding;

static bool find_free(node *x, void *user) {
    binding *b = user;
    if (x->kind == E_LOAD || x->kind == E_BITCAST) {
        return false;
    }
    if (x->kind != E_VAR) {
        return true;
    }
    if (x->var->kind == VAR_LET) {
        return x->var->value && expr_walk(x->var->value, find_free, user);
    }
    for (int i = 0; i < b->n; i++) {
        if (b->v[i] == x->var) {
            return true;
        }
    }
    if (b->n == MAX_FREE || x->var->hi - x->var->lo > 4096) {
        return false;
    }
    b->v[b->n] = x->var;
    b->value[b->n++] = x->var->lo;
    return true;
}

static bool value_at(const var *v, const void *user, value *out) {
    const binding *b = user;
    for (int i = 0; i < b->n; i++) {
        if (b->v[i] == v) {
            *out = value_int(v->type, b->value[i]);
            return true;
        }
    }
    return false;
}

static bool evaluate(const node *x, const binding *b, int64_t *out) {
    value v;
    const bool is_known = expr_evaluate(x, value_at, b, &v);
    *out = is_known ? value_as_int(v) : 0;
    return is_known;
}

typedef struct view_of {
    const layout *loop, *held;
    node *const *index;
    binding free;
} view_of;

/* The slot that (t, s) and the present values of the other variables lead to; -1: not this thread's. */
static int64_t slot_at(view_of *v, int64_t t, int64_t s, bool *exists) {
    int64_t index[TG_MAX_RANK];
    *exists = layout_element(v->loop, t, s, v->free.value);
    for (int d = 0; *exists && d < v->held->rank; d++) {
        if (!evaluate(v->index[d], &v->free, &index[d])) {
            return -1;
        }
    }
    return *exists ? layout_slot(v->held, t, index) : 0;
}

/* The slot as constant + sum of factor * digit of the loop's slot + sum of factor * other variable. */
typedef struct fit {
    int64_t constant;
    int ndigits;
    const layout_digit *digit[LAYOUT_DIGITS];
    int64_t digit_factor[LAYOUT_DIGITS], other_factor[MAX_FREE];
} fit;

static int64_t fitted(const fit *f, const view_of *v, int64_t s) {
    int64_t x = f->constant;
    for (int i = 0; i < f->ndigits; i++) {
        x += f->digit_factor[i] * (s / f->digit[i]->stride % f->digit[i]->extent);
    }
    for (int i = v->free.naxes; i < v->free.n; i++) {
        x += f->other_factor[i] * (v->free.value[i] - v->free.v[i]->lo);
    }
    return x;
}

static bool fit_make(view_of *v, fit *f) {
    bool exists = false;
    memset(f, 0, sizeof *f);
    f->constant = slot_at(v, 0, 0, &exists);
    if (!exists || f->constant < 0) {
        return false;
    }
    for (int i = 0; i < v->loop->n; i++) {
        if (v->loop->digit[i].source == LAYOUT_SLOT) {
            const layout_digit *d = &v->loop->digit[i];
            const int64_t next = slot_at(v, 0, d->stride, &exists);
            f->digit[f->ndigits] = d;
            f->digit_factor[f->ndigits++] = exists ? next - f->constant : 0;
        }
    }
    for (int i = v->free.naxes; i < v->free.n; i++) {
        if (v->free.v[i]->hi > v->free.v[i]->lo) {
            v->free.value[i]++;
            f->other_factor[i] = slot_at(v, 0, 0, &exists) - f->constant;
            v->free.value[i]--;
        }
    }
    return true;
}

/* The next combination of the other variables; false after the last. */
static bool next_values(binding *b) {
    for (int i = b->naxes; i < b->n; i++) {
        if (b->value[i] < b->v[i]->hi) {
            b->value[i]++;
            return true;
        }
        b->value[i] = b->v[i]->lo;
    }
    return false;
}

static bool fit_holds(view_of *v, const fit *f) {
    int64_t visits = 0;
    do {
        for (int64_t t = 0; t < v->loop->threads; t++) {
            for (int64_t s = 0; s < v->loop->slots; s++) {
                bool exists = false;
                const int64_t slot = slot_at(v, t, s, &exists);
                if ((exists && (slot < 0 || slot != fitted(f, v, s))) || ++visits > MAX_VISITS) {
                    return false;
                }
            }
        }
    } while (next_values(&v->free));
    return true;
}

static node *fit_expr(arena *a, const view_of *v, const fit *f, node *slot) {
    node *x = expr_int(a, slot->at, f->constant);
    for (int i = v->free.naxes; i < v->free.n; i++) {
        if (f->other_factor[i] != 0) {
            node *other = expr_var(a, slot->at, (var *)v->free.v[i]);
            other = apply(a, TG_SUB, other, v->free.v[i]->lo);
            x = expr_add(a, expr_mul(a, other, f->other_factor[i]), x);
        }
    }
    for (int i = 0; i < f->ndigits; i++) {
        if (f->digit_factor[i] != 0) {
            node *digit = digit_expr(a, f->digit[i], slot, v->loop->slots);
            x = expr_add(a, expr_mul(a, digit, f->digit_factor[i]), x);
        }
    }
    return x;
}

node *layout_slot_in(arena *a, const layout *loop, var *const *axis, const layout *held, node *const *index,
                     node *slot) {
    view_of v = {.loop = loop, .held = held, .index = index};
    fit f;
    for (int i = 0; i < loop->rank; i++) {
        v.free.v[v.free.n++] = axis[i];
    }
    v.free.naxes = v.free.n;
    for (int d = 0; d < held->rank; d++) {
        if (!expr_walk(index[d], find_free, &v.free)) {
            return NULL;
        }
    }
    return fit_make(&v, &f) && fit_holds(&v, &f) ? fit_expr(a, &v, &f, slot) : NULL;
}

/* ---- for people ---------------------------------------------------------------------------------------- */

enum { SHOWN_THREADS = 40 };

static void print_indices(const layout *l, const int64_t *index, int64_t run, text *out) {
    text_add(out, "[");
    for (int d = 0; d < l->rank; d++) {
        text_print(out, "%s%lld", d ? "," : "", (long long)index[d]);
    }
    if (run > 1) {
        text_print(out, "..%lld", (long long)(index[l->rank - 1] + run - 1));
    }
    text_add(out, "]");
}

/* A run of the layout is printed as one range. */
static void print_thread(const layout *l, int64_t t, text *out) {
    int64_t index[TG_MAX_RANK] = {0};
    text_print(out, "    thread %4lld%s", (long long)t, layout_is_first(l, t) ? " " : "'");
    for (int64_t s = 0; s < l->slots; s += l->run) {
        text_add(out, " ");
        if (layout_element(l, t, s, index)) {
            print_indices(l, index, l->run, out);
        } else {
            text_add(out, "-");
        }
    }
    text_add(out, "\n");
}

void layout_print(const layout *l, const char *name, text *out) {
    text_print(out, "%s:", name);
    for (int d = 0; d < l->rank; d++) {
        text_print(out, " %s%lld", d ? "x " : "", (long long)l->dim[d]);
    }
    text_print(out, " over %lld threads, %lld slots each (%s)\n", (long long)l->threads, (long long)l->slots,
               l->why ? l->why : "");
    for (int64_t t = 0; t < l->threads && t < SHOWN_THREADS; t++) {
        print_thread(l, t, out);
    }
    if (l->threads > SHOWN_THREADS) {
        text_print(out, "    .. %lld threads more; ' marks a replica\n",
                   (long long)(l->threads - SHOWN_THREADS));
    }
}
