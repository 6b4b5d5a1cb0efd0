/* thread_banks.c -- where the elements of a shared tile lie, so that its rows use different banks.
 *
 * Requires widths of accesses that no later pass changes; leaves buffer.layout, with the reason, for every
 * shared buffer of rank 2 and more that collective operations alone touch, and where that is an exclusive or,
 * writes it into the indices.  What the user's own thread-view code touches stays as declared.
 *
 *     f16 tile [128][64], read by columns        padded by 8 elements        column ^ row % 8 * 8
 *     row 0   bank 0 .. 31                       bank 0 .. 31, 0 .. 3        chunk 0 1 2 3 4 5 6 7
 *     row 1   bank 0 .. 31  all lanes in one     bank 4 .. 31, 0 .. 7        chunk 1 0 3 2 5 4 7 6
 *
 * Every candidate is tried: all accesses of all warps of a block are enumerated and their wavefronts counted
 * (banks.h), each as often as the loops around it say; the fewest win, and of equals the simplest: as declared, the
 * least padding, an exclusive or, which needs no memory.  Both keep every access aligned: padding is a multiple of
 * the widest, and an exclusive or moves chunks of 16 bytes, in which every access lies.  What depends on memory is unknown and not counted; indices of loops, blocks and
 * launch-time extents enter by their first value, and by a few others where that may matter. */
#include "codegen/banks.h"
#include "codegen/passes.h"

enum { PADDINGS = 6, CANDIDATES = 12, CHUNK = 16, SAMPLES = 4, MOST_TRIPS = 1 << 20 };
_Static_assert((int)TARGET_MAX_WAVE <= (int)EXPR_POINTS, "a warp is asked at once");

/* Bytes between the end of a row and the beginning of the next; or chunk c of row r lies at c ^ (r / each % rows). */
typedef struct map {
    int64_t padding;
    int rows, each;
} map;

static const map maps[CANDIDATES] = {{0, 0, 0}, {4, 0, 0}, {8, 0, 0}, {16, 0, 0}, {32, 0, 0}, {64, 0, 0},
                                     {0, 8, 1}, {0, 4, 1}, {0, 2, 1}, {0, 4, 2},  {0, 2, 2},  {0, 2, 4}};

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
    int64_t used;   /* bytes of shared memory, all in all */
    int from, to;   /* candidates that are counted */
    double cost[CANDIDATES];
    double least; /* without any conflict */
    /* the statement at hand */
    const thread_stmt *s;
    const scope *around;
    double trips;
} tile;

/* ---- values -------------------------------------------------------------------------------------------- */

/* The lanes of a warp, at one moment. */
typedef struct moment {
    const thread_kernel *t;
    int64_t first; /* its first thread */
    int lanes, sample;
} moment;

/* Sample 0 is the first value; the others are spread over the range. */
static int64_t sample_of(const var *v, int sample) {
    const uint64_t range = (uint64_t)v->hi - (uint64_t)v->lo, step = 2654435761u * (uint64_t)(v->id + 1);
    return range == 0 || sample == 0
               ? v->lo
               : v->lo + (int64_t)(step * (uint64_t)sample % (range < 4096 ? range + 1 : 4096));
}

static bool values_at(const var *v, const void *user, int from, int n, int64_t *out) {
    const moment *m = user;
    if (v->kind == VAR_LET || !type_is_integer(v->type)) {
        return false;
    }
    int64_t stride = 1;
    for (int i = 0; i < 3; i++) {
        for (int l = 0; l < n && m->t->thread_var[i] == v; l++) {
            out[l] = (m->first + from + l) / stride % m->t->threads[i];
        }
        if (m->t->thread_var[i] == v) {
            return true;
        }
        stride *= m->t->threads[i];
    }
    const int64_t x = sample_of(v, m->sample);
    for (int l = 0; l < n; l++) {
        out[l] = x;
    }
    return true;
}

/* A bit for each lane whose value depends on no memory. */
static uint64_t evaluate(const node *x, const moment *m, int64_t *out) {
    return expr_evaluate_each(x, values_at, m, m->lanes, out);
}

/* A bit for each lane that comes to the statement, and where that is not known. */
static uint64_t taking_part(const scope *around, const moment *m) {
    uint64_t in = UINT64_MAX >> (EXPR_POINTS - m->lanes);
    for (; around; around = around->outer) {
        int64_t v[EXPR_POINTS];
        const uint64_t known = evaluate(around->condition, m, v);
        for (int l = 0; l < m->lanes; l++) {
            in &= ~((known >> l & ((v[l] != 0) != around->holds)) << l);
        }
    }
    return in;
}

/* ---- one access ---------------------------------------------------------------------------------------- */

/* Where each lane of a warp is: the row among all rows, and the column; -1 where it takes no part. */
typedef struct pattern {
    int64_t row[TARGET_MAX_WAVE], column[TARGET_MAX_WAVE];
} pattern;

