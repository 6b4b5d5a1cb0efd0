/* tile_reference.c -- runs the tile IR as the words read: the launch, block by block, its threads in turns.
 *
 * Reads tile IR and the arguments; leaves the tensors, findings and what was printed.  Read from the bottom
 * up:
 *
 *     tile_reference_run      every block of the grid, in shuffled order
 *       run_block             turns: each thread to its next collective statement, in shuffled order;
 *                             when all have come to the same one, the block does it once; and on
 *         together            that statement
 *           parallel          iterations in shuffled order, each by some thread
 *
 * Orders come from `seed`: a key for each use, and a permutation that needs no table.  Everything that may
 * depend on an order that the language leaves open does depend on it here, so two seeds find it:
 *   - which thread evaluates the corners of a copy, or runs an iteration of a parallel loop
 *   - the order of atomics and of what goes into a reducer
 * An allreduce combines in ascending order along its axis, whatever the seed. */
#include "sim/tile_reference_state.h"

#include <stdio.h>
#include <string.h>

/* ---- orders -------------------------------------------------------------------------------------------- */

/* A permutation of 0..n-1: a Feistel network over 2 * half bits, repeated until the result is below n. */
typedef struct order {
    uint64_t n, key; /* key 0: as they come */
    unsigned half;
    bool backwards;
} order;

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static order draw(machine *m, uint64_t n) {
    order o = {.n = n, .half = 1, .backwards = m->options.backwards};
    if (m->options.seed != 0) {
        o.key = mix(m->options.seed + ++m->draws * 0x9e3779b97f4a7c15u) | 1;
    }
    while (o.half < 31 && ((uint64_t)1 << (2 * o.half)) < n) {
        o.half++;
    }
    return o;
}

static uint64_t order_at(const order *o, uint64_t i) {
    i = o->backwards ? o->n - 1 - i : i;
    if (o->key == 0) {
        return i;
    }
    const uint64_t mask = ((uint64_t)1 << o->half) - 1;
    do {
        uint64_t left = i >> o->half, right = i & mask;
        for (uint64_t round = 0; round < 4; round++) {
            const uint64_t next = left ^ (mix(o->key + right * 4 + round) & mask);
            left = right;
            right = next;
        }
        i = left << o->half | right;
    } while (i >= o->n);
    return i;
}

/* ---- what the block does together ---------------------------------------------------------------------- */

/* What the iteration wrote into locals that were there before was its own. */
static void restore_locals(machine *m) {
    while (m->ntouched > 0) {
        place *p = m->touched[--m->ntouched];
        const int64_t share = reference_share(m, p);
        memcpy(p->bytes + share, p->kept, p->limit);
        memcpy(p->written + share, p->kept + p->limit, p->limit);
    }
}

static void run_iteration(machine *m, const tile_stmt *s, thread *t, const int64_t *extent, uint64_t i) {
    m->current = t;
    m->iteration = ++m->iterations;
    for (int a = s->n - 1; a >= 0; a--) {
        t->cell[s->axes[a]->id] = value_int(TYPE_INDEX, (int64_t)(i % (uint64_t)extent[a]));
        i /= (uint64_t)extent[a];
    }
    t->at = s->body.first;
    reference_thread(m);
    if (t->at != NULL && !m->stopped) {
        tg_bug("collective statement of kind %d inside parallel", (int)t->at->kind);
    }
    restore_locals(m);
    m->iteration = 0;
    t->at = s;
}

