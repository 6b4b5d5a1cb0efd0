/* picture_banks.c -- one instruction on shared memory: which lane meets which bank.
 *
 *                 0   1   2  ..  31         banks; above them how many words each must give, where that is more
 *     byte 0     |0,1|2,3|   ..             than one
 *     byte 128   |   |   |
 *
 * Rows are 128 bytes of the block's shared memory; a colour is a wavefront. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/banks.h"
#include "tool/picture.h"

enum { MAX_ROWS = 32, ROW_HEIGHT = 18, CELL_HEIGHT = 14, BANK_WIDTH = 22, TOP = 92, MAX_CELLS = 256 };

/* Lanes that meet the same bytes in the same wavefront. */
typedef struct cell {
    int64_t from; /* byte of the block's shared memory */
    int wavefront;
    uint64_t lanes;
} cell;

typedef struct sheet {
    const explained *e;
    const picture *p;
    svg *s;
    const sim_access *a;
    int ncells;
    cell cell[MAX_CELLS];
    int wavefronts;
    int words[64]; /* that each bank must give, in the fullest group */
    int nrows;
    int64_t row[MAX_ROWS]; /* in rows of banks, ascending */
    int hidden;
    double left;
} sheet;

static int row_bytes(const target *t) {
    return t->banks * t->bank_bytes;
}

/* ---- wavefronts ---------------------------------------------------------------------------------------- */

/* Lanes from..from + n of a request: each in the earliest wavefront in which its banks are free or give the
 * same words. */
typedef struct group {
    int64_t word[64][64]; /* [wavefront][bank]; -1: none */
    int used;
} group;

static bool fits(const group *g, const target *t, int wavefront, int64_t from, int bytes) {
    for (int64_t at = from / t->bank_bytes; at <= (from + bytes - 1) / t->bank_bytes; at++) {
        const int64_t there = g->word[wavefront][at % t->banks];
        if (there >= 0 && there != at) {
            return false;
        }
    }
    return true;
}

static int take_place(group *g, const target *t, int64_t from, int bytes) {
    int w = 0;
    while (w < 63 && !fits(g, t, w, from, bytes)) {
        w++;
    }
    for (int64_t at = from / t->bank_bytes; at <= (from + bytes - 1) / t->bank_bytes; at++) {
        g->word[w][at % t->banks] = at;
    }
    g->used = w + 1 > g->used ? w + 1 : g->used;
    return w;
}

static void add_lane(sheet *t, int lane, int64_t from, int wavefront) {
    for (int i = 0; i < t->ncells; i++) {
        if (t->cell[i].from == from && t->cell[i].wavefront == wavefront) {
            t->cell[i].lanes |= (uint64_t)1 << lane;
            return;
        }
    }
    t->cell[t->ncells++] = (cell){from, wavefront, (uint64_t)1 << lane};
}

static void count_words(sheet *t, const group *g) {
    for (int bank = 0; bank < t->e->s->target->banks; bank++) {
        int n = 0;
        for (int w = 0; w < g->used; w++) {
            n += g->word[w][bank] >= 0;
        }
        t->words[bank] = n > t->words[bank] ? n : t->words[bank];
    }
}

static void schedule(sheet *t) {
    const target *machine = t->e->s->target;
    bank_request r = {.bytes = t->a->bytes, .is_load = t->p->trace->op == COST_LOAD};
    int lane[64];
    const int n = picture_lane_numbers(t->a, lane);
    group *g = ARENA_NEW(&t->e->s->memory, group);
    for (int i = 0; i < TARGET_MAX_WAVE; i++) {
        r.address[i] = -1;
    }
    for (int i = 0; i < n; i++) {
        r.address[lane[i]] = t->a->base + (int64_t)t->a->address[i];
    }
    const int groups = bank_groups(machine, &r), lanes = machine->wave / groups;
    for (int i = 0; i < groups; i++) {
        memset(g->word, -1, sizeof g->word);
        g->used = 0;
        for (int l = i * lanes; l < (i + 1) * lanes; l++) {
            if (r.address[l] >= 0) {
                add_lane(t, l, r.address[l], t->wavefronts + take_place(g, machine, r.address[l], r.bytes));
            }
        }
        count_words(t, g);
        t->wavefronts += g->used;
    }
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b) {
    const cell *x = a, *y = b;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : x->wavefront - y->wavefront;
}

