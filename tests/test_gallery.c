/* test_gallery.c -- the kernels of the gallery in block view compute what their references say: at
 * small and odd shapes and schedules, run by the tile reference in two opposite orders and in shuffled ones.
 *
 * The references are plain C in double precision; nothing of the compiler is between them and the kernels
 * here. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/pipeline.h"
#include "sim/sim.h"
#include "sim/tile_reference.h"

/* Of kernel.h, whose words cannot stand in one file with the IRs. */
const tg_kernel_record *const *tg_kernel_table(int *n);

typedef void reference_function(const tg_config *config, void *const args[]);
reference_function gemv_reference, gemv_split_reference, cast_output_reference, rowprod_reference,
    rowprod_striped_reference, prefix_reference, copy_1d_reference, softmax_reference, rms_norm_reference,
    transpose_reference, add_broadcast_reference, row_sum_reference, gemv_q4_reference;
reference_function gemv_q4_inputs;

enum { MAX_ARGS = 8 };

/* ---- a kernel and its arguments ----------------------------------------------------------------------- */

typedef struct call {
    tg_kernel *k;
    tg_config config; /* as a reference sees it: params, tunables, extents */
    int n;
    witness_arg arg[MAX_ARGS];
    void *before[MAX_ARGS], *wanted[MAX_ARGS];
} call;

static uint64_t state;

