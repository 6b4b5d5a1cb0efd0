/* reference.h -- what the references of the gallery share: elements of any floating type as doubles.
 *
 * For a reference
 *
 *     void NAME_reference(const tg_config *config, void *const args[])
 *
 * which is given the arguments in the order in which the kernel declares them.  Nothing of this is part of a
 * kernel. */
#ifndef EXAMPLES_REFERENCE_H
#define EXAMPLES_REFERENCE_H

#include <math.h>
#include <string.h>
#include <tegula/tegula.h>

/* A parameter, tunable or extent. */
static inline int64_t value_of(const tg_config *config, const char *name) {
    int64_t value = 0;
    tg_config_get(config, name, &value);
    return value;
}

/* f16 has 5 bits of exponent and 10 of fraction, bf16 8 and 7. */
static inline int fraction_bits(int64_t dtype) {
    return dtype == TG_F16 ? 10 : 7;
}

static inline int exponent_bias(int64_t dtype) {
    return dtype == TG_F16 ? 15 : 127;
}

/* The bits, moved to where a float has them, are off by the difference of the two biases. */
static inline double half_to_double(uint16_t half, int64_t dtype) {
    const uint32_t magnitude = (half & 0x7fffu) << (23 - fraction_bits(dtype));
    const uint32_t infinity = (2u * (uint32_t)exponent_bias(dtype) + 1) << 23;
    float x;
    memcpy(&x, &magnitude, sizeof x);
    double y = (double)x * (dtype == TG_F16 ? 0x1p112 : 1);
    if (magnitude >= infinity) {
        y = magnitude > infinity ? (double)NAN : (double)INFINITY;
    }
    return half & 0x8000 ? -y : y;
}

/* Rounds to nearest, ties to even. */
static inline uint16_t double_to_half(double x, int64_t dtype) {
    const int fraction = fraction_bits(dtype), bias = exponent_bias(dtype);
    const unsigned sign = signbit(x) ? 0x8000 : 0;
    const unsigned infinity = (2u * (unsigned)bias + 1) << fraction;
    int exponent;
    if (isnan(x)) {
        return 0x7fff;
    }
    if (isinf(x)) {
        return (uint16_t)(sign | infinity);
    }
    frexp(x, &exponent);
    exponent = x == 0 || exponent - 1 < 1 - bias ? 1 - bias : exponent - 1; /* 0 counts as subnormal */
    /* Counted in units of the last place, a carry out of the fraction moves into the exponent by itself. */
    const double units = nearbyint(ldexp(fabs(x), fraction - exponent));
    const unsigned half = (unsigned)units + ((unsigned)(exponent + bias - 1) << fraction);
    return (uint16_t)(sign | (half < infinity ? half : infinity));
}

/* Element i of a tensor of f16, bf16, f32 or f64. */
static inline double element_of(const void *tensor, int64_t dtype, int64_t i) {
    return dtype == TG_F64   ? ((const double *)tensor)[i]
           : dtype == TG_F32 ? (double)((const float *)tensor)[i]
                             : half_to_double(((const uint16_t *)tensor)[i], dtype);
}

static inline void put_element(void *tensor, int64_t dtype, int64_t i, double x) {
    if (dtype == TG_F64) {
        ((double *)tensor)[i] = x;
    } else if (dtype == TG_F32) {
        ((float *)tensor)[i] = (float)x;
    } else {
        ((uint16_t *)tensor)[i] = double_to_half(x, dtype);
    }
}

#endif
