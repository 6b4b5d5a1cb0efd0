/* test_parallel.c -- parallel loops over fragments, shared and global memory: in every size what the words say.
 *
 * Kernels are those of parallel_kernels.c.  Each row runs on the tile reference and the simulator, with 32 and
 * with 64 lanes a wave, and is held against values computed here. */
#include "tile_run.h"

#define KERNELS(X)         \
    X(add_one)             \
    X(add_one_line)        \
    X(three_dimensions)    \
    X(part_then_all)       \
    X(all_then_part)       \
    X(part_after_part)     \
    X(one_from_many)       \
    X(along_the_diagonal)  \
    X(neighbours)          \
    X(neighbours_in_place) \
    X(transposed)          \
    X(scaled)              \
    X(guarded)             \
    X(guarded_twice)       \
    X(rows_in_registers)   \
    X(naive_gemv)          \
    X(own_locals)          \
    X(replicas)            \
    X(through_shared)      \
    X(launch_extents)      \
    X(launch_line)         \
    X(both_views)          \
    X(slices)              \
    X(slices_in_a_loop)    \
    X(inner_vectors)       \
    X(under_a_condition)   \
    X(viewed)              \
    X(same_element)        \
    X(reads_neighbour)     \
    X(sums_into_fragment)  \
    X(halves)
#define PROTOTYPE(name) void name(void);
KERNELS(PROTOTYPE)

static const char *const machines[] = {"sm_80", "sim64"};
static const int64_t blocks[] = {1, 31, 32, 48, 96, 256, 1024};
enum { MACHINES = 2, BLOCKS = 7 };

#define EACH_BLOCK(m, t)               \
    for (int m = 0; m < MACHINES; m++) \
        for (int t = 0; t < BLOCKS; t++)

/* ---- one fragment -------------------------------------------------------------------------------------- */

static void check_add_one(const char *machine, int64_t dtype, int64_t rows, int64_t cols, int64_t nthreads) {
    ran r = run_both(LOWER(machine, add_one, dtype, dtype, rows, rows, cols, cols, nthreads, nthreads), 0);
    for (int64_t i = 0; i < rows * cols; i++) {
        expect_element(&r, 1, i, before(&r, 0, i) + 1);
    }
    finish_run(&r);
}

Test(parallel, a_fragment_of_any_shape_over_any_number_of_threads) {
    static const int64_t shapes[][2] = {{1, 1},   {1, 7},   {13, 1},  {13, 7},
                                        {16, 64}, {3, 192}, {1, 229}, {5, 96}};
    EACH_BLOCK(m, t) {
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
            check_add_one(machines[m], TG_F16, shapes[i][0], shapes[i][1], blocks[t]);
        }
    }
}

Test(parallel, a_fragment_of_any_type) {
    static const int64_t types[] = {TG_I8,  TG_U8,  TG_I16, TG_U16,  TG_I32, TG_U32,
                                    TG_I64, TG_U64, TG_F16, TG_BF16, TG_F32, TG_F64};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        check_add_one("sm_80", types[i], 8, 48, 64);
        check_add_one("sm_80", types[i], 7, 31, 32);
    }
}

Test(parallel, widths_that_threads_do_not_divide) {
    static const int64_t widths[] = {192, 229, 257, 1, 127, 1000};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        const int64_t n = widths[i];
        ran r = run_both(LOWER("sm_80", add_one_line, dtype, TG_F32, n, n, nthreads, 128), 0);
        for (int64_t j = 0; j < n; j++) {
            expect_element(&r, 1, j, before(&r, 0, j) + 1);
        }
        finish_run(&r);
    }
}

Test(parallel, three_dimensions) {
    static const int64_t shapes[][3] = {{2, 3, 5}, {4, 4, 8}, {1, 1, 1}, {7, 2, 16}};
    EACH_BLOCK(m, t) {
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
            const int64_t *s = shapes[i];
            ran r = run_both(
                LOWER(machines[m], three_dimensions, a, s[0], b, s[1], c, s[2], nthreads, blocks[t]), 0);
            for (int64_t j = 0; j < s[0] * s[1] * s[2]; j++) {
                expect_element(&r, 1, j, 4 * before(&r, 0, j));
            }
            finish_run(&r);
        }
    }
}

