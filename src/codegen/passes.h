/* passes.h -- the passes that pipeline.c runs, and what the files of one pass share. */
#ifndef CODEGEN_PASSES_H
#define CODEGEN_PASSES_H

#include "codegen/facts.h"
#include "codegen/thread.h"
#include "dsl/tile.h"

/* ---- on tiles ------------------------------------------------------------------------------------------ */

/* The rules that need the target; mistakes go to the kernel's errors. */
void tile_verify(tg_kernel *k, const target *t);
/* Copies of pipelined loops run ahead; the recorded body is kept where anything is rewritten. */
void tile_pipeline(tg_kernel *k, const target *t);
/* Which tensors are read once: buffer.read_once, buffer.reread. */
void tile_once(tg_kernel *k, const target *t);
void tile_once_print(const tg_kernel *k, text *out);
/* Tile IR to thread IR; in k's arena. */
thread_kernel *tile_lower(tg_kernel *k, const target *t);

/* ---- on threads ---------------------------------------------------------------------------------------- */

typedef void thread_pass(thread_kernel *t, diag *errors);
thread_pass thread_bounds, thread_vectorize, thread_atomics, thread_simplify, thread_early, thread_dependent,
    thread_sync, thread_banks, thread_arena;
/* Besides thread_verify: every shared buffer has a place, and those that share bytes are never needed at once. */
bool thread_arena_verify(const thread_kernel *t, text *error);
/* Besides thread_verify: a dependent launch waits once, before all that it may not touch earlier. */
bool thread_dependent_verify(const thread_kernel *t, text *error);

/* ---- making thread IR ---------------------------------------------------------------------------------- */

/* A new buffer or variable of the kernel; the name is copied. */
buffer *thread_buffer(thread_kernel *t, tg_space space, const char *name, int64_t type, tg_loc at);
var *thread_variable(thread_kernel *t, var_kind kind, const char *name, int64_t type, tg_loc at);
/* A let and its variable. */
var *thread_let(thread_kernel *t, thread_block *b, const char *name, node *x);
/* A loop and its variable, 0 .. extent - 1. */
thread_stmt *thread_for(thread_kernel *t, thread_block *b, const char *name, node *extent);
thread_stmt *thread_if(thread_kernel *t, thread_block *b, node *condition);
thread_stmt *thread_store(thread_kernel *t, thread_block *b, node *dst, node *x);
/* The index of a thread along an axis; made where the kernel has not named the axis. */
node *thread_axis(thread_kernel *t, tg_loc at, int axis);
/* x + X * (y + Y * z). */
node *thread_linear(thread_kernel *t, tg_loc at);

/* The opposite of a condition, as a person would write it. */
node *thread_not(arena *a, node *condition);
/* x with some nodes replaced: fn gives the new node, or NULL to look below; x itself when none is. */
node *thread_map(arena *a, node *x, node *(*fn)(node *x, void *user), void *user);

/* ---- looking at and changing statements ---------------------------------------------------------------- */

/* What a shared buffer takes of the block's memory: whole rows with their padding. */
int64_t thread_shared_bytes(const buffer *b);
/* Does s, bodies included, touch the buffer, through views too? */
bool thread_touches(thread_stmt *s, const buffer *b);
/* x for every use of v in a block; names that depend on v are known by their new values. */
void thread_replace(thread_kernel *t, thread_block *b, const var *v, node *x);
/* Keeps track of what is uniform over s, bodies not included. */
void thread_note(const thread_kernel *t, uniformity *u, thread_stmt *s);

/* allreduce: appends to b what gives `result` the reduction of value along thread axis `axis`. */
typedef struct allreduce {
    var *result;
    node *value;
    tg_reduction reduction;
    int axis;
    tg_loc at;
} allreduce;
void thread_allreduce(thread_kernel *t, thread_block *b, const allreduce *r);
/* Runs of so many threads along an axis lie in one wave and can shuffle; 1 when none do. */
int64_t thread_lanes_along(const thread_kernel *t, int axis);
/* The same over one such run of more than one thread. */
void thread_reduce_lanes(thread_kernel *t, thread_block *b, const allreduce *r);

#endif
