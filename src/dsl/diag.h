/* diag.h -- mistakes: sticky, with file and line; and tg_bug() for our own.
 *
 * A user's mistake is recorded by diag_error() and never stops anything.  At most DIAG_LIMIT are kept, the
 * rest counted.  A second mistake with the same text at the same place is dropped. */
#ifndef DSL_DIAG_H
#define DSL_DIAG_H

#include <tegula/tegula.h>

#include "dsl/arena.h"

enum { DIAG_LIMIT = 16 };

typedef struct diag_message {
    tg_loc at;
    const char *text; /* lower case, without full stop */
} diag_message;

typedef struct diag {
    arena *memory;
    diag_message message[DIAG_LIMIT];
    diag_message newest; /* also beyond DIAG_LIMIT */
    int n;               /* all, also those beyond DIAG_LIMIT */
} diag;

void diag_error(diag *d, tg_loc at, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* "file:line: error: text", the source line and a caret where the file can be read; then the next message. */
void diag_print(const diag *d, text *out);
/* The source line and a caret under its first character that is not blank; nothing where it cannot be read. */
void diag_source(tg_loc at, text *out);
/* A program that carries the sources of its kernels says where their text is; NULL for a file that it does not know,
 * which is then looked for on disk. */
typedef const char *source_finder(const char *file);
void diag_set_sources(source_finder *find);
/* Last path component: what messages show of __FILE__. */
const char *diag_base(const char *file);

/* A message that belongs to no kernel, such as a builder word outside any.  The runtime says where it goes
 * (until then nowhere); the library itself never prints. */
void diag_log(const char *text);
void diag_set_log(void (*log)(const char *text));

/* A fault of Tegula.  Records "internal error: .. (file:line)" for tg_error() and lets the enclosing public
 * call answer TG_EINTERNAL; aborts when TG_DEBUG is defined. */
#define tg_bug(...) diag_bug(__FILE__, __LINE__, __VA_ARGS__)
void diag_bug(const char *file, int line, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* The text of a tg_bug() since the last call of this function in this thread, else NULL. */
const char *diag_take_bug(void);
bool diag_has_bug(void); /* would diag_take_bug() have a text? */

#endif
