/* test_pack.c -- packs: what is found in them for which launch and device, without a compiler; and that nothing else
 * than a whole pack of this format is taken for one.
 *
 * The driver is the double, there is no NVRTC; images are a few bytes that look like some. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include <tegula/tegula.h>

#include "codegen/pipeline.h"
#include "runtime/bytes.h"
#include "runtime/device.h"
#include "runtime/jit.h"
#include "runtime/pack.h"
#include "runtime/plan_bytes.h"
#include "with_fake.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

tg_builder packed_scale, packed_everything, packed_by_user;

static int builds;

static void counted(void) {
    builds++;
    packed_scale();
}

/* ---- making packs -------------------------------------------------------------------------------------- */

static const char cubin[] = "\177ELF not quite";
static const char ptx[] = ".version 8.0";

typedef struct making {
    text entries;
    int n;
} making;

typedef struct added {
    const char *name, *target;
    tg_builder *build;
    tg_config config;
    const void *user;
    size_t user_size;
    bool is_ptx, dependent;
} added;

static void add(making *m, added x) {
    const pipeline_input input = {
        .name = x.name, .build = x.build, .config = &x.config, .user = x.user, .user_size = x.user_size};
    const pipeline_options how = {.target = target_find(x.target), .dependent = x.dependent};
    pipeline_result made;
    cr_assert_eq(pipeline_run(&input, &how, &made), TG_OK, "%s", x.name);
    pack_entry e = {.kernel = x.name,
                    .target = x.target,
                    .nvrtc = "13.0",
                    .is_ptx = x.is_ptx,
                    .is_dependent = made.plan->dependent_launch,
                    .user = pack_user_key(x.user, x.user_size),
                    .text = image_text_digest(made.cuda.text.s),
                    .shared = made.plan->static_shared + made.plan->dynamic_shared,
                    .image = x.is_ptx ? ptx : cubin,
                    .image_size = x.is_ptx ? sizeof ptx : sizeof cubin};
    for (int i = 0; i < made.kernel->nparams; i++) {
        e.config.p[i] = (tg_param){made.kernel->params[i].name, made.kernel->params[i].value};
        e.source[i] = (pack_source)made.kernel->params[i].source;
    }
    e.config.n = made.kernel->nparams;
    pack_write_entry(&m->entries, &e, made.plan);
    m->n++;
    pipeline_free(&made);
}

static text finish(making *m) {
    text file = {0};
    pack_write(&file, "{\"record\": 1}\n", m->n, &m->entries);
    cr_assert_not(file.failed);
    text_free(&m->entries);
    return file;
}

static void add_scale(making *m, const char *machine, tg_config config) {
    add(m, (added){.name = "scale", .target = machine, .build = packed_scale, .config = config});
}

static text one_entry(void) {
    making m = {.n = 0};
    add_scale(&m, "sm_90a", TG_CONFIG(N, 1024));
    return finish(&m);
}

static text with_everything(void) {
    making m = {.n = 0};
    add_scale(&m, "sm_90a", TG_CONFIG(N, 1024));
    add(&m, (added){.name = "everything",
                    .target = "sm_90a",
                    .build = packed_everything,
                    .config = TG_CONFIG(width, 100),
                    .dependent = true});
    add(&m, (added){.name = "everything",
                    .target = "sm_80",
                    .build = packed_everything,
                    .config = TG_CONFIG(width, 40),
                    .is_ptx = true});
    return finish(&m);
}

static tg_pack *open_pack(const text *file) {
    tg_pack *p = tg_pack_memory(file->s, file->length);
    cr_assert_not_null(p, "%s", tg_error());
    return p;
}

/* ---- launching ----------------------------------------------------------------------------------------- */

static void begin(void) {
    fake_open();
    fake->n_params = 2;
    setenv("TEGULA_NVRTC", "/nowhere", 1);
    setenv("TEGULA_NO_CACHE", "1", 1);
}

TestSuite(pack, .init = begin);

static const tg_arg two[2] = {{TG_ARG_POINTER, (void *)0x10000, 0, 0},
                              {TG_ARG_POINTER, (void *)0x20000, 0, 0}};

static void expect_refused(int status, int wanted, const char *words) {
    cr_expect_eq(status, wanted, "%d: %s", status, tg_error());
    cr_expect(strstr(tg_error(), words), "'%s' does not say '%s'", tg_error(), words);
}

