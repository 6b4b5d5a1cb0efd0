/* tile_reference_expr.c -- expressions and the elements of buffers, checked.
 *
 * Reads nodes, the current thread's cells and the places; leaves findings.  All arithmetic is value.h's.
 * After a fault the run goes on: a read out of bounds or of what nothing wrote yields 0, a write is dropped.
 */
#include "sim/tile_reference_state.h"

#include <stdio.h>
#include <string.h>

/* ---- findings ------------------------------------------------------------------------------------------ */

static bool same_line(tg_loc a, tg_loc b) {
    return a.line == b.line &&
           (a.file == b.file || (a.file != NULL && b.file != NULL && strcmp(a.file, b.file) == 0));
}

finding *reference_find_at(machine *m, finding_kind kind, tg_loc at, tg_loc other) {
    finding *f = findings_add(&m->result->findings, kind, at, other);
    if (f == NULL || f->count > 1) {
        return NULL;
    }
    for (int i = 0; i < TG_MAX_AXES; i++) {
        f->block[i] = m->block[i];
    }
    f->thread = m->stmt != NULL ? (int)(m->current - m->threads) : -1;
    return f;
}

finding *reference_find(machine *m, finding_kind kind, const node *x) {
    const tg_loc none = {NULL, 0};
    const tg_loc at = m->stmt != NULL ? m->stmt->at : m->kernel->grid_at;
    const bool elsewhere = x != NULL && x->at.file != NULL && !same_line(x->at, at);
    return reference_find_at(m, kind, at, elsewhere ? x->at : none);
}

static void value_print(value v, text *out) {
    if (type_is_float(v.type)) {
        text_print(out, "%.9g", value_as_real(v));
    } else if (v.type == TG_U64) {
        text_print(out, "%llu", (unsigned long long)v.bits);
    } else {
        text_print(out, "%lld", (long long)value_as_int(v));
    }
}

/* Moves the text into the finding, cut where it is too long. */
static void set_text(finding *f, text *t) {
    snprintf(f->text, sizeof f->text, "%s", t->s != NULL ? t->s : "");
    text_free(t);
}

/* "division by zero in 'a / b' with 7 and 0". */
static void arithmetic(machine *m, value_fault fault, const node *x, int n, const value *operand) {
    finding *f = reference_find(m, FINDING_ARITHMETIC, x);
    if (f == NULL) {
        return;
    }
    text t = {0};
    text_add(&t, value_fault_text(fault));
    if (x != NULL) {
        text_add(&t, " in '");
        expr_print(x, &t);
        text_add(&t, "'");
    }
    for (int i = 0; i < n; i++) {
        text_add(&t, i == 0 ? " with " : " and ");
        value_print(operand[i], &t);
    }
    set_text(f, &t);
}

void reference_fault(machine *m, value_fault fault, const node *x) {
    if (fault != FAULT_NONE) {
        arithmetic(m, fault, x, 0, NULL);
    }
}

value reference_combine(machine *m, tg_op op, value a, value b, const node *x) {
    value_fault fault = FAULT_NONE;
    const value v = value_binary(op, a, b, &fault);
    if (fault != FAULT_NONE) {
        const value operand[2] = {a, b};
        arithmetic(m, fault, x, 2, operand);
    }
    return v;
}

/* A finding about buffer p as `what` names it: "'a[i, 3]' of ..". */
static void about_place(machine *m, finding_kind kind, const node *what, const char *format,
                        const char *more) {
    finding *f = reference_find(m, kind, what);
    if (f == NULL) {
        return;
    }
    text t = {0};
    text_add(&t, "'");
    expr_print(what, &t);
    text_add(&t, "'");
    text_print(&t, format, more);
    set_text(f, &t);
}

/* "'a[i, j]' is a[12, 64]: index 1 is outside 0..63". */
static void out_of_bounds(machine *m, const node *ref, const place *p, const int64_t *index, int dimension) {
    finding *f = reference_find(m, FINDING_BOUNDS, ref);
    if (f == NULL) {
        return;
    }
    text t = {0};
    text_add(&t, "'");
    expr_print(ref, &t);
    text_print(&t, "' is %s[", p->buffer->name);
    for (int i = 0; i < p->rank; i++) {
        text_print(&t, "%s%lld", i > 0 ? ", " : "", (long long)index[i]);
    }
    text_print(&t, "]: index %d is outside 0..%lld", dimension, (long long)p->dim[dimension] - 1);
    set_text(f, &t);
}

