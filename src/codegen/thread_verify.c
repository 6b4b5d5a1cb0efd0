/* thread_verify.c -- what is true of thread IR between any two passes, as a program.
 *
 * Reads a kernel; leaves nothing.  The first breach, in words, is the answer; it is always a fault of Tegula.
 */
#include <stdarg.h>
#include <stdio.h>

#include "codegen/passes.h"

typedef struct check_state {
    const thread_kernel *t;
    text *error;
    bool failed;
    unsigned char *var_alive;    /* by id */
    unsigned char *buffer_alive; /* by id */
    uniformity *uniform;
    bool diverged;
    tg_loc at;
} check_state;

static void breach(check_state *c, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

static void breach(check_state *c, const char *format, ...) {
    char message[256];
    if (c->failed) {
        return;
    }
    c->failed = true;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    text_print(c->error, "%s: %s", c->t->name, message);
    if (c->at.file) {
        text_print(c->error, " (%s:%d)", diag_base(c->at.file), c->at.line);
    }
}

static bool is_power_of_two(int64_t x) {
    return x > 0 && (x & (x - 1)) == 0;
}

/* ---- expressions --------------------------------------------------------------------------------------- */

static void check_value(check_state *c, const node *x);

static void check_buffer(check_state *c, buffer *b) {
    const buffer *root = buffer_root(b);
    if (root->id < 0 || root->id >= c->t->nbuffers || c->t->buffers[root->id] != root) {
        breach(c, "buffer '%s' is not in the table", b->name);
    } else if (root->space == TG_LOCAL && !c->buffer_alive[root->id]) {
        breach(c, "'%s' is used outside its declaration", b->name);
    } else if (root->space == TG_FRAGMENT || root->space == TG_REDUCER) {
        breach(c, "'%s' is neither global, shared nor local", b->name);
    }
}

static void check_ref(check_state *c, const node *x) {
    if (x->kind != E_REF) {
        breach(c, "a place is no element of a buffer");
        return;
    }
    check_buffer(c, x->buffer);
    if (x->n != x->buffer->rank) {
        breach(c, "'%s' of rank %d has %d indices", x->buffer->name, x->buffer->rank, x->n);
    }
    if (x->type != x->buffer->type) {
        breach(c, "an element of '%s' has type %s", x->buffer->name, type_name(x->type));
    }
    if (!is_power_of_two(x->lanes) || x->lanes * type_bytes(x->type) > c->t->target->max_access) {
        if (x->lanes != 1) {
            breach(c, "'%s' is accessed %d elements at a time", x->buffer->name, x->lanes);
        }
    }
    for (int i = 0; i < x->n; i++) {
        if (!type_is_integer(x->arg[i]->type)) {
            breach(c, "an index of '%s' is no integer", x->buffer->name);
        }
        check_value(c, x->arg[i]);
    }
}

static void check_var(check_state *c, const node *x) {
    const var *v = x->var;
    if (v->id < 0 || v->id >= c->t->nvars || !c->var_alive[v->id]) {
        breach(c, "'%s' is used outside its scope", v->name);
    }
    if (x->type != v->type) {
        breach(c, "'%s' is used as %s", v->name, type_name(x->type));
    }
}

/* Shift counts may be of any integer type. */
static bool operands_agree(const node *x) {
    return x->n == 1 || x->op == TG_SHL || x->op == TG_SHR || x->arg[0]->type == x->arg[1]->type;
}

static void check_op(check_state *c, const node *x) {
    const bool is_truth = (x->op >= TG_EQ && x->op <= TG_NEGATE);
    if (!operands_agree(x)) {
        breach(c, "operands of types %s and %s", type_name(x->arg[0]->type), type_name(x->arg[1]->type));
    }
    if (x->type != (is_truth ? TG_BOOL : x->arg[0]->type)) {
        breach(c, "an operation on %s gives %s", type_name(x->arg[0]->type), type_name(x->type));
    }
}

static void check_kind(check_state *c, const node *x) {
    switch (x->kind) {
    case E_CONST:
        break;
    case E_VAR:
        check_var(c, x);
        break;
    case E_LOAD:
        check_ref(c, x->arg[0]);
        if (x->type != x->arg[0]->type || x->lanes != x->arg[0]->lanes) {
            breach(c, "a load of '%s' differs from its place", x->arg[0]->buffer->name);
        }
        break;
    case E_OP:
        check_op(c, x);
        break;
    case E_CHOOSE:
        if (x->arg[0]->type != TG_BOOL || x->arg[1]->type != x->type || x->arg[2]->type != x->type) {
            breach(c, "the sides of a choice differ in type");
        }
        break;
    case E_CAST:
        break;
    case E_BITCAST:
        if (type_bits(x->type) != type_bits(x->arg[0]->type)) {
            breach(c, "the bits of %s as %s", type_name(x->arg[0]->type), type_name(x->type));
        }
        break;
    case E_POISON:
    case E_BUFFER:
    case E_REF:
    case E_REGION:
        breach(c, "an expression of kind %d is no value", (int)x->kind);
        break;
    }
}

static void check_value(check_state *c, const node *x) {
    if (!x) {
        breach(c, "a value is missing");
        return;
    }
    check_kind(c, x);
    for (int i = 0; i < x->n && x->kind != E_LOAD && !c->failed; i++) {
        check_value(c, x->arg[i]);
    }
}

/* ---- statements ---------------------------------------------------------------------------------------- */

static void check_block(check_state *c, const thread_block *b);

/* Index values may go into integer places: the range is checked when it runs. */
static bool fits_place(int64_t place, int64_t type) {
    return place == type || (type == TYPE_INDEX && type_is_integer(place));
}

static void check_store(check_state *c, const thread_stmt *s) {
    if (!s->dst || !s->value) {
        breach(c, "a store without place or value");
        return;
    }
    check_ref(c, s->dst);
    check_value(c, s->value);
    if (!fits_place(s->dst->type, s->value->type)) {
        breach(c, "%s stored into '%s' of %s", type_name(s->value->type), s->dst->buffer->name,
               type_name(s->dst->type));
    }
    const bool is_copy = s->value->kind == E_LOAD && s->value->lanes == s->dst->lanes;
    if (s->dst->lanes > 1 && ((!is_copy && s->value->kind != E_CONST) || s->accumulates)) {
        breach(c, "a wide store into '%s' is no wide copy or constant", s->dst->buffer->name);
    }
    if (s->dst->lanes == 1 && s->value->lanes != 1) {
        breach(c, "a wide value stored into one element of '%s'", s->dst->buffer->name);
    }
}

static void define(check_state *c, const thread_stmt *s, int64_t type) {
    if (s->nresults != 1 || !s->result || !s->result[0]) {
        breach(c, "a statement lacks its result");
        return;
    }
    const var *v = s->result[0];
    if (v->id < 0 || v->id >= c->t->nvars) {
        breach(c, "'%s' has no number", v->name);
        return;
    }
    if (c->var_alive[v->id]) {
        breach(c, "'%s' is defined twice", v->name);
    }
    if (v->type != type) {
        breach(c, "'%s' of %s names a value of %s", v->name, type_name(v->type), type_name(type));
    }
    c->var_alive[v->id] = 1;
}

static void check_decl(check_state *c, const thread_stmt *s) {
    if (!s->buffer || s->buffer->space != TG_LOCAL || s->buffer->view_of) {
        breach(c, "a declaration of no local buffer");
        return;
    }
    if (s->value) {
        check_value(c, s->value);
        if (s->buffer->rank != 0 || !fits_place(s->buffer->type, s->value->type)) {
            breach(c, "'%s' cannot begin with this value", s->buffer->name);
        }
    }
    if (c->buffer_alive[s->buffer->id]) {
        breach(c, "'%s' is declared twice", s->buffer->name);
    }
    c->buffer_alive[s->buffer->id] = 1;
}

static void check_reduce(check_state *c, const thread_stmt *s) {
    check_value(c, s->value);
    if (!is_power_of_two(s->width) || !is_power_of_two(s->stride) ||
        s->width * s->stride > c->t->target->wave) {
        breach(c, "lanes reduced over width %d with stride %d", s->width, s->stride);
    }
    if (c->diverged) {
        breach(c, "lanes reduced where threads part");
    }
    define(c, s, s->value->type);
}

/* The hardware moves bytes from global to shared memory as they are. */
static void check_copy_async(check_state *c, const thread_stmt *s) {
    check_store(c, s);
    if (c->failed) {
        return;
    }
    const node *from = s->value->kind == E_LOAD ? s->value->arg[0] : NULL;
    const int64_t bytes = (int64_t)s->dst->lanes * type_bytes(s->dst->type);
    if (!c->t->target->async_copy) {
        breach(c, "%s has no asynchronous copies", c->t->target->name);
    } else if (!from || s->accumulates || from->type != s->dst->type || from->lanes != s->dst->lanes) {
        breach(c, "an asynchronous copy into '%s' is no plain copy", s->dst->buffer->name);
    } else if (buffer_root(s->dst->buffer)->space != TG_SHARED ||
               buffer_root(from->buffer)->space != TG_GLOBAL) {
        breach(c, "an asynchronous copy from '%s' to '%s' is not from global to shared memory",
               from->buffer->name, s->dst->buffer->name);
    } else if (!target_copies_async(c->t->target, bytes)) {
        breach(c, "an asynchronous copy of %lld bytes", (long long)bytes);
    }
    if (s->extent) {
        check_value(c, s->extent);
        if (!type_is_integer(s->extent->type)) {
            breach(c, "an asynchronous copy of a number of elements that is no integer");
        }
    }
}

static void check_for(check_state *c, thread_stmt *s) {
    check_value(c, s->extent);
    if (s->extent->reads) {
        breach(
            c,
            "the trips of a loop are read from memory without a name: CUDA asks for them in every iteration");
    }
    define(c, s, TYPE_INDEX);
    if (!type_is_integer(s->extent->type) || s->unroll < UNROLL_TRY) {
        breach(c, "a loop without an integer extent");
    }
}

static void check_condition(check_state *c, const thread_stmt *s) {
    check_value(c, s->value);
    if (s->value->type != TG_BOOL) {
        breach(c, "a condition of type %s", type_name(s->value->type));
    }
}

static void check_head(check_state *c, thread_stmt *s) {
    switch (s->kind) {
    case THREAD_DECL:
        check_decl(c, s);
        break;
    case THREAD_LET:
        check_value(c, s->value);
        define(c, s, s->value->type);
        break;
    case THREAD_STORE:
        check_store(c, s);
        break;
    case THREAD_ATOMIC:
        check_store(c, s);
        if (target_atomic(c->t->target, s->reduction, s->dst->type, buffer_root(s->dst->buffer)->space) ==
            ATOMIC_NONE) {
            breach(c, "no such atomic on %s", c->t->target->name);
        }
        break;
    case THREAD_FOR:
        check_for(c, s);
        break;
    case THREAD_IF:
        check_condition(c, s);
        break;
    case THREAD_BARRIER:
        if (c->diverged) {
            breach(c, "a barrier where threads part");
        }
        break;
    case THREAD_REDUCE_LANES:
        check_reduce(c, s);
        break;
    case THREAD_SHUFFLE_XOR:
        check_value(c, s->value);
        define(c, s, s->value->type);
        break;
    case THREAD_PRINT:
        for (int i = 0; i < s->nvalues; i++) {
            check_value(c, s->values[i]);
        }
        break;
    case THREAD_CHECK:
        check_condition(c, s);
        if (s->check < 0 || s->check >= c->t->nchecks) {
            breach(c, "check %d is not in the table", s->check);
        }
        break;
    case THREAD_COPY_ASYNC:
        check_copy_async(c, s);
        break;
    case THREAD_COMMIT:
        break;
    case THREAD_WAIT:
        if (s->count < 0) {
            breach(c, "a wait for fewer than no groups");
        }
        break;
    case THREAD_LAUNCH_DEPENDENTS:
    case THREAD_GRID_WAIT:
        if (!c->t->waits) {
            breach(c, "a wait for launches that need not be waited for");
        }
        break;
    }
}

/* Provably different ways: what is merely unknown was looked at by the builder, which knows the user's words.
 */
static bool parts(check_state *c, const thread_stmt *s) {
    const node *decides = s->kind == THREAD_FOR ? s->extent : s->kind == THREAD_IF ? s->value : NULL;
    return decides && facts_uniform(c->uniform, decides) == FACT_NO;
}

static void close_scope(check_state *c, const thread_block *b) {
    for (const thread_stmt *s = b->first; s; s = s->next) {
        if (s->kind == THREAD_DECL) {
            c->buffer_alive[s->buffer->id] = 0;
        } else if (s->nresults == 1 && s->kind != THREAD_FOR) {
            c->var_alive[s->result[0]->id] = 0;
        }
    }
}

static void check_statement(check_state *c, thread_stmt *s) {
    const bool was = c->diverged;
    c->at = s->at;
    check_head(c, s);
    if (c->failed) {
        return;
    }
    if (s->body.first || s->otherwise.first) {
        c->diverged |= parts(c, s);
        check_block(c, &s->body);
        check_block(c, &s->otherwise);
        c->diverged = was;
    }
    if (s->kind == THREAD_FOR) {
        c->var_alive[s->result[0]->id] = 0;
    }
    thread_note(c->t, c->uniform, s);
}

static void check_block(check_state *c, const thread_block *b) {
    const thread_stmt *last = NULL;
    for (thread_stmt *s = b->first; s && !c->failed; last = s, s = s->next) {
        check_statement(c, s);
    }
    if (!c->failed && last != b->last) {
        breach(c, "a block's last statement is not its last");
    }
    if (!c->failed) {
        close_scope(c, b);
    }
}

/* ---- the kernel ---------------------------------------------------------------------------------------- */

static void check_launch(check_state *c) {
    const thread_kernel *t = c->t;
    for (int i = 0; i < 3; i++) {
        if (!t->grid[i] || t->threads[i] < 1) {
            breach(c, "axis %d has no extent", i);
        }
        if (t->grid_var[i]) {
            c->var_alive[t->grid_var[i]->id] = 1;
        }
        if (t->thread_var[i]) {
            c->var_alive[t->thread_var[i]->id] = 1;
        }
    }
    for (int i = 0; i < t->nparams; i++) {
        const thread_param *p = &t->params[i];
        if (p->kind == PARAM_CHECKS && (i != t->nparams - 1 || t->nchecks == 0)) {
            breach(c, "the hidden parameter is not the last");
        }
        if (p->var) {
            c->var_alive[p->var->id] = 1;
        }
    }
}

bool thread_verify(const thread_kernel *t, text *error) {
    arena memory = {.blocks = NULL};
    check_state c = {.t = t, .error = error};
    c.var_alive = ARENA_ARRAY(&memory, unsigned char, t->nvars + 1);
    c.buffer_alive = ARENA_ARRAY(&memory, unsigned char, t->nbuffers + 1);
    c.uniform = uniformity_new(&memory, t->nvars, t->nbuffers);
    check_launch(&c);
    check_block(&c, &t->body);
    arena_free(&memory);
    return !c.failed;
}
