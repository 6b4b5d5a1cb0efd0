/* thread_wide.c -- what a vectorized loop becomes: wide accesses to pieces.
 *
 * Reads a loop and what thread_vectorize.c has decided of it (wide_loop).  Leaves, in the loop's place, one over its
 * pieces, in one of two forms:
 *
 *   only copies                          anything else
 *     for k below 8, vectorized            for k below 8, vectorized
 *         a[k] = x[i * 8 + k]                  sum += f32(x[i * 8 + k])
 *   becomes                              becomes
 *     a[0 : +8] = x[i * 8 : +8]            local x_piece: f16[8]
 *                                          x_piece[0 : +8] = x[i * 8 : +8]
 *                                          for k below 8, unrolled
 *                                              sum += f32(x_piece[k])
 *
 * In the second form all loads of a piece come first and all stores last.  Read wide_rewrite(), the last, first. */
#include "codegen/thread_vectorize.h"

/* Elements of memory that the body sees through registers. */
typedef struct piece {
    const wide_access *of;
    buffer *registers;
    bool loaded, stored;
    bool load_always, store_always;
    node *load_guard, *store_guard;
} piece;

/* What variables of the old body are in the new one. */
typedef struct renaming {
    const var *old;
    node *new;
    const struct renaming *more;
} renaming;

/* The loop in its second form. */
typedef struct emission {
    wide_loop *w;
    int npieces;
    piece piece[WIDE_MAX_ACCESSES];
    const renaming *names; /* of the piece, while its elements are emitted, */
    node *lane;            /* and which of them */
} emission;

/* ---- names --------------------------------------------------------------------------------------------- */

static const renaming *rename_to(wide_loop *w, const renaming *r, const var *old, node *new) {
    renaming *one = ARENA_NEW(w->a, renaming);
    *one = (renaming){old, new, r};
    return one;
}

static node *renamed(wide_loop *w, const renaming *r, node *x) {
    for (; r && x; r = r->more) {
        x = expr_replace(w->a, x, r->old, r->new);
    }
    return x;
}

static bool reads_moving(const wide_loop *w, const node *x) {
    if (x->kind == E_LOAD && facts_depends(x->arg[0], w->k)) {
        return true;
    }
    for (int i = 0; i < x->n; i++) {
        if (reads_moving(w, x->arg[i])) {
            return true;
        }
    }
    return false;
}

/* The names of the old body as of the beginning of a piece: those that every iteration makes become names of
 * the piece, the others are put in where they are used. */
static const renaming *name_lets(wide_loop *w, const renaming *r, thread_block *from, thread_block *b,
                                 bool always) {
    for (thread_stmt *s = from->first; s; s = s->next) {
        if (s->kind == THREAD_LET && !reads_moving(w, s->value) && !wide_reads_stored(w, s->value)) {
            node *x = renamed(w, r, s->value);
            if (always) {
                var *v = thread_let(w->t, b, s->result[0]->name, x);
                b->last->at = s->at;
                x = expr_var(w->a, s->at, v);
            }
            r = rename_to(w, r, s->result[0], x);
        }
        r = name_lets(w, r, &s->body, b, false);
        r = name_lets(w, r, &s->otherwise, b, false);
    }
    return r;
}

/* ---- statements ---------------------------------------------------------------------------------------- */

/* The block for a statement under a guard; neighbours under the same guard share one. */
static thread_block *guarded(wide_loop *w, thread_block *b, node *guard) {
    if (!guard) {
        return b;
    }
    if (b->last && b->last->kind == THREAD_IF && expr_equal(b->last->value, guard)) {
        return &b->last->body;
    }
    return &thread_if(w->t, b, guard)->body;
}

static node *wide_ref(wide_loop *w, const renaming *r, const node *ref) {
    node *index[TG_MAX_RANK];
    for (int i = 0; i < ref->n; i++) {
        index[i] = renamed(w, r, ref->arg[i]);
    }
    return expr_ref(w->a, ref->at, ref->buffer, ref->n, index, w->lanes);
}

static void want_alignment(wide_loop *w, buffer *b) {
    buffer *root = buffer_root(b);
    const int64_t bytes = (int64_t)w->lanes * type_bytes(b->type);
    if (root->space == TG_LOCAL && root->align < bytes) {
        root->align = bytes;
    }
}

/* What a pure copy stores: as many elements, or the same constant in all of them. */
static node *wide_value(wide_loop *w, const renaming *r, node *x) {
    if (x->kind != E_LOAD) {
        return x;
    }
    want_alignment(w, x->arg[0]->buffer);
    return expr_load(w->a, x->at, wide_ref(w, r, x->arg[0]));
}

static void wide_store(wide_loop *w, thread_block *b, tg_loc at, node *dst, node *x) {
    thread_stmt *s = thread_store(w->t, b, dst, x);
    s->at = at;
    s->participants = w->participants;
    s->share = w->share;
    s->hands_over = w->hands_over;
    s->spread = w->spread;
}

