/* tile_independent.c -- iterations of parallel are independent: nothing that one writes is touched by another.
 *
 * Reads parallel loops; leaves mistakes.  Shown first from the indices: where all accesses to a buffer have each
 * axis alone in one and the same dimension, or the factors of their offsets tell the iterations apart
 * (facts_digits.c), different iterations touch different elements.  Otherwise the elements are enumerated, iteration by iteration.  Block axes and outer loops stand at their lowest values; what
 * depends on data, on arguments or on a condition that does is left to the simulator, and so are loops of very
 * many accesses. */
#include <string.h>

#include "codegen/facts.h"
#include "codegen/tile_decide.h"

enum { MAX_USES = 64, MAX_AROUND = 8, MAX_BOUND = TG_MAX_RANK + MAX_AROUND, BUDGET = 1 << 17 };

/* An access with what stands around it inside the loop. */
typedef struct use {
    node *ref;
    const tile_stmt *at;
    bool is_write;
    int naround;
    const tile_stmt *around[MAX_AROUND]; /* innermost first */
    bool otherwise[MAX_AROUND];          /* in the other branch of a when */
    bool is_known;                       /* can be enumerated */
} use;

typedef struct checking {
    tg_kernel *k;
    const tile_stmt *s;
    int n;
    use item[MAX_USES];
    bool overflow;
    /* values of variables while enumerating */
    int nbound;
    const var *bound[MAX_BOUND];
    int64_t value[MAX_BOUND];
    int64_t budget;
    /* element number -> iteration, open addressing */
    int64_t room, used;
    struct {
        int64_t element, iteration;
        const use *by;
    } * slot;
} checking;

/* ---- gathering ----------------------------------------------------------------------------------------- */

static bool contains(const tile_block *b, const tile_stmt *wanted) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        if (s == wanted) {
            return true;
        }
    }
    return false;
}

/* Is ref evaluated only where a condition inside x says so? */
static bool is_chosen(const node *x, const node *ref, bool chosen) {
    if (x == ref) {
        return chosen;
    }
    const bool picks = x->kind == E_CHOOSE || (x->kind == E_OP && (x->op == TG_BOTH || x->op == TG_EITHER));
    for (int i = 0; i < x->n; i++) {
        if (is_chosen(x->arg[i], ref, chosen || (picks && i > 0))) {
            return true;
        }
    }
    return false;
}

static bool is_chosen_in(const tile_stmt *s, const node *ref) {
    bool chosen = (s->value && is_chosen(s->value, ref, false));
    for (int i = 0; s->kind == TILE_PRINT && i < s->n; i++) {
        chosen |= is_chosen(s->values[i], ref, false);
    }
    return chosen;
}

static void add_around(checking *c, use *u) {
    const tile_stmt *inside = u->at;
    for (const tile_stmt *s = inside->up; s && s != c->s; inside = s, s = s->up) {
        if (u->naround == MAX_AROUND) {
            u->is_known = false;
            return;
        }
        u->otherwise[u->naround] = s->kind == TILE_WHEN && contains(&s->otherwise, inside);
        u->around[u->naround++] = s;
    }
}

static void add_use(node *ref, bool is_write, const tile_stmt *at, void *user) {
    checking *c = user;
    const buffer *root = buffer_root(ref->buffer);
    const bool combines = at->dst == ref && (at->kind == TILE_ATOMIC || root->space == TG_REDUCER);
    if (ref->kind != E_REF || root->space == TG_LOCAL || combines) {
        return;
    }
    if (c->n == MAX_USES) {
        c->overflow = true;
        return;
    }
    use *u = &c->item[c->n++];
    *u = (use){.ref = ref, .at = at, .is_write = is_write, .is_known = !is_chosen_in(at, ref)};
    add_around(c, u);
}

/* ---- shown from the indices ---------------------------------------------------------------------------- */

static const node *meaning(const node *x) {
    while (x->kind == E_VAR && x->var->kind == VAR_LET && x->var->value) {
        x = x->var->value;
    }
    return x;
}

static bool is_axis(const node *x, const var *v) {
    x = meaning(x);
    return x->kind == E_VAR && x->var == v;
}

/* Do all accesses to the buffer have the axis alone in dimension d? */
static bool follows(const checking *c, const buffer *b, const var *v, int d) {
    for (int i = 0; i < c->n; i++) {
        if (c->item[i].ref->buffer == b && !is_axis(c->item[i].ref->arg[d], v)) {
            return false;
        }
    }
    return true;
}

