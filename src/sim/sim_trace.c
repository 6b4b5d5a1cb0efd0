/* sim_trace.c -- keeps the addresses of the first block that is simulated. */
#include "sim/sim_trace.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows ---------------------------------------------------------------------------------------------- */

static trace_row *row_of(trace *tr, const node *ref, cost_op op) {
    for (int i = 0; i < tr->n; i++) {
        if (tr->row[i]->ref == ref && tr->row[i]->op == op) {
            return tr->row[i];
        }
    }
    if (tr->n == tr->capacity) {
        trace_row **more = realloc(tr->row, (size_t)(2 * tr->capacity + 16) * sizeof *more);
        if (!more) {
            tr->out_of_memory = true;
            return NULL;
        }
        tr->row = more;
        tr->capacity = 2 * tr->capacity + 16;
    }
    trace_row *row = ARENA_NEW(&tr->memory, trace_row);
    *row = (trace_row){.ref = ref, .op = op};
    tr->row[tr->n++] = row;
    return row;
}

/* ---- walks --------------------------------------------------------------------------------------------- */

static trace_walk *find_walk(const trace *tr, const buffer *root) {
    for (int i = 0; i < tr->nwalks; i++) {
        if (tr->walk[i].tensor == root) {
            return &tr->walk[i];
        }
    }
    return NULL;
}

/* Pages that are never reached cost nothing. */
static trace_walk *walk_of(trace *tr, buffer *b) {
    const buffer *root = buffer_root(b);
    const int64_t bytes = root->space == TG_GLOBAL ? buffer_bytes(root) : 0;
    trace_walk *w = find_walk(tr, root);
    if (w || bytes <= 0 || tr->nwalks == tr->t->nbuffers) {
        return w;
    }
    const int64_t n = bytes / tr->t->target->sector_bytes + 1;
    w = &tr->walk[tr->nwalks++];
    *w = (trace_walk){.tensor = root, .first = n, .last = -1};
    w->step = calloc((size_t)n, sizeof *w->step);
    w->warp = calloc((size_t)n, sizeof *w->warp);
    w->sectors = w->step && w->warp ? n : 0;
    tr->out_of_memory = tr->out_of_memory || w->sectors == 0;
    return w;
}

static void reach(trace_walk *w, int64_t sector, int warp, int32_t step) {
    if (sector < w->sectors && (w->step[sector] == 0 || step < w->step[sector])) {
        w->step[sector] = step;
        w->warp[sector] = (uint8_t)warp;
        w->first = sector < w->first ? sector : w->first;
        w->last = sector > w->last ? sector : w->last;
    }
}

static void walk(const trace *tr, trace_walk *w, const sim_access *a, int warp) {
    const uint64_t size = (uint64_t)tr->t->target->sector_bytes;
    const int32_t step = ++w->steps[warp];
    w->warps += step == 1;
    w->most_steps = step > w->most_steps ? step : w->most_steps;
    for (int i = 0; i < a->lanes; i++) {
        const uint64_t last = (a->address[i] + (uint64_t)a->bytes - 1) / size;
        for (uint64_t s = a->address[i] / size; s <= last; s++) {
            reach(w, (int64_t)s, warp, step);
        }
    }
}

/* ---- requests ------------------------------------------------------------------------------------------ */

/* In the order of the warps. */
static void keep_request(trace *tr, trace_row *row, const sim_access *a) {
    trace_request *r = &row->request[row->n++];
    uint64_t *address = ARENA_ARRAY(&tr->memory, uint64_t, a->lanes);
    memcpy(address, a->address, (size_t)a->lanes * sizeof *address);
    *r = (trace_request){*a, row->op};
    r->access.address = address;
    r->access.block = tr->block;
    for (int i = row->n - 1; i > 0 && row->request[i - 1].access.first_thread > a->first_thread; i--) {
        const trace_request later = row->request[i - 1];
        row->request[i - 1] = row->request[i];
        row->request[i] = later;
    }
}

static void note_access(const sim_access *a, void *user) {
    trace *tr = user;
    const int warp = a->first_thread / tr->t->target->wave;
    if (tr->before.on_access) {
        tr->before.on_access(a, tr->before.user);
    }
    if (!a->ref || a->lanes == 0 || memcmp(a->block, tr->block, sizeof tr->block) != 0) {
        return;
    }
    trace_row *row = warp < TRACE_WARPS ? row_of(tr, a->ref, cost_op_of(a)) : NULL;
    trace_walk *w = row ? walk_of(tr, a->ref->buffer) : NULL;
    if (row && !(row->kept >> warp & 1)) {
        row->kept |= (uint64_t)1 << warp;
        keep_request(tr, row, a);
    }
    if (w) {
        walk(tr, w, a, warp);
    }
}

static bool wants_block(const int64_t index[3], void *user) {
    trace *tr = user;
    const bool wanted = !tr->before.wants_block || tr->before.wants_block(index, tr->before.user);
    if (wanted && !tr->has_block) {
        memcpy(tr->block, index, sizeof tr->block);
        tr->has_block = true;
    }
    return wanted;
}

/* ---- public -------------------------------------------------------------------------------------------- */

void trace_attach(trace *tr, const thread_kernel *t, sim_options *how) {
    *tr = (trace){.t = t, .before = *how};
    tr->walk = ARENA_ARRAY(&tr->memory, trace_walk, t->nbuffers);
    how->on_access = note_access;
    how->wants_block = wants_block;
    how->user = tr;
}

const trace_row *trace_find(const trace *tr, const node *ref, cost_op op) {
    for (int i = 0; i < tr->n; i++) {
        if (tr->row[i]->ref == ref && tr->row[i]->op == op) {
            return tr->row[i];
        }
    }
    return NULL;
}

const trace_walk *trace_walk_over(const trace *tr, const buffer *b) {
    const trace_walk *w = find_walk(tr, buffer_root((buffer *)b));
    return w && w->first <= w->last ? w : NULL;
}

void trace_free(trace *tr) {
    for (int i = 0; i < tr->nwalks; i++) {
        free(tr->walk[i].step);
        free(tr->walk[i].warp);
    }
    free(tr->row);
    arena_free(&tr->memory);
    *tr = (trace){0};
}
