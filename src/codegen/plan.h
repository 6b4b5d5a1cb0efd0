/* plan.h -- the launch plan: all that the runtime needs to launch a lowered kernel.  Data only, self-contained.
 *
 * Made by plan_make() from thread IR; owns its memory; outlives the kernel it was made from. */
#ifndef CODEGEN_PLAN_H
#define CODEGEN_PLAN_H

#include <tegula/tegula.h>

#include "codegen/thread.h"

/* An index expression over launch arguments, in postfix; evaluated by plan_eval(). */
typedef enum plan_op { PLAN_PUSH, PLAN_ARG, PLAN_APPLY } plan_op;
typedef struct plan_step {
    plan_op op;
    int64_t value; /* PLAN_PUSH: the constant; PLAN_ARG: the argument's position; PLAN_APPLY: a tg_op */
} plan_step;
enum { PLAN_MAX_STEPS = 24 };
typedef struct plan_expr {
    int n;
    plan_step step[PLAN_MAX_STEPS];
} plan_expr;

/* False when it divides by zero or leaves 64 bits.  args[i] is the value of launch argument i (0 for tensors). */
bool plan_eval(const plan_expr *e, const int64_t *args, int64_t *result);

/* Whether plan_eval() may be called with `nargs` arguments: for expressions that come from a file. */
bool plan_expr_is_sound(const plan_expr *e, int nargs);

typedef enum plan_param_kind {
    PLAN_TENSOR,
    PLAN_SCALAR,
    PLAN_EXTENT, /* passed as a 32-bit int, 0 .. 2^31 - 1 */
    PLAN_CHECKS  /* hidden: address of a tg_checks in device memory */
} plan_param_kind;

typedef struct plan_param {
    plan_param_kind kind;
    const char *name;
    int arg;      /* the caller's argument; -1 for hidden ones */
    int64_t type; /* element or scalar type */
    int rank;
    plan_expr dim[TG_MAX_RANK];
    int64_t pitch;   /* elements; 0 contiguous */
    plan_expr bytes; /* from the first to past the last element */
    int64_t align;   /* of the pointer */
    bool is_read, is_written, is_constant;
    int alias[4]; /* arguments that may overlap */
    int naliases;
} plan_param;

typedef struct plan_check {
    const char *file;
    int line;
    const char *message;
} plan_check;

/* What a kernel with check() writes: zeroed before the launch; `failed` counts, the rest is of one failure. */
typedef struct tg_checks {
    uint32_t failed;
    int32_t check; /* index into launch_plan.checks */
    int32_t block[3], thread[3];
} tg_checks;

typedef struct launch_plan {
    const char *name; /* of the __global__ function */
    plan_param *params;
    int nparams; /* in the order of the function's parameters */
    int nargs;   /* that the caller gives */
    plan_expr grid[3];
    int threads[3];
    int64_t static_shared, dynamic_shared; /* bytes */
    int64_t max_grid[3];
    int cluster[3];        /* 1: no kernel has clusters yet, but plans in files have room for them */
    bool dependent_launch; /* may start before the launch before it has ended: the kernel waits by itself */
    plan_check *checks;
    int nchecks;
    arena memory;
} launch_plan;

/* The postfix form of an integer expression over launch arguments; false when it is none, or too long. */
bool plan_expr_make(const thread_kernel *t, const node *x, plan_expr *out);

/* NULL without memory. */
launch_plan *plan_make(const thread_kernel *t);
void plan_free(launch_plan *plan);

#endif
