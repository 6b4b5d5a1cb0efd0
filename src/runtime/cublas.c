/* cublas.c -- see cublas.h.
 *
 * Row-major matrix(N, K) is column-major K x N with leading dimension K, so every way transposes it. */
#define _GNU_SOURCE /* dladdr */
#include "runtime/cublas.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <tegula/tegula.h>

#include "runtime/error.h"

/* cuBLAS's own numbers. */
enum {
    NO_TRANSPOSE = 0,
    TRANSPOSE = 1,
    COMPUTE_32F = 68,
    COMPUTE_64F = 70,
    DEFAULT_ALGORITHM = -1,
    NEWEST = 20,
    OLDEST = 11,
    WORKSPACE_BYTES = 32 << 20
};

typedef void *handle_type;
typedef int gemv_half(handle_type h, int transpose, int m, int n, const float *alpha, const void *a, int lda,
                      long long stride_a, const void *x, int incx, long long stride_x, const float *beta,
                      void *y, int incy, long long stride_y, int batches);
typedef int gemv_float(handle_type h, int transpose, int m, int n, const float *alpha, const float *a,
                       int lda, const float *x, int incx, const float *beta, float *y, int incy);
typedef int gemv_double(handle_type h, int transpose, int m, int n, const double *alpha, const double *a,
                        int lda, const double *x, int incx, const double *beta, double *y, int incy);

/* X(field, symbol, parameters, is needed) */
#define CUBLAS_ENTRIES(X)                                                                                 \
    X(create, cublasCreate_v2, (handle_type * h), true)                                                   \
    X(destroy, cublasDestroy_v2, (handle_type h), true)                                                   \
    X(version, cublasGetVersion_v2, (handle_type h, int *version), true)                                  \
    X(set_stream, cublasSetStream_v2, (handle_type h, void *stream), true)                                \
    X(set_workspace, cublasSetWorkspace_v2, (handle_type h, void *memory, size_t bytes), false)           \
    X(gemm, cublasGemmEx,                                                                                 \
      (handle_type h, int transpose_a, int transpose_b, int m, int n, int k, const void *alpha,           \
       const void *a, int a_type, int lda, const void *b, int b_type, int ldb, const void *beta, void *c, \
       int c_type, int ldc, int compute_type, int algorithm),                                             \
      true)

#define FIELD(field, symbol, parameters, is_needed) int(*field) parameters;
static struct {
    void *library;
    char path[PATH_MAX];
    CUBLAS_ENTRIES(FIELD)
    gemv_half *f16, *bf16;
    gemv_float *f32;
    gemv_double *f64;
    char problem[PATH_MAX + 256];
} api;
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct cublas {
    device_handle *device;
    handle_type handle;
    void *workspace;
    void *stream; /* set last */
    char version[32];
};

/* ---- finding it ---------------------------------------------------------------------------------------- */

static bool try_file(const char *path) {
    if (!api.library) {
        api.library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    }
    return api.library != NULL;
}

ERROR_FORMAT(1, 2)
static bool try_pattern(const char *format, ...) {
    char pattern[PATH_MAX];
    glob_t found;
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(pattern, sizeof pattern, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof pattern || glob(pattern, 0, NULL, &found) != 0) {
        return false;
    }
    for (size_t i = found.gl_pathc; i-- > 0 && !try_file(found.gl_pathv[i]);) {
    }
    globfree(&found);
    return api.library != NULL;
}

static bool try_toolkit(const char *root) {
    return root &&
           (try_pattern("%s/lib64/libcublas.so.*", root) || try_pattern("%s/lib/libcublas.so.*", root) ||
            try_pattern("%s/targets/*/lib/libcublas.so.*", root));
}

static bool try_loader(void) {
    for (int major = NEWEST; major >= OLDEST && !api.library; major--) {
        char name[32];
        snprintf(name, sizeof name, "libcublas.so.%d", major);
        try_file(name);
    }
    return api.library != NULL;
}