static void emit_copies(wide_loop *w, const renaming *r, thread_block *from, thread_block *b, node *guard) {
    for (thread_stmt *s = from->first; s; s = s->next) {
        if (s->kind == THREAD_IF) {
            emit_copies(w, r, &s->body, b, wide_both(w, guard, s->value));
            emit_copies(w, r, &s->otherwise, b, wide_both(w, guard, thread_not(w->a, s->value)));
        } else if (s->kind == THREAD_STORE) {
            thread_block *in = guarded(w, b, renamed(w, r, guard));
            wide_store(w, in, s->at, wide_ref(w, r, s->dst), wide_value(w, r, s->value));
            want_alignment(w, s->dst->buffer);
        }
    }
}

/* A copy of the body for one element. */
static void copy_block(emission *e, const renaming *r, const thread_block *from, thread_block *b);

static const renaming *copy_result(emission *e, const renaming *r, thread_stmt *s) {
    if (s->nresults == 1) {
        const var *old = s->result[0];
        var *new = ARENA_NEW(e->w->a, var);
        *new = *old;
        new->id = e->w->t->nvars++;
        new->value = old->value ? s->value : NULL;
        s->result = ARENA_NEW(e->w->a, var *);
        s->result[0] = new;
        return rename_to(e->w, r, old, expr_var(e->w->a, s->at, new));
    }
    return r;
}

static const renaming *copy_statement(emission *e, const renaming *r, const thread_stmt *from,
                                      thread_stmt *s) {
    thread_stmt *next = s->next;
    *s = *from;
    s->next = next;
    s->value = renamed(e->w, r, from->value);
    s->dst = renamed(e->w, r, from->dst);
    s->extent = renamed(e->w, r, from->extent);
    if (from->nvalues > 0) {
        s->values = ARENA_ARRAY(e->w->a, node *, from->nvalues);
        for (int i = 0; i < from->nvalues; i++) {
            s->values[i] = renamed(e->w, r, from->values[i]);
        }
    }
    r = copy_result(e, r, s);
    s->body = s->otherwise = (thread_block){NULL, NULL};
    copy_block(e, r, &from->body, &s->body);
    copy_block(e, r, &from->otherwise, &s->otherwise);
    return r;
}

/* A name that moves evenly with the loop: the piece's own, so many further on.  NULL: it does not. */
static node *from_piece(emission *e, const thread_stmt *s) {
    const renaming *name = s->kind == THREAD_LET ? e->names : NULL;
    int64_t step = 0;
    while (name && name->old != s->result[0]) {
        name = name->more;
    }
    const bool is_even = name && name->new->kind == E_VAR &&
                         s->value->type == TYPE_INDEX &&affine_step(s->value, e->w->k, &step);
    return is_even ? expr_add(e->w->a, name->new, expr_mul(e->w->a, e->lane, step)) : NULL;
}

static void copy_block(emission *e, const renaming *r, const thread_block *from, thread_block *b) {
    for (const thread_stmt *s = from->first; s; s = s->next) {
        node *x = from_piece(e, s);
        if (x) {
            r = rename_to(e->w, r, s->result[0], x);
            continue;
        }
        r = copy_statement(e, r, s, thread_append(e->w->a, b, s->kind, s->at));
    }
}

/* ---- pieces -------------------------------------------------------------------------------------------- */

/* Where an access is made: under either guard; NULL, always. */
static node *either(wide_loop *w, node *a, node *b) {
    if (!a) {
        return b;
    }
    return expr_equal(a, thread_not(w->a, b)) ? expr_const(w->a, b->at, value_int(TG_BOOL, 1))
                                              : expr_binary(w->a, b->at, TG_EITHER, a, b);
}

static piece *piece_of(emission *e, const wide_access *x) {
    int64_t d;
    for (int i = 0; i < e->npieces; i++) {
        if (wide_distance(e->w, e->piece[i].of, x, &d) && d == 0) {
            return &e->piece[i];
        }
    }
    return NULL;
}

static void note_read(wide_loop *w, piece *p, const wide_access *x) {
    if (p->stored && p->store_always) {
        return; /* the body has put it there */
    }
    p->loaded = true;
    p->load_always |= !x->guard;
    p->load_guard = p->load_always ? NULL : either(w, p->load_guard, x->guard);
}

static void note_write(wide_loop *w, piece *p, const wide_access *x) {
    p->stored = true;
    p->store_always |= !x->guard;
    p->store_guard = p->store_always ? NULL : either(w, p->store_guard, x->guard);
}

static void make_piece(emission *e, const wide_access *x) {
    piece *p = piece_of(e, x);
    if (!p) {
        const char *name = arena_print(e->w->a, "%s_piece", x->ref->buffer->name);
        p = &e->piece[e->npieces++];
        *p = (piece){.of = x};
        p->registers = thread_buffer(e->w->t, TG_LOCAL, name, x->ref->type, x->at);
        p->registers->rank = 1;
        p->registers->dim[0] = e->w->lanes;
        want_alignment(e->w, p->registers);
    }
    if (x->is_write) {
        note_write(e->w, p, x);
    } else {
        note_read(e->w, p, x);
    }
}

