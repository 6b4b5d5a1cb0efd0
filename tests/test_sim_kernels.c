/* test_sim_kernels.c -- kernels in builder words, lowered by the pipeline, run by the simulator.
 *
 * The kernels stand at the end, behind kernel.h. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codegen/pipeline.h"
#include "dsl/diag.h"
#include "sim/sim.h"

void vectorized_rows(void);
void through_shared(void);
void sums_along_an_axis(void);
void divergent_loops(void);
void padded_and_viewed(void);

static const char *const machines[] = {"sm_80", "sm_90a", "sim64"};

/* Lines of statements that findings name; set by the kernels while they are built. */
static int write_line, read_line;

typedef struct lowered {
    tg_kernel *kernel;
    thread_kernel *thread;
} lowered;

static lowered lower(tg_builder *build, const char *machine, tg_config config) {
    lowered l = {tg_begin("kernel", &config), NULL};
    build();
    cr_assert(tg_end(l.kernel));
    const pipeline_options options = {.target = target_find(machine), .verify = true};
    l.thread = pipeline_lower(l.kernel, &options);
    if (l.thread == NULL) {
        tg_report(l.kernel, stderr);
    }
    cr_assert_not_null(l.thread);
    return l;
}

static sim_result simulate(const lowered *l, int nargs, witness_arg *args) {
    sim_result r;
    text error = {0};
    cr_assert_eq(sim_run(l->thread, nargs, args, NULL, &r, &error), TG_OK, "%s", error.s ? error.s : "");
    text_free(&error);
    return r;
}

static void expect_clean(sim_result *r) {
    text t = {0};
    findings_print(&r->findings, &t);
    cr_assert_eq(r->findings.n, 0, "%s", t.s ? t.s : "");
    text_free(&t);
    sim_free(r);
}

static void fill(uint16_t *half, int64_t n, int64_t dtype, uint32_t seed) {
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        const float x = (float)(seed >> 8) / (float)(1 << 24) - 0.5F;
        half[i] = dtype == TG_F16 ? f32_to_f16(x) : f32_to_bf16(x);
    }
}

static float wide(uint16_t half, int64_t dtype) {
    return dtype == TG_F16 ? f16_to_f32(half) : bf16_to_f32(half);
}

static void compare_rows(const uint16_t *vector, const uint16_t *matrix, const uint16_t *out, int64_t N,
                         int64_t K, int64_t dtype) {
    for (int64_t n = 0; n < N; n++) {
        double want = 0;
        for (int64_t k = 0; k < K; k++) {
            want += (double)wide(vector[k], dtype) * (double)wide(matrix[n * K + k], dtype);
        }
        const double allowed = (dtype == TG_F16 ? 0x1p-10 : 0x1p-7) * (1 + fabs(want));
        cr_assert_lt(fabs((double)wide(out[n], dtype) - want), allowed, "row %lld", (long long)n);
    }
}

static double multiply(const char *machine, int64_t N, int64_t K, int64_t dtype) {
    uint16_t *vector = malloc((size_t)K * 2), *matrix = malloc((size_t)(N * K) * 2),
             *out = malloc((size_t)N * 2);
    fill(vector, K, dtype, 1);
    fill(matrix, N * K, dtype, 2);
    lowered l = lower(vectorized_rows, machine, TG_CONFIG(N, N, K, K, dtype, dtype));
    witness_arg args[3] = {{.data = vector, .bytes = (size_t)K * 2},
                           {.data = matrix, .bytes = (size_t)(N * K) * 2},
                           {.data = out, .bytes = (size_t)N * 2}};
    const clock_t start = clock();
    sim_result r = simulate(&l, 3, args);
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    expect_clean(&r);
    compare_rows(vector, matrix, out, N, K, dtype);
    tg_free(l.kernel);
    free(vector);
    free(matrix);
    free(out);
    return seconds;
}

Test(sim_kernels, wide_loads_and_atomics_make_a_product_on_every_target) {
    for (int i = 0; i < 3; i++) {
        multiply(machines[i], 6, 1024, TG_F16);
        multiply(machines[i], 5, 520, TG_BF16);
    }
}

#if defined TEGULA_SANITIZED || defined TG_DEBUG
enum { IS_SLOW_BUILD = 1 };
#else
enum { IS_SLOW_BUILD = 0 };
#endif
enum { SPEED_ROWS = IS_SLOW_BUILD ? 32 : 4096 };

