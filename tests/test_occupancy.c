/* test_occupancy.c -- how many blocks fit on a multiprocessor, what limits them, how a grid fills the device. */
#include <criterion/criterion.h>

#include "tool/occupancy.h"

static const device_row a100 = {.sms = 108,
                                .threads_per_sm = 2048,
                                .blocks_per_sm = 32,
                                .registers_per_sm = 65536,
                                .shared_per_sm_kib = 164,
                                .shared_kib = 163};

static occupancy of(int64_t threads, int64_t shared, int registers, int64_t grid) {
    return occupancy_of(&a100, target_find("sm_80"), threads, shared, registers, grid);
}

static void expect(occupancy o, int64_t blocks, const char *limiter) {
    cr_assert_eq(o.blocks, blocks, "%lld blocks", (long long)o.blocks);
    cr_assert_str_eq(o.limiter, limiter);
}

Test(occupancy, each_of_the_four_limits) {
    expect(of(1024, 128, 32, 1), 2, "threads");
    expect(of(32, 0, 16, 1), 32, "blocks");
    expect(of(128, 0, 126, 1), 4, "registers");
    expect(of(128, 70000, 52, 1), 2, "shared memory");
}

Test(occupancy, registers_go_to_warps_in_units_of_256) {
    expect(of(256, 0, 32, 1), 8, "threads");   /* 1024 registers a warp: 64 warps */
    expect(of(256, 0, 33, 1), 6, "registers"); /* 1280: 12 warps in each of four parts */
    expect(of(1024, 0, 255, 1), 0, "registers");
}

Test(occupancy, a_block_that_takes_no_whole_warp_takes_one) {
    expect(of(33, 0, 32, 1), 32, "threads");
    cr_assert_eq(of(33, 0, 32, 1).warps, 64);
}

Test(occupancy, each_block_costs_a_kilobyte_more) {
    expect(of(128, 40 * 1024, 32, 1), 4, "shared memory");
    expect(of(128, 41 * 1024, 32, 1), 3, "shared memory");
    expect(of(128, 163 * 1024, 32, 1), 1, "shared memory");
    expect(of(128, 163 * 1024 + 1, 32, 1), 0, "shared memory");
}

Test(occupancy, few_blocks_leave_multiprocessors_idle) {
    const occupancy o = of(128, 0, 32, 32);
    cr_assert_eq(o.without, 76);
    cr_assert_float_eq(o.idle, 76.0 / 108, 1e-9);
    cr_assert_float_eq(o.waves, 32.0 / (108 * 16), 1e-9);
    cr_assert_float_eq(of(128, 0, 32, 108).idle, 0, 1e-9);
    cr_assert_float_eq(of(128, 0, 32, 109).idle, 1 - 109.0 / 216, 1e-9);
}

Test(occupancy, the_last_round_of_many) {
    const int64_t room = 108 * 16;
    cr_assert_float_eq(of(128, 0, 32, 2 * room).idle, 0, 1e-9);
    cr_assert_float_eq(of(128, 0, 32, room + 1).idle, 1 - (double)(room + 1) / (double)(2 * room), 1e-9);
    cr_assert_eq(of(128, 0, 32, room + 1).without, 0);
}
