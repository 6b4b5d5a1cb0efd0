/* test_tile_reference.c -- the tile reference does what the words say, and finds what a run can find.
 *
 * Kernels are those of reference_kernels.c; expected values come from plain loops here.  Every launch runs in
 * several orders; what must not depend on the order is compared each time. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "dsl/tile.h"
#include "sim/tile_reference.h"

#define KERNELS(X)                                                                                           \
    X(each_element)                                                                                          \
    X(gemv_naive)                                                                                            \
    X(gemv_double)                                                                                           \
    X(reduce_axis)                                                                                           \
    X(many_axes) X(atomics) X(control_flow) X(launch_values) X(rows_apart) X(views) X(one_value) X(narrow)   \
        X(printing) X(checking) X(print_much) X(copy_tiles) X(copy_outside) X(copy_ranks) X(fill_regions)    \
            X(copy_local) X(gemv_block) X(reducing) X(reduce_dimension) X(private_locals) X(block_scalar)    \
                X(read_outside) X(write_outside) X(region_outside) X(unwritten) X(divergent) X(shared_race)  \
                    X(block_race) X(iteration_race) X(endless) X(overlapping) X(wide_view) X(epochs)         \
                        X(large) X(inherited) X(which_thread)
#define PROTOTYPE(name) void name(void);
KERNELS(PROTOTYPE)

/* ---- a launch --------------------------------------------------------------------------------------------
 */

typedef struct launch {
    tg_kernel *k;
    int n, status;
    witness_arg arg[8];
    reference_options options;
    reference_result result;
    text error;
} launch;

static launch built(const char *name, tg_builder *build, tg_config config) {
    launch l = {.k = tg_begin(name, &config)};
    build();
    if (!tg_end(l.k)) {
        tg_report(l.k, stderr);
        cr_assert_fail("%s does not build", name);
    }
    return l;
}
#define BUILD(name, ...) built(#name, name, TG_CONFIG(__VA_ARGS__))
#define BUILD_PLAIN(name) built(#name, name, (tg_config){.n = 0})

static void give(launch *l, void *data, size_t bytes) {
    l->arg[l->n++] = (witness_arg){.data = data, .bytes = bytes};
}
#define GIVE(l, array) give(l, array, sizeof(array))

static void give_scalar(launch *l, value v) {
    l->arg[l->n++] = (witness_arg){.scalar = v};
}

static int run(launch *l) {
    reference_free(&l->result);
    text_free(&l->error);
    l->status = tile_reference_run(l->k, l->n, l->arg, &l->options, &l->result, &l->error);
    return l->status;
}

static void end(launch *l) {
    reference_free(&l->result);
    text_free(&l->error);
    tg_free(l->k);
}

/* Runs in the order of `seed` and expects no finding. */
static void run_clean(launch *l, uint64_t seed) {
    l->options.seed = seed;
    cr_assert_eq(run(l), TG_OK, "%s", l->error.s ? l->error.s : "");
    if (l->result.findings.total > 0) {
        text t = {0};
        findings_print(&l->result.findings, &t);
        cr_assert_fail("%s, seed %d: %s", l->k->name, (int)seed, t.s);
    }
}

/* The one finding of a run. */
static const finding *run_finding(launch *l, finding_kind kind) {
    cr_assert_eq(run(l), TG_OK, "%s", l->error.s ? l->error.s : "");
    const findings *all = &l->result.findings;
    text t = {0};
    findings_print(all, &t);
    cr_assert_eq(all->n, 1, "%s: %d findings: %s", l->k->name, all->n, t.s ? t.s : "");
    cr_assert_eq(all->item[0].kind, kind, "%s", t.s);
    text_free(&t);
    return &all->item[0];
}

static void expect_text(const finding *f, const char *part) {
    cr_assert(strstr(f->text, part) != NULL, "'%s' lacks '%s'", f->text, part);
}

/* The line of reference_kernels.c that holds `part`; tests run in the project's folder. */
static int line_of(const char *part) {
    char line[256];
    FILE *f = fopen("tests/reference_kernels.c", "r");
    cr_assert(f != NULL);
    int n = 0;
    while (fgets(line, sizeof line, f)) {
        n++;
        if (strstr(line, part)) {
            fclose(f);
            return n;
        }
    }
    fclose(f);
    cr_assert_fail("no line with %s", part);
    return 0;
}

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* f16 bits of small multiples of 1/8: sums of their products are exact in f32. */
static void random_halves(uint16_t *x, size_t n, uint32_t state) {
    for (size_t i = 0; i < n; i++) {
        x[i] = f32_to_f16((float)((int)(next_random(&state) % 33) - 16) / 8);
    }
}

static const uint64_t seeds[] = {0, 1, 77};

/* ---- thread view -----------------------------------------------------------------------------------------
 */

Test(tile_reference, every_element_type_and_odd_sizes) {
    static const int sizes[] = {1, 2, 31, 33, 97, 256}, blocks[] = {1, 31, 32, 33, 64};
    for (int64_t type = TG_BOOL; type <= TG_F64; type++) {
        for (int i = 0; i < 30; i++) {
            const int n = sizes[i % 6], block = blocks[i / 6];
            const size_t bytes = (size_t)n * (size_t)type_bytes(type);
            unsigned char a[2049], b[2049] = {0};
            for (size_t j = 0; j < bytes; j++) {
                a[j] = (unsigned char)(type == TG_BOOL ? j % 2 : j * 37 + 1);
            }
            launch l = BUILD(each_element, n, n, dtype, type, block, block);
            give(&l, a, bytes);
            give(&l, b, bytes);
            run_clean(&l, (uint64_t)i);
            cr_assert_arr_eq(a, b, bytes);
            cr_assert_eq(b[bytes], 0);
            end(&l);
        }
    }
}

