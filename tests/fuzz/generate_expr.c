/* generate_expr.c -- expressions, made at random so that none can fault; see generate.h.
 *
 * Each integer knows its range and each float its largest magnitude.  Where an operator could leave its type, an
 * operand is brought into a smaller range first, by words of the language.  What is made may be nonsense, but each
 * evaluation of it is defined, on whichever side of a choice it stands. */
#include <math.h>
#include <string.h>

#include "generate.h"

enum {
    FAR = 1 << 30
}; /* indices stay below in magnitude, so that sums and products of two are far from 64 bits */

/* ---- makers ---------------------------------------------------------------------------------------------- */

static gexpr *make(program *p, expr_kind kind, int64_t type) {
    gexpr *x = program_memory(p, sizeof *x);
    x->kind = kind;
    x->type = type;
    x->lo = type_least(type);
    x->hi = type_most(type);
    x->most = type == TG_F16 ? 65504.0 : 3e38;
    return x;
}

gexpr *make_int(program *p, int64_t type, int64_t i) {
    gexpr *x = make(p, X_INT, type);
    x->i = x->lo = x->hi = i;
    return x;
}

gexpr *make_real(program *p, int64_t type, double f) {
    gexpr *x = make(p, X_REAL, type);
    x->f = round_real(type, f); /* as the literal arrives: bf16 has no million */
    x->most = fabs(f);
    return x;
}

gexpr *make_size(program *p, int size) {
    gexpr *x = make(p, X_SIZE, INDEX);
    x->id = size;
    x->lo = x->hi = size_value(p, size);
    return x;
}

gexpr *make_variable(program *p, int v) {
    const gvariable *from = &p->variable[v];
    gexpr *x = make(p, X_VARIABLE, from->type);
    x->id = v;
    x->lo = from->lo;
    x->hi = from->hi;
    x->most = from->most;
    return x;
}

gexpr *make_load(program *p, int buffer, gexpr *const *index) {
    const gbuffer *b = &p->buffer[buffer];
    gexpr *x = make(p, X_LOAD, b->type);
    x->id = buffer;
    x->n = b->rank;
    for (int i = 0; i < b->rank; i++) {
        x->arg[i] = index[i];
    }
    x->lo = b->lo;
    x->hi = b->hi;
    x->most = b->most;
    return x;
}

/* ---- ranges ---------------------------------------------------------------------------------------------- */

static int64_t magnitude(const gexpr *x) {
    const int64_t a = x->lo == INT64_MIN ? INT64_MAX : x->lo < 0 ? -x->lo : x->lo;
    const int64_t b = x->hi < 0 ? -x->hi : x->hi;
    return a > b ? a : b;
}

static void set_range(gexpr *x, int64_t lo, int64_t hi) {
    if (lo >= type_least(x->type) && hi <= type_most(x->type)) { /* else it wraps */
        x->lo = lo;
        x->hi = hi;
    }
}

static int64_t at_least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t at_most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static bool is_small(const gexpr *x) {
    return x->lo > -((int64_t)1 << 31) && x->hi < (int64_t)1 << 31;
}

static void range_product(gexpr *x, const gexpr *a, const gexpr *b) {
    const int64_t c[4] = {a->lo * b->lo, a->lo * b->hi, a->hi * b->lo, a->hi * b->hi};
    int64_t lo = c[0], hi = c[0];
    for (int i = 1; i < 4; i++) {
        lo = at_least(lo, c[i]);
        hi = at_most(hi, c[i]);
    }
    set_range(x, lo, hi);
}

