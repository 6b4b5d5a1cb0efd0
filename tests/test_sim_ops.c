/* test_sim_ops.c -- every operator and conversion on every type: the lanes give what dsl/value.h says, bit
 * for bit.
 *
 * Each case is a kernel out[i] = a[i] op b[i] over all pairs of edge values and many random ones; results are
 * compared as bits, faults by their number.  Both widths of wave; partial masks; uniform operands. */
#include "sim_kernel.h"

#include <math.h>

enum { NUMBER, WHOLE, REAL, TRUTH, BITS, ORDERED, EQUAL, EDGES = 24, RANDOM = 2000, MOST = 4096 };

typedef struct {
    tg_op op;
    const char *name;
    int operands, accepts;
} op_row;

static const op_row ops[] = {
#define OP(id, word, operands, accepts, symbol, level) {TG_##id, word, operands, accepts},
#include "dsl/ops.def"
#undef OP
};

static const int64_t types[] = {TG_BOOL, TG_I8,  TG_U8,  TG_I16,  TG_U16, TG_I32, TG_U32,
                                TG_I64,  TG_U64, TG_F16, TG_BF16, TG_F32, TG_F64, TYPE_INDEX};

enum { OPS = sizeof ops / sizeof ops[0], TYPES = sizeof types / sizeof types[0] };

static bool accepts(const op_row *row, int64_t type) {
    const bool is_bool = type == TG_BOOL, is_float = type_is_float(type);
    switch (row->accepts) {
    case NUMBER:
    case ORDERED:
        return !is_bool;
    case WHOLE:
        return !is_bool && !is_float;
    case REAL:
        return is_float;
    case TRUTH:
        return is_bool;
    case BITS:
        return !is_float;
    default:
        return true;
    }
}

static uint64_t random_bits(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 32 | *state << 32;
}

static value masked(int64_t type, uint64_t bits) {
    const int n = type_bits(type);
    return (value){type, type == TG_BOOL ? bits & 1 : n == 64 ? bits : bits & ((1ULL << n) - 1)};
}

/* Bit patterns that matter to some type: zeros, ones, limits, infinities, NaN, subnormal numbers. */
static value edge(int64_t type, int i) {
    static const double reals[EDGES] = {
        0,       -0.0,   1,      -1,     2,     0.5,      -3.75,     65504, 65519,        65520,         1e-7,
        5.96e-8, 2.9e-8, 6.1e-5, 3.4e38, 1e-40, INFINITY, -INFINITY, NAN,   2147483648.0, -2147483648.0, 7,
        255.5,   -128.9};
    static const int64_t whole[EDGES] = {0,         1,          -1,        2,         -2,    3,
                                         7,         31,         32,        63,        64,    127,
                                         -128,      255,        32767,     -32768,    65535, INT32_MAX,
                                         INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN, 46341, 3037000500};
    return type_is_float(type) ? value_real(type, reals[i]) : masked(type, (uint64_t)whole[i]);
}

/* Half of them small numbers, so that shifts, quotients and comparisons get interesting ones too. */
static value any(int64_t type, bool small, uint64_t *state) {
    const uint64_t bits = random_bits(state);
    return small ? value_int(type, (int64_t)(bits >> 8 & 127) - 63) : masked(type, bits);
}

static int fill(int64_t type_a, int64_t type_b, value *a, value *b) {
    uint64_t state = 1234567 + (uint64_t)type_a;
    int n = 0;
    for (int i = 0; i < EDGES; i++) {
        for (int j = 0; j < EDGES; j++) {
            a[n] = edge(type_a, i);
            b[n++] = edge(type_b, j);
        }
    }
    for (int i = 0; i < RANDOM; i++) {
        a[n] = any(type_a, i < RANDOM / 2, &state);
        b[n++] = any(type_b, i < RANDOM / 2, &state);
    }
    return n;
}

static void put(unsigned char *at, int i, value v) {
    const int bytes = type_bytes(v.type);
    memcpy(at + i * bytes, &v.bits, (size_t)bytes); /* the tests run on little-endian machines */
}

static value get(const unsigned char *at, int i, int64_t type) {
    value v = {type, 0};
    memcpy(&v.bits, at + i * type_bytes(type), (size_t)type_bytes(type));
    return v;
}

/* In memory an index is an i64. */
static int64_t stored(int64_t type) {
    return type == TYPE_INDEX ? (int64_t)TG_I64 : type;
}

typedef struct {
    tg_op op; /* 0: a cast, -1: a bitcast */
    int operands;
    int64_t type, type_b, to;
} operation;

static value by_value(const operation *o, value a, value b, value_fault *fault) {
    if (o->op == 0) {
        return value_cast(a, o->to, fault);
    }
    if ((int)o->op == -1) {
        return value_bitcast(a, o->to);
    }
    return o->operands == 1 ? value_unary(o->op, a, fault) : value_binary(o->op, a, b, fault);
}

