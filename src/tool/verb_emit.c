/* verb_emit.c -- `tegula emit KERNEL`: what a kernel becomes, at any stage. */
#define _DEFAULT_SOURCE /* mkstemp, P_tmpdir */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/image.h"
#include "tool/child.h"
#include "tool/nearest.h"
#include "tool/report.h"
#include "tool/sidebyside.h"
#include "tool/source.h"
#include "tool/subject.h"
#include "tool/tool.h"

static const char default_gpu[] = "a100"; /* on every machine, so that everybody sees the same text */

/* ---- stages -------------------------------------------------------------------------------------------- */

enum { MAX_STAGES = 64 };

/* In the order of the pipeline. */
static int stage_names(const char **names) {
    int n = 0;
    names[n++] = "source";
    names[n++] = "tile";
    for (int i = 0; pipeline_pass(i) && n < MAX_STAGES - 6; i++) {
        names[n++] = pipeline_pass(i)->name;
    }
    names[n++] = "thread";
    names[n++] = "cuda";
    names[n++] = "ptx";
    names[n++] = "cubin";
    names[n++] = "sass";
    return n;
}

static int check_stage(const char *stage) {
    const char *names[MAX_STAGES];
    const int n = stage_names(names);
    text known = {0};
    for (int i = 0; i < n; i++) {
        if (strcmp(names[i], stage) == 0) {
            text_free(&known);
            return STATUS_GOOD;
        }
        text_print(&known, "%s%s", i ? ", " : "", names[i]);
    }
    tool_fail(STATUS_FAULTY, "unknown stage '%s'%s (known: %s)", stage, nearest_hint(stage, names, n),
              known.s);
    text_free(&known);
    return STATUS_FAULTY;
}

/* One stage of the pipeline, as it comes by. */
typedef struct wanted_stage {
    const char *name;
    text found;
    bool is_found;
} wanted_stage;

static void take_stage(const char *stage, const char *bytes, void *user) {
    wanted_stage *w = user;
    if (!w->is_found && strcmp(stage, w->name) == 0) {
        w->is_found = true;
        text_add(&w->found, bytes);
    }
}

/* ---- text ---------------------------------------------------------------------------------------------- */

static int emit_json(const options *o, const subject *s, const char *stage, const char *bytes) {
    text out = {0};
    json j = {.out = &out};
    json_object(&j, NULL);
    json_string(&j, "kernel", s->kernel->name);
    json_string(&j, "stage", stage);
    if (s->result.kernel) {
        const tg_kernel *k = s->result.kernel;
        json_string(&j, "target", s->target->name);
        json_object(&j, "config");
        for (int i = 0; i < k->nparams; i++) {
            json_value(&j, k->params[i].name, k->params[i].value);
        }
        json_end(&j);
    }
    json_string(&j, "text", bytes);
    json_end(&j);
    return report_text(o, &out);
}

static int emit_bytes(const options *o, const subject *s, const char *stage, const char *bytes, size_t size) {
    return o->json ? emit_json(o, s, stage, bytes) : report_write(o, bytes, size);
}

static int emit_source(const options *o, subject *s) {
    const tg_kernel_record *record = s->kernel->record;
    const source *lines = source_open(&s->memory, record->file);
    text out = {0};
    if (!lines) {
        return tool_fail(STATUS_LACKING, "the source of %s is not here: %s", s->kernel->name, record->file);
    }
    const int end = source_kernel_end(lines, record->line);
    for (int i = record->line; i <= end; i++) {
        if (o->lines) {
            text_print(&out, "%4d  ", i);
        }
        text_print(&out, "%s\n", source_line(lines, i));
    }
    const int status = emit_bytes(o, s, "source", out.s ? out.s : "", out.length);
    text_free(&out);
    return status;
}

static int emit_stage(const options *o, subject *s, const char *stage) {
    wanted_stage w = {.name = stage};
    const pipeline_options how = {
        .lineinfo = o->lineinfo, .lines = o->lines, .dump = take_stage, .dump_user = &w};
    int status = subject_build(o, &how, s);
    if (!status) {
        status = w.is_found ? emit_bytes(o, s, stage, w.found.s ? w.found.s : "", w.found.length)
                            : tool_fail(STATUS_WRONG, "the stage '%s' did not come by", stage);
    }
    text_free(&w.found);
    return status;
}

static int emit_cuda(const options *o, subject *s) {
    const cuda_print_options how = {.body_only = o->body || o->lines, .lineinfo = o->lineinfo && !o->lines};
    cuda_text printed = {0};
    text out = {0};
    int status;
    cuda_print(s->result.thread, &how, &printed);
    if (o->lines) {
        side_by_side(&printed, &s->memory, side_width(o), &out);
        status = emit_bytes(o, s, "cuda", out.s ? out.s : "", out.length);
    } else {
        status = emit_bytes(o, s, "cuda", printed.text.s ? printed.text.s : "", printed.text.length);
    }
    cuda_text_free(&printed);
    text_free(&out);
    return status;
}

/* ---- what NVRTC makes ---------------------------------------------------------------------------------- */

