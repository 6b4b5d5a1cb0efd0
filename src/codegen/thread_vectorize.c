/* thread_vectorize.c -- loops marked vectorized become wide accesses: which may, and how wide.
 *
 * Reads loops with UNROLL_WIDE, which must become wide, and UNROLL_TRY, which are unrolled where they cannot;
 * leaves none.  A piece is a run of consecutive iterations, as many as the widest access may take; all accesses of
 * a loop have pieces of the same number of elements.  What a loop becomes is shown in thread_wide.c: all loads of a
 * piece come first and all stores last, so the meaning stays serial only where no iteration needs what an earlier one
 * of the same piece has stored: those are mistakes.  A guard must have one value over a piece; then it guards the wide
 * access.
 *
 * In a loop that is only tried, a load that cannot be wide (a gather, a neighbour) stays as it is, made once an
 * iteration, if nothing that the loop stores can be what it reads; the other accesses become wide all the same.
 *
 * Reading order: what the body accesses (find), how wide it may be (measure), what forbids it (depend, guards),
 * the pass. */
#include "codegen/thread_vectorize.h"

/* Nobody wrote that a loop which is only tried must be wide. */
#define FAIL(w, at, ...) \
    ((w)->failed = true, \
     (w)->is_trial ? (void)0 : (void)diag_error((w)->errors, at, "vectorized: " __VA_ARGS__))

bool wide_is_memory(const buffer *b) {
    while (b->view_of) {
        b = b->view_of;
    }
    return b->space != TG_LOCAL;
}

/* Nor that each of its loads must be; registers are no matter. */
#define FAIL_ACCESS(w, x, ...)                                              \
    ((w)->is_trial && (!(x)->is_write || !wide_is_memory((x)->ref->buffer)) \
         ? (void)((x)->is_scattered = true)                                 \
         : (void)FAIL(w, (x)->at, __VA_ARGS__))

static const char *words(const wide_loop *w, const node *x) {
    return expr_text(w->a, x);
}

/* ---- find: what the body accesses ---------------------------------------------------------------------- */

node *wide_both(wide_loop *w, node *a, node *b) {
    return a ? expr_binary(w->a, b->at, TG_BOTH, a, b) : b;
}

