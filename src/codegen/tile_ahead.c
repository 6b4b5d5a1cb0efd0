/* tile_ahead.c -- rewrites a kernel's body so that copies run ahead; see tile_pipeline.c, which decides.
 *
 * Reads the plan and the recorded body; leaves a new body and the recorded one beside it.  Everything is
 * cloned.  While it is, a frame for each pipelined loop around says which iteration the clone stands for: the
 * loop's variable becomes that expression, a buffer with versions the version of that iteration.
 *
 *     version 0                       what the buffer is outside of the loops that fill it ahead
 *     k % stages                      iteration k, where nothing uses the buffer outside
 *     (k + shift) % stages            where something does; shift so that the last iteration has version 0
 *
 * Where some copies go into registers the loop is unrolled by the number of stages, and versions are constants.
 */
#include <string.h>

#include "codegen/tile_pipeline.h"

/* The iteration of a pipelined loop that is being cloned. */
typedef struct frame {
    const struct frame *up;
    const ahead_loop *loop;
    node *now;
    node *trips;
    int64_t turn; /* now % stages where that is known, else -1 */
} frame;

typedef struct rewriting {
    ahead_plan *plan;
    tg_kernel *k;
    arena *a;
    int nvars, nbuffers; /* as recorded */
    node **name;         /* by id of a recorded variable: what it is now; NULL: itself */
    buffer **own;        /* by id of a recorded buffer: the clone's own; NULL: itself */
    bool *hoisted;       /* by buffer id: its TILE_ALLOC stands in front of a loop */
    const frame *frame;
    int copies; /* > 0: what is cloned is cloned again elsewhere, so names must be new */
} rewriting;

static void clone_block(rewriting *r, const tile_block *from, tile_block *to, tile_stmt *up);

/* ---- new variables and buffers ------------------------------------------------------------------------- */

static var *new_var(rewriting *r, const var *like) {
    tg_kernel *k = r->k;
    var **more = ARENA_ARRAY(r->a, var *, k->nvars + 1);
    var *v = ARENA_NEW(r->a, var);
    memcpy(more, k->vars, sizeof *more * (size_t)k->nvars);
    *v = *like;
    v->id = k->nvars;
    k->vars = more;
    k->vars[k->nvars++] = v;
    return v;
}

static var *new_index(rewriting *r, const char *name, var_kind kind, int64_t hi, tg_loc at) {
    const var like = {.kind = kind, .name = name, .type = TYPE_INDEX, .hi = hi > 0 ? hi : 0, .at = at};
    return new_var(r, &like);
}

static buffer *new_buffer(rewriting *r, const buffer *like) {
    tg_kernel *k = r->k;
    buffer **more = ARENA_ARRAY(r->a, buffer *, k->nbuffers + 1);
    buffer *b = ARENA_NEW(r->a, buffer);
    memcpy(more, k->buffers, sizeof *more * (size_t)k->nbuffers);
    *b = *like;
    b->id = k->nbuffers;
    k->buffers = more;
    k->buffers[k->nbuffers++] = b;
    return b;
}

static node *number(rewriting *r, int64_t x, tg_loc at) {
    return expr_int(r->a, at, x);
}

static node *plus(rewriting *r, node *x, int64_t y) {
    return expr_add(r->a, x, number(r, y, x->at));
}

/* ---- versions ------------------------------------------------------------------------------------------ */

static buffer *widened(rewriting *r, buffer *b) {
    ahead_buffer *of = &r->plan->of[b->id];
    const buffer *root = buffer_root(b);
    if (!of->wide) {
        of->wide = new_buffer(r, b);
        of->wide->view_of = b->view_of ? widened(r, b->view_of) : NULL;
        memmove(of->wide->dim + 1, b->dim, sizeof b->dim - sizeof b->dim[0]);
        of->wide->dim[0] = r->plan->of[root->id].versions;
        of->wide->rank = b->rank + 1;
    }
    return of->wide;
}

