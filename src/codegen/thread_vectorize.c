/* thread_vectorize.c -- loops marked vectorized become wide accesses.
 *
 * Reads loops with UNROLL_WIDE, which must become wide, and UNROLL_TRY, which are unrolled where they cannot;
 * leaves none.  A piece is a run of consecutive iterations, as many as the
 * widest access may take; all accesses of a loop have pieces of the same number of elements.  Two forms:
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
 * In the second form all loads of a piece come first and all stores last, so the meaning stays serial only
 * where no iteration needs what an earlier one of the same piece has stored: those are mistakes.  A guard
 * must have one value over a piece; then it guards the wide access.
 *
 * In a loop that is only tried, a load that cannot be wide (a gather, a neighbour) stays as it is, made once an
 * iteration, if nothing that the loop stores can be what it reads; the other accesses become wide all the same.
 *
 * Reading order: what the body accesses (find), how wide it may be (measure), what forbids it (depend), the
 * two forms (emit). */
#include "codegen/passes.h"

enum { MAX_ACCESSES = 64 };

typedef struct access {
    node *ref;
    tg_loc at;
    node *guard; /* NULL: always made */
    bool is_write, is_atomic, moves;
    bool is_scattered; /* a load that is made once an iteration, whatever the others do */
    affine first;      /* element offset in the first iteration; only where it moves */
} access;

/* Elements of memory that the body sees through registers. */
typedef struct piece {
    const access *of;
    buffer *registers;
    bool loaded, stored;
    bool load_always, store_always;
    node *load_guard, *store_guard;
} piece;

typedef struct wide {
    thread_kernel *t;
    arena *a;
    diag *errors;
    thread_stmt *loop;
    var *k;
    int64_t extent;
    int lanes;
    bool failed, is_trial, is_copy; /* is_copy: nothing but copies between equal types, and constants */
    thread_scope participants;      /* of the accesses */
    int share;
    bool hands_over;
    const struct layout *spread;
    const struct renaming *names; /* of the piece, while its elements are emitted, */
    node *lane;                   /* and which of them */
    int n;
    access item[MAX_ACCESSES];
    int npieces;
    piece piece[MAX_ACCESSES];
} wide;

/* Nobody wrote that a loop which is only tried must be wide. */
#define FAIL(w, at, ...) \
    ((w)->failed = true, \
     (w)->is_trial ? (void)0 : (void)diag_error((w)->errors, at, "vectorized: " __VA_ARGS__))

static bool is_memory(const buffer *b) {
    while (b->view_of) {
        b = b->view_of;
    }
    return b->space != TG_LOCAL;
}

/* Nor that each of its loads must be; registers are no matter. */
#define FAIL_ACCESS(w, x, ...)                                         \
    ((w)->is_trial && (!(x)->is_write || !is_memory((x)->ref->buffer)) \
         ? (void)((x)->is_scattered = true)                            \
         : (void)FAIL(w, (x)->at, __VA_ARGS__))

static const char *words(const wide *w, const node *x) {
    return expr_text(w->a, x);
}

/* ---- find: what the body accesses ---------------------------------------------------------------------- */

static node *both(wide *w, node *a, node *b) {
    return a ? expr_binary(w->a, b->at, TG_BOTH, a, b) : b;
}

static node *negated(wide *w, node *x) {
    return thread_not(w->a, x);
}

/* The element offset in the first iteration, and whether the access moves with the loop. */
static void locate(wide *w, access *x) {
    node *offset = expr_offset(w->a, x->ref);
    int64_t step = 0;
    if (!facts_depends(offset, w->k)) {
        return;
    }
    x->moves = true;
    if (!affine_step(offset, w->k, &step)) {
        FAIL_ACCESS(w, x, "'%s' is not contiguous: its step with '%s' is not one number", words(w, x->ref),
                    w->k->name);
    } else if (step != 1) {
        FAIL_ACCESS(w, x, "'%s' is not contiguous: it moves by %lld elements each iteration",
                    words(w, x->ref), (long long)step);
    } else if (!affine_of(offset, &x->first)) {
        FAIL_ACCESS(w, x, "'%s' has too many parts in its address", words(w, x->ref));
    } else if (!affine_step(x->ref->arg[x->ref->n - 1], w->k, &step) || step != 1) {
        FAIL_ACCESS(w, x, "'%s' goes from row to row: a wide access stays in one", words(w, x->ref));
    }
    x->moves = !x->is_scattered;
    for (int i = 0; i < x->first.n; i++) {
        if (x->first.term[i].x->kind == E_VAR && x->first.term[i].x->var == w->k) {
            x->first.term[i] = x->first.term[--x->first.n];
            break;
        }
    }
}

