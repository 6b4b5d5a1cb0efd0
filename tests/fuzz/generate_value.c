/* generate_value.c -- arithmetic on cells: what the language says of each operator, written a second time.
 *
 * Floats are doubles that hold a value of their type: each operation is made in double and rounded once, which for
 * + - * / of at most 24 bits is what the type's own arithmetic gives. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "generate.h"

/* ---- types ----------------------------------------------------------------------------------------------- */

bool type_real(int64_t type) {
    return type == TG_F16 || type == TG_BF16 || type == TG_F32 || type == TG_F64;
}

bool type_whole(int64_t type) {
    return !type_real(type) && type != TG_BOOL;
}

bool type_signs(int64_t type) {
    return type == INDEX || type == TG_I8 || type == TG_I16 || type == TG_I32 || type == TG_I64;
}

int type_width(int64_t type) {
    switch (type) {
    case TG_BOOL:
    case TG_I8:
    case TG_U8:
        return 8;
    case TG_I16:
    case TG_U16:
    case TG_F16:
    case TG_BF16:
        return 16;
    case TG_I32:
    case TG_U32:
    case TG_F32:
        return 32;
    default:
        return 64;
    }
}

int type_size(int64_t type) {
    return type_width(type) / 8;
}

int64_t type_least(int64_t type) {
    return type_signs(type) ? -(INT64_MAX >> (64 - type_width(type))) - 1 : 0;
}

int64_t type_most(int64_t type) {
    if (type == TG_BOOL) {
        return 1;
    }
    const int bits = type_width(type);
    return type_signs(type) || bits == 64 ? INT64_MAX >> (64 - bits) : (INT64_MAX >> (63 - bits));
}

/* ---- floats ---------------------------------------------------------------------------------------------- */

typedef struct format {
    int digits, least, most; /* bits of the fraction with the leading one; smallest and largest exponent */
} format;

static format format_of(int64_t type) {
    return type == TG_F16    ? (format){11, -14, 15}
           : type == TG_BF16 ? (format){8, -126, 127}
           : type == TG_F32  ? (format){24, -126, 127}
                             : (format){53, -1022, 1023};
}

double round_real(int64_t type, double x) {
    const format f = format_of(type);
    if (type == TG_F64 || x == 0 || !isfinite(x)) {
        return x;
    }
    int exponent = ilogb(x) < f.least ? f.least : ilogb(x);
    const double quantum = ldexp(1.0, exponent - f.digits + 1);
    const double y = nearbyint(x / quantum) * quantum;
    return fabs(y) >= ldexp(1.0, f.most + 1) ? copysign((double)INFINITY, x) : y;
}

static uint64_t real_bits(int64_t type, double x) {
    const format f = format_of(type);
    const int width = type_width(type), fraction = f.digits - 1;
    const uint64_t sign = (uint64_t)(signbit(x) != 0) << (width - 1);
    const uint64_t top = (((uint64_t)1 << (width - f.digits)) - 1) << fraction;
    if (isnan(x)) {
        return top | (((uint64_t)1 << fraction) - 1);
    }
    if (isinf(x)) {
        return sign | top;
    }
    if (x == 0) {
        return sign;
    }
    const double a = fabs(x);
    if (ilogb(a) < f.least) {
        return sign | (uint64_t)ldexp(a, fraction - f.least);
    }
    const int exponent = ilogb(a);
    const uint64_t digits = (uint64_t)ldexp(a, fraction - exponent) & (((uint64_t)1 << fraction) - 1);
    return sign | ((uint64_t)(exponent - f.least + 1) << fraction) | digits;
}

