/* test_cases.c -- small kernels that have broken tile compilers: swept over sizes, threads and stages, held against
 * values worked out here, by the tile reference and by the simulator.  Kernels are those of case_kernels.c.
 *
 * Where each kind is held; numbers are those that TileLang's tracker gave to the reports the kinds began with.
 *
 *     pipelines
 *         2668 1792 3031 2309      test_case_data: pipelines           2651 2505     here
 *         1799 1210 1263 2876 3137 test_case_data: a_tile_is_that_of.. here: what_decides..; test_pipeline: conditional
 *         each by its text too     test_pipeline, test_pipeline_sync; random ones: the generator
 *     barriers
 *         2698 2556 1841 1257 2293 and one buffer for two passes: test_sync
 *         2613 1026 2187 2188      here                                2699 2703     test_lower: fill_shared
 *         2612                     refused: test_sync_refused, test_build_errors
 *     reductions                   test_reducer (2408 2524 2542 2399 2305 1719 3033); 2624 here
 *         2697 3270                test_case_data: no_number..         2568 2998     refused: test_build_errors
 *     layouts
 *         2957 2948 2396 2395 1744 2307 1374 2398 2616 1549 678 814: test_parallel
 *         2394                     test_copy                           2714          test_case_data: any_of_rows
 *         2682 2853 3060 1601 871  test_case_data: types and conditions, test_lower: vectorized
 *     bounds and places
 *         2543 2554                here                                2526          test_case_data: views
 *         2529 2581 2527 2564 1303 1304: test_copy                     1237 1008     test_case_data: places, test_copy
 *         2979 1993                test_build_errors, test_launch      2963          gemv_q4 in test_gallery
 *         2943 995 1355 3001 2638 2882 3024: test_value, test_expr, test_sim_ops
 *     atomics and types
 *         2959, truths as bytes    here                                2537          here: padded_with_a_value
 *         2944 2670 2985 2635 2575 test_value, test_sim_ops, test_copy
 *     compile, cache, tune
 *         2358 1935 2950 279 339 1967 2370: test_jit, test_cache       2756 830      test_launch, test_nvrtc
 *         480 349 1630 778 1122    test_tool_tune.sh, test_tune        1977          nothing of a file is in a key
 *     known at launch
 *         968 708 290              test_copy, test_parallel, test_case_data
 *         215 1300 1069            test_lowering_time
 *
 * What there are no words for yet has no test: products of tiles (2593 3032 3004 2928), producer warps (2346), types of
 * less than 16 bits for floats, orders of memory for atomics (2688), annotations of layouts. */
#include "lower_run.h"

/* clang-format off */
#define KERNELS(X)                                                                         \
    X(trips_overwritten) X(own_trips_overwritten) X(trips_of_each) X(decided_before) X(decided_anew) X(moved_by_itself)     \
    X(drawn_slots) X(two_readers) X(two_halves_read) X(three_groups) X(branches_in_branches) \
    X(padded_with_a_value) X(every_thread_adds) X(masked) X(before_the_beginning) X(magnitude_without_sign)
/* clang-format on */
#define PROTOTYPE(name) void name(void);
KERNELS(PROTOTYPE)

static const int64_t counts[] = {1, 31, 32, 48, 96, 256};
static const int64_t widths[] = {1, 7, 8, 32, 37, 64};