static void check_gemv(const launch *l, int N, int K, const uint16_t *v, const uint16_t *m,
                       const float *out) {
    for (int i = 0; i < N; i++) {
        float sum = 0;
        for (int k = 0; k < K; k++) {
            sum += f16_to_f32(v[k]) * f16_to_f32(m[i * K + k]);
        }
        cr_assert_eq(out[i], sum, "%s: output[%d] is %g, not %g", l->k->name, i, out[i], sum);
    }
}

static uint16_t vector[512], matrix[64 * 512];
static float output[64];

static void gemv_case(launch l, int N, int K) {
    random_halves(vector, (size_t)K, 1);
    random_halves(matrix, (size_t)(N * K), 2);
    give(&l, vector, sizeof(uint16_t) * (size_t)K);
    give(&l, matrix, sizeof(uint16_t) * (size_t)(N * K));
    give(&l, output, sizeof(float) * (size_t)N);
    for (size_t s = 0; s < 3; s++) {
        memset(output, 0xff, sizeof output);
        run_clean(&l, seeds[s]);
        check_gemv(&l, N, K, vector, matrix, output);
    }
    end(&l);
}

Test(tile_reference, gemv_in_both_views) {
    static const int shape[][4] = {{1, 1, 1, 1},     {7, 13, 4, 8},    {32, 64, 32, 16},
                                   {33, 97, 16, 32}, {61, 128, 64, 1}, {64, 511, 31, 33}};
    for (int i = 0; i < 6; i++) {
        const int N = shape[i][0], K = shape[i][1];
        gemv_case(BUILD(gemv_naive, N, N, K, K, dtype, TG_F16, block_n, shape[i][2], block_k, shape[i][3]), N,
                  K);
        gemv_case(BUILD(gemv_block, N, N, K, K, block_n, shape[i][2], block_k, shape[i][3]), N, K);
    }
}

Test(tile_reference, allreduce_along_every_axis) {
    static const int shape[][3] = {{1, 1, 1},  {32, 1, 1}, {31, 2, 1},  {33, 3, 2},
                                   {5, 20, 3}, {2, 3, 48}, {1000, 1, 1}};
    static int32_t a[1024], b[1024];
    for (int i = 0; i < 7 * 3 * 3; i++) {
        const int *s = shape[i / 9], axis = i / 3 % 3, op = i % 3 + 1, n = s[0] * s[1] * s[2];
        uint32_t state = (uint32_t)i;
        for (int t = 0; t < n; t++) {
            a[t] = (int32_t)(next_random(&state) % 1000) - 500;
        }
        launch l = BUILD(reduce_axis, x, s[0], y, s[1], z, s[2], axis, axis, op, op, dtype, TG_I32);
        GIVE(&l, a);
        GIVE(&l, b);
        run_clean(&l, seeds[i % 3]);
        const int stride = axis == 0 ? 1 : axis == 1 ? s[0] : s[0] * s[1];
        for (int t = 0; t < n; t++) {
            const int first = t - t / stride % s[axis] * stride;
            int32_t r = a[first];
            for (int j = 1; j < s[axis]; j++) {
                const int32_t x = a[first + j * stride];
                r = op == TG_SUM ? r + x : op == TG_MAX ? (x > r ? x : r) : (x < r ? x : r);
            }
            cr_assert_eq(b[t], r, "axis %d of %d x %d x %d, thread %d", axis, s[0], s[1], s[2], t);
        }
        end(&l);
    }
}

Test(tile_reference, allreduce_of_floats_gives_the_same_bits_to_all) {
    float a[96], b[96];
    for (int i = 0; i < 96; i++) {
        a[i] = 1.0f / (float)(i + 1);
    }
    a[40] = NAN;
    launch l = BUILD(reduce_axis, x, 32, y, 3, z, 1, axis, 0, op, TG_SUM, dtype, TG_F32);
    GIVE(&l, a);
    GIVE(&l, b);
    run_clean(&l, 5);
    for (int i = 0; i < 96; i++) {
        cr_assert_eq(memcmp(&b[i], &b[i / 32 * 32], 4), 0);
    }
    double sum = 0;
    for (int i = 0; i < 32; i++) {
        sum += a[i];
    }
    cr_assert_float_eq(b[0], sum, 1e-5);
    cr_assert(isnan(b[33]) && !isnan(b[95]));
    end(&l);
}

Test(tile_reference, grid_and_threads_of_three_dimensions) {
    static int32_t r[3 * 2 * 5 * 2 * 3 * 7];
    launch l = BUILD(many_axes, gx, 5, gy, 2, gz, 3, x, 7, y, 3, z, 2);
    GIVE(&l, r);
    run_clean(&l, 9);
    int32_t *p = r;
    for (int pz = 0; pz < 3; pz++) {
        for (int py = 0; py < 2; py++) {
            for (int px = 0; px < 5; px++) {
                for (int t = 0; t < 42; t++) {
                    cr_assert_eq(*p++, t % 7 + t / 7 % 3 * 10 + t / 21 * 100 + px * 1000 + py * 10000 +
                                           pz * 100000);
                }
            }
        }
    }
    end(&l);
}

