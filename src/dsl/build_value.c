/* build_value.c -- literals, conversions and operators of the builder; see build.h.
 *
 * Types meet here.  A host literal (TYPE_INDEX constant, TYPE_REAL) takes the type of its place or of the
 * other operand if that type can hold it; an index meets a typed integer by turning it into an index;
 * everything else of two types is a mistake whose message names the cast. */
#include <math.h>
#include <string.h>

#include "dsl/build.h"

typedef enum { NUMBER, WHOLE, REAL, TRUTH, BITS, ORDERED, EQUAL } accepted;

typedef struct {
    const char *word;
    int operands;
    accepted accepts;
} op_row;

static const op_row op_rows[] = {
    {"?", 0, NUMBER},
#define OP(id, word, operands, accepts, text, level) {word, operands, accepts},
#include "dsl/ops.def"
#undef OP
};

enum { OPS = sizeof op_rows / sizeof op_rows[0] };

static tg_expr poison(tg_kernel *k) {
    return (tg_expr){build_poison(k)};
}

node *build_bounded(tg_kernel *k, tg_loc at, node *x) {
    if (expr_size(x) <= BUILD_MAX_SIZE) {
        return x;
    }
    diag_error(&k->errors, at, "an expression of more than %d parts: name some of it with let",
               BUILD_MAX_SIZE);
    return build_poison(k);
}

/* ---- literals ------------------------------------------------------------------------------------------ */

static bool is_literal(const node *x) {
    return x->kind == E_CONST && (x->type == TYPE_INDEX || x->type == TYPE_REAL);
}

static bool integer_fits(int64_t type, int64_t x) {
    if (!type_is_float(type)) {
        return x >= type_min(type) && x <= type_max(type);
    }
    value_fault fault = FAULT_NONE;
    value back = value_cast(value_int(type, x), TG_I64, &fault);
    return fault == FAULT_NONE && value_as_int(back) == x;
}

static bool real_fits(int64_t type, double x) {
    if (type_is_float(type)) {
        return !isfinite(x) || isfinite(value_as_real(value_real(type, x)));
    }
    value_fault fault = FAULT_NONE;
    value_cast(value_real(TYPE_REAL, x), type, &fault);
    return fault == FAULT_NONE && trunc(x) == x && (type != TG_BOOL || x == 0 || x == 1);
}

/* The literal x in a type; NULL when that cannot hold it. */
static node *literal_as(tg_kernel *k, tg_loc at, int64_t type, const node *x) {
    if (x->type == TYPE_INDEX) {
        return integer_fits(type, x->ival) ? expr_const(&k->memory, at, value_int(type, x->ival)) : NULL;
    }
    return real_fits(type, x->fval) ? expr_const(&k->memory, at, value_real(type, x->fval)) : NULL;
}

/* Why a literal does not fit: an integer that a float type can only round could be meant as 2049.0. */
static void say_unfit(tg_kernel *k, tg_loc at, const char *place, int64_t type, const node *x) {
    const char *shown = expr_text(&k->memory, x);
    bool rounds = x->type == TYPE_INDEX && real_fits(type, (double)x->ival) && type_is_float(type);
    if (rounds) {
        diag_error(&k->errors, at, "%s does not fit %s exactly, which is %s: write %s.0 to round it", shown,
                   place, type_name(type), shown);
    } else {
        diag_error(&k->errors, at, "%s does not fit %s, which is %s%s", shown, place, type_name(type),
                   type == TG_BOOL ? ": 0 and 1 do" : "");
    }
}

node *build_settle(tg_kernel *k, tg_loc at, node *x) {
    if (x->type != TYPE_REAL) {
        return x;
    }
    node *settled = literal_as(k, at, TG_F32, x);
    if (!settled) {
        diag_error(&k->errors, at, "%s does not fit f32, which a literal without a place becomes",
                   expr_text(&k->memory, x));
        return build_poison(k);
    }
    return settled;
}

/* ---- conversions to a place ---------------------------------------------------------------------------- */

static node *index_to_place(tg_kernel *k, tg_loc at, const char *place, int64_t type, node *x) {
    if (x->hi < type_min(type) || x->lo > type_max(type)) {
        diag_error(&k->errors, at, "'%s' lies in %lld .. %lld but %s is %s", expr_text(&k->memory, x),
                   (long long)x->lo, (long long)x->hi, place, type_name(type));
        return NULL;
    }
    return expr_cast(&k->memory, at, type, x);
}

