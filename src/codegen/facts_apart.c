/* facts_apart.c -- do two accesses of different threads ever meet?
 *
 * Reads two accesses; leaves nothing behind.  Offsets as affine forms, what both have in common cancelled; the
 * rest is enumerated:
 *
 *     a: s[(k + 1) % 2, i * 8 + tid / 16]     threads x i       for each value of k % 2 in both:
 *     b: s[k % 2, tid, j]                     threads x j           owner of each element of a; then those of b
 *
 * A term that is not known, or has too many values, is dropped and everything compared modulo its factor. */
#include "codegen/facts_point.h"

#include <string.h>

enum { WORK_LIMIT = 1 << 17 };

/* The elements of one access, in units of bytes that both accesses share. */
typedef struct side {
    const fact_access *access;
    affine a; /* what is left of the offset */
    int64_t lanes;
    point p;         /* thread axes, then what this access alone names; then what both name */
    int own;         /* of these the first so many are the access's own */
    unsigned usable; /* guards whose variables are all there, with all their values: a bit each */
} side;

typedef struct comparison {
    const fact_block *block;
    side a, b;
    int64_t modulus; /* compared modulo this: the factors of what is not known; 0: as they are */
    int64_t lo, hi;  /* of the offsets now */
    int64_t work;
    int32_t *owner; /* of elements; 0: none yet, -1: several */
} comparison;

