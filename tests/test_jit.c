/* test_jit.c -- tg_jit: what is compiled when, how often, for which context, and what a failure says.
 *
 * The driver is the double, NVRTC the real one: skipped without it.  The kernels stand at the end, since
 * their words are macros. */
#define _XOPEN_SOURCE 700 /* mkdtemp, nftw */
#include <criterion/criterion.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tegula/tegula.h>

#include "runtime/bench.h"
#include "runtime/image.h"
#include "runtime/jit.h"
#include "with_fake.h"

tg_builder scale, scale_by_user, checked, faulty, dynamic, restless;

static char directory[512];
static atomic_int builds;

/* A builder may be run by several threads at once. */
static void counted(void) {
    builds++;
    scale();
}

static int remove_one(const char *path, const struct stat *is, int kind, struct FTW *at) {
    (void)is, (void)kind, (void)at;
    return remove(path);
}

static void open_directory(void) {
    const char *base = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/tegula-test-XXXXXX", base ? base : "/tmp");
    cr_assert(mkdtemp(directory));
    setenv("TEGULA_CACHE_DIR", directory, 1);
    unsetenv("TEGULA_NO_CACHE");
    if (!api_nvrtc_open("sm_90a")) {
        cr_skip_test("no NVRTC here: %s", tg_error());
    }
}

static void open_all(void) {
    fake_open();
    fake->n_params = 2;
    open_directory();
}

static void close_all(void) {
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(jit, .init = open_all, .fini = close_all);

static const tg_arg two[2] = {{TG_ARG_POINTER, (void *)0x10000, 0, 0},
                              {TG_ARG_POINTER, (void *)0x20000, 0, 0}};

static api_context primary_context(int ordinal) {
    api_context context;
    cr_assert_eq(device_primary(api_driver_open(), ordinal, &context), TG_OK);
    return context;
}

static size_t entries_on_disk(void) {
    image_settle();
    cache *c = cache_new(directory);
    size_t n = cache_stat(c).entries;
    cache_free(c);
    return n;
}

/* ---- what is made when --------------------------------------------------------------------------------- */

Test(jit, the_first_launch_compiles_and_the_second_builds_nothing) {
    tg_jit *jit = tg_jit_new("scale", counted, NULL, 0);
    cr_assert_eq(tg_launch(jit, TG_CONFIG(N, 1024, block, 128), NULL, 2, two), TG_OK, "%s", tg_error());
    cr_expect_eq(builds, 1);
    cr_expect_eq(image_compiles(), 1);
    cr_expect_eq(fake->grid[0], 8);
    cr_expect_eq(fake->block[0], 128);
    cr_expect_eq(fake->param[0], 0x10000);
    cr_expect_str_eq(fake->kernel, "scale");
#ifndef TG_DEBUG /* debug builds build again, to compare */
    cr_assert_eq(tg_launch(jit, TG_CONFIG(N, 1024, block, 128), NULL, 2, two), TG_OK);
    cr_expect_eq(builds, 1);
#endif
    cr_assert_eq(tg_launch(jit, TG_CONFIG(N, 2048, block, 128), NULL, 2, two), TG_OK);
    cr_expect_eq(fake->grid[0], 16);
    cr_expect_eq(image_compiles(), 1, "N is not in the text: the image is the same");
    cr_assert_eq(tg_launch(jit, TG_CONFIG(N, 1024, block, 256), NULL, 2, two), TG_OK);
    cr_expect_eq(image_compiles(), 2);
    tg_jit_free(jit);
    cr_expect_eq(fake->loads, 3);
    cr_expect_eq(fake->unloads, 3);
}

Test(jit, names_count_by_content_and_order_does_not_matter) {
    tg_jit *jit = tg_jit_new("scale", counted, NULL, 0);
    char name[8] = "N";
    tg_config c = {0};
    cr_assert_eq(tg_config_set(&c, "block", 128), TG_OK);
    cr_assert_eq(tg_config_set(&c, name, 1024), TG_OK);
    cr_assert_eq(tg_launch(jit, TG_CONFIG(N, 1024, block, 128), NULL, 2, two), TG_OK, "%s", tg_error());
    cr_assert_eq(tg_launch(jit, c, NULL, 2, two), TG_OK);
    strcpy(name, "M"); /* the jit must not read the caller's string again */
    cr_assert_eq(tg_launch(jit, TG_CONFIG(block, 128, N, 1024), NULL, 2, two), TG_OK);
    cr_expect_eq(image_compiles(), 1);
    cr_expect_eq(fake->loads, 1);
    tg_jit_free(jit);
}

Test(jit, an_explicit_default_has_the_key_of_none) {
    tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
    tg_kernel_info by_default;
    tg_kernel_info given;
    tg_kernel_info other;
    cr_assert_eq(tg_info(jit, TG_CONFIG(N, 1024), &by_default), TG_OK, "%s", tg_error());
    cr_assert_eq(tg_info(jit, TG_CONFIG(N, 1024, block, 128), &given), TG_OK);
    cr_assert_eq(tg_info(jit, TG_CONFIG(N, 1024, block, 256), &other), TG_OK);
    cr_expect_str_eq(by_default.key, given.key);
    cr_expect_str_neq(by_default.key, other.key);
    cr_expect_eq(image_compiles(), 2);
    cr_expect_eq(entries_on_disk(), 2);
    tg_jit_free(jit);
}

Test(jit, a_later_process_finds_the_image_on_disk) {
    for (int process = 0; process < 2; process++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
            int status = tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two);
            unsigned compiled = image_compiles();
            tg_jit_free(jit);
            _exit(status != TG_OK ? 9 : (int)compiled);
        }
        int status;
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_expect_eq(WEXITSTATUS(status), process == 0 ? 1 : 0);
    }
}

