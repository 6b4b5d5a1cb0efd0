/* plan_bytes.h -- a launch plan in a file. */
#ifndef TG_RUNTIME_PLAN_BYTES_H
#define TG_RUNTIME_PLAN_BYTES_H

#include "codegen/plan.h"
#include "runtime/bytes.h"

void plan_put(text *out, const launch_plan *plan);
/* NULL when the bytes are no plan that can be launched (r->failed), or without memory. */
launch_plan *plan_get(byte_reader *r);

#endif
