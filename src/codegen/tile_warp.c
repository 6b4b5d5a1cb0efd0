/* tile_warp.c -- copies into shared memory of which each warp brings what it reads itself.
 *
 * Reads the layouts of parallel loops; leaves tile_stmt.spread of copies.  A tile that is spread over all threads as
 * it lies makes every thread wait for every other: a barrier of the block.  Where the loops behind it show that a
 * warp reads a part of its own,
 *
 *      words[i, p, j]      thread p of 224; nine words of each of 4 rows
 *
 *      row 0    | warp 0 | warp 1 | .. | warp 6 |      1152 bytes each
 *      row 1    | warp 0 | warp 1 | .. | warp 6 |
 *
 * the copy is spread the same way, and thread_sync finds that a barrier of the warp is enough: a warp goes on when
 * its own bytes are there.  For all copies of a kernel or for none: one barrier of the block serves them all. */
#include "codegen/tile_decide.h"

#include "codegen/tile_lower.h"

/* A row of a warp has so many bytes side by side at least, or memory is read in small pieces. */
enum { SIDE_BY_SIDE = 128 };

/* Whose bytes are whose: `below` of warp 0, as many of warp 1 and so on; behind the last it begins again. */
typedef struct slice {
    int64_t below, warps;
} slice;

typedef struct reading {
    const tile_stmt *loop;
    const buffer *root;
    arena *a;
    int64_t wave;
    slice found; /* warps 0: none yet */
    bool is_spoiled;
} reading;

/* The warps in a thread digit, lanes taken off: where they begin, how many, how many threads each step. */
static bool warps_in(const layout_digit *d, int64_t wave, layout_digit *out) {
    *out = *d;
    if (d->stride >= wave) {
        return true;
    }
    const int64_t lanes = wave / d->stride;
    if (wave % d->stride != 0 || d->extent % lanes != 0) {
        return false;
    }
    out->stride = wave;
    out->place *= lanes;
    out->extent /= lanes;
    return true;
}

/* All warps of the block one after another; false where they lie otherwise. */
static bool slice_of(const layout *held, int64_t wave, slice *out) {
    *out = (slice){0, 1};
    for (int i = 0; i < held->n; i++) {
        layout_digit d = held->digit[i];
        if (d.source != LAYOUT_THREAD || d.stride * d.extent <= wave) {
            continue;
        }
        if (!warps_in(&d, wave, &d) || d.stride != wave * out->warps ||
            (out->warps > 1 && d.place != out->below * out->warps)) {
            return false;
        }
        out->below = out->warps > 1 ? out->below : d.place;
        out->warps *= d.extent;
    }
    return out->warps * wave == held->threads;
}

static void note_reading(node *ref, bool is_write, const tile_stmt *at, void *user) {
    reading *r = user;
    slice s;
    (void)at;
    if (buffer_root(ref->buffer) != r->root || r->is_spoiled) {
        return;
    }
    const layout *held = is_write ? NULL : decide_from_loop(r->a, r->loop->spread, r->loop, ref);
    r->is_spoiled = !held || !slice_of(held, r->wave, &s);
    if (!r->is_spoiled) {
        s.below *= type_bytes(ref->buffer->type);
        r->is_spoiled = r->found.warps && (r->found.below != s.below || r->found.warps != s.warps);
        r->found = s;
    }
}

static bool touches(const node *region, const buffer *root) {
    return region && buffer_root(region->buffer) == root;
}

/* What reads a shared buffer, if it is loops alone which all slice it the same way. */
static bool find_reading(arena *a, const target *t, tile_stmt **item, int n, reading *r) {
    r->a = a;
    r->wave = t->wave;
    for (int i = 0; i < n; i++) {
        const tile_stmt *s = item[i];
        if (s->kind == TILE_LOOP && s->spread) {
            r->loop = s;
            decide_refs(s, note_reading, r);
        } else if (touches(s->src, r->root) || (s->kind != TILE_COPY && touches(s->dst, r->root))) {
            r->is_spoiled = true;
        }
    }
    return r->found.warps > 0 && !r->is_spoiled;
}

/* One piece of the buffer without gaps: whole rows, planes and so on. */
static bool is_one_piece(const node *region) {
    bool whole = region->n == region->buffer->rank && !region->buffer->view_of;
    bool alone = false;
    for (int d = region->n - 1; d >= 0 && whole; d--) {
        whole = !alone || region->dim[d] == 1;
        alone = alone || region->dim[d] != region->buffer->dim[d];
    }
    return whole;
}

/* The copy spread over the block as its bytes are read; NULL where they do not come out even. */
static layout *spread_by_warp(tg_kernel *k, const target *t, const tile_stmt *s, const slice *by) {
    const layout *free = copy_layout(k, t, s, false);
    const int64_t bytes = type_bytes(s->dst->buffer->type), below = by->below / bytes;
    int64_t across = 1;
    if (by->below % (bytes * free->run) != 0 || free->elements % (below * by->warps) != 0) {
        return NULL;
    }
    while (across < t->wave && below / free->run % (2 * across) == 0) {
        across *= 2;
    }
    const int64_t above = free->elements / (below * by->warps), down = t->wave / across;
    if (above % down != 0 || across * free->run * bytes < SIDE_BY_SIDE) {
        return NULL;
    }
    layout *l = layout_sliced(&k->memory, free, below, across, down);
    l->why = "each warp what it reads itself: it waits for no other";
    l->at = s->at;
    return l;
}

static bool fills_shared(const tile_stmt *s) {
    return s->kind == TILE_COPY && buffer_root(s->dst->buffer)->space == TG_SHARED;
}

static layout *sliced_copy(tg_kernel *k, const target *t, tile_stmt **item, int n, const tile_stmt *s) {
    const bool is_free = s->options.width == 0 && s->options.layout == TG_LAYOUT_AUTO;
    reading r = {.root = buffer_root(s->dst->buffer)};
    return is_free && buffer_root(s->src->buffer)->space == TG_GLOBAL && is_one_piece(s->dst) &&
                   find_reading(&k->memory, t, item, n, &r)
               ? spread_by_warp(k, t, s, &r.found)
               : NULL;
}

void tile_by_warp(tg_kernel *k, const target *t, tile_stmt **item, int n) {
    const int64_t threads = tile_threads(k);
    bool all = threads > t->wave && threads % t->wave == 0;
    for (int i = 0; i < n && all; i++) {
        if (fills_shared(item[i])) {
            item[i]->spread = sliced_copy(k, t, item, n, item[i]);
            all = item[i]->spread != NULL;
        }
    }
    for (int i = 0; i < n && !all; i++) {
        item[i]->spread = fills_shared(item[i]) ? NULL : item[i]->spread;
    }
}
