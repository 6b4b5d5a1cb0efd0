/* cuda_expr.c -- values and places as C++ text: no parenthesis, cast or suffix more than the meaning needs.
 *
 * Reads   expression nodes, whose ranges decide between int and long long.
 * Leaves  text that computes bit for bit what value.h says.
 *
 * Two questions rule this file.  How strongly must the text bind (levels are C's, from ops.def)?  And which type
 * does C give to it: integers narrower than int are computed as int and must be cast back; an index whose value
 * may leave 32 bits needs one operand of 64 bits, the leftmost one, before the arithmetic starts. */
#include "codegen/cuda_internal.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- operators ----------------------------------------------------------------------------------------- */

enum { LITERAL_SIZE = 40 };

typedef struct {
    const char *text;
    int operands, level;
} op_row;

static const op_row ops[] = {
#define OP(id, word, operands, accepts, text, level) [TG_##id] = {text, operands, level},
#include "dsl/ops.def"
#undef OP
};

static bool is_int32(int64_t lo, int64_t hi) {
    return lo >= INT32_MIN && hi <= INT32_MAX;
}

static bool is_half(int64_t type) {
    return type == TG_F16 || type == TG_BF16;
}

static bool is_small(int64_t type) {
    return type == TG_I8 || type == TG_U8 || type == TG_I16 || type == TG_U16;
}

/* ---- what type C gives --------------------------------------------------------------------------------- */

const char *cuda_var_type(const var *v) {
    return v->type == TYPE_INDEX ? (is_int32(v->lo, v->hi) ? "int" : "long long") : type_cuda(v->type);
}

/* An index that comes from a typed integer keeps its C type where that is signed; unsigned ones are cast. */
static int64_t index_cast_type(const node *x) {
    const int64_t from = cuda_type_of(x->arg[0]);
    if (from == TG_I64 || from == TG_U64) {
        return TG_I64;
    }
    return from == TG_U32 && !is_int32(x->lo, x->hi) ? TG_I64 : TG_I32;
}

static int64_t index_type_of(const node *x) {
    switch (x->kind) {
    case E_VAR:
        return is_int32(x->var->lo, x->var->hi) ? TG_I32 : TG_I64;
    case E_CAST:
        return index_cast_type(x);
    case E_OP:
        if (!is_int32(x->lo, x->hi) || cuda_type_of(x->arg[0]) == TG_I64) {
            return TG_I64;
        }
        return x->op != TG_SHL && x->op != TG_SHR && ops[x->op].operands == 2 ? cuda_type_of(x->arg[1])
                                                                              : TG_I32;
    case E_CHOOSE:
        return cuda_type_of(x->arg[1]) == TG_I64 ? TG_I64 : cuda_type_of(x->arg[2]);
    case E_POISON:
    case E_CONST:
    case E_LOAD:
    case E_BITCAST:
    case E_BUFFER:
    case E_REF:
    case E_REGION:
        break;
    }
    return is_int32(x->lo, x->hi) ? TG_I32 : TG_I64;
}

int64_t cuda_type_of(const node *x) {
    return x->type == TYPE_INDEX ? index_type_of(x) : x->type;
}

/* ---- literals ------------------------------------------------------------------------------------------ */

static bool reads_back(double x, bool is_float, int digits, char *s, size_t size) {
    return snprintf(s, size, "%.*g", digits, x) < (int)size &&
           x == (is_float ? (double)strtof(s, NULL) : strtod(s, NULL));
}