static buffer *part_of(rewriting *r, buffer *b, int64_t version) {
    ahead_buffer *of = &r->plan->of[b->id];
    if (!of->part) {
        of->part = ARENA_ARRAY(r->a, buffer *, of->versions);
        for (int64_t i = 0; i < of->versions; i++) {
            of->part[i] = i == 0 ? b : new_buffer(r, b);
            of->part[i]->name = i == 0 ? b->name : arena_print(r->a, "%s_%lld", b->name, (long long)i);
        }
    }
    return of->part[version];
}

static int64_t modulo(int64_t x, int64_t n) {
    return (x % n + n) % n;
}

/* What is added so that the last iteration has version 0. */
static node *shift_of(rewriting *r, const frame *f, tg_loc at) {
    const int64_t n = f->loop->stages;
    if (expr_is_const(f->trips)) {
        return number(r, modulo(1 - f->trips->ival, n), at);
    }
    node *last = expr_binary(r->a, at, TG_MOD, plus(r, f->trips, n - 1), number(r, n, at));
    return expr_binary(r->a, at, TG_SUB, number(r, n, at), last);
}

/* The version of root that the clone uses. */
static node *version_of(rewriting *r, const buffer *root, tg_loc at) {
    const frame *f = r->frame;
    while (f && !ahead_find(f->loop, root)) {
        f = f->up;
    }
    if (!f) {
        return number(r, 0, at);
    }
    const int64_t n = f->loop->stages;
    node *shift = r->plan->of[root->id].is_outside ? shift_of(r, f, at) : number(r, 0, at);
    if (f->turn >= 0 && expr_is_const(shift)) {
        return number(r, (f->turn + shift->ival) % n, at);
    }
    return expr_binary(r->a, at, TG_MOD, expr_add(r->a, f->now, shift), number(r, n, at));
}

/* The buffer that b is now; with a leading index where *version is set. */
static buffer *buffer_now(rewriting *r, buffer *b, node **version, tg_loc at) {
    buffer *root = buffer_root(b);
    *version = NULL;
    if (b->id >= r->nbuffers) {
        return b;
    }
    if (root->id < r->nbuffers && r->plan->of[root->id].versions > 0) {
        node *which = version_of(r, root, at);
        if (root->space == TG_FRAGMENT) {
            return part_of(r, b, which->ival);
        }
        *version = which;
        return widened(r, b);
    }
    if (root->id < r->nbuffers && r->own[root->id] && !r->own[b->id]) { /* a view of a clone's own */
        r->own[b->id] = new_buffer(r, b);
        node *none;
        r->own[b->id]->view_of = buffer_now(r, b->view_of, &none, at);
    }
    return r->own[b->id] ? r->own[b->id] : b;
}

/* ---- expressions --------------------------------------------------------------------------------------- */

static node *map_node(node *x, void *user);

static node *now(rewriting *r, node *x) {
    return x ? thread_map(r->a, x, map_node, r) : NULL;
}

/* A place in the buffer as it is now. */
static node *place_now(rewriting *r, node *x) {
    node *index[TG_MAX_RANK + 1], *version;
    buffer *b = buffer_now(r, x->buffer, &version, x->at);
    int n = 0;
    if (version && x->kind != E_BUFFER) {
        index[n++] = version;
    }
    for (int i = 0; i < x->n; i++) {
        index[n++] = now(r, x->arg[i]);
    }
    if (x->kind == E_REGION) {
        node *y = expr_region(r->a, x->at, b, n, index);
        y->in_tiles = x->in_tiles;
        y->dim[0] = 1;
        memcpy(y->dim + (n - x->n), x->dim, sizeof x->dim[0] * (size_t)x->n);
        return y;
    }
    node *y = expr_ref(r->a, x->at, b, n, index, x->lanes);
    y->kind = x->kind;
    return y;
}

static node *map_node(node *x, void *user) {
    rewriting *r = user;
    if (x->kind == E_VAR) {
        return x->var->id < r->nvars ? r->name[x->var->id] : NULL;
    }
    return x->kind == E_REF || x->kind == E_REGION || x->kind == E_BUFFER ? place_now(r, x) : NULL;
}

/* ---- cloning ------------------------------------------------------------------------------------------- */

