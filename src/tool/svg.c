/* svg.c -- writes SVG. */
#include "tool/svg.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report_files.h"

enum { MARGIN = 12, KEY = 10 };

/* Hundredths of a pixel are enough. */
static double rounded(double x) {
    return round(x * 100) / 100;
}

void xml_escape(const char *s, text *out) {
    for (; *s; s++) {
        switch (*s) {
        case '&':
            text_add(out, "&amp;");
            break;
        case '<':
            text_add(out, "&lt;");
            break;
        case '>':
            text_add(out, "&gt;");
            break;
        case '"':
            text_add(out, "&quot;");
            break;
        default: /* control characters have no place in XML */
            text_add_n(out, (unsigned char)*s < 32 && *s != '\n' && *s != '\t' ? " " : s, 1);
        }
    }
}

/* Room that the picture has at least. */
static void room(svg *s, double width, double height) {
    s->width = width > s->width ? width : s->width;
    s->height = height > s->height ? height : s->height;
}

static text *path_of(svg *s, const char *class) {
    for (int i = 0; i < s->nclasses; i++) {
        if (strcmp(s->box[i].name, class) == 0) {
            return &s->box[i].path;
        }
    }
    if (s->nclasses == SVG_CLASSES) {
        svg_layer(s);
    }
    s->box[s->nclasses].name = class;
    return &s->box[s->nclasses++].path;
}

void svg_box(svg *s, const char *class, double x, double y, double width, double height) {
    room(s, x + width, y + height);
    text_print(path_of(s, class), "M%g %gh%gv%gh%gz", rounded(x), rounded(y), rounded(width), rounded(height),
               -rounded(width));
}

void svg_line(svg *s, const char *class, double x1, double y1, double x2, double y2) {
    room(s, fmax(x1, x2), fmax(y1, y2));
    text_print(path_of(s, class), "M%g %gL%g %g", rounded(x1), rounded(y1), rounded(x2), rounded(y2));
}

void svg_layer(svg *s) {
    for (int i = 0; i < s->nclasses; i++) {
        text_print(&s->body, "<path class=\"%s\" d=\"%s\"/>\n", s->box[i].name, s->box[i].path.s);
        text_free(&s->box[i].path);
    }
    s->nclasses = 0;
    text_add_n(&s->body, s->words.s ? s->words.s : "", s->words.length);
    text_free(&s->words);
}

/* Letters of unknown width: what they take at most. */
static double width_of(const char *class, const char *words) {
    const double letter = strstr(class, "title") ? 7.2 : strstr(class, "cell") ? 4.9 : 6.02;
    return letter * (double)strlen(words);
}

void svg_text(svg *s, const char *class, double x, double y, const char *format, ...) {
    char words[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    const bool is_middle = strstr(class, "mid") || strstr(class, "cell");
    const double share = strstr(class, "end") ? 0 : is_middle ? 0.5 : 1;
    room(s, x + share * width_of(class, words), y + 3);
    text_print(&s->words, "<text class=\"%s\" x=\"%g\" y=\"%g\">", class, rounded(x), rounded(y));
    xml_escape(words, &s->words);
    text_add(&s->words, "</text>\n");
}

/* The words of a key; where its square goes, into x. */
static double place_key(svg *s, svg_keys *k, const char *words) {
    const double width = KEY + 5 + width_of("", words);
    k->x = k->x > 0 ? k->x : k->left;
    if (k->x > k->left && k->x + width > k->right) {
        k->x = k->left;
        k->y += 16;
    }
    const double x = k->x;
    svg_text(s, "", x + KEY + 5, k->y, "%s", words);
    k->x += width + 14;
    return x;
}

void svg_key(svg *s, svg_keys *k, const char *class, const char *format, ...) {
    char words[256];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    const double x = place_key(s, k, words);
    svg_box(s, class, x, k->y - KEY + 1, KEY, KEY);
}

void svg_key_bars(svg *s, svg_keys *k, const char *class, const char *words) {
    const double x = place_key(s, k, words), y = k->y - KEY / 2.0 + 1;
    svg_line(s, class, x, y, x + KEY, y);
}

void svg_finish(svg *s, const svg_how *how, text *out) {
    const double width = ceil(s->width + MARGIN), height = ceil(s->height + MARGIN);
    svg_layer(s);
    text_print(
        out,
        "<svg class=\"tegula\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
        "width=\"%g\" height=\"%g\">\n<title>",
        width, height, width, height);
    xml_escape(how->title, out);
    text_add(out, "</title>\n<desc>");
    xml_escape(how->description, out);
    text_add(out, "</desc>\n");
    if (!how->is_part) {
        text_print(out, "<style>\n%s</style>\n<rect class=\"paper\" width=\"%g\" height=\"%g\"/>\n",
                   tg_report_file_picture_css, width, height);
    }
    text_add_n(out, s->body.s ? s->body.s : "", s->body.length);
    text_add(out, "</svg>\n");
    out->failed = out->failed || s->body.failed;
    text_free(&s->body);
    *s = (svg){0};
}
