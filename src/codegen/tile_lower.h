/* tile_lower.h -- what the files that turn tile IR into thread IR share.
 *
 *     tile_lower.c     the launch, and a statement after the other
 *     tile_spread.c    work spread over threads: the loops over a thread's slots; registers of fragments
 *     tile_copy.c      copy, clear, fill
 *     tile_parallel.c  parallel
 *     tile_combine.c   partial results of many threads become one
 *     tile_reduce.c    reduce, finalize
 *
 * A statement that all threads share is spread by a layout.  Its text is
 *
 *     for i below 4                     one loop for each slot digit, outermost first
 *         if ..                         where slots hold no element, or replicas must not store
 *             let row = ..              anything that a whole run has in common
 *             for k below 8, try        the run: consecutive elements, in one access where that can be
 *                 ..
 */
#ifndef CODEGEN_TILE_LOWER_H
#define CODEGEN_TILE_LOWER_H

#include "codegen/passes.h"
#include "codegen/tile_layout.h"

typedef struct lowering {
    tg_kernel *k;
    thread_kernel *t;
    arena *a;
    diag *errors;
    /* By id of a fragment or reducer: the local that holds a thread's share; NULL: not yet. */
    buffer **registers;
    const layout **moved; /* by the same: how it is spread since it was finalized; NULL: as before */
    int nregisters;
    int in_parallel; /* parallel loops around what is lowered now */
    node *linear;    /* thread_linear() by a name where it is no name itself; NULL: not used yet */
} lowering;

/* ---- tile_lower.c -------------------------------------------------------------------------------------- */

void lower_block(lowering *l, const tile_block *from, thread_block *b);

/* ---- tile_spread.c: loops over a thread's share -------------------------------------------------------- */

typedef struct spread {
    /* given */
    const layout *layout;
    tg_loc at;
    bool in_registers; /* the slot indexes registers: every loop is unrolled */
    bool once;         /* of replicas one alone comes in (for stores to memory) */
    /* left by spread_begin(): of the first element of a run; by spread_run(): of each element */
    thread_block *block;
    node *slot;               /* number of the register */
    node *index[TG_MAX_RANK]; /* of the element, by the layout's dimensions */
    /* left by spread_begin(): as index, without knowing which threads come in: facts see its range */
    node *proof[TG_MAX_RANK];
    /* left by spread_run() */
    node *run;   /* 0 .. layout->run - 1; NULL where runs have one element */
    int run_dim; /* the dimension along which a run goes; -1: all indices may change */
    /* private */
    node *digit[LAYOUT_DIGITS];
    bool is_guarded;
} spread;

/* Opens the loops over the slot digits but the run, and the guards that a run has in common. */
void spread_begin(lowering *l, thread_block *b, spread *s);
/* Names index d, so that it is computed once; of no effect on what is a name or constant already. */
void spread_name(lowering *l, spread *s, int d, const char *name);
/* Everything that follows stands under a condition; NULL is always true. */
void spread_when(lowering *l, spread *s, node *condition);
/* Opens the loop over the run in s->block. */
void spread_run(lowering *l, spread *s);
/* spread_begin() and spread_run(): the innermost block. */
thread_block *spread_open(lowering *l, thread_block *b, spread *s);
/* Loops over the elements that a thread holds of what is spread by `held` and has the dimensions of `shape`. */
spread spread_elements(lowering *l, thread_block *b, const layout *held, const buffer *shape, bool once,
                       tg_loc at);

/* The linear index of a thread: a name or a constant. */
node *lower_linear(lowering *l, tg_loc at);
/* A condition that holds where both do; NULL is always true. */
node *lower_both(lowering *l, node *x, node *y);

/* ---- tile_spread.c: fragments are registers ------------------------------------------------------------ */

/* The layout of a fragment or reducer: buffer.registers, or that in the shape of the view that it is; chosen freely
 * where no statement has decided. */
const layout *lower_layout(lowering *l, buffer *fragment);
/* The local with a thread's share of a fragment or reducer; a view of it where the fragment is a view. */
buffer *lower_registers(lowering *l, buffer *fragment);
/* One register of it.  (A share of one element is a plain variable.) */
node *lower_register(lowering *l, buffer *fragment, node *slot, tg_loc at);
/* A reducer that is spread otherwise from here on: the local for it, not yet declared. */
buffer *lower_move(lowering *l, const buffer *reducer, const layout *to);
/* Declares it. */
void lower_fragment(lowering *l, buffer *fragment, thread_block *b, tg_loc at);
/* Shared memory for a fragment whose elements other threads need; of the fragment's shape. */
buffer *lower_scratch(lowering *l, const buffer *fragment, tg_loc at);

/* ---- tile_copy.c --------------------------------------------------------------------------------------- */

void lower_copy(lowering *l, const tile_stmt *s, thread_block *b);
void lower_fill(lowering *l, const tile_stmt *s, thread_block *b);
/* How a copy, clear or fill would be spread if nothing else decided: by the memory that it touches.  Over the
 * region of the destination.  `wants_split`: as of layout_spread(). */
layout *copy_layout(tg_kernel *k, const target *t, const tile_stmt *s, bool wants_split);

/* ---- tile_parallel.c ----------------------------------------------------------------------------------- */

void lower_parallel(lowering *l, const tile_stmt *s, thread_block *b);
/* All of a fragment to shared memory of its shape, by the first replicas; and back to every holder. */
void lower_publish(lowering *l, thread_block *b, buffer *fragment, buffer *memory, tg_loc at);
void lower_reload(lowering *l, thread_block *b, buffer *fragment, const buffer *memory, tg_loc at);

/* ---- tile_combine.c ------------------------------------------------------------------------------------ */

/* Partial results: all threads that hold an element by the layout have a part of its reduction. */
typedef struct partials {
    buffer *registers; /* NULL: there are none */
    const layout *layout;
    const buffer *shape; /* whose elements they are: rank, dimensions, type, name */
    tg_reduction reduction;
    /* How what was added was spread: threads that differ in what it does not use are replicas, of which the first
     * alone has added anything; NULL: any thread may have. */
    const layout *from;
    bool is_by_all;        /* all replicas have added the same, each group of them all there is */
    const layout *goes_to; /* finalize: how it may be spread from then on; NULL: as it is */
} partials;

/* New ones that hold the identity; held NULL: every thread may have a part of every element. */
partials partials_begin(lowering *l, thread_block *b, const buffer *shape, tg_reduction reduction,
                        const layout *held, tg_loc at);
/* The identity in each. */
void partials_clear(lowering *l, thread_block *b, const partials *p, tg_loc at);
node *partials_register(lowering *l, const partials *p, node *slot, tg_loc at);
/* x = x combined with y. */
thread_stmt *partials_add(lowering *l, thread_block *b, const partials *p, node *x, node *y, tg_loc at);
/* Gives all holders the reduction. */
void partials_combine(lowering *l, thread_block *b, const partials *p, tg_loc at);

/* ---- tile_reduce.c ------------------------------------------------------------------------------------- */

/* Gives all holders the reduction, and adds the result to the reducer's own. */
void partials_merge(lowering *l, thread_block *b, buffer *reducer, const partials *p, tg_loc at);
void lower_finalize(lowering *l, const tile_stmt *s, thread_block *b);
void lower_reduce(lowering *l, const tile_stmt *s, thread_block *b);

#endif
