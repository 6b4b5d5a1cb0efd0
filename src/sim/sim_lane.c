/* sim_lane.c -- the lane kernels; see sim_lane.h.
 *
 * Reads and leaves registers only.  Every kernel is one loop without branches, so that compilers make vector
 * instructions of it (-O3); `doubt` gathers, over all lanes, whether dsl/value.h must be asked. */
#include "sim/sim_lane.h"

#include <string.h>

/* ---- floats as bits ------------------------------------------------------------------------------------ */

static inline uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A NaN stays some NaN. */
static inline float f16_in(uint32_t half) {
    const uint32_t magnitude = half & 0x7fff;
    const uint32_t small = bits_of((float)(int32_t)magnitude * 0x1p-24f);
    uint32_t bits = magnitude < 0x400 ? small : (magnitude << 13) + (112u << 23);
    bits = magnitude >= 0x7c00 ? bits | 0x7f800000 : bits;
    return float_of(bits | (half & 0x8000) << 16);
}

/* Not for NaN.  Below 2^-14 the addition of 0.5, whose last bit weighs 2^-24, does the rounding. */
static inline uint32_t f16_out(float x) {
    const uint32_t bits = bits_of(x), magnitude = bits & 0x7fffffff;
    const uint32_t normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    const uint32_t small = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000;
    uint32_t half = magnitude < 0x38800000 ? small : normal;
    half = magnitude >= 0x47800000 ? 0x7c00 : half;
    return half | (bits >> 16 & 0x8000);
}

static inline float bf16_in(uint32_t bits) {
    return float_of(bits << 16);
}

