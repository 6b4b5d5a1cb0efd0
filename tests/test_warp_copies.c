/* test_warp_copies.c -- copies whose bytes each warp reads itself: spread by warp where that comes out even, for all
 * copies of a kernel or none.  Whatever is decided, tile reference and simulator agree without a race; where it is, no
 * barrier of the block is left in the loop.  Kernels are those of warp_kernels.c. */
#include "tile_run.h"

#define KERNELS(X) X(groups_of_rows) X(words_of_rows) X(two_tiles) X(rows_of_two_axes)
#define PROTOTYPE(name) void name(void);
KERNELS(PROTOTYPE)

static const char *const machines[] = {"sm_80", "sim64"};

typedef struct kinds {
    int of_block, of_warp;
} kinds;

static void count_kind(thread_stmt *s, void *user) {
    kinds *n = user;
    n->of_block += s->kind == THREAD_BARRIER && s->participants == SCOPE_BLOCK;
    n->of_warp += s->kind == THREAD_BARRIER && s->participants == SCOPE_WARP;
}

static kinds kinds_of(const lowered *l) {
    kinds n = {0, 0};
    thread_walk(&l->made.thread->body, count_kind, &n);
    return n;
}

typedef enum { BY_WARP, BY_BLOCK, EITHER } spread;

static void agree(const char *name, tg_builder *build, const char *machine, tg_config config, spread want) {
    lowered l = lower(name, build, machine, config);
    expect_good(&l);
    const kinds n = kinds_of(&l);
    text t = thread_text(&l);
    cr_assert(want == EITHER || (want == BY_WARP ? n.of_block == 0 && n.of_warp > 0 : n.of_block > 0),
              "%s, %s: %d barriers of the block and %d of the warp\n%s", name, machine, n.of_block, n.of_warp,
              t.s);
    text_free(&t);
    ran r = run_both(l, 0);
    finish_run(&r);
}

#define AGREE(want, name, machine, ...) agree(#name, name, machine, TG_CONFIG(__VA_ARGS__), want)

/* 128 threads that read a group of the row each, of 32 bytes. */
#if defined TEGULA_SANITIZED /* many times as slow */
enum { STAGES_STEP = 3 };
#else
enum { STAGES_STEP = 1 };
#endif

Test(warp_copies, of_every_element_type) {
    static const int64_t types[] = {TG_I8, TG_U8, TG_F16, TG_BF16, TG_I32, TG_F32, TG_I64, TG_F64};
    for (int i = 0; i < 8; i++) {
        for (int64_t stages = 1; stages <= 4; stages += STAGES_STEP) {
            AGREE(BY_WARP, groups_of_rows, machines[stages % 2], dtype, types[i], M, 8, bm, 2, groups, 128,
                  size, 32 / type_bytes(types[i]), threads, 128, stages, stages, width, 0, reach, 0);
        }
    }
}

/* The last tile has rows outside. */
Test(warp_copies, of_tiles_that_do_not_come_out_even) {
    for (int64_t M = 1; M <= 13; M += 3) {
        for (int64_t stages = 1; stages <= 4; stages += STAGES_STEP) {
            for (int64_t bm = 2; bm <= 4; bm++) {
                AGREE(BY_WARP, groups_of_rows, machines[M / 3 % 2], dtype, TG_F16, M, M, bm, bm, groups, 64,
                      size, 32, threads, 64, stages, stages, width, 0, reach, 0);
            }
        }
    }
}

/* Fewer groups than threads, or more. */
Test(warp_copies, of_groups_that_are_not_one_for_each_thread) {
    static const int64_t groups[] = {1, 31, 32, 33, 63, 64, 65, 96, 127, 128, 192, 256, 300};
    for (int i = 0; i < 13; i++) {
        for (int64_t size = 1; size <= 24; size += size < 4 ? 1 : 4) {
            AGREE(EITHER, groups_of_rows, machines[size % 2], dtype, TG_F16, M, 7, bm, 3, groups, groups[i],
                  size, size, threads, 128, stages, size % 4 + 1, width, 0, reach, 0);
        }
    }
}

