/* bench_jit.c -- `tegula bench --jit`: what it costs to come from a builder to a cubin; needs no GPU.
 *
 *     build    builder, lowering, printing, launch plan            microseconds
 *     NVRTC    the compiler alone, on the same text                milliseconds
 *     cold     everything, nothing cached, written to disk         milliseconds
 *     disk     a new tg_jit, the image on disk, less `build`       microseconds
 *     memory   the same tg_jit again                               nanoseconds
 *
 * NVRTC alone and cold take turns, and take turns at being first, so that a machine that slows down slows both; their
 * ratio is the median of the ratios of neighbours.  The disk cache is a new folder; NVRTC's own cache is off. */
#define _DEFAULT_SOURCE /* mkdtemp, wait4 */
#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/jit.h"
#include "tool/child.h"
#include "tool/lowering_limit.h"
#include "tool/progress.h"
#include "tool/report.h"
#include "tool/subject.h"
#include "tool/tool.h"
#include "tool/verb_bench.h"

enum {
    BUILDS = 200,
    COMPILES = 11,
    DISPUTED_COMPILES = 45,
    DISK_HITS = 50,
    BATCHES = 200,
    BATCH = 500,
    MAX_SAMPLES = 1000
};

static const double most_build_share = 0.03, most_cold_share = 1.10, most_memory_ns = 200,
                    most_disk_us = 1000;
static const long most_library = 1000000, most_emit_kib = 32 * 1024;

typedef struct figures {
    const char *kernel;
    int most_build_us;
    double build_us, nvrtc_ms, cold_ms, cold_share, disk_us, memory_ns;
} figures;

typedef struct jit_bench {
    const options *o;
    int n;
    figures *item;
    long library_bytes, emit_kib; /* -1: not known */
    bool has_nvrtc;
    char folder[PATH_MAX];
} jit_bench;

/* ---- samples ------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *samples, int n) {
    qsort(samples, (size_t)n, sizeof *samples, by_size);
    return n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
}

static int repeats(const options *o, int usual) {
    return o->repeat == 0 ? usual : o->repeat;
}

/* ---- one kernel ---------------------------------------------------------------------------------------- */

static int time_build(const options *o, const subject *s, figures *f) {
    double samples[MAX_SAMPLES];
    const int n = repeats(o, BUILDS);
    const pipeline_input input = {.name = s->kernel->name, .build = s->kernel->build, .config = &s->config};
    const pipeline_options how = {.target = s->target};
    for (int i = 0; i < n; i++) {
        pipeline_result result = {0};
        const double began = progress_clock();
        const int code = pipeline_run(&input, &how, &result);
        samples[i] = (progress_clock() - began) * 1e6;
        pipeline_free(&result);
        if (code) {
            return tool_fail_code(code, s->kernel->name);
        }
    }
    f->build_us = median(samples, n);
    return STATUS_GOOD;
}

static int compile_alone(const subject *s, double *ms) {
    const nvrtc_request request = {
        .name = s->kernel->name, .text = s->result.cuda.text.s, .target = s->target->name};
    nvrtc_result result;
    const double began = progress_clock();
    const int code = nvrtc_compile(&request, &result);
    *ms = (progress_clock() - began) * 1e3;
    nvrtc_free(&result);
    return code;
}

/* A new tg_jit asks once. */
static int ask_once(const subject *s, double *seconds) {
    jit_compiled compiled;
    const double began = progress_clock();
    tg_jit *jit = tg_jit_new(s->kernel->name, s->kernel->build, NULL, 0);
    const int code = jit ? jit_compile(jit, &s->config, s->target->name, &compiled) : TG_ENOMEM;
    *seconds = progress_clock() - began;
    tg_jit_free(jit);
    return code;
}

static int compile_cold(const subject *s, double *ms) {
    if (image_cache()) {
        cache_clear(image_cache());
    }
    const int code = ask_once(s, ms);
    *ms *= 1e3;
    return code;
}

typedef struct pairs {
    int n;
    double alone[MAX_SAMPLES], cold[MAX_SAMPLES], share[MAX_SAMPLES];
} pairs;

/* Pairs until there are n, each the other way round than the one before. */
static int add_compiles(const subject *s, int n, pairs *c) {
    int code = TG_OK;
    for (int i = c->n; i < n && !code; i++) {
        code = i % 2 ? compile_cold(s, &c->cold[i]) : compile_alone(s, &c->alone[i]);
        code = code ? code : i % 2 ? compile_alone(s, &c->alone[i]) : compile_cold(s, &c->cold[i]);
        c->share[i] = c->cold[i] / c->alone[i];
    }
    c->n = n;
    return code;
}

