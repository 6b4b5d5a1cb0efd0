/* fake_cuda.c -- a double of libcuda for tests without a GPU: contexts, streams, capture, modules and
 * launches, as far as Tegula calls them.  See fake_cuda.h.  It answers like the driver where a test depends
 * on it: a call that capture forbids ends the capture, launches need the stream's context current, contexts
 * stack per thread.
 *
 * Its launches compute nothing.  For the tests of a command, which cannot set knobs, FAKE_CUDA gives it a clock and
 * moods, by threads of a block:
 *
 *     FAKE_CUDA="64:wrong 96:hang 128:fail 256:big 512:gone"
 *
 *   wrong   writes a byte to where its first parameter points      hang   never ends, nor does who waits for it
 *   fail    an illegal address: the context is lost                big    too many resources for a launch
 *   gone    as fail, and no process finds a device again (the file that FAKE_CUDA_GONE names is made)
 *   check   its first check() fails, of which its second parameter is the record
 *
 * FAKE_CUDA_AFTER: how many launches of a process that would hang or fail go well before.
 *
 * With FAKE_CUDA set, even empty, a launch of n threads takes 20 + |n - 128| / 8 microseconds of the fake's own
 * clock, which events read. */
#define _POSIX_C_SOURCE 200809L
#include "fake_cuda.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/api.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NO_DEVICE = 100,
    INVALID_CONTEXT = 201,
    ILLEGAL_ADDRESS = 700,
    OUT_OF_RESOURCES = 701,
    CAPTURE_UNSUPPORTED = 900,
    MAX_DEPTH = 16
};

struct CUctx_st {
    int device;
    unsigned long long id;
    bool is_alive;
};

struct CUstream_st {
    struct CUctx_st *context;
    atomic_int capture;
};

struct CUfunc_st {
    char name[64];
};

struct CUmod_st {
    struct CUfunc_st function;
    struct CUmod_st *next; /* of every module: those of a destroyed context go with the process */
};

static fake_cuda state = {
    .devices = 2, .major = 9, .minor = 0, .version = 13000, .elapsed = 1.5f, .queue = 1024};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUctx_st primary[FAKE_MAX_DEVICES];
static struct CUctx_st beside[8];
static struct CUmod_st *modules;
static struct host_memory {
    struct host_memory *next;
    struct CUctx_st *context;
    size_t size;
    _Alignas(16) char bytes[];
} * host_memories;
static unsigned long long next_id = 1;
static atomic_int captures; /* streams that record now, all in global mode */
static _Thread_local struct CUctx_st *stack[MAX_DEPTH];
static _Thread_local int depth;
static _Thread_local unsigned mode; /* of capture: 0 global, 2 relaxed */

/* ---- for the tests ------------------------------------------------------------------------------------- */

EXPORT fake_cuda *fake_cuda_state(void) {
    return &state;
}

static struct CUctx_st *start_context(struct CUctx_st *c, int device) {
    *c = (struct CUctx_st){device, next_id++, true};
    return c;
}

EXPORT struct CUctx_st *fake_context_new(int device) {
    pthread_mutex_lock(&lock);
    struct CUctx_st *c = beside;
    while (c->is_alive) {
        c++;
    }
    start_context(c, device);
    pthread_mutex_unlock(&lock);
    return c;
}

/* The context's host memory goes with it: whoever still reads it reads rubbish. */
EXPORT void fake_context_destroy(struct CUctx_st *context) {
    context->is_alive = false;
    pthread_mutex_lock(&lock);
    for (struct host_memory *m = host_memories; m; m = m->next) {
        if (m->context == context) {
            memset(m->bytes, 0xdb, m->size);
        }
    }
    pthread_mutex_unlock(&lock);
}

EXPORT struct CUstream_st *fake_stream_new(struct CUctx_st *context) {
    struct CUstream_st *s = calloc(1, sizeof *s);
    if (s) {
        s->context = context;
    }
    return s;
}

