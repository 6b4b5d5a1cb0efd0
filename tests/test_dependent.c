/* test_dependent.c -- programmatic dependent launch: where the wait stands, what may be read before it, and that a
 * wait in the wrong place is found. */
#include "codegen/passes.h"
#include "lower_run.h"
#include "runtime/api.h"
#include "runtime/nvrtc.h"

tg_builder constant_first, constant_last, constant_after, all_constant, half_of_them, constant_but_aliased,
    checks_first, mixed_loop, reads_then_joins, reads_as_it_writes, constant_rows;

static const struct {
    const char *name;
    tg_builder *build;
} kernels[] = {
    {"constant_first", constant_first},     {"constant_last", constant_last},
    {"constant_after", constant_after},     {"all_constant", all_constant},
    {"half_of_them", half_of_them},         {"constant_but_aliased", constant_but_aliased},
    {"checks_first", checks_first},         {"mixed_loop", mixed_loop},
    {"reads_then_joins", reads_then_joins}, {"reads_as_it_writes", reads_as_it_writes},
};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

static lowered lower_as(const char *name, tg_builder *build, const char *machine, bool dependent) {
    lowered l = {.name = name};
    const tg_config none = {0};
    const pipeline_options options = {.target = target_find(machine), .verify = true, .dependent = dependent};
    const pipeline_input input = {.name = name, .build = build, .config = &none};
    l.status = pipeline_run(&input, &options, &l.made);
    const char *bug = diag_take_bug();
    cr_assert_null(bug, "%s: %s", name, bug ? bug : "");
    cr_assert_eq(l.status, TG_OK, "%s", name);
    return l;
}

static lowered lower_early(const char *name, tg_builder *build) {
    return lower_as(name, build, "sm_90", true);
}

/* The text of the kernel's function. */
static const char *body(const lowered *l) {
    const char *s = strstr(l->made.cuda.text.s, "__global__");
    cr_assert_not_null(s);
    return s;
}

