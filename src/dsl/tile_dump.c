/* tile_dump.c -- the tile IR as text: `emit --stage tile`, golden tests, messages about a whole kernel.
 *
 *     kernel scale(input: f16[4096], output: f16[4096])
 *     param N = 4096
 *     tunable block = 128 (default)
 *     grid pid: 32
 *     threads tid: 128
 *         let i = pid * 128 + tid
 *         set output[i] = input[i] * 2.0 */
#include <stdio.h>
#include <string.h>

#include "dsl/diag.h"
#include "dsl/tile.h"

const char *tile_scope_word(tg_scope_kind kind) {
    switch (kind) {
    case TG_GRID:
        return "grid";
    case TG_THREADS:
        return "threads";
    case TG_SERIAL:
        return "serial";
    case TG_UNROLLED:
        return "unrolled";
    case TG_VECTORIZED:
        return "vectorized";
    case TG_PARALLEL:
        return "parallel";
    case TG_PIPELINED:
        return "pipelined";
    case TG_WHEN:
        return "when";
    case TG_OTHERWISE:
        return "otherwise";
    }
    return "scope";
}

static bool touches_local(const tile_stmt *s) {
    return s->dst->buffer->space == TG_LOCAL || (s->src && s->src->buffer->space == TG_LOCAL);
}

const char *tile_collective_word(const tile_stmt *s) {
    switch (s->kind) {
    case TILE_ALLREDUCE:
        return "allreduce";
    case TILE_COPY:
        return touches_local(s) ? NULL : "copy";
    case TILE_FILL:
        return touches_local(s) ? NULL : s->is_clear ? "clear" : "fill";
    case TILE_REDUCE:
        return "reduce";
    case TILE_FINALIZE:
        return "finalize";
    case TILE_SYNC:
        return "sync_threads";
    case TILE_LOOP:
        return s->scope == TG_PARALLEL || s->scope == TG_PIPELINED ? tile_scope_word(s->scope) : NULL;
    case TILE_ALLOC:
    case TILE_LET:
    case TILE_STORE:
    case TILE_ACCUM:
    case TILE_ATOMIC:
    case TILE_PRINT:
    case TILE_CHECK:
    case TILE_WHEN:
    case TILE_COMMIT:
    case TILE_WAIT:
        break;
    }
    return NULL;
}

typedef struct {
    text *out;
    int width; /* of the column "file:line"; 0: none */
} dump;

static int digits(int n) {
    int count = 1;
    for (; n >= 10; n /= 10) {
        count++;
    }
    return count;
}

static int place_width(tg_loc at) {
    return (int)strlen(diag_base(at.file)) + 1 + digits(at.line);
}

static int block_width(const tile_block *block, int width) {
    for (const tile_stmt *s = block->first; s; s = s->next) {
        width = place_width(s->at) > width ? place_width(s->at) : width;
        width = block_width(&s->otherwise, block_width(&s->body, width));
    }
    return width;
}

/* Begins a line that the statement at `at` made; line 0: none did. */
static void begin(dump *d, tg_loc at, int depth) {
    if (d->width && at.line > 0) {
        int pad = d->width - place_width(at);
        text_print(d->out, "%s:%d%*s  ", diag_base(at.file), at.line, pad, "");
    } else if (d->width) {
        text_print(d->out, "%*s  ", d->width, "");
    }
    text_add_spaces(d->out, 4 * depth);
}

/* ---- pieces -------------------------------------------------------------------------------------------- */

static void print_shape(const buffer *b, text *out) {
    text_add(out, type_name(b->type));
    for (int i = 0; i < b->rank; i++) {
        text_add(out, i ? ", " : "[");
        if (b->dim_expr[i]) {
            expr_print(b->dim_expr[i], out);
        } else {
            text_print(out, "%lld", (long long)b->dim[i]);
        }
    }
    text_add(out, b->rank ? "]" : "");
}

static void print_quoted(const char *s, text *out) {
    text_add(out, "\"");
    for (; *s; s++) {
        if (*s == '\n') {
            text_add(out, "\\n");
        } else if (*s == '\t') {
            text_add(out, "\\t");
        } else if (*s == '"' || *s == '\\') {
            text_print(out, "\\%c", *s);
        } else {
            text_add_n(out, s, 1);
        }
    }
    text_add(out, "\"");
}

static void print_pair(const char *word, node *left, const char *between, node *right, text *out) {
    text_print(out, "%s ", word);
    expr_print(left, out);
    text_add(out, between);
    expr_print(right, out);
}

const char *tile_space_word(tg_space space) {
    switch (space) {
    case TG_GLOBAL:
        return "tensor";
    case TG_SHARED:
        return "shared";
    case TG_LOCAL:
        return "local";
    case TG_FRAGMENT:
        return "fragment";
    case TG_REDUCER:
        break;
    }
    return "reducer";
}

