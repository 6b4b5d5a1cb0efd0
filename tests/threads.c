/* threads.c -- sixteen threads on one tg_jit, for threads.sh, which builds this and the library with the
 * thread sanitizer.  A plain program: the sanitizer and Criterion do not go together. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <tegula/tegula.h>

#include "runtime/image.h"
#include "runtime/jit.h"

tg_builder scale;

enum { THREADS = 16, ROUNDS = 50 };

static tg_jit *shared_jit;
static pthread_barrier_t gate;
static const tg_arg two[2] = {{TG_ARG_POINTER, (void *)0x10000, 0, 0},
                              {TG_ARG_POINTER, (void *)0x20000, 0, 0}};

/* The calls that are rare in real programs. */
static int seldom(int device) {
    int bad = 0;
    char *source = tg_source(shared_jit, TG_CONFIG(N, 1024));
    bad += source == NULL;
    free(source);
    bad += tg_prepare(shared_jit, TG_CONFIG(N, 2048), device) != TG_OK;
    bad += tg_launch(shared_jit, TG_CONFIG(N, 1000), NULL, 2, two) != TG_EKERNEL;
    bad += tg_wait(shared_jit, NULL) != TG_OK;
    return bad;
}

static void *run(void *argument) {
    int mine = (int)(intptr_t)argument;
    intptr_t bad = 0;
    pthread_barrier_wait(&gate);
    for (int i = 0; i < ROUNDS; i++) {
        tg_kernel_info info;
        bad += tg_launch(shared_jit, TG_CONFIG(N, 1024, block, 64 << (i + mine) % 3), NULL, 2, two) != TG_OK;
        bad += tg_info(shared_jit, TG_CONFIG(block, 128, N, 1024), &info) != TG_OK;
        bad += i % 10 == 0 ? seldom(mine % 2) : 0;
    }
    tg_jit *own = tg_jit_new("scale", scale, NULL, 0);
    bad += tg_launch(own, TG_CONFIG(N, 1024), NULL, 2, two) != TG_OK;
    tg_jit_free(own);
    return (void *)bad;
}

/* Threads that compile while the caller's one looks at what is ready; records come and go meanwhile. */
static intptr_t tune(void) {
    static const char records[] =
        "{\"kernel\":\"scale\",\"device\":\"Fake GPU\",\"sms\":4,\"params\":{\"N\":2048},"
        "\"config\":{\"block\":64},\"status\":\"ok\",\"mode\":\"look\",\"median_us\":1}";
    static const int64_t blocks[] = {32, 64, 96, 128, 256, 512, 1024, 4096};
    tg_config configs[8];
    tg_tune_result best;
    for (int i = 0; i < 8; i++) {
        configs[i] = TG_CONFIG(block, blocks[i]);
    }
    intptr_t bad = tg_tuned_memory(records, sizeof records - 1) != TG_OK;
    const tg_tune_options how = {.jobs = 8};
    bad +=
        tg_tune(shared_jit, TG_CONFIG(N, 2048), 8, configs, 2, two, &how, &best) != TG_OK || best.right != 6;
    return bad + (tg_tuned_file(NULL) != TG_OK);
}

int main(void) {
    if (!api_nvrtc_open("sm_90a")) {
        printf("no NVRTC here: %s\n", tg_error());
        return 77;
    }
    shared_jit = tg_jit_new("scale", scale, NULL, 0);
    pthread_t thread[THREADS];
    pthread_barrier_init(&gate, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&thread[i], NULL, run, (void *)(intptr_t)i);
    }
    intptr_t bad = 0;
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(thread[i], &result);
        bad += (intptr_t)result;
    }
    const unsigned compiles = image_compiles();
    bad += tune();
    tg_jit_free(shared_jit);
    printf("%d wrong answers, %u compiles for 3 texts\n", (int)bad, compiles);
    return bad || compiles > 3;
}

#include <tegula/kernel.h>

void scale(void) {
    params(N);
    tunables(block, 128);
    require(N % block == 0, "N must be a multiple of block");
    tensor(x, F32, N);
    tensor(y, F32, N);
    grid(pid, N / block) threads(tid, block) {
        let(i, add(mul(pid, block), tid));
        set(at(y, i), mul(at(x, i), 2.0f));
    }
}
