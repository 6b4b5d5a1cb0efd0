/* image.h -- the compiled images of this process: memory first, then the disk cache, then NVRTC.
 *
 * Reads   a text and a target (nvrtc_request).
 * Leaves  one image for each key, shared and counted.  However many threads ask for a key at once, one
 * compiles and the others wait for it; other keys go on meanwhile.  A failure is given to all who waited and
 *         forgotten, so that it may be tried again. */
#ifndef TG_RUNTIME_IMAGE_H
#define TG_RUNTIME_IMAGE_H

#include "runtime/cache.h"
#include "runtime/nvrtc.h"

typedef enum { IMAGE_FROM_MEMORY, IMAGE_FROM_DISK, IMAGE_COMPILED, IMAGE_FROM_PACK } image_origin;

typedef struct image {
    cache_key key;
    const void *data; /* cubin or PTX, aligned to 16 bytes */
    size_t size;
    image_origin origin; /* how it came into this process */
    cache_notes notes;
    const char *log; /* the compiler's warnings when it was compiled in this process; NULL */
} image;

/* TG_OK and an image that image_release() gives back, or what nvrtc_compile() says. */
int image_get(const nvrtc_request *request, const image **out);
void image_release(const image *i);

/* An image of these bytes, copied, that came in a pack; image_release() frees it.  NULL without memory. */
const image *image_own(const void *bytes, size_t size, const char *kernel, const char *target,
                       const char *nvrtc);

/* A digest of the text as the key sees it: without comments.  0 without memory. */
uint64_t image_text_digest(const char *text);

/* The disk cache of this process, opened at the first call; NULL when caches are off, or without memory. */
cache *image_cache(void);

/* Waits until what was compiled is on disk: entries are written by a thread of their own, because syncing one
 * costs as much as a tenth of a compile.  Called by tg_jit_free() and at exit. */
void image_settle(void);

/* Compiles of this process so far. */
unsigned image_compiles(void);

#endif
