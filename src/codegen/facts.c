/* facts.c -- what is known about index expressions.
 *
 * Reads expressions only; leaves nothing behind.  Three layers, each the shortcut of the next:
 *
 *     affine forms      5 * tid + 3 * k + 7, with every name replaced by what it names
 *     ranges, divisors  of the terms of such a form; facts_below.c: pid < rows
 *     enumeration       the expression evaluated for every value of the variables in it */
#include "codegen/facts_point.h"

#include <string.h>

/* ---- arithmetic that says when it leaves 64 bits ------------------------------------------------------- */

/* Far inside 64 bits, so that sums of a few products stay inside too. */
static const int64_t LIMIT = (int64_t)1 << 60;

bool facts_multiply(int64_t a, int64_t b, int64_t *out) {
    if (a != 0 && (b > LIMIT / (a < 0 ? -a : a) || b < -(LIMIT / (a < 0 ? -a : a)))) {
        return false;
    }
    *out = a * b;
    return true;
}

static bool in_limit(int64_t x) {
    return -LIMIT < x && x < LIMIT;
}

int64_t facts_modulo(int64_t x, int64_t n) {
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
const node *facts_meaning(const node *x) {
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

const node *facts_plain(const node *x) {
    x = facts_meaning(x);
    while (x->kind == E_CAST && keeps_value(x)) {
        x = facts_meaning(x->arg[0]);
    }
    return x;
}

static bool gather_product(affine *a, const node *x, int64_t factor) {
    const node *l = facts_meaning(x->arg[0]), *r = facts_meaning(x->arg[1]);
    int64_t product;
    if (l->kind == E_CONST) {
        return facts_multiply(factor, l->ival, &product) && affine_add(a, r, product);
    }
    if (r->kind == E_CONST) {
        return facts_multiply(factor, r->ival, &product) && affine_add(a, l, product);
    }
    return add_term(a, x, factor);
}

/* A shift to the left wraps in typed integers, unlike their products. */
static bool shift_keeps_value(const node *x, int64_t factor) {
    int64_t lo, hi;
    return x->type == TYPE_INDEX ||
           (facts_multiply(x->arg[0]->lo, factor, &lo) && facts_multiply(x->arg[0]->hi, factor, &hi) &&
            lo >= type_min(x->type) && hi <= type_max(x->type));
}

static bool gather_op(affine *a, const node *x, int64_t factor) {
    if (x->op == TG_ADD || x->op == TG_SUB) {
        return affine_add(a, x->arg[0], factor) &&
               affine_add(a, x->arg[1], x->op == TG_ADD ? factor : -factor);
    }
    if (x->op == TG_NEG) {
        return affine_add(a, x->arg[0], -factor);
    }
    if (x->op == TG_MUL) {
        return gather_product(a, x, factor);
    }
    int64_t shifted;
    if (x->op == TG_SHL && x->arg[1]->kind == E_CONST && x->arg[1]->ival >= 0 && x->arg[1]->ival < 32 &&
        shift_keeps_value(x, (int64_t)1 << x->arg[1]->ival)) {
        return facts_multiply(factor, (int64_t)1 << x->arg[1]->ival, &shifted) &&
               affine_add(a, x->arg[0], shifted);
    }
    return add_term(a, x, factor);
}

bool affine_add(affine *a, const node *x, int64_t factor) {
    x = facts_plain(x);
    int64_t product;
    if (x->kind == E_CONST) {
        if (!facts_multiply(factor, x->ival, &product)) {
            return false;
        }
        a->constant += product;
        return in_limit(a->constant);
    }
    if (x->kind == E_OP && is_mathematical(x->type)) {
        return gather_op(a, x, factor);
    }
    return add_term(a, x, factor);
}

bool affine_of(const node *x, affine *out) {
    out->constant = 0;
    out->n = 0;
    return type_is_integer(x->type) && x->type != TG_U64 &&
           affine_add(out, x, 1); /* u64: not all are int64_t */
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

/* The two parts of one division: x / n with n times the factor of x % n. */
static bool is_split(const affine *a, int whole, int rest) {
    const node *x = a->term[whole].x, *y = a->term[rest].x;
    int64_t factor;
    return x->kind == E_OP && y->kind == E_OP && x->op == TG_QUO && y->op == TG_MOD &&
           is_mathematical(x->type) && is_mathematical(y->type) && x->arg[1]->kind == E_CONST &&
           y->arg[1]->kind == E_CONST && x->arg[1]->ival == y->arg[1]->ival && x->arg[1]->ival > 0 &&
           facts_multiply(a->term[rest].factor, x->arg[1]->ival, &factor) &&
           factor == a->term[whole].factor && expr_equal(x->arg[0], y->arg[0]);
}

/* Puts together the first two such terms; NULL when there are none. */
static const node *take_split(affine *a, int64_t *factor) {
    for (int i = 0; i < a->n; i++) {
        for (int j = 0; j < a->n; j++) {
            if (i != j && is_split(a, i, j)) {
                const node *x = a->term[i].x->arg[0];
                *factor = a->term[j].factor;
                a->term[i > j ? i : j] = a->term[--a->n];
                a->term[i > j ? j : i] = a->term[--a->n];
                return x;
            }
        }
    }
    return NULL;
}

bool affine_rejoin(affine *a) {
    int64_t factor;
    const node *x;
    while ((x = take_split(a, &factor)) != NULL) {
        if (!affine_add(a, x, factor)) {
            return false;
        }
    }
    return true;
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

bool affine_range(const affine *a, int64_t *lo, int64_t *hi) {
    *lo = *hi = a->constant;
    for (int i = 0; i < a->n; i++) {
        int64_t p, q;
        const node *x = a->term[i].x;
        if (!facts_multiply(a->term[i].factor, x->lo, &p) || !facts_multiply(a->term[i].factor, x->hi, &q)) {
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

int point_find(const point *p, const var *v) {
    for (int i = 0; i < p->n; i++) {
        if (p->v[i] == v) {
            return i;
        }
    }
    return -1;
}

/* Adds the variables of x, names opened; false where one has too many values or is no small integer axis. */
bool point_collect(point *p, const node *x) {
    x = facts_meaning(x);
    if (x->kind == E_LOAD || x->kind == E_BITCAST || x->kind == E_POISON) {
        return false;
    }
    if (x->kind == E_VAR) {
        const var *v = x->var;
        if (point_find(p, v) >= 0) {
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
        if (!point_collect(p, x->arg[i])) {
            return false;
        }
    }
    return true;
}

int64_t point_count(const point *p) {
    int64_t n = 1;
    for (int i = 0; i < p->n && n <= ELEMENT_LIMIT; i++) {
        n *= p->hi[i] - p->lo[i] + 1;
    }
    return n;
}

static bool can_enumerate(point *p, const node *x) {
    return point_collect(p, x) && point_count(p) <= POINT_LIMIT;
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

static bool value_at(const var *v, const void *user, value *out) {
    const point *p = user;
    const int at = point_find(p, v);
    if (at >= 0) {
        *out = value_int(v->type, p->now[at]);
    }
    return at >= 0;
}

bool point_evaluate(const node *x, const point *p, value *out) {
    return expr_evaluate(x, value_at, p, out);
}

void point_start(points *none) {
    none->n = 0;
    none->is_last = false;
}

void point_take(point *p, points *out) {
    const int most = out->n == 0 ? FIRST_POINTS : EXPR_POINTS;
    out->of = p;
    out->n = 0;
    do {
        for (int i = 0; i < p->n; i++) {
            out->now[i][out->n] = p->now[i];
        }
        out->n++;
        out->is_last = !advance(p);
    } while (!out->is_last && out->n < most);
}

static bool values_at(const var *v, const void *user, int from, int n, int64_t *out) {
    const points *p = user;
    const int at = point_find(p->of, v);
    if (at >= 0) {
        memcpy(out, &p->now[at][from], sizeof *out * (size_t)n);
    }
    return at >= 0;
}

uint64_t point_evaluate_each(const node *x, const points *p, int64_t *out) {
    return expr_evaluate_each(x, values_at, p, p->n, out);
}

uint64_t point_all(const points *p) {
    return UINT64_MAX >> (EXPR_POINTS - p->n);
}

/* Whether ok(value) holds at every point (YES), at none (NO), or at some (UNKNOWN). */
static fact enumerate(const node *x, bool (*ok)(int64_t x, const int64_t *bound), const int64_t *bound) {
    point p = {.n = 0};
    points batch;
    int64_t v[EXPR_POINTS];
    bool any = false, all = true;
    if (!can_enumerate(&p, x)) {
        return FACT_UNKNOWN;
    }
    for (point_start(&batch); !batch.is_last;) {
        point_take(&p, &batch);
        if (point_evaluate_each(x, &batch, v) != point_all(&batch)) {
            return FACT_UNKNOWN;
        }
        for (int i = 0; i < batch.n; i++) {
            const bool is_ok = ok(v[i], bound);
            any |= is_ok;
            all &= is_ok;
        }
        if (any && !all) {
            return FACT_UNKNOWN;
        }
    }
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
    if (affine_of(x, &a) && affine_bounds(&a, &least, &most)) {
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
        const int64_t factor = facts_modulo(a->term[i].factor, n);
        const int64_t divisor = expr_divisor(a->term[i].x);
        if (factor == 0 || divisor == 0 || facts_modulo(factor * facts_modulo(divisor, n), n) == 0) {
            a->term[i] = a->term[--a->n];
        }
    }
}

/* The residues of what is left, at every point.  A variable that stands alone needs n values only. */
static fact enumerate_residues(const affine *a, int64_t n) {
    point p = {.n = 0};
    for (int i = 0; i < a->n; i++) {
        if (a->term[i].x->kind != E_VAR && !point_collect(&p, a->term[i].x)) {
            return FACT_UNKNOWN;
        }
    }
    for (int i = 0; i < a->n; i++) {
        const node *x = a->term[i].x;
        if (x->kind == E_VAR && point_find(&p, x->var) < 0) {
            if (p.n == POINT_VARS || x->var->kind == VAR_LET || !in_limit(x->var->lo)) {
                return FACT_UNKNOWN;
            }
            p.v[p.n] = x->var;
            p.lo[p.n] = p.now[p.n] = x->var->lo;
            p.hi[p.n] = x->var->hi - x->var->lo >= n ? x->var->lo + n - 1 : x->var->hi;
            p.n++;
        }
    }
    if (point_count(&p) > POINT_LIMIT) {
        return FACT_UNKNOWN;
    }
    do {
        int64_t sum = facts_modulo(a->constant, n);
        for (int i = 0; i < a->n; i++) {
            value v;
            if (!point_evaluate(a->term[i].x, &p, &v)) {
                return FACT_UNKNOWN;
            }
            sum += facts_modulo(facts_modulo(a->term[i].factor, n) * facts_modulo(value_as_int(v), n), n);
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
        return facts_modulo(rest.constant, n) == 0 ? FACT_YES : FACT_NO;
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
        !affine_subtract(&l, &r) || !affine_bounds(&l, &lo, &hi)) {
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
    const node *x = facts_meaning(condition);
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
    points batch;
    int64_t v[EXPR_POINTS], first = 0;
    bool of_threads = can_enumerate(&p, x);
    for (int i = 0; i < p.n; i++) {
        of_threads &= p.v[i]->kind == VAR_THREAD;
    }
    for (point_start(&batch); of_threads && !batch.is_last;) {
        const bool is_first = batch.n == 0;
        point_take(&p, &batch);
        const uint64_t known = point_evaluate_each(x, &batch, v);
        first = is_first ? v[0] : first;
        for (int i = 0; i < batch.n; i++) {
            if (!(known >> i & 1)) {
                return FACT_UNKNOWN;
            }
            if (v[i] != first) {
                return FACT_NO;
            }
        }
    }
    return of_threads ? FACT_YES : FACT_UNKNOWN;
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
