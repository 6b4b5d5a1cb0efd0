/* sim_kernel.h -- makes thread IR by hand, for the tests of the simulator.
 *
 * A kernel is written statement by statement, each at a line of its own of the made-up file "kernel.c", so
 * that findings can be checked to the line.  begin() .. end(); then run() gives it to the simulator. */
#ifndef TESTS_SIM_KERNEL_H
#define TESTS_SIM_KERNEL_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/thread.h"
#include "sim/sim.h"

enum { MAKE_MAX = 64 };

typedef struct maker {
    arena memory;
    thread_kernel t;
    thread_block *block; /* where the next statement goes */
    thread_block *outer[16];
    int depth;
    buffer *buffers[MAKE_MAX];
    thread_param params[MAKE_MAX];
    thread_check checks[MAKE_MAX];
    witness_arg args[MAKE_MAX];
    int nargs;
    node *tid, *pid;
    sim_result result;
    text error;
    int status;
} maker;

static inline tg_loc line(int n) {
    return (tg_loc){"kernel.c", n};
}

static inline var *make_var(maker *m, var_kind kind, const char *name, int64_t type) {
    var *v = ARENA_NEW(&m->memory, var);
    *v =
        (var){.kind = kind, .name = name, .type = type, .lo = INT32_MIN, .hi = INT32_MAX, .id = m->t.nvars++};
    return v;
}

static inline node *index_node(maker *m, int64_t x) {
    return expr_int(&m->memory, line(1), x);
}

/* `blocks` of `threads`; m->pid and m->tid are their numbers. */
static inline void begin(maker *m, const char *machine, int64_t blocks, int64_t threads) {
    memset(m, 0, sizeof *m);
    m->t.name = "made";
    m->t.memory = &m->memory;
    m->t.target = target_find(machine);
    cr_assert_not_null(m->t.target);
    m->t.params = m->params;
    m->t.buffers = m->buffers;
    m->t.checks = m->checks;
    m->t.grid[0] = index_node(m, blocks);
    m->t.grid[1] = m->t.grid[2] = index_node(m, 1);
    m->t.threads[0] = threads;
    m->t.threads[1] = m->t.threads[2] = 1;
    m->t.grid_var[0] = make_var(m, VAR_GRID, "pid", TYPE_INDEX);
    m->t.thread_var[0] = make_var(m, VAR_THREAD, "tid", TYPE_INDEX);
    m->t.thread_var[0]->lo = 0;
    m->pid = expr_var(&m->memory, line(1), m->t.grid_var[0]);
    m->tid = expr_var(&m->memory, line(1), m->t.thread_var[0]);
    m->block = &m->t.body;
}

static inline buffer *make_buffer(maker *m, tg_space space, const char *name, int64_t type, int rank,
                                  const int64_t *dim) {
    buffer *b = ARENA_NEW(&m->memory, buffer);
    *b = (buffer){.name = name,
                  .space = space,
                  .type = type,
                  .rank = rank,
                  .align = 16,
                  .arg = -1,
                  .id = m->t.nbuffers,
                  .at = line(2)};
    for (int i = 0; i < rank; i++) {
        b->dim[i] = dim[i];
    }
    m->buffers[m->t.nbuffers++] = b;
    return b;
}

/* Rank 1 of n elements; n 0: rank 0. */
static inline buffer *make(maker *m, tg_space space, const char *name, int64_t type, int64_t n) {
    return make_buffer(m, space, name, type, n > 0, &n);
}

static inline buffer *make_tensor(maker *m, const char *name, int64_t type, int64_t n, void *data) {
    buffer *b = make(m, TG_GLOBAL, name, type, n);
    b->arg = m->nargs;
    m->params[m->t.nparams++] = (thread_param){PARAM_TENSOR, b, NULL};
    m->args[m->nargs++] = (witness_arg){.data = data, .bytes = (size_t)(n * type_bytes(type))};
    return b;
}

static inline node *make_scalar(maker *m, const char *name, value v) {
    var *x = make_var(m, v.type == TYPE_INDEX ? VAR_EXTENT : VAR_SCALAR, name, v.type);
    m->params[m->t.nparams++] = (thread_param){v.type == TYPE_INDEX ? PARAM_EXTENT : PARAM_SCALAR, NULL, x};
    m->args[m->nargs++] = (witness_arg){.scalar = v};
    return expr_var(&m->memory, line(1), x);
}

/* ---- expressions --------------------------------------------------------------------------------------- */

static inline node *op2(maker *m, tg_op op, node *a, node *b) {
    return expr_binary(&m->memory, line(1), op, a, b);
}

static inline node *number(maker *m, int64_t type, double x) {
    return expr_const(&m->memory, line(1), value_real(type, x));
}

static inline node *place(maker *m, int at, buffer *b, node *index) {
    return expr_ref(&m->memory, line(at), b, b->rank, &index, 1);
}