static double median_of(const double *samples, int n) {
    double copy[MAX_SAMPLES];
    memcpy(copy, samples, sizeof *copy * (size_t)n);
    return median(copy, n);
}

/* One compile takes long and is disturbed easily: where a few tell of too large a share, more of them decide. */
static int time_compiles(const options *o, const subject *s, figures *f) {
    pairs c = {0};
    int code = compile_alone(s, &c.alone[0]); /* warm-up */
    code = code ? code : add_compiles(s, repeats(o, COMPILES), &c);
    if (!code && o->repeat == 0 && median_of(c.share, c.n) > most_cold_share) {
        code = add_compiles(s, DISPUTED_COMPILES, &c);
    }
    if (code) {
        return tool_fail_code(code, s->kernel->name);
    }
    f->nvrtc_ms = median_of(c.alone, c.n);
    f->cold_ms = median_of(c.cold, c.n);
    f->cold_share = median_of(c.share, c.n);
    return STATUS_GOOD;
}

static int time_disk(const options *o, const subject *s, figures *f) {
    double samples[MAX_SAMPLES];
    const int n = repeats(o, DISK_HITS);
    for (int i = 0; i < n; i++) {
        const int code = ask_once(s, &samples[i]);
        samples[i] = samples[i] * 1e6 - f->build_us;
        if (code) {
            return code;
        }
    }
    f->disk_us = median(samples, n);
    return TG_OK;
}

/* In batches, because one hit is shorter than a look at the clock. */
static int time_memory(const subject *s, figures *f) {
    double samples[BATCHES];
    jit_compiled compiled;
    tg_jit *jit = tg_jit_new(s->kernel->name, s->kernel->build, NULL, 0);
    int code = jit ? jit_compile(jit, &s->config, s->target->name, &compiled) : TG_ENOMEM;
    for (int i = 0; i < BATCHES && !code; i++) {
        const double began = progress_clock();
        for (int j = 0; j < BATCH && !code; j++) {
            code = jit_compile(jit, &s->config, s->target->name, &compiled);
        }
        samples[i] = (progress_clock() - began) * 1e9 / BATCH;
    }
    tg_jit_free(jit);
    f->memory_ns = code ? 0 : median(samples, BATCHES);
    return code;
}

static int time_hits(const options *o, const subject *s, figures *f) {
    const unsigned compiles = image_compiles();
    int code = time_disk(o, s, f);
    code = code ? code : time_memory(s, f);
    if (code) {
        return tool_fail_code(code, s->kernel->name);
    }
    if (image_compiles() != compiles) {
        return tool_fail(STATUS_WRONG, "%s was compiled again where the disk cache should have hit",
                         s->kernel->name);
    }
    return STATUS_GOOD;
}

static int time_kernel(jit_bench *b, const gallery *g, const operand *which) {
    const pipeline_options how = {0};
    figures *f = &b->item[b->n];
    options quiet = *b->o;
    subject s;
    quiet.quiet = true;
    int status = subject_open(b->o, g, which, &s);
    status = status ? status : subject_choose(&quiet, "a100", &s);
    status = status ? status : subject_build(b->o, &how, &s);
    f->kernel = s.kernel ? s.kernel->name : which->name;
    f->most_build_us = s.kernel ? lowering_limit_us(s.kernel->record) : LOWERING_OTHER_US;
    status = status ? status : time_build(b->o, &s, f);
    if (b->has_nvrtc) {
        status = status ? status : time_compiles(b->o, &s, f);
        status = status ? status : time_hits(b->o, &s, f);
    }
    subject_free(&s);
    b->n += status == STATUS_GOOD;
    return status;
}

/* ---- sizes --------------------------------------------------------------------------------------------- */

/* What remains of an ELF file without symbols and debug information: up to the end of what is loaded, and the
 * table of sections. */
static long stripped_size(const char *path) {
    Elf64_Ehdr header;
    long end = -1;
    FILE *f = fopen(path, "rb");
    if (!f) {
        return -1;
    }
    if (fread(&header, sizeof header, 1, f) == 1 && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
        header.e_ident[EI_CLASS] == ELFCLASS64 && fseek(f, (long)header.e_phoff, SEEK_SET) == 0) {
        Elf64_Phdr part;
        for (int i = 0; i < header.e_phnum && fread(&part, sizeof part, 1, f) == 1; i++) {
            const long its_end = (long)(part.p_offset + part.p_filesz);
            end = part.p_type == PT_LOAD && its_end > end ? its_end : end;
        }
        end = end < 0 ? end : end + (long)sizeof(Elf64_Shdr) * header.e_shnum;
    }
    fclose(f);
    return end;
}

