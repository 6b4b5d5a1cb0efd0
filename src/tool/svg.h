/* svg.h -- writes an SVG picture: boxes gathered into one path for each class, texts on top of them.
 *
 *     svg s = {0};
 *     svg_box(&s, "c0", x, y, width, height); ..
 *     svg_text(&s, "code", x, y, "%d", lane); ..
 *     svg_finish(&s, &how, &out);
 *
 * Classes and colours, light and dark, stand in templates/report/picture.css.  Pictures grow as they are drawn;
 * svg_finish() knows their size.  In a layer (svg_layer) the texts lie above the boxes, and those in the order in
 * which their classes came. */
#ifndef TOOL_SVG_H
#define TOOL_SVG_H

#include <stdbool.h>

#include "dsl/arena.h"

enum { SVG_CLASSES = 48 };

typedef struct svg {
    double width, height; /* of what was drawn so far */
    int nclasses;
    struct {
        const char *name;
        text path;
    } box[SVG_CLASSES]; /* of the layer that is open */
    text words;         /* of that layer */
    text body;
} svg;

typedef struct svg_how {
    const char *title, *description; /* for people who do not see it */
    bool is_part;                    /* of an HTML page, which carries the style */
} svg_how;

/* `class` is a literal. */
void svg_box(svg *s, const char *class, double x, double y, double width, double height);
void svg_line(svg *s, const char *class, double x1, double y1, double x2, double y2);
void svg_text(svg *s, const char *class, double x, double y, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 5, 6)))
#endif
    ;
/* What follows lies above what was drawn so far. */
void svg_layer(svg *s);
/* Squares of classes with words beside them, in as many lines as they need. */
typedef struct svg_keys {
    double left, right;
    double x, y; /* of the next one; y: its base line */
} svg_keys;
void svg_key(svg *s, svg_keys *k, const char *class, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 4, 5)))
#endif
    ;

/* The same for a class that a wide, dashed line shows. */
void svg_key_bars(svg *s, svg_keys *k, const char *class, const char *words);

/* Adds the whole picture to `out` and frees it. */
void svg_finish(svg *s, const svg_how *how, text *out);

/* With what XML must not hold as it is written out. */
void xml_escape(const char *s, text *out);

#endif
