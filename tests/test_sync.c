/* test_sync.c -- barriers between collective operations: results of the tile reference and of the simulator,
 * which reports every race, agree with each other and with values worked out here; the number of barriers; none to
 * spare.  Kernels are those of sync_kernels.c. */
#include "tile_run.h"

#define KERNELS(X)       \
    X(fill_part)         \
    X(part_of_the_block) \
    X(counting)          \
    X(three_places)      \
    X(both_views)        \
    X(two_types) X(two_passes) X(behind_shared_flag) X(through_global) X(versions_by_hand) X(ragged_tiles)
#define PROTOTYPE(name) void name(void);
KERNELS(PROTOTYPE)

static const int64_t sizes[] = {1, 31, 32, 48, 64, 96, 128, 256};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static const char *machine_of(int64_t i) {
    return i % 2 ? "sim64" : "sm_80";
}

static int barriers(const char *name, tg_builder *build, tg_config config) {
    lowered l = lower(name, build, "sm_80", config);
    expect_good(&l);
    const int n = tally_of(&l).of[THREAD_BARRIER];
    finish(&l);
    return n;
}

static ran run(const char *name, tg_builder *build, tg_config config, int64_t i) {
    return run_both(lower(name, build, machine_of(i), config), 0);
}

/* ---- what the kernels leave, by hand ------------------------------------------------------------------- */

typedef void hand(const ran *r);

/* All elements of an argument, by their row and column of `width`. */
#define FOR_ELEMENTS(n, width) \
    for (int64_t at = 0, row = 0, column = 0; at < (n); at++, row = at / (width), column = at % (width))

static void part_of_the_block_by_hand(const ran *r) {
    for (int64_t i = 0; i < 128; i++) {
        expect_element(r, 0, i, i < 48 ? (double)(3 * (47 - i) + 1) : before(r, 0, i));
    }
}

static void counting_by_hand(const ran *r) {
    double bins[13] = {0};
    for (int64_t i = 0; i < 500; i++) {
        const int64_t x = (int64_t)before(r, 0, i);
        bins[x] += 1;
        bins[(x + 1) % 13] += 2;
        bins[i % 13] += 100;
    }
    for (int64_t i = 0; i < 13; i++) {
        expect_element(r, 1, i, bins[i]);
    }
}

static void versions_by_hand_by_hand(const ran *r) {
    FOR_ELEMENTS(9 * 32, 32) {
        expect_element(r, 1, at, before(r, 0, row * 32 + 31 - column));
    }
}

static void fill_part_by_hand(const ran *r) {
    for (int64_t i = 0; i < 4 * 16; i++) {
        expect_element(r, 1, i, i % 16 < 10 ? before(r, 0, i) : 77);
    }
}

static void three_places_by_hand(const ran *r) {
    for (int64_t i = 0; i < 64; i++) {
        expect_element(r, 0, i, (double)((i ^ 32) + 1));
    }
}

static void two_passes_by_hand(const ran *r) {
    for (int64_t i = 0; i < 32; i++) {
        double sum = 0;
        for (int64_t k = 0; k < 4; k++) {
            sum += before(r, 0, k * 32 + 31 - i);
        }
        expect_element(r, 1, i, sum);
        for (int64_t k = 0; k < 4; k++) {
            expect_element(r, 2, k * 32 + i, 4 * before(r, 0, k * 32 + 31 - i) - sum);
        }
    }
}

static void both_views_by_hand(const ran *r) {
    FOR_ELEMENTS(4 * 64, 64) {
        expect_element(r, 1, at, 5 + before(r, 0, row * 64 + (column ^ 3)));
    }
}

static void two_types_by_hand(const ran *r) {
    FOR_ELEMENTS(4 * 16, 16) {
        double word = 0;
        for (int64_t b = 3; b >= 0; b--) {
            word = 256 * word + before(r, 0, row * 64 + 4 * (15 - column) + b);
        }
        expect_element(r, 1, at, word);
    }
}

static void behind_shared_flag_by_hand(const ran *r) {
    double s[32] = {0};
    FOR_ELEMENTS(4 * 32, 32) {
        const bool is_even = (int64_t)before(r, 0, row * 32) % 2 == 0;
        for (int64_t i = 0; i < 32 && is_even && column == 0; i++) {
            s[i] = before(r, 0, row * 32 + i);
        }
        expect_element(r, 1, at, is_even ? s[31 - column] : -s[31 - column]);
    }
}

/* Each row becomes itself, or that above it, plus one and the column's number. */
static void through_global_by_hand(const ran *r, int64_t shift) {
    FOR_ELEMENTS(4 * 32, 32) {
        const double had = before(r, 0, shift ? column : at);
        expect_element(r, 0, at + shift * 32, had + (double)((shift ? row + 1 : 1) * (1 + column)));
    }
}

static void agree(const char *name, tg_builder *build, tg_config config, int64_t i, hand *by_hand) {
    ran r = run(name, build, config, i);
    by_hand(&r);
    finish_run(&r);
}

/* ---- barriers ------------------------------------------------------------------------------------------ */

/* As many barriers as wanted, each of which something races without. */
static void expect_barriers(const char *name, tg_builder *build, tg_config config, int wanted) {
    lowered shown = lower(name, build, "sm_80", config);
    text t = thread_text(&shown);
    const int n = barriers(name, build, config);
    cr_assert_eq(n, wanted, "%s: %d barriers\n%s", name, n, t.s);
    for (int i = 0; i < n; i++) {
        bool removed;
        lowered l = lower(name, build, "sm_80", config);
        cr_assert(races_without(&l, i, &removed), "%s: barrier %d is not needed\n%s", name, i, t.s);
        finish(&l);
    }
    text_free(&t);
    finish(&shown);
}