static void make_pieces(emission *e) {
    for (int i = 0; i < e->w->n; i++) {
        if (e->w->item[i].moves && wide_is_memory(e->w->item[i].ref->buffer)) {
            make_piece(e, &e->w->item[i]);
        }
    }
}

static node *registers_of(wide_loop *w, const piece *p, node *index, int lanes) {
    return expr_ref(w->a, p->of->at, p->registers, 1, &index, lanes);
}

static void load_pieces(emission *e, const renaming *r, thread_block *b) {
    for (int i = 0; i < e->npieces; i++) {
        piece *p = &e->piece[i];
        thread_append(e->w->a, b, THREAD_DECL, p->of->at)->buffer = p->registers;
    }
    for (int i = 0; i < e->npieces; i++) {
        piece *p = &e->piece[i];
        if (p->loaded) {
            node *to = registers_of(e->w, p, expr_int(e->w->a, p->of->at, 0), e->w->lanes);
            node *from = expr_load(e->w->a, p->of->at, wide_ref(e->w, r, p->of->ref));
            wide_store(e->w, guarded(e->w, b, renamed(e->w, r, p->load_guard)), p->of->at, to, from);
        }
    }
}

static void store_pieces(emission *e, const renaming *r, thread_block *b) {
    for (int i = 0; i < e->npieces; i++) {
        piece *p = &e->piece[i];
        if (p->stored) {
            node *from = expr_load(e->w->a, p->of->at,
                                   registers_of(e->w, p, expr_int(e->w->a, p->of->at, 0), e->w->lanes));
            node *to = wide_ref(e->w, r, p->of->ref);
            wide_store(e->w, guarded(e->w, b, renamed(e->w, r, p->store_guard)), p->of->at, to, from);
        }
    }
}

static node *in_registers(node *x, void *user) {
    emission *e = user;
    if (x->kind != E_REF || !wide_is_memory(x->buffer)) {
        return NULL;
    }
    wide_access same = {.ref = x, .at = x->at, .moves = facts_depends(x, e->w->k)};
    const piece *p = same.moves ? piece_of(e, &same) : NULL;
    return p ? registers_of(e->w, p, e->lane, 1) : NULL;
}

static node *moved(emission *e, node *x) {
    return x ? thread_map(e->w->a, x, in_registers, e) : NULL;
}

static void move_to_registers(thread_stmt *s, void *user) {
    emission *e = user;
    s->value = moved(e, s->value);
    s->dst = moved(e, s->dst);
    s->extent = moved(e, s->extent);
    node **old = s->values;
    if (s->nvalues > 0) {
        s->values = ARENA_ARRAY(e->w->a, node *, s->nvalues);
    }
    for (int i = 0; i < s->nvalues; i++) {
        s->values[i] = moved(e, old[i]);
    }
}

/* ---- the loop ------------------------------------------------------------------------------------------ */

/* The iterations of a piece one after the other, on registers. */
static void emit_elements(emission *e, const renaming *names, thread_block *b, node *base) {
    wide_loop *w = e->w;
    const char *name = w->extent == w->lanes ? w->k->name : "lane";
    thread_stmt *loop = thread_for(w->t, b, name, expr_int(w->a, w->loop->at, w->lanes));
    loop->at = w->loop->at;
    loop->unroll = UNROLL_FULL;
    e->names = names;
    e->lane = expr_var(w->a, w->loop->at, loop->result[0]);
    thread_walk(&w->loop->body, move_to_registers, e);
    copy_block(e, rename_to(w, NULL, w->k, expr_add(w->a, base, e->lane)), &w->loop->body, &loop->body);
}

static void emit_piece(wide_loop *w, thread_block *b, node *base) {
    const renaming *r = name_lets(w, rename_to(w, NULL, w->k, base), &w->loop->body, b, true);
    if (w->is_copy) {
        emit_copies(w, r, &w->loop->body, b, NULL);
        return;
    }
    emission *e = ARENA_NEW(w->a, emission);
    e->w = w;
    make_pieces(e);
    load_pieces(e, r, b);
    emit_elements(e, r, b, base);
    store_pieces(e, r, b);
}

void wide_rewrite(wide_loop *w) {
    thread_block pieces = {NULL, NULL};
    const int64_t n = w->extent / w->lanes;
    var *count =
        thread_variable(w->t, VAR_LOOP, arena_print(w->a, "%s_piece", w->k->name), TYPE_INDEX, w->loop->at);
    count->lo = 0;
    count->hi = n - 1;
    node *base = n == 1 ? expr_int(w->a, w->loop->at, 0)
                        : expr_mul(w->a, expr_var(w->a, w->loop->at, count), w->lanes);
    emit_piece(w, &pieces, base);
    w->loop->body = pieces;
    w->loop->result = ARENA_NEW(w->a, var *);
    w->loop->result[0] = count;
    w->loop->extent = expr_int(w->a, w->loop->at, n);
    w->loop->unroll = UNROLL_FULL;
}
