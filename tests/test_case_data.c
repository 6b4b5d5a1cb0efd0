/* test_case_data.c -- small kernels that have broken tile compilers, continued: what runs ahead, what is viewed, what is
 * no number, what lies far away.  Swept over sizes, threads, stages and types; tile reference and simulator (races on)
 * agree bit for bit, and with values worked out here.  Kernels are those of case_data_kernels.c. */
#define _DEFAULT_SOURCE /* mmap */

#include <math.h>
#include <sys/mman.h>

#include "tile_run.h"

/* clang-format off */
#define KERNELS(X)                                                                                        \
    X(read_then_overwritten) X(one_scratch_for_two) X(copied_if) X(loops_of_two_depths) X(viewed_from)    \
    X(viewed_wide) X(chosen_wide) X(no_number_among) X(no_number_among_threads) X(narrowed) X(any_of_rows) \
    X(far_rows) X(rows_of_the_launch) X(wide_before_the_beginning)
/* clang-format on */
#define PROTOTYPE(name) void name(void);
KERNELS(PROTOTYPE)

static const char *const machines[] = {"sm_80", "sim64"};
static const int64_t counts[] = {1, 31, 32, 48, 96, 384}, widths[] = {1, 3, 8, 31, 64, 104};
enum { COUNTS = 6, WIDTHS = 6 };

