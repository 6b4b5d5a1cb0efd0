/* picture_walk.c -- a tensor: which part is which block's, and how one block goes through its own.
 *
 *     +----------------+        +----------------------------+
 *     |0     |1     |2 |        |light .. dark               |   in the order of steps, a step being a warp's
 *     |3     |4     |5 |        |                            |   next request; one step only: by warp
 *     +----------------+        +----------------------------+
 *      parts of blocks           the part of one block
 *
 * The part of one block is simulated; those of others lie as much further on as their addresses do. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tool/picture.h"

enum { TOP = 74, MAP_WIDTH = 230, MAP_HEIGHT = 230, PART_WIDTH = 440, GAP = 60, ROWS = 32, COLUMNS = 56 };
enum { SHOWN = 10, MAX_BLOCKS = 1 << 16, SHADES = 10 };

/* Rows of a tensor, and bytes in a row; ends excluded. */
typedef struct area {
    int64_t top, bottom, left, right;
} area;

typedef struct sheet {
    const explained *e;
    const picture *p;
    svg *s;
    const trace_walk *walk;
    int64_t row_bytes, rows;  /* of the tensor; outer dimensions as one */
    area part;                /* of the traced block */
    const block_place *place; /* what tells blocks apart; NULL: nothing */
    double left;
} sheet;

static void find_part(sheet *t) {
    const int64_t size = t->e->s->target->sector_bytes;
    t->part = (area){t->rows, 0, t->row_bytes, 0};
    for (int64_t i = t->walk->first; i <= t->walk->last; i++) {
        if (t->walk->step[i]) {
            const int64_t line = i * size / t->row_bytes, from = i * size % t->row_bytes;
            const int64_t to = from + size < t->row_bytes ? from + size : t->row_bytes;
            t->part.top = line < t->part.top ? line : t->part.top;
            t->part.bottom = line + 1 > t->part.bottom ? line + 1 : t->part.bottom;
            t->part.left = from < t->part.left ? from : t->part.left;
            t->part.right = to > t->part.right ? to : t->part.right;
        }
    }
}

/* ---- parts of blocks ----------------------------------------------------------------------------------- */

/* How many bytes further on the part of a block lies than the traced one's. */
static int64_t further(const sheet *t, int64_t block) {
    const block_kinds *k = &t->e->cost.kinds;
    const int64_t *at = t->e->trace.block;
    const int64_t own = at[0] + k->grid[0] * (at[1] + k->grid[1] * at[2]);
    return t->place ? block_place_base(k, t->place, block) - block_place_base(k, t->place, own) : 0;
}

static area part_of(const sheet *t, int64_t block) {
    const int64_t by = further(t, block);
    int64_t down = by / t->row_bytes, bytes = by % t->row_bytes;
    down -= bytes < 0;
    bytes += bytes < 0 ? t->row_bytes : 0;
    return (area){t->part.top + down, t->part.bottom + down, t->part.left + bytes, t->part.right + bytes};
}

/* Do the parts of the first blocks lie apart? */
static bool differ(const sheet *t) {
    const int64_t n = t->e->cost.kinds.blocks;
    for (int64_t i = 1; i < n && i < MAX_BLOCKS; i++) {
        if (further(t, i) != further(t, 0)) {
            return true;
        }
    }
    return false;
}

/* ---- the map ------------------------------------------------------------------------------------------- */

/* As much of the tensor as holds SHOWN parts in each direction. */
static area choose_window(const sheet *t) {
    const int64_t bottom = SHOWN * (t->part.bottom - t->part.top),
                  right = SHOWN * (t->part.right - t->part.left);
    return (area){0, bottom < t->rows ? bottom : t->rows, 0, right < t->row_bytes ? right : t->row_bytes};
}

static double map_height(const sheet *t, const area *window) {
    const int64_t parts = window->bottom / (t->part.bottom - t->part.top);
    return parts * 18 < 24 ? 24 : parts * 18 > MAP_HEIGHT ? MAP_HEIGHT : (double)parts * 18;
}

static void draw_part(const sheet *t, const area *window, const area *part, const char *class) {
    const double high = map_height(t, window) / (double)window->bottom,
                 wide = (double)MAP_WIDTH / (double)window->right;
    const int64_t bottom = part->bottom < window->bottom ? part->bottom : window->bottom,
                  right = part->right < window->right ? part->right : window->right;
    if (part->top < bottom && part->left < right) {
        svg_box(t->s, class, PICTURE_LEFT + (double)part->left * wide, TOP + (double)part->top * high,
                (double)(right - part->left) * wide, (double)(bottom - part->top) * high);
    }
}

