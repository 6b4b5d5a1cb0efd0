/* bench_svg.c -- results as a figure: for each problem a panel of kernels, bars of GB/s, and lines for what they are
 * held against.
 *
 *                          read kernel |          a line for each ceiling, library and row from elsewhere,
 *                       cuBLAS |       |          labelled on a step of its own
 *     thread_naive    =        |       |   1588.6        default bar above, tuned (or best given) bar below,
 *                     ==       |       |          904.1  microseconds at the right
 *     block_pipelined ======   |       |
 *                     0       2000    4000 GB/s
 *
 * Colours are classes with a set for light and one for dark pages; without media queries the light one holds. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tool/bench_results.h"
#include "tool/svg.h"

enum {
    WIDTH = 1000,
    MARGIN = 20,
    NAMES = 260, /* where the plot begins */
    PLOT = 470,
    FIRST_TIME = NAMES + PLOT + 80, /* right edges of the columns of times */
    SECOND_TIME = FIRST_TIME + 70,
    SHARE = WIDTH - MARGIN,
    ROW = 26,
    BAR = 9,
    STEP = 15, /* of labels above the plot */
    MAX_LINES = 16
};

static const char style[] =
    "<style>\n"
    "  text { font: 12px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #1f2328 }\n"
    "  .title { font-size: 15px; font-weight: 600 }\n"
    "  .name { font-family: ui-monospace, 'DejaVu Sans Mono', monospace }\n"
    "  .quiet { fill: #59636e }\n"
    "  .end { text-anchor: end } .middle { text-anchor: middle }\n"
    "  .paper { fill: #ffffff } .grid { stroke: #d8dee4 }\n"
    "  .first { fill: #a8bfdb } .second { fill: #1f5fa8 }\n"
    "  .line { stroke-width: 1.5; fill: none }\n"
    "  .ceiling { stroke: #9a3412 } .library { stroke: #15803d; stroke-dasharray: 7 3 }\n"
    "  .elsewhere { stroke: #7c3aed; stroke-dasharray: 2 3 }\n"
    "  text.ceiling, text.library, text.elsewhere { stroke: none }\n"
    "  text.ceiling { fill: #9a3412 } text.library { fill: #15803d } text.elsewhere { fill: #7c3aed }\n"
    "  @media (prefers-color-scheme: dark) {\n"
    "    text { fill: #e6edf3 } .quiet { fill: #9198a1 } .paper { fill: #0d1117 } .grid { stroke: #30363d }\n"
    "    .first { fill: #3d5878 } .second { fill: #6cb0ff }\n"
    "    .ceiling { stroke: #f0883e } .library { stroke: #56d364 } .elsewhere { stroke: #c297ff }\n"
    "    text.ceiling { fill: #f0883e } text.library { fill: #56d364 } text.elsewhere { fill: #c297ff }\n"
    "  }\n"
    "</style>\n";

/* A vertical line. */
typedef struct mark {
    const bench_row *row;
    double rate;
} mark;

typedef struct panel {
    const bench_results *r;
    int problem, mode;
    int nmarks;
    mark marks[MAX_LINES];
    double most; /* GB/s at the right end of the plot */
    text *out;
} panel;

