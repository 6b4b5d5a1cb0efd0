/* tool.h -- what the files of the command share: exit statuses, messages, and the verbs.
 *
 * main.c is the table of verbs; verb_NAME.c is one verb.  Functions that may fail return an exit status and
 * have said why on stderr; 0 is good. */
#ifndef TOOL_TOOL_H
#define TOOL_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/options.h"

enum {
    STATUS_GOOD = 0,
    STATUS_WRONG = 1,  /* the result is wrong, raced, or a check failed */
    STATUS_FAULTY = 2, /* the kernel, its configuration or the command line */
    STATUS_LACKING = 3 /* the machine lacks what was asked for */
};

/* "tegula: text" on stderr; returns `status`. */
int tool_fail(int status, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
/* The beginning of the last such text in this process; "". */
const char *tool_failure(void);
/* The exit status for a code of the library. */
int tool_status(int code);
/* For tool_fail(): status and text of the library's last failed call. */
int tool_fail_code(int code, const char *doing);

int verb_list(const options *o);
int verb_emit(const options *o);
int verb_run(const options *o);
int verb_explain(const options *o);
int verb_cache(const options *o);
int verb_doctor(const options *o);
int verb_bench(const options *o);
int verb_tune(const options *o);
int verb_pack(const options *o);

#endif
