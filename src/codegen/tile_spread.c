/* tile_spread.c -- work spread over the threads of a block, as loops of one thread; fragments as registers.
 *
 * Reads layouts (tile_layout.h); leaves loops over the slot digits of a layout, with the indices of the
 * element as expressions over the thread and the loops' variables.  See the picture in tile_lower.h. */
#include "codegen/tile_lower.h"

#include <string.h>

/* ---- conditions and names ------------------------------------------------------------------------------ */

node *lower_both(lowering *l, node *x, node *y) {
    return !x ? y : !y ? x : expr_binary(l->a, x->at, TG_BOTH, x, y);
}

static bool is_simple(const node *x) {
    return x->kind == E_VAR || x->kind == E_CONST;
}

/* A block of one axis has it by name; of several, the sum is named at the top of the kernel. */
node *lower_linear(lowering *l, tg_loc at) {
    if (l->linear) {
        return l->linear;
    }
    node *x = thread_linear(l->t, at);
    if (!is_simple(x)) {
        thread_block top = {NULL, NULL};
        x = expr_var(l->a, at, thread_let(l->t, &top, "thread", x));
        top.last->next = l->t->body.first;
        l->t->body.first = top.first;
        l->t->body.last = l->t->body.last ? l->t->body.last : top.last;
    }
    l->linear = x;
    return x;
}

/* A name that the block has already given to the same; NULL when there is none. */
static var *same_name(const thread_block *b, const node *x) {
    for (const thread_stmt *s = b->first; s; s = s->next) {
        if (s->kind == THREAD_LET && s->result[0]->type == x->type && expr_equal(s->value, x)) {
            return s->result[0];
        }
    }
    return NULL;
}

void spread_name(lowering *l, spread *s, int d, const char *name) {
    node *x = s->index[d];
    if (is_simple(x) || facts_reads_memory(x)) {
        return;
    }
    var *v = same_name(s->block, x);
    if (!v) {
        v = thread_let(l->t, s->block, name, x);
        v->hi = s->proof[d]->hi < v->hi ? s->proof[d]->hi : v->hi;
        s->block->last->at = s->at;
    }
    s->index[d] = expr_var(l->a, s->at, v);
}

void spread_when(lowering *l, spread *s, node *condition) {
    if (condition && !expr_is_int(condition, 1)) {
        thread_stmt *branch = thread_if(l->t, s->block, condition);
        branch->at = s->at;
        s->block = &branch->body;
    }
}

/* ---- loops --------------------------------------------------------------------------------------------- */

static bool has_run(const layout *l) {
    return l->run > 1;
}

/* Does digit i + 1 go on where digit i ends?  Both then are one loop. */
static bool goes_on(const layout *l, int i) {
    const layout_digit *d = &l->digit[i], *next = d + 1;
    return i + 1 < l->n && next->source == LAYOUT_SLOT && next->dim == d->dim &&
           next->stride == d->stride * d->extent && next->place == d->place * d->extent;
}

/* The extent of the loop that begins at each digit, 0 where none does; the run is a loop of its own. */
static void find_loops(const layout *l, int64_t *extent) {
    for (int i = 0; i < l->n; i++) {
        const int first = i;
        extent[i] = l->digit[i].source == LAYOUT_SLOT ? l->digit[i].extent : 0;
        while (extent[first] > 0 && (first > 0 || !has_run(l)) && goes_on(l, i)) {
            extent[++i] = 0;
            extent[first] *= l->digit[i].extent;
        }
    }
}

static thread_stmt *open_loop(lowering *l, spread *s, int digit, const char *name, int64_t extent) {
    thread_stmt *loop = thread_for(l->t, s->block, name, expr_int(l->a, s->at, extent));
    loop->unroll = s->in_registers ? UNROLL_FULL : UNROLL_AUTO;
    s->digit[digit] = expr_var(l->a, s->at, loop->result[0]);
    s->block = &loop->body;
    return loop;
}