/* The shortest decimal that reads back as x; independent of the locale. */
static void shortest(double x, bool is_float, char s[LITERAL_SIZE]) {
    /* A normal number of so few digits shows them all, without zeros at the end. */
    const int all = is_float ? FLT_DIG : DBL_DIG;
    const bool is_normal = x == 0 || fabs(x) >= (is_float ? FLT_MIN : DBL_MIN);
    int few = is_normal ? all : 0, enough = is_float ? 9 : 17;
    if (is_normal && reads_back(x, is_float, all, s, LITERAL_SIZE)) {
        enough = all;
    } else {
        (void)reads_back(x, is_float, enough, s, LITERAL_SIZE);
    }
    while (enough - few > 1) {
        char fewer[LITERAL_SIZE];
        const int digits = (few + enough) / 2;
        if (reads_back(x, is_float, digits, fewer, sizeof fewer)) {
            enough = digits;
            memcpy(s, fewer, sizeof fewer);
        } else {
            few = digits;
        }
    }
    for (char *c = s; *c; c++) {
        if (!strchr("0123456789+-e", *c)) {
            *c = '.';
        }
    }
}

/* The same, looked for once. */
static const char *shortest_known(printer *p, double x, bool is_float) {
    cuda_real *r = p->reals;
    while (r && (r->x != x || r->is_float != is_float || signbit(r->x) != signbit(x))) {
        r = r->next;
    }
    if (!r) {
        char s[LITERAL_SIZE];
        shortest(x, is_float, s);
        r = ARENA_NEW(p->t->memory, cuda_real);
        *r = (cuda_real){x, is_float, arena_copy(p->t->memory, s), p->reals};
        p->reals = r;
    }
    return r->text;
}

static void real_literal(printer *p, double x, int64_t type) {
    const bool is_double = type == TG_F64 || type == TYPE_REAL;
    if (isnan(x) || isinf(x)) {
        cuda_use(p, PRELUDE_SPECIAL, isnan(x) ? TAG_NAN : TAG_INFINITY);
        text_print(&p->out->text, "%s%s%s", is_double ? "(double)" : "", !isnan(x) && x < 0 ? "-" : "",
                   isnan(x) ? "NAN" : "INFINITY");
        return;
    }
    const char *s = shortest_known(p, x, !is_double);
    const char *e = strchr(s, 'e');
    const int mantissa = e ? (int)(e - s) : (int)strlen(s);
    text_print(&p->out->text, "%.*s%s", mantissa, s, memchr(s, '.', (size_t)mantissa) || e ? "" : ".0");
    if (e) { /* 1e-05: without the signs and zeros that say nothing */
        text_print(&p->out->text, "e%d", atoi(e + 1));
    }
    text_add(&p->out->text, is_double ? "" : "f");
}

/* Bit patterns are easier to read in sixteens. */
static bool is_pattern(const node *x, int flags) {
    return (flags & EXPR_BITS) && x->ival > 255;
}

static void int_literal(printer *p, const node *x, int64_t type, int flags) {
    text *out = &p->out->text;
    const bool is_long = type == TG_I64, is_ulong = type == TG_U64;
    const bool plain = (flags & (EXPR_PLAIN | EXPR_ASSIGNED)) != 0 && !(flags & EXPR_LONG);
    if (is_ulong || type == TG_U32) {
        const uint64_t bits = is_ulong ? (uint64_t)x->ival : (uint32_t)x->ival;
        const bool fits = bits <= INT32_MAX;
        text_print(out, is_pattern(x, flags) ? "0x%" PRIx64 "%s" : "%" PRIu64 "%s", bits,
                   plain && fits ? ""
                   : is_ulong    ? "ULL"
                                 : "u");
    } else if (is_pattern(x, flags)) {
        text_print(out, "0x%" PRIx64 "%s", (uint64_t)x->ival, is_long && x->ival > INT32_MAX ? "LL" : "");
    } else if (x->ival == INT64_MIN) {
        text_add(out, "(-9223372036854775807LL - 1)");
    } else if (x->ival == INT32_MIN && !is_long) {
        text_add(out, "(-2147483647 - 1)");
    } else {
        text_add_int(out, x->ival);
        text_add(out, is_long && !(plain && is_int32(x->ival, x->ival)) ? "LL" : "");
    }
}

