/* thread_simplify.c -- nothing that a careful programmer would not have written.
 *
 * Requires that no collective operation looks at statement positions any more; leaves no branch with a
 * constant condition, no loop of one or no trip, no unused name or local buffer, and declarations where first
 * needed:
 *
 *     local sum: f32            let row = pid * 8 + tid
 *     let row = pid * 8 + tid   local sum: f32 = 0.0
 *     sum = 0.0 */
#include <string.h>

#include "codegen/passes.h"

/* ---- branches and loops -------------------------------------------------------------------------------- */

static void clean(thread_kernel *t, thread_block *b);

static void clean_if(thread_kernel *t, thread_block *out, thread_stmt *s) {
    if (expr_is_const(s->value)) {
        thread_block *taken = s->value->ival ? &s->body : &s->otherwise;
        clean(t, taken);
        thread_splice(out, taken);
        return;
    }
    clean(t, &s->body);
    clean(t, &s->otherwise);
    if (!s->body.first && s->otherwise.first) {
        s->value = thread_not(t->memory, s->value);
        s->body = s->otherwise;
        s->otherwise = (thread_block){NULL, NULL};
    }
    if (s->body.first) {
        thread_add(out, s);
    }
}

static void clean_for(thread_kernel *t, thread_block *out, thread_stmt *s) {
    if (s->extent->hi <= 0) {
        return;
    }
    const bool once = s->extent->lo == 1 && s->extent->hi == 1;
    if (once) {
        thread_replace(t, &s->body, s->result[0], expr_int(t->memory, s->at, 0));
    }
    clean(t, &s->body);
    if (once) {
        thread_splice(out, &s->body);
    } else if (s->body.first) {
        thread_add(out, s);
    }
}

static void clean(thread_kernel *t, thread_block *b) {
    thread_block out = {NULL, NULL};
    for (thread_stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        if (s->kind == THREAD_IF) {
            clean_if(t, &out, s);
        } else if (s->kind == THREAD_FOR) {
            clean_for(t, &out, s);
        } else {
            thread_add(&out, s);
        }
    }
    *b = out;
}

/* ---- unused names -------------------------------------------------------------------------------------- */

typedef struct uses {
    int *of; /* by variable id */
} uses;

static void count(const node *x, uses *u) {
    if (!x) {
        return;
    }
    if (x->kind == E_VAR) {
        u->of[x->var->id]++;
    }
    for (int i = 0; i < x->n; i++) {
        count(x->arg[i], u);
    }
}

static void count_statement(thread_stmt *s, void *user) {
    count(s->value, user);
    count(s->dst, user);
    count(s->extent, user);
    for (int i = 0; i < s->nvalues; i++) {
        count(s->values[i], user);
    }
}

static bool drop_names(thread_block *b, const uses *u) {
    thread_block out = {NULL, NULL};
    bool dropped = false;
    for (thread_stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        dropped |= drop_names(&s->body, u);
        dropped |= drop_names(&s->otherwise, u);
        const bool is_unused = s->kind == THREAD_LET && u->of[s->result[0]->id] == 0;
        const bool is_hollow =
            (s->kind == THREAD_IF || s->kind == THREAD_FOR) && !s->body.first && !s->otherwise.first;
        if (is_unused || is_hollow) {
            dropped = true;
        } else {
            thread_add(&out, s);
        }
    }
    *b = out;
    return dropped;
}

/* A name may be used by an unused name alone, so this repeats. */
static void drop_unused_names(thread_kernel *t) {
    uses u = {ARENA_ARRAY(t->memory, int, t->nvars + 1)};
    do {
        memset(u.of, 0, sizeof *u.of * (size_t)t->nvars);
        thread_walk(&t->body, count_statement, &u);
    } while (drop_names(&t->body, &u));
}

/* ---- declarations -------------------------------------------------------------------------------------- */

static bool is_whole_assignment(thread_stmt *s, const buffer *b) {
    if (s->kind != THREAD_STORE || s->dst->buffer != b || b->rank != 0 || s->accumulates) {
        return false;
    }
    thread_stmt reads = {.kind = THREAD_LET, .value = s->value};
    return !thread_touches(&reads, b);
}

/* Declarations on their way down a block, in order. */
typedef struct waiting {
    thread_stmt *decl;
    struct waiting *next;
} waiting;

static void wait_for_use(thread_kernel *t, waiting **list, thread_stmt *decl) {
    while (*list) {
        list = &(*list)->next;
    }
    *list = ARENA_NEW(t->memory, waiting);
    (*list)->decl = decl;
}

/* Lets go of the declarations that s needs, in front of it; a whole assignment becomes its declaration's
 * value. */
static thread_stmt *release(thread_block *out, waiting **list, thread_stmt *s) {
    while (*list) {
        thread_stmt *decl = (*list)->decl;
        if (!thread_touches(s, decl->buffer)) {
            list = &(*list)->next;
            continue;
        }
        *list = (*list)->next;
        if (is_whole_assignment(s, decl->buffer)) {
            decl->value = s->value;
            decl->at = s->at;
            decl->participants = s->participants; /* still a share of the operation that it was part of */
            decl->share = s->share;
            decl->next = s->next;
            s = decl;
        } else {
            thread_add(out, decl);
        }
    }
    return s;
}

static void sink(thread_kernel *t, thread_block *b) {
    thread_block out = {NULL, NULL};
    waiting *list = NULL;
    for (thread_stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        if (s->kind == THREAD_DECL && !s->value) {
            wait_for_use(t, &list, s);
            continue;
        }
        sink(t, &s->body);
        sink(t, &s->otherwise);
        thread_add(&out, release(&out, &list, s));
    }
    *b = out; /* what still waits is used nowhere */
}

void thread_simplify(thread_kernel *t, diag *errors) {
    (void)errors;
    clean(t, &t->body);
    drop_unused_names(t);
    sink(t, &t->body);
}
