/* test_bench.c -- the timer: what becomes of samples, when a measurement ends, what it asks of the driver.  On the
 * driver's double, where two events lie as far apart as a test says. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/bench.h"
#include "runtime/bench_ceiling.h"
#include "with_fake.h"

static device_handle *device;
static bench_timer *timer;

static void start(void) {
    fake_open();
    cr_assert_eq(device_open(0, &device), TG_OK, "%s", tg_error());
    cr_assert_eq(bench_open(device, &timer), TG_OK, "%s", tg_error());
}

static void stop(void) {
    bench_close(timer);
    device_close(device);
}

TestSuite(bench, .init = start, .fini = stop);

/* What a test's calls were asked for. */
typedef struct calls {
    int n, last_set, sets[4], fail_at;
} calls;

static int count_call(void *user, int set, void *stream) {
    calls *c = user;
    (void)stream;
    c->n++;
    c->last_set = set;
    c->sets[set]++;
    return c->n == c->fail_at ? TG_EARG : TG_OK;
}

/* ---- figures ------------------------------------------------------------------------------------------- */

Test(figures, median_quartiles_and_least_are_those_of_the_sorted_samples) {
    double us[] = {9, 1, 8, 2, 7, 3, 6, 4, 5};
    tg_bench_figures f;
    bench_summarise(us, 9, &f);
    cr_expect_float_eq(f.median_us, 5, 1e-12);
    cr_expect_float_eq(f.low_us, 3, 1e-12);
    cr_expect_float_eq(f.high_us, 7, 1e-12);
    cr_expect_float_eq(f.min_us, 1, 1e-12);
    cr_expect_eq(f.samples, 9);
}

Test(figures, the_interval_is_that_of_order_statistics) {
    double us[100];
    tg_bench_figures f;
    for (int i = 0; i < 100; i++) {
        us[i] = 1000 + i;
    }
    bench_summarise(us, 100, &f); /* from sample 40 to sample 60 */
    cr_expect_float_eq(f.interval_us, 10, 1e-12);
    cr_expect_not(f.is_noisy, "10 of 1050 us is below 1 %%");
    for (int i = 0; i < 100; i++) {
        us[i] = 100 + i;
    }
    bench_summarise(us, 100, &f);
    cr_expect(f.is_noisy, "10 of 150 us");
    for (int i = 0; i < 100; i++) {
        us[i] = 1 + 0.01 * i;
    }
    bench_summarise(us, 100, &f);
    cr_expect_not(f.is_noisy, "0.1 us is what events cannot tell");
}

Test(figures, one_sample_is_its_own_median) {
    double us = 3;
    tg_bench_figures f;
    bench_summarise(&us, 1, &f);
    cr_expect_float_eq(f.median_us, 3, 1e-12);
    cr_expect_float_eq(f.high_us, 3, 1e-12);
    cr_expect_float_eq(f.interval_us, 0, 1e-12);
}

/* Whatever the distribution, 95 of 100 intervals hold the true median: here a skewed one. */
Test(figures, intervals_hold_the_true_median_as_often_as_they_say) {
    uint64_t state = 12345;
    int held = 0;
    for (int run = 0; run < 1000; run++) {
        double us[60];
        tg_bench_figures f;
        for (int i = 0; i < 60; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const double u = (double)(state >> 11) * 0x1p-53;
            us[i] = -log(1.0 - u); /* exponential: its median is log 2 */
        }
        bench_summarise(us, 60, &f);
        const int away = (int)ceil(0.98 * sqrt(60.0));
        held += us[30 - away] <= log(2.0) && log(2.0) <= us[30 + away];
        cr_expect_float_eq(f.interval_us, (us[30 + away] - us[30 - away]) / 2, 1e-12);
    }
    cr_expect(held >= 940, "%d of 1000", held);
}

Test(figures, sets_together_exceed_the_cache) {
    const device_info d = {.l2_bytes = 1000};
    cr_expect_eq(bench_sets(&d, 100, 5, 8), 8, "no more than asked for");
    cr_expect_eq(bench_sets(&d, 1000, 5, 8), 5);
    cr_expect_eq(bench_sets(&d, 999, 5, 8), 6);
    cr_expect_eq(bench_sets(&d, 1e9, 5, 8), 2, "never the same set twice in a row");
    cr_expect_eq(bench_sets(&d, 0, 5, 8), 8);
}