static void literal(printer *p, const node *x, int flags) {
    if (x->type == TG_BOOL) {
        text_add(&p->out->text, x->ival ? "true" : "false");
    } else if (is_half(x->type)) {
        cuda_use(p, x->type == TG_F16 ? PRELUDE_F16 : PRELUDE_BF16, TAG_NONE);
        text_print(&p->out->text, "(%s)", type_cuda(x->type));
        real_literal(p, x->fval, TG_F32);
    } else if (type_is_float(x->type)) {
        real_literal(p, x->fval, x->type);
    } else {
        const int64_t type = flags & EXPR_LONG ? TG_I64 : cuda_type_of(x);
        int_literal(p, x, type, flags);
    }
}

static bool literal_has_sign(const node *x) {
    return type_is_float(x->type) ? signbit(x->fval) != 0 : x->ival < 0 && x->type != TG_U64;
}

static int literal_level(const node *x) {
    if (is_half(x->type) || literal_has_sign(x)) {
        return LEVEL_UNARY;
    }
    return x->type == TG_F64 && !isfinite(x->fval) ? LEVEL_UNARY : LEVEL_CALL;
}

/* ---- places -------------------------------------------------------------------------------------------- */

bool cuda_layout_is_plain(const buffer *b) {
    return b->space != TG_GLOBAL;
}

int64_t cuda_extent(const buffer *b, int d) {
    return d == b->rank - 1 && b->layout.pitch > 0 && b->rank > 1 ? b->layout.pitch : b->dim[d];
}

static void ref_index(printer *p, const node *x, const char *lane) {
    text *out = &p->out->text;
    text_add(out, "[");
    if (lane && expr_is_int(x, 0)) {
        text_add(out, lane);
    } else {
        cuda_expr(p, x, lane ? ops[TG_ADD].level : LEVEL_NONE, 0);
        if (lane) {
            text_print(out, " + %s", lane);
        }
    }
    text_add(out, "]");
}

void cuda_ref(printer *p, const node *ref) {
    const buffer *b = ref->buffer;
    const char *lane = ref->lanes > 1 ? p->lane : NULL;
    text_add(&p->out->text, p->buffer_name[b->id]);
    cuda_note_place(p->out, ref, false);
    if (!cuda_layout_is_plain(b)) {
        ref_index(p, expr_offset(p->t->memory, ref), lane);
        return;
    }
    for (int d = 0; d < ref->n; d++) {
        ref_index(p, ref->arg[d], d == ref->n - 1 ? lane : NULL);
    }
}

/* ---- conversions --------------------------------------------------------------------------------------- */

static prelude_part half_part(int64_t type) {
    return type == TG_F16 ? PRELUDE_F16 : PRELUDE_BF16;
}

static void open_cast(printer *p, int64_t type) {
    text_print(&p->out->text, "(%s)", type_cuda(type));
}

/* Into f16 or bf16 with one rounding: from a float, or by a constructor of its own where float is too narrow. */
static void cast_to_half(printer *p, const node *x, int64_t type, int64_t from) {
    prelude_tag tag = TAG_NONE;
    switch (from) {
    case TG_F64:
    case TYPE_REAL:
        tag = TAG_DOUBLE;
        break;
    case TG_I32:
        tag = TAG_INT;
        break;
    case TG_U32:
        tag = TAG_UNSIGNED;
        break;
    case TG_I64:
        tag = TAG_LONG;
        break;
    case TG_U64:
        tag = TAG_ULONG;
        break;
    default:
        break;
    }
    const int64_t exact = (int64_t)1 << 24; /* integers that a float holds */
    if (tag != TAG_DOUBLE && tag != TAG_NONE && x->lo >= -exact && x->hi <= exact) {
        tag = TAG_NONE;
    }
    cuda_use(p, half_part(type), tag);
    open_cast(p, type);
    if (tag == TAG_NONE && from != TG_F32) {
        open_cast(p, TG_F32);
    }
    cuda_expr(p, x, LEVEL_UNARY, 0);
}