Test(tile_reference, atomics_on_shared_and_global) {
    static int32_t a[1009], counts[13];
    int32_t expected[13] = {0}, extremes[2] = {-1, 1 << 30}, most = -1, least = 1 << 30;
    float total[1] = {0}, sum = 0;
    uint32_t state = 3;
    for (int i = 0; i < 1009; i++) {
        a[i] = (int32_t)(next_random(&state) % 5000);
        expected[a[i] % 13]++;
        sum += (float)a[i];
        most = a[i] > most ? a[i] : most;
        least = a[i] < least ? a[i] : least;
    }
    launch l = BUILD(atomics, n, 1009, bins, 13);
    GIVE(&l, a);
    GIVE(&l, counts);
    GIVE(&l, extremes);
    GIVE(&l, total);
    run_clean(&l, 21);
    cr_assert_arr_eq(counts, expected, sizeof expected);
    cr_assert_eq(extremes[0], most);
    cr_assert_eq(extremes[1], least);
    cr_assert_eq(total[0], sum);
    end(&l);
}

Test(tile_reference, loops_and_branches) {
    static int32_t r[33][8];
    launch l = BUILD(control_flow, n, 33);
    GIVE(&l, r);
    run_clean(&l, 2);
    for (int t = 0; t < 33; t++) {
        int32_t e[8] = {0};
        for (int i = 0; i < t; i++) {
            for (int j = 0; j < 3; j++) {
                e[0]++;
                e[1] += i * 10 + j * 2 + i * 10 + j * 2 + 1;
            }
        }
        for (int v = 0; v < 4; v++) {
            e[v]++;
        }
        e[4] = t % 2 != 0 ? 3 : t > 3 ? 1 : 2;
        e[5] = t == 0 ? -1 : 100 / t;
        e[6] = t > 0 && 6 / t == 2;
        e[7] = 2;
        cr_assert_arr_eq(r[t], e, sizeof e, "thread %d", t);
    }
    end(&l);
}

Test(tile_reference, scalars_and_extents) {
    float a[3][5], b[3][5] = {{0}};
    for (int i = 0; i < 15; i++) {
        a[i / 5][i % 5] = (float)i;
    }
    for (int rows = 0; rows <= 3; rows++) {
        launch l = BUILD(launch_values, columns, 5);
        give_scalar(&l, value_int(TYPE_INDEX, rows));
        give_scalar(&l, value_real(TG_F32, 0.5));
        give_scalar(&l, value_int(TG_I32, 4));
        give(&l, a, sizeof(float) * 5 * (size_t)rows);
        give(&l, b, sizeof(float) * 5 * (size_t)rows);
        run_clean(&l, 1);
        for (int i = 0; i < 15; i++) {
            cr_assert_eq(b[i / 5][i % 5], i / 5 < rows ? 2 * (float)i : 0);
        }
        end(&l);
    }
}

Test(tile_reference, pitched_rows) {
    int32_t a[4][8] = {{0}}, b[4][3];
    for (int i = 0; i < 12; i++) {
        a[i / 3][i % 3] = i + 1;
    }
    launch l = BUILD(rows_apart, n, 4, ld, 8);
    give(&l, a, sizeof a - 5 * sizeof(int32_t)); /* the last row need not be whole */
    GIVE(&l, b);
    run_clean(&l, 0);
    for (int i = 0; i < 12; i++) {
        cr_assert_eq(b[i / 3][i % 3], i + 1);
    }
    l.arg[0].bytes -= 1;
    cr_assert_eq(run(&l), TG_EARG);
    end(&l);
}

Test(tile_reference, views_share_the_bytes) {
    float floats[4] = {1.5f, -2, 3e-40f, INFINITY};
    uint32_t words[4];
    uint16_t halves[8];
    for (int i = 0; i < 2; i++) { /* in double too: bits are those of the declared type */
        launch l = BUILD_PLAIN(views);
        l.options.in_double = i == 1;
        GIVE(&l, floats);
        GIVE(&l, words);
        GIVE(&l, halves);
        run_clean(&l, 4);
        cr_assert_arr_eq(words, floats, sizeof words);
        cr_assert_arr_eq(halves, floats, sizeof halves);
        end(&l);
    }
}

static void one_operator(tg_op op, const int32_t *a, const int32_t *b, const int32_t *c, int n) {
    static int32_t x[8], y[8], z[8];
    memcpy(x, a, sizeof(int32_t) * (size_t)n);
    memcpy(y, b, sizeof(int32_t) * (size_t)n);
    launch l = BUILD(one_value, op, op, dtype, TG_I32, n, n);
    const size_t bytes = sizeof(int32_t) * (size_t)n;
    give(&l, x, bytes);
    give(&l, y, bytes);
    give(&l, z, bytes);
    run_clean(&l, 0);
    cr_assert_arr_eq(z, c, bytes, "operator %d", (int)op);
    end(&l);
}

Test(tile_reference, operators_on_integers) {
    const int32_t a[4] = {7, -7, 12, INT32_MAX}, b[4] = {2, 2, -5, 1};
    one_operator(TG_SUB, a, b, (const int32_t[]){5, -9, 17, INT32_MAX - 1}, 4);
    one_operator(TG_MUL, a, b, (const int32_t[]){14, -14, -60, INT32_MAX}, 4);
    one_operator(TG_QUO, a, b, (const int32_t[]){3, -3, -2, INT32_MAX}, 4);
    one_operator(TG_MOD, a, b, (const int32_t[]){1, -1, 2, 0}, 4);
    one_operator(TG_MIN_OF, a, b, (const int32_t[]){2, -7, -5, 1}, 4);
    one_operator(TG_BIT_XOR, a, b, (const int32_t[]){5, -5, 12 ^ -5, INT32_MAX - 1}, 4);
}

