/* sim_async.c -- the flights of a block; see sim_async.h for the terms.
 *
 * Reads and leaves its own record only: what a landing does to memory is sim_memory.c's. */
#include "sim/sim_async.h"

#include <stdlib.h>
#include <string.h>

static const race_party nobody = {RACE_NOBODY, 0};

async_flights *async_new(int64_t shared_bytes, int granule_log2, int threads) {
    async_flights *a = calloc(1, sizeof *a);
    if (a == NULL) {
        return NULL;
    }
    a->granule_log2 = granule_log2;
    a->ncells = (shared_bytes >> granule_log2) + 1;
    a->threads = threads;
    a->unused = -1;
    a->cell = malloc((size_t)a->ncells * sizeof *a->cell);
    a->queue = malloc((size_t)threads * sizeof *a->queue);
    if (a->cell == NULL || a->queue == NULL) {
        async_free(a);
        return NULL;
    }
    async_begin_block(a);
    return a;
}

void async_free(async_flights *a) {
    if (a != NULL) {
        free(a->cell);
        free(a->queue);
        free(a->item);
        free(a);
    }
}

static void give_back(async_flights *a, int64_t i) {
    a->item[i] = (async_flight){.next = a->unused};
    a->unused = i;
}

void async_begin_block(async_flights *a) {
    for (int64_t i = 0; i < a->ncells; i++) {
        a->cell[i] = nobody;
    }
    for (int t = 0; t < a->threads; t++) {
        a->queue[t] = (async_queue){-1, -1, 0};
    }
    a->unused = -1;
    for (int64_t i = a->capacity - 1; i >= 0; i--) {
        give_back(a, i);
    }
    a->n = 0;
}

static void mark(async_flights *a, const async_flight *f, race_party party) {
    const int64_t last = (f->shadow_address + f->bytes - 1) >> a->granule_log2;
    for (int64_t i = f->shadow_address >> a->granule_log2; i <= last; i++) {
        a->cell[i] = party;
    }
}

/* Room for a flight; false without memory. */
static bool has_room(async_flights *a) {
    if (a->unused >= 0) {
        return true;
    }
    const int64_t more = a->capacity > 0 ? 2 * a->capacity : 256;
    async_flight *wider = realloc(a->item, (size_t)more * sizeof *wider);
    if (wider == NULL) {
        return false;
    }
    const int64_t before = a->capacity;
    a->item = wider;
    a->capacity = more;
    for (int64_t i = more - 1; i >= before; i--) {
        give_back(a, i);
    }
    return true;
}

bool async_issue(async_flights *a, async_flight flight, race_party party) {
    if (!has_room(a)) {
        return false;
    }
    async_queue *q = &a->queue[flight.thread];
    const int64_t at = a->unused;
    a->unused = a->item[at].next;
    flight.group = q->committed;
    flight.next = -1;
    a->item[at] = flight;
    if (q->first < 0) {
        q->first = at;
    } else {
        a->item[q->last].next = at;
    }
    q->last = at;
    a->n++;
    mark(a, &flight, party);
    return true;
}

void async_commit(async_flights *a, int thread) {
    a->queue[thread].committed++;
}

bool async_land(async_flights *a, int thread, int64_t count, async_flight *landed) {
    async_queue *q = &a->queue[thread];
    if (q->first < 0 || a->item[q->first].group >= q->committed - count) {
        return false;
    }
    const int64_t at = q->first;
    *landed = a->item[at];
    q->first = landed->next;
    give_back(a, at);
    a->n--;
    mark(a, landed, nobody);
    return true;
}

bool async_lands_in(const async_flights *a, int64_t from, int bytes, race_party *party) {
    const int64_t last = (from + bytes - 1) >> a->granule_log2;
    for (int64_t i = from >> a->granule_log2; i <= last; i++) {
        if (a->cell[i].thread != RACE_NOBODY) {
            *party = a->cell[i];
            return true;
        }
    }
    return false;
}

const async_flight *async_reads(const async_flights *a, const unsigned char *from, int bytes) {
    const uintptr_t first = (uintptr_t)from, end = first + (uintptr_t)bytes;
    for (int64_t i = 0; i < a->capacity && a->n > 0; i++) {
        const uintptr_t source = (uintptr_t)a->item[i].source;
        if (a->item[i].valid > 0 && source < end && first < source + (uintptr_t)a->item[i].valid) {
            return &a->item[i];
        }
    }
    return NULL;
}