/* By way of the cache, as a launch would get it. */
static int compile(const options *o, const subject *s, bool want_ptx, const image **result) {
    const cuda_text *cuda = &s->result.cuda;
    const nvrtc_request request = {.name = s->kernel->name,
                                   .text = cuda->text.s,
                                   .target = s->target->name,
                                   .want_ptx = want_ptx,
                                   .has_line_info = o->lineinfo,
                                   .lines = cuda->line,
                                   .n_lines = (size_t)cuda->nlines};
    const int code = image_get(&request, result);
    if (code) {
        return tool_fail_code(code, s->kernel->name);
    }
    if (o->verbose) {
        const image *i = *result;
        fprintf(stderr, "NVRTC %s: %.1f ms%s, %zu bytes\n%s", i->notes.nvrtc, i->notes.compile_ms,
                i->origin == IMAGE_FROM_DISK ? " when it was put into the cache" : "", i->size,
                i->log ? i->log : "");
    }
    return STATUS_GOOD;
}

/* Whether it stands in $PATH or in the CUDA toolkit; its path. */
static const char *find_program(arena *a, const char *name) {
    const char *root = getenv("CUDA_HOME");
    const char *folders = getenv("PATH");
    root = root && *root ? root : getenv("CUDA_PATH");
    char *copy = arena_print(a, "%s%s%s/bin:/usr/local/cuda/bin", folders ? folders : "", folders ? ":" : "",
                             root && *root ? root : "/usr/local/cuda");
    char *rest = NULL;
    for (char *folder = strtok_r(copy, ":", &rest); folder; folder = strtok_r(NULL, ":", &rest)) {
        const char *path = arena_print(a, "%s/%s", folder, name);
        if (access(path, X_OK) == 0) {
            return path;
        }
    }
    return NULL;
}

static int disassemble(const options *o, subject *s, const image *cubin) {
    const char *nvdisasm = find_program(&s->memory, "nvdisasm");
    const char *program = nvdisasm ? nvdisasm : find_program(&s->memory, "cuobjdump");
    const char *folder = getenv("TMPDIR");
    if (!program) {
        return tool_fail(STATUS_LACKING, "neither nvdisasm nor cuobjdump was found (PATH, CUDA_HOME)");
    }
    char *path = arena_print(&s->memory, "%s/tegula-XXXXXX", folder && *folder ? folder : P_tmpdir);
    const int file = mkstemp(path);
    if (file < 0) {
        return tool_fail(STATUS_LACKING, "no temporary file %s", path);
    }
    child_remove_at_exit(path);
    const bool is_written = write(file, cubin->data, cubin->size) == (ssize_t)cubin->size;
    close(file);
    const char *const arguments[] = {program, nvdisasm ? "-c" : "-sass", path, NULL};
    text out = {0};
    int status = is_written ? child_program(arguments, true, &out) : 1;
    status = status ? tool_fail(STATUS_LACKING, "%s failed: %s", program, out.s ? out.s : "")
                    : emit_bytes(o, s, "sass", out.s ? out.s : "", out.length);
    text_free(&out);
    unlink(path);
    return status;
}

static int emit_compiled(const options *o, subject *s, const char *stage) {
    const image *result = NULL;
    const bool is_binary = strcmp(stage, "cubin") == 0;
    if (is_binary && (o->json || (!o->output && isatty(STDOUT_FILENO)))) {
        return tool_fail(STATUS_FAULTY, "a cubin is no text: give -o FILE");
    }
    int status = compile(o, s, strcmp(stage, "ptx") == 0, &result);
    if (!status && strcmp(stage, "sass") == 0) {
        status = disassemble(o, s, result);
    } else if (!status) {
        const size_t size = is_binary ? result->size : strlen(result->data);
        status = emit_bytes(o, s, stage, result->data, size);
    }
    image_release(result);
    image_settle();
    return status;
}

/* ---- the verb ------------------------------------------------------------------------------------------ */

static bool is_one_of(const char *stage, const char *a, const char *b, const char *c) {
    return strcmp(stage, a) == 0 || strcmp(stage, b) == 0 || strcmp(stage, c) == 0;
}

static int emit_subject(const options *o, subject *s, const char *stage) {
    const pipeline_options how = {.lineinfo = o->lineinfo};
    int status = STATUS_GOOD;
    if (strcmp(stage, "source") == 0) {
        return emit_source(o, s);
    }
    status = subject_choose(o, default_gpu, s);
    status = status ? status : subject_use_records_of_row(o, s);
    if (status) {
        return status;
    }
    const bool is_compiled = is_one_of(stage, "ptx", "cubin", "sass");
    if (!is_compiled && strcmp(stage, "cuda") != 0) {
        return emit_stage(o, s, stage);
    }
    status = subject_build(o, &how, s);
    if (status) {
        return status;
    }
    return is_compiled ? emit_compiled(o, s, stage) : emit_cuda(o, s);
}

static int emit(const options *o, gallery *g) {
    const char *stage = o->stage ? o->stage : "cuda";
    const operand *which;
    subject s;
    int status = subject_only(o, &which);
    status = status ? status : check_stage(stage);
    if (status) {
        return status;
    }
    status = subject_open(o, g, which, &s);
    status = status ? status : emit_subject(o, &s, stage);
    subject_free(&s);
    return status;
}

int verb_emit(const options *o) {
    return gallery_run(o, emit);
}
