/* tile_reference_orders.c -- runs a launch in two orders and compares: does the kernel say what comes out?
 *
 * Reads the tensors before and after.  Both runs work in the caller's memory, so that tensors which overlap
 * do so in both; the contents are put back in between.
 *
 * Sums of floats depend on their order in the last bits.  Where the kernel leaves such an order open
 * (atomic_add on floats, SUM reducers of floats) floats are compared to a tolerance: a few roundings of the
 * largest element of the tensor.  Integers are always compared bit for bit, also those computed from such
 * sums. */
#include "sim/tile_reference_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- contents of all tensors --------------------------------------------------------------------------- */

/* Bytes of argument i that are compared: those of tensors. */
static size_t tensor_bytes(const tg_kernel *k, const witness_arg *args, int i) {
    return k->args[i].tensor != NULL && args[i].data != NULL ? args[i].bytes : 0;
}

static size_t total_bytes(const tg_kernel *k, const witness_arg *args) {
    size_t n = 1;
    for (int i = 0; i < k->nargs; i++) {
        n += tensor_bytes(k, args, i);
    }
    return n;
}

static void save(const tg_kernel *k, const witness_arg *args, unsigned char *to) {
    for (int i = 0; i < k->nargs; i++) {
        const size_t n = tensor_bytes(k, args, i);
        if (n > 0) {
            memcpy(to, args[i].data, n);
            to += n;
        }
    }
}

static void restore(const tg_kernel *k, const witness_arg *args, const unsigned char *from) {
    for (int i = 0; i < k->nargs; i++) {
        const size_t n = tensor_bytes(k, args, i);
        if (n > 0) {
            memcpy(args[i].data, from, n);
            from += n;
        }
    }
}

/* ---- tolerance ----------------------------------------------------------------------------------------- */

static bool sums_in_any_order(const tile_block *b) {
    for (const tile_stmt *s = b->first; s != NULL; s = s->next) {
        const buffer *dst = s->dst != NULL ? buffer_root(s->dst->buffer) : NULL;
        const bool adds = (s->kind == TILE_ATOMIC && s->reduction == TG_SUM) ||
                          (s->kind == TILE_ACCUM && dst->space == TG_REDUCER && dst->reduction == TG_SUM);
        if ((adds && type_is_float(s->dst->buffer->type)) || sums_in_any_order(&s->body) ||
            sums_in_any_order(&s->otherwise)) {
            return true;
        }
    }
    return false;
}

/* Relative to the largest element: some 2^12 roundings of f32 and f64, four of the 16-bit types. */
static double tolerance(int64_t type) {
    switch (type) {
    case TG_F16:
        return 0x1p-8;
    case TG_BF16:
        return 0x1p-5;
    case TG_F32:
        return 0x1p-12;
    default:
        return 0x1p-40;
    }
}

/* ---- comparison ---------------------------------------------------------------------------------------- */

/* Two contents of one tensor. */
typedef struct pair {
    const unsigned char *a, *b;
    int64_t type;
    size_t size, bytes;
    double slack; /* difference allowed; negative: bit for bit */
} pair;

static value element(const pair *p, const unsigned char *bytes, size_t i) {
    value v = {.type = p->type, .bits = 0};
    memcpy(&v.bits, bytes + i * p->size, p->size);
    return v;
}

static double largest(const pair *p) {
    double most = 0;
    for (size_t i = 0; i < p->bytes / p->size; i++) {
        const double x = fabs(value_as_real(element(p, p->a, i)));
        most = isfinite(x) && x > most ? x : most;
    }
    return most;
}

static bool same(const pair *p, size_t i) {
    if (memcmp(p->a + i * p->size, p->b + i * p->size, p->size) == 0) {
        return true;
    }
    const double x = value_as_real(element(p, p->a, i)), y = value_as_real(element(p, p->b, i));
    return p->slack >= 0 && ((isnan(x) && isnan(y)) || fabs(x - y) <= p->slack);
}

/* The index of element i, in memory order, as text: "3, 17". */
static void print_index(const buffer *b, size_t i, text *out) {
    int64_t index[TG_MAX_RANK], rest = (int64_t)i;
    for (int d = b->rank - 1; d > 0; d--) {
        const int64_t length = d == b->rank - 1 && b->pitch > 0 ? b->pitch : b->dim[d];
        index[d] = rest % length;
        rest /= length;
    }
    index[0] = rest;
    for (int d = 0; d < b->rank; d++) {
        text_print(out, "%s%lld", d > 0 ? ", " : "", (long long)index[d]);
    }
}

static void differs(findings *all, const buffer *b, const pair *p, size_t i) {
    const tg_loc none = {NULL, 0};
    finding *f = findings_add(all, FINDING_ORDER, b->at, none);
    if (f == NULL || f->count > 1) {
        return;
    }
    text t = {0};
    text_print(&t, "'%s[", b->name);
    print_index(b, i, &t);
    text_print(&t, "]' is %.9g in one order of blocks, threads and iterations and %.9g in another",
               value_as_real(element(p, p->a, i)), value_as_real(element(p, p->b, i)));
    snprintf(f->text, sizeof f->text, "%s", t.s != NULL ? t.s : "");
    text_free(&t);
}

static void compare(const tg_kernel *k, const witness_arg *args, const unsigned char *other, findings *all) {
    const bool any_order = sums_in_any_order(&k->body);
    for (int i = 0; i < k->nargs; i++) {
        const buffer *b = k->args[i].tensor;
        if (tensor_bytes(k, args, i) == 0) {
            continue;
        }
        pair p = {.a = args[i].data, .b = other, .type = b->type, .bytes = args[i].bytes, .slack = -1};
        p.size = (size_t)type_bytes(b->type);
        other += p.bytes;
        if (any_order && type_is_float(b->type)) {
            p.slack = tolerance(b->type) * largest(&p);
        }
        for (size_t e = 0; e < p.bytes / p.size; e++) {
            if (!same(&p, e)) {
                differs(all, b, &p, e);
            }
        }
    }
}

/* ---- both runs ----------------------------------------------------------------------------------------- */

static bool gave_up(const findings *f) {
    for (int i = 0; i < f->n; i++) {
        if (f->item[i].kind == FINDING_LIMIT) {
            return true;
        }
    }
    return false;
}

static int run_other(tg_kernel *k, int nargs, witness_arg *args, reference_options options, findings *all,
                     text *error) {
    reference_result result;
    options.backwards = !options.backwards;
    const int status = tile_reference_run(k, nargs, args, &options, &result, error);
    findings_join(all, &result.findings);
    reference_free(&result);
    return status;
}

int tile_reference_orders(tg_kernel *k, int nargs, witness_arg *args, const reference_options *options,
                          reference_result *result, text *error) {
    if (nargs != k->nargs) {
        return tile_reference_run(k, nargs, args, options, result, error); /* which says so */
    }
    const size_t bytes = total_bytes(k, args);
    unsigned char *before = malloc(bytes), *other = malloc(bytes);
    int status = TG_ENOMEM;
    *result = (reference_result){0};
    if (before != NULL && other != NULL) {
        save(k, args, before);
        status = run_other(k, nargs, args, options != NULL ? *options : (reference_options){0},
                           &result->findings, error);
        save(k, args, other);
        restore(k, args, before);
    }
    if (status == TG_OK) {
        const findings found = result->findings;
        status = tile_reference_run(k, nargs, args, options, result, error);
        findings_join(&result->findings, &found);
    }
    if (status == TG_OK && !gave_up(&result->findings)) {
        compare(k, args, other, &result->findings);
    }
    free(before);
    free(other);
    return status;
}