/* What another warp brings. */
Test(warp_copies, whose_bytes_another_thread_reads_too) {
    static const int64_t reaches[] = {0, 1, 31, 32, 33, 64, 127};
    for (int i = 0; i < 7; i++) {
        AGREE(reaches[i] ? BY_BLOCK : BY_WARP, groups_of_rows, "sm_80", dtype, TG_F16, M, 8, bm, 2, groups,
              128, size, 16, threads, 128, stages, 2, width, 0, reach, reaches[i]);
    }
}

/* A width that was asked for is kept, and the spread that comes with it. */
Test(warp_copies, of_a_width_that_was_given) {
    for (int64_t width = 1; width <= 8; width *= 2) {
        AGREE(BY_BLOCK, groups_of_rows, "sm_80", dtype, TG_F16, M, 8, bm, 2, groups, 128, size, 16, threads,
              128, stages, 2, width, width, reach, 0);
    }
}

/* Rows that begin inside a vector; nine words for each thread, and other numbers. */
Test(warp_copies, read_through_a_view_of_words) {
    static const int64_t pairs[] = {32, 64, 96, 128, 224, 100, 250};
    for (int i = 0; i < 7; i++) {
        for (int64_t words = 1; words <= 9; words += 4) {
            for (int64_t stages = 1; stages <= 4; stages += STAGES_STEP) {
                const int64_t threads = (pairs[i] + 31) / 32 * 32;
                AGREE(EITHER, words_of_rows, machines[stages % 2], M, 6, bm, 4, pairs, pairs[i], words, words,
                      threads, threads, stages, stages);
            }
        }
    }
    AGREE(BY_WARP, words_of_rows, "sm_80", M, 8, bm, 4, pairs, 224, words, 9, threads, 224, stages, 2);
    AGREE(BY_WARP, words_of_rows, "sm_80", M, 6, bm, 4, pairs, 128, words, 9, threads, 128, stages, 3);
    AGREE(BY_BLOCK, words_of_rows, "sm_80", M, 6, bm, 4, pairs, 100, words, 9, threads, 128, stages, 3);
}

/* One that is not for its own warp, and both wait for the block; so does what is filled before. */
static bool is_spread_by_warp(tg_config config) {
    lowered l = lower("two_tiles", two_tiles, "sm_80", config);
    text t = thread_text(&l);
    const bool by_warp = strstr(t.s, "tid_x / 32") != NULL;
    text_free(&t);
    finish(&l);
    return by_warp;
}

Test(warp_copies, all_of_a_kernel_or_none) {
    for (int64_t stages = 1; stages <= 4; stages += STAGES_STEP) {
        for (int i = 0; i < 4; i++) {
            AGREE(i == 0 ? BY_WARP : BY_BLOCK, two_tiles, "sm_80", threads, 128, size, 16, rounds, 5, stages,
                  stages, across, i % 2, fills, i / 2);
            const tg_config config =
                TG_CONFIG(threads, 128, size, 16, rounds, 5, stages, stages, across, i % 2, fills, i / 2);
            cr_assert_eq(is_spread_by_warp(config), i == 0);
            AGREE(EITHER, two_tiles, "sim64", threads, 128, size, 16, rounds, 5, stages, stages, across,
                  i % 2, fills, i / 2);
        }
    }
}

Test(warp_copies, in_blocks_of_two_axes) {
    static const int64_t shapes[][2] = {{32, 4}, {16, 8}, {64, 2}, {8, 16}, {24, 8}, {128, 1}};
    for (int i = 0; i < 6; i++) {
        for (int64_t size = 1; size <= 16; size *= 2) {
            AGREE(EITHER, rows_of_two_axes, machines[i % 2], nx, shapes[i][0], ny, shapes[i][1], size, size,
                  rounds, 4, stages, size % 4 + 1);
        }
    }
    AGREE(BY_WARP, rows_of_two_axes, "sm_80", nx, 32, ny, 4, size, 8, rounds, 4, stages, 2);
}

/* Blocks that end inside a warp, and of one warp. */
Test(warp_copies, in_blocks_of_any_size) {
    for (int64_t threads = 16; threads <= 160; threads += 16) {
        for (int i = 0; i < 2; i++) {
            const spread want = threads % target_find(machines[i])->wave == 0 ? BY_WARP : BY_BLOCK;
            AGREE(want, groups_of_rows, machines[i], dtype, TG_F16, M, 8, bm, 2, groups, threads, size, 32,
                  threads, threads, stages, 2, width, 0, reach, 0);
        }
    }
}
