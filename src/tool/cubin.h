/* cubin.h -- what a compiled kernel takes of a multiprocessor, read from its cubin. */
#ifndef TOOL_CUBIN_H
#define TOOL_CUBIN_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cubin_usage {
    int registers;   /* of a thread */
    int stack_bytes; /* of a thread, in local memory: what was spilled, and arrays that no registers hold */
} cubin_usage;

/* False when the bytes are no cubin of one kernel, or do not say. */
bool cubin_read(const void *image, size_t size, cubin_usage *out);

#endif
