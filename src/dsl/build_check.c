/* build_check.c -- what can be judged only when a kernel is whole; called once by tg_end().  See build.h.
 *
 *   scopes        none is left open
 *   launch        there is a grid and threads
 *   configuration every name was asked for
 *   tensors       which are read, written, atomic; constant ones are not written
 *   collectives   stand under conditions and trip counts on which all threads of a block agree
 *   reducers      cleared or filled, accumulated, finalized, read: in this order, as written */
#include <string.h>

#include "dsl/build.h"

/* ---- scopes, launch, configuration --------------------------------------------------------------------- */

static void check_scopes(tg_kernel *k) {
    if (k->open) { /* the innermost: those around it were left with it */
        diag_error(&k->errors, k->open->at, "this %s was never closed: did a return or goto leave it?",
                   tile_scope_word(k->open->kind));
    }
    k->open = NULL;
    k->block = &k->body;
    k->scope = NULL;
}

static void check_launch(tg_kernel *k) {
    if (k->errors.n == 0 && !(k->has_grid && k->has_threads)) {
        tg_loc at = k->last.line ? k->last : (tg_loc){k->name, 0};
        diag_error(&k->errors, at, "kernel '%s' has no %s", k->name,
                   k->has_grid ? "threads(..) in its grid" : "grid(..) threads(..) { .. }");
    }
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Edit distance of two names, of which only the first 31 characters count. */
static size_t distance(const char *a, const char *b) {
    enum { MOST = 31 };
    size_t row[MOST + 1], n = least(strlen(a), MOST), m = least(strlen(b), MOST);
    for (size_t j = 0; j <= m; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t above = row[j];
            row[j] = least(least(row[j] + 1, row[j - 1] + 1), diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[m];
}

/* ", did you mean 'block_n'" or the list of what there is. */
static const char *nearest(tg_kernel *k, const char *name) {
    const char *best = NULL, *list = "";
    size_t near = strlen(name) / 3 + 2;
    for (int i = 0; i < k->nparams; i++) {
        const char *p = k->params[i].name;
        if (distance(name, p) < near) {
            near = distance(name, p);
            best = p;
        }
        list = arena_print(&k->memory, "%s%s%s", list, i ? ", " : "", p);
    }
    return best             ? arena_print(&k->memory, ": did you mean '%s'?", best)
           : k->nparams > 0 ? arena_print(&k->memory, ": it asks for %s", list)
                            : ": it asks for nothing";
}

/* A value for an extent is for the launch and not for the build; whoever runs a kernel may keep it here. */
static bool is_extent_name(const tg_kernel *k, const char *name) {
    for (int i = 0; i < k->nargs; i++) {
        const var *v = k->args[i].scalar;
        if (v && v->kind == VAR_EXTENT && strcmp(v->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* After an early return or without the launch, later names were never asked for. */
static void check_config(tg_kernel *k) {
    for (int i = 0; i < k->config.n && !k->unmet && k->has_threads; i++) {
        const char *name = k->config.p[i].name;
        if (!k->config_used[i] && !is_extent_name(k, name)) {
            diag_error(&k->errors, (tg_loc){k->name, 0},
                       "the configuration has '%s', which '%s' does not ask for%s", name, k->name,
                       nearest(k, name));
        }
    }
}

/* ---- tensors ------------------------------------------------------------------------------------------- */

static void mark_read(node *place, void *user) {
    (void)user;
    place->buffer->is_read = true;
    buffer_root(place->buffer)->is_read = true;
}

static void mark_reads(const node *x) {
    expr_loads(x, mark_read, NULL);
}

static void mark_use(buffer *b, bool read, bool written, bool atomic) {
    for (;; b = b->view_of) {
        b->is_read |= read;
        b->is_written |= written;
        b->is_atomic |= atomic;
        if (!b->view_of) {
            return;
        }
    }
}

static void mark_write(tg_kernel *k, const tile_stmt *s, bool read, bool atomic) {
    buffer *root = buffer_root(s->dst->buffer);
    mark_use(s->dst->buffer, read, true, atomic);
    if (root->is_constant) {
        diag_error(&k->errors, s->at, "'%s' is written but was declared constant, as a tensor made at %s",
                   root->name, build_place(k, root->at));
    }
}

static void mark_stmt(tg_kernel *k, tile_stmt *s) {
    node *const places[] = {s->value, s->dst, s->src};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        mark_reads(places[i]);
    }
    for (int i = 0; i < s->n; i++) {
        mark_reads(s->kind == TILE_LOOP ? s->extents[i] : s->values[i]);
    }
    if (s->src) {
        mark_use(s->src->buffer, true, false, false);
    }
    if (s->dst) {
        bool reads = s->kind == TILE_ACCUM || s->kind == TILE_ATOMIC;
        mark_write(k, s, reads, s->kind == TILE_ATOMIC);
    }
}

static void mark_block(tg_kernel *k, const tile_block *block) {
    for (tile_stmt *s = block->first; s; s = s->next) {
        mark_stmt(k, s);
        mark_block(k, &s->body);
        mark_block(k, &s->otherwise);
    }
}

/* ---- what is written near a read ----------------------------------------------------------------------- */

/* Threads agree about what they read at one address if no thread writes it in the barrier interval of the
 * read. Writes by collective operations do not count: barriers are inserted around them. */

static bool same_bytes(const buffer *a, const buffer *b) {
    for (int i = 0; i < a->naliases; i++) {
        if (a->alias_of[i] == b) {
            return true;
        }
    }
    return a == b;
}

static bool writes(const tile_stmt *s, const buffer *root) {
    bool is_element = s->kind == TILE_STORE || s->kind == TILE_ACCUM || s->kind == TILE_ATOMIC;
    return is_element && same_bytes(root, buffer_root(s->dst->buffer));
}

/* Does the body of a loop certainly run? */
static bool certain(const tile_stmt *loop) {
    for (int i = 0; i < loop->n; i++) {
        if (build_poisoned(loop->extents[i]) || loop->extents[i]->lo < 1) {
            return false;
        }
    }
    return true;
}

static bool is_parallel(const tile_stmt *s) {
    return s->kind == TILE_LOOP && s->scope == TG_PARALLEL;
}

/* The last write after the last barrier among s .. before `stop`; `barrier`: there certainly was one. */
static const tile_stmt *last_write(const tile_stmt *s, const tile_stmt *stop, const buffer *root,
                                   bool *barrier) {
    const tile_stmt *found = NULL;
    for (; s && s != stop; s = s->next) {
        if (s->kind == TILE_SYNC) {
            found = NULL;
            *barrier = true;
        } else if (writes(s, root)) {
            found = s;
        } else if ((s->kind == TILE_LOOP || s->kind == TILE_WHEN) && !is_parallel(s)) {
            bool inner = false, unused = false;
            const tile_stmt *in_body = last_write(s->body.first, NULL, root, &inner);
            const tile_stmt *in_other = last_write(s->otherwise.first, NULL, root, &unused);
            bool passed = inner && s->kind == TILE_LOOP && certain(s);
            *barrier |= passed;
            found = in_body ? in_body : in_other ? in_other : passed ? NULL : found;
        }
    }
    return found;
}

/* The first write before any barrier among s .. before `stop`. */
static const tile_stmt *first_write(const tile_stmt *s, const tile_stmt *stop, const buffer *root,
                                    bool *barrier) {
    for (; s && s != stop; s = s->next) {
        if (s->kind == TILE_SYNC) {
            *barrier = true;
            return NULL;
        }
        if (writes(s, root)) {
            return s;
        }
        if ((s->kind == TILE_LOOP || s->kind == TILE_WHEN) && !is_parallel(s)) {
            bool inner = false, unused = false;
            const tile_stmt *found = first_write(s->body.first, NULL, root, &inner);
            found = found ? found : first_write(s->otherwise.first, NULL, root, &unused);
            if (found) {
                return found;
            }
            if (inner && s->kind == TILE_LOOP && certain(s)) {
                *barrier = true;
                return NULL;
            }
        }
    }
    return NULL;
}

/* The block that s stands in. */
static const tile_block *home(const tg_kernel *k, const tile_stmt *s) {
    if (!s->up) {
        return &k->body;
    }
    for (const tile_stmt *t = s->up->otherwise.first; t; t = t->next) {
        if (t == s) {
            return &s->up->otherwise;
        }
    }
    return &s->up->body;
}

static const tile_stmt *write_before(const tg_kernel *k, const tile_stmt *s, const buffer *root) {
    for (; s; s = s->up) {
        bool barrier = false, unused = false;
        const tile_stmt *found = last_write(home(k, s)->first, s, root, &barrier);
        if (found || barrier) {
            return found;
        }
        if (s->up && s->up->kind == TILE_LOOP) { /* the end of the iteration before */
            found = last_write(s, NULL, root, &unused);
            if (found) {
                return found;
            }
        }
    }
    return NULL;
}

static const tile_stmt *write_after(const tg_kernel *k, const tile_stmt *s, const buffer *root) {
    bool barrier = false;
    const tile_stmt *found = first_write(s->body.first, NULL, root, &barrier);
    found = found ? found : first_write(s->otherwise.first, NULL, root, &barrier);
    for (; s && !found; s = s->up) {
        barrier = false;
        found = first_write(s->next, NULL, root, &barrier);
        if (barrier || found) {
            return found;
        }
        if (s->up && s->up->kind == TILE_LOOP) { /* the start of the next iteration */
            found = first_write(home(k, s)->first, s, root, &barrier);
        }
    }
    return found;
}

static const tile_stmt *atomic_in(const tile_block *block, const buffer *root) {
    for (const tile_stmt *s = block->first; s; s = s->next) {
        const tile_stmt *found = s->kind == TILE_ATOMIC && writes(s, root) ? s : atomic_in(&s->body, root);
        found = found ? found : atomic_in(&s->otherwise, root);
        if (found) {
            return found;
        }
    }
    return NULL;
}

/* Why threads do not agree, and what to write so that they do; both NULL where they agree.  A way out that does not
 * follow from the reason alone is NULL too: whoever reports it knows the place. */
typedef struct {
    const char *what, *instead;
} reason;

static reason written(tg_kernel *k, const buffer *root, const tile_stmt *write, const char *instead) {
    return (reason){arena_print(&k->memory, "'%s' is written at %s with no sync_threads between", root->name,
                                build_place(k, write->at)),
                    instead};
}

/* Why threads may read different values from root in statement s.  What other blocks change at any time comes first:
 * no barrier helps against it. */
static reason disturbed(tg_kernel *k, const tile_stmt *s, const buffer *root) {
    const char *between = "put sync_threads() between the two";
    bool barrier = false;
    const tile_stmt *found = root->space == TG_GLOBAL ? atomic_in(&k->body, root) : NULL;
    if (found) {
        return (reason){arena_print(&k->memory,
                                    "'%s' changes at any time by the atomics of other blocks, at %s",
                                    root->name, build_place(k, found->at)),
                        "copy it into a shared buffer and read it there"};
    }
    found = write_before(k, s, root);
    if (found) {
        return written(k, root, found, between);
    }
    found = is_parallel(s) ? first_write(s->body.first, NULL, root, &barrier) : NULL;
    if (found) {
        return written(k, root, found, "read it into a let before the parallel");
    }
    found = write_after(k, s, root);
    const char *early = "read it into a let before, and put sync_threads() between that and the write";
    return found ? written(k, root, found, s->kind == TILE_LET ? between : early) : (reason){0};
}

/* ---- collectives --------------------------------------------------------------------------------------- */

typedef struct {
    tg_kernel *k;
    bool *uniform;           /* by id of the variable */
    reason *cause;           /* by id: why a let or allreduce is not */
    const tile_stmt *reader; /* the statement that evaluates */
    reason why;              /* the first reason why something is not uniform */
} checker;

static const char through_shared[] =
    "let one thread store it in a shared buffer, then sync_threads() and read it there";

static bool differs(checker *c, reason why) {
    c->why = c->why.what ? c->why : why;
    return false;
}

static bool load_agrees(checker *c, const node *x) {
    tg_kernel *k = c->k;
    const buffer *root = buffer_root(x->arg[0]->buffer);
    if (root->space != TG_GLOBAL && root->space != TG_SHARED) {
        return differs(
            c, (reason){arena_print(&k->memory, "'%s' is each thread's own", root->name), through_shared});
    }
    const reason why = disturbed(k, c->reader, root);
    return why.what ? differs(c, why) : true;
}

static bool var_agrees(checker *c, const var *v) {
    if (c->uniform[v->id]) {
        return true;
    }
    if (c->cause[v->id].what) {
        return differs(c, c->cause[v->id]);
    }
    const char *what = v->kind == VAR_THREAD ? "is a thread index" : "differs between threads";
    return differs(c, (reason){arena_print(&c->k->memory, "'%s' %s", v->name, what), NULL});
}

static bool agrees(node *x, void *user) {
    checker *c = user;
    return x->kind == E_VAR ? var_agrees(c, x->var) : x->kind != E_LOAD || load_agrees(c, x);
}

/* Do all threads of a block compute the same x in statement s? */
static bool is_uniform(checker *c, const tile_stmt *s, node *x) {
    c->reader = s;
    c->why = (reason){0};
    return expr_walk(x, agrees, c);
}

/* The outermost scope on which threads disagree; one message for what stands in it. */
typedef struct {
    const tile_stmt *s;
    const node *about;
    reason why;
    bool reported;
} divergence;

static void report(checker *c, const tile_stmt *s, divergence *d) {
    if (d->reported) {
        return;
    }
    tg_kernel *k = c->k;
    const char *word = tile_collective_word(s);
    const char *scope = d->s->kind == TILE_WHEN ? "when" : tile_scope_word(d->s->scope);
    diag_error(
        &k->errors, s->at,
        "%s is collective, but threads of the block may disagree about '%s', the %s of the %s at %s (%s): "
        "move it out of that scope%s%s",
        word, expr_text(&k->memory, d->about), d->s->kind == TILE_WHEN ? "condition" : "trip count", scope,
        build_place(k, d->s->at), d->why.what, d->why.instead ? ", or " : "",
        d->why.instead ? d->why.instead : "");
    d->reported = true;
}

/* What a collective operation itself evaluates, with the way out of a thread index there. */
static void check_agreed(checker *c, const tile_stmt *s, node *x, const char *what, const char *instead) {
    if (!build_poisoned(x) && !is_uniform(c, s, x)) {
        diag_error(&c->k->errors, s->at, "%s: threads of the block may disagree about %s, '%s' (%s): %s",
                   tile_collective_word(s), what, expr_text(&c->k->memory, x), c->why.what,
                   c->why.instead ? c->why.instead : instead);
    }
}

static void check_extent(checker *c, const tile_stmt *s, node *x) {
    check_agreed(c, s, x, "the extent",
                 s->scope == TG_PARALLEL ? "give it the most that it can be, with a when(..) inside"
                                         : "use serial, with no collective operation inside");
}

/* All threads share the work on one region. */
static void check_corners(checker *c, const tile_stmt *s, const node *region) {
    const char *instead = s->kind == TILE_COPY
                              ? "where each thread has a place of its own, use at(..) or copy it to a local"
                              : "where each thread has a place of its own, set(at(..), ..) it";
    for (int i = 0; region && i < region->n; i++) {
        check_agreed(c, s, region->arg[i],
                     arena_print(&c->k->memory, "where '%s' begins", region->buffer->name), instead);
    }
}

static void check_block(checker *c, const tile_block *block, divergence *outer);

/* Opens the scopes that depend on x, unless one around it already does. */
static divergence *diverge(checker *c, const tile_stmt *s, node *x, divergence *outer, divergence *mine) {
    if (outer || build_poisoned(x) || is_uniform(c, s, x)) {
        return outer;
    }
    *mine = (divergence){.s = s, .about = x, .why = c->why};
    return mine;
}

static void check_loop(checker *c, const tile_stmt *s, divergence *outer) {
    divergence mine;
    divergence *inner = outer;
    bool parallel = s->scope == TG_PARALLEL, collective = tile_collective_word(s) != NULL;
    for (int i = 0; i < s->n; i++) {
        bool agreed = build_poisoned(s->extents[i]) || is_uniform(c, s, s->extents[i]);
        c->uniform[s->axes[i]->id] = (agreed || collective) && !parallel;
        if (collective && !agreed && !outer) {
            check_extent(c, s, s->extents[i]);
        } else if (!agreed) {
            inner = diverge(c, s, s->extents[i], inner, &mine);
        }
    }
    check_block(c, &s->body, inner);
}

static void check_when(checker *c, const tile_stmt *s, divergence *outer) {
    divergence mine;
    divergence *inner = diverge(c, s, s->value, outer, &mine);
    check_block(c, &s->body, inner);
    check_block(c, &s->otherwise, inner);
}

/* copy, clear and fill. */
static void check_tile(checker *c, const tile_stmt *s) {
    if (s->kind == TILE_FILL) {
        check_agreed(c, s, s->value, "the value", "store the elements in parallel, or each by its thread");
    }
    check_corners(c, s, s->src);
    check_corners(c, s, s->dst);
}

static void check_block(checker *c, const tile_block *block, divergence *outer) {
    for (const tile_stmt *s = block->first; s; s = s->next) {
        if (outer && tile_collective_word(s)) {
            report(c, s, outer);
        }
        if (s->kind == TILE_LET) {
            c->uniform[s->var->id] = is_uniform(c, s, s->value);
            c->cause[s->var->id] = c->why;
        } else if (s->kind == TILE_ALLREDUCE) { /* the same bits in the group; is that the whole block? */
            c->uniform[s->var->id] = s->axis->hi + 1 == tile_threads(c->k);
            c->cause[s->var->id] = (reason){
                arena_print(&c->k->memory, "'%s' is the same along '%s' only", s->var->name, s->axis->name),
                through_shared};
        } else if ((s->kind == TILE_COPY || s->kind == TILE_FILL) && !outer && tile_collective_word(s)) {
            check_tile(c, s);
        } else if (s->kind == TILE_LOOP) {
            check_loop(c, s, outer);
        } else if (s->kind == TILE_WHEN) {
            check_when(c, s, outer);
        }
    }
}

static void check_collectives(tg_kernel *k) {
    checker c = {.k = k,
                 .uniform = ARENA_ARRAY(&k->memory, bool, k->nvars + 1),
                 .cause = ARENA_ARRAY(&k->memory, reason, k->nvars + 1)};
    for (int i = 0; i < k->nvars; i++) {
        const var *v = k->vars[i];
        c.uniform[i] = v->kind == VAR_GRID || v->kind == VAR_SCALAR || v->kind == VAR_EXTENT ||
                       (v->kind == VAR_THREAD && v->hi == 0);
    }
    check_block(&c, &k->body, NULL);
}

/* ---- reducers ------------------------------------------------------------------------------------------ */

typedef enum { UNSET, OPEN, CLOSED } epoch;

typedef struct {
    tg_kernel *k;
    epoch *epochs; /* by id of the buffer */
    tg_loc *since;
    tg_loc at;
} reducers;

static bool is_reducer(const node *x) {
    return x && x->buffer && x->buffer->space == TG_REDUCER;
}

static void check_epoch(reducers *r, tg_loc at, const buffer *b, epoch wanted, const char *word) {
    epoch now = r->epochs[b->id];
    if (now == wanted) {
        return;
    }
    const char *since = build_place(r->k, r->since[b->id]);
    if (now == UNSET) {
        diag_error(&r->k->errors, at, "%s: reducer '%s' was never cleared or filled before", word, b->name);
    } else if (now == OPEN) {
        diag_error(&r->k->errors, at, "%s: reducer '%s' holds partial results since %s: finalize it first",
                   word, b->name, since);
    } else {
        diag_error(&r->k->errors, at, "%s: reducer '%s' was finalized at %s: clear or fill it first", word,
                   b->name, since);
    }
}

static void check_read(node *place, void *user) {
    reducers *r = user;
    if (is_reducer(place)) {
        check_epoch(r, r->at, place->buffer, CLOSED, "read");
    }
}

static void check_reads(reducers *r, const node *x) {
    expr_loads(x, check_read, r);
}

static void enter(reducers *r, const tile_stmt *s, epoch e) {
    r->epochs[s->dst->buffer->id] = e;
    r->since[s->dst->buffer->id] = s->at;
}

static void reducer_stmt(reducers *r, const tile_stmt *s) {
    r->at = s->at;
    check_reads(r, s->value);
    check_reads(r, s->dst);
    for (int i = 0; i < s->n; i++) {
        check_reads(r, s->kind == TILE_LOOP ? s->extents[i] : s->values[i]);
    }
    if (is_reducer(s->src)) {
        check_epoch(r, s->at, s->src->buffer, CLOSED, s->kind == TILE_COPY ? "copy" : "reduce");
    }
    if (!is_reducer(s->dst)) {
        return;
    }
    if (s->kind == TILE_FILL) {
        enter(r, s, OPEN);
    } else if (s->kind == TILE_ACCUM) {
        check_epoch(r, s->at, s->dst->buffer, OPEN, "accum");
    } else if (s->kind == TILE_FINALIZE) {
        check_epoch(r, s->at, s->dst->buffer, OPEN, "finalize");
        enter(r, s, CLOSED);
    }
}

static void reducer_block(reducers *r, const tile_block *block) {
    for (const tile_stmt *s = block->first; s; s = s->next) {
        reducer_stmt(r, s);
        reducer_block(r, &s->body);
        reducer_block(r, &s->otherwise);
    }
}

static void check_reducers(tg_kernel *k) {
    for (int i = 0; i < k->nbuffers; i++) {
        if (k->buffers[i]->space == TG_REDUCER) {
            reducers r = {.k = k,
                          .epochs = ARENA_ARRAY(&k->memory, epoch, k->nbuffers),
                          .since = ARENA_ARRAY(&k->memory, tg_loc, k->nbuffers)};
            reducer_block(&r, &k->body);
            return;
        }
    }
}

/* ---- all ----------------------------------------------------------------------------------------------- */

void build_check(tg_kernel *k) {
    check_scopes(k);
    check_launch(k);
    check_config(k);
    mark_block(k, &k->body);
    check_collectives(k);
    check_reducers(k);
}
