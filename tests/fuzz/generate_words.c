/* generate_words.c -- a program as the text that kernel.h takes; numbers its lines; see generate.h. */
#include "generate.h"

typedef struct writer {
    program *p;
    FILE *out;
    bool numbered;
    int line, depth;
} writer;

static void write_expr(writer *w, const gexpr *x);
static void write_list(writer *w, gstmt *s);

static void begin_line(writer *w) {
    w->line++;
    if (w->numbered) {
        fprintf(w->out, "%4d  ", w->line);
    }
    fprintf(w->out, "%*s", 4 * w->depth, "");
}

static const char *type_word(int64_t type) {
    static const char *const words[] = {"BOOL", "I8",  "U8",  "I16",  "U16", "I32", "U32",
                                        "I64",  "U64", "F16", "BF16", "F32", "F64"};
    return words[type - TG_BOOL];
}

static const char *op_word(tg_op op) {
    static const char *const words[] = {
#define OP(id, word, operands, accepts, text, level) word,
#include "dsl/ops.def"
#undef OP
    };
    return words[op - 1];
}

static const char *reduction_word(tg_reduction r) {
    return r == TG_SUM ? "SUM" : r == TG_MAX ? "MAX" : "MIN";
}

static void write_arguments(writer *w, gexpr *const *arg, int n) {
    for (int i = 0; i < n; i++) {
        fputs(i ? ", " : "", w->out);
        write_expr(w, arg[i]);
    }
}

static void write_integer(writer *w, int64_t i) {
    if (i == INT64_MIN) {
        fputs("(-9223372036854775807 - 1)", w->out);
    } else {
        fprintf(w->out, "%lld", (long long)i);
    }
}

static void write_literal(writer *w, const gexpr *x) {
    const bool typed = !x->bare && x->type != INDEX;
    if (typed) {
        fprintf(w->out, "cast(%s, ", type_word(x->type));
    }
    if (x->kind == X_INT) {
        write_integer(w, x->i);
    } else {
        fprintf(w->out, "%#.17g", x->f);
    }
    fputs(typed ? ")" : "", w->out);
}

static void write_element(writer *w, int b, gexpr *const *index) {
    const gbuffer *x = &w->p->buffer[b];
    if (x->rank == 0) {
        fputs(x->name, w->out);
        return;
    }
    fprintf(w->out, "at(%s, ", x->name);
    write_arguments(w, index, x->rank);
    fputs(")", w->out);
}

static void write_call(writer *w, const char *word, const gexpr *x) {
    fprintf(w->out, "%s(", word);
    write_arguments(w, x->arg, x->n);
    fputs(")", w->out);
}

static void write_expr(writer *w, const gexpr *x) {
    switch (x->kind) {
    case X_INT:
    case X_REAL:
        write_literal(w, x);
        break;
    case X_SIZE:
        write_integer(w, size_value(w->p, x->id));
        break;
    case X_VARIABLE:
        fputs(w->p->variable[x->id].name, w->out);
        break;
    case X_LOAD:
        write_element(w, x->id, x->arg);
        break;
    case X_UNARY:
    case X_BINARY:
        write_call(w, op_word(x->op), x);
        break;
    case X_CHOOSE:
        write_call(w, "choose", x);
        break;
    case X_CAST:
    case X_BITCAST:
        fprintf(w->out, "%s(%s, ", x->kind == X_CAST ? "cast" : "bitcast", type_word(x->type));
        write_arguments(w, x->arg, 1);
        fputs(")", w->out);
        break;
    }
}

/* ---- buffers --------------------------------------------------------------------------------------------- */

static void write_dims(writer *w, const gbuffer *x) {
    for (int i = 0; i < x->rank; i++) {
        fputs(", ", w->out);
        if (i == 0 && x->extent != NONE) {
            fputs(w->p->variable[x->extent].name, w->out);
        } else {
            write_integer(w, size_value(w->p, x->dim[i]));
        }
    }
}

