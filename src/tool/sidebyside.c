/* sidebyside.c -- lines of a kernel's C beside the lines of CUDA that they became.
 *
 *       21  let(row, mad(pid_n, block_n, tid_n));     |  const int row = blockIdx.x * 128 + threadIdx.x;
 *       24  serial(pid_k, ceildiv(K, block_k)) {      |  for (int pid_k = 0; pid_k < 112; ++pid_k) {
 *
 * In the order of the CUDA text; a line of the kernel stands beside the first line that it became.  Lines too
 * long for their column go on below. */
#define _DEFAULT_SOURCE
#include "tool/sidebyside.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tool/source.h"

enum { NUMBER_WIDTH = 6, GAP = 3, DEFAULT_WIDTH = 160, LEAST_COLUMN = 12 };

int side_width(const options *o) {
    struct winsize size;
    if (o->width) {
        return o->width;
    }
    if (!o->output && isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
        size.ws_col >= 40) {
        return size.ws_col;
    }
    return DEFAULT_WIDTH;
}

/* ---- the two texts ------------------------------------------------------------------------------------- */

typedef struct sides {
    const cuda_text *cuda;
    const char **right; /* right[i]: CUDA line i + 1 */
    const source *source;
    int indent; /* of the kernel's text, taken away */
} sides;

static const char **split(arena *a, const cuda_text *cuda) {
    const char **lines = ARENA_ARRAY(a, const char *, cuda->nlines + 2);
    char *rest = arena_copy(a, cuda->text.s ? cuda->text.s : "");
    for (int i = 0; i < cuda->nlines; i++) {
        char *end = strchr(rest, '\n');
        lines[i] = rest;
        if (!end) {
            rest += strlen(rest);
        } else {
            *end = '\0';
            rest = end + 1;
        }
    }
    return lines;
}

static int spaces(const char *s) {
    return (int)strspn(s, " \t");
}

/* The line of the kernel beside CUDA line i; "" when it is the one above's. */
static const char *left_line(const sides *s, int i, int *number) {
    const tg_loc at = s->cuda->line ? s->cuda->line[i] : (tg_loc){0};
    *number = 0;
    const char *right = s->right[i];
    if (!at.file || strcmp(at.file, s->source->file) != 0 || strspn(right, " }") == strlen(right)) {
        return "";
    }
    for (int before = i - 1; before >= 0; before--) {
        const tg_loc above = s->cuda->line[before];
        if (above.file) {
            if (above.line == at.line) {
                return "";
            }
            break;
        }
    }
    *number = at.line;
    const char *line = source_line(s->source, at.line);
    return line + (spaces(line) < s->indent ? spaces(line) : s->indent);
}

static void measure(sides *s, int *left, int *right) {
    int number;
    s->indent = 1000;
    for (int i = 0; i < s->cuda->nlines; i++) {
        const tg_loc at = s->cuda->line ? s->cuda->line[i] : (tg_loc){0};
        const char *line = at.file ? source_line(s->source, at.line) : "";
        if (*line && spaces(line) < s->indent) {
            s->indent = spaces(line);
        }
    }
    *left = *right = 0;
    for (int i = 0; i < s->cuda->nlines; i++) {
        const int l = (int)strlen(left_line(s, i, &number)), r = (int)strlen(s->right[i]);
        *left = l > *left ? l : *left;
        *right = r > *right ? r : *right;
    }
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* As many characters as fit, broken after a space where there is one. */
static int piece(const char *s, int width) {
    const int n = (int)strlen(s);
    if (n <= width) {
        return n;
    }
    for (int i = width; i > width / 2; i--) {
        if (s[i - 1] == ' ') {
            return i;
        }
    }
    return width;
}

static void trim(text *out) {
    while (out->length && out->s[out->length - 1] == ' ') {
        out->s[--out->length] = '\0';
    }
}

static void add_row(const char *left, int number, const char *right, int left_width, int right_width,
                    text *out) {
    const int right_indent = spaces(right) + 4 < right_width / 2 ? spaces(right) + 4 : 0;
    for (bool is_first = true; is_first || *left || *right; is_first = false) {
        const int indent = is_first || !*right ? 0 : right_indent;
        const int l = piece(left, left_width), r = piece(right, right_width - indent);
        if (is_first && number) {
            text_print(out, "%4d  ", number);
        } else {
            text_add_spaces(out, NUMBER_WIDTH);
        }
        text_print(out, "%-*.*s | %*s%.*s", left_width, l, left, indent, "", r, right);
        trim(out);
        text_add(out, "\n");
        left += l;
        right += r;
    }
}

/* Each side as wide as it needs; when that is too much, the left side may have nearly half. */
static void share(int room, int *left, int *right) {
    const int half = room * 45 / 100;
    if (*left + *right > room) {
        *left = *right <= room - half ? room - *right : *left < half ? *left : half;
        *right = room - *left;
    }
    *left = *left < LEAST_COLUMN ? LEAST_COLUMN : *left;
    *right = *right < LEAST_COLUMN ? LEAST_COLUMN : *right;
}

void side_by_side(const cuda_text *cuda, arena *a, int width, text *out) {
    static const source nothing = {"", 0, NULL};
    sides s = {.cuda = cuda, .right = split(a, cuda), .source = &nothing};
    const char *file = NULL;
    int left, right, number;
    for (int i = 0; i < cuda->nlines && !file && cuda->line; i++) {
        file = cuda->line[i].file;
    }
    const source *found = source_open(a, file);
    s.source = found ? found : &nothing;
    measure(&s, &left, &right);
    share(width - NUMBER_WIDTH - GAP, &left, &right);
    for (int i = 0; i < cuda->nlines; i++) {
        const char *line = left_line(&s, i, &number);
        add_row(line, number, s.right[i], left, right, out);
    }
}
