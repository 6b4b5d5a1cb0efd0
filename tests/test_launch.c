/* test_launch.c -- launches from a plan: parameters, ranges, alignment, overlap, DLPack, shared memory,
 * checks.
 *
 * The plans are written by hand and the driver is the double, so that every rule is met alone. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>

#include <tegula/dlpack.h>

#include "runtime/device.h"
#include "runtime/error.h"
#include "runtime/launch.h"
#include "with_fake.h"

#define NUMBER(x)              \
    {                          \
        1, {                   \
            { PLAN_PUSH, (x) } \
        }                      \
    }
#define ARGUMENT(i)           \
    {                         \
        1, {                  \
            { PLAN_ARG, (i) } \
        }                     \
    }

/* matrix[rows, 8] (pitch 16) f16, output[rows] f32, rows, eps f32, n i32, half f16, flag, checks. */
enum { MATRIX, OUTPUT, ROWS, EPS, COUNT, HALF, FLAG, N_ARGS };

static plan_param params[] = {
    {.kind = PLAN_TENSOR,
     .name = "matrix",
     .arg = MATRIX,
     .type = TG_F16,
     .rank = 2,
     .dim = {ARGUMENT(ROWS), NUMBER(8)},
     .pitch = 16,
     .bytes = {3, {{PLAN_ARG, ROWS}, {PLAN_PUSH, 32}, {PLAN_APPLY, TG_MUL}}},
     .align = 16,
     .is_read = true},
    {.kind = PLAN_TENSOR,
     .name = "output",
     .arg = OUTPUT,
     .type = TG_F32,
     .rank = 1,
     .dim = {ARGUMENT(ROWS)},
     .bytes = {3, {{PLAN_ARG, ROWS}, {PLAN_PUSH, 4}, {PLAN_APPLY, TG_MUL}}},
     .align = 4,
     .is_written = true},
    {.kind = PLAN_EXTENT, .name = "rows", .arg = ROWS, .type = TG_I32},
    {.kind = PLAN_SCALAR, .name = "eps", .arg = EPS, .type = TG_F32},
    {.kind = PLAN_SCALAR, .name = "n", .arg = COUNT, .type = TG_I32},
    {.kind = PLAN_SCALAR, .name = "half", .arg = HALF, .type = TG_F16},
    {.kind = PLAN_SCALAR, .name = "flag", .arg = FLAG, .type = TG_BOOL},
    {.kind = PLAN_CHECKS, .name = "checks", .arg = -1},
};
enum { N_PARAMS = sizeof params / sizeof *params };

static plan_check checks[] = {{"gemv.c", 12, "x >= 0"}, {"gemv.c", 19, "row < N"}};

static launch_plan plan = {.name = "kernel",
                           .params = params,
                           .nparams = N_PARAMS,
                           .nargs = N_ARGS,
                           .grid = {ARGUMENT(ROWS), NUMBER(3), NUMBER(1)},
                           .threads = {32, 4, 1},
                           .max_grid = {INT32_MAX, 65535, 65535},
                           .checks = checks,
                           .nchecks = 2};

static device_handle *device;
static launch_kernel *kernel;
static api_context context;

static void load(void) {
    const api_driver *driver = api_driver_open();
    cr_assert(driver, "%s", tg_error());
    cr_assert_eq(device_primary(driver, 0, &context), TG_OK);
    cr_assert_eq(launch_load(driver, context, "image", &plan, &kernel), TG_OK, "%s", tg_error());
}

static void open_all(void) {
    fake_open();
    fake->n_params = N_PARAMS;
    cr_assert_eq(device_open(0, &device), TG_OK, "%s", tg_error());
    load();
}

static void close_all(void) {
    launch_unload(kernel);
    device_close(device);
}

TestSuite(launch, .init = open_all, .fini = close_all);