static void range_whole(gexpr *x, const gexpr *a, const gexpr *b) {
    const bool small = is_small(a) && (!b || is_small(b));
    switch (x->op) {
    case TG_ADD:
        if (small) {
            set_range(x, a->lo + b->lo, a->hi + b->hi);
        }
        break;
    case TG_SUB:
        if (small) {
            set_range(x, a->lo - b->hi, a->hi - b->lo);
        }
        break;
    case TG_MUL:
        if (small) {
            range_product(x, a, b);
        }
        break;
    case TG_QUO:
        if (small && b->lo > 0) {
            set_range(x, at_least(a->lo, 0), at_most(a->hi, 0));
        }
        break;
    case TG_MOD:
        if (small && b->lo > 0) {
            set_range(x, a->lo < 0 ? -(b->hi - 1) : 0, a->hi > 0 ? b->hi - 1 : 0);
        }
        break;
    case TG_MIN_OF:
        set_range(x, at_least(a->lo, b->lo), at_least(a->hi, b->hi));
        break;
    case TG_MAX_OF:
        set_range(x, at_most(a->lo, b->lo), at_most(a->hi, b->hi));
        break;
    case TG_BIT_AND:
        if (b->lo >= 0) {
            set_range(x, 0, b->hi);
        }
        break;
    case TG_NEG:
        if (small) {
            set_range(x, -a->hi, -a->lo);
        }
        break;
    case TG_ABS:
        if (small) {
            set_range(x, 0, magnitude(a));
        }
        break;
    default:
        break;
    }
}

static bool compares(tg_op op) {
    return op >= TG_EQ && op <= TG_GE;
}

/* With the error of rounding. */
static void range_real(gexpr *x, const gexpr *a, const gexpr *b) {
    double most = a->most;
    switch (x->op) {
    case TG_ADD:
    case TG_SUB:
        most = a->most + b->most;
        break;
    case TG_MUL:
        most = a->most * b->most;
        break;
    case TG_MIN_OF:
    case TG_MAX_OF:
        most = fmax(a->most, b->most);
        break;
    case TG_EXP:
        most = exp(a->most);
        break;
    case TG_SQRT:
    case TG_LOG:
    case TG_RSQRT:
        most = fmax(a->most, 2.0); /* of numbers from 0.5 on */
        break;
    default:
        break;
    }
    x->most = most * 1.01;
}

gexpr *make_unary(program *p, tg_op op, gexpr *a) {
    gexpr *x = make(p, X_UNARY, a->type);
    x->op = op;
    x->n = 1;
    x->arg[0] = a;
    if (type_real(a->type)) {
        range_real(x, a, NULL);
    } else {
        range_whole(x, a, NULL);
    }
    return x;
}

gexpr *make_binary(program *p, tg_op op, gexpr *a, gexpr *b) {
    const int64_t type = a->type == b->type || op == TG_SHL || op == TG_SHR ? a->type : INDEX;
    gexpr *x = make(p, X_BINARY, compares(op) || type == TG_BOOL ? TG_BOOL : type);
    x->op = op;
    x->n = 2;
    x->arg[0] = a;
    x->arg[1] = b;
    if (type_real(x->type)) {
        range_real(x, a, b);
    } else if (x->type != TG_BOOL) {
        range_whole(x, a, b);
    }
    return x;
}

gexpr *make_choose(program *p, gexpr *c, gexpr *a, gexpr *b) {
    gexpr *x = make(p, X_CHOOSE, a->type);
    x->n = 3;
    x->arg[0] = c;
    x->arg[1] = a;
    x->arg[2] = b;
    x->lo = at_least(a->lo, b->lo);
    x->hi = at_most(a->hi, b->hi);
    x->most = fmax(a->most, b->most);
    return x;
}

gexpr *make_cast(program *p, int64_t type, gexpr *a) {
    gexpr *x = make(p, X_CAST, type);
    x->n = 1;
    x->arg[0] = a;
    if (type_real(type)) {
        const bool wide = a->type == TG_U64 && a->hi == INT64_MAX;
        x->most = (type_real(a->type) ? a->most : wide ? 2e19 : (double)magnitude(a)) * 1.01;
    } else if (type_real(a->type)) {
        const double most = fmin(ceil(a->most), 9e18);
        set_range(x, type_signs(type) ? -(int64_t)most : 0, (int64_t)most);
    } else if (a->type != TG_U64 || a->hi < INT64_MAX) {
        set_range(x, a->lo, a->hi);
    }
    return x;
}