static double random_unit(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static tg_builder *builder_of(const char *name) {
    int n;
    const tg_kernel_record *const *records = tg_kernel_table(&n);
    for (int i = 0; i < n; i++) {
        if (strcmp(records[i]->name, name) == 0) {
            return records[i]->build;
        }
    }
    cr_assert_fail("the gallery has no kernel '%s'", name);
    return NULL;
}

static tg_kernel *build(const char *name, const tg_config *config) {
    tg_kernel *k = tg_begin(name, config);
    builder_of(name)();
    if (!tg_end(k)) {
        tg_report(k, stderr);
        cr_assert_fail("%s does not build", name);
    }
    return k;
}

static size_t bytes_of(const buffer *b, int64_t rows) {
    int64_t elements = 1;
    for (int i = 0; i < b->rank; i++) {
        elements *= b->dim[i] < 0 ? rows : b->dim[i];
    }
    return (size_t)(elements * type_bytes(b->type));
}

static void put(void *data, size_t i, value v) {
    const size_t size = (size_t)type_bytes(v.type);
    memcpy((char *)data + i * size, &v.bits, size);
}

static value element(const void *data, int64_t type, size_t i) {
    const size_t size = (size_t)type_bytes(type);
    value v = {type, 0};
    memcpy(&v.bits, (const char *)data + i * size, size);
    return v;
}

/* Outputs begin as what no kernel writes: all bits set.  Where others add to them, as 0. */
static void make_tensor(call *c, int i, const buffer *b, int64_t rows) {
    const size_t bytes = bytes_of(b, rows), n = bytes / (size_t)type_bytes(b->type);
    const bool is_output = b->is_written;
    c->arg[i].bytes = bytes;
    c->arg[i].data = malloc(bytes + 1);
    c->before[i] = malloc(bytes + 1);
    c->wanted[i] = malloc(bytes + 1);
    memset(c->before[i], b->is_atomic ? 0 : 0xff, bytes);
    for (size_t j = 0; j < n && !is_output; j++) {
        const bool is_float = type_is_float(b->type);
        put(c->before[i], j,
            is_float ? value_real(b->type, 0.5 + 2 * random_unit() - (random_unit() < 0.5 ? 2 : 0))
                     : value_int(b->type, (int64_t)(random_unit() * 256)));
    }
    memcpy(c->wanted[i], c->before[i], bytes);
}

static void make_scalar(call *c, int i, const var *v, int64_t rows) {
    const bool is_extent = v->kind == VAR_EXTENT;
    c->arg[i].scalar = is_extent ? value_int(TYPE_INDEX, rows) : value_real(v->type, 0.01);
    c->wanted[i] = malloc(sizeof(uint64_t));
    memcpy(c->wanted[i], &c->arg[i].scalar.bits, sizeof(uint64_t));
    if (is_extent) {
        tg_config_set(&c->config, v->name, rows);
    }
}

static void open_call(call *c, const char *name, const tg_config *config, int64_t rows) {
    *c = (call){.k = build(name, config)};
    c->n = c->k->nargs;
    cr_assert(c->n <= MAX_ARGS);
    for (int i = 0; i < c->k->nparams; i++) {
        tg_config_set(&c->config, c->k->params[i].name, c->k->params[i].value);
    }
    for (int i = 0; i < c->n; i++) {
        const tile_arg *arg = &c->k->args[i];
        if (arg->tensor) {
            make_tensor(c, i, arg->tensor, rows);
        } else {
            make_scalar(c, i, arg->scalar, rows);
        }
    }
}

static void close_call(call *c) {
    for (int i = 0; i < c->n; i++) {
        free(c->arg[i].data);
        free(c->before[i]);
        free(c->wanted[i]);
    }
    tg_free(c->k);
}

/* ---- running and comparing ---------------------------------------------------------------------------- */

static void describe(const call *c, text *out) {
    text_print(out, "%s", c->k->name);
    for (int i = 0; i < c->config.n; i++) {
        const char *type = tg_dtype_name(c->config.p[i].value);
        text_print(out, " %s=", c->config.p[i].name);
        if (type) {
            text_add(out, type);
        } else {
            text_print(out, "%d", (int)c->config.p[i].value);
        }
    }
}

static void restore(call *c) {
    for (int i = 0; i < c->n; i++) {
        if (c->arg[i].data) {
            memcpy(c->arg[i].data, c->before[i], c->arg[i].bytes);
        }
    }
}

static void run_call(call *c, uint64_t seed) {
    const reference_options options = {.seed = seed};
    reference_result result = {0};
    text error = {0};
    restore(c);
    const int status = tile_reference_orders(c->k, c->n, c->arg, &options, &result, &error);
    cr_assert_eq(status, TG_OK, "%s: %s", c->k->name, error.s ? error.s : "");
    if (result.findings.total > 0) {
        findings_print(&result.findings, &error);
        cr_assert_fail("%s, seed %d: %s", c->k->name, (int)seed, error.s);
    }
    reference_free(&result);
    text_free(&error);
}

/* The same kernel, lowered for a target. */
static void simulate_call(call *c, const char *machine, bool dependent) {
    const pipeline_options how = {.target = target_find(machine), .verify = true, .dependent = dependent};
    const pipeline_input input = {
        .name = c->k->name, .build = builder_of(c->k->name), .config = &c->k->config};
    const sim_options options = {.strict = true};
    pipeline_result made;
    sim_result result = {0};
    text error = {0};
    const int code = pipeline_run(&input, &how, &made);
    if (code != TG_OK) {
        const char *bug = diag_take_bug();
        describe(c, &error);
        text_print(&error, " for %s: code %d %s: ", machine, code, bug ? bug : "");
        diag_print(&made.kernel->errors, &error);
        cr_assert_fail("%s", error.s);
    }
    restore(c);
    const int status = sim_run(made.thread, c->n, c->arg, &options, &result, &error);
    cr_assert_eq(status, TG_OK, "%s for %s: %s", c->k->name, machine, error.s ? error.s : "");
    if (result.findings.total > 0) {
        describe(c, &error);
        text_print(&error, " for %s: ", machine);
        findings_print(&result.findings, &error);
        cr_assert_fail("%s", error.s);
    }
    sim_free(&result);
    text_free(&error);
    pipeline_free(&made);
}

/* The error relative to the largest number wanted: halves round to 11 or 8 bits, f32 sums err a little more.
 */
static double tolerance_of(int64_t type) {
    return type == TG_F16 ? 1e-3 : type == TG_BF16 ? 8e-3 : type == TG_F32 ? 1e-5 : 0;
}

static void compare_tensor(const call *c, int i) {
    const buffer *b = c->k->args[i].tensor;
    const size_t n = c->arg[i].bytes / (size_t)type_bytes(b->type);
    double largest = 0;
    text what = {0};
    describe(c, &what);
    for (size_t j = 0; j < n; j++) {
        largest = fmax(largest, fabs(value_as_real(element(c->wanted[i], b->type, j))));
    }
    for (size_t j = 0; j < n; j++) {
        const double got = value_as_real(element(c->arg[i].data, b->type, j));
        const double wanted = value_as_real(element(c->wanted[i], b->type, j));
        cr_assert(fabs(got - wanted) <= tolerance_of(b->type) * largest, "%s: %s[%d] is %g, not %g", what.s,
                  b->name, (int)j, got, wanted);
    }
    text_free(&what);
}

static void compare(const call *c) {
    for (int i = 0; i < c->n; i++) {
        const buffer *b = c->k->args[i].tensor;
        if (b && b->is_written) {
            compare_tensor(c, i);
        } else if (b) {
            cr_assert_arr_eq(c->arg[i].data, c->before[i], c->arg[i].bytes);
        }
    }
}

static void check_with(const char *name, reference_function *reference, reference_function *inputs,
                       tg_config config, int64_t rows) {
    call c;
    open_call(&c, name, &config, rows);
    if (inputs) {
        inputs(&c.config, c.before);
        inputs(&c.config, c.wanted);
    }
    reference(&c.config, c.wanted);
    run_call(&c, 0);
    compare(&c);
    run_call(&c, 77);
    compare(&c);
    simulate_call(&c, "sm_80", false);
    compare(&c);
    simulate_call(&c, "sim64", false);
    compare(&c);
    simulate_call(&c, "sm_90a", true);
    compare(&c);
    close_call(&c);
}

static void check(const char *name, reference_function *reference, tg_config config, int64_t rows) {
    check_with(name, reference, NULL, config, rows);
}

/* ---- matrix-vector products --------------------------------------------------------------------------- */

/* Rows, columns, tile: multiples of the tile, less than one tile, primes. */
static const int64_t shapes[][4] = {{1, 1, 1, 1},     {7, 13, 4, 8},     {32, 64, 32, 16},
                                    {33, 97, 16, 32}, {13, 128, 31, 37}, {64, 30, 8, 64}};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };
