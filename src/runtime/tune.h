/* tune.h -- the two ways in which the tuner times a configuration: a look at each, care for the best few.
 *
 *     look       a few milliseconds at most; ends at once for what is 3 times slower than the best so far
 *     converge   the best few in turn, round after round, so that a drift of the clock hits all alike
 *
 * Both wait for the GPU; nothing else may run on it meanwhile. */
#ifndef TG_RUNTIME_TUNE_H
#define TG_RUNTIME_TUNE_H

#include <tegula/tegula.h>

#include "runtime/bench.h"

enum { TUNE_FINALISTS = 5 };

typedef struct tune_clock {
    device_handle *device;
    void *stream, *start, *stop;
    bench_timer *timer;
    double timeout; /* seconds until calls count as hung, as tg_bench_options has it; 0: never */
    bool is_stuck;  /* they do: whatever waits for the GPU would wait for ever; do not close it */
} tune_clock;

/* TG_OK, or a code with the error text; close it in both cases. */
int tune_clock_open(device_handle *d, tune_clock *out);
void tune_clock_close(tune_clock *c);

/* Calls one after the other, rotating over the sets.  What is measured has run before: nothing is compiled or
 * loaded.  `best_us` 0: there is no best yet. */
int tune_look(tune_clock *c, tg_bench_call *call, void *user, int nsets, double best_us,
              tg_bench_figures *figures);

typedef struct tune_finalist {
    tg_bench_call *call;
    void *user;
    tg_bench_figures figures; /* left */
} tune_finalist;

/* TG_OK; else the code of the finalist number *failed, whose call or launch failed: the others' figures are not
 * filled in. */
int tune_converge(tune_clock *c, tg_bench_mode mode, int nsets, tune_finalist *f, int n, int *failed);

#endif