EXPORT void fake_capture(struct CUstream_st *stream, int is_capturing) {
    captures += is_capturing - stream->capture;
    stream->capture = is_capturing;
}

/* ---- a clock and moods --------------------------------------------------------------------------------- */

static double clock_us, recording_us; /* what has run; what the graph being recorded will take */
static bool is_lost;                  /* the context */
static bool is_hung;                  /* a launch does not end */
static int queued;                    /* behind it */
static int went_well;                 /* of those that FAKE_CUDA_AFTER spares */

EXPORT void fake_hang(void) {
    is_hung = true;
}

/* As the driver waits in whatever needs an idle GPU. */
static void wait_for_launches(void) {
    while (is_hung) {
        pause();
    }
}

/* A launch whose turn does not come stays in the queue; where that is full the call does not return. */
EXPORT void fake_queue(void) {
    if (is_hung && ++queued > state.queue) {
        wait_for_launches();
    }
}

static const char *moods(void) {
    return getenv("FAKE_CUDA");
}

static bool is_gone(void) {
    const char *file = getenv("FAKE_CUDA_GONE");
    return file && access(file, F_OK) == 0;
}

static bool has_mood(unsigned threads, const char *mood) {
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%u:%s", threads, mood);
    const size_t n = strlen(wanted);
    for (const char *at = moods(); at && (at = strstr(at, wanted)); at += n) {
        if ((at == moods() || at[-1] == ' ') && (at[n] == ' ' || !at[n])) {
            return true;
        }
    }
    return false;
}

static bool is_spared(unsigned threads) {
    const char *after = getenv("FAKE_CUDA_AFTER");
    return after && (has_mood(threads, "hang") || has_mood(threads, "fail")) && went_well++ < atoi(after);
}

static api_result lose_context(void) {
    is_lost = true;
    return ILLEGAL_ADDRESS;
}

static api_result launch_in_mood(unsigned threads, void **arguments, bool is_recorded) {
    void *first = *(void **)arguments[0];
    const double away = threads > 128 ? threads - 128 : 128 - threads;
    *(is_recorded ? &recording_us : &clock_us) += 20 + away / 8;
    if (is_spared(threads)) {
        return 0;
    }
    if (has_mood(threads, "wrong")) {
        *(volatile char *)first = (char)0x55;
    }
    if (has_mood(threads, "check")) {
        **(volatile unsigned **)arguments[1] = 1;
    }
    is_hung = is_hung || has_mood(threads, "hang");
    if (has_mood(threads, "gone")) {
        close(open(getenv("FAKE_CUDA_GONE"), O_CREAT | O_WRONLY, 0600));
    }
    return has_mood(threads, "big")                                 ? OUT_OF_RESOURCES
           : has_mood(threads, "fail") || has_mood(threads, "gone") ? lose_context()
                                                                    : 0;
}

/* ---- capture ------------------------------------------------------------------------------------------- */

static api_result forbidden_in_capture(void) {
    if (captures && mode != API_CAPTURE_RELAXED) {
        state.broken_captures++;
        return CAPTURE_UNSUPPORTED;
    }
    return 0;
}

EXPORT api_result cuThreadExchangeStreamCaptureMode(unsigned *m) {
    unsigned old = mode;
    mode = *m;
    *m = old;
    return 0;
}

EXPORT api_result cuStreamIsCapturing(api_stream stream, unsigned *status) {
    if (!stream) {
        *status = 0;
        return captures ? API_ERROR_CAPTURE_IMPLICIT : 0;
    }
    *status = (unsigned)stream->capture;
    return 0;
}

/* ---- driver and devices -------------------------------------------------------------------------------- */

EXPORT api_result cuInit(unsigned flags) {
    (void)flags;
    return is_gone() ? NO_DEVICE : state.init_code;
}

EXPORT api_result cuDriverGetVersion(int *version) {
    *version = state.version;
    return 0;
}

EXPORT api_result cuGetErrorName(api_result code, const char **name) {
    *name = code == 2                  ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == NO_DEVICE        ? "CUDA_ERROR_NO_DEVICE"
            : code == ILLEGAL_ADDRESS  ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : code == OUT_OF_RESOURCES ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
                                       : "CUDA_ERROR_FAKE";
    return 0;
}

