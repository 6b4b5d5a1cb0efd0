/* fuzz_dlpack.c -- DLPack tensors of any contents as arguments of a launch: refused with a message, or launched.
 *
 * shape and strides have as many elements as the tensor's rank says: whoever reads further is seen. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tegula/dlpack.h>

#include "stub_driver.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct source {
    const uint8_t *at, *end;
} source;

/* The next bytes; zeros after the last. */
static int64_t next(source *s, size_t bytes) {
    uint64_t x = 0;
    const size_t left = (size_t)(s->end - s->at), n = bytes < left ? bytes : left;
    memcpy(&x, s->at, n);
    s->at += n;
    return bytes == 1 ? (int64_t)(int8_t)x : (int64_t)x;
}

/* Mostly an extent that could be right. */
static int64_t next_extent(source *s) {
    const int64_t x = next(s, 1);
    return x >= 0 ? x : next(s, 8);
}

static int64_t *next_extents(source *s, int rank) {
    int64_t *x = rank > 0 ? malloc((size_t)rank * sizeof *x) : NULL;
    for (int i = 0; x && i < rank; i++) {
        x[i] = next_extent(s);
    }
    return x;
}

/* x[rows][100] with rows known at launch, rows 108 or 100 elements apart, and y[4]. */
static launch_plan make_plan(plan_param *params, bool is_pitched) {
    params[0] = (plan_param){.kind = PLAN_EXTENT, .name = "rows", .arg = 0, .type = TG_I32};
    params[1] = (plan_param){.kind = PLAN_TENSOR,
                             .name = "x",
                             .arg = 1,
                             .type = TG_F16,
                             .rank = 2,
                             .pitch = is_pitched ? 108 : 0,
                             .align = 16,
                             .is_written = true};
    params[1].dim[0] = (plan_expr){1, {{PLAN_ARG, 0}}};
    params[1].dim[1] = (plan_expr){1, {{PLAN_PUSH, 100}}};
    params[1].bytes = (plan_expr){3, {{PLAN_ARG, 0}, {PLAN_PUSH, 216}, {PLAN_APPLY, TG_MUL}}};
    params[2] = (plan_param){.kind = PLAN_TENSOR, .name = "y", .arg = 2, .type = TG_BOOL, .rank = 1};
    params[2].dim[0] = (plan_expr){1, {{PLAN_PUSH, 4}}};
    params[2].bytes = (plan_expr){1, {{PLAN_PUSH, 4}}};
    launch_plan plan = {.name = "k", .params = params, .nparams = 3, .nargs = 3, .threads = {32, 1, 1}};
    for (int i = 0; i < 3; i++) {
        plan.grid[i] = (plan_expr){1, {{PLAN_PUSH, 1}}};
        plan.max_grid[i] = 65535;
        plan.cluster[i] = 1;
    }
    return plan;
}

static tg_dl_tensor next_tensor(source *s) {
    tg_dl_tensor t = {.device = {(int32_t)next(s, 1), (int32_t)next(s, 1)},
                      .rank = (int32_t)(next(s, 1) % 9),
                      .type = {(uint8_t)next(s, 1), (uint8_t)next(s, 1), (uint16_t)next(s, 1)}};
    const int64_t what = next(s, 1);
    t.shape = what & 1 ? NULL : next_extents(s, t.rank);
    t.strides = what & 2 ? next_extents(s, t.rank) : NULL;
    t.data = what & 4 ? NULL : (void *)(uintptr_t)next(s, 8);
    t.byte_offset = what & 8 ? (uint64_t)next(s, 8) : 0;
    return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    source s = {data, data + size};
    plan_param params[3];
    const launch_plan plan = make_plan(params, next(&s, 1) & 1);
    launch_kernel *k;
    if (launch_load(&stub_driver, NULL, "", &plan, &k) != TG_OK) {
        abort();
    }
    const int64_t rows = next_extent(&s);
    tg_dl_tensor x = next_tensor(&s), y = next_tensor(&s);
    const tg_arg args[] = {tg_arg_int(rows), tg_arg_dlpack(&x), tg_arg_dlpack(next(&s, 1) == 1 ? NULL : &y)};
    const int code = launch_run(k, NULL, 3, args);
    if (code != TG_OK && (code != TG_EARG || !*tg_error())) {
        abort();
    }
    launch_unload(k);
    free(x.shape);
    free(x.strides);
    free(y.shape);
    free(y.strides);
    return 0;
}
