/* error.h -- the text of a failed call, and the library's messages.
 *
 * Every public host function ends in one of two ways: TG_OK, or `return error_set(code, "..")`, which keeps
 * the text for tg_error().  The text belongs to the thread.  The library prints nothing: error_log() hands
 * complete lines to the function given to tg_set_log(), else to the file that TEGULA_LOG names, else drops
 * them.
 *
 * A text is complete, lower case, without full stop. */
#ifndef TG_RUNTIME_ERROR_H
#define TG_RUNTIME_ERROR_H

#include <stddef.h>

#include <tegula/tegula.h>

#if defined __GNUC__
#define ERROR_FORMAT(f, a) __attribute__((format(printf, f, a)))
#else
#define ERROR_FORMAT(f, a)
#endif

enum { ERROR_TEXT_SIZE = 8192 };

/* Keeps the text and returns `code`. */
int error_set(int code, const char *format, ...) ERROR_FORMAT(2, 3);

/* Puts words in front of the text kept so far; returns `code`. */
int error_prefix(int code, const char *format, ...) ERROR_FORMAT(2, 3);

/* A fault of Tegula itself: TG_EINTERNAL with the place in the library's source. */
#define ERROR_BUG(why) error_set(TG_EINTERNAL, "internal fault at %s:%d: %s", __FILE__, __LINE__, (why))

void error_log(tg_log_level level, const char *format, ...) ERROR_FORMAT(2, 3);

/* The value of an environment variable; NULL when unset or empty. */
const char *error_environment(const char *name);

#endif
