/* Values: conversions of f16 and bf16 proved at every boundary, and each operator on each type against
 * another way of computing the same. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "dsl/value.h"

static const int64_t types[] = {TG_BOOL, TG_I8,  TG_U8,  TG_I16,  TG_U16, TG_I32, TG_U32,
                                TG_I64,  TG_U64, TG_F16, TG_BF16, TG_F32, TG_F64, TYPE_INDEX};
enum { TYPES = sizeof types / sizeof types[0] };

/* ---- f16 and bf16 -------------------------------------------------------------------------------------- */

/* The number that a pattern stands for, from the definition: sign, `e` bits of exponent, `m` of mantissa. */
static double meaning(unsigned bits, int e, int m) {
    double sign = bits >> (e + m) ? -1.0 : 1.0;
    int exponent = (int)(bits >> m & ((1u << e) - 1));
    double mantissa = (double)(bits & ((1u << m) - 1));
    int bias = (1 << (e - 1)) - 1;
    if (exponent == (1 << e) - 1) {
        return mantissa != 0 ? (double)NAN : sign * (double)INFINITY;
    }
    return exponent == 0 ? sign * ldexp(mantissa, 1 - bias - m)
                         : sign * ldexp(mantissa + ldexp(1.0, m), exponent - bias - m);
}

typedef struct {
    int e, m;
    unsigned infinity;
    float (*widen)(uint16_t);
    uint16_t (*from_f32)(float);
    uint16_t (*from_f64)(double);
} format;

static const format formats[] = {
    {5, 10, 0x7c00, f16_to_f32, f32_to_f16, f64_to_f16},
    {8, 7, 0x7f80, bf16_to_f32, f32_to_bf16, f64_to_bf16},
};

Test(value, every_half_widens_to_what_it_means) {
    for (int f = 0; f < 2; f++) {
        const format *t = &formats[f];
        for (unsigned bits = 0; bits < 0x10000; bits++) {
            double want = meaning(bits, t->e, t->m), got = (double)t->widen((uint16_t)bits);
            if (isnan(want)) {
                float nan = t->widen((uint16_t)bits);
                uint32_t pattern;
                memcpy(&pattern, &nan, 4);
                cr_assert_eq(pattern, 0x7fffffffu);
            } else {
                cr_assert(got == want && signbit(got) == signbit(want), "%04x gives %a, not %a", bits, got,
                          want);
                cr_assert_eq(t->from_f32((float)want), bits);
                cr_assert_eq(t->from_f64(want), bits);
            }
        }
    }
}

static void rounds_to(const format *t, double x, unsigned want) {
    unsigned got = t->from_f64(x);
    cr_assert_eq(got, want, "f64 %a gives %04x, not %04x", x, got, want);
    if ((double)(float)x == x) {
        got = t->from_f32((float)x);
        cr_assert_eq(got, want, "f32 %a gives %04x, not %04x", x, got, want);
    }
}

/* Rounding is monotonic, so what happens around each midpoint decides it for every number.  The midpoint is
 * exact in f32 (f16: also in its subnormals); its neighbours in f64 are nearer than any f32, which shows one
 * rounding. */
Test(value, rounding_is_to_nearest_even_around_every_midpoint) {
    for (int f = 0; f < 2; f++) {
        const format *t = &formats[f];
        unsigned minus = 0x8000;
        for (unsigned bits = 0; bits < t->infinity; bits++) {
            double low = meaning(bits, t->e, t->m);
            double high =
                bits + 1 == t->infinity ? ldexp(1.0, 1 << (t->e - 1)) : meaning(bits + 1, t->e, t->m);
            double middle = low + (high - low) / 2;
            unsigned even = bits & 1 ? bits + 1 : bits;
            rounds_to(t, middle, even);
            rounds_to(t, nextafter(middle, 0), bits);
            rounds_to(t, nextafter(middle, (double)INFINITY), bits + 1);
            rounds_to(t, (double)nextafterf((float)middle, 0), bits);
            rounds_to(t, (double)nextafterf((float)middle, INFINITY), bits + 1);
            rounds_to(t, -middle, even | minus);
            rounds_to(t, -nextafter(middle, 0), bits | minus);
            rounds_to(t, -nextafter(middle, (double)INFINITY), (bits + 1) | minus);
        }
        rounds_to(t, 1e300, t->infinity);
        rounds_to(t, -1e300, t->infinity | minus);
        rounds_to(t, 1e-300, 0);
        rounds_to(t, -1e-300, minus);
        rounds_to(t, (double)INFINITY, t->infinity);
        cr_assert_eq(t->from_f32(NAN), 0x7fff);
        cr_assert_eq(t->from_f64(-(double)NAN), 0x7fff);
    }
}

