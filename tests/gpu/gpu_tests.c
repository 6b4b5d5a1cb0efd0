/* gpu_tests.c -- the third witness: the same kernel and inputs on the simulator and on the GPU.
 *
 * A plain program, so that it runs on a machine where nothing is installed.  Each case is a builder with a
 * configuration; its arguments are made from the launch plan, filled with seeded random values, and the
 * results compared: bit for bit where arithmetic is exact, to a few units in the last place where the GPU's
 * library functions differ from the host's.  Cases with an answer that plain C can give compute it too.
 *
 * Prints a line for each family and ends with "N passed, N failed". */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_cases.h"

#include "codegen/pipeline.h"
#include "runtime/bench_ceiling.h"
#include "runtime/device.h"
#include "runtime/jit.h"
#include "sim/sim.h"

tg_builder gpu_unary, gpu_binary, gpu_cast, gpu_atomic, gpu_allreduce, gpu_vectorized, gpu_extent,
    gpu_large_shared, gpu_view, gpu_divergence, gpu_check, gpu_late_copy, gpu_chain, gpu_large_scalar,
    gpu_tunable;

enum { MAX_TENSORS = 8 };

static int passed, failed;
static bool family_good;
static device_handle *gpu;

static const int64_t all_types[] = {TG_BOOL, TG_I8,  TG_U8,  TG_I16,  TG_U16, TG_I32, TG_U32,
                                    TG_I64,  TG_U64, TG_F16, TG_BF16, TG_F32, TG_F64};
enum { N_TYPES = sizeof all_types / sizeof *all_types };

/* ---- one case ------------------------------------------------------------------------------------------ */

typedef struct {
    const char *name;
    tg_builder *build;
    tg_config config;
    int64_t extent;   /* value of every extent argument */
    double scalar;    /* value of every scalar argument */
    double low, high; /* range of the inputs */
    bool whole;       /* inputs are whole numbers: sums in any order are exact */
    bool nonzero;
    int ulps; /* how far floats may differ */
    uint64_t seed;
} gpu_case;

typedef struct {
    pipeline_result lowered;
    int nargs;
    witness_arg sim[MAX_TENSORS];
    unsigned char *gpu[MAX_TENSORS], *input[MAX_TENSORS];
    tg_arg arg[MAX_TENSORS];
} case_state;

