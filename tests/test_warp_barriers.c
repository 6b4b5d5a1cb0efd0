/* test_warp_barriers.c -- where a barrier of the warp is enough and where it must be one of the block: counted against
 * who meets whom, worked out here; results of tile reference and simulator agree, without a race; a barrier of the block
 * made one of the warp by hand races, and so does one that is taken away.  Kernels are those of warp_kernels.c. */
#include "tile_run.h"

#define KERNELS(X) \
    X(exchange) X(mirrored_parts) X(two_axes) X(round_the_end) X(landing) X(in_branches) X(sums_of_warps)
#define PROTOTYPE(name) void name(void);
KERNELS(PROTOTYPE)

static const char *const machines[] = {"sm_80", "sim64"};

#define EACH_MACHINE(name) for (const char *const *name = machines; name < machines + 2; name++)

/* ---- kinds of barriers ----------------------------------------------------------------------------------- */

typedef struct kinds {
    int of_block, of_warp;
} kinds;

static void count_kind(thread_stmt *s, void *user) {
    kinds *n = user;
    if (s->kind == THREAD_BARRIER) {
        n->of_block += s->participants == SCOPE_BLOCK;
        n->of_warp += s->participants == SCOPE_WARP;
    }
}

static kinds kinds_of(const lowered *l) {
    kinds n = {0, 0};
    thread_walk(&l->made.thread->body, count_kind, &n);
    return n;
}

/* Makes the n-th barrier of the block one of the warp; n: below zero when it is done. */
static void weaken(thread_stmt *s, void *user) {
    int *n = user;
    if (s->kind == THREAD_BARRIER && s->participants == SCOPE_BLOCK && (*n)-- == 0) {
        s->participants = SCOPE_WARP;
    }
}

static bool races_when_weak(lowered *l, int n) {
    bool none;
    int rest = n;
    thread_walk(&l->made.thread->body, weaken, &rest);
    cr_assert_lt(rest, 0);
    return races_without(l, 1 << 20, &none);
}

/* No barrier, and no barrier of the block, to spare.  The user's own, the first `written` ones, may be. */
static void expect_none_to_spare(const char *name, tg_builder *build, const char *machine, tg_config config,
                                 kinds n, int written) {
    for (int i = written; i < n.of_block + n.of_warp; i++) {
        bool removed;
        lowered l = lower(name, build, machine, config);
        cr_assert(races_without(&l, i, &removed), "%s: barrier %d is not needed", name, i);
        finish(&l);
    }
    for (int i = written; i < n.of_block; i++) {
        lowered l = lower(name, build, machine, config);
        cr_assert(races_when_weak(&l, i), "%s: barrier %d of the block could be one of the warp", name, i);
        finish(&l);
    }
}

/* So many barriers; the results as in the tile reference, and no race. */
static void expect_counts(const char *name, tg_builder *build, const char *machine, tg_config config,
                          kinds want) {
    lowered l = lower(name, build, machine, config);
    expect_good(&l);
    const kinds n = kinds_of(&l);
    text t = thread_text(&l);
    cr_assert(n.of_block == want.of_block && n.of_warp == want.of_warp,
              "%s, %s: %d barriers of the block and %d of the warp, not %d and %d\n%s", name, machine,
              n.of_block, n.of_warp, want.of_block, want.of_warp, t.s);
    text_free(&t);
    ran r = run_both(l, 0);
    finish_run(&r);
}

static void expect_kinds(const char *name, tg_builder *build, const char *machine, tg_config config, kinds n,
                         int written) {
    expect_counts(name, build, machine, config, n);
    expect_none_to_spare(name, build, machine, config, n, written);
}

