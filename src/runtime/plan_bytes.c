/* plan_bytes.c -- launch plans written and read.
 *
 * The two functions of each part stand together and name the same fields in the same order.  What is read is
 * believed only where a launch cannot be led astray by it. */
#include "runtime/plan_bytes.h"

#include <stdlib.h>

#include "runtime/launch.h"

enum { MAX_CHECKS = 1 << 16, MAX_ALIASES = (int)(sizeof((plan_param *)0)->alias / sizeof(int)) };

static void refuse_unless(byte_reader *r, bool is_good) {
    r->failed = r->failed || !is_good;
}

/* ---- expressions --------------------------------------------------------------------------------------- */

static void put_expr(text *out, const plan_expr *e) {
    bytes_put(out, (uint64_t)e->n, 4);
    for (int i = 0; i < e->n; i++) {
        bytes_put(out, e->step[i].op, 1);
        bytes_put_signed(out, e->step[i].value);
    }
}

static void get_expr(byte_reader *r, int nargs, plan_expr *e) {
    e->n = bytes_count(r, PLAN_MAX_STEPS);
    for (int i = 0; i < e->n; i++) {
        e->step[i].op = (plan_op)bytes_get(r, 1);
        e->step[i].value = bytes_signed(r);
    }
    refuse_unless(r, plan_expr_is_sound(e, nargs));
}

/* ---- parameters ---------------------------------------------------------------------------------------- */

enum { IS_READ = 1, IS_WRITTEN = 2, IS_CONSTANT = 4 };

static void put_param(text *out, const plan_param *p) {
    bytes_put(out, p->kind, 1);
    bytes_put_string(out, p->name);
    bytes_put_signed(out, p->arg);
    bytes_put_signed(out, p->type);
    bytes_put(out, (uint64_t)p->rank, 4);
    for (int i = 0; i < p->rank; i++) {
        put_expr(out, &p->dim[i]);
    }
    bytes_put_signed(out, p->pitch);
    put_expr(out, &p->bytes);
    bytes_put_signed(out, p->align);
    bytes_put(out,
              (p->is_read ? IS_READ : 0) | (p->is_written ? IS_WRITTEN : 0) |
                  (p->is_constant ? IS_CONSTANT : 0),
              1);
    bytes_put(out, (uint64_t)p->naliases, 4);
    for (int i = 0; i < p->naliases; i++) {
        bytes_put_signed(out, p->alias[i]);
    }
}

static int64_t get_within(byte_reader *r, int64_t low, int64_t high) {
    const int64_t x = bytes_signed(r);
    refuse_unless(r, x >= low && x <= high);
    return r->failed ? low : x;
}

/* Hidden ones are nobody's argument. */
static void check_param(byte_reader *r, const plan_param *p) {
    const bool is_given = p->kind == PLAN_TENSOR || p->kind == PLAN_SCALAR || p->kind == PLAN_EXTENT;
    refuse_unless(r, is_given ? p->arg >= 0 && tg_dtype_name(p->type) : p->kind == PLAN_CHECKS && p->arg < 0);
}

static void get_param(byte_reader *r, int nargs, arena *a, plan_param *p) {
    p->kind = (plan_param_kind)bytes_get(r, 1);
    p->name = arena_copy(a, bytes_string(r));
    p->arg = (int)get_within(r, -1, nargs - 1);
    p->type = bytes_signed(r);
    p->rank = bytes_count(r, TG_MAX_RANK);
    for (int i = 0; i < p->rank; i++) {
        get_expr(r, nargs, &p->dim[i]);
    }
    p->pitch = get_within(r, 0, INT64_MAX);
    get_expr(r, nargs, &p->bytes);
    p->align = get_within(r, 0, 1 << 20);
    const uint64_t flags = bytes_get(r, 1);
    p->is_read = flags & IS_READ;
    p->is_written = flags & IS_WRITTEN;
    p->is_constant = flags & IS_CONSTANT;
    p->naliases = bytes_count(r, MAX_ALIASES);
    for (int i = 0; i < p->naliases; i++) {
        p->alias[i] = (int)get_within(r, 0, nargs - 1);
    }
    check_param(r, p);
}

