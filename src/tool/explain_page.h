/* explain_page.h -- what the parts of the HTML report share.
 *
 *     explain_html.c     the page: head, differences, findings, launch, decisions
 *     explain_panes.c    C and CUDA side by side with costs, and the pictures beside
 *
 * Anchors of kernel number i begin with "ki-": lines of the source ki-c80, of the CUDA text ki-u23, pictures
 * ki-p4, sections ki-launch.. */
#ifndef TOOL_EXPLAIN_PAGE_H
#define TOOL_EXPLAIN_PAGE_H

#include "tool/explain.h"
#include "tool/picture.h"
#include "tool/source.h"

typedef struct page {
    text *out;
    const explained *e;
    int number; /* from 1 */
    const source *source;
    int first, last; /* lines of the kernel in it */
    int npictures;
    picture *picture;
} page;

/* format with its text escaped is not what this is: the format is HTML, its arguments must be harmless. */
void page_print(const page *p, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
void page_words(const page *p, const char *words); /* escaped */
/* "gemv.c:80", a link where the line is on the page. */
void page_place(const page *p, tg_loc at);
/* "bad", "fair", "good" */
const char *page_class(const cost_row *x);
/* The first CUDA line made of a line of the source; 0: none. */
int page_cuda_line(const page *p, int line);
bool page_has_line(const page *p, tg_loc at);

void page_panes(const page *p);
void page_pictures(const page *p);
void page_figure(const page *p, int number, const char *anchor);

#endif
