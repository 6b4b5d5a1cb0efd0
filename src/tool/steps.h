/* steps.h -- the launches of a call; subject.c alone calls these. */
#ifndef TOOL_STEPS_H
#define TOOL_STEPS_H

#include "tool/subject.h"

/* Fills s->steps from the kernel's row; without `steps:` there, the kernel is the one step. */
int steps_open(const gallery *g, subject *s);
/* Builds the kernels beside the subject's own, which is built, and finds the arguments of the call. */
int steps_build(const options *o, const pipeline_options *how, subject *s);
void steps_free(subject *s);

#endif
