/* sim_joined.c -- joins a thread's accesses to neighbours in shared memory.
 *
 * Reads accesses in the order in which a warp makes them; leaves requests and wavefronts of what they are joined to. */
#include "sim/sim_joined.h"

#include <string.h>

#include "codegen/banks.h"

bool joined_is_possible(int bytes) {
    return bytes == 2 || bytes == 4;
}

static bool goes_on(const joined_run *run, const sim_access *a, int64_t barriers) {
    if (run->n == 0 || run->mask != a->mask || run->bytes != a->bytes || run->barriers != barriers) {
        return false;
    }
    for (int i = 0; i < run->lanes; i++) {
        if (a->address[i] != run->first[i] + (uint64_t)(run->n * run->bytes)) {
            return false;
        }
    }
    return true;
}

static void begin(joined_run *run, const sim_access *a, int64_t barriers) {
    *run = (joined_run){.n = 1, .bytes = a->bytes, .mask = a->mask, .base = a->base, .barriers = barriers};
    run->lanes = a->lanes < TARGET_MAX_WAVE ? a->lanes : TARGET_MAX_WAVE;
    memcpy(run->first, a->address, (size_t)run->lanes * sizeof *run->first);
}

/* Is every lane's place, `skip` accesses into the run, a multiple of so many bytes? */
static bool is_aligned(const joined_run *run, int skip, int bytes) {
    for (int i = 0; i < run->lanes; i++) {
        if (((uint64_t)run->base + run->first[i] + (uint64_t)(skip * run->bytes)) % (uint64_t)bytes != 0) {
            return false;
        }
    }
    return true;
}

static int wavefronts(const joined_run *run, const target *t, bool is_load, int skip, int bytes) {
    bank_request r = {.bytes = bytes, .is_load = is_load};
    int next = 0;
    for (int lane = 0; lane < TARGET_MAX_WAVE; lane++) {
        const bool takes_part = (run->mask >> lane & 1) && next < run->lanes;
        r.address[lane] = takes_part ? run->base + (int64_t)run->first[next] + skip * run->bytes : -1;
        next += takes_part;
    }
    return bank_count(t, &r).wavefronts;
}

joined_cost joined_end(joined_run *run, const target *t, bool is_load) {
    joined_cost cost = {0};
    for (int at = 0; at < run->n;) {
        int join = JOINED_MOST;
        while (join > 1 && (at + join > run->n || !is_aligned(run, at, join * run->bytes))) {
            join /= 2;
        }
        cost.requests++;
        cost.wavefronts += wavefronts(run, t, is_load, at, join * run->bytes);
        at += join;
    }
    run->n = 0;
    return cost;
}

joined_cost joined_add(joined_run *run, const target *t, const sim_access *a, int64_t barriers) {
    joined_cost cost = {0};
    if (run->n < JOINED_MOST && goes_on(run, a, barriers)) {
        run->n++;
    } else {
        cost = joined_end(run, t, !a->is_write);
        begin(run, a, barriers);
    }
    return cost;
}
