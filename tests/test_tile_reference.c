/* test_tile_reference.c -- the tile reference does what the words say.
 *
 * Kernels are those of reference_kernels.c; expected values come from plain loops here.  Launches run in
 * several orders, and what is expected does not depend on them. */
#include <math.h>

#include "reference_launch.h"

static const uint64_t seeds[] = {0, 1, 77};

/* ---- thread view --------------------------------------------------------------------------------------- */

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

/* ---- block view ---------------------------------------------------------------------------------------- */

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
