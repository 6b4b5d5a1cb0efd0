/* reference.h -- what a kernel must compute: by its own reference, else by the tile reference in double. */
#ifndef TOOL_REFERENCE_H
#define TOOL_REFERENCE_H

#include "dsl/config.h"
#include "sim/tile_reference.h"
#include "tool/inputs.h"

typedef struct reference_run {
    bool is_own;           /* the kernel's NAME_reference */
    config_reads reads;    /* what that one asked of its configuration */
    reference_result tile; /* otherwise; free it with reference_free() in any case */
} reference_run;

/* Fills `wanted` of every written tensor.  The exit status. */
int reference_compute(const options *o, const subject *s, arguments *all, reference_run *out);

/* The arguments of a step as the witnesses take them: `wanted`, else `after`. */
void reference_arguments(const arguments *all, const subject_step *step, bool wanted, witness_arg *out);
/* What a witness that did not come to its end says.  The exit status. */
int reference_failed(const subject *s, int code, const text *error);

#endif
