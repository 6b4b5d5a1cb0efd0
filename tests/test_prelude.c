/* test_prelude.c -- the text before a kernel: every part with every line compiles, only what is used is there, and
 * the narrow floats of the CPU's stand-in (tests/host) convert as value.h says.
 *
 * Run from the project's root; works in a folder below the build folder. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "codegen/cuda_internal.h"
#include "runtime/api.h"
#include "runtime/nvrtc.h"

/* ---- parts --------------------------------------------------------------------------------------------- */

static arena memory;
static const thread_kernel kernel = {.name = "k", .memory = &memory};

/* The prelude for one part, or for all, with every tag. */
static cuda_text prelude_of(int part) {
    printer p = {.t = &kernel};
    cuda_text out = {0};
    for (int i = 0; i < PRELUDE_PARTS; i++) {
        for (int tag = TAG_NONE; (part < 0 || part == i) && tag < TAG_COUNT; tag++) {
            cuda_use(&p, (prelude_part)i, (prelude_tag)tag);
        }
    }
    cuda_prelude(&p, &out);
    return out;
}

static void compile(const cuda_text *prelude, int part, const char *architecture) {
    text all = {0};
    text_print(&all, "%sextern \"C\" __global__ void k() {}\n", prelude->text.s);
    const nvrtc_request request = {.name = "prelude", .text = all.s, .target = architecture};
    nvrtc_result result;
    cr_expect_eq(nvrtc_compile(&request, &result), TG_OK, "part %d for %s: %s", part, architecture,
                 tg_error());
    cr_expect_null(result.log, "part %d: %s", part, result.log);
    nvrtc_free(&result);
    text_free(&all);
}

Test(prelude, every_part_with_all_its_lines_compiles) {
    if (!api_nvrtc_open(NULL)) {
        cr_skip_test("no NVRTC here: %s", tg_error());
    }
    for (int part = -1; part < PRELUDE_PARTS; part++) {
        cuda_text prelude = prelude_of(part);
        if (part < 0) {
            compile(&prelude, part, "sm_80");
        }
        compile(&prelude, part, "sm_90a");
        cuda_text_free(&prelude);
    }
}

Test(prelude, only_lines_that_are_used_are_there) {
    printer p = {.t = &kernel};
    cuda_text out = {0};
    cuda_use(&p, PRELUDE_F16_OPERATORS, TAG_ADD);
    cuda_prelude(&p, &out);
    cr_expect(strstr(out.text.s, "operator+(f16 x, f16 y)"), "%s", out.text.s);
    cr_expect(strstr(out.text.s, "struct f16"), "%s", out.text.s);
    cr_expect(!strstr(out.text.s, "operator*"), "%s", out.text.s);
    cr_expect(!strstr(out.text.s, "f16(double"), "%s", out.text.s);
    cr_expect(!strstr(out.text.s, "struct bf16"), "%s", out.text.s);
    cr_expect(!strchr(out.text.s, '$') && !strstr(out.text.s, "\n?add"), "%s", out.text.s);
    cuda_text_free(&out);
}

Test(prelude, nothing_used_is_nothing_printed) {
    printer p = {.t = &kernel};
    cuda_text out = {0};
    cuda_prelude(&p, &out);
    cr_expect_eq(out.nlines, 0);
    cuda_text_free(&out);
}

/* ---- the CPU's stand-in -------------------------------------------------------------------------------- */

static char folder[400];

static void make_folder(void) {
    const char *build = getenv("TEGULA_BUILD");
    snprintf(folder, sizeof folder, "%s/prelude", build ? build : "build");
    mkdir(folder, 0777);
}

static FILE *open_file(const char *name, const char *mode) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, mode);
    cr_assert(f != NULL, "cannot open %s", path);
    return f;
}

static bool runs(const char *command) {
    char line[4096];
    snprintf(line, sizeof line, "%s >%s/log 2>&1", command, folder);
    return system(line) == 0;
}

