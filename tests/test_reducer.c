/* test_reducer.c -- reducers, finalize and reduce: every element once, whoever held a part of it.
 *
 * Kernels are those of reducer_kernels.c; see test_parallel.c. */
#include <math.h>

#include "tile_run.h"

#define KERNELS(X)     \
    X(row_reducer)     \
    X(column_reducer)  \
    X(whole_reducer)   \
    X(no_accumulation) \
    X(seeded)          \
    X(several_loops)   \
    X(histogram)       \
    X(held_by_all)     \
    X(epochs)          \
    X(reducer_gemv)    \
    X(reduced)         \
    X(not_a_number)    \
    X(largest)         \
    X(pipelined_sums)  \
    X(row_sum)         \
    X(softmax_like)
#define PROTOTYPE(name) void name(void);
KERNELS(PROTOTYPE)

static const char *const machines[] = {"sm_80", "sim64"};
static const int64_t blocks[] = {1, 31, 32, 48, 80, 96, 256, 1024};
static const int64_t operators[] = {TG_SUM, TG_MAX, TG_MIN};
enum { MACHINES = 2, BLOCKS = 8, OPERATORS = 3 };

#define EACH_BLOCK(m, t)               \
    for (int m = 0; m < MACHINES; m++) \
        for (int t = 0; t < BLOCKS; t++)

static double combine(int64_t op, double x, double y) {
    return op == TG_SUM ? x + y : op == TG_MAX ? (x > y ? x : y) : (x < y ? x : y);
}

/* n elements of argument 0 from `first`, `step` apart. */
static double total(const ran *r, int64_t op, int64_t first, int64_t step, int64_t n) {
    double x = before(r, 0, first);
    for (int64_t i = 1; i < n; i++) {
        x = combine(op, x, before(r, 0, first + i * step));
    }
    return x;
}

/* ---- reducers ------------------------------------------------------------------------------------------ */

static const int64_t shapes[][2] = {{1, 48}, {2, 256}, {4, 64}, {13, 7}, {96, 5}, {3, 1}, {8, 100}, {256, 2}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

Test(reducer, rows_of_any_length_over_any_number_of_threads) {
    EACH_BLOCK(m, t) {
        for (int i = 0; i < SHAPES; i++) {
            const int64_t rows = shapes[i][0], cols = shapes[i][1], op = operators[(i + t) % OPERATORS];
            ran r = run_both(LOWER(machines[m], row_reducer, dtype, TG_I32, op, op, rows, rows, cols, cols,
                                   nthreads, blocks[t]),
                             0);
            for (int64_t j = 0; j < rows; j++) {
                expect_element(&r, 1, j, total(&r, op, j * cols, 1, cols));
            }
            finish_run(&r);
        }
    }
}

/* So many rows a thread, over several warps: lanes share the results while they combine them. */
Test(reducer, rows_that_every_thread_has_parts_of) {
    static const int64_t tiles[][2] = {{16, 512}, {8, 1024}, {2, 2048}, {5, 1024}};
    static const int64_t threads[] = {32, 96, 256};
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < 4 * MACHINES; i++) {
            const char *machine = machines[i / 4];
            const int64_t rows = tiles[i % 4][0], cols = tiles[i % 4][1], op = operators[(i + t) % OPERATORS];
            ran r = run_both(LOWER(machine, row_reducer, dtype, TG_I32, op, op, rows, rows, cols, cols,
                                   nthreads, threads[t]),
                             0);
            for (int64_t j = 0; j < rows; j++) {
                expect_element(&r, 1, j, total(&r, op, j * cols, 1, cols));
            }
            finish_run(&r);
        }
    }
}

static double held_total(const ran *r, int64_t planes, int64_t elements, int64_t e) {
    return 5 + total(r, TG_SUM, e, elements, planes);
}