static void add(wide *w, node *ref, tg_loc at, node *guard, bool is_write) {
    if (w->n == MAX_ACCESSES) {
        FAIL(w, w->loop->at, "the body has more than %d accesses", MAX_ACCESSES);
        return;
    }
    access *x = &w->item[w->n++];
    *x = (access){.ref = ref, .at = at, .guard = guard, .is_write = is_write};
    locate(w, x);
}

static void find_reads(wide *w, node *x, tg_loc at, node *guard) {
    if (!x || w->failed) {
        return;
    }
    if (x->kind == E_CHOOSE) {
        find_reads(w, x->arg[0], at, guard);
        find_reads(w, x->arg[1], at, both(w, guard, x->arg[0]));
        find_reads(w, x->arg[2], at, both(w, guard, negated(w, x->arg[0])));
        return;
    }
    if (x->kind == E_OP && (x->op == TG_BOTH || x->op == TG_EITHER)) {
        find_reads(w, x->arg[0], at, guard);
        find_reads(w, x->arg[1], at, both(w, guard, x->op == TG_BOTH ? x->arg[0] : negated(w, x->arg[0])));
        return;
    }
    if (x->kind == E_LOAD) {
        add(w, x->arg[0], at, guard, false);
        x = x->arg[0];
    }
    for (int i = 0; i < x->n; i++) {
        find_reads(w, x->arg[i], at, guard);
    }
}

static void find_write(wide *w, thread_stmt *s, node *guard) {
    for (int i = 0; i < s->dst->n; i++) {
        find_reads(w, s->dst->arg[i], s->at, guard);
    }
    if (s->accumulates) {
        add(w, s->dst, s->at, guard, false);
    }
    add(w, s->dst, s->at, guard, true);
    access *x = &w->item[w->n - 1];
    x->is_atomic = s->kind == THREAD_ATOMIC;
    if (x->is_atomic && x->moves) {
        FAIL(w, s->at, "the atomic on '%s' takes one element at a time; use serial", words(w, s->dst));
    }
}

static void find(wide *w, thread_block *b, node *guard);

static void find_loop(wide *w, thread_stmt *s, node *guard) {
    if (s->unroll == UNROLL_WIDE || s->unroll == UNROLL_TRY) {
        FAIL(w, s->at, "one vectorized loop stands in another, at line %d", w->loop->at.line);
        return;
    }
    node *zero = expr_int(w->a, s->at, 0);
    find_reads(w, s->extent, s->at, guard);
    if (s->extent->lo < 1) {
        guard = both(w, guard, expr_binary(w->a, s->at, TG_GT, s->extent, zero));
    }
    const int before = w->n;
    find(w, &s->body, guard);
    for (int i = before; i < w->n && !w->failed; i++) {
        const access *x = &w->item[i];
        const var *inner = s->result[0];
        if (x->moves && is_memory(x->ref->buffer) &&
            (facts_depends(x->ref, inner) || (x->guard && facts_depends(x->guard, inner)))) {
            FAIL(w, x->at,
                 "'%s' also moves with the inner loop '%s'; put the vectorized loop inside that one",
                 words(w, x->ref), inner->name);
        }
    }
}