/* ---- elements ------------------------------------------------------------------------------------------ */

int64_t reference_share(const machine *m, const place *p) {
    return (int64_t)p->share * (m->current - m->threads);
}

int64_t reference_count(const place *p) {
    int64_t n = 1;
    for (int i = 0; i < p->rank; i++) {
        n *= p->dim[i];
    }
    return n;
}

int64_t reference_element(const place *p, int64_t i) {
    if (p->rank < 2) {
        return i;
    }
    const int64_t row = p->dim[p->rank - 1];
    return i / row * p->step[p->rank - 2] + i % row;
}

/* The indices of a ref that leaves its buffer, again, for the message. */
static int64_t leave(machine *m, const node *ref, const place *p) {
    int64_t index[TG_MAX_RANK];
    int dimension = 0;
    for (int i = ref->n - 1; i >= 0; i--) {
        index[i] = reference_eval_int(m, ref->arg[i]);
        if (index[i] < 0 || index[i] >= p->dim[i]) {
            dimension = i;
        }
    }
    out_of_bounds(m, ref, p, index, dimension);
    return -1;
}

int64_t reference_locate(machine *m, const node *ref, place **found) {
    place *p = reference_place(m, ref->buffer);
    int64_t element = 0;
    *found = p;
    for (int i = 0; i < ref->n; i++) {
        const int64_t x = reference_eval_int(m, ref->arg[i]);
        if (x < 0 || x >= p->dim[i]) {
            return leave(m, ref, p);
        }
        element += x * p->step[i];
    }
    if (p->misaligned) {
        about_place(m, FINDING_MISALIGNED, ref, ": the memory is not aligned for %s", type_name(p->type));
    }
    const uint64_t offset = (uint64_t)element * p->size;
    if (offset + p->size > p->limit) {
        about_place(m, FINDING_BOUNDS, ref, " lies beyond the memory of '%s'", p->root->buffer->name);
        return -1;
    }
    return (int64_t)offset + reference_share(m, p);
}

void reference_expect(machine *m, const place *p, epoch wanted, const node *what) {
    if (p->root->buffer->space != TG_REDUCER || p->root->epoch == wanted) {
        return;
    }
    const char *why =
        wanted == EPOCH_CLOSED ? "read before finalize" : "accumulated into without a clear or fill before";
    about_place(m, FINDING_UNINITIALISED, what, " is %s", why);
}

/* An element's bytes as bits, and back; sizes known to the compiler are single moves.  Little-endian hosts.
 */
static uint64_t load_bits(const unsigned char *from, size_t size) {
    uint64_t bits = 0;
    switch (size) {
    case 1:
        return from[0];
    case 2:
        memcpy(&bits, from, 2);
        return bits;
    case 4:
        memcpy(&bits, from, 4);
        return bits;
    default:
        memcpy(&bits, from, 8);
        return bits;
    }
}

static void store_bits(unsigned char *to, uint64_t bits, size_t size) {
    switch (size) {
    case 1:
        to[0] = (unsigned char)bits;
        break;
    case 2:
        memcpy(to, &bits, 2);
        break;
    case 4:
        memcpy(to, &bits, 4);
        break;
    default:
        memcpy(to, &bits, 8);
        break;
    }
}

static bool is_written(const place *p, int64_t offset) {
    return p->written == NULL || load_bits(p->written + offset, p->size) == UINT64_MAX >> (64 - 8 * p->size);
}

value reference_get(machine *m, place *p, int64_t offset, const node *what) {
    value v = {.type = p->type, .bits = 0};
    if (!is_written(p, offset)) {
        about_place(m, FINDING_UNINITIALISED, what, " is read before anything %s it", "wrote");
        return v;
    }
    v.bits = load_bits(p->bytes + offset, p->size);
    return v;
}

void reference_touch(machine *m, place *p) {
    place *root = p->root;
    if (m->iteration == 0 || root->kept == NULL || root->kept_for == m->iteration) {
        return;
    }
    const int64_t share = reference_share(m, root);
    root->kept_for = m->iteration;
    memcpy(root->kept, root->bytes + share, root->limit);
    memcpy(root->kept + root->limit, root->written + share, root->limit);
    m->touched[m->ntouched++] = root;
}

void reference_put(machine *m, place *p, int64_t offset, value v) {
    reference_touch(m, p);
    store_bits(p->bytes + offset, v.bits, p->size);
    if (p->written != NULL) {
        store_bits(p->written + offset, UINT64_MAX, p->size);
    }
}

