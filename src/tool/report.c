/* report.c -- JSON text and the output file. */
#define _DEFAULT_SOURCE /* mkstemp */
#include "tool/report.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/child.h"
#include "tool/tool.h"

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static void add_quoted(text *out, const char *s) {
    text_add(out, "\"");
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\') {
            text_print(out, "\\%c", c);
        } else if (c < 32) {
            text_print(out, "\\u%04x", c);
        } else {
            text_add_n(out, s, 1);
        }
    }
    text_add(out, "\"");
}

/* Comma, line and key before a value. */
static void begin(json *j, const char *key) {
    if (j->depth) {
        text_add(j->out, j->has_items[j->depth] ? ",\n" : "\n");
        text_add_spaces(j->out, 2 * j->depth);
        j->has_items[j->depth] = true;
    }
    if (key) {
        add_quoted(j->out, key);
        text_add(j->out, ": ");
    }
}

static void open_level(json *j, const char *key, bool is_array) {
    begin(j, key);
    text_add(j->out, is_array ? "[" : "{");
    if (j->depth + 1 < JSON_MAX_DEPTH) {
        j->depth++;
    }
    j->is_array[j->depth] = is_array;
    j->has_items[j->depth] = false;
}

void json_object(json *j, const char *key) {
    open_level(j, key, false);
}

void json_array(json *j, const char *key) {
    open_level(j, key, true);
}

void json_end(json *j) {
    const bool has_items = j->has_items[j->depth];
    const bool is_array = j->is_array[j->depth];
    j->depth--;
    if (has_items) {
        text_print(j->out, "\n%*s", 2 * j->depth, "");
    }
    text_add(j->out, is_array ? "]" : "}");
    if (j->depth == 0) {
        text_add(j->out, "\n");
    }
}

void json_string(json *j, const char *key, const char *s) {
    begin(j, key);
    if (s) {
        add_quoted(j->out, s);
    } else {
        text_add(j->out, "null");
    }
}

void json_int(json *j, const char *key, int64_t x) {
    begin(j, key);
    text_print(j->out, "%" PRId64, x);
}

void json_real(json *j, const char *key, double x) {
    begin(j, key);
    if (isfinite(x)) {
        text_print(j->out, "%.9g", x);
    } else {
        text_add(j->out, "null");
    }
}

void json_bool(json *j, const char *key, bool x) {
    begin(j, key);
    text_add(j->out, x ? "true" : "false");
}

void json_value(json *j, const char *key, int64_t x) {
    if (tg_dtype_name(x)) {
        json_string(j, key, tg_dtype_name(x));
    } else {
        json_int(j, key, x);
    }
}

/* ---- where it goes ------------------------------------------------------------------------------------- */

static int failed(const char *name) {
    return tool_fail(STATUS_LACKING, "%s could not be written: %s", name, strerror(errno));
}

static bool write_all(int file, const char *bytes, size_t size) {
    while (size > 0) {
        const ssize_t n = write(file, bytes, size);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        bytes += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static int write_stdout(const char *bytes, size_t size) {
    fflush(stdout);
    return write_all(STDOUT_FILENO, bytes, size) ? STATUS_GOOD : failed("standard output");
}

/* Beside the file, then renamed: what was there stays until the new contents are whole. */
static int replace_file(const char *path, const char *bytes, size_t size) {
    char temporary[PATH_MAX];
    struct stat old;
    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary) {
        errno = ENAMETOOLONG;
        return failed(path);
    }
    const mode_t mask = umask(022);
    umask(mask);
    const mode_t mode = stat(path, &old) == 0 ? old.st_mode & 0777 : 0666 & ~mask;
    const int file = mkstemp(temporary);
    if (file < 0) {
        return failed(path);
    }
    child_remove_at_exit(temporary);
    const bool is_written = write_all(file, bytes, size) && fchmod(file, mode) == 0;
    if (close(file) != 0 || !is_written || rename(temporary, path) != 0) {
        const int status = failed(path);
        unlink(temporary);
        return status;
    }
    return STATUS_GOOD;
}

/* A device or pipe is written to as it stands. */
static int write_special(const char *path, const char *bytes, size_t size) {
    FILE *f = fopen(path, "wb");
    const bool is_written = f && fwrite(bytes, 1, size, f) == size;
    if (!f || fclose(f) != 0 || !is_written) {
        return failed(path);
    }
    return STATUS_GOOD;
}

int report_write(const options *o, const void *bytes, size_t size) {
    struct stat there;
    if (!o->output || strcmp(o->output, "-") == 0) {
        return write_stdout(bytes, size);
    }
    if (stat(o->output, &there) == 0 && !S_ISREG(there.st_mode)) {
        return write_special(o->output, bytes, size);
    }
    return replace_file(o->output, bytes, size);
}

int report_text(const options *o, text *t) {
    const int status =
        t->failed ? tool_fail(STATUS_LACKING, "out of memory") : report_write(o, t->s ? t->s : "", t->length);
    text_free(t);
    return status;
}

void report_config(const tg_config *config, text *out) {
    char word[32];
    for (int i = 0; i < config->n; i++) {
        text_print(out, "%s%s=%s", i ? " " : "", config->p[i].name,
                   options_value_text(config->p[i].value, word, sizeof word));
    }
}