static void write_tensor(writer *w, const gbuffer *x) {
    begin_line(w);
    if (x->rank == 0) { /* for which there is no word */
        fprintf(w->out,
                "const tg_buf %s = tg_tensor(tg_now(), TG_HERE, \"%s\", %s, 0, (tg_index){.n = 0});\n",
                x->name, x->name, type_word(x->type));
        return;
    }
    fprintf(w->out, "%s(%s, %s", x->pitch == NONE ? "tensor" : "pitched", x->name, type_word(x->type));
    if (x->pitch != NONE) {
        fprintf(w->out, ", %lld", (long long)size_value(w->p, x->pitch));
    }
    write_dims(w, x);
    fputs(");", w->out);
    if (x->aligned) {
        fprintf(w->out, " aligned(%s, %d);", x->name, x->aligned);
    }
    fprintf(w->out, x->is_constant ? " constant(%s);\n" : "\n", x->name);
}

static void write_alloc(writer *w, const gbuffer *x) {
    static const char *const words[] = {"tensor", "shared", "local", "fragment", "reducer"};
    if (x->view_of != NONE) {
        fprintf(w->out, "const tg_buf %s = view(%s, %s", x->name, w->p->buffer[x->view_of].name,
                type_word(x->type));
    } else if (x->space == TG_REDUCER) {
        fprintf(w->out, "reducer(%s, %s, %s", x->name, reduction_word(x->reduction), type_word(x->type));
    } else {
        fprintf(w->out, "%s(%s, %s", words[x->space], x->name, type_word(x->type));
    }
    write_dims(w, x);
    fputs(");\n", w->out);
}

static void write_region(writer *w, const gregion *r) {
    static const char *const words[] = {"", "tile", "from", "slice"};
    const gbuffer *x = &w->p->buffer[r->buffer];
    if (r->kind == R_WHOLE || x->rank == 0) {
        fputs(x->name, w->out);
        return;
    }
    fprintf(w->out, "%s(%s", words[r->kind], x->name);
    for (int i = 0; i < x->rank; i++) {
        fputs(", ", w->out);
        write_expr(w, r->corner[i]);
        if (r->kind == R_SLICE) {
            fprintf(w->out, ", %lld", (long long)size_value(w->p, r->length[i]));
        }
    }
    fputs(")", w->out);
}

/* ---- statements ------------------------------------------------------------------------------------------ */

static void write_body(writer *w, gstmt *s) {
    w->depth++;
    write_list(w, s);
    w->depth--;
    begin_line(w);
}

static void write_loop(writer *w, const gstmt *s) {
    static const char *const words[] = {"grid",       "threads",  "serial",   "unrolled",
                                        "vectorized", "parallel", "pipelined"};
    fprintf(w->out, "%s(", words[s->scope]);
    for (int i = 0; i < s->n; i++) {
        fprintf(w->out, "%s%s, ", i ? ", " : "", w->p->variable[s->axis[i]].name);
        write_expr(w, s->extent[i]);
    }
    if (s->option || s->scope == TG_PIPELINED) {
        fprintf(w->out, ", %lld", (long long)s->option);
    }
    fputs(") {\n", w->out);
    write_body(w, s->body);
    fputs("}\n", w->out);
}

static void write_when(writer *w, const gstmt *s) {
    fputs("when(", w->out);
    write_expr(w, s->value);
    fputs(") {\n", w->out);
    write_body(w, s->body);
    fputs(s->otherwise ? "} otherwise {\n" : "}\n", w->out);
    if (s->otherwise) {
        write_body(w, s->otherwise);
        fputs("}\n", w->out);
    }
}

static void write_store(writer *w, const char *word, const gstmt *s) {
    fprintf(w->out, "%s(", word);
    write_element(w, s->buffer, s->index);
    fputs(", ", w->out);
    write_expr(w, s->value);
    fputs(");\n", w->out);
}

static void write_copy(writer *w, const gstmt *s) {
    fputs("copy(", w->out);
    write_region(w, &s->from);
    fputs(", ", w->out);
    write_region(w, &s->to);
    if (s->width) {
        fprintf(w->out, ", .width = %d", s->width);
    }
    if (s->layout != TG_LAYOUT_AUTO) {
        fprintf(w->out, ", .layout = %s", s->layout == TG_BLOCKED ? "TG_BLOCKED" : "TG_STRIPED");
    }
    if (s->outside != 0) {
        fprintf(w->out, ", .outside = %g", s->outside);
    }
    fputs(");\n", w->out);
}

