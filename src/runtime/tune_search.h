/* tune_search.h -- in which order configurations are tried.  Knows nothing of kernels, compilers or GPUs.
 *
 * Every point is proposed once, so a search that is never cut short is exhaustive.  One that will be cut short (a
 * budget) should meet good points early: every other proposal is then a neighbour of one of the best points so far
 * (one value, one step up or down among the values that occur), the others are drawn by seed.  Point 0 comes first:
 * the defaults, by which the others are judged. */
#ifndef TG_RUNTIME_TUNE_SEARCH_H
#define TG_RUNTIME_TUNE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tune_search tune_search;

typedef struct tune_search_options {
    uint64_t seed;
    bool in_order; /* first to last instead: for a search that will not be cut short */
} tune_search_options;

/* n points of `width` values each, row by row; borrowed.  NULL without memory. */
tune_search *tune_search_new(const int64_t *values, int n, int width, const tune_search_options *options);
void tune_search_free(tune_search *s); /* accepts NULL */

/* The next point to try; -1: all were proposed. */
int tune_search_next(tune_search *s);
/* How long a point took; a failed one is not told. */
void tune_search_tell(tune_search *s, int point, double us);

/* A bijection of 0 .. n-1 for each seed: the i-th of a shuffled deck, without the deck. */
uint64_t tune_search_shuffled(uint64_t i, uint64_t n, uint64_t seed);

#endif
