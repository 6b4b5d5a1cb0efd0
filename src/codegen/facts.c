/* facts.c -- what is known about index expressions.
 *
 * Reads expressions only; leaves nothing behind.  Three layers, each the shortcut of the next:
 *
 *     affine forms      5 * tid + 3 * k + 7, with every name replaced by what it names
 *     ranges, divisors  of the terms of such a form
 *     enumeration       the expression evaluated for every value of the variables in it */
#include "codegen/facts.h"

#include <string.h>

/* ---- arithmetic that says when it leaves 64 bits ------------------------------------------------------- */

/* Far inside 64 bits, so that sums of a few products stay inside too. */
static const int64_t LIMIT = (int64_t)1 << 60;

static bool multiply(int64_t a, int64_t b, int64_t *out) {
    if (a != 0 && (b > LIMIT / (a < 0 ? -a : a) || b < -(LIMIT / (a < 0 ? -a : a)))) {
        return false;
    }
    *out = a * b;
    return true;
}

static bool in_limit(int64_t x) {
    return -LIMIT < x && x < LIMIT;
}

static int64_t modulo(int64_t x, int64_t n) {
    const int64_t r = x % n;
    return r < 0 ? r + n : r;
}

/* ---- names --------------------------------------------------------------------------------------------- */

static bool is_let(const node *x) {
    return x->kind == E_VAR && x->var->kind == VAR_LET;
}

bool facts_reads_memory(const node *x) {
    if (x->kind == E_LOAD || (is_let(x) && !x->var->value)) {
        return true;
    }
    if (is_let(x)) {
        return facts_reads_memory(x->var->value);
    }
    for (int i = 0; i < x->n; i++) {
        if (facts_reads_memory(x->arg[i])) {
            return true;
        }
    }
    return false;
}

/* What a name stands for; x itself for everything else, and for names of what memory held at that time. */
static const node *meaning(const node *x) {
    while (is_let(x) && x->var->value && !facts_reads_memory(x->var->value)) {
        x = x->var->value;
    }
    return x;
}

bool facts_depends(const node *x, const var *v) {
    if (x->kind == E_VAR) {
        return x->var == v || (is_let(x) && x->var->value && facts_depends(x->var->value, v));
    }
    for (int i = 0; i < x->n; i++) {
        if (facts_depends(x->arg[i], v)) {
            return true;
        }
    }
    return false;
}

/* ---- affine forms -------------------------------------------------------------------------------------- */

static bool add_term(affine *a, const node *x, int64_t factor) {
    for (int i = 0; i < a->n; i++) {
        if (a->term[i].x == x || expr_equal(a->term[i].x, x)) {
            a->term[i].factor += factor;
            if (a->term[i].factor == 0) {
                a->term[i] = a->term[--a->n];
            }
            return true;
        }
    }
    if (factor == 0) {
        return true;
    }
    if (a->n == AFFINE_TERMS) {
        return false;
    }
    a->term[a->n].x = x;
    a->term[a->n++].factor = factor;
    return true;
}

/* Is arithmetic of this type that of mathematical integers?  (Where it is not, it is a fault that the
 * witnesses report: signed overflow.)  Unsigned and narrow types wrap. */
static bool is_mathematical(int64_t type) {
    return type == TYPE_INDEX || type == TG_I32 || type == TG_I64;
}

static bool keeps_value(const node *cast) {
    const node *x = cast->arg[0];
    return type_is_integer(cast->type) && type_is_integer(x->type) && x->type != TG_U64 &&
           type_min(cast->type) <= x->lo && x->hi <= type_max(cast->type);
}

static bool gather(affine *a, const node *x, int64_t factor);

static bool gather_product(affine *a, const node *x, int64_t factor) {
    const node *l = meaning(x->arg[0]), *r = meaning(x->arg[1]);
    int64_t product;
    if (l->kind == E_CONST) {
        return multiply(factor, l->ival, &product) && gather(a, r, product);
    }
    if (r->kind == E_CONST) {
        return multiply(factor, r->ival, &product) && gather(a, l, product);
    }
    return add_term(a, x, factor);
}