static void good_args(tg_arg args[N_ARGS]) {
    args[MATRIX] = tg_arg_pointer((void *)0x10000);
    args[OUTPUT] = tg_arg_pointer((void *)0x20000);
    args[ROWS] = tg_arg_int(10);
    args[EPS] = tg_arg_float(0.1);
    args[COUNT] = tg_arg_int(-5);
    args[HALF] = tg_arg_float(1.5);
    args[FLAG] = tg_arg_int(1);
}

static int run(const tg_arg *args) {
    cr_assert_eq(device_enter(device), TG_OK);
    int status = launch_run(kernel, NULL, N_ARGS, args);
    device_leave(device);
    return status;
}

static void expect_error(const tg_arg *args, int status, const char *words) {
    int before = fake->launches;
    int got = run(args);
    cr_expect_eq(got, status, "%d: %s", got, tg_error());
    cr_expect(strstr(tg_error(), words), "'%s' does not say '%s'", tg_error(), words);
    cr_expect_eq(fake->launches, before, "launched all the same");
}

Test(launch, parameters_grid_and_threads_reach_the_driver) {
    tg_arg args[N_ARGS];
    good_args(args);
    cr_assert_eq(run(args), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->grid[0], 10);
    cr_expect_eq(fake->grid[1], 3);
    cr_expect_eq(fake->grid[2], 1);
    cr_expect_eq(fake->block[0], 32);
    cr_expect_eq(fake->block[1], 4);
    cr_expect_eq(fake->block[2], 1);
    cr_expect_str_eq(fake->kernel, "kernel");
    cr_expect_eq(fake->param[0], 0x10000);
    cr_expect_eq(fake->param[1], 0x20000);
    cr_expect_eq((int32_t)fake->param[2], 10);
    float eps;
    uint32_t bits = (uint32_t)fake->param[3];
    memcpy(&eps, &bits, sizeof eps);
    cr_expect_eq(eps, 0.1f);
    cr_expect_eq((int32_t)(uint32_t)fake->param[4], -5);
    cr_expect_eq((uint16_t)fake->param[5], 0x3e00);
    cr_expect_eq((uint8_t)fake->param[6], 1);
    cr_expect_eq(fake->param[7], kernel->checks_address);
    cr_expect_eq(fake->wrong_context, 0);
}

Test(launch, a_scalar_of_64_bits_without_sign_takes_all_of_them) {
    plan_param *count = &params[COUNT];
    const int64_t type = count->type;
    tg_arg args[N_ARGS];
    good_args(args);
    count->type = TG_U64;
    args[COUNT] = tg_arg_uint(UINT64_MAX);
    cr_expect_eq(run(args), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->param[COUNT], UINT64_MAX);
    args[COUNT] = tg_arg_int(7);
    cr_expect_eq(run(args), TG_OK, "%s", tg_error());
    args[COUNT] = tg_arg_int(-1);
    expect_error(args, TG_EARG, "'n': -1 is not in 0..18446744073709551615");
    count->type = TG_I64;
    args[COUNT] = tg_arg_uint(UINT64_C(1) << 63);
    expect_error(args, TG_EARG, "'n': 9223372036854775808 is not in");
    count->type = type;
}

Test(launch, a_dependent_launch_says_so_to_the_driver) {
    tg_arg args[N_ARGS];
    good_args(args);
    cr_assert_eq(run(args), TG_OK);
    cr_expect_eq(fake->n_attributes, 0);
    plan.dependent_launch = true;
    cr_assert_eq(run(args), TG_OK);
    cr_expect_eq(fake->n_attributes, 1);
    cr_expect_eq(fake->attribute, API_ATTRIBUTE_PROGRAMMATIC_SERIALIZATION);
    plan.dependent_launch = false;
}

Test(launch, the_number_of_arguments_is_checked) {
    tg_arg args[N_ARGS];
    good_args(args);
    cr_expect_eq(launch_run(kernel, NULL, N_ARGS - 1, args), TG_EARG);
    cr_expect(strstr(tg_error(), "takes 7 arguments, 6 are given"), "%s", tg_error());
}

