/* thread_dump.c -- thread IR as text.
 *
 *     kernel scale for sm_80
 *       n = 4096
 *       tensor x: const f16[4096]
 *       shared part: f32[8] at byte 0
 *       grid(pid: 32) threads(tid: 128)
 *       let row = pid * 128 + tid
 *       for k below 8, unrolled
 *           part[k] = 0.0
 *       barrier    // why */
#include <stdio.h>

#include "codegen/thread.h"
#include "dsl/diag.h"

typedef struct dump {
    text *out;
    bool lines;
    int depth;
} dump;

enum { INDENT = 4, PLACE_WIDTH = 24 };

/* A new line; in its margin the DSL place. */
static void begin(const dump *d, tg_loc at) {
    if (d->lines) {
        char place[128] = "";
        if (at.file) {
            snprintf(place, sizeof place, "%s:%d", diag_base(at.file), at.line);
        }
        text_print(d->out, "%-*s", PLACE_WIDTH, place);
    }
    text_add_spaces(d->out, INDENT * d->depth + 2);
}

static void end(const dump *d, const thread_stmt *s) {
    if (s->why) {
        text_print(d->out, "    // %s", s->why);
    }
    text_add(d->out, "\n");
}

/* ---- declarations -------------------------------------------------------------------------------------- */

static void print_type(const buffer *b, text *out) {
    text_print(out, "%s", type_name(b->type));
    if (b->rank == 0) {
        return;
    }
    text_add(out, "[");
    for (int i = 0; i < b->rank; i++) {
        text_add(out, i ? ", " : "");
        if (b->dim_expr[i]) {
            expr_print(b->dim_expr[i], out);
        } else {
            text_print(out, "%lld", (long long)b->dim[i]);
        }
    }
    text_add(out, "]");
}

static void print_param(const thread_param *p, const dump *d) {
    switch (p->kind) {
    case PARAM_TENSOR:
        begin(d, p->buffer->at);
        text_print(d->out, "tensor %s: %s", p->buffer->name, p->buffer->is_written ? "" : "const ");
        print_type(p->buffer, d->out);
        if (p->buffer->pitch) {
            text_print(d->out, " pitch %lld", (long long)p->buffer->pitch);
        }
        break;
    case PARAM_SCALAR:
        begin(d, p->var->at);
        text_print(d->out, "scalar %s: %s", p->var->name, type_name(p->var->type));
        break;
    case PARAM_EXTENT:
        begin(d, p->var->at);
        text_print(d->out, "extent %s", p->var->name);
        break;
    case PARAM_CHECKS:
        begin(d, (tg_loc){NULL, 0});
        text_add(d->out, "hidden checks");
        break;
    }
    text_add(d->out, "\n");
}

static void print_setting(const thread_setting *s, const dump *d) {
    const char *type = tg_dtype_name(s->value);
    begin(d, (tg_loc){NULL, 0});
    if (type) {
        text_print(d->out, "%s = %s", s->name, type);
    } else {
        text_print(d->out, "%s = %lld", s->name, (long long)s->value);
    }
    text_print(d->out, s->source[0] ? " (%s)\n" : "%s\n", s->source);
}

static void print_shared(const thread_kernel *t, const dump *d) {
    for (int i = 0; i < t->nbuffers; i++) {
        const buffer *b = t->buffers[i];
        if (b->space != TG_SHARED || b->view_of || b->offset < 0) {
            continue;
        }
        begin(d, b->at);
        text_print(d->out, "shared %s: ", b->name);
        print_type(b, d->out);
        if (t->shared_bytes) {
            text_print(d->out, " at byte %lld", (long long)b->offset);
        }
        if (b->layout.why) {
            text_print(d->out, "    // %s; %s", b->layout.why, b->layout.gain);
        }
        text_add(d->out, "\n");
    }
    if (t->shared_bytes) {
        begin(d, (tg_loc){NULL, 0});
        text_print(d->out, "%lld bytes shared%s\n", (long long)t->shared_bytes,
                   t->shared_is_dynamic ? ", dynamic" : "");
    }
}

static void print_launch(const thread_kernel *t, const dump *d) {
    begin(d, (tg_loc){NULL, 0});
    text_add(d->out, "grid(");
    for (int i = 0; i < 3 && t->grid[i]; i++) {
        if (i && expr_is_int(t->grid[i], 1) && !t->grid_var[i]) {
            continue;
        }
        text_print(d->out, "%s%s%s", i ? ", " : "", t->grid_var[i] ? t->grid_var[i]->name : "",
                   t->grid_var[i] ? ": " : "");
        expr_print(t->grid[i], d->out);
    }
    text_add(d->out, ") threads(");
    for (int i = 0; i < 3; i++) {
        if (i && t->threads[i] == 1 && !t->thread_var[i]) {
            continue;
        }
        text_print(d->out, "%s%s%s%lld", i ? ", " : "", t->thread_var[i] ? t->thread_var[i]->name : "",
                   t->thread_var[i] ? ": " : "", (long long)t->threads[i]);
    }
    text_add(d->out, ")\n");
}

