/* test_plan.c -- the launch plan says what the runtime must know, and outlives the kernel it was made from.
 * Kernels: lower_kernels.c. */
#include "lower_run.h"

void plan_sizes(void);
void plan_wide(void);
void plan_long_grid(void);
void plan_odd_grid(void);

static int64_t value_of(const plan_expr *e, const int64_t *args) {
    int64_t x = -1;
    cr_assert(plan_eval(e, args, &x));
    return x;
}

/* ---- tests --------------------------------------------------------------------------------------------- */

Test(plan, extents_are_computed_from_the_arguments) {
    lowered l = LOWER_PLAIN("sm_80", plan_sizes);
    expect_good(&l);
    launch_plan *p = l.made.plan;
    l.made.plan = NULL;
    finish(&l); /* the plan lives on */
    const int64_t args[] = {2, 10, 5, 0, 0, 0, 0, 0};
    cr_assert_eq(p->nargs, 8);
    cr_assert_eq(p->nparams, 8);
    cr_assert_eq(value_of(&p->grid[0], args), 3);
    cr_assert_eq(value_of(&p->grid[1], args), 11);
    cr_assert_eq(value_of(&p->grid[2], args), 5);
    cr_assert_eq(p->threads[0], 8);
    cr_assert_eq(p->threads[1], 4);
    cr_assert_eq(p->threads[2], 1);
    cr_assert_eq(p->params[0].kind, PLAN_SCALAR);
    cr_assert_eq(p->params[1].kind, PLAN_EXTENT);
    cr_assert_str_eq(p->params[3].name, "scale");
    cr_assert_eq(p->params[3].type, TG_F32);
    cr_assert_eq(value_of(&p->params[4].dim[0], args), 10);
    cr_assert_eq(value_of(&p->params[4].dim[1], args), 8);
    cr_assert_eq(value_of(&p->params[4].bytes, args), 10 * 8 * 4);
    cr_assert_eq(p->params[5].pitch, 24);
    cr_assert_eq(value_of(&p->params[5].bytes, args), (29 * 24 + 8) * 2);
    cr_assert_eq(p->params[6].rank, 0);
    cr_assert_eq(value_of(&p->params[6].bytes, args), 8);
    cr_assert_eq(value_of(&p->params[7].bytes, args), 5);
    const int64_t empty[8] = {2, 0, 0, 0, 0, 0, 0, 0};
    cr_assert_eq(value_of(&p->params[4].bytes, empty), 0);
    cr_assert_eq(value_of(&p->params[5].bytes, empty), 0);
    plan_free(p);
}

Test(plan, tensors_say_what_is_done_to_them) {
    lowered l = LOWER_PLAIN("sm_80", plan_sizes);
    expect_good(&l);
    const plan_param *p = l.made.plan->params;
    cr_assert(p[4].is_read && !p[4].is_written && p[4].is_constant);
    cr_assert(!p[5].is_read && p[5].is_written && !p[5].is_constant);
    cr_assert(p[6].is_read && p[6].is_written); /* an atomic does both */
    cr_assert_eq(p[4].naliases + p[7].naliases, 2);
    cr_assert_eq(p[4].alias[0], 7);
    cr_assert_eq(p[7].alias[0], 4);
    cr_assert_eq(p[4].align, 4);
    cr_assert_eq(p[5].align, 2);
    cr_assert_eq(p[6].align, 8);
    finish(&l);
}

Test(plan, division_by_zero_and_overflow_are_no_values) {
    lowered l = LOWER_PLAIN("sm_80", plan_sizes);
    const int64_t zero[8] = {0, 10, 5}, most[8] = {1, INT64_MAX, INT64_MAX};
    int64_t x;
    cr_assert_not(plan_eval(&l.made.plan->grid[2], zero, &x));
    cr_assert_not(plan_eval(&l.made.plan->grid[1], most, &x));
    finish(&l);
}

Test(plan, wide_accesses_and_checks_show) {
    lowered l = LOWER_PLAIN("sm_90a", plan_wide);
    expect_good(&l);
    const launch_plan *p = l.made.plan;
    cr_assert_eq(p->params[0].align, 16);
    cr_assert_eq(p->params[1].align, 16);
    cr_assert_eq(p->params[2].kind, PLAN_CHECKS);
    cr_assert_eq(p->params[2].arg, -1);
    cr_assert_eq(p->nargs, 2);
    cr_assert_eq(p->nchecks, 1);
    cr_assert_str_eq(p->checks[0].message, "a thread");
    cr_assert_eq(p->max_grid[1], 65535);
    cr_assert_eq(p->cluster[0], 1);
    finish(&l);
}

Test(plan, a_grid_that_cannot_be_computed_at_launch_is_refused) {
    lowered l = LOWER_PLAIN("sm_80", plan_long_grid);
    expect_message(&l, "grid: axis x must be short integer arithmetic");
    finish(&l);
    l = LOWER_PLAIN("sm_80", plan_odd_grid);
    expect_message(&l, "grid: axis x must be short integer arithmetic");
    finish(&l);
}

Test(plan, free_accepts_null) {
    plan_free(NULL);
}

/* ---- targets ------------------------------------------------------------------------------------------- */

Test(target, the_device_decides_the_row) {
    static const struct {
        int major, minor;
        const char *name;
    } row[] = {{8, 0, "sm_80"},    {8, 6, "sm_86"},    {8, 7, "sm_87"},    {8, 8, "sm_87"},
               {8, 9, "sm_89"},    {9, 0, "sm_90a"},   {9, 5, "sm_90"},    {10, 0, "sm_100a"},
               {10, 1, "sm_100"},  {10, 3, "sm_103a"}, {11, 0, "sm_110a"}, {12, 0, "sm_120a"},
               {12, 1, "sm_121a"}, {13, 0, "sm_121"}};
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        cr_assert_str_eq(target_for_device(row[i].major, row[i].minor)->name, row[i].name);
    }
    cr_assert_null(target_for_device(7, 5));
    cr_assert_null(target_find("sm_75"));
    cr_assert_null(target_find(NULL));
    cr_assert_eq(target_find("sim64")->wave, 64);
    for (const target *t = target_table(); t->name; t++) {
        cr_assert_eq(target_find(t->name), t);
        cr_assert(t->max_shared >= t->static_shared && t->wave % t->bank[2].phases == 0);
    }
}
