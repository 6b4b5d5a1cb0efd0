/* tuned.h -- the tuned records that this process uses when a tunable is not given.
 *
 * Sources, each asked in turn, the first that knows the params exactly wins, else the first that knows near ones:
 *   $TEGULA_TUNED, then what tg_tuned_file() and tg_tuned_memory() gave, the newest first. */
#ifndef TG_RUNTIME_TUNED_H
#define TG_RUNTIME_TUNED_H

#include <stdbool.h>

#include <tegula/tegula.h>

#include "runtime/records.h"

/* False when there is nothing to ask: costs nothing. */
bool tuned_is_any(void);

/* The values of the tunables that were fastest; names live as long as the process.  NULL: none, or the query
 * says nothing that a record knows. */
const record *tuned_find(const records_query *q, bool *is_exact);

#endif
