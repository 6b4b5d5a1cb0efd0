/* verb_doctor.c -- `tegula doctor`: what was found on this machine, and what is wrong with it.
 *
 * Exit status 1 when something that the user set up is broken; a machine without a GPU is not. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build_id.h"
#include "runtime/api.h"
#include "runtime/cache.h"
#include "runtime/cublas.h"
#include "runtime/device.h"
#include "runtime/error.h"
#include "tool/child.h"
#include "tool/compile.h"
#include "tool/report.h"
#include "tool/tool.h"

static const char *const variables[] = {
    "TEGULA_CACHE_DIR", "TEGULA_CACHE_SIZE",    "TEGULA_NO_CACHE",
    "TEGULA_TUNED",     "TEGULA_DEVICES",       "TEGULA_NVRTC",
    "TEGULA_LIBCUDA",   "TEGULA_CUBLAS",        "TEGULA_DUMP",
    "TEGULA_DUMP_DIR",  "TEGULA_LOG",           "CUDA_HOME",
    "CUDA_PATH",        "CUDA_VISIBLE_DEVICES", "CUDA_CACHE_DISABLE",
    "XDG_CACHE_HOME",   "XDG_STATE_HOME",       "CC",
    "NO_COLOR",         "LD_LIBRARY_PATH",
};
enum { NVARIABLES = sizeof variables / sizeof variables[0] };

/* Everything is written twice at most: as text, or as JSON. */
typedef struct report {
    text *out;
    json j;
    bool is_json;
    int faults;
} report;

/* ---- sections ------------------------------------------------------------------------------------------ */

static void show_build(report *r) {
    if (r->is_json) {
        json_string(&r->j, "tegula", tg_version());
        json_string(&r->j, "commit", TG_BUILD_COMMIT);
    } else {
        text_print(r->out, "tegula     %s (%s)\n", tg_version(), TG_BUILD_COMMIT);
    }
}

static void show_tried_json(report *r, const char *key, const api_tried *list, size_t n) {
    json_array(&r->j, key);
    for (size_t i = 0; i < n; i++) {
        char version[32];
        snprintf(version, sizeof version, "%d.%d", list[i].major, list[i].minor);
        json_object(&r->j, NULL);
        json_string(&r->j, "path", list[i].path);
        json_string(&r->j, "origin", list[i].origin);
        json_string(&r->j, "version", list[i].major ? version : NULL);
        json_bool(&r->j, "chosen", list[i].is_chosen);
        json_string(&r->j, "problem", list[i].problem);
        json_end(&r->j);
    }
    json_end(&r->j);
}

static void show_tried_text(report *r, const char *label, const api_tried *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        text_print(r->out, "%-10s %s %s", label, list[i].is_chosen ? "*" : " ",
                   list[i].path ? list[i].path : "?");
        if (list[i].major) {
            text_print(r->out, ", %d.%d", list[i].major, list[i].minor);
        }
        text_print(r->out, " (%s)%s%s\n", list[i].origin ? list[i].origin : "?", list[i].problem ? ": " : "",
                   list[i].problem ? list[i].problem : "");
        label = "";
    }
    if (n == 0) {
        text_print(r->out, "%-10s   none found\n", label);
    }
}

/* What an environment variable names must work. */
static void count_faults(report *r, const api_tried *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        r->faults += list[i].problem && list[i].origin && strncmp(list[i].origin, "TEGULA_", 7) == 0;
    }
}

static void show_tried(report *r, const char *label, size_t (*ask)(const api_tried **list)) {
    const api_tried *list = NULL;
    const size_t n = ask(&list);
    if (r->is_json) {
        show_tried_json(r, label, list, n);
    } else {
        show_tried_text(r, label, list, n);
    }
    count_faults(r, list, n);
}

static void show_gpu(report *r, int number) {
    device_info d;
    if (device_describe(number, &d)) {
        r->faults++;
        if (!r->is_json) {
            text_print(r->out, "gpu        cuda:%d: %s\n", number, tg_error());
        }
        return;
    }
    if (r->is_json) {
        json_object(&r->j, NULL);
        json_string(&r->j, "name", d.name);
        json_int(&r->j, "major", d.major);
        json_int(&r->j, "minor", d.minor);
        json_int(&r->j, "memory", (int64_t)d.memory);
        json_int(&r->j, "sms", d.sms);
        json_int(&r->j, "l2_bytes", d.l2_bytes);
        json_int(&r->j, "shared_per_block", d.shared_per_block_optin);
        json_end(&r->j);
    } else {
        text_print(
            r->out,
            "gpu        cuda:%d %s, sm_%d%d, %d SMs, %.1f GiB, L2 %d KiB, shared memory %d KiB a block\n",
            number, d.name, d.major, d.minor, d.sms, (double)d.memory / 0x1p30, d.l2_bytes / 1024,
            d.shared_per_block_optin / 1024);
    }
}