gexpr *make_bitcast(program *p, int64_t type, gexpr *a) {
    gexpr *x = make(p, X_BITCAST, type);
    x->n = 1;
    x->arg[0] = a;
    return x;
}

/* ---- into a range ---------------------------------------------------------------------------------------- */

/* A literal as the neighbour of x: typed, or bare where the language converts it. */
static gexpr *literal_beside(program *p, const gexpr *x, int64_t i) {
    gexpr *c = make_int(p, x->type, i);
    c->bare = x->type != INDEX && chance(p, 50);
    return c;
}

gexpr *bring_into(program *p, gexpr *x, int64_t lo, int64_t hi) {
    if (x->lo >= lo && x->hi <= hi) {
        return x;
    }
    if (x->type == TG_U64 || !type_signs(x->type)) {
        return hi < type_most(x->type) && (hi & (hi + 1)) == 0 && chance(p, 50)
                   ? make_binary(p, TG_BIT_AND, x, literal_beside(p, x, hi))
                   : make_binary(p, TG_MIN_OF, x, literal_beside(p, x, hi));
    }
    if (chance(p, 30) || hi >= type_most(x->type) || lo <= -type_most(x->type)) {
        gexpr *up = x->lo < lo ? make_binary(p, TG_MAX_OF, x, literal_beside(p, x, lo)) : x;
        return up->hi > hi ? make_binary(p, TG_MIN_OF, up, literal_beside(p, up, hi)) : up;
    }
    const int64_t n = (lo < 0 ? at_least(-lo, hi) : hi) + 1; /* the remainder has the sign of x */
    if (n < 1) {
        return make_int(p, x->type, 0);
    }
    gexpr *r = x->type == INDEX && !is_small(x)
                   ? make_binary(p, TG_MIN_OF, make_binary(p, TG_MAX_OF, x, make_int(p, INDEX, -FAR)),
                                 make_int(p, INDEX, FAR))
                   : x;
    r = make_binary(p, TG_MOD, r, literal_beside(p, x, n));
    r->lo = x->lo < 0 ? -(n - 1) : 0;
    r->hi = n - 1;
    if (r->lo < lo) { /* nothing negative is wanted */
        r = lo == 0 && hi >= n - 1 ? make_unary(p, TG_ABS, r)
                                   : make_binary(p, TG_MAX_OF, r, literal_beside(p, r, lo));
        r->lo = lo;
        r->hi = n - 1;
    }
    return r;
}

gexpr *limit_real(program *p, gexpr *x, double most) {
    if (x->most <= most) {
        return x;
    }
    gexpr *lowest = make_real(p, x->type, -most), *highest = make_real(p, x->type, most);
    lowest->bare = chance(p, 50);
    highest->bare = chance(p, 50);
    gexpr *both = make_binary(p, TG_MIN_OF, make_binary(p, TG_MAX_OF, x, lowest), highest);
    both->most = most;
    return both;
}

/* ---- at random ------------------------------------------------------------------------------------------- */

int64_t random_type(program *p) {
    static const int64_t types[] = {TG_I32, TG_I32, TG_F32, TG_F32, TG_F16, TG_BF16, TG_I8,  TG_U8,
                                    TG_I16, TG_U16, TG_U32, TG_U32, TG_I64, TG_U64,  TG_F64, TG_BOOL};
    return types[roll_below(p, sizeof types / sizeof types[0])];
}

static double real_limit(int64_t type) {
    return type == TG_F16 ? 2000.0 : 1e6;
}

static double small_real(program *p) {
    return (double)(roll_below(p, 65) - 32) / 8;
}

static gexpr *random_leaf(program *p, const scope *s, int64_t type);
static gexpr *random_any_index(program *p, const scope *s, int depth);