Test(jit, a_damaged_entry_is_compiled_anew) {
    tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
    tg_kernel_info info;
    cr_assert_eq(tg_info(jit, TG_CONFIG(N, 1024), &info), TG_OK, "%s", tg_error());
    tg_jit_free(jit);
    char path[1024];
    snprintf(path, sizeof path, "%s/%.2s/%s.tgc", directory, info.key, info.key + 2);
    cr_assert_eq(truncate(path, 100), 0);
    jit = tg_jit_new("scale", scale, NULL, 0);
    cr_assert_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_OK, "%s", tg_error());
    cr_expect_eq(image_compiles(), 2);
    tg_jit_free(jit);
    cache *c = cache_new(directory);
    size_t good;
    cr_expect_eq(cache_verify(c, &good), 0);
    cr_expect_eq(good, 1);
    cache_free(c);
}

Test(jit, user_bytes_are_copied_and_part_of_the_kernel) {
    int factor = 3;
    tg_jit *three = tg_jit_new("scale_by_user", scale_by_user, &factor, sizeof factor);
    factor = 5;
    tg_jit *five = tg_jit_new("scale_by_user", scale_by_user, &factor, sizeof factor);
    factor = 7;
    char *text3 = tg_source(three, TG_CONFIG(N, 1024));
    char *text5 = tg_source(five, TG_CONFIG(N, 1024));
    cr_assert(text3 && text5, "%s", tg_error());
    cr_expect(strstr(text3, "3") && !strstr(text3, "7.0f"), "%s", text3);
    cr_expect_str_neq(text3, text5);
    tg_kernel_info info3;
    tg_kernel_info info5;
    cr_assert_eq(tg_info(three, TG_CONFIG(N, 1024), &info3), TG_OK, "%s", tg_error());
    cr_assert_eq(tg_info(five, TG_CONFIG(N, 1024), &info5), TG_OK);
    cr_expect_str_neq(info3.key, info5.key);
    free(text3);
    free(text5);
    tg_jit_free(three);
    tg_jit_free(five);
}

Test(jit, without_a_cache_directory_it_goes_on_in_memory) {
    setenv("TEGULA_CACHE_DIR", "/proc/nonexistent", 1);
    tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
    cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_OK, "%s", tg_error());
    cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_OK, "%s", tg_error());
    cr_expect_eq(image_compiles(), 1);
    tg_jit_free(jit);
}

/* ---- many at once -------------------------------------------------------------------------------------- */

enum { THREADS = 32 };

static pthread_barrier_t gate;
static tg_jit *shared_jit;
static atomic_int good;

static void *launch_one(void *argument) {
    (void)argument;
    pthread_barrier_wait(&gate);
    for (int i = 0; i < 20; i++) {
        good += tg_launch(shared_jit, TG_CONFIG(N, 1024), NULL, 2, two) == TG_OK;
    }
    return NULL;
}

