/* fake_nvml.c -- a double of NVML for tests of the timer: a clock whose readings FAKE_NVML lists, in MHz; the last one
 * stays. */
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device);
EXPORT int nvmlDeviceGetClockInfo(void *device, unsigned kind, unsigned *mhz);

static int instance;

int nvmlInit_v2(void) {
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
    (void)bus;
    *device = &instance;
    return 0;
}

int nvmlDeviceGetClockInfo(void *device, unsigned kind, unsigned *mhz) {
    static int reading;
    const char *at = getenv("FAKE_NVML");
    (void)device, (void)kind;
    if (!at || !*at) {
        return 1;
    }
    for (int i = 0; i <= reading && *at; i++) {
        char *end;
        *mhz = (unsigned)strtoul(at, &end, 10);
        at = end;
    }
    reading++;
    return 0;
}