static void find_statement(wide *w, thread_stmt *s, node *guard) {
    w->participants = s->participants > w->participants ? s->participants : w->participants;
    w->share = s->share ? s->share : w->share;
    w->hands_over |= s->hands_over;
    w->spread = s->spread ? s->spread : w->spread;
    find_reads(w, s->value, s->at, guard);
    switch (s->kind) {
    case THREAD_STORE:
    case THREAD_ATOMIC:
        find_write(w, s, guard);
        break;
    case THREAD_IF:
        find(w, &s->body, both(w, guard, s->value));
        find(w, &s->otherwise, both(w, guard, negated(w, s->value)));
        break;
    case THREAD_FOR:
        find_loop(w, s, guard);
        break;
    case THREAD_PRINT:
        for (int i = 0; i < s->nvalues; i++) {
            find_reads(w, s->values[i], s->at, guard);
        }
        break;
    case THREAD_BARRIER:
    case THREAD_REDUCE_LANES:
    case THREAD_SHUFFLE_XOR:
    case THREAD_COPY_ASYNC:
    case THREAD_COMMIT:
    case THREAD_WAIT:
    case THREAD_LAUNCH_DEPENDENTS:
    case THREAD_GRID_WAIT:
        FAIL(w, s->at, "threads meet inside the loop at line %d; use serial", w->loop->at.line);
        break;
    case THREAD_DECL:
    case THREAD_LET:
    case THREAD_CHECK:
        break;
    }
}

static void find(wide *w, thread_block *b, node *guard) {
    for (thread_stmt *s = b->first; s && !w->failed; s = s->next) {
        find_statement(w, s, guard);
    }
}

/* ---- measure: how many elements a piece has ------------------------------------------------------------ */

/* Bytes that the beginning of a buffer is a multiple of. */
static int64_t base_alignment(const wide *w, const buffer *b) {
    const buffer *root = b;
    while (root->view_of) {
        root = root->view_of;
    }
    const int64_t widest = w->t->target->max_access;
    return root->space == TG_GLOBAL && root->align > 0 && root->align < widest ? root->align : widest;
}

/* May an access be `lanes` elements wide?  Else why not. */
static const char *obstacle(const wide *w, const access *x, int lanes) {
    const int64_t bytes = (int64_t)lanes * type_bytes(x->ref->type);
    if (bytes > w->t->target->max_access) {
        return "too wide";
    }
    if (base_alignment(w, x->ref->buffer) < bytes) {
        return arena_print(w->a, "'%s' is aligned to %lld bytes only", x->ref->buffer->name,
                           (long long)base_alignment(w, x->ref->buffer));
    }
    if (affine_aligned(&x->first, lanes) != FACT_YES) {
        return arena_print(w->a, "the first element of '%s' is not known to lie at a multiple of %lld bytes",
                           words(w, x->ref), (long long)bytes);
    }
    return NULL;
}

static int power_dividing(int64_t x) {
    int p = 1;
    while (p < 16 && x % (2 * p) == 0) {
        p *= 2;
    }
    return p;
}

/* Leaves lanes; registers count only where they are accessed wide too. */
static int measure(const wide *w, bool with_registers, const char **why) {
    int lanes = power_dividing(w->extent);
    *why = lanes < 2 ? arena_print(w->a, "the extent %lld is odd", (long long)w->extent) : NULL;
    for (int i = 0; i < w->n && lanes > 1; i++) {
        const access *x = &w->item[i];
        if (!x->moves || (!with_registers && !is_memory(x->ref->buffer))) {
            continue;
        }
        const char *reason = NULL;
        while (lanes > 1 && (reason = obstacle(w, x, lanes)) != NULL) {
            lanes /= 2;
            *why = reason;
        }
    }
    return lanes;
}

/* The loads of a tried loop that begin anywhere stay as they are, as those do that are not contiguous. */
static void leave_scattered(wide *w) {
    for (int i = 0; i < w->n && w->is_trial; i++) {
        access *x = &w->item[i];
        if (x->moves && !x->is_write && is_memory(x->ref->buffer) && obstacle(w, x, 2)) {
            x->is_scattered = true;
            x->moves = false;
        }
    }
}

/* ---- depend: what forbids wide accesses ---------------------------------------------------------------- */

