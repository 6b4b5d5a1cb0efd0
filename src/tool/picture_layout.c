/* picture_layout.c -- a fragment: which thread holds which element, in which of its registers.
 *
 *     [0, 0]   |t0 s0-7      |t1 s0-7      |..        s: slots, the thread's registers of this fragment
 *     [1, 0]   |t8 s0-7      |..
 *
 * Colours are warps. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codegen/tile_layout.h"
#include "tool/picture.h"

enum {
    MAX_ROWS = 16,
    MAX_COLUMNS = 64,
    FEW_COLUMNS = 32,
    ROW_HEIGHT = 20,
    CELL_HEIGHT = 17,
    TOP = 62,
    WIDEST = 680
};

/* The lowest thread that holds an element. */
typedef struct holder {
    int64_t thread, slot;
    int64_t holders;
} holder;

typedef struct sheet {
    const explained *e;
    const picture *p;
    const layout *l;
    svg *s;
    int64_t rows, columns; /* of the tile: outer dimensions as one; of rank 1: folded */
    int64_t shown_rows, shown_columns;
    holder held[MAX_ROWS][MAX_COLUMNS];
    double left, width; /* of an element */
} sheet;

static void find_holders(sheet *t) {
    int64_t index[TG_MAX_RANK];
    for (int64_t thread = 0; thread < t->l->threads; thread++) {
        for (int64_t slot = 0; slot < t->l->slots; slot++) {
            int64_t number = 0;
            if (!layout_element(t->l, thread, slot, index)) {
                continue;
            }
            for (int i = 0; i < t->l->rank; i++) {
                number = number * t->l->dim[i] + index[i];
            }
            const int64_t line = number / t->columns, column = number % t->columns;
            if (line < t->shown_rows && column < t->shown_columns) {
                holder *h = &t->held[line][column];
                if (h->holders == 0) {
                    h->thread = thread;
                    h->slot = slot;
                }
                h->holders++;
            }
        }
    }
}

/* Elements from (line, column) on that one thread holds in slots that follow each other. */
static int64_t run_from(const sheet *t, int64_t line, int64_t column) {
    const holder *first = &t->held[line][column];
    int64_t n = 1;
    while (column + n < t->shown_columns) {
        const holder *h = &t->held[line][column + n];
        if (h->holders == 0 || h->thread != first->thread || h->slot != first->slot + n) {
            break;
        }
        n++;
    }
    return n;
}

static void draw_run(const sheet *t, int64_t line, int64_t column, int64_t n) {
    const holder *h = &t->held[line][column];
    const double x = t->left + t->width * (double)column, y = TOP + ROW_HEIGHT * (double)line,
                 width = t->width * (double)n;
    char words[64];
    if (h->holders == 0) {
        svg_box(t->s, "empty", x, y, width, CELL_HEIGHT);
        return;
    }
    svg_box(t->s, picture_colour(h->thread / t->e->s->target->wave), x, y, width, CELL_HEIGHT);
    svg_box(t->s, "edge", x, y, width, CELL_HEIGHT);
    if (n == 1) {
        snprintf(words, sizeof words, "t%" PRId64 " s%" PRId64, h->thread, h->slot);
    } else {
        snprintf(words, sizeof words, "t%" PRId64 " s%" PRId64 "-%" PRId64, h->thread, h->slot,
                 h->slot + n - 1);
    }
    if (4.8 * (double)strlen(words) > width) {
        snprintf(words, sizeof words, "t%" PRId64, h->thread);
    }
    if (4.8 * (double)strlen(words) <= width + 1) {
        svg_text(t->s, "cell", x + width / 2, y + 12, "%s", words);
    }
}

static void draw_tile(const sheet *t) {
    for (int64_t line = 0; line < t->shown_rows; line++) {
        svg_text(t->s, "code soft end", t->left - 6, TOP + ROW_HEIGHT * (double)line + 12, "%" PRId64,
                 t->l->rank < 2 ? line * t->columns : line);
        for (int64_t column = 0, n; column < t->shown_columns; column += n) {
            n = run_from(t, line, column);
            draw_run(t, line, column, n);
        }
    }
}

static void draw_foot(const sheet *t) {
    const layout *l = t->l;
    const int wave = t->e->s->target->wave;
    svg_keys k = {PICTURE_LEFT, PICTURE_RIGHT, 0, TOP + ROW_HEIGHT * (double)t->shown_rows + 14};
    int64_t most = 0;
    bool seen[PICTURE_COLOURS] = {false};
    for (int64_t line = 0; line < t->shown_rows; line++) {
        for (int64_t column = 0; column < t->shown_columns; column++) {
            const holder *h = &t->held[line][column];
            most = h->holders > most ? h->holders : most;
            seen[h->thread / wave % PICTURE_COLOURS] |= h->holders > 0;
        }
    }
    for (int i = 0; i < PICTURE_COLOURS; i++) {
        if (seen[i]) {
            svg_key(t->s, &k, picture_colour(i), "warp %d%s", i,
                    l->threads > PICTURE_COLOURS * wave ? ", and every 8th" : "");
        }
    }
    svg_text(t->s, "soft", PICTURE_LEFT, k.y += 17,
             "t: thread of the block; s: slot, its register of this fragment.");
    if (most > 1) {
        svg_text(t->s, "soft", PICTURE_LEFT, k.y += 17,
                 "%" PRId64 " threads hold each element; the lowest is named.", most);
    }
    if (t->shown_rows < t->rows || t->shown_columns < t->columns) {
        svg_text(t->s, "soft", PICTURE_LEFT, k.y += 17,
                 "Cropped: %" PRId64 " of %" PRId64 " lines, %" PRId64 " of %" PRId64 " columns are shown.",
                 t->shown_rows, t->rows, t->shown_columns, t->columns);
    }
}

void picture_layout(const explained *e, const picture *p, svg *s) {
    const layout *l = p->buffer->registers;
    sheet *t = ARENA_NEW(&e->s->memory, sheet);
    *t = (sheet){.e = e, .p = p, .l = l, .s = s, .columns = l->rank ? l->dim[l->rank - 1] : 1, .left = 60};
    if (l->rank < 2 && t->columns > FEW_COLUMNS) {
        t->columns = l->run >= 4 ? MAX_COLUMNS : FEW_COLUMNS;
    }
    t->rows = t->columns ? (l->elements + t->columns - 1) / t->columns : 0;
    t->shown_rows = t->rows < MAX_ROWS ? t->rows : MAX_ROWS;
    t->shown_columns = t->columns < MAX_COLUMNS ? t->columns : MAX_COLUMNS;
    t->width = WIDEST / (double)(t->shown_columns > 0 ? t->shown_columns : 1);
    t->width = t->width > 36 ? 36 : t->width;
    find_holders(t);
    svg_text(s, "title", PICTURE_LEFT, 20, "%s", p->title);
    svg_text(s, "code soft", PICTURE_LEFT, 36, "%s  %" PRId64 " slot%s of each of %" PRId64 " threads; %.70s",
             picture_place(&e->s->memory, p->at), l->slots, l->slots == 1 ? "" : "s", l->threads,
             l->why ? l->why : "");
    draw_tile(t);
    draw_foot(t);
}
