/* thread.c -- walking and growing thread IR. */
#include "codegen/thread.h"

#include <string.h>

#include "codegen/passes.h"

int64_t thread_count(const thread_kernel *t) {
    return t->threads[0] * t->threads[1] * t->threads[2];
}

bool thread_orders_block(const thread_kernel *t, const thread_stmt *s) {
    return s->kind == THREAD_BARRIER && s->barrier == 0 && s->count == 0 &&
           (s->participants == SCOPE_BLOCK ||
            (s->participants == SCOPE_WARP && thread_count(t) <= t->target->wave));
}

void thread_walk(thread_block *b, void (*fn)(thread_stmt *s, void *user), void *user) {
    for (thread_stmt *s = b->first; s; s = s->next) {
        fn(s, user);
        thread_walk(&s->body, fn, user);
        thread_walk(&s->otherwise, fn, user);
    }
}

void thread_add(thread_block *b, thread_stmt *s) {
    s->next = NULL;
    if (b->last) {
        b->last->next = s;
    } else {
        b->first = s;
    }
    b->last = s;
}

void thread_splice(thread_block *b, const thread_block *more) {
    if (!more->first) {
        return;
    }
    if (b->last) {
        b->last->next = more->first;
    } else {
        b->first = more->first;
    }
    b->last = more->last;
}

thread_stmt *thread_append(arena *a, thread_block *b, thread_kind kind, tg_loc at) {
    thread_stmt *s = ARENA_NEW(a, thread_stmt);
    s->kind = kind;
    s->at = at;
    thread_add(b, s);
    return s;
}

typedef struct visit {
    void (*fn)(node *ref, bool is_write, void *user);
    void *user;
} visit;

static void visit_read(node *ref, void *user) {
    const visit *v = user;
    v->fn(ref, false, v->user);
}

void thread_accesses(thread_stmt *s, void (*fn)(node *ref, bool is_write, void *user), void *user) {
    visit v = {fn, user};
    expr_loads(s->value, visit_read, &v);
    expr_loads(s->extent, visit_read, &v);
    for (int i = 0; i < s->nvalues; i++) {
        expr_loads(s->values[i], visit_read, &v);
    }
    if (s->dst) {
        expr_loads(s->dst, visit_read, &v);
        if (s->accumulates) {
            fn(s->dst, false, user);
        }
        fn(s->dst, true, user);
    }
}

typedef struct indexing {
    const var *v;
    bool found;
} indexing;

static void find_index(node *ref, bool is_write, void *user) {
    indexing *x = user;
    (void)is_write;
    for (int i = 0; i < ref->n && buffer_root(ref->buffer)->space == TG_LOCAL; i++) {
        x->found |= facts_depends(ref->arg[i], x->v);
    }
}

static void find_indices(thread_stmt *s, void *user) {
    thread_accesses(s, find_index, user);
}

bool thread_indexes_registers(thread_stmt *loop) {
    indexing x = {loop->result[0], false};
    thread_walk(&loop->body, find_indices, &x);
    return x.found;
}

/* ---- rebuilding expressions ---------------------------------------------------------------------------- */

/* The comparison that holds where op does not; 0 where there is none (of floats a NaN makes both false). */
static tg_op opposite(tg_op op, bool is_float) {
    static const tg_op other[][2] = {{TG_EQ, TG_NE}, {TG_NE, TG_EQ}, {TG_LT, TG_GE},
                                     {TG_GE, TG_LT}, {TG_GT, TG_LE}, {TG_LE, TG_GT}};
    const int n = is_float ? 2 : 6;
    for (int i = 0; i < n; i++) {
        if (other[i][0] == op) {
            return other[i][1];
        }
    }
    return (tg_op)0;
}

node *thread_not(arena *a, node *x) {
    const tg_op op =
        x->kind == E_OP && x->n == 2 ? opposite(x->op, type_is_float(x->arg[0]->type)) : (tg_op)0;
    return op ? expr_binary(a, x->at, op, x->arg[0], x->arg[1]) : expr_unary(a, x->at, TG_NEGATE, x);
}