static double real_from_bits(int64_t type, uint64_t bits) {
    const format f = format_of(type);
    const int width = type_width(type), fraction = f.digits - 1;
    const uint64_t most = ((uint64_t)1 << (width - f.digits)) - 1;
    const uint64_t digits = bits & (((uint64_t)1 << fraction) - 1);
    const int exponent = (int)((bits >> fraction) & most);
    const double sign = (bits >> (width - 1)) & 1 ? -1.0 : 1.0;
    if ((uint64_t)exponent == most) {
        return digits ? (double)NAN : sign * (double)INFINITY;
    }
    if (exponent == 0) {
        return sign * ldexp((double)digits, f.least - fraction);
    }
    return sign * ldexp((double)(digits | ((uint64_t)1 << fraction)), exponent - 1 + f.least - fraction);
}

/* ---- bits ------------------------------------------------------------------------------------------------ */

/* The low bits of x as a value of an integer type. */
static int64_t wrap(int64_t type, uint64_t x) {
    const int bits = type_width(type);
    if (bits == 64) {
        return (int64_t)x;
    }
    x &= ((uint64_t)1 << bits) - 1;
    return type_signs(type) && x >> (bits - 1) ? (int64_t)x - ((int64_t)1 << bits) : (int64_t)x;
}

uint64_t cell_bits(int64_t type, cell a) {
    return type_real(type) ? real_bits(type, a.f) : (uint64_t)a.i;
}

cell cell_from_bits(int64_t type, uint64_t bits) {
    return type_real(type)   ? (cell){.f = real_from_bits(type, bits)}
           : type == TG_BOOL ? (cell){.i = (bits & 255) != 0}
                             : (cell){.i = wrap(type, bits)};
}

cell cell_load(int64_t type, const unsigned char *from) {
    uint64_t bits = 0;
    for (int i = 0; i < type_size(type); i++) {
        bits |= (uint64_t)from[i] << (8 * i);
    }
    return cell_from_bits(type, bits);
}

void cell_store(int64_t type, unsigned char *to, cell a) {
    const uint64_t bits = cell_bits(type, a);
    for (int i = 0; i < type_size(type); i++) {
        to[i] = (unsigned char)(bits >> (8 * i));
    }
}

/* ---- integers -------------------------------------------------------------------------------------------- */

__extension__ typedef __int128 exact;

/* Exact arithmetic has given `x` (in 128 bits): does the type hold it, or wrap it? */
static const char *settle(int64_t type, exact x, cell *to) {
    to->i = wrap(type, (uint64_t)x);
    const bool wraps = !type_signs(type) || type_width(type) < 32;
    return wraps || x == to->i ? NULL : "overflow";
}

/* The mathematical value. */
static exact number(int64_t type, int64_t x) {
    return type == TG_U64 ? (exact)(uint64_t)x : (exact)x;
}

static const char *shift(int64_t type, tg_op op, cell a, cell b, cell *to) {
    if (b.i < 0 || b.i >= type_width(type)) {
        return "shift outside the width";
    }
    if (op == TG_SHR) {
        to->i = wrap(type, (uint64_t)(number(type, a.i) >> b.i));
        return NULL;
    }
    to->i = wrap(type, (uint64_t)a.i << b.i);
    return type == INDEX && to->i >> b.i != a.i ? "overflow" : NULL;
}

static const char *whole_binary(int64_t type, tg_op op, cell a, cell b, cell *to) {
    const exact x = number(type, a.i), y = number(type, b.i);
    switch (op) {
    case TG_ADD:
        return settle(type, x + y, to);
    case TG_SUB:
        return settle(type, x - y, to);
    case TG_MUL:
        return settle(type, (type_signs(type) ? x * y : (exact)((uint64_t)a.i * (uint64_t)b.i)), to);
    case TG_QUO:
        return y == 0 ? "division by zero" : settle(type, x / y, to);
    case TG_MOD:
        return y == 0 ? "division by zero" : settle(type, x % y, to);
    case TG_EQ:
        to->i = x == y;
        return NULL;
    case TG_NE:
        to->i = x != y;
        return NULL;
    case TG_LT:
        to->i = x < y;
        return NULL;
    case TG_LE:
        to->i = x <= y;
        return NULL;
    case TG_GT:
        to->i = x > y;
        return NULL;
    case TG_GE:
        to->i = x >= y;
        return NULL;
    case TG_BIT_AND:
    case TG_BOTH:
        to->i = a.i & b.i;
        return NULL;
    case TG_BIT_OR:
    case TG_EITHER:
        to->i = a.i | b.i;
        return NULL;
    case TG_BIT_XOR:
        to->i = a.i ^ b.i;
        return NULL;
    case TG_SHL:
    case TG_SHR:
        return shift(type, op, a, b, to);
    case TG_MIN_OF:
        *to = x < y ? a : b;
        return NULL;
    case TG_MAX_OF:
        *to = x > y ? a : b;
        return NULL;
    default:
        return "no operator on two integers";
    }
}

