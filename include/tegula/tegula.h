/* tegula.h -- the public API of Tegula: building kernels, compiling them at run time, launching them.
 *
 * Plain C11 that C++ can include.  Three parts:
 *   1. configurations  names and values, such as N=4096, block_n=32
 *   2. the builder     ordinary functions with an explicit kernel handle; kernel sources normally include
 *                      kernel.h instead, whose words are one call of these functions each
 *   3. the host side   tg_jit: lower, compile by NVRTC, cache, launch through the CUDA driver
 *
 * Ownership   every builder handle points into the kernel's arena and dies with it.  Objects in _new/_free
 *             pairs belong to the caller; _free accepts NULL.
 * Errors      no builder function fails: a mistake is recorded once, with file and line, and yields a poison
 *             handle that later calls accept silently; tg_end() tells whether the kernel is good.  Host
 *             functions return TG_OK or a negative code; tg_error() is the text of the thread's last failure.
 * Threads     a tg_kernel belongs to the thread that began it; a tg_jit may be used by any number of threads. */
#ifndef TEGULA_H
#define TEGULA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TG_VERSION_MAJOR 0
#define TG_VERSION_MINOR 1
#define TG_VERSION_PATCH 0
#define TG_VERSION "0.1.0"

#if defined __GNUC__
#define TG_API __attribute__((visibility("default")))
#else
#define TG_API
#endif

#ifdef __cplusplus
#define TG_MAKE(type) type
extern "C" {
#else
#define TG_MAKE(type) (type)
#endif

/* The version of the library that runs, as "major.minor.patch". */
TG_API const char *tg_version(void);

/* ---- element types ------------------------------------------------------------------------------------- */

/* The values stand far from any extent, so that an element type is never taken for a number. */
typedef enum tg_dtype {
    TG_BOOL = 0x54470001,
    TG_I8,
    TG_U8,
    TG_I16,
    TG_U16,
    TG_I32,
    TG_U32,
    TG_I64,
    TG_U64,
    TG_F16,
    TG_BF16,
    TG_F32,
    TG_F64
} tg_dtype;

/* Size of one element in bits (bool: 8), 0 for what is no element type. */
TG_API int tg_bits(int64_t dtype);
/* "f16", "bf16", ..; NULL for what is no element type. */
TG_API const char *tg_dtype_name(int64_t dtype);
/* The element type of that name, or 0. */
TG_API int64_t tg_dtype_named(const char *name);

/* ---- 1. configurations --------------------------------------------------------------------------------- */

enum { TG_MAX_CONFIG = 32, TG_MAX_RANK = 6, TG_MAX_AXES = 3 };

typedef struct {
    const char *name; /* borrowed: must live as long as the configuration is used */
    int64_t value;    /* an integer or a tg_dtype */
} tg_param;

/* Parameters and tunables by name; order does not matter. */
typedef struct {
    int n;
    tg_param p[TG_MAX_CONFIG];
} tg_config;

/* Sets or replaces one value.  TG_OK, or TG_EARG for a NULL and when all TG_MAX_CONFIG places are taken;
 * tg_error() stays as it is. */
TG_API int tg_config_set(tg_config *config, const char *name, int64_t value);
/* True and the value through `value` (may be NULL) when the configuration has the name. */
TG_API bool tg_config_get(const tg_config *config, const char *name, int64_t *value);

/* TG_CONFIG(N, 4096, block_n, 32): names are tokens, as params() and tunables() read them. */
/* clang-format off */
#define TG_CONFIG(...)                                            \
    TG_MAKE(tg_config) { TG_COUNT(__VA_ARGS__) / 2, {             \
        TG_CAT(TG_PAIRS_, TG_COUNT(__VA_ARGS__))(__VA_ARGS__) } }
#define TG_PAIR(p, v) {#p, (int64_t)(v)}
/* clang-format on */
#define TG_PAIRS_2(p, v) TG_PAIR(p, v)
#define TG_PAIRS_4(p, v, ...) TG_PAIR(p, v), TG_PAIRS_2(__VA_ARGS__)
#define TG_PAIRS_6(p, v, ...) TG_PAIR(p, v), TG_PAIRS_4(__VA_ARGS__)
#define TG_PAIRS_8(p, v, ...) TG_PAIR(p, v), TG_PAIRS_6(__VA_ARGS__)
#define TG_PAIRS_10(p, v, ...) TG_PAIR(p, v), TG_PAIRS_8(__VA_ARGS__)
#define TG_PAIRS_12(p, v, ...) TG_PAIR(p, v), TG_PAIRS_10(__VA_ARGS__)
#define TG_PAIRS_14(p, v, ...) TG_PAIR(p, v), TG_PAIRS_12(__VA_ARGS__)
#define TG_PAIRS_16(p, v, ...) TG_PAIR(p, v), TG_PAIRS_14(__VA_ARGS__)
#define TG_PAIRS_18(p, v, ...) TG_PAIR(p, v), TG_PAIRS_16(__VA_ARGS__)
#define TG_PAIRS_20(p, v, ...) TG_PAIR(p, v), TG_PAIRS_18(__VA_ARGS__)
#define TG_PAIRS_22(p, v, ...) TG_PAIR(p, v), TG_PAIRS_20(__VA_ARGS__)
#define TG_PAIRS_24(p, v, ...) TG_PAIR(p, v), TG_PAIRS_22(__VA_ARGS__)
#define TG_PAIRS_26(p, v, ...) TG_PAIR(p, v), TG_PAIRS_24(__VA_ARGS__)
#define TG_PAIRS_28(p, v, ...) TG_PAIR(p, v), TG_PAIRS_26(__VA_ARGS__)
#define TG_PAIRS_30(p, v, ...) TG_PAIR(p, v), TG_PAIRS_28(__VA_ARGS__)
#define TG_PAIRS_32(p, v, ...) TG_PAIR(p, v), TG_PAIRS_30(__VA_ARGS__)

#define TG_CAT_(a, b) a##b
#define TG_CAT(a, b) TG_CAT_(a, b)
#define TG_COUNT(...)                                                                                      \
    TG_COUNT_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, \
              12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define TG_COUNT_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc, \
                  dd, ee, ff, count, ...)                                                                   \
    count

