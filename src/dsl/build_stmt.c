/* build_stmt.c -- the builder's statements on elements: let, stores, atomics, allreduce, print, check; see
 * build.h.
 *
 * Each checks that it may stand here, then what it names, then types, and appends one statement. */
#include <string.h>

#include "dsl/build.h"

tile_stmt *build_stmt(tg_kernel *k, tg_loc at, tile_kind kind) {
    tile_stmt *s = ARENA_NEW(&k->memory, tile_stmt);
    s->kind = kind;
    s->at = at;
    s->up = k->scope;
    return s;
}

void build_append(tg_kernel *k, tile_stmt *s) {
    tile_block *block = k->block;
    if (block->last) {
        block->last->next = s;
    } else {
        block->first = s;
    }
    block->last = s;
}

/* ---- what an expression names -------------------------------------------------------------------------- */

static bool var_exists(tg_kernel *k, tg_loc at, const var *v) {
    if (v->id >= k->nvars || k->vars[v->id] != v) {
        diag_error(&k->errors, at, "'%s' belongs to another kernel", v->name);
        return false;
    }
    if (k->state->var_gone[v->id]) {
        diag_error(&k->errors, at, "'%s' is used after its scope, opened at %s, was closed", v->name,
                   build_place(k, v->at));
        return false;
    }
    return true;
}

static bool buffer_exists(tg_kernel *k, tg_loc at, buffer *b) {
    b = buffer_root(b);
    if (b->id >= k->nbuffers || k->buffers[b->id] != b) {
        diag_error(&k->errors, at, "'%s' belongs to another kernel", b->name);
        return false;
    }
    if (k->state->buffer_gone[b->id]) {
        diag_error(&k->errors, at, "'%s', made at %s, is used after its scope was closed", b->name,
                   build_place(k, b->at));
        return false;
    }
    return true;
}

/* An element whose index lies outside whatever the variables are, where nothing guards it. */
static bool element_inside(tg_kernel *k, const node *ref) {
    const buffer *b = ref->buffer;
    for (int i = 0; i < b->rank; i++) {
        const node *x = ref->arg[i];
        if (build_poisoned(x) || (x->hi >= 0 && (b->dim[i] < 0 || x->lo < b->dim[i]))) {
            continue;
        }
        diag_error(&k->errors, ref->at,
                   "index %d of '%s' is '%s', in %lld .. %lld, but the extent is %lld; it was made at %s", i,
                   b->name, expr_text(&k->memory, x), (long long)x->lo, (long long)x->hi,
                   (long long)b->dim[i], build_place(k, b->at));
        return false;
    }
    return true;
}

/* Is it an element that one thread holds, where all of them stand? */
static bool out_of_reach(tg_kernel *k, const buffer *b) {
    return (b->space == TG_FRAGMENT || b->space == TG_REDUCER) && !build_enclosing(k, TG_PARALLEL);
}

static bool check_element(tg_kernel *k, const node *ref, bool guarded) {
    buffer *b = ref->buffer;
    if (!buffer_exists(k, ref->at, b)) {
        return false;
    }
    if (out_of_reach(k, b)) {
        diag_error(&k->errors, ref->at, "'%s' is spread over the threads: touch its elements inside parallel",
                   b->name);
        return false;
    }
    return guarded || element_inside(k, ref);
}

/* Here rather than at the place itself, since a place that is written has no such way out. */
static bool check_load(tg_kernel *k, const node *ref) {
    if (build_poisoned(ref) || !buffer_exists(k, ref->at, ref->buffer)) {
        return build_poisoned(ref);
    }
    if (out_of_reach(k, ref->buffer)) {
        diag_error(
            &k->errors, ref->at,
            "'%s' is spread over the threads: read its elements inside parallel, or copy it to a shared "
            "buffer, which every thread can read",
            ref->buffer->name);
        return false;
    }
    return true;
}

static bool check_node(tg_kernel *k, tg_loc at, node *x, bool guarded) {
    switch (x->kind) {
    case E_VAR:
        return var_exists(k, at, x->var);
    case E_REF:
        return check_element(k, x, guarded);
    case E_BUFFER:
    case E_REGION:
        return buffer_exists(k, at, x->buffer);
    case E_LOAD:
        return check_load(k, x->arg[0]);
    case E_POISON:
    case E_CONST:
    case E_OP:
    case E_CHOOSE:
    case E_CAST:
    case E_BITCAST:
        break;
    }
    return true;
}

