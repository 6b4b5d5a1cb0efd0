/* diag.c -- recorded mistakes and our own faults; see diag.h. */
#include "dsl/diag.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- mistakes ------------------------------------------------------------------------------------------ */

static bool same_place(tg_loc a, tg_loc b) {
    return a.line == b.line && (a.file == b.file || (a.file && b.file && strcmp(a.file, b.file) == 0));
}

static bool same_message(const diag_message *a, const diag_message *b) {
    return same_place(a->at, b->at) && strcmp(a->text, b->text) == 0;
}

void diag_error(diag *d, tg_loc at, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *said = arena_vprint(d->memory, format, args);
    va_end(args);
    if (!said) {
        return;
    }
    diag_message m = {at, said};
    bool known = d->n > 0 && same_message(&d->newest, &m);
    for (int i = 0; i < d->n && i < DIAG_LIMIT; i++) {
        known |= same_message(&d->message[i], &m);
    }
    if (known) {
        return;
    }
    d->newest = m;
    if (d->n < DIAG_LIMIT) {
        d->message[d->n] = m;
    }
    d->n++;
}

const char *diag_base(const char *file) {
    if (!file) {
        return "?";
    }
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

static _Atomic(source_finder *) sources;

void diag_set_sources(source_finder *find) {
    atomic_store(&sources, find);
}

/* Line `number` of a text, cut to `size`. */
static bool line_of_text(const char *s, int number, char *line, size_t size) {
    for (int n = 1; n < number && *s; n++) {
        s += strcspn(s, "\n");
        s += *s == '\n';
    }
    snprintf(line, size, "%.*s", (int)strcspn(s, "\r\n"), s);
    return *s != '\0';
}

static bool line_of_file(const char *name, int number, char *line, size_t size) {
    FILE *f = fopen(name, "r");
    bool found = false;
    for (int n = 1; f && !found && fgets(line, (int)size, f);) {
        found = n == number;
        n += strchr(line, '\n') != NULL;
    }
    if (f) {
        fclose(f);
    }
    line[found ? strcspn(line, "\r\n") : 0] = '\0';
    return found;
}

void diag_source(tg_loc at, text *out) {
    char line[256];
    source_finder *find = atomic_load(&sources);
    const char *known = find && at.file ? find(at.file) : NULL;
    if (at.line <= 0 || !at.file ||
        !(known ? line_of_text(known, at.line, line, sizeof line)
                : line_of_file(at.file, at.line, line, sizeof line))) {
        return;
    }
    const size_t indent = strspn(line, " \t");
    text_print(out, "%5d | %s\n      | %.*s^\n", at.line, line, (int)indent, line);
}

void diag_print(const diag *d, text *out) {
    int shown = d->n < DIAG_LIMIT ? d->n : DIAG_LIMIT;
    for (int i = 0; i < shown; i++) {
        const diag_message *m = &d->message[i];
        if (m->at.line > 0) {
            text_print(out, "%s:%d: error: %s\n", m->at.file, m->at.line, m->text);
        } else {
            text_print(out, "%s: error: %s\n", m->at.file ? m->at.file : "?", m->text);
        }
        diag_source(m->at, out);
    }
    if (d->n > shown) {
        text_print(out, "%d more error%s\n", d->n - shown, d->n - shown == 1 ? "" : "s");
    }
}

/* ---- messages without a kernel ------------------------------------------------------------------------- */

static _Atomic(void (*)(const char *)) log_function;

void diag_set_log(void (*log)(const char *)) {
    atomic_store(&log_function, log);
}

void diag_log(const char *said) {
    void (*log)(const char *) = atomic_load(&log_function);
    if (log) {
        log(said);
    }
}

/* ---- our own faults ------------------------------------------------------------------------------------ */

static _Thread_local char bug[512];
static _Thread_local bool has_bug;

void diag_bug(const char *file, int line, const char *format, ...) {
    char why[384];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
#if defined TG_DEBUG
    fprintf(stderr, "internal error: %s (%s:%d)\n", why, diag_base(file), line);
    abort();
#endif
    if (!has_bug) { /* the first is the cause */
        snprintf(bug, sizeof bug, "internal error: %s (%s:%d)", why, diag_base(file), line);
        has_bug = true;
    }
}

const char *diag_take_bug(void) {
    if (!has_bug) {
        return NULL;
    }
    has_bug = false;
    return bug;
}

bool diag_has_bug(void) {
    return has_bug;
}
