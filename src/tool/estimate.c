/* estimate.c -- reckons how long a kernel takes.
 *
 * Reads thread IR and the counted costs.  How the compiler behind CUDA text overlaps loads is assumed, not known:
 * it begins the loads of UNROLLED iterations of a short loop before it uses the first; it takes loops of at most
 * SMALL iterations apart; it moves no load across a barrier. */
#include "tool/estimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { UNROLLED = 4, SMALL = 16, MANY_BARRIERS = 16, MANY_WARPS = 16, WORD_BYTES = 4 };
/* Of the simulator's steps, which count every operation of an index, the compiler leaves about half. */
static const double instructions_of_a_step = 0.5;
enum { SUM_CYCLES = 4, BARRIER_CYCLES = 30, SCHEDULERS = 4 };

/* ---- what a thread waits for --------------------------------------------------------------------------- */

typedef struct walk {
    estimate_waits sum;
    bool has_load, has_shared; /* begun, and not waited for yet */
    bool has_barrier, has_loop;
} walk;

static void settle(walk *w) {
    w->sum.loads += w->has_load;
    w->sum.shared += w->has_shared;
    w->has_load = w->has_shared = false;
}

static void look(const node *x, walk *w) {
    if (x->kind == E_LOAD) {
        w->has_load = w->has_load || x->arg[0]->buffer->space == TG_GLOBAL;
        w->has_shared = w->has_shared || x->arg[0]->buffer->space == TG_SHARED;
    }
    for (int i = 0; i < x->n; i++) {
        look(x->arg[i], w);
    }
}

static double trips(const node *extent) {
    return extent->kind == E_CONST ? (double)extent->ival : extent->hi < 1 << 20 ? (double)extent->hi : 1;
}

static void walk_block(const thread_block *b, walk *w);

static void add_waits(estimate_waits *to, const estimate_waits *x, double times, double sums) {
    to->loads += x->loads * times;
    to->shared += x->shared * times;
    to->barriers += x->barriers * times;
    to->sums += x->sums * sums;
    to->copies += x->copies * times;
}

/* A loop whose iterations may overlap costs one wait for so many of them. */
static void walk_loop(const thread_stmt *s, walk *w) {
    const double n = trips(s->extent);
    w->has_loop = true;
    const bool is_apart = s->unroll == UNROLL_FULL || n <= SMALL;
    walk body = {0};
    walk_block(&s->body, &body);
    const bool waits_inside = body.sum.loads > 0 || body.sum.shared > 0;
    if (!body.has_barrier && is_apart) {
        w->has_load = w->has_load || body.has_load || body.sum.loads > 0;
        w->has_shared = w->has_shared || body.has_shared || body.sum.shared > 0;
        w->sum.sums += n * body.sum.sums;
        return;
    }
    const bool joins = !body.has_barrier && !waits_inside && !body.has_loop;
    const double factor = joins ? (s->unroll > 0 ? s->unroll : UNROLLED) : 1;
    settle(&body);
    settle(w);
    add_waits(&w->sum, &body.sum, ceil(n / factor), n);
    w->has_barrier = w->has_barrier || body.has_barrier;
}

/* An element that a statement adds to again and again. */
static bool is_sum(const thread_stmt *s) {
    return s->kind == THREAD_STORE && s->accumulates && s->dst->buffer->space == TG_LOCAL &&
           s->dst->buffer->rank == 0;
}

static void walk_statement(const thread_stmt *s, walk *w) {
    switch (s->kind) {
    case THREAD_FOR:
        walk_loop(s, w);
        return;
    case THREAD_BARRIER:
        settle(w);
        w->sum.barriers++;
        w->has_barrier = true;
        return;
    case THREAD_WAIT:
        w->sum.copies++;
        return;
    case THREAD_COPY_ASYNC: /* goes on without it */
    case THREAD_COMMIT:
        return;
    default:
        break;
    }
    if (s->value) {
        look(s->value, w);
    }
    w->sum.sums += is_sum(s);
    walk_block(&s->body, w);
    walk_block(&s->otherwise, w);
}

static void walk_block(const thread_block *b, walk *w) {
    for (const thread_stmt *s = b->first; s; s = s->next) {
        walk_statement(s, w);
    }
}

estimate_waits estimate_count_waits(const thread_kernel *t) {
    walk w = {0};
    walk_block(&t->body, &w);
    settle(&w);
    return w.sum;
}

/* ---- parts --------------------------------------------------------------------------------------------- */

typedef struct reckoning {
    const cost_counter *c;
    const device_row *gpu;
    estimate e;
    int n;
    double of_busiest; /* share of the grid's requests that the busiest multiprocessor has */
    double rounds;     /* of blocks there, one after another */
} reckoning;

static void add(reckoning *r, const char *name, double cycles, double us, const char *why) {
    estimate_part *p = &r->e.part[r->n++];
    p->name = name;
    p->us = cycles / (double)r->gpu->clock_mhz + us;
    snprintf(p->why, sizeof p->why, "%s", why);
}

