/* sim_async.h -- asynchronous copies between their issue and the wait of the thread that issued them.
 *
 * A copy is a flight: it has left, its bytes are nobody's until it lands.  Each thread puts its flights into
 * groups, numbered from 0 in the order of its commits; a wait lands all groups but the last few.
 *
 *     copy copy commit | copy commit | copy        group 0, 0 | 1 | 2, still open
 *     wait until 1 in flight                       lands group 0: two are committed, one may stay
 *
 * For each cell of shared memory (sim_race.h says what a cell is) it is known whose flight will land there.
 */
#ifndef SIM_SIM_ASYNC_H
#define SIM_SIM_ASYNC_H

#include "sim/sim_race.h"

struct code_site;

typedef struct async_flight {
    const struct code_site *to, *from; /* where in the program */
    int64_t address;                   /* bytes from the destination buffer's beginning */
    int64_t shadow_address;            /* the same in all of shared memory */
    const unsigned char *source;
    int bytes, valid; /* the first `valid` come from the source, the others become 0 */
    int thread;
    int64_t group;
    int64_t
        next; /* the flight that the same thread issued after this one, or the next unused item; -1: none */
} async_flight;

/* What a thread has in the air, first to last. */
typedef struct async_queue {
    int64_t first, last, committed; /* -1: empty; groups so far */
} async_queue;

typedef struct async_flights {
    int granule_log2;
    int64_t ncells;
    race_party *cell;   /* who lands there, and the place of the copy; RACE_NOBODY */
    async_queue *queue; /* by thread */
    int threads;
    async_flight *item; /* unused ones have no bytes */
    int64_t capacity, unused;
    int64_t n; /* in the air */
} async_flights;

/* NULL without memory. */
async_flights *async_new(int64_t shared_bytes, int granule_log2, int threads);
void async_free(async_flights *a);
/* The next block: nothing is in flight, whatever the last one left behind. */
void async_begin_block(async_flights *a);

/* The group is filled in here; false without memory. */
bool async_issue(async_flights *a, async_flight flight, race_party party);
void async_commit(async_flights *a, int thread);
/* Lands the thread's first flight that must have landed when at most `count` of its groups are left; false:
 * none. */
bool async_land(async_flights *a, int thread, int64_t count, async_flight *landed);

/* Whose flight will land in any of these bytes of shared memory? */
bool async_lands_in(const async_flights *a, int64_t from, int bytes, race_party *party);
/* The flight that still has to read any of these bytes of global memory; NULL: none. */
const async_flight *async_reads(const async_flights *a, const unsigned char *from, int bytes);

#endif
