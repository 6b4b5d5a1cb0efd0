/* test_pipeline_sync.c -- copies that run ahead, lowered: the simulator, which knows bytes in flight and races,
 * agrees with the tile reference on the words; one barrier an iteration, and none to spare.  Kernels are those
 * of pipeline_kernels.c. */
#include "lower_run.h"

#define PROTOTYPE(name) void name(void);

/* Kernels with n and stages alone. */
/* clang-format off */
#define PLAIN(X)                                                                                     \
    X(two_copies)                                                                                    \
    X(into_registers)                                                                                \
    X(both_kinds)                                                                                    \
    X(read_first)                                                                                    \
    X(read_after)                                                                                    \
    X(through_table)                                                                                 \
    X(through_copy)                                                                                  \
    X(when_k)                                                                                        \
    X(written_twice)                                                                                 \
    X(written_in_part) X(in_serial) X(in_place_alias) X(with_atomics) X(with_view) X(two_dimensions) \
        X(ragged) X(thread_view) X(registers_in_registers)
/* clang-format on */
/* With n at launch. */
#define LAUNCHED(X) X(trips_at_launch) X(registers_at_launch) X(read_after_at_launch)
#define OTHERS(X) X(conditional) X(siblings) X(sibling_reads_first) X(nested) X(in_place) X(not_asynchronous)
PLAIN(PROTOTYPE)
LAUNCHED(PROTOTYPE)
OTHERS(PROTOTYPE)

typedef struct named {
    const char *name;
    tg_builder *build;
} named;
#define ENTRY(name) {#name, name},

static const named plain[] = {PLAIN(ENTRY)};
static const named launched[] = {LAUNCHED(ENTRY)};
enum { PLAIN_N = sizeof plain / sizeof plain[0], LAUNCHED_N = sizeof launched / sizeof launched[0] };

static const char *const machines[] = {"sm_80", "sim64"};

/* Takes each barrier away in turn, at some trip count that needs it. */
static void expect_none_to_spare(const named *k, tg_config config) {
    bool removed = true;
    for (int n = 0; removed; n++) {
        lowered l = lower(k->name, k->build, "sm_80", config);
        expect_good(&l);
        const bool raced = races_without(&l, n, &removed);
        text t = thread_text(&l);
        cr_assert(raced || !removed, "%s: barrier %d is not needed\n%s", k->name, n, t.s);
        text_free(&t);
        finish(&l);
    }
}

Test(pipeline_sync, plain) {
    for (int i = 0; i < PLAIN_N; i++) {
        for (int64_t n = 0; n <= 9; n += n < 4 ? 1 : 5) {
            for (int64_t stages = 0; stages <= 4; stages++) {
                lowered l = lower(plain[i].name, plain[i].build, machines[(n + stages) % 2],
                                  TG_CONFIG(n, n, stages, stages));
                expect_agreement(&l, 0);
                finish(&l);
            }
        }
    }
}

Test(pipeline_sync, known_at_launch) {
    for (int i = 0; i < LAUNCHED_N; i++) {
        for (int64_t rows = 0; rows <= 9; rows += rows < 4 ? 1 : 5) {
            for (int64_t stages = 0; stages <= 4; stages++) {
                lowered l = lower(launched[i].name, launched[i].build, "sm_80", TG_CONFIG(stages, stages));
                expect_agreement(&l, rows);
                finish(&l);
            }
        }
    }
}

Test(pipeline_sync, conditions) {
    for (int64_t how = 0; how < 4; how++) {
        for (int64_t stages = 0; stages <= 4; stages++) {
            lowered l = LOWER("sm_80", conditional, n, 9, stages, stages, how, how);
            expect_agreement(&l, 0);
            finish(&l);
        }
    }
}

Test(pipeline_sync, several_loops) {
    for (int64_t stages = 0; stages <= 4; stages++) {
        for (int64_t other = 1; other <= 4; other++) {
            lowered l = LOWER("sm_80", siblings, n, 9, stages, stages, other, other);
            expect_agreement(&l, 0);
            finish(&l);
            l = LOWER("sm_80", sibling_reads_first, n, 9, stages, stages, other, other);
            expect_agreement(&l, 0);
            finish(&l);
            for (int64_t same = 0; same < 2; same++) {
                l = LOWER("sm_80", nested, n, 6, stages, stages, other, other, same, same);
                expect_agreement(&l, 0);
                finish(&l);
            }
        }
    }
}

Test(pipeline_sync, a_tensor_written_in_the_loop) {
    for (int64_t shift = 0; shift <= 9; shift += 3) {
        lowered l = LOWER("sm_80", in_place, n, 9, stages, 3, shift, shift);
        expect_agreement(&l, 0);
        finish(&l);
    }
}

Test(pipeline_sync, not_asynchronous) {
    for (int64_t how = 0; how < 5; how++) {
        lowered l = LOWER("sm_80", not_asynchronous, n, 9, stages, 3, how, how);
        expect_agreement(&l, 0);
        finish(&l);
    }
}

Test(pipeline_sync, none_to_spare) {
    for (int i = 0; i < PLAIN_N; i++) {
        for (int64_t stages = 1; stages <= 4; stages++) {
            expect_none_to_spare(&plain[i], TG_CONFIG(n, 9, stages, stages));
        }
    }
}

Test(pipeline_sync, one_barrier_an_iteration) {
    for (int64_t stages = 2; stages <= 4; stages++) {
        lowered l = LOWER("sm_80", two_copies, n, 9, stages, stages);
        text t = thread_text(&l);
        cr_assert_eq(tally_of(&l).of[THREAD_BARRIER], 1, "%s", t.s);
        cr_assert(strstr(t.s, "barrier") != NULL);
        text_free(&t);
        finish(&l);
    }
}