static void open_loops(lowering *l, spread *s) {
    static const char *const name[] = {"i", "j", "k", "l", "m", "n"};
    int64_t extent[LAYOUT_DIGITS];
    int depth = 0;
    find_loops(s->layout, extent);
    for (int i = s->layout->n - 1; i >= (has_run(s->layout) ? 1 : 0); i--) {
        if (extent[i] > 0) {
            open_loop(l, s, i, name[depth < 5 ? depth++ : 5], extent[i]);
        }
    }
}

/* ---- indices ------------------------------------------------------------------------------------------- */

/* Where replicas are kept out, threads are fewer than the block has. */
static int64_t threads_in(const spread *s) {
    int64_t most = 1;
    for (int i = 0; i < s->layout->n; i++) {
        const layout_digit *d = &s->layout->digit[i];
        most = d->source == LAYOUT_THREAD && d->stride * d->extent > most ? d->stride * d->extent : most;
    }
    return s->once ? most : s->layout->threads;
}

static node *slot_sum(lowering *l, const spread *s) {
    node *sum = expr_int(l->a, s->at, 0);
    for (int i = 0; i < s->layout->n; i++) {
        if (s->digit[i]) {
            sum = expr_add(l->a, expr_mul(l->a, s->digit[i], s->layout->digit[i].stride), sum);
        }
    }
    return sum;
}

static int64_t size_of(const spread *s, const node *exists) {
    int64_t size = exists ? expr_size(exists) : 0;
    for (int d = 0; d < s->layout->rank; d++) {
        size += expr_size(s->index[d]);
    }
    return size;
}

/* The indices with the run at s->digit[0]; what holds where the element exists, NULL for always.  Where the
 * digits are those of the block's axes, the axes say it shorter than the number of the thread does. */
static node *set_indices(lowering *l, spread *s) {
    node *exists = NULL, *exists_by_name = NULL;
    s->slot = slot_sum(l, s);
    spread named = *s;
    layout_indices_by(l->a, s->layout, thread_linear(l->t, s->at), threads_in(s), s->digit, s->index,
                      &exists);
    layout_indices_by(l->a, s->layout, lower_linear(l, s->at), threads_in(s), s->digit, named.index,
                      &exists_by_name);
    if (size_of(s, exists) <= size_of(&named, exists_by_name)) {
        return exists;
    }
    memcpy(s->index, named.index, sizeof s->index);
    return exists_by_name;
}

/* The dimension along which a run goes, when the others do not change within one and a guard of its first
 * element is that of all; -1 otherwise. */
static int dim_of_run(const layout *l) {
    if (!has_run(l)) {
        return l->rank - 1;
    }
    const int d = l->digit[0].dim;
    return d >= 0 && l->dim[d] % l->run == 0 ? d : -1;
}

static void set_proof(lowering *l, spread *s) {
    node *ignored;
    memcpy(s->proof, s->index, sizeof s->proof);
    if (threads_in(s) < s->layout->threads) {
        layout_indices_by(l->a, s->layout, thread_linear(l->t, s->at), s->layout->threads, s->digit, s->proof,
                          &ignored);
    }
}

void spread_begin(lowering *l, thread_block *b, spread *s) {
    s->block = b;
    s->run = NULL;
    s->run_dim = dim_of_run(s->layout);
    memset(s->digit, 0, sizeof s->digit);
    if (s->once) {
        spread_when(l, s, layout_first(l->a, s->layout, lower_linear(l, s->at)));
    }
    open_loops(l, s);
    node *exists = set_indices(l, s);
    set_proof(l, s);
    s->is_guarded = !has_run(s->layout) || s->run_dim >= 0;
    if (s->is_guarded) {
        spread_when(l, s, exists);
    }
}

void spread_run(lowering *l, spread *s) {
    if (!has_run(s->layout)) {
        return;
    }
    open_loop(l, s, 0, "k", s->layout->run)->unroll = UNROLL_TRY;
    s->run = s->digit[0];
    if (s->is_guarded) {
        const int64_t place = s->layout->digit[0].place;
        int64_t below = 1;
        for (int d = s->layout->rank - 1; d > s->run_dim; d--) {
            below *= s->layout->dim[d];
        }
        s->index[s->run_dim] = expr_add(l->a, s->index[s->run_dim], expr_mul(l->a, s->run, place / below));
        s->slot = slot_sum(l, s);
    } else {
        spread_when(l, s, set_indices(l, s));
    }
}