Test(tile_reference, double_precision_option) {
    enum { N = 3, K = 501 };
    static uint16_t v[K], m[N * K];
    double out[N], rounded[N];
    uint32_t state = 8;
    for (int i = 0; i < K; i++) {
        v[i] = f32_to_f16((float)next_random(&state) / 16777216);
    }
    for (int i = 0; i < N * K; i++) {
        m[i] = f32_to_f16((float)next_random(&state) / 16777216);
    }
    launch l = BUILD(gemv_double, N, N, K, K);
    GIVE(&l, v);
    GIVE(&l, m);
    GIVE(&l, out);
    run_clean(&l, 0);
    memcpy(rounded, out, sizeof out);
    l.options.in_double = true;
    run_clean(&l, 0);
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int k = 0; k < K; k++) {
            sum += (double)f16_to_f32(v[k]) * (double)f16_to_f32(m[i * K + k]);
        }
        cr_assert_float_eq(out[i], sum, 1e-12 * sum);
        cr_assert(fabs(rounded[i] - sum) > 1e-3, "f16 sums are coarse: %g and %g", rounded[i], sum);
    }
    end(&l);
}

Test(tile_reference, print_formats_as_c) {
    float a[2] = {3.14159f, -100};
    launch l = BUILD(printing, n, 2);
    GIVE(&l, a);
    run_clean(&l, 0);
    cr_assert_str_eq(l.result.printed.s,
                     "row 0:  3.14 100% 1 -1 ffffffff\ndone\nrow 1: -100.00 100% 2 0 0\n");
    end(&l);
}

Test(tile_reference, print_is_cut_at_its_limit) {
    launch l = BUILD(print_much, n, 4000);
    run_clean(&l, 0);
    cr_assert_eq(l.result.printed.length, (size_t)WITNESS_MAX_PRINT);
    cr_assert_eq(strlen(l.result.printed.s), (size_t)WITNESS_MAX_PRINT);
    end(&l);
}

/* ---- block view ------------------------------------------------------------------------------------------
 */

Test(tile_reference, copies_with_tails_and_conversion) {
    static const int shape[][5] = {{1, 1, 1, 1, 1},      {5, 7, 2, 4, 31},   {16, 16, 8, 8, 33},
                                   {13, 29, 16, 32, 96}, {31, 3, 5, 1, 128}, {2, 64, 1, 48, 64}};
    static uint16_t a[2048];
    static float b[2048];
    for (int i = 0; i < 18; i++) {
        const int *s = shape[i / 3], n = s[0] * s[1];
        random_halves(a, (size_t)n, (uint32_t)i);
        memset(b, 0xff, sizeof b);
        launch l = BUILD(copy_tiles, M, s[0], N, s[1], tile_m, s[2], tile_n, s[3], nthreads, s[4]);
        give(&l, a, sizeof *a * (size_t)n);
        give(&l, b, sizeof *b * (size_t)n);
        l.options.in_double = i % 2 == 1;
        run_clean(&l, seeds[i % 3]);
        for (int e = 0; e < n; e++) {
            cr_assert_eq(b[e], f16_to_f32(a[e]), "%d x %d, element %d", s[0], s[1], e);
        }
        cr_assert(isnan(b[n]));
        end(&l);
    }
}

Test(tile_reference, reads_outside_a_tensor_give_what_outside_says) {
    static const int corner[][2] = {{0, 0}, {3, 4}, {-2, -3}, {5, 0}, {0, 7}, {-4, 0}, {100, -100}, {-1, 6}};
    float a[5][7], b[4][8];
    for (int i = 0; i < 35; i++) {
        a[i / 7][i % 7] = (float)i;
    }
    for (int c = 0; c < 8; c++) {
        launch l = BUILD(copy_outside, row, corner[c][0], col, corner[c][1]);
        GIVE(&l, a);
        GIVE(&l, b);
        run_clean(&l, 0);
        for (int i = 0; i < 32; i++) {
            const int row = corner[c][0] + i / 8, col = corner[c][1] + i % 8;
            const bool inside = row >= 0 && row < 5 && col >= 0 && col < 7;
            cr_assert_eq(b[i / 8][i % 8], inside ? a[row][col] : -1.0f, "corner %d, element %d", c, i);
        }
        end(&l);
    }
}

Test(tile_reference, copies_between_ranks_and_slices) {
    int32_t a[6][8], b[6][8];
    for (int i = 0; i < 48; i++) {
        a[i / 8][i % 8] = i;
    }
    launch l = BUILD_PLAIN(copy_ranks);
    GIVE(&l, a);
    GIVE(&l, b);
    run_clean(&l, 3);
    for (int i = 0; i < 48; i++) {
        const int col = i % 8;
        cr_assert_eq(b[i / 8][col], col >= 3 && col < 7 ? a[i / 8][col - 1] : 0);
    }
    end(&l);
}

Test(tile_reference, fills_of_tensors_and_slices) {
    float a[10][5];
    int32_t b[10];
    memset(a, 0, sizeof a);
    launch l = BUILD(fill_regions, n, 9);
    give(&l, a, sizeof a - sizeof a[9]);
    GIVE(&l, b);
    run_clean(&l, 6);
    for (int i = 0; i < 50; i++) {
        cr_assert_eq(a[i / 5][i % 5], i < 45 ? 2.5f : 0.0f);
    }
    for (int i = 0; i < 10; i++) {
        cr_assert_eq(b[i], i >= 2 && i < 5 ? 0 : 7);
    }
    end(&l);
}

