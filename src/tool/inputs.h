/* inputs.h -- the arguments of a launch in host memory: reproducible random contents, files, poison.
 *
 * A tensor that the kernel only writes begins as poison (all bits set: NaN for floats), so that an element
 * nobody wrote shows. */
#ifndef TOOL_INPUTS_H
#define TOOL_INPUTS_H

#include "dsl/value.h"
#include "tool/subject.h"

typedef struct argument {
    const char *name;
    bool is_tensor, is_extent;
    int64_t type;
    value scalar; /* scalars; extents as TYPE_INDEX */
    int rank;
    int64_t dim[TG_MAX_RANK];
    int64_t pitch;    /* elements from row to row */
    int64_t elements; /* without what lies between rows */
    size_t bytes;
    bool is_read, is_written; /* is_read: by the step that comes first to it */
    bool is_result;           /* written by the last step of the call */
    void *before;             /* tensors: contents before the launch */
    void *after;              /* written tensors: what the kernel leaves; others: == before */
    void *wanted;             /* written tensors: what the reference leaves; others: == before */
} argument;

enum { INPUTS_MAX = TILE_MAX_ARGS };
typedef struct arguments {
    int n;
    argument item[INPUTS_MAX];
} arguments;

/* Makes all those of the call; free them in every case.  The exit status. */
int inputs_make(const options *o, const subject *s, arguments *out);
/* The two halves of it: names, types, shapes and scalars; then memory and contents. */
int inputs_shapes(const options *o, const subject *s, arguments *out);
int inputs_fill(const options *o, const subject *s, arguments *all);
/* The configuration as references see it: params, tunables, extents. */
tg_config inputs_config(const subject *s, const arguments *all);
/* " rows=5 eps=1e-05": what the call has besides tensors. */
void inputs_describe(const arguments *all, text *out);
/* Every tensor as FOLDER/NAME.npy, written ones with what the reference wants as NAME.wanted.npy. */
int inputs_save(const char *folder, const arguments *a);
void inputs_free(arguments *a);

/* Where element number i (row-major, rows without their padding) lies. */
int64_t argument_place(const argument *a, int64_t i);
value argument_element(const argument *a, const void *data, int64_t place);

#endif
