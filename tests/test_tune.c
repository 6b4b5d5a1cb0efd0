/* test_tune.c -- tuned records in the JIT, and tg_tune(): on the driver's double, whose clock goes by the threads of a
 * block; NVRTC is the real one.  The kernels stand at the end, since their words are macros. */
#define _XOPEN_SOURCE 700 /* mkdtemp, nftw */
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tegula/tegula.h>

#include "runtime/api.h"
#include "runtime/records.h"
#include "with_fake.h"

tg_builder by_threads, by_rows;

static char directory[512], path[600];
static int32_t memory[1000];

static int remove_one(const char *name, const struct stat *is, int kind, struct FTW *at) {
    (void)is, (void)kind, (void)at;
    return remove(name);
}

static void open_all(void) {
    setenv("FAKE_CUDA", "64:wrong 256:big", 1);
    fake_open();
    const char *base = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/tegula-test-XXXXXX", base ? base : "/tmp");
    cr_assert(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/tuned.jsonl", directory);
    setenv("TEGULA_CACHE_DIR", directory, 1);
    unsetenv("TEGULA_NO_CACHE");
    unsetenv("TEGULA_TUNED");
    if (!api_nvrtc_open("sm_90a")) {
        cr_skip_test("no NVRTC here: %s", tg_error());
    }
}

static void close_all(void) {
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(tune, .init = open_all, .fini = close_all);

/* ---- tuned records ------------------------------------------------------------------------------------- */

static void add_record(int64_t n, int64_t threads, double us) {
    record r = {.kernel = "by_threads",
                .device = "Fake GPU",
                .sms = 4,
                .params = TG_CONFIG(N, n),
                .config = TG_CONFIG(num_threads, threads),
                .mode = RECORD_STREAM,
                .median_us = us};
    records_file f;
    cr_assert_eq(records_open(path, &f), TG_OK, "%s", tg_error());
    cr_assert_eq(records_add(&f, &r), TG_OK);
    records_close(&f);
}

/* Threads of the block that a launch gets. */
static unsigned threads_of(tg_config config) {
    const tg_arg x = tg_arg_pointer(memory);
    tg_jit *jit = tg_jit_new("by_threads", by_threads, NULL, 0);
    cr_assert_eq(tg_launch(jit, config, NULL, 1, &x), TG_OK, "%s", tg_error());
    tg_jit_free(jit);
    return fake->block[0];
}

Test(tune, a_tunable_is_given_else_tuned_else_its_default) {
    add_record(1000, 128, 20);
    add_record(1000, 96, 30);
    cr_expect_eq(threads_of(TG_CONFIG(N, 1000)), 32);
    cr_assert_eq(tg_tuned_file(path), TG_OK);
    cr_expect_eq(threads_of(TG_CONFIG(N, 1000)), 128);
    cr_expect_eq(threads_of(TG_CONFIG(N, 1000, num_threads, 160)), 160);
    cr_expect_eq(threads_of(TG_CONFIG(N, 2000)), 128, "the nearest params");
    char *source;
    tg_jit *jit = tg_jit_new("by_threads", by_threads, NULL, 0);
    cr_assert((source = tg_source(jit, TG_CONFIG(N, 1000))));
    cr_expect(strstr(source, "num_threads = 128 (tuned)"), "%s", source);
    free(source);
    tg_jit_free(jit);
    cr_assert_eq(tg_tuned_file(NULL), TG_OK);
    cr_expect_eq(threads_of(TG_CONFIG(N, 1000)), 32, "forgotten");
}

Test(tune, records_ship_in_memory_and_the_newest_source_counts) {
    text line = {0};
    record r = {.kernel = "by_threads",
                .device = "Fake GPU",
                .sms = 4,
                .params = TG_CONFIG(N, 1000),
                .config = TG_CONFIG(num_threads, 96),
                .mode = RECORD_STREAM,
                .median_us = 20};
    add_record(1000, 128, 20);
    record_print(&r, &line);
    cr_assert_eq(tg_tuned_file(path), TG_OK);
    cr_assert_eq(tg_tuned_memory(line.s, line.length), TG_OK);
    text_free(&line);
    cr_expect_eq(threads_of(TG_CONFIG(N, 1000)), 96);
    cr_assert_eq(tg_tuned_memory("no record\n", 10), TG_OK);
    cr_expect_eq(threads_of(TG_CONFIG(N, 1000)), 96, "a source without records does not hide others");
    cr_expect_eq(tg_tuned_memory(NULL, 3), TG_EARG);
    cr_expect_eq(tg_tuned_memory(NULL, 0), TG_OK);
    cr_expect_eq(tg_tuned_file("/nowhere/tuned.jsonl"), TG_EARG);
    cr_expect(strstr(tg_error(), "/nowhere/tuned.jsonl"));
}

Test(tune, the_variable_comes_before_what_the_program_gives) {
    add_record(1000, 128, 20);
    setenv("TEGULA_TUNED", path, 1);
    text line = {0};
    text_add(
        &line,
        "{\"kernel\":\"by_threads\",\"device\":\"Fake GPU\",\"sms\":4,\"params\":{\"N\":1000},\"config\":"
        "{\"num_threads\":96},\"status\":\"ok\",\"mode\":\"stream\",\"median_us\":1}");
    cr_assert_eq(tg_tuned_memory(line.s, line.length), TG_OK);
    text_free(&line);
    cr_expect_eq(threads_of(TG_CONFIG(N, 1000)), 128);
}

Test(tune, values_that_the_kernel_does_not_take_are_replaced_by_the_defaults) {
    add_record(1000, 1000, 20);
    cr_assert_eq(tg_tuned_file(path), TG_OK);
    cr_expect_eq(threads_of(TG_CONFIG(N, 1000)), 32);
}

/* ---- tg_tune ------------------------------------------------------------------------------------------- */

static const int64_t threads[] = {32, 64, 96, 128, 160, 256, 1000};
enum { CONFIGS = sizeof threads / sizeof *threads };

typedef struct seen {
    int resets, checks, steps, stop_at;
    double best_us;
} seen;

static int reset(void *user) {
    seen *s = user;
    s->resets++;
    memory[0] = 7;
    return TG_OK;
}

static bool is_right(void *user, const tg_config *config) {
    seen *s = user;
    s->checks++;
    cr_expect(tg_config_get(config, "num_threads", NULL) && tg_config_get(config, "N", NULL));
    return memory[0] == 7;
}

static bool progress(void *user, int done, int total, const tg_config *best, double best_us) {
    seen *s = user;
    s->steps++;
    s->best_us = best ? best_us : s->best_us;
    cr_expect(done == s->steps && total == CONFIGS);
    if (done == s->stop_at) { /* others are compiled by then */
        nanosleep(&(struct timespec){0, 500000000}, NULL);
    }
    return !s->stop_at || done < s->stop_at;
}

static int tune(seen *s, tg_tune_options how, tg_tune_result *result) {
    const tg_arg x = tg_arg_pointer(memory);
    tg_config configs[CONFIGS];
    for (int i = 0; i < CONFIGS; i++) {
        configs[i] = TG_CONFIG(num_threads, threads[i]);
    }
    how.calls = (tg_tune_calls){reset, is_right, progress, s};
    tg_jit *jit = tg_jit_new("by_threads", by_threads, NULL, 0);
    const int code = tg_tune(jit, TG_CONFIG(N, 1000), CONFIGS, configs, 1, &x, &how, result);
    if (code != TG_EDRIVER) { /* else it would wait for the GPU */
        tg_jit_free(jit);
    }
    return code;
}

Test(tune, a_program_finds_the_fastest_right_configuration) {
    seen s = {0};
    tg_tune_result found;
    int64_t value = 0;
    cr_assert_eq(tune(&s, (tg_tune_options){.records = path}, &found), TG_OK, "%s", tg_error());
    cr_expect(tg_config_get(&found.config, "num_threads", &value) && value == 128, "%lld", (long long)value);
    cr_expect(tg_config_get(&found.config, "N", &value) && value == 1000);
    cr_expect(found.tried == CONFIGS && found.right == 4, "%d of %d", found.right, found.tried);
    cr_expect_float_eq(found.figures.median_us, 20, 0.01);
    cr_expect_float_eq(s.best_us, 20, 0.01);
    cr_expect(s.steps == CONFIGS && s.checks == 5 && s.resets == 6, "%d %d %d", s.steps, s.checks, s.resets);
    records all;
    cr_assert_eq(records_read(path, &all), TG_OK);
    int of[RECORD_CRASHED + 1] = {0}, careful = 0;
    for (int i = 0; i < all.n; i++) {
        of[all.item[i].status] += !all.is_old[i];
        careful += all.item[i].mode == RECORD_STREAM;
    }
    cr_expect(of[RECORD_OK] == 4 && of[RECORD_WRONG] == 1 && of[RECORD_RESOURCES] == 1 &&
              of[RECORD_REJECTED] == 1 && careful == 4);
    records_free(&all);

    /* Again: nothing is measured, the same is found; and launches use it. */
    seen again = {0};
    cr_assert_eq(tune(&again, (tg_tune_options){.records = path}, &found), TG_OK);
    cr_expect(tg_config_get(&found.config, "num_threads", &value) && value == 128);
    cr_expect_eq(again.checks, 0);
    cr_assert_eq(tg_tuned_file(path), TG_OK);
    cr_expect_eq(threads_of(TG_CONFIG(N, 1000)), 128);
}

Test(tune, a_program_may_end_the_tuning) {
    seen s = {.stop_at = 1};
    tg_tune_result found;
    cr_assert_eq(tune(&s, (tg_tune_options){.jobs = 1, .seconds = 100}, &found), TG_OK, "%s", tg_error());
    cr_expect_eq(found.tried, 1);
    cr_expect_eq(found.right, 1);
    cr_expect_eq(s.steps, 1);
}

/* One kernel serves all extents; a time is that of one. */
Test(tune, other_extents_are_measured_anew) {
    static int32_t many_rows[8 * 1000];
    const tg_config configs[2] = {TG_CONFIG(num_threads, 32), TG_CONFIG(num_threads, 128)};
    const tg_tune_options how = {.records = path};
    tg_tune_result found;
    tg_jit *jit = tg_jit_new("by_rows", by_rows, NULL, 0);
    for (int rows = 1; rows <= 8; rows += 7) {
        const tg_arg args[] = {tg_arg_int(rows), tg_arg_pointer(many_rows)};
        const int launches = fake->launches;
        cr_assert_eq(tg_tune(jit, TG_CONFIG(N, 1000), 2, configs, 2, args, &how, &found), TG_OK, "%s",
                     tg_error());
        cr_expect_geq(fake->launches - launches, 10, "%d rows", rows);
    }
    tg_jit_free(jit);
    records all;
    int64_t last = 0;
    cr_assert_eq(records_read(path, &all), TG_OK);
    cr_expect(all.n > 0 && tg_config_get(&all.item[all.n - 1].extents, "rows", &last) && last == 8);
    cr_expect(tg_config_get(&all.item[0].extents, "rows", &last) && last == 1);
    records_free(&all);
}

/* What tg_tune() says when a configuration takes the GPU with it, after so many launches that go well; in a process of
 * its own, which then ends at once. */
static int lose_gpu_after(const char *spared, const char *moods, const char *words) {
    const pid_t child = fork();
    if (child == 0) {
        seen s = {0};
        tg_tune_result found;
        setenv("FAKE_CUDA", moods, 1);
        setenv("FAKE_CUDA_AFTER", spared, 1);
        alarm(30);
        const int code = tune(&s, (tg_tune_options){.records = path, .timeout = 0.2, .jobs = 1}, &found);
        _exit(code != TG_EDRIVER ? 1 : !strstr(tg_error(), words) ? 2 : found.config.n != 0 ? 3 : 0);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static int lose_gpu(const char *moods, const char *words) {
    return lose_gpu_after("0", moods, words);
}

static int count_records(record_status wanted) {
    records all;
    int n = 0;
    cr_assert_eq(records_read(path, &all), TG_OK);
    for (int i = 0; i < all.n; i++) {
        n += all.item[i].status == wanted;
    }
    records_free(&all);
    return n;
}

Test(tune, what_costs_the_gpu_is_left_out_by_the_next_process, .timeout = 60) {
    cr_expect_eq(lose_gpu("96:hang", "'by_threads' with num_threads=96: the launch did not end in 0.2 s"), 0);
    cr_expect_eq(count_records(RECORD_TIMEOUT), 1);
    cr_expect_eq(lose_gpu("96:hang 128:fail", "with num_threads=128: launching 'by_threads'"), 0);
    cr_expect_eq(count_records(RECORD_CRASHED), 1);
    setenv("FAKE_CUDA", "96:hang 128:fail", 1);
    seen s = {0};
    tg_tune_result found;
    int64_t value = 0;
    cr_assert_eq(tune(&s, (tg_tune_options){.records = path}, &found), TG_OK, "%s", tg_error());
    cr_expect(tg_config_get(&found.config, "num_threads", &value) && value == 160, "%lld", (long long)value);
}

/* What is right at first may hang while it is timed: in the look's first call, in one of its batches, in the finals. */
Test(tune, a_configuration_that_hangs_while_it_is_timed_is_said, .timeout = 60) {
    static const char *const spared[] = {"1", "60", "90"};
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(lose_gpu_after(spared[i], "96:hang", "num_threads=96: the launch did not end in 0.2 s"),
                     0, "after %s launches", spared[i]);
        cr_expect_eq(count_records(RECORD_TIMEOUT), 1, "after %s launches", spared[i]);
        unlink(path);
    }
}

static bool never(void *user, const tg_config *config) {
    (void)user, (void)config;
    return false;
}

Test(tune, mistakes_are_said) {
    const tg_arg x = tg_arg_pointer(memory);
    const tg_config one = TG_CONFIG(num_threads, 32), illegal = TG_CONFIG(num_threads, 1000);
    const tg_tune_options picky = {.calls = {.is_right = never}};
    const tg_tune_options unwritable = {.records = directory};
    tg_tune_result found;
    tg_jit *jit = tg_jit_new("by_threads", by_threads, NULL, 0);
    cr_expect_eq(tg_tune(jit, TG_CONFIG(N, 1000), 1, &one, 1, &x, &picky, &found), TG_EKERNEL);
    cr_expect(strstr(tg_error(), "none of 1 configurations of 'by_threads' is right; the first: wrong: "),
              "%s", tg_error());
    cr_expect_eq(found.tried, 1);
    cr_expect_eq(tg_tune(jit, TG_CONFIG(N, 1000), 1, &illegal, 1, &x, NULL, &found), TG_EKERNEL);
    cr_expect(strstr(tg_error(), "at most 512 threads"), "%s", tg_error());
    cr_expect_eq(tg_tune(jit, TG_CONFIG(N, 1000), 0, &one, 1, &x, NULL, &found), TG_EARG);
    cr_expect_eq(tg_tune(NULL, TG_CONFIG(N, 1000), 1, &one, 1, &x, NULL, &found), TG_EARG);
    cr_expect_eq(tg_tune(jit, (tg_config){.n = 1000}, 1, &(tg_config){0}, 1, &x, NULL, &found), TG_EARG);
    cr_expect(strstr(tg_error(), "the params are 1000 values"), "%s", tg_error());
    cr_expect_eq(tg_tune(jit, TG_CONFIG(N, 1000), 1, &one, 1, &x, &unwritable, &found), TG_EARG);
    cr_expect_eq(tg_tune(jit, TG_CONFIG(N, 1000), 1, &one, 1, &x, NULL, &found), TG_OK, "%s", tg_error());
    tg_jit_free(jit);
}

/* ---- the kernel ---------------------------------------------------------------------------------------- */

#include <tegula/kernel.h>

KERNEL(by_threads) {
    params(N);
    tunables(num_threads, 32);
    require(num_threads <= 512, "at most 512 threads");
    tensor(x, I32, N);
    grid(pid, ceildiv(N, num_threads)) threads(tid, num_threads) {
        let(i, mad(pid, num_threads, tid));
        when(lt(i, N)) {
            set(at(x, i), 7);
        }
    }
}

KERNEL(by_rows) {
    params(N);
    tunables(num_threads, 32);
    extent(rows);
    tensor(x, I32, rows, N);
    grid(row, rows, pid, ceildiv(N, num_threads)) threads(tid, num_threads) {
        let(i, mad(pid, num_threads, tid));
        when(lt(i, N)) {
            set(at(x, row, i), 7);
        }
    }
}
