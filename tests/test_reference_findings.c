/* test_reference_findings.c -- the tile reference finds what a run can find, and says where.
 *
 * Kernels are those of reference_kernels.c, each with one mistake that only a run shows. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <sys/resource.h>

#include "reference_launch.h"

/* ---- findings ------------------------------------------------------------------------------------------ */

Test(tile_reference, a_read_out_of_bounds_names_the_access_and_gives_zero) {
    int32_t index[5] = {0, 1, 2, 3, 0}, a[5][4], b[5] = {9, 9, 9, 9, 9};
    for (int i = 0; i < 20; i++) {
        a[i / 4][i % 4] = i + 1;
    }
    launch l = BUILD(read_outside, n, 5, shift, 1);
    GIVE(&l, index);
    GIVE(&l, a);
    GIVE(&l, b);
    const finding *f = run_finding(&l, FINDING_BOUNDS);
    expect_text(f, "a[3, 4]: index 1 is outside 0..3");
    cr_assert_eq(f->thread, 3);
    cr_assert_eq(f->count, 1);
    cr_assert_eq(f->at.line, line_of("set(at(b, tid), far);"), "the statement, not %d", f->at.line);
    cr_assert_eq(f->other.line, line_of("far = at(a, tid, wild);"));
    cr_assert(b[0] == 2 && b[3] == 0 && b[4] == 18);
    end(&l);
    l = BUILD(read_outside, n, 5, shift, -1);
    GIVE(&l, index);
    GIVE(&l, a);
    GIVE(&l, b);
    expect_text(run_finding(&l, FINDING_BOUNDS), "a[0, -1]: index 1 is outside 0..3");
    cr_assert_eq(l.result.findings.total, 2);
    end(&l);
}

Test(tile_reference, a_write_out_of_bounds_is_dropped) {
    int32_t index[4] = {3, 4, -1, 0}, b[6] = {0};
    launch l = BUILD(write_outside, n, 4);
    GIVE(&l, index);
    give(&l, b + 1, 16);
    const finding *f = run_finding(&l, FINDING_BOUNDS);
    expect_text(f, "b[4]: index 0 is outside 0..3");
    cr_assert_eq(f->count, 2);
    const int32_t expected[6] = {0, 7, 0, 0, 7, 0};
    cr_assert_arr_eq(b, expected, sizeof b);
    end(&l);
}

Test(tile_reference, a_region_that_leaves_a_shared_buffer) {
    int32_t where[1] = {6}, b[4] = {0};
    launch l = BUILD_PLAIN(region_outside);
    GIVE(&l, where);
    GIVE(&l, b);
    expect_text(run_finding(&l, FINDING_BOUNDS), "leaves 's': dimension 0 covers 6..9 of 0..7");
    cr_assert(b[0] == 3 && b[1] == 3 && b[2] == 0 && b[3] == 0);
    where[0] = 4;
    run_clean(&l, 0);
    end(&l);
}

Test(tile_reference, reads_of_what_nothing_wrote) {
    static const char *const named[] = {"s[1]", "l[1]", "f[", "s[", "s", "fresh"};
    uint32_t b[8];
    for (int what = 0; what < 6; what++) {
        launch l = BUILD(unwritten, what, what);
        GIVE(&l, b);
        const finding *f = run_finding(&l, FINDING_UNINITIALISED);
        expect_text(f, named[what]);
        expect_text(f, "before anything wrote it");
        end(&l);
    }
}

/* Is there a finding of this kind whose text has this part? */
static bool has_finding(const launch *l, finding_kind kind, const char *part) {
    for (int i = 0; i < l->result.findings.n; i++) {
        const finding *f = &l->result.findings.item[i];
        if (f->kind == kind && strstr(f->text, part)) {
            return true;
        }
    }
    return false;
}

Test(tile_reference, a_reducer_is_cleared_then_finalized_then_read) {
    int32_t flag[2] = {1, 1}, a[6] = {1, 2, 3, 4, 5, 6}, b[1];
    launch l = BUILD_PLAIN(epochs);
    GIVE(&l, flag);
    GIVE(&l, a);
    GIVE(&l, b);
    run_clean(&l, 3);
    cr_assert_eq(b[0], 21);
    flag[1] = 0;
    expect_text(run_finding(&l, FINDING_UNINITIALISED), "is read before finalize");
    flag[0] = 0;
    cr_assert_eq(run(&l), TG_OK);
    cr_assert(has_finding(&l, FINDING_UNINITIALISED, "without a clear or fill before"));
    end(&l);
}

Test(tile_reference, shared_memory_does_not_live_from_block_to_block) {
    uint32_t b[2][8];
    launch l = BUILD_PLAIN(inherited);
    GIVE(&l, b);
    const finding *f = run_finding(&l, FINDING_UNINITIALISED);
    cr_assert_eq(f->count, 8);
    cr_assert_eq(f->block[0], 1);
    cr_assert(b[0][7] == 1 && b[1][7] == 0);
    end(&l);
}

