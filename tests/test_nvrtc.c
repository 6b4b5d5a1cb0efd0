/* test_nvrtc.c -- finding NVRTC, compiling text, and what its messages become.  No GPU; skipped without
 * NVRTC. */
#define _XOPEN_SOURCE 700 /* mkdtemp, symlink */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/api.h"
#include "runtime/compiler_id.h"
#include "runtime/error.h"
#include "runtime/nvrtc.h"
#include "with_fake.h"

static void need_nvrtc(void) {
    if (!api_nvrtc_open(NULL)) {
        cr_skip_test("no NVRTC here: %s", tg_error());
    }
}

static const char good[] = "extern \"C\" __global__ void k(float *a) {\n    a[threadIdx.x] = 1.0f;\n}\n";
static const char bad[] =
    "extern \"C\" __global__ void k(float *a) {\n    a[0] = 1.0f;\n    a[1] = nonesuch;\n}\n";

static int compile(const char *source, const char *target, nvrtc_result *result) {
    nvrtc_request request = {.name = "k", .text = source, .target = target};
    return nvrtc_compile(&request, result);
}

Test(nvrtc, text_becomes_a_cubin_for_each_target) {
    static const char *const target[] = {"sm_80", "sm_90", "sm_90a"};
    need_nvrtc();
    for (int i = 0; i < 3; i++) {
        nvrtc_result result;
        cr_assert_eq(compile(good, target[i], &result), TG_OK, "%s: %s", target[i], tg_error());
        cr_expect_gt(result.size, 500);
        cr_expect_eq(memcmp(result.image, "\177ELF", 4), 0);
        cr_expect_gt(result.milliseconds, 0.0);
        nvrtc_free(&result);
        cr_expect_null(result.image);
    }
}

Test(nvrtc, text_becomes_ptx) {
    need_nvrtc();
    nvrtc_result result;
    nvrtc_request request = {.name = "k", .text = good, .target = "sm_90a", .want_ptx = true};
    cr_assert_eq(nvrtc_compile(&request, &result), TG_OK, "%s", tg_error());
    cr_expect(strstr(result.image, ".target sm_90a"), "%.300s", (const char *)result.image);
    cr_expect_eq(((const char *)result.image)[result.size - 1], '\0');
    nvrtc_free(&result);
}

Test(nvrtc, line_information_and_contraction_are_asked_for) {
    need_nvrtc();
    static const char text_of[] =
        "extern \"C\" __global__ void k(float *a) {\n    a[0] = a[1] * a[2] + a[3];\n}\n";
    nvrtc_result result;
    nvrtc_request request = {.name = "k", .text = text_of, .target = "sm_80", .want_ptx = true};
    cr_assert_eq(nvrtc_compile(&request, &result), TG_OK);
    cr_expect(strstr(result.image, "fma.rn"));
    cr_expect_not(strstr(result.image, ".loc"));
    nvrtc_free(&result);
    request.no_contraction = true;
    request.has_line_info = true;
    cr_assert_eq(nvrtc_compile(&request, &result), TG_OK);
    cr_expect_not(strstr(result.image, "fma.rn"));
    cr_expect(strstr(result.image, ".loc"));
    nvrtc_free(&result);
}

Test(nvrtc, options_are_canonical) {
    nvrtc_request request = {.target = "sm_90a"};
    nvrtc_options o = nvrtc_canonical_options(&request);
    cr_assert_eq(o.n, 2);
    cr_expect_str_eq(o.option[0], "-arch=sm_90a");
    cr_expect_str_eq(o.option[1], "--std=c++17");
    request.want_ptx = request.no_contraction = request.has_line_info = true;
    o = nvrtc_canonical_options(&request);
    cr_assert_eq(o.n, 4);
    cr_expect_str_eq(o.option[0], "-arch=compute_90a");
    cr_expect_str_eq(o.option[2], "-fmad=false");
    cr_expect_str_eq(o.option[3], "-lineinfo");
}

