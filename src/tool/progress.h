/* progress.h -- a bar on stderr for what takes over a second; nothing where stderr is no terminal. */
#ifndef TOOL_PROGRESS_H
#define TOOL_PROGRESS_H

#include <stdbool.h>

#include "tool/options.h"

typedef struct progress {
    const char *label;
    bool is_on, is_shown;
    double began, drawn; /* seconds */
} progress;

void progress_begin(progress *p, const char *label, const options *o);
void progress_show(progress *p, double done); /* 0 .. 1 */
/* The same with a few words behind the bar. */
void progress_note(progress *p, double done, const char *note);
void progress_end(progress *p); /* wipes the bar */

/* Seconds of the monotonic clock. */
double progress_clock(void);

#endif