/* Of the lanes in `in`; false when one of them is not known. */
static bool find_places(const node *ref, const moment *m, uint64_t in, pattern *p) {
    int64_t v[EXPR_POINTS];
    for (int i = 0; i < ref->n; i++) {
        if (in & ~evaluate(ref->arg[i], m, v)) {
            return false;
        }
        for (int l = 0; l < m->lanes; l++) {
            if (in >> l & 1) {
                p->row[l] = i == 0 ? 0 : p->row[l] * ref->buffer->dim[i - 1] + p->column[l];
                p->column[l] = v[l];
            }
        }
    }
    return true;
}

/* False when the place of some lane is not known. */
static bool find_pattern(const tile *x, const node *ref, int64_t first, int sample, pattern *p) {
    const int wave = x->t->target->wave;
    const int64_t left = thread_count(x->t) - first;
    const moment m = {x->t, first, left < wave ? (int)left : wave, sample};
    const uint64_t in = taking_part(x->around, &m);
    for (int l = 0; l < wave; l++) {
        p->row[l] = p->column[l] = -1;
    }
    if (!find_places(ref, &m, in, p)) {
        return false;
    }
    for (int l = 0; l < m.lanes; l++) {
        if ((in >> l & 1) && (p->row[l] < 0 || p->column[l] < 0)) {
            return false;
        }
    }
    return true;
}

static int64_t row_bytes(const buffer *b) {
    return b->dim[b->rank - 1] * type_bytes(b->type);
}

static int64_t address(const tile *x, const map *m, int64_t row, int64_t column) {
    const int64_t size = type_bytes(x->b->type);
    const int64_t swap = m->rows ? row % x->b->dim[x->b->rank - 2] / m->each % m->rows * CHUNK : 0;
    return row * (row_bytes(x->b) + m->padding) + (column * size ^ swap);
}

