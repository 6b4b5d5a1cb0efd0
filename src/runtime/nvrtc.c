/* nvrtc.c -- see nvrtc.h. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/error.h"

enum { SLOW_COMPILE_MS = 500 };

/* ---- options ------------------------------------------------------------------------------------------- */

static void add_option(nvrtc_options *o, const char *option, const char *value) {
    snprintf(o->option[o->n++], NVRTC_OPTION_SIZE, "%s%s", option, value);
}

/* PTX is asked of the virtual architecture of the same number. */
static void add_target(nvrtc_options *o, const nvrtc_request *r) {
    char target[sizeof "compute" + 16];
    const char *number = strchr(r->target, '_');
    bool is_real = strncmp(r->target, "sm_", 3) == 0;
    snprintf(target, sizeof target, "%s%.16s",
             r->want_ptx && is_real ? "compute"
             : is_real              ? "sm"
                                    : "compute",
             number ? number : "");
    add_option(o, "-arch=", target);
}

nvrtc_options nvrtc_canonical_options(const nvrtc_request *r) {
    nvrtc_options o = {0};
    add_target(&o, r);
    add_option(&o, "--std=c++17", "");
    if (r->no_contraction) {
        add_option(&o, "-fmad=false", "");
    }
    if (r->has_line_info) {
        add_option(&o, "-lineinfo", "");
    }
    return o;
}

/* Options that do not change the image, and so stay out of keys.  Older compilers refuse what they do not
 * know. */
static void add_private_options(nvrtc_options *o, const api_nvrtc *api) {
    bool has_cache = api->major > 12 || api->minor >= 9;
    if (has_cache && api_caches_disabled()) {
        add_option(o, "-no-cache", "");
    }
}

/* ---- the log ------------------------------------------------------------------------------------------- */