/* Like threads that never meet: an iteration is one.  What stands around the loop may differ, too. */
static bool are_apart(const checking *c, const buffer *b) {
    fact_block iterations = {.memory = &c->k->memory};
    if (c->s->n > 3) {
        return false;
    }
    for (int i = 0; i < c->s->n; i++) {
        iterations.thread_var[i] = c->s->axes[i];
    }
    for (int i = 0; i < c->n; i++) {
        const fact_access first = {.ref = c->item[i].ref};
        for (int j = 0; j < c->n && c->item[i].is_write && first.ref->buffer == b; j++) {
            const fact_access second = {.ref = c->item[j].ref};
            if (second.ref->buffer == b && facts_apart_anywhere(&iterations, &first, &second) != FACT_YES) {
                return false;
            }
        }
    }
    return true;
}

static bool is_shown(const checking *c, const buffer *b) {
    for (int i = 0; i < c->s->n; i++) {
        bool found = c->s->extents[i]->hi <= 1;
        for (int d = 0; d < b->rank && !found; d++) {
            found = follows(c, b, c->s->axes[i], d);
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

/* ---- evaluating ---------------------------------------------------------------------------------------- */

static bool value_at(const var *v, const void *user, value *out) {
    const checking *c = user;
    for (int i = 0; i < c->nbound; i++) {
        if (c->bound[i] == v) {
            *out = value_int(v->type, c->value[i]);
            return true;
        }
    }
    *out = value_int(v->type, v->lo);
    return v->kind == VAR_GRID || v->kind == VAR_LOOP;
}

/* False when it is not known here. */
static bool evaluate(const checking *c, const node *x, int64_t *out) {
    value v;
    const bool is_known = expr_evaluate(x, value_at, c, &v);
    *out = is_known ? value_as_int(v) : 0;
    return is_known;
}

/* ---- enumerating --------------------------------------------------------------------------------------- */

static void clear_table(checking *c, int64_t room) {
    c->room = room;
    c->used = 0;
    c->slot = arena_alloc(&c->k->memory, sizeof *c->slot * (size_t)room);
    for (int64_t i = 0; i < room; i++) {
        c->slot[i].by = NULL;
    }
}

/* The entry of an element, or the free one where it belongs. */
static int64_t find_entry(const checking *c, int64_t element) {
    int64_t i = (int64_t)((uint64_t)element * 0x9e3779b97f4a7c15u >> 20) & (c->room - 1);
    while (c->slot[i].by && c->slot[i].element != element) {
        i = (i + 1) & (c->room - 1);
    }
    return i;
}

static const char *iteration_text(checking *c, int64_t iteration) {
    const char *words = "";
    for (int i = c->s->n - 1; i >= 0; i--) {
        const int64_t extent = c->s->extents[i]->hi;
        words = arena_print(&c->k->memory, "%s = %lld%s%s", c->s->axes[i]->name,
                            (long long)(iteration % extent), words[0] ? ", " : "", words);
        iteration /= extent;
    }
    return words;
}

static void report(checking *c, const use *writer, int64_t wrote, const use *other, int64_t touched) {
    const char *where = arena_print(&c->k->memory, "%s:%d", other->at->at.file, other->at->at.line);
    if (other->is_write) {
        diag_error(
            &c->k->errors, writer->at->at,
            "parallel: '%s' in the iteration %s and '%s' at %s in the iteration %s are the same element, "
            "and both are written: use a reducer or atomic_add",
            expr_text(&c->k->memory, writer->ref), iteration_text(c, wrote),
            expr_text(&c->k->memory, other->ref), where, iteration_text(c, touched));
    } else {
        diag_error(
            &c->k->errors, writer->at->at,
            "parallel: '%s' is written in the iteration %s, but '%s' at %s reads it in the iteration %s: "
            "iterations have no order; write to another buffer, or use a reducer or atomic_add",
            expr_text(&c->k->memory, writer->ref), iteration_text(c, wrote),
            expr_text(&c->k->memory, other->ref), where, iteration_text(c, touched));
    }
}

/* True to go on; false after a mistake, or when the element is not known. */
static bool touch(checking *c, const use *u, int64_t iteration) {
    int64_t element = 0;
    const buffer *b = u->ref->buffer;
    for (int d = 0; d < b->rank; d++) {
        int64_t index = 0;
        if (!evaluate(c, u->ref->arg[d], &index)) {
            return false;
        }
        element = (d > 0 ? element * b->dim[d] : 0) + index;
    }
    const int64_t at = find_entry(c, element);
    if (c->slot[at].by && c->slot[at].iteration != iteration) {
        report(c, c->slot[at].by, c->slot[at].iteration, u, iteration);
        return false;
    }
    if (u->is_write && !c->slot[at].by) {
        if (2 * ++c->used > c->room) {
            return false;
        }
        c->slot[at].element = element;
        c->slot[at].iteration = iteration;
        c->slot[at].by = u;
    }
    return true;
}

/* All the times that u comes by in one iteration: level counts what stands around it, outermost last. */
static bool visit(checking *c, const use *u, int level, int64_t iteration) {
    if (--c->budget < 0) {
        return false;
    }
    if (level < 0) {
        return touch(c, u, iteration);
    }
    const tile_stmt *s = u->around[level];
    int64_t x = 0;
    if (s->kind == TILE_WHEN) {
        return evaluate(c, s->value, &x) &&
               ((x != 0) == u->otherwise[level] || visit(c, u, level - 1, iteration));
    }
    /* axes of one statement of several go together: only the common case of one is enumerated */
    if (s->n != 1 || c->nbound == MAX_BOUND || !evaluate(c, s->extents[0], &x)) {
        return false;
    }
    bool good = true;
    c->bound[c->nbound++] = s->axes[0];
    for (int64_t i = 0; i < x && good; i++) {
        c->value[c->nbound - 1] = i;
        good = visit(c, u, level - 1, iteration);
    }
    c->nbound--;
    return good;
}

static void enumerate(checking *c, const use *u) {
    int64_t iterations = 1;
    c->nbound = c->s->n;
    for (int i = 0; i < c->s->n; i++) {
        c->bound[i] = c->s->axes[i];
        iterations *= c->s->extents[i]->hi;
    }
    bool good = true;
    for (int64_t it = 0; it < iterations && good; it++) {
        int64_t rest = it;
        for (int i = c->s->n - 1; i >= 0; i--) {
            c->value[i] = rest % c->s->extents[i]->hi;
            rest /= c->s->extents[i]->hi;
        }
        good = visit(c, u, u->naround - 1, it);
    }
}

static int64_t room_for(const checking *c) {
    int64_t elements = 1, room = 64;
    for (int i = 0; i < c->s->n; i++) {
        elements *= c->s->extents[i]->hi;
    }
    while (room < 4 * elements && room < BUDGET) {
        room *= 2;
    }
    return room;
}

static void check_buffer(checking *c, const buffer *b) {
    const int errors = c->k->errors.n;
    c->budget = BUDGET;
    clear_table(c, room_for(c));
    for (int turn = 0; turn < 2; turn++) { /* writes first */
        for (int i = 0; i < c->n && c->k->errors.n == errors; i++) {
            const use *u = &c->item[i];
            if (u->ref->buffer == b && u->is_write == (turn == 0) && u->is_known) {
                enumerate(c, u);
            }
        }
    }
}

/* ---- the loop ------------------------------------------------------------------------------------------ */

static bool has_known_extents(const tile_stmt *s) {
    int64_t iterations = 1;
    for (int i = 0; i < s->n; i++) {
        if (!expr_is_const(s->extents[i]) || s->extents[i]->hi < 1) {
            return false;
        }
        iterations *= s->extents[i]->hi;
        if (iterations > BUDGET) {
            return false;
        }
    }
    return true;
}

static bool seen_before(const checking *c, int n) {
    for (int i = 0; i < n; i++) {
        if (c->item[i].is_write && c->item[i].ref->buffer == c->item[n].ref->buffer) {
            return true;
        }
    }
    return false;
}

static void check_loop(tg_kernel *k, const tile_stmt *s) {
    checking *c = ARENA_NEW(&k->memory, checking);
    c->k = k;
    c->s = s;
    decide_refs(s, add_use, c);
    for (int i = 0; i < c->n && !c->overflow && has_known_extents(s); i++) {
        const buffer *b = c->item[i].ref->buffer;
        if (c->item[i].is_write && !seen_before(c, i) && !is_shown(c, b) && !are_apart(c, b)) {
            check_buffer(c, b);
        }
    }
}

static void check_block(tg_kernel *k, const tile_block *b) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        if (s->kind == TILE_LOOP && s->scope == TG_PARALLEL) {
            check_loop(k, s);
        } else {
            check_block(k, &s->body);
            check_block(k, &s->otherwise);
        }
    }
}

void tile_independent(tg_kernel *k) {
    check_block(k, &k->body);
}