/* ---- values -------------------------------------------------------------------------------------------- */

int64_t reference_type(const machine *m, int64_t type) {
    return m->options.in_double && type_is_float(type) ? TG_F64 : type;
}

value reference_widen(const machine *m, value v) {
    value_fault fault = FAULT_NONE;
    const int64_t type = reference_type(m, v.type);
    return v.type == type ? v : value_cast(v, type, &fault);
}

/* "100000 does not fit in i16 'row'". */
static void index_too_large(machine *m, int64_t i, int64_t type, const node *x) {
    finding *f = reference_find(m, FINDING_ARITHMETIC, x);
    if (f == NULL) {
        return;
    }
    text t = {0};
    text_add(&t, "'");
    expr_print(x, &t);
    text_print(&t, "' is %lld and does not fit in %s", (long long)i, type_name(type));
    set_text(f, &t);
}

value reference_fit(machine *m, const place *p, value v, const node *x) {
    if (v.type == p->type) {
        return v;
    }
    if (v.type == TYPE_INDEX && type_is_integer(p->type)) {
        const int64_t i = value_as_int(v);
        if (i < type_min(p->type) || i > type_max(p->type)) {
            index_too_large(m, i, p->type, x);
            return value_int(p->type, i);
        }
    }
    value_fault fault = FAULT_NONE;
    const value fitted = value_cast(v, p->type, &fault);
    reference_fault(m, fault, x);
    return fitted;
}

static value eval_load(machine *m, const node *ref) {
    place *p;
    const int64_t offset = reference_locate(m, ref, &p);
    if (offset < 0) {
        return value_int(reference_type(m, p->type), 0);
    }
    reference_expect(m, p, EPOCH_CLOSED, ref);
    return reference_widen(m, reference_get(m, p, offset, ref));
}

static value eval_op(machine *m, const node *x) {
    const value a = reference_eval(m, x->arg[0]);
    if (x->op == TG_BOTH && a.bits == 0) {
        return a;
    }
    if (x->op == TG_EITHER && a.bits != 0) {
        return a;
    }
    if (x->n > 1) {
        return reference_combine(m, x->op, a, reference_eval(m, x->arg[1]), x);
    }
    value_fault fault = FAULT_NONE;
    const value v = value_unary(x->op, a, &fault);
    if (fault != FAULT_NONE) {
        arithmetic(m, fault, x, 1, &a);
    }
    return v;
}

static value eval_cast(machine *m, const node *x) {
    const value a = reference_eval(m, x->arg[0]);
    value_fault fault = FAULT_NONE;
    const value v = value_cast(a, reference_type(m, x->type), &fault);
    if (fault != FAULT_NONE) {
        arithmetic(m, fault, x, 1, &a);
    }
    return v;
}

/* Bits belong to the declared type, so a value kept in double is rounded to it first. */
static value eval_bitcast(machine *m, const node *x) {
    value_fault fault = FAULT_NONE;
    value a = reference_eval(m, x->arg[0]);
    if (a.type != x->arg[0]->type) {
        a = value_cast(a, x->arg[0]->type, &fault);
    }
    return reference_widen(m, value_bitcast(a, x->type));
}

value reference_eval(machine *m, const node *x) {
    switch (x->kind) {
    case E_CONST:
        if (x->type == TYPE_INDEX) {
            return (value){TYPE_INDEX, (uint64_t)x->ival};
        }
        return reference_widen(m, x->type == TYPE_REAL ? value_real(TG_F64, x->fval) : expr_value(x));
    case E_VAR:
        return m->current->cell[x->var->id];
    case E_LOAD:
        return eval_load(m, x->arg[0]);
    case E_OP:
        return eval_op(m, x);
    case E_CHOOSE:
        return reference_eval(m, x->arg[reference_eval(m, x->arg[0]).bits != 0 ? 1 : 2]);
    case E_CAST:
        return eval_cast(m, x);
    case E_BITCAST:
        return eval_bitcast(m, x);
    case E_POISON:
    case E_BUFFER:
    case E_REF:
    case E_REGION:
        break;
    }
    tg_bug("node of kind %d is no value", (int)x->kind);
    return value_int(TYPE_INDEX, 0);
}

int64_t reference_eval_int(machine *m, const node *x) {
    if (x->kind == E_CONST) {
        return x->ival;
    }
    const value v = x->kind == E_VAR ? m->current->cell[x->var->id] : reference_eval(m, x);
    return v.type == TYPE_INDEX ? (int64_t)v.bits : value_as_int(v);
}
