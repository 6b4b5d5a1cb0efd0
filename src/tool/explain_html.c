/* explain_html.c -- the report as one page that needs nothing else: styles and script stand in it.
 *
 *     differences   of two kernels, with the pictures of what differs most
 *     findings      races, bounds, what nothing wrote, barriers
 *     launch        grid, occupancy, registers, memory, the parts of the floor time
 *     code          C and CUDA (explain_panes.c), pictures beside
 *     why           widths, barriers, decisions, layouts, places */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report_files.h"
#include "tool/explain_page.h"

/* ---- words --------------------------------------------------------------------------------------------- */

void page_print(const page *p, const char *format, ...) {
    char words[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    text_add(p->out, words);
}

void page_words(const page *p, const char *words) {
    xml_escape(words, p->out);
}

bool page_has_line(const page *p, tg_loc at) {
    return at.file && p->source && strcmp(at.file, p->source->file) == 0 && at.line >= p->first &&
           at.line <= p->last;
}

int page_cuda_line(const page *p, int line) {
    const cuda_text *cuda = &p->e->s->result.cuda;
    const char *s = cuda->text.s;
    for (int i = 1; i <= cuda->nlines && s; i++) {
        const char *end = strchr(s, '\n');
        const tg_loc at = cuda->line[i - 1];
        if (i >= cuda->body_line && page_has_line(p, at) && at.line == line && end != s) {
            return i;
        }
        s = end ? end + 1 : NULL;
    }
    return 0;
}

void page_place(const page *p, tg_loc at) {
    const char *name = picture_place(&p->e->s->memory, at);
    if (page_has_line(p, at)) {
        page_print(p, "<a href=\"#k%d-c%d\">", p->number, at.line);
        page_words(p, name);
        page_print(p, "</a>");
    } else {
        page_words(p, name);
    }
}

const char *page_class(const cost_row *x) {
    const double good = cost_efficiency(x);
    return good < 0.5 ? "bad" : good < 1 ? "fair" : "good";
}

/* ---- findings ------------------------------------------------------------------------------------------ */

static void print_findings(const page *p) {
    const findings *all = &p->e->sim.findings;
    const cost_counter *c = &p->e->cost;
    page_print(p, "<section id=\"k%d-findings\" aria-label=\"Findings\" class=\"card%s\">\n", p->number,
               all->total ? " found" : "");
    if (all->total == 0) {
        page_print(
            p, "<p class=\"clean\">No race, access outside, read of what nothing wrote, or missed barrier ");
    } else {
        page_print(p, "<ul>\n");
        for (int i = 0; i < all->n; i++) {
            const finding *f = &all->item[i];
            page_print(p, "<li><strong>%s</strong> ", finding_name(f->kind));
            page_place(p, f->at);
            page_print(p, " ");
            page_words(p, f->text);
            if (f->other.file) {
                page_print(p, " (");
                page_place(p, f->other);
                page_print(p, ")");
            }
            page_print(p, "; %" PRId64 " times</li>\n", (int64_t)f->count);
        }
        page_print(p, "</ul>\n<p>Found ");
    }
    page_print(p, "in %" PRId64 " of %" PRId64 " blocks.</p></section>\n", c->simulated, c->kinds.blocks);
}

/* ---- launch -------------------------------------------------------------------------------------------- */

/* The lines of the terminal report that stand above its accesses: "  name   words", later lines indented. */
static void print_launch(const page *p) {
    text words = {0};
    explain_launch(p->e, &words);
    bool is_open = false;
    page_print(
        p,
        "<section id=\"k%d-launch\" aria-labelledby=\"k%d-h-launch\"><h3 id=\"k%d-h-launch\">Launch</h3>\n"
        "<dl class=\"facts card\">\n",
        p->number, p->number, p->number);
    for (char *line = words.s; line && *line;) {
        char *end = strchr(line, '\n');
        if (end) {
            *end = '\0';
        }
        const size_t indent = strspn(line, " "), name = strcspn(line + indent, " ");
        if (indent <= 2 && line[indent]) {
            page_print(p, "%s<dt>%.*s</dt><dd>", is_open ? "</dd>\n" : "", (int)name, line + indent);
            page_words(p, line + indent + name + strspn(line + indent + name, " "));
            is_open = true;
        } else if (line[indent]) {
            page_print(p, "%s", is_open ? "<br>" : "<dt></dt><dd>");
            page_words(p, line + indent);
            is_open = true;
        }
        line = end ? end + 1 : NULL;
    }
    page_print(p, "%s</dl></section>\n", is_open ? "</dd>\n" : "");
    text_free(&words);
}

/* About how long, and why. */
static void print_time(const page *p) {
    const estimate *x = &p->e->about;
    if (x->us <= 0) {
        return;
    }
    page_print(p, "<h3>Time: about %.3g us, most of it: %s</h3>\n<div class=\"scroll card\"><table>\n", x->us,
               x->limit);
    for (int i = 0; i < ESTIMATE_PARTS; i++) {
        page_print(p, "<tr%s><th scope=\"row\">%s</th><td class=\"number\">%.3g us</td><td>%s</td></tr>\n",
                   strcmp(x->part[i].name, x->limit) == 0 ? " class=\"most\"" : "", x->part[i].name,
                   x->part[i].us, x->part[i].why);
    }
    page_print(p,
               "</table><p class=\"quiet\">The larger of memory and of the rest, which the busiest "
               "multiprocessor does "
               "one after the other. For ranking kernels, not for predicting them%s%s.</p></div>\n",
               x->caution ? "; here " : "", x->caution ? x->caution : "");
}

/* ---- why ----------------------------------------------------------------------------------------------- */

static void print_facts(const page *p, explain_fact_kind kind, const char *title) {
    bool has_title = false;
    for (int i = 0; i < p->e->nfacts; i++) {
        const explain_fact *f = &p->e->fact[i];
        if (f->kind != kind) {
            continue;
        }
        if (!has_title) {
            page_print(p, "<h3>%s</h3>\n<ul class=\"why card\">\n", title);
        }
        has_title = true;
        page_print(p, "<li><span>");
        page_place(p, f->at);
        page_print(p, "</span><span>");
        page_words(p, explain_fact_whose(f));
        page_words(p, f->text);
        if (f->apart[0].file) {
            page_print(p, ": ");
            page_place(p, f->apart[0]);
            page_print(p, ", then ");
            page_place(p, f->apart[1]);
        }
        page_print(p, "</span></li>\n");
    }
    page_print(p, "%s", has_title ? "</ul>\n" : "");
}

static void print_widths(const page *p) {
    page_print(p, "<h3>Widths</h3>\n<ul class=\"why card\">\n");
    for (int i = 0; i < p->e->cost.n; i++) {
        const int access = p->e->order[i];
        const cost_row *x = &p->e->cost.row[access];
        if (*p->e->why[access] && x->op != COST_COPY_TO && p->e->alike[access] == access) {
            page_print(p, "<li><span>");
            page_place(p, x->ref->at);
            page_print(p, "</span><span>%s ", explain_op_words(x->op));
            page_words(p, x->ref->buffer->name);
            page_print(p, ": ");
            page_words(p, p->e->why[access]);
            if (p->e->cached[access]) {
                page_print(p, "; read once, yet through the L1 cache: ");
                page_words(p, p->e->cached[access]);
            }
            page_print(p, "</span></li>\n");
        }
    }
    page_print(p, "</ul>\n");
}

static void print_why(const page *p) {
    page_print(p, "<section id=\"k%d-why\" aria-label=\"Decisions of the compiler\">\n", p->number);
    print_facts(p, EXPLAIN_BARRIER, "Barriers");
    print_widths(p);
    print_facts(p, EXPLAIN_CONDITION, "Decided at run time");
    print_facts(p, EXPLAIN_DECISION, "Decisions");
    print_facts(p, EXPLAIN_LAYOUT, "Layouts");
    print_facts(p, EXPLAIN_PLACE, "Shared memory");
    page_print(p, "</section>\n");
}

/* ---- one kernel ---------------------------------------------------------------------------------------- */

static page make_page(const explained *e, int number, text *out) {
    page p = {.out = out, .e = e, .number = number};
    const gallery_kernel *k = e->s->kernel;
    p.source = source_open(&e->s->memory, k->record->file);
    p.first = k->record->line;
    p.last = p.source ? source_kernel_end(p.source, p.first) : 0;
    p.npictures = picture_list(e, k->name, &p.picture);
    return p;
}

static void print_kernel(const page *p) {
    text config = {0};
    const subject *s = p->e->s;
    subject_describe(s, &config);
    page_print(p, "<article aria-labelledby=\"k%d\">\n<h2 id=\"k%d\">", p->number, p->number);
    page_words(p, s->kernel->name);
    page_print(p, "</h2>\n<p class=\"words\">");
    page_words(p, config.s ? config.s : "");
    page_print(p, "</p>\n");
    print_findings(p);
    print_launch(p);
    print_time(p);
    page_print(
        p,
        "<section id=\"k%d-code\" aria-labelledby=\"k%d-h-code\"><h3 id=\"k%d-h-code\">Code and costs</h3>\n",
        p->number, p->number, p->number);
    page_print(
        p,
        "<p class=\"quiet\">Beside a line: sectors (sec) of 32 bytes in global memory, or wavefronts (wf) in "
        "shared memory, that a request of a warp takes, and how many would do. Choose a line to see its "
        "partners; arrow keys walk.</p>\n<div class=\"beside\"><div>");
    if (p->source) {
        page_panes(p);
    }
    page_print(p, "</div><div id=\"k%d-pictures\">\n<h3>Pictures</h3>\n", p->number);
    page_pictures(p);
    page_print(p, "</div></div></section>\n");
    print_why(p);
    page_print(p, "</article>\n");
    text_free(&config);
}

/* ---- two kernels --------------------------------------------------------------------------------------- */

static void print_rows(const page *p, const explain_differences *t, bool different) {
    for (int i = 0; i < t->n; i++) {
        const explain_difference *d = &t->item[i];
        if (explain_differs(d) == different) {
            page_print(p, "<tr class=\"%s\"><th scope=\"row\">", different ? "other" : "same");
            page_words(p, d->name);
            for (int side = 0; side < 2; side++) {
                page_print(p, "</%s><td>", side ? "td" : "th");
                page_words(p, d->is_there[side] ? d->words[side] : "-");
            }
            page_print(p, "</td></tr>\n");
        }
    }
}

/* How far two accesses of one buffer lie apart, weighed by how much they move; 0: not the same buffer. */
static double distance(const cost_row *x, const cost_row *y) {
    const bool same = x->op == y->op && strcmp(x->ref->buffer->name, y->ref->buffer->name) == 0;
    const double a = (double)(cost_is_global(x) ? x->sectors : x->wavefronts),
                 b = (double)(cost_is_global(y) ? y->sectors : y->wavefronts);
    const double apart = cost_efficiency(x) - cost_efficiency(y);
    return !same ? 0 : (a + b) * (apart < 0 ? -apart : apart);
}

/* The two pictures of what differs most. */
static void print_glance(const page *a, const page *b) {
    double most = 0;
    int first = -1, second = -1;
    for (int i = 0; i < a->npictures; i++) {
        for (int j = 0; j < b->npictures; j++) {
            const picture *x = &a->picture[i], *y = &b->picture[j];
            if (x->kind == y->kind && x->kind <= PICTURE_BANKS) {
                const double d = distance(&a->e->cost.row[x->access], &b->e->cost.row[y->access]);
                first = d > most ? i : first;
                second = d > most ? j : second;
                most = d > most ? d : most;
            }
        }
    }
    if (first >= 0) {
        page_print(a, "<div class=\"glance\">\n<div><h3>");
        page_words(a, a->e->s->kernel->name);
        page_print(a, "</h3>\n");
        page_figure(a, first, NULL);
        page_print(a, "</div>\n<div><h3>");
        page_words(a, b->e->s->kernel->name);
        page_print(a, "</h3>\n");
        page_figure(b, second, NULL);
        page_print(a, "</div></div>\n");
    }
}

static void print_differences(const page *a, const page *b) {
    const explain_differences *t = explain_table(a->e, b->e);
    page_print(a, "<section id=\"differences\" aria-labelledby=\"h-differences\"><h2 id=\"h-differences\">"
                  "What differs</h2>\n");
    print_glance(a, b);
    page_print(a, "<div class=\"scroll card\"><table>\n<thead><tr><th scope=\"col\"></th><th scope=\"col\">");
    page_words(a, a->e->s->kernel->name);
    page_print(a, "</th><th scope=\"col\">");
    page_words(a, b->e->s->kernel->name);
    page_print(a, "</th></tr></thead>\n<tbody>\n");
    print_rows(a, t, true);
    page_print(a, "</tbody><tbody>\n");
    print_rows(a, t, false);
    page_print(a, "</tbody></table></div></section>\n");
}

/* ---- the page ------------------------------------------------------------------------------------------ */

static void print_head(const page *p, int n, const page *second) {
    page_print(
        p, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
           "content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" "
           "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>");
    page_words(p, p->e->s->kernel->name);
    if (n > 1) {
        page_print(p, " and ");
        page_words(p, second->e->s->kernel->name);
    }
    page_print(p, ": what it does to memory</title>\n<style>\n");
    text_add(p->out, tg_report_file_explain_css);
    text_add(p->out, tg_report_file_picture_css);
    page_print(
        p, "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#k1-code\">To the code</a>\n<header>\n<h1>");
    page_words(p, p->e->s->kernel->name);
    if (n > 1) {
        page_print(p, " and ");
        page_words(p, second->e->s->kernel->name);
    }
    page_print(p, "</h1>\n");
}

static void print_navigation(const page *p, int n) {
    static const char *const parts[][2] = {{"findings", "Findings"},
                                           {"launch", "Launch"},
                                           {"code", "Code and costs"},
                                           {"pictures", "Pictures"},
                                           {"why", "Decisions"}};
    page_print(p, "<nav aria-label=\"Parts of this page\"><ul>\n");
    if (n > 1) {
        page_print(p, "<li><a href=\"#differences\">What differs</a></li>\n");
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < 5; j++) {
            page_print(p, "<li><a href=\"#k%d-%s\">%s%s</a></li>\n", i + 1, parts[j][0], parts[j][1],
                       i ? " of the second" : "");
        }
    }
    page_print(p, "</ul></nav>\n</header>\n<main>\n");
}

void explain_html(const explained *const *all, int n, text *out) {
    page p[2];
    for (int i = 0; i < n; i++) {
        p[i] = make_page(all[i], i + 1, out);
    }
    print_head(&p[0], n, &p[n - 1]);
    print_navigation(&p[0], n);
    if (n > 1) {
        print_differences(&p[0], &p[1]);
    }
    for (int i = 0; i < n; i++) {
        print_kernel(&p[i]);
    }
    page_print(&p[0],
               "</main>\n<footer class=\"quiet\">Made by tegula explain, from simulated addresses.</footer>\n"
               "<script>\n");
    text_add(out, tg_report_file_explain_js);
    page_print(&p[0], "</script>\n</body>\n</html>\n");
}