/* "5", or "5,2" where the grid has two directions. */
static void draw_number(const sheet *t, const area *window, const area *part, int64_t block) {
    const int64_t *grid = t->e->cost.kinds.grid;
    const double high = map_height(t, window) / (double)window->bottom,
                 wide = (double)MAP_WIDTH / (double)window->right;
    const double x = PICTURE_LEFT + (double)(part->left + part->right) / 2 * wide,
                 y = TOP + (double)(part->top + part->bottom) / 2 * high + 3;
    char words[48];
    if (part->bottom > window->bottom || part->right > window->right) {
        return;
    }
    if (grid[1] * grid[2] == 1) {
        snprintf(words, sizeof words, "%" PRId64, block);
    } else {
        snprintf(words, sizeof words, "%" PRId64 ",%" PRId64, block % grid[0], block / grid[0] % grid[1]);
    }
    if (4.8 * (double)strlen(words) <= (double)(part->right - part->left) * wide + 1) {
        svg_text(t->s, "cell", x, y, "%s", words);
    }
}

static bool is_drawn(const area *drawn, int n, const area *part) {
    for (int i = 0; i < n; i++) {
        if (drawn[i].top == part->top && drawn[i].left == part->left) {
            return true;
        }
    }
    return false;
}

/* Where several blocks have one part, the first is named. */
static bool draw_parts(const sheet *t, const area *window) {
    const int64_t n = t->e->cost.kinds.blocks;
    area drawn[SHOWN * SHOWN];
    int ndrawn = 0;
    bool is_shared = false;
    for (int64_t i = 0; i < n && i < MAX_BLOCKS && ndrawn < SHOWN * SHOWN; i++) {
        const area part = part_of(t, i);
        const bool inside =
            part.top < window->bottom && part.left < window->right && part.top >= 0 && part.left >= 0;
        if (inside && is_drawn(drawn, ndrawn, &part)) {
            is_shared = true;
        } else if (inside) {
            draw_part(t, window, &part, picture_colour(ndrawn));
            draw_number(t, window, &part, i);
            drawn[ndrawn++] = part;
        }
    }
    return is_shared;
}

static void draw_map(const sheet *t) {
    const block_kinds *k = &t->e->cost.kinds;
    const area window = choose_window(t);
    const double height = map_height(t, &window);
    double y = TOP + height + 16;
    const bool is_everybodys = k->kind && k->blocks > 1 && !differ(t);
    svg_box(t->s, "empty", PICTURE_LEFT, TOP, MAP_WIDTH, height);
    const bool is_shared = k->kind && !is_everybodys && draw_parts(t, &window);
    svg_layer(t->s);
    draw_part(t, &window, &t->part, is_everybodys ? "c0" : "frame");
    svg_box(t->s, "rule", PICTURE_LEFT, TOP, MAP_WIDTH, height);
    svg_text(t->s, "soft", PICTURE_LEFT, y, "%s",
             !k->kind         ? "Framed: the part of one block."
             : k->blocks == 1 ? "There is one block."
             : is_everybodys  ? "Every block meets this part."
             : is_shared      ? "The number of the first block that meets it."
                              : "The number of the block whose part it is.");
    if (window.bottom < t->rows || window.right < t->row_bytes) {
        svg_text(t->s, "soft", PICTURE_LEFT, y + 15, "Cropped to %" PRId64 " x %" PRId64 " elements.",
                 window.bottom, window.right / type_bytes(t->p->buffer->type));
    }
}

/* ---- the part of one block ----------------------------------------------------------------------------- */

typedef struct bin {
    int32_t step; /* the first; 0: not reached */
    uint8_t warp;
} bin;

static void fill_bins(const sheet *t, int lines, int columns, bin *bins) {
    const int64_t size = t->e->s->target->sector_bytes;
    const int64_t high = t->part.bottom - t->part.top, wide = t->part.right - t->part.left;
    for (int64_t i = t->walk->first; i <= t->walk->last; i++) {
        if (t->walk->step[i]) {
            const int64_t line = (i * size / t->row_bytes - t->part.top) * lines / high;
            const int64_t from = i * size % t->row_bytes - t->part.left;
            const int64_t to = from + size < wide ? from + size : wide;
            for (int64_t c = from * columns / wide; c < columns && c * wide < to * columns; c++) {
                bin *b = &bins[line * columns + c];
                if (b->step == 0 || t->walk->step[i] < b->step) {
                    *b = (bin){t->walk->step[i], t->walk->warp[i]};
                }
            }
        }
    }
}