static bool gather_op(affine *a, const node *x, int64_t factor) {
    if (x->op == TG_ADD || x->op == TG_SUB) {
        return gather(a, x->arg[0], factor) && gather(a, x->arg[1], x->op == TG_ADD ? factor : -factor);
    }
    if (x->op == TG_NEG) {
        return gather(a, x->arg[0], -factor);
    }
    if (x->op == TG_MUL) {
        return gather_product(a, x, factor);
    }
    int64_t shifted;
    if (x->op == TG_SHL && x->arg[1]->kind == E_CONST && x->arg[1]->ival >= 0 && x->arg[1]->ival < 32) {
        return multiply(factor, (int64_t)1 << x->arg[1]->ival, &shifted) && gather(a, x->arg[0], shifted);
    }
    return add_term(a, x, factor);
}

static bool gather(affine *a, const node *x, int64_t factor) {
    x = meaning(x);
    int64_t product;
    if (x->kind == E_CONST) {
        if (!multiply(factor, x->ival, &product)) {
            return false;
        }
        a->constant += product;
        return in_limit(a->constant);
    }
    if (x->kind == E_CAST && keeps_value(x)) {
        return gather(a, x->arg[0], factor);
    }
    if (x->kind == E_OP && is_mathematical(x->type)) {
        return gather_op(a, x, factor);
    }
    return add_term(a, x, factor);
}

bool affine_of(const node *x, affine *out) {
    out->constant = 0;
    out->n = 0;
    return type_is_integer(x->type) && gather(out, x, 1);
}

bool affine_subtract(affine *a, const affine *b) {
    a->constant -= b->constant;
    for (int i = 0; i < b->n; i++) {
        if (!add_term(a, b->term[i].x, -b->term[i].factor)) {
            return false;
        }
    }
    return in_limit(a->constant);
}

bool affine_step(const node *x, const var *v, int64_t *step) {
    affine a;
    if (!affine_of(x, &a)) {
        return false;
    }
    *step = 0;
    for (int i = 0; i < a.n; i++) {
        if (a.term[i].x->kind == E_VAR && a.term[i].x->var == v) {
            *step += a.term[i].factor;
        } else if (facts_depends(a.term[i].x, v)) {
            return false;
        }
    }
    return true;
}

static bool affine_range(const affine *a, int64_t *lo, int64_t *hi) {
    *lo = *hi = a->constant;
    for (int i = 0; i < a->n; i++) {
        int64_t p, q;
        const node *x = a->term[i].x;
        if (!multiply(a->term[i].factor, x->lo, &p) || !multiply(a->term[i].factor, x->hi, &q)) {
            return false;
        }
        *lo += p < q ? p : q;
        *hi += p < q ? q : p;
        if (!in_limit(*lo) || !in_limit(*hi)) {
            return false;
        }
    }
    return true;
}

/* ---- enumeration --------------------------------------------------------------------------------------- */

/* An expression is judged at so many points at most; the elements of a buffer that threads share, at more. */
enum { POINT_VARS = 12, AXIS_LIMIT = 1024, POINT_LIMIT = 1 << 12, ELEMENT_LIMIT = 1 << 14 };

/* One value for each variable of an expression. */
typedef struct point {
    int n;
    const var *v[POINT_VARS];
    int64_t lo[POINT_VARS], hi[POINT_VARS], now[POINT_VARS];
} point;

static int find(const point *p, const var *v) {
    for (int i = 0; i < p->n; i++) {
        if (p->v[i] == v) {
            return i;
        }
    }
    return -1;
}

/* Adds the variables of x, names opened; false where one has too many values or is no small integer axis. */
static bool collect(point *p, const node *x) {
    x = meaning(x);
    if (x->kind == E_LOAD || x->kind == E_BITCAST || x->kind == E_POISON) {
        return false;
    }
    if (x->kind == E_VAR) {
        const var *v = x->var;
        if (find(p, v) >= 0) {
            return true;
        }
        if (p->n == POINT_VARS || v->kind == VAR_LET || !type_is_integer(v->type) || v->lo < -LIMIT ||
            v->hi > LIMIT || v->hi - v->lo >= AXIS_LIMIT) {
            return false;
        }
        p->v[p->n] = v;
        p->lo[p->n] = p->now[p->n] = v->lo;
        p->hi[p->n++] = v->hi;
        return true;
    }
    for (int i = 0; i < x->n; i++) {
        if (!collect(p, x->arg[i])) {
            return false;
        }
    }
    return true;
}

