/* tile_once.c -- tensors of which a launch reads no element twice.
 *
 * Reads the kernel as recorded, and the layouts of its fragments.  Leaves buffer.read_once, and in buffer.reread why
 * it is not set; the printer makes wide loads of such tensors leave the first-level cache alone, which then keeps
 * what is read again (but see cuda_once.c).
 *
 *     matrix[pid_n * 4 + i, pid_k * 512 + k]     each index gives back its variables: read once
 *     vector[              pid_k * 512 + k]      the same for each pid_n: read again
 *
 * One place of the kernel may read the tensor.  An index gives back its variables when, in ascending order of their
 * factors, each factor is more than the terms before it can make up.  Every variable that the statement runs for with
 * more than one value must be given back by some index.  That stays true under guards: they only leave out. */
#include "codegen/passes.h"
#include "codegen/tile_decide.h"

enum { MAX_KNOWN = 32 };

/* The only place that reads a tensor. */
typedef struct reading {
    const tile_stmt *s;
    const node *place; /* E_REF or E_REGION; NULL: none yet */
    int places;
} reading;

typedef struct once {
    tg_kernel *k;
    const tile_stmt *s; /* being looked at */
    reading *of;        /* by buffer id */
    int nknown;
    const var *known[MAX_KNOWN]; /* variables that the indices give back */
} once;

/* ---- the places that read ------------------------------------------------------------------------------ */

static void note(node *place, void *user) {
    once *o = user;
    reading *r = &o->of[buffer_root(place->buffer)->id];
    *r = (reading){o->s, place, r->places + 1};
}

static void note_block(once *o, const tile_block *b) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        o->s = s;
        expr_loads(s->value, note, o);
        if (s->src) {
            note(s->src, o);
            expr_loads(s->src, note, o);
        }
        for (int i = 0; i < s->n; i++) {
            expr_loads(s->kind == TILE_LOOP ? s->extents[i] : s->values[i], note, o);
        }
        expr_loads(s->dst, note, o);
        note_block(o, &s->body);
        note_block(o, &s->otherwise);
    }
}

/* ---- what an index gives back -------------------------------------------------------------------------- */

typedef struct part {
    int64_t factor, most; /* factor * value is at most `most`; -1: more than 62 bits */
    const var *v;         /* NULL: the place within a tile */
} part;

/* factor times a value from 0 to `values` - 1. */
static part part_of(int64_t factor, int64_t values, const var *v) {
    const int64_t size = factor < 0 ? -factor : factor, limit = (int64_t)1 << 62;
    const bool fits = size == 0 || (values > 0 && values - 1 <= limit / size);
    return (part){size, fits ? size * (values - 1) : -1, v};
}

static void sort(part *p, int n) {
    for (int i = 1; i < n; i++) {
        for (int j = i; j > 0 && p[j].factor < p[j - 1].factor; j--) {
            const part x = p[j];
            p[j] = p[j - 1];
            p[j - 1] = x;
        }
    }
}

static bool is_axis(const var *v) {
    return v->kind == VAR_GRID || v->kind == VAR_THREAD || v->kind == VAR_LOOP;
}

/* Do different values of the parts make different sums? */
static bool are_told_apart(part *p, int n) {
    sort(p, n);
    int64_t below = 0;
    for (int i = 0; i < n; i++) {
        if (below < 0 || p[i].factor <= below) {
            return false;
        }
        below = p[i].most < 0 || below > INT64_MAX - p[i].most ? -1 : below + p[i].most;
    }
    return true;
}

/* Adds the variables that index x, and within a tile `length` places from there, gives back. */
static void learn(once *o, const node *x, int64_t length) {
    part parts[AFFINE_TERMS + 1];
    affine f;
    int n = 0;
    if (!affine_of(x, &f)) {
        return;
    }
    for (int i = 0; i < f.n; i++) {
        const var *v = f.term[i].x->kind == E_VAR ? f.term[i].x->var : NULL;
        if (!v || (!is_axis(v) && v->kind != VAR_SCALAR && v->kind != VAR_EXTENT)) {
            return;
        }
        if (is_axis(v) && v->lo < v->hi) {
            parts[n++] = part_of(f.term[i].factor, v->hi - v->lo + 1, v);
        }
    }
    if (length > 1) {
        parts[n++] = part_of(1, length, NULL);
    }
    const bool apart = are_told_apart(parts, n);
    for (int i = 0; i < n && apart && o->nknown < MAX_KNOWN; i++) {
        if (parts[i].v) {
            o->known[o->nknown++] = parts[i].v;
        }
    }
}

