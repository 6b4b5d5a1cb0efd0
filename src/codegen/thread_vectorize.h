/* thread_vectorize.h -- what the two files of the pass thread_vectorize share: a loop that becomes wide.
 *
 *   thread_vectorize.c   decides: what the loop accesses, how wide that may be, what forbids it
 *   thread_wide.c        rewrites the loop accordingly */
#ifndef CODEGEN_THREAD_VECTORIZE_H
#define CODEGEN_THREAD_VECTORIZE_H

#include "codegen/passes.h"

enum { WIDE_MAX_ACCESSES = 64 };

typedef struct wide_access {
    node *ref;
    tg_loc at;
    node *guard; /* NULL: always made */
    bool is_write, is_atomic, moves;
    bool is_scattered; /* a load that is made once an iteration, whatever the others do */
    affine first;      /* element offset in the first iteration; only where it moves */
} wide_access;

/* A loop, and what is decided of it. */
typedef struct wide_loop {
    thread_kernel *t;
    arena *a;
    diag *errors;
    thread_stmt *loop;
    var *k;
    int64_t extent;
    int lanes;                      /* elements of a piece, by which the extent can be divided */
    bool failed, is_trial, is_copy; /* is_copy: nothing but copies between equal types, and constants */
    thread_scope participants;      /* of the accesses */
    int share;
    bool hands_over;
    const struct layout *spread;
    int n;
    wide_access item[WIDE_MAX_ACCESSES];
} wide_loop;

bool wide_is_memory(const buffer *b); /* not registers */
/* The guard of what stands under b within a; a NULL: no more than b. */
node *wide_both(wide_loop *w, node *a, node *b);
/* y's element minus x's in the same iteration, where it is one number. */
bool wide_distance(wide_loop *w, const wide_access *x, const wide_access *y, int64_t *d);
/* Does x, names opened, read what the loop stores? */
bool wide_reads_stored(const wide_loop *w, const node *x);
/* The loop over pieces in place of the loop over elements; nothing that has been found of it forbids that. */
void wide_rewrite(wide_loop *w);

#endif
