/* test_early.c -- copies that start before what the block waits for: where they stand, and that the meaning stays.
 * Kernels are those of early_kernels.c. */
#include "lower_run.h"

/* clang-format off */
#define KERNELS(X)                                                                                         \
    X(nothing_between) X(through_shared) X(source_is_written) X(source_has_an_alias) X(place_is_read)      \
    X(behind_a_check)
/* clang-format on */
#define PROTOTYPE(name) void name(void);
KERNELS(PROTOTYPE)
PROTOTYPE(no_room)

static const char *const machines[] = {"sm_80", "sim64"};

static lowered lower_with(const char *name, tg_builder *build, const char *machine, int stages, int64_t big) {
    tg_config config = {.n = 0};
    cr_assert_eq(tg_config_set(&config, "stages", stages), TG_OK);
    if (big > 0) {
        cr_assert_eq(tg_config_set(&config, "big", big), TG_OK);
    }
    return lower(name, build, machine, config);
}

/* ---- where they stand ---------------------------------------------------------------------------------- */

static void note_read(node *ref, bool is_write, void *user) {
    const buffer *b = buffer_root(ref->buffer);
    *(bool *)user |= !is_write && b->space == TG_GLOBAL && strcmp(b->name, "x") == 0;
}

typedef struct order {
    int commits; /* before x is read; of several groups one, in a loop */
    bool copies, reads_x;
} order;

static void look_at(thread_stmt *s, void *user) {
    order *o = user;
    thread_accesses(s, note_read, &o->reads_x);
    o->copies |= !o->reads_x && s->kind == THREAD_COPY_ASYNC;
    o->commits += !o->reads_x && s->kind == THREAD_COMMIT;
}

static order order_of(const lowered *l) {
    thread_block body = l->made.thread->body;
    order o = {0, false, false};
    expect_good(l);
    thread_walk(&body, look_at, &o);
    cr_assert(o.reads_x, "%s", l->name);
    return o;
}

static void expect_early(const char *name, tg_builder *build, bool early) {
    for (int stages = 2; stages <= 4; stages++) {
        lowered l = lower_with(name, build, "sm_80", stages, 0);
        const order o = order_of(&l);
        cr_expect_eq(o.copies, early, "%s, %d stages", name, stages);
        cr_expect_eq(o.commits, early ? 1 : 0, "%s, %d stages: groups keep their copies", name, stages);
        finish(&l);
    }
}

Test(early, copies_start_before_what_the_block_waits_for) {
    expect_early("nothing_between", nothing_between, true);
    expect_early("through_shared", through_shared, true);
}

Test(early, what_a_copy_needs_stays_before_it) {
    expect_early("source_is_written", source_is_written, false);
    expect_early("source_has_an_alias", source_has_an_alias, false);
    expect_early("behind_a_check", behind_a_check, false);
}

/* The place is read from x: that is the first read, and nothing was gained by moving what waits for it. */
Test(early, a_place_from_memory_is_waited_for) {
    expect_early("place_is_read", place_is_read, false);
}

/* ---- room ---------------------------------------------------------------------------------------------- */

Test(early, buffers_that_only_fit_one_after_the_other_stay_so) {
    const int64_t row = 1024, all = target_find("sm_80")->max_shared / 4 / row;
    for (int64_t big = 1; 3 * big <= all + 6; big++) { /* rows of 4 KB; x_shared once, y_shared twice */
        lowered l = lower_with("no_room", no_room, "sm_80", 2, big * row);
        cr_expect_eq(order_of(&l).copies, 3 * big <= all, "%d of %d rows", (int)(3 * big), (int)all);
        finish(&l);
    }
}

/* ---- the meaning --------------------------------------------------------------------------------------- */

#define ROW(name) {#name, name},
static const struct {
    const char *name;
    tg_builder *build;
} kernels[] = {KERNELS(ROW)};

Test(early, reference_and_simulator_agree) {
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++) {
            for (int stages = 1; stages <= 6; stages++) {
                lowered l = lower_with(kernels[i].name, kernels[i].build, machines[m], stages, 0);
                expect_agreement(&l, 0);
                finish(&l);
            }
        }
    }
}

Test(early, also_where_there_is_no_room) {
    const int64_t row = 1024, all = target_find("sm_80")->max_shared / 4 / row;
    lowered l = lower_with("no_room", no_room, "sm_80", 2, (all / 3 + 1) * row);
    expect_agreement(&l, 0);
    finish(&l);
}