static uint64_t next_random(uint64_t *state) {
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static value random_value(const gpu_case *c, int64_t type, uint64_t *state) {
    double x = c->low + (c->high - c->low) * ((double)(next_random(state) >> 11) / 9007199254740992.0);
    if (c->whole || !type_is_float(type)) {
        x = floor(x);
    }
    if (c->nonzero && x == 0.0) {
        x = 1.0;
    }
    if (!type_is_float(type)) {
        double lo = (double)type_min(type), hi = (double)type_max(type);
        return value_int(type, (int64_t)(x < lo ? lo : x > hi ? hi : x));
    }
    return value_real(type, x);
}

static void fill(const gpu_case *c, unsigned char *data, size_t bytes, int64_t type, uint64_t *state) {
    size_t size = (size_t)type_bytes(type);
    for (size_t i = 0; i + size <= bytes; i += size) {
        value v = random_value(c, type, state);
        memcpy(data + i, &v.bits, size);
    }
}

static void case_free(case_state *s) {
    for (int i = 0; i < s->nargs; i++) {
        free(s->sim[i].data);
        free(s->gpu[i]);
        free(s->input[i]);
    }
    pipeline_free(&s->lowered);
}

static void complain(const gpu_case *c, const char *what) {
    printf("  FAILED %s (", c->name);
    for (int i = 0; i < c->config.n; i++) {
        const char *type = tg_dtype_name(c->config.p[i].value);
        printf("%s%s=", i ? " " : "", c->config.p[i].name);
        if (type) {
            printf("%s", type);
        } else {
            printf("%" PRId64, c->config.p[i].value);
        }
    }
    printf("): %s\n", what);
    family_good = false;
    failed++;
}

/* Lowers the kernel and makes its arguments. */
static bool case_make(const gpu_case *c, case_state *s) {
    const pipeline_input input = {.name = c->name, .build = c->build, .config = &c->config};
    const pipeline_options options = {.target = target_find("sm_90a"), .verify = true};
    if (pipeline_run(&input, &options, &s->lowered) != TG_OK) {
        if (s->lowered.kernel) {
            tg_report(s->lowered.kernel, stdout);
        }
        complain(c, "does not lower");
        return false;
    }
    const launch_plan *plan = s->lowered.plan;
    uint64_t state = c->seed;
    int64_t extents[MAX_TENSORS] = {0};
    s->nargs = plan->nargs;
    for (int i = 0; i < plan->nparams; i++) {
        if (plan->params[i].kind == PLAN_EXTENT) {
            extents[plan->params[i].arg] = c->extent;
        }
    }
    for (int i = 0; i < plan->nparams; i++) {
        const plan_param *p = &plan->params[i];
        int64_t bytes = 0;
        if (p->kind == PLAN_EXTENT) {
            s->sim[p->arg].scalar = value_int(TYPE_INDEX, c->extent);
            s->arg[p->arg] = tg_arg_int(c->extent);
        } else if (p->kind == PLAN_SCALAR) {
            s->sim[p->arg].scalar = value_real(p->type, c->scalar);
            s->arg[p->arg] = tg_arg_float(c->scalar);
        } else if (p->kind == PLAN_TENSOR && plan_eval(&p->bytes, extents, &bytes)) {
            size_t size = bytes > 0 ? (size_t)bytes : 1;
            s->sim[p->arg].bytes = (size_t)bytes;
            s->sim[p->arg].data = malloc(size);
            s->gpu[p->arg] = malloc(size);
            s->input[p->arg] = malloc(size);
            fill(c, s->input[p->arg], (size_t)bytes, p->type, &state);
            memcpy(s->sim[p->arg].data, s->input[p->arg], (size_t)bytes);
        }
    }
    return true;
}

static bool run_simulator(const gpu_case *c, case_state *s) {
    sim_result result;
    text error = {0};
    const sim_options options = {0};
    int code = sim_run(s->lowered.thread, s->nargs, s->sim, &options, &result, &error);
    bool good = code == TG_OK && !findings_failed(&result.findings, false);
    if (!good) {
        text report = {0};
        findings_print(&result.findings, &report);
        printf("%s%s", report.s ? report.s : "", error.s ? error.s : "");
        complain(c, "the simulator finds faults");
        text_free(&report);
    }
    text_free(&error);
    sim_free(&result);
    return good;
}

/* Launches with device copies of the inputs; the code of the first call that failed. */
static int run_gpu(const gpu_case *c, case_state *s) {
    void *memory[MAX_TENSORS] = {NULL};
    int code = TG_OK;
    for (int i = 0; i < s->nargs && code == TG_OK; i++) {
        if (s->gpu[i]) {
            code = device_alloc(gpu, s->sim[i].bytes ? s->sim[i].bytes : 1, &memory[i]);
            if (code == TG_OK && s->sim[i].bytes) {
                code = device_put(gpu, memory[i], s->input[i], s->sim[i].bytes);
            }
            s->arg[i] = tg_arg_pointer(memory[i]);
        }
    }
    tg_jit *jit = tg_jit_new(c->name, c->build, NULL, 0);
    if (code == TG_OK) {
        code = tg_launch(jit, c->config, NULL, s->nargs, s->arg);
    }
    if (code == TG_OK) {
        code = device_synchronize(gpu, NULL);
    }
    for (int i = 0; i < s->nargs; i++) {
        if (memory[i] && code == TG_OK && s->sim[i].bytes) {
            code = device_get(gpu, s->gpu[i], memory[i], s->sim[i].bytes);
        }
        device_free(gpu, memory[i]);
    }
    tg_jit_free(jit);
    return code;
}

/* Distance in units in the last place; NaN equals NaN. */
static double ulps_between(value a, value b) {
    double x = value_as_real(a), y = value_as_real(b);
    if (isnan(x) || isnan(y)) {
        return isnan(x) && isnan(y) ? 0.0 : INFINITY;
    }
    if (a.bits == b.bits || x == y) {
        return 0.0;
    }
    int digits = a.type == TG_F16 ? 10 : a.type == TG_BF16 ? 7 : a.type == TG_F32 ? 23 : 52;
    double unit = ldexp(1.0, ilogb(fmax(fabs(x), fabs(y))) - digits);
    return fabs(x - y) / unit;
}

static bool compare_tensor(const gpu_case *c, const plan_param *p, case_state *s) {
    size_t size = (size_t)type_bytes(p->type);
    const unsigned char *a = s->sim[p->arg].data, *b = s->gpu[p->arg];
    for (size_t i = 0; i < s->sim[p->arg].bytes; i += size) {
        value x = {p->type, 0}, y = {p->type, 0};
        memcpy(&x.bits, a + i, size);
        memcpy(&y.bits, b + i, size);
        bool same = type_is_float(p->type) ? ulps_between(x, y) <= c->ulps : x.bits == y.bits;
        if (!same) {
            char what[160];
            snprintf(what, sizeof what, "%s[%zu]: simulator %.17g, GPU %.17g", p->name, i / size,
                     value_as_real(x), value_as_real(y));
            complain(c, what);
            return false;
        }
    }
    return true;
}

static bool compare(const gpu_case *c, case_state *s) {
    const launch_plan *plan = s->lowered.plan;
    for (int i = 0; i < plan->nparams; i++) {
        const plan_param *p = &plan->params[i];
        if (p->kind == PLAN_TENSOR && p->is_written && !compare_tensor(c, p, s)) {
            return false;
        }
    }
    return true;
}

/* Runs both; `answer` (may be NULL) judges the GPU's results by plain C. */
static void run_case(const gpu_case *c, bool (*answer)(const gpu_case *c, case_state *s)) {
    case_state s;
    memset(&s, 0, sizeof s);
    if (case_make(c, &s) && run_simulator(c, &s)) {
        if (run_gpu(c, &s) != TG_OK) {
            complain(c, tg_error());
        } else if (compare(c, &s)) {
            if (answer && !answer(c, &s)) {
                complain(c, "differs from the answer of plain C");
            } else {
                passed++;
            }
        }
    }
    case_free(&s);
}

static void family(const char *name) {
    static const char *last;
    static int before;
    if (last) {
        printf("%-28s %5d cases  %s\n", last, passed + failed - before, family_good ? "ok" : "FAILED");
    }
    last = name;
    before = passed + failed;
    family_good = true;
    fflush(stdout);
}

/* ---- families ------------------------------------------------------------------------------------------ */

/* accepts: as ops.def says. */
enum { NUMBER, WHOLE, REAL, TRUTH, BITS, ORDERED, EQUAL };
#define OP(id, word, operands, accepts, text, level) {TG_##id, operands, accepts},
static const struct {
    tg_op op;
    int operands, accepts;
} all_ops[] = {
#include "dsl/ops.def"
};
#undef OP

static bool accepts(int what, int64_t type) {
    bool is_bool = type == TG_BOOL, is_float = type_is_float(type);
    switch (what) {
    case NUMBER:
    case ORDERED:
        return !is_bool;
    case WHOLE:
        return !is_bool && !is_float;
    case REAL:
        return is_float;
    case TRUTH:
        return is_bool;
    case BITS:
        return !is_float;
    default:
        return true;
    }
}

static void test_operators(void) {
    family("operators by type");
    for (size_t o = 0; o < sizeof all_ops / sizeof *all_ops; o++) {
        for (int t = 0; t < N_TYPES; t++) {
            int64_t type = all_types[t];
            if (!accepts(all_ops[o].accepts, type)) {
                continue;
            }
            bool is_shift = all_ops[o].op == TG_SHL || all_ops[o].op == TG_SHR;
            bool is_unary = all_ops[o].operands == 1;
            bool needs_positive = is_shift || all_ops[o].op == TG_LOG || all_ops[o].op == TG_SQRT ||
                                  all_ops[o].op == TG_RSQRT || !(type_is_signed(type) || type_is_float(type));
            bool has_truth = all_ops[o].accepts == ORDERED || all_ops[o].accepts == EQUAL;
            bool is_library = all_ops[o].op >= TG_EXP && all_ops[o].op != TG_SQRT;
            gpu_case c = {.name = is_unary ? "gpu_unary" : "gpu_binary",
                          .build = is_unary ? gpu_unary : gpu_binary,
                          .config = TG_CONFIG(op, all_ops[o].op, dtype, type, n, 1000),
                          .low = needs_positive         ? (is_shift ? 0 : 1)
                                 : type_bits(type) == 8 ? -11
                                                        : -100,
                          .high = is_shift               ? 7
                                  : type_bits(type) == 8 ? 11
                                                         : 100,
                          .nonzero = !is_shift,
                          .ulps = is_library ? 4 : 0,
                          .seed = 7 + o};
            if (type == TG_BOOL) {
                c.low = 0, c.high = 2, c.nonzero = false;
            }
            if (!is_unary) {
                tg_config_set(&c.config, "result", has_truth ? TG_BOOL : type);
            }
            run_case(&c, NULL);
        }
    }
}

static void test_casts(void) {
    family("casts of every pair");
    for (int f = 0; f < N_TYPES; f++) {
        for (int t = 0; t < N_TYPES; t++) {
            gpu_case c = {.name = "gpu_cast",
                          .build = gpu_cast,
                          .config = TG_CONFIG(dtype, all_types[f], to, all_types[t], n, 2000),
                          .low = all_types[f] == TG_BOOL ? 0 : -120,
                          .high = all_types[f] == TG_BOOL ? 2 : 120,
                          .seed = (uint64_t)(f * 100 + t)};
            if (type_is_float(all_types[f]) && !type_is_signed(all_types[t]) &&
                !type_is_float(all_types[t])) {
                c.low = 0; /* a negative float into an unsigned type is a fault */
            }
            run_case(&c, NULL);
        }
    }
    for (int t = 0; t < N_TYPES; t++) { /* many digits: one rounding, not two */
        if (type_is_float(all_types[t])) {
            gpu_case c = {.name = "gpu_cast",
                          .build = gpu_cast,
                          .config = TG_CONFIG(dtype, TG_F64, to, all_types[t], n, 20000),
                          .low = 2040,
                          .high = 2060,
                          .seed = 5};
            run_case(&c, NULL);
            c.config = TG_CONFIG(dtype, TG_I64, to, all_types[t], n, 20000);
            c.low = -60000, c.high = 60000;
            run_case(&c, NULL);
        }
    }
}

static void test_atomics(void) {
    static const int64_t types[] = {TG_I32, TG_U32, TG_I64, TG_U64, TG_F16, TG_BF16, TG_F32, TG_F64};
    family("atomics by type");
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (int r = TG_SUM; r <= TG_MIN; r++) {
            gpu_case c = {.name = "gpu_atomic",
                          .build = gpu_atomic,
                          .config = TG_CONFIG(reduction, r, dtype, types[t], n, 1000, slots, 37),
                          .low = 0,
                          .high = types[t] == TG_BF16 ? 4 : 9,
                          .whole = true,
                          .seed = t};
            run_case(&c, NULL);
        }
    }
}

