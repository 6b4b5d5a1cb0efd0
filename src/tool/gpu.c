/* gpu.c -- a kernel on a real device. */
#include "tool/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/bench.h"
#include "runtime/jit.h"
#include "tool/tool.h"

enum { MAX_COUNT = 1000 };

int gpu_choose(const options *o, device_info *info, bool *found) {
    int n = 0;
    *found = false;
    if (o->device == DEVICE_SIM) {
        return STATUS_GOOD;
    }
    const int code = device_count(&n);
    if (code || n == 0) {
        if (o->device == DEVICE_AUTO) {
            return STATUS_GOOD;
        }
        return tool_fail(STATUS_LACKING, "no GPU: %s", code ? tg_error() : "the driver finds none");
    }
    const int number = o->device == DEVICE_CUDA ? o->device_number : 0;
    if (number >= n) {
        return tool_fail(STATUS_LACKING, "there is no cuda:%d: this machine has %d GPU%s, numbered from 0",
                         number, n, n == 1 ? "" : "s");
    }
    *found = device_describe(number, info) == TG_OK;
    return *found ? STATUS_GOOD : tool_fail_code(TG_ENODEVICE, "the GPU");
}

/* ---- one launch ---------------------------------------------------------------------------------------- */

typedef struct session {
    device_handle *device;
    tg_jit **jit;          /* one a step */
    launch_kernel *loaded; /* of --cuda */
    const subject *s;
    void *address[INPUTS_MAX];
    tg_arg args[INPUTS_MAX];
    void *start, *stop;
} session;

static int upload(session *x, const arguments *all) {
    int code = TG_OK;
    for (int i = 0; i < all->n && !code; i++) {
        const argument *a = &all->item[i];
        if (a->is_tensor && !x->address[i]) {
            code = device_alloc(x->device, a->bytes ? a->bytes : 1, &x->address[i]);
        }
        if (a->is_tensor && !code && a->bytes) {
            code = device_put(x->device, x->address[i], a->before, a->bytes);
        }
    }
    return code;
}

static void fill_args(session *x, const arguments *all) {
    for (int i = 0; i < all->n; i++) {
        const argument *a = &all->item[i];
        if (a->is_tensor) {
            x->args[i] = tg_arg_pointer(x->address[i]);
        } else if (type_is_float(a->type)) {
            x->args[i] = tg_arg_float(value_as_real(a->scalar));
        } else {
            x->args[i] =
                a->type == TG_U64 ? tg_arg_uint(a->scalar.bits) : tg_arg_int(value_as_int(a->scalar));
        }
    }
}

static int download(session *x, arguments *all) {
    int code = TG_OK;
    for (int i = 0; i < all->n && !code; i++) {
        argument *a = &all->item[i];
        if (a->is_tensor && a->is_written && a->bytes) {
            code = device_get(x->device, a->after, x->address[i], a->bytes);
        }
    }
    return code;
}

/* The call, on arguments like those of x->args. */
static int launch_on(const session *x, const tg_arg *args, void *stream) {
    int code = TG_OK;
    for (int i = 0; i < x->s->nsteps && !code; i++) {
        const subject_step *step = &x->s->steps[i];
        tg_arg own[INPUTS_MAX];
        for (int j = 0; j < step->nargs; j++) {
            own[j] = args[step->arg[j]];
        }
        code = x->loaded ? launch_run(x->loaded, stream, step->nargs, own)
                         : tg_launch(x->jit[i], step->s->config, stream, step->nargs, own);
    }
    return code;
}

static int launch(const session *x) {
    return launch_on(x, x->args, NULL);
}

/* ---- times --------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int time_launches(session *x, int count, gpu_run *run) {
    double times[MAX_COUNT];
    int code = device_event_new(x->device, &x->start);
    code = code ? code : device_event_new(x->device, &x->stop);
    for (int i = 0; i < count && !code; i++) {
        code = device_event_record(x->device, x->start, NULL);
        code = code ? code : launch(x);
        code = code ? code : device_event_record(x->device, x->stop, NULL);
        code = code ? code : device_event_elapsed(x->device, x->start, x->stop, &times[i]);
    }
    if (!code) {
        qsort(times, (size_t)count, sizeof *times, by_size);
        run->count = count;
        run->low = 1000 * times[count / 4];
        run->median = 1000 * times[count / 2];
        run->high = 1000 * times[count - 1 - count / 4];
    }
    return code;
}

/* A failed check is a result, not a failure of the run.  That of a tg_jit is told by its next launch. */
static int take_check(session *x, gpu_run *run) {
    int code = TG_OK;
    bool has_checks = false;
    for (int i = 0; i < x->s->nsteps; i++) {
        has_checks = has_checks || x->s->steps[i].s->result.plan->nchecks > 0;
    }
    if (has_checks) {
        code = x->loaded ? launch_take_failure(x->loaded) : launch(x);
        code = code || x->loaded ? code : device_synchronize(x->device, NULL);
    }
    if (code == TG_EKERNEL && strstr(tg_error(), "check failed")) {
        snprintf(run->failed_check, sizeof run->failed_check, "%s", tg_error());
        code = TG_OK;
    }
    return code;
}

/* Registers and spills are those of the row's own kernel. */
static int prepare_step(session *x, const options *o, int number, gpu_run *run) {
    const jit_settings how = {.has_line_info = o->lineinfo, .is_dependent = o->dependent};
    const subject *s = x->s->steps[number].s;
    tg_kernel_info info;
    x->jit[number] = tg_jit_new(s->kernel->name, s->kernel->build, s->user, s->user_size);
    if (!x->jit[number]) {
        return TG_ENOMEM;
    }
    jit_set(x->jit[number], &how);
    const int code = tg_info(x->jit[number], s->config, &info);
    if (!code && s == x->s) {
        run->registers = info.registers;
        run->spill_bytes = info.spill_bytes;
    }
    return code;
}

