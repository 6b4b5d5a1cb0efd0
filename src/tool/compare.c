/* compare.c -- a tensor against what the reference wants. */
#include "tool/compare.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "dsl/diag.h"

/* One wrong element among many million moves the norm less than the tolerance, so elements are judged too. */
static const double element_factor = 16;

enum { RUN = 512 }; /* elements that are read and compared at a time */

double compare_tolerance(const row *r, int64_t type) {
    for (int i = 0; r && i < r->ntolerances; i++) {
        if (r->tolerances[i].type == type || r->tolerances[i].type == 0) {
            return r->tolerances[i].value;
        }
    }
    switch (type) {
    case TG_F16:
        return 1e-3;
    case TG_BF16:
        return 8e-3;
    case TG_F32:
        return 1e-5;
    case TG_F64:
        return 1e-12;
    default:
        return 0;
    }
}

static bool is_poison(value v) {
    const int bits = type_bits(v.type);
    return v.bits == (bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1);
}

static void keep(comparison *c, int64_t i, int64_t place, value got, value wanted) {
    if (c->nfirst == COMPARE_MAX_WRONG) {
        return;
    }
    const argument *a = c->tensor;
    wrong_element *w = &c->first[c->nfirst++];
    *w = (wrong_element){.place = place, .got = value_as_real(got), .wanted = value_as_real(wanted)};
    w->is_unwritten = !a->is_read && is_poison(got);
    for (int d = a->rank; d-- > 0;) {
        w->index[d] = i % a->dim[d];
        i /= a->dim[d];
    }
}

/* A run of floats that lie side by side, as doubles. */
static void read_run(const argument *a, const void *data, int64_t place, int64_t n, double *out) {
    static double half[2][1 << 16];
    if (a->type == TG_F32 || a->type == TG_F64) {
        for (int64_t i = 0; i < n; i++) {
            out[i] = a->type == TG_F32 ? (double)((const float *)data)[place + i]
                                       : ((const double *)data)[place + i];
        }
        return;
    }
    double *of = half[a->type == TG_BF16];
    if (of[1] == 0) { /* bits 1 are the smallest number above 0 */
        for (uint64_t bits = 0; bits < 1 << 16; bits++) {
            of[bits] = value_as_real((value){a->type, bits});
        }
    }
    for (int64_t i = 0; i < n; i++) {
        out[i] = of[((const uint16_t *)data)[place + i]];
    }
}

/* How many elements from element i on lie side by side, a buffer full at most. */
static int64_t run_from(const argument *a, int64_t i) {
    const int64_t inner = a->rank ? a->dim[a->rank - 1] : 1, left = inner - i % inner;
    return left < RUN ? left : RUN;
}

/* Root mean square of what is wanted, over the numbers in it. */
static double scale_of(const argument *a) {
    double sum = 0, wanted[RUN];
    int64_t count = 0;
    for (int64_t i = 0, n; i < a->elements; i += n) {
        n = run_from(a, i);
        read_run(a, a->wanted, argument_place(a, i), n, wanted);
        for (int64_t k = 0; k < n; k++) {
            const bool is_number = isfinite(wanted[k]);
            sum += is_number ? wanted[k] * wanted[k] : 0;
            count += is_number;
        }
    }
    return count ? sqrt(sum / (double)count) : 0;
}

static bool is_wrong(double got, double wanted, double tolerance, double scale) {
    if (isnan(got) || isnan(wanted)) {
        return true;
    }
    if (isinf(got) || isinf(wanted)) {
        return got != wanted;
    }
    return fabs(got - wanted) > element_factor * tolerance * (fabs(wanted) + scale);
}

/* An element that is not what is wanted to the bit. */
static void judge(comparison *c, int64_t i, double scale, double x, double y) {
    const argument *a = c->tensor;
    const int64_t place = argument_place(a, i);
    const value got = argument_element(a, a->after, place), wanted = argument_element(a, a->wanted, place);
    const bool is_float = type_is_float(a->type);
    if (is_float ? is_wrong(x, y, c->tolerance, scale) : got.bits != wanted.bits) {
        const bool is_unwritten = !a->is_read && is_poison(got);
        c->wrong++;
        c->unwritten += is_unwritten;
        c->nans += is_float && isnan(x) && !is_unwritten;
        c->wanted_nans += is_float && isnan(y);
        keep(c, i, place, got, wanted);
    }
}