/* Sums, maxima and minima along one axis by three plain loops. */
static bool allreduce_answer(const gpu_case *c, case_state *s) {
    int64_t v[6];
    static const char *const names[] = {"reduction", "dtype", "x", "y", "z", "axis"};
    for (int i = 0; i < 6; i++) {
        tg_config_get(&c->config, names[i], &v[i]);
    }
    int64_t dim[3] = {v[2], v[3], v[4]}, stride[3] = {1, v[2], v[2] * v[3]};
    int64_t threads = dim[0] * dim[1] * dim[2], type = v[1];
    size_t size = (size_t)type_bytes(type);
    for (int64_t i = 0; i < 2 * threads; i++) {
        int64_t t = i % threads, along = t / stride[v[5]] % dim[v[5]], first = i - along * stride[v[5]];
        double want = 0.0;
        for (int64_t j = 0; j < dim[v[5]]; j++) {
            value x = {type, 0};
            memcpy(&x.bits, s->input[0] + (size_t)(first + j * stride[v[5]]) * size, size);
            double y = value_as_real(x);
            want = j == 0 ? y : v[0] == TG_SUM ? want + y : v[0] == TG_MAX ? fmax(want, y) : fmin(want, y);
        }
        value got = {type, 0};
        memcpy(&got.bits, s->gpu[1] + (size_t)i * size, size);
        if (value_as_real(got) != want) {
            return false;
        }
    }
    return true;
}

