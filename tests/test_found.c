/* test_found.c -- faults that random kernels (fuzz/generate.h) have found, each by its kind. */
#include "lower_run.h"

#define PROTOTYPE(name) void name(void);
PROTOTYPE(one_thread_runs_ahead)
PROTOTYPE(one_thread_runs_ahead_of_little_alignment)
PROTOTYPE(blocks_of_odd_rows_run_ahead)
PROTOTYPE(copies_nobody_reads)
PROTOTYPE(wide_copy_of_one_element)
PROTOTYPE(one_iteration_writes_for_all)
PROTOTYPE(a_condition_picks_who_writes)
PROTOTYPE(fed_by_more_than_hold_it)
PROTOTYPE(a_loop_of_two_operations)
PROTOTYPE(columns_laid_out_by_a_loop)
PROTOTYPE(a_loop_whose_result_nobody_wants)
PROTOTYPE(found_a_region_that_moves_with_a_loop)
PROTOTYPE(found_a_condition_beside_an_atomic)
PROTOTYPE(rows_that_are_seen_as_one)

static void agrees(lowered l) {
    expect_agreement(&l, 0);
    finish(&l);
}

/* One thread has all elements side by side: that says nothing of how wide an access may be. */
Test(found, an_asynchronous_copy_is_no_wider_than_its_source_is_aligned) {
    for (int start = 0; start < 4; start++) {
        agrees(LOWER("sm_80", one_thread_runs_ahead, start, start));
    }
    agrees(LOWER_PLAIN("sm_80", one_thread_runs_ahead_of_little_alignment));
    agrees(LOWER_PLAIN("sm_80", blocks_of_odd_rows_run_ahead));
}

Test(found, bytes_on_their_way_are_nobody_elses) {
    for (int stages = 1; stages < 7; stages++) {
        agrees(LOWER("sm_80", copies_nobody_reads, stages, stages));
    }
}

Test(found, a_width_beyond_one_element_is_refused) {
    lowered l = LOWER_PLAIN("sm_80", wide_copy_of_one_element);
    expect_message(&l, "copy: a width of 2 is impossible");
    finish(&l);
}

Test(found, what_one_iteration_writes_reaches_all_that_hold_it) {
    for (int n = 1; n < 70; n = n * 2 + 1) {
        agrees(LOWER("sm_80", one_iteration_writes_for_all, n, n));
        agrees(LOWER("sim64", a_condition_picks_who_writes, n, n));
    }
}

Test(found, reducers_of_any_extent_are_fed_by_loops_of_any_extent) {
    static const int threads[] = {1, 5, 7, 32, 33, 64};
    for (int i = 0; i < 6 * 8 * 8; i++) {
        agrees(LOWER("sm_80", fed_by_more_than_hold_it, threads_, threads[i / 64], held, 1 + i / 8 % 8, fed,
                     1 + i % 8));
    }
}

Test(found, operations_of_one_loop_are_kept_apart_whatever_is_left_of_them) {
    agrees(LOWER("sm_80", a_loop_of_two_operations, n, 2));
    agrees(LOWER("sm_80", a_loop_of_two_operations, n, 64));
    agrees(LOWER_PLAIN("sm_80", a_loop_whose_result_nobody_wants));
}

Test(found, a_copy_of_all_of_a_fragment_leaves_its_padding_out) {
    for (int n = 1; n < 40; n++) {
        agrees(LOWER("sm_80", columns_laid_out_by_a_loop, n, n));
    }
}

Test(found, turns_of_a_loop_are_operations_of_their_own) {
    agrees(LOWER_PLAIN("sm_80", found_a_region_that_moves_with_a_loop));
}

Test(found, threads_agree_upon_what_no_pending_write_touches) {
    for (int n = 1; n <= 256; n = n * 2 + 1) {
        agrees(LOWER("sm_80", found_a_condition_beside_an_atomic, n, n));
    }
}

/* Its elements lie as they are numbered in all shapes, whoever laid them out. */
Test(found, a_fragment_that_is_seen_as_another_shape_has_no_padding_between_its_rows) {
    static const int64_t shapes[][2] = {{5, 31}, {4, 33}, {3, 24}, {7, 5}}, threads[] = {3, 7, 32, 96};
    for (int i = 0; i < 2 * 4 * 4; i++) {
        const int64_t m = shapes[i / 8][0], n = shapes[i / 8][1];
        lowered l = LOWER(i % 3 ? "sm_80" : "sim64", rows_that_are_seen_as_one, rows, m, columns, n, n,
                          threads[i / 2 % 4], by_rows, i % 2);
        expect_agreement(&l, 0);
        finish(&l);
    }
}
