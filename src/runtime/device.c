/* device.c -- see device.h. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/error.h"

enum { MAX_DEVICES = 64 };

struct device_handle {
    const api_driver *driver;
    api_context context;
    int ordinal;
};

/* ---- which there are ----------------------------------------------------------------------------------- */

int device_driver_version(void) {
    return api_driver_version();
}

int device_count(int *n) {
    *n = 0;
    const api_driver *driver = api_driver_open();
    if (!driver) {
        return TG_ENODEVICE;
    }
    api_result code = driver->device_count(n);
    return code ? api_driver_failed(driver, "cuDeviceGetCount", code) : TG_OK;
}

static int check_ordinal(int ordinal) {
    int n;
    int status = device_count(&n);
    if (status != TG_OK) {
        return status;
    }
    if (ordinal < 0 || ordinal >= n) {
        return error_set(TG_EARG, "there is no device %d: this machine has %d", ordinal, n);
    }
    return TG_OK;
}

int device_describe(int ordinal, device_info *info) {
    *info = (device_info){.ordinal = ordinal};
    int status = check_ordinal(ordinal);
    const api_driver *driver = status == TG_OK ? api_driver_open() : NULL;
    if (!driver) {
        return status;
    }
    /* The driver's numbers of its attributes. */
    const struct {
        unsigned attribute;
        int *value;
    } wanted[] = {
        {1, &info->max_threads},
        {5, &info->max_grid[0]},
        {6, &info->max_grid[1]},
        {7, &info->max_grid[2]},
        {8, &info->shared_per_block},
        {10, &info->warp},
        {13, &info->clock_khz},
        {16, &info->sms},
        {33, &info->pci_bus},
        {34, &info->pci_device},
        {36, &info->memory_clock_khz},
        {37, &info->memory_bus_bits},
        {38, &info->l2_bytes},
        {39, &info->max_threads_per_sm},
        {50, &info->pci_domain},
        {75, &info->major},
        {76, &info->minor},
        {81, &info->shared_per_sm},
        {82, &info->registers_per_sm},
        {97, &info->shared_per_block_optin},
        {106, &info->max_blocks_per_sm},
        {111, &info->shared_reserved},
    };
    int handle;
    api_result code = driver->device_get(&handle, ordinal);
    if (code == 0) {
        code = driver->device_name(info->name, (int)sizeof info->name, handle);
    }
    size_t bytes = 0;
    if (code == 0) {
        code = driver->device_memory(&bytes, handle);
    }
    info->memory = bytes;
    for (size_t i = 0; code == 0 && i < sizeof wanted / sizeof *wanted; i++) {
        if (driver->device_attribute(wanted[i].value, wanted[i].attribute, handle) != 0) {
            *wanted[i].value = 0; /* an attribute that came or went with a driver version */
        }
    }
    return code ? api_driver_failed(driver, "describing a device", code) : TG_OK;
}

/* ---- contexts ------------------------------------------------------------------------------------------ */

static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(api_context) primary[MAX_DEVICES];

static int retain_primary(const api_driver *driver, int ordinal, api_context *context) {
    int status = check_ordinal(ordinal);
    if (status != TG_OK || ordinal >= MAX_DEVICES) {
        return status ? status
                      : error_set(TG_EARG, "device numbers above %d are not supported", MAX_DEVICES - 1);
    }
    api_result code = 0;
    pthread_mutex_lock(&primary_lock);
    *context = atomic_load(&primary[ordinal]);
    if (!*context) {
        int handle;
        code = driver->device_get(&handle, ordinal);
        code = code ? code : driver->primary_retain(context, handle);
        atomic_store(&primary[ordinal], code ? NULL : *context);
    }
    pthread_mutex_unlock(&primary_lock);
    return code ? api_driver_failed(driver, "cuDevicePrimaryCtxRetain", code) : TG_OK;
}

int device_primary(const api_driver *driver, int ordinal, api_context *context) {
    bool is_known = ordinal >= 0 && ordinal < MAX_DEVICES;
    *context = is_known ? atomic_load_explicit(&primary[ordinal], memory_order_acquire) : NULL;
    return *context ? TG_OK : retain_primary(driver, ordinal, context);
}

int device_stream_context(const api_driver *driver, void *stream, api_context *context) {
    *context = NULL;
    if (stream) {
        api_result code = driver->stream_context(stream, context);
        return code ? api_driver_failed(driver, "cuStreamGetCtx", code) : TG_OK;
    }
    api_result code = driver->context_current(context);
    if (code != 0) {
        return api_driver_failed(driver, "cuCtxGetCurrent", code);
    }
    return *context ? TG_OK : device_primary(driver, 0, context);
}

int device_of_context(const api_driver *driver, api_context context, int *ordinal) {
    context_scope scope;
    if (!context_enter(driver, context, &scope)) {
        return TG_EDRIVER;
    }
    api_result code = driver->context_device(ordinal);
    context_leave(&scope);
    return code ? api_driver_failed(driver, "cuCtxGetDevice", code) : TG_OK;
}