static void test_allreduce(void) {
    static const int64_t sizes[] = {1, 3, 20, 31, 32, 33, 48, 60, 64, 96, 128, 1000};
    static const int64_t types[] = {TG_I32, TG_F32, TG_F16, TG_F64, TG_BF16, TG_I64, TG_U32};
    family("allreduce along x, y, z");
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        for (int axis = 0; axis < 3; axis++) {
            for (int64_t other = 1; other <= 8; other = other == 1 ? 2 : other == 2 ? 3 : other * 2 + 2) {
                if (sizes[n] * other > 1024) {
                    continue;
                }
                int64_t dim[3] = {1, 1, 1};
                dim[axis] = sizes[n];
                dim[(axis + 2) % 3] = other; /* the axis before it, so that the stride is not 1 */
                if (dim[2] > 64) {
                    continue; /* CUDA's limit on z */
                }
                size_t pick = (n + (size_t)axis + (size_t)other);
                gpu_case c = {.name = "gpu_allreduce",
                              .build = gpu_allreduce,
                              .config = TG_CONFIG(reduction, 1 + (int)(pick % 3), dtype,
                                                  types[pick % (sizeof types / sizeof *types)], x, dim[0], y,
                                                  dim[1], z, dim[2], axis, axis),
                              .low = 0,
                              .high = 2,
                              .whole = true,
                              .seed = pick};
                run_case(&c, allreduce_answer);
                c.config =
                    TG_CONFIG(reduction, TG_SUM, dtype, TG_F32, x, dim[0], y, dim[1], z, dim[2], axis, axis);
                run_case(&c, allreduce_answer);
            }
        }
    }
}