/* ---- 2. the builder ------------------------------------------------------------------------------------ */

typedef struct tg_kernel tg_kernel;
struct tg_node;

/* Four handle types, so that the C compiler tells a value from a place.  Copy them freely. */
typedef struct tg_expr {
    struct tg_node *node;
} tg_expr; /* a value */
typedef struct tg_buf {
    struct tg_node *node;
} tg_buf; /* a named buffer */
typedef struct tg_ref {
    struct tg_node *node;
} tg_ref; /* one element of a buffer */
typedef struct tg_tile {
    struct tg_node *node;
} tg_tile; /* a rectangular region of a buffer */

/* A place in the user's source; `file` must be a string literal (it is not copied). */
typedef struct {
    const char *file;
    int line;
} tg_loc;

static inline tg_loc tg_here(const char *file, int line) {
    tg_loc here = {file, line};
    return here;
}
#define TG_HERE tg_here(__FILE__, __LINE__)

/* Element type, then extents, outermost first.  Rank 0 (only the type) is one element. */
typedef struct {
    int n;
    int64_t v[TG_MAX_RANK + 1];
} tg_shape;

/* Up to TG_MAX_RANK values (indices, extents), or offset and length pairs for a slice. */
typedef struct {
    int n;
    tg_expr e[2 * TG_MAX_RANK];
} tg_index;

/* (name, extent) pairs of a scope; a NULL name is an axis without a handle. */
typedef struct {
    int n;
    const char *name[TG_MAX_RANK];
    tg_expr extent[TG_MAX_RANK];
} tg_axes;

/* A scope is live from tg_open() to tg_close().  `open` and `body` drive the for-macros of kernel.h;
 * `done` becomes true when the body was left by its end and not by `break`; who calls tg_close() without
 * kernel.h sets it before. */
typedef struct {
    tg_kernel *k;
    struct tg_node *node;
    tg_expr axis[TG_MAX_RANK];
    tg_loc at;
    bool open, body, done;
} tg_scope;

/* Where a buffer lives: see tg_tensor(), tg_alloc(), tg_reducer(). */
typedef enum { TG_GLOBAL, TG_SHARED, TG_LOCAL, TG_FRAGMENT, TG_REDUCER } tg_space;

typedef enum {
    TG_GRID,
    TG_THREADS,
    TG_SERIAL, /* option: unroll factor, 0 = the compiler's choice */
    TG_UNROLLED,
    TG_VECTORIZED,
    TG_PARALLEL,
    TG_PIPELINED, /* option: iterations under way at a time, 0 to 16; 0 and 1: no copy runs ahead */
    TG_WHEN,
    TG_OTHERWISE
} tg_scope_kind;

/* How values are combined; MAX and MIN pass NaN on. */
typedef enum { TG_SUM = 1, TG_MAX, TG_MIN } tg_reduction;