/* y's element minus x's in the same iteration, where it is one number. */
static bool distance(wide *w, const access *x, const access *y, int64_t *d) {
    affine from, to;
    if (x->ref->buffer != y->ref->buffer || !affine_of(expr_offset(w->a, y->ref), &to) ||
        !affine_of(expr_offset(w->a, x->ref), &from)) {
        return false;
    }
    for (int i = 0; i < to.n; i++) {
        if (x->moves != y->moves && to.term[i].x->kind == E_VAR && to.term[i].x->var == w->k) {
            to.term[i] = to.term[--to.n];
            break;
        }
    }
    for (int i = 0; i < from.n; i++) {
        if (x->moves != y->moves && from.term[i].x->kind == E_VAR && from.term[i].x->var == w->k) {
            from.term[i] = from.term[--from.n];
            break;
        }
    }
    if (!affine_subtract(&to, &from) || to.n != 0) {
        return false;
    }
    *d = to.constant;
    return true;
}

/* May an iteration meet what an earlier one stored?  Never within the accesses of one piece that are wide:
 * they are aligned, so two of them are the same or apart.  But what a loop carries from piece to piece is not
 * what the word says either, and an access that stays is made once an iteration, between the loads and stores
 * of a piece. */
static bool is_carried(wide *w, const access *store, const access *other) {
    int64_t d;
    if (!buffer_may_overlap(store->ref->buffer, other->ref->buffer) || (!store->moves && !other->moves)) {
        return false;
    }
    if (!distance(w, store, other, &d)) {
        return true;
    }
    if (store->moves != other->moves) {
        const int64_t from_first =
            other->moves ? -d : d; /* from the first that moves to the one that stays */
        return 0 <= from_first && from_first < w->extent;
    }
    return !other->is_write && d < 0 && -d < w->extent;
}

/* May a load that stays, which is made between the loads and the stores of a piece, be none of the piece? */
static bool can_stay(wide *w, const access *x) {
    int64_t d;
    for (int i = 0; i < w->n; i++) {
        const access *y = &w->item[i];
        if ((y->is_write && buffer_may_overlap(y->ref->buffer, x->ref->buffer)) ||
            (y->moves && distance(w, x, y, &d) && d == 0)) {
            return false;
        }
    }
    return true;
}

static void depend(wide *w) {
    for (int i = 0; i < w->n; i++) {
        const access *x = &w->item[i];
        w->failed |= x->is_scattered && is_memory(x->ref->buffer) && !can_stay(w, x);
    }

    for (int i = 0; i < w->n && !w->failed; i++) {
        for (int j = 0; j < w->n && !w->failed; j++) {
            const access *x = &w->item[i], *y = &w->item[j];
            if (i != j && x->is_write && is_memory(x->ref->buffer) && is_carried(w, x, y)) {
                FAIL(w, y->at,
                     "'%s' may meet what an earlier iteration stored to '%s' at line %d; use serial",
                     words(w, y->ref), words(w, x->ref), x->at.line);
            }
        }
    }
}

/* ---- guards -------------------------------------------------------------------------------------------- */

static bool is_stored(const wide *w, const buffer *b) {
    for (int i = 0; i < w->n; i++) {
        if (w->item[i].is_write && buffer_root(w->item[i].ref->buffer) == b) {
            return true;
        }
    }
    return false;
}

/* Does x, names opened, read what the loop stores? */
static bool reads_stored(const wide *w, const node *x) {
    if (x->kind == E_LOAD && is_stored(w, buffer_root(x->arg[0]->buffer))) {
        return true;
    }
    if (x->kind == E_VAR && x->var->kind == VAR_LET && x->var->value && facts_depends(x, w->k)) {
        return reads_stored(w, x->var->value);
    }
    for (int i = 0; i < x->n; i++) {
        if (reads_stored(w, x->arg[i])) {
            return true;
        }
    }
    return false;
}

/* Has a comparison one value over each piece?  With a positive step s of the difference d, "d < 0" changes
 * inside no piece when d is a multiple of s * lanes at its beginning; the other comparisons are that one of
 * another d. */
