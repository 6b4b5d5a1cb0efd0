/* bench_measure.h -- measures kernels on a GPU, with the ceilings and cuBLAS beside them. */
#ifndef TOOL_BENCH_MEASURE_H
#define TOOL_BENCH_MEASURE_H

#include "runtime/device.h"
#include "tool/bench_results.h"
#include "tool/gallery.h"

/* The kernels of the command line in each combination of swept values, one row each; ceilings and library once a
 * problem.  Values swept for all kernels vary slowest, so that the kernels of a problem share its inputs.  A
 * configuration that does not build is said on stderr and left out.  The worst exit status. */
int bench_measure(const options *o, const gallery *g, const device_info *device, bench_results *out);

/* Names of GPU, driver, compiler, library and the date. */
void bench_describe_machine(const device_info *device, bench_results *out);

#endif