Test(value, integers_round_once_into_floats) {
    /* 2^62 + 2^54 + 1 lies just above the middle of two bf16 numbers; by way of f64 it would fall on it. */
    int64_t x = ((int64_t)1 << 62) + ((int64_t)1 << 54) + 1;
    cr_assert_eq(value_int(TG_BF16, x).bits, f32_to_bf16(0x1p62f) + 1);
    cr_assert_eq(value_int(TG_BF16, -x).bits, (f32_to_bf16(0x1p62f) + 1) | 0x8000);
    cr_assert_eq(value_int(TG_BF16, x - 1).bits, f32_to_bf16(0x1p62f));
    cr_assert_float_eq(value_as_real(value_int(TG_F32, x)), (double)(float)x, 0);
    value big = {TG_U64, UINT64_MAX};
    value_fault fault = FAULT_NONE;
    cr_assert_float_eq(value_as_real(value_cast(big, TG_F32, &fault)), 0x1p64, 0);
    cr_assert_float_eq(value_as_real(value_cast(big, TG_F64, &fault)), 0x1p64, 0);
    cr_assert_eq(value_cast(big, TG_F16, &fault).bits, 0x7c00);
    cr_assert_eq(value_int(TG_F16, 2049).bits, value_int(TG_F16, 2048).bits);
    cr_assert_eq(value_int(TG_F16, 65519).bits, 0x7bff);
    cr_assert_eq(value_int(TG_F16, 65520).bits, 0x7c00);
    for (int shift = 0; shift < 63; shift++) {
        for (int64_t around = -2; around <= 2; around++) {
            int64_t n = ((int64_t)1 << shift) + around;
            cr_assert_float_eq(value_as_real(value_int(TG_F32, n)), (double)(float)n, 0);
            cr_assert_float_eq(value_as_real(value_int(TG_F64, n)), (double)n, 0);
        }
    }
}

/* ---- types --------------------------------------------------------------------------------------------- */

Test(value, types_know_their_sizes_and_ranges) {
    static const int bits[] = {8, 8, 8, 16, 16, 32, 32, 64, 64, 16, 16, 32, 64, 64};
    static const char *const names[] = {"bool", "i8",  "u8",  "i16",  "u16", "i32", "u32",
                                        "i64",  "u64", "f16", "bf16", "f32", "f64", "index"};
    for (int i = 0; i < TYPES; i++) {
        cr_assert_eq(type_bits(types[i]), bits[i]);
        cr_assert_str_eq(type_name(types[i]), names[i]);
        if (types[i] != TYPE_INDEX) {
            cr_assert_eq(tg_bits(types[i]), bits[i]);
            cr_assert_str_eq(tg_dtype_name(types[i]), names[i]);
            cr_assert_eq(tg_dtype_named(names[i]), types[i]);
        }
    }
    cr_assert_eq(tg_bits(7), 0);
    cr_assert_eq(tg_bits(TYPE_INDEX), 0);
    cr_assert_null(tg_dtype_name(TYPE_INDEX));
    cr_assert_eq(tg_dtype_named("index"), 0);
    cr_assert_eq(tg_dtype_named(NULL), 0);
    cr_assert_eq(type_min(TG_I8), -128);
    cr_assert_eq(type_max(TG_I8), 127);
    cr_assert_eq(type_max(TG_U8), 255);
    cr_assert_eq(type_max(TG_BOOL), 1);
    cr_assert_eq(type_min(TG_I32), INT32_MIN);
    cr_assert_eq(type_max(TG_U32), UINT32_MAX);
    cr_assert_eq(type_min(TG_I64), INT64_MIN);
    cr_assert_eq(type_max(TG_U64), INT64_MAX);
    cr_assert_eq(type_min(TYPE_INDEX), INT64_MIN);
}

/* ---- integers ------------------------------------------------------------------------------------------ */