Test(pack, a_launch_from_a_pack_needs_neither_builder_nor_compiler) {
    text file = one_entry();
    tg_pack *p = open_pack(&file);
    tg_jit *jit = tg_jit_new("scale", counted, NULL, 0);
    cr_assert_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_OK, "%s", tg_error());
#ifndef TG_DEBUG /* debug builds compare with what the builder makes */
    cr_expect_eq(builds, 0);
#endif
    cr_expect_eq(fake->grid[0], 16);
    cr_expect_eq(fake->block[0], 64);
    cr_expect_eq(fake->param[1], 0x20000);
    cr_expect_str_eq(fake->kernel, "scale");
    cr_expect_str_eq(pack_records(p), "{\"record\": 1}\n");
    tg_pack_close(p);
    memset(file.s, 0, file.length);
    text_free(&file);
    cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_OK, "what is loaded outlives the pack");
    tg_jit_free(jit);
}

Test(pack, without_any_builder) {
    text file = one_entry();
    tg_jit *jit = tg_jit_new("scale", NULL, NULL, 0);
    cr_assert_not_null(jit);
    expect_refused(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_EARG,
                   "'scale' has no builder, and no pack is open");
    tg_pack *p = open_pack(&file);
    cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_OK, "%s", tg_error());
    expect_refused(tg_launch(jit, TG_CONFIG(N, 7), NULL, 2, two), TG_EARG,
                   "the pack in memory has 'scale' for other values: N=1024 block=64 unroll=2");
    cr_expect_null(tg_source(jit, TG_CONFIG(N, 1024)));
    tg_pack_close(p);
    tg_jit_free(jit);
    text_free(&file);
}

/* What the pack has not goes its usual way, and says what the pack has. */
Test(pack, other_launches_are_compiled) {
    text file = one_entry();
    tg_pack *p = open_pack(&file);
    tg_jit *jit = tg_jit_new("scale", counted, NULL, 0);
    expect_refused(tg_launch(jit, TG_CONFIG(N, 512), NULL, 2, two), TG_ENOCOMPILER,
                   "for other values: N=1024");
    cr_expect_geq(builds, 1);
    tg_jit_free(jit);
    jit = tg_jit_new("other", counted, NULL, 0);
    expect_refused(tg_launch(jit, TG_CONFIG(N, 512), NULL, 2, two), TG_ENOCOMPILER,
                   "the pack in memory has no kernel 'other'");
    tg_jit_free(jit);
    tg_pack_close(p);
    text_free(&file);
}

Test(pack, tunables_left_out_are_as_the_pack_has_them) {
    making m = {.n = 0};
    add_scale(&m, "sm_90a", TG_CONFIG(N, 1024, block, 256));
    add_scale(&m, "sm_90a", TG_CONFIG(N, 2048, block, 128));
    add_scale(&m, "sm_90a", TG_CONFIG(N, 2048));
    text file = finish(&m);
    tg_pack *p = open_pack(&file);
    tg_jit *jit = tg_jit_new("scale", NULL, NULL, 0);
    cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->block[0], 256, "packed with that block");
    cr_expect_eq(tg_launch(jit, TG_CONFIG(unroll, 2, N, 1024), NULL, 2, two), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->block[0], 256, "an explicit default");
    cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 2048), NULL, 2, two), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->block[0], 64, "the builder's own choice rather than one that was given");
    cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 2048, block, 128), NULL, 2, two), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->block[0], 128);
    expect_refused(tg_launch(jit, TG_CONFIG(N, 1024, block, 64), NULL, 2, two), TG_EARG, "other values");
    expect_refused(tg_launch(jit, TG_CONFIG(N, 1024, nonesuch, 1), NULL, 2, two), TG_EARG, "other values");
    expect_refused(tg_launch(jit, TG_CONFIG(block, 256), NULL, 2, two), TG_EARG, "other values");
    tg_jit_free(jit);
    tg_pack_close(p);
    text_free(&file);
}

Test(pack, comments_are_no_part_of_a_text) {
    static const char *const same[] = {"int x;\nint y;\n", "// a\n// b\nint x; // c\nint y;\n",
                                       "/* a\n b */\nint x; /* c */\n    // d\nint y;\n"};
    for (int i = 1; i < 3; i++) {
        cr_expect_eq(image_text_digest(same[i]), image_text_digest(same[0]), "%s", same[i]);
    }
    cr_expect_neq(image_text_digest("f(\"// a\")"), image_text_digest("f(\"\")"));
}

/* ---- devices ------------------------------------------------------------------------------------------- */

