/* estimate.c -- reckons how long a kernel takes.
 *
 * Reads the counted costs and what one thread does; leaves the parts of estimate.h. */
#include "tool/estimate.h"

#include <math.h>
#include <stdio.h>

enum { MANY_BARRIERS = 16, MANY_WARPS = 16 }; /* from where on caution_of() speaks of them */

/* A result of arithmetic can be used after 4 cycles, and a multiprocessor has 4 schedulers (CUDA programming guide,
 * "Multiprocessor Level" and "Compute Capability 7.x", so until 9.0).  A barrier is taken to cost what an access to
 * shared memory costs (devices.yaml): no measurement stands behind that. */
enum { SUM_CYCLES = 4, BARRIER_CYCLES = 30, SCHEDULERS = 4 };

/* ---- parts --------------------------------------------------------------------------------------------- */

typedef struct reckoning {
    const cost_counter *c;
    const device_row *gpu;
    estimate e;
    int n;
    double of_busiest; /* share of the grid's requests that the busiest multiprocessor has */
    double rounds;     /* of blocks there, one after another */
    double warps;      /* that it has in all .. */
    double there;      /* .. and at a time */
    double cycles;     /* that issuing their instructions takes */
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
        wavefronts += (double)r->c->row[i].joined_wavefronts;
    }
    lines *= r->of_busiest;
    wavefronts *= r->of_busiest;
    snprintf(why, sizeof why, "%.4g lines, %.4g shared wavefronts, one a cycle", lines, wavefronts);
    add(r, "lines", lines + wavefronts, 0, why);
}

/* A copy is one instruction, though it has a row for each side. */
static double count_requests(const cost_counter *c) {
    double requests = 0;
    for (int i = 0; i < c->n; i++) {
        requests += c->row[i].op == COST_COPY_TO ? 0 : (double)c->row[i].joined_requests;
    }
    return requests;
}

static void add_issue(reckoning *r, double cycles_of_warp) {
    char why[160];
    const double requests = count_requests(r->c) * r->of_busiest;
    const double schedulers = fmin(SCHEDULERS, r->there);
    r->cycles = (requests + cycles_of_warp * r->warps) / schedulers;
    snprintf(why, sizeof why, "%.4g warps of %.4g cycles and %.4g accesses, on %.0f schedulers", r->warps,
             cycles_of_warp, requests / r->warps, schedulers);
    add(r, "issue", r->cycles, 0, why);
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

/* A chain of additions hides behind the instructions between them. */
static void add_sums(reckoning *r, double times) {
    char why[160];
    const double longer = fmax(r->rounds * times * SUM_CYCLES - r->cycles, 0);
    snprintf(why, sizeof why, "%.4g %s, %d cycles each: %s", times, sums_words[times != 1], SUM_CYCLES,
             longer > 0 ? "so much longer than the instructions" : "hidden behind the instructions");
    add(r, "sums", longer, 0, why);
}

static bool has_atomics(const cost_counter *c) {
    for (int i = 0; i < c->n; i++) {
        if (c->row[i].op == COST_ATOMIC && c->row[i].sectors > 0) {
            return true;
        }
    }
    return false;
}

/* Why the figure may be far from the truth; NULL: no reason is known.  `warps`: on the busiest multiprocessor. */
static const char *caution_of(const cost_counter *c, const estimate_thread *waits, double warps) {
    if (waits->barriers > MANY_BARRIERS && warps >= MANY_WARPS) {
        return "likely less: so many warps hide part of the waits between barriers from each other";
    }
    if (waits->copies > 0) {
        return "perhaps more: waits for copies that run ahead are not counted";
    }
    return has_atomics(c) ? "perhaps more: atomics on global memory count like other accesses" : NULL;
}

estimate estimate_make(const cost_counter *c, const device_row *gpu, const occupancy *room) {
    const estimate_thread thread = estimate_of_thread(c->t);
    const double blocks = (double)c->kinds.blocks;
    reckoning r = {.c = c, .gpu = gpu};
    double busy = 0;
    if (blocks == 0 || room->blocks == 0) {
        return r.e;
    }
    const double most = ceil(blocks / (double)gpu->sms);
    const double warps_of_block = (double)room->warps / (double)room->blocks;
    r.of_busiest = most / blocks;
    r.rounds = ceil(most / (double)room->blocks);
    r.warps = most * warps_of_block;
    r.there = fmin(most, (double)room->blocks) * warps_of_block;
    add_memory(&r);
    add_lines(&r);
    add_issue(&r, thread.cycles);
    add_wait(&r, "waits", thread.loads, (double)gpu->memory_cycles, waits_words);
    add_wait(&r, "shared", thread.shared, (double)gpu->shared_cycles, shared_words);
    add_wait(&r, "barriers", thread.barriers, BARRIER_CYCLES, barriers_words);
    add_sums(&r, thread.sums);
    int largest = 0;
    for (int i = 1; i < r.n; i++) {
        busy += r.e.part[i].us;
        largest = r.e.part[i].us > r.e.part[largest].us ? i : largest;
    }
    r.e.caution = caution_of(c, &thread, r.there);
    r.e.us = busy > r.e.part[0].us ? busy : r.e.part[0].us;
    r.e.limit = busy > r.e.part[0].us && largest == 0 ? "all together" : r.e.part[largest].name;
    return r.e;
}
