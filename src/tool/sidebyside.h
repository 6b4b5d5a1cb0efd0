/* sidebyside.h -- lines of a kernel's C beside the lines of CUDA that they became. */
#ifndef TOOL_SIDEBYSIDE_H
#define TOOL_SIDEBYSIDE_H

#include "codegen/cuda_print.h"
#include "tool/options.h"

/* --width, else the terminal's, else 160 columns. */
int side_width(const options *o);
void side_by_side(const cuda_text *cuda, arena *a, int width, text *out);

#endif