static void *launch_several(void *argument) {
    int mine = (int)(intptr_t)argument;
    pthread_barrier_wait(&gate);
    for (int i = 0; i < 8; i++) {
        good += tg_launch(shared_jit, TG_CONFIG(N, 1024, block, 64 << (i + mine) % 3), NULL, 2, two) == TG_OK;
    }
    return NULL;
}

static void run_threads(void *(*body)(void *)) {
    pthread_t thread[THREADS];
    cr_assert_eq(pthread_barrier_init(&gate, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        cr_assert_eq(pthread_create(&thread[i], NULL, body, (void *)(intptr_t)i), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    pthread_barrier_destroy(&gate);
}

Test(jit, thirty_two_threads_asking_at_once_compile_once, .timeout = 120) {
    shared_jit = tg_jit_new("scale", counted, NULL, 0);
    run_threads(launch_one);
    cr_expect_eq(good, THREADS * 20, "%d: %s", good, tg_error());
    cr_expect_eq(image_compiles(), 1);
    cr_expect_eq(fake->loads, 1);
#ifndef TG_DEBUG
    cr_expect_eq(builds, 1);
#endif
    tg_jit_free(shared_jit);
}

Test(jit, threads_with_three_configurations_compile_three, .timeout = 120) {
    shared_jit = tg_jit_new("scale", scale, NULL, 0);
    run_threads(launch_several);
    cr_expect_eq(good, THREADS * 8);
    cr_expect_eq(image_compiles(), 3);
    cr_expect_eq(fake->loads, 3);
    tg_jit_free(shared_jit);
}

static void *use_own_jit(void *argument) {
    (void)argument;
    tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
    pthread_barrier_wait(&gate);
    good += tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two) == TG_OK;
    pthread_barrier_wait(&gate);
    tg_jit_free(jit);
    return NULL;
}

Test(jit, jits_of_one_process_share_the_compile, .timeout = 120) {
    run_threads(use_own_jit);
    cr_expect_eq(good, THREADS);
    cr_expect_eq(image_compiles(), 1);
}

Test(jit, two_processes_of_thirty_two_threads_leave_one_entry, .timeout = 240) {
    pid_t child[2];
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            run_threads(use_own_jit);
            _exit(good == THREADS && image_compiles() <= 1 ? 0 : 1);
        }
    }
    for (int i = 0; i < 2; i++) {
        int status;
        cr_assert_eq(waitpid(child[i], &status, 0), child[i]);
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    cr_expect_eq(entries_on_disk(), 1);
}

static void *fail_one(void *argument) {
    (void)argument;
    pthread_barrier_wait(&gate);
    good += tg_launch(shared_jit, TG_CONFIG(block, 128), NULL, 2, two) == TG_EKERNEL &&
            strstr(tg_error(), "N") != NULL;
    return NULL;
}

Test(jit, all_who_waited_learn_of_a_failure, .timeout = 120) {
    shared_jit = tg_jit_new("scale", scale, NULL, 0);
    run_threads(fail_one);
    cr_expect_eq(good, THREADS);
    tg_jit_free(shared_jit);
}

/* ---- contexts and devices ------------------------------------------------------------------------------ */

Test(jit, device_and_context_are_the_streams) {
    tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
    struct CUctx_st *own = fake_context_new(1);
    struct CUstream_st *stream[3] = {fake_stream_new(primary_context(0)), fake_stream_new(primary_context(1)),
                                     fake_stream_new(own)};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            cr_assert_eq(tg_launch(jit, TG_CONFIG(N, 1024), stream[i], 2, two), TG_OK, "%s", tg_error());
            cr_expect_eq(fake->context,
                         ((struct CUctx_st *[]){primary_context(0), primary_context(1), own})[i]);
        }
    }
    cr_expect_eq(fake->loads, 3);
    cr_expect_eq(image_compiles(), 1);
    cr_expect_eq(fake->wrong_context, 0);
    api_context current;
    api_driver_open()->context_current(&current);
    cr_expect_null(current, "the current context was changed");
    tg_jit_free(jit);
    for (int i = 0; i < 3; i++) {
        free(stream[i]);
    }
}