static tile_stmt *append(rewriting *r, tile_block *b, tile_stmt *up, tile_kind kind, tg_loc at) {
    tile_stmt *s = ARENA_NEW(r->a, tile_stmt);
    s->kind = kind;
    s->at = at;
    s->up = up;
    if (b->last) {
        b->last->next = s;
    } else {
        b->first = s;
    }
    b->last = s;
    return s;
}

static node **now_all(rewriting *r, node **x, int n) {
    node **y = ARENA_ARRAY(r->a, node *, n + 1);
    for (int i = 0; i < n; i++) {
        y[i] = now(r, x[i]);
    }
    return y;
}

/* A variable that s defines: a new one in what is cloned several times. */
static var *defined(rewriting *r, var *v) {
    if (r->copies == 0) {
        r->name[v->id] = NULL; /* not what it was in a prologue */
        return v;
    }
    var *mine = new_var(r, v);
    r->name[v->id] = expr_var(r->a, v->at, mine);
    return mine;
}

/* The statement itself, without its bodies. */
static tile_stmt *clone_head(rewriting *r, const tile_stmt *s, tile_block *to, tile_stmt *up) {
    const bool is_loop = s->kind == TILE_LOOP;
    tile_stmt *c = append(r, to, up, s->kind, s->at);
    *c = *s;
    c->next = NULL;
    c->up = up;
    c->body = c->otherwise = (tile_block){NULL, NULL};
    c->src = now(r, s->src);
    c->dst = now(r, s->dst);
    c->value = now(r, s->value);
    c->values = is_loop ? NULL : now_all(r, s->values, s->n);
    c->extents = is_loop ? now_all(r, s->extents, s->n) : NULL;
    if (is_loop) {
        c->axes = ARENA_ARRAY(r->a, var *, s->n);
        for (int i = 0; i < s->n; i++) {
            c->axes[i] = defined(r, s->axes[i]);
        }
    }
    if (s->kind == TILE_LET || s->kind == TILE_ALLREDUCE) {
        c->var = defined(r, s->var);
        c->var->value = s->var->value ? c->value : NULL;
    }
    return c;
}

/* A buffer of the loop's body: each clone has its own, but for shared memory. */
static void own_buffer(rewriting *r, buffer *b) {
    if (r->copies == 0 || b->space == TG_SHARED) {
        return;
    }
    for (int i = 0; i < r->nbuffers; i++) {
        if (buffer_root(r->k->buffers[i]) == b) {
            r->own[i] = NULL;
        }
    }
    r->own[b->id] = new_buffer(r, b);
}

/* Versions in registers that the copy of a body makes for itself. */
static void own_parts(rewriting *r, buffer *b) {
    ahead_buffer *of = &r->plan->of[b->id];
    of->part = ARENA_ARRAY(r->a, buffer *, of->versions);
    for (int64_t i = 0; i < of->versions; i++) {
        of->part[i] = new_buffer(r, b);
        of->part[i]->name = i == 0 ? b->name : arena_print(r->a, "%s_%lld", b->name, (long long)i);
    }
}

static void allocate(rewriting *r, const tile_stmt *s, tile_block *to, tile_stmt *up) {
    buffer *b = s->buffer;
    const ahead_buffer *of = &r->plan->of[b->id];
    const bool is_shared = b->space == TG_SHARED;
    node *version;
    if (of->versions == 0) {
        own_buffer(r, b);
    } else if (!is_shared && r->copies > 0) {
        own_parts(r, b);
    }
    const int64_t n = of->versions == 0 || is_shared ? 1 : of->versions;
    for (int64_t i = 0; i < n; i++) {
        append(r, to, up, TILE_ALLOC, s->at)->buffer =
            of->versions > 0 && !is_shared ? part_of(r, b, i) : buffer_now(r, b, &version, s->at);
    }
}

/* ---- the copies that run ahead ------------------------------------------------------------------------- */

static bool is_ahead(const ahead_loop *l, const tile_stmt *s) {
    const ahead_copy *c = s->kind == TILE_COPY ? ahead_find(l, s->dst->buffer) : NULL;
    return c && c->s == s;
}