/* Line n (from 1) of the text, without blanks around; its length through `length`. */
static const char *line_of(const char *text, size_t n, size_t *length) {
    while (text && n-- > 1) {
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    *length = 0;
    if (text) {
        text += strspn(text, " \t");
        *length = strcspn(text, "\n");
        while (*length && strchr(" \t\r", text[*length - 1])) {
            --*length;
        }
    }
    return text;
}

/* "NAME.cu(31): rest" gives 31 and the rest; 0 when the line begins otherwise. */
static size_t place_in_text(const char *name, const char *line, const char **rest) {
    size_t n = strlen(name);
    if (strncmp(line, name, n) != 0 || strncmp(line + n, ".cu(", 4) != 0) {
        return 0;
    }
    char *end;
    unsigned long number = strtoul(line + n + 4, &end, 10);
    if (strncmp(end, "): ", 3) != 0) {
        return 0;
    }
    *rest = end + 3;
    return number;
}

static bool has_text(const char *line, const char *text, size_t n) {
    line += strspn(line, " \t");
    return strncmp(line, text, n) == 0;
}

/* NVRTC mostly shows the CUDA line itself, with a caret under it; where it does not, it is added. */
static void write_mapped(FILE *out, const nvrtc_request *r, size_t number, const char *message, int length) {
    const tg_loc *at = r->lines && number <= r->n_lines ? &r->lines[number - 1] : NULL;
    if (at && at->file) {
        fprintf(out, "%s:%d: %.*s\n  CUDA line %zu:\n", at->file, at->line, length, message, number);
    } else {
        fprintf(out, "%s.cu:%zu: %.*s\n", r->name, number, length, message);
    }
    size_t n;
    const char *text = line_of(r->text, number, &n);
    const char *after = message + length + (message[length] == '\n');
    if (text && n && !has_text(after, text, n)) {
        fprintf(out, "  %.*s\n", (int)n, text);
    }
}

char *nvrtc_map_log(const nvrtc_request *r, const char *log) {
    char *mapped = NULL;
    size_t size;
    FILE *out = open_memstream(&mapped, &size);
    if (!out) {
        return NULL;
    }
    while (*log) {
        int length = (int)strcspn(log, "\n");
        const char *rest;
        size_t number = place_in_text(r->name, log, &rest);
        if (number) {
            write_mapped(out, r, number, rest, length - (int)(rest - log));
        } else {
            fprintf(out, "%.*s\n", length, log);
        }
        log += length + (log[length] == '\n');
    }
    if (fclose(out) != 0) {
        free(mapped);
        return NULL;
    }
    size_t n = strlen(mapped);
    while (n && mapped[n - 1] == '\n') {
        mapped[--n] = '\0';
    }
    return mapped;
}

/* The program's log in DSL lines; NULL when empty or without memory. */
static char *read_log(const api_nvrtc *api, api_program program, const nvrtc_request *r) {
    size_t size = 0;
    if (api->log_size(program, &size) != 0 || size <= 1) {
        return NULL;
    }
    char *log = calloc(size + 1, 1);
    char *mapped = NULL;
    if (log && api->log(program, log) == 0) {
        mapped = nvrtc_map_log(r, log);
    }
    free(log);
    return mapped;
}

/* ---- compiling ----------------------------------------------------------------------------------------- */

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int failed(const api_nvrtc *api, const char *call, api_result code) {
    return error_set(TG_EINTERNAL, "%s (NVRTC %d.%d, %s): %s", call, api->major, api->minor, api->path,
                     api->error_string(code));
}

/* A log tells what the result code cannot; without one the code has to do. */
static int not_compiled(const api_nvrtc *api, const nvrtc_request *r, const nvrtc_result *result,
                        api_result code) {
    if (result->log) {
        return error_set(TG_EKERNEL, "%s", result->log);
    }
    return error_set(TG_EKERNEL, "%s does not compile for %s with NVRTC %d.%d (%s): %s", r->name, r->target,
                     api->major, api->minor, api->path, api->error_string(code));
}

static int fetch_image(const api_nvrtc *api, api_program program, const nvrtc_request *r,
                       nvrtc_result *result) {
    api_result (*size_of)(api_program, size_t *) = r->want_ptx ? api->ptx_size : api->cubin_size;
    api_result (*fetch)(api_program, char *) = r->want_ptx ? api->ptx : api->cubin;
    size_t size = 0;
    api_result code = size_of(program, &size);
    if (code != 0 || size == 0) {
        return code ? failed(api, "size of the image", code) : ERROR_BUG("NVRTC gave an empty image");
    }
    result->image = malloc(size);
    if (!result->image) {
        return error_set(TG_ENOMEM, "no memory for an image of %zu bytes", size);
    }
    result->size = size;
    code = fetch(program, result->image);
    return code ? failed(api, "fetching the image", code) : TG_OK;
}

static int compile_program(const api_nvrtc *api, api_program program, const nvrtc_request *r,
                           nvrtc_result *result) {
    nvrtc_options options = nvrtc_canonical_options(r);
    add_private_options(&options, api);
    const char *list[NVRTC_MAX_OPTIONS];
    for (int i = 0; i < options.n; i++) {
        list[i] = options.option[i];
    }
    api_result code = api->compile(program, options.n, list);
    result->log = read_log(api, program, r);
    return code ? not_compiled(api, r, result, code) : fetch_image(api, program, r, result);
}

/* The program is destroyed on every path. */
static int compile_text(const api_nvrtc *api, const nvrtc_request *r, nvrtc_result *result) {
    char file[256];
    snprintf(file, sizeof file, "%s.cu", r->name);
    api_program program = NULL;
    api_result code = api->create(&program, r->text, file, 0, NULL, NULL);
    if (code != 0) {
        return failed(api, "nvrtcCreateProgram", code);
    }
    int status = compile_program(api, program, r, result);
    api->destroy(&program);
    return status;
}

int nvrtc_compile(const nvrtc_request *r, nvrtc_result *result) {
    *result = (nvrtc_result){0};
    const api_nvrtc *api = api_nvrtc_open(r->target);
    if (!api) {
        return api_target_number(r->target) ? TG_ENOCOMPILER : TG_EARG;
    }
    double start = now_ms();
    int status = compile_text(api, r, result);
    result->milliseconds = now_ms() - start;
    if (status != TG_OK) {
        nvrtc_free(result);
    } else if (result->milliseconds > SLOW_COMPILE_MS) {
        error_log(TG_LOG_INFO, "compiled %s for %s in %.1f s", r->name, r->target,
                  result->milliseconds / 1e3);
    }
    return status;
}

void nvrtc_free(nvrtc_result *result) {
    free(result->image);
    free(result->log);
    *result = (nvrtc_result){0};
}