Test(tile_reference, copies_of_a_local_under_any_condition) {
    float a[7][4], b[7][4];
    for (int i = 0; i < 28; i++) {
        a[i / 4][i % 4] = (float)-i;
    }
    launch l = BUILD(copy_local, n, 7);
    GIVE(&l, a);
    GIVE(&l, b);
    run_clean(&l, 7);
    for (int i = 0; i < 28; i++) {
        cr_assert_eq(b[i / 4][i % 4], i / 4 % 2 == 0 ? (float)-i : 9.0f);
    }
    end(&l);
}

Test(tile_reference, reducers_and_their_seed) {
    static int32_t a[17 * 31], b[2][17];
    for (int op = TG_SUM; op <= TG_MIN; op++) {
        uint32_t state = (uint32_t)op;
        for (int i = 0; i < 17 * 31; i++) {
            a[i] = (int32_t)(next_random(&state) % 100) - 50;
        }
        launch l = BUILD(reducing, N, 17, K, 31, op, op);
        GIVE(&l, a);
        GIVE(&l, b);
        run_clean(&l, seeds[op % 3]);
        for (int i = 0; i < 17; i++) {
            int32_t r = a[i * 31];
            for (int k = 1; k < 31; k++) {
                const int32_t x = a[i * 31 + k];
                r = op == TG_SUM ? r + x : op == TG_MAX ? (x > r ? x : r) : (x < r ? x : r);
            }
            cr_assert_eq(b[0][i], r);
            cr_assert_eq(b[1][i], op == TG_SUM ? r + 5 : op == TG_MAX ? (r > 5 ? r : 5) : (r < 5 ? r : 5));
        }
        end(&l);
    }
}

Test(tile_reference, reduce_over_each_dimension) {
    enum { A = 3, B = 5, C = 7 };
    float a[A][B][C], r[A * B * C];
    uint32_t state = 5;
    for (int i = 0; i < A * B * C; i++) {
        a[i / C / B][i / C % B][i % C] = (float)(next_random(&state) % 64) / 8;
    }
    for (int i = 0; i < 9; i++) {
        const int dim = i % 3, op = i / 3 + 1, length[3] = {A, B, C};
        launch l = BUILD(reduce_dimension, A, A, B, B, C, C, dim, dim, op, op);
        GIVE(&l, a);
        give(&l, r, sizeof(float) * (size_t)(A * B * C / length[dim]));
        run_clean(&l, 0);
        const int columns = dim == 2 ? B : C;
        for (int e = 0; e < A * B * C / length[dim]; e++) {
            float x = 0;
            for (int j = 0; j < length[dim]; j++) {
                const int row = e / columns, col = e % columns;
                const float y = dim == 0 ? a[j][row][col] : dim == 1 ? a[row][j][col] : a[row][col][j];
                x = j == 0 ? y : op == TG_SUM ? x + y : op == TG_MAX ? fmaxf(x, y) : fminf(x, y);
            }
            cr_assert_eq(r[e], x, "operation %d over dimension %d, element %d", op, dim, e);
        }
        end(&l);
    }
}

Test(tile_reference, locals_are_private_to_an_iteration) {
    int32_t a[50], b[50];
    for (int i = 0; i < 50; i++) {
        a[i] = i * 3;
    }
    launch l = BUILD(private_locals, n, 50);
    GIVE(&l, a);
    GIVE(&l, b);
    for (size_t s = 0; s < 3; s++) {
        run_clean(&l, seeds[s]);
        for (int i = 0; i < 50; i++) {
            cr_assert_eq(b[i], i * 3 + 104);
        }
    }
    end(&l);
}

Test(tile_reference, fragment_without_extents) {
    int32_t b[3];
    launch l = BUILD_PLAIN(block_scalar);
    GIVE(&l, b);
    run_clean(&l, 11);
    cr_assert(b[0] == 7 && b[1] == 8 && b[2] == 9);
    end(&l);
}

/* ---- findings --------------------------------------------------------------------------------------------
 */

Test(tile_reference, a_read_out_of_bounds_names_the_access_and_gives_zero) {
    int32_t index[5] = {0, 1, 2, 3, 0}, a[5][4], b[5] = {9, 9, 9, 9, 9};
    for (int i = 0; i < 20; i++) {
        a[i / 4][i % 4] = i + 1;
    }
    launch l = BUILD(read_outside, n, 5, shift, 1);
    GIVE(&l, index);
    GIVE(&l, a);
    GIVE(&l, b);
    const finding *f = run_finding(&l, FINDING_BOUNDS);
    expect_text(f, "a[3, 4]: index 1 is outside 0..3");
    cr_assert_eq(f->thread, 3);
    cr_assert_eq(f->count, 1);
    cr_assert_eq(f->at.line, line_of("set(at(b, tid), far);"), "the statement, not %d", f->at.line);
    cr_assert_eq(f->other.line, line_of("far = at(a, tid, wild);"));
    cr_assert(b[0] == 2 && b[3] == 0 && b[4] == 18);
    end(&l);
    l = BUILD(read_outside, n, 5, shift, -1);
    GIVE(&l, index);
    GIVE(&l, a);
    GIVE(&l, b);
    expect_text(run_finding(&l, FINDING_BOUNDS), "a[0, -1]: index 1 is outside 0..3");
    cr_assert_eq(l.result.findings.total, 2);
    end(&l);
}

