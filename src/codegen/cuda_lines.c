/* cuda_lines.c -- the emitted text line by line, each with the DSL line that it serves.
 *
 * Reads   what the other files append between cuda_line_open() and cuda_line_close().
 * Leaves  indented lines of at most COLUMNS characters where they can be broken, the map to the DSL's lines, and
 *         with lineinfo a #line wherever the DSL line does not follow from the one before. */
#include "codegen/cuda_internal.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 110, INDENT = 4 };

static void record_line(cuda_text *out, tg_loc at) {
    const bool is_full = out->nlines == 0 || (out->nlines >= 64 && (out->nlines & (out->nlines - 1)) == 0);
    if (is_full) {
        const size_t capacity = out->nlines == 0 ? 64 : 2 * (size_t)out->nlines;
        tg_loc *more = realloc(out->line, capacity * sizeof *more);
        if (!more) {
            out->text.failed = true;
            return;
        }
        out->line = more;
    }
    out->line[out->nlines++] = at;
}

static void record_place(cuda_text *out, cuda_place x) {
    const bool is_full =
        out->nplaces == 0 || (out->nplaces >= 32 && (out->nplaces & (out->nplaces - 1)) == 0);
    if (is_full) {
        const size_t capacity = out->nplaces == 0 ? 32 : 2 * (size_t)out->nplaces;
        cuda_place *more = realloc(out->place, capacity * sizeof *more);
        if (!more) {
            out->text.failed = true;
            return;
        }
        out->place = more;
    }
    out->place[out->nplaces++] = x;
}

void cuda_note_place(cuda_text *out, const node *ref, bool is_once) {
    record_place(out, (cuda_place){ref, out->nlines + 1, is_once});
}

void cuda_text_line(cuda_text *out, tg_loc at, const char *s, size_t n) {
    text_add_n(&out->text, s, n);
    text_add(&out->text, "\n");
    record_line(out, at);
}

/* Where the next line does not follow from the last by itself, says so to the compiler. */
static void line_directive(printer *p, tg_loc at) {
    if (!p->options->lineinfo || !at.file) {
        return;
    }
    if (p->next.file && strcmp(p->next.file, at.file) == 0 && p->next.line == at.line) {
        return;
    }
    text_print(&p->out->text, "#line %d ", at.line);
    cuda_string(&p->out->text, at.file);
    text_add(&p->out->text, "\n");
    record_line(p->out, at);
    p->next = at;
}

void cuda_line_open(printer *p, tg_loc at) {
    line_directive(p, at);
    p->line_start = p->out->text.length;
    text_add_spaces(&p->out->text, INDENT * p->indent);
}

/* ---- long lines ---------------------------------------------------------------------------------------- */

/* The end of a string literal that begins at s. */
static const char *skip_string(const char *s) {
    for (s++; *s && *s != '"'; s++) {
        s += *s == '\\' && s[1];
    }
    return s;
}

/* May the line be broken before s[1], s being a space?  After commas and assignments, before operators. */
static bool is_break(const char *s) {
    static const char *const before[] = {"&& ", "|| ", "+ ", "- ", "* ", "/ ", "? ", ": ", "| ", "^ ", "& "};
    if (s[-1] == ',' || (s[-1] == '=' && s[-2] == ' ')) {
        return true;
    }
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        if (strncmp(s + 1, before[i], strlen(before[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* The best space to break the code at: outside as many parentheses as possible, not inside a product, as far right
 * as fits; NULL. */
static const char *best_break(const char *line, size_t indent) {
    const char *best = NULL;
    int depth = 0, best_cost = 1 << 20;
    for (const char *s = line + indent; *s && s - line <= COLUMNS; s++) {
        if (*s == '"') {
            s = skip_string(s);
            if (!*s) {
                break;
            }
        }
        depth += (*s == '(' || *s == '[') - (*s == ')' || *s == ']');
        const int cost = 2 * depth + (s[1] == '*' || s[1] == '/');
        if (*s == ' ' && s > line + indent + 1 && cost <= best_cost && is_break(s)) {
            best = s;
            best_cost = cost;
        }
    }
    return best;
}

/* Length of the line without the comment at its end. */
static size_t code_length(const char *line) {
    for (const char *s = line; *s; s++) {
        if (*s == '"') {
            s = skip_string(s);
        }
        if (!*s || strncmp(s, " // ", 4) == 0) {
            return (size_t)(s - line);
        }
    }
    return strlen(line);
}

/* Breaks the open line until every piece fits or cannot be broken; the last piece stays open. */
static void break_line(printer *p, tg_loc at) {
    const char *rest = p->out->text.s ? arena_copy(p->t->memory, p->out->text.s + p->line_start) : "";
    size_t indent = (size_t)(INDENT * p->indent);
    for (bool first = true; code_length(rest) > COLUMNS; first = false) {
        const char *end = best_break(rest, indent);
        if (!end) {
            return;
        }
        p->out->text.length = p->line_start + (size_t)(end - rest);
        p->out->text.s[p->out->text.length] = '\0';
        text_add(&p->out->text, "\n");
        record_line(p->out, at);
        p->next.line++;
        line_directive(p, at);
        p->line_start = p->out->text.length;
        indent += first ? INDENT : 0;
        rest = arena_print(p->t->memory, "%*s%s", (int)indent, "", end + 1);
        text_add(&p->out->text, rest);
    }
}

void cuda_line_close(printer *p, tg_loc at) {
    if (p->out->text.length - p->line_start > COLUMNS && !p->out->text.failed) {
        break_line(p, at);
    }
    text_add(&p->out->text, "\n");
    record_line(p->out, at);
    p->next.line++;
    p->line_start = p->out->text.length;
}

void cuda_blank(printer *p) {
    cuda_line_close(p, (tg_loc){NULL, 0});
}

void cuda_line(printer *p, tg_loc at, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *s = arena_vprint(p->t->memory, format, args);
    va_end(args);
    cuda_line_open(p, at);
    text_add(&p->out->text, s);
    cuda_line_close(p, at);
}

void cuda_text_free(cuda_text *c) {
    text_free(&c->text);
    free(c->line);
    free(c->place);
    *c = (cuda_text){0};
}

void cuda_text_append(cuda_text *out, const cuda_text *more) {
    text_add_n(&out->text, more->text.s ? more->text.s : "", more->text.length);
    for (int i = 0; i < more->nplaces; i++) {
        cuda_place x = more->place[i];
        x.line += out->nlines;
        record_place(out, x);
    }
    for (int i = 0; i < more->nlines; i++) {
        record_line(out, more->line[i]);
    }
    out->text.failed |= more->text.failed;
}

/* ---- literals and comments ----------------------------------------------------------------------------- */

void cuda_string(text *out, const char *s) {
    text_add(out, "\"");
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '\n') {
            text_add(out, "\\n");
        } else if (c == '\t') {
            text_add(out, "\\t");
        } else if (c == '"' || c == '\\') {
            text_print(out, "\\%c", c);
        } else if (c < 0x20 || c == 0x7f || c == '?') { /* two question marks could begin a trigraph */
            text_print(out, c == '?' ? "?" : "\\%03o", c);
        } else {
            text_add_n(out, s, 1);
        }
    }
    text_add(out, "\"");
}

/* A comment ends with its line: no line break, and no backslash that would join the next one. */
void cuda_comment(text *out, const char *s) {
    text_add(out, " // ");
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        text_add_n(out, c < 0x20 || c == '\\' ? " " : s, 1);
    }
}