static void find_rows(sheet *t) {
    const int size = row_bytes(t->e->s->target);
    int64_t last = -1;
    qsort(t->cell, (size_t)t->ncells, sizeof *t->cell, by_address);
    for (int i = 0; i < t->ncells; i++) {
        const int64_t here = t->cell[i].from / size;
        if (here != last && t->nrows < MAX_ROWS) {
            t->row[t->nrows++] = here;
        } else if (here != last) {
            t->hidden++;
        }
        last = here;
    }
}

static int row_number(const sheet *t, int64_t wanted) {
    for (int i = 0; i < t->nrows; i++) {
        if (t->row[i] == wanted) {
            return i;
        }
    }
    return -1;
}

/* ---- drawing ------------------------------------------------------------------------------------------- */

static double bank_x(const sheet *t, int64_t byte) {
    const target *machine = t->e->s->target;
    return t->left + BANK_WIDTH * (double)(byte % row_bytes(machine)) / machine->bank_bytes;
}

static void draw_banks(const sheet *t) {
    const target *machine = t->e->s->target;
    int most = 1;
    for (int i = 0; i < machine->banks; i++) {
        most = t->words[i] > most ? t->words[i] : most;
    }
    for (int i = 0; i < machine->banks; i++) {
        const double x = t->left + BANK_WIDTH * i;
        if (most > 1 && t->words[i] == most) {
            svg_box(t->s, "hot", x, TOP - 30, BANK_WIDTH, ROW_HEIGHT * t->nrows + 28);
            svg_text(t->s, "cell bad", x + BANK_WIDTH / 2.0, TOP - 20, "%d", t->words[i]);
        }
        svg_text(t->s, "cell", x + BANK_WIDTH / 2.0, TOP - 7, "%d", i);
    }
    svg_text(t->s, "soft end", t->left - 6, TOP - 7, "bank");
    if (most > 1) {
        svg_text(t->s, "bad end", t->left - 6, TOP - 20, "words");
    }
    for (int i = 0; i < t->nrows; i++) {
        const double y = TOP + ROW_HEIGHT * i;
        svg_box(t->s, "empty", t->left, y, BANK_WIDTH * machine->banks, CELL_HEIGHT);
        svg_text(t->s, "code soft end", t->left - 6, y + 10, "byte %" PRId64, t->row[i] * row_bytes(machine));
    }
    svg_layer(t->s);
    for (int i = 0; i < t->nrows; i++) {
        for (int j = 0; j <= machine->banks; j++) {
            const double x = t->left + BANK_WIDTH * j, y = TOP + ROW_HEIGHT * i;
            svg_line(t->s, "rule", x, y, x, y + CELL_HEIGHT);
        }
    }
}

/* Cells of one place, met in different wavefronts, share it. */
static int count_here(const sheet *t, int i, int *which) {
    int first = i, last = i;
    while (first > 0 && t->cell[first - 1].from == t->cell[i].from) {
        first--;
    }
    while (last + 1 < t->ncells && t->cell[last + 1].from == t->cell[i].from) {
        last++;
    }
    *which = i - first;
    return last - first + 1;
}

