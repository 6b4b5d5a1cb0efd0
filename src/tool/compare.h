/* compare.h -- a tensor against what the reference wants. */
#ifndef TOOL_COMPARE_H
#define TOOL_COMPARE_H

#include "tool/inputs.h"

enum { COMPARE_MAX_WRONG = 8 };

typedef struct wrong_element {
    int64_t place; /* in elements from the tensor's beginning */
    int64_t index[TG_MAX_RANK];
    double got, wanted;
    bool is_unwritten;
    tg_loc written_at; /* the line that wrote it last; file NULL: not known */
} wrong_element;

typedef struct comparison {
    const argument *tensor;
    double tolerance;
    double error; /* ||got - wanted|| / ||wanted|| over the elements that are numbers */
    int64_t elements, wrong, unwritten, nans;
    int64_t wanted_nans; /* of the reference: nothing is right there */
    int nfirst;
    wrong_element first[COMPARE_MAX_WRONG];
    bool is_good;
} comparison;

/* Of a type when the YAML says nothing: f16 1e-3, bf16 8e-3, f32 1e-5, f64 1e-12, integers 0. */
double compare_tolerance(const row *r, int64_t type);

/* Good: no NaN on either side, every element written, the error within the tolerance, no element off by more than 16
 * times the tolerance of itself plus the root mean square; integers and bool: equal. */
void compare_tensor(const argument *a, double tolerance, comparison *out);

/* "output[3] is 1.5, wanted 2 (written last by gemv.c:12)" for each kept element, then how many more. */
void compare_print(const comparison *c, text *out);

#endif