/* Beside the command, or in the lib folder beside its folder. */
static long find_library(void) {
    static const char *const places[] = {"libtegula.so", "../lib/libtegula.so", "../lib64/libtegula.so",
                                         "../lib/x86_64-linux-gnu/libtegula.so",
                                         "../lib/aarch64-linux-gnu/libtegula.so"};
    char self[PATH_MAX], path[PATH_MAX + 64];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    if (slash) {
        *slash = '\0';
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", self, places[i]);
        const long size = stripped_size(path);
        if (size >= 0) {
            return size;
        }
    }
    return -1;
}

/* The peak of a whole `tegula emit`, its child process included. */
static long emit_memory(const char *kernel) {
    struct rusage usage;
    int status = 0;
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "tegula", "emit", kernel, "-q", "-o", "/dev/null", (char *)NULL);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status != 0) {
        return -1;
    }
    return usage.ru_maxrss;
}

/* ---- what is printed ----------------------------------------------------------------------------------- */

typedef struct verdict {
    const char *what;
    double value, most;
    const char *kernel; /* the worst */
} verdict;

typedef double measure(const figures *f);

static double build_share(const figures *f) {
    return f->build_us / f->nvrtc_ms / 10;
}

static double cold_share(const figures *f) {
    return f->cold_share;
}

static double disk_time(const figures *f) {
    return f->disk_us;
}

static double memory_time(const figures *f) {
    return f->memory_ns;
}

static verdict worst(const jit_bench *b, const char *what, measure *of, double most) {
    verdict v = {what, of(&b->item[0]), most, b->item[0].kernel};
    for (int i = 1; i < b->n; i++) {
        if (of(&b->item[i]) > v.value) {
            v.value = of(&b->item[i]);
            v.kernel = b->item[i].kernel;
        }
    }
    return v;
}

/* Of the kernels that have this limit; false without any. */
static bool worst_build(const jit_bench *b, const char *what, int most_us, verdict *v) {
    *v = (verdict){what, 0, most_us, NULL};
    for (int i = 0; i < b->n; i++) {
        const figures *f = &b->item[i];
        if (f->most_build_us == most_us && (!v->kernel || f->build_us > v->value)) {
            v->value = f->build_us;
            v->kernel = f->kernel;
        }
    }
    return v->kernel != NULL;
}

enum { MAX_VERDICTS = 8 };

static int judge(const jit_bench *b, verdict *v) {
    int n = 0;
    n += worst_build(b, "build + lower + print of a GEMV, us", LOWERING_GEMV_US, &v[n]);
    n += worst_build(b, "build + lower + print of others, us", LOWERING_OTHER_US, &v[n]);
    if (b->n && b->has_nvrtc) {
        v[n++] = worst(b, "build, percent of NVRTC", build_share, most_build_share * 100);
        v[n++] = worst(b, "cold / NVRTC alone", cold_share, most_cold_share);
        v[n++] = worst(b, "disk hit less build, us", disk_time, most_disk_us);
        v[n++] = worst(b, "memory hit, ns", memory_time, most_memory_ns);
    }
    if (b->library_bytes >= 0) {
        v[n++] = (verdict){"libtegula stripped, bytes", (double)b->library_bytes, (double)most_library, ""};
    }
    if (b->emit_kib >= 0) {
        v[n++] = (verdict){"peak memory of emit, KiB", (double)b->emit_kib, (double)most_emit_kib, ""};
    }
    return n;
}

static void print_table(const jit_bench *b, text *out) {
    text_print(out, "%-32s %9s %9s %7s %9s %7s %9s %9s\n", "kernel", "build us", "NVRTC ms", "%", "cold ms",
               "ratio", "disk us", "memory ns");
    for (int i = 0; i < b->n; i++) {
        const figures *f = &b->item[i];
        text_print(out, "%-32s %9.1f", f->kernel, f->build_us);
        if (b->has_nvrtc) {
            text_print(out, " %9.2f %7.2f %9.2f %7.3f %9.1f %9.1f", f->nvrtc_ms, build_share(f), f->cold_ms,
                       cold_share(f), f->disk_us, f->memory_ns);
        }
        text_add(out, "\n");
    }
}

static void print_verdicts(const verdict *v, int n, text *out) {
    for (int i = 0; i < n; i++) {
        text_print(out, "%-6s %-36s %12.2f  (at most %.10g) %s\n", v[i].value <= v[i].most ? "ok" : "FAILED",
                   v[i].what, v[i].value, v[i].most, v[i].kernel);
    }
}