static void add_text(text *out, double x, double y, const char *class, const char *words) {
    text_print(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
    xml_escape(words, out);
    text_add(out, "</text>\n");
}

/* ---- what is shown ------------------------------------------------------------------------------------- */

static bool is_shown(const panel *p, const bench_row *line, bench_kind kind) {
    return line->kind == kind && line->problem == p->problem && line->time[p->mode].samples &&
           line->check != BENCH_WRONG;
}

/* The first row of a kernel stands for all of its rows. */
static bool is_first(const panel *p, int i) {
    for (int j = 0; j < i; j++) {
        if (is_shown(p, &p->r->rows[j], BENCH_KERNEL) &&
            strcmp(p->r->rows[j].name, p->r->rows[i].name) == 0) {
            return false;
        }
    }
    return is_shown(p, &p->r->rows[i], BENCH_KERNEL);
}

/* The fastest row of that kernel, with the default configuration or with any other; NULL. */
static const bench_row *fastest(const panel *p, const char *name, bool is_default) {
    const bench_row *best = NULL;
    for (int i = 0; i < p->r->nrows; i++) {
        const bench_row *line = &p->r->rows[i];
        if (is_shown(p, line, BENCH_KERNEL) && strcmp(line->name, name) == 0 &&
            (strcmp(line->variant, "default") == 0) == is_default &&
            (!best || line->time[p->mode].median_us < best->time[p->mode].median_us)) {
            best = line;
        }
    }
    return best;
}

/* The fastest of those of its name. */
static bool is_fastest_of_name(const panel *p, const bench_row *line) {
    for (int i = 0; i < p->r->nrows; i++) {
        const bench_row *other = &p->r->rows[i];
        if (other != line && is_shown(p, other, line->kind) && strcmp(other->name, line->name) == 0 &&
            (other->time[p->mode].median_us < line->time[p->mode].median_us ||
             (other < line && other->time[p->mode].median_us <= line->time[p->mode].median_us))) {
            return false;
        }
    }
    return true;
}

/* Ceilings that were measured but are not what the problem is held against would only crowd the figure. */
static bool is_mark(const panel *p, const bench_row *line) {
    return ((is_shown(p, line, BENCH_LIBRARY) || is_shown(p, line, BENCH_ELSEWHERE)) &&
            is_fastest_of_name(p, line)) ||
           (is_shown(p, line, BENCH_CEILING) && bench_ceiling_of(p->r, line, p->mode) == line);
}

/* Fastest first. */
static void find_marks(panel *p) {
    for (int i = 0; i < p->r->nrows && p->nmarks < MAX_LINES; i++) {
        const bench_row *line = &p->r->rows[i];
        if (!is_mark(p, line)) {
            continue;
        }
        const double rate = bench_rate(line, p->mode);
        int at = p->nmarks++;
        for (; at > 0 && p->marks[at - 1].rate < rate; at--) {
            p->marks[at] = p->marks[at - 1];
        }
        p->marks[at] = (mark){line, rate};
    }
}

static int count_rows(const panel *p) {
    int n = 0;
    for (int i = 0; i < p->r->nrows; i++) {
        n += is_first(p, i);
    }
    return n;
}

/* 1, 2 or 5 times a power of ten, so that about five fit. */
static double tick_step(double most) {
    const double rough = most / 5.0, power = pow(10.0, floor(log10(rough)));
    return rough > 5.0 * power   ? 10.0 * power
           : rough > 2.0 * power ? 5.0 * power
           : rough > power       ? 2.0 * power
                                 : power;
}

static void choose_scale(panel *p) {
    double most = 1e-9;
    for (int i = 0; i < p->r->nrows; i++) {
        const bench_row *line = &p->r->rows[i];
        if (is_shown(p, line, BENCH_KERNEL) || is_mark(p, line)) {
            const double rate = bench_rate(line, p->mode);
            most = rate > most ? rate : most;
        }
    }
    p->most = 1.04 * most;
}

static double x_of(const panel *p, double rate) {
    return NAMES + PLOT * rate / p->most;
}

/* ---- drawing ------------------------------------------------------------------------------------------- */

static const char *second_name(const panel *p) {
    for (int i = 0; i < p->r->nrows; i++) {
        if (strcmp(p->r->rows[i].variant, "tuned") == 0) {
            return "tuned";
        }
    }
    return "given";
}

static bool has_second(const panel *p) {
    for (int i = 0; i < p->r->nrows; i++) {
        if (is_shown(p, &p->r->rows[i], BENCH_KERNEL) && strcmp(p->r->rows[i].variant, "default") != 0) {
            return true;
        }
    }
    return false;
}

static void draw_axis(const panel *p, double top, double bottom) {
    const double step = tick_step(p->most);
    for (double rate = 0.0; rate <= p->most; rate += step) {
        char words[32];
        snprintf(words, sizeof words, "%.4g", rate);
        text_print(p->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>\n",
                   x_of(p, rate), top, x_of(p, rate), bottom);
        add_text(p->out, x_of(p, rate), bottom + 15, "quiet middle", words);
    }
    add_text(p->out, NAMES + PLOT + 6, bottom + 15, "quiet", "GB/s");
}

/* Left of its line, or right of it where there is no room. */
static void draw_mark(const panel *p, const mark *m, double y, double bottom) {
    static const char *const classes[BENCH_KINDS] = {"", "ceiling", "library", "elsewhere"};
    const char *class = classes[m->row->kind];
    char words[160], whole[32];
    const double x = x_of(p, m->rate);
    const bool is_left = x > NAMES + PLOT / 2;
    snprintf(words, sizeof words, "%s, %.2f us", m->row->name, m->row->time[p->mode].median_us);
    snprintf(whole, sizeof whole, "%s%s", class, is_left ? " end" : "");
    text_print(p->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"line %s\"/>\n", x,
               y - 10, x, bottom, class);
    add_text(p->out, x + (is_left ? -5 : 5), y, whole, words);
}

/* `x`: where the column of its times ends. */
static void draw_bar(const panel *p, const bench_row *line, double y, const char *class, double middle,
                     double x) {
    char words[32];
    text_print(p->out, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" class=\"%s\"><title>", NAMES,
               y, x_of(p, bench_rate(line, p->mode)) - NAMES, BAR, class);
    xml_escape(line->config, p->out);
    text_print(p->out, ": %.0f GB/s</title></rect>\n", bench_rate(line, p->mode));
    snprintf(words, sizeof words, "%.2f", line->time[p->mode].median_us);
    add_text(p->out, x, middle, "end", words);
}

static void draw_kernel(const panel *p, const char *name, double y) {
    const bench_row *first = fastest(p, name, true), *second = fastest(p, name, false);
    const bench_row *best = first;
    const double middle = y + ROW / 2 + 4;
    char words[32];
    add_text(p->out, NAMES - 10, middle, "name end", name);
    if (first) {
        draw_bar(p, first, second ? y + 4 : y + 8, "first", middle, FIRST_TIME);
    }
    if (second) {
        draw_bar(p, second, first ? y + 4 + BAR : y + 8, "second", middle, SECOND_TIME);
        best = !first || second->time[p->mode].median_us < first->time[p->mode].median_us ? second : first;
    }
    const double percent = bench_percent(p->r, best, p->mode);
    if (percent > 0.0) {
        snprintf(words, sizeof words, "%.1f %%", percent);
        add_text(p->out, SHARE, middle, "end", words);
    }
}

static void draw_legend(const panel *p, double y) {
    double x = NAMES;
    text_print(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"22\" height=\"%d\" class=\"first\"/>\n", x,
               y - BAR, BAR);
    add_text(p->out, x + 28, y, "", "default configuration");
    if (has_second(p)) {
        x += 190;
        text_print(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"22\" height=\"%d\" class=\"second\"/>\n", x,
                   y - BAR, BAR);
        add_text(p->out, x + 28, y, "",
                 strcmp(second_name(p), "tuned") == 0 ? "tuned" : "best of those given");
    }
}

static void draw_heads(const panel *p, double y) {
    add_text(p->out, FIRST_TIME, y, "end quiet", "default us");
    if (has_second(p)) {
        char words[32];
        snprintf(words, sizeof words, "%s us", second_name(p));
        add_text(p->out, SECOND_TIME, y, "end quiet", words);
    }
    if (bench_ceiling_of(p->r, bench_best(p->r, p->problem, BENCH_KERNEL, p->mode), p->mode)) {
        add_text(p->out, SHARE, y, "end quiet", "of ceiling");
    }
}

/* From `y` down; where it ends. */
static double draw_panel(panel *p, double y) {
    const bench_problem *problem = &p->r->problems[p->problem];
    char words[256];
    find_marks(p);
    choose_scale(p);
    const double top = y + 56 + STEP * p->nmarks, bottom = top + ROW * count_rows(p);
    snprintf(words, sizeof words, "%s, %.4g MB a call, %s mode",
             *problem->text ? problem->text : "no parameters", problem->bytes * 1e-6,
             bench_mode_names[p->mode]);
    add_text(p->out, MARGIN, y + 18, "title", words);
    draw_legend(p, y + 42);
    draw_heads(p, top - 6);
    draw_axis(p, top, bottom);
    double at = top;
    for (int i = 0; i < p->r->nrows; i++) {
        if (is_first(p, i)) {
            draw_kernel(p, p->r->rows[i].name, at);
            at += ROW;
        }
    }
    for (int i = 0; i < p->nmarks; i++) {
        draw_mark(p, &p->marks[i], y + 60 + STEP * i, bottom);
    }
    return bottom + 40;
}

void bench_write_svg(const bench_results *r, int mode, text *out) {
    text body = {0};
    double y = MARGIN;
    for (int i = 0; i < r->nproblems; i++) {
        panel p = {.r = r, .problem = i, .mode = mode, .out = &body};
        if (bench_best(r, i, BENCH_KERNEL, mode)) {
            y = draw_panel(&p, y);
        }
    }
    text_print(&body, "<text x=\"%d\" y=\"%.1f\" class=\"quiet\">", MARGIN, y + 4);
    xml_escape(r->gpu ? r->gpu : "unknown GPU", &body);
    text_print(&body, ", driver %s, NVRTC %s, tegula %s (%s), %s; medians</text>\n",
               r->driver ? r->driver : "?", r->nvrtc ? r->nvrtc : "?", r->tegula ? r->tegula : "?",
               r->commit ? r->commit : "?", r->date ? r->date : "?");
    y += MARGIN + 4;
    text_print(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" "
        "role=\"img\" aria-label=\"Memory throughput of kernels\">\n",
        WIDTH, y, WIDTH, y);
    text_print(out, "%s<rect width=\"%d\" height=\"%.0f\" class=\"paper\"/>\n", style, WIDTH, y);
    text_add(out, body.s ? body.s : "");
    text_add(out, "</svg>\n");
    out->failed = out->failed || body.failed;
    text_free(&body);
}
