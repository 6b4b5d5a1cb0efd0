/* npy.h -- NumPy's .npy files: header parsing and writing.
 *
 * Read: versions 1 to 3, C order, little-endian bool, integers, f2, f4, f8; bf16 as two-byte void or u2.
 * Written: version 1; bf16 as two-byte void, which is how its NumPy extension writes it. */
#ifndef TOOL_NPY_H
#define TOOL_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tegula/tegula.h>

#include "dsl/arena.h"

typedef struct npy {
    int64_t type; /* 0: two bytes of no type (V2), to be taken as bf16 */
    int rank;
    int64_t dim[TG_MAX_RANK];
    size_t offset; /* of the first element in the file */
    size_t bytes;  /* of the elements */
} npy;

/* Understands the header of a whole file in memory; false with the reason. */
bool npy_parse(const void *file, size_t size, npy *out, text *error);
/* The n elements of a parsed file converted into `type` at `to`; false with the reason when one does not fit.
 */
bool npy_convert(const void *file, const npy *header, int64_t type, void *to, text *error);

/* Reads a whole file; caller frees.  NULL with the reason. */
void *npy_load(const char *path, size_t *size, text *error);
/* Writes a tensor; false with the reason. */
bool npy_save(const char *path, int64_t type, int rank, const int64_t *dim, const void *elements,
              text *error);

#endif