/* Of entries for these targets (a "+" in front: PTX), that which a device of the capability takes; NULL: none. */
static void expect_target(const char *const *targets, int n, const char *device, const char *wanted) {
    making m = {.n = 0};
    for (int i = 0; i < n; i++) {
        const bool is_ptx = targets[i][0] == '+';
        add(&m, (added){.name = "scale",
                        .target = targets[i] + is_ptx,
                        .build = packed_scale,
                        .config = TG_CONFIG(N, 64),
                        .is_ptx = is_ptx});
    }
    text file = finish(&m);
    tg_pack *p = open_pack(&file);
    const tg_config config = TG_CONFIG(N, 64);
    const pack_question q = {.kernel = "scale", .config = &config, .target = target_find(device)};
    pack_answer a;
    cr_assert_eq(pack_find(&q, &a), TG_OK);
    if (wanted) {
        const bool is_ptx = wanted[0] == '+';
        cr_assert_not_null(a.plan, "%s: %s", device, a.why);
        cr_expect_str_eq(a.image->notes.target, wanted + is_ptx, "%s", device);
        cr_expect_eq(memcmp(a.image->data, is_ptx ? ptx : cubin, 4), 0, "%s", device);
    } else {
        cr_expect_null(a.plan, "%s", device);
        cr_expect_eq(a.status, TG_ENODEVICE);
    }
    plan_free(a.plan);
    image_release(a.image);
    free(a.names);
    tg_pack_close(p);
    text_free(&file);
}

#define EXPECT_TARGET(device, wanted, ...)            \
    expect_target((const char *const[]){__VA_ARGS__}, \
                  (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)), device, wanted)

Test(pack, the_nearest_target_is_taken) {
    EXPECT_TARGET("sm_90a", "sm_90a", "sm_80", "sm_90", "sm_90a", "+sm_80");
    EXPECT_TARGET("sm_90a", "sm_90", "sm_80", "sm_90", "sm_100a", "+sm_80");
    EXPECT_TARGET("sm_90a", "+sm_80", "sm_80", "sm_89", "+sm_80");
    EXPECT_TARGET("sm_90a", "+sm_86", "+sm_80", "+sm_86", "+sm_100");
    EXPECT_TARGET("sm_89", "sm_86", "sm_80", "sm_86", "sm_90a");
    EXPECT_TARGET("sm_103a", "sm_100", "sm_100", "sm_100a", "+sm_90");
    EXPECT_TARGET("sm_120a", "+sm_90", "sm_90a", "+sm_90", "sm_121a");
    EXPECT_TARGET("sm_89", NULL, "sm_90", "sm_90a", "+sm_90");
    EXPECT_TARGET("sm_90a", NULL, "sm_80", "sm_100a", "+sm_100", "+sm_100a");
    EXPECT_TARGET("sm_80", NULL, "sm_86");
    EXPECT_TARGET("sm_87", NULL, "sm_80", "sm_86"); /* an embedded chip */
    EXPECT_TARGET("sm_87", "+sm_80", "sm_80", "+sm_80");
}

Test(pack, a_pack_for_another_gpu_says_which) {
    making m = {.n = 0};
    add_scale(&m, "sm_80", TG_CONFIG(N, 1024));
    add_scale(&m, "sm_89", TG_CONFIG(N, 1024));
    add_scale(&m, "sm_89", TG_CONFIG(N, 1024, block, 32));
    text file = finish(&m);
    tg_pack *p = open_pack(&file);
    tg_jit *jit = tg_jit_new("scale", NULL, NULL, 0);
    expect_refused(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_ENODEVICE,
                   "the pack in memory has 'scale' for sm_80, sm_89, not for sm_90a");
    tg_jit_free(jit);
    jit = tg_jit_new("scale", packed_scale, NULL, 0);
    expect_refused(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_ENOCOMPILER, "not for sm_90a; ");
    tg_jit_free(jit);
    tg_pack_close(p);
    text_free(&file);
}

