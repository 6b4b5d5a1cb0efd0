/* sim_race.c -- the shadow cells of shared memory and of tensors; see sim_race.h for what they can tell.
 *
 * Reads and leaves shadows only.  `touch_cell` is the rule; the rest finds the cells. */
#include "sim/sim_race.h"

#include <stdlib.h>
#include <string.h>

static const race_party nobody = {RACE_NOBODY, 0};

static void cell_reset(race_cell *c, uint32_t epoch, uint32_t order) {
    c->epoch = epoch;
    c->order = order;
    c->writer[0] = c->writer[1] = c->reader[0] = c->reader[1] = c->atomic[0] = c->atomic[1] = nobody;
}

/* One of the pair that is another thread than `thread`; NULL: none. */
static const race_party *other_than(const race_party pair[2], uint16_t thread) {
    for (int i = 0; i < 2; i++) {
        if (pair[i].thread != RACE_NOBODY && pair[i].thread != thread) {
            return &pair[i];
        }
    }
    return NULL;
}

static void join(race_party pair[2], race_party party) {
    if (pair[0].thread == RACE_NOBODY) {
        pair[0] = party;
    } else if (pair[0].thread != party.thread && pair[1].thread == RACE_NOBODY) {
        pair[1] = party;
    }
}

static bool found(race_conflict *conflict, const race_party *party, race_access access) {
    if (party == NULL) {
        return false;
    }
    *conflict = (race_conflict){.party = *party, .access = access};
    return true;
}

static bool is_of_warp(race_party party, race_party other, uint16_t wave) {
    return party.thread != RACE_NOBODY && party.thread / wave == other.thread / wave;
}

/* The last access was another warp's, or lies before a barrier of this one.  What this warp did before is in its own way
 * no longer, and of any other one party is enough: where two warps are in a cell, whoever races with a thread of one of
 * them that goes races with the one of the other that stays. */
static void forget_warp(race_cell *c, const race_who *who) {
    race_party *const pairs[] = {c->writer, c->reader, c->atomic};
    for (int i = 0; i < 3; i++) {
        race_party *pair = pairs[i];
        if (is_of_warp(pair[1], who->party, who->wave) || is_of_warp(pair[1], pair[0], who->wave)) {
            pair[1] = nobody;
        }
        if (is_of_warp(pair[0], who->party, who->wave)) {
            pair[0] = pair[1];
            pair[1] = nobody;
        }
    }
    c->order = who->order;
}

/* Against the accesses of the same block and epoch; then records this one. */
static bool touch_cell(race_cell *c, race_access access, const race_who *who, race_conflict *conflict) {
    const uint16_t me = who->party.thread;
    if (c->epoch != who->epoch) {
        cell_reset(c, who->epoch, who->order);
    } else if (c->order != who->order) {
        forget_warp(c, who);
    }
    bool races = found(conflict, other_than(c->writer, me), RACE_WRITE);
    if (!races && access != RACE_ATOMIC) {
        races = found(conflict, other_than(c->atomic, me), RACE_ATOMIC);
    }
    if (!races && access != RACE_READ) {
        races = found(conflict, other_than(c->reader, me), RACE_READ);
    }
    join(access == RACE_READ ? c->reader : access == RACE_ATOMIC ? c->atomic : c->writer, who->party);
    return races;
}

/* ---- tensors: pages, and the first access of the run --------------------------------------------------- */

/* Items with room for one more; NULL without memory, and then nothing changed. */
static void *grown(void *items, int64_t n, int64_t *capacity, size_t size) {
    if (n < *capacity) {
        return items;
    }
    const int64_t more = *capacity > 0 ? 2 * *capacity : 16;
    void *wider = realloc(items, size * (size_t)more);
    if (wider != NULL) {
        *capacity = more;
    }
    return wider;
}

/* Cells of a page for the block that runs.  Those of earlier blocks carry other epochs. */
static race_cell *page_cells(race_shadow *s, int64_t number) {
    race_page *p = &s->pages[number];
    if (p->now != NULL) {
        return p->now;
    }
    int64_t *touched = grown(s->touched, s->ntouched, &s->touched_capacity, sizeof *touched);
    if (touched == NULL) {
        return NULL;
    }
    s->touched = touched;
    p->now = s->nspare > 0 ? s->spare[--s->nspare] : calloc(RACE_PAGE, sizeof *p->now);
    if (p->now != NULL) {
        s->touched[s->ntouched++] = number;
    }
    return p->now;
}

static bool of_another_block(const race_page *p, race_access access, int64_t cell, const race_who *who,
                             race_conflict *conflict) {
    const race_first *first = p->first[access] != NULL ? &p->first[access][cell] : NULL;
    if (first == NULL || first->block == 0 || first->block == who->block + 1) {
        return false;
    }
    *conflict = (race_conflict){true, first->block - 1, first->party, access};
    return true;
}

static bool touch_first(race_page *p, int64_t cell, race_access access, const race_who *who,
                        race_conflict *conflict, bool *enough) {
    bool races = of_another_block(p, RACE_WRITE, cell, who, conflict);
    if (!races && access != RACE_ATOMIC) {
        races = of_another_block(p, RACE_ATOMIC, cell, who, conflict);
    }
    if (!races && access != RACE_READ) {
        races = of_another_block(p, RACE_READ, cell, who, conflict);
    }
    if (p->first[access] == NULL) {
        p->first[access] = calloc(RACE_PAGE, sizeof(race_first));
        if (p->first[access] == NULL) {
            *enough = false;
            return races;
        }
    }
    race_first *first = &p->first[access][cell];
    if (first->block == 0) {
        *first = (race_first){who->block + 1, who->party};
    }
    return races;
}