/* What fits a type of that many bits, by division and remainder of C's wide integers. */
static int64_t wrapped(int64_t x, int bits, bool is_signed) {
    int64_t modulus = (int64_t)1 << bits;
    int64_t r = ((x % modulus) + modulus) % modulus;
    return is_signed && r >= modulus / 2 ? r - modulus : r;
}

typedef struct {
    int64_t result;
    value_fault fault;
} outcome;

/* The outcome for operands of up to 32 bits, exact in 64. */
static outcome expect_int(tg_op op, int64_t a, int64_t b, int bits, bool is_signed) {
    int64_t r = 0;
    bool compares = false;
    switch (op) {
    case TG_ADD:
        r = a + b;
        break;
    case TG_SUB:
        r = a - b;
        break;
    case TG_MUL:
        r = (int64_t)((uint64_t)a * (uint64_t)b);
        break;
    case TG_QUO:
    case TG_MOD:
        if (b == 0)
            return (outcome){0, FAULT_DIVISION_BY_ZERO};
        r = op == TG_QUO ? a / b : a % b;
        break;
    case TG_EQ:
        r = a == b;
        compares = true;
        break;
    case TG_NE:
        r = a != b;
        compares = true;
        break;
    case TG_LT:
        r = a < b;
        compares = true;
        break;
    case TG_LE:
        r = a <= b;
        compares = true;
        break;
    case TG_GT:
        r = a > b;
        compares = true;
        break;
    case TG_GE:
        r = a >= b;
        compares = true;
        break;
    case TG_BIT_AND:
        r = a & b;
        break;
    case TG_BIT_OR:
        r = a | b;
        break;
    case TG_BIT_XOR:
        r = a ^ b;
        break;
    case TG_SHL:
    case TG_SHR:
        if (b < 0 || b >= bits)
            return (outcome){0, FAULT_SHIFT};
        r = op == TG_SHL ? (int64_t)((uint64_t)a << b) : a >> b;
        return (outcome){wrapped(r, bits, is_signed), FAULT_NONE};
    case TG_MIN_OF:
        r = a < b ? a : b;
        break;
    case TG_MAX_OF:
        r = a > b ? a : b;
        break;
    default:
        cr_assert_fail("no such row");
    }
    int64_t kept = compares ? r : wrapped(r, bits, is_signed);
    bool faults = is_signed && bits == 32 && kept != r;
    return (outcome){kept, faults ? FAULT_OVERFLOW : FAULT_NONE};
}

static const tg_op int_ops[] = {TG_ADD,    TG_SUB,     TG_MUL, TG_QUO, TG_MOD,    TG_EQ,
                                TG_NE,     TG_LT,      TG_LE,  TG_GT,  TG_GE,     TG_BIT_AND,
                                TG_BIT_OR, TG_BIT_XOR, TG_SHL, TG_SHR, TG_MIN_OF, TG_MAX_OF};
enum { INT_OPS = sizeof int_ops / sizeof int_ops[0] };

static void check_int(int64_t type, tg_op op, int64_t a, int64_t b) {
    outcome want = expect_int(op, a, b, type_bits(type), type_is_signed(type));
    value_fault fault = FAULT_NONE;
    value v = value_binary(op, value_int(type, a), value_int(type, b), &fault);
    cr_assert_eq(fault, want.fault, "%s: op %d on %lld, %lld: fault %d, not %d", type_name(type), op,
                 (long long)a, (long long)b, fault, want.fault);
    if (fault == FAULT_NONE) {
        cr_assert_eq(value_as_int(v), want.result, "%s: op %d on %lld, %lld gives %lld, not %lld",
                     type_name(type), op, (long long)a, (long long)b, (long long)value_as_int(v),
                     (long long)want.result);
    }
}

Test(value, every_operator_on_all_pairs_of_8_bits) {
    for (int i = 0; i < INT_OPS; i++) {
        for (int64_t a = 0; a < 256; a++) {
            for (int64_t b = 0; b < 256; b++) {
                check_int(TG_I8, int_ops[i], a - 128, b - 128);
                check_int(TG_U8, int_ops[i], a, b);
            }
        }
    }
}