/* ---- what the statement runs for ----------------------------------------------------------------------- */

static bool is_known(const once *o, const var *v) {
    for (int i = 0; i < o->nknown; i++) {
        if (o->known[i] == v) {
            return true;
        }
    }
    return false;
}

static const char *again_along(once *o, const node *extent, const var *v) {
    if (expr_is_int(extent, 1) || (v && is_known(o, v))) {
        return NULL;
    }
    return v ? arena_print(&o->k->memory, "may be read again along %s", v->name)
             : "is read by several blocks";
}

/* A copy is made once by the block, except into a local; an iteration of parallel by one thread. */
static bool runs_in_each_thread(const tile_stmt *s) {
    if (s->kind == TILE_COPY && s->dst->buffer->space != TG_LOCAL) {
        return false;
    }
    for (; s; s = s->up) {
        if (s->kind == TILE_LOOP && s->scope == TG_PARALLEL) {
            return false;
        }
    }
    return true;
}

static const char *again_in_threads(once *o) {
    for (int i = 0; i < o->k->nthreads; i++) {
        const var *v = o->k->thread_var[i];
        if (o->k->threads[i] > 1 && !(v && is_known(o, v))) {
            return v ? arena_print(&o->k->memory, "may be read again along %s", v->name)
                     : "is read by every thread";
        }
    }
    return NULL;
}

/* Several threads may hold, and so read, one element of a fragment. */
static const char *again_by_replicas(const tile_stmt *s) {
    const buffer *to = s->kind == TILE_COPY ? buffer_root(s->dst->buffer) : NULL;
    const bool is_shared_out = to && (to->space == TG_FRAGMENT || to->space == TG_REDUCER);
    return is_shared_out && (!to->registers || layout_has_replicas(to->registers))
               ? "is read by several threads of a block"
               : NULL;
}

/* Why an element may be read more than once through r; NULL when none is. */
static const char *again(once *o, const reading *r) {
    const char *why = again_by_replicas(r->s);
    o->nknown = 0;
    for (int i = 0; i < r->place->n; i++) {
        learn(o, r->place->arg[i], r->place->kind == E_REGION ? r->place->dim[i] : 1);
    }
    for (int i = 0; i < o->k->ngrid && !why; i++) {
        why = again_along(o, o->k->grid[i], o->k->grid_var[i]);
    }
    if (!why && runs_in_each_thread(r->s)) {
        why = again_in_threads(o);
    }
    for (const tile_stmt *s = r->s->up; s && !why; s = s->up) {
        for (int i = 0; s->kind == TILE_LOOP && i < s->n && !why; i++) {
            why = again_along(o, s->extents[i], s->axes[i]);
        }
    }
    return why;
}

/* ---- the pass ------------------------------------------------------------------------------------------ */

static const char *reread(once *o, buffer *b) {
    const reading *r = &o->of[b->id];
    if (r->places == 0) {
        return "is not read";
    }
    if (r->places > 1) {
        return arena_print(&o->k->memory, "is read at %d places", r->places);
    }
    if (b->is_written || b->is_atomic || b->naliases > 0) {
        return "may be written meanwhile";
    }
    return r->place->kind == E_BUFFER ? "is read as a whole" : again(o, r);
}

void tile_once(tg_kernel *k, const target *t) {
    (void)t;
    once o = {.k = k, .of = ARENA_ARRAY(&k->memory, reading, k->nbuffers + 1)};
    note_block(&o, k->recorded.first ? &k->recorded : &k->body);
    for (int i = 0; i < k->nargs; i++) {
        buffer *b = k->args[i].tensor;
        if (b) {
            b->reread = reread(&o, b);
            b->read_once = b->reread == NULL;
        }
    }
}

void tile_once_print(const tg_kernel *k, text *out) {
    for (int i = 0; i < k->nargs; i++) {
        const buffer *b = k->args[i].tensor;
        if (b) {
            text_print(out, "%s %s\n", b->name, b->read_once ? "is read once" : b->reread);
        }
    }
}