node *thread_map(arena *a, node *x, node *(*fn)(node *x, void *user), void *user) {
    node *new = fn(x, user);
    if (new) {
        return new;
    }
    node *arg[TG_MAX_RANK];
    bool changed = false;
    for (int i = 0; i < x->n && i < TG_MAX_RANK; i++) {
        arg[i] = thread_map(a, x->arg[i], fn, user);
        changed |= arg[i] != x->arg[i];
    }
    return changed ? expr_remake(a, x, arg) : x;
}

int64_t thread_shared_bytes(const buffer *b) {
    const int64_t row = b->rank > 0 ? b->dim[b->rank - 1] : 1;
    const bool is_padded = b->rank > 1 && b->layout.pitch > row && row > 0;
    return buffer_bytes(b) + (is_padded ? (b->layout.pitch - row) * type_bytes(b->type) : 0);
}

bool thread_is_constant(const buffer *b) {
    const buffer *root = b;
    while (root->view_of) {
        root = root->view_of;
    }
    return root->space == TG_GLOBAL && root->is_constant && !root->is_written && !root->is_atomic &&
           root->naliases == 0;
}

/* ---- looking at and changing statements ---------------------------------------------------------------- */

typedef struct touch {
    const buffer *b;
    bool found;
} touch;

static void touch_ref(node *ref, bool is_write, void *user) {
    touch *t = user;
    (void)is_write;
    t->found |= buffer_root(ref->buffer) == t->b;
}

static bool block_touches(thread_block *b, const buffer *wanted) {
    for (thread_stmt *s = b->first; s; s = s->next) {
        if (thread_touches(s, wanted)) {
            return true;
        }
    }
    return false;
}

bool thread_touches(thread_stmt *s, const buffer *b) {
    touch t = {b, false};
    thread_accesses(s, touch_ref, &t);
    return t.found || block_touches(&s->body, b) || block_touches(&s->otherwise, b);
}

static void replace_values(arena *a, thread_stmt *s, const var *v, node *x) {
    node **old = s->values; /* may be the tile IR's */
    s->values = ARENA_ARRAY(a, node *, s->nvalues);
    for (int i = 0; i < s->nvalues; i++) {
        s->values[i] = expr_replace(a, old[i], v, x);
    }
}

void thread_replace(thread_kernel *t, thread_block *b, const var *v, node *x) {
    for (thread_stmt *s = b->first; s; s = s->next) {
        s->value = s->value ? expr_replace(t->memory, s->value, v, x) : NULL;
        s->dst = s->dst ? expr_replace(t->memory, s->dst, v, x) : NULL;
        s->extent = s->extent ? expr_replace(t->memory, s->extent, v, x) : NULL;
        if (s->nvalues > 0) {
            replace_values(t->memory, s, v, x);
        }
        if (s->kind == THREAD_LET && s->result[0]->value) {
            s->result[0]->value = s->value;
        }
        thread_replace(t, &s->body, v, x);
        thread_replace(t, &s->otherwise, v, x);
    }
}

void thread_note(const thread_kernel *t, uniformity *u, thread_stmt *s) {
    switch (s->kind) {
    case THREAD_LET:
    case THREAD_REDUCE_LANES:
        uniformity_let(u, s->result[0],
                       s->count > 0 && s->count == thread_count(t) ? FACT_YES
                       : s->kind == THREAD_LET                     ? facts_uniform(u, s->value)
                                                                   : FACT_UNKNOWN);
        break;
    case THREAD_STORE:
    case THREAD_ATOMIC:
    case THREAD_COPY_ASYNC:
        uniformity_write(u, s->dst->buffer);
        break;
    case THREAD_BARRIER:
        if (thread_orders_block(t, s)) {
            uniformity_barrier(u);
        }
        break;
    case THREAD_DECL:
    case THREAD_FOR:
    case THREAD_IF:
    case THREAD_SHUFFLE_XOR:
    case THREAD_PRINT:
    case THREAD_CHECK:
    case THREAD_COMMIT:
    case THREAD_WAIT:
    case THREAD_LAUNCH_DEPENDENTS:
    case THREAD_GRID_WAIT:
        break;
    }
}

