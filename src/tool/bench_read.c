/* bench_read.c -- results from a file: what `bench --json` wrote, or rows that another program measured.
 *
 *     {"gpu": "NVIDIA H200", "rows": [
 *         {"problem": "N=4096 K=14336 dtype=f16", "name": "Triton", "variant": "BN=1 BK=1024", "bytes": 117477376,
 *          "stream": {"median_us": 28.0, "low_us": 27.9, "high_us": 28.1}, "cold": {"median_us": 38.2}}]}
 *
 * docs/bench.md describes every key.  JSON is read as the YAML that it is, so mistakes have their line and column. */
#include "tool/bench_results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/npy.h"
#include "tool/tool.h"
#include "tool/yaml.h"

/* One file while it is read. */
typedef struct reading {
    bench_results *out;
    text *error;
    bool is_elsewhere; /* rows to be added to others */
} reading;

static bool is_null(const tree *t) {
    return t->kind == TREE_SCALAR && !t->is_quoted && strcmp(t->text, "null") == 0;
}

static const tree *find(const tree *map, const char *key) {
    for (const tree *t = map->first; t; t = t->next) {
        if (strcmp(t->key, key) == 0) {
            return is_null(t) ? NULL : t;
        }
    }
    return NULL;
}

/* Each leaves the value alone where the key is missing or null. */
static bool read_string(const reading *r, const tree *map, const char *key, const char **out) {
    const tree *t = find(map, key);
    if (t && !yaml_is(t, TREE_SCALAR, r->error)) {
        return false;
    }
    *out = t ? arena_copy(&r->out->memory, t->text) : *out;
    return true;
}

static bool read_real(const reading *r, const tree *map, const char *key, double *out) {
    const tree *t = find(map, key);
    if (t && !yaml_real(t, out, r->error)) {
        return false;
    }
    return !t || (*out >= 0.0 && *out < 1e18) ||
           yaml_fail(t, r->error, "%s must be a number of at least 0", key);
}

static bool read_count(const reading *r, const tree *map, const char *key, int *out) {
    const tree *t = find(map, key);
    int64_t x = *out;
    const bool is_good = !t || yaml_int(t, 0, 1000000000, &x, r->error);
    *out = (int)x;
    return is_good;
}

static bool read_flag(const reading *r, const tree *map, const char *key, bool *out) {
    const tree *t = find(map, key);
    if (!t) {
        return true;
    }
    *out = t->kind == TREE_SCALAR && strcmp(t->text, "true") == 0;
    return *out || (t->kind == TREE_SCALAR && strcmp(t->text, "false") == 0) ||
           yaml_fail(t, r->error, "%s must be true or false", key);
}

