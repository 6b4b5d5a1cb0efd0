/* explain_panes.c -- C and CUDA side by side, costs in the margin of both, pictures beside.
 *
 * The number of a line links to the other side: of the source to the first line of CUDA made of it, of CUDA to its
 * line of the source; templates/report/explain.js adds the rest. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tool/explain_page.h"

/* ---- costs --------------------------------------------------------------------------------------------- */

static int picture_of(const page *p, int access) {
    for (int i = 0; i < p->npictures; i++) {
        if (p->picture[i].access == access && p->picture[i].kind != PICTURE_WALK) {
            return i;
        }
    }
    return -1;
}

/* "matrix 32/2": sectors or wavefronts of a request, and the least. */
static void print_cost(const page *p, int access) {
    const cost_row *x = &p->e->cost.row[access];
    const bool global = cost_is_global(x);
    const double actual = cost_per_request(x, global ? x->sectors : x->wavefronts);
    const double least = cost_per_request(x, global ? x->least_sectors : x->least_wavefronts);
    const int shown = picture_of(p, access);
    int last;
    const char *unit = global ? "sectors" : "wavefronts";
    if (shown >= 0) {
        page_print(p, "<a class=\"cost %s\" href=\"#k%d-p%d\"", page_class(x), p->number, shown);
    } else {
        page_print(p, "<span class=\"cost %s\"", page_class(x));
    }
    page_print(p, " title=\"%s ", explain_op_words(x->op));
    page_words(p, x->ref->buffer->name);
    page_print(p, ": %.4g %s a request, %.4g needed: %.4g %%; %" PRId64 " requests\">", actual, unit, least,
               100 * cost_efficiency(x), x->requests);
    page_words(p, x->ref->buffer->name);
    page_print(p, " %.3g/%.3g %s", actual, least, global ? "sec" : "wf");
    if (explain_count_alike(p->e, access, &last) > 0) {
        page_print(p, ", %d times", 1 + explain_count_alike(p->e, access, &last));
    }
    page_print(p, "</%s>", shown >= 0 ? "a" : "span");
}

static bool stands_at(const page *p, int access, bool is_cuda, int line) {
    const tg_loc at = p->e->cost.row[access].ref->at;
    return is_cuda ? p->e->cuda_line[access] == line : page_has_line(p, at) && at.line == line;
}

/* Of a line of the source, or of one of the CUDA text. */
static void print_costs(const page *p, bool is_cuda, int line) {
    bool has_any = false;
    for (int i = 0; i < p->e->cost.n; i++) {
        const int access = p->e->order[i];
        if (p->e->alike[access] == access && stands_at(p, access, is_cuda, line)) {
            page_print(p, "%s", has_any ? "" : "<span class=\"costs\">");
            print_cost(p, access);
            has_any = true;
        }
    }
    page_print(p, "%s", has_any ? "</span>" : "");
}

/* Of the worst access: the colour of the margin; "": there is none. */
static const char *line_class(const page *p, bool is_cuda, int line) {
    const cost_row *worst = NULL;
    for (int i = 0; i < p->e->cost.n; i++) {
        const cost_row *x = &p->e->cost.row[i];
        if (stands_at(p, i, is_cuda, line) && (!worst || cost_efficiency(x) < cost_efficiency(worst))) {
            worst = x;
        }
    }
    return worst ? page_class(worst) : "";
}

/* ---- panes --------------------------------------------------------------------------------------------- */

static int spaces(const char *s) {
    return (int)strspn(s, " \t");
}

