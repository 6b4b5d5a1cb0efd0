/* bench_results.h -- what a benchmark has measured, whoever measured it: the rows that tables, files and figures show.
 *
 * A problem is what is computed ("N=4096 K=14336 dtype=f16") with the bytes it moves; rows of one problem are compared
 * with each other.  Filled by bench_measure.c on a GPU, or by bench_read.c from a file. */
#ifndef TOOL_BENCH_RESULTS_H
#define TOOL_BENCH_RESULTS_H

#include <tegula/tegula.h>

#include "dsl/arena.h"

typedef enum bench_kind {
    BENCH_KERNEL,
    BENCH_CEILING,  /* what the memory gives */
    BENCH_LIBRARY,  /* cuBLAS */
    BENCH_ELSEWHERE /* from a file of rows */
} bench_kind;
enum { BENCH_KINDS = BENCH_ELSEWHERE + 1 };
extern const char *const bench_kind_names[BENCH_KINDS]; /* "kernel", .. */

/* Two of the timer's modes; the third is how the driver's copy is timed in stream mode. */
enum { BENCH_STREAM, BENCH_COLD, BENCH_MODES };
extern const char *const bench_mode_names[BENCH_MODES]; /* "stream", "cold" */

typedef enum bench_check { BENCH_UNCHECKED, BENCH_RIGHT, BENCH_WRONG } bench_check;
enum { BENCH_CHECKS = BENCH_WRONG + 1 };
extern const char *const bench_check_names[BENCH_CHECKS]; /* "unchecked", "right", "wrong" */

typedef struct bench_row {
    bench_kind kind;
    int problem;
    const char *name;    /* "block_pipelined", "read kernel", "cuBLAS" */
    const char *variant; /* of a kernel: "default", "tuned", "given"; else how: "GemmEx"; may be "" */
    const char *config;  /* tunables: "block_n=32 block_k=64"; may be "" */
    double bytes;        /* moved by one call */
    bench_check check;   /* against the reference, before and after timing */
    tg_bench_figures time[BENCH_MODES]; /* .samples is 0 where nothing was measured */
    const char *word;                   /* why a time is missing, or what else is to be said; NULL */
} bench_row;

typedef struct bench_problem {
    const char *text;
    double bytes, written; /* of them */
} bench_problem;

typedef struct bench_results {
    arena memory;
    const char *tegula, *commit, *date;        /* "2026-11-30T00:40:00Z" */
    const char *gpu, *driver, *nvrtc, *cublas; /* versions; NULL: not known */
    double seconds;                            /* of each figure's samples */
    int nproblems, nrows, problem_capacity, row_capacity;
    bench_problem *problems;
    bench_row *rows;
} bench_results;

/* The problem of those words whose bytes are the same within 2 %, made where there is none; its number. */
int bench_problem_number(bench_results *r, const char *words, double bytes, double written);
/* A copy of `row` at the end; its strings are borrowed. */
bench_row *bench_add_row(bench_results *r, const bench_row *row);
void bench_results_free(bench_results *r);

/* Reads FILE.json.  `is_elsewhere`: rows that another program measured, added to those that are there.  The exit
 * status. */
int bench_read(const char *file, bool is_elsewhere, bench_results *out);

/* ---- questions ----------------------------------------------------------------------------------------- */

/* GB/s; 0 where the mode was not measured. */
double bench_rate(const bench_row *row, int mode);
/* The measured ceiling of the row's problem: the read kernel, or the copy kernel where more than a tenth of the bytes
 * are written.  NULL: not measured. */
const bench_row *bench_ceiling_of(const bench_results *r, const bench_row *row, int mode);
/* Percent of that ceiling's rate; 0 where it is not known. */
double bench_percent(const bench_results *r, const bench_row *row, int mode);
/* The fastest row of a kind for a problem, wrong ones left out; NULL: none was measured. */
const bench_row *bench_best(const bench_results *r, int problem, bench_kind kind, int mode);
/* True when any row has a time of the mode. */
bool bench_has_mode(const bench_results *r, int mode);
/* Of best kernel against library over all problems that have both: how many, the least and the geometric mean. */
int bench_against_library(const bench_results *r, int mode, double *least, double *mean);

/* ---- showing ------------------------------------------------------------------------------------------- */

void bench_write_table(const bench_results *r, text *out);
void bench_write_json(const bench_results *r, text *out);
void bench_write_csv(const bench_results *r, text *out);
/* The rates of all kernels in one mode as a figure: bars, with the ceiling, the library and rows from elsewhere as
 * lines. */
void bench_write_svg(const bench_results *r, int mode, text *out);
/* After --profile: which kernels ran, and whether they were right. */
void bench_write_checks(const bench_results *r, text *out);

#endif