static int prepare(session *x, const options *o, const char *cuda, gpu_run *run) {
    if (cuda) {
        const nvrtc_request request = {.name = x->s->kernel->name,
                                       .text = cuda,
                                       .target = x->s->target->name,
                                       .has_line_info = o->lineinfo};
        return jit_load_text(x->device, &request, x->s->result.plan, &x->loaded);
    }
    x->jit = calloc((size_t)x->s->nsteps, sizeof(tg_jit *));
    int code = x->jit ? TG_OK : TG_ENOMEM;
    for (int i = 0; i < x->s->nsteps && !code; i++) {
        code = prepare_step(x, o, i, run);
    }
    return code;
}

/* ---- stream mode: more sets of arguments than the L2 cache holds --------------------------------------- */

enum { MAX_SETS = 8 };

/* A copy of the tensors as before the launch; what was allocated stays in `address` for the caller to free.
 */
static int another_set(session *x, const arguments *all, void **address, tg_arg *args) {
    int code = TG_OK;
    memcpy(args, x->args, sizeof *args * (size_t)all->n);
    for (int i = 0; i < all->n && !code; i++) {
        const argument *a = &all->item[i];
        if (a->is_tensor) {
            code = device_alloc(x->device, a->bytes ? a->bytes : 1, &address[i]);
            code = code || !a->bytes ? code : device_put(x->device, address[i], a->before, a->bytes);
            args[i] = tg_arg_pointer(address[i]);
        }
    }
    return code;
}

/* Together at least five times the cache, so that no launch finds what an earlier one has left there. */
static int sets_for(const device_info *device, const arguments *all) {
    double bytes = 1.0;
    for (int i = 0; i < all->n; i++) {
        bytes += all->item[i].is_tensor ? (double)all->item[i].bytes : 0.0;
    }
    const double sets = 5.0 * (double)device->l2_bytes / bytes + 1.0;
    return sets < 2.0 ? 2 : sets > MAX_SETS ? MAX_SETS : (int)sets;
}

typedef struct rotation {
    const session *x;
    const tg_arg *sets[MAX_SETS];
} rotation;

static int launch_set(void *user, int set, void *stream) {
    const rotation *r = user;
    return launch_on(r->x, r->sets[set], stream);
}

static int time_stream(session *x, const arguments *all, gpu_run *run) {
    void *address[MAX_SETS][INPUTS_MAX] = {{NULL}};
    tg_arg args[MAX_SETS][INPUTS_MAX];
    rotation all_sets = {x, {x->args}};
    device_info device;
    int code = device_describe(device_ordinal(x->device), &device);
    const int n = code ? 0 : sets_for(&device, all);
    for (int i = 1; i < n && !code; i++) {
        code = another_set(x, all, address[i], args[i]);
        all_sets.sets[i] = args[i];
    }
    bench_timer *timer = NULL;
    tg_bench_figures figures;
    code = code ? code : bench_open(x->device, &timer);
    code = code ? code : bench_calls(timer, launch_set, &all_sets, n, NULL, &figures);
    bench_close(timer);
    if (!code) {
        run->median = figures.median_us;
        run->low = figures.low_us;
        run->high = figures.high_us;
        run->count = figures.samples * figures.launches;
    }
    for (int i = 1; i < n; i++) {
        for (int j = 0; j < all->n; j++) {
            device_free(x->device, address[i][j]);
        }
    }
    return code;
}

static int run_all(session *x, const options *o, const char *cuda, int count, arguments *all, gpu_run *run) {
    int code = prepare(x, o, cuda, run);
    code = code ? code : upload(x, all);
    fill_args(x, all);
    code = code ? code : launch(x);
    code = code ? code : device_synchronize(x->device, NULL);
    code = code ? code : download(x, all);
    code = code ? code : take_check(x, run);
    if (code || !count || run->failed_check[0]) {
        return code;
    }
    return count == GPU_STREAM ? time_stream(x, all, run)
                               : time_launches(x, count < MAX_COUNT ? count : MAX_COUNT, run);
}

static void end(session *x) {
    for (int i = 0; i < INPUTS_MAX; i++) {
        device_free(x->device, x->address[i]);
    }
    device_event_free(x->device, x->start);
    device_event_free(x->device, x->stop);
    launch_unload(x->loaded);
    for (int i = 0; x->jit && i < x->s->nsteps; i++) {
        tg_jit_free(x->jit[i]);
    }
    free(x->jit);
    device_leave(x->device);
    device_close(x->device);
}

int gpu_launch(const options *o, const subject *s, const device_info *device, const char *cuda, int count,
               arguments *all, gpu_run *run) {
    session x = {.s = s};
    *run = (gpu_run){0};
    if (cuda && s->nsteps > 1) {
        return tool_fail(STATUS_FAULTY, "--cuda is the text of one kernel; %s is a call of %d steps",
                         s->kernel->name, s->nsteps);
    }
    int code = device_open(device->ordinal, &x.device);
    if (code) {
        return tool_fail_code(code, "the GPU");
    }
    code = device_enter(x.device);
    code = code ? code : run_all(&x, o, cuda, count, all, run);
    if (code) {
        tool_fail_code(code, s->kernel->name);
    }
    end(&x);
    return tool_status(code);
}