static node *by_node(maker *m, const operation *o, node *a, node *b) {
    if (o->op == 0) {
        return expr_cast(&m->memory, line(12), o->to, a);
    }
    if ((int)o->op == -1) {
        return expr_bitcast(&m->memory, line(12), o->to, a);
    }
    return o->operands == 1 ? expr_unary(&m->memory, line(12), o->op, a)
                            : expr_binary(&m->memory, line(12), o->op, a, b);
}

static _Alignas(16) unsigned char memory_a[8 * MOST], memory_b[8 * MOST], memory_out[8 * MOST];

static node *operand(maker *m, int at, buffer *b, node *i, int64_t type) {
    return let(m, at, b->name, expr_cast(&m->memory, line(at), type, load(m, at, b, i)));
}

static bool is_nan(value v) {
    return type_is_float(v.type) && isnan(value_as_real(v));
}

/* A warp with one doubtful lane leaves all of them to value.h: those that the kernels settle come first, so
 * that most warps have nothing else. */
static void settled_first(const operation *o, value *a, value *b, int n) {
    static value kept_a[MOST], kept_b[MOST];
    int top = 0;
    for (int doubtful = 0; doubtful < 2; doubtful++) {
        for (int i = 0; i < n; i++) {
            value_fault fault = FAULT_NONE;
            const value r = by_value(o, a[i], b[i], &fault);
            const bool is_doubtful = fault != FAULT_NONE || is_nan(r) || is_nan(a[i]) || is_nan(b[i]);
            if (is_doubtful == (doubtful == 1)) {
                kept_a[top] = a[i];
                kept_b[top++] = b[i];
            }
        }
    }
    memcpy(a, kept_a, sizeof *a * (size_t)n);
    memcpy(b, kept_b, sizeof *b * (size_t)n);
}

/* What is wrong above the bits of a type shows when the value is used: as an i64, or against itself. */
static node *used(maker *m, node *r) {
    return type_is_float(r->type) ? expr_cast(&m->memory, line(14), TG_I64, op2(m, TG_EQ, r, r))
                                  : expr_cast(&m->memory, line(14), TG_I64, r);
}

static int64_t used_value(value v) {
    return type_is_float(v.type) ? !is_nan(v) : value_as_int(v);
}

/* Odd threads only where `half`: the others keep zero and must not fault. */
static void compare(const operation *o, const char *name, const char *machine, bool half) {
    static value a[MOST], b[MOST];
    static int64_t uses[MOST];
    const int n = fill(o->type, o->type_b, a, b);
    settled_first(o, a, b, n);
    maker m;
    begin(&m, machine, (n + 95) / 96, 96);
    for (int i = 0; i < n; i++) {
        put(memory_a, i, a[i]);
        put(memory_b, i, b[i]);
    }
    memset(memory_out, 0, sizeof memory_out);
    buffer *x = make_tensor(&m, "a", stored(o->type), n, memory_a),
           *y = make_tensor(&m, "b", stored(o->type_b), n, memory_b);
    buffer *out = make_tensor(&m, "out", stored(o->to), n, memory_out);
    buffer *u = make_tensor(&m, "uses", TG_I64, n, uses);
    node *i = op2(&m, TG_ADD, op2(&m, TG_MUL, m.pid, index_node(&m, 96)), m.tid);
    when(&m, 9, op2(&m, TG_LT, i, index_node(&m, n)))
        ;
    when(&m, 9, op2(&m, TG_GE, op2(&m, TG_MOD, m.tid, index_node(&m, 2)), index_node(&m, half)))
        ;
    node *p = operand(&m, 10, x, i, o->type), *q = operand(&m, 11, y, i, o->type_b);
    node *r = let(&m, 12, "r", by_node(&m, o, p, q));
    store(&m, 13, out, i, expr_cast(&m.memory, line(13), stored(o->to), r));
    store(&m, 14, u, i, used(&m, r));
    const findings *f = run(&m);
    int64_t faults = 0;
    for (int k = 0; k < n; k++) {
        value_fault fault = FAULT_NONE;
        const bool runs = !half || k % 96 % 2 == 1;
        const value want = by_value(o, a[k], b[k], &fault);
        faults += runs && fault != FAULT_NONE;
        const uint64_t got = get(memory_out, k, stored(o->to)).bits;
        cr_assert_eq(got, runs ? want.bits : 0, "%s on %s (%llx, %llx): got %llx, want %llx", name,
                     type_name(o->type), (unsigned long long)a[k].bits, (unsigned long long)b[k].bits,
                     (unsigned long long)got, (unsigned long long)want.bits);
        if (runs) {
            cr_assert_eq(uses[k], used_value(want), "%s on %s, used", name, type_name(o->type));
        }
    }
    cr_assert_eq(f->total, faults, "%s on %s: %lld faults, want %lld", name, type_name(o->type),
                 (long long)f->total, (long long)faults);
    end(&m);
}