static const char *whole_unary(int64_t type, tg_op op, cell a, cell *to) {
    const exact x = number(type, a.i);
    switch (op) {
    case TG_NEG:
        return settle(type, -x, to);
    case TG_ABS:
        return settle(type, x < 0 ? -x : x, to);
    case TG_BIT_NOT:
        to->i = type == TG_BOOL ? !a.i : wrap(type, ~(uint64_t)a.i);
        return NULL;
    case TG_NEGATE:
        to->i = !a.i;
        return NULL;
    default:
        return "no operator on an integer";
    }
}

/* ---- floats' operators ----------------------------------------------------------------------------------- */

/* Of two zeros the negative one is less; what is no number wins. */
static double least(double x, double y) {
    return isnan(x) || isnan(y) ? (double)NAN : x < y || (x == y && signbit(x)) ? x : y;
}

static double greatest(double x, double y) {
    return -least(-x, -y);
}

static const char *real_binary(int64_t type, tg_op op, cell a, cell b, cell *to) {
    const double x = a.f, y = b.f;
    switch (op) {
    case TG_ADD:
        to->f = round_real(type, x + y);
        return NULL;
    case TG_SUB:
        to->f = round_real(type, x - y);
        return NULL;
    case TG_MUL:
        to->f = round_real(type, x * y);
        return NULL;
    case TG_QUO:
        to->f = round_real(type, x / y);
        return NULL;
    case TG_EQ:
        to->i = x == y;
        return NULL;
    case TG_NE:
        to->i = x != y;
        return NULL;
    case TG_LT:
        to->i = x < y;
        return NULL;
    case TG_LE:
        to->i = x <= y;
        return NULL;
    case TG_GT:
        to->i = x > y;
        return NULL;
    case TG_GE:
        to->i = x >= y;
        return NULL;
    case TG_MIN_OF:
        to->f = least(x, y);
        return NULL;
    case TG_MAX_OF:
        to->f = greatest(x, y);
        return NULL;
    default:
        return "no operator on two floats";
    }
}

static uint64_t nudges; /* 0: none */
static int nudge_steps; /* of all; 0: at random */

void library_nudge(uint64_t seed) {
    nudges = seed;
    nudge_steps = seed > 0 && seed <= LIBRARY_FIXED ? (seed % 2 ? 1 : -1) * (int)(seed + 1) / 2 : 0;
}

/* Up to three units in the last place away. */
static double nudged(double x, bool wide) {
    nudges = nudges * 6364136223846793005u + 1442695040888963407u;
    const int steps = nudge_steps ? nudge_steps : (int)(nudges >> 33) % 7 - 3;
    for (int i = steps < 0 ? -steps : steps; i > 0; i--) {
        const double far = steps < 0 ? -(double)INFINITY : (double)INFINITY;
        x = wide ? nextafter(x, far) : (double)nextafterf((float)x, (float)far);
    }
    return x;
}