/* ---- statements ---------------------------------------------------------------------------------------- */

static void print_block(const thread_block *b, dump *d);

static void print_assignment(const thread_stmt *s, const dump *d) {
    expr_print(s->dst, d->out);
    text_add(d->out, s->accumulates ? " += " : " = ");
    expr_print(s->value, d->out);
}

static void print_call(const thread_stmt *s, const dump *d) {
    text_add(d->out, "print(\"");
    for (const char *c = s->format; *c; c++) {
        if (*c == '\n') {
            text_add(d->out, "\\n");
        } else {
            text_add_n(d->out, c, 1);
        }
    }
    text_add(d->out, "\"");
    for (int i = 0; i < s->nvalues; i++) {
        text_add(d->out, ", ");
        expr_print(s->values[i], d->out);
    }
    text_add(d->out, ")");
}

static void print_for(const thread_stmt *s, const dump *d) {
    text_print(d->out, "for %s below ", s->result[0]->name);
    expr_print(s->extent, d->out);
    if (s->unroll == UNROLL_FULL) {
        text_add(d->out, ", unrolled");
    } else if (s->unroll == UNROLL_WIDE) {
        text_add(d->out, ", vectorized");
    } else if (s->unroll > 0) {
        text_print(d->out, ", unrolled by %d", s->unroll);
    }
}

static void print_body(const thread_block *b, dump *d) {
    d->depth++;
    print_block(b, d);
    d->depth--;
}

static void print_decl(const thread_stmt *s, const dump *d) {
    text_print(d->out, "local %s: ", s->buffer->name);
    print_type(s->buffer, d->out);
    if (s->value) {
        text_add(d->out, " = ");
        expr_print(s->value, d->out);
    }
}

/* The statement's own line, without its bodies. */
static void print_head(const thread_stmt *s, const dump *d) {
    switch (s->kind) {
    case THREAD_DECL:
        print_decl(s, d);
        break;
    case THREAD_LET:
        text_print(d->out, "let %s = ", s->result[0]->name);
        expr_print(s->value, d->out);
        break;
    case THREAD_STORE:
        print_assignment(s, d);
        break;
    case THREAD_ATOMIC:
        text_print(d->out, "atomic %s: ", reduction_name(s->reduction));
        expr_print(s->dst, d->out);
        text_add(d->out, ", ");
        expr_print(s->value, d->out);
        break;
    case THREAD_FOR:
        print_for(s, d);
        break;
    case THREAD_IF:
        text_add(d->out, "if ");
        expr_print(s->value, d->out);
        break;
    case THREAD_BARRIER:
        text_add(d->out, s->participants == SCOPE_WARP ? "barrier of the warp" : "barrier");
        break;
    case THREAD_REDUCE_LANES:
        text_print(d->out, "let %s = reduce_lanes(%s, ", s->result[0]->name, reduction_name(s->reduction));
        expr_print(s->value, d->out);
        text_print(d->out, ", width %d, stride %d)", s->width, s->stride);
        break;
    case THREAD_SHUFFLE_XOR:
        text_print(d->out, "let %s = shuffle_xor(", s->result[0]->name);
        expr_print(s->value, d->out);
        text_print(d->out, ", %d)", s->stride);
        break;
    case THREAD_PRINT:
        print_call(s, d);
        break;
    case THREAD_CHECK:
        text_print(d->out, "check %d: ", s->check);
        expr_print(s->value, d->out);
        break;
    case THREAD_COPY_ASYNC:
        text_add(d->out, "async ");
        print_assignment(s, d);
        break;
    case THREAD_COMMIT:
        text_add(d->out, "commit");
        break;
    case THREAD_WAIT:
        text_print(d->out, "wait until %lld in flight", (long long)s->count);
        break;
    case THREAD_LAUNCH_DEPENDENTS:
        text_add(d->out, "launch dependents");
        break;
    case THREAD_GRID_WAIT:
        text_add(d->out, "wait for the launches before");
        break;
    }
}

static void print_block(const thread_block *b, dump *d) {
    for (const thread_stmt *s = b->first; s; s = s->next) {
        begin(d, s->at);
        print_head(s, d);
        end(d, s);
        print_body(&s->body, d);
        if (s->otherwise.first) {
            begin(d, s->otherwise.first->at);
            text_add(d->out, "otherwise\n");
            print_body(&s->otherwise, d);
        }
    }
}

void thread_print(const thread_kernel *t, text *out, bool lines) {
    dump d = {out, lines, 0};
    text_print(out, "kernel %s for %s\n", t->name, t->target->name);
    for (int i = 0; i < t->nsettings; i++) {
        print_setting(&t->settings[i], &d);
    }
    for (int i = 0; i < t->nparams; i++) {
        print_param(&t->params[i], &d);
    }
    print_shared(t, &d);
    print_launch(t, &d);
    print_block(&t->body, &d);
}
