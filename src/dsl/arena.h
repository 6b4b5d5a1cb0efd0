/* arena.h -- a bump allocator: one for each kernel, freed whole.
 *
 * Memory is zeroed and aligned for any type.  Lack of memory sets `failed` and yields a pointer into a spare
 * block that stays usable, so that callers need no check; the public call looks at `failed` at its end and
 * answers TG_ENOMEM. */
#ifndef DSL_ARENA_H
#define DSL_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct arena_block arena_block;

typedef struct arena {
    arena_block *blocks;
    size_t total; /* bytes asked for so far */
    size_t limit; /* tests: memory lacks beyond this many bytes; 0: as much as the machine has */
    bool failed;
} arena;

/* Never NULL for sizes that fit the limit of one request (1 MB while memory lacks). */
void *arena_alloc(arena *a, size_t size);
char *arena_copy(arena *a, const char *text);
char *arena_print(arena *a, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
char *arena_vprint(arena *a, const char *format, va_list args);
void arena_free(arena *a);

#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_alloc((a), sizeof(type) * (size_t)(n)))

/* A growing text; used by every printer.  Lives outside arenas; free the text with text_free(). */
typedef struct text {
    char *s; /* NUL-terminated once anything was added */
    size_t length, capacity;
    bool failed;
} text;

void text_add(text *t, const char *s);
void text_add_n(text *t, const char *s, size_t n);
void text_add_int(text *t, int64_t x); /* in tens */
void text_add_spaces(text *t, int n);
void text_print(text *t, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
void text_free(text *t);

#endif