/* Operators on values.  src/dsl/ops.def holds one row for each, in this order. */
typedef enum tg_op {
    TG_ADD = 1,
    TG_SUB,
    TG_MUL,
    TG_QUO, /* integers truncate as in C, floats are IEEE's */
    TG_MOD, /* integers, the sign of the first operand as in C */
    TG_NEG,
    TG_EQ,
    TG_NE,
    TG_LT,
    TG_LE,
    TG_GT,
    TG_GE,
    TG_BOTH,   /* logical and; the second side is evaluated only when the first is true */
    TG_EITHER, /* logical or; the second side is evaluated only when the first is false */
    TG_NEGATE, /* logical not */
    TG_BIT_AND,
    TG_BIT_OR,
    TG_BIT_XOR,
    TG_BIT_NOT,
    TG_SHL,
    TG_SHR,
    TG_MIN_OF, /* NaN propagates */
    TG_MAX_OF, /* NaN propagates */
    TG_ABS,
    TG_EXP,
    TG_LOG,
    TG_SQRT,
    TG_RSQRT,
    TG_TANH
} tg_op;

/* A function that makes the builder calls of one kernel; KERNEL(name) defines one. */
typedef void tg_builder(void);

/* What KERNEL(name) records in the section that `tegula list` and `-k` read. */
typedef struct {
    const char *name;
    tg_builder *build;
    const char *file;
    int line;
} tg_kernel_record;

/* Life of a kernel.  tg_begin() makes it current for this thread, tg_end() restores the one before, so a
 * builder may build another kernel inside.  `name` is copied; `config` is copied, its names too.
 * tg_begin() returns NULL only without memory; every builder function accepts a NULL kernel silently. */
TG_API tg_kernel *tg_begin(const char *name, const tg_config *config);
/* As tg_begin(), with bytes that the builder reads through tg_user(); copied. */
TG_API tg_kernel *tg_begin_user(const char *name, const tg_config *config, const void *user, size_t size);
/* Closes the kernel and checks it as a whole.  True when no mistake was recorded. */
TG_API bool tg_end(tg_kernel *k);
/* With all its handles. */
TG_API void tg_free(tg_kernel *k);
/* The thread's current kernel; NULL (and one logged message) outside tg_begin() .. tg_end(). */
TG_API tg_kernel *tg_now(void);
/* The user bytes given to tg_begin_user(), aligned for any type; NULL when none. */
TG_API const void *tg_user(tg_kernel *k);
/* Prints the recorded mistakes, the first 16 and how many more: "file:line: error: ..", the source line and a caret
 * where the file can be read. */
TG_API void tg_report(const tg_kernel *k, FILE *out);
/* Prints the tile IR as text; with `lines`, "file:line" before each statement. */
TG_API void tg_dump(const tg_kernel *k, FILE *out, bool lines);

/* Of every function below: `at` is the line that messages name; names are copied, and NULL in tg_axes alone; after a
 * mistake handles are poison, and integers 1 or the fallback. */

/* -- parameters, tunables, legality: before the grid -- */

/* The value of a parameter of the problem; a mistake when the configuration has none. */
TG_API int64_t tg_param_get(tg_kernel *k, tg_loc at, const char *name);
/* The value of a tunable: given in the configuration, else tuned (tg_tuned_file()), else `fallback`. */
TG_API int64_t tg_tunable_get(tg_kernel *k, tg_loc at, const char *name, int64_t fallback);
/* Records `why` as the reason when `holds` is false; returns `holds`, by which the builder is to return.
 * `condition` is its text, for the message. */
TG_API bool tg_require(tg_kernel *k, tg_loc at, bool holds, const char *condition, const char *why);
/* So many blocks fit on a multiprocessor at once, at least: what registers a thread may have follows from it.
 * 0: the CUDA compiler's choice.  Once at most. */
TG_API void tg_resident(tg_kernel *k, tg_loc at, int64_t blocks);
/* a / b rounded up; b must be positive.  The second form: where a is known at launch or later. */
TG_API int64_t tg_ceildiv(tg_kernel *k, tg_loc at, int64_t a, int64_t b);
TG_API tg_expr tg_ceildiv_expr(tg_kernel *k, tg_loc at, tg_expr a, int64_t b);

/* -- arguments of the launch, in declaration order, 64 at most: before the grid -- */

/* A value of that element type: the same for all threads. */
TG_API tg_expr tg_scalar(tg_kernel *k, tg_loc at, const char *name, int64_t dtype);
/* An integer from 0 to 2^31 - 1, for outermost extents of tensors, grids and trip counts: one compiled kernel serves
 * them all. */
TG_API tg_expr tg_extent(tg_kernel *k, tg_loc at, const char *name);
/* Global memory in row-major order.  `dims`: its extents in elements, outermost first, positive integers; the
 * outermost may be made of tg_extent() values; none: one element.  `pitch`: elements from row to row, at least a row;
 * 0: rows follow each other.  Whether it is input or output is what the kernel does with it. */
