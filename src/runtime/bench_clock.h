/* bench_clock.h -- the clock of a GPU's SMs, as NVML tells it. */
#ifndef TG_RUNTIME_BENCH_CLOCK_H
#define TG_RUNTIME_BENCH_CLOCK_H

#include "runtime/device.h"

/* MHz now; 0 where NVML (part of the driver, opened at run time) is missing or does not say. */
int bench_clock_mhz(const device_handle *d);

#endif