Test(parallel, loops_over_part_of_a_fragment) {
    static const int64_t sizes[][2] = {{100, 256}, {4, 8}, {37, 64}, {1, 31}, {96, 97}};
    EACH_BLOCK(m, t) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const int64_t part = sizes[i][0], n = sizes[i][1];
            ran r = run_both(LOWER(machines[m], part_then_all, part, part, n, n, nthreads, blocks[t]), 0);
            ran q = run_both(LOWER(machines[m], all_then_part, part, part, n, n, nthreads, blocks[t]), 0);
            for (int64_t j = 0; j < n; j++) {
                expect_element(&r, 1, j, (j < part ? before(&r, 0, j) : 0) + 1);
                expect_element(&q, 1, j, before(&q, 0, j) + 10 + (j < part ? 100 : 0));
            }
            finish_run(&r);
            finish_run(&q);
        }
    }
}

Test(parallel, a_fragment_comes_into_being_part_after_part) {
    static const int64_t sizes[] = {2, 3, 8, 31, 64, 100};
    EACH_BLOCK(m, t) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const int64_t n = sizes[i], how = (int64_t)(i + (size_t)t) % 3;
            ran r = run_both(LOWER(machines[m], part_after_part, n, n, how, how, nthreads, blocks[t]), 0);
            for (int64_t j = 0; j < n; j++) {
                const int64_t from = how == 2 && j >= n / 2 ? j - n / 2 : n - 1 - j;
                expect_element(&r, 1, j, before(&r, 0, from) + 1);
            }
            finish_run(&r);
        }
    }
}

Test(parallel, one_element_is_set_by_a_loop_with_axes) {
    static const int64_t sizes[] = {1, 7, 8, 32, 100};
    EACH_BLOCK(m, t) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const int64_t n = sizes[i];
            ran r = run_both(LOWER(machines[m], one_from_many, n, n, nthreads, blocks[t]), 0);
            const double first = before(&r, 0, 0), one = first * (first + 1);
            for (int64_t j = 0; j < n; j++) {
                expect_element(&r, 1, j, 100 * (before(&r, 0, n - 1 - j) + one) + first);
            }
            finish_run(&r);
        }
    }
}

Test(parallel, the_diagonal_of_a_fragment) {
    static const int64_t sizes[] = {1, 2, 7, 16};
    EACH_BLOCK(m, t) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const int64_t n = sizes[i];
            ran r = run_both(LOWER(machines[m], along_the_diagonal, n, n, nthreads, blocks[t]), 0);
            for (int64_t j = 0; j < n * n; j++) {
                const int64_t row = j / n, column = j % n;
                const double there = before(&r, 0, row * n + row) + 100;
                const double across = before(&r, 0, column * n + column) + 100;
                expect_element(&r, 1, j,
                               row + column == n - 1 ? across
                               : row == column       ? -there
                                                     : before(&r, 0, j));
            }
            finish_run(&r);
        }
    }
}

/* ---- fragments that do not fit ------------------------------------------------------------------------- */

Test(parallel, another_threads_element_comes_through_shared_memory) {
    static const int64_t sizes[][2] = {{32, 1}, {256, 1}, {100, 33}, {31, 30}, {8, 0}};
    EACH_BLOCK(m, t) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const int64_t n = sizes[i][0], shift = sizes[i][1];
            ran r = run_both(LOWER(machines[m], neighbours, n, n, shift, shift, nthreads, blocks[t]), 0);
            for (int64_t j = 0; j < n; j++) {
                expect_element(&r, 1, j, before(&r, 0, (j + shift) % n));
            }
            finish_run(&r);
        }
    }
}

Test(parallel, fragments_of_two_layouts_meet) {
    static const int64_t shapes[][2] = {{16, 32}, {7, 13}, {1, 64}, {48, 3}};
    EACH_BLOCK(m, t) {
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
            const int64_t rows = shapes[i][0], cols = shapes[i][1];
            ran r = run_both(LOWER(machines[m], transposed, rows, rows, cols, cols, nthreads, blocks[t]), 0);
            for (int64_t j = 0; j < rows * cols; j++) {
                expect_element(&r, 1, j, before(&r, 0, j % rows * cols + j / rows) + 2);
            }
            finish_run(&r);
        }
    }
}