Test(value, every_operator_at_the_edges_of_16_and_32_bits) {
    static const int64_t narrow[] = {TG_I16, TG_U16, TG_I32, TG_U32};
    for (int t = 0; t < 4; t++) {
        int64_t lo = type_min(narrow[t]), hi = type_max(narrow[t]);
        int64_t edges[] = {lo, lo + 1, lo / 2, -1, 0, 1, 2, 3, 15, 16, 31, 32, hi / 2, hi - 1, hi};
        for (int i = 0; i < INT_OPS; i++) {
            for (int x = 0; x < 15; x++) {
                for (int y = 0; y < 15; y++) {
                    int64_t a = edges[x] < lo ? 7 : edges[x], b = edges[y] < lo ? 5 : edges[y];
                    check_int(narrow[t], int_ops[i], a, b);
                }
            }
        }
    }
}

static value_fault fault_of(tg_op op, int64_t type, int64_t a, int64_t b) {
    value_fault fault = FAULT_NONE;
    value_binary(op, value_int(type, a), value_int(type, b), &fault);
    return fault;
}

static int64_t result_of(tg_op op, int64_t type, int64_t a, int64_t b) {
    value_fault fault = FAULT_NONE;
    value v = value_binary(op, value_int(type, a), value_int(type, b), &fault);
    cr_assert_eq(fault, FAULT_NONE);
    return value_as_int(v);
}

Test(value, sixty_four_bits_fault_or_wrap) {
    static const int64_t wide[] = {TG_I64, TYPE_INDEX};
    for (int t = 0; t < 2; t++) {
        cr_assert_eq(fault_of(TG_ADD, wide[t], INT64_MAX, 1), FAULT_OVERFLOW);
        cr_assert_eq(fault_of(TG_ADD, wide[t], INT64_MIN, -1), FAULT_OVERFLOW);
        cr_assert_eq(fault_of(TG_SUB, wide[t], INT64_MIN, 1), FAULT_OVERFLOW);
        cr_assert_eq(fault_of(TG_SUB, wide[t], 0, INT64_MIN), FAULT_OVERFLOW);
        cr_assert_eq(fault_of(TG_MUL, wide[t], INT64_MIN, -1), FAULT_OVERFLOW);
        cr_assert_eq(fault_of(TG_MUL, wide[t], (int64_t)1 << 32, (int64_t)1 << 31), FAULT_OVERFLOW);
        cr_assert_eq(fault_of(TG_QUO, wide[t], INT64_MIN, -1), FAULT_OVERFLOW);
        cr_assert_eq(fault_of(TG_MOD, wide[t], 1, 0), FAULT_DIVISION_BY_ZERO);
        cr_assert_eq(result_of(TG_MOD, wide[t], INT64_MIN, -1), 0);
        cr_assert_eq(result_of(TG_MUL, wide[t], -((int64_t)1 << 32), (int64_t)1 << 31), INT64_MIN);
        cr_assert_eq(result_of(TG_QUO, wide[t], -7, 2), -3);
        cr_assert_eq(result_of(TG_MOD, wide[t], -7, 2), -1);
        cr_assert_eq(result_of(TG_SHR, wide[t], -8, 1), -4);
    }
    cr_assert_eq(result_of(TG_SHL, TG_I64, 3, 63), INT64_MIN);
    cr_assert_eq(fault_of(TG_SHL, TYPE_INDEX, 3, 63), FAULT_OVERFLOW);
    cr_assert_eq(fault_of(TG_SHL, TG_I64, 1, 64), FAULT_SHIFT);
    cr_assert_eq(result_of(TG_ADD, TG_U64, -1, 2), 1);
    cr_assert_eq(result_of(TG_QUO, TG_U64, -1, 2), INT64_MAX);
    cr_assert_eq(result_of(TG_LT, TG_U64, -1, 2), 0);
    cr_assert_eq(result_of(TG_MAX_OF, TG_U64, -1, 2), -1);
    cr_assert_eq(result_of(TG_SHR, TG_U64, -1, 63), 1);
}

