/* picture_sectors.c -- one instruction on global memory: lanes on their elements, sectors marked.
 *
 *     [0, 0]   |0|1|2|3|..|15 16|..|31|          one line for each stretch of memory, in the order of addresses
 *     [1, 0]   |w1 ...                |
 *              '-- sector --'-- sector --'
 *
 * The first warp has its lane numbers; the others stand beside it as far as there is room, paler, and as a strip
 * where they share a sector with it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/picture.h"

enum {
    MAX_LINES = 32,
    LINE_HEIGHT = 18,
    CELL_HEIGHT = 14,
    TOP = 88,
    STRIP = 4,
    WIDEST = 640,
    MAX_SECTORS = 8192
};

/* Lanes of one warp that meet the same bytes. */
typedef struct cell {
    int64_t from; /* byte */
    int bytes, warp;
    uint64_t lanes;
} cell;

/* Neighbouring sectors from `first` on. */
typedef struct line {
    int64_t first;
} line;

typedef struct sheet {
    const explained *e;
    const picture *p;
    svg *s;
    int warps; /* shown */
    int ncells;
    cell *cell;
    int nsectors; /* that these warps meet */
    int64_t *sector;
    int nlines;
    line line[MAX_LINES];
    int64_t hidden; /* lines for which there was no room */
    int line_sectors;
    double left, per_byte;
} sheet;

/* ---- what is met --------------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b) {
    const cell *x = a, *y = b;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : x->warp - y->warp;
}

static int by_number(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void add_cells(sheet *t, const sim_access *a, int warp) {
    int lane[64];
    const int begin = t->ncells, n = picture_lane_numbers(a, lane);
    for (int i = 0; i < n; i++) {
        int j = begin;
        while (j < t->ncells && t->cell[j].from != (int64_t)a->address[i]) {
            j++;
        }
        if (j == t->ncells) {
            t->cell[t->ncells++] = (cell){(int64_t)a->address[i], a->bytes, warp, 0};
        }
        t->cell[j].lanes |= (uint64_t)1 << lane[i];
    }
}

static void find_sectors(sheet *t) {
    const int64_t size = t->e->s->target->sector_bytes;
    int kept = 0;
    t->nsectors = 0;
    for (int i = 0; i < t->ncells; i++) {
        const int64_t last = (t->cell[i].from + t->cell[i].bytes - 1) / size;
        for (int64_t at = t->cell[i].from / size; at <= last && t->nsectors < MAX_SECTORS; at++) {
            t->sector[t->nsectors++] = at;
        }
    }
    qsort(t->sector, (size_t)t->nsectors, sizeof *t->sector, by_number);
    for (int i = 0; i < t->nsectors; i++) {
        if (kept == 0 || t->sector[kept - 1] != t->sector[i]) {
            t->sector[kept++] = t->sector[i];
        }
    }
    t->nsectors = kept;
}

/* ---- lines --------------------------------------------------------------------------------------------- */

/* Narrow lanes are drawn wider, so that there is room for their numbers. */
static void choose_scale(sheet *t) {
    const int64_t size = t->e->s->target->sector_bytes;
    const int bytes = t->cell[0].bytes;
    const double per_lane = bytes >= 16 ? 26 : bytes >= 8 ? 22 : bytes >= 4 ? 19 : bytes >= 2 ? 18 : 15;
    t->per_byte = per_lane / bytes;
    for (int i = 0; i < t->ncells; i++) {
        const bool is_shared = (t->cell[i].lanes & (t->cell[i].lanes - 1)) != 0;
        t->per_byte = is_shared && per_lane < 30 ? 30.0 / bytes : t->per_byte;
    }
    t->line_sectors = 1;
    while (2 * t->line_sectors * (double)size * t->per_byte <= WIDEST) {
        t->line_sectors *= 2;
    }
}

static void find_lines(sheet *t) {
    int64_t begin = INT64_MIN;
    t->nlines = 0;
    t->hidden = 0;
    for (int i = 0; i < t->nsectors; i++) {
        if (begin == INT64_MIN || t->sector[i] >= begin + t->line_sectors) {
            begin = t->sector[i];
            if (t->nlines < MAX_LINES) {
                t->line[t->nlines++] = (line){begin};
            } else {
                t->hidden++;
            }
        }
    }
}

