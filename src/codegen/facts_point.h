/* facts_point.h -- what facts.c, facts_below.c, facts_apart.c and facts_digits.c share: expressions evaluated at
 * points, affine forms put together and bounded. */
#ifndef CODEGEN_FACTS_POINT_H
#define CODEGEN_FACTS_POINT_H

#include "codegen/facts.h"

/* An expression is judged at so many points at most; the elements of a buffer that threads share, at more. */
enum { POINT_VARS = 12, AXIS_LIMIT = 1024, POINT_LIMIT = 1 << 12, ELEMENT_LIMIT = 1 << 14 };
/* A table of owners has so many elements at most. */
enum { SPAN_LIMIT = 1 << 16 };

/* One value for each variable of an expression. */
typedef struct point {
    int n;
    const var *v[POINT_VARS];
    int64_t lo[POINT_VARS], hi[POINT_VARS], now[POINT_VARS];
} point;

int point_find(const point *p, const var *v); /* its number; -1: not there */
/* Adds the variables of x, names opened; false where one has too many values or is no small integer axis. */
bool point_collect(point *p, const node *x);
int64_t point_count(const point *p); /* saturating */
/* False on a fault, and where x depends on more than the variables of the point. */
bool point_evaluate(const node *x, const point *p, value *out);

/* Points that follow each other, the first variable fastest:
 *
 *     for (point_start(&batch); !batch.is_last;) {
 *         point_take(&p, &batch);
 *         .. point_evaluate_each(x, &batch, values) .. */
typedef struct points {
    int n;
    bool is_last; /* behind them comes the first again */
    const point *of;
    int64_t now[POINT_VARS][EXPR_POINTS];
} points;

/* So many are taken first: often they are enough. */
enum { FIRST_POINTS = 4 };

void point_start(points *none);
/* Those from p on, EXPR_POINTS at most; p goes behind them. */
void point_take(point *p, points *out);
/* x at each of them, as expr_evaluate_each(): a bit for each where it has a value. */
uint64_t point_evaluate_each(const node *x, const points *p, int64_t *out);
uint64_t point_all(const points *p); /* all these bits */

bool facts_multiply(int64_t a, int64_t b, int64_t *out); /* false: leaves 64 bits */
int64_t facts_modulo(int64_t x, int64_t n);              /* 0 .. n - 1 */
/* Names and casts opened that change no value. */
const node *facts_plain(const node *x);
/* a + factor * x; false when it has too many terms or leaves 64 bits. */
bool affine_add(affine *a, const node *x, int64_t factor);
/* lo <= a <= hi by the ranges of its terms; false when they leave 64 bits. */
bool affine_range(const affine *a, int64_t *lo, int64_t *hi);
/* The same, narrower where variables stay below what is known at launch only. */
bool affine_bounds(const affine *a, int64_t *lo, int64_t *hi);
/* A comparison that holds, or with `negated` does not, as a form that is below 0; false where it is none. */
bool affine_below_zero(const node *condition, bool negated, affine *out);
/* x / 16 * 128 + x % 16 * 8 is 8 * x; false when it leaves 64 bits. */
bool affine_rejoin(affine *a);

/* A bit for each point at which the access is made, as far as such of its guards tell; what they do not tell they let
 * in. */
uint64_t facts_let_in(const fact_access *access, unsigned guards, const points *at);

/* A table of n elements, none with an owner yet: the last one cleared, or a larger one. */
int32_t *facts_owners(const fact_block *block, int64_t n);

/* 8 * tid as 256 * (tid / 32) + 8 * (tid % 32), where groups of threads are compared: what tells them apart is a term of
 * its own then. */
void affine_group(const fact_block *block, affine *a);

/* Without the terms that both have and that are one number in both. */
void affine_cancel(affine *a, affine *b);

/* What a term lies in wherever the access is made; false where its product with the factor may leave 64 bits. */
bool facts_term_range(const fact_access *access, const node *x, int64_t factor, int64_t *lo, int64_t *hi);

/* The elements of one access: lanes of them from an offset on. */
typedef struct digits_side {
    const fact_access *access;
    affine a;
    int64_t lanes;
} digits_side;
/* True: shown that no two threads meet, one in a and the other in b.  False says nothing. */
bool facts_digits_apart(const fact_block *block, const digits_side *a, const digits_side *b);
/* The same of accesses that their guards keep inside the rows of one buffer, index by index. */
bool facts_indices_apart(const fact_block *block, const fact_access *a, const fact_access *b);

#endif