Test(tile_reference, a_write_out_of_bounds_is_dropped) {
    int32_t index[4] = {3, 4, -1, 0}, b[6] = {0};
    launch l = BUILD(write_outside, n, 4);
    GIVE(&l, index);
    give(&l, b + 1, 16);
    const finding *f = run_finding(&l, FINDING_BOUNDS);
    expect_text(f, "b[4]: index 0 is outside 0..3");
    cr_assert_eq(f->count, 2);
    const int32_t expected[6] = {0, 7, 0, 0, 7, 0};
    cr_assert_arr_eq(b, expected, sizeof b);
    end(&l);
}

Test(tile_reference, a_region_that_leaves_a_shared_buffer) {
    int32_t where[1] = {6}, b[4] = {0};
    launch l = BUILD_PLAIN(region_outside);
    GIVE(&l, where);
    GIVE(&l, b);
    expect_text(run_finding(&l, FINDING_BOUNDS), "leaves 's': dimension 0 covers 6..9 of 0..7");
    cr_assert(b[0] == 3 && b[1] == 3 && b[2] == 0 && b[3] == 0);
    where[0] = 4;
    run_clean(&l, 0);
    end(&l);
}

Test(tile_reference, reads_of_what_nothing_wrote) {
    static const char *const named[] = {"s[1]", "l[1]", "f[", "s[", "s", "fresh"};
    uint32_t b[8];
    for (int what = 0; what < 6; what++) {
        launch l = BUILD(unwritten, what, what);
        GIVE(&l, b);
        const finding *f = run_finding(&l, FINDING_UNINITIALISED);
        expect_text(f, named[what]);
        expect_text(f, "before anything wrote it");
        end(&l);
    }
}

/* Is there a finding of this kind whose text has this part? */
static bool has_finding(const launch *l, finding_kind kind, const char *part) {
    for (int i = 0; i < l->result.findings.n; i++) {
        const finding *f = &l->result.findings.item[i];
        if (f->kind == kind && strstr(f->text, part)) {
            return true;
        }
    }
    return false;
}

Test(tile_reference, a_reducer_is_cleared_then_finalized_then_read) {
    int32_t flag[2] = {1, 1}, a[6] = {1, 2, 3, 4, 5, 6}, b[1];
    launch l = BUILD_PLAIN(epochs);
    GIVE(&l, flag);
    GIVE(&l, a);
    GIVE(&l, b);
    run_clean(&l, 3);
    cr_assert_eq(b[0], 21);
    flag[1] = 0;
    expect_text(run_finding(&l, FINDING_UNINITIALISED), "is read before finalize");
    flag[0] = 0;
    cr_assert_eq(run(&l), TG_OK);
    cr_assert(has_finding(&l, FINDING_UNINITIALISED, "without a clear or fill before"));
    end(&l);
}

Test(tile_reference, shared_memory_does_not_live_from_block_to_block) {
    uint32_t b[2][8];
    launch l = BUILD_PLAIN(inherited);
    GIVE(&l, b);
    const finding *f = run_finding(&l, FINDING_UNINITIALISED);
    cr_assert_eq(f->count, 8);
    cr_assert_eq(f->block[0], 1);
    cr_assert(b[0][7] == 1 && b[1][7] == 0);
    end(&l);
}

/* `divergent` with flag[tid] in its condition, which the builder refuses: made behind its back. */
static launch divergent_launch(int what, int32_t *flag, int32_t *b) {
    launch l = BUILD(divergent, what, what);
    give(&l, flag, 8 * sizeof *flag);
    give(&l, b, 8 * sizeof *b);
    tile_stmt *s = l.k->body.first;
    cr_assert_eq(s->kind, TILE_WHEN);
    arena *a = &l.k->memory;
    node *tid[1] = {expr_var(a, s->at, l.k->thread_var[0])};
    node *load = expr_load(a, s->at, expr_ref(a, s->at, l.k->args[0].tensor, 1, tid, 1));
    s->value = expr_binary(a, s->at, TG_NE, load, expr_const(a, s->at, value_int(TG_I32, 0)));
    return l;
}

Test(tile_reference, a_barrier_that_some_threads_do_not_meet) {
    int32_t flag[8] = {1, 1, 0, 1, 0, 0, 1, 1}, b[8];
    launch l = divergent_launch(0, flag, b);
    const finding *f = run_finding(&l, FINDING_BARRIER);
    cr_assert_str_eq(f->text, "5 of 8 threads wait at sync_threads, 3 have ended");
    cr_assert_eq(f->thread, 0);
    cr_assert_eq(f->other_thread, 2);
    cr_assert(f->other.file == NULL);
    for (int i = 0; i < 8; i++) {
        flag[i] = 1;
    }
    run_clean(&l, 0);
    end(&l);
}

Test(tile_reference, a_barrier_is_its_place) {
    int32_t flag[8] = {0, 0, 0, 1, 0, 0, 1, 0}, b[8];
    launch l = divergent_launch(1, flag, b);
    const finding *f = run_finding(&l, FINDING_BARRIER);
    cr_assert_str_eq(f->text, "6 of 8 threads wait at sync_threads, 2 at sync_threads");
    cr_assert_neq(f->at.line, f->other.line);
    end(&l);
}

static void arithmetic_fault(tg_op op, int32_t x, int32_t y, const char *why) {
    int32_t a[1] = {x}, b[1] = {y}, c[1];
    launch l = BUILD(one_value, op, op, dtype, TG_I32, n, 1);
    GIVE(&l, a);
    GIVE(&l, b);
    GIVE(&l, c);
    expect_text(run_finding(&l, FINDING_ARITHMETIC), why);
    end(&l);
}