Test(value, unary_operators_on_integers) {
    for (int i = 0; i < TYPES; i++) {
        int64_t t = types[i];
        if (!type_is_integer(t)) {
            continue;
        }
        value_fault fault = FAULT_NONE;
        value low = value_int(t, type_min(t)), seven = value_int(t, 7);
        bool faults = type_is_signed(t) && type_bits(t) >= 32;
        value_unary(TG_NEG, low, &fault);
        cr_assert_eq(fault, faults ? FAULT_OVERFLOW : FAULT_NONE);
        fault = FAULT_NONE;
        value_unary(TG_ABS, low, &fault);
        cr_assert_eq(fault, faults ? FAULT_OVERFLOW : FAULT_NONE);
        fault = FAULT_NONE;
        cr_assert_eq(value_unary(TG_NEG, seven, &fault).bits, value_int(t, -7).bits);
        cr_assert_eq(value_unary(TG_BIT_NOT, seven, &fault).bits, value_int(t, -8).bits);
        cr_assert_eq(value_unary(TG_ABS, seven, &fault).bits, seven.bits);
        value minus = value_int(t, -7);
        cr_assert_eq(value_unary(TG_ABS, minus, &fault).bits, type_is_signed(t) ? seven.bits : minus.bits);
        cr_assert_eq(fault, FAULT_NONE);
    }
    value_fault fault = FAULT_NONE;
    value no = value_int(TG_BOOL, 0), yes = value_int(TG_BOOL, 5);
    cr_assert_eq(yes.bits, 1);
    for (int x = 0; x < 2; x++) {
        for (int y = 0; y < 2; y++) {
            value a = x ? yes : no, b = y ? yes : no;
            cr_assert_eq(value_binary(TG_BOTH, a, b, &fault).bits, x && y);
            cr_assert_eq(value_binary(TG_EITHER, a, b, &fault).bits, x || y);
            cr_assert_eq(value_binary(TG_BIT_AND, a, b, &fault).bits, x && y);
            cr_assert_eq(value_binary(TG_BIT_OR, a, b, &fault).bits, x || y);
            cr_assert_eq(value_binary(TG_BIT_XOR, a, b, &fault).bits, x != y);
            cr_assert_eq(value_binary(TG_EQ, a, b, &fault).bits, x == y);
        }
        cr_assert_eq(value_unary(TG_NEGATE, x ? yes : no, &fault).bits, !x);
        cr_assert_eq(value_unary(TG_BIT_NOT, x ? yes : no, &fault).bits, !x);
    }
}

/* ---- floats -------------------------------------------------------------------------------------------- */

static bool same_float(value a, value b) {
    return a.bits == b.bits || (isnan(value_as_real(a)) && isnan(value_as_real(b)));
}

/* f16 and bf16 operands are exact in f64, and so are their sums, differences and products; a quotient of
 * theirs is never so near a midpoint that rounding it to f64 first would matter. */
Test(value, floats_round_once) {
    static const int64_t narrow[] = {TG_F16, TG_BF16, TG_F32};
    uint64_t random = 1;
    for (int t = 0; t < 3; t++) {
        uint64_t mask = type_bits(narrow[t]) == 16 ? 0xffff : 0xffffffff;
        for (int i = 0; i < 300000; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            value a = {narrow[t], random >> 32 & mask}, b = {narrow[t], (random >> 16 ^ random >> 40) & mask};
            double x = value_as_real(a), y = value_as_real(b);
            value_fault fault = FAULT_NONE;
            if (narrow[t] == TG_F32) {
                float f = (float)x, g = (float)y;
                cr_assert(
                    same_float(value_binary(TG_ADD, a, b, &fault), value_real(TG_F32, (double)(f + g))));
                cr_assert(
                    same_float(value_binary(TG_MUL, a, b, &fault), value_real(TG_F32, (double)(f * g))));
                cr_assert(
                    same_float(value_binary(TG_QUO, a, b, &fault), value_real(TG_F32, (double)(f / g))));
            } else {
                cr_assert(same_float(value_binary(TG_ADD, a, b, &fault), value_real(narrow[t], x + y)));
                cr_assert(same_float(value_binary(TG_SUB, a, b, &fault), value_real(narrow[t], x - y)));
                cr_assert(same_float(value_binary(TG_MUL, a, b, &fault), value_real(narrow[t], x * y)));
                cr_assert(same_float(value_binary(TG_QUO, a, b, &fault), value_real(narrow[t], x / y)));
                cr_assert(same_float(value_unary(TG_SQRT, a, &fault), value_real(narrow[t], sqrt(x))));
            }
            cr_assert_eq(value_binary(TG_LT, a, b, &fault).bits, x < y);
            cr_assert_eq(value_binary(TG_GE, a, b, &fault).bits, x >= y);
            cr_assert_eq(value_binary(TG_EQ, a, b, &fault).bits, x == y);
            cr_assert_eq(value_binary(TG_NE, a, b, &fault).bits, x != y);
            cr_assert_eq(value_unary(TG_ABS, a, &fault).bits, a.bits & (mask >> 1));
            cr_assert_eq(fault, FAULT_NONE);
        }
    }
}

