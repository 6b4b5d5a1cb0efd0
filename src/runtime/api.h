/* api.h -- the entry points of the CUDA driver and of NVRTC: the only place that knows them by name.
 *
 * Neither library is needed to build; both are opened at run time, so the declarations below are Tegula's own
 * (a test holds them against cuda.h and nvrtc.h where those are found).  Struct tags are the driver's, so
 * that the types are compatible with its header.  Symbols carry their ABI version (cuMemAlloc_v2): a plain
 * name may be an older ABI.
 *
 * Reads   TEGULA_LIBCUDA, TEGULA_NVRTC (a file or folder: then nothing else is tried, since whoever names one
 *         wants that one or an error), CUDA_HOME, CUDA_PATH, the loader and the usual places.
 * Leaves  one driver and the list of NVRTC libraries for the life of the process, with what was tried and why
 *         it was not taken (api_tried, for `doctor`). */
#ifndef TG_RUNTIME_API_H
#define TG_RUNTIME_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the driver ---------------------------------------------------------------------------------------- */

typedef unsigned api_result; /* CUresult, nvrtcResult: 0 is success */
typedef unsigned long long api_address;
typedef struct CUctx_st *api_context;
typedef struct CUmod_st *api_module;
typedef struct CUfunc_st *api_function;
typedef struct CUstream_st *api_stream;
typedef struct CUevent_st *api_event;
typedef struct CUgraph_st *api_graph;
typedef struct CUgraphExec_st *api_graph_exec;
typedef struct CUlaunchConfig_st api_launch_config;
typedef struct _nvrtcProgram *api_program;

/* The driver's launch configuration and attribute, field by field; pass them as (const api_launch_config *).
 */
typedef struct {
    unsigned id;
    char pad[4];
    union {
        char bytes[64];
        void *pointer;
        int flag;
        unsigned cluster[3];
    } value;
} api_launch_attribute;

typedef struct {
    unsigned grid[3], block[3];
    unsigned shared_bytes;
    api_stream stream;
    api_launch_attribute *attributes;
    unsigned n_attributes;
} api_launch;

enum {
    API_ERROR_OUT_OF_MEMORY = 2,
    API_ERROR_NOT_INITIALIZED = 3,
    API_ERROR_DEINITIALIZED = 4,
    API_ERROR_STUB_LIBRARY = 34,
    API_ERROR_NO_DEVICE = 100,
    API_ERROR_NOT_READY = 600,
    API_ERROR_CAPTURE_IMPLICIT = 906,
    API_ATTRIBUTE_CLUSTER = 4,
    API_ATTRIBUTE_PROGRAMMATIC_SERIALIZATION = 6,
    API_FUNCTION_SHARED_BYTES = 1,
    API_FUNCTION_LOCAL_BYTES = 3,
    API_FUNCTION_REGISTERS = 4,
    API_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    API_JIT_INFO_LOG = 3,
    API_JIT_INFO_LOG_SIZE = 4,
    API_JIT_ERROR_LOG = 5,
    API_JIT_ERROR_LOG_SIZE = 6,
    API_CAPTURE_NONE = 0,
    API_CAPTURE_RELAXED = 2,
    API_HOST_ALLOC_PORTABLE = 1,
    API_HOST_ALLOC_DEVICEMAP = 2,
    API_STREAM_NON_BLOCKING = 1
};