static const int64_t halves[] = {TG_F16, TG_BF16};

#define SHAPE(s, type) \
    N, shapes[s][0], K, shapes[s][1], dtype, type, block_n, shapes[s][2], block_k, shapes[s][3]

Test(gallery, gemv_in_block_view) {
    for (int s = 0; s < N_SHAPES; s++) {
        const int64_t type = halves[s % 2];
        check("block_naive", gemv_reference, TG_CONFIG(SHAPE(s, type)), 0);
        for (int stages = 0; stages <= 4; stages++) {
            check("block_pipelined", gemv_reference, TG_CONFIG(SHAPE(s, type), num_stages, stages), 0);
        }
        for (int threads = 1; threads <= 64; threads += 21) { /* fewer than rows, and more */
            check("block_naive", gemv_reference, TG_CONFIG(SHAPE(s, type), num_threads, threads), 0);
            check("block_pipelined", gemv_reference, TG_CONFIG(SHAPE(s, type), num_threads, threads), 0);
        }
        for (int threads = 31; threads <= 97; threads += 33) {
            check("block_alloc_reducer", gemv_reference, TG_CONFIG(SHAPE(s, type), num_threads, threads), 0);
        }
    }
}

/* The call of split-k: fill, add up, cast. */
static void check_steps(const char *name, tg_config config) {
    call c, last;
    int64_t N = 0, dtype = 0;
    tg_config_get(&config, "N", &N);
    tg_config_get(&config, "dtype", &dtype);
    const tg_config cast = TG_CONFIG(N, N, dtype, dtype, block_n, 24, num_threads, 7);
    open_call(&c, name, &config, 0);
    open_call(&last, "cast_output", &cast, 0);
    gemv_split_reference(&c.config, (void *[]){c.wanted[0], c.wanted[1], NULL, last.wanted[1]});
    for (int way = 0; way < 2; way++) {
        if (way == 0) {
            run_call(&c, 3);
        } else {
            simulate_call(&c, "sm_80", false);
        }
        memcpy(last.before[0], c.arg[2].data, c.arg[2].bytes);
        run_call(&last, 3);
        compare(&last);
    }
    close_call(&c);
    close_call(&last);
}

Test(gallery, gemv_split_in_steps) {
    for (int s = 0; s < N_SHAPES; s++) {
        check_steps("block_split_k", TG_CONFIG(SHAPE(s, halves[s % 2])));
        check_steps("block_split_k_v2", TG_CONFIG(SHAPE(s, halves[s % 2])));
    }
    check("cast_output", cast_output_reference, TG_CONFIG(N, 1027, dtype, TG_BF16), 0);
}