#define FOR_EACH(x, of)                                                \
    for (size_t x##_at = 0; x##_at < sizeof of / sizeof *of; x##_at++) \
        for (int64_t x = of[x##_at], x##_once = 1; x##_once; x##_once = 0)

/* ---- both witnesses ------------------------------------------------------------------------------------ */

enum { REFERENCE, SIMULATOR, WITNESSES };

/* What each witness has made of the arguments. */
typedef struct results {
    const lowered *l;
    witness_arg of[WITNESSES][LOWERED_ARGS];
} results;

/* From the arguments as l holds them. */
static results run_both(const lowered *l) {
    results r = {.l = l};
    copy_args(l, r.of[REFERENCE]);
    copy_args(l, r.of[SIMULATOR]);
    run_reference(l, r.of[REFERENCE], 0);
    run_simulator(l, r.of[SIMULATOR]);
    return r;
}

static void end_both(results *r) {
    free_args(r->l, r->of[REFERENCE]);
    free_args(r->l, r->of[SIMULATOR]);
}

static const int32_t *input(const lowered *l, int arg) {
    return l->args[arg].data;
}

static void expect_i32(const results *r, int arg, int64_t i, int64_t want) {
    for (int w = 0; w < WITNESSES; w++) {
        const int32_t *got = r->of[w][arg].data;
        cr_assert_eq(got[i], want, "%s, %s: element %d of argument %d is %d instead of %d", r->l->name,
                     w == REFERENCE ? "reference" : "simulator", (int)i, arg, got[i], (int)want);
    }
}

static void start(lowered *l) {
    expect_good(l);
    fill_args(l, 0);
}

/* Taking any inserted barrier away is a race. */
static void expect_none_to_spare(const char *name, tg_builder *build, tg_config config, int at_least) {
    bool removed = true;
    int n = 0;
    for (; removed; n++) {
        lowered l = lower(name, build, "sm_80", config);
        expect_good(&l);
        cr_assert(races_without(&l, n, &removed) || !removed, "%s: barrier %d is not needed", name, n);
        finish(&l);
    }
    cr_assert_geq(n - 1, at_least, "%s: %d barriers", name, n - 1);
}

/* ---- pipelines ----------------------------------------------------------------------------------------- */

Test(cases, a_side_effect_that_feeds_a_copy_happens_once_an_iteration) {
    FOR_EACH(threads, counts) {
        FOR_EACH(width, widths) {
            for (int64_t n = 0; n <= 6; n += 1 + n / 2) {
                const int64_t stages = (n + width + threads) % 6;
                lowered l = LOWER("sm_80", drawn_slots, n, n, stages, stages, threads, threads, width, width);
                start(&l);
                memset(l.args[1].data, 0, l.args[1].bytes);
                results r = run_both(&l);
                expect_i32(&r, 1, 0, n);
                expect_i32(&r, 1, 1, n * width);
                for (int64_t i = 0; i < n * width; i++) {
                    expect_i32(&r, 2, i, input(&l, 0)[(i / width + 1) * width + width - 1 - i % width]);
                }
                end_both(&r);
                finish(&l);
            }
        }
    }
}

Test(cases, three_copies_with_their_users_between_them) {
    FOR_EACH(threads, counts) {
        for (int64_t stages = 0; stages <= 6; stages++) {
            const int64_t width = widths[(size_t)(stages + threads) % 6];
            for (int64_t n = 0; n <= 9; n += 3) {
                lowered l =
                    LOWER("sm_80", three_groups, n, n, stages, stages, threads, threads, width, width);
                start(&l);
                results r = run_both(&l);
                for (int64_t i = 0; i < n * width; i++) {
                    const int64_t other = i / width * width + width - 1 - i % width;
                    const int32_t *a = input(&l, 0), *b = input(&l, 1), *c = input(&l, 2);
                    expect_i32(&r, 3, i, a[other]);
                    expect_i32(&r, 3, 9 * width + i, a[i] + b[other]);
                    expect_i32(&r, 3, 18 * width + i, c[other] - b[i]);
                }
                end_both(&r);
                finish(&l);
            }
        }
    }
}

/* Lets one group more in flight at wait number *n. */
static bool loosen(thread_block *b, int *n) {
    for (thread_stmt *s = b->first; s; s = s->next) {
        if (s->kind == THREAD_WAIT && (*n)-- == 0) {
            s->count++;
            return true;
        }
        if (loosen(&s->body, n) || loosen(&s->otherwise, n)) {
            return true;
        }
    }
    return false;
}

/* races_without() of a barrier that is not there: the simulator's word on the kernel as it is. */
static bool is_faulty(lowered *l) {
    bool removed;
    return races_without(l, 1000, &removed);
}

Test(cases, waits_let_as_many_groups_in_flight_as_can_be) {
    for (int64_t stages = 2; stages <= 6; stages++) {
        bool more = true;
        for (int wait = -1; more; wait++) {
            lowered l = LOWER("sm_80", three_groups, n, 9, stages, stages, threads, 32, width, 32);
            expect_good(&l);
            int n = wait;
            more = wait < 0 || loosen(&l.made.thread->body, &n);
            cr_assert_eq(is_faulty(&l), more && wait >= 0, "%d stages, wait %d", (int)stages, wait);
            cr_assert(more || wait > 0, "there are no waits");
            finish(&l);
        }
    }
}

Test(cases, a_loop_runs_as_often_as_was_said_when_it_began) {
    FOR_EACH(threads, counts) {
        FOR_EACH(width, widths) {
            const int64_t stages = (threads + width) % 5, n = (threads + 3 * width) % 10;
            lowered l = LOWER("sm_80", trips_overwritten, stages, stages, threads, threads, width, width);
            start(&l);
            *(int32_t *)l.args[0].data = (int32_t)n;
            results r = run_both(&l);
            for (int64_t i = 0; i < 9 * width; i++) {
                const int64_t other = i / width * width + width - 1 - i % width;
                expect_i32(&r, 2, i, i / width < n ? input(&l, 1)[other] : input(&l, 2)[i]);
            }
            end_both(&r);
            finish(&l);
        }
        lowered l = LOWER("sm_80", own_trips_overwritten, threads, threads);
        start(&l);
        results r = run_both(&l);
        for (int64_t i = 0; i < threads; i++) {
            const int32_t n = input(&l, 0)[i];
            expect_i32(&r, 1, i, n * (n + 1) + 100 * n);
        }
        end_both(&r);
        finish(&l);
        l = LOWER("sm_80", trips_of_each, threads, threads);
        start(&l);
        r = run_both(&l);
        for (int64_t i = 0; i < 9 * threads; i++) {
            const int64_t row = i / threads, n = input(&l, 0)[i % threads] % 6;
            const int64_t want = row < (n < 0 ? -n : n) ? row + 1 : ((const int64_t *)l.args[1].data)[i];
            for (int w = 0; w < WITNESSES; w++) {
                cr_assert_eq(((const int64_t *)r.of[w][1].data)[i], want, "%d of %d threads", (int)i,
                             (int)threads);
            }
        }
        end_both(&r);
        finish(&l);
    }
}

/* ---- barriers ------------------------------------------------------------------------------------------ */

static void expect_both_readers(lowered *l, int64_t n, int64_t width) {
    start(l);
    results r = run_both(l);
    for (int64_t i = 0; i < n * width; i++) {
        const int64_t row = i / width * width, column = i % width;
        expect_i32(&r, 1, i, input(l, 0)[row + width - 1 - column]);
        expect_i32(&r, 2, i, -input(l, 0)[row + (column + 1) % width]);
    }
    end_both(&r);
    finish(l);
}

Test(cases, a_tile_is_written_again_after_both_of_its_readers) {
    FOR_EACH(threads, counts) {
        FOR_EACH(width, widths) {
            for (int64_t n = 0; n <= 9; n += 3) {
                lowered l = LOWER("sm_80", two_readers, n, n, threads, threads, width, width);
                expect_both_readers(&l, n, width);
                if (threads >= 2) {
                    l = LOWER("sm_80", two_halves_read, n, n, threads, threads, width, width);
                    expect_both_readers(&l, n, width);
                }
            }
        }
    }
}

Test(cases, that_takes_two_barriers_an_iteration_and_none_is_to_spare) {
    const tg_config block = TG_CONFIG(n, 3, threads, 64, width, 64);
    expect_none_to_spare("two_readers", two_readers, block, 2);
    expect_none_to_spare("two_halves_read", two_halves_read, block, 2);
    lowered l = lower("two_readers", two_readers, "sm_80", block);
    cr_assert_eq(tally_of(&l).of[THREAD_BARRIER], 2);
    finish(&l);
}

Test(cases, stores_in_branches_of_branches) {
    FOR_EACH(threads, counts) {
        FOR_EACH(width, widths) {
            lowered l = LOWER("sm_80", branches_in_branches, n, 9, threads, threads, width, width);
            start(&l);
            results r = run_both(&l);
            int64_t s[64] = {0};
            for (int64_t k = 0; k < 9; k++) {
                for (int64_t i = 0; i < width && k % 3 != 0; i++) {
                    s[i] = input(&l, 0)[k * width + i];
                    s[i] = k % 2 == 0 ? s[i] + (s[i] < 40 ? 1000 : 0) : i >= width / 2 ? -s[i] : s[i];
                }
                for (int64_t i = 0; i < width; i++) {
                    expect_i32(&r, 1, k * width + i, s[width - 1 - i]);
                }
            }
            end_both(&r);
            finish(&l);
        }
    }
    expect_none_to_spare("branches_in_branches", branches_in_branches,
                         TG_CONFIG(n, 9, threads, 64, width, 64), 2);
}

Test(cases, what_decides_inside_was_written_in_front) {
    FOR_EACH(threads, counts) {
        FOR_EACH(width, widths) {
            const int64_t stages = (threads + width) % 4;
            lowered l = LOWER("sm_80", decided_before, stages, stages, threads, threads, width, width, deep,
                              width % 2);
            start(&l);
            results r = run_both(&l);
            for (int64_t i = 0; i < 9 * width; i++) {
                const int64_t row = input(&l, 0)[i / width], from = row * width + width - 1 - i % width;
                expect_i32(&r, 2, i, row > 5 ? input(&l, 1)[from] : input(&l, 2)[i]);
            }
            end_both(&r);
            finish(&l);
        }
    }
    expect_none_to_spare("decided_before", decided_before,
                         TG_CONFIG(stages, 1, threads, 64, width, 64, deep, 1), 2);
}

Test(cases, what_decides_is_overwritten_after_all_have_decided) {
    FOR_EACH(threads, counts) {
        FOR_EACH(width, widths) {
            lowered l =
                LOWER("sm_80", decided_anew, stages, (threads + width) % 4, threads, threads, width, width);
            start(&l);
            results r = run_both(&l);
            int32_t flag = 0;
            for (int64_t k = 0; k < 9; k++) {
                const int32_t *row = input(&l, 0) + (k + (flag != 0)) * width;
                for (int64_t i = 0; i < width; i++) {
                    expect_i32(&r, 1, k * width + i, flag ? -row[width - 1 - i] : row[width - 1 - i]);
                }
                flag = flag ? 0 : row[0];
            }
            end_both(&r);
            finish(&l);
        }
    }
    expect_none_to_spare("decided_anew", decided_anew, TG_CONFIG(stages, 1, threads, 64, width, 1), 2);
    expect_none_to_spare("decided_anew", decided_anew, TG_CONFIG(stages, 1, threads, 64, width, 64), 3);
}

/* Six rounds of moved_by_itself as plain loops. */
static void move_by_hand(int64_t how, int64_t width, const int32_t *a, int32_t *out) {
    int32_t s[16][64] = {{0}}, f[64];
    memcpy(f, a + width, sizeof *f * (size_t)width);
    memcpy(s[0], f, sizeof *f * (size_t)width);
    for (int64_t k = 0; k < 6; k++) {
        const int32_t *from = how == 0 ? a + s[0][width - 1] * width : f;
        const int64_t to = how == 0 ? 0 : s[0][0] % (how == 1 ? 3 : 2);
        const int32_t filled = s[1][width / 2] + (int32_t)k + 1;
        for (int64_t i = 0; i < width; i++) {
            s[to][i] = how == 2 ? filled : from[i];
            s[to + 1][i] = how == 2 ? filled : s[to + 1][i];
        }
        memcpy(f, a + (k + 2) * width, sizeof *f * (size_t)width);
        memcpy(out + k * width, s[0], sizeof *f * (size_t)width);
    }
}

Test(cases, a_copy_may_overwrite_what_told_where_it_goes) {
    for (int64_t how = 0; how < 3; how++) {
        FOR_EACH(threads, counts) {
            FOR_EACH(width, widths) {
                lowered l = LOWER("sm_80", moved_by_itself, how, how, threads, threads, width, width);
                start(&l);
                results r = run_both(&l);
                int32_t want[6 * 64];
                move_by_hand(how, width, input(&l, 0), want);
                for (int64_t i = 0; i < 6 * width; i++) {
                    expect_i32(&r, 1, i, want[i]);
                }
                end_both(&r);
                finish(&l);
            }
        }
    }
}

/* ---- bounds -------------------------------------------------------------------------------------------- */

static void put_floats(lowered *l, int arg) {
    float *x = l->args[arg].data;
    for (size_t i = 0; i < l->args[arg].bytes / sizeof *x; i++) {
        x[i] = (float)i / 4 + 1;
    }
}

Test(cases, what_is_not_there_has_the_value_that_was_asked_for) {
    static const struct {
        int64_t rows, columns, tile_rows, tile_columns;
    } shape[] = {{60, 60, 64, 64},  {1, 1, 8, 8},    {7, 13, 8, 16},
                 {64, 48, 16, 104}, {3, 64, 16, 64}, {16, 104, 16, 104}};
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++) {
        FOR_EACH(threads, counts) {
            const int64_t tile_columns = shape[i].tile_columns, columns = shape[i].columns;
            lowered l = LOWER("sm_80", padded_with_a_value, rows, shape[i].rows, columns, columns, tile_rows,
                              shape[i].tile_rows, tile_columns, tile_columns, threads, threads);
            start(&l);
            put_floats(&l, 0);
            results r = run_both(&l);
            for (int64_t at = 0; at < shape[i].tile_rows * tile_columns; at++) {
                const int64_t row = at / tile_columns, column = at % tile_columns;
                const bool is_there = row < shape[i].rows && column < columns;
                const float want = is_there ? (float)(row * columns + column) / 4 + 1 : -99;
                for (int w = 0; w < WITNESSES; w++) {
                    cr_assert_eq(((const float *)r.of[w][1].data)[at], want, "tile %d, element %d", (int)i,
                                 (int)at);
                }
            }
            end_both(&r);
            finish(&l);
        }
    }
}

/* The lines of a kernel's findings. */
static void expect_finding(int status, const findings *f, const char *part) {
    text t = {0};
    findings_print(f, &t);
    cr_assert_eq(status, TG_OK);
    cr_assert(findings_failed(f, false) && t.s && strstr(t.s, part), "%s", t.s ? t.s : "no finding");
    text_free(&t);
}

Test(cases, an_index_below_zero_is_found_by_both_witnesses) {
    FOR_EACH(threads, counts) {
        lowered l = LOWER("sm_80", before_the_beginning, threads, threads);
        start(&l);
        witness_arg args[LOWERED_ARGS];
        reference_result reference = {0};
        sim_result sim = {0};
        text error = {0};
        copy_args(&l, args);
        int status =
            tile_reference_run(l.made.kernel, l.nargs, args, &(reference_options){0}, &reference, &error);
        expect_finding(status, &reference.findings, "out of bounds");
        status = sim_run(l.made.thread, l.nargs, args, &(sim_options){0}, &sim, &error);
        expect_finding(status, &sim.findings, "out of bounds");
        reference_free(&reference);
        sim_free(&sim);
        text_free(&error);
        free_args(&l, args);
        finish(&l);
    }
}

/* ---- atomics, truths ----------------------------------------------------------------------------------- */

Test(cases, every_threads_value_reaches_an_atomic) {
    FOR_EACH(threads, counts) {
        lowered l = LOWER("sm_80", every_thread_adds, threads, threads);
        start(&l);
        int32_t *a = l.args[0].data, most = INT32_MIN, least = INT32_MAX;
        for (int64_t i = 0; i < threads; i++) {
            a[i] = (int32_t)((i * 37 + 11) % 251) - 100;
            most = a[i] > most ? a[i] : most;
            least = a[i] < least ? a[i] : least;
        }
        *(int32_t *)l.args[1].data = 5;
        *(int32_t *)l.args[2].data = -1000;
        *(int32_t *)l.args[3].data = 1000;
        results r = run_both(&l);
        expect_i32(&r, 1, 0, 5 + threads);
        expect_i32(&r, 2, 0, most);
        expect_i32(&r, 3, 0, least);
        end_both(&r);
        finish(&l);
    }
}

Test(cases, the_magnitude_of_what_has_no_sign_is_itself) {
    FOR_EACH(threads, counts) {
        FOR_EACH(width, widths) {
            lowered l = LOWER("sm_80", magnitude_without_sign, threads, threads, width, width);
            start(&l);
            uint32_t *a = l.args[0].data, most[3] = {0};
            for (int64_t i = 0; i < 3 * width; i++) {
                a[i] = i % 5 == 2 ? 0x80000001u + (uint32_t)i : (uint32_t)i * 77777u;
                most[i / width] = a[i] > most[i / width] ? a[i] : most[i / width];
            }
            results r = run_both(&l);
            for (int64_t i = 0; i < 3; i++) {
                expect_i32(&r, 1, i, (int32_t)most[i]);
                expect_i32(&r, 2, i, (int32_t)most[i]);
            }
            end_both(&r);
            finish(&l);
        }
    }
}

Test(cases, truths_are_bytes_in_every_space) {
    FOR_EACH(threads, counts) {
        FOR_EACH(width, widths) {
            lowered l = LOWER("sm_80", masked, threads, threads, width, width);
            start(&l);
            unsigned char *mask = l.args[0].data;
            uint16_t *a = l.args[1].data;
            for (int64_t i = 0; i < width; i++) {
                mask[i] = i % 3 == 1;
                a[i] = (uint16_t)value_real(TG_F16, (double)i / 4).bits;
            }
            results r = run_both(&l);
            for (int w = 0; w < WITNESSES; w++) {
                const uint16_t *out = r.of[w][2].data;
                const unsigned char *inverse = r.of[w][3].data;
                for (int64_t i = 0; i < width; i++) {
                    const double want = (width - 1 - i) % 3 == 1 ? -7 : (double)i / 4;
                    cr_assert_eq(out[i], (uint16_t)value_real(TG_F16, want).bits, "element %d", (int)i);
                    cr_assert_eq(inverse[i], i % 3 != 1, "truth %d", (int)i);
                }
            }
            end_both(&r);
            finish(&l);
        }
    }
}