Test(parallel, scales_rows_and_columns_beside_a_tile) {
    static const int64_t shapes[][3] = {{4, 64, 32}, {16, 128, 32}, {3, 40, 7}, {5, 33, 1}, {2, 30, 30}};
    EACH_BLOCK(m, t) {
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
            const int64_t rows = shapes[i][0], cols = shapes[i][1], per = shapes[i][2];
            const int64_t groups = (cols + per - 1) / per;
            ran r = run_both(
                LOWER(machines[m], scaled, rows, rows, cols, cols, per, per, nthreads, blocks[t]), 0);
            for (int64_t a = 0; a < rows; a++) {
                for (int64_t b = 0; b < cols; b++) {
                    expect_element(&r, 4, a * cols + b,
                                   before(&r, 0, a * cols + b) * before(&r, 1, a * groups + b / per) +
                                       before(&r, 2, a) + 2 * before(&r, 3, b));
                }
            }
            finish_run(&r);
        }
    }
}

Test(parallel, a_scale_for_a_group_of_columns_stays_in_registers) {
    lowered l = LOWER("sm_80", scaled, rows, 16, cols, 128, per, 32, nthreads, 128);
    expect_good(&l);
    cr_assert_eq(l.made.thread->shared_bytes, 0);
    finish(&l);
}

/* ---- guards -------------------------------------------------------------------------------------------- */

Test(parallel, a_guard_leaves_the_others_alone) {
    static const int64_t sizes[][2] = {{64, 37}, {64, 0}, {64, 64}, {100, 99}, {7, 3}};
    EACH_BLOCK(m, t) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const int64_t n = sizes[i][0], limit = sizes[i][1];
            ran r = run_both(LOWER(machines[m], guarded, n, n, m, limit, nthreads, blocks[t]), 0);
            for (int64_t j = 0; j < n; j++) {
                expect_element(&r, 1, j, j < limit ? before(&r, 0, j) : 7);
            }
            finish_run(&r);
        }
    }
}

Test(parallel, nested_guards_on_both_axes) {
    EACH_BLOCK(m, t) {
        ran r = run_both(
            LOWER(machines[m], guarded_twice, rows, 12, cols, 24, n, 7, m, 13, nthreads, blocks[t]), 0);
        for (int64_t i = 0; i < 12; i++) {
            for (int64_t j = 0; j < 24; j++) {
                const int64_t at = i * 24 + j;
                expect_element(&r, 1, at, i >= 7 ? before(&r, 1, at) : j < 13 ? before(&r, 0, at) : -1);
            }
        }
        finish_run(&r);
    }
}

/* ---- serial inside ------------------------------------------------------------------------------------- */

Test(parallel, a_serial_loop_over_what_a_thread_holds) {
    static const int64_t shapes[][2] = {{32, 16}, {13, 7}, {1, 64}, {300, 3}};
    EACH_BLOCK(m, t) {
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
            const int64_t rows = shapes[i][0], cols = shapes[i][1];
            ran r = run_both(
                LOWER(machines[m], rows_in_registers, rows, rows, cols, cols, nthreads, blocks[t]), 0);
            for (int64_t a = 0; a < rows; a++) {
                double sum = 0;
                for (int64_t k = 0; k < cols; k++) {
                    sum += before(&r, 0, a * cols + k) * (double)(k + 1);
                }
                expect_element(&r, 1, a, sum);
            }
            finish_run(&r);
        }
    }
}

static double dot(const ran *r, int64_t row, int64_t K) {
    double sum = 0;
    for (int64_t k = 0; k < K; k++) {
        sum += before(r, 1, row * K + k) * before(r, 0, k);
    }
    return sum;
}

Test(parallel, the_naive_gemv_with_tiles_and_threads_of_any_size) {
    static const int64_t rows[][5] = {{256, 256, 128, 128, 128}, {100, 72, 32, 16, 32}, {64, 64, 16, 32, 48},
                                      {33, 50, 7, 13, 31},       {64, 128, 64, 64, 1},  {8, 8, 8, 8, 256}};
    for (int m = 0; m < MACHINES; m++) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            const int64_t *x = rows[i];
            ran r = run_both(LOWER(machines[m], naive_gemv, N, x[0], K, x[1], block_n, x[2], block_k, x[3],
                                   nthreads, x[4]),
                             0);
            for (int64_t n = 0; n < x[0]; n++) {
                expect_element(&r, 2, n, dot(&r, n, x[1]));
            }
            finish_run(&r);
        }
    }
}

