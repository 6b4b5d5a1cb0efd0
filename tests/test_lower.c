/* test_lower.c -- lowering keeps the meaning: tile reference and simulator agree bit for bit; and what it
 * refuses, it refuses in words.  Kernels are those of lower_kernels.c. */
#include "lower_run.h"

/* clang-format off */
#define KERNELS(X)                                                                                    \
    X(wide_copy)                                                                                      \
    X(wide_arithmetic)                                                                                \
    X(wide_in_place)                                                                                  \
    X(wide_ahead)                                                                                     \
    X(wide_behind)                                                                                    \
    X(wide_guarded)                                                                                   \
    X(wide_uneven_guard)                                                                              \
    X(wide_stride)                                                                                    \
    X(wide_through_table)                                                                             \
    X(wide_aligned)                                                                                   \
    X(wide_pitched)                                                                                   \
    X(wide_aliased)                                                                                   \
    X(wide_atomic) X(wide_view) X(wide_inner_loop) X(wide_registers) X(wide_made) X(wide_staying)     \
        X(fill_shared) X(fill_before_loop) X(local_tiles) X(trips) X(launch_sizes) X(launch_trips)    \
            X(checked) X(atomics_of) X(too_much_shared) X(grid_of) X(threads_of) X(barrier_in_branch) \
                X(barrier_behind_flag)
/* clang-format on */
#define PROTOTYPE(name) void name(void);
KERNELS(PROTOTYPE)

static const char *const machines[] = {"sm_80", "sim64"};

/* ---- vectorized ---------------------------------------------------------------------------------------- */

Test(vectorized, copies_are_as_wide_as_extent_and_alignment_allow) {
    static const struct {
        int64_t dtype, width, shift;
        int bytes;
    } row[] = {
        {TG_F16, 8, 0, 16}, {TG_F16, 24, 0, 16},  {TG_F16, 12, 0, 8},  {TG_F16, 6, 0, 4},  {TG_F16, 2, 0, 4},
        {TG_F16, 8, 4, 8},  {TG_F16, 8, 2, 4},    {TG_F16, 64, 8, 16}, {TG_F32, 4, 0, 16}, {TG_F32, 2, 0, 8},
        {TG_F32, 4, 2, 8},  {TG_F64, 2, 0, 16},   {TG_F64, 6, 0, 16},  {TG_I8, 16, 0, 16}, {TG_I8, 2, 0, 2},
        {TG_U8, 20, 0, 4},  {TG_BF16, 40, 0, 16}, {TG_I64, 4, 0, 16},  {TG_BOOL, 8, 0, 8}, {TG_U16, 8, 8, 16},
        {TG_I8, 8, 2, 2},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        lowered l = LOWER("sm_80", wide_copy, dtype, row[i].dtype, width, row[i].width, shift, row[i].shift);
        expect_agreement(&l, 0);
        cr_assert_eq(l.made.plan->params[0].align, row[i].bytes, "row %d: %d", (int)i,
                     (int)l.made.plan->params[0].align);
        finish(&l);
    }
}

Test(vectorized, as_many_pieces_as_needed) {
    lowered l = LOWER("sm_80", wide_copy, dtype, TG_F16, width, 24, shift, 0);
    text t = thread_text(&l);
    cr_assert(strstr(t.s, "for k_piece below 3, unrolled") != NULL, "%s", t.s);
    text_free(&t);
    finish(&l);
}

Test(vectorized, arithmetic_goes_through_registers_in_serial_order) {
    static const int64_t types[] = {TG_F16, TG_BF16, TG_F32, TG_I32, TG_I8};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        for (int64_t width = 2; width <= 34; width += 4) {
            lowered l = LOWER("sm_80", wide_arithmetic, dtype, types[i], width, width);
            expect_agreement(&l, 0);
            cr_assert_geq(tally_of(&l).lanes, 2);
            finish(&l);
        }
    }
}

Test(vectorized, an_element_read_and_written_is_one_piece) {
    for (int64_t width = 2; width <= 32; width *= 2) {
        lowered l = LOWER("sm_80", wide_in_place, width, width);
        expect_agreement(&l, 0);
        finish(&l);
    }
}

Test(vectorized, loads_come_before_what_later_iterations_store) {
    for (int64_t distance = 2; distance <= 18; distance += 2) {
        lowered l = LOWER("sm_80", wide_ahead, distance, distance);
        expect_agreement(&l, 0);
        finish(&l);
    }
}

