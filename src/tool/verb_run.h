/* verb_run.h -- what `tegula run` finds out about one kernel in one configuration. */
#ifndef TOOL_VERB_RUN_H
#define TOOL_VERB_RUN_H

#include "sim/sim.h"
#include "tool/compare.h"
#include "tool/gpu.h"
#include "tool/reference.h"

typedef struct outcome {
    bool is_good; /* right results, nothing found, no failed check */
    bool on_gpu;
    device_info device;
    gpu_run gpu;
    sim_result sim;
    reference_run reference;
    int ncompared;
    comparison compared[INPUTS_MAX]; /* their tensors are gone by the time anybody looks: read the report */
    bool has_findings;               /* that fail */
    text report;                     /* text, or JSON with --json */
} outcome;

/* Builds, runs and judges an opened subject.  A status other than good: it could not be run, the reason is printed,
 * or kept by a subject that keeps quiet (subject.h).  Free the outcome in every case. */
int run_subject(const options *o, subject *s, outcome *out);
void run_free(outcome *out);

/* ---- several configurations ---------------------------------------------------------------------------- */

enum { RUN_REASONS = 16, RUN_WORDS = 256, RUN_REPORTS = 16 << 20 };

/* What is known so far of --configs.  It lies where the processes that run them and that print can both see it
 * (child_shared), because a configuration may hang and end the first. */
typedef struct run_sweep {
    int64_t all;                            /* how many are to be run; 0: none was begun */
    int64_t right, wrong, refused, unnamed; /* unnamed: refused for reasons beyond RUN_REASONS */
    bool is_done, can_vary;
    char running[RUN_WORDS]; /* what is special in the one that is being run */
    int nreasons;
    struct run_refusal {
        char why[RUN_WORDS];
        int64_t count;
    } reasons[RUN_REASONS];
    int length;
    char
        reports[RUN_REPORTS]; /* of the wrong ones, and with -v of all; what is printed at once is not here */
} run_sweep;

/* Runs the default and configurations of the tune space.  Reports of text on standard output are printed at once. */
int run_configs(const options *o, const gallery *g, const operand *which, run_sweep *known);
/* In the process that waits: the rest of the report, and the last line.  `why` says what ended a sweep that is not
 * done, with `status`.  The command's exit status. */
int run_configs_print(const options *o, const run_sweep *known, int status, const char *why);

#endif
