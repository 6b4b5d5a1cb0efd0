/* tile_pipeline.h -- what the two files of the pass tile_pipeline share: which copies run ahead.
 *
 *   tile_pipeline.c   decides: which copies may run ahead of their iteration, and why the others may not
 *   tile_ahead.c      rewrites the kernel's body accordingly */
#ifndef CODEGEN_TILE_PIPELINE_H
#define CODEGEN_TILE_PIPELINE_H

#include "codegen/passes.h"

/* A copy of the loop's iteration that is done `stages - 1` iterations before it. */
typedef struct ahead_copy {
    tile_stmt *s;
    buffer *to;          /* gets versions */
    bool is_conditional; /* does not rewrite `to` in every iteration */
    const char *why_not; /* set: it stays where it is */
} ahead_copy;

/* A pipelined loop. */
typedef struct ahead_loop {
    tile_stmt *s;
    int64_t stages; /* versions of each buffer; copies run stages - 1 iterations ahead */
    int n;
    ahead_copy *copy;
    int running;      /* copies that run ahead */
    bool is_async;    /* some go into shared memory */
    bool is_unrolled; /* some go into registers: the version must be a constant */
    bool *needed;     /* by variable id: names that such a copy needs */
} ahead_loop;

/* A buffer with versions.  Into shared memory: one buffer with a leading dimension; into registers: several. */
typedef struct ahead_buffer {
    int64_t versions; /* 0: none */
    bool is_outside;  /* used outside of the loops that fill it ahead: there it is version 0 */
    buffer *wide;     /* shared; also of views of it */
    buffer **part;    /* fragment: by version */
} ahead_buffer;

typedef struct ahead_plan {
    tg_kernel *k;
    const target *t;
    arena *a;
    int nloops;
    ahead_loop *loop;
    ahead_buffer *of; /* by buffer id */
} ahead_plan;

/* The copy of the loop that fills b ahead, or NULL. */
const ahead_copy *ahead_find(const ahead_loop *l, const buffer *b);
/* The plan of a loop, or NULL when nothing runs ahead in it. */
const ahead_loop *ahead_loop_of(const ahead_plan *plan, const tile_stmt *s);
/* The kernel's body, rewritten; the recorded one is kept. */
void ahead_rewrite(ahead_plan *plan);

#endif