Test(jit, without_a_stream_the_current_context_counts) {
    tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
    cr_assert_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->context, primary_context(0));
    api_driver_open()->context_push(primary_context(1));
    cr_assert_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->context, primary_context(1));
    tg_jit_free(jit);
}

Test(jit, a_new_context_at_an_old_address_is_loaded_anew) {
    tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
    struct CUctx_st *first = fake_context_new(0);
    struct CUstream_st *stream = fake_stream_new(first);
    cr_assert_eq(tg_launch(jit, TG_CONFIG(N, 1024), stream, 2, two), TG_OK, "%s", tg_error());
    fake_context_destroy(first);
    cr_assert_eq(fake_context_new(0), first);
    cr_assert_eq(tg_launch(jit, TG_CONFIG(N, 1024), stream, 2, two), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->loads, 2);
    tg_jit_free(jit);
    cr_expect_eq(fake->unloads, 1, "the module of the destroyed context went with it");
    free(stream);
}

Test(jit, a_device_too_old_is_no_device) {
    fake->major = 7;
    fake->minor = 5;
    tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
    cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_ENODEVICE);
    cr_expect(strstr(tg_error(), "compute capability 7.5"), "%s", tg_error());
    tg_jit_free(jit);
}

Test(jit, a_device_without_dependent_launches_gets_plain_ones) {
    fake->major = 8;
    fake->minor = 0;
    tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
    cr_expect_eq(tg_jit_dependent(jit, true), TG_OK);
    cr_assert_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->n_attributes, 0);
    cr_expect_eq(tg_jit_dependent(NULL, true), TG_EARG);
    tg_jit_free(jit);
}

Test(jit, dependent_launches_are_said_before_the_first) {
    tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
    cr_expect_eq(tg_jit_dependent(jit, true), TG_OK);
    cr_assert_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->n_attributes, 1);
    cr_expect_eq(tg_jit_dependent(jit, true), TG_OK, "nothing new");
    cr_expect_eq(tg_jit_dependent(jit, false), TG_EARG);
    cr_expect(strstr(tg_error(), "is compiled already"), "%s", tg_error());
    tg_jit_free(jit);
}

Test(jit, a_wrong_device_number_is_an_argument_error) {
    tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
    cr_expect_eq(tg_prepare(jit, TG_CONFIG(N, 1024), 7), TG_EARG);
    cr_expect(strstr(tg_error(), "there is no device 7: this machine has 2"), "%s", tg_error());
    cr_expect_eq(tg_prepare(jit, TG_CONFIG(N, 1024), -1), TG_EARG);
    tg_jit_free(jit);
}

/* ---- capture ------------------------------------------------------------------------------------------- */

Test(jit, a_cold_launch_under_capture_is_refused_and_the_capture_lives) {
    tg_jit *jit = tg_jit_new("scale", counted, NULL, 0);
    struct CUstream_st *stream = fake_stream_new(primary_context(0));
    fake_capture(stream, 1);
    cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 1024), stream, 2, two), TG_EARG);
    cr_expect(strstr(tg_error(), "call tg_prepare() before the capture"), "%s", tg_error());
    cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_EARG, "the default stream is drawn in");
    cr_expect_eq(fake->broken_captures, 0);
    cr_expect_eq(fake->loads, 0);
    cr_expect_eq(builds, 0);
    fake_capture(stream, 0);
    cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 1024), stream, 2, two), TG_OK, "%s", tg_error());
    tg_jit_free(jit);
    free(stream);
}

Test(jit, a_prepared_kernel_launches_under_capture_without_loading_or_asking) {
    tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
    struct CUstream_st *stream = fake_stream_new(primary_context(1));
    cr_assert_eq(tg_prepare(jit, TG_CONFIG(N, 1024), 1), TG_OK, "%s", tg_error());
    int loads = fake->loads;
    int queries = fake->queries;
    fake_capture(stream, 1);
    cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 1024), stream, 2, two), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->stream, stream);
    cr_expect_eq(fake->loads, loads);
    cr_expect_eq(fake->queries, queries);
    cr_expect_eq(fake->broken_captures, 0);
    fake_capture(stream, 0);
    tg_jit_free(jit);
    free(stream);
}