Test(pack, user_bytes_and_dependent_launches_are_told_apart) {
    const int64_t n = 100, other = 200;
    const tg_config none = {0};
    making m = {.n = 0};
    add(&m,
        (added){
            .name = "user", .target = "sm_90a", .build = packed_by_user, .user = &n, .user_size = sizeof n});
    add(&m, (added){.name = "early",
                    .target = "sm_90a",
                    .build = packed_scale,
                    .config = TG_CONFIG(N, 64),
                    .dependent = true});
    text file = finish(&m);
    tg_pack *p = open_pack(&file);
    fake->n_params = 1;
    tg_jit *jit = tg_jit_new("user", NULL, &n, sizeof n);
    cr_expect_eq(tg_launch(jit, none, NULL, 1, two), TG_OK, "%s", tg_error());
    tg_jit_free(jit);
    jit = tg_jit_new("user", NULL, &other, sizeof other);
    expect_refused(tg_launch(jit, none, NULL, 1, two), TG_EARG, "for other user bytes");
    tg_jit_free(jit);
    fake->n_params = 2;
    jit = tg_jit_new("early", NULL, NULL, 0);
    expect_refused(tg_launch(jit, TG_CONFIG(N, 64), NULL, 2, two), TG_EARG, "not for plain launches");
    tg_jit_free(jit);
    jit = tg_jit_new("early", NULL, NULL, 0);
    cr_expect_eq(tg_jit_dependent(jit, true), TG_OK);
    cr_expect_eq(tg_launch(jit, TG_CONFIG(N, 64), NULL, 2, two), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->n_attributes, 1);
    expect_refused(tg_jit_dependent(jit, false), TG_EARG, "is compiled already");
    tg_jit_free(jit);
    tg_pack_close(p);
    text_free(&file);
}

#ifdef TG_DEBUG
Test(pack, debug_builds_find_a_stale_entry) {
    text file = one_entry();
    tg_pack *p = open_pack(&file);
    tg_jit *jit = tg_jit_new("scale", packed_everything, NULL, 0); /* the kernel has changed since */
    cr_expect_neq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_OK);
    tg_jit_free(jit);
    tg_pack_close(p);
    text_free(&file);
}
#endif

/* ---- plans --------------------------------------------------------------------------------------------- */

Test(pack, a_plan_comes_back_as_it_was_written) {
    text file = with_everything();
    tg_pack *p = open_pack(&file);
    for (int i = 0; i < pack_count(p); i++) {
        const pack_entry *e = pack_at(p, i);
        byte_reader r = bytes_read(e->plan_bytes, e->plan_size);
        launch_plan *plan = plan_get(&r);
        text again = {0};
        cr_assert_not_null(plan);
        plan_put(&again, plan);
        cr_expect_eq(again.length, e->plan_size);
        cr_expect_eq(memcmp(again.s, e->plan_bytes, e->plan_size), 0);
        text_free(&again);
        plan_free(plan);
    }
    byte_reader r = bytes_read(pack_at(p, 1)->plan_bytes, pack_at(p, 1)->plan_size);
    launch_plan *plan = plan_get(&r);
    int64_t rows[] = {0, 10, 0, 0, 0}, n;
    cr_assert_eq(plan->nargs, 5);
    cr_expect_eq(plan->nchecks, 1);
    cr_expect(plan->dependent_launch);
    cr_expect(plan_eval(&plan->grid[0], rows, &n));
    cr_expect_eq(n, 3);
    cr_expect(plan_eval(&plan->params[3].bytes, rows, &n));
    cr_expect_eq(n, 4 * (9 * 108 + 100));
    cr_expect(plan->params[2].is_constant);
    cr_expect_eq(plan->params[3].naliases, 1);
    plan_free(plan);
    tg_pack_close(p);
    text_free(&file);
}

/* ---- what is no pack ----------------------------------------------------------------------------------- */

static void expect_no_pack(const void *bytes, size_t size, const char *words) {
    tg_pack *p = tg_pack_memory(bytes, size);
    cr_expect_null(p, "taken for a pack: %zu bytes", size);
    cr_expect(strstr(tg_error(), words), "'%s' does not say '%s'", tg_error(), words);
    tg_pack_close(p);
}

Test(pack, cut_at_every_length) {
    text file = with_everything();
    for (size_t n = 0; n < file.length; n++) {
        expect_no_pack(file.s, n, n < 8 ? "is no pack of Tegula" : "is cut");
    }
    char *longer = calloc(file.length + 1, 1);
    memcpy(longer, file.s, file.length);
    expect_no_pack(longer, file.length + 1, "is damaged");
    free(longer);
    text_free(&file);
}

Test(pack, altered_at_every_byte) {
    text file = with_everything();
    for (size_t i = 0; i < file.length; i++) {
        for (int bit = 0; bit < 8; bit += 7) {
            file.s[i] = (char)(file.s[i] ^ 1 << bit);
            tg_pack *p = tg_pack_memory(file.s, file.length);
            cr_expect_null(p, "byte %zu", i);
            tg_pack_close(p);
            file.s[i] = (char)(file.s[i] ^ 1 << bit);
        }
    }
    tg_pack_close(open_pack(&file));
    text_free(&file);
}