static void print_alloc(const buffer *b, text *out) {
    text_print(out, "%s %s: %s", tile_space_word(b->space), b->name,
               b->space == TG_REDUCER ? reduction_name(b->reduction) : "");
    text_add(out, b->space == TG_REDUCER ? " " : "");
    print_shape(b, out);
}

static void print_copy(const tile_stmt *s, text *out) {
    print_pair(s->is_async ? "copy async" : "copy", s->src, " -> ", s->dst, out);
    if (s->options.width) {
        text_print(out, " width %d", s->options.width);
    }
    if (s->options.layout != TG_LAYOUT_AUTO) {
        text_add(out, s->options.layout == TG_BLOCKED ? " blocked" : " striped");
    }
    if (s->options.outside != 0.0) {
        text_print(out, " outside %.9g", s->options.outside);
    }
}

static void print_axes(const tile_stmt *s, text *out) {
    text_add(out, tile_scope_word(s->scope));
    for (int i = 0; i < s->n; i++) {
        text_print(out, "%s%s: ", i ? ", " : " ", s->axes[i]->name);
        expr_print(s->extents[i], out);
    }
    if (s->scope == TG_PIPELINED) {
        text_print(out, " stages %lld", (long long)s->option);
    } else if (s->option) {
        text_print(out, " unroll %lld", (long long)s->option);
    }
}

static void print_values(const tile_stmt *s, text *out) {
    text_add(out, "print ");
    print_quoted(s->format, out);
    for (int i = 0; i < s->n; i++) {
        text_add(out, ", ");
        expr_print(s->values[i], out);
    }
}

static const char *atomic_word(tg_reduction r) {
    return r == TG_SUM ? "atomic_add" : r == TG_MAX ? "atomic_max" : "atomic_min";
}

/* ---- statements ---------------------------------------------------------------------------------------- */

static void print_let(const tile_stmt *s, text *out) {
    text_print(out, "let %s = ", s->var->name);
    if (s->kind == TILE_ALLREDUCE) {
        text_print(out, "allreduce %s ", reduction_name(s->reduction));
    }
    expr_print(s->value, out);
    if (s->kind == TILE_ALLREDUCE) {
        text_print(out, " along %s", s->axis->name);
    }
}

static void print_fill(const tile_stmt *s, text *out) {
    if (s->is_clear) {
        text_add(out, "clear ");
        expr_print(s->dst, out);
    } else {
        print_pair("fill", s->dst, ", ", s->value, out);
    }
}

static void print_reduce(const tile_stmt *s, text *out) {
    text_print(out, "reduce %s ", reduction_name(s->reduction));
    expr_print(s->src, out);
    text_add(out, " -> ");
    expr_print(s->dst, out);
    text_print(out, " over %lld", (long long)s->dim);
}

static void print_stmt(const tile_stmt *s, text *out) {
    switch (s->kind) {
    case TILE_ALLOC:
        print_alloc(s->buffer, out);
        break;
    case TILE_LET:
    case TILE_ALLREDUCE:
        print_let(s, out);
        break;
    case TILE_STORE:
        print_pair("set", s->dst, " = ", s->value, out);
        break;
    case TILE_ACCUM:
        print_pair("accum", s->dst, " += ", s->value, out);
        break;
    case TILE_ATOMIC:
        print_pair(atomic_word(s->reduction), s->dst, ", ", s->value, out);
        break;
    case TILE_COPY:
        print_copy(s, out);
        break;
    case TILE_FILL:
        print_fill(s, out);
        break;
    case TILE_REDUCE:
        print_reduce(s, out);
        break;
    case TILE_FINALIZE:
        text_add(out, "finalize ");
        expr_print(s->dst, out);
        break;
    case TILE_SYNC:
        text_add(out, "sync_threads");
        break;
    case TILE_PRINT:
        print_values(s, out);
        break;
    case TILE_CHECK:
        text_add(out, "check ");
        expr_print(s->value, out);
        text_add(out, ", ");
        print_quoted(s->format, out);
        break;
    case TILE_LOOP:
        print_axes(s, out);
        break;
    case TILE_WHEN:
        text_add(out, "when ");
        expr_print(s->value, out);
        break;
    case TILE_COMMIT:
        text_add(out, "commit");
        break;
    case TILE_WAIT:
        text_print(out, "wait %lld", (long long)s->option);
        break;
    }
}