/* Would a cast to this index type say anything?  Signed types are numbers already. */
static int64_t cast_target(const node *x) {
    return x->type == TYPE_INDEX ? index_cast_type(x) : x->type;
}

static bool cast_is_silent(const node *x, int flags) {
    const int64_t from = cuda_type_of(x->arg[0]), to = cast_target(x);
    if (from == to) {
        return true;
    }
    if (x->type == TYPE_INDEX) {
        return is_small(from); /* promoted to int by C */
    }
    /* An index stored to an integer place: the language converts, and so does C. */
    return (flags & EXPR_ASSIGNED) && x->arg[0]->type == TYPE_INDEX && type_is_integer(to);
}

static void cast(printer *p, const node *x, int flags) {
    const node *y = x->arg[0];
    const int64_t from = cuda_type_of(y), to = cast_target(x);
    if (is_half(from)) {
        cuda_use(p, half_part(from), TAG_NONE);
    }
    if (is_half(to)) {
        cast_to_half(p, y, to, from);
        return;
    }
    open_cast(p, to);
    if (is_half(from) && to != TG_F32) {
        open_cast(p, TG_F32);
    }
    cuda_expr(p, y, LEVEL_UNARY, flags & EXPR_LONG);
}

/* Is the result computed as an int that may not fit the type? */
static bool wraps(const node *x) {
    switch (x->op) {
    case TG_ADD:
    case TG_SUB:
    case TG_MUL:
    case TG_QUO:
    case TG_NEG:
    case TG_BIT_NOT:
    case TG_SHL:
    case TG_ABS:
        return is_small(x->type);
    default:
        return false;
    }
}

/* Literals and operators give an int where their type is narrower, unless cast back. */
static bool is_int_in_c(const node *x) {
    return x->kind == E_CONST || x->kind == E_CHOOSE || (x->kind == E_OP && !wraps(x));
}

static void bitcast(printer *p, const node *x) {
    static const struct {
        int64_t from, to;
        const char *function;
    } known[] = {
        {TG_F32, TG_I32, "__float_as_int"},       {TG_F32, TG_U32, "__float_as_uint"},
        {TG_I32, TG_F32, "__int_as_float"},       {TG_U32, TG_F32, "__uint_as_float"},
        {TG_F64, TG_I64, "__double_as_longlong"}, {TG_I64, TG_F64, "__longlong_as_double"},
    };
    text *out = &p->out->text;
    const int64_t from = cuda_type_of(x->arg[0]);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].from == from && known[i].to == x->type) {
            text_print(out, "%s(", known[i].function);
            cuda_expr(p, x->arg[0], LEVEL_NONE, 0);
            text_add(out, ")");
            return;
        }
    }
    cuda_use(p, PRELUDE_BITS, TAG_NONE);
    for (int i = 0; i < 2; i++) {
        const int64_t type = i ? from : x->type;
        if (is_half(type)) {
            cuda_use(p, half_part(type), TAG_NONE);
        }
    }
    text_print(out, "bits_as<%s>(", type_cuda(x->type));
    const bool promoted = is_small(from) && is_int_in_c(x->arg[0]);
    if (promoted) {
        open_cast(p, from); /* C made an int of it */
    }
    cuda_expr(p, x->arg[0], promoted ? LEVEL_UNARY : LEVEL_NONE, 0);
    text_add(out, ")");
}

static bool bitcast_is_cast(const node *x) {
    const int64_t from = cuda_type_of(x->arg[0]);
    return type_is_integer(from) && type_is_integer(x->type);
}

/* ---- functions ----------------------------------------------------------------------------------------- */

static void call(printer *p, const char *function, const node *x, const node *y, int flags) {
    text_print(&p->out->text, "%s(", function);
    cuda_expr(p, x, LEVEL_NONE, flags);
    if (y) {
        text_add(&p->out->text, ", ");
        cuda_expr(p, y, LEVEL_NONE, flags);
    }
    text_add(&p->out->text, ")");
}