/* Every pair; the number of stages and the machine change along. */
#define EACH_SIZE(threads, width)                                                                    \
    for (int at_##threads = 0; at_##threads < COUNTS * WIDTHS; at_##threads++)                       \
        for (int64_t threads = counts[at_##threads / WIDTHS], width = widths[at_##threads % WIDTHS], \
                     stages = at_##threads % 5, once_##threads = 1;                                  \
             once_##threads; once_##threads = 0)

static const char *machine_of(int64_t threads, int64_t width) {
    return machines[(threads + width) % 2];
}

/* Element i of row `row`, backwards. */
static double mirrored(const ran *r, int arg, int64_t row, int64_t width, int64_t i) {
    return before(r, arg, row * width + width - 1 - i);
}

/* ---- pipelines ----------------------------------------------------------------------------------------- */

Test(case_data, a_tile_is_read_before_the_next_one_overwrites_it) {
    EACH_SIZE(threads, width) {
        for (int64_t n = 0; n <= 9; n += 3) {
            ran r = run_both(LOWER(machine_of(threads, width), read_then_overwritten, n, n, stages, stages,
                                   threads, threads, width, width),
                             0);
            for (int64_t i = 0; i < width; i++) {
                double sum = 0;
                for (int64_t k = 1; k < n; k++) {
                    sum += mirrored(&r, 0, k - 1, width, i) * (double)(k + 1);
                }
                expect_element(&r, 1, i, sum);
            }
            finish_run(&r);
        }
    }
}

Test(case_data, one_scratch_buffer_serves_two_copies_of_rows_that_have_names) {
    EACH_SIZE(threads, width) {
        for (int64_t n = 0; n <= 9; n += 3) {
            ran r = run_both(LOWER(machine_of(threads, width), one_scratch_for_two, n, n, stages, stages,
                                   threads, threads, width, width),
                             0);
            for (int64_t i = 0; i < n * width; i++) {
                const int64_t row = (int64_t)before(&r, 0, i / width);
                expect_element(&r, 3, i, mirrored(&r, 1, row, width, i % width));
                expect_element(&r, 3, 9 * width + i, mirrored(&r, 2, 12 - row, width, i % width));
            }
            finish_run(&r);
        }
    }
}

Test(case_data, a_tile_is_that_of_the_last_iteration_that_copied) {
    for (int64_t how = 0; how < 3; how++) {
        EACH_SIZE(threads, width) {
            const int64_t n = at_threads % 10;
            ran r = run_both(LOWER(machine_of(threads, width), copied_if, n, n, stages, stages, threads,
                                   threads, width, width, how, how),
                             0);
            int arg = -1;
            int64_t last = 0;
            for (int64_t k = 0; k < n; k++) {
                const int64_t row = (int64_t)before(&r, 0, k);
                if (how == 0 ? k > 1 : row > 5) {
                    arg = 1, last = row;
                } else if (how == 2) {
                    arg = 2, last = k;
                }
                for (int64_t i = 0; i < width; i++) {
                    expect_element(&r, 3, k * width + i, arg < 0 ? 0 : mirrored(&r, arg, last, width, i));
                }
            }
            finish_run(&r);
        }
    }
}

Test(case_data, loops_of_different_depths_on_the_same_buffers) {
    EACH_SIZE(threads, width) {
        const int64_t n = 1 + at_threads % 9, other = 1 + (stages + threads) % 4, rows = 9 * width;
        ran r = run_both(LOWER(machine_of(threads, width), loops_of_two_depths, n, n, stages, stages, other,
                               other, threads, threads, width, width),
                         0);
        for (int64_t at = 0; at < n * width; at++) {
            const int64_t k = at / width, i = at % width;
            double sum = 0;
            for (int64_t j = 0; j < 4; j++) {
                sum += mirrored(&r, 1, (k + j) % 9, width, i) * before(&r, 0, at);
            }
            expect_element(&r, 2, at, mirrored(&r, 0, k, width, i));
            expect_element(&r, 2, rows + at,
                           100 * mirrored(&r, 1, k, width, i) + before(&r, 0, (n - 1 - k) * width + i));
            expect_element(&r, 2, 2 * rows + at, sum);
        }
        finish_run(&r);
    }
}

/* ---- views --------------------------------------------------------------------------------------------- */

Test(case_data, a_view_from_an_odd_element_on_is_as_wide_as_its_bytes_are_aligned) {
    static const int64_t types[] = {TG_U8, TG_F16, TG_U32, TG_I64}, lengths[] = {8, 31, 64};
    for (int64_t align = 1; align <= 32; align *= 2) {
        for (int64_t x = 0; x < 4 * 9; x++) {
            const int64_t type = types[x / 9], off = x % 9, size = type_bytes(type);
            for (int64_t how = 0; how < 4 && size <= align; how++) {
                const int64_t n = lengths[(x + how) % 3], count = how == 3 ? 3 * n : n;
                ran r = run_both(LOWER("sm_80", viewed_from, dtype, type, align, align, off, off, n, n, how,
                                       how, threads, counts[(x + how) % COUNTS]),
                                 0);
                for (int64_t i = 0; i < 2048; i++) {
                    const bool is_inside = i >= off * size && i < (off + count) * size;
                    expect_element(&r, 1, i, before(&r, is_inside ? 0 : 1, i));
                }
                finish_run(&r);
            }
        }
    }
}

Test(case_data, wide_accesses_to_a_view_are_aligned_or_refused) {
    for (int64_t align = 2; align <= 32; align *= 2) {
        for (int64_t off = 0; off < 9; off++) {
            for (int64_t width = 2; width <= 64; width *= 2) {
                lowered l = LOWER("sm_80", viewed_wide, align, align, off, off, lanes, width);
                if (align < 4 || off % 2) {
                    expect_message(&l, "vectorized: only one element a piece");
                    finish(&l);
                    continue;
                }
                const int64_t step = off % 8 == 0 ? 16 : off % 4 == 0 ? 8 : 4;
                const int64_t most = 2 * width < 16 ? 2 * width : 16, bytes = step < most ? step : most;
                cr_assert_eq(tally_of(&l).widest, bytes < align ? bytes : align, "%d %d %d", (int)align,
                             (int)off, (int)width);
                ran r = run_both(l, 0);
                for (int64_t i = 0; i < 4096; i++) {
                    const bool is_inside = i >= 2 * off && i < 2 * (off + 16 * width);
                    expect_element(&r, 1, i, before(&r, is_inside ? 0 : 1, i));
                }
                finish_run(&r);
            }
        }
    }
}

/* ---- types and conditions ------------------------------------------------------------------------------ */

Test(case_data, lanes_of_a_wide_access_choose_for_themselves) {
    static const int64_t types[] = {TG_I8, TG_U8, TG_I16, TG_U16, TG_I32, TG_U32, TG_F16, TG_BF16, TG_F32};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (int64_t width = 2; width <= 64; width *= 2) {
            const int64_t threads = counts[(size_t)width % COUNTS];
            ran r = run_both(LOWER("sm_80", chosen_wide, dtype, types[t], lanes, width, threads, threads), 0);
            for (int64_t i = 0; i < threads * width; i++) {
                const double x = before(&r, 0, i);
                expect_element(&r, 1, i, (x > 3 ? x : 3) + (i % width % 2 == 0));
            }
            finish_run(&r);
        }
    }
}

static void put(lowered *l, int arg, int64_t i, value v) {
    memcpy((char *)l->args[arg].data + i * type_bytes(v.type), &v.bits, (size_t)type_bytes(v.type));
}

/* Both witnesses from the arguments as l holds them; which elements are no numbers is the same. */
static ran run_numbers(lowered l) {
    ran r = {.l = l};
    witness_arg want[LOWERED_ARGS];
    copy_args(&r.l, want);
    copy_args(&r.l, r.after);
    run_reference(&r.l, want, 0);
    run_strictly(&r.l, r.after);
    for (int arg = 0; arg < r.l.nargs; arg++) {
        const int64_t n = (int64_t)want[arg].bytes / type_bytes(r.l.made.kernel->args[arg].tensor->type);
        for (int64_t i = 0; i < n; i++) {
            const double x = element_of(&r.l, want, arg, i), y = after(&r, arg, i);
            cr_assert(x == y || (isnan(x) && isnan(y)), "%s: element %d of argument %d is %g and %g", l.name,
                      (int)i, arg, x, y);
        }
    }
    free_args(&r.l, want);
    return r;
}

static void expect_number(const ran *r, int arg, int64_t i, bool is_number) {
    cr_assert_eq(!isnan(after(r, arg, i)), is_number, "%s: element %d of argument %d is %g", r->l.name,
                 (int)i, arg, after(r, arg, i));
}

Test(case_data, what_is_no_number_reaches_every_result_that_it_is_part_of) {
    static const int64_t types[] = {TG_F16, TG_BF16, TG_F32, TG_F64}, operators[] = {TG_SUM, TG_MAX, TG_MIN};
    for (int i = 0; i < 4 * 3 * COUNTS; i++) {
        const int64_t type = types[i % 4], op = operators[i / 4 % 3], threads = counts[i / 12];
        const int64_t cols = widths[i % WIDTHS], at = (i * 7) % cols;
        lowered l = LOWER(machines[i % 2], no_number_among, dtype, type, op, op, rows, 4, cols, cols, threads,
                          threads);
        expect_good(&l);
        fill_args(&l, 0);
        put(&l, 0, cols + at, value_real(type, NAN));
        put(&l, 0, cols - 1, value_real(type, i % 5 ? NAN : 2)); /* the last of row 0: a seed as well */
        ran r = run_numbers(l);
        for (int64_t row = 0; row < 4; row++) {
            const bool is_number = row == 0 ? i % 5 == 0 : row != 1;
            expect_number(&r, 1, row, is_number);
            expect_number(&r, 2, row, is_number);
            expect_number(&r, 3, row, is_number);
        }
        expect_number(&r, 4, 0, i % 5 == 0);
        finish_run(&r);
    }
}

Test(case_data, nor_do_threads_atomics_and_clamps_lose_it) {
    static const int64_t operators[] = {TG_SUM, TG_MAX, TG_MIN};
    for (int i = 0; i < 3 * COUNTS; i++) {
        const int64_t threads = counts[i / 3], op = operators[i % 3], at = threads * 2 / 3;
        lowered l = LOWER("sm_80", no_number_among_threads, op, op, threads, threads);
        expect_good(&l);
        fill_args(&l, 0);
        put(&l, 0, at, value_real(TG_F32, NAN));
        ran r = run_numbers(l);
        for (int64_t t = 0; t < threads; t++) {
            expect_number(&r, 1, t, false);
            expect_number(&r, 3, t, t != at);
        }
        expect_number(&r, 2, 0, false);
        finish_run(&r);
    }
}

static void note_store(thread_stmt *s, void *user) {
    int *widest = user;
    if (s->kind == THREAD_STORE && buffer_root(s->dst->buffer)->space == TG_GLOBAL) {
        const int bytes = s->dst->lanes * type_bytes(s->dst->type);
        *widest = bytes > *widest ? bytes : *widest;
    }
}

/* Bytes of the widest store to a tensor. */
static int widest_store(const lowered *l) {
    int widest = 0;
    thread_walk(&l->made.thread->body, note_store, &widest);
    return widest;
}

Test(case_data, conversions_are_as_wide_as_the_wider_side) {
    static const int64_t row[][2] = {{TG_F32, TG_F16}, {TG_F32, TG_I8}, {TG_F16, TG_F32},  {TG_F64, TG_U8},
                                     {TG_U8, TG_F64},  {TG_I32, TG_I8}, {TG_BF16, TG_I16}, {TG_I8, TG_BF16}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const int from = type_bytes(row[i][0]), to = type_bytes(row[i][1]);
        for (int64_t n = 1024; n <= 1030; n += 3) {
            for (int t = 0; t < COUNTS; t++) {
                lowered l = LOWER("sm_80", narrowed, from_type, row[i][0], to_type, row[i][1], n, n, threads,
                                  counts[t]);
                cr_assert(counts[t] != 32 || n != 1024 ||
                              widest_store(&l) == (from > to ? 16 * to / from : 16),
                          "row %d: %d bytes", (int)i, widest_store(&l));
                ran r = run_both(l, 0);
                for (int64_t j = 0; j < n; j++) {
                    expect_element(&r, 1, j, before(&r, 0, j));
                }
                finish_run(&r);
            }
        }
    }
}

Test(case_data, truths_and_maxima_of_rows_whose_pieces_change_places) {
    static const int64_t shapes[][2] = {{224, 256}, {96, 128}, {48, 64}, {31, 32}, {7, 13}};
    int moved = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const int64_t rows = shapes[i][0], cols = shapes[i][1];
        lowered l = LOWER("sm_90a", any_of_rows, rows, rows, cols, cols, limit, 11);
        expect_good(&l);
        for (int b = 0; b < l.made.thread->nbuffers; b++) {
            moved += l.made.thread->buffers[b]->layout.xor_rows > 0;
        }
        ran r = run_both(l, 0);
        for (int64_t row = 0; row < rows; row++) {
            double most = 0;
            for (int64_t k = 0; k < cols; k++) {
                most = fmax(most, before(&r, 0, row * cols + k));
            }
            expect_element(&r, 1, row, most > 11);
            expect_element(&r, 2, row, most);
        }
        finish_run(&r);
    }
    cr_assert_gt(moved, 0, "no tile had its pieces moved");
}

/* ---- places -------------------------------------------------------------------------------------------- */

enum { FAR = 32768 + 5, ROW = 65536 };

/* More bytes than 32 bits count, of which few are touched. */
static unsigned char *far_memory(void) {
    unsigned char *p = mmap(NULL, (size_t)FAR * ROW, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cr_assert(p != MAP_FAILED);
    for (size_t i = 0; i < 4 * (size_t)ROW; i++) {
        p[(size_t)(FAR - 4) * ROW + i] = (unsigned char)(i * 7 + i / 300);
    }
    return p;
}

static int32_t far_value(const unsigned char *a, int64_t how, int64_t p, int64_t i) {
    const unsigned char *row = a + (size_t)(FAR - 1 - p) * ROW;
    int32_t sum = 0;
    for (int64_t k = 0; k < 4; k++) {
        sum += row[k * 16384 + i];
    }
    return how == 0 ? row[ROW - 64 + i] : how == 1 ? sum : (int32_t)(63 - i + 7);
}

Test(case_data, rows_beyond_two_to_the_31) {
    for (int64_t how = 0; how < 3; how++) {
        lowered l = LOWER("sm_80", far_rows, rows, FAR, how, how, threads, counts[how + 2]);
        expect_good(&l);
        l.nargs = l.made.kernel->nargs;
        for (int w = 0; w < 2; w++) {
            int32_t out[4 * 64] = {0};
            unsigned char *a = far_memory();
            witness_arg args[] = {{.data = a, .bytes = (size_t)FAR * ROW},
                                  {.data = out, .bytes = sizeof out}};
            if (w == 0) {
                run_reference(&l, args, 0);
            } else {
                run_strictly(&l, args);
            }
            for (int64_t i = 0; i < 4 * 64; i++) {
                cr_assert_eq(out[i], far_value(a, how, i / 64, i % 64), "how %d, witness %d, element %d",
                             (int)how, w, (int)i);
            }
            munmap(a, (size_t)FAR * ROW);
        }
        finish(&l);
    }
}

Test(case_data, rows_of_the_launch_from_either_end) {
    EACH_SIZE(threads, width) {
        for (int64_t rows = 0; rows <= 13; rows += 1 + rows / 3) {
            const int64_t how = (rows + at_threads) % 3, block_m = 1 + (rows + width) % 5;
            ran r = run_both(LOWER(machine_of(threads, width), rows_of_the_launch, block_m, block_m, width,
                                   width, stages, stages, how, how, threads, threads),
                             rows);
            for (int64_t j = 0; j < width; j++) {
                double sum = 0;
                for (int64_t i = 0; i < rows; i++) {
                    sum += before(&r, 1, i * width + j);
                    expect_element(&r, 2, i * width + j, i == 0 ? -1 : before(&r, 1, i * width + j));
                }
                expect_element(&r, 3, j, sum);
            }
            finish_run(&r);
        }
    }
}

Test(case_data, a_wide_access_before_the_beginning_is_found_by_both_witnesses) {
    lowered l = LOWER_PLAIN("sm_80", wide_before_the_beginning);
    expect_good(&l);
    cr_assert_eq(tally_of(&l).widest, 16);
    fill_args(&l, 0);
    witness_arg args[LOWERED_ARGS];
    reference_result reference = {0};
    sim_result sim = {0};
    text error = {0}, told = {0};
    copy_args(&l, args);
    cr_assert_eq(
        tile_reference_run(l.made.kernel, l.nargs, args, &(reference_options){0}, &reference, &error), TG_OK);
    cr_assert_eq(sim_run(l.made.thread, l.nargs, args, &(sim_options){0}, &sim, &error), TG_OK);
    findings_print(&reference.findings, &told);
    cr_assert(told.s && strstr(told.s, "out of bounds"), "reference: %s", told.s ? told.s : "");
    text_free(&told);
    findings_print(&sim.findings, &told);
    cr_assert(told.s && strstr(told.s, "out of bounds"), "simulator: %s", told.s ? told.s : "");
    text_free(&told);
    reference_free(&reference);
    sim_free(&sim);
    free_args(&l, args);
    finish(&l);
}
