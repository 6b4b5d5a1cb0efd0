/* dlpack.h -- the tensor of the DLPack exchange format, for tg_arg_dlpack().
 *
 * The layout is DLPack's (data, device, rank, type, shape, strides, byte offset); the names are Tegula's own,
 * so that this header and the official one can meet in one program.  A DLTensor of the official header may be
 * given as it is. */
#ifndef TEGULA_DLPACK_H
#define TEGULA_DLPACK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the data lie.  Tegula takes those that a GPU can address. */
enum { TG_DL_CPU = 1, TG_DL_CUDA = 2, TG_DL_CUDA_HOST = 3, TG_DL_CUDA_MANAGED = 13 };

/* What the bits of an element mean. */
enum { TG_DL_INT = 0, TG_DL_UINT = 1, TG_DL_FLOAT = 2, TG_DL_BFLOAT = 4, TG_DL_BOOL = 6 };

typedef struct {
    int32_t type;
    int32_t id;
} tg_dl_device;

typedef struct {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes; /* 1 */
} tg_dl_type;

typedef struct {
    void *data;
    tg_dl_device device;
    int32_t rank;
    tg_dl_type type;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: compact, row-major */
    uint64_t byte_offset;
} tg_dl_tensor;

#ifdef __cplusplus
}
#endif
#endif