node *build_convert(tg_kernel *k, tg_loc at, const char *place, int64_t type, node *x) {
    if (x->type == type) {
        return x;
    }
    if (is_literal(x)) {
        node *fit = literal_as(k, at, type, x);
        if (!fit) {
            say_unfit(k, at, place, type, x);
        }
        return fit;
    }
    if (x->type == TYPE_INDEX && type_is_integer(type)) {
        return index_to_place(k, at, place, type, x);
    }
    if (type == TG_BOOL) {
        diag_error(&k->errors, at, "%s is bool but the value is %s: compare it, as in ne(x, 0)", place,
                   type_name(x->type));
        return NULL;
    }
    diag_error(&k->errors, at, "%s is %s but the value is %s: convert it, as in %s(x)", place,
               type_name(type), type_name(x->type), type_name(type));
    return NULL;
}

node *build_index(tg_kernel *k, tg_loc at, const char *what, node *x) {
    if (x->type == TYPE_INDEX) {
        return x;
    }
    if (x->type == TG_U64) {
        diag_error(&k->errors, at, "%s is u64, which an index cannot hold: convert it, as in i64(x)", what);
        return NULL;
    }
    if (!type_is_integer(x->type)) {
        const char *hint = x->type == TYPE_REAL ? "" : ": convert it, as in i32(x)";
        diag_error(&k->errors, at, "%s is %s; it must be an integer%s", what, type_name(x->type), hint);
        return NULL;
    }
    return expr_cast(&k->memory, at, TYPE_INDEX, x);
}

node *build_truth(tg_kernel *k, tg_loc at, const char *what, node *x) {
    if (x->type == TG_BOOL) {
        return x;
    }
    if (x->kind == E_CONST && x->type == TYPE_INDEX && (x->ival == 0 || x->ival == 1)) {
        return expr_const(&k->memory, at, value_int(TG_BOOL, x->ival)); /* a C comparison of host integers */
    }
    diag_error(&k->errors, at, "%s is %s; it must be bool: compare it, as in ne(x, 0)", what,
               type_name(x->type));
    return NULL;
}

/* ---- operands of one type ------------------------------------------------------------------------------ */

static bool say_mixed(tg_kernel *k, tg_loc at, const node *x, const node *y) {
    const node *wanted = type_is_float(x->type) ? x : y; /* suggest the cast that loses least */
    if (type_is_float(x->type) && type_is_float(y->type) && type_bits(y->type) > type_bits(x->type)) {
        wanted = y;
    } else if (!type_is_float(wanted->type) && type_bits(x->type) > type_bits(y->type)) {
        wanted = x;
    }
    bool is_bool = x->type == TG_BOOL || y->type == TG_BOOL;
    const char *to = type_is_element(wanted->type) && !is_bool ? type_name(wanted->type) : "i32";
    if (x->type == TYPE_REAL || y->type == TYPE_REAL) {
        to = "f32";
    }
    diag_error(&k->errors, at, "operands are %s and %s: convert one, as in %s(x)", type_name(x->type),
               type_name(y->type), to);
    return false;
}

static bool literal_meets(tg_kernel *k, tg_loc at, node **x, const node *y) {
    node *fit = literal_as(k, at, y->type, *x);
    if (!fit) {
        say_unfit(k, at, "the other operand", y->type, *x);
        return false;
    }
    *x = fit;
    return true;
}

/* An index and a typed integer: both are numbers. */
static bool index_meets(tg_kernel *k, tg_loc at, node **typed) {
    node *x = build_index(k, at, "an operand beside an index", *typed);
    if (x) {
        *typed = x;
    }
    return x != NULL;
}

/* Brings two operands to one type; false after a mistake. */
static bool unify(tg_kernel *k, tg_loc at, node **x, node **y) {
    int64_t a = (*x)->type, b = (*y)->type;
    if (a == b) {
        return true;
    }
    if (is_literal(*x) && (b != TYPE_INDEX || is_literal(*y)) && !(a == TYPE_REAL && b == TYPE_INDEX)) {
        return literal_meets(k, at, x, *y);
    }
    if (is_literal(*y) && (a != TYPE_INDEX || is_literal(*x))) {
        return literal_meets(k, at, y, *x);
    }
    if (a == TYPE_INDEX && type_is_integer(b)) {
        return index_meets(k, at, y);
    }
    if (b == TYPE_INDEX && type_is_integer(a)) {
        return index_meets(k, at, x);
    }
    return say_mixed(k, at, *x, *y);
}

/* ---- operators ----------------------------------------------------------------------------------------- */

static const char *accepted_text(accepted a) {
    switch (a) {
    case NUMBER:
    case ORDERED:
        return "numbers";
    case WHOLE:
        return "integers";
    case REAL:
        return "floats";
    case TRUTH:
        return "conditions (bool)";
    case BITS:
        return "integers or bool";
    case EQUAL:
        break;
    }
    return "numbers or bool";
}