/* All sizes of block; then the count, at 128 threads. */
#define TEST_BARRIERS(name, wanted, ...)                                                      \
    Test(sync, name) {                                                                        \
        for (int i = 0; i < SIZES; i++) {                                                     \
            agree(#name, name, TG_CONFIG(threads, sizes[i], __VA_ARGS__), i, name##_by_hand); \
        }                                                                                     \
        expect_barriers(#name, name, TG_CONFIG(threads, 128, __VA_ARGS__), wanted);           \
    }

TEST_BARRIERS(part_of_the_block, 1, limit, 48)
TEST_BARRIERS(counting, 2, n, 500) /* behind the clear, before the copy; none between the adds */
TEST_BARRIERS(versions_by_hand, 1, rounds, 9)

Test(sync, fill_part) {
    for (int i = 0; i < SIZES; i++) {
        agree("fill_part", fill_part, TG_CONFIG(threads, sizes[i], rounds, 4), i, fill_part_by_hand);
    }
    expect_barriers("fill_part", fill_part, TG_CONFIG(threads, 128, rounds, 4), 2);
    expect_barriers("fill_part", fill_part, TG_CONFIG(threads, 128, rounds, 1), 2);
}

Test(sync, three_places) {
    for (int i = 0; i < SIZES; i++) {
        agree("three_places", three_places, TG_CONFIG(threads, sizes[i]), i, three_places_by_hand);
    }
    expect_barriers("three_places", three_places, TG_CONFIG(threads, 64), 2);
}

Test(sync, two_passes) {
    for (int i = 0; i < SIZES; i++) {
        agree("two_passes", two_passes, TG_CONFIG(threads, sizes[i]), i, two_passes_by_hand);
    }
    expect_barriers("two_passes", two_passes, TG_CONFIG(threads, 32), 4);
}

Test(sync, both_views) {
    for (int i = 4; i < SIZES; i++) { /* as many threads as elements, at least */
        agree("both_views", both_views, TG_CONFIG(threads, sizes[i], rounds, 4), i, both_views_by_hand);
    }
    expect_barriers("both_views", both_views, TG_CONFIG(threads, 64, rounds, 4), 4);
}

Test(sync, two_types) {
    for (int i = 0; i < SIZES; i++) {
        agree("two_types", two_types, TG_CONFIG(threads, sizes[i], rounds, 4), i, two_types_by_hand);
    }
    expect_barriers("two_types", two_types, TG_CONFIG(threads, 64, rounds, 4), 2);
}

Test(sync, behind_shared_flag) {
    for (int i = 0; i < SIZES; i++) {
        agree("behind_shared_flag", behind_shared_flag, TG_CONFIG(threads, sizes[i], rounds, 4), i,
              behind_shared_flag_by_hand);
    }
}

Test(sync, through_global) {
    for (int i = 0; i < SIZES; i++) {
        for (int64_t shift = 0; shift < 2; shift++) {
            ran r = run("through_global", through_global, TG_CONFIG(threads, sizes[i], shift, shift), i);
            through_global_by_hand(&r, shift);
            finish_run(&r);
        }
    }
    for (int64_t shift = 0; shift < 2; shift++) { /* each thread keeps to its own; then replicas read them */
        expect_barriers("through_global", through_global, TG_CONFIG(threads, 32, shift, shift), 0);
        expect_barriers("through_global", through_global, TG_CONFIG(threads, 64, shift, shift), 1);
    }
}

/* ---- successive tiles with a ragged end ------------------------------------------------------------------ */

static void ragged_tiles_by_hand(const ran *r, int64_t N) {
    for (int64_t at = 0; at < 13 * N; at++) {
        expect_element(r, 1, at, before(r, 0, at));
    }
}

/* The guard of a store keeps each tile to its own columns: with the same threads at the same places nothing has to be
 * waited for.  Where tiles overlap, or threads hand over, every barrier is needed. */
Test(sync, tiles_with_a_ragged_end_are_apart) {
    static const int64_t columns[] = {33, 40, 65}, widths[] = {8, 16, 32}, heights[] = {4, 5, 8};
    for (int i = 0; i < 3 * 3 * 3; i++) {
        const int64_t N = columns[i % 3], bn = widths[i / 3 % 3], bm = heights[i / 9];
        const int64_t threads = i % 2 ? 32 : 64;
        lowered l = LOWER(machine_of(i), ragged_tiles, M, 13, N, N, bm, bm, bn, bn, threads, threads, how, 0);
        cr_assert_eq(tally_of(&l).of[THREAD_BARRIER], 0, "%d columns in tiles of %d x %d", (int)N, (int)bm,
                     (int)bn);
        ran r = run_both(l, 0);
        ragged_tiles_by_hand(&r, N);
        finish_run(&r);
    }
}

Test(sync, tiles_that_overlap_or_change_hands_wait) {
    for (int64_t N = 33; N < 66; N += 16) {
        expect_no_barrier_to_spare("ragged_tiles", ragged_tiles,
                                   TG_CONFIG(M, 13, N, N, bm, 5, bn, 16, threads, 32, how, 1), 1);
        expect_no_barrier_to_spare("ragged_tiles", ragged_tiles,
                                   TG_CONFIG(M, 13, N, N, bm, 4, bn, 16, threads, 64, how, 2), 2);
    }
}
