/* sim_race.c -- the shadow cells of shared memory and of tensors; see sim_race.h for what they can tell.
 *
 * Reads and leaves shadows only.  `touch_cell` is the rule; the rest finds the cells. */
#include "sim/sim_race.h"

#include <stdlib.h>
#include <string.h>

static const race_party nobody = {RACE_NOBODY, 0};

static void cell_reset(race_cell *c, uint32_t epoch) {
    c->epoch = epoch;
    for (int i = 0; i < 3; i++) {
        c->kind[i] = (race_kind){0, {nobody, nobody}};
    }
}

/* The lanes of a warp are a power of two; nobody is in no warp. */
static inline bool is_one_warp(uint16_t thread, uint16_t other, uint16_t wave) {
    return (thread ^ other) < wave;
}

/* A party that nothing orders before `who`; NULL: none.  The order is that of the first one.  Where the second is of
 * another warp than the first, one of them is of another warp than `who`, and the first is asked first. */
static inline const race_party *unordered(const race_kind *k, const race_who *who) {
    for (int i = 0; i < 2 && k->party[i].thread != RACE_NOBODY; i++) {
        const uint16_t thread = k->party[i].thread;
        const bool may_be_ordered = is_one_warp(thread, who->party.thread, who->wave);
        if (!may_be_ordered || (k->order == who->order && thread != who->party.thread)) {
            return &k->party[i];
        }
    }
    return NULL;
}

/* An access of a warp stands for those of that warp before its barrier: whoever has these in the way has it, too. */
static inline void join(race_kind *k, const race_who *who) {
    race_party *p = k->party;
    const bool is_mine = is_one_warp(p[0].thread, who->party.thread, who->wave);
    if (p[1].thread != RACE_NOBODY && !is_one_warp(p[0].thread, p[1].thread, who->wave)) {
        return; /* of two warps one is in anybody's way */
    }
    if (p[0].thread == RACE_NOBODY || (is_mine && k->order != who->order)) {
        *k = (race_kind){who->order, {who->party, nobody}};
    } else if (!is_mine || (p[0].thread != who->party.thread && p[1].thread == RACE_NOBODY)) {
        p[1] = who->party;
    }
}

static inline bool is_in_the_way(const race_cell *c, race_access kind, const race_who *who,
                                 race_conflict *conflict) {
    const race_party *other = unordered(&c->kind[kind], who);
    if (other != NULL) {
        *conflict = (race_conflict){.party = *other, .access = kind};
    }
    return other != NULL;
}

/* Against the accesses of the same block and epoch; older ones are forgotten. */
static inline bool does_race(race_cell *c, race_access access, const race_who *who, race_conflict *conflict) {
    if (c->epoch != who->epoch) {
        cell_reset(c, who->epoch);
        return false;
    }
    return is_in_the_way(c, RACE_WRITE, who, conflict) ||
           (access != RACE_ATOMIC && is_in_the_way(c, RACE_ATOMIC, who, conflict)) ||
           (access != RACE_READ && is_in_the_way(c, RACE_READ, who, conflict));
}

/* Whether it races; then records it. */
static bool touch_cell(race_cell *c, race_access access, const race_who *who, race_conflict *conflict) {
    const bool races = does_race(c, access, who, conflict);
    join(&c->kind[access], who);
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

uint64_t race_touch_lanes(race_shadow *s, int64_t base, const int64_t *address, int bytes, uint64_t lanes,
                          race_access access, const race_who *who) {
    uint64_t recorded = 0;
    race_conflict ignored;
    if (s->cells == NULL) {
        return 0;
    }
    for (int l = 0; l < 64 && lanes >> l != 0; l++) {
        if (!(lanes >> l & 1)) {
            continue;
        }
        race_who me = *who;
        me.party.thread = (uint16_t)(me.party.thread + l);
        const int64_t from = base + address[l];
        const int64_t last = (from + bytes - 1) >> s->granule_log2;
        for (int64_t i = from >> s->granule_log2; i <= last; i++) {
            if (does_race(&s->cells[i], access, &me, &ignored)) {
                return recorded;
            }
            join(&s->cells[i].kind[access], &me);
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
