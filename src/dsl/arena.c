/* arena.c -- the bump allocator and the growing text; see arena.h.
 *
 * A block is taken for 16 KB of requests, larger ones for a larger request.  With TG_DEBUG every request has
 * a block of its own, so that the sanitizers see an access past it, and freed memory is filled with 0xdd. */
#include "dsl/arena.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined TG_DEBUG
enum { BLOCK_SIZE = 0 };
#else
enum { BLOCK_SIZE = 16 * 1024 };
#endif

enum { ALIGNMENT = _Alignof(max_align_t), SPARE_SIZE = 1024 * 1024 };

struct arena_block {
    arena_block *next;
    size_t used, size;
    _Alignas(max_align_t) unsigned char data[];
};

/* ---- arena --------------------------------------------------------------------------------------------- */

/* Where requests go while memory lacks.  What lies there is only read until the public call ends; pieces are
 * handed out in turn, also to several threads, so that two live ones rarely share a byte. */
static void *spare_alloc(size_t size) {
    static _Alignas(max_align_t) unsigned char spare[SPARE_SIZE + 1]; /* ends in NUL */
    static atomic_size_t cursor;
    if (size > SPARE_SIZE) {
        return NULL;
    }
    size_t at = atomic_fetch_add(&cursor, size) % SPARE_SIZE;
    if (at + size > SPARE_SIZE) {
        at = 0;
    }
    return memset(spare + at, 0, size);
}

static bool arena_grow(arena *a, size_t size) {
    size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
    if (room > SIZE_MAX - sizeof(arena_block) || (a->limit && a->total > a->limit)) {
        return false;
    }
    arena_block *block = calloc(1, sizeof *block + room);
    if (!block) {
        return false;
    }
    block->size = room;
    block->next = a->blocks;
    a->blocks = block;
    return true;
}

void *arena_alloc(arena *a, size_t size) {
    if (size > SIZE_MAX / 2) {
        a->failed = true;
        return NULL;
    }
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    a->total += size;
    arena_block *block = a->blocks;
    if (!block || block->size - block->used < size || (a->limit && a->total > a->limit)) {
        if (!arena_grow(a, size)) {
            a->failed = true;
            return spare_alloc(size);
        }
        block = a->blocks;
    }
    void *at = block->data + block->used;
    block->used += size;
    return at;
}

char *arena_copy(arena *a, const char *s) {
    size_t size = strlen(s) + 1;
    char *copy = arena_alloc(a, size);
    return copy ? memcpy(copy, s, size) : NULL;
}

char *arena_vprint(arena *a, const char *format, va_list args) {
    char most[256]; /* what nearly all fit into: one turn */
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(most, sizeof most, format, args);
    size_t size = length < 0 ? 1 : (size_t)length + 1;
    char *s = arena_alloc(a, size);
    if (s && size <= sizeof most) {
        memcpy(s, length < 0 ? "" : most, size);
    } else if (s) {
        vsnprintf(s, size, format, again);
    }
    va_end(again);
    return s;
}

char *arena_print(arena *a, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *s = arena_vprint(a, format, args);
    va_end(args);
    return s;
}

void arena_free(arena *a) {
    for (arena_block *block = a->blocks, *next; block; block = next) {
        next = block->next;
#if defined TG_DEBUG
        memset(block->data, 0xdd, block->size);
#endif
        free(block);
    }
    size_t limit = a->limit;
    *a = (arena){.limit = limit};
}

/* ---- text ---------------------------------------------------------------------------------------------- */

/* Room for n more characters and the NUL. */
static bool text_reserve(text *t, size_t n) {
    if (t->failed || n >= SIZE_MAX / 4) {
        t->failed = true;
        return false;
    }
    size_t wanted = t->length + n + 1;
    if (wanted <= t->capacity) {
        return true;
    }
    size_t capacity = t->capacity ? t->capacity : 256;
    while (capacity < wanted) {
        capacity *= 2;
    }
    char *s = realloc(t->s, capacity);
    if (!s) {
        t->failed = true;
        return false;
    }
    t->s = s;
    t->capacity = capacity;
    return true;
}

void text_add(text *t, const char *s) {
    text_add_n(t, s, strlen(s));
}

void text_add_n(text *t, const char *s, size_t n) {
    if (text_reserve(t, n)) {
        memcpy(t->s + t->length, s, n);
        t->length += n;
        t->s[t->length] = '\0';
    }
}

void text_add_int(text *t, int64_t x) {
    char digits[20], *end = digits + sizeof digits, *first = end;
    uint64_t rest = x < 0 ? -(uint64_t)x : (uint64_t)x;
    do {
        *--first = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (x < 0) {
        *--first = '-';
    }
    text_add_n(t, first, (size_t)(end - first));
}

void text_add_spaces(text *t, int n) {
    if (n > 0 && text_reserve(t, (size_t)n)) {
        memset(t->s + t->length, ' ', (size_t)n);
        t->length += (size_t)n;
        t->s[t->length] = '\0';
    }
}

void text_print(text *t, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    size_t room = text_reserve(t, 64) ? t->capacity - t->length : 0;
    int length = room > 0 ? vsnprintf(t->s + t->length, room, format, args) : 0;
    va_end(args);
    if (length > 0 && (size_t)length >= room && text_reserve(t, (size_t)length)) {
        vsnprintf(t->s + t->length, (size_t)length + 1, format, again);
    }
    va_end(again);
    if (length > 0 && !t->failed) {
        t->length += (size_t)length;
    }
}

void text_free(text *t) {
    free(t->s);
    *t = (text){0};
}