Test(reducer, tiles_in_every_thread_copied_by_some) {
    static const int64_t tiles[][2] = {{2, 3}, {3, 5}, {4, 4}, {1, 7}, {8, 1}, {5, 16}};
    const int64_t planes = 9;
    EACH_BLOCK(m, t) {
        for (int i = 0; i < 6; i++) {
            const int64_t rows = tiles[i][0], cols = tiles[i][1], wide = 2 * cols - 1, n = rows * cols;
            ran r = run_both(LOWER(machines[m], held_by_all, planes, planes, rows, rows, cols, cols, nthreads,
                                   t == 0 ? 7 : blocks[t]),
                             0);
            for (int64_t e = 0; e < (2 * rows - 1) * wide; e++) {
                const int64_t row = e / wide % rows, col = e % wide % cols;
                expect_element(&r, 1, e, held_total(&r, planes, n, row * cols + col));
            }
            for (int64_t e = 0; e < n; e++) {
                expect_element(&r, 2, e, held_total(&r, planes, n, e));
            }
            finish_run(&r);
        }
    }
}

Test(reducer, columns) {
    EACH_BLOCK(m, t) {
        for (int i = 0; i < SHAPES; i++) {
            const int64_t rows = shapes[i][1], cols = shapes[i][0], op = operators[(i + t) % OPERATORS];
            ran r = run_both(
                LOWER(machines[m], column_reducer, op, op, rows, rows, cols, cols, nthreads, blocks[t]), 0);
            for (int64_t j = 0; j < cols; j++) {
                expect_element(&r, 1, j, total(&r, op, j, cols, rows));
            }
            finish_run(&r);
        }
    }
}

Test(reducer, one_number_that_every_thread_gets) {
    static const int64_t sizes[] = {1, 48, 80, 96, 100, 256, 1000};
    EACH_BLOCK(m, t) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const int64_t n = sizes[i], op = operators[i % OPERATORS];
            ran r = run_both(
                LOWER(machines[m], whole_reducer, dtype, TG_I32, op, op, n, n, nthreads, blocks[t]), 0);
            for (int64_t j = 0; j < n; j++) {
                expect_element(&r, 1, j, before(&r, 0, j) + total(&r, op, 0, 1, n));
            }
            finish_run(&r);
        }
    }
}

Test(reducer, every_type) {
    static const int64_t types[] = {TG_I8,  TG_U8,  TG_I16, TG_U16,  TG_I32, TG_U32,
                                    TG_I64, TG_U64, TG_F16, TG_BF16, TG_F32, TG_F64};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        for (int o = 0; o < OPERATORS; o++) {
            /* ten small integers: exact in every type, in any order */
            ran r = run_both(LOWER("sm_80", row_reducer, dtype, types[i], op, operators[o], rows, 3, cols, 10,
                                   nthreads, 96),
                             0);
            for (int64_t j = 0; j < 3; j++) {
                expect_element(&r, 1, j, total(&r, operators[o], j * 10, 1, 10));
            }
            finish_run(&r);
        }
    }
}

Test(reducer, without_accumulation_the_identity_or_the_seed) {
    EACH_BLOCK(m, t) {
        for (int o = 0; o < OPERATORS; o++) {
            ran r = run_both(
                LOWER(machines[m], no_accumulation, op, operators[o], n, 5, nthreads, blocks[t], seed, 42),
                0);
            const double identity = o == 0 ? 0 : o == 1 ? INT32_MIN : INT32_MAX;
            for (int64_t j = 0; j < 5; j++) {
                expect_element(&r, 0, j, identity);
                expect_element(&r, 1, j, 42);
            }
            finish_run(&r);
        }
    }
}

Test(reducer, a_seed_counts_once) {
    EACH_BLOCK(m, t) {
        for (int i = 0; i < SHAPES; i++) {
            const int64_t rows = shapes[i][0], cols = shapes[i][1], op = operators[i % OPERATORS];
            ran r =
                run_both(LOWER(machines[m], seeded, op, op, rows, rows, cols, cols, nthreads, blocks[t]), 0);
            for (int64_t j = 0; j < rows; j++) {
                expect_element(&r, 1, j, combine(op, 100, total(&r, op, j * cols, 1, cols)));
            }
            finish_run(&r);
        }
    }
}

Test(reducer, loops_of_several_shapes_add_to_one) {
    static const int64_t sizes[][2] = {{4, 64}, {13, 7}, {32, 32}, {1, 5}};
    EACH_BLOCK(m, t) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const int64_t rows = sizes[i][0], cols = sizes[i][1];
            ran r =
                run_both(LOWER(machines[m], several_loops, rows, rows, cols, cols, nthreads, blocks[t]), 0);
            for (int64_t j = 0; j < rows; j++) {
                expect_element(&r, 1, j, 3 * total(&r, TG_SUM, j * cols, 1, cols) + 1000 + 4 + 7);
            }
            finish_run(&r);
        }
    }
}