/* A variable of a type; NULL when there is none. */
static gexpr *pick_variable(program *p, const scope *s, int64_t type) {
    int found[MAX_VARIABLES], n = 0;
    for (int i = 0; i < s->nvariables; i++) {
        const gvariable *v = &p->variable[s->variable[i]];
        if (v->type == type && (v->uniform || !s->uniform_only)) {
            found[n++] = s->variable[i];
        }
    }
    return n ? make_variable(p, found[roll_below(p, n)]) : NULL;
}

/* Do all threads read the same there?  What the block writes together, and what nobody writes. */
static bool is_read_alike(const program *p, const gbuffer *b) {
    return p->block_view && (b->space == TG_SHARED || (b->space == TG_GLOBAL && b->is_input));
}

/* A buffer of a type, any type if INDEX. */
static int pick_buffer(program *p, const scope *s, int64_t type) {
    int found[MAX_BUFFERS], n = 0;
    for (int i = 0; i < s->nbuffers; i++) {
        const gbuffer *b = &p->buffer[s->buffer[i]];
        if ((b->type == type || (type == INDEX && b->type != TG_BOOL)) &&
            (!s->uniform_only || is_read_alike(p, b))) {
            found[n++] = s->buffer[i];
        }
    }
    return n ? found[roll_below(p, n)] : NONE;
}

static gexpr *below_extent(program *p, const scope *s, int extent, int depth) {
    gexpr *x = bring_into(p, random_any_index(p, s, depth), 0, FAR);
    return make_binary(p, TG_MOD, x, make_variable(p, extent));
}

gexpr *random_load(program *p, const scope *s, int b, int depth) {
    gexpr *index[TG_MAX_RANK];
    const gbuffer *x = &p->buffer[b];
    for (int i = 0; i < x->rank; i++) {
        const int limit = i == 0 ? x->extent : NONE;
        index[i] = limit == NONE ? random_index(p, s, x->dim[i], depth) : below_extent(p, s, limit, depth);
    }
    return make_load(p, b, index);
}

static gexpr *as_index(program *p, const scope *s, int depth) {
    const int b = pick_buffer(p, s, INDEX);
    if (b == NONE || type_real(p->buffer[b].type) || p->buffer[b].type == TG_U64 || depth < 2) {
        return NULL;
    }
    gexpr *x = random_load(p, s, b, depth - 2);
    return is_small(x) ? x : NULL;
}

/* Any index of moderate size. */
static gexpr *random_any_index(program *p, const scope *s, int depth) {
    gexpr *a = pick_variable(p, s, INDEX);
    if (!a) {
        a = make_int(p, INDEX, roll_below(p, 7));
    }
    if (depth <= 0) {
        return a;
    }
    gexpr *b = chance(p, 60) ? make_int(p, INDEX, roll_below(p, 9)) : random_any_index(p, s, depth - 1);
    gexpr *typed = chance(p, 15) ? as_index(p, s, depth) : NULL;
    b = typed ? typed : b;
    a = bring_into(p, a, -4096, 4096);
    b = bring_into(p, b, -4096, 4096);
    switch (roll_below(p, 7)) {
    case 0:
    case 1:
        return make_binary(p, TG_ADD, a, b);
    case 2:
        return make_binary(p, TG_SUB, a, b);
    case 3:
        return make_binary(p, TG_MUL, a, b);
    case 4:
        return make_binary(p, TG_QUO, a, make_int(p, INDEX, 1 + roll_below(p, 8)));
    case 5:
        return make_binary(p, TG_MOD, a, make_int(p, INDEX, 1 + roll_below(p, 8)));
    default:
        return make_binary(p, chance(p, 50) ? TG_MIN_OF : TG_MAX_OF, a, b);
    }
}

gexpr *random_index(program *p, const scope *s, int size, int depth) {
    const int64_t n = size_value(p, size);
    gexpr *x = random_any_index(p, s, depth);
    if (x->lo >= 0 && x->hi < n && x->kind != X_INT) {
        return x;
    }
    x = bring_into(p, x, -FAR, FAR);
    gexpr *limit = make_size(p, size);
    if (x->type != INDEX) {
        x = make_binary(p, TG_ADD, x, make_int(p, INDEX, 0));
    }
    if (x->lo < 0) {
        x = make_binary(p, TG_ADD, make_binary(p, TG_MOD, x, limit), limit);
    }
    x = make_binary(p, TG_MOD, x, limit);
    x->lo = 0;
    return x;
}

