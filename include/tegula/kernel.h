/* kernel.h -- the words kernels are written in.
 *
 * Bare-name macros over tegula.h; include it last, and only in kernel sources.  Each macro is one call of the
 * core: it supplies the current kernel, the source line and the C identifier as a name, and lets ints,
 * floats, elements and expressions mix.  Nothing here holds state.  What a word does is said at its function
 * in tegula.h; docs/language.md has the rules.
 *
 * Scopes are two nested `for` loops that run once:
 *
 *     serial(i, n) body
 *     for (tg_scope s = tg_open(k, here, TG_SERIAL, 0, {"i", n}); s.open; tg_close(&s))
 *         for (const tg_expr i = s.axis[0]; s.body; s.body = false, s.done = true) body
 *
 * A `break` out of a body is an error with both lines, a `return` is reported at the end.  `continue` cannot
 * be seen: it ends the body early, and what follows it is silently not part of the kernel.  Never write it. */
#ifndef TEGULA_KERNEL_H
#define TEGULA_KERNEL_H

#include "tegula.h"

/* Macros read better laid out by hand. */
/* clang-format off */

enum {
    BOOL = TG_BOOL, I8 = TG_I8, U8 = TG_U8, I16 = TG_I16, U16 = TG_U16, I32 = TG_I32, U32 = TG_U32,
    I64 = TG_I64, U64 = TG_U64, F16 = TG_F16, BF16 = TG_BF16, F32 = TG_F32, F64 = TG_F64
};
enum { SUM = TG_SUM, MAX = TG_MAX, MIN = TG_MIN };

/* ---- declaring a kernel -------------------------------------------------------------------------------- */

/* KERNEL(name) { .. }: a builder with C linkage, listed in its object file under its name. */
#define KERNEL(name)                  \
    TG_C_LINKAGE_ void name(void);    \
    TG_RECORD_(name)                  \
    void name(void)