static bool accepts(accepted a, int64_t type) {
    bool whole = type_is_integer(type), real = type_is_float(type);
    switch (a) {
    case NUMBER:
    case ORDERED:
        return whole || real;
    case WHOLE:
        return whole;
    case REAL:
        return real;
    case TRUTH:
        return type == TG_BOOL;
    case BITS:
        return whole || type == TG_BOOL;
    case EQUAL:
        break;
    }
    return whole || real || type == TG_BOOL;
}

static bool check_accepts(tg_kernel *k, tg_loc at, tg_op op, const node *x) {
    const op_row *row = &op_rows[op];
    if (accepts(row->accepts, x->type)) {
        return true;
    }
    const char *hint = row->accepts == REAL && type_is_integer(x->type) ? ": convert, as in f32(x)" : "";
    diag_error(&k->errors, at, "%s takes %s but the operand%s %s%s", row->word, accepted_text(row->accepts),
               row->operands == 2 ? "s are" : " is", type_name(x->type), hint);
    return false;
}

/* Constants that fault are mistakes now rather than when the kernel runs. */
static bool check_constants(tg_kernel *k, tg_loc at, tg_op op, const node *x, const node *y) {
    const char *word = op_rows[op].word;
    if ((op == TG_QUO || op == TG_MOD) && type_is_integer(y->type) && expr_is_int(y, 0)) {
        diag_error(&k->errors, at, "%s: division by zero", word);
        return false;
    }
    if (x->kind != E_CONST || (y && y->kind != E_CONST)) {
        return true;
    }
    value_fault fault = FAULT_NONE;
    if (y) {
        value_binary(op, expr_value(x), expr_value(y), &fault);
    } else {
        value_unary(op, expr_value(x), &fault);
    }
    if (fault != FAULT_NONE) {
        diag_error(&k->errors, at, "%s: %s of %s constants", word, value_fault_text(fault),
                   type_name(x->type));
    }
    return fault == FAULT_NONE;
}

static bool valid_op(tg_kernel *k, tg_loc at, tg_op op, int operands) {
    if ((int)op >= 1 && (int)op < OPS && op_rows[op].operands == operands) {
        return true;
    }
    diag_error(&k->errors, at, "%d is no operator on %d operand%s", (int)op, operands,
               operands == 1 ? "" : "s");
    return false;
}

static bool unify_truth(tg_kernel *k, tg_loc at, tg_op op, node **x, node **y) {
    const char *what = arena_print(&k->memory, "an operand of %s", op_rows[op].word);
    *x = build_truth(k, at, what, *x);
    if (*x && y) {
        *y = build_truth(k, at, what, *y);
    }
    return *x && (!y || *y);
}

/* The count may be of another integer type than what is shifted. */
static bool unify_shift(tg_kernel *k, tg_loc at, tg_op op, node **x, node **y) {
    const char *word = op_rows[op].word;
    if (is_literal(*x) && type_is_integer((*y)->type) && (*y)->type != TYPE_INDEX &&
        !literal_meets(k, at, x, *y)) {
        return false;
    }
    if (!type_is_integer((*y)->type)) {
        diag_error(&k->errors, at, "%s: the count is %s; it must be an integer", word, type_name((*y)->type));
        return false;
    }
    int width = type_bits((*x)->type);
    if ((*y)->kind == E_CONST && type_is_integer((*x)->type) && ((*y)->ival < 0 || (*y)->ival >= width)) {
        diag_error(&k->errors, at, "%s: the count is %s but %s has %d bits", word, expr_text(&k->memory, *y),
                   type_name((*x)->type), width);
        return false;
    }
    return true;
}

static bool unify_for(tg_kernel *k, tg_loc at, tg_op op, node **x, node **y) {
    if (op_rows[op].accepts == TRUTH) {
        return unify_truth(k, at, op, x, y);
    }
    return op == TG_SHL || op == TG_SHR ? unify_shift(k, at, op, x, y) : unify(k, at, x, y);
}

tg_expr tg_int(tg_kernel *k, tg_loc at, int64_t v) {
    return build_ready(k, at) ? (tg_expr){expr_int(&k->memory, at, v)} : poison(k);
}

tg_expr tg_float(tg_kernel *k, tg_loc at, double v) {
    return build_ready(k, at) ? (tg_expr){expr_const(&k->memory, at, value_real(TYPE_REAL, v))} : poison(k);
}

tg_expr tg_load(tg_kernel *k, tg_loc at, tg_ref ref) {
    if (!build_ready(k, at) || build_poisoned(ref.node)) {
        return poison(k);
    }
    return (tg_expr){expr_load(&k->memory, at, ref.node)};
}

