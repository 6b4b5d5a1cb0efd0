/* expr.c -- makes, folds and compares expressions; see expr.h.  expr_print.c prints them.
 *
 * Folding happens at birth and never changes what a program means: index arithmetic is exact, so its
 * identities hold; of typed integers only x + 0 and its like; floats only constant with constant, in their
 * own type.
 *
 * Reading order: ranges (what is known about a value), folding (one function an operator), the makers, the
 * questions. */
#include "dsl/expr.h"

#include <limits.h>
#include <string.h>

#include "dsl/diag.h"

/* ---- buffers ------------------------------------------------------------------------------------------- */

buffer *buffer_root(buffer *b) {
    while (b->view_of) {
        b = b->view_of;
    }
    return b;
}

bool buffer_may_overlap(buffer *a, buffer *b) {
    const buffer *x = buffer_root(a), *y = buffer_root(b);
    for (int i = 0; i < x->naliases; i++) {
        if (x->alias_of[i] == y) {
            return true;
        }
    }
    return x == y;
}

int64_t buffer_elements(const buffer *b) {
    int64_t rows = 1;
    for (int i = 0; i < b->rank; i++) {
        if (b->dim[i] < 0) {
            return -1;
        }
        if (i < b->rank - 1) {
            rows *= b->dim[i];
        }
    }
    if (b->rank == 0) {
        return 1;
    }
    int64_t row = b->dim[b->rank - 1];
    int64_t pitch = b->pitch ? b->pitch : b->layout.pitch ? b->layout.pitch : row;
    return rows > 0 ? (rows - 1) * pitch + row : 0;
}

int64_t buffer_bytes(const buffer *b) {
    int64_t n = buffer_elements(b);
    return n < 0 ? -1 : n * type_bytes(b->type);
}

/* ---- saturating arithmetic ----------------------------------------------------------------------------- */

static bool add_fits(int64_t a, int64_t b) {
    return b >= 0 ? a <= INT64_MAX - b : a >= INT64_MIN - b;
}

static bool mul_fits(int64_t a, int64_t b) {
    value_fault fault = FAULT_NONE;
    value_binary(TG_MUL, value_int(TYPE_INDEX, a), value_int(TYPE_INDEX, b), &fault);
    return fault == FAULT_NONE;
}

static int64_t sat_add(int64_t a, int64_t b) {
    return add_fits(a, b) ? a + b : b > 0 ? INT64_MAX : INT64_MIN;
}

static int64_t sat_neg(int64_t a) {
    return a == INT64_MIN ? INT64_MAX : -a;
}

static int64_t sat_sub(int64_t a, int64_t b) {
    return b == INT64_MIN ? (a >= 0 ? INT64_MAX : a - b) : sat_add(a, -b);
}