Test(nvrtc, a_mistake_comes_back_with_the_dsl_line) {
    need_nvrtc();
    static const tg_loc lines[] = {{NULL, 0}, {"gemv.c", 11}, {"gemv.c", 12}};
    nvrtc_result result;
    nvrtc_request request = {.name = "k", .text = bad, .target = "sm_80", .lines = lines, .n_lines = 3};
    cr_assert_eq(nvrtc_compile(&request, &result), TG_EKERNEL);
    cr_expect_null(result.image);
    cr_expect(strstr(tg_error(), "gemv.c:12: error: identifier \"nonesuch\" is undefined"), "%s", tg_error());
    cr_expect(strstr(tg_error(), "CUDA line 3:"), "%s", tg_error());
    cr_expect(strstr(tg_error(), "a[1] = nonesuch;"), "%s", tg_error());
    cr_expect_not(strstr(tg_error(), "k.cu(3)"), "%s", tg_error());
}

Test(nvrtc, warnings_come_with_the_image) {
    need_nvrtc();
    nvrtc_result result;
    cr_assert_eq(compile("extern \"C\" __global__ void k() {\n    int unused;\n}\n", "sm_80", &result),
                 TG_OK);
    cr_assert(result.log);
    cr_expect(strstr(result.log, "k.cu:2: warning"), "%s", result.log);
    nvrtc_free(&result);
}