/* `divergent` with flag[tid] in its condition, which the builder refuses: made behind its back. */
static launch divergent_launch(int what, int32_t *flag, int32_t *b) {
    launch l = BUILD(divergent, what, what);
    give(&l, flag, 8 * sizeof *flag);
    give(&l, b, 8 * sizeof *b);
    tile_stmt *s = l.k->body.first;
    cr_assert_eq(s->kind, TILE_WHEN);
    arena *a = &l.k->memory;
    node *tid[1] = {expr_var(a, s->at, l.k->thread_var[0])};
    node *load = expr_load(a, s->at, expr_ref(a, s->at, l.k->args[0].tensor, 1, tid, 1));
    s->value = expr_binary(a, s->at, TG_NE, load, expr_const(a, s->at, value_int(TG_I32, 0)));
    return l;
}

Test(tile_reference, a_barrier_that_some_threads_do_not_meet) {
    int32_t flag[8] = {1, 1, 0, 1, 0, 0, 1, 1}, b[8];
    launch l = divergent_launch(0, flag, b);
    const finding *f = run_finding(&l, FINDING_BARRIER);
    cr_assert_str_eq(f->text, "5 of 8 threads wait at sync_threads, 3 have ended");
    cr_assert_eq(f->thread, 0);
    cr_assert_eq(f->other_thread, 2);
    cr_assert(f->other.file == NULL);
    for (int i = 0; i < 8; i++) {
        flag[i] = 1;
    }
    run_clean(&l, 0);
    end(&l);
}

Test(tile_reference, a_barrier_is_its_place) {
    int32_t flag[8] = {0, 0, 0, 1, 0, 0, 1, 0}, b[8];
    launch l = divergent_launch(1, flag, b);
    const finding *f = run_finding(&l, FINDING_BARRIER);
    cr_assert_str_eq(f->text, "6 of 8 threads wait at sync_threads, 2 at sync_threads");
    cr_assert_neq(f->at.line, f->other.line);
    end(&l);
}

static void arithmetic_fault(tg_op op, int32_t x, int32_t y, const char *why) {
    int32_t a[1] = {x}, b[1] = {y}, c[1];
    launch l = BUILD(one_value, op, op, dtype, TG_I32, n, 1);
    GIVE(&l, a);
    GIVE(&l, b);
    GIVE(&l, c);
    expect_text(run_finding(&l, FINDING_ARITHMETIC), why);
    end(&l);
}

Test(tile_reference, arithmetic_faults_with_their_operands) {
    arithmetic_fault(TG_ADD, INT32_MAX, 1, "2147483647 and 1");
    arithmetic_fault(TG_MUL, 65536, 65536, "65536 and 65536");
    arithmetic_fault(TG_SUB, INT32_MIN, 1, "-2147483648 and 1");
    arithmetic_fault(TG_QUO, 3, 0, "division by zero");
    arithmetic_fault(TG_MOD, 3, 0, "division by zero");
    arithmetic_fault(TG_QUO, INT32_MIN, -1, "-2147483648 and -1");
    arithmetic_fault(TG_SHL, 3, 32, "3 and 32");
}

Test(tile_reference, conversions_out_of_range) {
    float a[3] = {1.9f, -3e9f, NAN};
    int32_t b[3];
    int16_t c[3];
    launch l = BUILD(narrow, n, 3);
    GIVE(&l, a);
    GIVE(&l, b);
    GIVE(&l, c);
    const finding *f = run_finding(&l, FINDING_ARITHMETIC);
    cr_assert_eq(f->count, 2);
    cr_assert(b[0] == 1 && c[0] == 1);
    end(&l);
}

Test(tile_reference, checks_that_fail) {
    int32_t a[3] = {1, 10, 11};
    launch l = BUILD(checking, n, 3);
    GIVE(&l, a);
    const finding *f = run_finding(&l, FINDING_CHECK);
    cr_assert_str_eq(f->text, "below ten");
    cr_assert_eq(f->thread, 1);
    cr_assert_eq(f->count, 4);
    cr_assert_eq(f->at.line, line_of("check(lt(at(a, tid), 10)"));
    end(&l);
}

Test(tile_reference, an_overlapping_copy) {
    int32_t where[1] = {2}, b[8];
    launch l = BUILD_PLAIN(overlapping);
    GIVE(&l, where);
    GIVE(&l, b);
    expect_text(run_finding(&l, FINDING_RACE), "overlap in 's'");
    for (int apart = 0; apart <= 8; apart += 8) {
        where[0] = apart;
        run_clean(&l, 0);
    }
    end(&l);
}