static inline uint32_t bf16_out(float x) {
    const uint32_t bits = bits_of(x);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/* ---- shapes of kernels --------------------------------------------------------------------------------- */

/* p and q: the operands, r: the result; `look` is true where dsl/value.h must decide. */
#define BINARY(name, in, to, expression, look)                                                             \
    static bool name(void *restrict out, const void *restrict first, const void *restrict second, int n) { \
        const in *restrict a = first, *restrict b = second;                                                \
        to *restrict o = out;                                                                              \
        uint32_t doubt = 0;                                                                                \
        for (int i = 0; i < n; i++) {                                                                      \
            const in p = a[i], q = b[i];                                                                   \
            const to r = (to)(expression);                                                                 \
            o[i] = r;                                                                                      \
            doubt |= (uint32_t)(look);                                                                     \
        }                                                                                                  \
        return doubt != 0;                                                                                 \
    }

#define UNARY(name, in, to, expression, look)                                                              \
    static bool name(void *restrict out, const void *restrict first, const void *restrict second, int n) { \
        (void)second;                                                                                      \
        const in *restrict a = first;                                                                      \
        to *restrict o = out;                                                                              \
        uint32_t doubt = 0;                                                                                \
        for (int i = 0; i < n; i++) {                                                                      \
            const in p = a[i];                                                                             \
            const to r = (to)(expression);                                                                 \
            o[i] = r;                                                                                      \
            doubt |= (uint32_t)(look);                                                                     \
        }                                                                                                  \
        return doubt != 0;                                                                                 \
    }

/* f16 and bf16: computed in float, rounded once. */
#define BINARY_HALF(name, half, expression)                                                                \
    static bool name(void *restrict out, const void *restrict first, const void *restrict second, int n) { \
        const uint32_t *restrict a = first, *restrict b = second;                                          \
        uint32_t *restrict o = out;                                                                        \
        uint32_t doubt = 0;                                                                                \
        for (int i = 0; i < n; i++) {                                                                      \
            const float p = half##_in(a[i]), q = half##_in(b[i]);                                          \
            const float r = expression;                                                                    \
            o[i] = half##_out(r);                                                                          \
            doubt |= (uint32_t)(r != r);                                                                   \
        }                                                                                                  \
        return doubt != 0;                                                                                 \
    }

#define COMPARISONS(suffix, in)                 \
    BINARY(eq_##suffix, in, int32_t, p == q, 0) \
    BINARY(ne_##suffix, in, int32_t, p != q, 0) \
    BINARY(lt_##suffix, in, int32_t, p < q, 0)  \
    BINARY(le_##suffix, in, int32_t, p <= q, 0) \
    BINARY(gt_##suffix, in, int32_t, p > q, 0)  \
    BINARY(ge_##suffix, in, int32_t, p >= q, 0)

#define COMPARISONS_HALF(half)                                            \
    BINARY(eq_##half, uint32_t, int32_t, half##_in(p) == half##_in(q), 0) \
    BINARY(ne_##half, uint32_t, int32_t, half##_in(p) != half##_in(q), 0) \
    BINARY(lt_##half, uint32_t, int32_t, half##_in(p) < half##_in(q), 0)  \
    BINARY(le_##half, uint32_t, int32_t, half##_in(p) <= half##_in(q), 0) \
    BINARY(gt_##half, uint32_t, int32_t, half##_in(p) > half##_in(q), 0)  \
    BINARY(ge_##half, uint32_t, int32_t, half##_in(p) >= half##_in(q), 0)

COMPARISONS(i32, int32_t)
COMPARISONS(u32, uint32_t)
COMPARISONS(i64, int64_t)
COMPARISONS(u64, uint64_t)
COMPARISONS(f32, float)
COMPARISONS(f64, double)
COMPARISONS_HALF(f16)
COMPARISONS_HALF(bf16)

/* ---- floats -------------------------------------------------------------------------------------------- */

/* Of equal operands (zeros of two signs) and of NaN value.h decides. */
#define FLOATS(suffix, in)                                         \
    BINARY(add_##suffix, in, in, p + q, r != r)                    \
    BINARY(sub_##suffix, in, in, p - q, r != r)                    \
    BINARY(mul_##suffix, in, in, p *q, r != r)                     \
    BINARY(quo_##suffix, in, in, p / q, r != r)                    \
    BINARY(min_##suffix, in, in, p < q ? p : q, !(p < q || p > q)) \
    BINARY(max_##suffix, in, in, p > q ? p : q, !(p < q || p > q)) \
    UNARY(neg_##suffix, in, in, -p, 0)

#define FLOATS_HALF(half)                                \
    BINARY_HALF(add_##half, half, p + q)                 \
    BINARY_HALF(sub_##half, half, p - q)                 \
    BINARY_HALF(mul_##half, half, p *q)                  \
    BINARY_HALF(quo_##half, half, p / q)                 \
    UNARY(neg_##half, uint32_t, uint32_t, p ^ 0x8000, 0) \
    UNARY(abs_##half, uint32_t, uint32_t, p & 0x7fff, 0)

FLOATS(f32, float)
FLOATS(f64, double)
FLOATS_HALF(f16)
FLOATS_HALF(bf16)
UNARY(abs_f32, float, float, float_of(bits_of(p) & 0x7fffffff), 0)

/* ---- integers ------------------------------------------------------------------------------------------ */

/* Results of 8 and 16 bits wrap: `narrow` is the type, unsigned arithmetic the way. */
#define SMALL(suffix, narrow)                                                      \
    BINARY(add_##suffix, int32_t, int32_t, (narrow)((uint32_t)p + (uint32_t)q), 0) \
    BINARY(sub_##suffix, int32_t, int32_t, (narrow)((uint32_t)p - (uint32_t)q), 0) \
    BINARY(mul_##suffix, int32_t, int32_t, (narrow)((uint32_t)p * (uint32_t)q), 0)

SMALL(i8, int8_t)
SMALL(u8, uint8_t)
SMALL(i16, int16_t)
SMALL(u16, uint16_t)

/* The sign bit of (p ^ r) & (q ^ r) tells that a sum left the type. */
BINARY(add_i32, int32_t, int32_t, (uint32_t)p + (uint32_t)q, (uint32_t)((p ^ r) & (q ^ r)) >> 31)
BINARY(sub_i32, int32_t, int32_t, (uint32_t)p - (uint32_t)q, (uint32_t)((p ^ q) & (p ^ r)) >> 31)
BINARY(mul_i32, int32_t, int32_t, (uint32_t)p *(uint32_t)q, (int64_t)p *q != r)
BINARY(add_i64, int64_t, int64_t, (uint64_t)p + (uint64_t)q, (uint64_t)((p ^ r) & (q ^ r)) >> 63)
BINARY(sub_i64, int64_t, int64_t, (uint64_t)p - (uint64_t)q, (uint64_t)((p ^ q) & (p ^ r)) >> 63)
/* Operands of 32 bits cannot overflow; of others value.h decides. */
BINARY(mul_i64, int64_t, int64_t, (uint64_t)p *(uint64_t)q,
       (((uint64_t)p + 0x80000000u) | ((uint64_t)q + 0x80000000u)) >> 32 != 0)
BINARY(add_u32, uint32_t, uint32_t, p + q, 0)
BINARY(sub_u32, uint32_t, uint32_t, p - q, 0)
BINARY(mul_u32, uint32_t, uint32_t, p *q, 0)
BINARY(add_u64, uint64_t, uint64_t, p + q, 0)
BINARY(sub_u64, uint64_t, uint64_t, p - q, 0)
BINARY(mul_u64, uint64_t, uint64_t, p *q, 0)

/* Division by 0 and by -1 (whose quotient may not fit) goes to value.h. */
#define DIVISION_SIGNED(suffix, in)                                                  \
    BINARY(quo_##suffix, in, in, p / (q == 0 || q == -1 ? 1 : q), q == 0 || q == -1) \
    BINARY(mod_##suffix, in, in, p % (q == 0 || q == -1 ? 1 : q), q == 0 || q == -1)
#define DIVISION_UNSIGNED(suffix, in)                          \
    BINARY(quo_##suffix, in, in, p / (q == 0 ? 1 : q), q == 0) \
    BINARY(mod_##suffix, in, in, p % (q == 0 ? 1 : q), q == 0)

DIVISION_SIGNED(i32, int32_t)
DIVISION_UNSIGNED(u32, uint32_t)
DIVISION_UNSIGNED(u64, uint64_t)

/* Processors divide 32 bits several times faster than 64. */
static bool divides_narrow(int64_t p, int64_t q) {
    return ((uint64_t)p | (uint64_t)q) >> 31 == 0 && q > 0;
}
BINARY(quo_i64, int64_t, int64_t,
       divides_narrow(p, q) ? (int64_t)((uint32_t)p / (uint32_t)q) : p / (q == 0 || q == -1 ? 1 : q),
       q == 0 || q == -1)
BINARY(mod_i64, int64_t, int64_t,
       divides_narrow(p, q) ? (int64_t)((uint32_t)p % (uint32_t)q) : p % (q == 0 || q == -1 ? 1 : q),
       q == 0 || q == -1)

#define BITS_AND_ORDER(suffix, in)                 \
    BINARY(and_##suffix, in, in, p &q, 0)          \
    BINARY(or_##suffix, in, in, p | q, 0)          \
    BINARY(xor_##suffix, in, in, p ^ q, 0)         \
    BINARY(min_##suffix, in, in, q < p ? q : p, 0) \
    BINARY(max_##suffix, in, in, p < q ? q : p, 0)

BITS_AND_ORDER(i32, int32_t)
BITS_AND_ORDER(u32, uint32_t)
BITS_AND_ORDER(i64, int64_t)
BITS_AND_ORDER(u64, uint64_t)

UNARY(neg_i32, int32_t, int32_t, 0u - (uint32_t)p, p == INT32_MIN)
UNARY(neg_i64, int64_t, int64_t, (uint64_t)0 - (uint64_t)p, p == INT64_MIN)
UNARY(not_signed, int32_t, int32_t, ~p, 0)
UNARY(not_u32, uint32_t, uint32_t, ~p, 0)
UNARY(not_i64, int64_t, int64_t, ~p, 0)
UNARY(negate, int32_t, int32_t, p == 0, 0)

/* The count has the width of the shifted value; outside it value.h reports. */
BINARY(shl_i32, int32_t, int32_t, (uint32_t)p << (q & 31), q<0 || q> 31)
BINARY(shr_i32, int32_t, int32_t, p >> (q & 31), q<0 || q> 31)
BINARY(shl_u32, uint32_t, uint32_t, p << (q & 31), q > 31)
BINARY(shr_u32, uint32_t, uint32_t, p >> (q & 31), q > 31)
BINARY(shl_i64, int64_t, int64_t, (uint64_t)p << (q & 63), q<0 || q> 63)
BINARY(shr_i64, int64_t, int64_t, p >> (q & 63), q<0 || q> 63)
BINARY(shl_u64, uint64_t, uint64_t, p << (q & 63), q > 63)
BINARY(shr_u64, uint64_t, uint64_t, p >> (q & 63), q > 63)

/* ---- conversions --------------------------------------------------------------------------------------- */

UNARY(copy_4, uint32_t, uint32_t, p, 0)
UNARY(copy_8, uint64_t, uint64_t, p, 0)
UNARY(f16_f32, uint32_t, float, f16_in(p), r != r)
UNARY(bf16_f32, uint32_t, float, bf16_in(p), r != r)
UNARY(f32_f16, float, uint32_t, f16_out(p), p != p)
UNARY(f32_bf16, float, uint32_t, bf16_out(p), p != p)
UNARY(f16_bf16, uint32_t, uint32_t, bf16_out(f16_in(p)), (p & 0x7fff) > 0x7c00)
UNARY(bf16_f16, uint32_t, uint32_t, f16_out(bf16_in(p)), (p & 0x7fff) > 0x7f80)
UNARY(f32_f64, float, double, p, p != p)
UNARY(f64_f32, double, float, p, p != p)
UNARY(i32_i64, int32_t, int64_t, p, 0)
UNARY(u32_i64, uint32_t, int64_t, p, 0)
UNARY(i64_i32, int64_t, int32_t, p, 0)
UNARY(index_i32, int64_t, int32_t, p, (int64_t)r != p)
UNARY(i32_f32, int32_t, float, p, 0)
UNARY(i32_f64, int32_t, double, p, 0)
UNARY(u32_f64, uint32_t, double, p, 0)
UNARY(i64_f32, int64_t, float, p, 0)
UNARY(i64_f64, int64_t, double, p, 0)
UNARY(to_i8, int32_t, int32_t, (int8_t)p, 0)
UNARY(to_u8, int32_t, int32_t, (uint8_t)p, 0)
UNARY(to_i16, int32_t, int32_t, (int16_t)p, 0)
UNARY(to_u16, int32_t, int32_t, (uint16_t)p, 0)
UNARY(to_bool_4, uint32_t, int32_t, p != 0, 0)
UNARY(to_bool_8, uint64_t, int32_t, p != 0, 0)
#define IN_I32(p) ((p) > -2147483649.0 && (p) < 2147483648.0)
UNARY(f32_i32, float, int32_t, IN_I32((double)p) ? (int32_t)p : 0, !IN_I32((double)p))
UNARY(f64_i32, double, int32_t, IN_I32(p) ? (int32_t)p : 0, !IN_I32(p))

/* ---- which kernel -------------------------------------------------------------------------------------- */

typedef enum { SET_I32, SET_U32, SET_I64, SET_U64, SET_F16, SET_BF16, SET_F32, SET_F64, SETS } lane_set_kind;

static lane_set_kind set_of(int64_t type) {
    switch (type) {
    case TG_U32:
        return SET_U32;
    case TG_I64:
    case TYPE_INDEX:
        return SET_I64;
    case TG_U64:
        return SET_U64;
    case TG_F16:
        return SET_F16;
    case TG_BF16:
        return SET_BF16;
    case TG_F32:
        return SET_F32;
    case TG_F64:
    case TYPE_REAL:
        return SET_F64;
    default: /* bool and the other integers of up to 32 bits */
        return SET_I32;
    }
}

#define EVERY_SET(name) \
    { name##_i32, name##_u32, name##_i64, name##_u64, name##_f16, name##_bf16, name##_f32, name##_f64 }
#define INTEGER_SETS(name) \
    { name##_i32, name##_u32, name##_i64, name##_u64, NULL, NULL, NULL, NULL }
#define NO_HALVES(name) \
    { name##_i32, name##_u32, name##_i64, name##_u64, NULL, NULL, name##_f32, name##_f64 }

static lane_kernel *const binary_table[][SETS] = {
    [TG_ADD] = EVERY_SET(add),        [TG_SUB] = EVERY_SET(sub),        [TG_MUL] = EVERY_SET(mul),
    [TG_QUO] = EVERY_SET(quo),        [TG_MOD] = INTEGER_SETS(mod),     [TG_EQ] = EVERY_SET(eq),
    [TG_NE] = EVERY_SET(ne),          [TG_LT] = EVERY_SET(lt),          [TG_LE] = EVERY_SET(le),
    [TG_GT] = EVERY_SET(gt),          [TG_GE] = EVERY_SET(ge),          [TG_BOTH] = INTEGER_SETS(and),
    [TG_EITHER] = INTEGER_SETS(or),   [TG_BIT_AND] = INTEGER_SETS(and), [TG_BIT_OR] = INTEGER_SETS(or),
    [TG_BIT_XOR] = INTEGER_SETS(xor), [TG_SHL] = INTEGER_SETS(shl),     [TG_SHR] = INTEGER_SETS(shr),
    [TG_MIN_OF] = NO_HALVES(min),     [TG_MAX_OF] = NO_HALVES(max),     [TG_TANH] = {NULL},
};

static bool is_small(int64_t type) {
    return type == TG_BOOL || (type_is_integer(type) && type_bits(type) < 32);
}

static lane_kernel *small_binary(tg_op op, int64_t type) {
    static lane_kernel *const table[][4] = {
        [TG_ADD] = {add_i8, add_u8, add_i16, add_u16},
        [TG_SUB] = {sub_i8, sub_u8, sub_i16, sub_u16},
        [TG_MUL] = {mul_i8, mul_u8, mul_i16, mul_u16},
    };
    return type >= TG_I8 && type <= TG_U16 ? table[op][type - TG_I8] : NULL;
}

lane_kernel *lane_binary(tg_op op, int64_t type) {
    if (is_small(type)) {
        if (op == TG_ADD || op == TG_SUB || op == TG_MUL) {
            return small_binary(op, type);
        }
        if (op == TG_QUO || op == TG_MOD || op == TG_SHL || op == TG_SHR) {
            return NULL; /* results may leave the type */
        }
    }
    return op == TG_SHL || op == TG_SHR ? lane_shift(op, type, type) : binary_table[op][set_of(type)];
}

/* A left shift of an index overflows like a product: value.h checks. */
lane_kernel *lane_shift(tg_op op, int64_t type, int64_t count_type) {
    const bool same_width = lane_bytes(type) == lane_bytes(count_type);
    if (!same_width || is_small(type) || (op == TG_SHL && type == TYPE_INDEX)) {
        return NULL;
    }
    return binary_table[op][set_of(type)];
}

lane_kernel *lane_unary(tg_op op, int64_t type) {
    static lane_kernel *const neg[SETS] = {neg_i32, NULL, neg_i64, NULL, neg_f16, neg_bf16, neg_f32, neg_f64};
    static lane_kernel *const inverse[SETS] = {not_signed, not_u32, not_i64, not_i64, NULL, NULL, NULL, NULL};
    static lane_kernel *const magnitude[SETS] = {NULL, NULL, NULL, NULL, abs_f16, abs_bf16, abs_f32, NULL};
    if (op == TG_NEGATE) {
        return negate;
    }
    if (op == TG_BIT_NOT && type != TG_BOOL && type != TG_U8 && type != TG_U16) {
        return inverse[set_of(type)];
    }
    if (op == TG_ABS) {
        return magnitude[set_of(type)];
    }
    return op == TG_NEG && !is_small(type) ? neg[set_of(type)] : NULL;
}

/* To an integer of up to 16 bits, or bool, from one of up to 32 bits. */
static lane_kernel *cast_small(int64_t to) {
    switch (to) {
    case TG_I8:
        return to_i8;
    case TG_U8:
        return to_u8;
    case TG_I16:
        return to_i16;
    case TG_U16:
        return to_u16;
    default:
        return NULL;
    }
}

static lane_kernel *cast_integer(int64_t from, int64_t to) {
    const int bytes = lane_bytes(from);
    if (to == TG_BOOL) {
        return bytes == 8 ? to_bool_8 : to_bool_4;
    }
    if (bytes == 4) {
        if (lane_bytes(to) == 8) {
            return from == TG_U32 ? u32_i64 : i32_i64;
        }
        return type_bits(to) == 32 ? copy_4 : cast_small(to);
    }
    if (lane_bytes(to) == 8) { /* index meets u64: the range is checked */
        const bool checked = from == TYPE_INDEX || to == TYPE_INDEX;
        return checked && (from == TG_U64 || to == TG_U64) ? NULL : copy_8;
    }
    if (from == TYPE_INDEX) {
        return to == TG_I32 ? index_i32 : NULL;
    }
    return type_bits(to) == 32 ? i64_i32 : NULL;
}

static lane_kernel *cast_to_float(lane_set_kind from, int64_t to) {
    const bool to_float = to == TG_F32;
    if (to == TG_F16 || to == TG_BF16) {
        return NULL;
    }
    switch (from) {
    case SET_I32:
        return to_float ? i32_f32 : i32_f64;
    case SET_U32:
        return to_float ? NULL : u32_f64;
    case SET_I64:
        return to_float ? i64_f32 : i64_f64;
    default:
        return NULL;
    }
}

static lane_kernel *cast_float(int64_t from, int64_t to) {
    if (from == TG_F16) {
        return to == TG_F32 ? f16_f32 : to == TG_BF16 ? f16_bf16 : NULL;
    }
    if (from == TG_BF16) {
        return to == TG_F32 ? bf16_f32 : to == TG_F16 ? bf16_f16 : NULL;
    }
    if (from == TG_F32) {
        return to == TG_F16    ? f32_f16
               : to == TG_BF16 ? f32_bf16
               : to == TG_F64  ? f32_f64
               : to == TG_I32  ? f32_i32
                               : NULL;
    }
    return to == TG_F32 ? f64_f32 : to == TG_I32 ? f64_i32 : NULL;
}

lane_kernel *lane_cast(int64_t from, int64_t to) {
    if (from == to) {
        return lane_bytes(to) == 8 ? copy_8 : copy_4;
    }
    if (type_is_float(from)) {
        return cast_float(from, to);
    }
    return type_is_float(to) ? cast_to_float(set_of(from), to) : cast_integer(from, to);
}

/* ---- single lanes -------------------------------------------------------------------------------------- */

int lane_bytes(int64_t type) {
    return type_bits(type) == 64 ? 8 : 4;
}

value lane_get(const void *reg, int lane, int64_t type) {
    if (lane_bytes(type) == 8) {
        uint64_t wide;
        memcpy(&wide, (const unsigned char *)reg + 8 * (size_t)lane, sizeof wide);
        return (value){type, wide};
    }
    uint32_t bits;
    memcpy(&bits, (const unsigned char *)reg + 4 * (size_t)lane, sizeof bits);
    return (value){type, bits & (UINT32_MAX >> (32 - type_bits(type)))};
}

void lane_set(void *reg, int lane, value v) {
    if (lane_bytes(v.type) == 8) {
        memcpy((unsigned char *)reg + 8 * (size_t)lane, &v.bits, sizeof v.bits);
        return;
    }
    const uint32_t bits = type_is_float(v.type) ? (uint32_t)v.bits : (uint32_t)value_as_int(v);
    memcpy((unsigned char *)reg + 4 * (size_t)lane, &bits, sizeof bits);
}

/* ---- moving -------------------------------------------------------------------------------------------- */

void lane_broadcast(void *restrict out, const void *restrict from, int bytes, int n) {
    if (bytes == 8) {
        uint64_t wide;
        memcpy(&wide, from, sizeof wide);
        for (int i = 0; i < n; i++) {
            memcpy((unsigned char *)out + 8 * (size_t)i, &wide, sizeof wide);
        }
        return;
    }
    uint32_t bits;
    memcpy(&bits, from, sizeof bits);
    for (int i = 0; i < n; i++) {
        memcpy((unsigned char *)out + 4 * (size_t)i, &bits, sizeof bits);
    }
}

void lane_select(void *restrict out, const void *restrict condition, const void *restrict a,
                 const void *restrict b, int bytes, int n) {
    const int32_t *restrict chosen = condition;
    if (bytes == 8) {
        const uint64_t *restrict x = a, *restrict y = b;
        uint64_t *restrict o = out;
        for (int i = 0; i < n; i++) {
            o[i] = chosen[i] ? x[i] : y[i];
        }
        return;
    }
    const uint32_t *restrict x = a, *restrict y = b;
    uint32_t *restrict o = out;
    for (int i = 0; i < n; i++) {
        o[i] = chosen[i] ? x[i] : y[i];
    }
}

uint64_t lane_truth(const void *condition, int n) {
    const int32_t *chosen = condition;
    uint64_t mask = 0;
    for (int i = 0; i < n; i++) {
        mask |= (uint64_t)(chosen[i] != 0) << i;
    }
    return mask;
}

uint64_t lane_above(const void *index, int64_t than, int n) {
    const int64_t *x = index;
    uint64_t mask = 0;
    for (int i = 0; i < n; i++) {
        mask |= (uint64_t)(x[i] > than) << i;
    }
    return mask;
}