Test(tile_reference, arithmetic_faults_with_their_operands) {
    arithmetic_fault(TG_ADD, INT32_MAX, 1, "2147483647 and 1");
    arithmetic_fault(TG_MUL, 65536, 65536, "65536 and 65536");
    arithmetic_fault(TG_SUB, INT32_MIN, 1, "-2147483648 and 1");
    arithmetic_fault(TG_QUO, 3, 0, "division by zero");
    arithmetic_fault(TG_MOD, 3, 0, "division by zero");
    arithmetic_fault(TG_QUO, INT32_MIN, -1, "-2147483648 and -1");
    arithmetic_fault(TG_SHL, 3, 32, "3 and 32");
}

Test(tile_reference, conversions_out_of_range) {
    float a[3] = {1.9f, -3e9f, NAN};
    int32_t b[3];
    int16_t c[3];
    launch l = BUILD(narrow, n, 3);
    GIVE(&l, a);
    GIVE(&l, b);
    GIVE(&l, c);
    const finding *f = run_finding(&l, FINDING_ARITHMETIC);
    cr_assert_eq(f->count, 2);
    cr_assert(b[0] == 1 && c[0] == 1);
    end(&l);
}

Test(tile_reference, checks_that_fail) {
    int32_t a[3] = {1, 10, 11};
    launch l = BUILD(checking, n, 3);
    GIVE(&l, a);
    const finding *f = run_finding(&l, FINDING_CHECK);
    cr_assert_str_eq(f->text, "below ten");
    cr_assert_eq(f->thread, 1);
    cr_assert_eq(f->count, 4);
    cr_assert_eq(f->at.line, line_of("check(lt(at(a, tid), 10)"));
    end(&l);
}

Test(tile_reference, an_overlapping_copy) {
    int32_t where[1] = {2}, b[8];
    launch l = BUILD_PLAIN(overlapping);
    GIVE(&l, where);
    GIVE(&l, b);
    expect_text(run_finding(&l, FINDING_RACE), "overlap in 's'");
    for (int apart = 0; apart <= 8; apart += 8) {
        where[0] = apart;
        run_clean(&l, 0);
    }
    end(&l);
}

Test(tile_reference, misaligned_memory) {
    int32_t words[6] = {0}, b[4];
    launch l = BUILD_PLAIN(wide_view);
    give(&l, (unsigned char *)words + 2, 16);
    GIVE(&l, b);
    cr_assert_eq(run_finding(&l, FINDING_MISALIGNED)->count, 4);
    l.arg[0].data = words;
    run_clean(&l, 0);
    end(&l);
}

Test(tile_reference, gives_up_at_the_step_limit) {
    int32_t b[1] = {5};
    launch l = BUILD(endless, n, 1 << 30);
    GIVE(&l, b);
    l.options.step_limit = 100000;
    run_finding(&l, FINDING_LIMIT);
    cr_assert_eq(l.result.statements, 100000);
    cr_assert_eq(b[0], 5);
    end(&l);
}

/* ---- orders ----------------------------------------------------------------------------------------------
 */

static int orders(launch *l) {
    reference_free(&l->result);
    l->status = tile_reference_orders(l->k, l->n, l->arg, &l->options, &l->result, &l->error);
    cr_assert_eq(l->status, TG_OK, "%s", l->error.s ? l->error.s : "");
    for (int i = 0; i < l->result.findings.n; i++) {
        cr_assert_eq(l->result.findings.item[i].kind, FINDING_ORDER, "%s", l->result.findings.item[i].text);
    }
    return l->result.findings.n;
}

Test(tile_reference, two_orders_differ_without_the_barrier) {
    static const int sizes[] = {2, 3, 31, 64};
    int32_t b[64];
    for (int i = 0; i < 8; i++) {
        const int barrier = i % 2, n = sizes[i / 2];
        for (uint64_t seed = 0; seed < 8; seed++) {
            launch l = BUILD(shared_race, barrier, barrier, n, n);
            give(&l, b, sizeof *b * (size_t)n);
            l.options.seed = seed;
            cr_assert_eq(orders(&l), 1 - barrier, "%d threads, barrier %d, seed %d", n, barrier, (int)seed);
            end(&l);
        }
    }
}

Test(tile_reference, two_orders_of_blocks) {
    int32_t b[1];
    launch l = BUILD_PLAIN(block_race);
    GIVE(&l, b);
    cr_assert_eq(orders(&l), 1);
    expect_text(&l.result.findings.item[0],
                "'b[0]' is 8 in one order of blocks, threads and iterations and 0 in");
    cr_assert_eq(b[0], 8, "the first order's tensors stay");
    cr_assert_eq(l.result.findings.item[0].at.line, line_of("KERNEL(block_race)") + 1);
    end(&l);
}

Test(tile_reference, two_orders_of_iterations) {
    int32_t index[40], b[40];
    for (int i = 0; i < 40; i++) {
        index[i] = (i + 1) % 40;
    }
    launch l = BUILD(iteration_race, n, 40);
    GIVE(&l, index);
    GIVE(&l, b);
    cr_assert_eq(orders(&l), 1);
    for (int i = 0; i < 40; i++) {
        index[i] = i;
    }
    cr_assert_eq(orders(&l), 0);
    end(&l);
}

Test(tile_reference, which_thread_runs_an_iteration_is_open) {
    int32_t b[32];
    launch l = BUILD_PLAIN(which_thread);
    GIVE(&l, b);
    for (uint64_t seed = 0; seed < 8; seed++) {
        l.options.seed = seed;
        cr_assert_eq(orders(&l), 1, "seed %d", (int)seed);
    }
    end(&l);
}