static void test_vectorized(void) {
    static const int64_t types[] = {TG_I8, TG_U16, TG_F16, TG_BF16, TG_F32, TG_I64, TG_F64};
    family("vectorized");
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (int64_t bytes = 16; bytes <= 96; bytes += 16) {
            gpu_case c = {.name = "gpu_vectorized",
                          .build = gpu_vectorized,
                          .config =
                              TG_CONFIG(dtype, types[t], rows, 77, width, bytes * 8 / tg_bits(types[t])),
                          .low = -50,
                          .high = 50,
                          .whole = true,
                          .seed = t + (uint64_t)bytes};
            run_case(&c, NULL);
        }
    }
}

static void test_shapes(void) {
    family("extents, shared, views");
    static const int64_t rows[] = {0, 1, 3, 4, 5, 1000};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        gpu_case c = {.name = "gpu_extent",
                      .build = gpu_extent,
                      .config = TG_CONFIG(width, 100),
                      .extent = rows[r],
                      .scalar = 1.5,
                      .low = -1,
                      .high = 1,
                      .seed = r};
        run_case(&c, NULL);
    }
    static const int64_t words[] = {100, 12288, 12289, 25600, 57344};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        gpu_case c = {.name = "gpu_large_shared",
                      .build = gpu_large_shared,
                      .config = TG_CONFIG(words, words[w]),
                      .low = -1e6,
                      .high = 1e6,
                      .seed = w};
        run_case(&c, NULL);
    }
    gpu_case view = {.name = "gpu_view",
                     .build = gpu_view,
                     .config = TG_CONFIG(n, 1000),
                     .low = 0,
                     .high = 4e9,
                     .seed = 3};
    run_case(&view, NULL);
    gpu_case divergence = {.name = "gpu_divergence",
                           .build = gpu_divergence,
                           .config = TG_CONFIG(n, 1000),
                           .low = -5,
                           .high = 5,
                           .seed = 4};
    run_case(&divergence, NULL);
}

/* Kernels of the other tests, each in twelve sizes where it has sizes. */
static void test_cases(void) {
    static const int64_t threads[] = {1, 31, 32, 48, 96, 256}, widths[] = {1, 7, 8, 37, 64};
    family("small kernels of all kinds");
    for (int i = 0; i < gpu_nentries; i++) {
        for (uint64_t j = 0; j < 12; j++) {
            gpu_case c = {.name = gpu_entries[i].name,
                          .build = gpu_entries[i].build,
                          .config = gpu_entries[i].config,
                          .extent = (int64_t)j,
                          .scalar = 3,
                          .low = 0,
                          .high = 9,
                          .whole = true,
                          .seed = j};
            const int64_t other[] = {threads[j % 6], widths[j % 5], (int64_t)j % 5};
            const char *const name[] = {"threads", "width", "stages"};
            for (int k = 0; k < 3 && j > 0; k++) { /* the first as it stands */
                if (tg_config_get(&c.config, name[k], NULL)) {
                    tg_config_set(&c.config, name[k], other[k]);
                }
            }
            run_case(&c, NULL);
        }
    }
}

static void expect(const char *what, bool holds) {
    if (holds) {
        passed++;
    } else {
        printf("  FAILED %s: %s\n", what, tg_error());
        family_good = false;
        failed++;
    }
}