Test(value, nan_wins_and_negative_zero_is_less) {
    for (int i = 0; i < TYPES; i++) {
        int64_t t = types[i];
        if (!type_is_float(t)) {
            continue;
        }
        value_fault fault = FAULT_NONE;
        value nan = value_real(t, (double)NAN), one = value_real(t, 1), zero = value_real(t, 0.0);
        value minus = value_real(t, -0.0);
        cr_assert(isnan(value_as_real(value_binary(TG_MIN_OF, nan, one, &fault))));
        cr_assert(isnan(value_as_real(value_binary(TG_MIN_OF, one, nan, &fault))));
        cr_assert(isnan(value_as_real(value_binary(TG_MAX_OF, nan, one, &fault))));
        cr_assert(isnan(value_as_real(value_binary(TG_MAX_OF, one, nan, &fault))));
        cr_assert_eq(value_binary(TG_MIN_OF, zero, minus, &fault).bits, minus.bits);
        cr_assert_eq(value_binary(TG_MIN_OF, minus, zero, &fault).bits, minus.bits);
        cr_assert_eq(value_binary(TG_MAX_OF, zero, minus, &fault).bits, zero.bits);
        cr_assert_eq(value_binary(TG_MAX_OF, minus, zero, &fault).bits, zero.bits);
        cr_assert_eq(value_binary(TG_NE, nan, nan, &fault).bits, 1);
        cr_assert_eq(value_binary(TG_LE, nan, nan, &fault).bits, 0);
        cr_assert(isinf(value_as_real(value_binary(TG_QUO, one, zero, &fault))));
        cr_assert_eq(value_unary(TG_NEG, zero, &fault).bits, minus.bits);
        cr_assert_eq(fault, FAULT_NONE);
    }
}

Test(value, functions_of_floats) {
    static const tg_op ops[] = {TG_EXP, TG_LOG, TG_SQRT, TG_RSQRT, TG_TANH};
    for (int i = 0; i < TYPES; i++) {
        for (int o = 0; o < 5 && type_is_float(types[i]); o++) {
            for (double x = 0.25; x < 8; x += 0.25) {
                double want = ops[o] == TG_EXP    ? exp(x)
                              : ops[o] == TG_LOG  ? log(x)
                              : ops[o] == TG_SQRT ? sqrt(x)
                              : ops[o] == TG_TANH ? tanh(x)
                                                  : pow(x, -0.5);
                value_fault fault = FAULT_NONE;
                double got = value_as_real(value_unary(ops[o], value_real(types[i], x), &fault));
                double ulp = ldexp(1.0, types[i] == TG_F16    ? -10
                                        : types[i] == TG_BF16 ? -7
                                        : types[i] == TG_F32  ? -22
                                                              : -50);
                cr_assert(fabs(got - want) <= ulp * fmax(fabs(want), 0.01),
                          "%s: op %d of %g gives %.9g, not %.9g", type_name(types[i]), ops[o], x, got, want);
            }
        }
    }
}

/* ---- casts --------------------------------------------------------------------------------------------- */