static bool compares_evenly(const wide *w, const node *x) {
    affine d, right;
    int64_t left_step, right_step;
    if (x->op != TG_LT && x->op != TG_LE && x->op != TG_GT && x->op != TG_GE) {
        return false;
    }
    if (!affine_step(x->arg[0], w->k, &left_step) || !affine_step(x->arg[1], w->k, &right_step) ||
        !affine_of(x->arg[0], &d) || !affine_of(x->arg[1], &right)) {
        return false;
    }
    int64_t step = left_step - right_step;
    if (step < 0 ? !affine_subtract(&right, &d) : !affine_subtract(&d, &right)) {
        return false;
    }
    const bool is_or_equal = x->op == TG_LE || x->op == TG_GT;
    if (step < 0) {
        d = right;
        step = -step;
        d.constant -= !is_or_equal;
    } else {
        d.constant -= is_or_equal;
    }
    for (int i = 0; i < d.n; i++) {
        if (d.term[i].x->kind == E_VAR && d.term[i].x->var == w->k) {
            d.term[i] = d.term[--d.n];
            break;
        }
    }
    return affine_aligned(&d, step * w->lanes) == FACT_YES;
}

static bool is_even(const wide *w, const node *x) {
    if (!facts_depends(x, w->k)) {
        return !reads_stored(w, x);
    }
    if (x->kind == E_VAR && x->var->kind == VAR_LET && x->var->value) {
        return is_even(w, x->var->value);
    }
    if (x->kind != E_OP) {
        return false;
    }
    if (x->op == TG_BOTH || x->op == TG_EITHER) {
        return is_even(w, x->arg[0]) && is_even(w, x->arg[1]);
    }
    if (x->op == TG_NEGATE) {
        return is_even(w, x->arg[0]);
    }
    return type_is_integer(x->arg[0]->type) && compares_evenly(w, x);
}

static void check_guards(wide *w) {
    for (int i = 0; i < w->n && !w->failed; i++) {
        const access *x = &w->item[i];
        const bool is_wide = x->moves && (w->is_copy || is_memory(x->ref->buffer));
        if (is_wide && x->guard && !is_even(w, x->guard)) {
            FAIL(w, x->at, "the guard '%s' of '%s' may differ between the %d elements of a piece; use serial",
                 words(w, x->guard), words(w, x->ref), w->lanes);
        }
    }
}

/* ---- emit: names --------------------------------------------------------------------------------------- */

/* What variables of the old body are in the new one. */
typedef struct renaming {
    const var *old;
    node *new;
    const struct renaming *more;
} renaming;

static const renaming *rename_to(wide *w, const renaming *r, const var *old, node *new) {
    renaming *one = ARENA_NEW(w->a, renaming);
    *one = (renaming){old, new, r};
    return one;
}

static node *renamed(wide *w, const renaming *r, node *x) {
    for (; r && x; r = r->more) {
        x = expr_replace(w->a, x, r->old, r->new);
    }
    return x;
}

