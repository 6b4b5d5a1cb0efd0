/* Life of a kernel through the API itself: handles without a kernel, nesting, lack of memory, misuse that no
 * word of kernel.h can make. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dsl/build.h"

static const tg_loc here = {"case.c", 1};

static char *report(const tg_kernel *k) {
    char *s = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&s, &n);
    tg_report(k, out);
    fclose(out);
    return s;
}

static void reports(const tg_kernel *k, const char *want) {
    char *s = report(k);
    cr_expect_str_eq(s, want);
    free(s);
}

static tg_index indices(int n, const tg_expr *e) {
    tg_index x = {.n = n};
    for (int i = 0; i < n; i++) {
        x.e[i] = e[i];
    }
    return x;
}

static tg_scope open1(tg_kernel *k, tg_scope_kind kind, int64_t option, const char *name, tg_expr n) {
    tg_axes axes = {.n = 1, .name = {name}, .extent = {n}};
    return tg_open(k, here, kind, option, axes);
}

static void close(tg_scope *s) {
    s->done = true;
    tg_close(s);
}

/* Calls every function of the builder on whatever it gets. */
static void everything(tg_kernel *k) {
    static const tg_copy_options options;
    tg_param_get(k, here, "N");
    tg_tunable_get(k, here, "block", 4);
    tg_require(k, here, true, "true", "why");
    tg_resident(k, here, 2);
    tg_ceildiv(k, here, 5, 2);
    tg_expr s = tg_scalar(k, here, "s", TG_F32), rows = tg_extent(k, here, "rows"), four = tg_int(k, here, 4);
    tg_expr dims[] = {tg_ceildiv_expr(k, here, rows, 2), four};
    tg_buf a = tg_tensor(k, here, "a", TG_F32, 0, indices(2, dims));
    tg_buf c = tg_tensor(k, here, "c", TG_I32, 0, indices(1, &four));
    tg_aligned(k, here, a, 8);
    tg_alias(k, here, a, a);
    tg_constant(k, here, c);
    tg_scope grid = open1(k, TG_GRID, 0, "p", tg_int(k, here, 2));
    tg_scope threads = open1(k, TG_THREADS, 0, "t", four);
    tg_expr p = grid.axis[0], t = threads.axis[0], both[] = {p, t};
    tg_shape shape = {2, {TG_F32, 4}};
    tg_buf shared = tg_alloc(k, here, TG_SHARED, "shared", shape),
           local = tg_alloc(k, here, TG_LOCAL, "local", shape);
    tg_buf fragment = tg_alloc(k, here, TG_FRAGMENT, "fragment", shape);
    tg_buf reducer = tg_reducer(k, here, TG_SUM, "reducer", shape);
    tg_shape words = {2, {TG_U32, 4}};
    tg_buf view = tg_view(k, here, local, words);
    tg_expr x = tg_load(k, here, tg_at(k, here, a, indices(2, both)));
    tg_expr bits = tg_bitcast(k, here, TG_U32, tg_float(k, here, 1));
    tg_let(k, here, "bits", bits);
    x = tg_binary(k, here, TG_ADD, tg_unary(k, here, TG_NEG, x), s);
    x = tg_choose(k, here, tg_binary(k, here, TG_LT, t, p), x, tg_cast(k, here, TG_F32, t));
    x = tg_let(k, here, "x", x);
    x = tg_allreduce(k, here, TG_MAX, x, t);
    tg_store(k, here, tg_at(k, here, shared, indices(1, &t)), x);
    tg_accum(k, here, tg_at(k, here, local, indices(1, &t)), x);
    tg_store(k, here, tg_at(k, here, view, indices(1, &t)), bits);
    tg_atomic(k, here, TG_SUM, tg_at(k, here, a, indices(2, both)), x);
    tg_sync_threads(k, here);
    tg_print(k, here, "%d\n", indices(1, &t));
    tg_check(k, here, tg_binary(k, here, TG_GE, t, p), "why");
    tg_copy(k, here, tg_whole(k, here, shared), tg_whole(k, here, fragment), options);
    tg_expr pair[] = {p, tg_int(k, here, 1)};
    tg_copy(k, here, tg_tile_at(k, here, a, indices(2, pair)), tg_whole(k, here, fragment), options);
    tg_copy(k, here, tg_tile_from(k, here, a, indices(2, pair)), tg_whole(k, here, fragment), options);
    tg_clear(k, here, tg_slice(k, here, shared, indices(2, pair)));
    tg_clear(k, here, tg_whole(k, here, reducer));
    tg_fill(k, here, tg_whole(k, here, shared), tg_int(k, here, 3));
    tg_finalize(k, here, reducer);
    tg_shape one = {1, {TG_F32}};
    tg_reduce(k, here, TG_SUM, fragment, tg_alloc(k, here, TG_FRAGMENT, "one", one), 0);
    for (int kind = TG_SERIAL; kind <= TG_PIPELINED; kind++) {
        tg_scope loop = open1(k, (tg_scope_kind)kind, kind == TG_PIPELINED ? 2 : 0, "i", four);
        tg_let(k, here, "y", loop.axis[0]);
        close(&loop);
    }
    tg_scope when = open1(k, TG_WHEN, 0, NULL, tg_binary(k, here, TG_LT, t, p));
    tg_let(k, here, "y", t);
    close(&when);
    tg_axes none = {0};
    tg_scope otherwise = tg_open(k, here, TG_OTHERWISE, 0, none);
    close(&otherwise);
    close(&threads);
    close(&grid);
}