static int64_t points(const point *p) {
    int64_t n = 1;
    for (int i = 0; i < p->n && n <= ELEMENT_LIMIT; i++) {
        n *= p->hi[i] - p->lo[i] + 1;
    }
    return n;
}

static bool can_enumerate(point *p, const node *x) {
    return collect(p, x) && points(p) <= POINT_LIMIT;
}

/* The next point; false after the last (then back at the first). */
static bool advance(point *p) {
    for (int i = 0; i < p->n; i++) {
        if (++p->now[i] <= p->hi[i]) {
            return true;
        }
        p->now[i] = p->lo[i];
    }
    return false;
}

static bool evaluate(const node *x, const point *p, value *out);

static bool evaluate_op(const node *x, const point *p, value *out) {
    value a, b = {0, 0};
    value_fault fault = FAULT_NONE;
    if (!evaluate(x->arg[0], p, &a)) {
        return false;
    }
    if ((x->op == TG_BOTH || x->op == TG_EITHER) && (value_as_int(a) != 0) == (x->op == TG_EITHER)) {
        *out = a;
        return true;
    }
    if (x->n > 1 && !evaluate(x->arg[1], p, &b)) {
        return false;
    }
    *out = x->n > 1 ? value_binary(x->op, a, b, &fault) : value_unary(x->op, a, &fault);
    return fault == FAULT_NONE;
}

static bool evaluate(const node *x, const point *p, value *out) {
    x = meaning(x);
    value_fault fault = FAULT_NONE;
    value a;
    int at;
    switch (x->kind) {
    case E_CONST:
        *out = expr_value(x);
        return true;
    case E_VAR:
        at = find(p, x->var);
        if (at >= 0) {
            *out = value_int(x->type, p->now[at]);
        }
        return at >= 0;
    case E_OP:
        return evaluate_op(x, p, out);
    case E_CHOOSE:
        return evaluate(x->arg[0], p, &a) && evaluate(x->arg[value_as_int(a) ? 1 : 2], p, out);
    case E_CAST:
        if (!evaluate(x->arg[0], p, &a)) {
            return false;
        }
        *out = value_cast(a, x->type, &fault);
        return fault == FAULT_NONE;
    case E_POISON:
    case E_LOAD:
    case E_BITCAST:
    case E_BUFFER:
    case E_REF:
    case E_REGION:
        return false;
    }
    return false;
}

/* Whether ok(value) holds at every point (YES), at none (NO), or at some (UNKNOWN). */
static fact enumerate(const node *x, bool (*ok)(int64_t x, const int64_t *bound), const int64_t *bound) {
    point p = {.n = 0};
    if (!can_enumerate(&p, x)) {
        return FACT_UNKNOWN;
    }
    bool any = false, all = true;
    do {
        value v;
        if (!evaluate(x, &p, &v)) {
            return FACT_UNKNOWN;
        }
        if (ok(value_as_int(v), bound)) {
            any = true;
        } else {
            all = false;
        }
        if (any && !all) {
            return FACT_UNKNOWN;
        }
    } while (advance(&p));
    return all ? FACT_YES : FACT_NO;
}

/* ---- inside -------------------------------------------------------------------------------------------- */

static bool within(int64_t x, const int64_t *bound) {
    return bound[0] <= x && x <= bound[1];
}

fact facts_inside(const node *x, int64_t lo, int64_t hi) {
    affine a;
    int64_t least, most;
    if (lo <= x->lo && x->hi <= hi) {
        return FACT_YES;
    }
    if (affine_of(x, &a) && affine_range(&a, &least, &most)) {
        if (lo <= least && most <= hi) {
            return FACT_YES;
        }
        if (most < lo || least > hi) {
            return FACT_NO;
        }
    }
    const int64_t bound[2] = {lo, hi};
    return enumerate(x, within, bound);
}

/* ---- aligned ------------------------------------------------------------------------------------------- */