static bool reads_moving(const wide *w, const node *x) {
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
static const renaming *name_lets(wide *w, const renaming *r, thread_block *from, thread_block *b,
                                 bool always) {
    for (thread_stmt *s = from->first; s; s = s->next) {
        if (s->kind == THREAD_LET && !reads_moving(w, s->value) && !reads_stored(w, s->value)) {
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

/* ---- emit: statements ---------------------------------------------------------------------------------- */

/* The block for a statement under a guard; neighbours under the same guard share one. */
static thread_block *guarded(wide *w, thread_block *b, node *guard) {
    if (!guard) {
        return b;
    }
    if (b->last && b->last->kind == THREAD_IF && expr_equal(b->last->value, guard)) {
        return &b->last->body;
    }
    return &thread_if(w->t, b, guard)->body;
}

static node *wide_ref(wide *w, const renaming *r, const node *ref) {
    node *index[TG_MAX_RANK];
    for (int i = 0; i < ref->n; i++) {
        index[i] = renamed(w, r, ref->arg[i]);
    }
    return expr_ref(w->a, ref->at, ref->buffer, ref->n, index, w->lanes);
}

static void want_alignment(wide *w, buffer *b) {
    buffer *root = buffer_root(b);
    const int64_t bytes = (int64_t)w->lanes * type_bytes(b->type);
    if (root->space == TG_LOCAL && root->align < bytes) {
        root->align = bytes;
    }
}

/* What a pure copy stores: as many elements, or the same constant in all of them. */
static node *wide_value(wide *w, const renaming *r, node *x) {
    if (x->kind != E_LOAD) {
        return x;
    }
    want_alignment(w, x->arg[0]->buffer);
    return expr_load(w->a, x->at, wide_ref(w, r, x->arg[0]));
}

static void wide_store(wide *w, thread_block *b, tg_loc at, node *dst, node *x) {
    thread_stmt *s = thread_store(w->t, b, dst, x);
    s->at = at;
    s->participants = w->participants;
    s->share = w->share;
    s->hands_over = w->hands_over;
    s->spread = w->spread;
}

static void emit_copies(wide *w, const renaming *r, thread_block *from, thread_block *b, node *guard) {
    for (thread_stmt *s = from->first; s; s = s->next) {
        if (s->kind == THREAD_IF) {
            emit_copies(w, r, &s->body, b, both(w, guard, s->value));
            emit_copies(w, r, &s->otherwise, b, both(w, guard, negated(w, s->value)));
        } else if (s->kind == THREAD_STORE) {
            thread_block *in = guarded(w, b, renamed(w, r, guard));
            wide_store(w, in, s->at, wide_ref(w, r, s->dst), wide_value(w, r, s->value));
            want_alignment(w, s->dst->buffer);
        }
    }
}

/* A copy of the body for one element. */
static void copy_block(wide *w, const renaming *r, const thread_block *from, thread_block *b);

static const renaming *copy_result(wide *w, const renaming *r, thread_stmt *s) {
    if (s->nresults == 1) {
        const var *old = s->result[0];
        var *new = ARENA_NEW(w->a, var);
        *new = *old;
        new->id = w->t->nvars++;
        new->value = old->value ? s->value : NULL;
        s->result = ARENA_NEW(w->a, var *);
        s->result[0] = new;
        return rename_to(w, r, old, expr_var(w->a, s->at, new));
    }
    return r;
}

static const renaming *copy_statement(wide *w, const renaming *r, const thread_stmt *from, thread_stmt *s) {
    thread_stmt *next = s->next;
    *s = *from;
    s->next = next;
    s->value = renamed(w, r, from->value);
    s->dst = renamed(w, r, from->dst);
    s->extent = renamed(w, r, from->extent);
    if (from->nvalues > 0) {
        s->values = ARENA_ARRAY(w->a, node *, from->nvalues);
        for (int i = 0; i < from->nvalues; i++) {
            s->values[i] = renamed(w, r, from->values[i]);
        }
    }
    r = copy_result(w, r, s);
    s->body = s->otherwise = (thread_block){NULL, NULL};
    copy_block(w, r, &from->body, &s->body);
    copy_block(w, r, &from->otherwise, &s->otherwise);
    return r;
}

/* A name that moves evenly with the loop: the piece's own, so many further on.  NULL: it does not. */
static node *from_piece(wide *w, const thread_stmt *s) {
    const renaming *name = s->kind == THREAD_LET ? w->names : NULL;
    int64_t step = 0;
    while (name && name->old != s->result[0]) {
        name = name->more;
    }
    const bool is_even =
        name && name->new->kind == E_VAR && s->value->type == TYPE_INDEX &&affine_step(s->value, w->k, &step);
    return is_even ? expr_add(w->a, name->new, expr_mul(w->a, w->lane, step)) : NULL;
}

static void copy_block(wide *w, const renaming *r, const thread_block *from, thread_block *b) {
    for (const thread_stmt *s = from->first; s; s = s->next) {
        node *x = from_piece(w, s);
        if (x) {
            r = rename_to(w, r, s->result[0], x);
            continue;
        }
        r = copy_statement(w, r, s, thread_append(w->a, b, s->kind, s->at));
    }
}

/* ---- emit: pieces -------------------------------------------------------------------------------------- */

/* Where an access is made: under either guard; NULL, always. */
static node *either(wide *w, node *a, node *b) {
    if (!a) {
        return b;
    }
    return expr_equal(a, negated(w, b)) ? expr_const(w->a, b->at, value_int(TG_BOOL, 1))
                                        : expr_binary(w->a, b->at, TG_EITHER, a, b);
}

static piece *piece_of(wide *w, const access *x) {
    int64_t d;
    for (int i = 0; i < w->npieces; i++) {
        if (distance(w, w->piece[i].of, x, &d) && d == 0) {
            return &w->piece[i];
        }
    }
    return NULL;
}

static void note_read(wide *w, piece *p, const access *x) {
    if (p->stored && p->store_always) {
        return; /* the body has put it there */
    }
    p->loaded = true;
    p->load_always |= !x->guard;
    p->load_guard = p->load_always ? NULL : either(w, p->load_guard, x->guard);
}

static void note_write(wide *w, piece *p, const access *x) {
    p->stored = true;
    p->store_always |= !x->guard;
    p->store_guard = p->store_always ? NULL : either(w, p->store_guard, x->guard);
}

static void make_piece(wide *w, const access *x) {
    piece *p = piece_of(w, x);
    if (!p) {
        const char *name = arena_print(w->a, "%s_piece", x->ref->buffer->name);
        p = &w->piece[w->npieces++];
        *p = (piece){.of = x};
        p->registers = thread_buffer(w->t, TG_LOCAL, name, x->ref->type, x->at);
        p->registers->rank = 1;
        p->registers->dim[0] = w->lanes;
        want_alignment(w, p->registers);
    }
    if (x->is_write) {
        note_write(w, p, x);
    } else {
        note_read(w, p, x);
    }
}

static void make_pieces(wide *w) {
    for (int i = 0; i < w->n; i++) {
        if (w->item[i].moves && is_memory(w->item[i].ref->buffer)) {
            make_piece(w, &w->item[i]);
        }
    }
}

static node *registers_of(wide *w, const piece *p, node *index, int lanes) {
    return expr_ref(w->a, p->of->at, p->registers, 1, &index, lanes);
}

static void load_pieces(wide *w, const renaming *r, thread_block *b) {
    for (int i = 0; i < w->npieces; i++) {
        piece *p = &w->piece[i];
        thread_append(w->a, b, THREAD_DECL, p->of->at)->buffer = p->registers;
    }
    for (int i = 0; i < w->npieces; i++) {
        piece *p = &w->piece[i];
        if (p->loaded) {
            node *to = registers_of(w, p, expr_int(w->a, p->of->at, 0), w->lanes);
            node *from = expr_load(w->a, p->of->at, wide_ref(w, r, p->of->ref));
            wide_store(w, guarded(w, b, renamed(w, r, p->load_guard)), p->of->at, to, from);
        }
    }
}

static void store_pieces(wide *w, const renaming *r, thread_block *b) {
    for (int i = 0; i < w->npieces; i++) {
        piece *p = &w->piece[i];
        if (p->stored) {
            node *from =
                expr_load(w->a, p->of->at, registers_of(w, p, expr_int(w->a, p->of->at, 0), w->lanes));
            node *to = wide_ref(w, r, p->of->ref);
            wide_store(w, guarded(w, b, renamed(w, r, p->store_guard)), p->of->at, to, from);
        }
    }
}

typedef struct to_registers {
    wide *w;
    node *lane;
} to_registers;

static node *in_registers(node *x, void *user) {
    const to_registers *u = user;
    if (x->kind != E_REF || !is_memory(x->buffer)) {
        return NULL;
    }
    access same = {.ref = x, .at = x->at, .moves = facts_depends(x, u->w->k)};
    const piece *p = same.moves ? piece_of(u->w, &same) : NULL;
    return p ? registers_of(u->w, p, u->lane, 1) : NULL;
}

static node *moved(to_registers *u, node *x) {
    return x ? thread_map(u->w->a, x, in_registers, u) : NULL;
}

static void move_to_registers(thread_stmt *s, void *user) {
    to_registers *u = user;
    s->value = moved(u, s->value);
    s->dst = moved(u, s->dst);
    s->extent = moved(u, s->extent);
    node **old = s->values;
    if (s->nvalues > 0) {
        s->values = ARENA_ARRAY(u->w->a, node *, s->nvalues);
    }
    for (int i = 0; i < s->nvalues; i++) {
        s->values[i] = moved(u, old[i]);
    }
}

/* ---- emit: the loop ------------------------------------------------------------------------------------ */

/* The iterations of a piece one after the other, on registers. */
static void emit_elements(wide *w, const renaming *names, thread_block *b, node *base) {
    const char *name = w->extent == w->lanes ? w->k->name : "lane";
    thread_stmt *loop = thread_for(w->t, b, name, expr_int(w->a, w->loop->at, w->lanes));
    loop->at = w->loop->at;
    loop->unroll = UNROLL_FULL;
    node *lane = expr_var(w->a, w->loop->at, loop->result[0]);
    to_registers u = {w, lane};
    thread_walk(&w->loop->body, move_to_registers, &u);
    w->names = names;
    w->lane = lane;
    copy_block(w, rename_to(w, NULL, w->k, expr_add(w->a, base, lane)), &w->loop->body, &loop->body);
}

static void emit_piece(wide *w, thread_block *b, node *base) {
    const renaming *r = name_lets(w, rename_to(w, NULL, w->k, base), &w->loop->body, b, true);
    if (w->is_copy) {
        emit_copies(w, r, &w->loop->body, b, NULL);
        return;
    }
    make_pieces(w);
    load_pieces(w, r, b);
    emit_elements(w, r, b, base);
    store_pieces(w, r, b);
}

/* The loop over pieces in place of the loop over elements. */
static void emit(wide *w) {
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

/* ---- the pass ------------------------------------------------------------------------------------------ */

static bool is_copy_block(const thread_block *b) {
    for (const thread_stmt *s = b->first; s; s = s->next) {
        const bool is_copy = s->kind == THREAD_STORE && !s->accumulates &&
                             (s->value->kind == E_LOAD || s->value->kind == E_CONST);
        if (s->kind != THREAD_LET && s->kind != THREAD_IF && !is_copy) {
            return false;
        }
        if (!is_copy_block(&s->body) || !is_copy_block(&s->otherwise)) {
            return false;
        }
    }
    return true;
}

/* Is every access of a store wide, so that a piece is one statement? */
static bool all_move(const wide *w) {
    for (int i = 0; i < w->n; i++) {
        if (!w->item[i].moves) {
            return false;
        }
    }
    return true;
}

static bool touches_memory(const wide *w) {
    for (int i = 0; i < w->n; i++) {
        if (w->item[i].moves && is_memory(w->item[i].ref->buffer)) {
            return true;
        }
    }
    return false;
}

static void vectorize(wide *w) {
    const char *why;
    find(w, &w->loop->body, NULL);
    if (w->failed) {
        return;
    }
    leave_scattered(w);
    if (!touches_memory(w)) {
        w->loop->unroll = UNROLL_FULL; /* registers have no width */
        return;
    }
    depend(w);
    w->lanes = measure(w, false, &why);
    if (!w->failed && w->lanes < 2) {
        FAIL(w, w->loop->at, "only one element a piece: %s", why);
    }
    if (w->failed) {
        return;
    }
    w->is_copy = is_copy_block(&w->loop->body) && all_move(w) && measure(w, true, &why) == w->lanes;
    check_guards(w);
    if (!w->failed) {
        emit(w);
    }
}

typedef struct job {
    thread_kernel *t;
    diag *errors;
} job;

static void vectorize_loop(thread_stmt *s, void *user) {
    const job *j = user;
    if (s->kind != THREAD_FOR || (s->unroll != UNROLL_WIDE && s->unroll != UNROLL_TRY)) {
        return;
    }
    wide *w = ARENA_NEW(j->t->memory, wide);
    w->t = j->t;
    w->a = j->t->memory;
    w->errors = j->errors;
    w->is_trial = s->unroll == UNROLL_TRY;
    w->loop = s;
    w->k = s->result[0];
    w->extent = s->extent->ival;
    if (s->extent->kind != E_CONST || s->extent->ival < 1) {
        FAIL(w, s->at, "the extent must be a positive host integer");
    } else {
        vectorize(w);
    }
    if (w->failed && w->is_trial) {
        s->unroll = UNROLL_FULL;
    }
}

void thread_vectorize(thread_kernel *t, diag *errors) {
    job j = {t, errors};
    thread_walk(&t->body, vectorize_loop, &j);
}
