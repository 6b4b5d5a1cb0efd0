/* facts.h -- what is known about index expressions: uniform, inside, aligned, true, disjoint.
 *
 * Affine forms and divisors answer first; the judge is enumeration over thread axes and small loop axes.
 * Block axes, long loops and launch-time extents enter by range and by residue.  FACT_UNKNOWN is an answer:
 * whoever asks must then guard, narrow or put a barrier.
 *
 * A name (let) stands for its value, unless that value comes from memory, which may have changed since. */
#ifndef CODEGEN_FACTS_H
#define CODEGEN_FACTS_H

#include "dsl/expr.h"

typedef enum fact { FACT_NO, FACT_YES, FACT_UNKNOWN } fact;

/* An index as constant + sum of factor * term; terms are variables, or expressions that are not affine. */
enum { AFFINE_TERMS = 8 };
typedef struct affine {
    int64_t constant;
    int n;
    struct {
        const node *x;
        int64_t factor;
    } term[AFFINE_TERMS];
} affine;

/* False when it has too many terms or leaves 64 bits. */
bool affine_of(const node *x, affine *out);
/* a = a - b; false as above. */
bool affine_subtract(affine *a, const affine *b);
/* The form is a multiple of n at all times; n is small. */
fact affine_aligned(const affine *a, int64_t n);
/* How much x grows when v grows by one, into *step; false when that is not one number. */
bool affine_step(const node *x, const var *v, int64_t *step);

/* What a name stands for; x itself for everything else, and for names of what memory held at that time. */
const node *facts_meaning(const node *x);
/* Does the value of x depend on v, through names too? */
bool facts_depends(const node *x, const var *v);
/* Is any element read, directly or through names? */
bool facts_reads_memory(const node *x);

/* lo <= x <= hi at all times. */
fact facts_inside(const node *x, int64_t lo, int64_t hi);
/* x is a multiple of n at all times; n is small. */
fact facts_aligned(const node *x, int64_t n);
/* A condition holds at all times (YES), never (NO), or neither is shown. */
fact facts_truth(const node *condition);
/* The same of a comparison where another one holds. */
fact facts_truth_given(const node *condition, const node *known);

/* ---- values that all threads of a block share ---------------------------------------------------------- */

/* State while walking statements in order. */
typedef struct uniformity {
    arena *memory;
    int nvars, nbuffers;
    unsigned char *let;   /* by variable id: the fact of a let, plus one; 0 unknown yet */
    unsigned char *dirty; /* by buffer id: written since the last barrier */
} uniformity;

uniformity *uniformity_new(arena *a, int nvars, int nbuffers);
void uniformity_let(uniformity *u, const var *v, fact is_uniform);
void uniformity_write(uniformity *u, buffer *b);
void uniformity_barrier(uniformity *u);
/* NO only where two threads of one block are shown to differ. */
fact facts_uniform(const uniformity *u, const node *x);

/* ---- accesses of different threads --------------------------------------------------------------------- */

/* The threads of a block, and room to tell their elements apart. */
typedef struct fact_block {
    arena *memory;
    var *thread_var[3]; /* x first; NULL where the axis has one thread */
    struct fact_owners *owners;
    int64_t group; /* so many threads in a row count as one: 1, or the lanes of a warp to compare warps */
} fact_block;      /* without owners only for facts_apart_anywhere() */
fact_block facts_block(arena *memory, var *const thread_var[3]);

/* Elements that a statement touches, and the conditions under which it does. */
enum { FACT_GUARDS = 8 };
typedef struct fact_access {
    node *ref;
    int n;
    struct {
        node *condition;
        bool negated;
    } guard[FACT_GUARDS];
} fact_access;

/* YES: two different threads (or groups) of one block never touch a common byte, one through a and the other through b.
 * Variables of loops that both name have the same value in both: one iteration.  A name that stands for what
 * memory held, too, is the same in both. */
fact facts_apart(const fact_block *block, const fact_access *a, const fact_access *b);
/* The same where variables that are no threads have any two values; shown from the factors of the offsets alone. */
fact facts_apart_anywhere(const fact_block *block, const fact_access *a, const fact_access *b);

#endif
