/* bytes.h -- numbers, strings and blocks in files: little-endian, with lengths in front.
 *
 * A reader never leaves its bytes: what is not there reads as 0, "" or NULL, and `failed` stays set. */
#ifndef TG_RUNTIME_BYTES_H
#define TG_RUNTIME_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dsl/arena.h"

typedef struct byte_reader {
    const unsigned char *start, *at, *end;
    bool failed;
} byte_reader;

static inline byte_reader bytes_read(const void *bytes, size_t size) {
    const unsigned char *start = bytes;
    return (byte_reader){start, start, start + size, false};
}

/* `n` bytes of the file, in it; NULL when there are fewer. */
static inline const void *bytes_take(byte_reader *r, uint64_t n) {
    if (r->failed || n > (uint64_t)(r->end - r->at)) {
        r->failed = true;
        return NULL;
    }
    const void *taken = r->at;
    r->at += n;
    return taken;
}

/* A number of 1, 2, 4 or 8 bytes. */
static inline uint64_t bytes_get(byte_reader *r, int n) {
    const unsigned char *at = bytes_take(r, (uint64_t)n);
    uint64_t number = 0;
    for (int i = n; at && i-- > 0;) {
        number = number << 8 | at[i];
    }
    return number;
}

static inline int64_t bytes_signed(byte_reader *r) {
    return (int64_t)bytes_get(r, 8);
}

/* A count of what takes at least one byte each, so that a wrong one cannot ask for much memory. */
static inline int bytes_count(byte_reader *r, int limit) {
    const uint64_t n = bytes_get(r, 4);
    if (n > (uint64_t)limit || n > (uint64_t)(r->end - r->at)) {
        r->failed = true;
        return 0;
    }
    return (int)n;
}

/* A string, in the file: its NUL is written with it. */
static inline const char *bytes_string(byte_reader *r) {
    const uint64_t n = bytes_get(r, 4);
    const char *s = bytes_take(r, n + 1);
    for (uint64_t i = 0; s && i <= n; i++) {
        if ((s[i] == '\0') != (i == n)) {
            r->failed = true;
            return "";
        }
    }
    return s ? s : "";
}

/* Up to the next multiple of `step` bytes from the start, which are 0. */
static inline void bytes_skip(byte_reader *r, size_t step) {
    while (!r->failed && (size_t)(r->at - r->start) % step) {
        r->failed = bytes_get(r, 1) != 0 || r->failed;
    }
}

/* ---- writing -------------------------------------------------------------------------------------------- */

static inline void bytes_put(text *out, uint64_t number, int n) {
    char byte[8];
    for (int i = 0; i < n; i++) {
        byte[i] = (char)(unsigned char)(number >> (8 * i));
    }
    text_add_n(out, byte, (size_t)n);
}

static inline void bytes_put_signed(text *out, int64_t number) {
    bytes_put(out, (uint64_t)number, 8);
}

static inline void bytes_put_string(text *out, const char *s) {
    size_t n = 0;
    while (s && s[n]) {
        n++;
    }
    bytes_put(out, n, 4);
    text_add_n(out, s ? s : "", n + 1);
}

static inline void bytes_pad(text *out, size_t step) {
    while (!out->failed && out->length % step) {
        text_add_n(out, "", 1);
    }
}

#endif