Test(jit, preparing_beside_a_capture_leaves_it_intact) {
    tg_jit *jit = tg_jit_new("checked", checked, NULL, 0);
    struct CUstream_st *stream = fake_stream_new(primary_context(0));
    fake_capture(stream, 1);
    cr_expect_eq(tg_prepare(jit, TG_CONFIG(N, 1024), 0), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->broken_captures, 0);
    fake_capture(stream, 0);
    tg_jit_free(jit);
    free(stream);
}

/* ---- failures ------------------------------------------------------------------------------------------ */

Test(jit, a_faulty_kernel_is_said_with_its_line_and_may_be_tried_again) {
    tg_jit *jit = tg_jit_new("faulty", faulty, NULL, 0);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_EKERNEL);
        cr_expect(strstr(tg_error(), "test_jit.c:"), "%s", tg_error());
        cr_expect(strstr(tg_error(), "error:"), "%s", tg_error());
    }
    cr_expect_null(tg_source(jit, TG_CONFIG(N, 1024)));
    tg_jit_free(jit);
}

Test(jit, a_breach_of_require_gives_its_reason) {
    tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
    cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 1000), NULL, 2, two), TG_EKERNEL);
    cr_expect(strstr(tg_error(), "N must be a multiple of block"), "%s", tg_error());
    tg_jit_free(jit);
}

Test(jit, faulty_calls_are_argument_errors) {
    tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
    tg_config broken = {.n = TG_MAX_CONFIG + 1};
    tg_config nameless = {.n = 1};
    cr_expect_eq(tg_launch(NULL, TG_CONFIG(N, 1024), NULL, 2, two), TG_EARG);
    cr_expect_eq(tg_launch(jit, broken, NULL, 2, two), TG_EARG);
    cr_expect_eq(tg_launch(jit, nameless, NULL, 2, two), TG_EARG);
    cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 1, two), TG_EARG);
    cr_expect_null(tg_jit_new(NULL, scale, NULL, 0));
    tg_jit_free(jit);
    tg_jit_free(NULL);
}

Test(jit, the_error_text_belongs_to_the_thread) {
    tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
    cr_expect_str_eq(tg_error(), "");
    cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 1000), NULL, 2, two), TG_EKERNEL);
    char kept[512];
    snprintf(kept, sizeof kept, "%.511s", tg_error());
    shared_jit = jit;
    run_threads(fail_one);
    cr_expect_str_eq(tg_error(), kept);
    tg_jit_free(jit);
}

Test(no_driver, launching_is_no_device_but_text_and_image_can_still_be_had, .fini = close_all) {
    setenv("TEGULA_LIBCUDA", "/nonexistent", 1);
    open_directory();
    tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
    cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_ENODEVICE);
    cr_expect(strstr(tg_error(), "/nonexistent"), "%s", tg_error());
    char *source = tg_source(jit, TG_CONFIG(N, 1024));
    cr_assert(source, "%s", tg_error());
    cr_expect(strstr(source, "__global__"));
    free(source);
    jit_compiled made;
    cr_assert_eq(jit_compile(jit, &TG_CONFIG(N, 1024), "sm_80", &made), TG_OK, "%s", tg_error());
    cr_expect_eq(memcmp(made.image->data, "\177ELF", 4), 0);
    cr_expect_eq(jit_compile(jit, &TG_CONFIG(N, 1024), "sm_1", &made), TG_EARG);
    tg_jit_free(jit);
}

/* ---- facts --------------------------------------------------------------------------------------------- */

Test(jit, info_tells_what_was_made) {
    tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
    tg_kernel_info info;
    cr_assert_eq(tg_info(jit, TG_CONFIG(N, 1024, block, 256), &info), TG_OK, "%s", tg_error());
    cr_expect_str_eq(info.target, "sm_90a");
    cr_expect_eq(info.grid[0], 4);
    cr_expect_eq(info.threads[0], 256);
    cr_expect_eq(info.registers, 40);
    cr_expect_eq(info.blocks_per_sm, 8);
    cr_expect_eq(strlen(info.key), 32);
    tg_jit_free(jit);
}