TG_API tg_buf tg_tensor(tg_kernel *k, tg_loc at, const char *name, int64_t dtype, int64_t pitch,
                        tg_index dims);
/* The tensor begins at a multiple of so many bytes, as launches check; 16 where nothing is said.  A power of two, from
 * the size of an element to 256. */
TG_API void tg_aligned(tg_kernel *k, tg_loc at, tg_buf tensor, int64_t bytes);
/* The two tensors may overlap; else launches refuse a written one that overlaps another.  At most 4 a tensor. */
TG_API void tg_alias(tg_kernel *k, tg_loc at, tg_buf a, tg_buf b);
/* Nobody writes the tensor while launches follow each other (weights): see tg_jit_dependent(). */
TG_API void tg_constant(tg_kernel *k, tg_loc at, tg_buf tensor);

/* -- buffers, elements, regions -- */

/* TG_SHARED: one for the block.  TG_LOCAL: one for each thread, or each iteration inside parallel.  TG_FRAGMENT: one
 * for the block, its elements spread over registers of its threads.  Contents undefined until written; gone when the
 * enclosing scope closes. */
TG_API tg_buf tg_alloc(tg_kernel *k, tg_loc at, tg_space space, const char *name, tg_shape shape);
/* A fragment of partial results.  From clear or fill to finalize it is only accumulated into, afterwards only read.
 * `reduction`: TG_SUM, TG_MAX, TG_MIN; any type but bool. */
TG_API tg_buf tg_reducer(tg_kernel *k, tg_loc at, int64_t reduction, const char *name, tg_shape shape);
/* The same bytes as another type and shape, all of them.  Not of reducers, of what is pitched, or of what has an extent
 * known at launch; of fragments with elements of the same size only. */
TG_API tg_buf tg_view(tg_kernel *k, tg_loc at, tg_buf buf, tg_shape shape);
/* One element: an index for each dimension.  Nothing guards it; outside of the buffer is a fault. */
TG_API tg_ref tg_at(tg_kernel *k, tg_loc at, tg_buf buf, tg_index index);
/* The whole buffer. */
TG_API tg_tile tg_whole(tg_kernel *k, tg_loc at, tg_buf buf);
/* As large as the other side of the copy; `tile`: its corner in units of that size, `corner`: in elements. */
TG_API tg_tile tg_tile_at(tg_kernel *k, tg_loc at, tg_buf buf, tg_index tile);
TG_API tg_tile tg_tile_from(tg_kernel *k, tg_loc at, tg_buf buf, tg_index corner);
/* `pairs`: an offset and a length for each dimension; lengths are positive integers. */
TG_API tg_tile tg_slice(tg_kernel *k, tg_loc at, tg_buf buf, tg_index pairs);

/* -- values.  Making one never makes a statement, so the order of evaluation of C arguments cannot show -- */

/* A literal takes the type of the place that it goes to or of the other operand, which must hold it: 0 becomes f32,
 * 1.5 no i32.  Where neither gives one, an integer is an index and a float f32. */
TG_API tg_expr tg_int(tg_kernel *k, tg_loc at, int64_t value);
TG_API tg_expr tg_float(tg_kernel *k, tg_loc at, double value);
/* What the element holds when the statement that uses the value runs. */
TG_API tg_expr tg_load(tg_kernel *k, tg_loc at, tg_ref ref);
/* Operands of one type (indices and integers that fit an index meet as indices); comparisons give bool. */
TG_API tg_expr tg_unary(tg_kernel *k, tg_loc at, tg_op op, tg_expr a);
TG_API tg_expr tg_binary(tg_kernel *k, tg_loc at, tg_op op, tg_expr a, tg_expr b);
/* condition ? a : b, of one type; only the chosen side is evaluated. */
TG_API tg_expr tg_choose(tg_kernel *k, tg_loc at, tg_expr condition, tg_expr a, tg_expr b);
/* As a C cast: integers wrap, floats round once to nearest even; a float out of an integer's range is a fault. */
TG_API tg_expr tg_cast(tg_kernel *k, tg_loc at, int64_t dtype, tg_expr a);
/* The same bits as another type of the same size; not of bool, and not of an index, which has no size. */
TG_API tg_expr tg_bitcast(tg_kernel *k, tg_loc at, int64_t dtype, tg_expr a);

/* -- statements that yield a value: evaluated once, where written -- */

/* The name stands in the CUDA text too. */
TG_API tg_expr tg_let(tg_kernel *k, tg_loc at, const char *name, tg_expr value);
/* The reduction of x over the threads that differ along the named axis only, the same bits in each of them.
 * Collective, as are tile operations, TG_PARALLEL and TG_PIPELINED: all threads of the block come to it, so it stands
 * neither inside TG_PARALLEL nor where threads may disagree. */