static void add_memory(reckoning *r) {
    char why[160];
    const double bytes = (double)(r->c->once_read + r->c->once_written);
    snprintf(why, sizeof why, "%.4g MB at %.4g GB/s", bytes * 1e-6, (double)r->gpu->bandwidth_gbs);
    add(r, "memory", 0, bytes / ((double)r->gpu->bandwidth_gbs * 1e3), why);
}

static void add_lines(reckoning *r) {
    char why[160];
    double lines = 0, wavefronts = 0;
    for (int i = 0; i < r->c->n; i++) {
        lines += (double)r->c->row[i].lines;
        wavefronts += (double)r->c->row[i].wavefronts;
    }
    lines *= r->of_busiest;
    wavefronts *= r->of_busiest;
    snprintf(why, sizeof why, "%.4g lines, %.4g shared wavefronts, one a cycle", lines, wavefronts);
    add(r, "lines", lines + wavefronts, 0, why);
}

static void add_issue(reckoning *r) {
    char why[160];
    const double instructions = instructions_of_a_step * (double)r->c->instructions * r->of_busiest;
    snprintf(why, sizeof why, "%.4g instructions of warps, %d a cycle", instructions, SCHEDULERS);
    add(r, "issue", instructions / SCHEDULERS, 0, why);
}

static const char *const waits_words[] = {"wait for global memory", "waits for global memory"};
static const char *const shared_words[] = {"wait for shared memory", "waits for shared memory"};
static const char *const barriers_words[] = {"barrier", "barriers"};
static const char *const sums_words[] = {"addition that needs the one before",
                                         "additions that need the one before"};

static void add_wait(reckoning *r, const char *name, double times, double cycles, const char *const what[2]) {
    char why[160];
    snprintf(why, sizeof why, "%.4g %s, %.4g cycles each%s", times, what[times != 1], cycles,
             r->rounds > 1 ? ", in every round of blocks" : "");
    add(r, name, r->rounds * times * cycles, 0, why);
}

static bool has_atomics(const cost_counter *c) {
    for (int i = 0; i < c->n; i++) {
        if (c->row[i].op == COST_ATOMIC && c->row[i].sectors > 0) {
            return true;
        }
    }
    return false;
}

/* Do loads of less than a word take most of the shared wavefronts?  The assembler joins those of neighbours in a loop
 * that it unrolls: counters of an H200 show a third of the wavefronts of block_split_k_v2. */
static bool may_be_joined(const cost_counter *c) {
    double narrow = 0, all = 0;
    for (int i = 0; i < c->n; i++) {
        const cost_row *row = &c->row[i];
        all += (double)row->wavefronts;
        narrow += row->op == COST_LOAD && row->bytes < WORD_BYTES ? (double)row->wavefronts : 0;
    }
    return narrow > all / 2;
}

/* Why the figure may be far from the truth; NULL: no reason is known.  `warps`: on the busiest multiprocessor. */
static const char *caution_of(const cost_counter *c, const estimate_waits *waits, double warps) {
    if (waits->barriers > MANY_BARRIERS && warps >= MANY_WARPS) {
        return "likely less: so many warps hide part of the waits between barriers from each other";
    }
    if (waits->copies > 0) {
        return "perhaps more: waits for copies that run ahead are not counted";
    }
    if (may_be_joined(c)) {
        return "likely less: loads of neighbours in shared memory may be joined in an unrolled loop";
    }
    return has_atomics(c) ? "perhaps more: atomics on global memory count like other accesses" : NULL;
}

estimate estimate_make(const cost_counter *c, const device_row *gpu, const occupancy *room) {
    const estimate_waits waits = estimate_count_waits(c->t);
    const double blocks = (double)c->kinds.blocks;
    reckoning r = {.c = c, .gpu = gpu};
    double busy = 0;
    if (blocks == 0 || room->blocks == 0) {
        return r.e;
    }
    const double most = ceil(blocks / (double)gpu->sms);
    const double there = fmin(most, (double)room->blocks) * (double)room->warps / (double)room->blocks;
    r.of_busiest = most / blocks;
    r.rounds = ceil(most / (double)room->blocks);
    add_memory(&r);
    add_lines(&r);
    add_issue(&r);
    add_wait(&r, "waits", waits.loads, (double)gpu->memory_cycles, waits_words);
    add_wait(&r, "shared", waits.shared, (double)gpu->shared_cycles, shared_words);
    add_wait(&r, "barriers", waits.barriers, BARRIER_CYCLES, barriers_words);
    add_wait(&r, "sums", waits.sums, SUM_CYCLES, sums_words);
    int largest = 0;
    for (int i = 1; i < r.n; i++) {
        busy += r.e.part[i].us;
        largest = r.e.part[i].us > r.e.part[largest].us ? i : largest;
    }
    r.e.caution = caution_of(c, &waits, there);
    r.e.us = busy > r.e.part[0].us ? busy : r.e.part[0].us;
    r.e.limit = busy > r.e.part[0].us && largest == 0 ? "all together" : r.e.part[largest].name;
    return r.e;
}