/* X(field, symbol, parameters) */
#define API_DRIVER(X)                                                                                       \
    X(init, cuInit, (unsigned flags))                                                                       \
    X(driver_version, cuDriverGetVersion, (int *version))                                                   \
    X(error_name, cuGetErrorName, (api_result code, const char **name))                                     \
    X(error_string, cuGetErrorString, (api_result code, const char **text))                                 \
    X(device_count, cuDeviceGetCount, (int *count))                                                         \
    X(device_get, cuDeviceGet, (int *device, int ordinal))                                                  \
    X(device_name, cuDeviceGetName, (char *name, int size, int device))                                     \
    X(device_attribute, cuDeviceGetAttribute, (int *value, unsigned attribute, int device))                 \
    X(device_memory, cuDeviceTotalMem_v2, (size_t * bytes, int device))                                     \
    X(primary_retain, cuDevicePrimaryCtxRetain, (api_context * context, int device))                        \
    X(primary_release, cuDevicePrimaryCtxRelease_v2, (int device))                                          \
    X(context_current, cuCtxGetCurrent, (api_context * context))                                            \
    X(context_push, cuCtxPushCurrent_v2, (api_context context))                                             \
    X(context_pop, cuCtxPopCurrent_v2, (api_context * context))                                             \
    X(context_device, cuCtxGetDevice, (int *device))                                                        \
    X(context_id, cuCtxGetId, (api_context context, unsigned long long *id))                                \
    X(capture_mode, cuThreadExchangeStreamCaptureMode, (unsigned *mode))                                    \
    X(stream_create, cuStreamCreate, (api_stream * stream, unsigned flags))                                 \
    X(stream_destroy, cuStreamDestroy_v2, (api_stream stream))                                              \
    X(stream_synchronize, cuStreamSynchronize, (api_stream stream))                                         \
    X(stream_query, cuStreamQuery, (api_stream stream))                                                     \
    X(stream_context, cuStreamGetCtx, (api_stream stream, api_context * context))                           \
    X(stream_capturing, cuStreamIsCapturing, (api_stream stream, unsigned *status))                         \
    X(capture_begin, cuStreamBeginCapture_v2, (api_stream stream, unsigned mode))                           \
    X(capture_end, cuStreamEndCapture, (api_stream stream, api_graph * graph))                              \
    X(graph_instantiate, cuGraphInstantiateWithFlags,                                                       \
      (api_graph_exec * replay, api_graph graph, unsigned long long flags))                                 \
    X(graph_launch, cuGraphLaunch, (api_graph_exec replay, api_stream stream))                              \
    X(graph_exec_destroy, cuGraphExecDestroy, (api_graph_exec replay))                                      \
    X(graph_destroy, cuGraphDestroy, (api_graph graph))                                                     \
    X(event_create, cuEventCreate, (api_event * event, unsigned flags))                                     \
    X(event_destroy, cuEventDestroy_v2, (api_event event))                                                  \
    X(event_record, cuEventRecord, (api_event event, api_stream stream))                                    \
    X(event_query, cuEventQuery, (api_event event))                                                         \
    X(event_synchronize, cuEventSynchronize, (api_event event))                                             \
    X(event_elapsed, cuEventElapsedTime, (float *milliseconds, api_event start, api_event stop))            \
    X(memory_alloc, cuMemAlloc_v2, (api_address * address, size_t bytes))                                   \
    X(memory_free, cuMemFree_v2, (api_address address))                                                     \
    X(memory_to_device, cuMemcpyHtoDAsync_v2,                                                               \
      (api_address to, const void *from, size_t bytes, api_stream stream))                                  \
    X(memory_to_host, cuMemcpyDtoHAsync_v2, (void *to, api_address from, size_t bytes, api_stream stream))  \
    X(memory_copy, cuMemcpyDtoDAsync_v2,                                                                    \
      (api_address to, api_address from, size_t bytes, api_stream stream))                                  \
    X(memory_set, cuMemsetD8Async, (api_address at, unsigned char value, size_t n, api_stream stream))      \
    X(host_alloc, cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))                            \
    X(host_free, cuMemFreeHost, (void *memory))                                                             \
    X(host_address, cuMemHostGetDevicePointer_v2, (api_address * address, void *memory, unsigned flags))    \
    X(module_load, cuModuleLoadDataEx,                                                                      \
      (api_module * module, const void *image, unsigned n, unsigned *options, void **values))               \
    X(module_unload, cuModuleUnload, (api_module module))                                                   \
    X(module_function, cuModuleGetFunction, (api_function * function, api_module module, const char *name)) \
    X(function_attribute, cuFuncGetAttribute, (int *value, unsigned attribute, api_function function))      \
    X(function_set, cuFuncSetAttribute, (api_function function, unsigned attribute, int value))             \
    X(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                               \
      (int *blocks, api_function function, int threads, size_t shared_bytes))                               \
    X(launch, cuLaunchKernelEx,                                                                             \
      (const api_launch_config *config, api_function function, void **arguments, void **extra))