/* The element offset in the first iteration, and whether the access moves with the loop. */
static void locate(wide_loop *w, wide_access *x) {
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

static void add(wide_loop *w, node *ref, tg_loc at, node *guard, bool is_write) {
    if (w->n == WIDE_MAX_ACCESSES) {
        FAIL(w, w->loop->at, "the body has more than %d accesses", WIDE_MAX_ACCESSES);
        return;
    }
    wide_access *x = &w->item[w->n++];
    *x = (wide_access){.ref = ref, .at = at, .guard = guard, .is_write = is_write};
    locate(w, x);
}

static void find_reads(wide_loop *w, node *x, tg_loc at, node *guard) {
    if (!x || w->failed) {
        return;
    }
    if (x->kind == E_CHOOSE) {
        find_reads(w, x->arg[0], at, guard);
        find_reads(w, x->arg[1], at, wide_both(w, guard, x->arg[0]));
        find_reads(w, x->arg[2], at, wide_both(w, guard, thread_not(w->a, x->arg[0])));
        return;
    }
    if (x->kind == E_OP && (x->op == TG_BOTH || x->op == TG_EITHER)) {
        find_reads(w, x->arg[0], at, guard);
        find_reads(w, x->arg[1], at,
                   wide_both(w, guard, x->op == TG_BOTH ? x->arg[0] : thread_not(w->a, x->arg[0])));
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

static void find_write(wide_loop *w, thread_stmt *s, node *guard) {
    for (int i = 0; i < s->dst->n; i++) {
        find_reads(w, s->dst->arg[i], s->at, guard);
    }
    if (s->accumulates) {
        add(w, s->dst, s->at, guard, false);
    }
    add(w, s->dst, s->at, guard, true);
    wide_access *x = &w->item[w->n - 1];
    x->is_atomic = s->kind == THREAD_ATOMIC;
    if (x->is_atomic && x->moves) {
        FAIL(w, s->at, "the atomic on '%s' takes one element at a time; use serial", words(w, s->dst));
    }
}

static void find(wide_loop *w, thread_block *b, node *guard);

static void find_loop(wide_loop *w, thread_stmt *s, node *guard) {
    if (s->unroll == UNROLL_WIDE || s->unroll == UNROLL_TRY) {
        FAIL(w, s->at, "one vectorized loop stands in another, at line %d", w->loop->at.line);
        return;
    }
    node *zero = expr_int(w->a, s->at, 0);
    find_reads(w, s->extent, s->at, guard);
    if (s->extent->lo < 1) {
        guard = wide_both(w, guard, expr_binary(w->a, s->at, TG_GT, s->extent, zero));
    }
    const int before = w->n;
    find(w, &s->body, guard);
    for (int i = before; i < w->n && !w->failed; i++) {
        const wide_access *x = &w->item[i];
        const var *inner = s->result[0];
        if (x->moves && wide_is_memory(x->ref->buffer) &&
            (facts_depends(x->ref, inner) || (x->guard && facts_depends(x->guard, inner)))) {
            FAIL(w, x->at,
                 "'%s' also moves with the inner loop '%s'; put the vectorized loop inside that one",
                 words(w, x->ref), inner->name);
        }
    }
}

static void find_statement(wide_loop *w, thread_stmt *s, node *guard) {
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
        find(w, &s->body, wide_both(w, guard, s->value));
        find(w, &s->otherwise, wide_both(w, guard, thread_not(w->a, s->value)));
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

static void find(wide_loop *w, thread_block *b, node *guard) {
    for (thread_stmt *s = b->first; s && !w->failed; s = s->next) {
        find_statement(w, s, guard);
    }
}

/* ---- measure: how many elements a piece has ------------------------------------------------------------ */

/* Bytes that the beginning of a buffer is a multiple of. */
static int64_t base_alignment(const wide_loop *w, const buffer *b) {
    const buffer *root = b;
    while (root->view_of) {
        root = root->view_of;
    }
    const int64_t widest = w->t->target->max_access;
    return root->space == TG_GLOBAL && root->align > 0 && root->align < widest ? root->align : widest;
}

/* May an access be `lanes` elements wide?  Else why not. */
static const char *obstacle(const wide_loop *w, const wide_access *x, int lanes) {
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
static int measure(const wide_loop *w, bool with_registers, const char **why) {
    int lanes = power_dividing(w->extent);
    *why = lanes < 2 ? arena_print(w->a, "the extent %lld is odd", (long long)w->extent) : NULL;
    for (int i = 0; i < w->n && lanes > 1; i++) {
        const wide_access *x = &w->item[i];
        if (!x->moves || (!with_registers && !wide_is_memory(x->ref->buffer))) {
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
static void leave_scattered(wide_loop *w) {
    for (int i = 0; i < w->n && w->is_trial; i++) {
        wide_access *x = &w->item[i];
        if (x->moves && !x->is_write && wide_is_memory(x->ref->buffer) && obstacle(w, x, 2)) {
            x->is_scattered = true;
            x->moves = false;
        }
    }
}

/* ---- depend: what forbids wide accesses ---------------------------------------------------------------- */

bool wide_distance(wide_loop *w, const wide_access *x, const wide_access *y, int64_t *d) {
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
static bool is_carried(wide_loop *w, const wide_access *store, const wide_access *other) {
    int64_t d;
    if (!buffer_may_overlap(store->ref->buffer, other->ref->buffer) || (!store->moves && !other->moves)) {
        return false;
    }
    if (!wide_distance(w, store, other, &d)) {
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
static bool can_stay(wide_loop *w, const wide_access *x) {
    int64_t d;
    for (int i = 0; i < w->n; i++) {
        const wide_access *y = &w->item[i];
        if ((y->is_write && buffer_may_overlap(y->ref->buffer, x->ref->buffer)) ||
            (y->moves && wide_distance(w, x, y, &d) && d == 0)) {
            return false;
        }
    }
    return true;
}

static void depend(wide_loop *w) {
    for (int i = 0; i < w->n; i++) {
        const wide_access *x = &w->item[i];
        w->failed |= x->is_scattered && wide_is_memory(x->ref->buffer) && !can_stay(w, x);
    }

    for (int i = 0; i < w->n && !w->failed; i++) {
        for (int j = 0; j < w->n && !w->failed; j++) {
            const wide_access *x = &w->item[i], *y = &w->item[j];
            if (i != j && x->is_write && wide_is_memory(x->ref->buffer) && is_carried(w, x, y)) {
                FAIL(w, y->at,
                     "'%s' may meet what an earlier iteration stored to '%s' at line %d; use serial",
                     words(w, y->ref), words(w, x->ref), x->at.line);
            }
        }
    }
}

/* ---- guards -------------------------------------------------------------------------------------------- */

static bool is_stored(const wide_loop *w, const buffer *b) {
    for (int i = 0; i < w->n; i++) {
        if (w->item[i].is_write && buffer_root(w->item[i].ref->buffer) == b) {
            return true;
        }
    }
    return false;
}

bool wide_reads_stored(const wide_loop *w, const node *x) {
    if (x->kind == E_LOAD && is_stored(w, buffer_root(x->arg[0]->buffer))) {
        return true;
    }
    if (x->kind == E_VAR && x->var->kind == VAR_LET && x->var->value && facts_depends(x, w->k)) {
        return wide_reads_stored(w, x->var->value);
    }
    for (int i = 0; i < x->n; i++) {
        if (wide_reads_stored(w, x->arg[i])) {
            return true;
        }
    }
    return false;
}

/* Has a comparison one value over each piece?  With a positive step s of the difference d, "d < 0" changes
 * inside no piece when d is a multiple of s * lanes at its beginning; the other comparisons are that one of
 * another d. */
static bool compares_evenly(const wide_loop *w, const node *x) {
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

static bool is_even(const wide_loop *w, const node *x) {
    if (!facts_depends(x, w->k)) {
        return !wide_reads_stored(w, x);
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

static void check_guards(wide_loop *w) {
    for (int i = 0; i < w->n && !w->failed; i++) {
        const wide_access *x = &w->item[i];
        const bool is_wide = x->moves && (w->is_copy || wide_is_memory(x->ref->buffer));
        if (is_wide && x->guard && !is_even(w, x->guard)) {
            FAIL(w, x->at, "the guard '%s' of '%s' may differ between the %d elements of a piece; use serial",
                 words(w, x->guard), words(w, x->ref), w->lanes);
        }
    }
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
static bool all_move(const wide_loop *w) {
    for (int i = 0; i < w->n; i++) {
        if (!w->item[i].moves) {
            return false;
        }
    }
    return true;
}

static bool touches_memory(const wide_loop *w) {
    for (int i = 0; i < w->n; i++) {
        if (w->item[i].moves && wide_is_memory(w->item[i].ref->buffer)) {
            return true;
        }
    }
    return false;
}

static void vectorize(wide_loop *w) {
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
        wide_rewrite(w);
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
    wide_loop *w = ARENA_NEW(j->t->memory, wide_loop);
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