Test(reducer, a_histogram) {
    EACH_BLOCK(m, t) {
        ran r = run_both(LOWER(machines[m], histogram, n, 200, bins, 7, nthreads, blocks[t]), 0);
        for (int64_t b = 0; b < 7; b++) {
            double count = 0;
            for (int64_t i = 0; i < 200; i++) {
                count += (int64_t)before(&r, 0, i) % 7 == b;
            }
            expect_element(&r, 1, b, count);
        }
        finish_run(&r);
    }
}

Test(reducer, epochs_in_a_loop) {
    EACH_BLOCK(m, t) {
        ran r = run_both(LOWER(machines[m], epochs, rows, 6, cols, 50, turns, 3, nthreads, blocks[t]), 0);
        for (int64_t j = 0; j < 18; j++) {
            expect_element(&r, 1, j, total(&r, TG_MAX, j * 50, 1, 50));
        }
        finish_run(&r);
    }
}

Test(reducer, the_gemv_with_tiles_and_threads_of_any_size) {
    static const int64_t rows[][5] = {{16, 1024, 4, 512, 128}, {8, 100, 3, 48, 96}, {8, 256, 8, 64, 31},
                                      {4, 64, 1, 32, 256},     {6, 90, 2, 15, 1},   {32, 256, 16, 256, 1024}};
    for (int m = 0; m < MACHINES; m++) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            const int64_t *x = rows[i];
            ran r = run_both(LOWER(machines[m], reducer_gemv, N, x[0], K, x[1], block_n, x[2], block_k, x[3],
                                   nthreads, x[4]),
                             0);
            for (int64_t n = 0; n < x[0]; n++) {
                double sum = 0;
                for (int64_t k = 0; k < x[1]; k++) {
                    sum += before(&r, 1, n * x[1] + k) * before(&r, 0, k);
                }
                expect_element(&r, 2, n, sum);
            }
            finish_run(&r);
        }
    }
}

Test(reducer, a_thread_keeps_only_its_rows) {
    lowered l = LOWER("sm_80", reducer_gemv, N, 64, K, 1024, block_n, 64, block_k, 64, nthreads, 256);
    expect_good(&l);
    text t = thread_text(&l);
    cr_assert(strstr(t.s, "local accumulator: f32[2]\n") != NULL, "%s", t.s);
    text_free(&t);
    finish(&l);
}

Test(reducer, no_barrier_to_spare) {
    expect_no_barrier_to_spare("row_reducer", row_reducer,
                               TG_CONFIG(dtype, TG_I32, op, TG_SUM, rows, 4, cols, 256, nthreads, 256), 1);
    expect_no_barrier_to_spare("row_reducer", row_reducer,
                               TG_CONFIG(dtype, TG_I32, op, TG_SUM, rows, 8, cols, 32, nthreads, 256), 0);
    expect_no_barrier_to_spare("epochs", epochs, TG_CONFIG(rows, 6, cols, 50, turns, 3, nthreads, 96), 2);
    expect_no_barrier_to_spare("reducer_gemv", reducer_gemv, TG_CONFIG(N, 8, K, 512), 1);
}

/* ---- reduce -------------------------------------------------------------------------------------------- */

static void check_reduced(const char *machine, const int64_t *s, int64_t dim, int64_t op, int64_t nthreads,
                          int where) {
    ran r = run_both(LOWER(machine, reduced, dtype, TG_I32, op, op, a, s[0], b, s[1], c, s[2], dim, dim,
                           nthreads, nthreads, from, where & 1, to, where >> 1),
                     0);
    const int64_t inner = dim == 2 ? 1 : dim == 1 ? s[2] : s[1] * s[2];
    for (int64_t i = 0; i < s[0] * s[1] * s[2] / s[dim]; i++) {
        expect_element(&r, 1, i, total(&r, op, i / inner * inner * s[dim] + i % inner, inner, s[dim]));
    }
    finish_run(&r);
}

