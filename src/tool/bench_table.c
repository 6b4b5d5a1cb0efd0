/* bench_table.c -- results as text for people, JSON and CSV for programs. */
#include <stdio.h>
#include <string.h>

#include "tool/bench_results.h"
#include "tool/report.h"

/* ---- text ---------------------------------------------------------------------------------------------- */

static void write_heading(const bench_results *r, text *out) {
    text_print(out, "%s, driver %s, NVRTC %s", r->gpu ? r->gpu : "unknown GPU", r->driver ? r->driver : "?",
               r->nvrtc ? r->nvrtc : "?");
    if (r->cublas) {
        text_print(out, ", cuBLAS %s", r->cublas);
    }
    text_print(out, "; tegula %s (%s), %s\n", r->tegula, r->commit, r->date);
    text_print(out,
               "Microseconds of one call: median (quartiles); %g s of samples each; ~: noisy; "
               "%%: of the measured ceiling.\n",
               r->seconds);
}

static int name_width(const bench_results *r) {
    size_t most = strlen("read kernel");
    for (int i = 0; i < r->nrows; i++) {
        const size_t n = strlen(r->rows[i].name);
        most = n > most ? n : most;
    }
    return (int)most;
}

static void write_columns(const bench_results *r, int width, text *out) {
    text_print(out, "%-*s", width, "");
    for (int m = 0; m < BENCH_MODES; m++) {
        if (bench_has_mode(r, m)) {
            text_print(out, "  %9s %-19s %7s %6s", m == BENCH_STREAM ? "stream us" : "cold us", "", "GB/s",
                       "%");
        }
    }
    text_add(out, "\n");
}

static void write_percent(const bench_results *r, const bench_row *row, int mode, text *out) {
    const double percent = bench_percent(r, row, mode);
    if (percent > 0.0) {
        text_print(out, " %6.1f", percent);
    } else {
        text_print(out, " %6s", "-");
    }
}

static void write_time(const bench_results *r, const bench_row *row, int mode, text *out) {
    const tg_bench_figures *f = &row->time[mode];
    char quartiles[48];
    if (!f->samples) {
        text_print(out, "  %9s %-19s %7s %6s", "-", "", "-", "-");
        return;
    }
    snprintf(quartiles, sizeof quartiles, "(%.2f-%.2f)%s", f->low_us, f->high_us, f->is_noisy ? "~" : "");
    text_print(out, "  %9.2f %-19s %7.0f", f->median_us, quartiles, bench_rate(row, mode));
    write_percent(r, row, mode, out);
}

static void write_row(const bench_results *r, const bench_row *row, int width, text *out) {
    text_print(out, "%-*s", width, row->name);
    for (int m = 0; m < BENCH_MODES; m++) {
        if (bench_has_mode(r, m)) {
            write_time(r, row, m, out);
        }
    }
    text_print(out, "%s%s", row->check == BENCH_WRONG ? "  WRONG" : "", *row->variant ? "  " : "");
    text_print(out, "%s%s%s", row->variant, *row->config ? " " : "", row->config);
    if (row->word) {
        text_print(out, "  %s", row->word);
    }
    text_add(out, "\n");
}

/* All rows of the name that row i is the first to have, so that configurations of a kernel stand together. */
static void write_name(const bench_results *r, int i, int width, text *out) {
    const bench_row *first = &r->rows[i];
    for (int j = 0; j < r->nrows; j++) {
        const bench_row *row = &r->rows[j];
        if (row->problem == first->problem && row->kind == first->kind &&
            strcmp(row->name, first->name) == 0) {
            if (j < i) {
                return;
            }
            write_row(r, row, width, out);
        }
    }
}

/* Ceilings and others first, so that the kernels stand below what they are held against. */
static void write_problem(const bench_results *r, int problem, int width, text *out) {
    static const bench_kind order[] = {BENCH_CEILING, BENCH_LIBRARY, BENCH_ELSEWHERE, BENCH_KERNEL};
    const bench_problem *p = &r->problems[problem];
    text_print(out, "\n%s: %.6g MB\n", *p->text ? p->text : "no parameters", p->bytes * 1e-6);
    write_columns(r, width, out);
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        for (int i = 0; i < r->nrows; i++) {
            if (r->rows[i].problem == problem && r->rows[i].kind == order[k]) {
                write_name(r, i, width, out);
            }
        }
    }
}

static void write_best_row(const bench_results *r, const bench_row *ours, int mode, int width, text *out) {
    const bench_row *theirs = bench_best(r, ours->problem, BENCH_LIBRARY, mode);
    text_print(out, "%-36s %9.2f", r->problems[ours->problem].text, ours->time[mode].median_us);
    write_percent(r, ours, mode, out);
    if (theirs) {
        text_print(out, "  %9.2f %6.2f", theirs->time[mode].median_us,
                   theirs->time[mode].median_us / ours->time[mode].median_us);
    } else {
        text_print(out, "  %9s %6s", "-", "-");
    }
    text_print(out, "  %-*s %s %s\n", width, ours->name, ours->variant, ours->config);
}