TG_API tg_expr tg_allreduce(tg_kernel *k, tg_loc at, int64_t reduction, tg_expr x, tg_expr thread_axis);

/* -- statements on elements.  Where threads have no names, those into tensors and shared memory stand inside
 *    TG_PARALLEL -- */

/* dst = value.  Nothing converts by itself. */
TG_API void tg_store(tg_kernel *k, tg_loc at, tg_ref dst, tg_expr value);
/* dst = dst + value; a reducer combines by its own reduction.  Not of bool. */
TG_API void tg_accum(tg_kernel *k, tg_loc at, tg_ref dst, tg_expr value);
/* The same by any reduction, for threads that meet at an element of a tensor or shared buffer.  i32, u32, i64, u64 and
 * the floating types. */
TG_API void tg_atomic(tg_kernel *k, tg_loc at, tg_reduction op, tg_ref dst, tg_expr value);
/* __syncthreads(): collective. */
TG_API void tg_sync_threads(tg_kernel *k, tg_loc at);
/* `format` is C's printf format with one conversion a value: %d %u %lld %llu %g %f %e %x. */
TG_API void tg_print(tg_kernel *k, tg_loc at, const char *format, tg_index values);
/* Where the condition is false the launch ends normally, and tg_wait() or the next launch tells the line, block,
 * thread and `message`. */
TG_API void tg_check(tg_kernel *k, tg_loc at, tg_expr condition, const char *message);

/* -- statements on regions: by all threads of the block together (collective), but for those on a TG_LOCAL, which are
 *    each thread's own -- */

/* How a copy spreads its elements over the threads, for those who want to say so. */
typedef enum {
    TG_LAYOUT_AUTO,
    TG_BLOCKED, /* each thread a run of consecutive elements */
    TG_STRIPED  /* neighbouring threads on neighbouring elements (or vectors) */
} tg_copy_layout;

typedef struct {
    int width;             /* elements of one access, a power of two up to 16 bytes; 0: chosen */
    tg_copy_layout layout; /* TG_LAYOUT_AUTO: chosen */
    double outside;        /* what reads outside a tensor give */
} tg_copy_options;

/* Extents are matched from the innermost; a dimension that one side lacks counts as 1.  Converts.  Reads outside of a
 * tensor give options.outside, writes outside are dropped; other buffers must hold the region.  The two may not
 * overlap. */
TG_API void tg_copy(tg_kernel *k, tg_loc at, tg_tile src, tg_tile dst, tg_copy_options options);
/* Sets 0; in a reducer what changes nothing (0, or the least or greatest value). */
TG_API void tg_clear(tg_kernel *k, tg_loc at, tg_tile dst);
/* Sets `value`, alike in all threads; in a reducer a seed, counted once. */
TG_API void tg_fill(tg_kernel *k, tg_loc at, tg_tile dst, tg_expr value);
/* dst = the reduction of src over its dimension `dim`, 0 the outermost, in the type of dst, which has the other
 * dimensions of src.  Fragments and shared buffers. */
TG_API void tg_reduce(tg_kernel *k, tg_loc at, int64_t reduction, tg_buf src, tg_buf dst, int64_t dim);
/* Combines what the threads hold of a reducer. */
TG_API void tg_finalize(tg_kernel *k, tg_loc at, tg_buf reducer);

/* -- scopes: the launch, every loop, every branch -- */

/* The handles of the axes are in .axis; they run from 0 in steps of 1.  TG_GRID and TG_THREADS have up to
 * TG_MAX_AXES axes, x first, loops up to TG_MAX_RANK, outermost first.  Extents of TG_THREADS, TG_UNROLLED and
 * TG_VECTORIZED are integers.  TG_WHEN: axes.extent[0] is the condition; TG_OTHERWISE comes right after its TG_WHEN
 * was closed.  `option` is 0 but where tg_scope_kind says more. */
TG_API tg_scope tg_open(tg_kernel *k, tg_loc at, tg_scope_kind kind, int64_t option, tg_axes axes);
/* Closes it; one that was opened after it and is still open is a mistake. */
TG_API void tg_close(tg_scope *scope);

/* ---- 3. the host side ---------------------------------------------------------------------------------- */

typedef enum tg_status {
    TG_OK = 0,
    TG_EKERNEL = -1,     /* the kernel or its configuration is faulty */
    TG_EARG = -2,        /* an argument of the call is faulty */
    TG_ENODEVICE = -3,   /* no GPU, no driver, or not this one */
    TG_ENOCOMPILER = -4, /* no usable NVRTC */
    TG_EDRIVER = -5,     /* the driver refused; tg_error() has its name and number */
    TG_ENOMEM = -6,
    TG_EINTERNAL = -7 /* a fault of Tegula; tg_error() has file and line */
} tg_status;

