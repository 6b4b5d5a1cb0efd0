/* bench_clock.c -- see bench_clock.h.
 *
 * The device is found by its place on the bus: CUDA_VISIBLE_DEVICES changes the driver's numbers, not NVML's. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/bench_clock.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct nvmlDevice_st *nvml_device;
enum { CLOCK_SM = 1, MAX_DEVICES = 64 };

static struct {
    int (*init)(void);
    int (*by_bus)(const char *bus, nvml_device *device);
    int (*clock)(nvml_device device, unsigned kind, unsigned *mhz);
} nvml;
static nvml_device known[MAX_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find(void *library, const char *name, void *field) {
    void *address = dlsym(library, name);
    memcpy(field, &address, sizeof address);
}

/* Loaded for the life of the process, as the driver is. */
static void open_nvml(void) {
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        return;
    }
    find(library, "nvmlInit_v2", &nvml.init);
    find(library, "nvmlDeviceGetHandleByPciBusId_v2", &nvml.by_bus);
    find(library, "nvmlDeviceGetClockInfo", &nvml.clock);
    if (!nvml.init || !nvml.by_bus || nvml.init() != 0) {
        nvml.clock = NULL;
    }
}

static nvml_device device_of(int ordinal) {
    if (ordinal >= MAX_DEVICES) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    device_info info;
    if (!known[ordinal] && device_describe(ordinal, &info) == 0) {
        char bus[32];
        snprintf(bus, sizeof bus, "%08x:%02x:%02x.0", (unsigned)info.pci_domain, (unsigned)info.pci_bus,
                 (unsigned)info.pci_device);
        if (nvml.by_bus(bus, &known[ordinal]) != 0) {
            known[ordinal] = NULL;
        }
    }
    nvml_device found = known[ordinal];
    pthread_mutex_unlock(&lock);
    return found;
}

int bench_clock_mhz(const device_handle *d) {
    pthread_once(&once, open_nvml);
    unsigned mhz = 0;
    nvml_device device = nvml.clock ? device_of(device_ordinal(d)) : NULL;
    return device && nvml.clock(device, CLOCK_SM, &mhz) == 0 ? (int)mhz : 0;
}