static bool touch_paged(race_shadow *s, int64_t cell, race_access access, const race_who *who,
                        race_conflict *conflict, bool *enough) {
    race_cell *now = page_cells(s, cell / RACE_PAGE);
    if (now == NULL) {
        *enough = false;
        return false;
    }
    race_conflict across;
    const bool in_block = touch_cell(&now[cell % RACE_PAGE], access, who, conflict);
    const bool between =
        touch_first(&s->pages[cell / RACE_PAGE], cell % RACE_PAGE, access, who, &across, enough);
    if (between && !in_block) {
        *conflict = across;
    }
    return in_block || between;
}

/* ---- public -------------------------------------------------------------------------------------------- */

race_shadow *race_shadow_new(int64_t bytes, int granule_log2, bool paged) {
    race_shadow *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->granule_log2 = granule_log2;
    s->ncells = (bytes >> granule_log2) + 1;
    if (paged) {
        s->pages = calloc((size_t)(s->ncells / RACE_PAGE + 1), sizeof *s->pages);
    } else {
        s->cells = calloc((size_t)s->ncells, sizeof *s->cells);
        s->written = calloc((size_t)s->ncells, 1);
    }
    if (paged ? s->pages == NULL : s->cells == NULL || s->written == NULL) {
        race_shadow_free(s);
        return NULL;
    }
    return s;
}

void race_shadow_free(race_shadow *s) {
    if (s == NULL) {
        return;
    }
    for (int64_t i = 0; s->pages != NULL && i <= s->ncells / RACE_PAGE; i++) {
        free(s->pages[i].now);
        for (int k = 0; k < 3; k++) {
            free(s->pages[i].first[k]);
        }
    }
    for (int64_t i = 0; i < s->nspare; i++) {
        free(s->spare[i]);
    }
    free(s->spare);
    free(s->touched);
    free(s->pages);
    free(s->cells);
    free(s->written);
    free(s);
}

void race_block_ended(race_shadow *s) {
    if (s->written != NULL) {
        memset(s->written, 0, (size_t)s->ncells);
    }
    for (int64_t i = 0; i < s->ntouched; i++) {
        race_page *p = &s->pages[s->touched[i]];
        race_cell **spare = grown(s->spare, s->nspare, &s->spare_capacity, sizeof *spare);
        if (spare != NULL) {
            s->spare = spare;
            s->spare[s->nspare++] = p->now;
        } else {
            free(p->now);
        }
        p->now = NULL;
    }
    s->ntouched = 0;
}

bool race_touch(race_shadow *s, int64_t from, int bytes, race_access access, const race_who *who,
                race_conflict *conflict, bool *enough) {
    const int64_t first = from >> s->granule_log2, last = (from + bytes - 1) >> s->granule_log2;
    bool races = false;
    race_conflict each;
    for (int64_t i = first; i <= last; i++) {
        const bool here = s->cells != NULL ? touch_cell(&s->cells[i], access, who, &each)
                                           : touch_paged(s, i, access, who, &each, enough);
        if (here && !races) {
            *conflict = each;
            races = true;
        }
    }
    return races;
}

/* Nobody but `me`, as a writer, touched the cell in this epoch; reads may have company. */
static inline bool is_quiet(const race_cell *c, race_access access, uint16_t me) {
    const bool alone = c->writer[1].thread == RACE_NOBODY &&
                       (c->writer[0].thread == RACE_NOBODY || c->writer[0].thread == me);
    return alone && c->atomic[0].thread == RACE_NOBODY &&
           (access == RACE_READ || c->reader[0].thread == RACE_NOBODY);
}

static inline bool touch_quietly(race_cell *c, race_access access, const race_who *who, race_party me) {
    if (c->epoch != who->epoch) {
        cell_reset(c, who->epoch, who->order);
    } else if (c->order != who->order) {
        return false;
    } else if (!is_quiet(c, access, me.thread)) {
        return false;
    }
    join(access == RACE_READ ? c->reader : c->writer, me);
    return true;
}

uint64_t race_touch_lanes(race_shadow *s, int64_t base, const int64_t *address, int bytes, uint64_t lanes,
                          race_access access, const race_who *who) {
    uint64_t recorded = 0;
    if (s->cells == NULL || access == RACE_ATOMIC) {
        return 0;
    }
    for (int l = 0; l < 64 && lanes >> l != 0; l++) {
        if (!(lanes >> l & 1)) {
            continue;
        }
        const race_party me = {(uint16_t)(who->party.thread + l), who->party.place};
        const int64_t from = base + address[l];
        const int64_t last = (from + bytes - 1) >> s->granule_log2;
        for (int64_t i = from >> s->granule_log2; i <= last; i++) {
            if (!touch_quietly(&s->cells[i], access, who, me)) {
                return recorded;
            }
        }
        recorded |= (uint64_t)1 << l;
    }
    return recorded;
}

/* Few cells: a loop is faster than a call. */
bool race_is_written(const race_shadow *s, int64_t from, int bytes) {
    const int64_t last = (from + bytes - 1) >> s->granule_log2;
    unsigned char all = 1;
    for (int64_t i = from >> s->granule_log2; i <= last; i++) {
        all &= s->written[i];
    }
    return all != 0;
}

void race_set_written(race_shadow *s, int64_t from, int bytes) {
    const int64_t last = (from + bytes - 1) >> s->granule_log2;
    for (int64_t i = from >> s->granule_log2; i <= last; i++) {
        s->written[i] = 1;
    }
}
