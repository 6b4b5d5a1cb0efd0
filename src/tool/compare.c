/* compare.c -- a tensor against what the reference wants. */
#include "tool/compare.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "dsl/diag.h"

/* One wrong element among many million moves the norm less than the tolerance, so elements are judged too. */
static const double element_factor = 16;

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

/* Root mean square of what is wanted, over the numbers in it. */
static double scale_of(const argument *a) {
    double sum = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < a->elements; i++) {
        const double x = value_as_real(argument_element(a, a->wanted, argument_place(a, i)));
        if (isfinite(x)) {
            sum += x * x;
            n++;
        }
    }
    return n ? sqrt(sum / (double)n) : 0;
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

static void compare_element(comparison *c, int64_t i, double scale, double sums[2]) {
    const argument *a = c->tensor;
    const int64_t place = argument_place(a, i);
    const value got = argument_element(a, a->after, place), wanted = argument_element(a, a->wanted, place);
    const double x = value_as_real(got), y = value_as_real(wanted);
    bool wrong;
    if (type_is_float(a->type)) {
        wrong = is_wrong(x, y, c->tolerance, scale);
        if (isfinite(x) && isfinite(y)) {
            sums[0] += (x - y) * (x - y);
            sums[1] += y * y;
        }
    } else {
        wrong = got.bits != wanted.bits;
        sums[0] += wrong;
        sums[1] += 1;
    }
    if (wrong) {
        const bool is_unwritten = !a->is_read && is_poison(got);
        c->wrong++;
        c->unwritten += is_unwritten;
        c->nans += type_is_float(a->type) && isnan(x) && !is_unwritten;
        c->wanted_nans += type_is_float(a->type) && isnan(y);
        keep(c, i, place, got, wanted);
    }
}

void compare_tensor(const argument *a, double tolerance, comparison *out) {
    double sums[2] = {0, 0};
    *out = (comparison){.tensor = a, .tolerance = tolerance, .elements = a->elements};
    const double scale = type_is_float(a->type) ? scale_of(a) : 0;
    for (int64_t i = 0; i < a->elements; i++) {
        compare_element(out, i, scale, sums);
    }
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
