/* test_lowering_time.c -- build + lower + print stays short for every kernel of the gallery.
 *
 * What is measured is the processor time of this thread while no other test runs, and the best of many attempts
 * counts: a loaded machine does not fail it, a pass that enumerates what it need not does. */
#define _POSIX_C_SOURCE 200809L

#include <criterion/criterion.h>
#include <string.h>
#include <time.h>

#include "codegen/pipeline.h"
#include "tool/lowering_limit.h"

/* Of kernel.h, whose words cannot stand in one file with the IRs. */
const tg_kernel_record *const *tg_kernel_table(int *n);

enum { ATTEMPTS = 200 };

#if defined TG_DEBUG || defined TEGULA_SANITIZED
static const double slower = 50; /* checks after every pass, and sanitizers */
#else
static const double slower = 1;
#endif

static double processor_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static const tg_kernel_record *record_of(const char *name) {
    int n;
    const tg_kernel_record *const *records = tg_kernel_table(&n);
    for (int i = 0; i < n; i++) {
        if (strcmp(records[i]->name, name) == 0) {
            return records[i];
        }
    }
    cr_assert_fail("the gallery has no kernel '%s'", name);
    return NULL;
}

static double lower_once(const char *name, const tg_config *config) {
    const pipeline_input input = {.name = name, .build = record_of(name)->build, .config = config};
    const pipeline_options options = {.target = target_find("sm_90a")};
    pipeline_result result;
    const double began = processor_ms();
    const int code = pipeline_run(&input, &options, &result);
    const double ms = processor_ms() - began;
    cr_assert_eq(code, TG_OK, "%s", name);
    pipeline_free(&result);
    return ms;
}

static void expect_within(const char *name, const tg_config *config, double most_ms) {
    double best = lower_once(name, config);
    for (int i = 1; i < ATTEMPTS && best > most_ms * slower; i++) {
        const double ms = lower_once(name, config);
        best = ms < best ? ms : best;
    }
    cr_expect_leq(best, most_ms * slower, "%s: %.2f ms, more than %.2f", name, best, most_ms * slower);
}

static double limit_ms(const char *name) {
    return lowering_limit_us(record_of(name)) / 1000.0;
}

/* Those of gemv.c; what else the file has are steps of their calls. */
Test(lowering_time, a_gemv_stays_within_its_limit) {
    static const char *const kernels[] = {"thread_naive",
                                          "thread_naive_split_k",
                                          "thread_coalesced_naive_split_k",
                                          "thread_split_k",
                                          "thread_coalesced_split_k",
                                          "thread_vectorized_split_k",
                                          "thread_allreduce_split_k",
                                          "thread_shared_memory_split_k",
                                          "thread_intra_block_split_k",
                                          "block_naive",
                                          "block_split_k",
                                          "block_split_k_v2",
                                          "block_pipelined",
                                          "block_alloc_reducer"};
    const tg_config shape = TG_CONFIG(N, 4096, K, 14336, dtype, TG_F16);
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        cr_expect_eq(lowering_limit_us(record_of(kernels[i])), LOWERING_GEMV_US, "%s", kernels[i]);
        expect_within(kernels[i], &shape, limit_ms(kernels[i]));
    }
}

Test(lowering_time, any_other_kernel_stays_within_its_limit) {
    const struct {
        const char *name;
        tg_config shape;
    } kernels[] = {
        {"gemv_q4", TG_CONFIG(N, 512, K, 14336, dtype, TG_F16)},
        {"softmax", TG_CONFIG(N, 4096, dtype, TG_F16)},
        {"rms_norm", TG_CONFIG(N, 4096, dtype, TG_F16)},
        {"transpose", TG_CONFIG(M, 512, N, 768, dtype, TG_F16)},
        {"add_broadcast", TG_CONFIG(N, 4096, dtype, TG_F16)},
        {"row_sum", TG_CONFIG(N, 4096, dtype, TG_F16)},
        {"copy_1d_block", TG_CONFIG(N, 1048576, dtype, TG_F16)},
        {"rowprod_staged", TG_CONFIG(M, 64, N, 4096, dtype, TG_BF16)},
        {"prefix_staged", TG_CONFIG(M, 64, N, 4096, dtype, TG_BF16)},
    };
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        cr_expect_eq(lowering_limit_us(record_of(kernels[i].name)), LOWERING_OTHER_US, "%s", kernels[i].name);
        expect_within(kernels[i].name, &kernels[i].shape, limit_ms(kernels[i].name));
    }
}

Test(lowering_time, more_stages_of_large_tiles_cost_little_more) {
    for (int64_t stages = 2; stages <= 6; stages += 2) {
        const tg_config each = TG_CONFIG(N, 4096, K, 14336, dtype, TG_F16, block_n, 128, block_k,
                                         128 / (stages / 2), num_stages, stages);
        expect_within("block_pipelined", &each, 2.0);
    }
    const tg_config four =
        TG_CONFIG(N, 4096, K, 14336, dtype, TG_F16, block_n, 128, block_k, 128, num_stages, 4);
    expect_within("block_pipelined", &four, 3.0);
}
