/* report.h -- results for programs and people: JSON text, tables, and the output file. */
#ifndef TOOL_REPORT_H
#define TOOL_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "dsl/arena.h"
#include "tool/options.h"

/* ---- JSON ---------------------------------------------------------------------------------------------- */

enum { JSON_MAX_DEPTH = 16 };

typedef struct json {
    text *out;
    int depth;
    bool is_array[JSON_MAX_DEPTH], has_items[JSON_MAX_DEPTH];
} json;

/* `key` NULL inside an array and for the outermost value. */
void json_object(json *j, const char *key);
void json_array(json *j, const char *key);
void json_end(json *j);
void json_string(json *j, const char *key, const char *s); /* s NULL: null */
void json_int(json *j, const char *key, int64_t x);
void json_real(json *j, const char *key, double x); /* not finite: null */
void json_bool(json *j, const char *key, bool x);
/* A configuration value: a number, or an element type as a string. */
void json_value(json *j, const char *key, int64_t x);

/* ---- where it goes ------------------------------------------------------------------------------------- */

/* Writes everything to -o FILE (whole or not at all), else to standard output.  The exit status. */
int report_write(const options *o, const void *bytes, size_t size);
int report_text(const options *o, text *t); /* frees it */

/* "a=1 b=f16" */
void report_config(const tg_config *config, text *out);

#endif
