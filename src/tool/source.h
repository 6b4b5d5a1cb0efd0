/* source.h -- the text of kernel sources: those built in, and files on disk. */
#ifndef TOOL_SOURCE_H
#define TOOL_SOURCE_H

#include <tegula/tegula.h>

#include "dsl/arena.h"

typedef struct source {
    const char *file; /* as __FILE__ names it */
    int nlines;
    const char **lines; /* lines[i]: line i + 1, without newline */
} source;

/* The text of a file that is built into the command, under the name that __FILE__ gives it; NULL. */
const char *source_built_in(const char *file);
/* Reads a file's lines; the copy built into the command comes first.  NULL when there is neither. */
source *source_open(arena *a, const char *file);
/* The n-th line, from 1; "" outside. */
const char *source_line(const source *s, int line);
/* The last line of the kernel that begins at `line`: where its braces close.  The last of the file if they do
 * not. */
int source_kernel_end(const source *s, int line);

#endif
