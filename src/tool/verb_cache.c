/* verb_cache.c -- `tegula cache list|stat|verify|prune|clear`: looks after the disk cache. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/cache.h"
#include "tool/nearest.h"
#include "tool/report.h"
#include "tool/tool.h"

static void add_time(text *out, int64_t seconds) {
    const time_t when = (time_t)seconds;
    struct tm parts;
    char word[32] = "never";
    if (seconds && gmtime_r(&when, &parts)) {
        strftime(word, sizeof word, "%Y-%m-%d %H:%M", &parts);
    }
    text_add(out, word);
}

/* ---- list ---------------------------------------------------------------------------------------------- */

static void print_row(const cache_row *r, text *out) {
    text_print(out, "%s %9" PRIu64 "  ", r->key, r->bytes);
    add_time(out, r->last_used);
    if (r->is_good) {
        text_print(out, "  %-8s NVRTC %-5s %7.1f ms  %s\n", r->notes.target, r->notes.nvrtc,
                   r->notes.compile_ms, r->notes.kernel);
    } else {
        text_add(out, "  damaged\n");
    }
}

static void print_row_json(const cache_row *r, json *j) {
    json_object(j, NULL);
    json_string(j, "key", r->key);
    json_int(j, "bytes", (int64_t)r->bytes);
    json_int(j, "last_used", r->last_used);
    json_bool(j, "good", r->is_good);
    if (r->is_good) {
        json_string(j, "kernel", r->notes.kernel);
        json_string(j, "target", r->notes.target);
        json_string(j, "nvrtc", r->notes.nvrtc);
        json_real(j, "compile_ms", r->notes.compile_ms);
        json_int(j, "created", r->notes.created);
    }
    json_end(j);
}

static int list(const options *o, cache *c) {
    cache_row *all = NULL;
    size_t n = 0;
    text out = {0};
    json j = {.out = &out};
    if (cache_list(c, &all, &n)) {
        return tool_fail(STATUS_LACKING, "out of memory");
    }
    if (o->json) {
        json_array(&j, NULL);
    }
    for (size_t i = 0; i < n; i++) {
        if (o->json) {
            print_row_json(&all[i], &j);
        } else {
            print_row(&all[i], &out);
        }
    }
    if (o->json) {
        json_end(&j);
    } else if (n == 0 && !o->quiet) {
        text_print(&out, "%s holds nothing\n", cache_directory(c));
    }
    free(all);
    return report_text(o, &out);
}

/* ---- the others ---------------------------------------------------------------------------------------- */

static int stat_cache(const options *o, cache *c) {
    const cache_statistics s = cache_stat(c);
    text out = {0};
    json j = {.out = &out};
    if (o->json) {
        json_object(&j, NULL);
        json_string(&j, "directory", cache_directory(c));
        json_int(&j, "entries", (int64_t)s.entries);
        json_int(&j, "bytes", (int64_t)s.bytes);
        json_int(&j, "limit", (int64_t)cache_limit(c));
        json_int(&j, "temporary", (int64_t)s.temporary);
        json_int(&j, "oldest_use", s.oldest);
        json_int(&j, "newest_use", s.newest);
        json_end(&j);
        return report_text(o, &out);
    }
    text_print(&out,
               "directory  %s\nentries    %zu\nbytes      %" PRIu64 " of at most %" PRIu64 "\nlast used  ",
               cache_directory(c), s.entries, s.bytes, cache_limit(c));
    add_time(&out, s.oldest);
    text_add(&out, " to ");
    add_time(&out, s.newest);
    text_add(&out, "\n");
    if (s.temporary) {
        text_print(&out, "%zu files of writers that did not finish\n", s.temporary);
    }
    return report_text(o, &out);
}

/* "3 entries removed": what the three verbs that remove say. */
static int say_removed(const options *o, const char *why, size_t removed, size_t left) {
    text out = {0};
    json j = {.out = &out};
    if (o->json) {
        json_object(&j, NULL);
        json_int(&j, "removed", (int64_t)removed);
        json_int(&j, "left", (int64_t)left);
        json_end(&j);
    } else {
        text_print(&out, "%zu %s%s removed, %zu left\n", removed, why, removed == 1 ? " entry" : " entries",
                   left);
    }
    return report_text(o, &out);
}

static int verify(const options *o, cache *c) {
    size_t good = 0;
    const size_t removed = cache_verify(c, &good);
    const int status = say_removed(o, "damaged", removed, good);
    return status ? status : removed ? STATUS_WRONG : STATUS_GOOD;
}

static int prune(const options *o, cache *c) {
    const size_t removed = cache_prune(c, cache_limit(c));
    return say_removed(o, "least recently used", removed, cache_stat(c).entries);
}

static int clear(const options *o, cache *c) {
    const size_t removed = cache_clear(c);
    return say_removed(o, "cached", removed, cache_stat(c).entries);
}

/* ---- the verb ------------------------------------------------------------------------------------------ */

typedef struct action {
    const char *name;
    int (*act)(const options *o, cache *c);
} action;

static const action actions[] = {
    {"list", list}, {"stat", stat_cache}, {"verify", verify}, {"prune", prune}, {"clear", clear}};
enum { NACTIONS = sizeof actions / sizeof actions[0] };

static const action *find_action(const char *name) {
    const char *names[NACTIONS];
    for (int i = 0; i < NACTIONS; i++) {
        names[i] = actions[i].name;
        if (strcmp(name, actions[i].name) == 0) {
            return &actions[i];
        }
    }
    tool_fail(STATUS_FAULTY, "cache %s: expected list, stat, verify, prune or clear%s", name,
              nearest_hint(name, names, NACTIONS));
    return NULL;
}

int verb_cache(const options *o) {
    if (o->noperands != 1) {
        return tool_fail(STATUS_FAULTY, "cache needs one of list, stat, verify, prune, clear");
    }
    const action *wanted = find_action(o->operands[0].name);
    if (!wanted) {
        return STATUS_FAULTY;
    }
    cache *c = cache_new(NULL);
    int status;
    if (!c) {
        status = tool_fail(STATUS_LACKING, "out of memory");
    } else if (!cache_directory(c)) {
        status = tool_fail(STATUS_LACKING, "there is no disk cache: %s",
                           cache_problem(c) ? cache_problem(c) : "it is turned off");
    } else {
        status = wanted->act(o, c);
    }
    cache_free(c);
    return status;
}