Test(jit, extents_come_with_the_launch) {
    tg_jit *jit = tg_jit_new("dynamic", dynamic, NULL, 0);
    tg_arg args[3] = {tg_arg_int(300), two[0], two[1]};
    fake->n_params = 3;
    cr_assert_eq(tg_launch(jit, TG_CONFIG(block, 128), NULL, 3, args), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->grid[0], 3);
    args[0] = tg_arg_int(1000);
    cr_assert_eq(tg_launch(jit, TG_CONFIG(block, 128), NULL, 3, args), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->grid[0], 8);
    cr_expect_eq(image_compiles(), 1);
    tg_kernel_info info;
    cr_assert_eq(tg_info(jit, TG_CONFIG(block, 128), &info), TG_OK);
    cr_expect_eq(info.grid[0], 0);
    tg_jit_free(jit);
}

Test(jit, a_failed_check_reaches_whoever_waits) {
    tg_jit *jit = tg_jit_new("checked", checked, NULL, 0);
    fake->n_params = 3;
    cr_assert_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_OK, "%s", tg_error());
    cr_assert_eq(tg_wait(jit, NULL), TG_OK, "%s", tg_error());
    tg_checks *record = (tg_checks *)(uintptr_t)fake->param[2]; /* where the kernel would write */
    *record = (tg_checks){.failed = 1, .check = 0, .block = {2, 0, 0}, .thread = {5, 0, 0}};
    cr_expect_eq(tg_wait(jit, NULL), TG_EKERNEL);
    cr_expect(strstr(tg_error(), "test_jit.c:"), "%s", tg_error());
    cr_expect(strstr(tg_error(), "check failed: x is not negative (block 2,0,0 thread 5,0,0; 1 in all)"),
              "%s", tg_error());
    cr_expect_eq(tg_wait(jit, NULL), TG_OK);
    tg_jit_free(jit);
}

Test(jit, what_a_destroyed_context_held_is_not_asked_for_failures) {
    tg_jit *jit = tg_jit_new("checked", checked, NULL, 0);
    struct CUctx_st *gone = fake_context_new(0);
    struct CUstream_st *there = fake_stream_new(gone), *here = fake_stream_new(primary_context(0));
    fake->n_params = 3;
    cr_assert_eq(tg_launch(jit, TG_CONFIG(N, 1024), there, 2, two), TG_OK, "%s", tg_error());
    cr_assert_eq(tg_launch(jit, TG_CONFIG(N, 1024), here, 2, two), TG_OK, "%s", tg_error());
    fake_context_destroy(gone);
    cr_expect_eq(tg_wait(jit, here), TG_OK, "%s", tg_error());
    tg_jit_free(jit);
    free(there);
    free(here);
}

#ifdef TG_DEBUG
Test(jit, a_builder_that_depends_on_something_else_is_found) {
    tg_jit *jit = tg_jit_new("restless", restless, NULL, 0);
    fake->n_params = 1;
    cr_assert_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 1, two), TG_OK, "%s", tg_error());
    cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 1, two), TG_EKERNEL);
    cr_expect(strstr(tg_error(), "built differently"), "%s", tg_error());
    tg_jit_free(jit);
}
#endif