static bool draw_cell(const sheet *t, int i) {
    const target *machine = t->e->s->target;
    const cell *c = &t->cell[i];
    int which;
    const int line = row_number(t, c->from / row_bytes(machine)), sharing = count_here(t, i, &which);
    const double width = (double)BANK_WIDTH * t->a->bytes / machine->bank_bytes / sharing;
    if (line < 0) {
        return true;
    }
    const double x = bank_x(t, c->from) + which * width, y = TOP + ROW_HEIGHT * line;
    const char *lanes = picture_lanes(&t->e->s->memory, c->lanes);
    const bool fits = 4.6 * (double)strlen(lanes) <= width + 3;
    svg_box(t->s, picture_colour(c->wavefront), x, y, width, CELL_HEIGHT);
    svg_box(t->s, "edge", x, y, width, CELL_HEIGHT);
    svg_text(t->s, "cell", x + width / 2, y + 10, "%s", fits ? lanes : "*");
    return fits;
}

/* False: there was no room for some numbers. */
static bool draw_cells(const sheet *t) {
    bool has_all = true;
    svg_layer(t->s);
    for (int i = 0; i < t->ncells; i++) {
        has_all = draw_cell(t, i) && has_all;
    }
    return has_all;
}

static void draw_head(const sheet *t, const cost_request *c) {
    arena *a = &t->e->s->memory;
    const cost_row *x = &t->e->cost.row[t->p->access];
    svg_text(t->s, "title", PICTURE_LEFT, 20, "%s: lanes of a warp on the banks", t->p->title);
    svg_text(t->s, "code soft", PICTURE_LEFT, 36, "%s  %.72s", picture_place(a, t->p->at),
             explain_place(t->e, x->ref));
    svg_text(t->s, c->wavefronts > c->least_wavefronts ? "bad" : "good", PICTURE_LEFT, 52,
             "%d lane%s x %d byte%s: %d wavefront%s, %d needed", t->a->lanes, t->a->lanes == 1 ? "" : "s",
             t->a->bytes, t->a->bytes == 1 ? "" : "s", c->wavefronts, c->wavefronts == 1 ? "" : "s",
             c->least_wavefronts);
}

static void draw_keys(const sheet *t, bool has_all) {
    svg_keys k = {PICTURE_LEFT, PICTURE_RIGHT, 0, TOP + ROW_HEIGHT * t->nrows + 14};
    for (int i = 0; i < t->wavefronts && i < PICTURE_COLOURS; i++) {
        const bool is_last = i == PICTURE_COLOURS - 1 && t->wavefronts > PICTURE_COLOURS;
        svg_key(t->s, &k, picture_colour(i), "wavefront %d%s", i + 1, is_last ? "; colours repeat" : "");
    }
    svg_text(t->s, "soft", PICTURE_LEFT, k.y += 17, "Numbers are lanes of warp %d%s.",
             t->a->first_thread / t->e->s->target->wave, has_all ? "" : "; *: too many to name here");
    if (t->hidden) {
        svg_text(t->s, "soft", PICTURE_LEFT, k.y += 17, "Cropped: %d more rows are not shown.", t->hidden);
    }
}

/* The request that suffers most among those kept. */
static const trace_request *worst(const explained *e, const trace_row *met, cost_request *cost) {
    const trace_request *found = &met->request[0];
    *cost = cost_count(e->s->target, TG_SHARED, met->op, &found->access);
    for (int i = 1; i < met->n; i++) {
        const cost_request c = cost_count(e->s->target, TG_SHARED, met->op, &met->request[i].access);
        if (c.wavefronts * cost->least_wavefronts > cost->wavefronts * c.least_wavefronts) {
            *cost = c;
            found = &met->request[i];
        }
    }
    return found;
}

void picture_banks(const explained *e, const picture *p, svg *s) {
    cost_request cost;
    sheet *t = ARENA_NEW(&e->s->memory, sheet);
    *t = (sheet){.e = e, .p = p, .s = s, .a = &worst(e, p->trace, &cost)->access};
    schedule(t);
    find_rows(t);
    t->left = PICTURE_LEFT + 10 + 6.1 * 10;
    draw_head(t, &cost);
    draw_banks(t);
    draw_keys(t, draw_cells(t));
}