static void use_min_max(printer *p, int64_t type) {
    cuda_use(p, PRELUDE_MIN_MAX, type == TG_F64 ? TAG_DOUBLE : TAG_FLOAT);
    if (is_half(type)) {
        cuda_use(p, PRELUDE_MIN_MAX, TAG_HALF);
        cuda_use(p, half_part(type), TAG_NONE);
    }
}

/* Smaller or larger.  Both index operands in one width, else C++ finds the call ambiguous. */
static void extreme(printer *p, const node *x) {
    const bool is_min = x->op == TG_MIN_OF;
    if (type_is_float(x->type)) {
        use_min_max(p, x->type);
        call(p, is_min ? "min_nan" : "max_nan", x->arg[0], x->arg[1], 0);
    } else {
        call(p, is_min ? "min" : "max", x->arg[0], x->arg[1], cuda_type_of(x) == TG_I64 ? EXPR_LONG : 0);
    }
}

/* expf and its like; f16 and bf16 are computed in float. */
static void function_of_real(printer *p, const node *x) {
    static const char *const name[] = {[TG_EXP] = "exp",     [TG_LOG] = "log",   [TG_SQRT] = "sqrt",
                                       [TG_RSQRT] = "rsqrt", [TG_TANH] = "tanh", [TG_ABS] = "fabs"};
    text *out = &p->out->text;
    const bool half = is_half(x->type);
    if (half) {
        cuda_use(p, half_part(x->type), TAG_NONE);
        open_cast(p, x->type);
    }
    text_print(out, "%s%s(", name[x->op], x->type == TG_F64 || x->type == TYPE_REAL ? "" : "f");
    if (half) {
        open_cast(p, TG_F32);
    }
    cuda_expr(p, x->arg[0], half ? LEVEL_UNARY : LEVEL_NONE, 0);
    text_add(out, ")");
}

static void function(printer *p, const node *x, int level, int flags) {
    if (x->op == TG_MIN_OF || x->op == TG_MAX_OF) {
        extreme(p, x);
    } else if (type_is_float(x->type)) {
        function_of_real(p, x);
    } else if (!type_is_signed(x->type)) {
        cuda_expr(p, x->arg[0], level, flags); /* the absolute value of what has no sign */
    } else {
        call(p, "abs", x->arg[0], NULL, cuda_type_of(x) == TG_I64 ? EXPR_LONG : 0);
    }
}

/* ---- infix and prefix operators ------------------------------------------------------------------------ */

static void use_operator(printer *p, const node *x) {
    static const prelude_tag tag[] = {
        [TG_ADD] = TAG_ADD, [TG_SUB] = TAG_SUB, [TG_MUL] = TAG_MUL, [TG_QUO] = TAG_QUO,
        [TG_NEG] = TAG_NEG, [TG_EQ] = TAG_EQ,   [TG_NE] = TAG_NE,   [TG_LT] = TAG_LT,
        [TG_LE] = TAG_LE,   [TG_GT] = TAG_GT,   [TG_GE] = TAG_GE,
    };
    const int64_t type = x->arg[0]->type;
    if (is_half(type) && (size_t)x->op < sizeof tag / sizeof tag[0]) {
        cuda_use(p, type == TG_F16 ? PRELUDE_F16_OPERATORS : PRELUDE_BF16_OPERATORS, tag[x->op]);
    }
}

static bool is_bitwise(tg_op op) {
    return (op >= TG_BIT_AND && op <= TG_BIT_XOR) || op == TG_SHL || op == TG_SHR;
}

static bool is_comparison(tg_op op) {
    return op >= TG_EQ && op <= TG_GE;
}

/* How strongly an operand of x must bind.  Where readers, and compilers' warnings, do not trust precedence
 * (bits and shifts in arithmetic, comparisons of comparisons, "and" in "or") parentheses stand. */