static void run_parallel(machine *m, const tile_stmt *s) {
    int64_t extent[TG_MAX_RANK];
    uint64_t n = s->body.first != NULL ? 1 : 0;
    for (int a = 0; a < s->n; a++) {
        extent[a] = reference_eval_int(m, s->extents[a]);
        const uint64_t e = extent[a] > 0 ? (uint64_t)extent[a] : 0;
        n = e > 0 && n > ((uint64_t)1 << 61) / e ? (uint64_t)1 << 61 : n * e;
    }
    const order iterations = draw(m, n);
    order threads = draw(m, (uint64_t)m->nthreads);
    threads.backwards = false; /* else an iteration may come to the same thread both ways */
    for (uint64_t i = 0; i < n && !m->stopped; i++) {
        thread *t = &m->threads[order_at(&threads, i % threads.n)];
        run_iteration(m, s, t, extent, order_at(&iterations, i));
    }
}

/* Combines the values along one thread axis, each in the cell of its thread, and deals out the result. */
static void reduce_group(machine *m, const tile_stmt *s, int64_t first, int64_t stride, int64_t n) {
    const int id = s->var->id;
    value sum = m->threads[first].cell[id];
    for (int64_t i = 1; i < n; i++) {
        m->current = &m->threads[first + i * stride];
        sum = reference_combine(m, reduction_op(s->reduction), sum, m->current->cell[id], s->value);
    }
    for (int64_t i = 0; i < n; i++) {
        m->threads[first + i * stride].cell[id] = sum;
    }
}

static void allreduce(machine *m, const tile_stmt *s) {
    const int64_t *extent = m->kernel->threads;
    const int axis = s->axis->axis;
    int64_t stride = 1;
    for (int i = 0; i < axis; i++) {
        stride *= extent[i];
    }
    for (int64_t t = 0; t < m->nthreads; t++) {
        if (t / stride % extent[axis] == 0) {
            reduce_group(m, s, t, stride, extent[axis]);
        }
    }
}

/* All threads stand at s; one of them, whichever, speaks for the block. */
static void together(machine *m, const tile_stmt *s) {
    const order speaker = draw(m, (uint64_t)m->nthreads);
    m->current = &m->threads[order_at(&speaker, 0)];
    m->stmt = s;
    switch (s->kind) {
    case TILE_SYNC:
        break;
    case TILE_ALLREDUCE:
        allreduce(m, s);
        break;
    case TILE_COPY:
        reference_copy(m, s);
        break;
    case TILE_FILL:
        reference_fill(m, s);
        break;
    case TILE_REDUCE:
        reference_reduce(m, s);
        break;
    case TILE_FINALIZE:
        reference_finalize(m, s);
        break;
    case TILE_LOOP:
        run_parallel(m, s);
        break;
    case TILE_STORE:
    case TILE_ACCUM:
    case TILE_ALLOC:
    case TILE_LET:
    case TILE_ATOMIC:
    case TILE_PRINT:
    case TILE_CHECK:
    case TILE_WHEN:
    case TILE_COMMIT:
    case TILE_WAIT:
        tg_bug("statement of kind %d is not collective", (int)s->kind);
        break;
    }
}

/* ---- turns --------------------------------------------------------------------------------------------- */

static int count_at(const machine *m, const tile_stmt *s, int *first) {
    int n = 0;
    for (int i = m->nthreads - 1; i >= 0; i--) {
        if (m->threads[i].at == s) {
            *first = i;
            n++;
        }
    }
    return n;
}

/* Threads stand at s and at other (NULL: at the end). */
static void not_met(machine *m, const tile_stmt *s, const tile_stmt *other) {
    int first = 0, first_other = 0;
    const int n = count_at(m, s, &first), n_other = count_at(m, other, &first_other);
    const tg_loc none = {NULL, 0};
    m->stmt = s;
    m->current = &m->threads[first];
    finding *f = reference_find_at(m, FINDING_BARRIER, s->at, other != NULL ? other->at : none);
    if (f == NULL) {
        return;
    }
    f->other_thread = first_other;
    if (other != NULL) {
        snprintf(f->text, sizeof f->text, "%d of %d threads wait at %s, %d at %s", n, m->nthreads,
                 tile_collective_word(s), n_other, tile_collective_word(other));
    } else {
        snprintf(f->text, sizeof f->text, "%d of %d threads wait at %s, %d have ended", n, m->nthreads,
                 tile_collective_word(s), n_other);
    }
}

