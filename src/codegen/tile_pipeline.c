/* tile_pipeline.c -- pipelined loops: which copies run ahead of their iteration.
 *
 * Reads tile IR; leaves serial loops in which copies stand some iterations before their use:
 *
 *     pipelined k: n stages 3                  copy async a[tile 0] -> s[0]   commit       the prologue:
 *         copy a[tile k] -> s                  copy async a[tile 1] -> s[1]   commit       stages - 1 iterations
 *         use s                       ==>      serial k: n
 *                                                  wait 1                     the copies of iteration k are here
 *                                                  when k + 2 < n
 *                                                      copy async a[tile k + 2] -> s[(k + 2) % 3]
 *                                                  commit                     a group in every iteration
 *                                                  use s[k % 3]
 *
 * A copy may run ahead when nothing can tell: its destination is rewritten wholly before any read in the
 * iteration and by nobody else in the loop, what it reads and what decides about it is not written in the loop
 *.  The reason of every other is kept in tile_stmt.why.
 *
 * This file decides; tile_ahead.c rewrites. */
#include "codegen/tile_pipeline.h"

#include <string.h>

/* ---- everything that a loop touches -------------------------------------------------------------------- */

typedef struct touch {
    tile_stmt *s;
    buffer *buffer;
    node *place; /* E_REF, E_REGION or E_BUFFER */
    bool is_write;
    int order; /* of the statement in the loop's text */
} touch;

typedef struct touches {
    arena *a;
    int n, room, order;
    touch *item;
    tile_stmt *s; /* being looked at */
} touches;

static void add_touch(touches *list, node *place, bool is_write) {
    if (list->n == list->room) {
        list->room = list->room ? 2 * list->room : 16;
        touch *more = ARENA_ARRAY(list->a, touch, list->room);
        if (list->n > 0) {
            memcpy(more, list->item, sizeof *more * (size_t)list->n);
        }
        list->item = more;
    }
    list->item[list->n++] = (touch){list->s, place->buffer, place, is_write, list->order};
}

static void touch_read(node *place, void *user) {
    add_touch(user, place, false);
}

static void touch_statement(touches *list, tile_stmt *s) {
    const bool reads_old = s->kind == TILE_ACCUM || s->kind == TILE_ATOMIC || s->kind == TILE_FINALIZE;
    list->order++;
    list->s = s;
    expr_loads(s->value, touch_read, list);
    if (s->src) {
        add_touch(list, s->src, false);
        expr_loads(s->src, touch_read, list);
    }
    for (int i = 0; i < s->n; i++) {
        expr_loads(s->kind == TILE_LOOP ? s->extents[i] : s->values[i], touch_read, list);
    }
    if (s->dst) {
        expr_loads(s->dst, touch_read, list);
        if (reads_old) {
            add_touch(list, s->dst, false);
        }
        add_touch(list, s->dst, true);
    }
}

static void touch_block(touches *list, const tile_block *b) {
    for (tile_stmt *s = b->first; s; s = s->next) {
        touch_statement(list, s);
        touch_block(list, &s->body);
        touch_block(list, &s->otherwise);
    }
}

/* ---- one loop ------------------------------------------------------------------------------------------ */

typedef struct judging {
    ahead_plan *plan;
    arena *a;
    ahead_loop *loop;
    touches all; /* of the loop's body */
} judging;

/* The statement of the loop that names v, or NULL. */
static const tile_stmt *definition(const tile_block *b, const var *v) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        const tile_stmt *inner = NULL;
        if ((s->kind == TILE_LET || s->kind == TILE_ALLREDUCE) && s->var == v) {
            return s;
        }
        inner = definition(&s->body, v);
        inner = inner ? inner : definition(&s->otherwise, v);
        if (inner) {
            return inner;
        }
    }
    return NULL;
}

static const touch *written_in_loop(const judging *j, buffer *b) {
    for (int i = 0; i < j->all.n; i++) {
        if (j->all.item[i].is_write && buffer_may_overlap(j->all.item[i].buffer, b)) {
            return &j->all.item[i];
        }
    }
    return NULL;
}

typedef struct early {
    const judging *j;
    const char *why_not;
} early;