/* sums: squares of the differences and of what is wanted, over numbers. */
static void compare_floats(comparison *c, double sums[2]) {
    const argument *a = c->tensor;
    double got[RUN], wanted[RUN], scale = -1;
    for (int64_t i = 0, n; i < a->elements; i += n) {
        n = run_from(a, i);
        read_run(a, a->after, argument_place(a, i), n, got);
        read_run(a, a->wanted, argument_place(a, i), n, wanted);
        for (int64_t k = 0; k < n; k++) {
            const double x = got[k], y = wanted[k];
            if (isfinite(x) && isfinite(y)) {
                sums[0] += (x - y) * (x - y);
                sums[1] += y * y;
            }
            if (x != y) {
                scale = scale < 0 ? scale_of(a) : scale;
                judge(c, i + k, scale, x, y);
            }
        }
    }
}

/* sums: elements that differ, and all. */
static void compare_integers(comparison *c, double sums[2]) {
    const argument *a = c->tensor;
    const int64_t bytes = type_bytes(a->type);
    for (int64_t i = 0, n; i < a->elements; i += n) {
        const int64_t at = argument_place(a, i) * bytes;
        n = run_from(a, i);
        if (memcmp((const char *)a->after + at, (const char *)a->wanted + at, (size_t)(n * bytes)) != 0) {
            for (int64_t k = 0; k < n; k++) {
                judge(c, i + k, 0, 0, 0);
            }
        }
    }
    sums[0] = (double)c->wrong;
    sums[1] = (double)a->elements;
}

void compare_tensor(const argument *a, double tolerance, comparison *out) {
    double sums[2] = {0, 0};
    *out = (comparison){.tensor = a, .tolerance = tolerance, .elements = a->elements};
    (type_is_float(a->type) ? compare_floats : compare_integers)(out, sums);
    out->error = out->nans || (out->unwritten && type_is_float(a->type)) ? (double)NAN
                 : sums[0] == 0                                          ? 0
                                : sqrt(sums[0]) / (sums[1] > 0 ? sqrt(sums[1]) : 1);
    out->is_good = out->wrong == 0 && out->error <= tolerance;
}

/* C prints the sign of a NaN, which means nothing. */
static void print_number(text *out, double x) {
    if (isnan(x)) {
        text_add(out, "nan");
    } else {
        text_print(out, "%.9g", x);
    }
}

static void print_element(const comparison *c, const wrong_element *w, text *out) {
    text_print(out, "  %s[", c->tensor->name);
    for (int d = 0; d < c->tensor->rank; d++) {
        text_print(out, "%s%" PRId64, d ? ", " : "", w->index[d]);
    }
    text_add(out, w->is_unwritten ? "] was never written" : "] is ");
    if (!w->is_unwritten) {
        print_number(out, w->got);
    }
    text_add(out, ", wanted ");
    print_number(out, w->wanted);
    if (w->written_at.file) {
        text_print(out, " (written last by %s:%d)", diag_base(w->written_at.file), w->written_at.line);
    }
    text_add(out, "\n");
}

void compare_print(const comparison *c, text *out) {
    if (c->wrong) {
        text_print(out, "%" PRId64 " of %" PRId64 " elements of %s are wrong", c->wrong, c->elements,
                   c->tensor->name);
        if (c->nans) {
            text_print(out, ", %" PRId64 " NaN", c->nans);
        }
        if (c->wanted_nans) {
            text_print(out, " (the reference has %" PRId64 " NaN itself: do the inputs make sense?)",
                       c->wanted_nans);
        }
        if (c->unwritten) {
            text_print(out, ", %" PRId64 " never written", c->unwritten);
        }
        text_add(out, ":\n");
    }
    for (int i = 0; i < c->nfirst; i++) {
        print_element(c, &c->first[i], out);
    }
    if (c->wrong > c->nfirst) {
        text_print(out, "  and %" PRId64 " more\n", c->wrong - c->nfirst);
    }
}
