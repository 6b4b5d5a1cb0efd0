/* test_golden.c -- every kernel of tests/golden against the texts beside it.
 *
 *     NAME.c       one KERNEL(NAME); the name is the sentence it proves
 *     NAME.tile    what the builder recorded
 *     NAME.thread  the thread IR after all passes
 *     NAME.cu      the CUDA text after the prelude
 *     NAME.err     instead of these three: the mistakes, as a user sees them
 *
 * Run from the project's root.  TEGULA_RECORD=1 build/tests/test_golden writes the texts anew: read the difference.
 * Kernels whose name ends in a target's name are made for that, the others for sm_90a; those with
 * dependent_launch in their names are launched so. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/pipeline.h"
#include "runtime/api.h"
#include "runtime/nvrtc.h"

/* Of kernel.h, whose words cannot stand in one file with the IRs. */
const tg_kernel_record *const *tg_kernel_table(int *n);

static const char folder[] = "tests/golden/";

static bool is_golden(const tg_kernel_record *r) {
    return strstr(r->file, folder) != NULL;
}

static const target *target_of(const char *name) {
    for (const target *t = target_table(); t->name; t++) {
        const size_t n = strlen(t->name), length = strlen(name);
        if (length > n && strcmp(name + length - n, t->name) == 0) {
            return t;
        }
    }
    return target_find("sm_90a");
}

static int compile(const tg_kernel_record *r, pipeline_result *result) {
    const tg_config nothing = {0};
    const pipeline_input input = {.name = r->name, .build = r->build, .config = &nothing};
    const pipeline_options options = {.target = target_of(r->name),
                                      .verify = true,
                                      .dependent = strstr(r->name, "dependent_launch") != NULL};
    return pipeline_run(&input, &options, result);
}

/* ---- files --------------------------------------------------------------------------------------------- */

static void path_of(char *path, size_t size, const char *name, const char *extension) {
    snprintf(path, size, "%s%s.%s", folder, name, extension);
}

/* The file's text; freed by the caller; NULL when there is none. */
static char *read_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        return NULL;
    }
    text t = {0};
    char piece[4096];
    size_t n;
    while ((n = fread(piece, 1, sizeof piece, f)) > 0) {
        text_add_n(&t, piece, n);
    }
    fclose(f);
    text_add(&t, "");
    return t.s;
}

static void write_file(const char *path, const char *s) {
    FILE *f = fopen(path, "wb");
    cr_assert(f != NULL, "cannot write %s", path);
    fputs(s, f);
    cr_assert(fclose(f) == 0, "cannot write %s", path);
}

/* The number of the first line that differs. */
static int first_difference(const char *a, const char *b) {
    int line = 1;
    for (; *a && *a == *b; a++, b++) {
        line += *a == '\n';
    }
    return line;
}

/* The text, or NULL where there must be no such file. */
static void hold_against(const char *name, const char *extension, const char *now) {
    char path[512];
    path_of(path, sizeof path, name, extension);
    if (getenv("TEGULA_RECORD")) {
        if (now) {
            write_file(path, now);
        } else {
            remove(path);
        }
        return;
    }
    char *wanted = read_file(path);
    if (!now) {
        cr_expect(wanted == NULL, "%s exists, but the kernel no longer gives that text", path);
    } else if (!wanted) {
        cr_expect(false, "%s does not exist; TEGULA_RECORD=1 writes it", path);
    } else {
        const int line = first_difference(wanted, now);
        cr_expect_str_eq(now, wanted, "%s differs from line %d on; now it is:\n%s", path, line, now);
    }
    free(wanted);
}

/* ---- one kernel ---------------------------------------------------------------------------------------- */

/* Everything after the prelude, which has a test of its own. */
static const char *cuda_body(const cuda_text *c) {
    const char *s = c->text.s;
    for (int line = 1; line < c->body_line; line++) {
        s = strchr(s, '\n') + 1;
    }
    return s;
}