/* ---- making -------------------------------------------------------------------------------------------- */

static buffer **room_for_buffer(thread_kernel *t) {
    buffer **more = ARENA_ARRAY(t->memory, buffer *, t->nbuffers + 1);
    if (t->nbuffers > 0) {
        memcpy(more, t->buffers, sizeof *more * (size_t)t->nbuffers);
    }
    return more;
}

buffer *thread_buffer(thread_kernel *t, tg_space space, const char *name, int64_t type, tg_loc at) {
    buffer *b = ARENA_NEW(t->memory, buffer);
    b->name = arena_copy(t->memory, name);
    b->space = space;
    b->type = type;
    b->arg = -1;
    b->id = t->nbuffers;
    b->at = at;
    t->buffers = room_for_buffer(t);
    t->buffers[t->nbuffers++] = b;
    return b;
}

var *thread_variable(thread_kernel *t, var_kind kind, const char *name, int64_t type, tg_loc at) {
    var *v = ARENA_NEW(t->memory, var);
    v->kind = kind;
    v->name = arena_copy(t->memory, name);
    v->type = type;
    if (type_is_integer(type)) {
        v->lo = type_min(type);
        v->hi = type_max(type);
    }
    v->id = t->nvars++;
    v->at = at;
    return v;
}

static void set_result(thread_kernel *t, thread_stmt *s, var *v) {
    s->result = ARENA_NEW(t->memory, var *);
    s->result[0] = v;
    s->nresults = 1;
}

var *thread_let(thread_kernel *t, thread_block *b, const char *name, node *x) {
    thread_stmt *s = thread_append(t->memory, b, THREAD_LET, x->at);
    var *v = thread_variable(t, VAR_LET, name, x->type, x->at);
    v->value = x;
    v->lo = x->lo;
    v->hi = x->hi;
    s->value = x;
    set_result(t, s, v);
    return v;
}

thread_stmt *thread_for(thread_kernel *t, thread_block *b, const char *name, node *extent) {
    thread_stmt *s = thread_append(t->memory, b, THREAD_FOR, extent->at);
    var *v = thread_variable(t, VAR_LOOP, name, TYPE_INDEX, extent->at);
    v->lo = 0;
    v->hi = extent->hi > 0 ? extent->hi - 1 : 0;
    s->extent = extent;
    set_result(t, s, v);
    return s;
}

thread_stmt *thread_if(thread_kernel *t, thread_block *b, node *condition) {
    thread_stmt *s = thread_append(t->memory, b, THREAD_IF, condition->at);
    s->value = condition;
    return s;
}

thread_stmt *thread_store(thread_kernel *t, thread_block *b, node *dst, node *x) {
    thread_stmt *s = thread_append(t->memory, b, THREAD_STORE, dst->at);
    s->dst = dst;
    s->value = x;
    return s;
}

node *thread_axis(thread_kernel *t, tg_loc at, int axis) {
    static const char *const name[] = {"tid_x", "tid_y", "tid_z"};
    if (t->threads[axis] == 1) {
        return expr_int(t->memory, at, 0);
    }
    if (!t->thread_var[axis]) {
        var *v = thread_variable(t, VAR_THREAD, name[axis], TYPE_INDEX, at);
        v->lo = 0;
        v->hi = t->threads[axis] - 1;
        v->axis = axis;
        t->thread_var[axis] = v;
    }
    return expr_var(t->memory, at, t->thread_var[axis]);
}

node *thread_linear(thread_kernel *t, tg_loc at) {
    arena *a = t->memory;
    node *plane = expr_add(a, thread_axis(t, at, 1), expr_mul(a, thread_axis(t, at, 2), t->threads[1]));
    return expr_add(a, thread_axis(t, at, 0), expr_mul(a, plane, t->threads[0]));
}