static bool has_ahead(const ahead_loop *l, const tile_block *b) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        if (is_ahead(l, s) ||
            (s->kind == TILE_WHEN && (has_ahead(l, &s->body) || has_ahead(l, &s->otherwise)))) {
            return true;
        }
    }
    return false;
}

/* Of an iteration's statements those that its copies need. */
static void clone_ahead(rewriting *r, const ahead_loop *l, const tile_block *from, tile_block *to,
                        tile_stmt *up) {
    for (const tile_stmt *s = from->first; s; s = s->next) {
        if (is_ahead(l, s)) {
            clone_head(r, s, to, up)->is_async = s->dst->buffer->space == TG_SHARED;
        } else if (s->kind == TILE_LET && l->needed[s->var->id]) {
            clone_head(r, s, to, up);
        } else if (s->kind == TILE_WHEN && (has_ahead(l, &s->body) || has_ahead(l, &s->otherwise))) {
            tile_stmt *c = clone_head(r, s, to, up);
            clone_ahead(r, l, &s->body, &c->body, c);
            clone_ahead(r, l, &s->otherwise, &c->otherwise, c);
            c->has_otherwise = c->otherwise.first != NULL;
        }
    }
}

/* Stands for iteration f->now from here; returns what the loop's variable was. */
static node *enter(rewriting *r, frame *f) {
    const int id = f->loop->s->axes[0]->id;
    node *before = r->name[id];
    f->up = r->frame;
    r->frame = f;
    r->name[id] = f->now;
    return before;
}

static void leave(rewriting *r, node *before) {
    r->name[r->frame->loop->s->axes[0]->id] = before;
    r->frame = r->frame->up;
}

/* Opens `when now < trips` unless that is known; false where there is no such iteration. */
static bool open_iteration(rewriting *r, const frame *f, tile_block **b, tile_stmt **up) {
    node *exists = expr_binary(r->a, f->loop->s->at, TG_LT, f->now, f->trips);
    const fact known = facts_truth(exists);
    if (known == FACT_UNKNOWN) {
        tile_stmt *branch = append(r, *b, *up, TILE_WHEN, f->loop->s->at);
        branch->value = exists;
        *up = branch;
        *b = &branch->body;
    }
    return known != FACT_NO;
}

/* The iteration gets a name, and by it the range that it has where it exists. */
static void name_iteration(rewriting *r, frame *f, const char *name, tile_block *b, tile_stmt *up) {
    const tile_stmt *s = f->loop->s;
    if (f->now->kind == E_VAR || f->now->kind == E_CONST) {
        return;
    }
    tile_stmt *let = append(r, b, up, TILE_LET, s->at);
    let->value = f->now;
    let->var = new_index(r, name, VAR_LET, f->trips->hi - 1, s->at);
    let->var->lo = f->now->lo > 0 ? f->now->lo : 0;
    let->var->value = f->now;
    f->now = expr_var(r->a, s->at, let->var);
}

/* The copies of iteration f->now, and a group of them, maybe an empty one. */
static void issue(rewriting *r, frame f, tile_block *b, tile_stmt *up) {
    tile_block *inner = b;
    tile_stmt *inner_up = up;
    if (open_iteration(r, &f, &inner, &inner_up)) {
        name_iteration(r, &f, arena_print(r->a, "%s_ahead", f.loop->s->axes[0]->name), inner, inner_up);
        node *before = enter(r, &f);
        r->copies++;
        clone_ahead(r, f.loop, &f.loop->s->body, inner, inner_up);
        r->copies--;
        leave(r, before);
    }
    if (f.loop->is_async) {
        append(r, b, up, TILE_COMMIT, f.loop->s->at);
    }
}

/* ---- loops --------------------------------------------------------------------------------------------- */

static tile_stmt *append_loop(rewriting *r, tile_block *b, tile_stmt *up, tg_loc at, var *axis,
                              node *extent) {
    tile_stmt *s = append(r, b, up, TILE_LOOP, at);
    s->scope = TG_SERIAL;
    s->n = 1;
    s->axes = ARENA_NEW(r->a, var *);
    s->extents = ARENA_NEW(r->a, node *);
    s->axes[0] = axis;
    s->extents[0] = extent;
    return s;
}