/* ---- the launch ---------------------------------------------------------------------------------------- */

static void put_launch(text *out, const launch_plan *plan) {
    for (int i = 0; i < 3; i++) {
        put_expr(out, &plan->grid[i]);
        bytes_put_signed(out, plan->threads[i]);
        bytes_put_signed(out, plan->max_grid[i]);
        bytes_put_signed(out, plan->cluster[i]);
    }
    bytes_put_signed(out, plan->static_shared);
    bytes_put_signed(out, plan->dynamic_shared);
    bytes_put(out, plan->dependent_launch, 1);
}

static void get_launch(byte_reader *r, launch_plan *plan) {
    for (int i = 0; i < 3; i++) {
        get_expr(r, plan->nargs, &plan->grid[i]);
        refuse_unless(r, plan->grid[i].n > 0);
        plan->threads[i] = (int)get_within(r, 1, 1024);
        plan->max_grid[i] = get_within(r, 1, INT32_MAX);
        plan->cluster[i] = (int)get_within(r, 1, 16);
    }
    plan->static_shared = get_within(r, 0, 1 << 20);
    plan->dynamic_shared = get_within(r, 0, 1 << 20);
    plan->dependent_launch = bytes_get(r, 1) != 0;
}

static void put_checks(text *out, const launch_plan *plan) {
    bytes_put(out, (uint64_t)plan->nchecks, 4);
    for (int i = 0; i < plan->nchecks; i++) {
        bytes_put_string(out, plan->checks[i].file);
        bytes_put_signed(out, plan->checks[i].line);
        bytes_put_string(out, plan->checks[i].message);
    }
}

static void get_checks(byte_reader *r, launch_plan *plan) {
    plan->nchecks = bytes_count(r, MAX_CHECKS);
    plan->checks = ARENA_ARRAY(&plan->memory, plan_check, plan->nchecks + 1);
    for (int i = 0; i < plan->nchecks; i++) {
        plan_check *c = &plan->checks[i];
        c->file = arena_copy(&plan->memory, bytes_string(r));
        c->line = (int)get_within(r, 0, INT32_MAX);
        c->message = arena_copy(&plan->memory, bytes_string(r));
    }
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

void plan_put(text *out, const launch_plan *plan) {
    bytes_put_string(out, plan->name);
    bytes_put(out, (uint64_t)plan->nargs, 4);
    bytes_put(out, (uint64_t)plan->nparams, 4);
    for (int i = 0; i < plan->nparams; i++) {
        put_param(out, &plan->params[i]);
    }
    put_launch(out, plan);
    put_checks(out, plan);
}

/* Every argument is asked for by one parameter, so that none is left without a value. */
static void check_arguments(byte_reader *r, const launch_plan *plan) {
    int given = 0;
    bool has_checks = false;
    for (int i = 0; i < plan->nparams; i++) {
        refuse_unless(r, plan->params[i].arg < 0 || plan->params[i].arg == given);
        given += plan->params[i].arg >= 0;
        has_checks = has_checks || plan->params[i].kind == PLAN_CHECKS;
    }
    refuse_unless(r, given == plan->nargs && has_checks == (plan->nchecks > 0));
}

launch_plan *plan_get(byte_reader *r) {
    launch_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        return NULL;
    }
    plan->name = arena_copy(&plan->memory, bytes_string(r));
    plan->nargs = bytes_count(r, LAUNCH_MAX_ARGS);
    plan->nparams = bytes_count(r, LAUNCH_MAX_PARAMS);
    plan->params = ARENA_ARRAY(&plan->memory, plan_param, plan->nparams + 1);
    for (int i = 0; i < plan->nparams && !r->failed; i++) {
        get_param(r, plan->nargs, &plan->memory, &plan->params[i]);
    }
    get_launch(r, plan);
    get_checks(r, plan);
    check_arguments(r, plan);
    if (r->failed || plan->memory.failed) {
        plan_free(plan);
        return NULL;
    }
    return plan;
}