/* Would x have the same value some iterations before? */
static bool is_early(node *x, void *user) {
    early *e = user;
    if (x->kind == E_LOAD && written_in_loop(e->j, x->arg[0]->buffer)) {
        e->why_not =
            arena_print(e->j->a, "it depends on '%s', which the loop writes", x->arg[0]->buffer->name);
        return false;
    }
    if (x->kind != E_VAR || x->var->kind != VAR_LET) {
        return true;
    }
    const tile_stmt *let = definition(&e->j->loop->s->body, x->var);
    if (let && let->kind == TILE_ALLREDUCE) {
        e->why_not =
            arena_print(e->j->a, "it depends on '%s', which the threads work out together", x->var->name);
        return false;
    }
    return !let || expr_walk(let->value, is_early, e);
}

static const char *not_early(const judging *j, node *x) {
    early e = {j, NULL};
    (void)expr_walk(x, is_early, &e);
    return e.why_not;
}

/* ---- conditions around a copy -------------------------------------------------------------------------- */

static bool stands_in(const tile_block *b, const tile_stmt *s) {
    for (const tile_stmt *c = b->first; c; c = c->next) {
        if (c == s) {
            return true;
        }
    }
    return false;
}

/* Does s stand, at whatever depth inside the loop, in the same side of a branch on the same condition? */
static bool is_under(const judging *j, const tile_stmt *s, const tile_stmt *branch, bool otherwise) {
    for (const tile_stmt *up = s->up; up && up != j->loop->s; s = up, up = up->up) {
        if (up->kind == TILE_WHEN && stands_in(&up->otherwise, s) == otherwise &&
            (up == branch || expr_equal(up->value, branch->value))) {
            return true;
        }
    }
    return false;
}

/* Does every way to s lead through the conditions around the copy? */
static bool meets_conditions(const judging *j, const tile_stmt *copy, const tile_stmt *s) {
    for (const tile_stmt *up = copy->up; up != j->loop->s; copy = up, up = up->up) {
        if (!is_under(j, s, up, stands_in(&up->otherwise, copy))) {
            return false;
        }
    }
    return true;
}

static const char *conditions_not_early(const judging *j, const tile_stmt *copy) {
    for (const tile_stmt *up = copy->up; up != j->loop->s; up = up->up) {
        const char *why = not_early(j, up->value);
        if (why) {
            return why;
        }
    }
    return NULL;
}

/* ---- the destination ----------------------------------------------------------------------------------- */

static bool is_whole(const node *region) {
    for (int i = 0; i < region->n; i++) {
        if (!expr_is_int(region->arg[i], 0) || region->dim[i] != region->buffer->dim[i]) {
            return false;
        }
    }
    return true;
}

static const char *destination_fault(const judging *j, const ahead_copy *c, int order) {
    const char *name = c->to->name;
    if (!is_whole(c->s->dst)) {
        return arena_print(j->a, "'%s' is not rewritten wholly", name);
    }
    for (int i = 0; i < j->all.n; i++) {
        const touch *t = &j->all.item[i];
        if (buffer_root(t->buffer) != c->to || t->place == c->s->dst) {
            continue;
        }
        if (t->is_write) {
            return arena_print(j->a, "'%s' is written twice in the iteration", name);
        }
        if (t->order <= order) {
            return arena_print(j->a, "'%s' is read before it is written in the iteration", name);
        }
        if (!meets_conditions(j, c->s, t->s)) {
            return arena_print(j->a, "'%s' is read where it may not have been written in the iteration",
                               name);
        }
    }
    return NULL;
}

/* ---- the source ---------------------------------------------------------------------------------------- */

static node *open_name(node *x, void *user);

/* x without the names that the loop gives. */
static node *opened(judging *j, node *x) {
    return thread_map(j->a, x, open_name, j);
}

static node *open_name(node *x, void *user) {
    judging *j = user;
    if (x->kind == E_VAR && x->var->kind == VAR_LET) {
        const tile_stmt *let = definition(&j->loop->s->body, x->var);
        return let && let->kind == TILE_LET ? opened(j, let->value) : NULL;
    }
    return NULL;
}

static const int64_t FAR_AWAY = (int64_t)1 << 40;

/* The write in iteration k and the copy's read for iteration k + distance touch nothing in common: along some
 * dimension one lies behind the other. */
static bool is_apart(judging *j, const touch *w, const node *src, int64_t distance) {
    if (w->buffer != src->buffer || w->place->kind == E_BUFFER) {
        return false;
    }
    node *k = expr_var(j->a, src->at, j->loop->s->axes[0]);
    node *later = expr_add(j->a, k, expr_int(j->a, src->at, distance));
    for (int i = 0; i < src->n; i++) {
        node *from = expr_replace(j->a, opened(j, src->arg[i]), k->var, later);
        node *difference = expr_binary(j->a, src->at, TG_SUB, from, opened(j, w->place->arg[i]));
        const int64_t length = w->place->kind == E_REF ? 1 : w->place->dim[i];
        if (facts_inside(difference, length, FAR_AWAY) == FACT_YES ||
            facts_inside(difference, -FAR_AWAY, -src->dim[i]) == FACT_YES) {
            return true;
        }
    }
    return false;
}