thread_block *spread_open(lowering *l, thread_block *b, spread *s) {
    spread_begin(l, b, s);
    spread_run(l, s);
    return s->block;
}

static void keep_inside(lowering *l, spread *w, const buffer *shape) {
    for (int d = 0; d < shape->rank; d++) {
        node *inside = expr_binary(l->a, w->at, TG_LT, w->index[d], expr_int(l->a, w->at, shape->dim[d]));
        if (w->layout->dim[d] > shape->dim[d] && facts_truth(inside) != FACT_YES) {
            spread_when(l, w, inside);
        }
    }
}

spread spread_elements(lowering *l, thread_block *b, const layout *held, const buffer *shape, bool once,
                       tg_loc at) {
    spread w = {.layout = held, .at = at, .in_registers = true, .once = once};
    spread_open(l, b, &w);
    keep_inside(l, &w, shape);
    return w;
}

/* ---- fragments are registers --------------------------------------------------------------------------- */

const layout *lower_layout(lowering *l, buffer *fragment) {
    buffer *root = buffer_root(fragment);
    if (root->id < l->nregisters && l->moved[root->id]) {
        return l->moved[root->id];
    }
    if (!root->registers) {
        const int64_t widest = l->t->target->max_access / type_bytes(root->type);
        root->registers = layout_spread(l->a, root->rank, root->dim, thread_count(l->t), widest, true);
    }
    const bool same = fragment->rank == root->rank &&
                      memcmp(fragment->dim, root->dim, sizeof *root->dim * (size_t)root->rank) == 0;
    return same ? root->registers : layout_reshape(l->a, root->registers, fragment->rank, fragment->dim);
}

/* A local for what a thread holds of it. */
static buffer *share_of(lowering *l, const buffer *fragment, const layout *held, const char *name) {
    buffer *b = thread_buffer(l->t, TG_LOCAL, name, fragment->type, fragment->at);
    b->stands_for = fragment;
    if (held->slots > 1) {
        b->rank = 1;
        b->dim[0] = held->slots;
    }
    return b;
}

buffer *lower_move(lowering *l, const buffer *reducer, const layout *to) {
    l->moved[reducer->id] = to;
    l->registers[reducer->id] = share_of(l, reducer, to, arena_print(l->a, "%s_total", reducer->name));
    return l->registers[reducer->id];
}

buffer *lower_registers(lowering *l, buffer *fragment) {
    if (fragment->id >= l->nregisters) {
        tg_bug("the fragment '%s' is unknown to the lowering", fragment->name);
        return fragment;
    }
    if (!l->registers[fragment->id]) {
        buffer *b = share_of(l, fragment, lower_layout(l, fragment), fragment->name);
        b->view_of = fragment->view_of ? lower_registers(l, fragment->view_of) : NULL;
        l->registers[fragment->id] = b;
    }
    return l->registers[fragment->id];
}

node *lower_register(lowering *l, buffer *fragment, node *slot, tg_loc at) {
    buffer *b = lower_registers(l, fragment);
    return expr_ref(l->a, at, b, b->rank, &slot, 1);
}

void lower_fragment(lowering *l, buffer *fragment, thread_block *b, tg_loc at) {
    thread_append(l->a, b, THREAD_DECL, at)->buffer = lower_registers(l, fragment);
}

buffer *lower_scratch(lowering *l, const buffer *fragment, tg_loc at) {
    const char *name = arena_print(l->a, "%s_shared", fragment->name);
    buffer *b = thread_buffer(l->t, TG_SHARED, name, fragment->type, at);
    b->stands_for = fragment;
    b->rank = fragment->rank;
    memcpy(b->dim, fragment->dim, sizeof b->dim);
    return b;
}