/* A literal of a type. */
static gexpr *random_literal(program *p, int64_t type) {
    if (type_real(type)) {
        return make_real(p, type, small_real(p));
    }
    if (type == TG_BOOL) {
        return make_int(p, type, roll_below(p, 2));
    }
    if (type == INDEX || chance(p, 70)) {
        const int64_t i = roll_below(p, 12) - (type_signs(type) ? 4 : 0);
        return make_int(p, type, i);
    }
    const int64_t any = cell_from_bits(type, roll(p)).i;
    return make_int(p, type, type == TG_U64 ? any & INT64_MAX : any);
}

static gexpr *random_leaf(program *p, const scope *s, int64_t type) {
    gexpr *v = chance(p, 50) ? pick_variable(p, s, type) : NULL;
    const int b = v || type == INDEX ? NONE : pick_buffer(p, s, type);
    if (v) {
        return v;
    }
    if (b != NONE && chance(p, 75)) {
        return random_load(p, s, b, 1);
    }
    if (type_whole(type) && type != INDEX && chance(p, 50)) {
        return make_cast(p, type, random_any_index(p, s, 1));
    }
    if (type_real(type) && chance(p, 40)) {
        return limit_real(p, make_cast(p, type, bring_into(p, random_any_index(p, s, 1), -1000, 1000)),
                          real_limit(type));
    }
    return random_literal(p, type);
}

static tg_op random_comparison(program *p) {
    return (tg_op)(TG_EQ + roll_below(p, 6));
}

/* Drawn one after the other: C leaves open in which order arguments of a call are evaluated. */
static gexpr *random_pair(program *p, const scope *s, tg_op op, int64_t type, int depth) {
    gexpr *a = random_expr(p, s, type, depth);
    return make_binary(p, op, a, random_expr(p, s, type, depth));
}

gexpr *random_truth(program *p, const scope *s, int depth) {
    if (depth <= 0) {
        const tg_op op = random_comparison(p);
        gexpr *x = random_any_index(p, s, 1);
        return make_binary(p, op, x, make_int(p, INDEX, roll_below(p, 9)));
    }
    const int what = (int)roll_below(p, 10);
    if (what == 0) {
        return make_unary(p, TG_NEGATE, random_truth(p, s, depth - 1));
    }
    if (what < 3) {
        return random_pair(p, s, chance(p, 50) ? TG_BOTH : TG_EITHER, TG_BOOL, depth - 1);
    }
    if (what == 3) {
        return random_leaf(p, s, TG_BOOL);
    }
    const int64_t type = chance(p, 40) ? INDEX : random_type(p);
    if (type == TG_BOOL) {
        return random_pair(p, s, (tg_op)(TG_BIT_AND + roll_below(p, 3)), TG_BOOL, depth - 1);
    }
    return random_pair(p, s, random_comparison(p), type, depth - 1);
}

/* ---- integers -------------------------------------------------------------------------------------------- */

/* Signed 32- and 64-bit arithmetic must not overflow. */
static bool must_fit(int64_t type) {
    return type == TG_I32 || type == TG_I64 || type == INDEX;
}

static gexpr *fit(program *p, gexpr *x, int64_t most) {
    return must_fit(x->type) ? bring_into(p, x, -most, most) : x;
}

static gexpr *positive(program *p, const scope *s, int64_t type, int depth) {
    if (chance(p, 60)) {
        return make_int(p, type, 1 + roll_below(p, 9));
    }
    gexpr *x = make_binary(p, TG_BIT_AND, random_expr(p, s, type, depth), make_int(p, type, 7));
    return make_binary(p, TG_ADD, x, make_int(p, type, 1));
}