Test(tile_reference, misaligned_memory) {
    int32_t words[6] = {0}, b[4];
    launch l = BUILD_PLAIN(wide_view);
    give(&l, (unsigned char *)words + 2, 16);
    GIVE(&l, b);
    cr_assert_eq(run_finding(&l, FINDING_MISALIGNED)->count, 4);
    l.arg[0].data = words;
    run_clean(&l, 0);
    end(&l);
}

Test(tile_reference, gives_up_at_the_step_limit) {
    int32_t b[1] = {5};
    launch l = BUILD(endless, n, 1 << 30);
    GIVE(&l, b);
    l.options.step_limit = 100000;
    run_finding(&l, FINDING_LIMIT);
    cr_assert_eq(l.result.statements, 100000);
    cr_assert_eq(b[0], 5);
    end(&l);
}

/* ---- orders -------------------------------------------------------------------------------------------- */

static int orders(launch *l) {
    reference_free(&l->result);
    l->status = tile_reference_orders(l->k, l->n, l->arg, &l->options, &l->result, &l->error);
    cr_assert_eq(l->status, TG_OK, "%s", l->error.s ? l->error.s : "");
    for (int i = 0; i < l->result.findings.n; i++) {
        cr_assert_eq(l->result.findings.item[i].kind, FINDING_ORDER, "%s", l->result.findings.item[i].text);
    }
    return l->result.findings.n;
}

Test(tile_reference, two_orders_differ_without_the_barrier) {
    static const int sizes[] = {2, 3, 31, 64};
    int32_t b[64];
    for (int i = 0; i < 8; i++) {
        const int barrier = i % 2, n = sizes[i / 2];
        for (uint64_t seed = 0; seed < 8; seed++) {
            launch l = BUILD(shared_race, barrier, barrier, n, n);
            give(&l, b, sizeof *b * (size_t)n);
            l.options.seed = seed;
            cr_assert_eq(orders(&l), 1 - barrier, "%d threads, barrier %d, seed %d", n, barrier, (int)seed);
            end(&l);
        }
    }
}

Test(tile_reference, any_two_threads_that_race_are_found) {
    int32_t b[1];
    uint32_t state = 1;
    for (uint64_t seed = 0; seed < 40; seed++) {
        const int writer = (int)(next_random(&state) % 64);
        const int reader = (writer + 1 + (int)(next_random(&state) % 63)) % 64;
        launch l = BUILD(pair_race, writer, writer, reader, reader);
        GIVE(&l, b);
        l.options.seed = seed;
        cr_assert_eq(orders(&l), 1, "threads %d and %d, seed %d", writer, reader, (int)seed);
        end(&l);
    }
}

Test(tile_reference, two_orders_of_blocks) {
    int32_t b[1];
    launch l = BUILD_PLAIN(block_race);
    GIVE(&l, b);
    cr_assert_eq(orders(&l), 1);
    expect_text(&l.result.findings.item[0],
                "'b[0]' is 8 in one order of blocks, threads and iterations and 0 in");
    cr_assert_eq(b[0], 8, "the first order's tensors stay");
    cr_assert_eq(l.result.findings.item[0].at.line, line_of("KERNEL(block_race)") + 1);
    end(&l);
}

Test(tile_reference, two_orders_of_iterations) {
    int32_t index[40], b[40];
    for (int i = 0; i < 40; i++) {
        index[i] = (i + 1) % 40;
    }
    launch l = BUILD(iteration_race, n, 40);
    GIVE(&l, index);
    GIVE(&l, b);
    cr_assert_eq(orders(&l), 1);
    for (int i = 0; i < 40; i++) {
        index[i] = i;
    }
    cr_assert_eq(orders(&l), 0);
    end(&l);
}

Test(tile_reference, which_thread_runs_an_iteration_is_open) {
    int32_t b[32];
    launch l = BUILD_PLAIN(which_thread);
    GIVE(&l, b);
    for (uint64_t seed = 0; seed < 8; seed++) {
        l.options.seed = seed;
        cr_assert_eq(orders(&l), 1, "seed %d", (int)seed);
    }
    end(&l);
}