/* The text of this thread's last failed call, "" before any.  Valid until the thread's next call. */
TG_API const char *tg_error(void);

typedef enum { TG_LOG_INFO, TG_LOG_WARNING } tg_log_level;
typedef void tg_log_function(tg_log_level level, const char *text, void *user);
/* Where the library's messages go; NULL (the default): to the file that TEGULA_LOG names, else nowhere.
 * `fn` may be called by any thread, several at once.  The library itself never prints. */
TG_API void tg_set_log(tg_log_function *fn, void *user);

/* One argument of a launch. */
typedef enum { TG_ARG_POINTER, TG_ARG_INT, TG_ARG_FLOAT, TG_ARG_DLPACK, TG_ARG_UINT } tg_arg_kind;
typedef struct {
    tg_arg_kind kind;
    const void *pointer; /* a device address, or the host address of a DLTensor */
    int64_t integer;     /* TG_ARG_UINT: the same bits */
    double real;
} tg_arg;

static inline tg_arg tg_arg_pointer(const void *device_pointer) {
    tg_arg arg = {TG_ARG_POINTER, device_pointer, 0, 0.0};
    return arg;
}
/* For scalars of integer or bool type and for extents; must fit the declared type. */
static inline tg_arg tg_arg_int(int64_t value) {
    tg_arg arg = {TG_ARG_INT, NULL, value, 0.0};
    return arg;
}
/* The same for what may be above INT64_MAX, as a scalar of type u64 can be. */
static inline tg_arg tg_arg_uint(uint64_t value) {
    tg_arg arg = {TG_ARG_UINT, NULL, (int64_t)value, 0.0};
    return arg;
}
/* For scalars of floating type; rounded once to the declared type. */
static inline tg_arg tg_arg_float(double value) {
    tg_arg arg = {TG_ARG_FLOAT, NULL, 0, value};
    return arg;
}
/* `tensor` is a DLTensor as tegula/dlpack.h (or the official header) lays it out; borrowed for the call. */
static inline tg_arg tg_arg_dlpack(const void *tensor) {
    tg_arg arg = {TG_ARG_DLPACK, tensor, 0, 0.0};
    return arg;
}

/* Compiled kernels in one file, made by `tegula pack`: a program that carries them needs libcuda, but no compiler on
 * the machine where it runs.  From its opening to its closing every tg_jit asks the packs before the cache, the last
 * opened first.  An entry serves a launch with the same kernel name, user bytes and values; tunables that the
 * launch leaves out are as the pack has them.  Of several the one for the very device is taken, then its
 * architecture, then an older one of the same generation, then PTX, which the driver compiles.  Packs are read by
 * any version of Tegula with the same pack format.  Kernels in use outlive the pack, and so do the tuned records that
 * it brings, which its opening gives to tg_tuned_memory(). */
typedef struct tg_pack tg_pack;
/* NULL when the file is no pack, of another format, cut or altered: tg_error() says which. */
TG_API tg_pack *tg_pack_open(const char *path);
/* The same for bytes in memory, such as an array of the program; borrowed until tg_pack_close(). */
TG_API tg_pack *tg_pack_memory(const void *bytes, size_t size);
TG_API void tg_pack_close(tg_pack *pack);

typedef struct tg_jit tg_jit;

/* A kernel to be compiled on demand for each configuration.  `user` (may be NULL) is copied and readable by
 * the builder through tg_user(); builder output may depend on the configuration and these bytes only.
 * `build` may be NULL in a program that has its kernels in packs only.  NULL without memory or a name. */
TG_API tg_jit *tg_jit_new(const char *name, tg_builder *build, const void *user, size_t user_size);
/* When no launch of it runs any more: its code is unloaded. */
TG_API void tg_jit_free(tg_jit *jit);
/* Lets launches of this kernel start before the launch before them in their stream has ended (programmatic
 * dependent launch: from sm_90 on; elsewhere, and after anything but a kernel, they are plain launches).  The
 * kernel itself waits for what came before, ahead of all memory but tensors declared constant(): those may be
 * read sooner, so nobody may write them while launches follow each other.  To be said before the first launch,
 * tg_prepare() or tg_info(): afterwards a change is TG_EARG.  Works in stream capture. */