static void print_source(const page *p) {
    int indent = 100;
    for (int i = p->first; i <= p->last; i++) {
        const char *line = source_line(p->source, i);
        indent = *line && spaces(line) < indent ? spaces(line) : indent;
    }
    page_print(p, "<section class=\"pane card\" aria-label=\"The kernel in C\"><h4>");
    page_words(p, p->source->file);
    page_print(p, "</h4>\n<ol>\n");
    for (int i = p->first; i <= p->last; i++) {
        const char *line = source_line(p->source, i);
        const int cuda = page_cuda_line(p, i);
        page_print(p, "<li id=\"k%d-c%d\" class=\"%s\"", p->number, i, line_class(p, false, i));
        if (cuda) {
            page_print(
                p,
                " data-l=\"%d\"><a class=\"n\" href=\"#k%d-u%d\" aria-label=\"line %d, to its CUDA\">%d</a>",
                i, p->number, cuda, i, i);
        } else {
            page_print(p, "><span class=\"n\">%d</span>", i);
        }
        page_print(p, "<code>");
        page_words(p, line + (spaces(line) < indent ? spaces(line) : indent));
        page_print(p, "</code>");
        print_costs(p, false, i);
        page_print(p, "</li>\n");
    }
    page_print(p, "</ol></section>\n");
}

static void print_cuda_line(const page *p, int number, const char *line, int length) {
    const cuda_text *cuda = &p->e->s->result.cuda;
    const tg_loc at = cuda->line[number - 1];
    const bool is_linked = page_has_line(p, at) && length > 0;
    page_print(p, "<li id=\"k%d-u%d\" class=\"%s\"", p->number, number, line_class(p, true, number));
    if (is_linked) {
        page_print(
            p,
            " data-l=\"%d\"><a class=\"n\" href=\"#k%d-c%d\" aria-label=\"CUDA line %d, to line %d\">%d</a>",
            at.line, p->number, at.line, number, at.line, number);
    } else {
        page_print(p, "><span class=\"n\">%d</span>", number);
    }
    page_print(p, "<code>");
    page_words(p, arena_print(&p->e->s->memory, "%.*s", length, line));
    page_print(p, "</code>");
    print_costs(p, true, number);
    page_print(p, "</li>\n");
}

static void print_cuda(const page *p) {
    const cuda_text *cuda = &p->e->s->result.cuda;
    const char *line = cuda->text.s;
    page_print(
        p,
        "<section class=\"pane card\" aria-label=\"The CUDA made of it\"><h4>CUDA for %s, from line %d on: "
        "what stands above is the same for many kernels</h4>\n<ol>\n",
        p->e->s->target->name, cuda->body_line);
    for (int i = 1; i <= cuda->nlines && line; i++) {
        const char *end = strchr(line, '\n');
        const int length = end ? (int)(end - line) : (int)strlen(line);
        if (i >= cuda->body_line) {
            print_cuda_line(p, i, line, length);
        }
        line = end ? end + 1 : NULL;
    }
    page_print(p, "</ol></section>\n");
}

void page_panes(const page *p) {
    page_print(p, "<div class=\"side\">\n");
    print_source(p);
    print_cuda(p);
    page_print(p, "</div>\n");
}

/* ---- pictures ------------------------------------------------------------------------------------------ */

void page_figure(const page *p, int number, const char *anchor) {
    const picture *x = &p->picture[number];
    page_print(p, "<figure class=\"card\"");
    if (anchor) {
        page_print(p, " id=\"k%d-%s%d\" data-l=\"%d\"", p->number, anchor, number, x->at.line);
    }
    page_print(p, ">\n");
    picture_draw(p->e, x, true, p->out);
    page_print(p, "<figcaption>");
    page_words(p, x->title);
    page_print(p, ", ");
    page_place(p, x->at);
    if (x->access >= 0 && x->kind != PICTURE_WALK && *p->e->why[x->access]) {
        page_print(p, ": ");
        page_words(p, p->e->why[x->access]);
    }
    int last;
    if (x->access >= 0 && x->kind != PICTURE_WALK && explain_count_alike(p->e, x->access, &last) > 0) {
        page_print(p, "; the same at %d more places, as far as ",
                   explain_count_alike(p->e, x->access, &last));
        page_words(p, explain_place(p->e, p->e->cost.row[last].ref));
    }
    page_print(p, "</figcaption></figure>\n");
}

void page_pictures(const page *p) {
    page_print(p, "<div class=\"pictures\" tabindex=\"0\" role=\"group\" aria-label=\"Pictures\">\n");
    for (int i = 0; i < p->npictures; i++) {
        page_figure(p, i, "p");
    }
    page_print(p, "</div>\n");
}