EXPORT api_result cuGetErrorString(api_result code, const char **text) {
    (void)code;
    *text = "the double was told to fail";
    return 0;
}

EXPORT api_result cuDeviceGetCount(int *n) {
    *n = state.devices;
    return 0;
}

EXPORT api_result cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return ordinal < state.devices ? 0 : NO_DEVICE;
}

EXPORT api_result cuDeviceGetName(char *name, int size, int device) {
    (void)device;
    strncpy(name, "Fake GPU", (size_t)size);
    return 0;
}

EXPORT api_result cuDeviceGetAttribute(int *value, unsigned attribute, int device) {
    (void)device;
    *value = attribute == 75 ? state.major : attribute == 76 ? state.minor : attribute == 16 ? 4 : 1024;
    return 0;
}

EXPORT api_result cuDeviceTotalMem_v2(size_t *bytes, int device) {
    (void)device;
    *bytes = (size_t)1 << 30;
    return 0;
}

/* ---- contexts ------------------------------------------------------------------------------------------ */

EXPORT api_result cuDevicePrimaryCtxRetain(api_context *context, int device) {
    pthread_mutex_lock(&lock);
    if (!primary[device].is_alive) {
        start_context(&primary[device], device);
    }
    *context = &primary[device];
    pthread_mutex_unlock(&lock);
    return 0;
}

EXPORT api_result cuDevicePrimaryCtxRelease_v2(int device) {
    (void)device;
    return 0;
}

EXPORT api_result cuCtxGetCurrent(api_context *context) {
    *context = depth ? stack[depth - 1] : NULL;
    return 0;
}

EXPORT api_result cuCtxPushCurrent_v2(api_context context) {
    if (!context || !context->is_alive || depth == MAX_DEPTH) {
        return INVALID_CONTEXT;
    }
    stack[depth++] = context;
    return 0;
}

EXPORT api_result cuCtxPopCurrent_v2(api_context *context) {
    if (!depth) {
        return INVALID_CONTEXT;
    }
    *context = stack[--depth];
    return 0;
}

EXPORT api_result cuCtxGetDevice(int *device) {
    *device = depth ? stack[depth - 1]->device : 0;
    return depth ? 0 : INVALID_CONTEXT;
}

EXPORT api_result cuCtxGetId(api_context context, unsigned long long *id) {
    *id = context->id;
    return context->is_alive ? 0 : INVALID_CONTEXT;
}

/* ---- streams and events -------------------------------------------------------------------------------- */

EXPORT api_result cuStreamCreate(api_stream *stream, unsigned flags) {
    (void)flags;
    *stream = depth ? fake_stream_new(stack[depth - 1]) : NULL;
    return *stream ? 0 : INVALID_CONTEXT;
}

EXPORT api_result cuStreamDestroy_v2(api_stream stream) {
    free(stream);
    return 0;
}

EXPORT api_result cuStreamQuery(api_stream stream) {
    (void)stream;
    return is_hung   ? (api_result)API_ERROR_NOT_READY
           : is_lost ? (api_result)ILLEGAL_ADDRESS
                     : forbidden_in_capture();
}

EXPORT api_result cuStreamSynchronize(api_stream stream) {
    (void)stream;
    wait_for_launches();
    return is_lost ? (api_result)ILLEGAL_ADDRESS : forbidden_in_capture();
}

EXPORT api_result cuStreamGetCtx(api_stream stream, api_context *context) {
    *context = stream->context;
    return 0;
}

/* ---- graphs: what is recorded runs at once, so a replay only takes its time ---------------------------- */

struct CUgraph_st {
    double us;
};

struct CUgraphExec_st {
    double us;
};

struct CUevent_st {
    double us;
    bool is_behind; /* a launch that does not end */
};