int device_capability(const api_driver *driver, int ordinal, int *major, int *minor) {
    enum { MAJOR = 75, MINOR = 76 };
    api_result code = driver->device_attribute(major, MAJOR, ordinal);
    code = code ? code : driver->device_attribute(minor, MINOR, ordinal);
    return code ? api_driver_failed(driver, "cuDeviceGetAttribute", code) : TG_OK;
}

bool device_is_capturing(const api_driver *driver, api_context context, void *stream) {
    unsigned capture = API_CAPTURE_NONE;
    api_context popped;
    if (driver->context_push(context) != 0) {
        return false;
    }
    api_result code = driver->stream_capturing(stream, &capture);
    driver->context_pop(&popped);
    return code == API_ERROR_CAPTURE_IMPLICIT || (code == 0 && capture != API_CAPTURE_NONE);
}

bool context_enter(const api_driver *driver, api_context context, context_scope *scope) {
    *scope = (context_scope){driver, API_CAPTURE_RELAXED};
    api_result code = driver->context_push(context);
    if (code != 0) {
        api_driver_failed(driver, "cuCtxPushCurrent", code);
        return false;
    }
    driver->capture_mode(&scope->capture_mode); /* leaves the former mode in its place */
    return true;
}

void context_leave(context_scope *scope) {
    api_context popped;
    scope->driver->capture_mode(&scope->capture_mode);
    scope->driver->context_pop(&popped);
}

/* ---- an open device ------------------------------------------------------------------------------------ */

static int new_handle(const api_driver *driver, api_context context, int ordinal, device_handle **out) {
    device_handle *d = malloc(sizeof *d);
    if (!d) {
        return error_set(TG_ENOMEM, "no memory to open device %d", ordinal);
    }
    *d = (device_handle){driver, context, ordinal};
    *out = d;
    return TG_OK;
}

int device_open(int ordinal, device_handle **out) {
    *out = NULL;
    const api_driver *driver = api_driver_open();
    if (!driver) {
        return TG_ENODEVICE;
    }
    api_context context;
    int status = device_primary(driver, ordinal, &context);
    return status ? status : new_handle(driver, context, ordinal, out);
}

int device_open_current(device_handle **out) {
    *out = NULL;
    const api_driver *driver = api_driver_open();
    if (!driver) {
        return TG_ENODEVICE;
    }
    api_context context;
    int ordinal = 0;
    int status = device_stream_context(driver, NULL, &context);
    status = status ? status : device_of_context(driver, context, &ordinal);
    return status ? status : new_handle(driver, context, ordinal, out);
}

void device_close(device_handle *d) {
    free(d);
}

int device_ordinal(const device_handle *d) {
    return d->ordinal;
}

int device_enter(device_handle *d) {
    api_result code = d->driver->context_push(d->context);
    return code ? api_driver_failed(d->driver, "cuCtxPushCurrent", code) : TG_OK;
}

void device_leave(device_handle *d) {
    api_context popped;
    d->driver->context_pop(&popped);
}

/* Runs one driver call in the device's context; `code` is its result. */
#define IN_CONTEXT(d, name, call)                                           \
    do {                                                                    \
        int entered = device_enter(d);                                      \
        if (entered != TG_OK) {                                             \
            return entered;                                                 \
        }                                                                   \
        api_result code = (call);                                           \
        device_leave(d);                                                    \
        return code ? api_driver_failed((d)->driver, (name), code) : TG_OK; \
    } while (0)

static api_address to_address(const void *p) {
    return (api_address)(uintptr_t)p;
}

int device_alloc(device_handle *d, size_t bytes, void **address) {
    *address = NULL;
    int status = device_enter(d);
    if (status != TG_OK) {
        return status;
    }
    api_address at = 0;
    api_result code = d->driver->memory_alloc(&at, bytes ? bytes : 1);
    device_leave(d);
    if (code != 0) {
        status = api_driver_failed(d->driver, "cuMemAlloc", code);
        return error_prefix(status, "%zu bytes on device %d: ", bytes, d->ordinal);
    }
    *address = (void *)(uintptr_t)at;
    return TG_OK;
}

void device_free(device_handle *d, void *address) {
    if (address && device_enter(d) == TG_OK) {
        d->driver->memory_free(to_address(address));
        device_leave(d);
    }
}

/* On the default stream and waited for, so that plain host memory is safe. */
static api_result put(device_handle *d, void *to, const void *from, size_t n) {
    api_result code = d->driver->memory_to_device(to_address(to), from, n, NULL);
    return code ? code : d->driver->stream_synchronize(NULL);
}

static api_result get(device_handle *d, void *to, const void *from, size_t n) {
    api_result code = d->driver->memory_to_host(to, to_address(from), n, NULL);
    return code ? code : d->driver->stream_synchronize(NULL);
}