Test(tile_reference, sums_of_floats_may_differ_in_the_last_bits) {
    static int32_t a[500], counts[3], extremes[2];
    float total[1] = {0.1f};
    for (int i = 0; i < 500; i++) {
        a[i] = i * i;
    }
    launch l = BUILD(atomics, n, 500, bins, 3);
    GIVE(&l, a);
    GIVE(&l, counts);
    GIVE(&l, extremes);
    GIVE(&l, total);
    cr_assert_eq(orders(&l), 0);
    cr_assert_eq(counts[0] + counts[1] + counts[2], 500, "from the contents before, once");
    end(&l);
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

static void expect_refused(launch *l, const char *part) {
    cr_assert_eq(run(l), TG_EARG);
    cr_assert(l->error.s != NULL && strstr(l->error.s, part), "'%s' lacks '%s'", l->error.s, part);
}

Test(tile_reference, arguments_that_do_not_fit) {
    float a[15], b[15];
    launch l = BUILD(launch_values, columns, 5);
    give_scalar(&l, value_int(TYPE_INDEX, 3));
    give_scalar(&l, value_real(TG_F32, 0.5));
    give_scalar(&l, value_int(TG_I32, 4));
    GIVE(&l, a);
    expect_refused(&l, "takes 5 arguments but 4 are given");
    cr_assert_eq(tile_reference_orders(l.k, l.n, l.arg, NULL, &l.result, &l.error), TG_EARG);
    GIVE(&l, b);
    l.arg[3].bytes--;
    expect_refused(&l, "argument 3 'a' has 59 bytes of memory but its extents take 60");
    l.arg[3] = (witness_arg){0};
    expect_refused(&l, "'a' has 0 bytes");
    l.arg[3] = (witness_arg){.data = a, .bytes = sizeof a};
    l.arg[0].scalar = value_int(TYPE_INDEX, 4);
    expect_refused(&l, "'a' has 60 bytes of memory but its extents take 80");
    l.arg[0].scalar = value_int(TYPE_INDEX, -1);
    expect_refused(&l, "extent 'rows' is -1");
    l.arg[0].scalar = value_int(TG_I32, 1);
    expect_refused(&l, "'rows' is declared index but given as i32");
    l.arg[0].scalar = value_int(TYPE_INDEX, 3);
    l.arg[1].scalar = value_real(TG_F64, 0.5);
    expect_refused(&l, "'factor' is declared f32 but given as f64");
    l.arg[1].scalar = (value){0};
    expect_refused(&l, "without type");
    end(&l);
}

Test(tile_reference, a_kernel_with_mistakes_does_not_run) {
    const tg_config none = {.n = 0};
    launch l = {.k = tg_begin("each_element", &none)};
    each_element(); /* lacks its parameters */
    cr_assert(!tg_end(l.k));
    cr_assert_eq(run(&l), TG_EKERNEL);
    end(&l);
}

#if !defined TEGULA_SANITIZED_ADDRESS /* which wants the address space for itself */
Test(tile_reference, lack_of_memory_is_said) {
    float b[1];
    launch l = BUILD_PLAIN(large);
    GIVE(&l, b);
    const struct rlimit gigabyte = {1 << 30, 1 << 30};
    cr_assert_eq(setrlimit(RLIMIT_AS, &gigabyte), 0);
    cr_assert_eq(run(&l), TG_ENOMEM);
    end(&l);
}
#endif

/* ---- findings as a list -------------------------------------------------------------------------------- */

Test(witness, findings_merge_print_and_overflow) {
    findings f = {0};
    const tg_loc here = {"src/kernel.c", 3}, there = {"other/kernel.c", 9}, none = {NULL, 0};
    finding *x = findings_add(&f, FINDING_RACE, here, there);
    snprintf(x->text, sizeof x->text, "race on 's[3]'");
    x->thread = 0;
    x->other_thread = 35;
    cr_assert_eq(findings_add(&f, FINDING_RACE, (tg_loc){"src/kernel.c", 3}, there), x);
    cr_assert_eq(x->count, 2);
    cr_assert_neq(findings_add(&f, FINDING_RACE, here, none), x);
    text t = {0};
    findings_print(&f, &t);
    cr_assert_str_eq(t.s, "kernel.c:3: race: race on 's[3]' (block 0, 0, 0, threads 0 and 35; 2 times)\n"
                          "kernel.c:9:     the other place\n"
                          "kernel.c:3: race: \n");
    text_free(&t);
    for (int i = 0; i < 40; i++) {
        findings_add(&f, FINDING_BOUNDS, (tg_loc){"a.c", i}, none);
    }
    cr_assert_eq(f.n, WITNESS_MAX_FINDINGS);
    cr_assert_eq(f.total, 43);
    findings_print(&f, &t);
    cr_assert(strstr(t.s, "and 26 more\n"));
    text_free(&t);
}

Test(witness, notes_fail_under_strict_only_and_hide_no_fault) {
    findings f = {0};
    const tg_loc none = {NULL, 0};
    for (int i = 0; i < 20; i++) {
        findings_add(&f, FINDING_NOTE, (tg_loc){"a.c", i}, none);
    }
    cr_assert(!findings_failed(&f, false));
    cr_assert(findings_failed(&f, true));
    cr_assert(findings_add(&f, FINDING_CHECK, none, none) != NULL);
    cr_assert(findings_failed(&f, false));
    for (int kind = FINDING_RACE; kind <= FINDING_NOTE; kind++) {
        cr_assert_gt(strlen(finding_name((finding_kind)kind)), 3u);
    }
}
