/* embed.c -- a program that carries a kernel and compiles it when it runs.
 *
 * It prints the CUDA text of scale_add, then launches the kernel where there is a GPU and NVRTC, on a stream of
 * its own.  Memory and streams are the program's own affair: an engine has its allocator, this example calls
 * the driver.
 *
 *     cmake -S . -B build && cmake --build build && build/embed       with CMake
 *     cc *.c $(pkg-config --cflags --libs tegula) -ldl -o embed       with pkg-config */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tegula/dlpack.h>
#include <tegula/tegula.h>

#ifdef __cplusplus
extern "C" {
#endif
void scale_add(void); /* scale_add.c */
#ifdef __cplusplus
}
#endif

enum { N = 1000 };

/* What this example needs of the CUDA driver. */
typedef struct {
    int (*init)(unsigned flags);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
    int (*alloc)(unsigned long long *address, size_t bytes);
    int (*to_device)(unsigned long long address, const void *host, size_t bytes);
    int (*to_host)(void *host, unsigned long long address, size_t bytes);
    int (*release)(unsigned long long address);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_destroy)(void *stream);
} driver;

/* ISO C has no cast from an object's address to a function's, so the bytes are copied. */
static bool find(void *library, const char *name, void *function, size_t size) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, size);
    return symbol != NULL;
}
#define FIND(d, member, name) find(library, name, &(d)->member, sizeof(d)->member)

/* Opens the driver and makes the first GPU current. */
static bool open_driver(driver *d) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *context;
    return library && FIND(d, init, "cuInit") && FIND(d, retain, "cuDevicePrimaryCtxRetain") &&
           FIND(d, set_current, "cuCtxSetCurrent") && FIND(d, alloc, "cuMemAlloc_v2") &&
           FIND(d, to_device, "cuMemcpyHtoD_v2") && FIND(d, to_host, "cuMemcpyDtoH_v2") &&
           FIND(d, release, "cuMemFree_v2") && FIND(d, stream_create, "cuStreamCreate") &&
           FIND(d, stream_destroy, "cuStreamDestroy_v2") && d->init(0) == 0 && d->retain(&context, 0) == 0 &&
           d->set_current(context) == 0;
}

/* Compiles first, so that the launch itself only launches; then waits.  x goes by its address, y as the
 * tensor that a framework hands over. */
static int launch(tg_jit *jit, void *stream, unsigned long long x, unsigned long long y) {
    const tg_config config = TG_CONFIG(n, N);
    int64_t shape[] = {N};
    const tg_dl_tensor tensor = {
        (void *)(uintptr_t)y, {TG_DL_CUDA, 0}, 1, {TG_DL_FLOAT, 32, 1}, shape, NULL, 0};
    const tg_arg args[] = {tg_arg_float(2.0), tg_arg_pointer((const void *)(uintptr_t)x),
                           tg_arg_dlpack(&tensor)};
    int status = tg_prepare(jit, config, 0);
    if (status == TG_OK) {
        status = tg_launch(jit, config, stream, 3, args);
    }
    if (status == TG_OK) {
        status = tg_wait(jit, stream);
    }
    if (status != TG_OK) {
        printf("launch: %s\n", tg_error());
    }
    return status;
}

/* Fills x and y, launches, and counts the elements that are not 2 x + y. */
static int launch_and_count(tg_jit *jit, const driver *d) {
    float x[N], y[N], result[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = (float)(N - i);
    }
    void *stream = NULL;
    unsigned long long x_address = 0, y_address = 0;
    if (d->stream_create(&stream, 0) || d->alloc(&x_address, sizeof x) || d->alloc(&y_address, sizeof y) ||
        d->to_device(x_address, x, sizeof x) || d->to_device(y_address, y, sizeof y)) {
        printf("no memory on the device\n");
        return N;
    }

    int wrong = N;
    if (launch(jit, stream, x_address, y_address) == TG_OK &&
        d->to_host(result, y_address, sizeof result) == 0) {
        wrong = 0;
        for (int i = 0; i < N; i++) {
            wrong += result[i] != 2.0f * x[i] + y[i];
        }
    }
    d->release(x_address);
    d->release(y_address);
    d->stream_destroy(stream);
    return wrong;
}

/* What ships with a program: NAME.tgpack has compiled kernels, which need no NVRTC where they run; any other file
 * has tuned records, which say what `block` is best on which GPU. */
static bool use_file(const char *path, tg_pack **pack) {
    const size_t length = strlen(path);
    if (length > 7 && strcmp(path + length - 7, ".tgpack") == 0) {
        *pack = tg_pack_open(path);
        return *pack != NULL;
    }
    return tg_tuned_file(path) == TG_OK;
}

/* embed [FILE] */
int main(int argc, char **argv) {
    tg_pack *pack = NULL;
    if (argc > 1 && !use_file(argv[1], &pack)) {
        fprintf(stderr, "%s\n", tg_error());
        return 1;
    }
    tg_jit *jit = tg_jit_new("scale_add", scale_add, NULL, 0);
    char *source = jit ? tg_source(jit, TG_CONFIG(n, N)) : NULL;
    if (!source) {
        fprintf(stderr, "%s\n", tg_error());
        tg_jit_free(jit);
        tg_pack_close(pack);
        return 1;
    }
    printf("Tegula %s\n%s\n", tg_version(), source);
    free(source);

    driver d;
    int wrong = 0;
    if (!open_driver(&d)) {
        printf("no GPU: not launched\n");
    } else {
        wrong = launch_and_count(jit, &d);
        printf("launched: %d of %d elements wrong\n", wrong, N);
    }
    tg_jit_free(jit);
    tg_pack_close(pack);
    return wrong != 0;
}