/* params(N, K): const int64_t N, K: the problem, given by the caller. */
#define params(...) const int64_t TG_MAP(TG_PARAM_, __VA_ARGS__)
/* tunables(block_n, 128, block_k, 64): const int64_t block_n, block_k: the schedule, with defaults. */
#define tunables(...) const int64_t TG_CAT(TG_TUNE_, TG_COUNT(__VA_ARGS__))(__VA_ARGS__)
/* require(N % 8 == 0, "N must be a multiple of 8"): legality, before grid; returns from the builder. */
#define require(cond, why)                                            \
    do {                                                              \
        if (!tg_require(tg_now(), TG_HERE, (cond), #cond, why)) {     \
            return;                                                   \
        }                                                             \
    } while (0)

/* grid(pid, n) threads(256) { block view }     threads without names
 * grid(pid, n) threads(tid, 256) { thread view }   the first name is threadIdx.x */
#define grid(...) TG_LOOP(TG_GRID, __VA_ARGS__)
#define threads(...) TG_LOOP(TG_THREADS, __VA_ARGS__)
/* resident(2): at least two blocks fit on a multiprocessor, and registers may be used up to that; before grid */
#define resident(blocks) tg_resident(tg_now(), TG_HERE, blocks)

/* ---- arguments and buffers: the C identifier is the buffer's name -------------------------------------- */

#define scalar(name, dtype) const tg_expr name = tg_scalar(tg_now(), TG_HERE, #name, dtype)
#define extent(name) const tg_expr name = tg_extent(tg_now(), TG_HERE, #name)
#define tensor(name, ...) const tg_buf name = tg_tensor(tg_now(), TG_HERE, #name, TG_TENSOR_(__VA_ARGS__))
#define pitched(name, dtype, ld, ...) \
    const tg_buf name = tg_tensor(tg_now(), TG_HERE, #name, dtype, ld, TG_INDEX_(__VA_ARGS__))
#define aligned(a, bytes) tg_aligned(tg_now(), TG_HERE, a, bytes)
#define alias(a, b) tg_alias(tg_now(), TG_HERE, a, b)
#define constant(a) tg_constant(tg_now(), TG_HERE, a)

#define shared(name, ...) TG_BUF_(TG_SHARED, name, __VA_ARGS__)
#define local(name, ...) TG_BUF_(TG_LOCAL, name, __VA_ARGS__)
#define fragment(name, ...) TG_BUF_(TG_FRAGMENT, name, __VA_ARGS__)
#define reducer(name, op, ...) \
    const tg_buf name = tg_reducer(tg_now(), TG_HERE, op, #name, TG_SHAPE_(__VA_ARGS__))
#define view(buf, ...) tg_view(tg_now(), TG_HERE, buf, TG_SHAPE_(__VA_ARGS__))

#define at(buf, ...) tg_at(tg_now(), TG_HERE, buf, TG_INDEX_(__VA_ARGS__))
#define tile(buf, ...) tg_tile_at(tg_now(), TG_HERE, buf, TG_INDEX_(__VA_ARGS__))
#define from(buf, ...) tg_tile_from(tg_now(), TG_HERE, buf, TG_INDEX_(__VA_ARGS__))
#define slice(buf, ...) tg_slice(tg_now(), TG_HERE, buf, TG_INDEX_(__VA_ARGS__))

/* ---- loops and branches -------------------------------------------------------------------------------- */

/* (name, extent) pairs, then for serial an unroll factor and for pipelined the number of stages. */
#define serial(...) TG_LOOP(TG_SERIAL, __VA_ARGS__)
#define unrolled(...) TG_LOOP(TG_UNROLLED, __VA_ARGS__)
#define vectorized(i, n) TG_LOOP(TG_VECTORIZED, i, n)
#define parallel(...) TG_LOOP(TG_PARALLEL, __VA_ARGS__)
#define pipelined(i, n, stages) TG_LOOP(TG_PIPELINED, i, n, stages)
#define when(cond) TG_BRANCH_(TG_CAT(tg_scope_, __COUNTER__), TG_WHEN, 1, TG_V_(cond))
#define otherwise TG_BRANCH_(TG_CAT(tg_scope_, __COUNTER__), TG_OTHERWISE, 0, {0})

/* ---- statements ---------------------------------------------------------------------------------------- */

#define let(name, value) const tg_expr name = tg_let(tg_now(), TG_HERE, #name, TG_V_(value))
#define set(dst, value) tg_store(tg_now(), TG_HERE, TG_R_(dst), TG_V_(value))
#define accum(dst, value) tg_accum(tg_now(), TG_HERE, TG_R_(dst), TG_V_(value))
#define atomic_add(dst, value) tg_atomic(tg_now(), TG_HERE, TG_SUM, TG_R_(dst), TG_V_(value))
#define atomic_max(dst, value) tg_atomic(tg_now(), TG_HERE, TG_MAX, TG_R_(dst), TG_V_(value))
#define atomic_min(dst, value) tg_atomic(tg_now(), TG_HERE, TG_MIN, TG_R_(dst), TG_V_(value))
#define sync_threads() tg_sync_threads(tg_now(), TG_HERE)
/* print("row %d sum %f\n", row, sum), check(lt(row, n), "row inside") */
#define print(...) TG_CAT(TG_PRINT_, TG_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define check(cond, message) tg_check(tg_now(), TG_HERE, TG_V_(cond), message)

/* copy(src, dst) or copy(src, dst, .width = 4, .layout = TG_STRIPED, .outside = -1) */
#define copy(src, ...) TG_CAT(TG_COPY_, TG_COUNT(__VA_ARGS__))(src, __VA_ARGS__)
#define clear(dst) tg_clear(tg_now(), TG_HERE, TG_T_(dst))
#define fill(dst, value) tg_fill(tg_now(), TG_HERE, TG_T_(dst), TG_V_(value))
#define reduce(op, src, dst, dim) tg_reduce(tg_now(), TG_HERE, op, src, dst, dim)
#define finalize(acc) tg_finalize(tg_now(), TG_HERE, acc)

/* ---- values -------------------------------------------------------------------------------------------- */

#define add(...) TG_FOLD_(TG_ADD, __VA_ARGS__)
#define mul(...) TG_FOLD_(TG_MUL, __VA_ARGS__)
#define sub(a, b) TG_FOLD_2(TG_SUB, a, b)
#define quo(a, b) TG_FOLD_2(TG_QUO, a, b)
#define mod(a, b) TG_FOLD_2(TG_MOD, a, b)
#define neg(a) tg_unary(tg_now(), TG_HERE, TG_NEG, TG_V_(a))
#define mad(a, b, c) tg_binary(tg_now(), TG_HERE, TG_ADD, TG_FOLD_2(TG_MUL, a, b), TG_V_(c))
#define eq(a, b) TG_FOLD_2(TG_EQ, a, b)
#define ne(a, b) TG_FOLD_2(TG_NE, a, b)
#define lt(a, b) TG_FOLD_2(TG_LT, a, b)
#define le(a, b) TG_FOLD_2(TG_LE, a, b)
#define gt(a, b) TG_FOLD_2(TG_GT, a, b)
#define ge(a, b) TG_FOLD_2(TG_GE, a, b)
#define both(...) TG_FOLD_(TG_BOTH, __VA_ARGS__)
#define either(...) TG_FOLD_(TG_EITHER, __VA_ARGS__)
#define negate(a) tg_unary(tg_now(), TG_HERE, TG_NEGATE, TG_V_(a))
#define bit_and(...) TG_FOLD_(TG_BIT_AND, __VA_ARGS__)
#define bit_or(...) TG_FOLD_(TG_BIT_OR, __VA_ARGS__)
#define bit_xor(...) TG_FOLD_(TG_BIT_XOR, __VA_ARGS__)
#define bit_not(a) tg_unary(tg_now(), TG_HERE, TG_BIT_NOT, TG_V_(a))
#define shl(a, b) TG_FOLD_2(TG_SHL, a, b)
#define shr(a, b) TG_FOLD_2(TG_SHR, a, b)
#define min_of(...) TG_FOLD_(TG_MIN_OF, __VA_ARGS__)
#define max_of(...) TG_FOLD_(TG_MAX_OF, __VA_ARGS__)
#define abs_of(a) tg_unary(tg_now(), TG_HERE, TG_ABS, TG_V_(a))
#define exp_of(a) tg_unary(tg_now(), TG_HERE, TG_EXP, TG_V_(a))
#define log_of(a) tg_unary(tg_now(), TG_HERE, TG_LOG, TG_V_(a))
#define sqrt_of(a) tg_unary(tg_now(), TG_HERE, TG_SQRT, TG_V_(a))
#define rsqrt_of(a) tg_unary(tg_now(), TG_HERE, TG_RSQRT, TG_V_(a))
#define tanh_of(a) tg_unary(tg_now(), TG_HERE, TG_TANH, TG_V_(a))
#define choose(c, a, b) tg_choose(tg_now(), TG_HERE, TG_V_(c), TG_V_(a), TG_V_(b))

#define cast(dtype, a) tg_cast(tg_now(), TG_HERE, dtype, TG_V_(a))
#define bitcast(dtype, a) tg_bitcast(tg_now(), TG_HERE, dtype, TG_V_(a))
#define i8(a) cast(TG_I8, a)
#define u8(a) cast(TG_U8, a)
#define i16(a) cast(TG_I16, a)
#define u16(a) cast(TG_U16, a)
#define i32(a) cast(TG_I32, a)
#define u32(a) cast(TG_U32, a)
#define i64(a) cast(TG_I64, a)
#define u64(a) cast(TG_U64, a)
#define f16(a) cast(TG_F16, a)
#define bf16(a) cast(TG_BF16, a)
#define f32(a) cast(TG_F32, a)
#define f64(a) cast(TG_F64, a)

/* Every thread of the group along a named thread axis gets the reduction of its x, the same bits in each. */
#define allreduce(op, x, thread_axis) tg_allreduce(tg_now(), TG_HERE, op, TG_V_(x), thread_axis)

/* Host integers: the size of an element type, and a / b rounded up (of an extent(..): an expression). */
#define bits(dtype) tg_bits(dtype)
#define ceildiv(a, b) TG_CEILDIV_(a, b)

/* ==========================================================================================================
 * Machinery.  TG_V_(v) turns anything that can be a value into a tg_expr, TG_R_ into a place, TG_T_ into a
 * region. */

#ifdef __cplusplus
#define TG_C_LINKAGE_ extern "C"
#else
#define TG_C_LINKAGE_
#endif

#if defined __GNUC__ && defined __ELF__ && !defined TG_ISO_C
/* One pointer a kernel in section tg_kernels; the linker gathers them into an array of its own name. */
#define TG_RECORD_(name)                                                                                \
    static const tg_kernel_record tg_record_##name = {#name, name, __FILE__, __LINE__};                 \
    static const tg_kernel_record *const tg_entry_##name __attribute__((used, section("tg_kernels"))) = \
        &tg_record_##name;
#ifdef __cplusplus
extern "C" {
#endif
extern const tg_kernel_record *const __start_tg_kernels[] __attribute__((weak, visibility("hidden")));
extern const tg_kernel_record *const __stop_tg_kernels[] __attribute__((weak, visibility("hidden")));
/* The kernels of the program or shared object that this file is linked into. */
const tg_kernel_record *const *tg_kernel_table(int *n);
__attribute__((weak, visibility("default"))) const tg_kernel_record *const *tg_kernel_table(int *n) {
    *n = (int)(__stop_tg_kernels - __start_tg_kernels);
    return __start_tg_kernels;
}
#ifdef __cplusplus
}
#endif
#else
#define TG_RECORD_(name)
#endif

static inline tg_expr tg_x_expr(tg_loc at, tg_expr v) {
    return (void)at, v;
}
static inline tg_expr tg_x_int(tg_loc at, int64_t v) {
    return tg_int(tg_now(), at, v);
}
static inline tg_expr tg_x_float(tg_loc at, double v) {
    return tg_float(tg_now(), at, v);
}
static inline tg_expr tg_x_ref(tg_loc at, tg_ref v) {
    return tg_load(tg_now(), at, v);
}
static inline tg_ref tg_r_ref(tg_loc at, tg_ref v) {
    return (void)at, v;
}
static inline tg_ref tg_r_buf(tg_loc at, tg_buf v) {
    tg_index none = {0, {{NULL}}};
    return tg_at(tg_now(), at, v, none);
}
static inline tg_expr tg_x_buf(tg_loc at, tg_buf v) {
    return tg_x_ref(at, tg_r_buf(at, v));
}
static inline tg_tile tg_t_tile(tg_loc at, tg_tile v) {
    return (void)at, v;
}
static inline tg_tile tg_t_buf(tg_loc at, tg_buf v) {
    return tg_whole(tg_now(), at, v);
}
static inline int64_t tg_ceildiv_int(tg_loc at, int64_t a, int64_t b) {
    return tg_ceildiv(tg_now(), at, a, b);
}
static inline tg_expr tg_ceildiv_extent(tg_loc at, tg_expr a, int64_t b) {
    return tg_ceildiv_expr(tg_now(), at, a, b);
}

#ifndef __cplusplus
#define TG_X_(v)                                                                                        \
    _Generic((v), tg_expr: tg_x_expr, tg_ref: tg_x_ref, tg_buf: tg_x_buf, float: tg_x_float,            \
        double: tg_x_float, _Bool: tg_x_int, char: tg_x_int, signed char: tg_x_int,                     \
        unsigned char: tg_x_int, short: tg_x_int, unsigned short: tg_x_int, int: tg_x_int,              \
        unsigned: tg_x_int, long: tg_x_int, unsigned long: tg_x_int, long long: tg_x_int,               \
        unsigned long long: tg_x_int)(TG_HERE, v)
#define TG_R_(v) _Generic((v), tg_ref: tg_r_ref, tg_buf: tg_r_buf)(TG_HERE, v)
#define TG_T_(v) _Generic((v), tg_tile: tg_t_tile, tg_buf: tg_t_buf)(TG_HERE, v)
#define TG_CEILDIV_(a, b) _Generic((a), tg_expr: tg_ceildiv_extent, default: tg_ceildiv_int)(TG_HERE, a, b)

/* _Generic names its operand twice, so nested expressions double at each level.  Where the compiler can, bind
 * the operand once instead. */
#if defined __GNUC__ && !defined TG_ISO_C
#define TG_V_(v) TG_BIND_(TG_CAT(tg_v_, __COUNTER__), v)
#define TG_BIND_(t, v) (__extension__({ __auto_type t = (v); TG_X_(t); }))
#else
#define TG_V_(v) TG_X_(v)
#endif

#else /* C++ has overloading */
extern "C++" {
static inline tg_expr tg_x(tg_loc, tg_expr v) { return v; }
static inline tg_expr tg_x(tg_loc at, tg_ref v) { return tg_x_ref(at, v); }
static inline tg_expr tg_x(tg_loc at, tg_buf v) { return tg_x_buf(at, v); }
static inline tg_expr tg_x(tg_loc at, double v) { return tg_x_float(at, v); }
static inline tg_expr tg_x(tg_loc at, int v) { return tg_x_int(at, v); }
static inline tg_expr tg_x(tg_loc at, unsigned v) { return tg_x_int(at, v); }
static inline tg_expr tg_x(tg_loc at, long v) { return tg_x_int(at, v); }
static inline tg_expr tg_x(tg_loc at, unsigned long v) { return tg_x_int(at, (int64_t)v); }
static inline tg_expr tg_x(tg_loc at, long long v) { return tg_x_int(at, v); }
static inline tg_expr tg_x(tg_loc at, unsigned long long v) { return tg_x_int(at, (int64_t)v); }
static inline tg_ref tg_r(tg_loc, tg_ref v) { return v; }
static inline tg_ref tg_r(tg_loc at, tg_buf v) { return tg_r_buf(at, v); }
static inline tg_tile tg_t(tg_loc, tg_tile v) { return v; }
static inline tg_tile tg_t(tg_loc at, tg_buf v) { return tg_t_buf(at, v); }
static inline int64_t tg_cd(tg_loc at, int64_t a, int64_t b) { return tg_ceildiv_int(at, a, b); }
static inline tg_expr tg_cd(tg_loc at, tg_expr a, int64_t b) { return tg_ceildiv_extent(at, a, b); }
}
#define TG_V_(v) tg_x(TG_HERE, v)
#define TG_R_(v) tg_r(TG_HERE, v)
#define TG_T_(v) tg_t(TG_HERE, v)
#define TG_CEILDIV_(a, b) tg_cd(TG_HERE, a, b)
#endif

#define TG_MAP(m, ...) TG_CAT(TG_MAP_, TG_COUNT(__VA_ARGS__))(m, __VA_ARGS__)
#define TG_MAP_1(m, a) m(a)
#define TG_MAP_2(m, a, ...) m(a), TG_MAP_1(m, __VA_ARGS__)
#define TG_MAP_3(m, a, ...) m(a), TG_MAP_2(m, __VA_ARGS__)
#define TG_MAP_4(m, a, ...) m(a), TG_MAP_3(m, __VA_ARGS__)
#define TG_MAP_5(m, a, ...) m(a), TG_MAP_4(m, __VA_ARGS__)
#define TG_MAP_6(m, a, ...) m(a), TG_MAP_5(m, __VA_ARGS__)
#define TG_MAP_7(m, a, ...) m(a), TG_MAP_6(m, __VA_ARGS__)
#define TG_MAP_8(m, a, ...) m(a), TG_MAP_7(m, __VA_ARGS__)
#define TG_MAP_9(m, a, ...) m(a), TG_MAP_8(m, __VA_ARGS__)
#define TG_MAP_10(m, a, ...) m(a), TG_MAP_9(m, __VA_ARGS__)
#define TG_MAP_11(m, a, ...) m(a), TG_MAP_10(m, __VA_ARGS__)
#define TG_MAP_12(m, a, ...) m(a), TG_MAP_11(m, __VA_ARGS__)
#define TG_MAP_13(m, a, ...) m(a), TG_MAP_12(m, __VA_ARGS__)
#define TG_MAP_14(m, a, ...) m(a), TG_MAP_13(m, __VA_ARGS__)
#define TG_MAP_15(m, a, ...) m(a), TG_MAP_14(m, __VA_ARGS__)
#define TG_MAP_16(m, a, ...) m(a), TG_MAP_15(m, __VA_ARGS__)

#define TG_PARAM_(p) p = tg_param_get(tg_now(), TG_HERE, #p)
#define TG_TUNE_(p, v) p = tg_tunable_get(tg_now(), TG_HERE, #p, v)
#define TG_TUNE_2(p, v) TG_TUNE_(p, v)
#define TG_TUNE_4(p, v, ...) TG_TUNE_(p, v), TG_TUNE_2(__VA_ARGS__)
#define TG_TUNE_6(p, v, ...) TG_TUNE_(p, v), TG_TUNE_4(__VA_ARGS__)
#define TG_TUNE_8(p, v, ...) TG_TUNE_(p, v), TG_TUNE_6(__VA_ARGS__)
#define TG_TUNE_10(p, v, ...) TG_TUNE_(p, v), TG_TUNE_8(__VA_ARGS__)
#define TG_TUNE_12(p, v, ...) TG_TUNE_(p, v), TG_TUNE_10(__VA_ARGS__)
#define TG_TUNE_14(p, v, ...) TG_TUNE_(p, v), TG_TUNE_12(__VA_ARGS__)
#define TG_TUNE_16(p, v, ...) TG_TUNE_(p, v), TG_TUNE_14(__VA_ARGS__)
#define TG_TUNE_18(p, v, ...) TG_TUNE_(p, v), TG_TUNE_16(__VA_ARGS__)
#define TG_TUNE_20(p, v, ...) TG_TUNE_(p, v), TG_TUNE_18(__VA_ARGS__)
#define TG_TUNE_22(p, v, ...) TG_TUNE_(p, v), TG_TUNE_20(__VA_ARGS__)
#define TG_TUNE_24(p, v, ...) TG_TUNE_(p, v), TG_TUNE_22(__VA_ARGS__)
#define TG_TUNE_26(p, v, ...) TG_TUNE_(p, v), TG_TUNE_24(__VA_ARGS__)
#define TG_TUNE_28(p, v, ...) TG_TUNE_(p, v), TG_TUNE_26(__VA_ARGS__)
#define TG_TUNE_30(p, v, ...) TG_TUNE_(p, v), TG_TUNE_28(__VA_ARGS__)
#define TG_TUNE_32(p, v, ...) TG_TUNE_(p, v), TG_TUNE_30(__VA_ARGS__)

#define TG_SHAPE_(...)                              \
    TG_MAKE(tg_shape) {                             \
        TG_COUNT(__VA_ARGS__), { __VA_ARGS__ }      \
    }
#define TG_INDEX_(...)                                          \
    TG_MAKE(tg_index) {                                         \
        TG_COUNT(__VA_ARGS__), { TG_MAP(TG_V_, __VA_ARGS__) }   \
    }
/* Element type, pitch, extents; the type alone: one element. */
#define TG_TENSOR_(...) TG_CAT(TG_TENSOR_, TG_ONE_OR_TWO(__VA_ARGS__))(__VA_ARGS__)
#define TG_TENSOR_1(dtype) dtype, 0, TG_MAKE(tg_index){0, {{0}}}
#define TG_TENSOR_2(dtype, ...) dtype, 0, TG_INDEX_(__VA_ARGS__)
#define TG_ONE_OR_TWO(...)                                                                              \
    TG_COUNT_(__VA_ARGS__, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, \
              2, 2, 2, 2, 2, 1, 0)
#define TG_BUF_(space, name, ...) \
    const tg_buf name = tg_alloc(tg_now(), TG_HERE, space, #name, TG_SHAPE_(__VA_ARGS__))

#define TG_COPY_1(src, dst) \
    tg_copy(tg_now(), TG_HERE, TG_T_(src), TG_T_(dst), TG_MAKE(tg_copy_options){0, TG_LAYOUT_AUTO, 0.0})
#define TG_COPY_2(src, dst, a) \
    tg_copy(tg_now(), TG_HERE, TG_T_(src), TG_T_(dst), TG_MAKE(tg_copy_options){a})
#define TG_COPY_3(src, dst, a, b) \
    tg_copy(tg_now(), TG_HERE, TG_T_(src), TG_T_(dst), TG_MAKE(tg_copy_options){a, b})
#define TG_COPY_4(src, dst, a, b, c) \
    tg_copy(tg_now(), TG_HERE, TG_T_(src), TG_T_(dst), TG_MAKE(tg_copy_options){a, b, c})

#define TG_PRINT_1(format) tg_print(tg_now(), TG_HERE, format, TG_MAKE(tg_index){0, {{NULL}}})
#define TG_PRINT_2(format, ...) tg_print(tg_now(), TG_HERE, format, TG_INDEX_(__VA_ARGS__))
#define TG_PRINT_3(format, ...) tg_print(tg_now(), TG_HERE, format, TG_INDEX_(__VA_ARGS__))
#define TG_PRINT_4(format, ...) tg_print(tg_now(), TG_HERE, format, TG_INDEX_(__VA_ARGS__))
#define TG_PRINT_5(format, ...) tg_print(tg_now(), TG_HERE, format, TG_INDEX_(__VA_ARGS__))
#define TG_PRINT_6(format, ...) tg_print(tg_now(), TG_HERE, format, TG_INDEX_(__VA_ARGS__))
#define TG_PRINT_7(format, ...) tg_print(tg_now(), TG_HERE, format, TG_INDEX_(__VA_ARGS__))
#define TG_PRINT_8(format, ...) tg_print(tg_now(), TG_HERE, format, TG_INDEX_(__VA_ARGS__))
#define TG_PRINT_9(format, ...) tg_print(tg_now(), TG_HERE, format, TG_INDEX_(__VA_ARGS__))
#define TG_PRINT_10(format, ...) tg_print(tg_now(), TG_HERE, format, TG_INDEX_(__VA_ARGS__))
#define TG_PRINT_11(format, ...) tg_print(tg_now(), TG_HERE, format, TG_INDEX_(__VA_ARGS__))
#define TG_PRINT_12(format, ...) tg_print(tg_now(), TG_HERE, format, TG_INDEX_(__VA_ARGS__))
#define TG_PRINT_13(format, ...) tg_print(tg_now(), TG_HERE, format, TG_INDEX_(__VA_ARGS__))

#define TG_FOLD_(op, ...) TG_CAT(TG_FOLD_, TG_COUNT(__VA_ARGS__))(op, __VA_ARGS__)
#define TG_FOLD_2(op, a, b) tg_binary(tg_now(), TG_HERE, op, TG_V_(a), TG_V_(b))
#define TG_FOLD_3(op, a, b, c) tg_binary(tg_now(), TG_HERE, op, TG_FOLD_2(op, a, b), TG_V_(c))
#define TG_FOLD_4(op, a, b, c, d) tg_binary(tg_now(), TG_HERE, op, TG_FOLD_3(op, a, b, c), TG_V_(d))
#define TG_FOLD_5(op, a, b, c, d, e) tg_binary(tg_now(), TG_HERE, op, TG_FOLD_4(op, a, b, c, d), TG_V_(e))
#define TG_FOLD_6(op, a, b, c, d, e, f) \
    tg_binary(tg_now(), TG_HERE, op, TG_FOLD_5(op, a, b, c, d, e), TG_V_(f))
#define TG_FOLD_7(op, a, b, c, d, e, f, g) \
    tg_binary(tg_now(), TG_HERE, op, TG_FOLD_6(op, a, b, c, d, e, f), TG_V_(g))
#define TG_FOLD_8(op, a, b, c, d, e, f, g, h) \
    tg_binary(tg_now(), TG_HERE, op, TG_FOLD_7(op, a, b, c, d, e, f, g), TG_V_(h))

#define TG_LIST_(...) {__VA_ARGS__}
#define TG_OPEN_(s, kind, option, n, names, extents)                                                       \
    for (tg_scope s = tg_open(tg_now(), TG_HERE, kind, option, TG_MAKE(tg_axes){n, names, extents}); s.open; \
         tg_close(&s))
#define TG_BRANCH_(s, kind, n, ...)                                       \
    TG_OPEN_(s, kind, 0, n, TG_LIST_(NULL), TG_LIST_(__VA_ARGS__))        \
        for (; s.body; s.body = false, s.done = true)

/* One argument: an axis without a name.  Else (name, extent) pairs, and with an odd count the option last. */
#define TG_LOOP(kind, ...) \
    TG_CAT(TG_LOOP_, TG_COUNT(__VA_ARGS__))(TG_CAT(tg_scope_, __COUNTER__), kind, __VA_ARGS__)
#define TG_LOOP_1(s, kind, n) TG_BRANCH_(s, kind, 1, TG_V_(n))
#define TG_LOOP_2(s, kind, i, ni) TG_AXES_1(s, kind, 0, i, ni)
#define TG_LOOP_3(s, kind, i, ni, option) TG_AXES_1(s, kind, option, i, ni)
#define TG_LOOP_4(s, kind, i, ni, j, nj) TG_AXES_2(s, kind, 0, i, ni, j, nj)
#define TG_LOOP_5(s, kind, i, ni, j, nj, option) TG_AXES_2(s, kind, option, i, ni, j, nj)
#define TG_LOOP_6(s, kind, i, ni, j, nj, l, nl) TG_AXES_3(s, kind, 0, i, ni, j, nj, l, nl)
#define TG_LOOP_7(s, kind, i, ni, j, nj, l, nl, option) TG_AXES_3(s, kind, option, i, ni, j, nj, l, nl)
#define TG_LOOP_8(s, kind, i, ni, j, nj, l, nl, m, nm) TG_AXES_4(s, kind, 0, i, ni, j, nj, l, nl, m, nm)
#define TG_LOOP_9(s, kind, i, ni, j, nj, l, nl, m, nm, option) \
    TG_AXES_4(s, kind, option, i, ni, j, nj, l, nl, m, nm)
#define TG_LOOP_10(s, kind, i, ni, j, nj, l, nl, m, nm, p, np) \
    TG_AXES_5(s, kind, 0, i, ni, j, nj, l, nl, m, nm, p, np)
#define TG_LOOP_11(s, kind, i, ni, j, nj, l, nl, m, nm, p, np, option) \
    TG_AXES_5(s, kind, option, i, ni, j, nj, l, nl, m, nm, p, np)
#define TG_LOOP_12(s, kind, i, ni, j, nj, l, nl, m, nm, p, np, q, nq) \
    TG_AXES_6(s, kind, 0, i, ni, j, nj, l, nl, m, nm, p, np, q, nq)
#define TG_LOOP_13(s, kind, i, ni, j, nj, l, nl, m, nm, p, np, q, nq, option) \
    TG_AXES_6(s, kind, option, i, ni, j, nj, l, nl, m, nm, p, np, q, nq)
#define TG_AXES_1(s, kind, option, i, ni) \
    TG_OPEN_(s, kind, option, 1, TG_LIST_(#i), TG_LIST_(TG_V_(ni))) \
        for (const tg_expr i = s.axis[0]; (void)i, s.body; s.body = false, s.done = true)
#define TG_AXES_2(s, kind, option, i, ni, j, nj)                                   \
    TG_OPEN_(s, kind, option, 2, TG_LIST_(#i, #j), TG_LIST_(TG_V_(ni), TG_V_(nj))) \
    for (const tg_expr i = s.axis[0], j = s.axis[1]; (void)i, (void)j, s.body; s.body = false, s.done = true)
#define TG_AXES_3(s, kind, option, i, ni, j, nj, l, nl)                                                \
    TG_OPEN_(s, kind, option, 3, TG_LIST_(#i, #j, #l), TG_LIST_(TG_V_(ni), TG_V_(nj), TG_V_(nl)))      \
    for (const tg_expr i = s.axis[0], j = s.axis[1], l = s.axis[2]; (void)i, (void)j, (void)l, s.body; \
         s.body = false, s.done = true)
#define TG_AXES_4(s, kind, option, i, ni, j, nj, l, nl, m, nm)                     \
    TG_OPEN_(s, kind, option, 4, TG_LIST_(#i, #j, #l, #m),                         \
             TG_LIST_(TG_V_(ni), TG_V_(nj), TG_V_(nl), TG_V_(nm)))                 \
    for (const tg_expr i = s.axis[0], j = s.axis[1], l = s.axis[2], m = s.axis[3]; \
         (void)i, (void)j, (void)l, (void)m, s.body; s.body = false, s.done = true)
#define TG_AXES_5(s, kind, option, i, ni, j, nj, l, nl, m, nm, p, np)                             \
    TG_OPEN_(s, kind, option, 5, TG_LIST_(#i, #j, #l, #m, #p),                                    \
             TG_LIST_(TG_V_(ni), TG_V_(nj), TG_V_(nl), TG_V_(nm), TG_V_(np)))                     \
    for (const tg_expr i = s.axis[0], j = s.axis[1], l = s.axis[2], m = s.axis[3], p = s.axis[4]; \
         (void)i, (void)j, (void)l, (void)m, (void)p, s.body; s.body = false, s.done = true)
#define TG_AXES_6(s, kind, option, i, ni, j, nj, l, nl, m, nm, p, np, q, nq)                      \
    TG_OPEN_(s, kind, option, 6, TG_LIST_(#i, #j, #l, #m, #p, #q),                                \
             TG_LIST_(TG_V_(ni), TG_V_(nj), TG_V_(nl), TG_V_(nm), TG_V_(np), TG_V_(nq)))          \
    for (const tg_expr i = s.axis[0], j = s.axis[1], l = s.axis[2], m = s.axis[3], p = s.axis[4], \
                       q = s.axis[5];                                                             \
         (void)i, (void)j, (void)l, (void)m, (void)p, (void)q, s.body; s.body = false, s.done = true)

#endif