static const char *source_fault(judging *j, const ahead_copy *c, int order) {
    const node *src = c->s->src;
    for (int i = 0; i < j->all.n; i++) {
        const touch *w = &j->all.item[i];
        if (!w->is_write || !buffer_may_overlap(w->buffer, src->buffer)) {
            continue;
        }
        for (int64_t d = w->order < order ? 0 : 1; d < j->loop->stages; d++) {
            if (!is_apart(j, w, src, d)) {
                return arena_print(j->a, "'%s' may be written in the loop before it is copied",
                                   src->buffer->name);
            }
        }
    }
    for (int i = 0; i < src->n; i++) {
        const char *why = not_early(j, src->arg[i]);
        if (why) {
            return why;
        }
    }
    return NULL;
}

/* ---- asynchronous copies ------------------------------------------------------------------------------- */

/* Is every row of the region, and every piece of `bytes` in it, aligned to as many bytes? */
static bool is_aligned(judging *j, const node *region, int64_t bytes) {
    const buffer *b = region->buffer;
    const int64_t size = type_bytes(b->type), n = bytes / size;
    if (size > bytes || b->align % bytes != 0) {
        return size > bytes && b->align % size == 0;
    }
    int64_t stride = 1;
    for (int i = region->n - 1; i >= 0; i--) {
        const bool is_last = i == region->n - 1;
        if (is_last ? region->dim[i] % n != 0 : region->dim[i] > 1 && stride % n != 0) {
            return false;
        }
        stride *= is_last && b->pitch > 0 ? b->pitch : b->dim[i] > 0 ? b->dim[i] : 1;
    }
    const node *corner = expr_ref(j->a, region->at, region->buffer, region->n, region->arg, 1);
    return n <= 1 || facts_aligned(expr_offset(j->a, corner), n) == FACT_YES;
}

/* The smallest asynchronous copy. */
enum { ASYNC_BYTES = 4 };

static bool is_async_width(const target *t, const tile_stmt *s) {
    return s->options.width == 0 ||
           target_copies_async(t, s->options.width * type_bytes(s->dst->buffer->type));
}

static const char *async_fault(judging *j, const tile_stmt *s) {
    const int64_t from = s->src->buffer->type, to = s->dst->buffer->type;
    if (!j->plan->t->async_copy) {
        return arena_print(j->a, "%s has no asynchronous copies", j->plan->t->name);
    }
    if (from != to) {
        return arena_print(j->a, "an asynchronous copy does not convert %s to %s", type_name(from),
                           type_name(to));
    }
    if (s->options.outside != 0) {
        return "an asynchronous copy gives 0 outside of the tensor and nothing else";
    }
    if (!is_async_width(j->plan->t, s)) {
        return arena_print(j->a, "an asynchronous copy moves 4, 8 or 16 bytes, not %d elements of %s",
                           s->options.width, type_name(from));
    }
    if (!is_aligned(j, s->src, ASYNC_BYTES)) {
        return arena_print(j->a, "pieces of '%s' are not known to be aligned to %d bytes",
                           s->src->buffer->name, ASYNC_BYTES);
    }
    return buffer_bytes(s->dst->buffer) % ASYNC_BYTES != 0 ||
                   s->dst->dim[s->dst->n - 1] * type_bytes(to) % ASYNC_BYTES != 0
               ? arena_print(j->a, "rows of '%s' are no multiple of %d bytes", s->dst->buffer->name,
                             ASYNC_BYTES)
               : NULL;
}

/* Can the buffer have a leading dimension, through its views too? */
static const char *versions_fault(const judging *j, buffer *b) {
    const tg_kernel *k = j->plan->k;
    for (int i = 0; i < k->nbuffers; i++) {
        buffer *v = k->buffers[i];
        if (buffer_root(v) == b && (v->rank == TG_MAX_RANK || buffer_bytes(v) != buffer_bytes(b) ||
                                    (v != b && b->space != TG_SHARED))) {
            return arena_print(j->a, "'%s' cannot have a version for each stage", v->name);
        }
    }
    for (int i = 0; b->space == TG_SHARED && i < j->all.n; i++) {
        const touch *t = &j->all.item[i];
        if (t->place->kind == E_BUFFER && buffer_root(t->buffer) == b) {
            return arena_print(j->a, "'%s' is reduced where it lies", b->name);
        }
    }
    return NULL;
}