/* ---- no kernel ----------------------------------------------------------------------------------------- */

static int logged;

static void count(const char *said) {
    logged += strstr(said, "outside a kernel") != NULL;
}

Test(build, words_without_a_kernel_do_nothing_and_say_so_once) {
    diag_set_log(count);
    cr_assert_null(tg_now());
    cr_assert_null(tg_now());
    cr_assert_eq(logged, 1);
    everything(NULL);
    cr_assert_not(tg_end(NULL));
    tg_free(NULL);
    cr_assert_null(tg_user(NULL));
    char *s = report(NULL);
    cr_assert_str_empty(s);
    free(s);
    tg_kernel *k = tg_begin("k", NULL);
    cr_assert_eq(tg_now(), k);
    tg_free(k);
    cr_assert_null(tg_now());
    cr_assert_eq(logged, 2);
    diag_set_log(NULL);
}

Test(build, a_scope_without_a_kernel_is_closed_from_the_start) {
    tg_scope s = open1(NULL, TG_SERIAL, 0, "i", tg_int(NULL, here, 4));
    cr_assert(!s.open && !s.body);
    cr_assert_not_null(s.axis[0].node);
    tg_close(&s);
}

Test(build, calls_after_the_end_are_silent) {
    tg_config config = TG_CONFIG(N, 3);
    tg_kernel *k = tg_begin("k", &config);
    everything(k);
    bool good = tg_end(k);
    everything(k);
    cr_assert_eq(tg_end(k), good);
    reports(k, "case.c:1: error: alias: both are 'a'\n");
    tg_free(k);
}

Test(build, uninitialised_handles_are_poison) {
    tg_kernel *k = tg_begin("k", NULL);
    tg_expr e = {NULL};
    tg_buf b = {NULL};
    tg_ref r = {NULL};
    tg_tile t = {NULL};
    tg_scope grid = open1(k, TG_GRID, 0, "p", e);
    tg_scope threads = open1(k, TG_THREADS, 0, "t", e);
    tg_scope loop = open1(k, TG_SERIAL, 0, "i", e);
    tg_store(k, here, r, e);
    tg_let(k, here, "x", tg_binary(k, here, TG_ADD, e, tg_load(k, here, r)));
    tg_copy(k, here, t, tg_whole(k, here, b), (tg_copy_options){0});
    tg_print(k, here, "%d", indices(1, &e));
    tg_allreduce(k, here, TG_SUM, e, e);
    close(&loop);
    close(&threads);
    close(&grid);
    cr_assert(tg_end(k));
    tg_free(k);
}