/* The best of each problem in one mode: what a sweep is for. */
static void write_best(const bench_results *r, int mode, int width, text *out) {
    double least, mean;
    text_print(out, "\nbest, %-30s %9s %6s  %9s %6s  kernel\n", bench_mode_names[mode], "us", "%",
               "cuBLAS us", "times");
    for (int i = 0; i < r->nproblems; i++) {
        const bench_row *ours = bench_best(r, i, BENCH_KERNEL, mode);
        if (ours) {
            write_best_row(r, ours, mode, width, out);
        }
    }
    const int n = bench_against_library(r, mode, &least, &mean);
    if (n) {
        text_print(out,
                   "cuBLAS takes %.3f times as long in the geometric mean of %d problem%s, %.3f at least\n",
                   mean, n, n == 1 ? "" : "s", least);
    }
}

void bench_write_table(const bench_results *r, text *out) {
    const int width = name_width(r);
    write_heading(r, out);
    for (int i = 0; i < r->nproblems; i++) {
        write_problem(r, i, width, out);
    }
    for (int m = 0; m < BENCH_MODES; m++) {
        if (bench_has_mode(r, m)) {
            write_best(r, m, width, out);
        }
    }
}

void bench_write_checks(const bench_results *r, text *out) {
    for (int i = 0; i < r->nrows; i++) {
        const bench_row *row = &r->rows[i];
        text_print(out, "ran once: %s %s %s: %s\n", row->name, r->problems[row->problem].text, row->config,
                   row->word ? row->word : bench_check_names[row->check]);
    }
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static void write_figures(const bench_results *r, const bench_row *row, int mode, json *j) {
    const tg_bench_figures *f = &row->time[mode];
    if (!f->samples) {
        return;
    }
    json_object(j, bench_mode_names[mode]);
    json_real(j, "median_us", f->median_us);
    json_real(j, "low_us", f->low_us);
    json_real(j, "high_us", f->high_us);
    json_real(j, "min_us", f->min_us);
    json_real(j, "interval_us", f->interval_us);
    json_int(j, "samples", f->samples);
    json_int(j, "launches", f->launches);
    json_bool(j, "noisy", f->is_noisy);
    json_int(j, "clock_mhz", f->clock_mhz);
    json_real(j, "gb_per_s", bench_rate(row, mode));
    json_real(j, "percent", bench_percent(r, row, mode));
    json_end(j);
}

static void write_json_row(const bench_results *r, const bench_row *row, json *j) {
    json_object(j, NULL);
    json_string(j, "problem", r->problems[row->problem].text);
    json_string(j, "kind", bench_kind_names[row->kind]);
    json_string(j, "name", row->name);
    json_string(j, "variant", row->variant);
    json_string(j, "config", row->config);
    json_real(j, "bytes", row->bytes);
    json_real(j, "written_bytes", r->problems[row->problem].written);
    json_string(j, "check", bench_check_names[row->check]);
    json_string(j, "word", row->word);
    for (int m = 0; m < BENCH_MODES; m++) {
        write_figures(r, row, m, j);
    }
    json_end(j);
}

void bench_write_json(const bench_results *r, text *out) {
    json j = {.out = out};
    json_object(&j, NULL);
    json_string(&j, "tegula", r->tegula);
    json_string(&j, "commit", r->commit);
    json_string(&j, "date", r->date);
    json_string(&j, "gpu", r->gpu);
    json_string(&j, "driver", r->driver);
    json_string(&j, "nvrtc", r->nvrtc);
    json_string(&j, "cublas", r->cublas);
    json_real(&j, "seconds", r->seconds);
    json_array(&j, "rows");
    for (int i = 0; i < r->nrows; i++) {
        write_json_row(r, &r->rows[i], &j);
    }
    json_end(&j);
    json_end(&j);
}

/* ---- CSV ----------------------------------------------------------------------------------------------- */

static void write_field(const char *s, text *out) {
    if (!s[strcspn(s, ",\"\n\r")]) {
        text_add(out, s);
        return;
    }
    text_add(out, "\"");
    for (; *s; s++) {
        text_print(out, *s == '"' ? "\"\"" : "%c", *s);
    }
    text_add(out, "\"");
}

static void write_csv_line(const bench_results *r, const bench_row *row, int mode, text *out) {
    const tg_bench_figures *f = &row->time[mode];
    const char *const words[] = {
        r->problems[row->problem].text, bench_kind_names[row->kind], row->name, row->variant, row->config,
        bench_mode_names[mode]};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        write_field(words[i], out);
        text_add(out, ",");
    }
    text_print(out, "%.4f,%.4f,%.4f,%.4f,%.4f,%d,%d,%d,%d,%.0f,%.1f,%.2f,%s\n", f->median_us, f->low_us,
               f->high_us, f->min_us, f->interval_us, f->samples, f->launches, f->is_noisy, f->clock_mhz,
               row->bytes, bench_rate(row, mode), bench_percent(r, row, mode), bench_check_names[row->check]);
}

/* One line a row and mode; what was not measured has none. */
void bench_write_csv(const bench_results *r, text *out) {
    text_add(
        out,
        "problem,kind,name,variant,config,mode,median_us,low_us,high_us,min_us,interval_us,samples,launches,"
        "noisy,clock_mhz,bytes,gb_per_s,percent,check\n");
    for (int i = 0; i < r->nrows; i++) {
        for (int m = 0; m < BENCH_MODES; m++) {
            if (r->rows[i].time[m].samples) {
                write_csv_line(r, &r->rows[i], m, out);
            }
        }
    }
}
