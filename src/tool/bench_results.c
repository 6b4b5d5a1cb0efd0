/* bench_results.c -- rows, problems, and what follows from their figures. */
#include "tool/bench_results.h"

#include <math.h>
#include <string.h>

const char *const bench_kind_names[BENCH_KINDS] = {"kernel", "ceiling", "library", "elsewhere"};
const char *const bench_mode_names[BENCH_MODES] = {"stream", "cold"};
const char *const bench_check_names[BENCH_CHECKS] = {"unchecked", "right", "wrong"};

static const double same_bytes = 0.02, copy_share = 0.1;

/* Room for one more of `size` bytes in an array of the arena. */
static void *grow(arena *memory, void *items, int n, int *capacity, size_t size) {
    if (n < *capacity) {
        return items;
    }
    *capacity = *capacity ? 2 * *capacity : 32;
    void *larger = arena_alloc(memory, size * (size_t)*capacity);
    if (n) {
        memcpy(larger, items, size * (size_t)n);
    }
    return larger;
}

int bench_problem_number(bench_results *r, const char *words, double bytes, double written) {
    for (int i = 0; i < r->nproblems; i++) {
        const bench_problem *p = &r->problems[i];
        if (strcmp(p->text, words) == 0 && fabs(p->bytes - bytes) <= same_bytes * p->bytes) {
            return i;
        }
    }
    r->problems = grow(&r->memory, r->problems, r->nproblems, &r->problem_capacity, sizeof *r->problems);
    r->problems[r->nproblems] = (bench_problem){arena_copy(&r->memory, words), bytes, written};
    return r->nproblems++;
}

bench_row *bench_add_row(bench_results *r, const bench_row *row) {
    r->rows = grow(&r->memory, r->rows, r->nrows, &r->row_capacity, sizeof *r->rows);
    r->rows[r->nrows] = *row;
    return &r->rows[r->nrows++];
}

void bench_results_free(bench_results *r) {
    arena_free(&r->memory);
}

/* ---- questions ----------------------------------------------------------------------------------------- */

double bench_rate(const bench_row *row, int mode) {
    const tg_bench_figures *f = &row->time[mode];
    return f->samples && f->median_us > 0.0 ? row->bytes / f->median_us * 1e-3 : 0.0;
}

static bool is_faster(const bench_row *a, const bench_row *b, int mode) {
    return !b || a->time[mode].median_us < b->time[mode].median_us;
}

const bench_row *bench_ceiling_of(const bench_results *r, const bench_row *row, int mode) {
    const bench_problem *p = &r->problems[row->problem];
    const char *wanted = p->written > copy_share * p->bytes ? "copy kernel" : "read kernel";
    for (int i = 0; i < r->nrows; i++) {
        const bench_row *c = &r->rows[i];
        if (c->kind == BENCH_CEILING && c->problem == row->problem && c->time[mode].samples &&
            strcmp(c->name, wanted) == 0) {
            return c;
        }
    }
    return NULL;
}

double bench_percent(const bench_results *r, const bench_row *row, int mode) {
    const bench_row *ceiling = bench_ceiling_of(r, row, mode);
    const double most = ceiling ? bench_rate(ceiling, mode) : 0.0;
    return most > 0.0 ? 100.0 * bench_rate(row, mode) / most : 0.0;
}

const bench_row *bench_best(const bench_results *r, int problem, bench_kind kind, int mode) {
    const bench_row *best = NULL;
    for (int i = 0; i < r->nrows; i++) {
        const bench_row *row = &r->rows[i];
        if (row->kind == kind && row->problem == problem && row->time[mode].samples &&
            row->check != BENCH_WRONG && is_faster(row, best, mode)) {
            best = row;
        }
    }
    return best;
}

bool bench_has_mode(const bench_results *r, int mode) {
    for (int i = 0; i < r->nrows; i++) {
        if (r->rows[i].time[mode].samples) {
            return true;
        }
    }
    return false;
}

int bench_against_library(const bench_results *r, int mode, double *least, double *mean) {
    double logs = 0.0;
    int n = 0;
    *least = 0.0;
    for (int i = 0; i < r->nproblems; i++) {
        const bench_row *ours = bench_best(r, i, BENCH_KERNEL, mode);
        const bench_row *theirs = bench_best(r, i, BENCH_LIBRARY, mode);
        if (ours && theirs) {
            const double ratio = theirs->time[mode].median_us / ours->time[mode].median_us;
            *least = n == 0 || ratio < *least ? ratio : *least;
            logs += log(ratio);
            n++;
        }
    }
    *mean = n ? exp(logs / n) : 0.0;
    return n;
}