Test(parallel, the_naive_gemv_reads_shared_memory_wide) {
    lowered l = LOWER("sm_80", naive_gemv, N, 1024, K, 1024);
    expect_good(&l);
    text t = thread_text(&l);
    cr_assert(strstr(t.s, "matrix_shared_piece[0 : +8] = matrix_shared[") != NULL, "%s", t.s);
    cr_assert_eq(tally_of(&l).of[THREAD_BARRIER], 2);
    text_free(&t);
    finish(&l);
}

Test(parallel, locals_are_an_iterations_own) {
    EACH_BLOCK(m, t) {
        ran r = run_both(LOWER(machines[m], own_locals, n, 77, nthreads, blocks[t]), 0);
        for (int64_t i = 0; i < 77; i++) {
            expect_element(&r, 1, i, 5 + before(&r, 0, i) + 3);
            expect_element(&r, 2, i, 5 + before(&r, 0, i));
        }
        finish_run(&r);
    }
}

/* ---- memory -------------------------------------------------------------------------------------------- */

Test(parallel, replicas_store_and_add_once) {
    static const int64_t sizes[] = {1, 8, 31, 96, 300};
    EACH_BLOCK(m, t) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            ran r = run_both(LOWER(machines[m], replicas, n, sizes[i], nthreads, blocks[t]), 0);
            for (int64_t j = 0; j < sizes[i]; j++) {
                expect_element(&r, 1, j, before(&r, 1, j) + 1);
                expect_element(&r, 2, j, 2 * (before(&r, 0, j) + 1));
            }
            finish_run(&r);
        }
    }
}

Test(parallel, loops_over_shared_memory_are_ordered) {
    EACH_BLOCK(m, t) {
        ran r = run_both(LOWER(machines[m], through_shared, rows, 24, cols, 40, nthreads, blocks[t]), 0);
        for (int64_t i = 0; i < 24 * 40; i++) {
            expect_element(&r, 1, i, before(&r, 0, i % 24 * 40 + i / 24) + 1);
        }
        finish_run(&r);
    }
}

Test(parallel, extents_known_at_launch) {
    static const int64_t rows[] = {0, 1, 5, 300};
    EACH_BLOCK(m, t) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            ran r = run_both(LOWER(machines[m], launch_extents, cols, 24, nthreads, blocks[t]), rows[i]);
            ran q = run_both(LOWER(machines[m], launch_line, nthreads, blocks[t]), rows[i]);
            for (int64_t j = 0; j < rows[i] * 24; j++) {
                expect_element(&r, 2, j, before(&r, 1, j) + 1);
            }
            for (int64_t j = 0; j < rows[i]; j++) {
                expect_element(&q, 2, j, before(&q, 1, j) + 1);
            }
            finish_run(&r);
            finish_run(&q);
        }
    }
}

Test(parallel, both_views_in_one_kernel) {
    EACH_BLOCK(m, t) {
        ran r = run_both(LOWER(machines[m], both_views, n, 100, nthreads, blocks[t]), 0);
        for (int64_t i = 0; i < 100; i++) {
            expect_element(&r, 1, i, 2 * before(&r, 0, 99 - i));
        }
        finish_run(&r);
    }
}

Test(parallel, slices_of_a_fragment) {
    EACH_BLOCK(m, t) {
        ran r = run_both(LOWER(machines[m], slices, rows, 3, cols, 40, nthreads, blocks[t]), 0);
        for (int64_t i = 0; i < 40; i++) {
            expect_element(&r, 1, i, before(&r, 0, i) + before(&r, 0, 40 + i) + before(&r, 0, 80 + i));
        }
        finish_run(&r);
    }
}

Test(parallel, slices_that_are_known_in_the_loop_only) {
    EACH_BLOCK(m, t) {
        ran r = run_both(LOWER(machines[m], slices_in_a_loop, rows, 3, cols, 40, nthreads, blocks[t]), 0);
        for (int64_t i = 0; i < 40; i++) {
            expect_element(&r, 1, i, before(&r, 0, i) + before(&r, 0, 40 + i) + before(&r, 0, 80 + i));
        }
        finish_run(&r);
    }
}

