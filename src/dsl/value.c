/* value.c -- what each operator does to typed values; see value.h.
 *
 * Integers are computed in 64 bits and then brought into their type: small types wrap, signed 32- and 64-bit
 * ones fault where the exact result does not fit.  Floats are computed in float (f16, bf16, f32) or double
 * (f64, TYPE_REAL) and rounded once. */
#include "dsl/value.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* ---- tables -------------------------------------------------------------------------------------------- */

typedef enum { BOOLEAN, SIGNED, UNSIGNED, FLOATING } type_class;

typedef struct {
    const char *name, *cuda;
    int bits;
    type_class class;
} type_row;

static const type_row rows[] = {
#define DTYPE(id, name, bits, class, cuda) {name, cuda, bits, class},
#include "dsl/dtypes.def"
#undef DTYPE
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static const type_row index_row = {"index", "long long", 64, SIGNED};
static const type_row real_row = {"float literal", "double", 64, FLOATING};

static const type_row *row_of(int64_t type) {
    if (type_is_element(type)) {
        return &rows[type - TG_BOOL];
    }
    return type == TYPE_INDEX ? &index_row : type == TYPE_REAL ? &real_row : NULL;
}

bool type_is_element(int64_t type) {
    return type >= TG_BOOL && type < (int64_t)TG_BOOL + ROWS;
}

int type_bits(int64_t type) {
    const type_row *row = row_of(type);
    return row ? row->bits : 0;
}

int type_bytes(int64_t type) {
    return type_bits(type) / 8;
}

const char *type_name(int64_t type) {
    const type_row *row = row_of(type);
    return row ? row->name : "no type";
}

const char *type_cuda(int64_t type) {
    const type_row *row = row_of(type);
    return row ? row->cuda : "void";
}

bool type_is_float(int64_t type) {
    const type_row *row = row_of(type);
    return row && row->class == FLOATING;
}

bool type_is_integer(int64_t type) {
    const type_row *row = row_of(type);
    return row && (row->class == SIGNED || row->class == UNSIGNED);
}

bool type_is_signed(int64_t type) {
    const type_row *row = row_of(type);
    return row && row->class == SIGNED;
}

int64_t type_min(int64_t type) {
    return type_is_signed(type) ? -1 - type_max(type) : 0;
}

int64_t type_max(int64_t type) {
    const type_row *row = row_of(type);
    const int bits = !row ? 0 : row->class == BOOLEAN ? 1 : row->bits - (row->class == SIGNED);
    return bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
}

const char *value_fault_text(value_fault fault) {
    switch (fault) {
    case FAULT_NONE:
        return "no fault";
    case FAULT_DIVISION_BY_ZERO:
        return "division by zero";
    case FAULT_OVERFLOW:
        return "integer overflow";
    case FAULT_CONVERSION:
        return "value out of the range of the type";
    case FAULT_SHIFT:
        return "shift count outside the width of the type";
    }
    return "unknown fault";
}

/* ---- bit patterns of floats ---------------------------------------------------------------------------- */

static uint32_t f32_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float f32_from(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t f64_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double f64_from(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A double that rounds to the same f16, bf16 or f32 as x would: a bit lost by `narrow` stays visible as the
 * lowest bit of the mantissa ("round to odd"), so that the second rounding sees no tie where there was none.
 */
static float f64_to_f32_odd(double x) {
    float near = (float)x;
    if (isnan(x) || (double)near == x) {
        return near;
    }
    uint32_t bits = f32_bits(near);
    if (fabs((double)near) > fabs(x)) { /* towards zero; from infinity: the largest finite */
        bits--;
    }
    return f32_from(bits | 1);
}

float f16_to_f32(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t magnitude = bits & 0x7fffu;
    if (magnitude > 0x7c00) {
        return f32_from(0x7fffffff);
    }
    if (magnitude == 0x7c00) {
        return f32_from(sign | 0x7f800000);
    }
    if (magnitude >= 0x0400) { /* 112: difference of the exponent biases, 127 - 15 */
        return f32_from(sign | ((magnitude << 13) + (112u << 23)));
    }
    float x = (float)magnitude * 0x1p-24f;
    return sign ? -x : x;
}

uint16_t f32_to_f16(float x) {
    uint32_t bits = f32_bits(x);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) {
        return 0x7fff;
    }
    if (magnitude >= 0x47800000) { /* 65536 and more; 65520 .. 65535 carry into infinity below */
        return (uint16_t)(sign | 0x7c00);
    }
    if (magnitude >= 0x38800000) { /* 2^-14: a normal f16 */
        uint32_t odd = magnitude >> 13 & 1;
        return (uint16_t)(sign | ((magnitude - (112u << 23) + 0xfff + odd) >> 13));
    }
    if (magnitude < 0x33000000) { /* below 2^-25 */
        return (uint16_t)sign;
    }
    uint32_t shift = 126 - (magnitude >> 23); /* 14 .. 24: from 2^-150 * mantissa units to units of 2^-24 */
    uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
    uint32_t kept = mantissa >> shift;
    uint32_t lost = mantissa & ((1u << shift) - 1);
    uint32_t half = 1u << (shift - 1);
    kept += lost > half || (lost == half && (kept & 1));
    return (uint16_t)(sign | kept);
}

uint16_t f64_to_f16(double x) {
    return f32_to_f16(f64_to_f32_odd(x));
}

float bf16_to_f32(uint16_t bits) {
    if ((bits & 0x7fff) > 0x7f80) {
        return f32_from(0x7fffffff);
    }
    return f32_from((uint32_t)bits << 16);
}

uint16_t f32_to_bf16(float x) {
    uint32_t bits = f32_bits(x);
    if ((bits & 0x7fffffff) > 0x7f800000) {
        return 0x7fff;
    }
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

uint16_t f64_to_bf16(double x) {
    return f32_to_bf16(f64_to_f32_odd(x));
}

/* ---- making and reading -------------------------------------------------------------------------------- */

static value from_f32(int64_t type, float x) {
    if (type == TG_F16) {
        return (value){type, f32_to_f16(x)};
    }
    if (type == TG_BF16) {
        return (value){type, f32_to_bf16(x)};
    }
    return (value){type, f32_bits(x)};
}

static float to_f32(value v) {
    if (v.type == TG_F16) {
        return f16_to_f32((uint16_t)v.bits);
    }
    if (v.type == TG_BF16) {
        return bf16_to_f32((uint16_t)v.bits);
    }
    return f32_from((uint32_t)v.bits);
}

static bool is_wide_float(int64_t type) {
    return type == TG_F64 || type == TYPE_REAL;
}

static value from_f64(int64_t type, double x) {
    if (is_wide_float(type)) {
        return (value){type, f64_bits(x)};
    }
    return type == TG_F32 ? (value){type, f32_bits((float)x)} : from_f32(type, f64_to_f32_odd(x));
}

static double to_f64(value v) {
    return is_wide_float(v.type) ? f64_from(v.bits) : (double)to_f32(v);
}

/* The low bits of x as an integer type or bool. */
static value from_int(int64_t type, uint64_t x) {
    int bits = type_bits(type);
    if (type == TG_BOOL) {
        return (value){type, x != 0};
    }
    return (value){type, bits == 64 ? x : x & (((uint64_t)1 << bits) - 1)};
}

/* An integer of 64 bits, negative or up to UINT64_MAX, into a float: one rounding.  f64 has 53 bits; for the
 * narrow types the bits beyond are folded into one, so that rounding twice is rounding once. */
static value int_to_float(int64_t type, uint64_t x, bool is_negative) {
    uint64_t magnitude = is_negative ? 0 - x : x;
    if (is_wide_float(type)) {
        double wide = (double)magnitude;
        return from_f64(type, is_negative ? -wide : wide);
    }
    if (magnitude >> 53) {
        magnitude = (magnitude & ~(uint64_t)0x7ff) | ((magnitude & 0x7ff) != 0 ? 0x800 : 0);
    }
    double exact = (double)magnitude;
    return from_f64(type, is_negative ? -exact : exact);
}

value value_int(int64_t type, int64_t x) {
    if (type == TYPE_INDEX) {
        return (value){TYPE_INDEX, (uint64_t)x};
    }
    return type_is_float(type) ? int_to_float(type, (uint64_t)x, x < 0) : from_int(type, (uint64_t)x);
}

value value_real(int64_t type, double x) {
    if (type_is_float(type)) {
        return from_f64(type, x);
    }
    value_fault ignored = FAULT_NONE;
    return value_cast((value){TYPE_REAL, f64_bits(x)}, type, &ignored);
}

int64_t value_as_int(value v) {
    if (type_is_float(v.type)) {
        value_fault ignored = FAULT_NONE;
        return (int64_t)value_cast(v, TG_I64, &ignored).bits;
    }
    int unused = 64 - type_bits(v.type);
    if (!type_is_signed(v.type) || unused == 0) {
        return (int64_t)v.bits;
    }
    uint64_t sign = (uint64_t)1 << (63 - unused);
    return (int64_t)((v.bits ^ sign) - sign);
}

double value_as_real(value v) {
    if (type_is_float(v.type)) {
        return to_f64(v);
    }
    return v.type == TG_U64 ? (double)v.bits : (double)value_as_int(v);
}

/* ---- conversions --------------------------------------------------------------------------------------- */

static void raise(value_fault *fault, value_fault which) {
    if (fault && *fault == FAULT_NONE) {
        *fault = which;
    }
}

/* Truncates; outside the type (NaN too) a fault, and then the nearest value of the type, 0 for NaN. */
static value float_to_int(double x, int64_t type, value_fault *fault) {
    bool is_signed = type_is_signed(type);
    int bits = type_bits(type) - is_signed;
    double end = ldexp(1.0, bits); /* the first integer beyond the type */
    double whole = trunc(x);
    if (whole < end && whole >= (is_signed ? -end : 0.0)) {
        return from_int(type, is_signed ? (uint64_t)(int64_t)whole : (uint64_t)whole);
    }
    raise(fault, FAULT_CONVERSION);
    if (isnan(x)) {
        return from_int(type, 0);
    }
    uint64_t least = is_signed ? (uint64_t)type_min(type) : 0;
    uint64_t most = type == TG_U64 ? UINT64_MAX : (uint64_t)type_max(type);
    return from_int(type, x < 0 ? least : most);
}

value value_cast(value v, int64_t type, value_fault *fault) {
    if (v.type == type) {
        return v;
    }
    if (type_is_float(v.type)) {
        if (type_is_float(type)) {
            return is_wide_float(v.type) ? from_f64(type, f64_from(v.bits))
                   : is_wide_float(type) ? from_f64(type, to_f64(v))
                                         : from_f32(type, to_f32(v));
        }
        double x = to_f64(v);
        return type == TG_BOOL ? (value){type, x != 0.0} : float_to_int(x, type, fault);
    }
    int64_t x = value_as_int(v);
    bool is_negative = x < 0 && v.type != TG_U64;
    if (type_is_float(type)) {
        return int_to_float(type, (uint64_t)x, is_negative);
    }
    if (v.type == TYPE_INDEX && type != TG_BOOL) { /* an index is an integer: it fits or it is a mistake */
        bool fits = x >= type_min(type) && x <= type_max(type);
        raise(fault, fits ? FAULT_NONE : FAULT_CONVERSION);
    } else if (type == TYPE_INDEX && v.type == TG_U64 && x < 0) {
        raise(fault, FAULT_CONVERSION);
    }
    return from_int(type, (uint64_t)x);
}

value value_bitcast(value v, int64_t type) {
    return (value){type, v.bits};
}

/* ---- operators on integers ----------------------------------------------------------------------------- */

/* Does overflow of this type wrap? */
static bool type_wraps(int64_t type) {
    return !type_is_signed(type) || type_bits(type) < 32;
}

/* The result of exact arithmetic: `low` are its low 64 bits, `beyond` tells that int64_t could not hold it.
 */
static value bring_in(int64_t type, uint64_t low, bool beyond, value_fault *fault) {
    value v = from_int(type, low);
    if (!type_wraps(type) && (beyond || value_as_int(v) != (int64_t)low)) {
        raise(fault, FAULT_OVERFLOW);
    }
    return v;
}

static bool multiply_overflows(int64_t a, int64_t b) {
#if defined __GNUC__
    int64_t product;
    return __builtin_mul_overflow(a, b, &product);
#else
    if (a == 0 || b == 0) {
        return false;
    }
    if (a == INT64_MIN || b == INT64_MIN) {
        return !(a == 1 || b == 1);
    }
    int64_t x = a < 0 ? -a : a, y = b < 0 ? -b : b;
    return x > INT64_MAX / y && !((a < 0) != (b < 0) && (uint64_t)x * (uint64_t)y == (uint64_t)1 << 63);
#endif
}

static value int_divide(tg_op op, value a, value b, value_fault *fault) {
    int64_t type = a.type;
    if (b.bits == 0) {
        raise(fault, FAULT_DIVISION_BY_ZERO);
        return from_int(type, 0);
    }
    if (!type_is_signed(type)) {
        return from_int(type, op == TG_QUO ? a.bits / b.bits : a.bits % b.bits);
    }
    int64_t x = value_as_int(a), y = value_as_int(b);
    if (y == -1) { /* the least value has no negative: in C this traps */
        return op == TG_QUO ? bring_in(type, 0 - (uint64_t)x, x == INT64_MIN, fault) : from_int(type, 0);
    }
    return from_int(type, (uint64_t)(op == TG_QUO ? x / y : x % y));
}

/* Bits fall out on the left without a fault, except of an index, which is a number and not bits. */
static value int_shift(tg_op op, value a, value b, value_fault *fault) {
    int bits = type_bits(a.type);
    int64_t count = value_as_int(b);
    if (count < 0 || count >= bits) {
        raise(fault, FAULT_SHIFT);
        return from_int(a.type, 0);
    }
    int64_t x = value_as_int(a);
    if (op == TG_SHL) {
        uint64_t shifted = (uint64_t)x << count;
        if (a.type == TYPE_INDEX && (int64_t)shifted >> count != x) {
            raise(fault, FAULT_OVERFLOW);
        }
        return from_int(a.type, shifted);
    }
    return from_int(a.type, type_is_signed(a.type) ? (uint64_t)(x >> count) : a.bits >> count);
}

static bool int_less(value a, value b) {
    return type_is_signed(a.type) ? value_as_int(a) < value_as_int(b) : a.bits < b.bits;
}

static value truth(bool x) {
    return (value){TG_BOOL, x};
}

static value int_binary(tg_op op, value a, value b, value_fault *fault) {
    int64_t type = a.type;
    uint64_t x = (uint64_t)value_as_int(a), y = (uint64_t)value_as_int(b);
    uint64_t r;
    switch (op) {
    case TG_ADD:
        r = x + y;
        return bring_in(type, r, ((x ^ r) & (y ^ r)) >> 63, fault);
    case TG_SUB:
        r = x - y;
        return bring_in(type, r, ((x ^ y) & (x ^ r)) >> 63, fault);
    case TG_MUL:
        return bring_in(type, x * y, multiply_overflows((int64_t)x, (int64_t)y), fault);
    case TG_QUO:
    case TG_MOD:
        return int_divide(op, a, b, fault);
    case TG_EQ:
        return truth(a.bits == b.bits);
    case TG_NE:
        return truth(a.bits != b.bits);
    case TG_LT:
        return truth(int_less(a, b));
    case TG_LE:
        return truth(!int_less(b, a));
    case TG_GT:
        return truth(int_less(b, a));
    case TG_GE:
        return truth(!int_less(a, b));
    case TG_BOTH:
    case TG_BIT_AND:
        return (value){type, a.bits & b.bits};
    case TG_EITHER:
    case TG_BIT_OR:
        return (value){type, a.bits | b.bits};
    case TG_BIT_XOR:
        return (value){type, a.bits ^ b.bits};
    case TG_SHL:
    case TG_SHR:
        return int_shift(op, a, b, fault);
    case TG_MIN_OF:
        return int_less(b, a) ? b : a;
    case TG_MAX_OF:
        return int_less(a, b) ? b : a;
    case TG_NEG:
    case TG_NEGATE:
    case TG_BIT_NOT:
    case TG_ABS:
    case TG_EXP:
    case TG_LOG:
    case TG_SQRT:
    case TG_RSQRT:
    case TG_TANH:
        break;
    }
    return a;
}

static value int_unary(tg_op op, value a, value_fault *fault) {
    int64_t x = value_as_int(a);
    switch (op) {
    case TG_NEG:
        return bring_in(a.type, 0 - (uint64_t)x, x == INT64_MIN, fault);
    case TG_ABS:
        if (x >= 0 || !type_is_signed(a.type)) {
            return a;
        }
        return bring_in(a.type, 0 - (uint64_t)x, x == INT64_MIN, fault);
    case TG_NEGATE:
        return truth(a.bits == 0);
    case TG_BIT_NOT:
        return a.type == TG_BOOL ? truth(a.bits == 0) : from_int(a.type, ~a.bits);
    default: /* the others take floats or two operands */
        return a;
    }
}

/* ---- operators on floats ------------------------------------------------------------------------------- */

/* NaN wins; of two zeros the negative one is less. */
static double real_min(double a, double b) {
    if (isnan(a) || isnan(b)) {
        return a + b;
    }
    return a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}

static double real_max(double a, double b) {
    if (isnan(a) || isnan(b)) {
        return a + b;
    }
    return a == b ? (signbit(a) ? b : a) : a < b ? b : a;
}

static bool real_compare(tg_op op, double a, double b) {
    switch (op) {
    case TG_EQ:
        return a == b;
    case TG_NE:
        return a != b;
    case TG_LT:
        return a < b;
    case TG_LE:
        return a <= b;
    case TG_GT:
        return a > b;
    default:
        return a >= b;
    }
}

static value float_binary(tg_op op, value a, value b) {
    bool wide = is_wide_float(a.type);
    if (op >= TG_EQ && op <= TG_GE) {
        return truth(real_compare(op, to_f64(a), to_f64(b)));
    }
    if (op == TG_MIN_OF || op == TG_MAX_OF) {
        double x = to_f64(a), y = to_f64(b);
        return from_f64(a.type, op == TG_MIN_OF ? real_min(x, y) : real_max(x, y));
    }
    if (wide) {
        double x = f64_from(a.bits), y = f64_from(b.bits);
        return from_f64(a.type, op == TG_ADD ? x + y : op == TG_SUB ? x - y : op == TG_MUL ? x * y : x / y);
    }
    float x = to_f32(a), y = to_f32(b);
    return from_f32(a.type, op == TG_ADD ? x + y : op == TG_SUB ? x - y : op == TG_MUL ? x * y : x / y);
}

static double wide_unary(tg_op op, double x) {
    switch (op) {
    case TG_EXP:
        return exp(x);
    case TG_LOG:
        return log(x);
    case TG_SQRT:
        return sqrt(x);
    case TG_RSQRT:
        return 1.0 / sqrt(x);
    case TG_TANH:
        return tanh(x);
    default:
        return x;
    }
}

static float narrow_unary(tg_op op, float x) {
    switch (op) {
    case TG_EXP:
        return expf(x);
    case TG_LOG:
        return logf(x);
    case TG_SQRT:
        return sqrtf(x);
    case TG_RSQRT:
        return (float)(1.0 / sqrt((double)x));
    case TG_TANH:
        return tanhf(x);
    default:
        return x;
    }
}

static value float_unary(tg_op op, value a) {
    if (op == TG_NEG || op == TG_ABS) { /* the sign bit, of NaN too */
        uint64_t sign = (uint64_t)1 << (type_bits(a.type) - 1);
        return (value){a.type, op == TG_NEG ? a.bits ^ sign : a.bits & ~sign};
    }
    if (is_wide_float(a.type)) {
        return from_f64(a.type, wide_unary(op, f64_from(a.bits)));
    }
    return from_f32(a.type, narrow_unary(op, to_f32(a)));
}

/* ---- public -------------------------------------------------------------------------------------------- */

value value_unary(tg_op op, value a, value_fault *fault) {
    return type_is_float(a.type) ? float_unary(op, a) : int_unary(op, a, fault);
}

/* Two indices, small enough that nothing leaves 64 bits; false where the general way must be taken.  Passes work
 * out offsets for every lane of a warp: nearly all that they ask is here. */
static bool small_index_binary(tg_op op, int64_t a, int64_t b, value *out) {
    enum { SMALL = INT32_MAX };
    if (a < -SMALL || a > SMALL || b < -SMALL || b > SMALL || ((op == TG_QUO || op == TG_MOD) && b == 0)) {
        return false;
    }
    switch ((int)op) {
    case TG_ADD:
        *out = (value){TYPE_INDEX, (uint64_t)(a + b)};
        return true;
    case TG_SUB:
        *out = (value){TYPE_INDEX, (uint64_t)(a - b)};
        return true;
    case TG_MUL:
        *out = (value){TYPE_INDEX, (uint64_t)(a * b)};
        return true;
    case TG_QUO:
        *out = (value){TYPE_INDEX, (uint64_t)(a / b)};
        return true;
    case TG_MOD:
        *out = (value){TYPE_INDEX, (uint64_t)(a % b)};
        return true;
    case TG_LT:
        *out = truth(a < b);
        return true;
    case TG_EQ:
        *out = truth(a == b);
        return true;
    default:
        return false;
    }
}

value value_binary(tg_op op, value a, value b, value_fault *fault) {
    value small;
    if (a.type == TYPE_INDEX && b.type == TYPE_INDEX &&
        small_index_binary(op, (int64_t)a.bits, (int64_t)b.bits, &small)) {
        return small;
    }
    return type_is_float(a.type) ? float_binary(op, a, b) : int_binary(op, a, b, fault);
}

tg_op reduction_op(tg_reduction r) {
    return r == TG_SUM ? TG_ADD : r == TG_MAX ? TG_MAX_OF : TG_MIN_OF;
}

value reduction_identity(tg_reduction r, int64_t type) {
    if (r == TG_SUM) {
        return value_int(type, 0);
    }
    if (type_is_float(type)) {
        return value_real(type, r == TG_MAX ? -(double)INFINITY : (double)INFINITY);
    }
    if (r == TG_MIN && type == TG_U64) {
        return (value){type, UINT64_MAX};
    }
    return value_int(type, r == TG_MAX ? type_min(type) : type_max(type));
}

const char *reduction_name(tg_reduction r) {
    return r == TG_SUM ? "SUM" : r == TG_MAX ? "MAX" : "MIN";
}
