/* packed.c -- a program whose kernels come in a pack: no compiler, no kernel source, the GPU's driver alone.
 *
 *     tegula pack block_alloc_reducer --target sm_80,sm_90a --ptx -o gemv.tgpack
 *     packed gemv.tgpack [KERNEL]
 *
 * It opens the pack, launches one GEMV of the size that the pack was made for, checks every element, and prints
 * how long each step took from the start of main(). */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tegula/tegula.h>
#include <time.h>

enum { N = 4096, K = 14336 };

/* What this example needs of the CUDA driver. */
typedef struct {
    int (*init)(unsigned flags);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
    int (*alloc)(unsigned long long *address, size_t bytes);
    int (*fill)(unsigned long long address, unsigned short value, size_t n);
    int (*to_host)(void *host, unsigned long long address, size_t bytes);
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
           FIND(d, fill, "cuMemsetD16_v2") && FIND(d, to_host, "cuMemcpyDtoH_v2") && d->init(0) == 0 &&
           d->retain(&context, 0) == 0 && d->set_current(context) == 0;
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Prints what has passed since the last call. */
static double last, ours;
static void step(const char *name, bool is_ours) {
    const double now = now_ms();
    printf("%-44s %8.2f ms\n", name, now - last);
    ours += is_ours ? now - last : 0;
    last = now;
}

static int fail(const char *what) {
    fprintf(stderr, "packed: %s\n", what);
    return 1;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        return fail("packed PACK [KERNEL]");
    }
    last = now_ms();
    driver d;
    if (!open_driver(&d)) {
        return fail("no GPU");
    }
    step("driver: library, cuInit, context", false);

    tg_pack *pack = tg_pack_open(argv[1]);
    tg_jit *jit = tg_jit_new(argc > 2 ? argv[2] : "block_alloc_reducer", NULL, NULL, 0);
    if (!pack || !jit) {
        return fail(tg_error());
    }
    step("open the pack", true);

    const tg_config config = TG_CONFIG(N, N, K, K, dtype, TG_F16);
    if (tg_prepare(jit, config, 0) != TG_OK) {
        return fail(tg_error());
    }
    step("find the kernel and load it", true);

    /* The data: a matrix of ones and a vector of halves, so that every element of the product is K / 2. */
    unsigned long long vector = 0, matrix = 0, output = 0;
    if (d.alloc(&vector, K * 2) || d.alloc(&matrix, (size_t)N * K * 2) || d.alloc(&output, N * 2) ||
        d.fill(vector, 0x3800, K) || d.fill(matrix, 0x3c00, (size_t)N * K) || d.fill(output, 0, N)) {
        return fail("no memory on the device");
    }
    step("data on the device", false);

    static unsigned short result[N];
    const tg_arg args[] = {tg_arg_pointer((const void *)(uintptr_t)vector),
                           tg_arg_pointer((const void *)(uintptr_t)matrix),
                           tg_arg_pointer((const void *)(uintptr_t)output)};
    if (tg_launch(jit, config, NULL, 3, args) != TG_OK) {
        return fail(tg_error());
    }
    if (d.to_host(result, output, sizeof result)) { /* waits for the launch */
        return fail("the result does not come back");
    }
    step("launch, and the result on the host", true);

    int wrong = 0;
    for (int i = 0; i < N; i++) {
        wrong += result[i] != 0x6f00; /* 7168 */
    }
    printf("%-44s %8.2f ms\n", "from the pack to the first result", ours);
    printf("%s: %d of %d elements wrong\n", wrong ? "FAILED" : "ok", wrong, N);
    tg_jit_free(jit);
    tg_pack_close(pack);
    return wrong != 0;
}
