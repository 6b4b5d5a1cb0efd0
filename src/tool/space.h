/* space.h -- the configurations of a kernel's tune space, numbered: the product of the axes in its YAML row, or of
 * several products one after the other.
 *
 * Number 0 has every axis at its first value; the last axis moves fastest.  Axes whose name the command line
 * gives a value are left out: that value stands. */
#ifndef TOOL_SPACE_H
#define TOOL_SPACE_H

#include "tool/options.h"
#include "tool/rows.h"

typedef struct space_part {
    int naxes;
    const row_axis *axis[TG_MAX_CONFIG];
    int64_t count; /* 1 without axes */
} space_part;

typedef struct space {
    int nparts;
    space_part part[ROW_MAX_SPACES];
    int64_t count; /* of all */
} space;

/* `fixed`: settings of the command line, those of all kernels and those of this one.  False when the product
 * exceeds 64 bits. */
bool space_open(const row *r, const settings *fixed[], int nfixed, space *s);
/* Appends the axes' values in configuration `number` (0 .. count - 1) to `to`. */
void space_settings(const space *s, int64_t number, settings *to);
/* The k-th of a seeded order without repetition over all numbers; k from 0 to count - 1. */
int64_t space_pick(const space *s, uint64_t seed, int64_t k);

#endif