/* ---- when a measurement ends --------------------------------------------------------------------------- */

Test(bench, cold_mode_times_one_call_a_sample) {
    calls c = {0};
    tg_bench_figures f;
    const tg_bench_options how = {.mode = TG_BENCH_COLD, .min_samples = 20, .max_samples = 20};
    cr_assert_eq(bench_calls(timer, count_call, &c, 3, &how, &f), TG_OK, "%s", tg_error());
    cr_expect_eq(f.launches, 1);
    cr_expect_eq(f.samples, 20);
    cr_expect_float_eq(f.median_us, 1500, 1e-6);
    cr_expect(c.sets[0] >= 6 && c.sets[1] >= 6 && c.sets[2] >= 6, "the sets rotate");
}

Test(bench, cold_mode_flushes_before_every_sample) {
    calls c = {0};
    tg_bench_figures f;
    const int before = fake->launches;
    const tg_bench_options how = {.mode = TG_BENCH_COLD, .min_samples = 20, .max_samples = 20};
    cr_assert_eq(bench_calls(timer, count_call, &c, 1, &how, &f), TG_OK, "%s", tg_error());
    cr_expect(fake->launches - before >= 20, "a read of the cache's size is a launch: %d",
              fake->launches - before);
    cr_expect_str_eq(fake->kernel, "tegula_flush");
}

Test(bench, stream_mode_divides_a_replay_by_its_calls) {
    calls c = {0};
    tg_bench_figures f;
    cr_assert_eq(bench_calls(timer, count_call, &c, 3, NULL, &f), TG_OK, "%s", tg_error());
    cr_expect_eq(f.launches % 3, 0, "whole rounds: %d", f.launches);
    cr_expect_float_eq(f.median_us * f.launches, 1500, 1e-6);
    cr_expect_eq(c.last_set, 2, "the last call of a round is that of the last set");
    cr_expect_eq(fake->broken_captures, 0);
}

Test(bench, launches_are_made_one_by_one_where_no_graph_is_wanted) {
    calls c = {0};
    tg_bench_figures f;
    const tg_bench_options how = {.mode = TG_BENCH_LAUNCHES, .min_samples = 10, .max_samples = 10};
    cr_assert_eq(bench_calls(timer, count_call, &c, 2, &how, &f), TG_OK, "%s", tg_error());
    cr_expect(c.n >= 10 * f.launches, "%d calls of %d samples of %d", c.n, f.samples, f.launches);
}

Test(bench, the_time_is_used_up_within_its_limits) {
    calls c = {0};
    tg_bench_figures f;
    tg_bench_options how = {.mode = TG_BENCH_COLD, .seconds = 0.0001};
    cr_assert_eq(bench_calls(timer, count_call, &c, 1, &how, &f), TG_OK);
    cr_expect_eq(f.samples, 10, "ten at least: %d", f.samples);
    how.seconds = 1000;
    cr_assert_eq(bench_calls(timer, count_call, &c, 1, &how, &f), TG_OK);
    cr_expect_eq(f.samples, 1000, "a thousand at most: %d", f.samples);
    how = (tg_bench_options){.mode = TG_BENCH_COLD, .min_samples = 70};
    cr_assert_eq(bench_calls(timer, count_call, &c, 1, &how, &f), TG_OK);
    cr_expect_eq(f.samples, 70, "more than a batch: %d", f.samples);
}

Test(bench, precision_ends_a_steady_measurement_and_not_an_unsteady_one) {
    calls c = {0};
    tg_bench_figures f;
    const tg_bench_options how = {
        .mode = TG_BENCH_COLD, .min_samples = 16, .max_samples = 200, .seconds = 10, .precision = 0.01};
    cr_assert_eq(bench_calls(timer, count_call, &c, 1, &how, &f), TG_OK);
    cr_expect_eq(f.samples, 16);
    cr_expect_not(f.is_noisy);
    fake->elapsed_step = 1.0f; /* every other sample takes 2.5 ms */
    cr_assert_eq(bench_calls(timer, count_call, &c, 1, &how, &f), TG_OK);
    fake->elapsed_step = 0.0f;
    cr_expect_eq(f.samples, 200);
    cr_expect(f.is_noisy);
}

