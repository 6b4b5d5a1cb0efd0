/* test_bounds.c -- a guard that launch or loop already give is not written, any other one is: by what is emitted, and
 * by every element that reference and simulator leave, for no row and for many.  Kernels are those of
 * bounds_kernels.c. */
#include "lower_run.h"

/* clang-format off */
#define FREE(X)                                                                                             \
    X(bounds_a_block_each) X(bounds_third_axis) X(bounds_a_name_for_the_rows) X(bounds_columns_of_blocks)   \
    X(bounds_whole_tiles_only) X(bounds_a_loop_of_rows) X(bounds_a_loop_of_what_is_left)
#define GUARDED(X)                                                                                          \
    X(bounds_one_block_more) X(bounds_one_row_further) X(bounds_one_row_before) X(bounds_of_another)        \
    X(bounds_more_columns_of_blocks) X(bounds_two_more_than_half) X(bounds_a_loop_of_one_more)              \
    X(bounds_the_most_of_two)
/* clang-format on */
#define PROTOTYPE(name) void name(void);
FREE(PROTOTYPE)
GUARDED(PROTOTYPE)
PROTOTYPE(bounds_tiles)

enum { COLUMNS = 32, GUARDS = 3 /* of a row: in, out, the kernel's own */ };

static int count(const char *s, const char *word) {
    int n = 0;
    for (; (s = strstr(s, word)) != NULL; s += strlen(word)) {
        n++;
    }
    return n;
}

/* Conditions on a row: below their number, or not before the first. */
static int guards_of(const lowered *l) {
    text t = thread_text(l);
    const int n = count(t.s, " < rows") + count(t.s, " >= 0") + count(t.s, " > 0") + count(t.s, " >= 1");
    text_free(&t);
    return n;
}

static bool is_reached(const lowered *l, int64_t row, int64_t rows) {
    return strcmp(l->name, "bounds_whole_tiles_only") == 0  ? row < rows / 4 * 4
           : strcmp(l->name, "bounds_one_row_further") == 0 ? row > 0
           : strcmp(l->name, "bounds_one_row_before") == 0  ? row < rows - 1
           : strcmp(l->name, "bounds_of_another") == 0      ? row < 5
                                                            : true;
}

static void expect_rows(lowered l, int64_t rows) {
    witness_arg got[2][LOWERED_ARGS];
    fill_args(&l, rows);
    for (int w = 0; w < 2; w++) {
        copy_args(&l, got[w]);
        (w == 0 ? run_reference(&l, got[w], 0) : run_simulator(&l, got[w]));
        for (int64_t i = 0; i < 2 * rows * COLUMNS; i++) {
            const int arg = i % 2 ? 3 : 4;
            const int64_t row = i / 2 / COLUMNS;
            const int32_t *from = l.args[is_reached(&l, row, rows) ? 2 : arg].data, *to = got[w][arg].data;
            cr_assert_eq(to[i / 2], from[i / 2], "%s, %d rows, witness %d: row %d of argument %d", l.name,
                         (int)rows, w, (int)row, arg);
        }
        free_args(&l, got[w]);
    }
    finish(&l);
}

static void expect(const char *name, tg_builder *build, tg_config config, int guards) {
    static const int64_t rows[] = {0, 1, 3, 4, 7, 13};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lowered l = lower(name, build, i % 2 ? "sm_80" : "sim64", config);
        expect_good(&l);
        text t = thread_text(&l);
        cr_assert_eq(guards_of(&l), guards, "%s has %d guards, not %d\n%s", name, guards_of(&l), guards, t.s);
        text_free(&t);
        expect_rows(l, rows[i]);
    }
}

#define EXPECT_FREE(name) expect(#name, name, TG_CONFIG(n, COLUMNS), 0);
#define EXPECT_GUARDED(name) expect(#name, name, TG_CONFIG(n, COLUMNS), GUARDS);

Test(bounds, what_the_launch_says_needs_no_guard){FREE(EXPECT_FREE)}

Test(bounds, what_it_does_not_say_keeps_its_guard){GUARDED(EXPECT_GUARDED)}

Test(bounds, of_tiles_that_may_be_ragged_every_row_is_guarded) {
    for (int64_t tile_m = 1; tile_m < 6; tile_m++) {
        expect("bounds_tiles", bounds_tiles, TG_CONFIG(n, COLUMNS, tile_m, tile_m), tile_m == 1 ? 0 : GUARDS);
    }
}