/* The C library's own precision: these are not rounded exactly by anybody. */
static double library(int64_t type, tg_op op, double x) {
    const bool wide = type == TG_F64;
    switch (op) {
    case TG_EXP:
        return wide ? exp(x) : (double)expf((float)x);
    case TG_LOG:
        return wide ? log(x) : (double)logf((float)x);
    case TG_TANH:
        return wide ? tanh(x) : (double)tanhf((float)x);
    case TG_RSQRT:
        return wide ? 1.0 / sqrt(x) : (double)(float)(1.0 / sqrt(x));
    default:
        return sqrt(x);
    }
}

static const char *real_unary(int64_t type, tg_op op, cell a, cell *to) {
    switch (op) {
    case TG_NEG:
        to->f = -a.f;
        return NULL;
    case TG_ABS:
        to->f = fabs(a.f);
        return NULL;
    case TG_EXP:
    case TG_LOG:
    case TG_SQRT:
    case TG_RSQRT:
    case TG_TANH:
        to->f = library(type, op, a.f);
        to->f = round_real(type, nudges && op != TG_SQRT ? nudged(to->f, type == TG_F64) : to->f);
        return NULL;
    default:
        return "no operator on a float";
    }
}

/* ---- public ---------------------------------------------------------------------------------------------- */

const char *cell_unary(int64_t type, tg_op op, cell a, cell *to) {
    *to = (cell){0};
    return type_real(type) ? real_unary(type, op, a, to) : whole_unary(type, op, a, to);
}

const char *cell_binary(int64_t type, tg_op op, cell a, cell b, cell *to) {
    *to = (cell){0};
    return type_real(type) ? real_binary(type, op, a, b, to) : whole_binary(type, op, a, b, to);
}

/* An integer of up to 64 bits into a float, rounded once. */
static double whole_to_real(int64_t type, int64_t from, int64_t x) {
    const long double whole = from == TG_U64 ? (long double)(uint64_t)x : (long double)x;
    if (type == TG_F64) {
        return (double)whole;
    }
    if (type == TG_F32) {
        return (double)(float)whole;
    }
    const uint64_t size = from == TG_U64 || x >= 0 ? (uint64_t)x : 0 - (uint64_t)x;
    /* 53 bits hold all that decides between neighbours of 11 bits, once the rest is known to be something */
    const uint64_t kept = size >> 53 ? (size & ~(uint64_t)2047) | ((size & 2047) ? 2048 : 0) : size;
    return round_real(type, from != TG_U64 && x < 0 ? -(double)kept : (double)kept);
}

const char *cell_cast(int64_t from, int64_t type, cell a, cell *to) {
    *to = (cell){0};
    if (type_real(from)) {
        if (type_real(type)) {
            to->f = round_real(type, a.f);
        } else if (type == TG_BOOL) {
            to->i = a.f != 0;
        } else {
            const double whole = trunc(a.f), end = ldexp(1.0, type_width(type) - type_signs(type));
            if (!(whole < end && whole >= (type_signs(type) ? -end : 0.0))) {
                return "conversion out of range";
            }
            to->i = type_signs(type) ? (int64_t)whole : wrap(type, (uint64_t)whole);
        }
        return NULL;
    }
    if (type_real(type)) {
        to->f = whole_to_real(type, from, a.i);
    } else {
        to->i = type == TG_BOOL ? a.i != 0 : wrap(type, (uint64_t)a.i);
    }
    return NULL;
}

tg_op cell_operator(tg_reduction r) {
    return r == TG_SUM ? TG_ADD : r == TG_MAX ? TG_MAX_OF : TG_MIN_OF;
}

cell cell_identity(int64_t type, tg_reduction r) {
    if (r == TG_SUM) {
        return (cell){0};
    }
    if (type_real(type)) {
        return (cell){.f = r == TG_MAX ? -(double)INFINITY : (double)INFINITY};
    }
    const int64_t most = type == TG_U64 ? -1 : type_most(type);
    return (cell){.i = r == TG_MAX ? type_least(type) : most};
}
