/* error.c -- see error.h. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/error.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dsl/diag.h"

static _Thread_local char kept[ERROR_TEXT_SIZE];

/* The sink is two words that must change together. */
static pthread_mutex_t sink_lock = PTHREAD_MUTEX_INITIALIZER;
static tg_log_function *sink;
static void *sink_user;

const char *tg_error(void) {
    return kept;
}

/* What the builder says where there is no kernel to keep it. */
static void log_builder(const char *line) {
    error_log(TG_LOG_WARNING, "%s", line);
}

void tg_set_log(tg_log_function *fn, void *user) {
    pthread_mutex_lock(&sink_lock);
    sink = fn;
    sink_user = user;
    pthread_mutex_unlock(&sink_lock);
    diag_set_log(log_builder);
}

/* Marks a text that did not fit, so that nobody takes the cut for the end. */
static void mark_cut(char *buffer, size_t size, int wanted) {
    static const char cut[] = " ..";
    if (wanted >= 0 && (size_t)wanted >= size) {
        memcpy(buffer + size - sizeof cut, cut, sizeof cut);
    }
}

/* The new text is made aside: its arguments may point into the old one. */
int error_set(int code, const char *format, ...) {
    char made[ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    mark_cut(made, sizeof made, vsnprintf(made, sizeof made, format, args));
    va_end(args);
    memcpy(kept, made, strlen(made) + 1);
    return code;
}

int error_prefix(int code, const char *format, ...) {
    char made[ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(made, sizeof made, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof made) {
        mark_cut(made, sizeof made, n + snprintf(made + n, sizeof made - (size_t)n, "%s", kept));
    }
    memcpy(kept, made, strlen(made) + 1);
    return code;
}

/* TEGULA_LOG: a file that grows, or "-" for standard error. */
static void log_to(const char *file, tg_log_level level, const char *line) {
    bool is_terminal = strcmp(file, "-") == 0;
    FILE *out = is_terminal ? stderr : fopen(file, "a");
    if (out) {
        fprintf(out, "tegula: %s%s\n", level == TG_LOG_WARNING ? "warning: " : "", line);
        if (!is_terminal) {
            fclose(out);
        }
    }
}

void error_log(tg_log_level level, const char *format, ...) {
    pthread_mutex_lock(&sink_lock);
    tg_log_function *fn = sink;
    void *user = sink_user;
    pthread_mutex_unlock(&sink_lock);
    const char *file = fn ? NULL : error_environment("TEGULA_LOG");
    if (!fn && !file) {
        return;
    }
    char line[2048];
    va_list args;
    va_start(args, format);
    mark_cut(line, sizeof line, vsnprintf(line, sizeof line, format, args));
    va_end(args);
    if (fn) {
        fn(level, line, user);
    } else {
        log_to(file, level, line);
    }
}

const char *error_environment(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}