/* Without the terms that are multiples of n anyway. */
static void drop_multiples(affine *a, int64_t n) {
    for (int i = a->n - 1; i >= 0; i--) {
        const int64_t factor = modulo(a->term[i].factor, n);
        const int64_t divisor = expr_divisor(a->term[i].x);
        if (factor == 0 || divisor == 0 || modulo(factor * modulo(divisor, n), n) == 0) {
            a->term[i] = a->term[--a->n];
        }
    }
}

/* The residues of what is left, at every point.  A variable that stands alone needs n values only. */
static fact enumerate_residues(const affine *a, int64_t n) {
    point p = {.n = 0};
    for (int i = 0; i < a->n; i++) {
        if (a->term[i].x->kind != E_VAR && !collect(&p, a->term[i].x)) {
            return FACT_UNKNOWN;
        }
    }
    for (int i = 0; i < a->n; i++) {
        const node *x = a->term[i].x;
        if (x->kind == E_VAR && find(&p, x->var) < 0) {
            if (p.n == POINT_VARS || x->var->kind == VAR_LET || !in_limit(x->var->lo)) {
                return FACT_UNKNOWN;
            }
            p.v[p.n] = x->var;
            p.lo[p.n] = p.now[p.n] = x->var->lo;
            p.hi[p.n] = x->var->hi - x->var->lo >= n ? x->var->lo + n - 1 : x->var->hi;
            p.n++;
        }
    }
    if (points(&p) > POINT_LIMIT) {
        return FACT_UNKNOWN;
    }
    do {
        int64_t sum = modulo(a->constant, n);
        for (int i = 0; i < a->n; i++) {
            value v;
            if (!evaluate(a->term[i].x, &p, &v)) {
                return FACT_UNKNOWN;
            }
            sum += modulo(modulo(a->term[i].factor, n) * modulo(value_as_int(v), n), n);
        }
        if (sum % n != 0) {
            return FACT_NO;
        }
    } while (advance(&p));
    return FACT_YES;
}

fact affine_aligned(const affine *a, int64_t n) {
    affine rest = *a;
    drop_multiples(&rest, n);
    if (rest.n == 0) {
        return modulo(rest.constant, n) == 0 ? FACT_YES : FACT_NO;
    }
    return enumerate_residues(&rest, n);
}

fact facts_aligned(const node *x, int64_t n) {
    const int64_t divisor = n > 1 ? expr_divisor(x) : 0;
    affine a;
    if (divisor == 0 || divisor % n == 0) {
        return FACT_YES;
    }
    return affine_of(x, &a) ? affine_aligned(&a, n) : FACT_UNKNOWN;
}

/* ---- truth --------------------------------------------------------------------------------------------- */

static bool holds(int64_t x, const int64_t *bound) {
    (void)bound;
    return x != 0;
}

static fact opposite(fact f) {
    return f == FACT_YES ? FACT_NO : f == FACT_NO ? FACT_YES : FACT_UNKNOWN;
}

/* The comparison of a difference in lo..hi with 0. */
static fact compare(tg_op op, int64_t lo, int64_t hi) {
    if (op == TG_LT || op == TG_GE) {
        const fact less = hi < 0 ? FACT_YES : lo >= 0 ? FACT_NO : FACT_UNKNOWN;
        return op == TG_LT ? less : opposite(less);
    }
    if (op == TG_LE || op == TG_GT) {
        const fact at_most = hi <= 0 ? FACT_YES : lo > 0 ? FACT_NO : FACT_UNKNOWN;
        return op == TG_LE ? at_most : opposite(at_most);
    }
    const fact equal = lo == 0 && hi == 0 ? FACT_YES : lo > 0 || hi < 0 ? FACT_NO : FACT_UNKNOWN;
    return op == TG_EQ ? equal : opposite(equal);
}

static bool is_comparison(tg_op op) {
    return op >= TG_EQ && op <= TG_GE;
}

static fact truth_by_ranges(const node *x) {
    affine l, r;
    int64_t lo, hi;
    if (!type_is_integer(x->arg[0]->type) || !affine_of(x->arg[0], &l) || !affine_of(x->arg[1], &r) ||
        !affine_subtract(&l, &r) || !affine_range(&l, &lo, &hi)) {
        return FACT_UNKNOWN;
    }
    return compare(x->op, lo, hi);
}

