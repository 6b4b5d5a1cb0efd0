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

/* --configs: several configurations of the tune space, one report; *is_said when it was printed. */
int run_configs(const options *o, const gallery *g, const operand *which, bool *is_said);

#endif