Test(nvrtc, logs_are_rewritten_line_by_line) {
    static const tg_loc lines[] = {{"a.c", 5}, {NULL, 0}};
    const nvrtc_request r = {.name = "k", .text = "  int x;\nint y;\n", .lines = lines, .n_lines = 2};
    static const struct {
        const char *log, *mapped;
    } row[] = {
        {"", ""},
        {"k.cu(1): error: why\n", "a.c:5: error: why\n  CUDA line 1:\n  int x;"},
        {"k.cu(1): error: why\n  int x;\n      ^\n", "a.c:5: error: why\n  CUDA line 1:\n  int x;\n      ^"},
        {"k.cu(2): error: why\n", "k.cu:2: error: why\n  int y;"},
        {"k.cu(99): error: why", "k.cu:99: error: why"},
        {"k.cu(99999999999999999999): error: why", "k.cu:18446744073709551615: error: why"},
        {"kk.cu(1): error: why", "kk.cu(1): error: why"},
        {"k.cu(: x\nk.cu(1) x", "k.cu(: x\nk.cu(1) x"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char *mapped = nvrtc_map_log(&r, row[i].log);
        cr_assert(mapped);
        cr_expect_str_eq(mapped, row[i].mapped, "'%s' became '%s'", row[i].log, mapped);
        free(mapped);
    }
}

Test(nvrtc, what_is_no_target_is_an_argument_error) {
    static const char *const target[] = {"", "sm_", "sm_90b", "sm_90aa", "90a", "sm_-80", "sm_99999"};
    for (size_t i = 0; i < sizeof target / sizeof *target; i++) {
        nvrtc_result result;
        cr_expect_eq(compile(good, target[i], &result), TG_EARG, "'%s'", target[i]);
        cr_expect(strstr(tg_error(), "is no target"), "%s", tg_error());
    }
}

Test(nvrtc, a_target_that_no_compiler_knows_names_those_tried) {
    need_nvrtc();
    nvrtc_result result;
    cr_expect_eq(compile(good, "sm_35", &result), TG_ENOCOMPILER);
    cr_expect(strstr(tg_error(), "libnvrtc"), "%s", tg_error());
    cr_expect(strstr(tg_error(), "does not know sm_35"), "%s", tg_error());
    cr_expect_eq(compile(good, "sm_36", &result), TG_ENOCOMPILER);
    cr_expect(strstr(tg_error(), "does not know sm_36") && !strstr(tg_error(), "sm_35"),
              "the reason is that of this question: %s", tg_error());
    const api_tried *tried;
    const size_t n = api_nvrtc_tried(&tried);
    for (size_t i = 0; i < n; i++) {
        cr_expect(!tried[i].problem || !strstr(tried[i].problem, "does not know"), "%s: %s", tried[i].path,
                  tried[i].problem);
    }
}

Test(nvrtc, a_named_compiler_that_is_missing_is_an_error) {
    setenv("TEGULA_NVRTC", "/nonexistent/libnvrtc.so", 1);
    nvrtc_result result;
    cr_expect_eq(compile(good, "sm_80", &result), TG_ENOCOMPILER);
    cr_expect(strstr(tg_error(), "/nonexistent/libnvrtc.so cannot be opened"), "%s", tg_error());
}

Test(nvrtc, a_named_library_that_is_none_is_an_error) {
    setenv("TEGULA_NVRTC", "libc.so.6", 1);
    nvrtc_result result;
    cr_expect_eq(compile(good, "sm_80", &result), TG_ENOCOMPILER);
    cr_expect(strstr(tg_error(), "has no nvrtcVersion"), "%s", tg_error());
}

/* The folder of the compiler found by default. */
static void folder_of_nvrtc(char folder[1024]) {
    const api_nvrtc *api = api_nvrtc_open(NULL);
    snprintf(folder, 1024, "%s", api->path);
    *strrchr(folder, '/') = '\0';
}

static int in_child(void (*run)(const char *), const char *argument) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        run(argument);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void compile_by_folder(const char *folder) {
    nvrtc_result result;
    setenv("TEGULA_NVRTC", folder, 1);
    if (compile(good, "sm_80", &result) != TG_OK) {
        _exit(1);
    }
    const api_tried *tried;
    size_t n = api_nvrtc_tried(&tried);
    bool is_by_variable = n > 0 && !strcmp(tried[0].origin, "TEGULA_NVRTC") && tried[0].is_chosen;
    _exit(is_by_variable ? 0 : 2);
}

static void find_folder(const char *path) {
    need_nvrtc();
    char folder[1024];
    folder_of_nvrtc(folder);
    FILE *out = fopen(path, "w");
    _exit(out && fputs(folder, out) >= 0 && fclose(out) == 0 ? 0 : 1);
}

Test(nvrtc, the_variable_may_name_a_folder) {
    char path[] = "/tmp/tegula-test-XXXXXX";
    char folder[1024] = "";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
    cr_assert_eq(in_child(find_folder, path), 0); /* aside: this process must look anew */
    FILE *in = fopen(path, "r");
    cr_assert(in && fgets(folder, sizeof folder, in));
    fclose(in);
    unlink(path);
    cr_expect_eq(in_child(compile_by_folder, folder), 0);
}

Test(nvrtc, a_compiler_newer_than_the_driver_is_skipped_and_named) {
    fake_open();
    fake->version = 11080;
    nvrtc_result result;
    cr_expect_eq(compile(good, "sm_80", &result), TG_ENOCOMPILER);
    if (!strstr(tg_error(), "none found")) {
        cr_expect(strstr(tg_error(), "newer than the driver (11.8)"), "%s", tg_error());
    }
}

Test(nvrtc, compiling_does_not_initialise_the_driver) {
    fake_open();
    fake->init_code = 999;
    need_nvrtc();
    nvrtc_result result;
    cr_expect_eq(compile(good, "sm_80", &result), TG_OK, "%s", tg_error());
    nvrtc_free(&result);
    cr_expect_null(api_driver_open());
    cr_expect(strstr(tg_error(), "cuInit: CUDA_ERROR_FAKE (999)"), "%s", tg_error());
}

Test(nvrtc, a_missing_driver_is_said) {
    setenv("TEGULA_LIBCUDA", "/nonexistent", 1);
    cr_expect_null(api_driver_open());
    cr_expect(strstr(tg_error(), "/nonexistent cannot be opened"), "%s", tg_error());
    const api_tried *tried;
    cr_assert_eq(api_driver_tried(&tried), 1);
    cr_expect_str_eq(tried[0].origin, "TEGULA_LIBCUDA");
    cr_expect(tried[0].problem);
    cr_expect_not(tried[0].is_chosen);
}

Test(nvrtc, the_compiler_is_recalled_without_being_opened) {
    need_nvrtc();
    char directory[] = "/tmp/tegula-test-XXXXXX";
    cr_assert(mkdtemp(directory));
    cache *c = cache_new(directory);
    compiler_id id = {0};
    cr_expect_not(compiler_id_recall(c, "sm_80", &id));
    const api_nvrtc *api = api_nvrtc_open("sm_80");
    compiler_id_remember(c, "sm_80", api);
    cr_assert(compiler_id_recall(c, "sm_80", &id));
    cr_expect_eq(id.major, api->major);
    cr_expect_eq(id.minor, api->minor);
    cr_expect_eq(id.build, api->build);
    cr_expect_neq(id.build, 0);
    cr_expect_not(compiler_id_recall(c, "sm_90a", &id), "one target's note serves another");
    setenv("TEGULA_NVRTC", "/elsewhere", 1);
    cr_expect_not(compiler_id_recall(c, "sm_80", &id), "another way of looking has a note of its own");
    unsetenv("TEGULA_NVRTC");
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    cr_expect_eq(system(command), 0);
    cache_free(c);
}