/* ---- nesting ------------------------------------------------------------------------------------------- */

Test(build, kernels_nest) {
    tg_kernel *outer = tg_begin("outer", NULL), *inner = tg_begin("inner", NULL);
    cr_assert_eq(tg_now(), inner);
    tg_end(inner);
    cr_assert_eq(tg_now(), outer);
    tg_kernel *second = tg_begin("second", NULL);
    tg_free(outer); /* out of turn */
    cr_assert_eq(tg_now(), second);
    tg_end(second);
    cr_assert_null(tg_now());
    tg_free(inner);
    tg_free(second);
}

Test(build, handles_of_another_kernel_are_seen) {
    tg_kernel *outer = tg_begin("outer", NULL);
    tg_expr four = tg_int(outer, here, 4);
    tg_buf a = tg_tensor(outer, here, "a", TG_F32, 0, indices(1, &four));
    tg_kernel *inner = tg_begin("inner", NULL);
    tg_scope grid = open1(inner, TG_GRID, 0, "p", tg_int(inner, here, 4));
    tg_scope threads = open1(inner, TG_THREADS, 0, "t", tg_int(inner, here, 4));
    tg_store(inner, here, tg_at(inner, here, a, indices(1, &threads.axis[0])), tg_int(inner, here, 0));
    close(&threads);
    close(&grid);
    cr_assert_not(tg_end(inner));
    reports(inner, "case.c:1: error: 'a' belongs to another kernel\n");
    tg_free(inner);
    tg_free(outer);
}

Test(build, user_bytes_and_config_are_copied) {
    char name[] = "N";
    tg_config config = {.n = 1, .p = {{name, 7}}};
    int64_t user[] = {1, 2, 3};
    tg_kernel *k = tg_begin_user(name, &config, user, sizeof user);
    name[0] = 'X';
    user[1] = 9;
    config.p[0].value = 8;
    cr_assert_eq(tg_param_get(k, here, "N"), 7);
    cr_assert_eq(((const int64_t *)tg_user(k))[1], 2);
    cr_assert_str_eq(k->name, "N");
    cr_assert_eq(tg_tunable_get(k, here, "M", 5), 5);
    tg_config tuned = TG_CONFIG(O, 6);
    k->tuned = &tuned;
    cr_assert_eq(tg_tunable_get(k, here, "O", 5), 6);
    cr_assert_eq(k->params[1].source, PARAM_DEFAULT);
    cr_assert_eq(k->params[2].source, PARAM_TUNED);
    tg_free(k);
}

/* ---- many mistakes ------------------------------------------------------------------------------------- */

Test(build, mistakes_beyond_the_limit_are_counted) {
    tg_kernel *k = tg_begin("k", NULL);
    for (int i = 1; i <= DIAG_LIMIT + 3; i++) {
        tg_loc at = {"case.c", i};
        tg_ceildiv(k, at, 1, 0);
        tg_ceildiv(k, at, 1, 0); /* the same at the same place: once */
    }
    cr_assert_not(tg_end(k));
    cr_assert_eq(k->errors.n, DIAG_LIMIT + 3);
    char *s = report(k);
    cr_assert(strstr(s, "\n3 more errors\n"));
    free(s);
    tg_free(k);
}

Test(build, a_report_shows_the_line_and_a_caret) {
    char path[] = "/tmp/tegula-test-XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    FILE *f = fdopen(fd, "w");
    fprintf(f, "first\n\t  second(line);\n");
    fclose(f);
    tg_kernel *k = tg_begin("k", NULL);
    tg_ceildiv(k, (tg_loc){path, 2}, 1, 0);
    tg_ceildiv(k, (tg_loc){path, 99}, 1, 0);
    tg_end(k);
    char want[512];
    snprintf(want, sizeof want,
             "%s:2: error: ceildiv: the divisor is 0; it must be positive\n"
             "    2 | \t  second(line);\n"
             "      | \t  ^\n"
             "%s:99: error: ceildiv: the divisor is 0; it must be positive\n",
             path, path);
    reports(k, want);
    tg_free(k);
    remove(path);
}