static int operand_level(const node *x, const node *operand, bool is_right) {
    const int level = ops[x->op].level + is_right;
    if (operand->kind != E_OP || ops[operand->op].operands != 2 || ops[operand->op].level == LEVEL_CALL) {
        return level;
    }
    const bool is_shift = x->op == TG_SHL || x->op == TG_SHR;
    if (operand->op == x->op && !is_right && !is_shift) {
        return level;
    }
    if (is_bitwise(x->op) || is_bitwise(operand->op)) {
        return LEVEL_UNARY;
    }
    if (is_comparison(x->op) && is_comparison(operand->op)) {
        return LEVEL_UNARY;
    }
    return x->op == TG_EITHER && operand->op == TG_BOTH ? LEVEL_UNARY : level;
}

/* a + (b + c) of indices may be written a + b + c when no partial sum leaves its type. */
static bool sum_is_flat(const node *x, int64_t left_type) {
    const node *y = x->arg[1];
    if (x->type != TYPE_INDEX || x->op != TG_ADD || y->kind != E_OP || y->op != TG_ADD) {
        return false;
    }
    const bool grows = x->arg[0]->lo >= 0 && y->arg[0]->lo >= 0 && y->arg[1]->lo >= 0;
    return grows && (left_type == TG_I64 || cuda_type_of(x) == TG_I32);
}

/* Does the operand of an index operator have to be made 64 bits wide, and which one? */
static int widened_operand(const node *x, int flags) {
    const bool arithmetic = x->op == TG_ADD || x->op == TG_SUB || x->op == TG_MUL || x->op == TG_NEG;
    const bool is_shift = x->op == TG_SHL;
    if (x->type != TYPE_INDEX || !(arithmetic || is_shift)) {
        return -1;
    }
    if (cuda_type_of(x) != TG_I64 && !(flags & EXPR_LONG)) {
        return -1;
    }
    const bool two = ops[x->op].operands == 2;
    if (cuda_type_of(x->arg[0]) == TG_I64 || (two && !is_shift && cuda_type_of(x->arg[1]) == TG_I64)) {
        return -1;
    }
    return two && !is_shift && expr_is_const(x->arg[0]) ? 1 : 0;
}

/* Adding a negative constant is subtracting its opposite. */
static const node *negative_addend(printer *p, const node *x) {
    const node *y = x->arg[1];
    if (x->op != TG_ADD || y->kind != E_CONST || is_half(y->type) || !literal_has_sign(y)) {
        return NULL;
    }
    if (type_is_float(y->type) ? !isfinite(y->fval) || y->fval == 0 : y->ival <= INT32_MIN) {
        return NULL;
    }
    node *positive = ARENA_NEW(p->t->memory, node);
    *positive = *y;
    positive->ival = -y->ival;
    positive->fval = -y->fval;
    positive->lo = -y->hi;
    positive->hi = -y->lo;
    return positive;
}

static bool supplies_type(const node *x) {
    return !expr_is_const(x) && x->kind != E_CHOOSE;
}

static void infix(printer *p, const node *x, int flags) {
    const node *left = x->arg[0], *right = x->arg[1];
    const node *opposite = negative_addend(p, x);
    const int widened = widened_operand(x, flags);
    const bool is_shift = x->op == TG_SHL || x->op == TG_SHR;
    int left_flags = widened == 0 ? EXPR_LONG : 0, right_flags = widened == 1 ? EXPR_LONG : 0;
    if (!is_shift && supplies_type(right)) {
        left_flags |= EXPR_PLAIN;
    }
    if (is_shift || supplies_type(left)) {
        right_flags |= EXPR_PLAIN;
    }
    if (x->op >= TG_BIT_AND && x->op <= TG_BIT_XOR) {
        left_flags |= EXPR_BITS;
        right_flags |= EXPR_BITS;
    }
    if (x->op == TG_MUL && x->type == TG_U16) { /* int would overflow */
        text_add(&p->out->text, "(unsigned)");
        cuda_expr(p, left, LEVEL_UNARY, left_flags);
    } else {
        cuda_expr(p, left, operand_level(x, left, false), left_flags);
    }
    text_add(&p->out->text, " ");
    text_add(&p->out->text, opposite ? "-" : ops[x->op].text);
    text_add(&p->out->text, " ");
    const bool flat = sum_is_flat(x, widened == 0 ? TG_I64 : cuda_type_of(left));
    cuda_expr(p, opposite ? opposite : right, flat ? ops[x->op].level : operand_level(x, right, true),
              right_flags);
}