static gexpr *random_shift(program *p, const scope *s, int64_t type, int depth) {
    gexpr *x = random_expr(p, s, type, depth - 1);
    const int width = type_width(type);
    const int64_t by = chance(p, 50) ? INDEX : type;
    gexpr *n = make_int(p, by, roll_below(p, width));
    if (chance(p, 40)) {
        const int64_t other = chance(p, 50) ? type : TG_U8;
        n = make_binary(p, TG_BIT_AND, random_expr(p, s, other, depth - 1), make_int(p, other, width - 1));
    }
    return make_binary(p, chance(p, 50) ? TG_SHL : TG_SHR, x, n);
}

static int64_t real_of_width(program *p, int width) {
    return width == 16 ? (chance(p, 50) ? TG_F16 : TG_BF16) : width == 32 ? TG_F32 : TG_F64;
}

/* From a float, by value or by bits, or from another integer. */
static gexpr *random_conversion(program *p, const scope *s, int64_t type, int depth) {
    const int what = p->wild ? 3 : (int)roll_below(p, 4), width = type_width(type);
    if (what == 0 && width >= 16) {
        return make_bitcast(p, type, random_expr(p, s, real_of_width(p, width), depth - 1));
    }
    if (what == 1) {
        gexpr *x = random_expr(p, s, real_of_width(p, 16 << roll_below(p, 3)), depth - 1);
        x = limit_real(p, x, width == 8 ? 100.0 : real_limit(x->type));
        return make_cast(p, type, type_signs(type) ? x : make_unary(p, TG_ABS, x));
    }
    int64_t from = random_type(p);
    from = type_real(from) ? INDEX : from;
    return make_cast(p, type,
                     from == TG_BOOL ? random_truth(p, s, depth - 1) : random_expr(p, s, from, depth - 1));
}

static gexpr *random_integer(program *p, const scope *s, int64_t type, int depth) {
    const int what = (int)roll_below(p, 16);
    const int64_t half = type_most(type) / 2, root = type == INDEX || type == TG_I64 ? 1 << 20 : 30000;
    if (what < 3 && type == INDEX) {
        return random_any_index(p, s, depth);
    }
    if (what < 2) {
        return random_conversion(p, s, type, depth);
    }
    if (what == 2) {
        return random_shift(p, s, type, depth);
    }
    if (what == 3) {
        gexpr *x = fit(p, random_expr(p, s, type, depth - 1), type_most(type));
        return make_unary(p, (tg_op[]){TG_NEG, TG_ABS, TG_BIT_NOT}[roll_below(p, 3)], x);
    }
    gexpr *a = random_expr(p, s, type, depth - 1);
    if (what < 6) {
        return make_binary(p, what == 4 ? TG_QUO : TG_MOD, a, positive(p, s, type, depth - 1));
    }
    gexpr *b =
        chance(p, 30) ? literal_beside(p, a, random_literal(p, type)->i) : random_expr(p, s, type, depth - 1);
    if (what <= 10) {
        a = fit(p, a, what < 10 ? half : root);
        b = fit(p, b, what < 10 ? half : root);
        return make_binary(p, what < 8 ? TG_ADD : what < 10 ? TG_SUB : TG_MUL, a, b);
    }
    if (what < 13) {
        return make_binary(p, what == 11 ? TG_MIN_OF : TG_MAX_OF, a, b);
    }
    return make_binary(p, (tg_op)(TG_BIT_AND + roll_below(p, 3)), a, b);
}

/* ---- floats ---------------------------------------------------------------------------------------------- */

/* Bits of a number between 0 and 2. */
static gexpr *real_from_bits(program *p, const scope *s, int64_t type, int depth) {
    const int64_t mask = type == TG_F16    ? 0x3bff
                         : type == TG_BF16 ? 0x3f7f
                         : type == TG_F32  ? 0x3fffffff
                                           : 0x3fefffffffffffff;
    const int width = type_width(type);
    const int64_t from = width == 16 ? TG_U16 : width == 32 ? TG_U32 : TG_I64;
    gexpr *x = make_binary(p, TG_BIT_AND, random_expr(p, s, from, depth - 1), make_int(p, from, mask));
    gexpr *r = make_bitcast(p, type, x);
    r->most = 2.0;
    return r;
}