#define API_FIELD(field, symbol, parameters) api_result(*field) parameters;
typedef struct {
    API_DRIVER(API_FIELD)
    int version; /* 12080 is 12.8 */
    const char *path;
} api_driver;

/* The driver, initialised; opened once per process.  NULL: no usable one, with the reason as this thread's
 * error text (TG_ENODEVICE). */
const api_driver *api_driver_open(void);

/* The version of the first driver that can be opened, without initialising it; 0 when there is none. */
int api_driver_version(void);

/* "cuModuleLoadDataEx: CUDA_ERROR_INVALID_IMAGE (200): device kernel image is invalid".  Returns the status
 * that the public call should return. */
int api_driver_failed(const api_driver *driver, const char *call, api_result code);

/* ---- NVRTC --------------------------------------------------------------------------------------------- */

#define API_NVRTC(X)                                                                                         \
    X(get_version, nvrtcVersion, (int *major, int *minor))                                                   \
    X(n_archs, nvrtcGetNumSupportedArchs, (int *n))                                                          \
    X(archs, nvrtcGetSupportedArchs, (int *archs))                                                           \
    X(create, nvrtcCreateProgram,                                                                            \
      (api_program * program, const char *text, const char *name, int n_headers, const char *const *headers, \
       const char *const *names))                                                                            \
    X(destroy, nvrtcDestroyProgram, (api_program * program))                                                 \
    X(compile, nvrtcCompileProgram, (api_program program, int n, const char *const *options))                \
    X(ptx_size, nvrtcGetPTXSize, (api_program program, size_t * size))                                       \
    X(ptx, nvrtcGetPTX, (api_program program, char *ptx))                                                    \
    X(cubin_size, nvrtcGetCUBINSize, (api_program program, size_t * size))                                   \
    X(cubin, nvrtcGetCUBIN, (api_program program, char *cubin))                                              \
    X(log_size, nvrtcGetProgramLogSize, (api_program program, size_t * size))                                \
    X(log, nvrtcGetProgramLog, (api_program program, char *log))

enum { API_MAX_ARCHS = 64 };

typedef struct {
    API_NVRTC(API_FIELD)
    /* Not in the list above: its result is text, not a code. */
    const char *(*error_string)(api_result code);
    int major, minor;
    int n_known, known[API_MAX_ARCHS]; /* 80, 86, 90, .. */
    uint64_t build;                    /* digest of the library file: two builds of one version differ */
    const char *path;
} api_nvrtc;

/* The first NVRTC that is 12.0 or newer, knows the target ("sm_90a"; NULL: any) and is no newer in major than
 * the driver, if there is one.  NULL: none, with the reasons as this thread's error text (TG_ENOCOMPILER). */
const api_nvrtc *api_nvrtc_open(const char *target);

/* The number in a target: 90 for "sm_90a", 0 for what is no target. */
int api_target_number(const char *target);

/* ---- what was tried ------------------------------------------------------------------------------------ */

typedef struct {
    const char *origin;  /* "TEGULA_NVRTC", "CUDA_HOME", "loader", "usual place", "venv" */
    const char *path;    /* the file where known, else what was asked of the loader */
    int major, minor;    /* 0.0 when it could not be opened */
    bool is_chosen;      /* the one that calls go to */
    const char *problem; /* why it was not taken; NULL when nothing speaks against it */
} api_tried;

/* Opens the driver (and nothing else) if need be; entries live as long as the process. */
size_t api_driver_tried(const api_tried **list);
/* Opens every NVRTC that can be found. */
size_t api_nvrtc_tried(const api_tried **list);

/* Before the first use: also turn off the cache inside the driver (that in NVRTC: nvrtc.h). */
void api_disable_caches(void);
bool api_caches_disabled(void);

#endif
