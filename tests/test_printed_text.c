/* test_printed_text.c -- the CUDA text itself as a witness: a C++ compiler for the CPU builds it as it stands, and
 * what it computes equals what the simulator computes from the thread IR, bit for bit.
 *
 * All rows (the golden kernels and those of the gallery at small shapes) go into one C++ file, each text in a
 * namespace of its own; see tests/host/host_cuda.h.  Run from the project's root; works in a folder below the
 * build folder. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "codegen/pipeline.h"
#include "sim/sim.h"

/* Of kernel.h, whose words cannot stand in one file with the IRs. */
const tg_kernel_record *const *tg_kernel_table(int *n);

/* ---- what is run --------------------------------------------------------------------------------------- */

/* Kernels of the gallery, at sizes that tiles divide and do not; the golden ones come by themselves. */
#define GEMV(kernel)                                        \
    {kernel, {{"N", 40}, {"K", 512}, {"dtype", TG_F16}}}, { \
        kernel, {                                           \
            {"N", 33}, {"K", 264}, {                        \
                "dtype", TG_BF16                            \
            }                                               \
        }                                                   \
    }
#define ROWS(kernel)                                         \
    {kernel, {{"M", 3}, {"N", 1024}, {"dtype", TG_BF16}}}, { \
        kernel, {                                            \
            {"M", 2}, {"N", 1536}, {                         \
                "dtype", TG_F32                              \
            }                                                \
        }                                                    \
    }
#define ENGINE(kernel)                            \
    {kernel, {{"N", 1024}, {"dtype", TG_F16}}}, { \
        kernel, {                                 \
            {"N", 299}, {                         \
                "dtype", TG_BF16                  \
            }                                     \
        }                                         \
    }

static const struct {
    const char *kernel;
    tg_param param[4];
} gallery[] = {
    GEMV("thread_naive"),
    GEMV("thread_naive_split_k"),
    GEMV("thread_coalesced_naive_split_k"),
    GEMV("thread_split_k"),
    GEMV("thread_coalesced_split_k"),
    GEMV("thread_vectorized_split_k"),
    GEMV("thread_allreduce_split_k"),
    GEMV("thread_shared_memory_split_k"),
    GEMV("thread_intra_block_split_k"),
    GEMV("block_naive"),
    GEMV("block_split_k"),
    GEMV("block_split_k_v2"),
    ENGINE("cast_output"),
    GEMV("block_pipelined"),
    GEMV("block_alloc_reducer"),
    ROWS("rowprod_blocked"),
    ROWS("rowprod_striped"),
    ROWS("rowprod_vectorized"),
    ROWS("rowprod_staged"),
    ROWS("prefix_blocked"),
    ROWS("prefix_vectorized"),
    ROWS("prefix_staged"),
    {"copy_1d_block", {{"N", 5003}, {"dtype", TG_U8}}},
    {"copy_1d_thread", {{"N", 5003}, {"dtype", TG_F64}}},
    ENGINE("softmax"),
    ENGINE("rms_norm"),
    ENGINE("add_broadcast"),
    ENGINE("row_sum"),
    {"transpose", {{"M", 100}, {"N", 70}, {"dtype", TG_F16}}},
    {"gemv_q4", {{"N", 9}, {"K", 4128}, {"dtype", TG_F16}}},
};

enum { MAX_ROWS = 256, GALLERY_ROWS = sizeof gallery / sizeof gallery[0] };
static const int64_t most_bytes = (int64_t)64 << 20; /* of one tensor: more is for the GPU */

typedef struct row {
    const tg_kernel_record *record;
    tg_config config;
    pipeline_result made;
    const char *was, *instead; /* where set: its text is altered and must give something else */
} row;

static row rows[MAX_ROWS];
static int nrows;