#define EXPECT_KINDS(kernel, machine, blocks, warps, ...) \
    expect_kinds(#kernel, kernel, machine, TG_CONFIG(__VA_ARGS__), (kinds){blocks, warps}, 0)

static int64_t wave_of(const char *machine) {
    return target_find(machine)->wave;
}

/* ---- who meets whom -------------------------------------------------------------------------------------- */

/* What must stand between the four statements of `exchange`, at the fewest: 0 nothing, 1 a barrier of the warp, 2 one of
 * the block. */
static int need_of(int64_t distance, int64_t wave) {
    return distance == 0 ? 0 : distance < wave ? 1 : 2;
}

static bool serve(const int at[3], int first, int last, int need) {
    int most = 0;
    for (int i = first; i < last; i++) {
        most = at[i] > most ? at[i] : most;
    }
    return most >= need;
}

static kinds fewest(int64_t x, int64_t y, int64_t wave) {
    kinds best = {4, 4};
    for (int i = 0; i < 27; i++) {
        const int at[3] = {i % 3, i / 3 % 3, i / 9};
        kinds n = {0, 0};
        for (int k = 0; k < 3; k++) {
            n.of_block += at[k] == 2;
            n.of_warp += at[k] == 1;
        }
        const bool good = serve(at, 0, 1, need_of(x, wave)) && serve(at, 0, 2, need_of(y, wave)) &&
                          serve(at, 1, 2, need_of(x ^ y, wave)) && serve(at, 2, 3, need_of(y, wave));
        const int all = n.of_block + n.of_warp, least = best.of_block + best.of_warp;
        best = good && (all < least || (all == least && n.of_block < best.of_block)) ? n : best;
    }
    return best;
}

/* Reads, writes and writes over, all at any distance. */
Test(warp_barriers, threads_that_change_places) {
    static const int64_t distances[] = {0, 1, 31, 32, 33, 63, 64, 127};
    EACH_MACHINE(machine) {
        for (int i = 0; i < 64; i++) {
            const int64_t x = distances[i / 8], y = distances[i % 8];
            const kinds n = fewest(x, y, wave_of(*machine));
            EXPECT_KINDS(exchange, *machine, n.of_block, n.of_warp, threads, 128, x, x, y, y);
        }
    }
}

/* One warp is the block. */
Test(warp_barriers, a_block_of_one_warp_has_barriers_of_the_warp) {
    EACH_MACHINE(machine) {
        EXPECT_KINDS(exchange, *machine, 0, 3, threads, wave_of(*machine), x, 1, y, 2);
        EXPECT_KINDS(landing, *machine, 0, 1, threads, wave_of(*machine), rounds, 4, stages, 2, x, 3);
    }
}

/* Where the last warp lacks lanes nobody counts on warps. */
Test(warp_barriers, a_block_that_ends_inside_a_warp_has_barriers_of_the_block) {
    static const int64_t sizes[] = {2, 16, 48, 80, 112};
    EACH_MACHINE(machine) {
        for (int i = 0; i < 5; i++) {
            expect_counts("exchange", exchange, *machine, TG_CONFIG(threads, sizes[i], x, 1, y, 0),
                          (kinds){2, 0});
            expect_counts("landing", landing, *machine,
                          TG_CONFIG(threads, sizes[i], rounds, 4, stages, 2, x, 1), (kinds){1, 0});
        }
    }
}

/* Does another thread, or one of another warp, write what thread j reads? */
static int need_of_parts(int64_t threads, int64_t pitch, int64_t reach, int64_t wave) {
    int need = 0;
    for (int64_t i = 0; i < threads * threads; i++) {
        const int64_t writer = i % threads, reader = i / threads;
        const int64_t written = writer / 32 * pitch + writer % 32;
        const int64_t read = reader / 32 * pitch + 31 - reader % 32 + reach;
        const int now = writer / wave != reader / wave ? 2 : writer != reader;
        need = written == read && now > need ? now : need;
    }
    return need;
}

/* Off by one element another warp's part begins. */
Test(warp_barriers, parts_that_end_where_the_next_one_begins) {
    static const int64_t pitches[] = {32, 33, 40, 64, 100}, reaches[] = {0, 1, 2, 8, 9, 32, 69};
    EACH_MACHINE(machine) {
        for (int i = 0; i < 5 * 7; i++) {
            const int64_t pitch = pitches[i / 7], reach = reaches[i % 7];
            const int need = need_of_parts(128, pitch, reach, wave_of(*machine));
            const tg_config config = TG_CONFIG(threads, 128, pitch, pitch, reach, reach);
            expect_kinds("mirrored_parts", mirrored_parts, *machine, config,
                         (kinds){1 + (need == 2), need == 1}, 1);
        }
    }
}

/* Warps are threads in a row, x first. */
Test(warp_barriers, threads_of_two_axes) {
    static const int64_t shapes[][2] = {{32, 4}, {16, 8}, {64, 2}, {8, 16}, {4, 32}, {24, 8}};
    static const int64_t distances[][2] = {{1, 0}, {4, 0}, {0, 1}, {2, 1}, {0, 2}, {1, 4}, {32, 0}};
    EACH_MACHINE(machine) {
        for (int i = 0; i < 6 * 7; i++) {
            const int64_t nx = shapes[i / 7][0], ny = shapes[i / 7][1], wave = wave_of(*machine);
            const int64_t dx = distances[i % 7][0], dy = distances[i % 7][1];
            int need = 0;
            for (int64_t t = 0; t < nx * ny; t++) {
                const int64_t other = (t / nx ^ dy) * nx + (t % nx ^ dx);
                const int now = t / wave != other / wave ? 2 : 1;
                need = now > need ? now : need;
            }
            if (dx < nx && dy < ny && (nx != 24 || dx < 8)) {
                EXPECT_KINDS(two_axes, *machine, need == 2, need == 1, nx, nx, ny, ny, dx, dx, dy, dy);
            }
        }
    }
}

/* ---- loops ----------------------------------------------------------------------------------------------- */

Test(warp_barriers, warps_that_meet_only_round_the_end_of_the_loop) {
    EACH_MACHINE(machine) {
        for (int64_t versions = 1; versions <= 3; versions++) {
            const int64_t steps[] = {0, 2, 32, 64, 128};
            for (int i = 0; i < 5; i++) {
                const bool crosses = versions * steps[i] % 128 != 0;
                const int all = versions == 1 ? 2 : 1;
                EXPECT_KINDS(round_the_end, *machine, crosses, all - crosses, threads, 128, rounds, 7,
                             versions, versions, step, steps[i]);
            }
        }
    }
}

Test(warp_barriers, copies_that_land_while_others_are_on_their_way) {
    static const int64_t distances[] = {0, 1, 31, 32, 64, 127};
    EACH_MACHINE(machine) {
        for (int64_t stages = 0; stages <= 4; stages++) {
            for (int i = 0; i < 6; i++) {
                const int need = need_of(distances[i], wave_of(*machine));
                const int all = stages < 2 ? 2 : 1;
                EXPECT_KINDS(landing, *machine, need == 2 ? all : 0, need == 1 ? all : 0, threads, 128,
                             rounds, 9, stages, stages, x, distances[i]);
            }
        }
    }
}

/* ---- branches, sums ----------------------------------------------------------------------------------------- */

Test(warp_barriers, branches) {
    EXPECT_KINDS(in_branches, "sm_80", 0, 3, threads, 128, x, 1);
    EXPECT_KINDS(in_branches, "sm_80", 2, 1, threads, 128, x, 32);
    EXPECT_KINDS(in_branches, "sim64", 0, 3, threads, 128, x, 32);
    EXPECT_KINDS(in_branches, "sim64", 2, 1, threads, 128, x, 64);
}

Test(warp_barriers, partial_sums_of_several_warps) {
    EXPECT_KINDS(sums_of_warps, "sm_80", 1, 0, threads, 64);
    EXPECT_KINDS(sums_of_warps, "sm_80", 1, 0, threads, 256);
    EXPECT_KINDS(sums_of_warps, "sm_80", 0, 0, threads, 32);
}