Test(pack, of_another_version) {
    text file = one_entry();
    file.s[8] = 2;
    expect_no_pack(file.s, file.length, "is a pack of format 2, and tegula " TG_VERSION " reads format 1");
    text_free(&file);
    expect_no_pack("TEGULA\r\n", 8, "is no pack of Tegula");
    cr_expect_null(tg_pack_memory(NULL, 0));
    cr_expect_null(tg_pack_open(NULL));
    cr_expect_null(tg_pack_open("/no/such/pack"));
    cr_expect(strstr(tg_error(), "/no/such/pack cannot be read: No such file"), "%s", tg_error());
    cr_expect_null(tg_pack_open("/"));
    cr_expect(strstr(tg_error(), "/ cannot be read: Is a directory"), "%s", tg_error());
    tg_pack_close(NULL);
}

Test(pack, a_file_is_named_in_its_messages) {
    const char *base = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%s/tegula-pack-XXXXXX", base ? base : "/tmp");
    text file = one_entry();
    const int f = mkstemp(path);
    cr_assert(f >= 0 && write(f, file.s, file.length) == (ssize_t)file.length);
    tg_pack *p = tg_pack_open(path);
    cr_expect_not_null(p, "%s", tg_error());
    tg_jit *jit = tg_jit_new("other", NULL, NULL, 0);
    cr_expect_neq(tg_launch(jit, TG_CONFIG(N, 1024), NULL, 2, two), TG_OK);
    cr_expect(strstr(tg_error(), path), "%s", tg_error());
    tg_jit_free(jit);
    tg_pack_close(p);
    cr_assert_eq(ftruncate(f, 100), 0);
    cr_expect_null(tg_pack_open(path));
    cr_expect(strstr(tg_error(), "is cut: it has 100 of "), "%s", tg_error());
    close(f);
    unlink(path);
    text_free(&file);
}

/* ---- any bytes under a right checksum ------------------------------------------------------------------ */

static uint64_t state = 7;

static uint64_t random_below(uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
}

static void seal(unsigned char *file, size_t size) {
    XXH3_state_t x;
    XXH3_INITSTATE(&x);
    XXH3_128bits_reset(&x);
    XXH3_128bits_update(&x, file, 24);
    XXH3_128bits_update(&x, file + 40, size - 40);
    XXH128_canonical_t c;
    XXH128_canonicalFromHash(&c, XXH3_128bits_digest(&x));
    memcpy(file + 24, c.digest, sizeof c.digest);
}

static void mutate(unsigned char *file, size_t size) {
    static const unsigned char odd[] = {0, 1, 2, 7, 8, 0x7f, 0x80, 0xff};
    for (uint64_t n = 1 + random_below(4); n > 0; n--) {
        const size_t at = 24 + (size_t)random_below(size - 24);
        file[at] = random_below(2) ? odd[random_below(sizeof odd)] : (unsigned char)random_below(256);
    }
    seal(file, size);
}

/* Launches whatever it holds; any answer will do. */
static void use(const tg_pack *p) {
    tg_arg args[5] = {tg_arg_float(1), tg_arg_int(10), two[0], two[1], two[1]};
    for (int i = 0; i < pack_count(p); i++) {
        const pack_entry *e = pack_at(p, i);
        tg_jit *jit = tg_jit_new(e->kernel, NULL, NULL, 0);
        tg_jit_dependent(jit, e->is_dependent);
        tg_launch(jit, e->config, NULL, e->config.n == 1 ? 5 : 2, e->config.n == 1 ? args : two);
        tg_jit_free(jit);
    }
}

Test(pack, any_bytes_under_a_right_checksum_do_no_harm) {
    text file = with_everything();
    unsigned char *bytes = malloc(file.length);
    int opened = 0;
    fake->n_params = 0;
    for (int i = 0; i < 20000; i++) {
        memcpy(bytes, file.s, file.length);
        mutate(bytes, file.length);
        tg_pack *p = tg_pack_memory(bytes, file.length);
        if (p) {
            opened++;
            use(p);
        }
        tg_pack_close(p);
    }
    cr_expect_gt(opened, 100, "hardly any was whole enough to be used");
    cr_expect_lt(opened, 19900);
    free(bytes);
    text_free(&file);
}