/* As many warps as fit; one at least. */
static void choose_warps(sheet *t) {
    const trace_row *met = t->p->trace;
    for (t->warps = met->n; t->warps > 0; t->warps--) {
        t->ncells = 0;
        for (int i = 0; i < t->warps; i++) {
            add_cells(t, &met->request[i].access, i);
        }
        qsort(t->cell, (size_t)t->ncells, sizeof *t->cell, by_address);
        find_sectors(t);
        choose_scale(t);
        find_lines(t);
        if (t->hidden == 0 || t->warps == 1) {
            break;
        }
    }
}

/* Pixels; false: on no line that is shown. */
static bool place_of(const sheet *t, int64_t byte, double *x, double *y) {
    const int64_t size = t->e->s->target->sector_bytes;
    for (int i = t->nlines - 1; i >= 0; i--) {
        const int64_t from = byte - t->line[i].first * size;
        if (from >= 0) {
            *x = t->left + (double)from * t->per_byte;
            *y = TOP + LINE_HEIGHT * i;
            return from < t->line_sectors * size;
        }
    }
    return false;
}

/* ---- drawing ------------------------------------------------------------------------------------------- */

static bool is_met_by_first(const sheet *t, int64_t sector) {
    const int64_t size = t->e->s->target->sector_bytes;
    for (int i = 0; i < t->ncells; i++) {
        const cell *c = &t->cell[i];
        if (c->warp == 0 && c->from / size <= sector && (c->from + c->bytes - 1) / size >= sector) {
            return true;
        }
    }
    return false;
}

static void draw_sectors(const sheet *t) {
    const int64_t size = t->e->s->target->sector_bytes;
    const double width = (double)size * t->per_byte;
    double x, y;
    for (int i = 0; i < t->nsectors; i++) {
        if (place_of(t, t->sector[i] * size, &x, &y)) {
            svg_box(t->s, "empty", x, y, width, CELL_HEIGHT);
            if (is_met_by_first(t, t->sector[i])) { /* bars: no colour, so that it is no warp's */
                svg_line(t->s, "fetched", x, y + CELL_HEIGHT / 2.0, x + width, y + CELL_HEIGHT / 2.0);
            }
        }
    }
}

static void draw_cells(const sheet *t) {
    static const char *const pale[PICTURE_COLOURS] = {"pale c0", "pale c1", "pale c2", "pale c3",
                                                      "pale c4", "pale c5", "pale c6", "pale c7"};
    arena *a = &t->e->s->memory;
    double x, y;
    for (int i = 0; i < t->ncells; i++) {
        const cell *c = &t->cell[i];
        const bool is_hidden = c->warp > 0 && i > 0 && t->cell[i - 1].from == c->from;
        if (is_hidden || !place_of(t, c->from, &x, &y)) {
            continue; /* a warp before it meets the same bytes */
        }
        const double width = (double)c->bytes * t->per_byte;
        if (c->warp) {
            const int height =
                is_met_by_first(t, c->from / t->e->s->target->sector_bytes) ? STRIP : CELL_HEIGHT;
            svg_box(t->s, pale[c->warp % PICTURE_COLOURS], x, y + CELL_HEIGHT - height, width, height);
        } else {
            svg_box(t->s, "c0", x, y, width, CELL_HEIGHT);
            svg_box(t->s, "edge", x, y, width, CELL_HEIGHT);
            svg_text(t->s, "cell", x + width / 2, y + 10, "%s", picture_lanes(a, c->lanes));
        }
    }
    svg_layer(t->s);
    for (int i = 0; i < t->nsectors; i++) {
        const int64_t size = t->e->s->target->sector_bytes;
        if (place_of(t, t->sector[i] * size, &x, &y)) {
            svg_box(t->s, is_met_by_first(t, t->sector[i]) ? "frame" : "rule", x, y,
                    (double)size * t->per_byte, CELL_HEIGHT);
        }
    }
}

static void draw_labels(const sheet *t) {
    const int64_t size = t->e->s->target->sector_bytes;
    for (int i = 0; i < t->nlines; i++) {
        svg_text(t->s, "code soft end", t->left - 6, TOP + LINE_HEIGHT * i + 10, "%s",
                 picture_element(&t->e->s->memory, t->p->buffer, t->line[i].first * size));
    }
    svg_line(t->s, "frame", t->left, TOP - 6, t->left + (double)size * t->per_byte, TOP - 6);
    svg_line(t->s, "frame", t->left, TOP - 9, t->left, TOP - 3);
    svg_line(t->s, "frame", t->left + (double)size * t->per_byte, TOP - 9,
             t->left + (double)size * t->per_byte, TOP - 3);
    svg_text(t->s, "soft", t->left, TOP - 13, "a sector of %d bytes", (int)size);
}

