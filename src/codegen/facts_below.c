/* facts_below.c -- bounds of affine forms whose variables stay below what is known at launch only.
 *
 * Reads an affine form; leaves nothing behind.  A block axis or a loop keeps the extent that it stays below:
 *
 *     grid(pid, rows)                    pid - rows           <=  (rows - 1) - rows          =  -1
 *     grid(pid, ceildiv(rows, 4))        4 * pid - rows       <=  (rows + 3 - 4) - rows      =  -1
 *                                        4 * pid + 1 - rows   <=                                 0   not below 0
 *
 * A term with a positive factor may be put up to anything that it does not exceed.  What lies under a division is
 * compared with the whole form times the divisor.  Each way gives an upper bound, the least of them is taken; a
 * lower bound is an upper one of the negated form. */
#include "codegen/facts_point.h"

enum { DEPTH = 4 }; /* terms put up one after another */

/* At most how much a term is: (x - less) / parts. */
typedef struct ceiling {
    const node *x;
    int64_t less, parts;
} ceiling;

static bool is_division(const node *x) {
    return x->kind == E_OP && x->op == TG_QUO && x->arg[1]->kind == E_CONST && x->arg[1]->ival > 0 &&
           type_is_integer(x->type);
}

static bool has_below(node *x, void *user) {
    (void)user;
    x = (node *)(uintptr_t)facts_meaning(x);
    return !(x->kind == E_VAR && (x->var->below || (x->var->kind == VAR_LET && x->var->value &&
                                                    !expr_walk(x->var->value, has_below, user))));
}

static bool is_bounded(const node *x) {
    return !expr_walk((node *)(uintptr_t)x, has_below, NULL);
}

/* v < x.  Where v is, x is 1 or more, and so is what x divides. */
static int ceiling_of_variable(const node *x, ceiling *out) {
    x = facts_plain(x);
    if (is_division(x)) {
        out[0] = (ceiling){x->arg[0], x->arg[1]->ival, x->arg[1]->ival};
        out[1] = (ceiling){x, 1, 1};
        return 2;
    }
    out[0] = (ceiling){x, 1, 1};
    return 1;
}

/* The ways to put a term up; at most two. */
static int ceilings(const node *x, ceiling *out) {
    if (x->kind == E_VAR && x->var->below) {
        return ceiling_of_variable(x->var->below, out);
    }
    if (is_division(x) && x->arg[0]->lo >= 0 && is_bounded(x->arg[0])) {
        out[0] = (ceiling){x->arg[0], 0, x->arg[1]->ival};
        return 1;
    }
    if (x->kind == E_OP && x->op == TG_MIN_OF && type_is_integer(x->type)) {
        out[0] = (ceiling){x->arg[0], 0, 1};
        out[1] = (ceiling){x->arg[1], 0, 1};
        return 2;
    }
    return 0;
}

/* The form times c->parts with term i put up; false when it cannot be written down. */
static bool put_up(const affine *a, int i, const ceiling *c, affine *out) {
    const int64_t factor = a->term[i].factor;
    int64_t less;
    *out = *a;
    out->term[i] = out->term[--out->n];
    for (int j = 0; j < out->n; j++) {
        if (!facts_multiply(out->term[j].factor, c->parts, &out->term[j].factor)) {
            return false;
        }
    }
    if (!facts_multiply(out->constant, c->parts, &out->constant) || !facts_multiply(factor, c->less, &less)) {
        return false;
    }
    out->constant -= less;
    return affine_add(out, c->x, factor);
}

static int64_t floor_of(int64_t x, int64_t n) {
    return (x - facts_modulo(x, n)) / n;
}

/* The least upper bound that is found, *hi at most. */
static void lower_to(const affine *a, int depth, int64_t *hi) {
    int64_t least, most;
    if (affine_range(a, &least, &most) && most < *hi) {
        *hi = most;
    }
    for (int i = 0; i < a->n && depth > 0; i++) {
        ceiling c[2];
        const int n = a->term[i].factor > 0 ? ceilings(a->term[i].x, c) : 0;
        for (int j = 0; j < n; j++) {
            affine up;
            int64_t bound = INT64_MAX;
            if (put_up(a, i, &c[j], &up)) {
                lower_to(&up, depth - 1, &bound);
                bound = bound == INT64_MAX ? bound : floor_of(bound, c[j].parts);
                *hi = bound < *hi ? bound : *hi;
            }
        }
    }
}

static bool mentions_below(const affine *a) {
    for (int i = 0; i < a->n; i++) {
        if (is_bounded(a->term[i].x)) {
            return true;
        }
    }
    return false;
}

bool affine_bounds(const affine *a, int64_t *lo, int64_t *hi) {
    const bool in_range = affine_range(a, lo, hi);
    if (!mentions_below(a)) {
        return in_range;
    }
    affine negated = *a;
    int64_t most = in_range ? *hi : INT64_MAX, least = in_range ? -*lo : INT64_MAX;
    negated.constant = -a->constant;
    for (int i = 0; i < a->n; i++) {
        negated.term[i].factor = -a->term[i].factor;
    }
    lower_to(a, DEPTH, &most);
    lower_to(&negated, DEPTH, &least);
    *hi = most;
    *lo = -least;
    return most != INT64_MAX && least != INT64_MAX;
}

bool affine_below_zero(const node *condition, bool negated, affine *out) {
    const tg_op op = condition->op;
    const bool below = (op == TG_LT || op == TG_LE) != negated,
               or_equal = (op == TG_LE || op == TG_GE) != negated;
    affine less;
    if ((op != TG_LT && op != TG_LE && op != TG_GT && op != TG_GE) ||
        !affine_of(condition->arg[below ? 0 : 1], out) || !affine_of(condition->arg[below ? 1 : 0], &less) ||
        !affine_subtract(out, &less)) {
        return false;
    }
    out->constant -= or_equal;
    return true;
}

/* A form is below 0 where another one is that it does not exceed. */
static bool is_below_with(const node *x, bool negated, const affine *known) {
    affine more;
    int64_t lo, hi;
    return affine_below_zero(x, negated, &more) && affine_subtract(&more, known) &&
           affine_bounds(&more, &lo, &hi) && hi <= 0;
}

fact facts_truth_given(const node *condition, const node *known) {
    const node *x = facts_meaning(condition), *y = facts_meaning(known);
    affine below;
    if (x->kind != E_OP || y->kind != E_OP || x->n != 2 || y->n != 2 ||
        !affine_below_zero(y, false, &below)) {
        return FACT_UNKNOWN;
    }
    return is_below_with(x, false, &below)  ? FACT_YES
           : is_below_with(x, true, &below) ? FACT_NO
                                            : FACT_UNKNOWN;
}
