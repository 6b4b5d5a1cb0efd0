/* test_pipeline.c -- copies that run ahead change nothing: the tile reference on the rewritten tile IR gives
 * what it gives on the recorded one.  Kernels are those of pipeline_kernels.c. */
#include "lower_run.h"

#include "codegen/passes.h"

/* clang-format off */
#define KERNELS(X)                                                                                          \
    X(two_copies)                                                                                           \
    X(trips_at_launch)                                                                                      \
    X(into_registers)                                                                                       \
    X(registers_at_launch)                                                                                  \
    X(both_kinds)                                                                                           \
    X(read_first)                                                                                           \
    X(read_after)                                                                                           \
    X(read_after_at_launch)                                                                                 \
    X(through_table)                                                                                        \
    X(through_copy)                                                                                         \
    X(conditional)                                                                                          \
    X(when_k)                                                                                               \
    X(written_twice)                                                                                        \
    X(written_in_part)                                                                                      \
    X(siblings) X(sibling_reads_first) X(nested) X(in_serial) X(in_place) X(in_place_alias) X(with_atomics) \
        X(with_view) X(two_dimensions) X(not_asynchronous) X(ragged) X(thread_view)                         \
        X(registers_in_registers)
/* clang-format on */
#define PROTOTYPE(name) void name(void);
KERNELS(PROTOTYPE)

typedef struct ahead {
    lowered l;    /* the kernel as rewritten */
    text tiles;   /* as text */
    text reasons; /* every reason, a line each */
} ahead;

static void gather_reasons(const tile_block *b, text *out) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        if (s->why) {
            text_print(out, "%s\n", s->why);
        }
        gather_reasons(&s->body, out);
        gather_reasons(&s->otherwise, out);
    }
}

static ahead rewrite(const char *name, tg_builder *build, tg_config config) {
    ahead a = {.l = {.name = name}};
    a.l.made.kernel = tg_begin(name, &config);
    build();
    if (!tg_end(a.l.made.kernel)) {
        diag_print(&a.l.made.kernel->errors, &a.l.messages);
        cr_assert_fail("%s", messages(&a.l));
    }
    tile_pipeline(a.l.made.kernel, target_find("sm_80"));
    const char *bug = diag_take_bug();
    cr_assert_null(bug, "%s", bug);
    tile_print(a.l.made.kernel, &a.tiles, false);
    gather_reasons(&a.l.made.kernel->body, &a.reasons);
    return a;
}
#define REWRITE(name, ...) rewrite(#name, name, TG_CONFIG(__VA_ARGS__))

static void end(ahead *a) {
    text_free(&a->tiles);
    text_free(&a->reasons);
    finish(&a->l);
}

static const char *shown(const ahead *a) {
    return a->tiles.s ? a->tiles.s : "";
}

static int count(const char *s, const char *part) {
    int n = 0;
    while ((s = strstr(s, part)) != NULL) {
        n++;
        s++;
    }
    return n;
}

/* Recorded and rewritten do the same. */
static void expect_same(ahead *a, int64_t rows) {
    witness_arg want[LOWERED_ARGS], got[LOWERED_ARGS];
    tg_kernel *k = a->l.made.kernel;
    fill_args(&a->l, rows);
    copy_args(&a->l, want);
    copy_args(&a->l, got);
    run_reference(&a->l, want, 0);
    const tile_block recorded = k->recorded;
    k->recorded = (tile_block){NULL, NULL};
    for (uint64_t seed = 0; seed < 2; seed++) {
        run_reference(&a->l, got, seed);
        for (int i = 0; i < a->l.nargs; i++) {
            cr_assert(!want[i].data || memcmp(want[i].data, got[i].data, want[i].bytes) == 0,
                      "%s: argument %d differs\n%s", a->l.name, i, shown(a));
        }
        if (seed == 0) {
            free_args(&a->l, got);
            copy_args(&a->l, got);
        }
    }
    k->recorded = recorded;
    free_args(&a->l, want);
    free_args(&a->l, got);
    for (int i = 0; i < a->l.nargs; i++) {
        free(a->l.args[i].data);
        a->l.args[i].data = NULL;
    }
}

static void expect_reason(const ahead *a, const char *part) {
    cr_assert(a->reasons.s && strstr(a->reasons.s, part), "%s: '%s' lacks '%s'\n%s", a->l.name,
              a->reasons.s ? a->reasons.s : "", part, shown(a));
}

/* Trip counts and numbers of stages: every pair. */
#define FOR_ALL(n, s)                \
    for (int64_t n = 0; n <= 9; n++) \
        for (int64_t s = 0; s <= 5; s++)
#define RUNS_AHEAD(n, s) ((n) >= 2 && (s) >= 2)

static void expect_ahead(const ahead *a, int copies) {
    cr_assert_eq(a->l.made.kernel->recorded.first != NULL, copies > 0, "%s\n%s", a->l.name, shown(a));
    cr_assert_eq(count(shown(a), "copy async"), copies, "%s: %d\n%s", a->l.name,
                 count(shown(a), "copy async"), shown(a));
}

