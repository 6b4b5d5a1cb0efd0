/* sim_race.h -- who touched which byte, and whether anything ordered them.
 *
 * Two accesses race when they share a byte, one of them writes, not both are atomic, they come from different
 * threads, and no barrier lies between: inside a block that means the same epoch, between blocks always.
 * A barrier of a warp orders the threads of that warp, and no others.  Neither lockstep nor a shuffle orders memory.
 *
 * A cell stands for `granule` bytes, the smallest element of any access, so that every access covers whole
 * cells.  For the epoch that it names it keeps two parties of each kind of access: two of different warps, or,
 * while one warp came alone, the first two threads since that warp's last barrier.  Whoever races with one that is
 * not kept races with one that is: enough to know exactly, for every further access, whether it races.
 *
 * A tensor's cells also keep the first access of each kind of the whole run: when that was of another block, it and
 * the present one are unordered; when it was of this block, no other block came before, since blocks run one after
 * another. */
#ifndef SIM_SIM_RACE_H
#define SIM_SIM_RACE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum race_access { RACE_READ, RACE_WRITE, RACE_ATOMIC } race_access;

enum { RACE_NOBODY = 0xffff, RACE_PAGE = 512 };

typedef struct race_party {
    uint16_t thread, place;
} race_party;

/* The accesses of one kind. */
typedef struct race_kind {
    uint32_t order;      /* of the first party */
    race_party party[2]; /* RACE_NOBODY: none */
} race_kind;

typedef struct race_cell {
    uint32_t epoch;
    race_kind kind[3]; /* by race_access */
} race_cell;

/* The first access of one kind to a cell in the whole run; block + 1, 0: none. */
typedef struct race_first {
    uint32_t block;
    race_party party;
} race_first;

typedef struct race_page {
    race_cell *now;       /* while the block runs that touched it */
    race_first *first[3]; /* by race_access; NULL: no such access */
} race_page;

typedef struct race_shadow {
    int granule_log2;
    int64_t ncells;
    race_cell *cells; /* shared memory: all of them */
    race_page *pages; /* tensors: by RACE_PAGE cells, as needed */
    int64_t *touched; /* pages with `now` */
    int64_t ntouched, touched_capacity;
    race_cell **spare; /* cells of pages given back */
    int64_t nspare, spare_capacity;
    unsigned char *written; /* shared memory: a byte for each cell */
} race_shadow;

/* The access that the present one races with. */
typedef struct race_conflict {
    bool across_blocks;
    uint32_t block;
    race_party party;
    race_access access;
} race_conflict;

typedef struct race_who {
    uint32_t block, epoch;
    uint32_t order; /* barriers of its warp so far: names the interval between two */
    uint16_t wave;  /* lanes of a warp: a power of two */
    race_party party;
} race_who;

race_shadow *race_shadow_new(int64_t bytes, int granule_log2, bool paged);
void race_shadow_free(race_shadow *s);
/* A block ended (tensors), or the next begins (shared memory): nothing written, nobody there. */
void race_block_ended(race_shadow *s);
/* Records an access to `bytes` at `from`; true with the first conflict found.  False in *enough: no memory.
 */
bool race_touch(race_shadow *s, int64_t from, int bytes, race_access access, const race_who *who,
                race_conflict *conflict, bool *enough);
/* Shared memory, many at once: lane l touches `bytes` at base + address[l].  Records lanes in ascending order
 * while nothing speaks against them, and returns those; the others are for race_touch.  `who` is lane 0. */
uint64_t race_touch_lanes(race_shadow *s, int64_t base, const int64_t *address, int bytes, uint64_t lanes,
                          race_access access, const race_who *who);
/* Shared memory: was everything at `from` written in this block? */
bool race_is_written(const race_shadow *s, int64_t from, int bytes);
void race_set_written(race_shadow *s, int64_t from, int bytes);

#endif