static bank_cost count(const tile *x, const map *m, const node *ref, const pattern *p, bool is_load) {
    bank_request r = {.bytes = (int)(ref->lanes * type_bytes(ref->type)), .is_load = is_load};
    for (int l = 0; l < x->t->target->wave; l++) {
        r.address[l] = p->row[l] < 0 ? -1 : address(x, m, p->row[l], p->column[l]);
    }
    return bank_count(x->t->target, &r);
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
    const bool swaps = x->from >= PADDINGS;
    const int samples = !swaps && is_moved_alike(x, ref) ? 1 : SAMPLES;
    for (int sample = 0; sample < samples && !x->is_own; sample++) {
        pattern p[2];
        bank_cost cost[CANDIDATES] = {{0}};
        int now = 0;
        for (int64_t first = 0; first < thread_count(x->t); first += x->t->target->wave, now = !now) {
            if (!find_pattern(x, ref, first, sample, &p[now])) {
                return;
            }
            const bool known = first > 0 && !swaps && is_shifted(x, &p[now], &p[!now]);
            for (int i = x->from; i < x->to; i++) {
                cost[i] = known ? cost[i] : count(x, &maps[i], ref, &p[now], !is_write);
                x->cost[i] += cost[i].wavefronts * x->trips / samples;
            }
            x->least += cost[x->from].least * x->trips / samples;
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

/* ---- room ---------------------------------------------------------------------------------------------- */

static void note_touched(node *ref, bool is_write, void *user) {
    (void)is_write;
    ((bool *)user)[buffer_root(ref->buffer)->id] = true;
}

static void find_touched(thread_stmt *s, void *user) {
    thread_accesses(s, note_touched, user);
}

/* Of buffers that are used at all: what a pipeline has versions of is not. */
static int64_t all_bytes(thread_kernel *t) {
    bool *touched = ARENA_ARRAY(t->memory, bool, t->nbuffers);
    int64_t sum = 0;
    thread_walk(&t->body, find_touched, touched);
    for (int i = 0; i < t->nbuffers; i++) {
        const buffer *b = t->buffers[i];
        sum += b->space == TG_SHARED && !b->view_of && touched[b->id] ? thread_shared_bytes(b) : 0;
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

static bool has_room(const tile *x, int64_t pad) {
    const int64_t rows = buffer_bytes(x->b) / row_bytes(x->b);
    return pad == 0 || x->used + rows * pad <= x->t->target->max_shared;
}

/* Does the map keep accesses aligned and in their row? */
static bool is_possible(const tile *x, const map *m) {
    if (m->rows) {
        return row_bytes(x->b) % (m->rows * CHUNK) == 0 && x->b->dim[x->b->rank - 2] > m->each;
    }
    return m->padding % type_bytes(x->b->type) == 0 && m->padding <= row_bytes(x->b) &&
           (row_bytes(x->b) + m->padding) % x->widest == 0;
}

/* The best of the candidates from..to, or `best`. */
static int best_of(const tile *x, int from, int to, int best) {
    for (int i = from; i < to; i++) {
        const bool is_better = x->cost[i] < x->cost[best] * (1 - 1e-9);
        best = is_better && is_possible(x, &maps[i]) && has_room(x, maps[i].padding) ? i : best;
    }
    return best;
}

static void count_all(tile *x, int from, int to) {
    x->from = from;
    x->to = to;
    x->least = 0;
    count_block(x, &x->t->body, NULL, 1);
}

/* ---- the map in the indices ---------------------------------------------------------------------------- */

typedef struct swapping {
    thread_kernel *t;
    buffer *b;
    const map *m;
} swapping;

static node *swapped(node *x, void *user);

/* The column with the bits of its chunk changed by the row. */
static node *swapped_column(const swapping *w, node *row, node *column) {
    arena *a = w->t->memory;
    const tg_loc at = column->at;
    row = w->m->each > 1 ? expr_binary(a, at, TG_QUO, row, expr_int(a, at, w->m->each)) : row;
    node *chunk = expr_binary(a, at, TG_MOD, row, expr_int(a, at, w->m->rows));
    return expr_binary(a, at, TG_BIT_XOR, column, expr_mul(a, chunk, CHUNK / type_bytes(w->b->type)));
}

static node *swapped(node *x, void *user) {
    const swapping *w = user;
    if (x->kind != E_REF || x->buffer != w->b) {
        return NULL;
    }
    node *index[TG_MAX_RANK];
    for (int i = 0; i < x->n; i++) {
        index[i] = thread_map(w->t->memory, x->arg[i], swapped, user);
    }
    index[x->n - 1] = swapped_column(w, index[x->n - 2], index[x->n - 1]);
    return expr_ref(w->t->memory, x->at, x->buffer, x->n, index, x->lanes);
}

static node *swapped_in(swapping *w, node *x) {
    return x ? thread_map(w->t->memory, x, swapped, w) : NULL;
}

static void swap_statement(thread_stmt *s, void *user) {
    swapping *w = user;
    s->value = swapped_in(w, s->value);
    s->dst = swapped_in(w, s->dst);
    s->extent = swapped_in(w, s->extent);
    for (int i = 0; i < s->nvalues; i++) {
        s->values[i] = swapped_in(w, s->values[i]);
    }
    if (s->kind == THREAD_LET && s->result[0]->value) {
        s->result[0]->value = s->value;
    }
}

/* ---- the choice ---------------------------------------------------------------------------------------- */

static void pad(tile *x, int best) {
    const int64_t more = maps[best].padding / type_bytes(x->b->type);
    x->b->layout.pitch = x->b->dim[x->b->rank - 1] + more;
    x->b->layout.why = arena_print(x->t->memory, "%lld element%s of padding: rows on different banks",
                                   (long long)more, more == 1 ? "" : "s");
}

static void swap(tile *x, const map *m) {
    swapping w = {x->t, x->b, m};
    arena *a = x->t->memory;
    const char *row = m->each > 1 ? arena_print(a, "row / %d %% %d", m->each, m->rows)
                                  : arena_print(a, "row %% %d", m->rows);
    thread_walk(&x->t->body, swap_statement, &w);
    x->b->layout.xor_rows = m->rows;
    x->b->layout.xor_each = m->each;
    x->b->layout.why =
        arena_print(a, "16-byte chunk c of a row lies at c ^ %s: rows on different banks", row);
}

/* What was chosen, and why not the padding that would have done as well. */
static const char *gain_of(const tile *x, int best) {
    arena *a = x->t->memory;
    const char *gain = arena_print(a, "%.0f wavefronts instead of %.0f", x->cost[best], x->cost[0]);
    for (int i = 1; i < PADDINGS && best >= PADDINGS; i++) {
        if (is_possible(x, &maps[i]) && x->cost[i] <= x->cost[best] * (1 + 1e-9)) {
            return arena_print(a, "%s; %lld bytes of padding a row are more than a block may have", gain,
                               (long long)maps[i].padding);
        }
    }
    return gain;
}

static void choose(tile *x) {
    count_all(x, 0, PADDINGS);
    if (x->is_own || x->cost[0] <= x->least) {
        return;
    }
    x->used = all_bytes(x->t);
    int best = best_of(x, 1, PADDINGS, 0);
    if (x->cost[best] > x->least * (1 + 1e-9)) {
        count_all(x, PADDINGS, CANDIDATES);
        best = best_of(x, PADDINGS, CANDIDATES, best);
    }
    if (best >= PADDINGS) {
        swap(x, &maps[best]);
    } else if (best > 0) {
        pad(x, best);
    }
    x->b->layout.gain = best > 0 ? gain_of(x, best) : NULL;
}

void thread_banks(thread_kernel *t, diag *errors) {
    (void)errors;
    for (int i = 0; i < t->nbuffers; i++) {
        buffer *b = t->buffers[i];
        tile x = {.t = t, .b = b, .widest = 1};
        if (b->space == TG_SHARED && !b->view_of && b->rank >= 2 && b->layout.pitch == 0 &&
            buffer_bytes(b) > 0 && !has_view(t, b)) {
            choose(&x);
        }
    }
}