static void expect_ahead_text(const ahead *a, bool wanted, const char *part) {
    cr_assert_eq(strstr(shown(a), part) != NULL, wanted, "%s: '%s'\n%s", a->l.name, part, shown(a));
}

/* All of its copies into shared memory run ahead, once in the prologue and once in the loop. */
#define TEST_AHEAD(name, copies)                                            \
    Test(pipeline, name) {                                                  \
        FOR_ALL(trips, stages) {                                            \
            ahead a = REWRITE(name, n, trips, stages, stages);              \
            expect_ahead(&a, RUNS_AHEAD(trips, stages) ? 2 * (copies) : 0); \
            expect_same(&a, 0);                                             \
            end(&a);                                                        \
        }                                                                   \
    }

#define TEST_SERIAL(name, reason)                              \
    Test(pipeline, name) {                                     \
        FOR_ALL(trips, stages) {                               \
            ahead a = REWRITE(name, n, trips, stages, stages); \
            expect_ahead(&a, 0);                               \
            if (RUNS_AHEAD(trips, stages)) {                   \
                expect_reason(&a, reason);                     \
            }                                                  \
            expect_same(&a, 0);                                \
            end(&a);                                           \
        }                                                      \
    }

TEST_AHEAD(two_copies, 2)
TEST_AHEAD(through_table, 1)
TEST_AHEAD(when_k, 1)
TEST_AHEAD(with_atomics, 1)
TEST_AHEAD(with_view, 1)
TEST_AHEAD(two_dimensions, 1)
TEST_AHEAD(thread_view, 1)
TEST_SERIAL(read_first, "serial: 's' is read before it is written in the iteration")
TEST_SERIAL(written_twice, "serial: 's' is written twice in the iteration")
TEST_SERIAL(written_in_part, "serial: 's' is not rewritten wholly")
TEST_SERIAL(in_place_alias, "serial: 'a' may be written in the loop before it is copied")

Test(pipeline, trips_known_at_launch) {
    for (int64_t rows = 0; rows <= 9; rows++) {
        for (int64_t stages = 0; stages <= 5; stages++) {
            ahead a = REWRITE(trips_at_launch, stages, stages);
            expect_ahead(&a, stages >= 2 ? 2 : 0);
            expect_same(&a, rows);
            end(&a);
            a = REWRITE(registers_at_launch, stages, stages);
            cr_assert_eq(a.l.made.kernel->recorded.first != NULL, stages >= 2);
            expect_same(&a, rows);
            end(&a);
            a = REWRITE(read_after_at_launch, stages, stages);
            expect_ahead(&a, stages >= 2 ? 2 : 0);
            if (stages >= 2) {
                expect_reason(
                    &a, "not ahead: 'f' is used outside of the loop, whose trip count is known at launch");
            }
            expect_same(&a, rows);
            end(&a);
        }
    }
}

Test(pipeline, into_registers) {
    FOR_ALL(trips, stages) {
        ahead a = REWRITE(into_registers, n, trips, stages, stages);
        cr_assert_eq(a.l.made.kernel->recorded.first != NULL, RUNS_AHEAD(trips, stages));
        expect_ahead_text(&a, RUNS_AHEAD(trips, stages), "fragment f_1: i32[8]");
        expect_same(&a, 0);
        end(&a);
    }
}

Test(pipeline, registers_in_a_loop_of_registers) {
    FOR_ALL(trips, stages) {
        ahead a = REWRITE(registers_in_registers, n, trips, stages, stages);
        expect_ahead_text(&a, RUNS_AHEAD(trips, stages), "fragment f_1: i32[8]");
        expect_ahead_text(&a, stages >= 2, "fragment g_1: i32[8]");
        expect_same(&a, 0);
        end(&a);
    }
}

Test(pipeline, into_registers_and_shared_memory) {
    FOR_ALL(trips, stages) {
        ahead a = REWRITE(both_kinds, n, trips, stages, stages);
        expect_ahead_text(&a, RUNS_AHEAD(trips, stages), "copy async");
        expect_ahead_text(&a, RUNS_AHEAD(trips, stages), "fragment f_1: i32[8]");
        expect_same(&a, 0);
        end(&a);
    }
}

Test(pipeline, what_is_read_after_the_loop_is_the_last) {
    FOR_ALL(trips, stages) {
        ahead a = REWRITE(read_after, n, trips, stages, stages);
        expect_ahead_text(&a, RUNS_AHEAD(trips, stages), "copy async");
        expect_ahead_text(&a, RUNS_AHEAD(trips, stages), "copy s[0 : +1, 0 : +8] -> last");
        expect_same(&a, 0);
        end(&a);
    }
}

Test(pipeline, a_copy_addressed_by_another_stays) {
    FOR_ALL(trips, stages) {
        ahead a = REWRITE(through_copy, n, trips, stages, stages);
        expect_ahead(&a, RUNS_AHEAD(trips, stages) ? 2 : 0);
        if (RUNS_AHEAD(trips, stages)) {
            expect_reason(&a, "not ahead: it depends on 'rows', which the loop writes");
        }
        expect_same(&a, 0);
        end(&a);
    }
}

