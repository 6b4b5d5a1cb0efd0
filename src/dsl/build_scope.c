/* build_scope.c -- the scopes of the builder: the launch, loops, branches; see build.h.
 *
 * The words of kernel.h close a scope from the step of a `for` loop, so a scope left by `break` is closed
 * too, but with `done` false.  A `return` closes nothing: tg_end() finds the scope still open. */
#include <string.h>

#include "dsl/build.h"

build_scope *build_enclosing(const tg_kernel *k, tg_scope_kind kind) {
    for (build_scope *s = k->open; s; s = s->outer) {
        if (s->kind == kind) {
            return s;
        }
    }
    return NULL;
}

bool build_inside(tg_kernel *k, tg_loc at, const char *word) {
    if (build_enclosing(k, TG_THREADS)) {
        return true;
    }
    diag_error(&k->errors, at, "%s stands outside threads: statements belong in grid(..) threads(..) { .. }",
               word);
    return false;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static build_scope *push(tg_kernel *k, tg_loc at, tg_scope_kind kind) {
    build_scope *s = ARENA_NEW(&k->memory, build_scope);
    *s = (build_scope){.outer = k->open, .kind = kind, .at = at, .block = k->block, .scope = k->scope};
    s->first_var = k->nvars;
    s->first_buffer = k->nbuffers;
    k->open = s;
    return s;
}

static const char *axis_name(tg_kernel *k, tg_scope_kind kind, const tg_axes *axes, int i) {
    const char *word = tile_scope_word(kind);
    return axes->name[i] ? arena_print(&k->memory, "%s: the extent of '%s'", word, axes->name[i])
                         : arena_print(&k->memory, "%s: the extent", word);
}

/* Is it the same all through a block, and by whatever names it is said? */
static bool known_to_block(node *x, void *user) {
    if (x->kind != E_VAR) {
        return x->kind != E_LOAD;
    }
    return x->var->kind == VAR_EXTENT || x->var->kind == VAR_SCALAR || x->var->kind == VAR_GRID ||
           (x->var->kind == VAR_LET && x->var->value && expr_walk(x->var->value, known_to_block, user));
}

/* A variable that runs from 0 to below x (NULL: unknown after a mistake). */
static var *axis_var(tg_kernel *k, tg_loc at, var_kind kind, const char *name, int axis, node *x) {
    var *v = build_var(k, at, kind, name, TYPE_INDEX);
    v->axis = axis;
    v->lo = 0;
    v->hi = x ? (x->hi > 1 ? x->hi - 1 : 0) : INT32_MAX;
    v->below = x && x->kind != E_CONST && expr_walk(x, known_to_block, NULL) ? x : NULL;
    return v;
}

static bool is_host_integer(const node *x) {
    return x->kind == E_CONST && x->type == TYPE_INDEX;
}

static void want_host_integer(tg_kernel *k, tg_loc at, const char *what, const node *x) {
    diag_error(&k->errors, at, "%s is '%s'; it must be a host integer", what, expr_text(&k->memory, x));
}

/* The extent x of a launch or a loop as an index that is at least `least`; NULL after a mistake. */
static node *take_extent(tg_kernel *k, tg_loc at, const char *what, node *x, int64_t least) {
    if (build_poisoned(x)) {
        return NULL;
    }
    x = build_index(k, at, what, x);
    if (x && x->kind == E_CONST && x->ival < least) {
        diag_error(&k->errors, at, "%s is %lld; it must be %s", what, (long long)x->ival,
                   least ? "positive" : "0 or more");
        return NULL;
    }
    if (x && x->kind == E_CONST && type_is_element(x->ival)) {
        diag_error(&k->errors, at, "%s is the element type %s, not a number", what, type_name(x->ival));
        return NULL;
    }
    return x;
}

static bool known_at_launch(node *x, void *user) {
    (void)user;
    return x->kind != E_LOAD &&
           (x->kind != E_VAR || x->var->kind == VAR_EXTENT || x->var->kind == VAR_SCALAR);
}

/* Inside a grid that is a mistake, threads are no further one. */
static bool launch_allowed(tg_kernel *k, tg_loc at, tg_scope_kind kind, bool already, tg_loc before, int n) {
    const char *word = tile_scope_word(kind);
    if (k->open && k->open->is_mistake) {
        return false;
    }
    if (already) {
        diag_error(&k->errors, at, "a second %s: the first is at %s", word, build_place(k, before));
    } else if (n < 1 || n > TG_MAX_AXES) {
        diag_error(&k->errors, at, "%s has %d axes; it must be 1, 2 or 3", word, n);
    } else {
        return true;
    }
    return false;
}

static void open_grid(tg_kernel *k, tg_loc at, const tg_axes *axes, tg_expr *handle) {
    bool good = false;
    if (k->open) {
        diag_error(&k->errors, at, "grid stands inside the %s at %s", tile_scope_word(k->open->kind),
                   build_place(k, k->open->at));
    } else if (launch_allowed(k, at, TG_GRID, k->has_grid, k->grid_at, axes->n)) {
        k->has_grid = true;
        k->grid_at = at;
        k->ngrid = axes->n;
        good = true;
    }
    push(k, at, TG_GRID)->is_mistake = !good;
    for (int i = 0; i < axes->n && i < TG_MAX_RANK; i++) {
        const char *what = axis_name(k, TG_GRID, axes, i);
        node *x = take_extent(k, at, what, axes->extent[i].node, 1);
        if (x && !expr_walk(x, known_at_launch, NULL)) {
            diag_error(&k->errors, at, "%s is '%s'; it must be known at launch", what,
                       expr_text(&k->memory, x));
        }
        var *v = axes->name[i] ? axis_var(k, at, VAR_GRID, axes->name[i], i, x) : NULL;
        handle[i].node = v ? expr_var(&k->memory, at, v) : build_poison(k);
        if (i < TG_MAX_AXES) {
            k->grid[i] = x ? x : expr_int(&k->memory, at, 1);
            k->grid_var[i] = v;
        }
    }
}

enum { MAX_THREADS = 1024 };

static void open_threads(tg_kernel *k, tg_loc at, const tg_axes *axes, tg_expr *handle) {
    if (!k->open || k->open->kind != TG_GRID) {
        diag_error(&k->errors, at, "threads belongs directly in grid: grid(..) threads(..) { .. }");
    } else if (launch_allowed(k, at, TG_THREADS, k->has_threads, k->threads_at, axes->n)) {
        k->has_threads = true;
        k->threads_at = at;
        k->nthreads = axes->n;
    }
    push(k, at, TG_THREADS);
    int64_t total = 1;
    const char *product = "";
    for (int i = 0; i < axes->n && i < TG_MAX_RANK; i++) {
        const char *what = axis_name(k, TG_THREADS, axes, i);
        node *x = take_extent(k, at, what, axes->extent[i].node, 1);
        if (x && !is_host_integer(x)) {
            want_host_integer(k, at, what, x);
            x = NULL;
        }
        int64_t n = x ? x->ival : 1;
        total = n > INT32_MAX / total ? INT32_MAX : total * n;
        product = arena_print(&k->memory, "%s%s%lld", product, i ? " * " : "", (long long)n);
        var *v = axes->name[i] ? axis_var(k, at, VAR_THREAD, axes->name[i], i, x) : NULL;
        handle[i].node = v ? expr_var(&k->memory, at, v) : build_poison(k);
        if (i < TG_MAX_AXES) {
            k->threads[i] = n;
            k->thread_var[i] = v;
            k->threads_named |= v != NULL;
        }
    }
    if (total > MAX_THREADS) {
        diag_error(&k->errors, at, "%s threads in a block; at most %d are possible", product, MAX_THREADS);
    }
}

/* Collectives of loop form stand where all threads come. */
static void check_loop(tg_kernel *k, tg_loc at, tg_scope_kind kind, int64_t option) {
    const char *word = tile_scope_word(kind);
    if (kind == TG_PARALLEL || kind == TG_PIPELINED) {
        build_collective(k, at, word);
    }
    if (kind == TG_PIPELINED && (option < 0 || option > 16)) {
        diag_error(&k->errors, at, "pipelined: %lld stages; it must be 0 to 16", (long long)option);
    } else if (kind == TG_SERIAL && option < 0) {
        diag_error(&k->errors, at, "serial: the unroll factor is %lld; it must not be negative",
                   (long long)option);
    } else if (kind != TG_SERIAL && kind != TG_PIPELINED && option != 0) {
        diag_error(&k->errors, at, "%s takes (name, extent) pairs and nothing else", word);
    }
}

static bool needs_host_extent(tg_scope_kind kind) {
    return kind == TG_UNROLLED || kind == TG_VECTORIZED;
}

static node *loop_extent(tg_kernel *k, tg_loc at, tg_scope_kind kind, const tg_axes *axes, int i) {
    const char *what = axis_name(k, kind, axes, i);
    node *x = take_extent(k, at, what, axes->extent[i].node, kind == TG_VECTORIZED);
    if (x && needs_host_extent(kind) && !is_host_integer(x)) {
        want_host_integer(k, at, what, x);
        return NULL;
    }
    return x && build_uses(k, at, x) ? x : NULL;
}

static void open_loop(tg_kernel *k, tg_loc at, tg_scope_kind kind, int64_t option, const tg_axes *axes,
                      tg_expr *handle) {
    bool inside = build_inside(k, at, tile_scope_word(kind));
    int n = axes->n < 0 ? 0 : axes->n > TG_MAX_RANK ? TG_MAX_RANK : axes->n;
    if (n != axes->n || n == 0) {
        diag_error(&k->errors, at, "%s has %d axes; it must be 1 to %d", tile_scope_word(kind), axes->n,
                   TG_MAX_RANK);
    }
    if (inside) {
        check_loop(k, at, kind, option);
    }
    tile_stmt *s = build_stmt(k, at, TILE_LOOP);
    s->scope = kind;
    s->option = option;
    s->n = n;
    s->axes = ARENA_ARRAY(&k->memory, var *, n ? n : 1);
    s->extents = ARENA_ARRAY(&k->memory, node *, n ? n : 1);
    for (int i = 0; i < n; i++) {
        node *x = loop_extent(k, at, kind, axes, i);
        s->extents[i] = x ? x : build_poison(k);
    }
    build_append(k, s);
    push(k, at, kind)->stmt = s;
    for (int i = 0; i < n; i++) {
        node *x = build_poisoned(s->extents[i]) ? NULL : s->extents[i];
        s->axes[i] = axis_var(k, at, kind == TG_PARALLEL ? VAR_PARALLEL : VAR_LOOP, axes->name[i], i, x);
        handle[i].node = expr_var(&k->memory, at, s->axes[i]);
    }
    k->scope = s;
    k->block = &s->body;
}

static void open_when(tg_kernel *k, tg_loc at, const tg_axes *axes) {
    bool inside = build_inside(k, at, "when");
    node *c = axes->n > 0 ? axes->extent[0].node : NULL;
    c = build_poisoned(c) || !inside ? NULL : build_truth(k, at, "the condition of when", c);
    if (c && !build_uses(k, at, c)) {
        c = NULL;
    }
    tile_stmt *s = build_stmt(k, at, TILE_WHEN);
    s->scope = TG_WHEN;
    s->value = c ? c : build_poison(k);
    build_append(k, s);
    push(k, at, TG_WHEN)->stmt = s;
    k->scope = s;
    k->block = &s->body;
}

static void open_otherwise(tg_kernel *k, tg_loc at) {
    tile_stmt *branch = k->block->last;
    if (!branch || branch->kind != TILE_WHEN || branch->has_otherwise) {
        diag_error(&k->errors, at, "otherwise does not follow a when");
        branch = build_stmt(k, at, TILE_WHEN);
        branch->value = build_poison(k);
    }
    branch->has_otherwise = true;
    push(k, at, TG_OTHERWISE)->stmt = branch;
    k->scope = branch;
    k->block = &branch->otherwise;
}

tg_scope tg_open(tg_kernel *k, tg_loc at, tg_scope_kind kind, int64_t option, tg_axes axes) {
    tg_scope s = {.k = k, .at = at};
    for (int i = 0; i < TG_MAX_RANK; i++) {
        s.axis[i].node = build_poison(k);
    }
    if (!build_ready(k, at)) {
        return s; /* closed already: the body is not run */
    }
    switch (kind) {
    case TG_GRID:
    case TG_THREADS:
        if (option) {
            diag_error(&k->errors, at, "%s takes (name, extent) pairs and nothing else",
                       tile_scope_word(kind));
        }
        if (kind == TG_GRID) {
            open_grid(k, at, &axes, s.axis);
        } else {
            open_threads(k, at, &axes, s.axis);
        }
        break;
    case TG_SERIAL:
    case TG_UNROLLED:
    case TG_VECTORIZED:
    case TG_PARALLEL:
    case TG_PIPELINED:
        open_loop(k, at, kind, option, &axes, s.axis);
        break;
    case TG_WHEN:
        open_when(k, at, &axes);
        break;
    case TG_OTHERWISE:
        open_otherwise(k, at);
        break;
    }
    s.node = &k->open->handle;
    s.open = s.body = true;
    return s;
}

/* ---- closing ------------------------------------------------------------------------------------------- */

static void pop(tg_kernel *k) {
    build_scope *s = k->open;
    for (int i = s->first_var; i < k->nvars; i++) {
        k->state->var_gone[i] = true;
    }
    for (int i = s->first_buffer; i < k->nbuffers; i++) {
        k->state->buffer_gone[i] = true;
    }
    k->block = s->block;
    k->scope = s->scope;
    k->open = s->outer;
}

void tg_close(tg_scope *scope) {
    tg_kernel *k = scope->k;
    bool was_open = scope->open;
    scope->open = scope->body = false;
    if (!was_open || !k || k->ended || k->memory.failed) {
        return;
    }
    build_scope *mine = k->open;
    while (mine && &mine->handle != scope->node) {
        mine = mine->outer;
    }
    if (!mine) {
        return;
    }
    if (k->open != mine) { /* the innermost: those between were left with it */
        diag_error(&k->errors, k->open->at, "this %s was never closed: did a goto leave it?",
                   tile_scope_word(k->open->kind));
    }
    while (k->open != mine) {
        pop(k);
    }
    if (!scope->done) {
        diag_error(&k->errors, mine->at, "this %s was left by break, after %s: a body must run to its end",
                   tile_scope_word(mine->kind), build_place(k, k->last));
    }
    pop(k);
}