/* The parts stand in the text in this order. */
static void expect_order(const lowered *l, const char *const *parts, int n) {
    const char *s = body(l);
    for (int i = 0; i < n; i++) {
        const char *found = strstr(s, parts[i]);
        cr_assert_not_null(found, "%s: '%s' does not follow in:\n%s", l->name, parts[i], body(l));
        s = found + strlen(parts[i]);
    }
}
#define EXPECT_ORDER(l, ...)                            \
    expect_order(l, (const char *const[]){__VA_ARGS__}, \
                 (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

/* ---- the text ------------------------------------------------------------------------------------------ */

Test(dependent, only_where_it_is_asked_for_and_the_target_has_it) {
    for (int i = 0; i < KERNELS; i++) {
        lowered plain = lower_as(kernels[i].name, kernels[i].build, "sm_90", false);
        cr_expect_null(strstr(plain.made.cuda.text.s, "griddepcontrol"), "%s", kernels[i].name);
        cr_expect_not(plain.made.plan->dependent_launch);
        lowered old = lower_as(kernels[i].name, kernels[i].build, "sm_89", true);
        cr_expect_null(strstr(old.made.cuda.text.s, "griddepcontrol"), "%s", kernels[i].name);
        cr_expect_not(old.made.plan->dependent_launch);
        lowered early = lower_early(kernels[i].name, kernels[i].build);
        cr_expect_not_null(strstr(body(&early), "    launch_dependents();"), "%s", body(&early));
        cr_expect(early.made.plan->dependent_launch);
        finish(&plain);
        finish(&old);
        finish(&early);
    }
}

Test(dependent, constants_are_read_before_the_wait) {
    lowered l = lower_early("constant_first", constant_first);
    EXPECT_ORDER(&l, "weight[t]", "grid_wait();", "x[t]", "y[t] =");
    finish(&l);
    l = lower_early("all_constant", all_constant);
    EXPECT_ORDER(&l, "weight[t] * scale[t]", "grid_wait();", "y[t] =");
    finish(&l);
}

Test(dependent, copies_of_constants_move_up_past_others) {
    lowered l = lower_early("constant_last", constant_last);
    EXPECT_ORDER(&l, "&weight[", "grid_wait();", "&x[", "copy_async_commit();");
    finish(&l);
}

Test(dependent, what_another_statement_needs_stays_behind_it) {
    lowered l = lower_early("constant_after", constant_after);
    EXPECT_ORDER(&l, "grid_wait();", "x[t]", "weight[t]");
    finish(&l);
    l = lower_early("mixed_loop", mixed_loop);
    EXPECT_ORDER(&l, "grid_wait();", "for (int k", "weight[");
    finish(&l);
    l = lower_early("constant_but_aliased", constant_but_aliased);
    EXPECT_ORDER(&l, "grid_wait();", "weight[t]");
    finish(&l);
    l = lower_early("checks_first", checks_first);
    EXPECT_ORDER(&l, "weight[t]", "grid_wait();", "check_failed");
    finish(&l);
}

Test(dependent, the_wait_is_in_no_branch) {
    lowered l = lower_early("half_of_them", half_of_them);
    EXPECT_ORDER(&l, "\n    grid_wait();", "\n    if (t < 32)");
    finish(&l);
}

/* Earlier, blocks of the next launch would take room only to wait. */
Test(dependent, the_next_launch_is_let_in_when_the_block_has_read) {
    lowered l = lower_early("constant_first", constant_first);
    EXPECT_ORDER(&l, "x[t]", "\n    launch_dependents();", "y[t] =");
    finish(&l);
    l = lower_early("reads_then_joins", reads_then_joins);
    EXPECT_ORDER(&l, "weight[", "sum += column[", "\n    launch_dependents();", "__shfl_xor_sync",
                 "__syncthreads", "y[0] =");
    finish(&l);
    l = lower_early("mixed_loop", mixed_loop);
    EXPECT_ORDER(&l, "for (int k", "\n    launch_dependents();", "y[t] =");
    finish(&l);
    l = lower_early("reads_as_it_writes", reads_as_it_writes);
    EXPECT_ORDER(&l, "grid_wait();", "\n    launch_dependents();", "for (int k");
    finish(&l);
}

/* Its copies are here then, and it has still to add up the last tile. */
Test(dependent, the_next_launch_is_let_in_when_the_last_copies_are_here) {
    lowered l = lower_early("constant_last", constant_last);
    EXPECT_ORDER(&l, "\n    for (int i", "copy_async_wait<0>();", "copy_async<", "copy_async_commit();",
                 " + 1 == ", "launch_dependents();", "sum +=", "y[");
    cr_expect_null(strstr(strstr(body(&l), "launch_dependents();") + 1, "launch_dependents();"));
    finish(&l);
}

/* Both groups of the prologue go before the wait; without any row nobody is let in early. */
Test(dependent, rows_that_only_the_launch_knows) {
    for (int64_t rows = 0; rows <= 5; rows++) {
        lowered l = lower_early("constant_rows", constant_rows);
        EXPECT_ORDER(&l, "&weight[", "copy_async_commit();", "grid_wait();", "x[", "copy_async_wait<1>();",
                     "copy_async_commit();", "if (i + 1 == rows)", "launch_dependents();", "y[");
        expect_agreement(&l, rows);
        finish(&l);
    }
}

/* The compiler may read what is __restrict__ early, and through a cache that sees no writes of a running launch. */
Test(dependent, only_constants_are_restrict) {
    lowered l = lower_early("constant_first", constant_first);
    EXPECT_ORDER(&l, "const float *__restrict__ weight", "const float *x", "float *y");
    finish(&l);
}

/* ---- what the compiler of the text makes of it --------------------------------------------------------- */

static void expect_loads_after_the_wait(const char *name, tg_builder *build, bool reads_early) {
    lowered l = lower_early(name, build);
    const nvrtc_request request = {
        .name = name, .text = l.made.cuda.text.s, .target = "sm_90", .want_ptx = true};
    nvrtc_result result = {0};
    cr_assert_eq(nvrtc_compile(&request, &result), TG_OK, "%s", tg_error());
    const char *ptx = result.image, *wait = strstr(ptx, "griddepcontrol.wait");
    cr_assert_not_null(wait, "%s", ptx);
    int before = 0;
    for (const char *s = strstr(ptx, "ld.global"); s && s < wait; s = strstr(s + 1, "ld.global")) {
        cr_expect_eq(strncmp(s, "ld.global.nc", 12), 0, "%s reads early what is not constant:\n%s", name,
                     ptx);
        before++;
    }
    cr_expect_eq(before > 0, reads_early, "%s:\n%s", name, ptx);
    const char *store = strstr(ptx, "st.global");
    cr_expect(store == NULL || store > wait, "%s writes before the wait:\n%s", name, ptx);
    nvrtc_free(&result);
    finish(&l);
}

Test(dependent, nvrtc_keeps_loads_behind_the_wait) {
    if (!api_nvrtc_open("sm_90")) {
        cr_skip_test("no NVRTC here: %s", tg_error());
    }
    expect_loads_after_the_wait("constant_first", constant_first, true);
    expect_loads_after_the_wait("constant_after", constant_after, false);
    expect_loads_after_the_wait("all_constant", all_constant, true);
    expect_loads_after_the_wait("half_of_them", half_of_them, false);
    expect_loads_after_the_wait("constant_but_aliased", constant_but_aliased, false);
    expect_loads_after_the_wait("checks_first", checks_first, true);
    expect_loads_after_the_wait("mixed_loop", mixed_loop, false);
}

/* ---- the simulator ------------------------------------------------------------------------------------- */

static void simulate(const lowered *l, sim_result *result) {
    witness_arg args[LOWERED_ARGS];
    const sim_options options = {0};
    text error = {0};
    copy_args(l, args);
    cr_assert_eq(sim_run(l->made.thread, l->nargs, args, &options, result, &error), TG_OK, "%s",
                 error.s ? error.s : "");
    free_args(l, args);
    text_free(&error);
}

/* Takes the wait out of the list; NULL before it: the first. */
static thread_stmt *take_wait(thread_block *b) {
    thread_stmt **at = &b->first;
    while ((*at)->kind != THREAD_GRID_WAIT) {
        at = &(*at)->next;
    }
    thread_stmt *wait = *at;
    *at = wait->next;
    wait->next = NULL;
    return wait;
}

static void append_to(thread_block *b, thread_stmt *s) {
    thread_stmt **at = &b->first;
    while (*at) {
        at = &(*at)->next;
    }
    *at = b->last = s;
}

static void expect_early(const lowered *l, const char *words) {
    sim_result result = {0};
    text all = {0}, error = {0};
    simulate(l, &result);
    findings_print(&result.findings, &all);
    cr_expect_eq(result.findings.item[0].kind, FINDING_EARLY, "%s: %s", l->name,
                 all.s ? all.s : "no finding");
    cr_expect(all.s && strstr(all.s, words), "%s: '%s' does not say '%s'", l->name, all.s ? all.s : "",
              words);
    cr_expect_not(thread_dependent_verify(l->made.thread, &error), "%s passes its spec", l->name);
    sim_free(&result);
    text_free(&all);
    text_free(&error);
}

Test(dependent, the_simulator_agrees_with_the_reference) {
    for (int i = 0; i < KERNELS; i++) {
        lowered l = lower_early(kernels[i].name, kernels[i].build);
        expect_agreement(&l, 1);
        finish(&l);
    }
}

Test(dependent, a_wait_too_late_is_found) {
    static const char *const words[KERNELS] = {"read of 'x[0]' by thread 0 before the wait",
                                               "read of 'x",
                                               "read of 'x[0]'",
                                               "write of 'y[0]'",
                                               "read of 'y[0]'",
                                               "'weight[0]'",
                                               "thread 0 checks",
                                               "read of 'x[0]'",
                                               "read of 'x[0]'",
                                               "read of 'x[0]'"};
    for (int i = 0; i < KERNELS; i++) {
        lowered l = lower_early(kernels[i].name, kernels[i].build);
        fill_args(&l, 1);
        append_to(&l.made.thread->body, take_wait(&l.made.thread->body));
        expect_early(&l, words[i]);
        finish(&l);
    }
}

Test(dependent, threads_that_do_not_wait_are_found) {
    lowered l = lower_early("half_of_them", half_of_them);
    fill_args(&l, 1);
    thread_block *b = &l.made.thread->body;
    thread_stmt *wait = take_wait(b), *branch = b->last;
    cr_assert_eq(branch->kind, THREAD_IF);
    wait->next = branch->body.first; /* in the branch that half of the threads take */
    branch->body.first = wait;
    expect_early(&l, "thread 32 ends before the wait");
    finish(&l);
}