static void check_kernel(const tg_kernel_record *r) {
    pipeline_result result;
    const int status = compile(r, &result);
    text tile = {0}, thread = {0}, errors = {0};
    if (status == TG_OK) {
        tile_print(result.kernel, &tile, false);
        thread_print(result.thread, &thread, false);
    } else {
        cr_expect(status == TG_EKERNEL, "%s: status %d: %s", r->name, status, tg_error());
        diag_print(&result.kernel->errors, &errors);
    }
    hold_against(r->name, "tile", tile.s);
    hold_against(r->name, "thread", thread.s);
    hold_against(r->name, "cu", status == TG_OK ? cuda_body(&result.cuda) : NULL);
    hold_against(r->name, "err", errors.s);
    text_free(&tile);
    text_free(&thread);
    text_free(&errors);
    pipeline_free(&result);
}

Test(golden, every_kernel_gives_the_recorded_texts) {
    int n;
    const tg_kernel_record *const *records = tg_kernel_table(&n);
    int checked = 0;
    for (int i = 0; i < n; i++) {
        if (is_golden(records[i])) {
            check_kernel(records[i]);
            checked++;
        }
    }
    cr_expect(checked >= 30, "only %d golden kernels are linked in", checked);
}

Test(golden, a_kernel_is_called_like_its_file) {
    int n;
    const tg_kernel_record *const *records = tg_kernel_table(&n);
    for (int i = 0; i < n; i++) {
        char path[512];
        if (is_golden(records[i])) {
            snprintf(path, sizeof path, "%s%s.c", folder, records[i]->name);
            cr_expect(strstr(records[i]->file, path) != NULL, "%s holds %s", records[i]->file,
                      records[i]->name);
        }
    }
}

Test(golden, printing_twice_gives_the_same_bytes) {
    int n;
    const tg_kernel_record *const *records = tg_kernel_table(&n);
    for (int i = 0; i < n; i++) {
        pipeline_result one, two;
        if (is_golden(records[i]) && compile(records[i], &one) == TG_OK) {
            cr_assert(compile(records[i], &two) == TG_OK);
            cr_expect_str_eq(one.cuda.text.s, two.cuda.text.s);
            cr_expect(one.cuda.nlines == two.cuda.nlines);
            pipeline_free(&two);
            pipeline_free(&one);
        } else if (is_golden(records[i])) {
            pipeline_free(&one);
        }
    }
}

/* ---- NVRTC --------------------------------------------------------------------------------------------- */

/* NVRTC has no sanitizers and the same text from every build: there, lowering for both targets is what is looked at. */
#if defined TEGULA_SANITIZED
enum { ASKS_NVRTC = 0 };
#else
enum { ASKS_NVRTC = 1 };
#endif

static void check_compiles(const tg_kernel_record *r, const char *target_name) {
    const tg_config nothing = {0};
    const pipeline_input input = {.name = r->name, .build = r->build, .config = &nothing};
    const pipeline_options options = {.target = target_find(target_name), .verify = true};
    pipeline_result result;
    if (pipeline_run(&input, &options, &result) == TG_OK && ASKS_NVRTC) {
        const nvrtc_request request = {.name = r->name,
                                       .text = result.cuda.text.s,
                                       .target = target_name,
                                       .lines = result.cuda.line,
                                       .n_lines = (size_t)result.cuda.nlines};
        nvrtc_result image;
        const int status = nvrtc_compile(&request, &image);
        cr_expect(status == TG_OK, "%s for %s: %s", r->name, target_name, tg_error());
        cr_expect(image.log == NULL, "%s for %s compiles with warnings:\n%s", r->name, target_name,
                  image.log);
        nvrtc_free(&image);
    }
    pipeline_free(&result);
}

Test(golden, every_text_compiles_without_a_warning) {
    if (!api_nvrtc_open(NULL)) {
        cr_skip_test("no usable NVRTC: %s", tg_error());
    }
    int n;
    const tg_kernel_record *const *records = tg_kernel_table(&n);
    for (int i = 0; i < n; i++) {
        if (is_golden(records[i])) {
            check_compiles(records[i], "sm_80");
            check_compiles(records[i], "sm_90a");
        }
    }
}
