/* cuda_print.h -- thread IR as CUDA C++ that reads as if written by hand, and the map from its lines to the DSL's.
 *
 * The text compiles under NVRTC without any header and under nvcc as a .cu file.  It begins with a header comment
 * (kernel, configuration, target), then the parts of the prelude that the kernel uses, then the kernel. */
#ifndef CODEGEN_CUDA_PRINT_H
#define CODEGEN_CUDA_PRINT_H

#include "codegen/thread.h"

/* An element of memory is named in that line. */
typedef struct cuda_place {
    const node *ref; /* the kernel's */
    int line;        /* from 1 */
    bool is_once;    /* a load that leaves the first-level cache alone; the first place of its ref says so */
} cuda_place;

typedef struct cuda_text {
    text text;
    tg_loc *line; /* line[i]: the DSL place of text line i + 1; file NULL where there is none */
    int nlines;
    cuda_place *place;
    int nplaces;
    int body_line; /* the first line after the prelude, from 1 */
} cuda_text;

typedef struct cuda_print_options {
    bool body_only; /* without header comment and prelude */
    bool lineinfo;  /* #line directives, so that profilers and debuggers show the DSL */
} cuda_print_options;

void cuda_print(const thread_kernel *t, const cuda_print_options *options, cuda_text *out);
void cuda_text_free(cuda_text *c);

/* Of the load of an element or several, no element of whose tensor is read twice: why it goes through the first-level
 * cache all the same.  NULL: nothing speaks for that.  cuda_is_long() says of a loop around it whether it is long. */
const char *cuda_why_cached(const thread_kernel *t, const node *ref, bool in_long_loop);
bool cuda_is_long(const thread_stmt *loop);

/* The name of the __global__ function: the kernel's own, or NAME_kernel where C++ or CUDA has that word. */
const char *cuda_function_name(const thread_kernel *t);

#endif
