/* fuzz_cache.c -- any bytes as an entry of the cache, under a right header and checksum, and as the file of what was
 * used: a miss that is removed, or an image that lies in the file.
 *
 * With FUZZ_SEED=FILE it writes a whole entry there and ends. */
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <tegula/tegula.h>

#include "runtime/cache.h"

enum { HEADER = 64, AT_KEY = 24, AT_DIGEST = 40, DIGEST = 16 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "cache-XXXXXX", entry_path[PATH_MAX], usage_path[PATH_MAX];
static cache *c;
static const cache_key key;

static void write_file(const char *path, const void *bytes, size_t size) {
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(bytes, 1, size, out) != size || fclose(out) != 0) {
        abort();
    }
}

static bool write_entry(void) {
    const cache_notes notes = {.kernel = "gemv", .target = "sm_90a", .nvrtc = "13.0", .compile_ms = 30};
    return cache_write(c, &key, &notes, "an image", 8);
}

static void write_seed(const char *path) {
    char bytes[4096];
    FILE *in = fopen(entry_path, "rb");
    const size_t n = in ? fread(bytes, 1, sizeof bytes, in) : 0;
    if (!n || fclose(in) != 0) {
        abort();
    }
    write_file(path, bytes, n);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    const char *seed = getenv("FUZZ_SEED");
    (void)argc, (void)argv;
    setenv("TEGULA_LOG", "/dev/null", 1);
    c = mkdtemp(folder) ? cache_new(folder) : NULL;
    snprintf(entry_path, sizeof entry_path, "%s/00/%030d.tgc", folder, 0);
    snprintf(usage_path, sizeof usage_path, "%s/usage", folder);
    if (!c || !write_entry()) {
        abort();
    }
    if (seed) {
        write_seed(seed);
        cache_clear(c);
        exit(0);
    }
    return 0;
}

/* Else the checksum would keep everything out. */
static void seal(uint8_t *file, size_t size) {
    XXH3_state_t x;
    XXH128_canonical_t digest;
    memcpy(file, "TEGULA\r\n", 8);
    memset(file + 8, 0, 4);
    file[8] = CACHE_SCHEMA;
    memcpy(file + AT_KEY, key.byte, sizeof key.byte);
    XXH3_INITSTATE(&x);
    XXH3_128bits_reset(&x);
    XXH3_128bits_update(&x, file, AT_DIGEST);
    XXH3_128bits_update(&x, file + AT_DIGEST + DIGEST, size - AT_DIGEST - DIGEST);
    XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(&x));
    memcpy(file + AT_DIGEST, digest.digest, DIGEST);
}

/* Every byte of it is touched. */
static void use(const cache_entry *e) {
    unsigned sum = 0;
    for (size_t i = 0; i < e->size; i++) {
        sum += ((const unsigned char *)e->image)[i];
    }
    if ((uintptr_t)e->image % 16 || strlen(e->notes.kernel) + sum > UINT_MAX - 100) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *file = malloc(size + 1);
    cache_entry entry;
    cache_row *rows;
    size_t n;
    if (!file) {
        return 0;
    }
    memcpy(file, data, size);
    if (size >= HEADER) {
        seal(file, size);
    }
    write_file(entry_path, file, size);
    write_file(usage_path, data, size);
    if (cache_read(c, &key, &entry)) {
        use(&entry);
        if (cache_list(c, &rows, &n) != TG_OK || n != 1 || !rows[0].is_good) {
            abort();
        }
        free(rows);
    } else if (access(entry_path, F_OK) == 0) {
        abort();
    }
    cache_entry_free(&entry);
    if (!write_entry() || !cache_read(c, &key, &entry)) {
        abort();
    }
    cache_entry_free(&entry);
    free(file);
    return 0;
}
