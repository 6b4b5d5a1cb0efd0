/* test_sim_race.c -- shadow cells tell exactly which accesses race: random sequences of accesses by threads of several
 * warps, with barriers of a warp and of the block between, against a list of all accesses that is searched each time. */
#include <criterion/criterion.h>
#include <string.h>

#include "sim/sim_race.h"

enum { BYTES = 8, STEPS = 48, WARPS = 3, LANES = 4, SEQUENCES = 20000 };

/* ---- what happened, all of it ---------------------------------------------------------------------------- */

typedef struct event {
    race_who who;
    race_access access;
    int from, bytes;
} event;

typedef struct history {
    int n;
    event item[STEPS * 64];
} history;

static bool share_a_byte(const event *a, const event *b) {
    return a->from < b->from + b->bytes && b->from < a->from + a->bytes;
}

/* Does a barrier lie between?  Those of one warp are numbered by the barriers of the warp before them. */
static bool is_ordered(const race_who *a, const race_who *b) {
    const bool is_one_warp = a->party.thread / a->wave == b->party.thread / b->wave;
    return a->block == b->block && (a->epoch != b->epoch || a->party.thread == b->party.thread ||
                                    (is_one_warp && a->order != b->order));
}

static bool do_race(const event *a, const event *b) {
    const bool writes = a->access != RACE_READ || b->access != RACE_READ;
    const bool atomics = a->access == RACE_ATOMIC && b->access == RACE_ATOMIC;
    return share_a_byte(a, b) && writes && !atomics && !is_ordered(&a->who, &b->who);
}

static bool races_with_any(const history *h, const event *e) {
    bool any = false;
    for (int i = 0; i < h->n && !any; i++) {
        any = do_race(&h->item[i], e);
    }
    return any;
}

/* ---- a run ----------------------------------------------------------------------------------------------- */

typedef struct run {
    uint64_t random;
    race_shadow *shadow;
    bool is_paged;
    uint16_t wave;
    uint32_t block, epoch, order[WARPS];
    history all;
    int races;
} run;

static uint32_t draw(run *r, uint32_t n) {
    r->random = r->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->random >> 33) % n;
}

/* A few lanes of each warp, its first and its last among them. */
static uint16_t draw_thread(run *r, uint32_t warp) {
    const uint32_t lane = draw(r, LANES);
    return (uint16_t)(warp * r->wave + (lane == LANES - 1u ? r->wave - 1u : lane));
}

static event draw_event(run *r, uint32_t warp) {
    static const race_access kinds[] = {RACE_READ, RACE_READ, RACE_WRITE, RACE_ATOMIC};
    event e = {.access = kinds[draw(r, 4)], .bytes = 1 << draw(r, 3)};
    e.from = (int)draw(r, (uint32_t)(BYTES / e.bytes)) * e.bytes;
    e.who = (race_who){r->block, r->epoch, r->order[warp], r->wave, {draw_thread(r, warp), 0}};
    return e;
}

static void note(run *r, event *e, int place) {
    e->who.party.place = (uint16_t)place;
    r->all.item[r->all.n++] = *e;
}

/* Is what is told as the other side such an access? */
static bool is_true(const run *r, const event *e, const race_conflict *told) {
    bool found = false;
    for (int i = 0; i < r->all.n && !found; i++) {
        const event *x = &r->all.item[i];
        found = x->who.party.place == told->party.place && x->who.party.thread == told->party.thread &&
                x->access == told->access && (x->who.block != e->who.block) == told->across_blocks &&
                do_race(x, e);
    }
    return found;
}

static void touch(run *r, event e, int place) {
    race_conflict told = {.access = RACE_READ};
    bool enough = true;
    const bool want = races_with_any(&r->all, &e);
    note(r, &e, place);
    const bool got = race_touch(r->shadow, e.from, e.bytes, e.access, &e.who, &told, &enough);
    cr_assert(enough);
    cr_assert_eq(got, want, "access %d, by thread %d: %s", r->all.n - 1, e.who.party.thread,
                 want ? "a race is missed" : "there is no race");
    cr_assert(!got || is_true(r, &e, &told), "access %d, by thread %d, does not race with that of thread %d",
              r->all.n - 1, e.who.party.thread, told.party.thread);
    r->races += got;
}

/* Lanes of one warp together, as many as race with nobody; then the others one by one. */
static void touch_lanes(run *r, uint32_t warp) {
    const event like = draw_event(r, warp);
    const int place = r->all.n;
    event lane[64];
    int64_t address[64];
    uint64_t lanes = 0, want = 0;
    bool is_stopped = false;
    for (int l = 0; l < r->wave; l++) {
        lane[l] = like;
        lane[l].from = (int)draw(r, (uint32_t)(BYTES / like.bytes)) * like.bytes;
        lane[l].who.party.thread = (uint16_t)(warp * r->wave + (uint32_t)l);
        address[l] = lane[l].from;
        lanes |= draw(r, r->wave) < 4 ? (uint64_t)1 << l : 0;
        is_stopped = is_stopped || ((lanes >> l & 1) && races_with_any(&r->all, &lane[l]));
        if ((lanes >> l & 1) && !is_stopped) {
            want |= (uint64_t)1 << l;
            note(r, &lane[l], place);
        }
    }
    race_who first = like.who;
    first.party = (race_party){(uint16_t)(warp * r->wave), (uint16_t)place};
    const uint64_t got = race_touch_lanes(r->shadow, 0, address, like.bytes, lanes, like.access, &first);
    cr_assert_eq(got, want, "access %d, by lanes %llx of warp %u: %llx and not %llx race with nobody", place,
                 (unsigned long long)lanes, (unsigned)warp, (unsigned long long)got,
                 (unsigned long long)want);
    for (int l = 0; l < r->wave; l++) {
        if ((lanes & ~got) >> l & 1) {
            touch(r, lane[l], place);
        }
    }
}

static void begin_block(run *r) {
    r->epoch++;
    memset(r->order, 0, sizeof r->order);
    r->all.n = r->is_paged ? r->all.n : 0;
    race_block_ended(r->shadow);
}

static void step(run *r) {
    const uint32_t what = draw(r, 64), warp = draw(r, WARPS);
    if (what == 0) {
        r->block++;
        begin_block(r);
    } else if (what < 3) {
        r->epoch++;
    } else if (what < 16) {
        r->order[warp]++;
    } else if (what < 20 && !r->is_paged) {
        touch_lanes(r, warp);
    } else {
        touch(r, draw_event(r, warp), r->all.n);
    }
}

static void run_sequences(bool is_paged, uint16_t wave) {
    run r = {.random = wave, .is_paged = is_paged, .wave = wave};
    for (int i = 0; i < SEQUENCES; i++) {
        r.shadow = race_shadow_new(BYTES, 0, is_paged);
        r.all.n = 0;
        r.block = 0;
        begin_block(&r);
        for (int k = 0; k < STEPS; k++) {
            step(&r);
        }
        race_shadow_free(r.shadow);
    }
    cr_assert_gt(r.races, SEQUENCES); /* what is never met is not tested */
}

Test(sim_race, every_access_to_shared_memory_is_judged_as_by_a_list_of_all) {
    run_sequences(false, 32);
    run_sequences(false, 64);
    run_sequences(false, 4);
}

Test(sim_race, every_access_to_a_tensor_is_judged_as_by_a_list_of_all) {
    run_sequences(true, 32);
    run_sequences(true, 64);
}