Test(sim_kernels, the_full_product_takes_at_most_ten_seconds_of_one_core) {
    const int64_t N = SPEED_ROWS, K = 14336;
    const double seconds = multiply("sm_80", N, K, TG_F16);
    cr_log_info("simulated %lld x %lld in %.2f s: %.1f million products a second, all checks on",
                (long long)N, (long long)K, seconds, (double)(N * K) / seconds * 1e-6);
    cr_assert_lt(seconds, 10.0);
}

/* through_shared with `synchronised` 1 or 0: its only barrier in place, or left out. */
static sim_result stage(const char *machine, int64_t synchronised, int32_t *in, int32_t *out) {
    lowered l = lower(through_shared, machine, TG_CONFIG(synchronised, synchronised));
    witness_arg args[2] = {{.data = in, .bytes = 128 * 4}, {.data = out, .bytes = 128 * 4}};
    sim_result r = simulate(&l, 2, args);
    tg_free(l.kernel);
    return r;
}

Test(sim_kernels, one_sync_threads_removed_is_a_race_between_the_two_lines) {
    for (int i = 0; i < 3; i++) {
        int32_t in[128], out[128] = {0};
        for (int k = 0; k < 128; k++) {
            in[k] = k * k;
        }
        sim_result r = stage(machines[i], 1, in, out);
        expect_clean(&r);
        for (int k = 0; k < 128; k++) {
            cr_assert_eq(out[k], in[127 - k]);
        }
        r = stage(machines[i], 0, in, out);
        cr_assert(findings_failed(&r.findings, false));
        int races = 0;
        for (int k = 0; k < r.findings.n; k++) {
            const finding *x = &r.findings.item[k];
            races += x->kind == FINDING_RACE;
            if (x->kind == FINDING_RACE) {
                cr_assert_str_eq(diag_base(x->at.file), "test_sim_kernels.c");
                cr_assert_eq(x->at.line, write_line, "%d", x->at.line);
                cr_assert_eq(x->other.line, read_line, "%d", x->other.line);
                cr_assert_neq(x->thread, x->other_thread);
            }
        }
        cr_assert_eq(races, 1);
        sim_free(&r);
    }
}

Test(sim_kernels, allreduce_gives_every_thread_of_a_group_the_sum) {
    static const int64_t sizes[] = {1, 2, 3, 16, 20, 31, 32, 33, 64, 96};
    for (int i = 0; i < 3; i++) {
        for (int s = 0; s < 10; s++) {
            const int64_t n = sizes[s];
            int32_t in[4 * 96], out[4 * 96];
            memset(out, 0, sizeof out);
            for (int k = 0; k < 4 * 96; k++) {
                in[k] = k * k % 101;
            }
            lowered l = lower(sums_along_an_axis, machines[i], TG_CONFIG(n, n));
            witness_arg args[2] = {{.data = in, .bytes = sizeof in}, {.data = out, .bytes = sizeof out}};
            sim_result r = simulate(&l, 2, args);
            expect_clean(&r);
            tg_free(l.kernel);
            for (int64_t row = 0; row < 4; row++) {
                int sum = 0;
                for (int64_t k = 0; k < n; k++) {
                    sum += in[row * n + k];
                }
                for (int64_t k = 0; k < n; k++) {
                    cr_assert_eq(out[row * n + k], sum, "%s, %lld threads", machines[i], (long long)n);
                }
            }
        }
    }
}

Test(sim_kernels, lanes_leave_loops_when_their_own_trips_are_done) {
    for (int i = 0; i < 3; i++) {
        int32_t out[100];
        memset(out, 0, sizeof out);
        lowered l = lower(divergent_loops, machines[i], (tg_config){0});
        witness_arg args[2] = {{.scalar = value_int(TYPE_INDEX, 100)}, {.data = out, .bytes = sizeof out}};
        sim_result r = simulate(&l, 2, args);
        expect_clean(&r);
        tg_free(l.kernel);
        for (int t = 0; t < 100; t++) {
            int want = 0;
            for (int a = 0; a < t % 5; a++) {
                for (int b = 0; b < a + t % 3; b++) {
                    want += a % 2 == 0 ? b + 1 : 100;
                }
            }
            cr_assert_eq(out[t], want, "thread %d", t);
        }
    }
}