Test(launch, kinds_and_ranges_of_scalars_are_checked) {
    static const struct {
        int arg;
        tg_arg value;
        const char *words;
    } row[] = {
        {ROWS, {TG_ARG_INT, NULL, -1, 0}, "'rows': -1 is not in 0..2147483647"},
        {ROWS, {TG_ARG_INT, NULL, INT64_C(1) << 31, 0}, "'rows'"},
        {ROWS, {TG_ARG_FLOAT, NULL, 0, 1}, "tg_arg_int() is wanted"},
        {COUNT, {TG_ARG_INT, NULL, INT64_C(1) << 31, 0}, "'n': 2147483648 is not in -2147483648..2147483647"},
        {COUNT, {TG_ARG_POINTER, NULL, 0, 0}, "argument 5, 'n', is a pointer"},
        {EPS, {TG_ARG_INT, NULL, 1, 0}, "argument 4, 'eps', is an integer; tg_arg_float() is wanted"},
        {FLAG, {TG_ARG_INT, NULL, 2, 0}, "'flag': 2 is not in 0..1"},
        {FLAG, {TG_ARG_UINT, NULL, -1, 0}, "'flag': 18446744073709551615 is not in 0..1"},
        {COUNT, {TG_ARG_UINT, NULL, INT64_C(1) << 31, 0}, "'n': 2147483648 is not in"},
        {MATRIX, {TG_ARG_INT, NULL, 2, 0}, "'matrix', is an integer"},
        {MATRIX, {TG_ARG_POINTER, NULL, 0, 0}, "'matrix', is a null pointer"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tg_arg args[N_ARGS];
        good_args(args);
        args[row[i].arg] = row[i].value;
        expect_error(args, TG_EARG, row[i].words);
    }
}

Test(launch, misaligned_pointers_are_named) {
    tg_arg args[N_ARGS];
    good_args(args);
    args[MATRIX] = tg_arg_pointer((void *)0x10008);
    expect_error(args, TG_EARG, "argument 1, 'matrix', is at 0x10008, not aligned to 16 bytes");
    good_args(args);
    args[OUTPUT] = tg_arg_pointer((void *)0x20002);
    expect_error(args, TG_EARG, "'output'");
}

Test(launch, a_written_tensor_may_overlap_nothing) {
    tg_arg args[N_ARGS];
    good_args(args);
    args[OUTPUT] =
        tg_arg_pointer((void *)(0x10000 + 10 * 32 - 4)); /* its first element is the matrix's last */
    expect_error(args, TG_EARG,
                 "argument 2, 'output', which the kernel writes, overlaps argument 1, 'matrix'");
    args[OUTPUT] = tg_arg_pointer((void *)(0x10000 + 10 * 32));
    cr_expect_eq(run(args), TG_OK, "neighbours do not overlap: %s", tg_error());
    args[OUTPUT] = tg_arg_pointer((void *)(0x10000 - 40));
    cr_expect_eq(run(args), TG_OK, "neighbours do not overlap: %s", tg_error());
    args[OUTPUT] = tg_arg_pointer((void *)(0x10000 - 36));
    expect_error(args, TG_EARG, "overlaps");
}

Test(launch, alias_allows_overlap_whichever_side_declared_it) {
    tg_arg args[N_ARGS];
    good_args(args);
    args[OUTPUT] = args[MATRIX];
    params[1].alias[0] = MATRIX;
    params[1].naliases = 1;
    cr_expect_eq(run(args), TG_OK, "%s", tg_error());
    params[1].naliases = 0;
    params[0].alias[0] = OUTPUT;
    params[0].naliases = 1;
    cr_expect_eq(run(args), TG_OK, "%s", tg_error());
}

Test(launch, tensors_that_are_only_read_may_overlap) {
    tg_arg args[N_ARGS];
    good_args(args);
    args[OUTPUT] = args[MATRIX];
    params[1].is_written = false;
    cr_expect_eq(run(args), TG_OK, "%s", tg_error());
}

Test(launch, an_empty_grid_launches_nothing_and_is_good) {
    tg_arg args[N_ARGS];
    good_args(args);
    args[ROWS] = tg_arg_int(0);
    args[MATRIX] = tg_arg_pointer(NULL);
    cr_expect_eq(run(args), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->launches, 0);
}

Test(launch, a_grid_beyond_the_device_is_an_error) {
    tg_arg args[N_ARGS];
    good_args(args);
    plan.max_grid[0] = 9;
    expect_error(args, TG_EARG, "has 10 blocks along x; the device takes 9");
}

/* ---- DLPack -------------------------------------------------------------------------------------------- */

static int64_t shape[2] = {10, 8};
static int64_t strides[2] = {16, 1};

static tg_dl_tensor good_tensor(void) {
    return (tg_dl_tensor){.data = (void *)0x30000,
                          .device = {TG_DL_CUDA, 0},
                          .rank = 2,
                          .type = {TG_DL_FLOAT, 16, 1},
                          .shape = shape,
                          .strides = strides,
                          .byte_offset = 64};
}

Test(launch, dlpack_gives_the_address_with_its_offset) {
    tg_arg args[N_ARGS];
    tg_dl_tensor t = good_tensor();
    good_args(args);
    args[MATRIX] = tg_arg_dlpack(&t);
    cr_assert_eq(run(args), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->param[0], 0x30040);
    t.device = (tg_dl_device){TG_DL_CUDA_MANAGED, 0};
    cr_expect_eq(run(args), TG_OK, "%s", tg_error());
}

Test(launch, the_official_layout_is_met) {
    /* Figures of the DLPack specification for 64-bit machines. */
    cr_expect_eq(offsetof(tg_dl_tensor, data), 0);
    cr_expect_eq(offsetof(tg_dl_tensor, device), 8);
    cr_expect_eq(offsetof(tg_dl_tensor, rank), 16);
    cr_expect_eq(offsetof(tg_dl_tensor, type), 20);
    cr_expect_eq(offsetof(tg_dl_tensor, shape), 24);
    cr_expect_eq(offsetof(tg_dl_tensor, strides), 32);
    cr_expect_eq(offsetof(tg_dl_tensor, byte_offset), 40);
    cr_expect_eq(sizeof(tg_dl_tensor), 48);
}

static void expect_tensor_error(tg_dl_tensor t, const char *words) {
    tg_arg args[N_ARGS];
    good_args(args);
    args[MATRIX] = tg_arg_dlpack(&t);
    expect_error(args, TG_EARG, words);
}

Test(launch, dlpack_tensors_are_held_against_the_kernel) {
    tg_dl_tensor t = good_tensor();
    t.device.type = TG_DL_CPU;
    expect_tensor_error(t, "'matrix': the DLPack tensor is not on a CUDA device");
    t = good_tensor();
    t.device.id = 1;
    expect_tensor_error(t, "is on device 1, the stream on device 0");
    t = good_tensor();
    t.type = (tg_dl_type){TG_DL_BFLOAT, 16, 1};
    expect_tensor_error(t, "holds bfloat16 (1 lanes), the kernel wants f16");
    t = good_tensor();
    t.type.lanes = 2;
    expect_tensor_error(t, "2 lanes");
    t = good_tensor();
    t.rank = 1;
    expect_tensor_error(t, "has rank 1, the kernel wants 2");
    t = good_tensor();
    t.shape = (int64_t[]){11, 8};
    expect_tensor_error(t, "extent 0 is 11, the kernel wants 10");
    t = good_tensor();
    t.strides = (int64_t[]){8, 1};
    expect_tensor_error(t, "stride 0 is 8, the kernel wants 16");
    t = good_tensor();
    t.strides = (int64_t[]){16, 2};
    expect_tensor_error(t, "stride 1 is 2, the kernel wants 1");
    t = good_tensor();
    t.strides = NULL; /* compact: rows 8 apart */
    expect_tensor_error(t, "stride 0 is 8, the kernel wants 16");
    t = good_tensor();
    t.byte_offset = 2;
    expect_tensor_error(t, "not aligned");
    t = good_tensor();
    t.shape = NULL;
    expect_tensor_error(t, "has no shape");
    t = good_tensor();
    t.data = NULL;
    t.byte_offset = 256;
    expect_tensor_error(t, "is a null pointer");
    tg_arg args[N_ARGS];
    good_args(args);
    args[MATRIX] = tg_arg_dlpack(NULL);
    expect_error(args, TG_EARG, "is NULL");
}

Test(launch, the_stride_of_a_single_row_does_not_matter) {
    tg_arg args[N_ARGS];
    tg_dl_tensor t = good_tensor();
    t.shape = (int64_t[]){1, 8};
    t.strides = (int64_t[]){999, 1};
    good_args(args);
    args[ROWS] = tg_arg_int(1);
    args[MATRIX] = tg_arg_dlpack(&t);
    cr_expect_eq(run(args), TG_OK, "%s", tg_error());
}

/* ---- shared memory ------------------------------------------------------------------------------------- */

static int opt_ins_for(int64_t dynamic, int fixed) {
    int before = fake->opt_ins;
    launch_unload(kernel);
    plan.dynamic_shared = dynamic;
    fake->static_shared = fixed;
    load();
    return fake->opt_ins - before;
}

Test(launch, shared_memory_above_48_kb_is_opted_into_once) {
    cr_expect_eq(opt_ins_for(0, 0), 0);
    cr_expect_eq(opt_ins_for(48 * 1024, 0), 0);
    cr_expect_eq(opt_ins_for(48 * 1024, 16), 1, "static and dynamic count together");
    cr_expect_eq(opt_ins_for(100 * 1024, 0), 1);
    cr_expect_eq(fake->opt_in_bytes, 100 * 1024);
    tg_arg args[N_ARGS];
    good_args(args);
    cr_assert_eq(run(args), TG_OK);
    cr_assert_eq(run(args), TG_OK);
    cr_expect_eq(fake->shared_bytes, 100 * 1024);
    cr_expect_eq(fake->opt_ins, 2);
}

Test(launch, too_much_shared_memory_is_refused_with_its_size) {
    launch_kernel *k;
    plan.dynamic_shared = 300 * 1024;
    cr_expect_eq(launch_load(api_driver_open(), context, "image", &plan, &k), TG_EDRIVER);
    cr_expect_null(k);
    cr_expect(strstr(tg_error(), "loading 'kernel': 307200 bytes of shared memory: cuFuncSetAttribute"), "%s",
              tg_error());
    cr_expect_eq(fake->loads - fake->unloads, 1, "the failed one was not unloaded");
}

/* ---- failures of the driver ---------------------------------------------------------------------------- */

Test(launch, a_refused_image_brings_the_drivers_log) {
    launch_kernel *k;
    fake->load_code = 200;
    cr_expect_eq(launch_load(api_driver_open(), context, "image", &plan, &k), TG_EDRIVER);
    cr_expect(strstr(tg_error(), "cuModuleLoadDataEx: CUDA_ERROR_FAKE (200)"), "%s", tg_error());
    cr_expect(strstr(tg_error(), "the image is not to its taste"), "%s", tg_error());
}

Test(launch, a_refused_launch_says_what_was_launched) {
    tg_arg args[N_ARGS];
    good_args(args);
    fake->launch_code = 701;
    cr_expect_eq(run(args), TG_EDRIVER);
    cr_expect(strstr(tg_error(),
                     "launching 'kernel' (grid 10,3,1 threads 32,4,1 shared 0+0): cuLaunchKernelEx: "
                     "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)"),
              "%s", tg_error());
}

Test(launch, lack_of_device_memory_is_told_apart) {
    void *address;
    fake->alloc_code = 2;
    cr_expect_eq(device_alloc(device, 1000, &address), TG_ENOMEM);
    cr_expect(strstr(tg_error(), "1000 bytes on device 0: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)"), "%s",
              tg_error());
}

/* ---- checks -------------------------------------------------------------------------------------------- */

Test(launch, a_failed_check_is_told_once_and_then_launches_go_on) {
    tg_arg args[N_ARGS];
    good_args(args);
    cr_assert_eq(run(args), TG_OK);
    cr_expect_eq(launch_take_failure(kernel), TG_OK);
    *kernel->checks = (tg_checks){.failed = 3, .check = 1, .block = {7, 0, 1}, .thread = {31, 2, 0}};
    expect_error(args, TG_EKERNEL,
                 "in an earlier launch of 'kernel': gemv.c:19: check failed: row < N (block 7,0,1 thread "
                 "31,2,0; 3 in all)");
    cr_expect_eq(run(args), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->launches, 2);
}

Test(launch, records_of_checks_go_with_the_kernel) {
    launch_unload(kernel);
    cr_expect_eq(fake->host_allocs, fake->host_frees);
    cr_expect_eq(fake->loads, fake->unloads);
    load();
}

/* ---- contexts ------------------------------------------------------------------------------------------ */

Test(launch, a_launch_enters_the_streams_context_and_leaves_it) {
    tg_arg args[N_ARGS];
    good_args(args);
    struct CUstream_st *stream = fake_stream_new(context);
    cr_assert_eq(launch_run(kernel, stream, N_ARGS, args), TG_OK, "%s", tg_error());
    cr_expect_eq(fake->context, context);
    cr_expect_eq(fake->stream, stream);
    api_context current;
    api_driver_open()->context_current(&current);
    cr_expect_null(current, "a context was left behind");
    free(stream);
}

Test(launch, a_destroyed_context_is_not_touched_again) {
    struct CUctx_st *own = fake_context_new(1);
    launch_kernel *k;
    cr_assert_eq(launch_load(api_driver_open(), own, "image", &plan, &k), TG_OK);
    cr_expect_eq(k->ordinal, 1);
    int before = fake->unloads;
    fake_context_destroy(own);
    cr_assert_eq(fake_context_new(1), own, "the same address again");
    launch_unload(k);
    cr_expect_eq(fake->unloads, before);
}

/* ---- devices ------------------------------------------------------------------------------------------- */

Test(launch, devices_are_described_and_counted) {
    int n;
    device_info info;
    cr_assert_eq(device_count(&n), TG_OK);
    cr_expect_eq(n, 2);
    cr_assert_eq(device_describe(1, &info), TG_OK);
    cr_expect_str_eq(info.name, "Fake GPU");
    cr_expect_eq(info.major * 10 + info.minor, 90);
    cr_expect_eq(info.sms, 4);
    cr_expect_eq(device_describe(2, &info), TG_EARG);
    cr_expect(strstr(tg_error(), "there is no device 2: this machine has 2"), "%s", tg_error());
}

Test(launch, memory_goes_to_the_device_and_back) {
    void *address;
    char in[100];
    char out[100];
    memset(in, 42, sizeof in);
    cr_assert_eq(device_alloc(device, 100, &address), TG_OK);
    cr_assert_eq(device_put(device, address, in, 100), TG_OK);
    cr_assert_eq(device_get(device, out, address, 100), TG_OK);
    cr_expect_arr_eq(in, out, 100);
    cr_assert_eq(device_fill(device, address, 7, 100), TG_OK);
    cr_assert_eq(device_get(device, out, address, 100), TG_OK);
    cr_expect_eq(out[99], 7);
    device_free(device, address);
}
