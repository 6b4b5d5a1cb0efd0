/* sim_blocks.h -- which blocks of a grid do the same to memory, so that one of them is enough for counting.
 *
 * Two blocks are alike when every branch goes the same way in both and every address differs by a whole number
 * of sectors (global) or of rows of banks (shared).  That is read off the thread IR: each address and each
 * condition is taken apart into a part that belongs to the block (block numbers, launch arguments) and a rest
 * that does not, and blocks are compared by
 *
 *     addresses                     the block's part, modulo a sector or a row of banks
 *     conditions                    decided for every thread: which way; undecided: the block's part itself
 *     what cannot be taken apart    the block numbers that occur in it
 *
 * Nothing is assumed: where data in memory decides, every block is a kind of its own. */
#ifndef SIM_SIM_BLOCKS_H
#define SIM_SIM_BLOCKS_H

#include "codegen/thread.h"
#include "sim/witness.h"

typedef struct block_reader block_reader;

typedef struct block_kinds {
    int64_t grid[3];
    int64_t blocks;
    const char *why;  /* why every block is a kind of its own; NULL: they were compared */
    tg_loc why_at;    /* file NULL: no place in particular */
    int64_t n;        /* kinds */
    uint32_t *kind;   /* of each block, x first; NULL where all differ */
    int64_t *first;   /* of each kind: the block that stands for it */
    int64_t *members; /* of each kind: how many blocks are of it */
    block_reader *reader;
} block_kinds;

/* TG_OK, TG_EARG (the grid cannot be computed from the arguments), TG_ENOMEM.  Free in every case. */
int block_kinds_find(const thread_kernel *t, int nargs, const witness_arg *args, block_kinds *out);
void block_kinds_free(block_kinds *k);

/* The block's part of an address, in bytes: what it moves by from block to block of one kind. */
typedef struct block_place block_place;
const block_place *block_kinds_place(const block_kinds *k,
                                     const node *ref); /* NULL: no part of the block's */
int64_t block_place_base(const block_kinds *k, const block_place *p, int64_t block);

#endif