Test(tile_reference, sums_of_floats_may_differ_in_the_last_bits) {
    static int32_t a[500], counts[3], extremes[2];
    float total[1] = {0.1f};
    for (int i = 0; i < 500; i++) {
        a[i] = i * i;
    }
    launch l = BUILD(atomics, n, 500, bins, 3);
    GIVE(&l, a);
    GIVE(&l, counts);
    GIVE(&l, extremes);
    GIVE(&l, total);
    cr_assert_eq(orders(&l), 0);
    cr_assert_eq(counts[0] + counts[1] + counts[2], 500, "from the contents before, once");
    end(&l);
}

/* ---- arguments -------------------------------------------------------------------------------------------
 */

static void expect_refused(launch *l, const char *part) {
    cr_assert_eq(run(l), TG_EARG);
    cr_assert(l->error.s != NULL && strstr(l->error.s, part), "'%s' lacks '%s'", l->error.s, part);
}

Test(tile_reference, arguments_that_do_not_fit) {
    float a[15], b[15];
    launch l = BUILD(launch_values, columns, 5);
    give_scalar(&l, value_int(TYPE_INDEX, 3));
    give_scalar(&l, value_real(TG_F32, 0.5));
    give_scalar(&l, value_int(TG_I32, 4));
    GIVE(&l, a);
    expect_refused(&l, "takes 5 arguments but 4 are given");
    cr_assert_eq(tile_reference_orders(l.k, l.n, l.arg, NULL, &l.result, &l.error), TG_EARG);
    GIVE(&l, b);
    l.arg[3].bytes--;
    expect_refused(&l, "argument 3 'a' has 59 bytes of memory but its extents take 60");
    l.arg[3] = (witness_arg){0};
    expect_refused(&l, "'a' has 0 bytes");
    l.arg[3] = (witness_arg){.data = a, .bytes = sizeof a};
    l.arg[0].scalar = value_int(TYPE_INDEX, 4);
    expect_refused(&l, "'a' has 60 bytes of memory but its extents take 80");
    l.arg[0].scalar = value_int(TYPE_INDEX, -1);
    expect_refused(&l, "extent 'rows' is -1");
    l.arg[0].scalar = value_int(TG_I32, 1);
    expect_refused(&l, "'rows' is declared index but given as i32");
    l.arg[0].scalar = value_int(TYPE_INDEX, 3);
    l.arg[1].scalar = value_real(TG_F64, 0.5);
    expect_refused(&l, "'factor' is declared f32 but given as f64");
    l.arg[1].scalar = (value){0};
    expect_refused(&l, "without type");
    end(&l);
}

Test(tile_reference, a_kernel_with_mistakes_does_not_run) {
    const tg_config none = {.n = 0};
    launch l = {.k = tg_begin("each_element", &none)};
    each_element(); /* lacks its parameters */
    cr_assert(!tg_end(l.k));
    cr_assert_eq(run(&l), TG_EKERNEL);
    end(&l);
}

#if !defined __SANITIZE_ADDRESS__ /* which wants the address space for itself */
Test(tile_reference, lack_of_memory_is_said) {
    float b[1];
    launch l = BUILD_PLAIN(large);
    GIVE(&l, b);
    const struct rlimit gigabyte = {1 << 30, 1 << 30};
    cr_assert_eq(setrlimit(RLIMIT_AS, &gigabyte), 0);
    cr_assert_eq(run(&l), TG_ENOMEM);
    end(&l);
}
#endif

/* ---- findings as a list ----------------------------------------------------------------------------------
 */

Test(witness, findings_merge_print_and_overflow) {
    findings f = {0};
    const tg_loc here = {"src/kernel.c", 3}, there = {"other/kernel.c", 9}, none = {NULL, 0};
    finding *x = findings_add(&f, FINDING_RACE, here, there);
    snprintf(x->text, sizeof x->text, "race on 's[3]'");
    x->thread = 0;
    x->other_thread = 35;
    cr_assert_eq(findings_add(&f, FINDING_RACE, (tg_loc){"src/kernel.c", 3}, there), x);
    cr_assert_eq(x->count, 2);
    cr_assert_neq(findings_add(&f, FINDING_RACE, here, none), x);
    text t = {0};
    findings_print(&f, &t);
    cr_assert_str_eq(t.s, "kernel.c:3: race: race on 's[3]' (block 0, 0, 0, threads 0 and 35; 2 times)\n"
                          "kernel.c:9:     the other place\n"
                          "kernel.c:3: race: \n");
    text_free(&t);
    for (int i = 0; i < 40; i++) {
        findings_add(&f, FINDING_BOUNDS, (tg_loc){"a.c", i}, none);
    }
    cr_assert_eq(f.n, WITNESS_MAX_FINDINGS);
    cr_assert_eq(f.total, 43);
    findings_print(&f, &t);
    cr_assert(strstr(t.s, "and 26 more\n"));
    text_free(&t);
}

Test(witness, notes_fail_under_strict_only_and_hide_no_fault) {
    findings f = {0};
    const tg_loc none = {NULL, 0};
    for (int i = 0; i < 20; i++) {
        findings_add(&f, FINDING_NOTE, (tg_loc){"a.c", i}, none);
    }
    cr_assert(!findings_failed(&f, false));
    cr_assert(findings_failed(&f, true));
    cr_assert(findings_add(&f, FINDING_CHECK, none, none) != NULL);
    cr_assert(findings_failed(&f, false));
    for (int kind = FINDING_RACE; kind <= FINDING_NOTE; kind++) {
        cr_assert_gt(strlen(finding_name((finding_kind)kind)), 3u);
    }
}
