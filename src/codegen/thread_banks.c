/* thread_banks.c -- how far apart the rows of a shared tile lie.
 *
 * Requires widths of accesses that no later pass changes; leaves buffer.layout.pitch and its reason for every
 * shared buffer of rank 2 and more that collective operations alone touch.  What the user's own thread-view code
 * touches stays as declared.
 *
 *     f16 tile [128][128], read by columns       padded by 8 elements
 *     row 0   bank 0 .. 63                       row 0   bank 0 .. 63, 0 .. 3
 *     row 1   bank 0 .. 63  all lanes in one     row 1   bank 4 .. 67, ..
 *
 * Every candidate is tried: all accesses of all warps of a block are enumerated and their wavefronts counted
 * (banks.h), each as often as the loops around it say; the fewest win, and of equals the smallest.  Padding keeps
 * every access aligned.  What depends on memory is unknown and not counted; indices of loops, blocks and
 * launch-time extents enter by their first value, and by a few others where that may matter. */
#include "codegen/banks.h"
#include "codegen/passes.h"

enum { CANDIDATES = 6, SAMPLES = 4, MOST_TRIPS = 1 << 20 };

/* Bytes between the end of a row and the beginning of the next. */
static const int64_t padding[CANDIDATES] = {0, 4, 8, 16, 32, 64};

/* What stands around a statement. */
typedef struct scope {
    const struct scope *outer;
    const node *condition;
    bool holds; /* the statement runs where the condition is so */
} scope;

typedef struct tile {
    thread_kernel *t;
    buffer *b;
    bool is_own;    /* thread-view code touches it */
    int64_t widest; /* bytes of one lane */
    bool possible[CANDIDATES];
    double cost[CANDIDATES];
    /* the statement at hand */
    const thread_stmt *s;
    const scope *around;
    double trips;
} tile;

/* ---- values -------------------------------------------------------------------------------------------- */

/* One thread, at one moment. */
typedef struct moment {
    const thread_kernel *t;
    int64_t thread[3];
    int sample;
} moment;

static bool evaluate(const node *x, const moment *m, value *out);

/* Sample 0 is the first value; the others are spread over the range. */
static int64_t sample_of(const var *v, int sample) {
    const uint64_t range = (uint64_t)v->hi - (uint64_t)v->lo, step = 2654435761u * (uint64_t)(v->id + 1);
    return range == 0 || sample == 0
               ? v->lo
               : v->lo + (int64_t)(step * (uint64_t)sample % (range < 4096 ? range + 1 : 4096));
}

static bool evaluate_var(const var *v, const moment *m, value *out) {
    if (v->kind == VAR_LET) {
        return v->value && !facts_reads_memory(v->value) && evaluate(v->value, m, out);
    }
    if (!type_is_integer(v->type)) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        if (m->t->thread_var[i] == v) {
            *out = value_int(v->type, m->thread[i]);
            return true;
        }
    }
    *out = value_int(v->type, sample_of(v, m->sample));
    return true;
}

static bool evaluate_op(const node *x, const moment *m, value *out) {
    value a, b = {0, 0};
    value_fault fault = FAULT_NONE;
    if (!evaluate(x->arg[0], m, &a)) {
        return false;
    }
    if ((x->op == TG_BOTH || x->op == TG_EITHER) && (value_as_int(a) != 0) == (x->op == TG_EITHER)) {
        *out = a;
        return true;
    }
    if (x->n > 1 && !evaluate(x->arg[1], m, &b)) {
        return false;
    }
    *out = x->n > 1 ? value_binary(x->op, a, b, &fault) : value_unary(x->op, a, &fault);
    return fault == FAULT_NONE;
}

/* False where it depends on memory or on what only the launch knows. */
static bool evaluate(const node *x, const moment *m, value *out) {
    value_fault fault = FAULT_NONE;
    value a;
    switch (x->kind) {
    case E_CONST:
        *out = expr_value(x);
        return true;
    case E_VAR:
        return evaluate_var(x->var, m, out);
    case E_OP:
        return evaluate_op(x, m, out);
    case E_CHOOSE:
        return evaluate(x->arg[0], m, &a) && evaluate(x->arg[value_as_int(a) ? 1 : 2], m, out);
    case E_CAST:
        if (!evaluate(x->arg[0], m, &a)) {
            return false;
        }
        *out = value_cast(a, x->type, &fault);
        return fault == FAULT_NONE;
    case E_POISON:
    case E_LOAD:
    case E_BITCAST:
    case E_BUFFER:
    case E_REF:
    case E_REGION:
        break;
    }
    return false;
}