static fact truth_of_pair(tg_op op, fact a, fact b) {
    const fact decisive = op == TG_BOTH ? FACT_NO : FACT_YES;
    if (a == decisive || b == decisive) {
        return decisive;
    }
    return a == FACT_UNKNOWN || b == FACT_UNKNOWN ? FACT_UNKNOWN : opposite(decisive);
}

fact facts_truth(const node *condition) {
    const node *x = meaning(condition);
    fact found = FACT_UNKNOWN;
    if (x->kind == E_CONST) {
        return x->ival != 0 ? FACT_YES : FACT_NO;
    }
    if (x->kind == E_OP && x->op == TG_NEGATE) {
        return opposite(facts_truth(x->arg[0]));
    }
    if (x->kind == E_OP && (x->op == TG_BOTH || x->op == TG_EITHER)) {
        found = truth_of_pair(x->op, facts_truth(x->arg[0]), facts_truth(x->arg[1]));
    } else if (x->kind == E_OP && is_comparison(x->op)) {
        found = truth_by_ranges(x);
    }
    return found != FACT_UNKNOWN ? found : enumerate(x, holds, NULL);
}

/* ---- uniform ------------------------------------------------------------------------------------------- */

uniformity *uniformity_new(arena *a, int nvars, int nbuffers) {
    uniformity *u = ARENA_NEW(a, uniformity);
    u->memory = a;
    u->nvars = nvars;
    u->nbuffers = nbuffers;
    u->let = ARENA_ARRAY(a, unsigned char, nvars + 1);
    u->dirty = ARENA_ARRAY(a, unsigned char, nbuffers + 1);
    return u;
}

void uniformity_let(uniformity *u, const var *v, fact is_uniform) {
    if (v->id < u->nvars) {
        u->let[v->id] = (unsigned char)(is_uniform + 1);
    }
}

void uniformity_write(uniformity *u, buffer *b) {
    const buffer *root = buffer_root(b);
    if (root->id < u->nbuffers) {
        u->dirty[root->id] = 1;
    }
    for (int i = 0; i < root->naliases; i++) {
        u->dirty[root->alias_of[i]->id] = 1;
    }
}

void uniformity_barrier(uniformity *u) {
    memset(u->dirty, 0, (size_t)u->nbuffers);
}

static fact weaker(fact a, fact b) {
    return a == FACT_YES ? b : b == FACT_YES ? a : FACT_UNKNOWN;
}

static fact uniform_load(const uniformity *u, const node *x) {
    const node *ref = x->arg[0];
    const buffer *root = buffer_root(ref->buffer);
    if (root->space == TG_LOCAL || root->space == TG_FRAGMENT || root->space == TG_REDUCER) {
        return FACT_UNKNOWN;
    }
    for (int i = 0; i < ref->n; i++) {
        if (facts_uniform(u, ref->arg[i]) != FACT_YES) {
            return FACT_UNKNOWN;
        }
    }
    return root->id < u->nbuffers && u->dirty[root->id] ? FACT_UNKNOWN : FACT_YES;
}

/* Of thread axes alone: compared at all threads. */
static fact uniform_by_enumeration(const node *x) {
    point p = {.n = 0};
    value first, v;
    if (!can_enumerate(&p, x) || !evaluate(x, &p, &first)) {
        return FACT_UNKNOWN;
    }
    for (int i = 0; i < p.n; i++) {
        if (p.v[i]->kind != VAR_THREAD) {
            return FACT_UNKNOWN;
        }
    }
    while (advance(&p)) {
        if (!evaluate(x, &p, &v)) {
            return FACT_UNKNOWN;
        }
        if (v.bits != first.bits) {
            return FACT_NO;
        }
    }
    return FACT_YES;
}

static fact uniform_var(const uniformity *u, const var *v) {
    if (v->kind == VAR_THREAD || v->kind == VAR_PARALLEL) {
        return v->lo == v->hi ? FACT_YES : FACT_NO;
    }
    if (v->kind != VAR_LET) {
        return FACT_YES;
    }
    if (v->id < u->nvars && u->let[v->id]) {
        return (fact)(u->let[v->id] - 1);
    }
    return v->value && !facts_reads_memory(v->value) ? facts_uniform(u, v->value) : FACT_UNKNOWN;
}

