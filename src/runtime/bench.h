/* bench.h -- how long calls take on a GPU: the timer behind tg_bench(), with what it needs kept between uses.
 *
 * Reads   a device, a call, sets of arguments.
 * Leaves  tg_bench_figures: median, quartiles, interval.
 *
 * In every mode the GPU is kept busy from before the first sample of a batch to its last, so that the time that
 * the processor takes to launch is in no sample:
 *
 *     stream   | graph (lead) | event | graph | event | graph | event ..      a sample: event to event
 *     cold     | flush | event | call | event | flush | event | call | ..    a sample: its own pair
 *
 * A flush writes twice the L2 cache and then reads it: the write alone would leave its write-back to be done in the
 * sample.  The host looks at the clock only between batches, which is also where a measurement may end.  It waits for
 * a batch by asking whether the stream is idle (device_wait), once all of it is queued: a call that hangs ends the
 * measurement and not the program.  Of calls that are queued one by one no more are under way than the driver takes,
 * or a launch itself would wait, and nobody would see the limit of time. */
#ifndef TG_RUNTIME_BENCH_H
#define TG_RUNTIME_BENCH_H

#include <tegula/tegula.h>

#include "runtime/device.h"

typedef struct bench_timer bench_timer;

/* Streams, events and, once cold mode asks for it, the flush: made once, used for any number of measurements by
 * one thread at a time.  `d` outlives it.  TG_OK, or a code with the error text. */
int bench_open(device_handle *d, bench_timer **out);
void bench_close(bench_timer *t); /* accepts NULL */

/* After bench_calls() failed: calls did not end in time, and the GPU is still busy with them.  Such a timer takes no
 * further measurement, and what it holds is never freed, because that would wait for the GPU. */
bool bench_is_stuck(const bench_timer *t);

/* tg_bench_calls() on this timer; `options` may be NULL. */
int bench_calls(bench_timer *t, tg_bench_call *call, void *user, int nsets, const tg_bench_options *options,
                tg_bench_figures *figures);

enum { BENCH_MAX_SETS = 256 };

/* How many sets of arguments of so many bytes stream mode needs: together at least `times` L2 caches, 2 sets
 * at least and `most` at most. */
int bench_sets(const device_info *device, double bytes, double times, int most);

/* The same with a tenth of the time: enough to choose among variants. */
tg_bench_options bench_glance(const tg_bench_options *options);

/* The figures of n samples, which are sorted in place; launches, gave_up and clock_mhz are left 0. */
void bench_summarise(double *us, int n, tg_bench_figures *figures);

#endif