/* Does the thread come to the statement?  Yes where that is not known. */
static bool takes_part(const scope *around, const moment *m) {
    value v;
    for (; around; around = around->outer) {
        if (evaluate(around->condition, m, &v) && (value_as_int(v) != 0) != around->holds) {
            return false;
        }
    }
    return true;
}

/* ---- one access ---------------------------------------------------------------------------------------- */

/* Where each lane of a warp is: the row among all rows, and the column; -1 where it takes no part. */
typedef struct pattern {
    int64_t row[BANK_LANES], column[BANK_LANES];
} pattern;

static bool place_of(const node *ref, const moment *m, int64_t *row, int64_t *column) {
    *row = *column = 0;
    for (int i = 0; i < ref->n; i++) {
        value v;
        if (!evaluate(ref->arg[i], m, &v)) {
            return false;
        }
        *row = i == ref->n - 1 ? *row : *row * ref->buffer->dim[i] + value_as_int(v);
        *column = value_as_int(v);
    }
    return *row >= 0 && *column >= 0;
}

/* False when the place of some lane is not known. */
static bool find_pattern(const tile *x, const node *ref, int64_t first, int sample, pattern *p) {
    const thread_kernel *t = x->t;
    for (int l = 0; l < t->target->wave; l++) {
        const int64_t thread = first + l, plane = thread / t->threads[0];
        const moment m = {t, {thread % t->threads[0], plane % t->threads[1], plane / t->threads[1]}, sample};
        p->row[l] = p->column[l] = -1;
        if (thread < thread_count(t) && takes_part(x->around, &m) &&
            !place_of(ref, &m, &p->row[l], &p->column[l])) {
            return false;
        }
    }
    return true;
}

static int wavefronts(const tile *x, const node *ref, const pattern *p, bool is_load, int64_t row_bytes) {
    const int64_t size = type_bytes(ref->type);
    bank_request r = {.bytes = (int)(ref->lanes * size), .is_load = is_load};
    for (int l = 0; l < x->t->target->wave; l++) {
        r.address[l] = p->row[l] < 0 ? -1 : p->row[l] * row_bytes + p->column[l] * size;
    }
    return bank_count(x->t->target, &r).wavefronts;
}

static int64_t row_bytes(const buffer *b) {
    return b->dim[b->rank - 1] * type_bytes(b->type);
}

/* Does every lane lie as far from lane 0 as in the other pattern, and lane 0 whole words further? */
static bool is_shifted(const tile *x, const pattern *p, const pattern *q) {
    const int64_t word = x->t->target->bank_bytes, size = type_bytes(x->b->type);
    if (p->row[0] < 0 || q->row[0] < 0 || row_bytes(x->b) % word != 0 ||
        (p->column[0] - q->column[0]) * size % word != 0) {
        return false;
    }
    for (int l = 1; l < x->t->target->wave; l++) {
        if ((p->row[l] < 0) != (q->row[l] < 0) ||
            (p->row[l] >= 0 && (p->row[l] - p->row[0] != q->row[l] - q->row[0] ||
                                p->column[l] - p->column[0] != q->column[l] - q->column[0]))) {
            return false;
        }
    }
    return true;
}

/* Which variables a value depends on, names opened. */
typedef struct kinds {
    bool threads, others;
} kinds;

static void find_kinds(const node *x, kinds *k) {
    if (x->kind == E_VAR && x->var->kind == VAR_LET && x->var->value) {
        find_kinds(x->var->value, k);
    } else if (x->kind == E_VAR) {
        k->threads |= x->var->kind == VAR_THREAD;
        k->others |= x->var->kind != VAR_THREAD;
    }
    for (int i = 0; i < x->n; i++) {
        find_kinds(x->arg[i], k);
    }
}

/* Other values of what is no thread axis move all lanes alike, by whole words. */
static bool is_moved_alike(const tile *x, node *ref) {
    affine a;
    if (!affine_of(expr_offset(x->t->memory, ref), &a)) {
        return false;
    }
    for (int i = 0; i < a.n; i++) {
        kinds k = {false, false};
        find_kinds(a.term[i].x, &k);
        const bool by_words = a.term[i].factor * type_bytes(ref->type) % x->t->target->bank_bytes == 0;
        if (k.others && (k.threads || !by_words)) {
            return false;
        }
    }
    return true;
}

