/* device.h -- GPUs: which there are, contexts, memory, streams and events.
 *
 * Upper half: for the tool, which never names the driver.  Lower half: contexts, for launch.c and jit.c.
 * Every function that returns int gives TG_OK or a code with the error text. */
#ifndef TG_RUNTIME_DEVICE_H
#define TG_RUNTIME_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/api.h"

typedef struct {
    int ordinal;
    char name[128];
    int major, minor; /* compute capability */
    uint64_t memory;  /* bytes */
    int sms, l2_bytes;
    int max_threads, max_threads_per_sm, max_blocks_per_sm, warp;
    int shared_per_block, shared_per_block_optin, shared_per_sm, shared_reserved; /* bytes */
    int registers_per_sm;
    int max_grid[3];
    int clock_khz, memory_clock_khz, memory_bus_bits; /* 0 where the driver no longer tells */
    int pci_domain, pci_bus, pci_device;
} device_info;

int device_count(int *n);
/* TG_EARG for a number that no device has. */
int device_describe(int ordinal, device_info *info);
/* 13000 for 13.0; 0 without a driver. */
int device_driver_version(void);

/* A device's primary context, the one that the CUDA runtime uses too. */
typedef struct device_handle device_handle;
int device_open(int ordinal, device_handle **out);
/* The thread's current context, whoever made it, else device 0's primary one. */
int device_open_current(device_handle **out);
void device_close(
    device_handle *d); /* accepts NULL; memory and streams go with device_free() and .._stream_free() */
int device_ordinal(const device_handle *d);

/* Device memory.  Copies and fills wait until they are done. */
int device_alloc(device_handle *d, size_t bytes, void **address);
void device_free(device_handle *d, void *address);
int device_put(device_handle *d, void *to, const void *from_host, size_t bytes);
int device_get(device_handle *d, void *to_host, const void *from, size_t bytes);
int device_copy(device_handle *d, void *to, const void *from, size_t bytes);
int device_fill(device_handle *d, void *to, unsigned char byte, size_t bytes);

int device_stream_new(device_handle *d, void **stream);
void device_stream_free(device_handle *d, void *stream);
int device_synchronize(device_handle *d, void *stream); /* NULL: the default stream */
/* The same for what may hang: TG_EDRIVER and *is_late after so many seconds.  The GPU is then still busy, and whatever
 * waits for it (freeing memory, unloading, ending the process in good order) waits too. */
int device_wait(device_handle *d, void *stream, double seconds, bool *is_late);

int device_event_new(device_handle *d, void **event);
void device_event_free(device_handle *d, void *event);
int device_event_record(device_handle *d, void *event, void *stream);
/* As device_wait(), for what the event was recorded behind; one that never was recorded is there already. */
int device_event_wait(device_handle *d, void *event, double seconds, bool *is_late);
/* Waits for both. */
int device_event_elapsed(device_handle *d, void *start, void *stop, double *milliseconds);
/* Makes this device's context the thread's current one, so that tg_launch(.., NULL, ..) and tg_info() mean
 * it; device_leave() restores the one before. */
int device_enter(device_handle *d);
void device_leave(device_handle *d);

/* ---- contexts ------------------------------------------------------------------------------------------ */

/* The primary context of a device; kept until the process ends, because nobody can tell who still uses it. */
int device_primary(const api_driver *driver, int ordinal, api_context *context);
/* The context that a launch on `stream` belongs to: the stream's; for NULL the thread's current one, else
 * device 0's primary. */
int device_stream_context(const api_driver *driver, void *stream, api_context *context);
int device_of_context(const api_driver *driver, api_context context, int *ordinal);
int device_capability(const api_driver *driver, int ordinal, int *major, int *minor);
/* True while the stream of that context records a graph, or, for the default stream, another one does. */
bool device_is_capturing(const api_driver *driver, api_context context, void *stream);

/* Makes `context` current and lets this thread load and allocate while other threads capture; false with the
 * error text.  context_leave() undoes both. */
typedef struct {
    const api_driver *driver;
    unsigned capture_mode;
} context_scope;
bool context_enter(const api_driver *driver, api_context context, context_scope *scope);
void context_leave(context_scope *scope);

#endif