Test(sim_kernels, views_are_the_same_bytes_in_shared_memory) {
    for (int i = 0; i < 3; i++) {
        uint32_t in[64], out[64] = {0};
        for (uint32_t k = 0; k < 64; k++) {
            in[k] = k * 0x01234567u;
        }
        lowered l = lower(padded_and_viewed, machines[i], (tg_config){0});
        witness_arg args[2] = {{.data = in, .bytes = sizeof in}, {.data = out, .bytes = sizeof out}};
        sim_result r = simulate(&l, 2, args);
        expect_clean(&r);
        tg_free(l.kernel);
        for (uint32_t k = 0; k < 64; k++) { /* the halves of each word have changed places */
            cr_assert_eq(out[k], in[k] << 16 | in[k] >> 16);
        }
    }
}

/* ---- the kernels --------------------------------------------------------------------------------------- */

#include <tegula/kernel.h>

KERNEL(vectorized_rows) {
    params(N, K, dtype);
    tunables(block_n, 2, reduce_threads, 32);
    const int64_t tile_k = 8, block_k = reduce_threads * tile_k;
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    tensor(output, dtype, N);
    grid(pid_n, ceildiv(N, block_n)) threads(tid_n, block_n, tid_k, reduce_threads) {
        local(vector_local, dtype, tile_k);
        local(matrix_local, dtype, tile_k);
        local(accumulator, F32);
        shared(reduced, F32, block_n);
        let(row, mad(pid_n, block_n, tid_n));
        when(eq(tid_k, 0)) {
            set(at(reduced, tid_n), 0);
        }
        clear(accumulator);
        sync_threads();
        serial(pid_k, ceildiv(K, block_k)) {
            let(col, mad(pid_k, block_k, mul(tid_k, tile_k)));
            when(both(lt(row, N), lt(col, K))) {
                vectorized(k, tile_k) {
                    set(at(vector_local, k), at(vector, add(col, k)));
                    set(at(matrix_local, k), at(matrix, row, add(col, k)));
                }
                serial(k, tile_k) {
                    accum(accumulator, mul(f32(at(vector_local, k)), f32(at(matrix_local, k))));
                }
            }
        }
        atomic_add(at(reduced, tid_n), accumulator);
        sync_threads();
        when(both(eq(tid_k, 0), lt(row, N))) {
            set(at(output, row), cast(dtype, at(reduced, tid_n)));
        }
    }
}

KERNEL(through_shared) {
    params(synchronised);
    tensor(in, I32, 128);
    tensor(out, I32, 128);
    grid(block, 1) threads(tid, 128) {
        shared(staged, I32, 128);
        write_line = __LINE__ + 1;
        set(at(staged, tid), at(in, tid));
        if (synchronised) {
            sync_threads();
        }
        read_line = __LINE__ + 1;
        set(at(out, tid), at(staged, sub(127, tid)));
    }
}

KERNEL(sums_along_an_axis) {
    params(n);
    tensor(in, I32, 4 * 96);
    tensor(out, I32, 4 * 96);
    grid(block, 1) threads(x, n, y, 4) {
        let(i, mad(y, n, x));
        let(sum, allreduce(SUM, at(in, i), x));
        set(at(out, i), sum);
    }
}

KERNEL(divergent_loops) {
    extent(rows);
    tensor(out, I32, rows);
    grid(block, ceildiv(rows, 40)) threads(tid, 40) {
        let(t, mad(block, 40, tid));
        local(sum, I32);
        clear(sum);
        when(lt(t, rows)) {
            serial(a, mod(t, 5)) {
                serial(b, add(a, mod(t, 3))) {
                    when(eq(mod(a, 2), 0)) {
                        accum(sum, i32(add(b, 1)));
                    }
                    otherwise {
                        accum(sum, 100);
                    }
                }
            }
            set(at(out, t), sum);
        }
    }
}

KERNEL(padded_and_viewed) {
    tensor(in, U32, 64);
    tensor(out, U32, 64);
    grid(block, 1) threads(tid, 64) {
        shared(words, U32, 64);
        const tg_buf halves = view(words, U16, 64, 2);
        local(low, U16);
        local(high, U16);
        set(at(words, tid), at(in, tid));
        set(low, at(halves, tid, 0));
        set(high, at(halves, tid, 1));
        set(at(halves, tid, 0), high);
        set(at(halves, tid, 1), low);
        set(at(out, tid), at(words, tid));
    }
}
