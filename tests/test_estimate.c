/* test_estimate.c -- what a thread is taken to wait for; and that the trace for pictures keeps what was simulated. */
#include <tegula/tegula.h>

#include "lower_run.h"
#include "sim/sim_trace.h"
#include "tool/estimate.h"

#include <tegula/kernel.h>

static void sum_of_a_column(void) {
    tensor(x, F32, 448, 64);
    tensor(y, F32, 64);
    grid(pid, 1) threads(tid, 64) {
        local(sum, F32);
        set(sum, 0);
        serial(i, 448)
            accum(sum, at(x, i, tid));
        set(at(y, tid), sum);
    }
}

static void a_barrier_in_each_iteration(void) {
    tensor(x, F32, 448, 64);
    tensor(y, F32, 64);
    grid(pid, 1) threads(tid, 64) {
        shared(s, F32, 64);
        local(sum, F32);
        set(sum, 0);
        serial(i, 448) {
            set(at(s, tid), at(x, i, tid));
            sync_threads();
            accum(sum, at(s, sub(63, tid)));
            sync_threads();
        }
        set(at(y, tid), sum);
    }
}

static estimate_waits waits_of(tg_builder *build) {
    lowered l = lower("kernel", build, "sm_90a", (tg_config){0});
    expect_good(&l);
    const estimate_waits waits = estimate_count_waits(l.made.thread);
    finish(&l);
    return waits;
}

Test(estimate, loads_of_four_iterations_are_waited_for_together) {
    const estimate_waits w = waits_of(sum_of_a_column);
    cr_assert_eq(w.loads, 112);
    cr_assert_eq(w.barriers, 0);
    cr_assert_eq(w.sums, 448);
}

Test(estimate, no_load_crosses_a_barrier) {
    const estimate_waits w = waits_of(a_barrier_in_each_iteration);
    cr_assert_eq(w.loads, 448);
    cr_assert_eq(w.shared, 448);
    cr_assert_eq(w.barriers, 896);
}

Test(trace, first_requests_and_the_order_of_sectors) {
    lowered l = lower("kernel", sum_of_a_column, "sm_90a", (tg_config){0});
    expect_good(&l);
    float *x = calloc(448 * 64, sizeof *x), y[64];
    witness_arg args[] = {{.data = x, .bytes = 448 * 64 * sizeof *x}, {.data = y, .bytes = sizeof y}};
    sim_options how = {0};
    sim_result result = {0};
    text error = {0};
    trace kept;
    trace_attach(&kept, l.made.thread, &how);
    cr_assert_eq(sim_run(l.made.thread, 2, args, &how, &result, &error), TG_OK, "%s", error.s);
    cr_assert_eq(kept.n, 2); /* a load, a store */
    const trace_row *load = trace_find(&kept, kept.row[0]->ref, COST_LOAD);
    cr_assert_eq(load->n, 2); /* warps */
    for (int warp = 0; warp < 2; warp++) {
        cr_assert_eq(load->request[warp].access.first_thread, 32 * warp);
        cr_assert_eq(load->request[warp].access.address[5], (uint64_t)(32 * warp + 5) * 4);
    }
    const trace_walk *walk = trace_walk_over(&kept, load->ref->buffer);
    cr_assert_eq(walk->most_steps, 448);
    for (int i = 0; i < 448 * 8; i++) { /* eight sectors a row, the first four the first warp's */
        cr_assert_eq(walk->step[i], i / 8 + 1);
        cr_assert_eq(walk->warp[i], i % 8 / 4);
    }
    trace_free(&kept);
    sim_free(&result);
    free(x);
    finish(&l);
}