/* Where pip puts the wheels: the active environment, the project's own, the system's. */
static bool try_wheels(void) {
    static const char *const roots[] = {"build/venv", "/usr/local", "/usr", "/opt/*", "/opt/*/envs/*"};
    static const char *const folders[] = {"site-packages", "dist-packages"};
    const char *active = error_environment("VIRTUAL_ENV");
    for (size_t i = 0; i < 2; i++) {
        if (active && try_pattern("%s/lib/python*/%s/nvidia/*/lib/libcublas.so.*", active, folders[i])) {
            return true;
        }
        for (size_t j = 0; j < sizeof roots / sizeof *roots; j++) {
            if (try_pattern("%s/lib/python*/%s/nvidia/*/lib/libcublas.so.*", roots[j], folders[i])) {
                return true;
            }
        }
    }
    return false;
}

/* What the user named and nothing else. */
static bool try_named(const char *named) {
    struct stat is;
    const bool is_folder = stat(named, &is) == 0 && S_ISDIR(is.st_mode);
    if (is_folder ? try_pattern("%s/libcublas.so*", named) : try_file(named)) {
        return true;
    }
    const char *why = is_folder ? "holds no libcublas.so" : dlerror();
    snprintf(api.problem, sizeof api.problem, "TEGULA_CUBLAS=%s: %s", named, why ? why : "cannot be opened");
    return false;
}

static bool find_library(void) {
    const char *named = error_environment("TEGULA_CUBLAS");
    if (named) {
        return try_named(named);
    }
    if (try_toolkit(error_environment("CUDA_HOME")) || try_toolkit(error_environment("CUDA_PATH")) ||
        try_loader() || try_toolkit("/usr/local/cuda") || try_wheels()) {
        return true;
    }
    snprintf(api.problem, sizeof api.problem,
             "libcublas.so was not found; TEGULA_CUBLAS names the file or its folder");
    return false;
}

static void *read_symbol(const char *name, void *field) {
    void *address = dlsym(api.library, name);
    memcpy(field, &address, sizeof address);
    return address;
}

#define READ(field, symbol, parameters, is_needed)                \
    if (!read_symbol(NAME_OF(symbol), &api.field) && is_needed) { \
        missing = NAME_OF(symbol);                                \
    }
#define NAME_OF(symbol) #symbol

static void open_library(void) {
    const char *missing = NULL;
    Dl_info info;
    if (!find_library()) {
        return;
    }
    CUBLAS_ENTRIES(READ)
    void *create = read_symbol("cublasCreate_v2", &api.create);
    if (create && dladdr(create, &info) && info.dli_fname) {
        snprintf(api.path, sizeof api.path, "%s", info.dli_fname);
    }
    if (missing) {
        snprintf(api.problem, sizeof api.problem, "%s has no %s", api.path, missing);
    }
    read_symbol("cublasHSHgemvStridedBatched", &api.f16);
    read_symbol("cublasTSTgemvStridedBatched", &api.bf16);
    read_symbol("cublasSgemv_v2", &api.f32);
    read_symbol("cublasDgemv_v2", &api.f64);
}

const char *cublas_path(void) {
    pthread_once(&once, open_library);
    if (api.problem[0]) {
        error_set(TG_ENODEVICE, "no cuBLAS: %s", api.problem);
        return NULL;
    }
    return api.path;
}

/* ---- using it ------------------------------------------------------------------------------------------ */

static int failed(const char *call, int code) {
    return error_set(TG_EDRIVER, "%s: cuBLAS status %d", call, code);
}

static int start(cublas *c) {
    int version = 0;
    int code = api.create(&c->handle);
    if (code != 0) {
        c->handle = NULL;
        return failed("cublasCreate", code);
    }
    api.version(c->handle, &version);
    const int scale = version >= 100000 ? 10000 : 1000; /* 130002 is 13.0.2, 11401 is 11.4.1 */
    snprintf(c->version, sizeof c->version, "%d.%d.%d", version / scale, version % scale / 100,
             version % 100);
    if (!api.set_workspace) {
        return TG_OK;
    }
    code = device_alloc(c->device, WORKSPACE_BYTES, &c->workspace);
    return code;
}