/* What a launch refuses, and what a failed check() reports. */
static void test_rules(void) {
    family("launch rules and checks");
    enum { N = 256 };
    void *memory = NULL;
    expect("memory", device_alloc(gpu, 2 * N * sizeof(int32_t), &memory) == TG_OK);
    char *bytes = memory;

    tg_jit *jit = tg_jit_new("gpu_check", gpu_check, NULL, 0);
    tg_arg y = tg_arg_pointer(memory);
    expect("a check that holds", tg_launch(jit, TG_CONFIG(n, N, bad, -1), NULL, 1, &y) == TG_OK &&
                                     device_synchronize(gpu, NULL) == TG_OK &&
                                     tg_launch(jit, TG_CONFIG(n, N, bad, -1), NULL, 1, &y) == TG_OK);
    bool is_launched = tg_launch(jit, TG_CONFIG(n, N, bad, 77), NULL, 1, &y) == TG_OK;
    bool is_alive = device_synchronize(gpu, NULL) == TG_OK;
    int next = tg_launch(jit, TG_CONFIG(n, N, bad, 77), NULL, 1, &y);
    expect("a check that fails ends normally", is_launched && is_alive);
    expect("a check that fails is reported with its place", next == TG_EKERNEL &&
                                                                strstr(tg_error(), "element is allowed") &&
                                                                strstr(tg_error(), "gpu_kernels.c"));
    y = tg_arg_pointer(bytes + 1);
    expect("a misaligned pointer", tg_launch(jit, TG_CONFIG(n, N, bad, -1), NULL, 1, &y) == TG_EARG);
    tg_jit_free(jit);

    jit = tg_jit_new("gpu_large_shared", gpu_large_shared, NULL, 0);
    tg_arg both[2] = {tg_arg_pointer(bytes), tg_arg_pointer(bytes + 4)};
    expect("an output that overlaps an input",
           tg_launch(jit, TG_CONFIG(words, 100), NULL, 2, both) == TG_EARG && strstr(tg_error(), "overlap"));
    both[1] = tg_arg_pointer(bytes + N * sizeof(int32_t));
    expect("buffers side by side", tg_launch(jit, TG_CONFIG(words, 100), NULL, 2, both) == TG_OK);
    tg_kernel_info info;
    expect("tg_info", tg_info(jit, TG_CONFIG(words, 100), &info) == TG_OK && info.registers > 0 &&
                          info.shared_bytes == 400 && info.blocks_per_sm > 0 && info.threads[0] == 256);
    expect("tg_prepare", tg_prepare(jit, TG_CONFIG(words, 200), 0) == TG_OK);
    expect("no such device", tg_prepare(jit, TG_CONFIG(words, 200), 99) != TG_OK);
    tg_jit_free(jit);

    jit = tg_jit_new("gpu_large_scalar", gpu_large_scalar, NULL, 0);
    const tg_arg large[2] = {tg_arg_uint(UINT64_MAX - 1), tg_arg_pointer(bytes)};
    uint64_t seen = 0;
    expect("a scalar above 2^63", tg_launch(jit, (tg_config){0}, NULL, 2, large) == TG_OK &&
                                      device_get(gpu, &seen, bytes, sizeof seen) == TG_OK &&
                                      seen == UINT64_MAX - 1);
    tg_jit_free(jit);
    device_free(gpu, memory);
}

/* ---- dependent launches -------------------------------------------------------------------------------- */

enum { CHAIN_N = 1000, CHAIN_ROUNDS = 40, CHAIN_TRIPS = 20000 };

/* Rounds of x = a, late; y = 3 x + weight; a = y, late: whoever does not wait reads what was there before. */
typedef struct {
    tg_jit *late, *chain;
    launch_kernel *instead; /* of the chain; NULL */
    void *a, *x, *y, *weight, *stream;
} chain;

static int chain_launch(const chain *c, tg_jit *jit, int n, const tg_arg *args) {
    return jit == c->chain && c->instead ? launch_run(c->instead, c->stream, n, args)
                                         : tg_launch(jit, TG_CONFIG(n, CHAIN_N), c->stream, n, args);
}

static int chain_rounds(const chain *c) {
    const tg_arg there[] = {tg_arg_uint(0), tg_arg_int(CHAIN_TRIPS), tg_arg_pointer(c->a),
                            tg_arg_pointer(c->x)};
    const tg_arg back[] = {tg_arg_uint(0), tg_arg_int(CHAIN_TRIPS), tg_arg_pointer(c->y),
                           tg_arg_pointer(c->a)};
    const tg_arg on[] = {tg_arg_pointer(c->weight), tg_arg_pointer(c->x), tg_arg_pointer(c->y)};
    int code = TG_OK;
    for (int i = 0; i < CHAIN_ROUNDS && !code; i++) {
        code = chain_launch(c, c->late, 4, there);
        code = code ? code : chain_launch(c, c->chain, 3, on);
        code = code ? code : chain_launch(c, c->late, 4, back);
    }
    return code;
}

/* The same in a graph. */
static int chain_graph(const chain *c) {
    const api_driver *d = api_driver_open();
    api_graph graph;
    api_graph_exec replay;
    if (d->capture_begin(c->stream, API_CAPTURE_RELAXED)) {
        return TG_EDRIVER;
    }
    const int code = chain_rounds(c);
    if (d->capture_end(c->stream, &graph) || code || d->graph_instantiate(&replay, graph, 0)) {
        return code ? code : TG_EDRIVER;
    }
    const unsigned failed_here = d->graph_launch(replay, c->stream) || d->stream_synchronize(c->stream);
    d->graph_exec_destroy(replay);
    d->graph_destroy(graph);
    return failed_here ? TG_EDRIVER : TG_OK;
}

