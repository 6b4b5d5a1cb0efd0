/* value.h -- typed scalar values and what each operator does to them.
 *
 * The one definition of arithmetic: folding, the tile reference and the simulator's slow paths all use it.
 * A value is the bit pattern of its element type, so that views and bitcasts are exact.
 *
 *   integers  wrap on cast; signed 32- and 64-bit overflow, division by zero, shifts outside the width and
 *             float-to-integer out of range are faults (the result is then unspecified but defined);
 *             8- and 16-bit results wrap; shl drops bits on the left without a fault (an index keeps them or faults)
 *   index     a mathematical integer in 64 bits; overflow of 64 bits is a fault, and so is a cast to an integer
 *             type that cannot hold it (casts that users write go through i64 and wrap)
 *   floats    f16 and bf16 are computed in f32 and rounded once to their type; f32 in f32, f64 in f64 */
#ifndef DSL_VALUE_H
#define DSL_VALUE_H

#include <tegula/tegula.h>

/* Beside tg_dtype: the type of index expressions (axes, extents, integer literals: any integer), and of
 * floating literals that have not met a place or an operand yet. */
enum { TYPE_INDEX = 0x54470000, TYPE_REAL = 0x544700ff };

typedef struct value {
    int64_t type;
    uint64_t bits;
} value;

typedef enum value_fault {
    FAULT_NONE,
    FAULT_DIVISION_BY_ZERO,
    FAULT_OVERFLOW,
    FAULT_CONVERSION,
    FAULT_SHIFT
} value_fault;

/* "division by zero", .. */
const char *value_fault_text(value_fault fault);

/* Sizes, classes, names; TYPE_INDEX is a signed integer of 64 bits named "index". */
int type_bits(int64_t type);
int type_bytes(int64_t type);
const char *type_name(int64_t type);
const char *type_cuda(int64_t type);
bool type_is_element(int64_t type); /* one of tg_dtype */
bool type_is_float(int64_t type);   /* f16, bf16, f32, f64 (and TYPE_REAL) */
bool type_is_integer(int64_t type); /* signed or unsigned or index, not bool */
bool type_is_signed(int64_t type);
/* Smallest and largest value of an integer type or bool that int64_t can hold (u64: up to INT64_MAX). */
int64_t type_min(int64_t type);
int64_t type_max(int64_t type);

/* Conversions of bit patterns, round to nearest even; NaN stays NaN (quiet, 0x7fff as the hardware gives). */
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float x);
uint16_t f64_to_f16(double x);
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float x);
uint16_t f64_to_bf16(double x);

value value_int(int64_t type, int64_t x); /* wraps into an integer type; rounds into a float; != 0 for bool */
value value_real(int64_t type, double x); /* rounds once into a float type */
int64_t value_as_int(value v);            /* sign- or zero-extended; u64 by its bits; floats truncated */
double value_as_real(value v);            /* exact for every type but 64-bit integers (rounded) */
value value_cast(value v, int64_t type, value_fault *fault);
value value_bitcast(value v, int64_t type);
value value_unary(tg_op op, value a, value_fault *fault);
/* Operands of one type (shifts: any integer count).  Comparisons give bool. */
value value_binary(tg_op op, value a, value b, value_fault *fault);
/* The operator that a reduction combines by, and its identity. */
tg_op reduction_op(tg_reduction r);
value reduction_identity(tg_reduction r, int64_t type);
const char *reduction_name(tg_reduction r); /* "SUM", .. */

#endif