static bool check_uses(tg_kernel *k, tg_loc at, node *x, bool guarded) {
    if (!check_node(k, at, x, guarded)) {
        return false;
    }
    bool chooses = x->kind == E_CHOOSE || (x->kind == E_OP && (x->op == TG_BOTH || x->op == TG_EITHER));
    for (int i = 0; i < x->n; i++) {
        if (!check_uses(k, at, x->arg[i], guarded || (chooses && i > 0))) {
            return false;
        }
    }
    return true;
}

/* May the place where the next statement goes never be reached? */
static bool is_guarded(const tg_kernel *k) {
    for (const tile_stmt *s = k->scope; s; s = s->up) {
        if (s->kind == TILE_WHEN) {
            return true;
        }
        for (int i = 0; i < s->n; i++) {
            if (build_poisoned(s->extents[i]) || s->extents[i]->lo < 1) {
                return true;
            }
        }
    }
    return false;
}

bool build_uses(tg_kernel *k, tg_loc at, node *x) {
    return check_uses(k, at, x, is_guarded(k));
}

bool build_has_thread(tg_kernel *k, tg_loc at, const char *word, buffer *b) {
    if (k->threads_named || (b->space != TG_GLOBAL && b->space != TG_SHARED) ||
        build_enclosing(k, TG_PARALLEL)) {
        return true;
    }
    diag_error(&k->errors, at,
               "%s: every thread would write '%s': use parallel(i, 1) or name the threads, at %s", word,
               b->name, build_place(k, k->threads_at));
    return false;
}

/* ---- let and allreduce --------------------------------------------------------------------------------- */

static tg_expr poison(tg_kernel *k) {
    return (tg_expr){build_poison(k)};
}

static const char *const allreduce_name = "reduced"; /* until a let names it; compared as a pointer */

/* let(total, allreduce(..)): the statement just made gets the name. */
static bool names_allreduce(tg_kernel *k, const char *name, const node *x) {
    tile_stmt *last = k->block->last;
    if (x->kind != E_VAR || !last || last->kind != TILE_ALLREDUCE || last->var != x->var ||
        x->var->name != allreduce_name) {
        return false;
    }
    x->var->name = arena_copy(&k->memory, name);
    return true;
}

tg_expr tg_let(tg_kernel *k, tg_loc at, const char *name, tg_expr v) {
    if (!build_ready(k, at) || !build_inside(k, at, "let") || build_poisoned(v.node)) {
        return poison(k);
    }
    name = name ? name : "value";
    if (names_allreduce(k, name, v.node)) {
        return v;
    }
    node *x = build_settle(k, at, v.node);
    if (build_poisoned(x) || !build_uses(k, at, x)) {
        return poison(k);
    }
    var *named = build_var(k, at, VAR_LET, name, x->type);
    named->lo = x->lo;
    named->hi = x->hi;
    named->value = x;
    tile_stmt *s = build_stmt(k, at, TILE_LET);
    s->var = named;
    s->value = x;
    build_append(k, s);
    return (tg_expr){expr_var(&k->memory, at, named)};
}

static const char *thread_axes(tg_kernel *k) {
    const char *list = "";
    for (int i = 0; i < TG_MAX_AXES; i++) {
        if (k->thread_var[i]) {
            list = arena_print(&k->memory, "%s%s%s", list, *list ? ", " : "", k->thread_var[i]->name);
        }
    }
    return list;
}

/* The named thread axis behind a handle; NULL after a mistake. */
static var *thread_axis(tg_kernel *k, tg_loc at, const node *x) {
    for (int i = 0; i < TG_MAX_AXES; i++) {
        if (x->kind == E_VAR && k->thread_var[i] == x->var) {
            return x->var;
        }
    }
    if (!k->threads_named) {
        diag_error(&k->errors, at, "allreduce needs a named thread axis, but threads at %s names none",
                   build_place(k, k->threads_at));
    } else {
        diag_error(&k->errors, at, "allreduce: '%s' is no thread axis; threads at %s names %s",
                   expr_text(&k->memory, x), build_place(k, k->threads_at), thread_axes(k));
    }
    return NULL;
}

/* The element type in which an index is exchanged between threads, with room for the sum. */
static node *typed_index(tg_kernel *k, tg_loc at, node *x, int64_t threads) {
    int64_t most = INT32_MAX / threads;
    bool narrow = x->lo >= -most && x->hi <= most;
    return expr_cast(&k->memory, at, narrow ? TG_I32 : TG_I64, x);
}