/* How many elements are wrong after one run; -1 when it failed. */
static int chain_wrong(const chain *c, int (*run)(const chain *c)) {
    static uint32_t a[CHAIN_N], weight[CHAIN_N], got[CHAIN_N];
    for (uint32_t i = 0; i < CHAIN_N; i++) {
        a[i] = i * 2654435761u;
        weight[i] = i * 40503u + 7;
    }
    if (device_put(gpu, c->a, a, sizeof a) || device_put(gpu, c->weight, weight, sizeof weight) ||
        device_fill(gpu, c->x, 0xa5, sizeof a) || device_fill(gpu, c->y, 0x5a, sizeof a) || run(c) != TG_OK ||
        device_synchronize(gpu, c->stream) || device_get(gpu, got, c->a, sizeof got)) {
        return -1;
    }
    int wrong = 0;
    for (int i = 0; i < CHAIN_N; i++) {
        for (int r = 0; r < CHAIN_ROUNDS; r++) {
            a[i] = 3 * a[i] + weight[i];
        }
        wrong += a[i] != got[i];
    }
    return wrong;
}

/* The chain's kernel without its wait: that this goes wrong shows that launches do overlap here. */
static int chain_without_wait(const chain *c, const target *t, launch_kernel **out) {
    const tg_config config = TG_CONFIG(n, CHAIN_N);
    const pipeline_input input = {.name = "gpu_chain", .build = gpu_chain, .config = &config};
    const pipeline_options how = {.target = t, .dependent = true};
    static pipeline_result made; /* its plan is borrowed by the kernel */
    (void)c;
    int code = pipeline_run(&input, &how, &made);
    char *wait = code ? NULL : strstr(made.cuda.text.s, "    grid_wait();");
    if (wait) {
        memset(wait, ' ', strlen("    grid_wait();"));
        const nvrtc_request request = {
            .name = "gpu_chain", .text = made.cuda.text.s, .target = t->name, .no_contraction = true};
        code = jit_load_text(gpu, &request, made.plan, out);
    }
    return wait ? code : TG_EKERNEL;
}

static void test_dependent(void) {
    device_info info;
    chain c = {.late = tg_jit_new("gpu_late_copy", gpu_late_copy, NULL, 0),
               .chain = tg_jit_new("gpu_chain", gpu_chain, NULL, 0)};
    family("dependent launches");
    const bool is_known = device_describe(device_ordinal(gpu), &info) == TG_OK;
    const target *t = is_known ? target_for_device(info.major, info.minor) : NULL;
    if (!t || !t->dependent_launch) {
        printf("  this GPU has none\n");
        return;
    }
    void **const all[] = {&c.a, &c.x, &c.y, &c.weight};
    bool is_ready = device_stream_new(gpu, &c.stream) == TG_OK;
    for (int i = 0; i < 4; i++) {
        is_ready = is_ready && device_alloc(gpu, CHAIN_N * 4, all[i]) == TG_OK;
    }
    expect("memory", is_ready);
    tg_jit_dependent(c.late, true);
    tg_jit_dependent(c.chain, true);
    expect("preparing", tg_prepare(c.late, TG_CONFIG(n, CHAIN_N), 0) == TG_OK &&
                            tg_prepare(c.chain, TG_CONFIG(n, CHAIN_N), 0) == TG_OK);
    expect("a chain of dependent launches", chain_wrong(&c, chain_rounds) == 0);
    expect("the same in a graph", chain_wrong(&c, chain_graph) == 0);
    expect("a text without its wait loads", chain_without_wait(&c, t, &c.instead) == TG_OK);
    expect("without the wait it goes wrong", c.instead && chain_wrong(&c, chain_rounds) > 0);
    launch_unload(c.instead);
    for (int i = 0; i < 4; i++) {
        device_free(gpu, *all[i]);
    }
    device_stream_free(gpu, c.stream);
    tg_jit_free(c.late);
    tg_jit_free(c.chain);
}

/* ---- the timer ----------------------------------------------------------------------------------------- */

typedef struct {
    void *from, *to;
    size_t bytes;
} copied;

static int copy_within(void *user, int set, void *stream) {
    const copied *c = user;
    (void)set;
    const api_driver *driver = api_driver_open();
    return driver->memory_copy((api_address)(uintptr_t)c->to, (api_address)(uintptr_t)c->from, c->bytes,
                               stream)
               ? TG_EDRIVER
               : TG_OK;
}

/* Microseconds; 0 when it could not be measured. */
static double ceiling_us(bench_timer *timer, double bytes, bench_ceiling_kind kind) {
    bench_ceilings *c = NULL;
    tg_bench_figures f = {0};
    const char *variant;
    if (bench_ceilings_open(timer, gpu, bytes, &c) == TG_OK) {
        bench_ceiling_time(c, kind, NULL, &f, &variant);
    }
    bench_ceilings_close(c);
    return f.median_us;
}