static int64_t sat_mul(int64_t a, int64_t b) {
    return mul_fits(a, b) ? a * b : (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static int64_t min64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t max64(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* ---- ranges -------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t lo, hi;
} range;

/* u64 reaches beyond what lo and hi can say: nothing is concluded from its range. */
static bool has_range(const node *x) {
    return (type_is_integer(x->type) && x->type != TG_U64) || x->type == TG_BOOL;
}

static range of(const node *x) {
    return (range){x->lo, x->hi};
}

static range type_range(int64_t type) {
    return (range){type_min(type), type_max(type)};
}

static range widest(range a, int64_t x) {
    return (range){min64(a.lo, x), max64(a.hi, x)};
}

static range range_mul(range a, range b) {
    int64_t first = sat_mul(a.lo, b.lo);
    range r = {first, first};
    r = widest(r, sat_mul(a.lo, b.hi));
    r = widest(r, sat_mul(a.hi, b.lo));
    return widest(r, sat_mul(a.hi, b.hi));
}

static range range_quo(range a, range b) {
    if (b.lo <= 0) { /* magnitudes do not grow */
        int64_t most = max64(sat_neg(a.lo), max64(a.hi, 0));
        return (range){-most, most};
    }
    range r = {a.lo / b.lo, a.lo / b.lo};
    r = widest(r, a.lo / b.hi);
    r = widest(r, a.hi / b.lo);
    return widest(r, a.hi / b.hi);
}

/* The sign is that of the dividend, the magnitude below that of the divisor. */
static range range_mod(range a, range b) {
    int64_t most = max64(max64(sat_neg(b.lo), b.hi) - 1, 0);
    range r = {a.lo < 0 ? -most : 0, a.hi > 0 ? most : 0};
    return (range){max64(r.lo, min64(a.lo, 0)), min64(r.hi, max64(a.hi, 0))};
}

static int64_t all_ones(int64_t x) {
    int64_t ones = 0;
    while (ones < x) {
        ones = ones * 2 + 1;
    }
    return ones;
}

static range range_bits(tg_op op, range a, range b, range whole) {
    if (op == TG_BIT_AND) {
        if (a.lo >= 0 || b.lo >= 0) {
            return (range){0, min64(a.lo >= 0 ? a.hi : INT64_MAX, b.lo >= 0 ? b.hi : INT64_MAX)};
        }
    } else if (a.lo >= 0 && b.lo >= 0) {
        return (range){0, all_ones(max64(a.hi, b.hi))};
    }
    if (whole.lo >= 0) {
        return whole;
    }
    /* Both fit some number of bits and a sign; so does the result. */
    const int64_t ones = all_ones(max64(max64(a.hi, ~a.lo), max64(b.hi, ~b.lo)));
    return (range){~ones, ones};
}

static range range_shift(tg_op op, range a, range b, range whole) {
    if (b.lo < 0 || b.hi > 62) {
        return whole;
    }
    if (op == TG_SHL) { /* which wraps */
        const range r = range_mul(a, (range){(int64_t)1 << b.lo, (int64_t)1 << b.hi});
        return r.lo == INT64_MIN || r.hi == INT64_MAX ? whole : r;
    }
    range r = {a.lo >> b.lo, a.lo >> b.lo};
    r = widest(r, a.lo >> b.hi);
    r = widest(r, a.hi >> b.lo);
    return widest(r, a.hi >> b.hi);
}

/* What exact arithmetic gives; brought into the type by `within`. */
static range range_of(tg_op op, range a, range b, range whole) {
    switch (op) {
    case TG_ADD:
        return (range){sat_add(a.lo, b.lo), sat_add(a.hi, b.hi)};
    case TG_SUB:
        return (range){sat_sub(a.lo, b.hi), sat_sub(a.hi, b.lo)};
    case TG_MUL:
        return range_mul(a, b);
    case TG_QUO:
        return range_quo(a, b);
    case TG_MOD:
        return range_mod(a, b);
    case TG_NEG:
        return (range){sat_neg(a.hi), sat_neg(a.lo)};
    case TG_ABS:
        return (range){a.lo > 0 ? a.lo : a.hi < 0 ? sat_neg(a.hi) : 0, max64(sat_neg(a.lo), a.hi)};
    case TG_MIN_OF:
        return (range){min64(a.lo, b.lo), min64(a.hi, b.hi)};
    case TG_MAX_OF:
        return (range){max64(a.lo, b.lo), max64(a.hi, b.hi)};
    case TG_BIT_AND:
    case TG_BIT_OR:
    case TG_BIT_XOR:
        return range_bits(op, a, b, whole);
    case TG_SHL:
    case TG_SHR:
        return range_shift(op, a, b, whole);
    case TG_BIT_NOT:
        return whole.lo >= 0 ? whole : (range){~a.hi, ~a.lo};
    case TG_EQ:
    case TG_NE:
    case TG_LT:
    case TG_LE:
    case TG_GT:
    case TG_GE:
    case TG_BOTH:
    case TG_EITHER:
    case TG_NEGATE:
    case TG_EXP:
    case TG_LOG:
    case TG_SQRT:
    case TG_RSQRT:
    case TG_TANH:
        break;
    }
    return whole;
}

/* A range that the type cannot hold: what faults is cut off, what wraps may be anything. */
static range within(int64_t type, tg_op op, range r) {
    range whole = type_range(type);
    if (r.lo >= whole.lo && r.hi <= whole.hi) {
        return r;
    }
    bool faults = type_is_signed(type) && type_bits(type) >= 32 && op != TG_SHL;
    return faults && r.lo <= whole.hi && r.hi >= whole.lo
               ? (range){max64(r.lo, whole.lo), min64(r.hi, whole.hi)}
               : whole;
}

/* ---- nodes --------------------------------------------------------------------------------------------- */

static node *make(arena *a, tg_loc at, node_kind kind, int64_t type) {
    node *x = ARENA_NEW(a, node);
    x->kind = kind;
    x->at = at;
    x->type = type;
    x->lanes = 1;
    x->size = 1;
    if (type_is_integer(type) || type == TG_BOOL) {
        x->lo = type_min(type);
        x->hi = type_max(type);
    }
    return x;
}

static void adopt(arena *a, node *x, int n, node *const *arg) {
    x->n = n;
    x->arg = n ? ARENA_ARRAY(a, node *, n) : NULL;
    for (int i = 0; i < n && x->arg; i++) {
        x->arg[i] = arg[i];
        x->size = x->size > INT_MAX - arg[i]->size ? INT_MAX : x->size + arg[i]->size;
        x->lanes = arg[i]->lanes > x->lanes ? arg[i]->lanes : x->lanes;
        x->reads |= arg[i]->reads;
    }
}

static node *make_with(arena *a, tg_loc at, node_kind kind, int64_t type, int n, node *const *arg) {
    node *x = make(a, at, kind, type);
    adopt(a, x, n, arg);
    return x;
}

static void set_range(node *x, range r) {
    x->lo = r.lo;
    x->hi = r.hi;
}

static bool is_compare(tg_op op) {
    return op >= TG_EQ && op <= TG_GE;
}

static int64_t result_type(tg_op op, int64_t type) {
    return is_compare(op) || op == TG_BOTH || op == TG_EITHER || op == TG_NEGATE ? TG_BOOL : type;
}

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* The remainder of a multiple of g by a multiple of g is one, too. */
static range range_of_multiples(const node *x, const node *y, range r) {
    const int64_t g = gcd(expr_divisor(x), expr_divisor(y));
    return y->lo > 0 ? (range){max64(r.lo, g - y->hi), min64(r.hi, y->hi - g)} : r;
}

/* The operation as such, nothing folded. */
static node *make_op(arena *a, tg_loc at, tg_op op, node *x, node *y) {
    node *r = make_with(a, at, E_OP, result_type(op, x->type), y ? 2 : 1, (node *[]){x, y});
    r->op = op;
    if (type_is_integer(r->type) && has_range(x) && (!y || has_range(y))) {
        set_range(r,
                  within(r->type, op, range_of(op, of(x), y ? of(y) : (range){0, 0}, type_range(r->type))));
    }
    if (op == TG_MOD && r->type == TYPE_INDEX) {
        set_range(r, range_of_multiples(x, y, of(r)));
    }
    return r;
}

static bool poisoned(const node *x) {
    return x->kind == E_POISON;
}

/* ---- folding of index arithmetic ----------------------------------------------------------------------- */

static bool is_op(const node *x, tg_op op) {
    return x->kind == E_OP && x->op == op;
}

/* x is `other op constant`. */
static bool has_constant(const node *x, tg_op op) {
    return is_op(x, op) && x->arg[1]->kind == E_CONST;
}

static node *index_sub(arena *a, tg_loc at, node *x, node *y);

static node *add_constant(arena *a, tg_loc at, node *x, int64_t c) {
    if (has_constant(x, TG_ADD) && add_fits(x->arg[1]->ival, c)) {
        return add_constant(a, at, x->arg[0], x->arg[1]->ival + c);
    }
    if (has_constant(x, TG_SUB) && x->arg[1]->ival != INT64_MIN && add_fits(-x->arg[1]->ival, c)) {
        return add_constant(a, at, x->arg[0], c - x->arg[1]->ival);
    }
    if (c == 0) {
        return x;
    }
    bool is_negative = c < 0 && c != INT64_MIN;
    return make_op(a, at, is_negative ? TG_SUB : TG_ADD, x, expr_int(a, at, is_negative ? -c : c));
}

static node *index_add(arena *a, tg_loc at, node *x, node *y) {
    if (y->kind == E_CONST) {
        return add_constant(a, at, x, y->ival);
    }
    if (x->kind == E_CONST && (x->ival == 0 || has_constant(y, TG_ADD) || has_constant(y, TG_SUB))) {
        return add_constant(a, at, y, x->ival);
    }
    return make_op(a, at, TG_ADD, x, y);
}

static node *index_sub(arena *a, tg_loc at, node *x, node *y) {
    if (y->kind == E_CONST && y->ival != INT64_MIN) {
        return add_constant(a, at, x, -y->ival);
    }
    return x == y ? expr_int(a, at, 0) : make_op(a, at, TG_SUB, x, y);
}

static node *index_mul(arena *a, tg_loc at, node *x, node *y) {
    node *c = y->kind == E_CONST ? y : x->kind == E_CONST ? x : NULL;
    node *other = c == y ? x : y;
    if (!c) {
        return make_op(a, at, TG_MUL, x, y);
    }
    if (c->ival == 0) {
        return expr_int(a, at, 0);
    }
    if (c->ival == 1) {
        return other;
    }
    if (has_constant(other, TG_MUL) && mul_fits(other->arg[1]->ival, c->ival)) {
        return index_mul(a, at, other->arg[0], expr_int(a, at, other->arg[1]->ival * c->ival));
    }
    return make_op(a, at, TG_MUL, x, y);
}

/* Splits a sum of terms that are nowhere negative: x = whole * d + rest (each NULL when 0). */
typedef struct {
    arena *a;
    int64_t d;
    node *whole, *rest;
    bool failed;
} split;

static void gather(arena *a, node **sum, node *x) {
    *sum = *sum ? index_add(a, x->at, *sum, x) : x;
}

static void split_term(split *s, node *x) {
    if (is_op(x, TG_ADD)) {
        split_term(s, x->arg[0]);
        split_term(s, x->arg[1]);
        return;
    }
    if (x->lo < 0) {
        s->failed = true;
    } else if (x->kind == E_CONST) {
        if (x->ival / s->d) {
            gather(s->a, &s->whole, expr_int(s->a, x->at, x->ival / s->d));
        }
        if (x->ival % s->d) {
            gather(s->a, &s->rest, expr_int(s->a, x->at, x->ival % s->d));
        }
    } else if (is_op(x, TG_MUL) && x->arg[1]->kind == E_CONST && x->arg[1]->ival % s->d == 0) {
        node *c = expr_int(s->a, x->at, x->arg[1]->ival / s->d);
        gather(s->a, &s->whole, index_mul(s->a, x->at, x->arg[0], c));
    } else if (is_op(x, TG_MUL) && x->arg[0]->kind == E_CONST && x->arg[0]->ival % s->d == 0) {
        node *c = expr_int(s->a, x->at, x->arg[0]->ival / s->d);
        gather(s->a, &s->whole, index_mul(s->a, x->at, c, x->arg[1]));
    } else {
        gather(s->a, &s->rest, x);
    }
}

static node *index_divide(arena *a, tg_loc at, tg_op op, node *x, node *y) {
    int64_t d = y->kind == E_CONST ? y->ival : 0;
    if (d <= 0) {
        return make_op(a, at, op, x, y);
    }
    if (d == 1) {
        return op == TG_QUO ? x : expr_int(a, at, 0);
    }
    if (x->lo > -d && x->hi < d) {
        return op == TG_QUO ? expr_int(a, at, 0) : x;
    }
    if (op == TG_QUO && has_constant(x, TG_QUO) && x->arg[1]->ival > 0 && mul_fits(x->arg[1]->ival, d)) {
        return index_divide(a, at, op, x->arg[0], expr_int(a, at, x->arg[1]->ival * d));
    }
    if (op == TG_MOD && expr_divisor(x) % d == 0) {
        return expr_int(a, at, 0);
    }
    split s = {.a = a, .d = d};
    split_term(&s, x);
    if (s.failed || !s.whole) {
        return make_op(a, at, op, x, y);
    }
    node *rest = s.rest ? s.rest : expr_int(a, at, 0);
    rest = rest->hi < d ? (op == TG_QUO ? expr_int(a, at, 0) : rest) : make_op(a, at, op, rest, y);
    return op == TG_QUO ? index_add(a, at, s.whole, rest) : rest;
}

/* ---- folding ------------------------------------------------------------------------------------------- */

bool expr_is_const(const node *x) {
    return x->kind == E_CONST;
}

bool expr_is_int(const node *x, int64_t v) {
    return x->kind == E_CONST && !type_is_float(x->type) && x->ival == v;
}

/* exp, log, .. of a device differ from the host's in the last place: those stay, except of literals. */
static bool folds_exactly(tg_op op, int64_t type) {
    return type == TYPE_REAL || !(op == TG_EXP || op == TG_LOG || op == TG_RSQRT || op == TG_TANH);
}

static node *fold_constants(arena *a, tg_loc at, tg_op op, node *x, node *y) {
    if (x->kind != E_CONST || (y && y->kind != E_CONST) || !folds_exactly(op, x->type)) {
        return NULL;
    }
    value_fault fault = FAULT_NONE;
    value v =
        y ? value_binary(op, expr_value(x), expr_value(y), &fault) : value_unary(op, expr_value(x), &fault);
    return fault == FAULT_NONE ? expr_const(a, at, v) : NULL; /* a fault stays for the witnesses to report */
}

static node *truth(arena *a, tg_loc at, bool x) {
    return expr_const(a, at, value_int(TG_BOOL, x));
}

/* 1 true, 0 false, -1 unknown. */
static int decide(tg_op op, const node *x, const node *y) {
    if (!has_range(x) || !has_range(y)) {
        return -1;
    }
    switch (op) {
    case TG_LT:
        return x->hi < y->lo ? 1 : x->lo >= y->hi ? 0 : -1;
    case TG_LE:
        return x->hi <= y->lo ? 1 : x->lo > y->hi ? 0 : -1;
    case TG_GT:
        return decide(TG_LT, y, x);
    case TG_GE:
        return decide(TG_LE, y, x);
    case TG_EQ:
        return x->hi < y->lo || y->hi < x->lo ? 0 : x->lo == x->hi && y->lo == y->hi ? x->lo == y->lo : -1;
    default: { /* TG_NE */
        int equal = decide(TG_EQ, x, y);
        return equal < 0 ? -1 : !equal;
    }
    }
}

static node *fold_truth(arena *a, tg_loc at, tg_op op, node *x, node *y) {
    bool neutral = op == TG_BOTH; /* both(true, x) is x; both(false, x) is false */
    if (x->kind == E_CONST) {
        return (x->ival != 0) == neutral ? y : x;
    }
    if (y->kind == E_CONST) {
        return (y->ival != 0) == neutral ? x : y;
    }
    return make_op(a, at, op, x, y);
}

static node *fold_extreme(arena *a, tg_loc at, tg_op op, node *x, node *y) {
    if (type_is_integer(x->type)) {
        int le = decide(TG_LE, x, y), ge = decide(TG_GE, x, y);
        if (le == 1 || ge == 1) {
            return (le == 1) == (op == TG_MIN_OF) ? x : y;
        }
    }
    return make_op(a, at, op, x, y);
}

static node *fold_index(arena *a, tg_loc at, tg_op op, node *x, node *y) {
    switch (op) {
    case TG_ADD:
        return index_add(a, at, x, y);
    case TG_SUB:
        return index_sub(a, at, x, y);
    case TG_MUL:
        return index_mul(a, at, x, y);
    case TG_QUO:
    case TG_MOD:
        return index_divide(a, at, op, x, y);
    default:
        return NULL;
    }
}

/* x + 0, x * 1, x / 1, x << 0, x | 0 of any integer. */
static node *fold_neutral(tg_op op, node *x, node *y) {
    bool one = op == TG_MUL || op == TG_QUO;
    bool zero =
        op == TG_ADD || op == TG_SUB || op == TG_SHL || op == TG_SHR || op == TG_BIT_OR || op == TG_BIT_XOR;
    bool commutes = op == TG_ADD || op == TG_MUL || op == TG_BIT_OR || op == TG_BIT_XOR;
    if ((zero && expr_is_int(y, 0)) || (one && expr_is_int(y, 1))) {
        return x;
    }
    return commutes && ((zero && expr_is_int(x, 0)) || (one && expr_is_int(x, 1))) ? y : NULL;
}

/* ---- makers -------------------------------------------------------------------------------------------- */

node *expr_int(arena *a, tg_loc at, int64_t v) {
    node *x = make(a, at, E_CONST, TYPE_INDEX);
    x->ival = x->lo = x->hi = v;
    return x;
}

node *expr_const(arena *a, tg_loc at, value v) {
    node *x = make(a, at, E_CONST, v.type);
    if (type_is_float(v.type)) {
        x->fval = value_as_real(v);
    } else {
        x->ival = value_as_int(v);
        if (v.type != TG_U64 || x->ival >= 0) {
            x->lo = x->hi = x->ival;
        }
    }
    return x;
}

value expr_value(const node *x) {
    return type_is_float(x->type) ? value_real(x->type, x->fval) : value_int(x->type, x->ival);
}

node *expr_var(arena *a, tg_loc at, var *v) {
    node *x = make(a, at, E_VAR, v->type);
    x->var = v;
    if (has_range(x)) {
        set_range(x, (range){v->lo, v->hi});
    }
    return x;
}

node *expr_unary(arena *a, tg_loc at, tg_op op, node *x) {
    if (poisoned(x)) {
        return x;
    }
    if (op == TG_BIT_NOT && x->type == TG_BOOL) {
        op = TG_NEGATE;
    }
    if (op == TG_NEGATE && is_op(x, TG_NEGATE)) {
        return x->arg[0];
    }
    if (op == TG_ABS && type_is_integer(x->type) && x->lo >= 0) {
        return x;
    }
    node *folded = fold_constants(a, at, op, x, NULL);
    return folded ? folded : make_op(a, at, op, x, NULL);
}

node *expr_binary(arena *a, tg_loc at, tg_op op, node *x, node *y) {
    if (poisoned(x) || poisoned(y)) {
        return poisoned(x) ? x : y;
    }
    node *folded = fold_constants(a, at, op, x, y);
    if (folded) {
        return folded;
    }
    if (op == TG_BOTH || op == TG_EITHER) {
        return fold_truth(a, at, op, x, y);
    }
    if (is_compare(op)) {
        int known = decide(op, x, y);
        return known >= 0 ? truth(a, at, known) : make_op(a, at, op, x, y);
    }
    if (op == TG_MIN_OF || op == TG_MAX_OF) {
        return fold_extreme(a, at, op, x, y);
    }
    if (x->type == TYPE_INDEX && y->type == TYPE_INDEX) {
        folded = fold_index(a, at, op, x, y);
    }
    if (!folded && type_is_integer(x->type)) {
        folded = fold_neutral(op, x, y);
    }
    return folded ? folded : make_op(a, at, op, x, y);
}

node *expr_choose(arena *a, tg_loc at, node *condition, node *x, node *y) {
    if (poisoned(condition) || poisoned(x) || poisoned(y)) {
        return poisoned(condition) ? condition : poisoned(x) ? x : y;
    }
    if (condition->kind == E_CONST) {
        return condition->ival ? x : y;
    }
    node *r = make_with(a, at, E_CHOOSE, x->type, 3, (node *[]){condition, x, y});
    if (has_range(r)) {
        set_range(r, (range){min64(x->lo, y->lo), max64(x->hi, y->hi)});
    }
    return r;
}

static range range_cast(int64_t type, const node *x) {
    range whole = type_range(type);
    if (!has_range(x) || type == TG_BOOL || type == TG_U64) {
        return whole;
    }
    if (x->lo >= whole.lo && x->hi <= whole.hi) {
        return of(x);
    }
    bool cut = x->type == TYPE_INDEX && x->lo <= whole.hi && x->hi >= whole.lo; /* the rest faults */
    return cut ? (range){max64(x->lo, whole.lo), min64(x->hi, whole.hi)} : whole;
}

node *expr_cast(arena *a, tg_loc at, int64_t type, node *x) {
    if (poisoned(x) || x->type == type) {
        return x;
    }
    if (x->kind == E_CONST) {
        value_fault fault = FAULT_NONE;
        value v = value_cast(expr_value(x), type, &fault);
        if (fault == FAULT_NONE) {
            return expr_const(a, at, v);
        }
    }
    if (type == TYPE_INDEX && x->kind == E_CAST && x->arg[0]->type == TYPE_INDEX &&
        type_is_integer(x->type)) {
        node *inner = x->arg[0]; /* there and back */
        if (inner->lo >= type_min(x->type) && inner->hi <= type_max(x->type)) {
            return inner;
        }
    }
    node *r = make_with(a, at, E_CAST, type, 1, &x);
    if (has_range(r)) {
        set_range(r, range_cast(type, x));
    }
    return r;
}

node *expr_bitcast(arena *a, tg_loc at, int64_t type, node *x) {
    if (poisoned(x) || x->type == type) {
        return x;
    }
    if (x->kind == E_CONST && !type_is_float(type)) { /* a NaN's payload would not survive in a double */
        return expr_const(a, at, value_bitcast(expr_value(x), type));
    }
    return make_with(a, at, E_BITCAST, type, 1, &x);
}

node *expr_ref(arena *a, tg_loc at, buffer *b, int n, node *const *index, int lanes) {
    node *r = make_with(a, at, E_REF, b->type, n, index);
    r->buffer = b;
    r->lanes = lanes;
    return r;
}

node *expr_region(arena *a, tg_loc at, buffer *b, int n, node *const *corner) {
    node *x = expr_ref(a, at, b, n, corner, 1);
    x->kind = E_REGION;
    x->dim = ARENA_ARRAY(a, int64_t, n + 1);
    return x;
}

node *expr_load(arena *a, tg_loc at, node *ref) {
    if (poisoned(ref)) {
        return ref;
    }
    node *x = make_with(a, at, E_LOAD, ref->type, 1, &ref);
    x->buffer = ref->buffer;
    x->reads = true;
    return x;
}

node *expr_add(arena *a, node *x, node *y) {
    return expr_binary(a, x->at, TG_ADD, x, y);
}

node *expr_mul(arena *a, node *x, int64_t c) {
    return c == 1 ? x : expr_binary(a, x->at, TG_MUL, x, expr_int(a, x->at, c));
}

/* ---- questions ----------------------------------------------------------------------------------------- */

static bool same_head(const node *x, const node *y) {
    if (x->kind != y->kind || x->type != y->type || x->n != y->n || x->lanes != y->lanes) {
        return false;
    }
    if (x->kind == E_CONST) {
        return expr_value(x).bits == expr_value(y).bits;
    }
    return x->op == y->op && x->var == y->var && x->buffer == y->buffer && x->in_tiles == y->in_tiles &&
           (x->kind != E_REGION || memcmp(x->dim, y->dim, sizeof *x->dim * (size_t)x->n) == 0);
}

bool expr_equal(const node *x, const node *y) {
    if (x == y) {
        return true;
    }
    if (!same_head(x, y)) {
        return false;
    }
    for (int i = 0; i < x->n; i++) {
        if (!expr_equal(x->arg[i], y->arg[i])) {
            return false;
        }
    }
    return true;
}

node *expr_remake(arena *a, const node *x, node *const *arg) {
    switch (x->kind) {
    case E_LOAD:
        return expr_load(a, x->at, arg[0]);
    case E_OP:
        return x->n == 1 ? expr_unary(a, x->at, x->op, arg[0]) : expr_binary(a, x->at, x->op, arg[0], arg[1]);
    case E_CHOOSE:
        return expr_choose(a, x->at, arg[0], arg[1], arg[2]);
    case E_CAST:
        return expr_cast(a, x->at, x->type, arg[0]);
    case E_BITCAST:
        return expr_bitcast(a, x->at, x->type, arg[0]);
    case E_REF:
        return expr_ref(a, x->at, x->buffer, x->n, arg, x->lanes);
    case E_REGION:
    case E_POISON:
    case E_CONST:
    case E_VAR:
    case E_BUFFER:
        break;
    }
    node *copy = ARENA_NEW(a, node);
    *copy = *x;
    copy->size = 1;
    copy->reads = false;
    adopt(a, copy, x->n, arg);
    return copy;
}

node *expr_replace(arena *a, node *x, const var *v, node *y) {
    if (x->kind == E_VAR) {
        return x->var == v ? y : x;
    }
    node *arg[2 * TG_MAX_RANK];
    bool changed = false;
    for (int i = 0; i < x->n; i++) {
        arg[i] = expr_replace(a, x->arg[i], v, y);
        changed |= arg[i] != x->arg[i];
    }
    return changed ? expr_remake(a, x, arg) : x;
}

bool expr_walk(node *x, bool (*fn)(node *x, void *user), void *user) {
    if (!fn(x, user)) {
        return false;
    }
    for (int i = 0; i < x->n; i++) {
        if (!expr_walk(x->arg[i], fn, user)) {
            return false;
        }
    }
    return true;
}

void expr_loads(const node *x, void (*fn)(node *place, void *user), void *user) {
    if (!x || !x->reads) {
        return;
    }
    if (x->kind == E_LOAD) {
        fn(x->arg[0], user);
    }
    for (int i = 0; i < x->n; i++) {
        expr_loads(x->arg[i], fn, user);
    }
}

node *expr_offset(arena *a, const node *ref) {
    const buffer *b = ref->buffer;
    node *sum = NULL;
    int64_t stride = 1;
    for (int i = b->rank - 1; i >= 0; i--) {
        node *term = expr_mul(a, ref->arg[i], stride);
        sum = sum ? expr_add(a, term, sum) : term;
        int64_t row = b->pitch ? b->pitch : b->layout.pitch;
        stride = i == b->rank - 1 && row ? row : stride * b->dim[i];
    }
    return sum ? sum : expr_int(a, ref->at, 0);
}

static int64_t divisor_of_op(const node *x) {
    int64_t a = expr_divisor(x->arg[0]), b = x->n > 1 ? expr_divisor(x->arg[1]) : 0;
    switch (x->op) {
    case TG_ADD:
    case TG_SUB:
    case TG_MIN_OF:
    case TG_MAX_OF:
        return gcd(a, b);
    case TG_MUL:
        return mul_fits(a, b) ? a * b : max64(a, b);
    case TG_NEG:
    case TG_ABS:
        return a;
    case TG_QUO: {
        const node *d = x->arg[1];
        return d->kind == E_CONST && d->ival > 0 && a % d->ival == 0 ? a / d->ival : 1;
    }
    case TG_MOD:
        return gcd(a, b);
    case TG_SHL: {
        const node *n = x->arg[1];
        bool known = n->kind == E_CONST && n->ival >= 0 && n->ival < 62;
        return known && mul_fits(a, (int64_t)1 << n->ival) ? a << n->ival : max64(a, 1);
    }
    default:
        return 1;
    }
}

int64_t expr_divisor(const node *x) {
    if (!type_is_integer(x->type)) {
        return 1;
    }
    if (x->kind == E_CONST) {
        return x->ival < 0 ? sat_neg(x->ival) : x->ival;
    }
    if (x->type != TYPE_INDEX) {
        return 1;
    }
    if (x->lo == 0 && x->hi == 0) {
        return 0;
    }
    switch (x->kind) {
    case E_OP:
        return divisor_of_op(x);
    case E_CHOOSE:
        return gcd(expr_divisor(x->arg[1]), expr_divisor(x->arg[2]));
    case E_CAST:
        return expr_divisor(x->arg[0]);
    case E_VAR:
        return x->var->kind == VAR_LET && x->var->value ? expr_divisor(x->var->value) : 1;
    default:
        return 1;
    }
}

int64_t expr_size(const node *x) {
    return x->size;
}
