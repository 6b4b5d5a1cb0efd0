/* compiler_id.h -- which NVRTC would compile, known without loading it.
 *
 * Opening NVRTC takes ten times as long as reading an entry of the cache, and the key names its version and
 * build. So the cache directory keeps, for each way of looking for it, which file was found and what it said;
 * the note holds while that file is unchanged.  A stale note costs a miss, never a wrong image: the entries
 * of another compiler stay right for that compiler. */
#ifndef TG_RUNTIME_COMPILER_ID_H
#define TG_RUNTIME_COMPILER_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/api.h"
#include "runtime/cache.h"

typedef struct {
    int major, minor;
    uint64_t build;
} compiler_id;

compiler_id compiler_id_of(const api_nvrtc *api);
/* True when the directory has a note for that target and it still holds. */
bool compiler_id_recall(const cache *c, const char *target, compiler_id *id);
void compiler_id_remember(const cache *c, const char *target, const api_nvrtc *api);

#endif
