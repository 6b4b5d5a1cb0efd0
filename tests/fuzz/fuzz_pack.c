/* fuzz_pack.c -- any bytes as a pack of kernels, under a right header and checksum: refused with a message, or every
 * plan in it can be loaded and launched, whatever the arguments.
 *
 * With FUZZ_SEED=FILE it writes a whole pack there and ends. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/bytes.h"
#include "runtime/pack.h"
#include "runtime/plan_bytes.h"
#include "stub_driver.h"

enum { HEADER = 40, AT_SIZE = 16, AT_DIGEST = 24 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- a pack to begin with ------------------------------------------------------------------------------ */

static launch_plan some_plan(plan_param *params, plan_check *check) {
    static int aliased = 1;
    params[0] = (plan_param){.kind = PLAN_EXTENT, .name = "rows", .arg = 0, .type = TG_I32};
    params[1] = (plan_param){.kind = PLAN_TENSOR,
                             .name = "x",
                             .arg = 1,
                             .type = TG_F16,
                             .rank = 2,
                             .pitch = 108,
                             .align = 16,
                             .is_read = true,
                             .is_written = true,
                             .naliases = 1};
    params[1].dim[0] = (plan_expr){1, {{PLAN_ARG, 0}}};
    params[1].dim[1] = (plan_expr){1, {{PLAN_PUSH, 100}}};
    params[1].bytes = (plan_expr){3, {{PLAN_ARG, 0}, {PLAN_PUSH, 216}, {PLAN_APPLY, TG_MUL}}};
    params[1].alias[0] = aliased;
    params[2] = (plan_param){.kind = PLAN_SCALAR, .name = "eps", .arg = 2, .type = TG_F32};
    params[3] = (plan_param){.kind = PLAN_CHECKS, .name = "checks", .arg = -1};
    *check = (plan_check){"k.c", 7, "x is positive"};
    launch_plan plan = {.name = "k",
                        .params = params,
                        .nparams = 4,
                        .nargs = 3,
                        .threads = {128, 1, 1},
                        .static_shared = 64,
                        .dynamic_shared = 50000,
                        .max_grid = {INT32_MAX, 65535, 65535},
                        .cluster = {1, 1, 1},
                        .checks = check,
                        .nchecks = 1};
    for (int i = 0; i < 3; i++) {
        plan.grid[i] = (plan_expr){1, {{PLAN_PUSH, 1}}};
    }
    plan.grid[0] = (plan_expr){3, {{PLAN_ARG, 0}, {PLAN_PUSH, 4}, {PLAN_APPLY, TG_QUO}}};
    return plan;
}

static void write_seed(const char *path) {
    static const char image[] = "\177ELF not quite", records[] = "{\"record\":1}\n";
    plan_param params[4];
    plan_check check;
    const launch_plan plan = some_plan(params, &check);
    pack_entry e = {.kernel = "k",
                    .target = "sm_90a",
                    .nvrtc = "13.0",
                    .user = pack_user_key(NULL, 0),
                    .text = 1,
                    .shared = 50064,
                    .config = TG_CONFIG(N, 1000, block, 64),
                    .source = {PACK_PROBLEM, PACK_DEFAULT},
                    .image = image,
                    .image_size = sizeof image};
    text entries = {0}, file = {0};
    pack_write_entry(&entries, &e, &plan);
    pack_write(&file, records, 1, &entries);
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(file.s, 1, file.length, out) != file.length || fclose(out) != 0) {
        abort();
    }
    text_free(&entries);
    text_free(&file);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    const char *seed = getenv("FUZZ_SEED");
    (void)argc, (void)argv;
    if (seed) {
        write_seed(seed);
        exit(0);
    }
    return 0;
}

/* ---- what is in it ------------------------------------------------------------------------------------- */

static void put(uint8_t *at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

/* Else the checksum would keep everything out. */
static void seal(uint8_t *file, size_t size) {
    XXH3_state_t x;
    XXH128_canonical_t c;
    memcpy(file, "TGPACK\r\n", 8);
    put(file + 8, PACK_VERSION, 4);
    put(file + AT_SIZE, size, 8);
    XXH3_INITSTATE(&x);
    XXH3_128bits_reset(&x);
    XXH3_128bits_update(&x, file, AT_DIGEST);
    XXH3_128bits_update(&x, file + HEADER, size - HEADER);
    XXH128_canonicalFromHash(&c, XXH3_128bits_digest(&x));
    memcpy(file + AT_DIGEST, c.digest, sizeof c.digest);
}

/* Any answer will do. */
static void launch(const launch_plan *plan, const void *image, int64_t number) {
    tg_arg args[LAUNCH_MAX_ARGS];
    launch_kernel *k = NULL;
    for (int i = 0; i < plan->nparams; i++) {
        const plan_param *p = &plan->params[i];
        if (p->arg >= 0) {
            args[p->arg] = p->kind == PLAN_TENSOR ? tg_arg_pointer((void *)(uintptr_t)(number << 20))
                           : p->type == TG_F16 || p->type == TG_BF16 || p->type == TG_F32 || p->type == TG_F64
                               ? tg_arg_float((double)number)
                               : tg_arg_int(number);
        }
    }
    if (launch_load(&stub_driver, NULL, image, plan, &k) == TG_OK) {
        launch_run(k, NULL, plan->nargs, args);
    }
    launch_unload(k);
}

static void use(const pack_entry *e) {
    byte_reader r = bytes_read(e->plan_bytes, e->plan_size);
    launch_plan *plan = plan_get(&r);
    if (!plan) {
        abort(); /* the pack was taken for a whole one */
    }
    for (int i = 0; i < 4; i++) {
        static const int64_t numbers[] = {1, 0, 100, INT32_MAX};
        launch(plan, e->image, numbers[i]);
    }
    plan_free(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *file = size >= HEADER ? malloc(size) : NULL;
    if (!file) {
        return 0;
    }
    memcpy(file, data, size);
    seal(file, size);
    tg_pack *p = tg_pack_memory(file, size);
    if (!p && !*tg_error()) {
        abort();
    }
    for (int i = 0; p && i < pack_count(p); i++) {
        use(pack_at(p, i));
    }
    tg_pack_close(p);
    tg_tuned_file(NULL);
    free(file);
    return 0;
}