static void print_json(const jit_bench *b, const verdict *v, int n, text *out) {
    json j = {.out = out};
    json_object(&j, NULL);
    json_array(&j, "kernels");
    for (int i = 0; i < b->n; i++) {
        const figures *f = &b->item[i];
        json_object(&j, NULL);
        json_string(&j, "kernel", f->kernel);
        json_real(&j, "build_us", f->build_us);
        if (b->has_nvrtc) {
            json_real(&j, "nvrtc_ms", f->nvrtc_ms);
            json_real(&j, "cold_ms", f->cold_ms);
            json_real(&j, "cold_share", f->cold_share);
            json_real(&j, "disk_us", f->disk_us);
            json_real(&j, "memory_ns", f->memory_ns);
        }
        json_end(&j);
    }
    json_end(&j);
    json_array(&j, "checks");
    for (int i = 0; i < n; i++) {
        json_object(&j, NULL);
        json_string(&j, "what", v[i].what);
        json_real(&j, "value", v[i].value);
        json_real(&j, "at_most", v[i].most);
        json_string(&j, "kernel", v[i].kernel);
        json_bool(&j, "good", v[i].value <= v[i].most);
        json_end(&j);
    }
    json_end(&j);
    json_end(&j);
}

static int print_all(const jit_bench *b) {
    verdict v[MAX_VERDICTS];
    text out = {0};
    const int n = judge(b, v);
    int status = STATUS_GOOD;
#if !defined TG_DEBUG /* the limits are those of a release build */
    for (int i = 0; i < n; i++) {
        status = v[i].value <= v[i].most ? status : STATUS_WRONG;
    }
#endif
    if (b->o->json) {
        print_json(b, v, n, &out);
    } else {
        print_table(b, &out);
        print_verdicts(v, n, &out);
    }
    const int written = report_text(b->o, &out);
    return written ? written : status;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* The disk cache is opened first, in a folder of its own; then the caches of others are turned off. */
static int open_caches(jit_bench *b) {
    const char *folder = getenv("TMPDIR");
    snprintf(b->folder, sizeof b->folder, "%s/tegula-bench-XXXXXX", folder && *folder ? folder : P_tmpdir);
    if (!mkdtemp(b->folder)) {
        return tool_fail(STATUS_LACKING, "no temporary folder %s", b->folder);
    }
    setenv("TEGULA_CACHE_DIR", b->folder, 1);
    image_cache();
    api_disable_caches();
    return STATUS_GOOD;
}

static void remove_caches(const jit_bench *b) {
    const char *const arguments[] = {"rm", "-rf", b->folder, NULL};
    text out = {0};
    child_program(arguments, true, &out);
    text_free(&out);
}

static int time_all(jit_bench *b, const gallery *g) {
    const options *o = b->o;
    progress bar;
    int status = STATUS_GOOD;
    const int n = o->noperands ? o->noperands : g->n;
    b->item = calloc((size_t)n + 1, sizeof *b->item);
    if (!b->item) {
        return tool_fail(STATUS_LACKING, "out of memory");
    }
    progress_begin(&bar, "bench --jit", o);
    for (int i = 0; i < n && !status; i++) {
        const operand each = {.name = o->noperands ? NULL : g->item[i].name};
        status = time_kernel(b, g, o->noperands ? &o->operands[i] : &each);
        progress_show(&bar, (double)(i + 1) / n);
    }
    progress_end(&bar);
    return status;
}

int bench_jit(const options *o, gallery *g) {
    if (o->repeat > MAX_SAMPLES) {
        return tool_fail(STATUS_FAULTY, "--repeat %d: with --jit at most %d", o->repeat, MAX_SAMPLES);
    }
    jit_bench *b = calloc(1, sizeof *b);
    if (!b) {
        return tool_fail(STATUS_LACKING, "out of memory");
    }
    b->o = o;
    b->library_bytes = find_library();
    b->emit_kib = g->n ? emit_memory(o->noperands ? o->operands[0].name : g->item[0].name) : -1;
    int status = open_caches(b);
    if (!status) {
        b->has_nvrtc = api_nvrtc_open("sm_80") != NULL;
        if (!b->has_nvrtc) {
            tool_fail(STATUS_LACKING, "%s: what NVRTC does is left out", tg_error());
        }
        status = time_all(b, g);
        status = status ? status : print_all(b);
        remove_caches(b);
    }
    const int lacking = b->has_nvrtc ? STATUS_GOOD : STATUS_LACKING;
    free(b->item);
    free(b);
    return status ? status : lacking;
}