EXPORT api_result cuStreamBeginCapture_v2(api_stream stream, unsigned capture_mode) {
    (void)capture_mode;
    fake_capture(stream, 1);
    recording_us = 0;
    return 0;
}

EXPORT api_result cuStreamEndCapture(api_stream stream, api_graph *graph) {
    fake_capture(stream, 0);
    *graph = malloc(sizeof **graph);
    if (*graph) {
        (*graph)->us = recording_us;
    }
    return *graph ? 0 : OUT_OF_MEMORY;
}

EXPORT api_result cuGraphInstantiateWithFlags(api_graph_exec *replay, api_graph graph,
                                              unsigned long long flags) {
    (void)flags;
    *replay = malloc(sizeof **replay);
    if (*replay) {
        (*replay)->us = graph->us;
    }
    return *replay ? 0 : OUT_OF_MEMORY;
}

EXPORT api_result cuGraphLaunch(api_graph_exec replay, api_stream stream) {
    (void)stream;
    fake_queue();
    clock_us += replay->us;
    return 0;
}

EXPORT api_result cuGraphExecDestroy(api_graph_exec replay) {
    free(replay);
    return 0;
}

EXPORT api_result cuGraphDestroy(api_graph graph) {
    free(graph);
    return 0;
}

EXPORT api_result cuEventCreate(api_event *event, unsigned flags) {
    (void)flags;
    *event = calloc(1, sizeof **event);
    return *event ? 0 : OUT_OF_MEMORY;
}

EXPORT api_result cuEventDestroy_v2(api_event event) {
    free(event);
    return 0;
}

EXPORT api_result cuEventRecord(api_event event, api_stream stream) {
    (void)stream;
    *event = (struct CUevent_st){clock_us, is_hung};
    return 0;
}

EXPORT api_result cuEventQuery(api_event event) {
    return event->is_behind ? (api_result)API_ERROR_NOT_READY : is_lost ? (api_result)ILLEGAL_ADDRESS : 0;
}

EXPORT api_result cuEventSynchronize(api_event event) {
    (void)event;
    wait_for_launches();
    return is_lost ? (api_result)ILLEGAL_ADDRESS : 0;
}