tg_expr tg_allreduce(tg_kernel *k, tg_loc at, int64_t reduction, tg_expr v, tg_expr axis) {
    if (!build_ready(k, at) || !build_inside(k, at, "allreduce") || !build_collective(k, at, "allreduce") ||
        build_poisoned(v.node) || build_poisoned(axis.node)) {
        return poison(k);
    }
    if (reduction < TG_SUM || reduction > TG_MIN) {
        diag_error(&k->errors, at, "allreduce: %lld is no reduction; SUM, MAX and MIN are",
                   (long long)reduction);
        return poison(k);
    }
    var *along = thread_axis(k, at, axis.node);
    node *x = build_settle(k, at, v.node);
    if (!along || build_poisoned(x) || !build_uses(k, at, x)) {
        return poison(k);
    }
    if (x->type == TG_BOOL) {
        diag_error(&k->errors, at, "allreduce takes numbers but the value is bool: convert it, as in i32(x)");
        return poison(k);
    }
    tile_stmt *s = build_stmt(k, at, TILE_ALLREDUCE);
    s->value = x->type == TYPE_INDEX ? typed_index(k, at, x, along->hi + 1) : x;
    s->reduction = (tg_reduction)reduction;
    s->axis = along;
    s->var = build_var(k, at, VAR_LET, allreduce_name, s->value->type);
    s->var->name = allreduce_name;
    if (reduction != TG_SUM) {
        s->var->lo = s->value->lo;
        s->var->hi = s->value->hi;
    }
    build_append(k, s);
    return (tg_expr){expr_var(&k->memory, at, s->var)};
}

/* ---- stores -------------------------------------------------------------------------------------------- */

/* The store of a value of the place's type, checked; NULL after a mistake. */
static tile_stmt *store(tg_kernel *k, tg_loc at, tile_kind kind, const char *word, tg_ref dst, tg_expr v) {
    if (!build_ready(k, at) || !build_inside(k, at, word) || build_poisoned(dst.node) ||
        build_poisoned(v.node)) {
        return NULL;
    }
    buffer *b = dst.node->buffer;
    node *x = build_convert(k, at, arena_print(&k->memory, "'%s'", b->name), b->type, v.node);
    if (!x || !build_has_thread(k, at, word, b) || !build_uses(k, at, dst.node) || !build_uses(k, at, x)) {
        return NULL;
    }
    tile_stmt *s = build_stmt(k, at, kind);
    s->dst = dst.node;
    s->value = x;
    return s;
}

void tg_store(tg_kernel *k, tg_loc at, tg_ref dst, tg_expr v) {
    tile_stmt *s = store(k, at, TILE_STORE, "set", dst, v);
    if (s && s->dst->buffer->space == TG_REDUCER) {
        diag_error(&k->errors, at, "set: '%s' is a reducer, made at %s: accum combines, fill seeds",
                   s->dst->buffer->name, build_place(k, s->dst->buffer->at));
    } else if (s) {
        build_append(k, s);
    }
}

void tg_accum(tg_kernel *k, tg_loc at, tg_ref dst, tg_expr v) {
    tile_stmt *s = store(k, at, TILE_ACCUM, "accum", dst, v);
    if (s && s->dst->type == TG_BOOL) {
        diag_error(&k->errors, at, "accum: '%s' is bool; it must be a number", s->dst->buffer->name);
    } else if (s) {
        build_append(k, s);
    }
}

static const char *atomic_word(tg_reduction r) {
    return r == TG_SUM ? "atomic_add" : r == TG_MAX ? "atomic_max" : "atomic_min";
}

/* 16, 32 and 64 bits: what has no instruction is a loop of compare-and-swap. */
static bool has_atomics(int64_t type) {
    return type == TG_I32 || type == TG_U32 || type == TG_I64 || type == TG_U64 || type_is_float(type);
}

void tg_atomic(tg_kernel *k, tg_loc at, tg_reduction op, tg_ref dst, tg_expr v) {
    if (op < TG_SUM || op > TG_MIN) {
        if (build_ready(k, at)) {
            diag_error(&k->errors, at, "atomic: %d is no reduction; SUM, MAX and MIN are", (int)op);
        }
        return;
    }
    const char *word = atomic_word(op);
    tile_stmt *s = store(k, at, TILE_ATOMIC, word, dst, v);
    if (!s) {
        return;
    }
    const buffer *b = s->dst->buffer;
    if (b->space != TG_GLOBAL && b->space != TG_SHARED) {
        diag_error(&k->errors, at, "%s: '%s', made at %s, is not shared between threads: use accum", word,
                   b->name, build_place(k, b->at));
    } else if (!has_atomics(b->type)) {
        diag_error(&k->errors, at,
                   "%s: '%s' is %s; atomics exist for i32, u32, i64, u64, f16, bf16, f32, f64", word, b->name,
                   type_name(b->type));
    } else {
        s->reduction = op;
        build_append(k, s);
    }
}