/* The first iterations' copies. */
static void prologue(rewriting *r, const frame *f, tile_block *b, tile_stmt *up) {
    const int64_t ahead = f->loop->stages - 1;
    const tg_loc at = f->loop->s->at;
    if (ahead > 1 && !f->loop->is_unrolled) {
        var *p = new_index(r, "ahead", VAR_LOOP, ahead - 1, at);
        tile_stmt *s = append_loop(r, b, up, at, p, number(r, ahead, at));
        s->why = arena_print(r->a, "the copies of the first %lld iterations", (long long)ahead);
        issue(r, (frame){NULL, f->loop, expr_var(r->a, at, p), f->trips, -1}, &s->body, s);
        return;
    }
    for (int64_t i = 0; i < ahead; i++) {
        issue(r, (frame){NULL, f->loop, number(r, i, at), f->trips, i}, b, up);
    }
}

/* One iteration: wait for its copies, issue those of a later one, do the rest. */
static void iteration(rewriting *r, frame f, tile_block *b, tile_stmt *up) {
    const int64_t stages = f.loop->stages;
    if (f.loop->is_async) {
        tile_stmt *wait = append(r, b, up, TILE_WAIT, f.loop->s->at);
        wait->option = stages - 2;
    }
    frame later = f;
    later.now = plus(r, f.now, stages - 1);
    later.turn = f.turn < 0 ? -1 : (f.turn + stages - 1) % stages;
    issue(r, later, b, up);
    node *before = enter(r, &f);
    clone_block(r, &f.loop->s->body, b, up);
    leave(r, before);
}

static void rolled_loop(rewriting *r, frame f, tile_block *b, tile_stmt *up, const char *why) {
    const tile_stmt *s = f.loop->s;
    var *axis = r->copies > 0 ? new_var(r, s->axes[0]) : s->axes[0];
    tile_stmt *loop = append_loop(r, b, up, s->at, axis, f.trips);
    loop->why = why;
    f.now = expr_var(r->a, s->at, axis);
    iteration(r, f, &loop->body, loop);
}

/* Iterations q * stages .. q * stages + stages - 1 in one. */
static void unrolled_loop(rewriting *r, frame f, tile_block *b, tile_stmt *up, const char *why) {
    const tile_stmt *s = f.loop->s;
    const int64_t n = f.loop->stages;
    node *turns = expr_binary(r->a, s->at, TG_QUO, plus(r, f.trips, n - 1), number(r, n, s->at));
    var *q = new_index(r, arena_print(r->a, "%s_turn", s->axes[0]->name), VAR_LOOP, turns->hi - 1, s->at);
    tile_stmt *loop = append_loop(r, b, up, s->at, q, turns);
    loop->why = why;
    r->copies++;
    for (f.turn = 0; f.turn < n; f.turn++) {
        tile_block *inner = &loop->body;
        tile_stmt *inner_up = loop;
        f.now = plus(r, expr_mul(r->a, expr_var(r->a, s->at, q), n), f.turn);
        if (f.turn == 0 || open_iteration(r, &f, &inner, &inner_up)) {
            name_iteration(r, &f, s->axes[0]->name, inner, inner_up);
            iteration(r, f, inner, inner_up);
        }
    }
    r->copies--;
}

static const tile_stmt *find_alloc(const tile_block *b, const buffer *wanted) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        if (s->kind == TILE_ALLOC && s->buffer == wanted) {
            return s;
        }
        const tile_stmt *inner = find_alloc(&s->body, wanted);
        inner = inner ? inner : find_alloc(&s->otherwise, wanted);
        if (inner) {
            return inner;
        }
    }
    return NULL;
}