TG_API int tg_jit_dependent(tg_jit *jit, bool is_dependent);
/* Launches on `stream` (CUstream, cudaStream_t; NULL: the current context's default stream, else device 0's
 * primary context).  Arguments in declaration order.  Compiles on first use; that first use fails with
 * TG_EARG while the stream is being captured and leaves the capture intact.  TG_OK: launched.  TG_EKERNEL: the
 * kernel or configuration is faulty, or a check() failed in an earlier launch; TG_EARG: the arguments do not fit;
 * TG_ENODEVICE, TG_ENOCOMPILER, TG_EDRIVER, TG_ENOMEM, TG_EINTERNAL. */
TG_API int tg_launch(tg_jit *jit, tg_config config, void *stream, int nargs, const tg_arg *args);
/* Compiles and loads for a device, by the driver's number, in the thread's current context when that is on it, else
 * the device's primary one; tg_launch() there then allocates, loads, locks and synchronises nothing.  Codes as of
 * tg_launch(). */
TG_API int tg_prepare(tg_jit *jit, tg_config config, int device);
/* Waits for the stream, then answers TG_EKERNEL with the place and message when a check() of the kernel failed in
 * a launch since the last call.  Without it the kernel's next launch tells. */
TG_API int tg_wait(tg_jit *jit, void *stream);

typedef struct {
    int registers;    /* per thread */
    int spill_bytes;  /* local memory per thread */
    int shared_bytes; /* per block, static and dynamic */
    int64_t grid[3];  /* 0 where known at launch only */
    int threads[3];
    int blocks_per_sm; /* occupancy: resident blocks per SM */
    char key[33];      /* the cache key in hexadecimal */
    char target[16];   /* "sm_90a" */
} tg_kernel_info;

/* Compiles if needed, for the current context's device (else device 0).  Codes as of tg_launch(). */
TG_API int tg_info(tg_jit *jit, tg_config config, tg_kernel_info *info);
/* The CUDA text for the current device's target, or sm_80 without a device.  To be freed by free(); NULL on error,
 * which tg_error() tells. */
TG_API char *tg_source(tg_jit *jit, tg_config config);

/* ---- how long it takes ---------------------------------------------------------------------------------- */

/* What one timed sample is. */
typedef enum tg_bench_mode {
    /* A replay of a CUDA graph of many calls that rotate over sets of arguments.  With sets of at least twice the
     * L2 cache together no call finds what an earlier one left there; with one small set the cache is hot. */
    TG_BENCH_STREAM,
    /* One call between two events, after the L2 cache was overwritten and read out of; a call then also pays for
     * its launch's way through the GPU, as it would after an idle moment. */
    TG_BENCH_COLD,
    /* As TG_BENCH_STREAM, the calls launched one by one: for what a graph changes (the driver's own copies). */
    TG_BENCH_LAUNCHES
} tg_bench_mode;

/* All zeros: the defaults. */
typedef struct tg_bench_options {
    tg_bench_mode mode;
    double seconds;               /* time to spend on samples; 0: 0.1 */
    double warm_up;               /* seconds of calls before them; 0: 0.025 */
    int min_samples, max_samples; /* whatever the time; 0: 10 and 1000 */
    /* Ends earlier, once the 95 % interval of the median is no wider than this share of it either way, or than
     * 0.5 us; 0: uses the time. */
    double precision;
    /* Ends once the interval lies above this many microseconds: the call is out of the race.  0: never. */
    double give_up_us;
    /* Seconds until queued calls count as hung, unless ten times what they took before is more; 0: 60.  Then the code
     * is TG_EDRIVER, and the GPU is busy still: whatever waits for it, such as freeing memory, may wait for ever. */
    double timeout;
} tg_bench_options;

/* Microseconds of one call. */
typedef struct tg_bench_figures {
    double median_us, low_us, high_us, min_us; /* low and high: the quartiles */
    double interval_us;                        /* half the width of the 95 % interval of the median */
    int samples;                               /* timed, after the warm-up */
    int launches;                              /* calls in a sample: 1 in cold mode */
    /* The interval is wider than 1 % and 0.5 us, either way, or the clock of the SMs fell by more than 5 %. */
    bool is_noisy;
    bool gave_up;  /* .give_up_us ended it */
    int clock_mhz; /* of the SMs while samples ran; 0: the driver does not say */
} tg_bench_figures;

/* One call of what is to be timed, on `stream`, with set number `set` of its arguments: one launch or several,
 * of this library's kernels or any other.  It must be ready for stream capture (tg_prepare()) and wait for
 * nothing.  TG_OK, or a code that ends the measurement. */
typedef int tg_bench_call(void *user, int set, void *stream);

/* Times calls on the current context's device (else device 0), in a stream of its own, and waits for the end.
 * The first round of calls, one a set, is not captured: it may compile.  `options` may be NULL.  Codes: TG_EARG
 * for nsets below 1, TG_ENODEVICE, TG_EDRIVER, TG_ENOMEM, or what the call returned; *figures is then zero. */
