/* gpu.c -- a kernel on a real device. */
#include "tool/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/jit.h"
#include "tool/child.h"
#include "tool/tool.h"

enum { MAX_COUNT = 1000 };
static const double launch_s = 60;

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

struct gpu_session {
    device_handle *device;
    bench_timer *timer;
    tg_jit **jit;          /* one a step */
    launch_kernel *loaded; /* of --cuda */
    tg_pack *pack;         /* of --pack */
    const subject *s;
    double limit;  /* seconds for a launch */
    bool is_stuck; /* one has not ended: whatever waits for the GPU would wait for ever; ask is_stuck() */
    int nsets;
    void *address[BENCH_MAX_SETS][INPUTS_MAX];
    tg_arg args[BENCH_MAX_SETS][INPUTS_MAX];
    void *start, *stop;
};

/* One tensor as before the launch; another set's copy of what nobody writes is nearer than the host's. */
static int upload_one(gpu_session *x, const argument *a, int set, int number) {
    void *to = x->address[set][number];
    return set > 0 && !a->is_written ? device_copy(x->device, to, x->address[0][number], a->bytes)
                                     : device_put(x->device, to, a->before, a->bytes);
}

/* The tensors as before the launch. */
static int upload(gpu_session *x, const arguments *all, int set) {
    int code = TG_OK;
    for (int i = 0; i < all->n && !code; i++) {
        const argument *a = &all->item[i];
        void **address = &x->address[set][i];
        if (a->is_tensor && !*address) {
            code = device_alloc(x->device, a->bytes ? a->bytes : 1, address);
        }
        if (a->is_tensor && !code && a->bytes) {
            code = upload_one(x, a, set, i);
        }
    }
    return code;
}

tg_arg gpu_argument(const argument *a, const void *address) {
    if (a->is_tensor) {
        return tg_arg_pointer(address);
    }
    if (type_is_float(a->type)) {
        return tg_arg_float(value_as_real(a->scalar));
    }
    return a->type == TG_U64 ? tg_arg_uint(a->scalar.bits) : tg_arg_int(value_as_int(a->scalar));
}

static void fill_args(gpu_session *x, const arguments *all, int set) {
    for (int i = 0; i < all->n; i++) {
        x->args[set][i] = gpu_argument(&all->item[i], x->address[set][i]);
    }
}

static int download(gpu_session *x, arguments *all) {
    int code = TG_OK;
    for (int i = 0; i < all->n && !code; i++) {
        argument *a = &all->item[i];
        if (a->is_tensor && a->is_written && a->bytes) {
            code = device_get(x->device, a->after, x->address[0][i], a->bytes);
        }
    }
    return code;
}