static void prefix(printer *p, const node *x, int flags) {
    const node *y = x->arg[0];
    const bool is_not = x->op == TG_BIT_NOT && x->type == TG_BOOL; /* of a truth value: the other one */
    const bool same = (y->kind == E_CONST && literal_has_sign(y)) || (y->kind == E_OP && y->op == x->op);
    text_add(&p->out->text, is_not ? "!" : ops[x->op].text);
    cuda_expr(p, y, same ? LEVEL_CALL : LEVEL_UNARY, widened_operand(x, flags) == 0 ? EXPR_LONG : 0);
}

/* How far x moves a word by a constant, in this direction; 0: it does not. */
static int64_t moved_by(const node *x, tg_op op) {
    const bool moves = x->kind == E_OP && x->op == op && x->type == TG_U32 && x->arg[0]->type == TG_U32 &&
                       x->arg[1]->kind == E_CONST;
    return moves && x->arg[1]->ival < 32 ? x->arg[1]->ival : 0;
}

/* low >> n | high << 32 - n: a word out of two, one instruction that CUDA has a function for. */
static bool is_funnel(const node *x) {
    const bool is_or = x->kind == E_OP && x->op == TG_BIT_OR && x->type == TG_U32;
    const int64_t n = is_or ? moved_by(x->arg[0], TG_SHR) : 0;
    return n > 0 && moved_by(x->arg[1], TG_SHL) == 32 - n;
}

static void funnel(printer *p, const node *x) {
    text *out = &p->out->text;
    text_add(out, "__funnelshift_r(");
    cuda_expr(p, x->arg[0]->arg[0], LEVEL_NONE, 0);
    text_add(out, ", ");
    cuda_expr(p, x->arg[1]->arg[0], LEVEL_NONE, 0);
    text_print(out, ", %lld)", (long long)x->arg[0]->arg[1]->ival);
}

static void operation(printer *p, const node *x, int level, int flags) {
    if (is_funnel(x)) {
        funnel(p, x);
        return;
    }
    if (ops[x->op].level == LEVEL_CALL) {
        function(p, x, level, flags);
        return;
    }
    use_operator(p, x);
    if (ops[x->op].operands == 1) {
        prefix(p, x, flags);
    } else {
        infix(p, x, flags);
    }
}

static void choice(printer *p, const node *x, int flags) {
    text *out = &p->out->text;
    const int plain = flags & EXPR_ASSIGNED ? EXPR_PLAIN : 0;
    cuda_expr(p, x->arg[0], LEVEL_CHOOSE + 1, 0);
    text_add(out, " ? ");
    cuda_expr(p, x->arg[1], LEVEL_CHOOSE + 1, plain | (flags & EXPR_LONG));
    text_add(out, " : ");
    cuda_expr(p, x->arg[2], LEVEL_CHOOSE, plain | (flags & EXPR_LONG));
}

/* ---- any value ----------------------------------------------------------------------------------------- */

/* Does x, to be computed in 64 bits, do so by a cast of its own (and not inside)? */
static bool is_widened_here(const node *x, int flags) {
    const int64_t type = cuda_type_of(x);
    if (!(flags & EXPR_LONG) || type == TG_I64 || type_is_float(type) || x->kind == E_CONST ||
        x->kind == E_CHOOSE) {
        return false;
    }
    return x->kind != E_OP || widened_operand(x, flags) < 0;
}