Test(bench, what_is_out_of_the_race_is_given_up) {
    calls c = {0};
    tg_bench_figures f;
    tg_bench_options how = {.mode = TG_BENCH_COLD, .max_samples = 200, .seconds = 10, .give_up_us = 1499};
    cr_assert_eq(bench_calls(timer, count_call, &c, 1, &how, &f), TG_OK);
    cr_expect(f.gave_up);
    cr_expect_eq(f.samples, 10);
    how.give_up_us = 1501;
    cr_assert_eq(bench_calls(timer, count_call, &c, 1, &how, &f), TG_OK);
    cr_expect_not(f.gave_up);
    cr_expect_eq(f.samples, 200);
}

/* ---- mistakes ------------------------------------------------------------------------------------------ */

Test(bench, a_call_that_fails_ends_the_measurement_with_its_code) {
    static const tg_bench_mode modes[] = {TG_BENCH_STREAM, TG_BENCH_COLD, TG_BENCH_LAUNCHES};
    for (size_t i = 0; i < 3; i++) {
        for (int at = 1; at < 200; at += 11) { /* warm-up, capture, samples */
            calls c = {.fail_at = at};
            tg_bench_figures f;
            const tg_bench_options how = {
                .mode = modes[i], .max_samples = 300, .seconds = 10, .min_samples = 300};
            const int code = bench_calls(timer, count_call, &c, 2, &how, &f);
            cr_expect_eq(code, c.n >= at ? TG_EARG : TG_OK, "mode %zu, call %d", i, at);
            cr_expect(code == TG_OK || (f.samples == 0 && f.median_us == 0), "no figures of a failure");
        }
    }
    calls good = {0};
    tg_bench_figures f;
    cr_expect_eq(bench_calls(timer, count_call, &good, 2, NULL, &f), TG_OK, "the timer goes on: %s",
                 tg_error());
    cr_expect_eq(fake->broken_captures, 0);
}

static int hang_call(void *user, int set, void *stream) {
    calls *c = user;
    (void)set, (void)stream;
    if (c->n++ == c->fail_at) {
        fake_hang();
    }
    for (int i = 0; i < 3; i++) { /* launches of one call */
        fake_queue();
    }
    return TG_OK;
}

