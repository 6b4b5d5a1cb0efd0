/* tuned.c -- see tuned.h.
 *
 * A source is never freed or changed while the process lives, because kernels may still use its names: forgetting
 * takes it out of the list that is asked. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/tuned.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/error.h"

typedef struct source {
    records records;
    bool is_forgotten;
    struct source *next;
} source;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static source *given;       /* the newest first */
static source *environment; /* TEGULA_TUNED; NULL: unset or not readable */

static void say_skipped(const records *r, const char *where) {
    if (r->skipped) {
        error_log(TG_LOG_WARNING, "%s: %d line%s no record, the first is line %d; skipped", where, r->skipped,
                  r->skipped == 1 ? " is" : "s are", r->first_skipped);
    }
}

static void open_environment(void) {
    const char *path = error_environment("TEGULA_TUNED");
    source *s = path ? calloc(1, sizeof *s) : NULL;
    if (s && records_read(path, &s->records) == TG_OK) {
        environment = s;
        say_skipped(&s->records, path);
    } else if (s) {
        error_log(TG_LOG_WARNING, "TEGULA_TUNED: %s", tg_error());
        free(s);
    }
}

bool tuned_is_any(void) {
    pthread_once(&once, open_environment);
    pthread_mutex_lock(&lock);
    const bool is_any = environment || (given && !given->is_forgotten);
    pthread_mutex_unlock(&lock);
    return is_any;
}

/* An exact one replaces a near one; the first of either kind stays. */
static const record *ask(const source *s, const records_query *q, const record *best, bool *is_exact) {
    bool exact = false;
    const record *found = s && !s->is_forgotten && !*is_exact ? records_best(&s->records, q, &exact) : NULL;
    if (!found || (best && !exact)) {
        return best;
    }
    *is_exact = exact;
    return found;
}

const record *tuned_find(const records_query *q, bool *is_exact) {
    pthread_once(&once, open_environment);
    *is_exact = false;
    pthread_mutex_lock(&lock);
    const record *best = ask(environment, q, NULL, is_exact);
    for (const source *s = given; s; s = s->next) {
        best = ask(s, q, best, is_exact);
    }
    pthread_mutex_unlock(&lock);
    return best;
}

/* ---- the public functions ------------------------------------------------------------------------------ */

static void forget_all(void) {
    pthread_mutex_lock(&lock);
    for (source *s = given; s; s = s->next) {
        s->is_forgotten = true;
    }
    pthread_mutex_unlock(&lock);
}

static int keep(source *s, int code, const char *where) {
    if (code != TG_OK) {
        free(s);
        return code;
    }
    say_skipped(&s->records, where);
    pthread_mutex_lock(&lock);
    s->next = given;
    given = s;
    pthread_mutex_unlock(&lock);
    return TG_OK;
}

int tg_tuned_file(const char *path) {
    if (!path) {
        forget_all();
        return TG_OK;
    }
    source *s = calloc(1, sizeof *s);
    if (!s) {
        return error_set(TG_ENOMEM, "no memory for the records of %s", path);
    }
    if (access(path, R_OK) !=
        0) { /* one that is not there has no records, but here it was meant to have some */
        free(s);
        return error_set(TG_EARG, "the record file %s cannot be read: %s", path, strerror(errno));
    }
    return keep(s, records_read(path, &s->records), path);
}

int tg_tuned_memory(const void *bytes, size_t size) {
    source *s = calloc(1, sizeof *s);
    if (!s || (!bytes && size)) {
        const bool has_memory = s != NULL;
        free(s);
        return has_memory ? error_set(TG_EARG, "tg_tuned_memory: the bytes are NULL")
                          : error_set(TG_ENOMEM, "no memory for records");
    }
    return keep(s, records_parse(bytes ? bytes : "", size, &s->records), "tuned records in memory");
}