static bool ends_with(const char *s, const char *end) {
    const size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static bool is_too_big(const launch_plan *plan) {
    const int64_t args[TILE_MAX_ARGS] = {0};
    for (int i = 0; i < plan->nparams; i++) {
        int64_t bytes;
        if (plan->params[i].kind == PLAN_TENSOR && plan_eval(&plan->params[i].bytes, args, &bytes) &&
            bytes > most_bytes) {
            return true;
        }
    }
    return false;
}

/* Adds a row unless the kernel is one whose mistakes are the point of it. */
static void add_row(const tg_kernel_record *record, const tg_config *config, bool must_build) {
    cr_assert(nrows < MAX_ROWS);
    row *r = &rows[nrows];
    *r = (row){.record = record, .config = *config};
    const char *name = ends_with(record->name, "sm_80") ? "sm_80" : "sm_90a";
    /* Every other one is launched as a dependent one, which changes its text. */
    const pipeline_options options = {
        .target = target_find(name), .verify = true, .dependent = nrows % 2 == 1};
    const pipeline_input input = {.name = record->name, .build = record->build, .config = &r->config};
    const int status = pipeline_run(&input, &options, &r->made);
    if (status != TG_OK || is_too_big(r->made.plan)) {
        text errors = {0};
        diag_print(&r->made.kernel->errors, &errors);
        cr_expect(!must_build, "%s: %s %s", record->name, errors.s ? errors.s : "",
                  r->made.kernel->unmet ? r->made.kernel->unmet : "");
        text_free(&errors);
        pipeline_free(&r->made);
        return;
    }
    nrows++;
}

static void add_gallery_row(const tg_kernel_record *record, const tg_param *param) {
    tg_config config = {0};
    for (int i = 0; i < 4 && param[i].name; i++) {
        tg_config_set(&config, param[i].name, param[i].value);
    }
    add_row(record, &config, true);
}

static void break_text(const char *was, const char *instead) {
    rows[nrows - 1].was = was;
    rows[nrows - 1].instead = instead;
}

static void add_all(void) {
    int n;
    const tg_kernel_record *const *records = tg_kernel_table(&n);
    for (int i = 0; i < n; i++) {
        const tg_config nothing = {0};
        if (strstr(records[i]->file, "tests/golden/")) {
            add_row(records[i], &nothing, false);
            if (strcmp(records[i]->name, "a_serial_loop_stays_a_loop") == 0) {
                add_row(records[i], &nothing, true);
                break_text("k + 8]", "k + 7]"); /* a neighbour */
            }
        }
        for (int j = 0; j < GALLERY_ROWS; j++) {
            if (strcmp(records[i]->name, gallery[j].kernel) == 0) {
                add_gallery_row(records[i], gallery[j].param);
            }
        }
        if (strcmp(records[i]->name, "block_pipelined") == 0) {
            const tg_config small = TG_CONFIG(N, 40, K, 512, dtype, TG_F16, block_n, 32, block_k, 64);
            add_row(records[i], &small, true);
            break_text("copy_async_wait<0>", "copy_async_wait<1>"); /* one group too many in flight */
        }
    }
    cr_assert(nrows >= 30 + GALLERY_ROWS, "only %d kernels are linked in", nrows);
}

/* ---- the program --------------------------------------------------------------------------------------- */

static char folder[400];

static void make_folder(const char *compiler) {
    const char *build = getenv("TEGULA_BUILD");
    snprintf(folder, sizeof folder, "%s/printed_text_%s", build ? build : "build", compiler);
    mkdir(folder, 0777);
}

static FILE *open_file(const char *name, const char *mode) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, mode);
    cr_assert(f != NULL, "cannot open %s", path);
    return f;
}

/* The text of a row, altered where it is to be. */
static void write_text(const row *r, FILE *f) {
    const char *s = r->made.cuda.text.s;
    const char *spot = r->was ? strstr(s, r->was) : NULL;
    if (r->was) {
        cr_assert(spot != NULL, "no spot to break in:\n%s", s);
        fprintf(f, "%.*s%s%s", (int)(spot - s), s, r->instead, spot + strlen(r->was));
    } else {
        fputs(s, f);
    }
}

static void write_program(void) {
    FILE *f = open_file("all.cpp", "w");
    fputs("#include \"host_cuda.h\"\n", f);
    for (int i = 0; i < nrows; i++) {
        const char *name = cuda_function_name(rows[i].made.thread);
        char file[32];
        snprintf(file, sizeof file, "%d.cu", i);
        FILE *text_file = open_file(file, "w");
        write_text(&rows[i], text_file);
        fclose(text_file);
        /* Functions with C linkage of one name are one function, whatever their namespace. */
        fprintf(f, "#define %s row_%d\nnamespace n%d {\n#include \"%d.cu\"\n}\n#undef %s\n", name, i, i, i,
                name);
    }
    fputs("const host_kernel host_kernels[] = {\n", f);
    for (int i = 0; i < nrows; i++) {
        fprintf(f, "    {\"%d\", HOST_CALL(n%d::row_%d)},\n", i, i, i);
    }
    fputs("    {nullptr, nullptr},\n};\n", f);
    fclose(f);
}

