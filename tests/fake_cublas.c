/* fake_cublas.c -- a double of cuBLAS for tests without a GPU: it accepts what the command asks and computes nothing.
 *
 * FAKE_CUBLAS=hang: on the driver's double, which TEGULA_LIBCUDA names, what it launches does not end, nor does who
 * waits for it. */
#define _GNU_SOURCE /* RTLD_NOLOAD */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int cublasCreate_v2(void **handle);
EXPORT int cublasDestroy_v2(void *handle);
EXPORT int cublasGetVersion_v2(void *handle, int *version);
EXPORT int cublasSetStream_v2(void *handle, void *stream);
EXPORT int cublasSetWorkspace_v2(void *handle, void *memory, size_t bytes);
EXPORT int cublasGemmEx(void *handle, int transpose_a, int transpose_b, int m, int n, int k,
                        const void *alpha, const void *a, int a_type, int lda, const void *b, int b_type,
                        int ldb, const void *beta, void *c, int c_type, int ldc, int compute_type,
                        int algorithm);

static int instance;

int cublasCreate_v2(void **handle) {
    *handle = &instance;
    return 0;
}

int cublasDestroy_v2(void *handle) {
    return handle == &instance ? 0 : 1;
}

int cublasGetVersion_v2(void *handle, int *version) {
    *version = 130002;
    return handle == &instance ? 0 : 1;
}

int cublasSetStream_v2(void *handle, void *stream) {
    return handle == &instance && stream ? 0 : 1;
}

int cublasSetWorkspace_v2(void *handle, void *memory, size_t bytes) {
    return handle == &instance && memory && bytes ? 0 : 1;
}

static void launch(void) {
    const char *mood = getenv("FAKE_CUBLAS"), *driver = getenv("TEGULA_LIBCUDA");
    void *library = mood && driver ? dlopen(driver, RTLD_NOW | RTLD_NOLOAD) : NULL;
    void *address = library && strcmp(mood, "hang") == 0 ? dlsym(library, "fake_hang") : NULL;
    if (address) {
        fake_hang_fn *hang;
        memcpy(&hang, &address, sizeof hang);
        hang();
    }
}

/* Leading dimensions as column-major storage wants them: at least the rows of each operand as it lies in memory. */
int cublasGemmEx(void *handle, int transpose_a, int transpose_b, int m, int n, int k, const void *alpha,
                 const void *a, int a_type, int lda, const void *b, int b_type, int ldb, const void *beta,
                 void *c, int c_type, int ldc, int compute_type, int algorithm) {
    const int is_good = lda >= (transpose_a ? k : m) && ldb >= (transpose_b ? n : k) && ldc >= m && alpha &&
                        beta && a && b && c && a_type == b_type && b_type == c_type && compute_type == 68 &&
                        algorithm == -1;
    launch();
    return handle == &instance && is_good ? 0 : 7;
}
