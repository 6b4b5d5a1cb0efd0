/* verb_bench.h -- the two halves of `tegula bench`. */
#ifndef TOOL_VERB_BENCH_H
#define TOOL_VERB_BENCH_H

#include "tool/gallery.h"

/* bench --jit: what it costs to come from a builder to a cubin. */
int bench_jit(const options *o, gallery *g);

#endif