static void compile_program(const char *compiler) {
    char command[2048];
    snprintf(
        command, sizeof command,
        "%s -std=c++17 -O1 -Wall -Wno-unknown-pragmas -ffp-contract=off -fno-strict-aliasing -Itests/host "
        "tests/host/host_main.cpp %s/all.cpp -o %s/all >%s/log 2>&1",
        compiler, folder, folder, folder);
    const int status = system(command);
    FILE *f = open_file("log", "r");
    char log[8192];
    log[fread(log, 1, sizeof log - 1, f)] = '\0';
    fclose(f);
    cr_assert(status == 0, "%s does not compile the printed text:\n%s", compiler, log);
    cr_expect_str_empty(log, "%s warns of the printed text:\n%s", compiler, log);
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

static uint64_t state;

static uint64_t random_bits(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double random_unit(void) { /* -1 .. 1 */
    return (double)(int64_t)random_bits() / 9223372036854775808.0;
}

/* Values that round in every conversion, and overflow in none. */
static value random_value(int64_t type) {
    switch (type) {
    case TG_I32:
        return value_int(type, (int64_t)(random_bits() % 2097152) - 1048576);
    case TG_I64:
        return value_int(type, (int64_t)(random_bits() >> 23) - ((int64_t)1 << 40));
    case TG_F64:
        return value_real(type, random_unit() * ldexp(1.0, (int)(random_bits() % 32) - 20));
    default:
        return type_is_float(type) ? value_real(type, 2 * random_unit())
                                   : value_int(type, (int64_t)random_bits());
    }
}

typedef struct arguments {
    int64_t number[TILE_MAX_ARGS]; /* scalars and extents as integers */
    witness_arg item[TILE_MAX_ARGS];
} arguments;

static void make_tensor(const plan_param *p, arguments *a) {
    witness_arg *to = &a->item[p->arg];
    int64_t bytes;
    cr_assert(plan_eval(&p->bytes, a->number, &bytes));
    to->bytes = (size_t)bytes;
    to->data = malloc(to->bytes + 1);
    const int size = type_bytes(p->type);
    for (int64_t at = 0; at + size <= bytes; at += size) {
        const value v = random_value(p->type);
        memcpy((char *)to->data + at, &v.bits, (size_t)size); /* little-endian */
    }
}

static void make_arguments(const launch_plan *plan, arguments *a) {
    memset(a, 0, sizeof *a);
    state = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < plan->nparams; i++) {
        const plan_param *p = &plan->params[i];
        if (p->kind == PLAN_EXTENT) {
            a->number[p->arg] = 37;
            a->item[p->arg].scalar = value_int(TYPE_INDEX, 37);
        } else if (p->kind == PLAN_SCALAR) {
            a->number[p->arg] = 50;
            a->item[p->arg].scalar =
                type_is_float(p->type) ? value_real(p->type, 0.8) : value_int(p->type, 50);
        }
    }
    for (int i = 0; i < plan->nparams; i++) {
        if (plan->params[i].kind == PLAN_TENSOR) {
            make_tensor(&plan->params[i], a);
        }
    }
}

static void free_arguments(const launch_plan *plan, arguments *a) {
    for (int i = 0; i < plan->nargs; i++) {
        free(a->item[i].data);
    }
}

/* ---- running ------------------------------------------------------------------------------------------- */

static void write_number(FILE *f, int64_t x) {
    fwrite(&x, sizeof x, 1, f);
}

static void write_param(FILE *f, const plan_param *p, const arguments *a) {
    const tg_checks none = {0};
    const witness_arg *item = p->arg >= 0 ? &a->item[p->arg] : NULL;
    const int32_t extent = item ? (int32_t)a->number[p->arg] : 0;
    const bool is_tensor = p->kind == PLAN_TENSOR || p->kind == PLAN_CHECKS;
    const void *data = p->kind == PLAN_TENSOR   ? item->data
                       : p->kind == PLAN_CHECKS ? (const void *)&none
                       : p->kind == PLAN_EXTENT ? (const void *)&extent
                                                : (const void *)&item->scalar.bits;
    const size_t bytes = p->kind == PLAN_TENSOR   ? item->bytes
                         : p->kind == PLAN_CHECKS ? sizeof none
                         : p->kind == PLAN_EXTENT ? sizeof extent
                                                  : (size_t)type_bytes(p->type);
    write_number(f, is_tensor);
    write_number(f, (int64_t)bytes);
    fwrite(data, 1, bytes, f);
}

static void write_input(const launch_plan *plan, const arguments *a) {
    FILE *f = open_file("in", "wb");
    for (int i = 0; i < 3; i++) {
        int64_t blocks;
        cr_assert(plan_eval(&plan->grid[i], a->number, &blocks));
        write_number(f, blocks);
    }
    for (int i = 0; i < 3; i++) {
        write_number(f, plan->threads[i]);
    }
    write_number(f, plan->nparams);
    for (int i = 0; i < plan->nparams; i++) {
        write_param(f, &plan->params[i], a);
    }
    fclose(f);
}

static bool is_nan(value v) {
    return type_is_float(v.type) && isnan(value_as_real(v));
}

/* How many elements of the tensor differ; NaN equals NaN. */
static int64_t differences(const plan_param *p, const void *wanted, const void *got, size_t bytes) {
    const size_t size = (size_t)type_bytes(p->type);
    int64_t n = 0;
    for (size_t at = 0; at + size <= bytes; at += size) {
        value a = {p->type, 0}, b = {p->type, 0};
        memcpy(&a.bits, (const char *)wanted + at, size);
        memcpy(&b.bits, (const char *)got + at, size);
        n += a.bits != b.bits && !(is_nan(a) && is_nan(b));
    }
    return n;
}

/* Reads what the program left, against what the simulator left: how much differs. */
static int64_t compare_output(const launch_plan *plan, const arguments *a, const text *printed) {
    FILE *f = open_file("out", "rb");
    int64_t wrong = 0;
    for (int i = 0; i < plan->nparams; i++) {
        const plan_param *p = &plan->params[i];
        const size_t bytes = p->kind == PLAN_TENSOR   ? a->item[p->arg].bytes
                             : p->kind == PLAN_CHECKS ? sizeof(tg_checks)
                                                      : 0;
        char *got = calloc(1, bytes + 1);
        wrong += fread(got, 1, bytes, f) != bytes;
        if (p->kind == PLAN_TENSOR) {
            wrong += differences(p, a->item[p->arg].data, got, bytes);
        } else if (p->kind == PLAN_CHECKS) {
            wrong += ((const tg_checks *)(void *)got)->failed;
        }
        free(got);
    }
    char *got = calloc(1, printed->length + 2);
    const size_t n = fread(got, 1, printed->length + 1, f);
    wrong += n != printed->length || (n > 0 && memcmp(got, printed->s, n) != 0);
    free(got);
    fclose(f);
    return wrong;
}

static void run_row(int i) {
    const row *r = &rows[i];
    const launch_plan *plan = r->made.plan;
    arguments a;
    make_arguments(plan, &a);
    write_input(plan, &a);

    sim_result simulated;
    const sim_options options = {0};
    text error = {0}, found = {0};
    const int status = sim_run(r->made.thread, plan->nargs, a.item, &options, &simulated, &error);
    cr_expect(status == TG_OK, "%s: the simulator says: %s", r->record->name, error.s ? error.s : "");
    findings_print(&simulated.findings, &found);
    cr_expect(!findings_failed(&simulated.findings, false), "%s: %s", r->record->name,
              found.s ? found.s : "");

    char command[2048];
    snprintf(command, sizeof command, "%s/all %d <%s/in >%s/out", folder, i, folder, folder);
    const int ended = system(command);
    cr_expect(ended == 0, "%s: the program ended with status %d", r->record->name, WEXITSTATUS(ended));
    const int64_t wrong = ended == 0 ? compare_output(plan, &a, &simulated.printed) : 0;
    cr_expect((wrong != 0) == (r->was != NULL), "%s: %lld differences between text and simulator%s",
              r->record->name, (long long)wrong, r->was ? ", though the text was altered" : "");
    sim_free(&simulated);
    text_free(&error);
    text_free(&found);
    free_arguments(plan, &a);
}

static bool exists(const char *compiler) {
    char command[256];
    snprintf(command, sizeof command, "%s --version >/dev/null 2>&1", compiler);
    return system(command) == 0;
}

static void run_all(const char *compiler) {
    if (!exists(compiler)) {
        cr_skip_test("no %s on this machine", compiler);
    }
    add_all();
    make_folder(compiler);
    write_program();
    compile_program(compiler);
    for (int i = 0; i < nrows; i++) {
        run_row(i);
        pipeline_free(&rows[i].made);
    }
}

Test(printed_text, built_by_gcc_equals_the_simulator) {
    run_all("g++");
}

Test(printed_text, built_by_clang_equals_the_simulator) {
    run_all("clang++");
}