int cublas_open(device_handle *d, cublas **out) {
    *out = NULL;
    if (!cublas_path()) {
        return TG_ENODEVICE;
    }
    cublas *c = calloc(1, sizeof *c);
    if (!c) {
        return error_set(TG_ENOMEM, "no memory for cuBLAS");
    }
    c->device = d;
    const int code = start(c);
    if (code != TG_OK) {
        cublas_close(c);
        return code;
    }
    *out = c;
    return TG_OK;
}

void cublas_close(cublas *c) {
    if (c) {
        if (c->handle) {
            api.destroy(c->handle);
        }
        device_free(c->device, c->workspace);
        free(c);
    }
}

const char *cublas_version(const cublas *c) {
    return c->version;
}

const char *cublas_way(const cublas *c, int way, int64_t type) {
    (void)c;
    static const struct {
        int64_t type;
        const char *name;
        void *entry;
    } typed[] = {{TG_F16, "HSHgemvStridedBatched", &api.f16},
                 {TG_BF16, "TSTgemvStridedBatched", &api.bf16},
                 {TG_F32, "Sgemv", &api.f32},
                 {TG_F64, "Dgemv", &api.f64}};
    for (size_t i = 0; i < sizeof typed / sizeof *typed; i++) {
        void *entry = NULL;
        memcpy(&entry, typed[i].entry, sizeof entry);
        if (typed[i].type == type) {
            return way == 0 ? "GemmEx" : way == 1 ? "GemmEx, operands swapped" : entry ? typed[i].name : NULL;
        }
    }
    return NULL;
}

/* CUDA's numbers of element types. */
static int cuda_type(int64_t type) {
    return type == TG_F16 ? 2 : type == TG_BF16 ? 14 : type == TG_F64 ? 1 : 0;
}

static int launch_gemm(const cublas *c, bool is_swapped, const cublas_gemv *g) {
    static const double one64 = 1.0, zero64 = 0.0;
    static const float one32 = 1.0f, zero32 = 0.0f;
    const bool is_double = g->type == TG_F64;
    const void *one = is_double ? (const void *)&one64 : &one32;
    const void *zero = is_double ? (const void *)&zero64 : &zero32;
    const int type = cuda_type(g->type), compute = is_double ? COMPUTE_64F : COMPUTE_32F;
    const int n = (int)g->n, k = (int)g->k;
    return is_swapped ? api.gemm(c->handle, NO_TRANSPOSE, NO_TRANSPOSE, 1, n, k, one, g->vector, type, 1,
                                 g->matrix, type, k, zero, g->output, type, 1, compute, DEFAULT_ALGORITHM)
                      : api.gemm(c->handle, TRANSPOSE, NO_TRANSPOSE, n, 1, k, one, g->matrix, type, k,
                                 g->vector, type, k, zero, g->output, type, n, compute, DEFAULT_ALGORITHM);
}

static int launch_gemv(const cublas *c, const cublas_gemv *g) {
    static const double one64 = 1.0, zero64 = 0.0;
    static const float one32 = 1.0f, zero32 = 0.0f;
    const int n = (int)g->n, k = (int)g->k;
    switch (g->type) {
    case TG_F32:
        return api.f32(c->handle, TRANSPOSE, k, n, &one32, g->matrix, k, g->vector, 1, &zero32, g->output, 1);
    case TG_F64:
        return api.f64(c->handle, TRANSPOSE, k, n, &one64, g->matrix, k, g->vector, 1, &zero64, g->output, 1);
    default:
        return (g->type == TG_F16 ? api.f16 : api.bf16)(c->handle, TRANSPOSE, k, n, &one32, g->matrix, k,
                                                        g->n * g->k, g->vector, 1, g->k, &zero32, g->output,
                                                        1, g->n, 1);
    }
}

int cublas_gemv_launch(cublas *c, int way, const cublas_gemv *what, void *stream) {
    int code = 0;
    if (!c->stream || c->stream != stream) { /* a new stream loses the workspace */
        code = api.set_stream(c->handle, stream);
        code = code || !c->workspace ? code : api.set_workspace(c->handle, c->workspace, WORKSPACE_BYTES);
        c->stream = stream;
    }
    code = code ? code : way == 2 ? launch_gemv(c, what) : launch_gemm(c, way == 1, what);
    return code ? failed(cublas_way(c, way, what->type), code) : TG_OK;
}