/* ---- lack of memory ------------------------------------------------------------------------------------ */

Test(build, lack_of_memory_anywhere_ends_the_kernel_and_nothing_else) {
    bool ended_well = false;
    int failures = 0;
    for (size_t limit = 2000; !ended_well; limit += 64) {
        tg_config config = TG_CONFIG(N, 3, block, 8);
        tg_kernel *k = tg_begin("k", &config);
        k->memory.limit = limit;
        everything(k);
        cr_assert_not(tg_end(k));
        ended_well = !k->memory.failed;
        failures += k->memory.failed;
        char *s = report(k);
        cr_assert(ended_well || strstr(s, "out of memory"), "%zu: %s", limit, s);
        free(s);
        FILE *out = fopen("/dev/null", "w");
        tg_dump(k, out, true);
        fclose(out);
        tg_free(k);
        cr_assert(limit < 1000000);
    }
    cr_assert(failures > 50);
}

Test(build, an_explosion_of_shared_nodes_ends_early) {
    tg_kernel *k = tg_begin("k", NULL);
    tg_expr x = tg_scalar(k, here, "x", TG_F32);
    for (int i = 0; i < 1000; i++) {
        x = tg_binary(k, here, TG_MUL, x, x);
    }
    cr_assert_eq(x.node->kind, E_POISON);
    tg_end(k);
    cr_assert_eq(k->errors.n, 1);
    tg_free(k);
}

/* ---- what tg_end() fills in ---------------------------------------------------------------------------- */

static tg_buf vector(tg_kernel *k, const char *name) {
    tg_expr n = tg_int(k, here, 32);
    return tg_tensor(k, here, name, TG_F32, 0, indices(1, &n));
}

Test(build, the_end_knows_what_is_read_written_and_atomic) {
    tg_kernel *k = tg_begin("k", NULL);
    tg_buf in = vector(k, "in"), out = vector(k, "out"), sum = vector(k, "sum"), both = vector(k, "both");
    tg_buf idle = vector(k, "idle"), viewed = vector(k, "viewed");
    tg_scope grid = open1(k, TG_GRID, 0, NULL, tg_int(k, here, 1));
    tg_scope threads = open1(k, TG_THREADS, 0, "t", tg_int(k, here, 32));
    tg_index at = indices(1, &threads.axis[0]);
    tg_expr x = tg_load(k, here, tg_at(k, here, in, at));
    tg_store(k, here, tg_at(k, here, out, at), x);
    tg_atomic(k, here, TG_MAX, tg_at(k, here, sum, at), x);
    tg_accum(k, here, tg_at(k, here, both, at), x);
    tg_shape words = {2, {TG_U32, 32}};
    tg_store(k, here, tg_at(k, here, tg_view(k, here, viewed, words), at), tg_int(k, here, 1));
    close(&threads);
    close(&grid);
    cr_assert(tg_end(k));
    static const bool want[][3] = {{1, 0, 0}, {0, 1, 0}, {1, 1, 1}, {1, 1, 0}, {0, 0, 0}, {0, 1, 0}};
    const tg_buf all[] = {in, out, sum, both, idle, viewed};
    for (int i = 0; i < 6; i++) {
        const buffer *b = all[i].node->buffer;
        cr_expect_eq(b->is_read, want[i][0], "%s", b->name);
        cr_expect_eq(b->is_written, want[i][1], "%s", b->name);
        cr_expect_eq(b->is_atomic, want[i][2], "%s", b->name);
        cr_expect_eq(b->arg, i);
    }
    cr_assert_eq(tile_threads(k), 32);
    tg_free(k);
}

Test(build, faults_of_ours_are_taken_once) {
    cr_assert_null(diag_take_bug());
#if !defined TG_DEBUG
    tg_bug("first %d", 1);
    tg_bug("second");
    const char *bug = diag_take_bug();
    cr_assert(strstr(bug, "internal error: first 1 (test_build.c:"));
    cr_assert_null(diag_take_bug());
#endif
}