fact facts_uniform(const uniformity *u, const node *x) {
    if (x->kind == E_VAR) {
        return uniform_var(u, x->var);
    }
    if (x->kind == E_LOAD) {
        return uniform_load(u, x);
    }
    fact all = FACT_YES;
    for (int i = 0; i < x->n; i++) {
        all = weaker(all, facts_uniform(u, x->arg[i]));
    }
    return all == FACT_YES ? all : uniform_by_enumeration(x);
}

/* ---- apart --------------------------------------------------------------------------------------------- */

enum { SPAN_LIMIT = 1 << 16, WORK_LIMIT = 1 << 17 };

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
    x = meaning(x);
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

/* Without what both have. */
static void cancel(affine *a, affine *b) {
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
    x = meaning(x);
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

/* Adds the variables of a term, those of long loops by as many values as there are different results. */
static bool collect_periods(point *p, const node *whole, const node *x) {
    x = meaning(x);
    if (x->kind == E_VAR && x->var->kind != VAR_LET && type_is_integer(x->var->type) &&
        x->var->hi - x->var->lo >= AXIS_LIMIT && find(p, x->var) < 0) {
        const int64_t n = period(whole, x->var);
        if (n == 0 || p->n == POINT_VARS) {
            return false;
        }
        p->v[p->n] = x->var;
        p->lo[p->n] = p->now[p->n] = x->var->lo;
        p->hi[p->n++] = x->var->lo + n - 1;
        return true;
    }
    if (x->kind == E_VAR || x->kind == E_CONST) {
        return collect(p, x);
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
        if (!collect_periods(&s->p, s->a.term[i].x, s->a.term[i].x) || points(&s->p) > ELEMENT_LIMIT) {
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
        const int j = find(&b->p, a->p.v[i]);
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

/* To the next value of the first n variables; false after the last (then back at the first). */
static bool advance_first(point *p, int n) {
    for (int i = 0; i < n; i++) {
        if (++p->now[i] <= p->hi[i]) {
            return true;
        }
        p->now[i] = p->lo[i];
    }
    return false;
}

/* To the next value of the variables that both name. */
static bool advance_shared(comparison *c) {
    point *a = &c->a.p, *b = &c->b.p;
    for (int i = 0; i < a->n - c->a.own; i++) {
        const int at = c->a.own + i, to = c->b.own + i;
        const int64_t n = a->hi[at] - a->lo[at] + 1, m = b->hi[to] - b->lo[to] + 1;
        const int64_t most = a->lo[at] + n / gcd(n, m) * m - 1; /* both periods */
        if (++a->now[at] <= (most < a->v[at]->hi ? most : a->v[at]->hi)) {
            b->now[to] = a->now[at];
            return true;
        }
        a->now[at] = b->now[to] = a->lo[at];
    }
    return false;
}

/* Are all values of the variables of x looked at? */
static bool is_full(const point *p, const node *x) {
    x = meaning(x);
    if (x->kind == E_VAR) {
        const int at = find(p, x->var);
        return at >= 0 && p->lo[at] <= x->var->lo && p->hi[at] >= x->var->hi;
    }
    bool all = x->kind == E_CONST || x->kind == E_OP || x->kind == E_CAST || x->kind == E_CHOOSE;
    for (int i = 0; i < x->n && all; i++) {
        all = is_full(p, x->arg[i]);
    }
    return all;
}

static void find_guards(side *s) {
    for (int i = 0; i < s->access->n; i++) {
        s->usable |= is_full(&s->p, s->access->guard[i].condition) ? 1u << i : 0;
    }
}

/* Do the guards of the access let the thread in?  What they do not tell they let in. */
static bool is_let_in(const side *s) {
    for (int i = 0; i < s->access->n; i++) {
        value v;
        if ((s->usable >> i & 1) && evaluate(s->access->guard[i].condition, &s->p, &v) &&
            (value_as_int(v) != 0) == s->access->guard[i].negated) {
            return false;
        }
    }
    return true;
}

static bool evaluate_affine(const affine *a, const point *p, int64_t *sum) {
    *sum = a->constant;
    for (int i = 0; i < a->n; i++) {
        value v;
        if (!evaluate(a->term[i].x, p, &v)) {
            return false;
        }
        *sum += a->term[i].factor * value_as_int(v);
    }
    return true;
}

/* lo..hi of an access while what both name has its value now. */
static bool range_now(const side *s, int64_t *lo, int64_t *hi) {
    affine rest = {.constant = s->a.constant};
    for (int i = 0; i < s->a.n; i++) {
        point known = {.n = 0};
        value v;
        for (int k = s->own; k < s->p.n; k++) {
            known.v[known.n] = s->p.v[k];
            known.now[known.n++] = s->p.now[k];
        }
        if (evaluate(s->a.term[i].x, &known, &v)) {
            rest.constant += s->a.term[i].factor * value_as_int(v);
        } else {
            rest.term[rest.n++] = s->a.term[i];
        }
    }
    const bool known = affine_range(&rest, lo, hi);
    *hi += s->lanes - 1;
    return known;
}

static int32_t linear_thread(const point *p, var *const thread_var[3]) {
    int64_t linear = 0, stride = 1;
    for (int i = 0; i < 3; i++) {
        if (thread_var[i]) {
            linear += stride * p->now[find(p, thread_var[i])];
            stride *= thread_var[i]->hi + 1;
        }
    }
    return (int32_t)linear + 1;
}

/* Enters the elements of one access, or with `check` compares with those entered; false on a conflict, or where
 * it cannot tell. */
static bool enter(comparison *c, side *s, bool check) {
    int32_t *owners = c->block->owner;
    do {
        int64_t at;
        if (++c->work > WORK_LIMIT || !evaluate_affine(&s->a, &s->p, &at)) {
            return false;
        }
        if (!is_let_in(s)) {
            continue;
        }
        const int32_t me = linear_thread(&s->p, c->block->thread_var);
        for (int64_t lane = 0; lane < s->lanes; lane++) {
            const int64_t place = c->modulus > 0 ? modulo(at + lane, c->modulus) : at + lane - c->lo;
            int32_t *owner = &owners[place];
            if (check && *owner != 0 && *owner != me) {
                return false;
            }
            if (!check) {
                *owner = *owner == 0 || *owner == me ? me : -1;
            }
        }
    } while (advance_first(&s->p, s->own));
    return true;
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
    memset(c->block->owner, 0, sizeof *c->block->owner * (size_t)span);
    return enter(c, &c->a, false) && enter(c, &c->b, true);
}

static bool make_side(const fact_block *block, const fact_access *access, int64_t unit, side *s) {
    const node *ref = access->ref;
    const int64_t scale = type_bytes(ref->buffer->type) / unit;
    *s = (side){.access = access, .lanes = ref->lanes * scale};
    if (!affine_of(expr_offset(block->memory, ref), &s->a) ||
        !multiply(s->a.constant, scale, &s->a.constant)) {
        return false;
    }
    for (int i = 0; i < s->a.n; i++) {
        s->a.term[i].factor *= scale;
    }
    return true;
}

fact_block facts_block(arena *memory, var *const thread_var[3]) {
    fact_block block = {.memory = memory, .owner = ARENA_ARRAY(memory, int32_t, SPAN_LIMIT)};
    memcpy(block.thread_var, thread_var, sizeof block.thread_var);
    return block;
}

fact facts_apart(const fact_block *block, const fact_access *a, const fact_access *b) {
    comparison c = {.block = block};
    const int64_t size_a = type_bytes(a->ref->buffer->type), size_b = type_bytes(b->ref->buffer->type);
    const int64_t unit = size_a < size_b ? size_a : size_b;
    if (buffer_root(a->ref->buffer) != buffer_root(b->ref->buffer) || !make_side(block, a, unit, &c.a) ||
        !make_side(block, b, unit, &c.b)) {
        return FACT_UNKNOWN;
    }
    cancel(&c.a.a, &c.b.a);
    collect_terms(&c, &c.a);
    collect_terms(&c, &c.b);
    if (c.modulus == 1) {
        return FACT_UNKNOWN;
    }
    share_variables(&c);
    find_guards(&c.a);
    find_guards(&c.b);
    do {
        if (!apart_now(&c)) {
            return FACT_UNKNOWN;
        }
    } while (++c.work < WORK_LIMIT && advance_shared(&c));
    return c.work < WORK_LIMIT ? FACT_YES : FACT_UNKNOWN;
}
