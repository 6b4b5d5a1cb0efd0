/* banks.h -- what one request to shared memory costs: how many wavefronts it takes.
 *
 * Shared memory has banks that give one word each at a time; a word that several lanes want counts once.  A
 * request is served in groups of neighbouring lanes (target.h, bank_rule):
 *
 *     4 bytes a lane   all 32 lanes together
 *     8 bytes a lane   two halves, each of 32 words
 *     16 bytes a lane  four quarters
 *
 * and each group takes as many wavefronts as its fullest bank has words.  Loads whose lanes 2i and 2i + 1 ask for
 * the same address go twice as wide; stores never do. */
#ifndef CODEGEN_BANKS_H
#define CODEGEN_BANKS_H

#include "codegen/target.h"

typedef struct bank_request {
    int bytes; /* of one lane: a power of two up to 16 */
    bool is_load;
    int64_t address[TARGET_MAX_WAVE]; /* in bytes, of each lane of the wave; negative: it takes no part */
} bank_request;

typedef struct bank_cost {
    int wavefronts;
    int least;        /* what they would be without conflicts: one for each group that asks for anything */
    uint64_t busiest; /* as bits: the banks that hold up their group; 0 without conflicts */
} bank_cost;

bank_cost bank_count(const target *t, const bank_request *r);
/* Into how many groups of neighbouring lanes the request is divided. */
int bank_groups(const target *t, const bank_request *r);

#endif
