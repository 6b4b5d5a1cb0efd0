/* cache.h -- compiled images on disk.
 *
 *     DIRECTORY/                 0700, ours; else nothing is kept on disk
 *       usage                    sizes of the entries written since the last prune, 8 bytes each
 *       lock                     held, without waiting, by whoever prunes
 *       3f/                      first two digits of the key
 *         a04c..9e.tgc           one entry
 *         .tmp-HOST-PID-N        an entry being written; renamed when whole
 *
 * DIRECTORY is $TEGULA_CACHE_DIR, else $XDG_CACHE_HOME/tegula, else ~/.cache/tegula.
 *
 * An entry is one file, so that parts of two writers never meet:
 *
 *     0   magic (8)   schema (4)   bytes of notes (4)   bytes of image (8)   key (16)
 *     40  XXH3-128 of everything else (16)   zero (8)
 *     64  notes, as "name=value" lines, zero-filled to 16 bytes; then the image to the end of the file
 *
 * Nothing is locked for reading or writing: an entry appears whole, by rename, and two writers of one key
 * write the same.  The time of last use is the file's modification time, set by Tegula and never by the
 * system. Whatever goes wrong is a miss; the caller goes on with what it has in memory. */
#ifndef TG_RUNTIME_CACHE_H
#define TG_RUNTIME_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CACHE_SCHEMA = 1, CACHE_KEY_TEXT = 33 };

/* ---- keys ---------------------------------------------------------------------------------------------- */

typedef struct {
    unsigned char byte[16];
} cache_key;

typedef struct {
    const void *bytes;
    size_t size;
} cache_field;

/* 128 bits of all fields, each with its length in front, so that moving a byte to the neighbour shows. */
cache_key cache_make_key(const cache_field *fields, size_t n);
bool cache_same_key(const cache_key *a, const cache_key *b);
void cache_key_text(const cache_key *key, char text[CACHE_KEY_TEXT]);

/* ---- the cache ----------------------------------------------------------------------------------------- */

typedef struct cache cache;

/* `directory` NULL: as the environment says.  Never fails for a reason of the file system: see
 * cache_problem(). NULL without memory. */
cache *cache_new(const char *directory);
void cache_free(cache *c);

const char *cache_directory(const cache *c); /* NULL when nothing is kept on disk */
const char *cache_problem(const cache *c);   /* why not; NULL when all is well */
uint64_t cache_limit(const cache *c);        /* bytes */

/* What is known of an entry besides its image. */
typedef struct {
    char kernel[64];
    char target[16];
    char nvrtc[16]; /* "13.0" */
    double compile_ms;
    int64_t created; /* seconds since 1970 */
} cache_notes;

typedef struct {
    cache_notes notes;
    const void *image; /* aligned to 16 bytes */
    size_t size;
    void *memory;
} cache_entry;

/* True when there is a file for the key, whole or not. */
bool cache_has(const cache *c, const cache_key *key);
/* True and the entry, which cache_entry_free() releases; false is a miss. */
bool cache_read(cache *c, const cache_key *key, cache_entry *entry);
void cache_entry_free(cache_entry *entry);

/* Keeps an image.  Prunes when the entries grew over the limit.  False: not kept, said once in the log. */
bool cache_write(cache *c, const cache_key *key, const cache_notes *notes, const void *image, size_t size);

/* ---- looking after it (cache_admin.c) ------------------------------------------------------------------ */

typedef struct {
    char key[CACHE_KEY_TEXT];
    cache_notes notes;
    uint64_t bytes;    /* of the file */
    int64_t last_used; /* seconds since 1970 */
    bool is_good;
} cache_row;

/* All entries, the last used first, each read and checked; caller frees *rows.  TG_OK or TG_ENOMEM. */
int cache_list(cache *c, cache_row **rows, size_t *n);

typedef struct {
    size_t entries, temporary;
    uint64_t bytes;
    int64_t oldest, newest; /* last use; 0 without entries */
} cache_statistics;
cache_statistics cache_stat(cache *c);

/* Reads every entry and removes those that are not whole; returns how many were removed, `good` how many
 * stay. */
size_t cache_verify(cache *c, size_t *good);
/* Removes the least recently used until `limit` bytes stay, and what killed writers left; returns how many.
 */
size_t cache_prune(cache *c, uint64_t limit);
/* Removes every entry; returns how many. */
size_t cache_clear(cache *c);

#endif
