/* test_once.c -- tensors that are read once, and atomics of lanes that meet: what is found, what comes of it, and
 * that the meaning stays.  Kernels are those of once_kernels.c. */
#include "lower_run.h"

/* clang-format off */
#define KERNELS(X)                                                                                         \
    X(once_in_tiles) X(once_pipelined) X(once_beside_one_thread) X(once_in_runs) X(again_in_windows) X(once_in_windows) X(again_in_a_loop)           \
    X(again_at_two_places) X(again_through_a_table) X(again_by_replicas) X(meet_in_rows) X(meet_not)       \
    X(meet_in_a_loop)
/* clang-format on */
#define PROTOTYPE(name) void name(void);
KERNELS(PROTOTYPE)

static const char *const machines[] = {"sm_80", "sim64"};

/* ---- read once ----------------------------------------------------------------------------------------- */

static const buffer *tensor_of(const lowered *l, const char *name) {
    const tg_kernel *k = l->made.kernel;
    for (int i = 0; i < k->nargs; i++) {
        if (k->args[i].tensor && strcmp(k->args[i].tensor->name, name) == 0) {
            return k->args[i].tensor;
        }
    }
    cr_assert_fail("%s has no tensor '%s'", l->name, name);
    return NULL;
}

/* `why` NULL: once. */
static void expect_reading(const lowered *l, const char *name, const char *why) {
    const buffer *b = tensor_of(l, name);
    cr_assert_eq(b->read_once, why == NULL, "%s: %s %s", l->name, name,
                 b->reread ? b->reread : "is read once");
    cr_assert(!why || strcmp(b->reread, why) == 0, "%s: %s %s", l->name, name, b->reread);
}

Test(once, each_variable_is_given_back_by_an_index) {
    static const struct {
        const char *name;
        tg_builder *build;
        const char *tensor, *why;
    } row[] = {
        {"once_in_tiles", once_in_tiles, "x", NULL},
        {"once_pipelined", once_pipelined, "matrix", NULL},
        {"once_pipelined", once_pipelined, "vector", "may be read again along pid"},
        {"again_in_windows", again_in_windows, "x", "may be read again along pid"},
        {"once_in_windows", once_in_windows, "x", NULL},
        {"again_in_a_loop", again_in_a_loop, "x", "may be read again along i"},
        {"again_at_two_places", again_at_two_places, "x", "is read at 2 places"},
        {"again_through_a_table", again_through_a_table, "x", "may be read again along pid"},
        {"again_through_a_table", again_through_a_table, "table", NULL},
        {"again_by_replicas", again_by_replicas, "m", NULL},
        {"again_by_replicas", again_by_replicas, "x", "is read by several threads of a block"},
        {"again_by_replicas", again_by_replicas, "y", "is not read"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        lowered l = lower(row[i].name, row[i].build, "sm_80", (tg_config){.n = 0});
        expect_agreement(&l, 0);
        expect_reading(&l, row[i].tensor, row[i].why);
        finish(&l);
    }
}

/* How often the word stands in s. */
static int count(const char *s, const char *word) {
    int n = 0;
    for (; (s = strstr(s, word)) != NULL; s += strlen(word)) {
        n++;
    }
    return n;
}

Test(once, only_wide_loads_of_what_is_read_once_go_past_the_cache) {
    lowered l = lower("once_pipelined", once_pipelined, "sm_80", (tg_config){.n = 0});
    expect_good(&l);
    const char *cuda = l.made.cuda.text.s;
    cr_assert_gt(count(cuda, "load_once((const uint4 *)&matrix["), 0, "%s", cuda);
    cr_assert_eq(count(cuda, "= *(const uint4 *)&matrix["), 0, "%s", cuda);
    cr_assert_eq(count(cuda, "load_once((const uint4 *)&vector["), 0, "%s", cuda);
    finish(&l);
    l = lower("once_in_windows", once_in_windows, "sm_80", (tg_config){.n = 0});
    expect_good(&l);
    const char *narrow = l.made.cuda.text.s;
    cr_assert_eq(count(narrow, "load_once") + count(narrow, "read once"), 0, "%s", narrow);
    finish(&l);
}

/* What a load leaves of its sectors, the next one finds in the cache. */
Test(once, loads_that_share_sectors_leave_them_in_the_cache) {
    static const struct {
        int64_t run, rows;
        bool past_cache;
    } cases[] = {{8, 1, true},  {16, 1, false}, {64, 1, false}, {8, 4, true}, {16, 4, false},
                 {8, 16, true}, {8, 32, false}, {4, 1, true},   {4, 8, true}, {4, 16, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lowered l = LOWER("sm_80", once_in_runs, run, cases[i].run, rows, cases[i].rows);
        expect_agreement(&l, 0);
        expect_reading(&l, "x", NULL);
        cr_assert_eq(count(l.made.cuda.text.s, "= load_once(") > 0, cases[i].past_cache,
                     "run %d, %d rows: %s", (int)cases[i].run, (int)cases[i].rows, l.made.cuda.text.s);
        finish(&l);
    }
}

/* In a loop of many steps loads that keep their order cost more than the cache brings. */
Test(once, loads_of_a_long_loop_may_still_be_moved) {
    for (int64_t n = 16; n <= 17; n++) {
        lowered l = LOWER("sm_80", once_beside_one_thread, steps, n);
        expect_agreement(&l, 0);
        expect_reading(&l, "x", NULL);
        cr_assert_eq(count(l.made.cuda.text.s, "= load_once("), n == 16, "%s", l.made.cuda.text.s);
        finish(&l);
    }
}

/* ---- atomics that meet --------------------------------------------------------------------------------- */

/* Agrees on both machines; on 32 lanes `joined` atomics are done once for several lanes. */
static void expect_joined(const char *name, tg_builder *build, tg_config config, int joined) {
    for (int m = 0; m < 2; m++) {
        lowered l = lower(name, build, machines[m], config);
        expect_agreement(&l, 0);
        text t = thread_text(&l);
        cr_assert(m == 1 || count(t.s, "reduce_lanes(") == joined, "%s: not %d\n%s", name, joined, t.s);
        cr_assert_eq(count(t.s, "reduce_lanes("), count(t.s, "once for the lanes"), "%s", t.s);
        text_free(&t);
        finish(&l);
    }
}

Test(atomics, lanes_join_along_the_axis_where_most_of_them_meet) {
    static const struct {
        int64_t nx, ny, dtype;
        int joined;
    } row[] = {
        {32, 4, TG_F32, 2}, {2, 32, TG_F32, 3}, {3, 5, TG_F32, 0},   {1, 64, TG_F32, 2},
        {64, 1, TG_F64, 2}, {96, 2, TG_F32, 2}, {6, 32, TG_F32, 2},  {8, 12, TG_F32, 3},
        {32, 4, TG_I32, 0}, {2, 32, TG_U64, 0}, {20, 10, TG_F32, 2}, {1, 1, TG_F32, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        expect_joined("meet_in_rows", meet_in_rows,
                      TG_CONFIG(nx, row[i].nx, ny, row[i].ny, dtype, row[i].dtype), row[i].joined);
    }
}

Test(atomics, only_where_all_threads_come_to_a_place_that_is_shown_to_be_one) {
    expect_joined("meet_not", meet_not, (tg_config){.n = 0}, 0);
    expect_joined("meet_in_a_loop", meet_in_a_loop, (tg_config){.n = 0}, 2);
}