/* ---- candidates ---------------------------------------------------------------------------------------- */

static bool is_candidate(const tile_stmt *s) {
    const tg_space to = s->kind == TILE_COPY ? s->dst->buffer->space : TG_GLOBAL;
    return s->kind == TILE_COPY && buffer_root(s->src->buffer)->space == TG_GLOBAL &&
           (to == TG_SHARED || to == TG_FRAGMENT) && !s->dst->buffer->view_of;
}

/* Copies of the iteration itself: under conditions, but in no inner loop. */
static int find_candidates(const tile_block *b, ahead_copy *out, bool conditional) {
    int n = 0;
    for (tile_stmt *s = b->first; s; s = s->next) {
        if (is_candidate(s)) {
            if (out) {
                out[n] = (ahead_copy){s, s->dst->buffer, conditional, NULL};
            }
            n++;
        } else if (s->kind == TILE_WHEN) {
            n += find_candidates(&s->body, out ? out + n : NULL, true);
            n += find_candidates(&s->otherwise, out ? out + n : NULL, true);
        }
    }
    return n;
}

static int order_of(const judging *j, const ahead_copy *c) {
    for (int i = 0; i < j->all.n; i++) {
        if (j->all.item[i].place == c->s->dst) {
            return j->all.item[i].order;
        }
    }
    return 0;
}

static const char *fault_of(judging *j, const ahead_copy *c) {
    const int order = order_of(j, c);
    const char *why = destination_fault(j, c, order);
    why = why ? why : source_fault(j, c, order);
    why = why ? why : conditions_not_early(j, c->s);
    why = why ? why : versions_fault(j, c->to);
    return why || c->to->space != TG_SHARED ? why : async_fault(j, c->s);
}

static void judge_loop(ahead_plan *plan, ahead_loop *l, tile_stmt *s) {
    const int64_t trips = s->n == 1 ? s->extents[0]->hi : 0;
    l->s = s;
    l->stages = s->option < trips ? s->option : trips;
    l->n = l->stages >= 2 ? find_candidates(&s->body, NULL, false) : 0;
    l->copy = ARENA_ARRAY(plan->a, ahead_copy, l->n + 1);
    judging j = {plan, plan->a, l, {.a = plan->a}};
    touch_block(&j.all, &s->body);
    if (l->n > 0) {
        (void)find_candidates(&s->body, l->copy, false);
    }
    for (int i = 0; i < l->n; i++) {
        l->copy[i].why_not = fault_of(&j, &l->copy[i]);
    }
}

/* ---- what happens outside of the loops ----------------------------------------------------------------- */

static int count_touches(ahead_plan *plan, const tile_block *b, const buffer *root) {
    touches all = {.a = plan->a};
    int n = 0;
    touch_block(&all, b);
    for (int i = 0; i < all.n; i++) {
        n += buffer_root(all.item[i].buffer) == root;
    }
    return n;
}

const ahead_copy *ahead_find(const ahead_loop *l, const buffer *b) {
    for (int i = 0; i < l->n; i++) {
        if (l->copy[i].to == b && !l->copy[i].why_not) {
            return &l->copy[i];
        }
    }
    return NULL;
}

static bool is_outside(ahead_plan *plan, const buffer *b) {
    int inside = 0;
    for (int i = 0; i < plan->nloops; i++) {
        if (ahead_find(&plan->loop[i], b)) {
            inside += count_touches(plan, &plan->loop[i].s->body, b);
        }
    }
    return inside != count_touches(plan, &plan->k->body, b);
}

/* What a buffer that is used elsewhere too forbids. */
static const char *outside_fault(const ahead_plan *plan, const ahead_loop *l, const ahead_copy *c) {
    if (c->is_conditional) {
        return arena_print(plan->a, "'%s' is used outside of the loop but not rewritten in every iteration",
                           c->to->name);
    }
    if (c->to->space == TG_FRAGMENT && !expr_is_const(l->s->extents[0])) {
        return arena_print(plan->a,
                           "'%s' is used outside of the loop, whose trip count is known at launch only",
                           c->to->name);
    }
    return NULL;
}