Test(jit, stages_are_dumped_into_files) {
    setenv("TEGULA_DUMP", "tile,cuda", 1);
    setenv("TEGULA_DUMP_DIR", directory, 1);
    tg_jit *jit = tg_jit_new("scale", scale, NULL, 0);
    char *source = tg_source(jit, TG_CONFIG(N, 1024));
    cr_assert(source, "%s", tg_error());
    char path[600];
    snprintf(path, sizeof path, "%s/scale.cuda", directory);
    FILE *in = fopen(path, "r");
    cr_assert(in);
    char *dumped = calloc(1, 1 << 16);
    cr_assert(dumped);
    cr_expect_eq(fread(dumped, 1, (1 << 16) - 1, in), strlen(source));
    cr_expect_str_eq(dumped, source);
    fclose(in);
    snprintf(path, sizeof path, "%s/scale.tile", directory);
    cr_expect_eq(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/scale.thread", directory);
    cr_expect_neq(access(path, F_OK), 0);
    free(dumped);
    free(source);
    tg_jit_free(jit);
}

/* ---- kernels ------------------------------------------------------------------------------------------- */

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

void scale_by_user(void) {
    params(N);
    const int *factor = tg_user(tg_now());
    tensor(x, F32, N);
    tensor(y, F32, N);
    grid(pid, N / 128) threads(tid, 128) {
        let(i, add(mul(pid, 128), tid));
        set(at(y, i), mul(at(x, i), (float)*factor));
    }
}

void checked(void) {
    params(N);
    tensor(x, F32, N);
    tensor(y, F32, N);
    grid(pid, N / 128) threads(tid, 128) {
        let(i, add(mul(pid, 128), tid));
        check(ge(at(x, i), 0.0f), "x is not negative");
        set(at(y, i), at(x, i));
    }
}

void faulty(void) {
    params(N);
    tensor(x, F32, N);
    tensor(y, F16, N);
    grid(pid, N / 128) threads(tid, 128) {
        let(i, add(mul(pid, 128), tid));
        set(at(y, i), at(x, i)); /* f32 into f16 without a cast */
    }
}

void dynamic(void) {
    tunables(block, 128);
    extent(rows);
    tensor(x, F32, rows);
    tensor(y, F32, rows);
    grid(pid, ceildiv(rows, block)) threads(tid, block) {
        let(i, add(mul(pid, block), tid));
        when(lt(i, rows)) {
            set(at(y, i), at(x, i));
        }
    }
}

void restless(void) {
    static int n;
    params(N);
    tensor(y, F32, N);
    grid(pid, N / 128) threads(tid, 128) {
        set(at(y, add(mul(pid, 128), tid)), (float)++n);
    }
}

/* ---- times --------------------------------------------------------------------------------------------- */

typedef struct rotation {
    tg_jit *jit;
    tg_config config;
    const tg_arg *sets[2];
} rotation;

static int launch_set(void *user, int set, void *stream) {
    const rotation *r = user;
    return tg_launch(r->jit, r->config, stream, 2, r->sets[set]);
}

Test(jit, stream_mode_records_rotating_launches_and_divides_the_replay_by_their_number) {
    tg_jit *jit = tg_jit_new("scale", counted, NULL, 0);
    const tg_arg other[2] = {tg_arg_pointer((void *)0x30000), tg_arg_pointer((void *)0x40000)};
    rotation r = {jit, TG_CONFIG(N, 1024, block, 128), {two, other}};
    device_handle *d = NULL;
    bench_timer *timer = NULL;
    tg_bench_figures figures;
    cr_assert_eq(device_open(0, &d), TG_OK, "%s", tg_error());
    cr_assert_eq(bench_open(d, &timer), TG_OK, "%s", tg_error());
    cr_assert_eq(bench_calls(timer, launch_set, &r, 2, NULL, &figures), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->param[0], 0x30000, "the last of an even number of launches is set 1");
    cr_expect_eq(fake->broken_captures, 0);
    cr_expect_float_eq(figures.median_us * figures.launches, 1500.0, 1e-6,
                       "the double's replays take 1.5 ms");
    cr_expect(figures.samples > 10 && figures.min_us <= figures.median_us);
    bench_close(timer);
    tg_jit_free(jit);
    device_close(d);
}

Test(jit, a_program_times_a_kernel_over_sets_of_arguments) {
    tg_jit *jit = tg_jit_new("scale", counted, NULL, 0);
    const tg_arg sets[] = {two[0], two[1], tg_arg_pointer((void *)0x30000), tg_arg_pointer((void *)0x40000)};
    const tg_bench_options how = {.mode = TG_BENCH_COLD, .min_samples = 11, .max_samples = 11};
    tg_bench_figures f;
    const int before = fake->launches;
    cr_assert_eq(tg_bench(jit, TG_CONFIG(N, 1024, block, 128), 2, 2, sets, &how, &f), TG_OK, "%s",
                 tg_error());
    cr_expect_eq(f.samples, 11);
    cr_expect_eq(f.launches, 1);
    cr_expect_float_eq(f.median_us, 1500.0, 1e-6);
    cr_expect(fake->launches - before >= 22, "a launch and a flush for each sample");
    cr_expect_eq(tg_bench(jit, TG_CONFIG(N, 1024, block, 128), 2, 1, sets, &how, &f), TG_EARG,
                 "one argument too few");
    cr_expect_eq(f.samples, 0);
    cr_expect_eq(tg_bench(jit, TG_CONFIG(block, 128), 2, 2, sets, &how, &f), TG_EKERNEL, "N is missing");
    tg_jit_free(jit);
}
