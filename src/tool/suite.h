/* suite.h -- the kernels of a suite: those of one YAML file. */
#ifndef TOOL_SUITE_H
#define TOOL_SUITE_H

#include "tool/gallery.h"

/* Adds every kernel of the source file whose name without folder and ending is `name` ("gemv": examples/gemv.c, or
 * -k gemv.c), that its YAML speaks of, and that is no step of another kernel's call, to the operands of the command
 * line.  The exit status. */
int suite_add(const gallery *g, const char *name, options *o);

#endif
