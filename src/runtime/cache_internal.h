/* cache_internal.h -- what cache.c and cache_admin.c share; for nobody else. */
#ifndef TG_RUNTIME_CACHE_INTERNAL_H
#define TG_RUNTIME_CACHE_INTERNAL_H

#include <limits.h>
#include <stdatomic.h>

#include "runtime/cache.h"

/* Immutable after cache_new() but for the two flags, so any thread may use it. */
struct cache {
    char root[PATH_MAX]; /* "" when nothing is kept on disk */
    char problem[PATH_MAX + 128];
    uint64_t limit;
    atomic_bool said_corrupt, said_unwritable; /* warned once */
};

/* Reads and checks one file.  Leaves a bad one where it is; `is_absent` tells a missing file from a bad one.
 * `is_use` stamps the time of last use. */
bool cache_load_file(const char *path, const cache_key *key, bool is_use, cache_entry *entry,
                     bool *is_absent);
/* Notes that an entry of that many bytes was written; true when it is time to prune. */
bool cache_count(cache *c, uint64_t bytes);

#endif