/* ---- print and check ----------------------------------------------------------------------------------- */

typedef struct {
    const char *start; /* the '%' */
    int length;
    bool is_long, is_float;
} conversion;

/* Reads the conversion after s, which points to '%'; false when it is none that print knows. */
static bool read_conversion(const char *s, conversion *c) {
    const char *p = s + 1;
    *c = (conversion){.start = s};
    p += strspn(p, "-+ #0");
    p += strspn(p, "0123456789");
    if (*p == '.') {
        p += 1 + strspn(p + 1, "0123456789");
    }
    size_t longs = strspn(p, "l");
    c->is_long = longs > 0;
    p += longs;
    c->length = (int)(p - s) + (*p != '\0');
    c->is_float = *p && strchr("fFeEgGaA", *p);
    bool is_integer = *p && strchr("diuxXo", *p);
    return (is_integer && longs != 1 && longs <= 2) || (c->is_float && longs == 0);
}

/* Value i for conversion c; false after a mistake. */
static bool print_value(tg_kernel *k, tg_loc at, const conversion *c, int i, node **x) {
    if ((*x)->type == TYPE_REAL) {
        *x = expr_const(&k->memory, at, value_real(TG_F64, (*x)->fval));
    }
    int64_t type = (*x)->type;
    if (c->is_float != type_is_float(type)) {
        diag_error(&k->errors, at, "print: %.*s takes %s but value %d is %s", c->length, c->start,
                   c->is_float ? "a float" : "an integer", i + 1, type_name(type));
        return false;
    }
    bool is_wide = type == TG_I64 || type == TG_U64;
    if (is_wide != c->is_long && !c->is_float && type != TYPE_INDEX) {
        diag_error(&k->errors, at, "print: value %d is %s, so write %%%s%c and not %.*s", i + 1,
                   type_name(type), is_wide ? "ll" : "", c->start[c->length - 1], c->length, c->start);
        return false;
    }
    return true;
}

static bool check_format(tg_kernel *k, tg_loc at, const char *format, int n, node **values) {
    int found = 0;
    for (const char *p = strchr(format, '%'); p; p = strchr(p, '%')) {
        conversion c;
        if (p[1] == '%') {
            p += 2;
            continue;
        }
        if (!read_conversion(p, &c)) {
            diag_error(&k->errors, at, "print: '%.*s' is no conversion; d, u, x, lld, llu, llx, f, e, g are",
                       c.length, p);
            return false;
        }
        if (found < n && !print_value(k, at, &c, found, &values[found])) {
            return false;
        }
        found++;
        p += c.length;
    }
    if (found != n) {
        diag_error(&k->errors, at, "print: the format has %d conversion%s but there %s %d value%s", found,
                   found == 1 ? "" : "s", n == 1 ? "is" : "are", n, n == 1 ? "" : "s");
    }
    return found == n;
}

void tg_print(tg_kernel *k, tg_loc at, const char *format, tg_index values) {
    if (!build_ready(k, at) || !build_inside(k, at, "print")) {
        return;
    }
    tile_stmt *s = build_stmt(k, at, TILE_PRINT);
    s->format = arena_copy(&k->memory, format);
    s->n = values.n;
    s->values = ARENA_ARRAY(&k->memory, node *, values.n ? values.n : 1);
    for (int i = 0; i < values.n; i++) {
        s->values[i] = values.e[i].node;
        if (build_poisoned(s->values[i]) || !build_uses(k, at, s->values[i])) {
            return;
        }
    }
    if (check_format(k, at, s->format, s->n, s->values)) {
        build_append(k, s);
    }
}

void tg_check(tg_kernel *k, tg_loc at, tg_expr condition, const char *message) {
    if (!build_ready(k, at) || !build_inside(k, at, "check") || build_poisoned(condition.node)) {
        return;
    }
    node *c = build_truth(k, at, "the condition of check", condition.node);
    if (c && build_uses(k, at, c)) {
        tile_stmt *s = build_stmt(k, at, TILE_CHECK);
        s->value = c;
        s->format = arena_copy(&k->memory, message ? message : "");
        build_append(k, s);
    }
}