/* One of n words; its number. */
static bool read_word(const reading *r, const tree *map, const char *key, const char *const *words, int n,
                      int *out) {
    const tree *t = find(map, key);
    for (int i = 0; t && t->kind == TREE_SCALAR && i < n; i++) {
        if (strcmp(t->text, words[i]) == 0) {
            *out = i;
            return true;
        }
    }
    return !t || yaml_fail(t, r->error, "unknown %s: expected %s, .. or %s", key, words[0], words[n - 1]);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static bool read_figures(const reading *r, const tree *t, tg_bench_figures *f) {
    static const char *const keys[] = {"median_us",   "low_us",   "high_us",  "min_us",
                                       "interval_us", "samples",  "launches", "noisy",
                                       "clock_mhz",   "gb_per_s", "percent"};
    if (!yaml_is(t, TREE_MAP, r->error) || !yaml_keys(t, keys, (int)(sizeof keys / sizeof *keys), r->error)) {
        return false;
    }
    const tree *median = find(t, "median_us");
    if (!median) {
        return yaml_fail(t, r->error, "median_us is missing");
    }
    if (!yaml_real(median, &f->median_us, r->error)) {
        return false;
    }
    if (!(f->median_us > 0.0)) {
        return yaml_fail(median, r->error, "median_us must be above 0");
    }
    f->low_us = f->high_us = f->min_us = f->median_us;
    f->samples = f->launches = 1;
    const bool is_good =
        read_real(r, t, "low_us", &f->low_us) && read_real(r, t, "high_us", &f->high_us) &&
        read_real(r, t, "min_us", &f->min_us) && read_real(r, t, "interval_us", &f->interval_us) &&
        read_count(r, t, "samples", &f->samples) && read_count(r, t, "launches", &f->launches) &&
        read_flag(r, t, "noisy", &f->is_noisy) && read_count(r, t, "clock_mhz", &f->clock_mhz);
    f->samples = f->samples ? f->samples : 1; /* 0 would mean that nothing was measured */
    return is_good;
}

/* The problem that a row names: its bytes may be left out where another row has told them. */
static bool read_problem(const reading *r, const tree *t, bench_row *line) {
    const char *words = NULL;
    double bytes = 0.0, written = 0.0;
    if (!read_string(r, t, "problem", &words) || !read_real(r, t, "bytes", &bytes) ||
        !read_real(r, t, "written_bytes", &written)) {
        return false;
    }
    if (!words) {
        return yaml_fail(t, r->error, "problem is missing, such as \"N=4096 K=14336 dtype=f16\"");
    }
    for (int i = 0; i < r->out->nproblems && bytes == 0.0; i++) {
        if (strcmp(r->out->problems[i].text, words) == 0) {
            bytes = r->out->problems[i].bytes;
        }
    }
    if (bytes == 0.0) {
        return yaml_fail(t, r->error, "bytes is missing, and no row before tells those of '%s'", words);
    }
    line->bytes = bytes;
    line->problem = bench_problem_number(r->out, words, bytes, written);
    return true;
}

static bool read_row(const reading *r, const tree *t) {
    static const char *const keys[] = {"problem",       "kind",  "name", "variant", "config", "bytes",
                                       "written_bytes", "check", "word", "stream",  "cold"};
    bench_row line = {.name = NULL, .variant = "", .config = ""};
    int kind = r->is_elsewhere ? BENCH_ELSEWHERE : BENCH_KERNEL, check = BENCH_UNCHECKED;
    if (!yaml_is(t, TREE_MAP, r->error) || !yaml_keys(t, keys, (int)(sizeof keys / sizeof *keys), r->error)) {
        return false;
    }
    if (!read_problem(r, t, &line) || !read_word(r, t, "kind", bench_kind_names, BENCH_KINDS, &kind) ||
        !read_string(r, t, "name", &line.name) || !read_string(r, t, "variant", &line.variant) ||
        !read_string(r, t, "config", &line.config) || !read_string(r, t, "word", &line.word) ||
        !read_word(r, t, "check", bench_check_names, BENCH_CHECKS, &check)) {
        return false;
    }
    if (!line.name) {
        return yaml_fail(t, r->error, "name is missing");
    }
    for (int mode = 0; mode < BENCH_MODES; mode++) {
        const tree *times = find(t, bench_mode_names[mode]);
        if (times && !read_figures(r, times, &line.time[mode])) {
            return false;
        }
    }
    line.kind = (bench_kind)kind;
    line.check = (bench_check)check;
    bench_add_row(r->out, &line);
    return true;
}

static bool read_head(const reading *r, const tree *t) {
    bench_results *out = r->out;
    return read_string(r, t, "tegula", &out->tegula) && read_string(r, t, "commit", &out->commit) &&
           read_string(r, t, "date", &out->date) && read_string(r, t, "gpu", &out->gpu) &&
           read_string(r, t, "driver", &out->driver) && read_string(r, t, "nvrtc", &out->nvrtc) &&
           read_string(r, t, "cublas", &out->cublas) && read_real(r, t, "seconds", &out->seconds);
}

static bool read_file(const reading *r, const tree *t) {
    static const char *const keys[] = {"tegula", "commit", "date",    "gpu", "driver",
                                       "nvrtc",  "cublas", "seconds", "rows"};
    if (!yaml_is(t, TREE_MAP, r->error) || !yaml_keys(t, keys, (int)(sizeof keys / sizeof *keys), r->error)) {
        return false;
    }
    const tree *list = find(t, "rows");
    if (!list) {
        return yaml_fail(t, r->error, "rows is missing");
    }
    if (!yaml_is(list, TREE_LIST, r->error) || (!r->is_elsewhere && !read_head(r, t))) {
        return false;
    }
    for (const tree *line = list->first; line; line = line->next) {
        if (!read_row(r, line)) {
            return false;
        }
    }
    return true;
}

int bench_read(const char *file, bool is_elsewhere, bench_results *out) {
    text error = {0};
    size_t size = 0;
    char *bytes = npy_load(file, &size, &error);
    const tree *t = bytes ? yaml_read(&out->memory, file, bytes, size, &error) : NULL;
    const reading r = {out, &error, is_elsewhere};
    const bool is_good = t && read_file(&r, t);
    if (!is_good) {
        fprintf(stderr, "%s\n", error.s ? error.s : "out of memory");
    }
    free(bytes);
    text_free(&error);
    return is_good ? STATUS_GOOD : STATUS_FAULTY;
}