static void count_access(node *ref, bool is_write, void *user) {
    tile *x = user;
    if (buffer_root(ref->buffer) != x->b) {
        return;
    }
    const int64_t bytes = (int64_t)ref->lanes * type_bytes(ref->type);
    x->is_own |= x->s->participants != SCOPE_BLOCK || ref->buffer != x->b;
    x->widest = bytes > x->widest ? bytes : x->widest;
    const int samples = is_moved_alike(x, ref) ? 1 : SAMPLES;
    for (int sample = 0; sample < samples && !x->is_own; sample++) {
        pattern p[2];
        double cost[CANDIDATES] = {0};
        int now = 0;
        for (int64_t first = 0; first < thread_count(x->t); first += x->t->target->wave, now = !now) {
            if (!find_pattern(x, ref, first, sample, &p[now])) {
                return;
            }
            const bool known = first > 0 && is_shifted(x, &p[now], &p[!now]);
            for (int i = 0; i < CANDIDATES; i++) {
                cost[i] =
                    known ? cost[i] : wavefronts(x, ref, &p[now], !is_write, row_bytes(x->b) + padding[i]);
                x->cost[i] += cost[i] * x->trips / samples;
            }
        }
    }
}

/* ---- all accesses -------------------------------------------------------------------------------------- */

static void count_block(tile *x, const thread_block *b, const scope *around, double trips);

static void count_statement(tile *x, thread_stmt *s, const scope *around, double trips) {
    x->s = s;
    x->around = around;
    x->trips = trips;
    thread_accesses(s, count_access, x);
    if (s->kind == THREAD_IF) {
        const scope taken = {around, s->value, true}, other = {around, s->value, false};
        count_block(x, &s->body, &taken, trips);
        count_block(x, &s->otherwise, &other, trips);
    } else if (s->kind == THREAD_FOR) {
        const int64_t most = s->extent->hi < 1 ? 1 : s->extent->hi > MOST_TRIPS ? MOST_TRIPS : s->extent->hi;
        count_block(x, &s->body, around, trips * (double)most);
    }
}

static void count_block(tile *x, const thread_block *b, const scope *around, double trips) {
    for (thread_stmt *s = b->first; s; s = s->next) {
        count_statement(x, s, around, trips);
    }
}

/* ---- the choice ---------------------------------------------------------------------------------------- */

static int64_t all_bytes(const thread_kernel *t) {
    int64_t sum = 0;
    for (int i = 0; i < t->nbuffers; i++) {
        const buffer *b = t->buffers[i];
        sum += b->space == TG_SHARED && !b->view_of ? thread_shared_bytes(b) : 0;
    }
    return sum;
}

static bool has_view(const thread_kernel *t, const buffer *b) {
    for (int i = 0; i < t->nbuffers; i++) {
        if (t->buffers[i]->view_of == b) {
            return true;
        }
    }
    return false;
}

static bool fits(const tile *x, int64_t pad) {
    const int64_t rows = buffer_bytes(x->b) / row_bytes(x->b), size = type_bytes(x->b->type);
    return pad % size == 0 && pad <= row_bytes(x->b) && (row_bytes(x->b) + pad) % x->widest == 0 &&
           all_bytes(x->t) + rows * pad <= x->t->target->max_shared;
}

static void choose(tile *x) {
    buffer *b = x->b;
    int best = 0;
    for (int i = 1; i < CANDIDATES; i++) {
        best = fits(x, padding[i]) && x->cost[i] < x->cost[best] * (1 - 1e-9) ? i : best;
    }
    if (best > 0) {
        const int64_t more = padding[best] / type_bytes(b->type);
        b->layout.pitch = b->dim[b->rank - 1] + more;
        b->layout.why = arena_print(x->t->memory, "%lld element%s of padding: rows on different banks",
                                    (long long)more, more == 1 ? "" : "s");
        b->layout.gain =
            arena_print(x->t->memory, "%.0f wavefronts instead of %.0f", x->cost[best], x->cost[0]);
    }
}

void thread_banks(thread_kernel *t, diag *errors) {
    (void)errors;
    for (int i = 0; i < t->nbuffers; i++) {
        buffer *b = t->buffers[i];
        tile x = {.t = t, .b = b, .widest = 1};
        if (b->space != TG_SHARED || b->view_of || b->rank < 2 || b->layout.pitch != 0 ||
            b->layout.xor_chunk_log2 != 0 || buffer_bytes(b) <= 0 || has_view(t, b)) {
            continue;
        }
        count_block(&x, &t->body, NULL, 1);
        if (!x.is_own) {
            choose(&x);
        }
    }
}
