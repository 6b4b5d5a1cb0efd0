/* cublas.h -- cuBLAS, opened at run time, as far as `bench` compares with it: matrix times vector.
 *
 * Reads   TEGULA_CUBLAS (a file or folder: then nothing else is tried), CUDA_HOME, CUDA_PATH, the loader, the usual
 *         places, site-packages of Python (where the wheels nvidia-cublas put it).
 * Leaves  one library for the life of the process. */
#ifndef TG_RUNTIME_CUBLAS_H
#define TG_RUNTIME_CUBLAS_H

#include "runtime/device.h"

/* What was found, without initialising it; NULL with the reason as this thread's error text (TG_ENODEVICE). */
const char *cublas_path(void);

typedef struct cublas cublas;

/* In the current context; the workspace is made here, so that calls may be captured.  TG_OK or a code. */
int cublas_open(device_handle *d, cublas **out);
void cublas_close(cublas *c);                /* accepts NULL; waits for what was launched */
const char *cublas_version(const cublas *c); /* "13.0.2" */

/* output(N) = matrix(N, K) * vector(K), row-major, all of one type; sums in float, for F64 in double. */
typedef struct cublas_gemv {
    int64_t type; /* TG_F16, TG_BF16, TG_F32, TG_F64 */
    int64_t n, k;
    const void *matrix, *vector;
    void *output;
} cublas_gemv;

/* The ways to ask for it, 0 .. CUBLAS_WAYS - 1: "GemmEx", "GemmEx, operands swapped", "HSHgemvStridedBatched".  NULL
 * for a way that the library lacks for the type. */
enum { CUBLAS_WAYS = 3 };
const char *cublas_way(const cublas *c, int way, int64_t type);
int cublas_gemv_launch(cublas *c, int way, const cublas_gemv *what, void *stream);

#endif
