/* test_sync.c -- barriers between collective operations: results of the tile reference and of the simulator,
 * which reports every race, agree; the number of barriers; none to spare.  Kernels are those of sync_kernels.c.
 */
#include "lower_run.h"

#define KERNELS(X)       \
    X(fill_part)         \
    X(part_of_the_block) \
    X(counting)          \
    X(three_places)      \
    X(both_views) X(two_types) X(two_passes) X(behind_shared_flag) X(through_global) X(versions_by_hand)
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

static void agree(const char *name, tg_builder *build, tg_config config, int64_t i) {
    lowered l = lower(name, build, machine_of(i), config);
    expect_agreement(&l, 0);
    finish(&l);
}

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
#define TEST_BARRIERS(name, wanted, ...)                                            \
    Test(sync, name) {                                                              \
        for (int i = 0; i < SIZES; i++) {                                           \
            agree(#name, name, TG_CONFIG(threads, sizes[i], __VA_ARGS__), i);       \
        }                                                                           \
        expect_barriers(#name, name, TG_CONFIG(threads, 128, __VA_ARGS__), wanted); \
    }

TEST_BARRIERS(part_of_the_block, 1, limit, 48)
TEST_BARRIERS(counting, 2, n, 500) /* behind the clear, before the copy; none between the adds */
TEST_BARRIERS(versions_by_hand, 1, rounds, 9)

Test(sync, fill_part) {
    for (int i = 0; i < SIZES; i++) {
        agree("fill_part", fill_part, TG_CONFIG(threads, sizes[i], rounds, 4), i);
    }
    expect_barriers("fill_part", fill_part, TG_CONFIG(threads, 128, rounds, 4), 2);
    expect_barriers("fill_part", fill_part, TG_CONFIG(threads, 128, rounds, 1), 2);
}

Test(sync, three_places) {
    for (int i = 0; i < SIZES; i++) {
        agree("three_places", three_places, TG_CONFIG(threads, sizes[i]), i);
    }
    expect_barriers("three_places", three_places, TG_CONFIG(threads, 64), 2);
}

Test(sync, two_passes) {
    for (int i = 0; i < SIZES; i++) {
        agree("two_passes", two_passes, TG_CONFIG(threads, sizes[i]), i);
    }
    expect_barriers("two_passes", two_passes, TG_CONFIG(threads, 32), 4);
}

Test(sync, both_views) {
    for (int i = 4; i < SIZES; i++) { /* as many threads as elements, at least */
        agree("both_views", both_views, TG_CONFIG(threads, sizes[i], rounds, 4), i);
    }
    expect_barriers("both_views", both_views, TG_CONFIG(threads, 64, rounds, 4), 4);
}

Test(sync, two_types) {
    for (int i = 0; i < SIZES; i++) {
        agree("two_types", two_types, TG_CONFIG(threads, sizes[i], rounds, 4), i);
    }
    expect_barriers("two_types", two_types, TG_CONFIG(threads, 64, rounds, 4), 2);
}

Test(sync, behind_shared_flag) {
    for (int i = 0; i < SIZES; i++) {
        agree("behind_shared_flag", behind_shared_flag, TG_CONFIG(threads, sizes[i], rounds, 4), i);
    }
}

Test(sync, through_global) {
    for (int i = 0; i < SIZES; i++) {
        for (int64_t shift = 0; shift < 2; shift++) {
            agree("through_global", through_global, TG_CONFIG(threads, sizes[i], shift, shift), i);
        }
    }
    for (int64_t shift = 0; shift < 2; shift++) { /* each thread keeps to its own; then replicas read them */
        expect_barriers("through_global", through_global, TG_CONFIG(threads, 32, shift, shift), 0);
        expect_barriers("through_global", through_global, TG_CONFIG(threads, 64, shift, shift), 1);
    }
}