Test(parallel, vectorized_loops_and_choices_inside) {
    EACH_BLOCK(m, t) {
        ran r = run_both(LOWER(machines[m], inner_vectors, rows, 50, width, 8, nthreads, blocks[t]), 0);
        for (int64_t i = 0; i < 50; i++) {
            double sum = 0;
            for (int64_t k = 0; k < 8; k++) {
                const double v = before(&r, 0, i * 8 + k) - 6;
                expect_element(&r, 1, i * 8 + k, v > 0 ? v : 0);
                sum += v;
            }
            expect_element(&r, 2, i, sum);
        }
        finish_run(&r);
    }
}

Test(parallel, under_a_condition_that_blocks_share) {
    EACH_BLOCK(m, t) {
        ran r = run_both(LOWER(machines[m], under_a_condition, n, 70, nthreads, blocks[t]), 0);
        for (int64_t i = 0; i < 3 * 70; i++) {
            const int64_t next = i / 70 * 70 + (i % 70 + 1) % 70;
            expect_element(&r, 1, i, i < 140 ? before(&r, 0, next) + 1 : before(&r, 1, i));
        }
        finish_run(&r);
    }
}

Test(parallel, a_view_of_a_fragment) {
    for (int t = 0; t < BLOCKS; t++) {
        ran r = run_both(LOWER("sm_80", viewed, n, 100, nthreads, blocks[t]), 0);
        for (int64_t i = 0; i < 100; i++) {
            const float x = (float)before(&r, 0, i);
            int32_t bits;
            memcpy(&bits, &x, sizeof bits);
            expect_element(&r, 1, i, bits);
        }
        finish_run(&r);
    }
}

Test(parallel, no_barrier_to_spare) {
    expect_no_barrier_to_spare("neighbours", neighbours, TG_CONFIG(n, 100, shift, 3, nthreads, 64), 1);
    expect_no_barrier_to_spare("through_shared", through_shared, TG_CONFIG(rows, 24, cols, 40, nthreads, 96),
                               1);
    expect_no_barrier_to_spare("naive_gemv", naive_gemv,
                               TG_CONFIG(N, 64, K, 128, block_n, 64, block_k, 32, nthreads, 64), 2);
    expect_no_barrier_to_spare("add_one", add_one,
                               TG_CONFIG(dtype, TG_F32, rows, 16, cols, 64, nthreads, 128), 0);
}

/* ---- rules --------------------------------------------------------------------------------------------- */

Test(parallel, two_iterations_must_not_write_one_element) {
    lowered l = LOWER("sm_80", same_element, n, 8);
    expect_message(&l, "parallel: 'y[i / 2]' in the iteration i = 0 and 'y[i / 2]' at ");
    expect_message(&l, "in the iteration i = 1 are the same element, and both are written: use a reducer or "
                       "atomic_add");
    finish(&l);
}

Test(parallel, an_iteration_must_not_read_what_another_writes) {
    lowered l = LOWER("sm_80", reads_neighbour, n, 8);
    expect_message(&l, "parallel: 's[i]' is written in the iteration i = 1, but 's[i + 1]' at ");
    expect_message(
        &l, "reads it in the iteration i = 0: iterations have no order; write to another buffer, or use "
            "a reducer or atomic_add");
    finish(&l);
    l = LOWER("sm_80", neighbours_in_place, n, 8, nthreads, 32);
    expect_message(&l, "parallel: 'f[i]' is written in the iteration i = 1, but 'f[(i + 1) % 8]' at ");
    finish(&l);
}

Test(parallel, a_sum_over_iterations_needs_a_reducer) {
    lowered l = LOWER("sm_80", sums_into_fragment, n, 8);
    expect_message(&l, "parallel: 'f[i]' in the iteration i = 0, j = 0 and 'f[i]' at ");
    expect_message(&l, "in the iteration i = 0, j = 1 are the same element");
    finish(&l);
}

Test(parallel, iterations_that_never_meet_are_accepted) {
    for (int t = 0; t < BLOCKS; t++) {
        ran r = run_both(LOWER("sm_80", halves, n, 20), 0);
        for (int64_t i = 0; i < 40; i++) {
            expect_element(&r, 0, i, i % 2 ? 3 : 4);
        }
        finish_run(&r);
    }
}