static api_result copy(device_handle *d, void *to, const void *from, size_t n) {
    api_result code = d->driver->memory_copy(to_address(to), to_address(from), n, NULL);
    return code ? code : d->driver->stream_synchronize(NULL);
}

static api_result set(device_handle *d, void *to, unsigned char byte, size_t n) {
    api_result code = d->driver->memory_set(to_address(to), byte, n, NULL);
    return code ? code : d->driver->stream_synchronize(NULL);
}

int device_put(device_handle *d, void *to, const void *from_host, size_t bytes) {
    IN_CONTEXT(d, "cuMemcpyHtoD", bytes ? put(d, to, from_host, bytes) : 0);
}

int device_get(device_handle *d, void *to_host, const void *from, size_t bytes) {
    IN_CONTEXT(d, "cuMemcpyDtoH", bytes ? get(d, to_host, from, bytes) : 0);
}

int device_copy(device_handle *d, void *to, const void *from, size_t bytes) {
    IN_CONTEXT(d, "cuMemcpyDtoD", bytes ? copy(d, to, from, bytes) : 0);
}

int device_fill(device_handle *d, void *to, unsigned char byte, size_t bytes) {
    IN_CONTEXT(d, "cuMemsetD8", bytes ? set(d, to, byte, bytes) : 0);
}

static api_result new_stream(device_handle *d, void **stream) {
    api_stream made = NULL;
    api_result code = d->driver->stream_create(&made, API_STREAM_NON_BLOCKING);
    *stream = made;
    return code;
}

static api_result new_event(device_handle *d, void **event) {
    api_event made = NULL;
    api_result code = d->driver->event_create(&made, 0);
    *event = made;
    return code;
}

int device_stream_new(device_handle *d, void **stream) {
    IN_CONTEXT(d, "cuStreamCreate", new_stream(d, stream));
}

void device_stream_free(device_handle *d, void *stream) {
    if (stream && device_enter(d) == TG_OK) {
        d->driver->stream_destroy(stream);
        device_leave(d);
    }
}

int device_synchronize(device_handle *d, void *stream) {
    IN_CONTEXT(d, "cuStreamSynchronize", d->driver->stream_synchronize(stream));
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* What is waited for: a stream, or else an event. */
typedef struct {
    api_stream stream;
    api_event event;
} awaited;

/* Asks without a pause for as long as most launches take. */
static api_result ask_until(const api_driver *driver, const awaited *a, double until, double patient) {
    static const struct timespec pause = {0, 50000};
    for (;;) {
        const api_result code = a->event ? driver->event_query(a->event) : driver->stream_query(a->stream);
        const double t = now();
        if (code != API_ERROR_NOT_READY || t > until) {
            return code;
        }
        if (t > patient) {
            nanosleep(&pause, NULL);
        }
    }
}

static int wait_for(device_handle *d, const awaited *a, double seconds, bool *is_late) {
    static const double spin_s = 0.001;
    *is_late = false;
    int status = device_enter(d);
    if (status != TG_OK) {
        return status;
    }
    const double from = now();
    const api_result code = ask_until(d->driver, a, from + seconds, from + spin_s);
    device_leave(d);
    *is_late = code == API_ERROR_NOT_READY;
    return *is_late ? error_set(TG_EDRIVER, "the launch did not end in %g s", seconds)
           : code   ? api_driver_failed(d->driver, a->event ? "cuEventQuery" : "cuStreamQuery", code)
                    : TG_OK;
}

int device_wait(device_handle *d, void *stream, double seconds, bool *is_late) {
    return wait_for(d, &(awaited){.stream = stream}, seconds, is_late);
}

int device_event_wait(device_handle *d, void *event, double seconds, bool *is_late) {
    return wait_for(d, &(awaited){.event = event}, seconds, is_late);
}

int device_event_new(device_handle *d, void **event) {
    IN_CONTEXT(d, "cuEventCreate", new_event(d, event));
}

void device_event_free(device_handle *d, void *event) {
    if (event && device_enter(d) == TG_OK) {
        d->driver->event_destroy(event);
        device_leave(d);
    }
}

int device_event_record(device_handle *d, void *event, void *stream) {
    IN_CONTEXT(d, "cuEventRecord", d->driver->event_record(event, stream));
}

static api_result elapsed(device_handle *d, void *start, void *stop, float *milliseconds) {
    api_result code = d->driver->event_synchronize(start);
    code = code ? code : d->driver->event_synchronize(stop);
    return code ? code : d->driver->event_elapsed(milliseconds, start, stop);
}

int device_event_elapsed(device_handle *d, void *start, void *stop, double *milliseconds) {
    float ms = 0;
    int status = device_enter(d);
    if (status != TG_OK) {
        return status;
    }
    api_result code = elapsed(d, start, stop, &ms);
    device_leave(d);
    *milliseconds = (double)ms;
    return code ? api_driver_failed(d->driver, "cuEventElapsedTime", code) : TG_OK;
}