Test(reduce, any_dimension_of_any_shape_between_fragments_and_shared) {
    static const int64_t tiles[][3] = {{2, 8, 16}, {4, 16, 8},  {3, 5, 7},
                                       {1, 1, 96}, {16, 1, 31}, {2, 100, 2}};
    EACH_BLOCK(m, t) {
        for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++) {
            for (int64_t dim = 0; dim < 3; dim++) {
                const int where = (int)(i + (size_t)dim + (size_t)t) % 4;
                check_reduced(machines[m], tiles[i], dim, operators[(i + (size_t)t) % OPERATORS], blocks[t],
                              where);
            }
        }
    }
}

Test(reduce, rows_of_awkward_widths) {
    static const int64_t widths[] = {96, 100, 120, 127, 576, 48};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        ran r = run_both(LOWER("sm_80", row_sum, rows, 3, cols, widths[i], nthreads, 128), 0);
        for (int64_t j = 0; j < 3; j++) {
            expect_element(&r, 1, j, total(&r, TG_SUM, j * widths[i], 1, widths[i]));
        }
        finish_run(&r);
    }
}

Test(reduce, results_are_read_beside_their_source) {
    static const int64_t sizes[][2] = {{4, 256}, {16, 48}, {1, 229}, {7, 13}};
    EACH_BLOCK(m, t) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            const int64_t rows = sizes[i][0], cols = sizes[i][1];
            ran r =
                run_both(LOWER(machines[m], softmax_like, rows, rows, cols, cols, nthreads, blocks[t]), 0);
            for (int64_t j = 0; j < rows * cols; j++) {
                const double most = total(&r, TG_MAX, j / cols * cols, 1, cols);
                const double sum = total(&r, TG_SUM, j / cols * cols, 1, cols) - most * (double)cols;
                expect_element(&r, 1, j, before(&r, 0, j) - most + sum);
            }
            finish_run(&r);
        }
    }
}

Test(reduce, a_result_beside_its_source_stays_in_registers) {
    lowered l = LOWER("sm_80", softmax_like, rows, 4, cols, 32, nthreads, 128);
    expect_good(&l);
    cr_assert_eq(l.made.thread->shared_bytes, 0);
    cr_assert_eq(tally_of(&l).of[THREAD_BARRIER], 0);
    finish(&l);
}

Test(reduce, a_nan_reaches_the_result) {
    EACH_BLOCK(m, t) {
        for (int o = 0; o < OPERATORS; o++) {
            lowered l =
                LOWER(machines[m], not_a_number, op, operators[o], rows, 3, cols, 20, nthreads, blocks[t]);
            expect_good(&l);
            fill_args(&l, 0);
            run_simulator(&l, l.args);
            for (int i = 0; i < 3; i++) {
                for (int arg = 1; arg <= 2; arg++) {
                    cr_assert((isnan(element_of(&l, l.args, arg, i)) != 0) == (i == 1), "%d threads",
                              (int)blocks[t]);
                }
            }
            finish(&l);
        }
    }
}

Test(reduce, the_largest_magnitude_of_long_rows) {
    EACH_BLOCK(m, t) {
        ran r = run_both(LOWER(machines[m], largest, rows, 2, cols, 576, nthreads, blocks[t]), 0);
        for (int64_t i = 0; i < 2; i++) {
            double most = 0;
            for (int64_t j = 0; j < 576; j++) {
                const double x = fabs(before(&r, 0, i * 576 + j) - 6);
                most = x > most ? x : most;
            }
            expect_element(&r, 1, i, most);
        }
        finish_run(&r);
    }
}

Test(reducer, sums_of_a_pipeline) {
    for (int64_t stages = 0; stages < 5; stages++) {
        for (int t = 0; t < BLOCKS; t++) {
            ran r = run_both(LOWER(machines[t % MACHINES], pipelined_sums, rows, 3, cols, 100, block, 16,
                                   stages, stages, nthreads, blocks[t]),
                             0);
            for (int64_t j = 0; j < 3; j++) {
                expect_element(&r, 1, j, total(&r, TG_SUM, j * 100, 1, 100));
            }
            finish_run(&r);
        }
    }
}