/* Requests of other warps that meet nothing but what a warp before them meets. */
static int count_hidden_warps(const sheet *t) {
    int hidden = 0;
    for (int w = 1; w < t->warps; w++) {
        bool is_hidden = true;
        for (int i = 0; i < t->ncells && is_hidden; i++) {
            is_hidden = t->cell[i].warp != w || (i > 0 && t->cell[i - 1].from == t->cell[i].from);
        }
        hidden += is_hidden;
    }
    return hidden;
}

static void draw_head(const sheet *t, const cost_request *c) {
    arena *a = &t->e->s->memory;
    const cost_row *x = &t->e->cost.row[t->p->access];
    const sim_access *first = &t->p->trace->request[0].access;
    const int size = t->e->s->target->sector_bytes;
    svg_text(t->s, "title", PICTURE_LEFT, 20, "%s: one instruction of a warp", t->p->title);
    svg_text(t->s, "code soft", PICTURE_LEFT, 36, "%s  %.72s", picture_place(a, t->p->at),
             explain_place(t->e, x->ref));
    svg_text(t->s, c->least_sectors < c->sectors ? "bad" : "good", PICTURE_LEFT, 52,
             "%d lane%s x %d byte%s: %d sector%s, %d needed; %d of %d bytes used (%.4g %%)", first->lanes,
             first->lanes == 1 ? "" : "s", first->bytes, first->bytes == 1 ? "" : "s", c->sectors,
             c->sectors == 1 ? "" : "s", c->least_sectors, c->used, c->sectors * size,
             100.0 * c->used / (c->sectors * size));
}

static void draw_keys(const sheet *t, const cost_request *c) {
    static const char *const pale[PICTURE_COLOURS] = {"",        "pale c1", "pale c2", "pale c3",
                                                      "pale c4", "pale c5", "pale c6", "pale c7"};
    svg_keys k = {PICTURE_LEFT, PICTURE_RIGHT, 0, TOP + LINE_HEIGHT * t->nlines + 14};
    const trace_row *met = t->p->trace;
    const sim_access *first = &met->request[0].access;
    const int wave = t->e->s->target->wave, hidden = count_hidden_warps(t);
    svg_key(t->s, &k, "c0", "warp %d, with the numbers of its lanes%s", first->first_thread / wave,
            first->bytes > type_bytes(t->p->buffer->type) ? " (each several elements)" : "");
    if (c->used < c->sectors * t->e->s->target->sector_bytes) {
        svg_key_bars(t->s, &k, "fetched", "brought for it, not used by it");
    }
    for (int i = 1; hidden < t->warps - 1 && i < t->warps && i < PICTURE_COLOURS; i++) {
        svg_key(t->s, &k, pale[i], "warp %d%s", met->request[i].access.first_thread / wave,
                i == PICTURE_COLOURS - 1 && t->warps > PICTURE_COLOURS ? "; colours repeat" : "");
    }
    if (hidden) {
        svg_text(t->s, "soft", PICTURE_LEFT, k.y += 17, "%d more warp%s meet%s the same bytes.", hidden,
                 hidden == 1 ? "" : "s", hidden == 1 ? "s" : "");
    }
    if (t->warps < met->n) {
        svg_text(t->s, "soft", PICTURE_LEFT, k.y += 17, "Cropped: %d more warps of the block are not shown.",
                 met->n - t->warps);
    }
    if (t->hidden) {
        svg_text(t->s, "soft", PICTURE_LEFT, k.y += 17,
                 "Cropped: %" PRId64 " more lines of this warp are not shown.", t->hidden);
    }
}

void picture_sectors(const explained *e, const picture *p, svg *s) {
    arena *a = &e->s->memory;
    sheet t = {.e = e, .p = p, .s = s};
    size_t widest = 0;
    t.cell = ARENA_ARRAY(a, cell, p->trace->n * 64 + 1);
    t.sector = ARENA_ARRAY(a, int64_t, MAX_SECTORS);
    choose_warps(&t);
    for (int i = 0; i < t.nlines; i++) {
        const size_t n = strlen(picture_element(a, p->buffer, t.line[i].first * e->s->target->sector_bytes));
        widest = n > widest ? n : widest;
    }
    t.left = PICTURE_LEFT + 10 + 6.1 * (double)widest;
    const trace_request *first = &p->trace->request[0];
    const cost_request c = cost_count(e->s->target, TG_GLOBAL, first->op, &first->access);
    draw_head(&t, &c);
    draw_sectors(&t);
    svg_layer(s);
    draw_cells(&t);
    draw_labels(&t);
    draw_keys(&t, &c);
}