/* Status of a process that measures calls of which one hangs, and the double with it, for good: 0 when all is said. */
static int hang_at(int call, tg_bench_mode mode, int nsets) {
    const pid_t child = fork();
    if (child == 0) {
        tg_bench_figures f;
        calls c = {.fail_at = call};
        const tg_bench_options how = {
            .mode = mode, .warm_up = 1, .min_samples = 2000, .max_samples = 2000, .timeout = 0.05};
        alarm(20);
        const int code = bench_calls(timer, hang_call, &c, nsets, &how, &f);
        const bool is_said = strstr(tg_error(), "the launch did not end in ") != NULL;
        const int again = bench_calls(timer, hang_call, &c, nsets, &how, &f);
        const bool is_stuck = bench_is_stuck(timer) && strstr(tg_error(), "still busy") != NULL;
        bench_close(timer);
        _exit(code != TG_EDRIVER ? 1 : !is_said ? 2 : again != TG_EDRIVER || !is_stuck ? 3 : 0);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

/* Wherever it begins to hang: in the first call, the first round, the warm-up, a sample.  No call is made that would
 * wait for room in the driver's queue, where no limit of time is seen. */
Test(bench, calls_that_hang_end_the_measurement_and_not_the_program, .timeout = 120) {
    static const int first[] = {0, 1, 3, 400, 2000};
    const tg_bench_mode modes[] = {TG_BENCH_COLD, TG_BENCH_STREAM, TG_BENCH_LAUNCHES};
    for (int i = 0; i < 15; i++) {
        cr_expect_eq(hang_at(first[i % 5], modes[i / 5], 2), 0, "mode %d, call %d", i / 5, first[i % 5]);
        cr_expect_eq(hang_at(first[i % 5], modes[i / 5], 3000), 0, "mode %d, call %d of many sets", i / 5,
                     first[i % 5]);
    }
}

Test(bench, no_sets_are_no_measurement) {
    calls c = {0};
    tg_bench_figures f;
    cr_expect_eq(bench_calls(timer, count_call, &c, 0, NULL, &f), TG_EARG);
    cr_expect(strstr(tg_error(), "at least one set of arguments, not 0"), "%s", tg_error());
    cr_expect_eq(c.n, 0);
}

Test(bench, a_cache_that_cannot_be_flushed_is_said) {
    calls c = {0};
    tg_bench_figures f;
    const tg_bench_options how = {.mode = TG_BENCH_COLD};
    fake->alloc_code = 2;
    cr_expect_eq(bench_calls(timer, count_call, &c, 1, &how, &f), TG_ENOMEM);
    cr_expect(strstr(tg_error(), "emptying the L2 cache between samples: cuMemAlloc"), "%s", tg_error());
    fake->alloc_code = 0;
    cr_expect_eq(bench_calls(timer, count_call, &c, 1, &how, &f), TG_OK, "and can be tried again: %s",
                 tg_error());
}

static tg_bench_figures measure_under(const char *clock) {
    calls c = {0};
    tg_bench_figures f = {0};
    const char *path = getenv("TEGULA_FAKE_NVML");
    const tg_bench_options how = {.mode = TG_BENCH_LAUNCHES, .min_samples = 100, .max_samples = 100};
    cr_assert(path && dlopen(path, RTLD_NOW | RTLD_LOCAL), "%s", path ? path : "TEGULA_FAKE_NVML");
    setenv("FAKE_NVML", clock, 1);
    cr_assert_eq(bench_calls(timer, count_call, &c, 1, &how, &f), TG_OK, "%s", tg_error());
    return f;
}

Test(bench, a_clock_that_stays_is_told) {
    const tg_bench_figures f = measure_under("1980 1965 1980");
    cr_expect_not(f.is_noisy);
    cr_expect_eq(f.clock_mhz, 1980);
}

Test(bench, a_clock_that_falls_makes_a_figure_noisy) {
    const tg_bench_figures f = measure_under("1980 1980 1400 1980");
    cr_expect(f.is_noisy, "equal times all the same");
    cr_expect_eq(f.clock_mhz, 1980);
}

Test(bench, what_is_missing_is_an_argument_error) {
    tg_bench_figures f;
    cr_expect_eq(tg_bench_calls(NULL, NULL, 1, NULL, &f), TG_EARG);
    cr_expect_eq(tg_bench_calls(count_call, NULL, 1, NULL, NULL), TG_EARG);
    cr_expect_eq(tg_bench(NULL, TG_CONFIG(N, 1), 1, 2, NULL, NULL, &f), TG_EARG);
    cr_expect_eq(tg_bench(NULL, TG_CONFIG(N, 1), 1, 0, NULL, NULL, &f), TG_EARG);
}

Test(bench, programs_time_calls_on_the_current_device) {
    calls c = {0};
    tg_bench_figures f;
    const tg_bench_options how = {.mode = TG_BENCH_COLD, .min_samples = 12, .max_samples = 12};
    cr_assert_eq(tg_bench_calls(count_call, &c, 1, &how, &f), TG_OK, "%s", tg_error());
    cr_expect_eq(f.samples, 12);
    cr_expect_eq(tg_bench_calls(count_call, &c, -1, &how, &f), TG_EARG);
}

Test(bench, the_driver_copies_without_a_compiler) {
    bench_ceilings *ceilings = NULL;
    tg_bench_figures f;
    const char *variant = "";
    cr_assert_eq(bench_ceilings_open(timer, device, 1 << 20, &ceilings), TG_OK, "%s", tg_error());
    cr_assert_eq(bench_ceiling_time(ceilings, BENCH_DRIVER_COPY, NULL, &f, &variant), TG_OK, "%s",
                 tg_error());
    cr_expect_str_eq(variant, "cuMemcpyDtoDAsync");
    cr_expect_gt(f.samples, 0);
    bench_ceilings_close(ceilings);
}