static inline node *place_wide(maker *m, int at, buffer *b, node *index, int lanes) {
    return expr_ref(&m->memory, line(at), b, b->rank, &index, lanes);
}

static inline node *load(maker *m, int at, buffer *b, node *index) {
    return expr_load(&m->memory, line(at), place(m, at, b, index));
}

/* ---- statements ---------------------------------------------------------------------------------------- */

static inline thread_stmt *say(maker *m, thread_kind kind, int at) {
    return thread_append(&m->memory, m->block, kind, line(at));
}

static inline void store(maker *m, int at, buffer *b, node *index, node *x) {
    thread_stmt *s = say(m, THREAD_STORE, at);
    s->dst = place(m, at, b, index);
    s->value = x;
}

static inline void accumulate(maker *m, int at, buffer *b, node *index, node *x) {
    store(m, at, b, index, x);
    m->block->last->accumulates = true;
}

static inline void atomic(maker *m, int at, tg_reduction r, buffer *b, node *index, node *x) {
    thread_stmt *s = say(m, THREAD_ATOMIC, at);
    s->reduction = r;
    s->dst = place(m, at, b, index);
    s->value = x;
}

static inline void declare(maker *m, int at, buffer *b, node *x) {
    thread_stmt *s = say(m, THREAD_DECL, at);
    s->buffer = b;
    s->value = x;
}

static inline void barrier(maker *m, int at) {
    say(m, THREAD_BARRIER, at)->participants = SCOPE_BLOCK;
}

static inline void into(maker *m, thread_block *b) {
    m->outer[m->depth++] = m->block;
    m->block = b;
}

static inline void leave(maker *m) {
    m->block = m->outer[--m->depth];
}

static inline void when(maker *m, int at, node * condition) {
    thread_stmt *s = say(m, THREAD_IF, at);
    s->value = condition;
    into(m, &s->body);
}

/* Turns from the branch just left to its other side. */
static inline void otherwise(maker *m) {
    leave(m);
    into(m, &m->block->last->otherwise);
}

static inline var **results(maker *m, var *v) {
    var **r = ARENA_NEW(&m->memory, var *);
    *r = v;
    return r;
}

static inline node *loop(maker *m, int at, const char *name, node *extent) {
    thread_stmt *s = say(m, THREAD_FOR, at);
    var *v = make_var(m, VAR_LOOP, name, TYPE_INDEX);
    s->result = results(m, v);
    s->nresults = 1;
    s->extent = extent;
    into(m, &s->body);
    return expr_var(&m->memory, line(at), v);
}

static inline node *let(maker *m, int at, const char *name, node *x) {
    thread_stmt *s = say(m, THREAD_LET, at);
    var *v = make_var(m, VAR_LET, name, x->type);
    s->result = results(m, v);
    s->nresults = 1;
    s->value = x;
    return expr_var(&m->memory, line(at), v);
}

static inline node *lanes(maker *m, int at, thread_kind kind, tg_reduction r, node *x, int stride,
                          int width) {
    thread_stmt *s = say(m, kind, at);
    var *v = make_var(m, VAR_LET, "lanes", x->type);
    s->result = results(m, v);
    s->nresults = 1;
    s->value = x;
    s->reduction = r;
    s->stride = stride;
    s->width = width;
    return expr_var(&m->memory, line(at), v);
}

/* ---- running ------------------------------------------------------------------------------------------- */

static inline sim_result *run_with(maker *m, const sim_options *options) {
    sim_free(&m->result);
    m->status = sim_run(&m->t, m->nargs, m->args, options, &m->result, &m->error);
    return &m->result;
}

static inline const findings *run(maker *m) {
    run_with(m, NULL);
    cr_assert_eq(m->status, TG_OK, "%s", m->error.s ? m->error.s : "");
    return &m->result.findings;
}

static inline void end(maker *m) {
    sim_free(&m->result);
    text_free(&m->error);
    arena_free(&m->memory);
}

static inline void expect_none(const findings *f) {
    text t = {0};
    findings_print(f, &t);
    cr_assert_eq(f->n, 0, "%s", t.s ? t.s : "");
    text_free(&t);
}

/* Exactly one finding, of that kind, at that line, the other side at `other` (0: none). */
static inline const finding *expect_one(const findings *f, finding_kind kind, int at, int other) {
    text t = {0};
    findings_print(f, &t);
    cr_assert_eq(f->n, 1, "%s", t.s ? t.s : "nothing found");
    cr_assert_eq(f->item[0].kind, kind, "%s", t.s);
    cr_assert_eq(f->item[0].at.line, at, "%s", t.s);
    cr_assert_eq(f->item[0].other.file ? f->item[0].other.line : 0, other, "%s", t.s);
    text_free(&t);
    return &f->item[0];
}

#endif
