/* expr_print.c -- expressions as text, for messages and dumps; see expr.h.
 *
 * As C would write them, with the fewest parentheses; places with brackets, casts as the builder's words. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dsl/expr.h"

typedef struct {
    const char *text;
    int level;
} op_text;

static const op_text op_texts[] = {
    {"?", LEVEL_CALL},
#define OP(id, word, operands, accepts, text, level) {text, level},
#include "dsl/ops.def"
#undef OP
};

static int level_of(const node *x) {
    switch (x->kind) {
    case E_OP:
        return op_texts[x->op].level;
    case E_CHOOSE:
        return LEVEL_CHOOSE;
    case E_CAST:
        return x->type == TYPE_INDEX ? level_of(x->arg[0]) : LEVEL_CALL;
    case E_CONST:
        return (type_is_float(x->type) ? signbit(x->fval) != 0 : x->ival < 0) ? LEVEL_UNARY : LEVEL_CALL;
    default:
        return LEVEL_CALL;
    }
}

static void print_at(const node *x, int level, text *out);

/* The fewest digits that give the same value back. */
static void print_float(const node *x, text *out) {
    char s[40];
    if (!isfinite(x->fval)) {
        text_add(out, isnan(x->fval) ? "nan" : x->fval < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, x->fval);
        if (value_real(x->type, strtod(s, NULL)).bits == value_real(x->type, x->fval).bits) {
            break;
        }
    }
    text_add(out, s);
    if (!strpbrk(s, ".e")) {
        text_add(out, ".0");
    }
}

static void print_const(const node *x, text *out) {
    if (type_is_float(x->type)) {
        print_float(x, out);
    } else if (x->type == TG_BOOL) {
        text_add(out, x->ival ? "true" : "false");
    } else if (x->type == TG_U64) {
        text_print(out, "%llu", (unsigned long long)x->ival);
    } else {
        text_print(out, "%lld", (long long)x->ival);
    }
}

static void print_call(const char *name, const node *x, text *out) {
    text_print(out, "%s(", name);
    for (int i = 0; i < x->n; i++) {
        text_add(out, i ? ", " : "");
        print_at(x->arg[i], 0, out);
    }
    text_add(out, ")");
}

static void print_op(const node *x, text *out) {
    const op_text *op = &op_texts[x->op];
    if (op->level == LEVEL_CALL) {
        print_call(op->text, x, out);
    } else if (x->n == 1) {
        text_add(out, op->text);
        print_at(x->arg[0], op->level + 1, out); /* -(-x), not --x */
    } else {
        bool regroups = x->type == TYPE_INDEX && (x->op == TG_ADD || x->op == TG_MUL) &&
                        (x->arg[1]->kind == E_OP && x->arg[1]->op == x->op);
        print_at(x->arg[0], op->level, out);
        text_print(out, " %s ", op->text);
        print_at(x->arg[1], op->level + !regroups, out);
    }
}

static void print_ref(const node *x, text *out) {
    text_add(out, x->buffer->name);
    for (int i = 0; i < x->n; i++) {
        text_add(out, i ? ", " : "[");
        print_at(x->arg[i], 0, out);
    }
    if (x->lanes > 1) {
        text_print(out, "%s: +%d", x->n ? " " : "[", x->lanes);
    }
    text_add(out, x->n || x->lanes > 1 ? "]" : "");
}

static bool is_whole(const node *x) {
    for (int i = 0; i < x->n; i++) {
        if (x->in_tiles || !expr_is_int(x->arg[i], 0) || x->dim[i] != x->buffer->dim[i]) {
            return false;
        }
    }
    return true;
}

static void print_region(const node *x, text *out) {
    text_add(out, x->buffer->name);
    if (is_whole(x)) {
        return;
    }
    for (int i = 0; i < x->n; i++) {
        text_add(out, i ? ", " : x->in_tiles ? "[tile " : "[");
        print_at(x->arg[i], 0, out);
        if (x->dim[i]) {
            text_print(out, " : +%lld", (long long)x->dim[i]);
        }
    }
    text_add(out, "]");
}

static void print_bare(const node *x, text *out) {
    switch (x->kind) {
    case E_POISON:
        text_add(out, "(mistake)");
        break;
    case E_CONST:
        print_const(x, out);
        break;
    case E_VAR:
        text_add(out, x->var->name);
        break;
    case E_LOAD:
        print_ref(x->arg[0], out);
        break;
    case E_OP:
        print_op(x, out);
        break;
    case E_CHOOSE:
        print_at(x->arg[0], LEVEL_CHOOSE + 1, out);
        text_add(out, " ? ");
        print_at(x->arg[1], LEVEL_CHOOSE + 1, out);
        text_add(out, " : ");
        print_at(x->arg[2], LEVEL_CHOOSE, out);
        break;
    case E_CAST:
        if (x->type == TYPE_INDEX) { /* the same number */
            print_at(x->arg[0], 0, out);
        } else {
            print_call(type_name(x->type), x, out);
        }
        break;
    case E_BITCAST:
        text_print(out, "bitcast(%s, ", type_name(x->type));
        print_at(x->arg[0], 0, out);
        text_add(out, ")");
        break;
    case E_BUFFER:
        text_add(out, x->buffer->name);
        break;
    case E_REF:
        print_ref(x, out);
        break;
    case E_REGION:
        print_region(x, out);
        break;
    }
}

static void print_at(const node *x, int level, text *out) {
    bool enclosed = level_of(x) < level;
    text_add(out, enclosed ? "(" : "");
    print_bare(x, out);
    text_add(out, enclosed ? ")" : "");
}

void expr_print(const node *x, text *out) {
    print_at(x, 0, out);
}

const char *expr_text(arena *a, const node *x) {
    text t = {0};
    expr_print(x, &t);
    char *s = arena_copy(a, t.s ? t.s : "");
    text_free(&t);
    return s;
}