static void print_block(dump *d, const tile_block *block, int depth) {
    for (const tile_stmt *s = block->first; s; s = s->next) {
        begin(d, s->at, depth);
        print_stmt(s, d->out);
        text_add(d->out, "\n");
        print_block(d, &s->body, depth + 1);
        if (s->has_otherwise) {
            begin(d, (tg_loc){NULL, 0}, depth);
            text_add(d->out, "otherwise\n");
            print_block(d, &s->otherwise, depth + 1);
        }
    }
}

/* ---- header -------------------------------------------------------------------------------------------- */

static void print_traits(const buffer *b, text *out) {
    if (b->pitch) {
        text_print(out, " pitch %lld", (long long)b->pitch);
    }
    if (b->align != 16) {
        text_print(out, " aligned %lld", (long long)b->align);
    }
    if (b->is_constant) {
        text_add(out, " constant");
    }
    for (int i = 0; i < b->naliases; i++) {
        text_print(out, " alias %s", b->alias_of[i]->name);
    }
}

static void print_arguments(const tg_kernel *k, dump *d) {
    begin(d, (tg_loc){NULL, 0}, 0);
    text_print(d->out, "kernel %s(", k->name);
    for (int i = 0; i < k->nargs; i++) {
        const tile_arg *a = &k->args[i];
        text_print(d->out, "%s%s: ", i ? ", " : "", a->tensor ? a->tensor->name : a->scalar->name);
        if (a->tensor) {
            print_shape(a->tensor, d->out);
            print_traits(a->tensor, d->out);
        } else {
            text_add(d->out, a->scalar->kind == VAR_EXTENT ? "extent" : type_name(a->scalar->type));
        }
    }
    text_add(d->out, ")\n");
}

static void print_params(const tg_kernel *k, dump *d) {
    static const char *const sources[] = {"", " (given)", " (tuned)", " (default)"};
    for (int i = 0; i < k->nparams; i++) {
        const tile_param *p = &k->params[i];
        begin(d, p->at, 0);
        text_print(d->out, "%s %s = ", p->source == PARAM_PROBLEM ? "param" : "tunable", p->name);
        if (type_is_element(p->value)) {
            text_print(d->out, "%s%s\n", type_name(p->value), sources[p->source]);
        } else {
            text_print(d->out, "%lld%s\n", (long long)p->value, sources[p->source]);
        }
    }
}

static void print_launch(const tg_kernel *k, dump *d) {
    if (k->has_grid) {
        begin(d, k->grid_at, 0);
        text_add(d->out, "grid");
        for (int i = 0; i < k->ngrid; i++) {
            text_print(d->out, "%s%s%s", i ? ", " : " ", k->grid_var[i] ? k->grid_var[i]->name : "",
                       k->grid_var[i] ? ": " : "");
            expr_print(k->grid[i], d->out);
        }
        text_add(d->out, "\n");
    }
    if (k->min_blocks > 0) {
        begin(d, k->resident_at, 0);
        text_print(d->out, "resident %lld\n", (long long)k->min_blocks);
    }
    if (k->has_threads) {
        begin(d, k->threads_at, 0);
        text_add(d->out, "threads");
        for (int i = 0; i < k->nthreads; i++) {
            text_print(d->out, "%s%s%s%lld", i ? ", " : " ", k->thread_var[i] ? k->thread_var[i]->name : "",
                       k->thread_var[i] ? ": " : "", (long long)k->threads[i]);
        }
        text_add(d->out, "\n");
    }
}

/* A view is a value and no statement: they stand before the body. */
static void print_views(const tg_kernel *k, dump *d) {
    for (int i = 0; i < k->nbuffers; i++) {
        const buffer *b = k->buffers[i];
        if (b->view_of) {
            begin(d, b->at, 1);
            text_print(d->out, "view %s: ", b->name);
            print_shape(b, d->out);
            text_print(d->out, " of %s\n", b->view_of->name);
        }
    }
}

static int kernel_width(const tg_kernel *k) {
    int width = block_width(&k->body, 0);
    for (int i = 0; i < k->nparams; i++) {
        width = place_width(k->params[i].at) > width ? place_width(k->params[i].at) : width;
    }
    for (int i = 0; i < k->nbuffers; i++) {
        width = place_width(k->buffers[i]->at) > width ? place_width(k->buffers[i]->at) : width;
    }
    width = k->has_grid && place_width(k->grid_at) > width ? place_width(k->grid_at) : width;
    return k->has_threads && place_width(k->threads_at) > width ? place_width(k->threads_at) : width;
}

void tile_print(const tg_kernel *k, text *out, bool lines) {
    if (k->memory.failed) {
        text_print(out, "kernel %s: out of memory\n", k->name);
        return;
    }
    dump d = {.out = out, .width = lines ? kernel_width(k) : 0};
    print_arguments(k, &d);
    print_params(k, &d);
    print_launch(k, &d);
    print_views(k, &d);
    print_block(&d, &k->body, 1);
}