Test(value, integers_wrap_as_in_c_and_an_index_must_fit) {
    value_fault fault = FAULT_NONE;
    cr_assert_eq(value_as_int(value_cast(value_int(TG_I32, 300), TG_U8, &fault)), 44);
    cr_assert_eq(value_as_int(value_cast(value_int(TG_I32, 200), TG_I8, &fault)), -56);
    cr_assert_eq(value_as_int(value_cast(value_int(TG_I32, -1), TG_U32, &fault)), UINT32_MAX);
    cr_assert_eq(value_as_int(value_cast(value_int(TG_U32, UINT32_MAX), TG_I32, &fault)), -1);
    cr_assert_eq(value_as_int(value_cast(value_int(TG_U8, 255), TYPE_INDEX, &fault)), 255);
    cr_assert_eq(value_as_int(value_cast(value_int(TG_I8, -1), TG_U64, &fault)), -1);
    cr_assert_eq(value_as_int(value_cast(value_int(TG_I32, 256), TG_BOOL, &fault)), 1);
    cr_assert_eq(value_as_int(value_cast(value_int(TYPE_INDEX, 256), TG_BOOL, &fault)), 1);
    cr_assert_eq(fault, FAULT_NONE);
    static const struct {
        int64_t type, x;
    } misfits[] = {
        {TG_U8, 256}, {TG_U8, -1}, {TG_I8, 128}, {TG_I32, INT32_MAX + 1LL}, {TG_U32, -1}, {TG_U64, -1},
    };
    for (size_t i = 0; i < sizeof misfits / sizeof misfits[0]; i++) {
        fault = FAULT_NONE;
        value_cast(value_int(TYPE_INDEX, misfits[i].x), misfits[i].type, &fault);
        cr_assert_eq(fault, FAULT_CONVERSION);
    }
    fault = FAULT_NONE;
    value_cast((value){TG_U64, UINT64_MAX}, TYPE_INDEX, &fault);
    cr_assert_eq(fault, FAULT_CONVERSION);
}

Test(value, floats_truncate_into_integers_or_fault) {
    for (int i = 0; i < TYPES; i++) {
        int64_t t = types[i];
        if (!type_is_integer(t)) {
            continue;
        }
        int bits = type_bits(t) - type_is_signed(t);
        double end = ldexp(1.0, bits), begin = type_is_signed(t) ? -end : 0.0;
        struct {
            double x;
            bool good;
            int64_t want;
        } rows[] = {
            {2.9, true, 2},
            {-0.9, true, 0},
            {end, false, 0},
            {nextafter(end, 0), true, 0},
            {begin, true, type_min(t)},
            {begin - 1, bits > 52, 0},
            {(double)NAN, false, 0},
            {(double)INFINITY, false, 0},
            {-(double)INFINITY, false, 0},
        };
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
            if (type_bits(t) == 64 && rows[r].x == begin - 1 && type_is_signed(t)) {
                continue; /* -2^63 - 1 is -2^63 in f64 */
            }
            value_fault fault = FAULT_NONE;
            value v = value_cast(value_real(TG_F64, rows[r].x), t, &fault);
            bool good = rows[r].good && !(rows[r].x == -1.0 && !type_is_signed(t));
            cr_assert_eq(fault, good ? FAULT_NONE : FAULT_CONVERSION, "%s from %g", type_name(t), rows[r].x);
            if (good && rows[r].want) {
                cr_assert_eq(value_as_int(v), rows[r].want);
            }
        }
    }
}

Test(value, every_integer_survives_the_way_through_a_wider_type) {
    for (int64_t x = -32768; x < 65536; x++) {
        for (int i = 0; i < TYPES; i++) {
            if (!type_is_integer(types[i]) || x < type_min(types[i]) || x > type_max(types[i])) {
                continue;
            }
            value_fault fault = FAULT_NONE;
            value v = value_int(types[i], x);
            cr_assert_eq(value_as_int(v), x);
            cr_assert_eq(value_cast(value_cast(v, TG_F64, &fault), types[i], &fault).bits, v.bits);
            cr_assert_eq(value_cast(value_cast(v, TG_F32, &fault), types[i], &fault).bits, v.bits);
            cr_assert_eq(fault, FAULT_NONE);
        }
    }
}

Test(value, reductions_begin_with_their_identity) {
    static const tg_reduction reductions[] = {TG_SUM, TG_MAX, TG_MIN};
    for (int r = 0; r < 3; r++) {
        for (int i = 0; i < TYPES; i++) {
            if (types[i] == TG_BOOL) {
                continue;
            }
            value id = reduction_identity(reductions[r], types[i]);
            int64_t samples[] = {0, 1, 7, -3, type_is_float(types[i]) ? -1000 : type_max(types[i])};
            for (int s = 0; s < 5; s++) {
                value_fault fault = FAULT_NONE;
                value x = value_int(types[i], samples[s]);
                value y = value_binary(reduction_op(reductions[r]), id, x, &fault);
                cr_assert_eq(y.bits, x.bits);
                cr_assert_eq(fault, FAULT_NONE);
            }
        }
    }
    cr_assert_str_eq(reduction_name(TG_MAX), "MAX");
}
