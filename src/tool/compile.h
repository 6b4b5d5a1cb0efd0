/* compile.h -- kernels in FILE.c made into a shared object by the user's C compiler. */
#ifndef TOOL_COMPILE_H
#define TOOL_COMPILE_H

#include "dsl/arena.h"

/* Compiles `file` with $CC (default cc); *object is a temporary file that goes when this process ends.  The
 * exit status; the compiler's messages were printed. */
int compile_kernels(const char *file, arena *a, const char **object);

/* The folder of the public headers beside the running command; NULL. */
const char *compile_include_folder(arena *a);

#endif