/* Buffers that an iteration made for itself exist as long as the loop now. */
static void hoist(rewriting *r, const ahead_loop *l, tile_block *b, tile_stmt *up) {
    for (int i = 0; i < l->n; i++) {
        const tile_stmt *alloc = l->copy[i].why_not ? NULL : find_alloc(&l->s->body, l->copy[i].to);
        if (alloc) {
            allocate(r, alloc, b, up);
            r->hoisted[alloc->buffer->id] = true;
        }
    }
}

/* The trip count as something that costs nothing and stays what it is. */
static node *trips_of(rewriting *r, const tile_stmt *s, tile_block *b, tile_stmt *up) {
    node *n = now(r, s->extents[0]);
    if (n->kind == E_CONST || n->kind == E_VAR) {
        return n;
    }
    tile_stmt *let = append(r, b, up, TILE_LET, s->at);
    const var like = {.kind = VAR_LET,
                      .name = arena_print(r->a, "%s_trips", s->axes[0]->name),
                      .type = TYPE_INDEX,
                      .lo = n->lo,
                      .hi = n->hi,
                      .at = s->at,
                      .value = n};
    let->value = n;
    let->var = new_var(r, &like);
    return expr_var(r->a, s->at, let->var);
}

static void pipelined_loop(rewriting *r, const ahead_loop *l, tile_block *b, tile_stmt *up) {
    const long long ahead = (long long)l->stages - 1;
    frame f = {.loop = l, .turn = -1};
    hoist(r, l, b, up);
    f.trips = trips_of(r, l->s, b, up);
    prologue(r, &f, b, up);
    const char *why = arena_print(r->a, "copies run %lld iteration%s ahead", ahead, ahead == 1 ? "" : "s");
    if (l->is_unrolled) {
        unrolled_loop(r, f, b, up, why);
    } else {
        rolled_loop(r, f, b, up, why);
    }
}

/* ---- the body ------------------------------------------------------------------------------------------ */

static bool is_ahead_here(const rewriting *r, const tile_stmt *s) {
    for (const frame *f = r->frame; f; f = f->up) {
        if (is_ahead(f->loop, s)) {
            return true;
        }
    }
    return false;
}

static void drop_last(tile_block *b, const tile_stmt *s) {
    tile_stmt *before = b->first == s ? NULL : b->first;
    while (before && before->next != s) {
        before = before->next;
    }
    b->last = before;
    if (before) {
        before->next = NULL;
    } else {
        b->first = NULL;
    }
}

static void clone_scope(rewriting *r, const tile_stmt *s, tile_block *to, tile_stmt *up) {
    tile_stmt *c = clone_head(r, s, to, up);
    clone_block(r, &s->body, &c->body, c);
    clone_block(r, &s->otherwise, &c->otherwise, c);
    if (c->kind == TILE_WHEN && !c->body.first && !c->otherwise.first) {
        drop_last(to, c); /* its copies run ahead */
    }
}

static void clone_block(rewriting *r, const tile_block *from, tile_block *to, tile_stmt *up) {
    for (const tile_stmt *s = from->first; s; s = s->next) {
        const ahead_loop *l = ahead_loop_of(r->plan, s);
        if (l) {
            pipelined_loop(r, l, to, up);
        } else if (s->kind == TILE_LOOP || s->kind == TILE_WHEN) {
            clone_scope(r, s, to, up);
        } else if (s->kind == TILE_ALLOC) {
            if (!r->hoisted[s->buffer->id]) {
                allocate(r, s, to, up);
            }
        } else if (!is_ahead_here(r, s)) {
            clone_head(r, s, to, up);
        }
    }
}

void ahead_rewrite(ahead_plan *plan) {
    tg_kernel *k = plan->k;
    rewriting r = {.plan = plan, .k = k, .a = plan->a, .nvars = k->nvars, .nbuffers = k->nbuffers};
    r.name = ARENA_ARRAY(r.a, node *, k->nvars + 1);
    r.own = ARENA_ARRAY(r.a, buffer *, k->nbuffers + 1);
    r.hoisted = ARENA_ARRAY(r.a, bool, k->nbuffers + 1);
    tile_block body = {NULL, NULL};
    clone_block(&r, &k->body, &body, NULL);
    k->recorded = k->body;
    k->body = body;
}