static void show_gpus(report *r) {
    int n = 0;
    const int code = device_count(&n);
    if (r->is_json) {
        json_array(&r->j, "gpus");
    } else if (code || n == 0) {
        text_print(r->out, "gpu        none: %s\n", code ? tg_error() : "the driver finds none");
    }
    for (int i = 0; i < n && !code; i++) {
        show_gpu(r, i);
    }
    if (r->is_json) {
        json_end(&r->j);
    }
}

static void show_cache(report *r) {
    cache *c = cache_new(NULL);
    const char *folder = c ? cache_directory(c) : NULL;
    const char *problem = c ? cache_problem(c) : "out of memory";
    const cache_statistics s = folder ? cache_stat(c) : (cache_statistics){0};
    if (r->is_json) {
        json_object(&r->j, "cache");
        json_string(&r->j, "directory", folder);
        json_string(&r->j, "problem", problem);
        json_int(&r->j, "entries", (int64_t)s.entries);
        json_int(&r->j, "bytes", (int64_t)s.bytes);
        json_end(&r->j);
    } else if (folder) {
        text_print(r->out, "cache      %s: %zu entries, %" PRIu64 " of at most %" PRIu64 " bytes%s%s\n",
                   folder, s.entries, s.bytes, cache_limit(c), problem ? ": " : "", problem ? problem : "");
    } else {
        text_print(r->out, "cache      in memory only: %s\n", problem ? problem : "turned off");
    }
    r->faults += problem != NULL;
    cache_free(c);
}

static void show_one(report *r, const char *label, const char *value, const char *otherwise) {
    if (r->is_json) {
        json_string(&r->j, label, value);
    } else {
        text_print(r->out, "%-10s %s\n", label, value ? value : otherwise);
    }
}

static void show_compiler(report *r, arena *a) {
    const char *cc = error_environment("CC");
    const char *command = arena_print(a, "%s --version", cc ? cc : "cc");
    const char *const arguments[] = {"sh", "-c", command, NULL};
    text out = {0};
    const int status = child_program(arguments, true, &out);
    if (out.s) {
        out.s[strcspn(out.s, "\n")] = '\0';
    }
    show_one(r, "cc", status == 0 && out.s ? out.s : NULL, "none: -k FILE.c needs a C compiler (CC)");
    r->faults += status != 0 && cc;
    text_free(&out);
    show_one(r, "headers", compile_include_folder(a), "not beside this command: -k FILE.c needs them");
}

/* Wanted by `bench` alone, so it may be missing. */
static void show_cublas(report *r, arena *a) {
    const char *path = cublas_path();
    show_one(r, "cublas", path, path ? "" : arena_print(a, "none: bench compares with it; %s", tg_error()));
    r->faults += !path && error_environment("TEGULA_CUBLAS");
}

static void show_environment(report *r) {
    if (r->is_json) {
        json_object(&r->j, "environment");
    }
    for (int i = 0; i < NVARIABLES; i++) {
        const char *value = error_environment(variables[i]);
        if (value && r->is_json) {
            json_string(&r->j, variables[i], value);
        } else if (value) {
            text_print(r->out, "set        %s=%s\n", variables[i], value);
        }
    }
    if (r->is_json) {
        json_end(&r->j);
    }
}

/* ---- the verb ------------------------------------------------------------------------------------------ */

int verb_doctor(const options *o) {
    text out = {0};
    arena memory = {0};
    report r = {.out = &out, .j = {.out = &out}, .is_json = o->json};
    if (r.is_json) {
        json_object(&r.j, NULL);
    }
    show_build(&r);
    show_tried(&r, "driver", api_driver_tried);
    show_gpus(&r);
    show_tried(&r, "nvrtc", api_nvrtc_tried);
    show_cache(&r);
    show_compiler(&r, &memory);
    show_cublas(&r, &memory);
    show_environment(&r);
    if (r.is_json) {
        json_int(&r.j, "faults", r.faults);
        json_end(&r.j);
    } else if (r.faults) {
        text_print(&out, "%d of the things above %s wrong\n", r.faults, r.faults == 1 ? "is" : "are");
    }
    arena_free(&memory);
    const int status = report_text(o, &out);
    return status ? status : r.faults ? STATUS_WRONG : STATUS_GOOD;
}