static bool has_compiler(void) {
    make_folder();
    return runs("c++ --version");
}

Test(prelude, the_parts_without_ptx_compile_for_the_cpu) {
    if (!has_compiler()) {
        cr_skip_test("no C++ compiler");
    }
    cuda_text prelude = prelude_of(-1);
    FILE *f = open_file("all.cpp", "w");
    fprintf(f, "#include \"host_cuda.h\"\n%s", prelude.text.s);
    fclose(f);
    char command[1024];
    snprintf(command, sizeof command, "c++ -std=c++17 -Wall -Werror -fsyntax-only -Itests/host %s/all.cpp",
             folder);
    cr_expect(runs(command), "see %s/log", folder);
    cuda_text_free(&prelude);
}

/* Patterns that meet every exponent, ties, their neighbours, and the ends of the integers. */
static uint64_t pattern(int i) {
    static uint64_t state = 88172645463325252u;
    if (i < 65536) {
        return (uint64_t)i * 0x0001000100010001u; /* every f16 and bf16, and floats that tie */
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    switch (i % 4) {
    case 0:
        return state;
    case 1: /* a double near the narrow range */
        return (state & 0x800fffffffffffffu) | (uint64_t)(1023 - 30 + i / 4 % 50) << 52;
    case 2: /* an exact tie or one bit beside it */
        return ((state & 0x800ffc0000000000u) | (uint64_t)(1023 - 26 + i / 4 % 44) << 52) +
               (uint64_t)(i / 8 % 3) - 1;
    default: /* small integers of every length */
        return state >> (i / 4 % 64);
    }
}

enum { PATTERNS = 400000, RESULTS = 12 };

static uint32_t result_of(uint64_t bits, int i) {
    static const int64_t from[] = {TG_F64, TG_F32, TG_I64, TG_U64, TG_I32};
    if (i >= 10) {
        return (uint32_t)value_cast((value){i == 10 ? TG_F16 : TG_BF16, bits & 0xffff}, TG_F32, NULL).bits;
    }
    const int64_t type = from[i / 2];
    const value v = {type, type_bits(type) == 32 ? (uint32_t)bits : bits};
    return (uint32_t)value_cast(v, i % 2 ? TG_BF16 : TG_F16, NULL).bits;
}

static bool is_nan(uint32_t bits, int i) {
    const int64_t type = i >= 10 ? TG_F32 : i % 2 ? TG_BF16 : TG_F16;
    return isnan(value_as_real((value){type, bits}));
}

Test(prelude, the_narrow_floats_of_the_cpu_round_as_ours) {
    if (!has_compiler()) {
        cr_skip_test("no C++ compiler");
    }
    FILE *f = open_file("in", "wb");
    for (int i = 0; i < PATTERNS; i++) {
        const uint64_t bits = pattern(i);
        fwrite(&bits, sizeof bits, 1, f);
    }
    fclose(f);
    char command[2048];
    snprintf(command, sizeof command,
             "c++ -std=c++17 -O1 -Itests/host tests/host/host_conversions.cpp -o %s/conversions", folder);
    cr_assert(runs(command), "see %s/log", folder);
    snprintf(command, sizeof command, "%s/conversions <%s/in >%s/out", folder, folder, folder);
    cr_assert(system(command) == 0);

    FILE *in = open_file("in", "rb"), *out = open_file("out", "rb");
    uint64_t bits;
    uint32_t got[RESULTS];
    while (fread(&bits, sizeof bits, 1, in) == 1) {
        cr_assert(fread(got, sizeof got, 1, out) == 1);
        for (int i = 0; i < RESULTS; i++) {
            const uint32_t wanted = result_of(bits, i);
            cr_assert(got[i] == wanted || (is_nan(got[i], i) && is_nan(wanted, i)),
                      "conversion %d of %016llx: %x, wanted %x", i, (unsigned long long)bits,
                      (unsigned)got[i], (unsigned)wanted);
        }
    }
    fclose(in);
    fclose(out);
}