Test(vectorized, a_value_carried_between_iterations_is_refused) {
    for (int64_t distance = 2; distance <= 14; distance += 2) {
        lowered l = LOWER("sm_80", wide_behind, distance, distance);
        expect_message(&l, "may meet what an earlier iteration stored");
        finish(&l);
    }
    for (int64_t distance = 16; distance <= 20; distance += 4) { /* beyond the loop */
        lowered l = LOWER("sm_80", wide_behind, distance, distance);
        expect_agreement(&l, 0);
        finish(&l);
    }
}

Test(vectorized, an_element_that_stays_must_lie_outside_of_those_that_move) {
    for (int64_t place = 0; place < 32; place++) {
        lowered l = LOWER("sm_80", wide_staying, place, place);
        if (place < 8 || place >= 24) {
            expect_agreement(&l, 0);
        } else {
            expect_message(&l, "may meet what an earlier iteration stored to");
        }
        finish(&l);
    }
}

Test(vectorized, a_guard_of_one_value_over_each_piece_guards_the_wide_access) {
    static const int64_t sizes[][2] = {{1000, 8}, {1024, 16}, {512, 8}, {64, 16},
                                       {8, 8},    {96, 4},    {504, 8}, {16, 8}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        lowered l = LOWER("sm_80", wide_guarded, N, sizes[i][0], width, sizes[i][1]);
        expect_agreement(&l, 0);
        finish(&l);
    }
}

Test(vectorized, a_guard_that_ends_inside_a_piece_is_refused) {
    lowered l = LOWER("sm_80", wide_uneven_guard, N, 100, width, 8);
    expect_message(&l, "the guard 'i < 100' of 'a[i]' may differ between the 8 elements of a piece");
    finish(&l);
    l = LOWER("sm_80", wide_uneven_guard, N, 104, width, 8);
    expect_agreement(&l, 0);
    finish(&l);
    l = LOWER("sm_80", wide_uneven_guard, N, 512, width, 8); /* always true */
    expect_agreement(&l, 0);
    finish(&l);
}

Test(vectorized, an_access_must_be_contiguous) {
    lowered l = LOWER("sm_80", wide_stride, stride, 3);
    expect_message(&l, "'a[k * 3]' is not contiguous: it moves by 3 elements each iteration");
    finish(&l);
    l = LOWER("sm_80", wide_stride, stride, 1);
    expect_agreement(&l, 0);
    finish(&l);
    l = LOWER_PLAIN("sm_80", wide_through_table);
    expect_message(&l, "is not contiguous: its step with 'k' is not one number");
    finish(&l);
}

Test(vectorized, one_element_a_piece_is_refused_with_the_reason) {
    lowered l = LOWER("sm_80", wide_copy, dtype, TG_F16, width, 7, shift, 0);
    expect_message(&l, "only one element a piece: the extent 7 is odd");
    finish(&l);
    l = LOWER("sm_80", wide_copy, dtype, TG_F16, width, 8, shift, 1);
    expect_message(
        &l, "the first element of 'from_global[base + k]' is not known to lie at a multiple of 4 bytes");
    finish(&l);
    l = LOWER("sm_80", wide_aligned, bytes, 2);
    expect_message(&l, "'a' is aligned to 2 bytes only");
    finish(&l);
}

Test(vectorized, alignment_is_what_the_widest_access_needs) {
    lowered l = LOWER("sm_80", wide_aligned, bytes, 4);
    expect_agreement(&l, 0);
    cr_assert_eq(l.made.plan->params[0].align, 4);
    cr_assert_eq(l.made.plan->params[1].align, 4);
    finish(&l);
    l = LOWER("sm_80", wide_aligned, bytes, 16);
    cr_assert_eq(l.made.plan->params[0].align, 16);
    finish(&l);
}

Test(vectorized, pitch_counts) {
    lowered l = LOWER("sm_80", wide_pitched, ld, 24);
    expect_agreement(&l, 0);
    cr_assert_eq(tally_of(&l).widest, 16);
    finish(&l);
    l = LOWER("sm_80", wide_pitched, ld, 18);
    expect_agreement(&l, 0);
    cr_assert_eq(tally_of(&l).widest, 4);
    finish(&l);
    l = LOWER("sm_80", wide_pitched, ld, 17);
    expect_message(&l, "only one element a piece");
    finish(&l);
}

Test(vectorized, what_may_overlap_is_refused) {
    lowered l = LOWER_PLAIN("sm_80", wide_aliased);
    expect_message(&l, "may meet what an earlier iteration stored");
    finish(&l);
}

Test(vectorized, an_atomic_takes_one_element) {
    lowered l = LOWER_PLAIN("sm_80", wide_atomic);
    expect_message(&l, "the atomic on 'a[k]' takes one element at a time");
    finish(&l);
}