EXPORT api_result cuEventElapsedTime(float *milliseconds, api_event start, api_event stop) {
    static atomic_int n;
    *milliseconds = moods() ? (float)((stop->us - start->us) / 1000)
                            : state.elapsed + (n++ % 2 ? state.elapsed_step : 0.0f);
    return 0;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

EXPORT api_result cuMemAlloc_v2(api_address *address, size_t bytes) {
    api_result code = forbidden_in_capture();
    code = code ? code : state.alloc_code;
    *address = code ? 0 : (api_address)(uintptr_t)malloc(bytes);
    return code;
}

EXPORT api_result cuMemFree_v2(api_address address) {
    wait_for_launches();
    free((void *)(uintptr_t)address);
    return 0;
}

EXPORT api_result cuMemcpyHtoDAsync_v2(api_address to, const void *from, size_t bytes, api_stream stream) {
    (void)stream;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

EXPORT api_result cuMemcpyDtoHAsync_v2(void *to, api_address from, size_t bytes, api_stream stream) {
    (void)stream;
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return 0;
}

EXPORT api_result cuMemcpyDtoDAsync_v2(api_address to, api_address from, size_t bytes, api_stream stream) {
    (void)stream;
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    return 0;
}

EXPORT api_result cuMemsetD8Async(api_address at, unsigned char byte, size_t n, api_stream stream) {
    (void)stream;
    memset((void *)(uintptr_t)at, byte, n);
    return 0;
}

EXPORT api_result cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
    (void)flags;
    api_result code = forbidden_in_capture();
    struct host_memory *m = code ? NULL : malloc(sizeof *m + bytes);
    if (!m) {
        return code ? code : 2;
    }
    pthread_mutex_lock(&lock);
    m->next = host_memories;
    m->context = depth ? stack[depth - 1] : NULL;
    m->size = bytes;
    host_memories = m;
    pthread_mutex_unlock(&lock);
    *memory = m->bytes;
    state.host_allocs++;
    return 0;
}

EXPORT api_result cuMemFreeHost(void *memory) {
    (void)memory;
    state.host_frees++;
    return 0;
}

EXPORT api_result cuMemHostGetDevicePointer_v2(api_address *address, void *memory, unsigned flags) {
    (void)flags;
    *address = (api_address)(uintptr_t)memory;
    return 0;
}

/* ---- modules and launches ------------------------------------------------------------------------------ */

EXPORT api_result cuModuleLoadDataEx(api_module *module, const void *image, unsigned n, unsigned *options,
                                     void **words) {
    (void)image;
    api_result code = depth ? forbidden_in_capture() : (api_result)INVALID_CONTEXT;
    code = code ? code : state.load_code;
    if (code != 0) {
        for (unsigned i = 0; i < n; i++) {
            if (options[i] == API_JIT_ERROR_LOG) {
                strcpy(words[i], "the image is not to its taste");
            }
        }
        return code;
    }
    *module = calloc(1, sizeof **module);
    if (!*module) {
        return 2;
    }
    pthread_mutex_lock(&lock);
    (*module)->next = modules;
    modules = *module;
    pthread_mutex_unlock(&lock);
    state.loads++;
    return 0;
}

EXPORT api_result cuModuleUnload(api_module module) {
    (void)module;
    wait_for_launches();
    state.unloads++;
    return 0;
}

EXPORT api_result cuModuleGetFunction(api_function *function, api_module module, const char *name) {
    strncpy(module->function.name, name, sizeof module->function.name - 1);
    *function = &module->function;
    return 0;
}

EXPORT api_result cuFuncGetAttribute(int *value, unsigned attribute, api_function function) {
    (void)function;
    state.queries++;
    *value = attribute == API_FUNCTION_SHARED_BYTES ? state.static_shared
             : attribute == API_FUNCTION_REGISTERS  ? 40
                                                    : 0;
    return 0;
}

EXPORT api_result cuFuncSetAttribute(api_function function, unsigned attribute, int value) {
    (void)function;
    if (attribute == API_FUNCTION_MAX_DYNAMIC_SHARED) {
        state.opt_ins++;
        state.opt_in_bytes = value;
    }
    return value > 227 * 1024 ? INVALID_VALUE : 0;
}

EXPORT api_result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, api_function function, int threads,
                                                              size_t shared) {
    (void)function, (void)shared;
    *blocks = 2048 / threads;
    return 0;
}

EXPORT api_result cuLaunchKernelEx(const api_launch_config *config, api_function function, void **arguments,
                                   void **extra) {
    (void)extra;
    const api_launch *l = (const void *)config;
    fake_queue();
    state.launches++;
    api_context wanted = l->stream ? l->stream->context : depth ? stack[depth - 1] : NULL;
    if (!depth || stack[depth - 1] != wanted) {
        state.wrong_context++;
        return INVALID_CONTEXT;
    }
    if (state.launch_code) {
        return state.launch_code;
    }
    pthread_mutex_lock(&lock);
    memcpy(state.grid, l->grid, sizeof state.grid);
    memcpy(state.block, l->block, sizeof state.block);
    state.shared_bytes = l->shared_bytes;
    state.stream = l->stream;
    state.n_attributes = l->n_attributes;
    state.attribute = l->n_attributes ? l->attributes[0].id : 0;
    state.context = stack[depth - 1];
    memcpy(state.kernel, function->name, sizeof state.kernel);
    const bool is_flush =
        strcmp(function->name, "tegula_flush") == 0; /* the timer's own: not what a test looks at */
    for (int i = 0; i < state.n_params && !is_flush; i++) {
        memcpy(&state.param[i], arguments[i], sizeof state.param[i]); /* Tegula's slots have 8 bytes */
    }
    pthread_mutex_unlock(&lock);
    return moods() ? launch_in_mood(l->block[0] * l->block[1] * l->block[2], arguments,
                                    l->stream && l->stream->capture)
                   : 0;
}