Test(pipeline, a_copy_under_a_condition) {
    static const int copies[] = {2, 0, 2, 4};
    for (int64_t how = 0; how < 4; how++) {
        FOR_ALL(trips, stages) {
            ahead a = REWRITE(conditional, n, trips, stages, stages, how, how);
            /* t of the last is cleared outside of the loop */
            expect_ahead(&a, RUNS_AHEAD(trips, stages) ? (how == 3 ? 2 : copies[how]) : 0);
            expect_same(&a, 0);
            end(&a);
        }
    }
}

Test(pipeline, siblings) {
    FOR_ALL(trips, stages) {
        for (int64_t other = 0; other <= 4; other++) {
            ahead a = REWRITE(siblings, n, trips, stages, stages, other, other);
            expect_ahead(&a, (RUNS_AHEAD(trips, stages) ? 2 : 0) + (RUNS_AHEAD(trips, other) ? 4 : 0));
            expect_same(&a, 0);
            end(&a);
            a = REWRITE(sibling_reads_first, n, trips, stages, stages, other, other);
            expect_ahead(&a, RUNS_AHEAD(trips, stages) ? 2 : 0);
            expect_same(&a, 0);
            end(&a);
        }
    }
}

Test(pipeline, nested) {
    for (int64_t same = 0; same < 2; same++) {
        FOR_ALL(trips, stages) {
            for (int64_t other = 1; other <= 4; other++) {
                ahead a = REWRITE(nested, n, trips, stages, stages, other, other, same, same);
                expect_ahead_text(&a, (RUNS_AHEAD(trips, stages) && !same) || other >= 2, "wait");
                expect_same(&a, 0);
                end(&a);
            }
        }
    }
}

Test(pipeline, what_the_next_round_reads_is_the_last) {
    FOR_ALL(trips, stages) {
        ahead a = REWRITE(in_serial, n, trips, stages, stages);
        expect_ahead(&a, RUNS_AHEAD(trips, stages) ? 2 : 0);
        expect_same(&a, 0);
        end(&a);
    }
}

Test(pipeline, a_tensor_written_in_the_loop) {
    for (int64_t shift = 0; shift <= 9; shift++) {
        FOR_ALL(trips, stages) {
            ahead a = REWRITE(in_place, n, trips, stages, stages, shift, shift);
            expect_ahead(&a, RUNS_AHEAD(trips, stages) && shift == 0 ? 2 : 0);
            expect_same(&a, 0);
            end(&a);
        }
    }
}

Test(pipeline, beyond_the_end_of_the_tensor) {
    FOR_ALL(trips, stages) {
        ahead a = REWRITE(ragged, n, trips, stages, stages);
        expect_same(&a, 0);
        end(&a);
    }
}

Test(pipeline, what_no_asynchronous_copy_does) {
    static const char *const reason[] = {
        "does not convert f16 to f32", "gives 0 outside of the tensor and nothing else",
        "pieces of 'a' are not known to be aligned to 4 bytes", "not known to be aligned to 4 bytes",
        "'s' is reduced where it lies"};
    for (int64_t how = 0; how < 5; how++) {
        ahead a = REWRITE(not_asynchronous, n, 5, stages, 3, how, how);
        expect_ahead(&a, 0);
        expect_reason(&a, reason[how]);
        expect_same(&a, 0);
        end(&a);
    }
}

Test(pipeline, a_machine_without_asynchronous_copies) {
    tg_config config = TG_CONFIG(n, 5, stages, 3);
    tg_kernel *k = tg_begin("two_copies", &config);
    two_copies();
    cr_assert(tg_end(k));
    target old = *target_find("sm_80");
    old.async_copy = false;
    tile_pipeline(k, &old);
    cr_assert_null(k->recorded.first);
    tg_free(k);
}

/* The text of the simplest one. */
Test(pipeline, one_group_an_iteration_and_the_exact_wait) {
    ahead a = REWRITE(two_copies, n, 9, stages, 4);
    static const char *const want =
        "    serial ahead: 3\n"
        "        copy async a[ahead * 8 : +8] -> s[ahead : +1, 0 : +8]\n"
        "        copy async b[ahead * 8 : +8] -> t[ahead : +1, 0 : +8]\n"
        "        commit\n"
        "    serial k: 9\n"
        "        wait 2\n"
        "        when k + 3 < 9\n"
        "            let k_ahead = k + 3\n"
        "            copy async a[k_ahead * 8 : +8] -> s[k_ahead % 4 : +1, 0 : +8]\n"
        "            copy async b[k_ahead * 8 : +8] -> t[k_ahead % 4 : +1, 0 : +8]\n"
        "        commit\n"
        "        parallel i: 8\n"
        "            set out[k * 8 + i] = s[k % 4, i] * 100 + t[k % 4, 7 - i]\n";
    cr_assert(strstr(shown(&a), want) != NULL, "%s", shown(&a));
    expect_reason(&a, "copies run 3 iterations ahead");
    end(&a);
}