/* The call, on one set of the arguments. */
static int launch_on(const gpu_session *x, int set, void *stream) {
    const tg_arg *args = x->args[set];
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

static int launch(const gpu_session *x) {
    return launch_on(x, 0, NULL);
}

/* ---- times --------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int time_launches(gpu_session *x, int count, gpu_run *run) {
    double times[MAX_COUNT];
    int code = device_event_new(x->device, &x->start);
    code = code ? code : device_event_new(x->device, &x->stop);
    for (int i = 0; i < count && !code; i++) {
        code = device_event_record(x->device, x->start, NULL);
        code = code ? code : launch(x);
        code = code ? code : device_event_record(x->device, x->stop, NULL);
        code = code ? code : device_wait(x->device, NULL, x->limit, &x->is_stuck);
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
static int take_check(gpu_session *x, gpu_run *run) {
    int code = TG_OK;
    bool has_checks = false;
    for (int i = 0; i < x->s->nsteps; i++) {
        has_checks = has_checks || x->s->steps[i].s->result.plan->nchecks > 0;
    }
    if (has_checks) {
        code = x->loaded ? launch_take_failure(x->loaded) : launch(x);
        code = code || x->loaded ? code : device_wait(x->device, NULL, x->limit, &x->is_stuck);
    }
    if (code == TG_EKERNEL && strstr(tg_error(), "check failed")) {
        snprintf(run->failed_check, sizeof run->failed_check, "%s", tg_error());
        code = TG_OK;
    }
    return code;
}

/* Registers and spills are those of the row's own kernel. */
static int prepare_step(gpu_session *x, const options *o, int number, gpu_run *run) {
    const jit_settings how = {
        .has_line_info = o->lineinfo, .is_dependent = o->dependent, .ignores_records = true};
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

static int prepare(gpu_session *x, const options *o, const char *cuda, gpu_run *run) {
    if (cuda) {
        const nvrtc_request request = {.name = x->s->kernel->name,
                                       .text = cuda,
                                       .target = x->s->target->name,
                                       .has_line_info = o->lineinfo};
        return jit_load_text(x->device, &request, x->s->result.plan, &x->loaded);
    }
    x->pack = o->pack ? tg_pack_open(o->pack) : NULL;
    if (o->pack && !x->pack) {
        return TG_EARG;
    }
    x->jit = calloc((size_t)x->s->nsteps, sizeof(tg_jit *));
    int code = x->jit ? TG_OK : TG_ENOMEM;
    for (int i = 0; i < x->s->nsteps && !code; i++) {
        code = prepare_step(x, o, i, run);
    }
    return code;
}

/* ---- for whoever times --------------------------------------------------------------------------------- */

static int status_of(const gpu_session *x, int code) {
    return code ? tool_fail_code(code, x->s->kernel->name) : STATUS_GOOD;
}

int gpu_open(const options *o, const subject *s, const device_info *device, const char *cuda,
             gpu_session **out, gpu_run *run) {
    *run = (gpu_run){0};
    *out = NULL;
    if (cuda && s->nsteps > 1) {
        return tool_fail(STATUS_FAULTY, "--cuda is the text of one kernel; %s is a call of %d steps",
                         s->kernel->name, s->nsteps);
    }
    gpu_session *x = calloc(1, sizeof *x);
    if (!x) {
        return tool_fail(STATUS_LACKING, "out of memory");
    }
    x->s = s;
    x->limit = o->timeout > 0 ? o->timeout : launch_s;
    int code = device_open(device->ordinal, &x->device);
    code = code ? code : device_enter(x->device);
    if (code) {
        device_close(x->device);
        free(x);
        return tool_fail_code(code, "the GPU");
    }
    *out = x;
    return status_of(x, prepare(x, o, cuda, run));
}

int gpu_call(gpu_session *x, arguments *all, gpu_run *run) {
    run->failed_check[0] = '\0';
    int code = upload(x, all, 0);
    fill_args(x, all, 0);
    x->nsets = x->nsets ? x->nsets : 1;
    code = code ? code : launch(x);
    code = code ? code : device_wait(x->device, NULL, x->limit, &x->is_stuck);
    code = code ? code : download(x, all);
    code = code ? code : take_check(x, run);
    return status_of(x, code);
}

/* Of a launch here or in anybody's measurement on the timer. */
static bool is_stuck(const gpu_session *x) {
    return x->is_stuck || (x->timer && bench_is_stuck(x->timer));
}

bool gpu_is_lost(gpu_session *x) {
    return x && (is_stuck(x) || device_synchronize(x->device, NULL) != TG_OK);
}

/* Together at least five times the L2 cache, so that no launch finds what an earlier one has left there. */
static int count_sets(const device_info *device, const arguments *all) {
    double bytes = 0.0;
    for (int i = 0; i < all->n; i++) {
        bytes += all->item[i].is_tensor ? (double)all->item[i].bytes : 0.0;
    }
    return bench_sets(device, bytes, 5.0, BENCH_MAX_SETS);
}

int gpu_make_sets(gpu_session *x, const arguments *all) {
    device_info device;
    int code = device_describe(device_ordinal(x->device), &device);
    const int wanted = code ? 0 : count_sets(&device, all);
    for (; x->nsets < wanted && !code; x->nsets++) {
        code = upload(x, all, x->nsets);
        fill_args(x, all, x->nsets);
    }
    return status_of(x, code);
}

static int launch_set(void *user, int set, void *stream) {
    return launch_on(user, set, stream);
}

int gpu_time(gpu_session *x, const tg_bench_options *how, tg_bench_figures *figures) {
    tg_bench_options limited = *how;
    limited.timeout = x->limit;
    int code = x->timer ? TG_OK : bench_open(x->device, &x->timer);
    code = code ? code : bench_calls(x->timer, launch_set, x, x->nsets, &limited, figures);
    return status_of(x, code);
}

void gpu_close(gpu_session *x) {
    if (!x) {
        return;
    }
    if (is_stuck(x)) {
        child_ends_at_once();
        return;
    }
    for (int i = 0; i < BENCH_MAX_SETS; i++) {
        for (int j = 0; j < INPUTS_MAX; j++) {
            device_free(x->device, x->address[i][j]);
        }
    }
    bench_close(x->timer);
    device_event_free(x->device, x->start);
    device_event_free(x->device, x->stop);
    launch_unload(x->loaded);
    for (int i = 0; x->jit && i < x->s->nsteps; i++) {
        tg_jit_free(x->jit[i]);
    }
    free(x->jit);
    tg_pack_close(x->pack);
    device_leave(x->device);
    device_close(x->device);
    free(x);
}

device_handle *gpu_device(gpu_session *x) {
    return x->device;
}

bench_timer *gpu_timer(gpu_session *x) {
    return x->timer;
}

int gpu_sets(const gpu_session *x) {
    return x->nsets;
}

void *gpu_address(const gpu_session *x, int set, int arg) {
    return x->address[set][arg];
}

/* ---- once ---------------------------------------------------------------------------------------------- */

int gpu_launch(const options *o, const subject *s, const device_info *device, const char *cuda, int count,
               arguments *all, gpu_run *run) {
    gpu_session *x = NULL;
    int status = gpu_open(o, s, device, cuda, &x, run);
    status = status ? status : gpu_call(x, all, run);
    if (!status && count && !run->failed_check[0]) {
        status = status_of(x, time_launches(x, count < MAX_COUNT ? count : MAX_COUNT, run));
    }
    gpu_close(x);
    if (status == STATUS_WRONG && !cuda && !o->quiet) {
        fputs("--device sim shows what a kernel does wrong, and where\n", stderr);
    }
    return status;
}
