/* tile_decide.h -- layouts that follow from each other: a fragment seen from a loop and a loop from a fragment.
 *
 * A reference f[index..] inside parallel(a, n, b, m) ties dimensions of f to axes of the loop:
 *
 *     f[a, b]        each dimension follows an axis
 *     f[a]           b is dropped: threads that differ in b alone hold the same elements
 *     f[a, b / 32]   the digits of b from 32 upwards
 *     f[a, k]        k is no axis: all of that dimension lies in each thread's registers */
#ifndef CODEGEN_TILE_DECIDE_H
#define CODEGEN_TILE_DECIDE_H

#include "codegen/tile_layout.h"

/* Which digits of a loop's axis a dimension follows: those of places lo up to hi; axis -1: of none. */
typedef struct tie {
    int axis;
    int64_t lo, hi;
} tie;

/* How each dimension of the fragment under `ref` follows the axes of loop s; false where one does otherwise. */
bool decide_ties(const tile_stmt *s, const node *ref, tie *ties);
/* The layout in which a thread holds what it touches through `ref` when the loop is spread by `loop`; NULL. */
layout *decide_from_loop(arena *a, const layout *loop, const tile_stmt *s, const node *ref);
/* The slot of that layout, as an expression over the loop's slot; for layouts decide_from_loop() gave. */
node *decide_slot(arena *a, const layout *loop, const tile_stmt *s, const node *ref, const layout *held,
                  node *slot);
/* `held` without dimension dim; NULL when it is not split. */
layout *decide_without(arena *a, const layout *held, int dim);
/* All elements in every thread, slots in row-major order; known by its reason. */
extern const char decide_everywhere_why[];
layout *decide_everywhere(arena *a, int rank, const int64_t *dim, int64_t threads);
/* Has every thread another element, or may threads be replicas of one another? */
bool layout_has_replicas(const layout *l);

/* Runs fn on every reference in the body of s, nested statements included. */
typedef void decide_visit(node *ref, bool is_write, const tile_stmt *at, void *user);
void decide_refs(const tile_stmt *s, decide_visit *fn, void *user);

/* Copies into shared memory, among n statements that all threads share, that each warp makes for itself: their
 * tile_stmt.spread.  Loops have theirs. */
void tile_by_warp(tg_kernel *k, const target *t, tile_stmt **item, int n);

/* An element written by one iteration of a parallel loop and touched by another is a mistake. */
void tile_independent(tg_kernel *k);

/* The tables of every fragment, reducer and spread statement. */
void tile_layout_print(const tg_kernel *k, text *out);

#endif