Test(vectorized, views_inner_loops_and_shifted_registers) {
    lowered l = LOWER_PLAIN("sm_80", wide_view);
    expect_agreement(&l, 0);
    cr_assert_eq(tally_of(&l).widest, 16);
    finish(&l);
    l = LOWER_PLAIN("sm_80", wide_inner_loop);
    expect_agreement(&l, 0);
    finish(&l);
    l = LOWER_PLAIN("sm_80", wide_registers);
    expect_agreement(&l, 0);
    finish(&l);
}

Test(vectorized, what_is_accepted_means_what_the_words_say) {
    int accepted = 0, copies = 0;
    for (int64_t seed = 1; seed <= 600; seed++) {
        lowered l = LOWER("sm_80", wide_made, seed, seed);
        if (l.status == TG_OK) {
            expect_agreement(&l, 0);
            accepted++;
            copies += tally_of(&l).lanes > 1;
        } else {
            expect_message(&l, "vectorized: ");
        }
        finish(&l);
    }
    cr_assert_gt(accepted, 100, "%d", accepted);
    cr_assert_gt(copies, 60, "%d", copies);
}

/* ---- the rest of the thread view ----------------------------------------------------------------------- */

Test(lower, fill_of_shared_memory_gets_its_barriers_and_no_other) {
    static const int64_t size[][4] = {
        {32, 1, 8, 4}, {32, 2, 8, 8}, {33, 1, 7, 5}, {8, 8, 3, 3}, {5, 3, 13, 11}};
    for (size_t i = 0; i < sizeof size / sizeof size[0]; i++) {
        for (int m = 0; m < 2; m++) {
            lowered l = LOWER(machines[m], fill_shared, X, size[i][0], Y, size[i][1], rows, size[i][2], cols,
                              size[i][3]);
            expect_agreement(&l, 0);
            cr_assert_eq(tally_of(&l).of[THREAD_BARRIER], 3, "row %d: %d", (int)i,
                         tally_of(&l).of[THREAD_BARRIER]); /* the user's, behind the fill, round the loop */
            finish(&l);
        }
    }
}

Test(lower, a_barrier_stands_in_front_of_a_loop_rather_than_in_it) {
    for (int64_t again = 0; again < 2; again++) {
        lowered l = LOWER("sm_80", fill_before_loop, again, again);
        expect_agreement(&l, 0);
        text t = thread_text(&l);
        cr_assert_eq(tally_of(&l).of[THREAD_BARRIER], again ? 3 : 1, "%s", t.s);
        cr_assert(again || strstr(t.s, "\n  barrier") != NULL, "%s", t.s);
        text_free(&t);
        finish(&l);
    }
}

Test(lower, no_barrier_of_a_fill_is_to_spare) {
    for (int64_t again = 0; again < 2; again++) {
        for (int n = 0; n < (again ? 3 : 1); n++) {
            bool removed;
            lowered l = LOWER("sm_80", fill_before_loop, again, again);
            cr_assert(races_without(&l, n, &removed), "barrier %d is not needed", n);
            cr_assert(removed);
            finish(&l);
        }
    }
    for (int n = 0; n < 2; n++) {
        bool removed;
        lowered l = LOWER("sim64", fill_shared, X, 8, Y, 8, rows, 9, cols, 9);
        cr_assert(races_without(&l, n, &removed), "barrier %d is not needed", n);
        cr_assert(removed);
        finish(&l);
    }
}

Test(lower, tiles_of_registers) {
    for (int64_t n = 1; n <= 9; n += 4) {
        lowered l = LOWER("sm_80", local_tiles, n, n);
        expect_agreement(&l, 0);
        finish(&l);
    }
}

Test(lower, loops_and_branches_that_are_decided_disappear) {
    for (int64_t n = 0; n <= 3; n++) {
        lowered l = LOWER("sm_80", trips, n, n);
        expect_agreement(&l, 0);
        const tally t = tally_of(&l);
        text shown = thread_text(&l);
        cr_assert_eq(t.of[THREAD_IF], 0, "%s", shown.s);
        cr_assert_eq(t.of[THREAD_LET], 1, "%s", shown.s); /* inner */
        cr_assert_eq(t.of[THREAD_FOR], n == 0 ? 0 : n == 1 ? 1 : 3, "%s", shown.s);
        cr_assert_eq(t.of[THREAD_DECL], 1, "%s", shown.s);
        cr_assert(strstr(shown.s, "nobody") == NULL && strstr(shown.s, "dead") == NULL, "%s", shown.s);
        cr_assert(strstr(shown.s, "local acc: i32 = 1") != NULL, "%s", shown.s);
        cr_assert_eq(l.made.thread->shared_bytes, 0);
        text_free(&shown);
        finish(&l);
    }
}