TG_API int tg_bench_calls(tg_bench_call *call, void *user, int nsets, const tg_bench_options *options,
                          tg_bench_figures *figures);
/* The same for launches of one kernel; `args`: nsets times nargs of them, set by set.  The kernel really runs: its
 * outputs are those of the last call, and what it accumulates is accumulated many times. */
TG_API int tg_bench(tg_jit *jit, tg_config config, int nsets, int nargs, const tg_arg *args,
                    const tg_bench_options *options, tg_bench_figures *figures);

/* ---- tuned records --------------------------------------------------------------------------------------- */

/* Tuned records, as `tegula tune` and tg_tune() write them: JSON lines that ship with a program.  A tunable is the
 * value given in the configuration, else that of the fastest record which agrees with all given values (same
 * kernel name, device, number of multiprocessors and params), else that of the nearest params on the same device,
 * else its default.  A kernel is compiled once for all values of an extent: of records for several, those measured
 * last count.  The first source that knows the params wins: the file that TEGULA_TUNED names, then those given
 * here, the newest first.  Call before the first launch that should know; kernels that are compiled already stay.
 *
 * tg_tuned_file(NULL) forgets all sources given before, TEGULA_TUNED excepted.  TG_OK; TG_EARG: not readable;
 * TG_ENOMEM.  Lines that are no record are skipped, with one message to the log. */
TG_API int tg_tuned_file(const char *path);
/* The same from memory; the bytes are not needed afterwards. */
TG_API int tg_tuned_memory(const void *bytes, size_t size);

/* ---- tuning in a program --------------------------------------------------------------------------------- */

/* What tg_tune() asks of the program.  Each may be NULL; all are called by the thread that called tg_tune(). */
typedef struct tg_tune_calls {
    /* Before the launch whose result is looked at: sets back what the kernel adds to or changes in place, of argument
     * set 0.  TG_OK, or a code that ends the tuning. */
    int (*reset)(void *user);
    /* After it, when the GPU is done: is what lies in the outputs of set 0 right?  NULL: every result is. */
    bool (*is_right)(void *user, const tg_config *config);
    /* After each configuration; `best` NULL and 0 before any was right.  False ends the tuning with what is known. */
    bool (*progress)(void *user, int done, int total, const tg_config *best, double best_us);
    void *user;
} tg_tune_calls;

/* All zeros: the defaults. */
typedef struct tg_tune_options {
    tg_tune_calls calls;
    int nsets;          /* sets of arguments, see tg_bench_calls(); 0: 1 */
    tg_bench_mode mode; /* of the best few; with one set that fits the L2 cache, cold mode is what counts */
    double seconds;     /* ends after so long, and tries likely configurations first; 0: all */
    int jobs;           /* threads that compile; 0: one a processor, 8 at most */
    /* A file: every result is added, and what it has already is not measured again; NULL: none. */
    const char *records;
    uint64_t seed;  /* of the order, where .seconds is set */
    double timeout; /* seconds until launches of a configuration count as hung; 0: 10 */
} tg_tune_options;

typedef struct tg_tune_result {
    /* Params and tunables of the fastest right configuration; names borrowed from the call. */
    tg_config config;
    tg_bench_figures figures; /* of it */
    int tried, right;         /* configurations */
} tg_tune_result;

/* Times `configs` (tunables, merged over `params`) on the current context's device, else device 0: compiles in
 * threads, compares by calls.is_right, races (a short look at each, then the best few in turn), and leaves the fastest.
 * `args`: nsets times nargs, set by set; the kernel really runs on them, many times.  Nothing else should use the GPU
 * meanwhile.
 *
 * All happens in this process, so a kernel that hangs or touches an illegal address costs it the GPU: TG_EDRIVER,
 * with the configuration in tg_error(); `tegula tune` contains both in processes of its own.  With .records such a
 * configuration is written down and left out by the next process, which goes on from there.  After a hang, end the
 * process by _exit(): whatever waits for the GPU, tg_jit_free() too, would wait for ever.  Records are those of
 * `tegula tune`: a program that calls tg_tuned_file() with the same file, or has TEGULA_TUNED set to it, uses them.
 *
 * TG_OK; TG_EKERNEL: no configuration is right (tg_error() has the first reason); TG_EARG, TG_ENODEVICE,
 * TG_ENOCOMPILER, TG_EDRIVER, TG_ENOMEM, or what calls.reset answered.  `options` may be NULL. */
TG_API int tg_tune(tg_jit *jit, tg_config params, int nconfigs, const tg_config *configs, int nargs,
                   const tg_arg *args, const tg_tune_options *options, tg_tune_result *result);

#ifdef __cplusplus
}
#endif
#endif
