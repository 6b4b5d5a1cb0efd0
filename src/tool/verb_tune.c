/* verb_tune.c -- `tegula tune KERNEL..`: looks for the fastest configuration; tune.h says how. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/api.h"
#include "tool/child.h"
#include "tool/gpu.h"
#include "tool/suite.h"
#include "tool/tool.h"
#include "tool/tune.h"

/* ---- the machine --------------------------------------------------------------------------------------- */

/* What is asked of driver and compiler, in a process of its own: the master must not have loaded them. */
typedef struct machine {
    device_info device;
    int driver, nvrtc_major, nvrtc_minor;
} machine;

static int describe(void *user) {
    const options *o = user;
    machine m = {0};
    bool found = false;
    const int status = gpu_choose(o, &m.device, &found);
    if (status) {
        return status;
    }
    if (!found) {
        return tool_fail(STATUS_LACKING,
                         "tune times kernels on a GPU, and there is none; --replay FILE needs none");
    }
    const target *t = target_for_device(m.device.major, m.device.minor);
    if (!t) {
        return tool_fail(STATUS_LACKING, "%s has compute capability %d.%d; 8.0 is the least", m.device.name,
                         m.device.major, m.device.minor);
    }
    const api_nvrtc *compiler = api_nvrtc_open(t->name);
    if (!compiler) {
        return tool_fail_code(TG_ENOCOMPILER, "tune");
    }
    m.driver = device_driver_version();
    m.nvrtc_major = compiler->major;
    m.nvrtc_minor = compiler->minor;
    child_send((const char *)&m, sizeof m);
    return STATUS_GOOD;
}

static int ask_machine(const options *o, tune *t) {
    text said = {0};
    machine m;
    options copy = *o;
    int status = child_run(describe, &copy, "the GPU", o, &said);
    if (!status && said.length != sizeof m) {
        status = tool_fail(STATUS_LACKING, "the GPU could not be described");
    }
    if (!status) {
        memcpy(&m, said.s, sizeof m);
        t->device = m.device;
        snprintf(t->driver, sizeof t->driver, "%d.%d", m.driver / 1000, m.driver % 1000 / 10);
        snprintf(t->nvrtc, sizeof t->nvrtc, "%d.%d", m.nvrtc_major, m.nvrtc_minor);
    }
    text_free(&said);
    return status;
}

/* ---- the records --------------------------------------------------------------------------------------- */

static int open_records(const options *o, tune *t) {
    if (!t->path) {
        return tool_fail(STATUS_LACKING,
                         "no place for records: neither HOME nor XDG_STATE_HOME is set; give --records FILE");
    }
    int code = records_read(t->path, &t->old);
    code = code ? code : records_open(t->path, &t->file);
    if (code) {
        return tool_fail(STATUS_LACKING, "%s", tg_error());
    }
    if (t->old.skipped && !o->quiet) {
        fprintf(stderr, "tegula: %s: %d lines are no records and are skipped, the first is line %d\n",
                t->path, t->old.skipped, t->old.first_skipped);
    }
    return STATUS_GOOD;
}

/* ---- the verb ------------------------------------------------------------------------------------------ */

static int measure(const options *o, tune *t) {
    int status = ask_machine(o, t);
    const target *arch = status ? NULL : target_for_device(t->device.major, t->device.minor);
    status = status ? status : open_records(o, t);
    status = status ? status : tune_problems_make(o, t->g, NULL, arch, &t->problems, &t->n);
    if (!status && !o->quiet) {
        fprintf(stderr, "device: %s (%s)\n", t->device.name, arch->name);
    }
    status = status ? status : tune_run(t);
    return status;
}

static int replay(const options *o, tune *t) {
    struct stat found;
    arena memory = {0};
    const device_row *gpu = NULL;
    const target *arch = NULL;
    if (stat(o->replay, &found) != 0) {
        return tool_fail(STATUS_FAULTY, "--replay %s: there is no such file", o->replay);
    }
    if (records_read(o->replay, &t->old) != TG_OK) {
        return tool_fail(STATUS_LACKING, "%s", tg_error());
    }
    int status = devices_choose(o, "a100", &memory, &gpu, &arch);
    status = status ? status : tune_problems_make(o, t->g, gpu, arch, &t->problems, &t->n);
    status = status ? status : tune_replay(t);
    arena_free(&memory);
    return status;
}

static int tune_kernels(const options *o, gallery *g) {
    options with = *o; /* and the kernels of the suite */
    tune t = {.o = &with, .g = g, .file = {.descriptor = -1}};
    char *path = o->replay ? NULL : records_path(o->records);
    t.path = path;
    int status = o->suite ? suite_add(g, o->suite, &with) : STATUS_GOOD;
    status = status ? status : o->replay ? replay(&with, &t) : measure(&with, &t);
    status = status ? status : tune_report(&t);
    tune_problems_free(t.problems, t.n);
    records_close(&t.file);
    records_free(&t.old);
    free(path);
    return status;
}

int verb_tune(const options *o) {
    if (o->noperands == 0 && !o->suite) {
        return tool_fail(STATUS_FAULTY, "tune needs kernels, or --suite NAME; 'tegula list' names them");
    }
    if ((o->gpu || o->target) && !o->replay) {
        return tool_fail(STATUS_FAULTY,
                         "tune measures on the device itself: --gpu and --target are not for it");
    }
    if (o->no_cache) {
        return tool_fail(
            STATUS_FAULTY,
            "tune hands kernels from process to process in the disk cache: --no-cache is not for it; set "
            "TEGULA_CACHE_DIR to a folder of its own instead");
    }
    child_forward_interrupts();
    return gallery_run(o, tune_kernels);
}