static const char *shade(const sheet *t, const bin *b) {
    static const char *const names[SHADES] = {"walk s0", "walk s1", "walk s2", "walk s3", "walk s4",
                                              "walk s5", "walk s6", "walk s7", "walk s8", "walk s9"};
    const int64_t steps = t->walk->most_steps;
    return b->step == 0 ? "empty"
           : steps == 1 ? picture_colour(b->warp)
                        : names[(int64_t)(b->step - 1) * (SHADES - 1) / (steps - 1)];
}

static double draw_bins(const sheet *t) {
    const int64_t high = t->part.bottom - t->part.top, wide = t->part.right - t->part.left;
    const int64_t sectors = (wide + t->e->s->target->sector_bytes - 1) / t->e->s->target->sector_bytes;
    const int lines = high < ROWS ? (int)high : ROWS, columns = sectors < COLUMNS ? (int)sectors : COLUMNS;
    bin *bins = ARENA_ARRAY(&t->e->s->memory, bin, lines * columns);
    const double width = (double)PART_WIDTH / columns, height = lines < 8 ? 18 : 230.0 / lines;
    fill_bins(t, lines, columns, bins);
    for (int i = 0; i < lines; i++) {
        for (int c = 0, n; c < columns; c += n) {
            const char *class = shade(t, &bins[i * columns + c]);
            n = 1;
            while (c + n < columns && shade(t, &bins[i * columns + c + n]) == class) {
                n++;
            }
            svg_box(t->s, class, t->left + c * width, TOP + i * height, n * width, height);
        }
    }
    svg_layer(t->s);
    svg_box(t->s, "frame", t->left, TOP, PART_WIDTH, lines * height);
    return TOP + lines * height;
}

static void draw_steps(const sheet *t, double y) {
    const int32_t steps = t->walk->most_steps;
    svg_keys k = {t->left, t->left + PART_WIDTH, 0, y + 16};
    for (int i = 0; steps == 1 && i < t->walk->warps && i < PICTURE_COLOURS; i++) {
        svg_key(t->s, &k, picture_colour(i), "warp %d", i);
    }
    if (steps == 1) {
        return;
    }
    svg_text(t->s, "soft", t->left, k.y, "step 1");
    for (int i = 0; i < SHADES; i++) {
        const bin b = {1 + (int32_t)((int64_t)i * (steps - 1) / (SHADES - 1)), 0};
        svg_box(t->s, shade(t, &b), t->left + 42 + 14 * i, k.y - 9, 14, 10);
    }
    svg_text(t->s, "soft", t->left + 42 + 14 * SHADES + 6, k.y,
             "step %" PRId32 ", a step being a warp's next request", steps);
}

static const char *element(const sheet *t, int64_t line, int64_t byte) {
    return picture_element(&t->e->s->memory, t->p->buffer, line * t->row_bytes + byte);
}

void picture_walk(const explained *e, const picture *p, svg *s) {
    const buffer *b = p->buffer;
    const int64_t size = type_bytes(b->type);
    sheet t = {.e = e, .p = p, .s = s, .walk = p->walk, .left = PICTURE_LEFT + MAP_WIDTH + GAP};
    t.row_bytes = b->rank ? (b->pitch ? b->pitch : b->dim[b->rank - 1]) * size : size;
    t.rows = (buffer_bytes(b) + t.row_bytes - 1) / t.row_bytes;
    find_part(&t);
    t.place = e->cost.kinds.kind ? block_kinds_place(&e->cost.kinds, e->cost.row[p->access].ref) : NULL;
    const int64_t *at = e->trace.block;
    svg_text(s, "title", PICTURE_LEFT, 20, "%s", p->title);
    svg_text(s, "code soft", PICTURE_LEFT, 36, "%s  %.72s", picture_place(&e->s->memory, p->at),
             explain_place(e, e->cost.row[p->access].ref));
    svg_text(s, "", PICTURE_LEFT, TOP - 8, "%s, %" PRId64 " x %" PRId64 ": parts of blocks", b->name, t.rows,
             t.row_bytes / size);
    svg_text(s, "", t.left, TOP - 8, "the part of block %" PRId64 ",%" PRId64 ",%" PRId64 ": from %s to %s",
             at[0], at[1], at[2], element(&t, t.part.top, t.part.left),
             element(&t, t.part.bottom - 1, t.part.right - 1));
    draw_map(&t);
    draw_steps(&t, draw_bins(&t));
}