Test(gallery, gemv_of_4_bit_weights) {
    static const int64_t sizes[][5] = {
        {1, 32, 1, 1, 1}, {5, 96, 2, 1, 31}, {8, 256, 4, 2, 32}, {3, 544, 8, 8, 48}, {13, 544, 12, 3, 5}};
    for (int s = 0; s < 5; s++) {
        check_with("gemv_q4", gemv_q4_reference, gemv_q4_inputs,
                   TG_CONFIG(N, sizes[s][0], K, sizes[s][1], dtype, s % 2 ? TG_F32 : TG_F16, block_n,
                             sizes[s][2], tile_n, sizes[s][3], num_threads, sizes[s][4], num_stages, s),
                   0);
    }
}

/* ---- rows read in four ways --------------------------------------------------------------------------- */

Test(gallery, rows_by_every_pattern) {
    static const int64_t types[] = {TG_BF16, TG_F16, TG_F32};
    static const int64_t sizes[][3] = {{1, 64, 32}, {3, 96, 16}, {2, 128, 1}, {5, 48, 4}};
    for (int s = 0; s < 4; s++) {
        const int64_t rows = sizes[s][0], columns = sizes[s][1], type = types[s % 3];
#define ROWS(name, reference, ...) \
    check(name, reference, TG_CONFIG(M, rows, dtype, type, num_threads, sizes[s][2], __VA_ARGS__), 0)
        ROWS("rowprod_vectorized", rowprod_reference, N, columns);
        ROWS("prefix_vectorized", prefix_reference, N, columns);
        for (int64_t ragged = 0; ragged < 4; ragged++) { /* the last thread has fewer elements, or none */
            ROWS("rowprod_blocked", rowprod_reference, N, columns - ragged);
            ROWS("rowprod_striped", rowprod_striped_reference, N, columns - ragged);
            ROWS("rowprod_staged", rowprod_reference, N, columns - ragged, pad, ragged);
            ROWS("prefix_blocked", prefix_reference, N, columns - ragged);
            ROWS("prefix_staged", prefix_reference, N, columns - ragged, pad, 8 * ragged);
        }
    }
}

Test(gallery, copies_in_both_views) {
    static const int64_t types[] = {TG_U8, TG_F16, TG_F32, TG_I64};
    for (int s = 0; s < 4; s++) {
        for (int64_t n = 1; n < 400; n += 133) {
            check("copy_1d_block", copy_1d_reference,
                  TG_CONFIG(N, n, dtype, types[s], block_n, 100, num_threads, 33), 0);
            check("copy_1d_thread", copy_1d_reference,
                  TG_CONFIG(N, n, dtype, types[s], block_n, 96, num_threads, 32), 0);
        }
    }
}

/* ---- what engines run --------------------------------------------------------------------------------- */

/* Columns, rows of a tile, threads. */
static const int64_t tiles[][3] = {{1, 1, 1}, {48, 1, 31}, {64, 4, 32}, {97, 3, 96}, {130, 2, 64}};
enum { N_TILES = sizeof tiles / sizeof tiles[0] };
static const int64_t row_counts[] = {0, 1, 7};
static const int64_t floats[] = {TG_F16, TG_BF16, TG_F32};

Test(gallery, softmax_norm_and_sums_of_any_number_of_rows) {
    for (int s = 0; s < N_TILES; s++) {
        for (int r = 0; r < 3; r++) {
            const tg_config c = TG_CONFIG(N, tiles[s][0], dtype, floats[(s + r) % 3], block_m, tiles[s][1],
                                          num_threads, tiles[s][2]);
            tg_config wide = c;
            check("softmax", softmax_reference, c, row_counts[r]);
            check("rms_norm", rms_norm_reference, c, row_counts[r]);
            tg_config_set(&wide, "block_n", 40);
            check("add_broadcast", add_broadcast_reference, wide, row_counts[r]);
            tg_config_set(&wide, "num_stages", r + 1);
            check("row_sum", row_sum_reference, wide, row_counts[r]);
        }
    }
}

Test(gallery, transposes) {
    static const int64_t types[] = {TG_U8, TG_F16, TG_F32, TG_F64};
    static const int64_t sizes[][4] = {{1, 1, 1, 1}, {7, 40, 16, 31}, {64, 32, 32, 32}, {33, 97, 8, 96}};
    for (int s = 0; s < 4; s++) {
        check("transpose", transpose_reference,
              TG_CONFIG(M, sizes[s][0], N, sizes[s][1], block, sizes[s][2], num_threads, sizes[s][3], dtype,
                        types[s]),
              0);
    }
}
