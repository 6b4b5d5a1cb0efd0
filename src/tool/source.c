/* source.c -- the text of kernel sources. */
#include "tool/source.h"

#include <stdio.h>
#include <string.h>

#include "gallery_files.h"

enum { MAX_BYTES = 1 << 24 };

static const char *read_file(arena *a, const char *file) {
    FILE *f = fopen(file, "rb");
    text t = {0};
    char bytes[4096];
    size_t n;
    if (!f) {
        return NULL;
    }
    while (t.length < MAX_BYTES && (n = fread(bytes, 1, sizeof bytes, f)) > 0) {
        text_add_n(&t, bytes, n);
    }
    fclose(f);
    const char *copy = arena_copy(a, t.s ? t.s : "");
    text_free(&t);
    return copy;
}

const char *source_built_in(const char *file) {
    for (int i = 0; i < tg_gallery_files_n; i++) {
        if (strcmp(tg_gallery_files[i].name, file) == 0) {
            return tg_gallery_files[i].text;
        }
    }
    return NULL;
}

static const char *find_text(arena *a, const char *file) {
    const char *known = source_built_in(file);
    return known ? known : read_file(a, file);
}

static int count_lines(const char *bytes) {
    int n = 1;
    for (; *bytes; bytes++) {
        n += *bytes == '\n';
    }
    return n;
}

source *source_open(arena *a, const char *file) {
    const char *bytes = file ? find_text(a, file) : NULL;
    if (!bytes) {
        return NULL;
    }
    source *s = ARENA_NEW(a, source);
    char *copy = arena_copy(a, bytes);
    *s = (source){file, 0, ARENA_ARRAY(a, const char *, count_lines(bytes))};
    while (*copy) {
        char *end = strchr(copy, '\n');
        s->lines[s->nlines++] = copy;
        if (!end) {
            break;
        }
        *end = '\0';
        if (end > copy && end[-1] == '\r') {
            end[-1] = '\0';
        }
        copy = end + 1;
    }
    return s;
}

const char *source_line(const source *s, int line) {
    return s && line >= 1 && line <= s->nlines ? s->lines[line - 1] : "";
}

/* ---- where the braces close ---------------------------------------------------------------------------- */

typedef struct scanner {
    int depth;
    bool is_comment, has_begun;
} scanner;

/* Past a string or character constant that begins at s. */
static const char *skip_quoted(const char *s) {
    const char quote = *s++;
    while (*s && *s != quote) {
        s += s[0] == '\\' && s[1] ? 2 : 1;
    }
    return *s ? s + 1 : s;
}

static const char *scan_comment(scanner *c, const char *s) {
    const char *end = strstr(s, "*/");
    c->is_comment = end == NULL;
    return end ? end + 2 : s + strlen(s);
}

/* True when the outermost brace closes in this line. */
static bool scan_line(scanner *c, const char *s) {
    while (*s) {
        if (c->is_comment) {
            s = scan_comment(c, s);
        } else if (s[0] == '/' && s[1] == '*') {
            c->is_comment = true;
            s += 2;
        } else if (s[0] == '/' && s[1] == '/') {
            return false;
        } else if (*s == '"' || *s == '\'') {
            s = skip_quoted(s);
        } else {
            c->depth += (*s == '{') - (*s == '}');
            c->has_begun = c->has_begun || *s == '{';
            if (c->has_begun && c->depth == 0) {
                return true;
            }
            s++;
        }
    }
    return false;
}

int source_kernel_end(const source *s, int line) {
    scanner c = {0};
    for (int i = line; i <= s->nlines; i++) {
        if (scan_line(&c, source_line(s, i))) {
            return i;
        }
    }
    return s->nlines;
}