static gexpr *random_function(program *p, gexpr *x) {
    const int64_t type = x->type;
    switch (roll_below(p, 7)) {
    case 0:
        return make_unary(p, TG_NEG, x);
    case 1:
        return make_unary(p, TG_ABS, x);
    case 2:
        return make_unary(p, TG_SQRT, make_unary(p, TG_ABS, x));
    case 3:
        return make_unary(p, TG_EXP, limit_real(p, x, 4));
    case 4:
        return make_unary(p, TG_TANH, x);
    case 5:
        return make_unary(p, TG_LOG, make_binary(p, TG_MAX_OF, x, make_real(p, type, 0.5)));
    default:
        return make_unary(p, TG_RSQRT, make_binary(p, TG_MAX_OF, x, make_real(p, type, 0.5)));
    }
}

static gexpr *random_real(program *p, const scope *s, int64_t type, int depth) {
    const int what = (int)roll_below(p, 16);
    const double limit = real_limit(type);
    if (what < 3) {
        int64_t from = random_type(p);
        if (from == TG_BOOL) {
            return make_cast(p, type, random_truth(p, s, depth - 1));
        }
        gexpr *x = random_expr(p, s, from, depth - 1);
        x = type_real(from) ? limit_real(p, x, limit) : bring_into(p, x, type_signs(from) ? -2000 : 0, 2000);
        return make_cast(p, type, x);
    }
    if (what == 3) {
        return real_from_bits(p, s, type, depth);
    }
    gexpr *a = random_expr(p, s, type, depth - 1);
    if (what < 6) {
        return random_function(p, a);
    }
    if (what == 6) {
        gexpr *b = make_unary(p, TG_ABS, random_expr(p, s, type, depth - 1));
        gexpr *r = make_binary(p, TG_QUO, a, make_binary(p, TG_ADD, b, make_real(p, type, 1)));
        return r;
    }
    gexpr *b = random_expr(p, s, type, depth - 1);
    if (what < 14) {
        a = limit_real(p, a, what < 12 ? limit : 40);
        b = limit_real(p, b, what < 12 ? limit : 40);
        return make_binary(p, what < 10 ? TG_ADD : what < 12 ? TG_SUB : TG_MUL, a, b);
    }
    return make_binary(p, what == 14 ? TG_MIN_OF : TG_MAX_OF, a, b);
}

gexpr *random_expr(program *p, const scope *s, int64_t type, int depth) {
    if (type == TG_BOOL) {
        return random_truth(p, s, depth);
    }
    if (depth <= 0 || chance(p, 15)) {
        return random_leaf(p, s, type);
    }
    if (chance(p, 8)) {
        gexpr *c = random_truth(p, s, depth - 1), *a = random_expr(p, s, type, depth - 1);
        return make_choose(p, c, a, random_expr(p, s, type, depth - 1));
    }
    gexpr *x = type_real(type) ? random_real(p, s, type, depth) : random_integer(p, s, type, depth);
    return type == INDEX ? bring_into(p, x, -FAR, FAR) : x;
}

gexpr *random_summand(program *p, const scope *s, int64_t type, int64_t count, int depth) {
    const bool narrow = type_width(type) <= 16 && type_real(type);
    const int64_t whole = type == TG_BF16 ? 256 : narrow ? 2048 : 1 << 24;
    int64_t most = whole / count;
    most = most > 100 ? 100 : most;
    if (!type_real(type)) {
        gexpr *x = random_expr(p, s, type, depth);
        return must_fit(type) ? bring_into(p, x, -100, 100) : x;
    }
    gexpr *x = bring_into(p, random_expr(p, s, INDEX, depth), -most, most);
    return make_cast(p, type, x);
}