static void compare_everywhere(const operation *o, const char *name) {
    compare(o, name, "sm_80", false);
    compare(o, name, "sm_80", true);
    compare(o, name, "sim64", false);
}

Test(sim_ops, every_operator_on_every_type_is_what_value_h_says) {
    for (int i = 0; i < OPS; i++) {
        for (int j = 0; j < TYPES; j++) {
            if (accepts(&ops[i], types[j])) {
                const bool compares = ops[i].accepts == ORDERED || ops[i].accepts == EQUAL;
                const operation o = {ops[i].op, ops[i].operands, types[j], types[j],
                                     compares ? TG_BOOL : types[j]};
                compare_everywhere(&o, ops[i].name);
            }
        }
    }
}

Test(sim_ops, shifts_take_counts_of_any_integer_type) {
    for (int i = 1; i < TYPES; i++) {
        for (int j = 1; j < TYPES; j++) {
            if (!type_is_float(types[i]) && !type_is_float(types[j]) && types[i] != TYPE_INDEX &&
                types[j] != TYPE_INDEX) {
                compare_everywhere(&(operation){TG_SHL, 2, types[i], types[j], types[i]}, "shl");
                compare_everywhere(&(operation){TG_SHR, 2, types[i], types[j], types[i]}, "shr");
            }
        }
    }
}

Test(sim_ops, every_conversion_is_what_value_h_says) {
    for (int i = 0; i < TYPES; i++) {
        for (int j = 0; j < TYPES; j++) {
            compare_everywhere(&(operation){0, 1, types[i], types[i], types[j]}, type_name(types[j]));
        }
    }
}

Test(sim_ops, every_bitcast_keeps_the_bits) {
    for (int i = 1; i < TYPES - 1; i++) {
        for (int j = 1; j < TYPES - 1; j++) {
            if (type_bits(types[i]) == type_bits(types[j])) {
                compare_everywhere(&(operation){(tg_op)-1, 1, types[i], types[i], types[j]},
                                   type_name(types[j]));
            }
        }
    }
}

/* Scalars are the same in all lanes: one lane is computed. */
static void compare_uniform(const operation *o, const char *name, value a, value b) {
    maker m;
    begin(&m, "sm_80", 1, 3);
    memset(memory_out, 0, 64);
    node *p = make_scalar(&m, "a", a), *q = make_scalar(&m, "b", b);
    buffer *out = make_tensor(&m, "out", o->to, 3, memory_out);
    store(&m, 12, out, m.tid, by_node(&m, o, p, q));
    const findings *f = run(&m);
    value_fault fault = FAULT_NONE;
    const value want = by_value(o, a, b, &fault);
    cr_assert_eq(f->total, fault != FAULT_NONE);
    for (int k = 0; k < 3; k++) {
        cr_assert_eq(get(memory_out, k, o->to).bits, want.bits, "%s on %s", name, type_name(o->type));
    }
    end(&m);
}

Test(sim_ops, operands_that_all_lanes_share_give_the_same) {
    for (int i = 0; i < OPS; i++) {
        for (int j = 0; j < TYPES - 1; j++) {
            for (int k = 0; k < 60 && accepts(&ops[i], types[j]); k++) {
                const bool compares = ops[i].accepts == ORDERED || ops[i].accepts == EQUAL;
                const operation o = {ops[i].op, ops[i].operands, types[j], types[j],
                                     compares ? TG_BOOL : types[j]};
                compare_uniform(&o, ops[i].name, edge(types[j], k * 7 % EDGES),
                                edge(types[j], k * 5 % EDGES));
            }
        }
    }
}

/* All 65536 patterns, 1024 threads at a time. */
static void compare_half(int64_t type) {
    static uint16_t in[65536], out[65536];
    static float wide[65536];
    for (int i = 0; i < 65536; i++) {
        in[i] = (uint16_t)i;
    }
    maker m;
    begin(&m, "sm_80", 64, 1024);
    buffer *x = make_tensor(&m, "in", type, 65536, in), *y = make_tensor(&m, "out", type, 65536, out);
    buffer *z = make_tensor(&m, "wide", TG_F32, 65536, wide);
    node *i = op2(&m, TG_ADD, op2(&m, TG_MUL, m.pid, index_node(&m, 1024)), m.tid);
    node *f = let(&m, 10, "f", expr_cast(&m.memory, line(10), TG_F32, load(&m, 10, x, i)));
    store(&m, 11, z, i, f);
    store(&m, 12, y, i, expr_cast(&m.memory, line(12), type, f));
    expect_none(run(&m));
    for (int k = 0; k < 65536; k++) {
        const float want = type == TG_F16 ? f16_to_f32((uint16_t)k) : bf16_to_f32((uint16_t)k);
        cr_assert_eq(memcmp(&want, &wide[k], 4), 0, "%x", (unsigned)k);
        cr_assert_eq(out[k], type == TG_F16 ? f32_to_f16(want) : f32_to_bf16(want), "%x", (unsigned)k);
    }
    end(&m);
}