tg_expr tg_unary(tg_kernel *k, tg_loc at, tg_op op, tg_expr a) {
    node *x = a.node;
    if (!build_ready(k, at) || build_poisoned(x) || !valid_op(k, at, op, 1)) {
        return poison(k);
    }
    if (op_rows[op].accepts == REAL && is_literal(x) && x->type == TYPE_INDEX) {
        x = expr_const(&k->memory, at, value_real(TYPE_REAL, (double)x->ival));
    }
    bool good = op_rows[op].accepts != TRUTH || unify_truth(k, at, op, &x, NULL);
    if (!good || !check_accepts(k, at, op, x) || !check_constants(k, at, op, x, NULL)) {
        return poison(k);
    }
    return (tg_expr){build_bounded(k, at, expr_unary(&k->memory, at, op, x))};
}

tg_expr tg_binary(tg_kernel *k, tg_loc at, tg_op op, tg_expr a, tg_expr b) {
    node *x = a.node, *y = b.node;
    if (!build_ready(k, at) || build_poisoned(x) || build_poisoned(y) || !valid_op(k, at, op, 2)) {
        return poison(k);
    }
    if (!unify_for(k, at, op, &x, &y) || !check_accepts(k, at, op, x) || !check_constants(k, at, op, x, y)) {
        return poison(k);
    }
    return (tg_expr){build_bounded(k, at, expr_binary(&k->memory, at, op, x, y))};
}

tg_expr tg_choose(tg_kernel *k, tg_loc at, tg_expr condition, tg_expr a, tg_expr b) {
    node *c = condition.node, *x = a.node, *y = b.node;
    if (!build_ready(k, at) || build_poisoned(c) || build_poisoned(x) || build_poisoned(y)) {
        return poison(k);
    }
    c = build_truth(k, at, "the condition of choose", c);
    if (!c || !unify(k, at, &x, &y)) {
        return poison(k);
    }
    x = build_settle(k, at, x);
    y = build_settle(k, at, y);
    return (tg_expr){build_bounded(k, at, expr_choose(&k->memory, at, c, x, y))};
}

/* ---- casts --------------------------------------------------------------------------------------------- */

/* What the user writes wraps as in C.  A cast node of an index checks instead, so where the index may lie
 * outside, it goes through i64, which holds every index. */
static node *cast_index(tg_kernel *k, tg_loc at, int64_t type, node *x) {
    if (type_is_integer(type) && x->kind == E_CONST) {
        return expr_const(&k->memory, at, value_int(type, x->ival));
    }
    bool fits = !type_is_integer(type) || (x->lo >= type_min(type) && x->hi <= type_max(type));
    node *through = fits ? x : expr_cast(&k->memory, at, TG_I64, x);
    return expr_cast(&k->memory, at, type, through);
}

tg_expr tg_cast(tg_kernel *k, tg_loc at, int64_t dtype, tg_expr a) {
    node *x = a.node;
    if (!build_ready(k, at) || build_poisoned(x)) {
        return poison(k);
    }
    if (!type_is_element(dtype)) {
        diag_error(&k->errors, at, "cast: %lld is no element type", (long long)dtype);
        return poison(k);
    }
    if (x->kind == E_CONST && type_is_float(x->type)) {
        value_fault fault = FAULT_NONE;
        value_cast(expr_value(x), dtype, &fault);
        if (fault != FAULT_NONE) {
            diag_error(&k->errors, at, "%s is out of the range of %s", expr_text(&k->memory, x),
                       type_name(dtype));
            return poison(k);
        }
    }
    node *r = x->type == TYPE_INDEX ? cast_index(k, at, dtype, x) : expr_cast(&k->memory, at, dtype, x);
    return (tg_expr){build_bounded(k, at, r)};
}

tg_expr tg_bitcast(tg_kernel *k, tg_loc at, int64_t dtype, tg_expr a) {
    node *x = a.node;
    if (!build_ready(k, at) || build_poisoned(x)) {
        return poison(k);
    }
    if (!type_is_element(dtype)) {
        diag_error(&k->errors, at, "bitcast: %lld is no element type", (long long)dtype);
        return poison(k);
    }
    x = build_settle(k, at, x);
    if (build_poisoned(x)) {
        return poison(k);
    }
    if (!type_is_element(x->type)) {
        diag_error(&k->errors, at,
                   "bitcast: '%s' is %s, which has no bits yet: convert it first, as in u32(x)",
                   expr_text(&k->memory, x), type_name(x->type));
        return poison(k);
    }
    if (dtype == TG_BOOL || x->type == TG_BOOL) {
        diag_error(&k->errors, at, "bitcast: bool has no bits to name: compare, as in ne(x, 0), or convert");
        return poison(k);
    }
    if (type_bits(dtype) != type_bits(x->type)) {
        diag_error(&k->errors, at, "bitcast: %s has %d bits but %s has %d", type_name(dtype),
                   type_bits(dtype), type_name(x->type), type_bits(x->type));
        return poison(k);
    }
    return (tg_expr){build_bounded(k, at, expr_bitcast(&k->memory, at, dtype, x))};
}