static void write_stmt(writer *w, gstmt *s) {
    const program *p = w->p;
    begin_line(w);
    s->line = w->line;
    switch (s->kind) {
    case S_LET:
        fprintf(w->out, "let(%s, ", p->variable[s->variable].name);
        write_expr(w, s->value);
        fputs(");\n", w->out);
        break;
    case S_ALLOC:
        write_alloc(w, &p->buffer[s->buffer]);
        break;
    case S_SET:
        write_store(w, "set", s);
        break;
    case S_ACCUM:
        write_store(w, "accum", s);
        break;
    case S_ATOMIC:
        write_store(w,
                    s->reduction == TG_SUM   ? "atomic_add"
                    : s->reduction == TG_MAX ? "atomic_max"
                                             : "atomic_min",
                    s);
        break;
    case S_ALLREDUCE:
        fprintf(w->out, "let(%s, allreduce(%s, ", p->variable[s->variable].name,
                reduction_word(s->reduction));
        write_expr(w, s->value);
        fprintf(w->out, ", %s));\n", p->variable[s->along].name);
        break;
    case S_SYNC:
        fputs("sync_threads();\n", w->out);
        break;
    case S_LOOP:
        write_loop(w, s);
        break;
    case S_WHEN:
        write_when(w, s);
        break;
    case S_CHECK:
        fputs("check(", w->out);
        write_expr(w, s->value);
        fputs(", \"what holds\");\n", w->out);
        break;
    case S_COPY:
        write_copy(w, s);
        break;
    case S_CLEAR:
        fputs("clear(", w->out);
        write_region(w, &s->to);
        fputs(");\n", w->out);
        break;
    case S_FILL:
        fputs("fill(", w->out);
        write_region(w, &s->to);
        fputs(", ", w->out);
        write_expr(w, s->value);
        fputs(");\n", w->out);
        break;
    case S_REDUCE:
        fprintf(w->out, "reduce(%s, %s, %s, %d);\n", reduction_word(s->reduction),
                p->buffer[s->from.buffer].name, p->buffer[s->to.buffer].name, s->dim);
        break;
    case S_FINALIZE:
        fprintf(w->out, "finalize(%s);\n", p->buffer[s->buffer].name);
        break;
    }
}

static void write_list(writer *w, gstmt *s) {
    for (; s; s = s->next) {
        write_stmt(w, s);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------------------ */

static void write_argument(writer *w, const gargument *a) {
    const gvariable *v = &w->p->variable[a->id];
    if (a->is_tensor) {
        write_tensor(w, &w->p->buffer[a->id]);
        return;
    }
    begin_line(w);
    if (v->kind == V_EXTENT) {
        fprintf(w->out, "extent(%s); /* %lld */\n", v->name, (long long)size_value(w->p, v->size));
    } else if (type_real(v->type)) {
        fprintf(w->out, "scalar(%s, %s); /* %g */\n", v->name, type_word(v->type), v->value.f);
    } else {
        fprintf(w->out, "scalar(%s, %s); /* %lld */\n", v->name, type_word(v->type), (long long)v->value.i);
    }
}

static void write_launch(writer *w) {
    const program *p = w->p;
    begin_line(w);
    fputs("grid(", w->out);
    for (int i = 0; i < p->ngrid; i++) {
        const gexpr *x = p->grid_extent[i];
        fprintf(w->out, "%s%s, ", i ? ", " : "", p->variable[p->grid[i]].name);
        if (x->kind == X_BINARY) {
            write_call(w, "ceildiv", x);
        } else {
            write_expr(w, x);
        }
    }
    fputs(") threads(", w->out);
    for (int i = 0; i < p->nthreads; i++) {
        const gvariable *v = &p->variable[p->thread[i]];
        fputs(i ? ", " : "", w->out);
        fprintf(w->out, p->named ? "%s, " : "%.0s", v->name);
        fprintf(w->out, "%lld", (long long)size_value(p, v->size));
    }
    fputs(") {\n", w->out);
    write_body(w, p->body);
    fputs("}\n", w->out);
}

void program_words(program *p, FILE *out, bool numbered) {
    writer w = {.p = p, .out = out, .numbered = numbered};
    begin_line(&w);
    fputs("KERNEL(program) {\n", out);
    w.depth++;
    for (int i = 0; i < p->nargs; i++) {
        write_argument(&w, &p->arg[i]);
    }
    write_launch(&w);
    w.depth--;
    begin_line(&w);
    fputs("}\n", out);
}