Test(sim_ops, all_patterns_of_f16_and_bf16_convert_both_ways) {
    compare_half(TG_F16);
    compare_half(TG_BF16);
}

/* Every 997th float, and the neighbours of every tie between two f16. */
Test(sim_ops, floats_round_to_f16_and_bf16_as_value_h_does) {
    static float in[1 << 16];
    static uint16_t half[1 << 16], brain[1 << 16];
    for (int pass = 0; pass < 3; pass++) {
        for (uint32_t i = 0; i < 1 << 16; i++) {
            const uint32_t tie = (i & 0x7fff) << 13 | 0x1000;
            const float between =
                pass == 0
                    ? 0
                    : (f16_to_f32((uint16_t)(i & 0xfbff)) + f16_to_f32((uint16_t)((i & 0xfbff) + 1))) / 2;
            uint32_t bits = pass == 0 ? i * 65521u : tie;
            memcpy(&in[i], &bits, 4);
            in[i] = pass == 0 ? in[i] : pass == 1 ? between : nextafterf(between, i & 1 ? INFINITY : 0.0F);
        }
        maker m;
        begin(&m, "sm_80", 64, 1024);
        buffer *x = make_tensor(&m, "in", TG_F32, 1 << 16, in),
               *h = make_tensor(&m, "half", TG_F16, 1 << 16, half);
        buffer *b = make_tensor(&m, "brain", TG_BF16, 1 << 16, brain);
        node *i = op2(&m, TG_ADD, op2(&m, TG_MUL, m.pid, index_node(&m, 1024)), m.tid);
        store(&m, 10, h, i, expr_cast(&m.memory, line(10), TG_F16, load(&m, 10, x, i)));
        store(&m, 11, b, i, expr_cast(&m.memory, line(11), TG_BF16, load(&m, 11, x, i)));
        expect_none(run(&m));
        for (int k = 0; k < 1 << 16; k++) {
            cr_assert_eq(half[k], f32_to_f16(in[k]), "%a", (double)in[k]);
            cr_assert_eq(brain[k], f32_to_bf16(in[k]), "%a", (double)in[k]);
        }
        end(&m);
    }
}

/* Atomics and butterflies combine by the same operators. */
static void compare_reductions(int64_t type, tg_reduction r) {
    static value a[MOST], b[MOST];
    fill(type, type, a, b);
    maker m;
    begin(&m, "sm_80", 1, 64);
    for (int i = 0; i < 64; i++) {
        a[i] = value_int(type, (i * 37 % 41) - (type_is_signed(type) || type_is_float(type) ? 20 : 0));
        put(memory_a, i, a[i]);
    }
    put(memory_out, 64, a[5]);
    buffer *x = make_tensor(&m, "a", type, 64, memory_a);
    buffer *out = make_tensor(&m, "out", type, 65, memory_out);
    node *v = let(&m, 10, "v", load(&m, 10, x, m.tid));
    store(&m, 12, out, m.tid, lanes(&m, 11, THREAD_REDUCE_LANES, r, v, 1, 8));
    atomic(&m, 13, r, out, index_node(&m, 64), v);
    const findings *f = run(&m);
    value sum = a[5], group[64];
    value_fault fault = FAULT_NONE;
    for (int i = 0; i < 64; i++) {
        sum = value_binary(reduction_op(r), sum, a[i], &fault);
        group[i] = a[i];
    }
    for (int d = 1; d < 8; d *= 2) {
        value next[64];
        for (int i = 0; i < 64; i++) {
            next[i] = value_binary(reduction_op(r), group[i], group[i ^ d], &fault);
        }
        memcpy(group, next, sizeof next);
    }
    cr_assert_eq(fault, FAULT_NONE);
    expect_none(f);
    cr_assert_eq(get(memory_out, 64, type).bits, sum.bits, "%s of %s", reduction_name(r), type_name(type));
    for (int i = 0; i < 64; i++) {
        cr_assert_eq(get(memory_out, i, type).bits, group[i].bits, "%s of %s", reduction_name(r),
                     type_name(type));
    }
    end(&m);
}

Test(sim_ops, reductions_of_every_type) {
    for (int i = 1; i < TYPES - 1; i++) {
        compare_reductions(types[i], TG_SUM);
        compare_reductions(types[i], TG_MAX);
        compare_reductions(types[i], TG_MIN);
    }
}