/* True when all threads stand at one place; else the finding is made. */
static bool all_met(machine *m) {
    const tile_stmt *s = m->threads[0].at;
    for (int i = 1; i < m->nthreads; i++) {
        const tile_stmt *other = m->threads[i].at;
        if (other != s) {
            not_met(m, s != NULL ? s : other, s != NULL ? other : NULL);
            return false;
        }
    }
    return true;
}

static void take_turns(machine *m) {
    const order turns = draw(m, (uint64_t)m->nthreads);
    for (uint64_t i = 0; i < turns.n && !m->stopped; i++) {
        m->current = &m->threads[order_at(&turns, i)];
        reference_thread(m);
    }
}

static void pass_on(machine *m, const tile_stmt *s) {
    for (int i = 0; i < m->nthreads; i++) {
        m->current = &m->threads[i];
        m->current->at = reference_next(m, s);
    }
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

static void start_memory(machine *m) {
    for (int i = 0; i < m->kernel->nbuffers; i++) {
        place *p = &m->places[i];
        if (p->root == p && p->written != NULL) {
            memset(p->written, 0, p->share > 0 ? p->share * (size_t)m->nthreads : p->limit);
            p->epoch = EPOCH_NONE;
        }
    }
}

static void start_thread(machine *m, int number) {
    const tg_kernel *k = m->kernel;
    thread *t = &m->threads[number];
    int64_t rest = number;
    memcpy(t->cell, m->launch_cells, sizeof(value) * (size_t)k->nvars);
    for (int i = 0; i < TG_MAX_AXES; i++) {
        const int64_t extent = i < k->nthreads ? k->threads[i] : 1;
        if (k->thread_var[i] != NULL) {
            t->cell[k->thread_var[i]->id] = value_int(TYPE_INDEX, rest % extent);
        }
        if (k->grid_var[i] != NULL) {
            t->cell[k->grid_var[i]->id] = value_int(TYPE_INDEX, m->block[i]);
        }
        rest /= extent;
    }
    t->at = k->recorded.first ? k->recorded.first : k->body.first;
}

static void run_block(machine *m) {
    start_memory(m);
    for (int i = 0; i < m->nthreads; i++) {
        start_thread(m, i);
    }
    for (take_turns(m); !m->stopped && all_met(m) && m->threads[0].at != NULL; take_turns(m)) {
        const tile_stmt *s = m->threads[0].at;
        together(m, s);
        pass_on(m, s);
    }
}

static void run_grid(machine *m) {
    const uint64_t x = (uint64_t)m->grid[0], y = (uint64_t)m->grid[1];
    const order blocks = draw(m, x * y * (uint64_t)m->grid[2]);
    for (uint64_t i = 0; i < blocks.n && !m->stopped; i++) {
        const uint64_t b = order_at(&blocks, i);
        m->block[0] = (int64_t)(b % x);
        m->block[1] = (int64_t)(b / x % y);
        m->block[2] = (int64_t)(b / x / y);
        run_block(m);
    }
}

/* ---- the launch ---------------------------------------------------------------------------------------- */

int tile_reference_run(tg_kernel *k, int nargs, witness_arg *args, const reference_options *options,
                       reference_result *result, text *error) {
    *result = (reference_result){0};
    machine m = {
        .kernel = k, .options = options != NULL ? *options : (reference_options){0}, .result = result};
    int status = reference_prepare(&m, nargs, args, error);
    if (status == TG_OK) {
        run_grid(&m);
    }
    reference_release(&m);
    const char *bug = diag_take_bug();
    if (bug != NULL) {
        text_add(error, bug);
        return TG_EINTERNAL;
    }
    return status == TG_OK && result->printed.failed ? TG_ENOMEM : status;
}

void reference_free(reference_result *result) {
    text_free(&result->printed);
}