static bool is_within(double a, double b, double share) {
    return a > 0.0 && b > 0.0 && fabs(a - b) <= share * b;
}

static void test_timer(void) {
    enum { MB = 1 << 20 };
    copied c = {.bytes = 8 * MB};
    bench_timer *timer = NULL;
    tg_bench_figures hot = {0}, cold = {0};
    const tg_bench_options how_hot = {.mode = TG_BENCH_LAUNCHES}, how_cold = {.mode = TG_BENCH_COLD};
    family("timer");
    expect("a timer", bench_open(gpu, &timer) == TG_OK && device_alloc(gpu, c.bytes, &c.from) == TG_OK &&
                          device_alloc(gpu, c.bytes, &c.to) == TG_OK);
    expect("hot and cold copies are timed",
           bench_calls(timer, copy_within, &c, 1, &how_hot, &hot) == TG_OK &&
               bench_calls(timer, copy_within, &c, 1, &how_cold, &cold) == TG_OK);
    expect("what the cache holds is faster", hot.median_us > 0.0 && hot.median_us < cold.median_us);
    const double half = ceiling_us(timer, 512.0 * MB, BENCH_READ),
                 whole = ceiling_us(timer, 1024.0 * MB, BENCH_READ);
    expect("twice the bytes take twice as long", is_within(whole, 2.0 * half, 0.05));
    const double kernel = ceiling_us(timer, 2048.0 * MB, BENCH_COPY),
                 driver = ceiling_us(timer, 2048.0 * MB, BENCH_DRIVER_COPY);
    expect("a copy kernel is as fast as the driver's copy", is_within(kernel, driver, 0.15));
    device_free(gpu, c.from);
    device_free(gpu, c.to);
    bench_close(timer);
}

/* ---- the tuner in a program ---------------------------------------------------------------------------- */

enum { TUNED_N = 1 << 20 };

typedef struct {
    void *x, *y;
    uint32_t got[TUNED_N], sent[TUNED_N];
} tuned_arrays;

static int wipe_tuned(void *user) {
    const tuned_arrays *a = user;
    return device_fill(gpu, a->y, 0xff, sizeof a->got);
}

static bool is_tuned_right(void *user, const tg_config *config) {
    tuned_arrays *a = user;
    (void)config;
    bool is_right = device_get(gpu, a->got, a->y, sizeof a->got) == TG_OK;
    for (int i = 0; i < TUNED_N && is_right; i++) {
        is_right = a->got[i] == a->sent[i] + 1;
    }
    return is_right;
}

/* Some right, some wrong, one that the kernel refuses. */
static void test_tune(void) {
    static tuned_arrays a;
    const tg_config configs[] = {TG_CONFIG(width, 32),           TG_CONFIG(width, 128),
                                 TG_CONFIG(width, 256, step, 2), TG_CONFIG(width, 512),
                                 TG_CONFIG(width, 1024),         TG_CONFIG(width, 64, step, 0)};
    const tg_tune_options how = {.calls = {.reset = wipe_tuned, .is_right = is_tuned_right, .user = &a}};
    tg_tune_result best = {0};
    int64_t step = 1;
    family("tune");
    for (uint32_t i = 0; i < TUNED_N; i++) {
        a.sent[i] = i * 2654435761u;
    }
    expect("arrays", device_alloc(gpu, sizeof a.sent, &a.x) == TG_OK &&
                         device_alloc(gpu, sizeof a.got, &a.y) == TG_OK &&
                         device_put(gpu, a.x, a.sent, sizeof a.sent) == TG_OK);
    const tg_arg args[] = {tg_arg_pointer(a.x), tg_arg_pointer(a.y)};
    tg_jit *jit = tg_jit_new("gpu_tunable", gpu_tunable, NULL, 0);
    const int code = tg_tune(jit, TG_CONFIG(n, TUNED_N), 6, configs, 2, args, &how, &best);
    expect("tg_tune finds right ones", code == TG_OK && best.tried == 6 && best.right == 3);
    tg_config_get(&best.config, "step", &step);
    expect("the best is one of them", step == 1 && best.figures.median_us > 0.0);
    tg_jit_free(jit);
    device_free(gpu, a.x);
    device_free(gpu, a.y);
}

int main(void) {
    if (device_open(0, &gpu) != TG_OK || device_enter(gpu) != TG_OK) {
        printf("no GPU here (%s): nothing was run\n", tg_error());
        return 3;
    }
    test_operators();
    test_casts();
    test_atomics();
    test_allreduce();
    test_vectorized();
    test_shapes();
    test_cases();
    test_rules();
    test_dependent();
    test_timer();
    test_tune();
    family(NULL);
    device_leave(gpu);
    device_close(gpu);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