Test(lower, sizes_known_at_launch) {
    for (int64_t rows = 1; rows <= 9; rows++) {
        lowered l = LOWER_PLAIN("sm_80", launch_sizes);
        expect_agreement(&l, rows);
        finish(&l);
    }
}

Test(lower, trips_and_branches_known_at_launch) {
    static const int64_t threads[] = {1, 32, 48, 65};
    for (int i = 0; i < 4; i++) {
        for (int m = 0; m < 2; m++) {
            lowered l = LOWER(machines[m], launch_trips, X, threads[i]);
            expect_agreement(&l, 3);
            finish(&l);
        }
    }
}

Test(lower, checks_have_a_table_and_a_hidden_parameter) {
    lowered l = LOWER("sm_80", checked, limit, 8);
    expect_agreement(&l, 0);
    const thread_kernel *t = l.made.thread;
    cr_assert_eq(t->nchecks, 2);
    cr_assert_str_eq(t->checks[0].message, "i is below the limit");
    cr_assert_eq(t->params[t->nparams - 1].kind, PARAM_CHECKS);
    cr_assert_eq(l.made.plan->nargs, 1);
    cr_assert_eq(l.made.plan->nparams, 2);
    cr_assert_eq(l.made.plan->params[1].arg, -1);
    finish(&l);
}

Test(lower, atomics_of_every_type_that_has_them) {
    static const int64_t types[] = {TG_I32, TG_U32, TG_I64, TG_U64, TG_F16, TG_BF16, TG_F32, TG_F64};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        lowered l = LOWER("sm_80", atomics_of, dtype, types[i]);
        expect_agreement(&l, 0);
        finish(&l);
    }
}

/* ---- mistakes ------------------------------------------------------------------------------------------ */

Test(refused, more_shared_memory_than_the_target_has) {
    lowered l = LOWER("sm_86", too_much_shared, n, 20000);
    expect_message(&l,
                   "shared memory: 160000 bytes exceed the 101376 that sm_86 allows a block: 'first' 80000, "
                   "'second' 80000");
    finish(&l);
    l = LOWER("sm_80", too_much_shared, n, 20000);
    expect_good(&l);
    cr_assert(l.made.thread->shared_is_dynamic);
    cr_assert_eq(l.made.plan->dynamic_shared, 160000);
    cr_assert_eq(l.made.plan->static_shared, 0);
    finish(&l);
    l = LOWER("sm_80", too_much_shared, n, 10);
    expect_good(&l);
    cr_assert_eq(l.made.plan->static_shared, 48 + 40);
    cr_assert_eq(l.made.plan->dynamic_shared, 0);
    finish(&l);
}

Test(refused, grids_that_no_device_has) {
    lowered l = LOWER("sm_80", grid_of, x, 1, y, 70000);
    expect_message(&l, "grid: axis y has 70000 blocks, sm_80 allows 65535");
    finish(&l);
    l = LOWER("sm_80", grid_of, x, (int64_t)1 << 31, y, 1);
    expect_message(&l, "grid: axis x has 2147483648 blocks, sm_80 allows 2147483647");
    finish(&l);
    l = LOWER("sm_80", grid_of, x, 0, y, 1);
    expect_message(&l, "0");
    finish(&l);
    l = LOWER("sm_80", grid_of, x, 100000, y, 3);
    expect_good(&l);
    finish(&l);
}

Test(refused, blocks_that_no_device_has) {
    lowered l = LOWER("sm_80", threads_of, x, 1, y, 1, z, 65);
    expect_message(&l, "threads: axis z has 65 threads, sm_80 allows 64");
    finish(&l);
    l = LOWER("sm_80", threads_of, x, 32, y, 33, z, 1);
    expect_message(&l, "1024");
    finish(&l);
    l = LOWER("sm_80", threads_of, x, 4, y, 4, z, 64);
    expect_good(&l);
    finish(&l);
}

Test(refused, barriers_that_not_all_threads_reach) {
    lowered l = LOWER("sm_80", barrier_in_branch, threshold, 32);
    expect_message(&l, "sync_threads");
    finish(&l);
    l = LOWER("sm_80", barrier_in_branch, threshold, 64); /* all do */
    expect_good(&l);
    finish(&l);
    l = LOWER_PLAIN("sm_80", barrier_behind_flag);
    expect_agreement(&l, 0);
    finish(&l);
}