static int64_t gcd(int64_t x, int64_t y) {
    x = x < 0 ? -x : x;
    y = y < 0 ? -y : y;
    while (y != 0) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

/* The same number in all threads at the same time, as far as its text shows. */
static bool is_common(const node *x) {
    x = facts_meaning(x);
    if (x->kind == E_VAR) {
        const var *v = x->var;
        return v->kind == VAR_LET ? v->value && is_common(v->value)
                                  : v->kind != VAR_THREAD && v->kind != VAR_PARALLEL;
    }
    if (x->kind == E_LOAD) {
        const tg_space space = buffer_root(x->arg[0]->buffer)->space;
        if (space != TG_GLOBAL && space != TG_SHARED) {
            return false;
        }
    }
    for (int i = 0; i < x->n; i++) {
        if (!is_common(x->arg[i])) {
            return false;
        }
    }
    return true;
}

/* What memory held may have changed between two reads; a name of it has not. */
static bool is_common_term(const node *x) {
    return (x->kind == E_VAR || !facts_reads_memory(x)) && is_common(x);
}

void affine_cancel(affine *a, affine *b) {
    for (int i = a->n - 1; i >= 0; i--) {
        for (int j = 0; j < b->n; j++) {
            if (a->term[i].factor == b->term[j].factor && expr_equal(a->term[i].x, b->term[j].x) &&
                is_common_term(a->term[i].x)) {
                a->term[i] = a->term[--a->n];
                b->term[j] = b->term[--b->n];
                break;
            }
        }
    }
}

/* After how many steps of v the value of x comes again; 0: not known. */
static int64_t period(const node *x, const var *v) {
    x = facts_meaning(x);
    if (!facts_depends(x, v)) {
        return 1;
    }
    if (x->kind == E_OP && x->op == TG_MOD && x->arg[0]->lo >= 0 && x->arg[1]->kind == E_CONST) {
        int64_t step;
        return affine_step(x->arg[0], v, &step) ? x->arg[1]->ival : 0;
    }
    int64_t all = x->kind == E_OP || x->kind == E_CAST ? 1 : 0;
    for (int i = 0; i < x->n && all > 0; i++) {
        const int64_t one = period(x->arg[i], v);
        all = one > 0 && one < AXIS_LIMIT ? all / gcd(all, one) * one : 0;
    }
    return all < AXIS_LIMIT ? all : 0;
}

/* Adds a variable of the term `whole`, by as many values as there are different results. */
static bool collect_period(point *p, const node *whole, const node *x) {
    const var *v = x->var;
    const int64_t n = v->kind == VAR_LOOP || v->hi - v->lo >= AXIS_LIMIT ? period(whole, v) : 0;
    const int at = point_find(p, v);
    if (n == 0 || n > v->hi - v->lo) {
        if (at >= 0) { /* in full, whatever another term needed */
            p->hi[at] = v->hi;
        }
        return v->hi - v->lo < AXIS_LIMIT && point_collect(p, x);
    }
    if (at >= 0) {
        const int64_t m = p->hi[at] - p->lo[at] + 1, both = n / gcd(n, m) * m;
        p->hi[at] = both > v->hi - v->lo ? v->hi : v->lo + both - 1;
        return p->hi[at] - p->lo[at] < AXIS_LIMIT;
    }
    if (p->n == POINT_VARS) {
        return false;
    }
    p->v[p->n] = v;
    p->lo[p->n] = p->now[p->n] = v->lo;
    p->hi[p->n++] = v->lo + n - 1;
    return true;
}

static bool collect_periods(point *p, const node *whole, const node *x) {
    x = facts_meaning(x);
    if (x->kind == E_VAR && x->var->kind != VAR_LET && type_is_integer(x->var->type)) {
        return collect_period(p, whole, x);
    }
    if (x->kind == E_VAR || x->kind == E_CONST) {
        return point_collect(p, x);
    }
    if (x->kind == E_LOAD || x->kind == E_BITCAST || x->kind == E_POISON) {
        return false;
    }
    for (int i = 0; i < x->n; i++) {
        if (!collect_periods(p, whole, x->arg[i])) {
            return false;
        }
    }
    return true;
}

static void add_threads(point *p, var *const thread_var[3]) {
    p->n = 0;
    for (int i = 0; i < 3; i++) {
        if (thread_var[i]) {
            p->v[p->n] = thread_var[i];
            p->lo[p->n] = p->now[p->n] = 0;
            p->hi[p->n++] = thread_var[i]->hi;
        }
    }
}

/* The variables of all terms; a term that cannot be enumerated is dropped, its factor goes to the modulus. */
static void collect_terms(comparison *c, side *s) {
    add_threads(&s->p, c->block->thread_var);
    for (int i = s->a.n - 1; i >= 0; i--) {
        const point before = s->p;
        if (!collect_periods(&s->p, s->a.term[i].x, s->a.term[i].x) || point_count(&s->p) > ELEMENT_LIMIT) {
            s->p = before;
            c->modulus = gcd(c->modulus, s->a.term[i].factor);
            s->a.term[i] = s->a.term[--s->a.n];
        }
    }
}

/* Variables that both name have one value at a time: they go to the end, in the same order. */
static void share_variables(comparison *c) {
    side *a = &c->a, *b = &c->b;
    a->own = a->p.n;
    b->own = b->p.n;
    for (int i = a->own - 1; i >= 0; i--) {
        const int j = point_find(&b->p, a->p.v[i]);
        if (j < 0 || j >= b->own || a->p.v[i]->kind == VAR_THREAD || a->p.v[i]->kind == VAR_PARALLEL) {
            continue;
        }
        side *const both[2] = {a, b};
        const int at[2] = {i, j};
        for (int k = 0; k < 2; k++) { /* swapped with the last of its own */
            point *p = &both[k]->p;
            const int last = --both[k]->own;
            const var *v = p->v[at[k]];
            const int64_t hi = p->hi[at[k]], lo = p->lo[at[k]];
            p->v[at[k]] = p->v[last];
            p->lo[at[k]] = p->now[at[k]] = p->lo[last];
            p->hi[at[k]] = p->hi[last];
            p->v[last] = v;
            p->lo[last] = p->now[last] = lo;
            p->hi[last] = hi;
        }
    }
}

/* To the next value of the variables that both name. */
static bool advance_shared(comparison *c) {
    point *a = &c->a.p, *b = &c->b.p;
    for (int i = 0; i < a->n - c->a.own; i++) {
        const int at = c->a.own + i, to = c->b.own + i;
        if (++a->now[at] <= a->hi[at]) {
            b->now[to] = a->now[at];
            return true;
        }
        a->now[at] = b->now[to] = a->lo[at];
    }
    return false;
}

/* Are all values of the variables of x looked at? */
static bool is_full(const point *p, const node *x) {
    x = facts_meaning(x);
    if (x->kind == E_VAR) {
        const int at = point_find(p, x->var);
        return at >= 0 && p->lo[at] <= x->var->lo && p->hi[at] >= x->var->hi;
    }
    bool all = x->kind == E_CONST || x->kind == E_OP || x->kind == E_CAST || x->kind == E_CHOOSE;
    for (int i = 0; i < x->n && all; i++) {
        all = is_full(p, x->arg[i]);
    }
    return all;
}

/* As many values as both need. */
static void share_values(comparison *c) {
    point *a = &c->a.p, *b = &c->b.p;
    for (int i = c->a.own, j = c->b.own; i < a->n; i++, j++) {
        const int64_t n = a->hi[i] - a->lo[i] + 1, m = b->hi[j] - b->lo[j] + 1;
        const int64_t most = a->lo[i] + n / gcd(n, m) * m - 1;
        a->hi[i] = b->hi[j] = most < a->v[i]->hi ? most : a->v[i]->hi;
    }
}

static void find_guards(side *s) {
    for (int i = 0; i < s->access->n; i++) {
        s->usable |= is_full(&s->p, s->access->guard[i].condition) ? 1u << i : 0;
    }
}

/* Where the access is at each point; false where that cannot be worked out. */
static bool offsets_at(const side *s, const points *at, int64_t *sum) {
    for (int j = 0; j < at->n; j++) {
        sum[j] = s->a.constant;
    }
    for (int i = 0; i < s->a.n; i++) {
        int64_t x[EXPR_POINTS];
        if (point_evaluate_each(s->a.term[i].x, at, x) != point_all(at)) {
            return false;
        }
        for (int j = 0; j < at->n; j++) {
            sum[j] += s->a.term[i].factor * x[j];
        }
    }
    return true;
}

/* lo..hi of an access while what both name has its value now. */
static bool range_now(const side *s, int64_t *lo, int64_t *hi) {
    point known = {.n = 0};
    for (int k = s->own; k < s->p.n; k++) {
        known.v[known.n] = s->p.v[k];
        known.now[known.n++] = s->p.now[k];
    }
    *lo = *hi = s->a.constant;
    for (int i = 0; i < s->a.n; i++) {
        const int64_t factor = s->a.term[i].factor;
        int64_t least, most;
        value v;
        if (point_evaluate(s->a.term[i].x, &known, &v)) {
            least = most = value_as_int(v);
        } else if (!facts_term_range(s->access, s->a.term[i].x, factor, &least, &most)) {
            return false;
        }
        *lo += factor * (factor < 0 ? most : least);
        *hi += factor * (factor < 0 ? least : most);
    }
    *hi += s->lanes - 1;
    return true;
}

/* The number of the thread at point j, or of its group, from 1 on. */
static int32_t number_of_thread(const points *at, int j, const fact_block *block) {
    int64_t linear = 0, stride = 1;
    int axis = 0; /* thread axes come first */
    for (int i = 0; i < 3; i++) {
        if (block->thread_var[i]) {
            linear += stride * at->now[axis++][j];
            stride *= block->thread_var[i]->hi + 1;
        }
    }
    return (int32_t)(linear / block->group) + 1;
}

/* A thread's lanes from an offset on become its own, or with `check` are looked at: false where they are another's. */
static bool claim(const comparison *c, int64_t at, int64_t lanes, int32_t me, bool check) {
    int64_t place = c->modulus > 0 ? facts_modulo(at, c->modulus) : at - c->lo;
    for (int64_t lane = 0; lane < lanes; lane++, place++) {
        place = place == c->modulus ? 0 : place;
        int32_t *owner = &c->owner[place];
        if (check && *owner != 0 && *owner != me) {
            return false;
        }
        if (!check) {
            *owner = *owner == 0 || *owner == me ? me : -1;
        }
    }
    return true;
}

/* Enters the elements of one access for all values of the first so many variables, or with `check` compares with those
 * entered; false on a conflict, or where it cannot tell. */
static bool enter(comparison *c, const side *s, bool check, int vars) {
    point p = s->p;
    points batch;
    for (int i = vars; i < p.n; i++) {
        p.lo[i] = p.hi[i] = p.now[i];
    }
    for (point_start(&batch); !batch.is_last;) {
        int64_t at[EXPR_POINTS];
        point_take(&p, &batch);
        c->work += batch.n;
        if (c->work > WORK_LIMIT || !offsets_at(s, &batch, at)) {
            return false;
        }
        const uint64_t in = facts_let_in(s->access, s->usable, &batch);
        for (int j = 0; j < batch.n; j++) {
            if ((in >> j & 1) && !claim(c, at[j], s->lanes, number_of_thread(&batch, j, c->block), check)) {
                return false;
            }
        }
    }
    return true;
}

/* Of one value for each loop: where threads meet, they mostly meet there already. */
static bool apart_in_sample(comparison *c, int64_t span) {
    int axes = 0;
    for (int i = 0; i < 3; i++) {
        axes += c->block->thread_var[i] != NULL;
    }
    c->owner = facts_owners(c->block, span);
    return enter(c, &c->a, false, axes) && enter(c, &c->b, true, axes);
}

/* With one value for what both name. */
static bool apart_now(comparison *c) {
    int64_t lo, hi;
    if (!range_now(&c->a, &c->lo, &c->hi) || !range_now(&c->b, &lo, &hi)) {
        return false;
    }
    if (c->modulus == 0 && (c->hi < lo || hi < c->lo)) {
        return true;
    }
    c->lo = lo < c->lo ? lo : c->lo;
    c->hi = hi > c->hi ? hi : c->hi;
    const int64_t span = c->modulus > 0 ? c->modulus : c->hi - c->lo + 1;
    if (span > SPAN_LIMIT) {
        return false;
    }
    if (!apart_in_sample(c, span)) {
        return false;
    }
    c->owner = facts_owners(c->block, span);
    return enter(c, &c->a, false, c->a.own) && enter(c, &c->b, true, c->b.own);
}

static bool make_side(const fact_block *block, const fact_access *access, int64_t unit, side *s) {
    const node *ref = access->ref;
    const int64_t scale = type_bytes(ref->buffer->type) / unit;
    *s = (side){.access = access, .lanes = ref->lanes * scale};
    if (!affine_of(expr_offset(block->memory, ref), &s->a) || !affine_rejoin(&s->a) ||
        !facts_multiply(s->a.constant, scale, &s->a.constant)) {
        return false;
    }
    for (int i = 0; i < s->a.n; i++) {
        s->a.term[i].factor *= scale;
    }
    affine_group(block, &s->a);
    return true;
}

static int64_t gcd_of(int64_t n, const side *s) {
    n = gcd(gcd(n, s->lanes), s->a.constant);
    for (int i = 0; i < s->a.n; i++) {
        n = gcd(n, s->a.term[i].factor);
    }
    return n;
}

static void divide(side *s, int64_t n) {
    s->lanes /= n;
    s->a.constant /= n;
    for (int i = 0; i < s->a.n; i++) {
        s->a.term[i].factor /= n;
    }
}

/* In the largest unit that everything is a multiple of. */
static void shorten(side *a, side *b) {
    const int64_t n = gcd_of(gcd_of(0, a), b);
    if (n > 1) {
        divide(a, n);
        divide(b, n);
    }
}

typedef struct fact_owners {
    int32_t *of;
    int64_t room;
} fact_owners;

int32_t *facts_owners(const fact_block *block, int64_t n) {
    fact_owners *all = block->owners;
    if (n > all->room) {
        all->room = n > 2 * all->room ? n : 2 * all->room;
        all->of = ARENA_ARRAY(block->memory, int32_t, all->room);
    } else {
        memset(all->of, 0, sizeof *all->of * (size_t)n);
    }
    return all->of;
}

fact_block facts_block(arena *memory, var *const thread_var[3]) {
    fact_block block = {.memory = memory, .owners = ARENA_NEW(memory, fact_owners), .group = 1};
    memcpy(block.thread_var, thread_var, sizeof block.thread_var);
    return block;
}

fact facts_apart_anywhere(const fact_block *block, const fact_access *a, const fact_access *b) {
    const int64_t size_a = type_bytes(a->ref->buffer->type), size_b = type_bytes(b->ref->buffer->type);
    const int64_t unit = size_a < size_b ? size_a : size_b;
    side x, y;
    if (buffer_root(a->ref->buffer) != buffer_root(b->ref->buffer) || !make_side(block, a, unit, &x) ||
        !make_side(block, b, unit, &y)) {
        return FACT_UNKNOWN;
    }
    const digits_side first = {a, x.a, x.lanes}, second = {b, y.a, y.lanes};
    return facts_digits_apart(block, &first, &second) ? FACT_YES : FACT_UNKNOWN;
}

fact facts_apart(const fact_block *block, const fact_access *a, const fact_access *b) {
    comparison c = {.block = block};
    const int64_t size_a = type_bytes(a->ref->buffer->type), size_b = type_bytes(b->ref->buffer->type);
    const int64_t unit = size_a < size_b ? size_a : size_b;
    if (buffer_root(a->ref->buffer) != buffer_root(b->ref->buffer) || !make_side(block, a, unit, &c.a) ||
        !make_side(block, b, unit, &c.b)) {
        return FACT_UNKNOWN;
    }
    affine_cancel(&c.a.a, &c.b.a);
    c.b.a.constant -= c.a.a.constant;
    c.a.a.constant = 0;
    shorten(&c.a, &c.b);
    const digits_side first = {a, c.a.a, c.a.lanes}, second = {b, c.b.a, c.b.lanes};
    if (facts_digits_apart(block, &first, &second) || facts_indices_apart(block, a, b)) {
        return FACT_YES;
    }
    collect_terms(&c, &c.a);
    collect_terms(&c, &c.b);
    if (c.modulus == 1) {
        return FACT_UNKNOWN;
    }
    share_variables(&c);
    share_values(&c);
    find_guards(&c.a);
    find_guards(&c.b);
    do {
        if (!apart_now(&c)) {
            return FACT_UNKNOWN;
        }
    } while (++c.work < WORK_LIMIT && advance_shared(&c));
    return c.work < WORK_LIMIT ? FACT_YES : FACT_UNKNOWN;
}
