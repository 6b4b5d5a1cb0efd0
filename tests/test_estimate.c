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

/* The same of a tensor that the kernel writes, so that the barrier means it too. */
static void a_barrier_after_a_load_of_what_is_written(void) {
    tensor(x, F32, 448, 64);
    grid(pid, 1) threads(tid, 64) {
        local(sum, F32);
        set(sum, 0);
        serial(i, 448) {
            accum(sum, at(x, i, sub(63, tid)));
            sync_threads();
            set(at(x, i, tid), sum);
        }
    }
}

static void wide_loads(void) {
    tensor(x, F16, 64, 4096);
    tensor(y, F32, 64);
    grid(pid, 1) threads(tid, 64) {
        local(sum, F32);
        local(piece, F16, 8);
        set(sum, 0);
        serial(i, 512) {
            vectorized(k, 8)
                set(at(piece, k), at(x, tid, mad(i, 8, k)));
            serial(k, 8)
                accum(sum, mul(f32(at(piece, k)), 2));
        }
        set(at(y, tid), sum);
    }
}

/* Each row meets the same eight numbers of v. */
static void conversions_that_stay(void) {
    tensor(v, F16, 8);
    tensor(x, F32, 8, 8);
    tensor(y, F32, 64);
    grid(pid, 1) threads(tid, 64) {
        local(kept, F16, 8);
        local(sum, F32);
        set(sum, 0);
        vectorized(k, 8)
            set(at(kept, k), at(v, k));
        unrolled(i, 8)
            unrolled(k, 8)
                accum(sum, mul(f32(at(kept, k)), at(x, i, k)));
        set(at(y, tid), sum);
    }
}

/* A neighbour's element, of the same warp or of another. */
static void exchange_in_each_iteration(int64_t distance) {
    tensor(x, F32, 448, 64);
    tensor(y, F32, 64);
    grid(pid, 1) threads(64) {
        shared(s, F32, 64);
        fragment(sum, F32, 64);
        clear(sum);
        serial(i, 448) {
            parallel(j, 64)
                set(at(s, j), at(x, i, j));
            parallel(j, 64)
                accum(at(sum, j), at(s, bit_xor(j, distance)));
        }
        copy(sum, y);
    }
}

static void exchange_within_warps(void) {
    exchange_in_each_iteration(1);
}

static void exchange_between_warps(void) {
    exchange_in_each_iteration(32);
}

static estimate_thread estimate_for(tg_builder *build) {
    lowered l = lower("kernel", build, "sm_90a", (tg_config){0});
    expect_good(&l);
    const estimate_thread x = estimate_of_thread(l.made.thread);
    finish(&l);
    return x;
}

Test(estimate, loads_are_waited_for_when_they_fill_sixteen_registers) {
    const estimate_thread x = estimate_for(sum_of_a_column);
    cr_assert_eq(x.loads, 28);
    cr_assert_eq(x.barriers, 0);
    cr_assert_eq(x.sums, 448);
    cr_assert_eq(estimate_for(wide_loads).loads, 128); /* four registers each */
}

Test(estimate, loads_cross_a_barrier_where_nobody_writes) {
    const estimate_thread x = estimate_for(a_barrier_in_each_iteration);
    cr_assert_eq(x.loads, 28);
    cr_assert_eq(x.shared, 448);
    cr_assert_eq(x.barriers, 896);
    cr_assert_eq(estimate_for(a_barrier_after_a_load_of_what_is_written).loads, 448);
}

Test(estimate, a_barrier_of_the_warp_is_an_instruction) {
    const estimate_thread warp = estimate_for(exchange_within_warps),
                          block = estimate_for(exchange_between_warps);
    cr_assert_eq(block.barriers, 896);
    cr_assert_eq(warp.barriers, 0);
    cr_assert_eq(warp.cycles, block.cycles);
    cr_assert_eq(warp.shared, block.shared);
}

Test(estimate, a_product_that_is_added_is_one_instruction_and_a_conversion_takes_two_cycles) {
    cr_assert_eq(estimate_for(sum_of_a_column).cycles, 448);
    cr_assert_eq(estimate_for(wide_loads).cycles, 512 * 8 * 3);
    cr_assert_eq(estimate_for(conversions_that_stay).cycles, 64 + 8 * 2);
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