/* How strongly the text of x binds. */
static int level_of(const node *x, int flags) {
    switch (x->kind) {
    case E_CONST:
        return literal_level(x);
    case E_OP:
        if (is_funnel(x)) {
            return LEVEL_CALL;
        }
        if (wraps(x) && !(flags & EXPR_ASSIGNED)) {
            return LEVEL_UNARY;
        }
        if (ops[x->op].level == LEVEL_CALL) {
            return is_half(x->type) && x->op != TG_MIN_OF && x->op != TG_MAX_OF ? LEVEL_UNARY : LEVEL_CALL;
        }
        return ops[x->op].level;
    case E_CHOOSE:
        return LEVEL_CHOOSE;
    case E_CAST:
        return LEVEL_UNARY;
    case E_BITCAST:
        return bitcast_is_cast(x) ? LEVEL_UNARY : LEVEL_CALL;
    case E_POISON:
    case E_VAR:
    case E_LOAD:
    case E_BUFFER:
    case E_REF:
    case E_REGION:
        break;
    }
    return LEVEL_CALL;
}

static void bare(printer *p, const node *x, int level, int flags) {
    switch (x->kind) {
    case E_CONST:
        literal(p, x, flags);
        break;
    case E_VAR:
        text_add(&p->out->text, p->var_name[x->var->id]);
        break;
    case E_LOAD:
        cuda_ref(p, x->arg[0]);
        break;
    case E_OP:
        operation(p, x, level, flags);
        break;
    case E_CHOOSE:
        choice(p, x, flags);
        break;
    case E_CAST:
        cast(p, x, flags);
        break;
    case E_BITCAST:
        if (bitcast_is_cast(x)) {
            open_cast(p, x->type);
            cuda_expr(p, x->arg[0], LEVEL_UNARY, 0);
        } else {
            bitcast(p, x);
        }
        break;
    case E_REF:
        cuda_ref(p, x);
        break;
    case E_BUFFER:
        text_add(&p->out->text, p->buffer_name[x->buffer->id]);
        break;
    case E_POISON:
    case E_REGION:
        text_add(&p->out->text, "0"); /* a kernel with errors is not printed */
        break;
    }
}

static void bracketed(printer *p, const node *x, int level, int flags) {
    const bool parentheses = level_of(x, flags) < level;
    text_add(&p->out->text, parentheses ? "(" : "");
    bare(p, x, parentheses ? LEVEL_NONE : level, flags);
    text_add(&p->out->text, parentheses ? ")" : "");
}

void cuda_expr(printer *p, const node *x, int level, int flags) {
    if (x->kind == E_CAST && cast_is_silent(x, flags)) {
        cuda_expr(p, x->arg[0], level, flags);
    } else if (x->kind == E_BITCAST && cuda_type_of(x->arg[0]) == x->type) {
        cuda_expr(p, x->arg[0], level, flags);
    } else if (is_widened_here(x, flags)) {
        text_add(&p->out->text, "(long long)");
        bracketed(p, x, LEVEL_UNARY, flags & ~EXPR_LONG);
    } else if (x->kind == E_OP && wraps(x) && !(flags & EXPR_ASSIGNED)) {
        open_cast(p, x->type);
        bracketed(p, x, LEVEL_UNARY, EXPR_ASSIGNED);
    } else {
        bracketed(p, x, level, flags);
    }
}

void cuda_combine(printer *p, tg_reduction op, int64_t type, const char *x, const char *y) {
    text *out = &p->out->text;
    if (op == TG_SUM) {
        if (is_half(type)) {
            cuda_use(p, type == TG_F16 ? PRELUDE_F16_OPERATORS : PRELUDE_BF16_OPERATORS, TAG_ACCUMULATE);
        }
        text_print(out, "%s += %s", x, y);
        return;
    }
    const bool real = type_is_float(type);
    if (real) {
        use_min_max(p, type);
    }
    text_print(out, "%s = %s%s(%s, %s)", x, op == TG_MIN ? "min" : "max", real ? "_nan" : "", x, y);
}