/* True when some copy was given up, which may make others' buffers used outside. */
static bool give_up(ahead_plan *plan) {
    bool any = false;
    for (int i = 0; i < plan->nloops; i++) {
        ahead_loop *l = &plan->loop[i];
        for (int n = 0; n < l->n; n++) {
            ahead_copy *c = &l->copy[n];
            const bool outside = !c->why_not && is_outside(plan, c->to);
            c->why_not = outside ? outside_fault(plan, l, c) : c->why_not;
            any |= outside && c->why_not;
        }
    }
    return any;
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

static int count_loops(const tile_block *b) {
    int n = 0;
    for (const tile_stmt *s = b->first; s; s = s->next) {
        n += s->kind == TILE_LOOP && s->scope == TG_PIPELINED;
        n += count_loops(&s->body) + count_loops(&s->otherwise);
    }
    return n;
}

static void judge_block(ahead_plan *plan, const tile_block *b) {
    for (tile_stmt *s = b->first; s; s = s->next) {
        if (s->kind == TILE_LOOP && s->scope == TG_PIPELINED) {
            judge_loop(plan, &plan->loop[plan->nloops++], s);
        }
        judge_block(plan, &s->body);
        judge_block(plan, &s->otherwise);
    }
}

typedef struct needing {
    const ahead_loop *loop;
} needing;

static bool note_needed(node *x, void *user) {
    const needing *n = user;
    if (x->kind == E_VAR && x->var->kind == VAR_LET && !n->loop->needed[x->var->id]) {
        const tile_stmt *let = definition(&n->loop->s->body, x->var);
        n->loop->needed[x->var->id] = true;
        return !let || expr_walk(let->value, note_needed, user);
    }
    return true;
}

static void note_names(const ahead_loop *l, const tile_stmt *copy) {
    needing n = {l};
    for (int i = 0; i < copy->src->n; i++) {
        (void)expr_walk(copy->src->arg[i], note_needed, &n);
    }
    for (const tile_stmt *up = copy->up; up != l->s; up = up->up) {
        (void)expr_walk(up->value, note_needed, &n);
    }
}

static void settle_loop(ahead_plan *plan, ahead_loop *l) {
    l->needed = ARENA_ARRAY(plan->a, bool, plan->k->nvars + 1);
    for (int i = 0; i < l->n; i++) {
        const ahead_copy *c = &l->copy[i];
        if (c->why_not) {
            continue;
        }
        ahead_buffer *b = &plan->of[c->to->id];
        b->versions = b->versions > l->stages ? b->versions : l->stages;
        b->is_outside = is_outside(plan, c->to);
        l->is_async |= c->to->space == TG_SHARED;
        l->is_unrolled |= c->to->space == TG_FRAGMENT;
        l->running++;
        note_names(l, c->s);
    }
}

static void keep_reasons(const ahead_plan *plan, ahead_loop *l) {
    for (int i = 0; i < l->n; i++) {
        if (l->copy[i].why_not) {
            l->copy[i].s->why = arena_print(plan->a, "not ahead: %s", l->copy[i].why_not);
        }
    }
    if (l->running > 0 || l->s->option < 2) {
        return;
    }
    const char *reason = l->stages < 2 ? "it has one iteration at most"
                         : l->n > 0    ? l->copy[0].why_not
                                       : "no copy of a tensor into a tile stands in it";
    l->s->why = arena_print(plan->a, "serial: %s", reason);
}

const ahead_loop *ahead_loop_of(const ahead_plan *plan, const tile_stmt *s) {
    for (int i = 0; i < plan->nloops; i++) {
        if (plan->loop[i].s == s) {
            return plan->loop[i].running > 0 ? &plan->loop[i] : NULL;
        }
    }
    return NULL;
}

void tile_pipeline(tg_kernel *k, const target *t) {
    ahead_plan plan = {.k = k, .t = t, .a = &k->memory};
    bool any = false;
    const int n = count_loops(&k->body);
    if (n == 0) {
        return;
    }
    plan.loop = ARENA_ARRAY(plan.a, ahead_loop, n);
    plan.of = ARENA_ARRAY(plan.a, ahead_buffer, k->nbuffers + 1);
    judge_block(&plan, &k->body);
    while (give_up(&plan)) {
    }
    for (int i = 0; i < plan.nloops; i++) {
        settle_loop(&plan, &plan.loop[i]);
        keep_reasons(&plan, &plan.loop[i]);
        any |= plan.loop[i].running > 0;
    }
    if (any) {
        ahead_rewrite(&plan);
    }
}
