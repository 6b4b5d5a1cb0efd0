/* pipeline.h -- the compiler as one call: tile IR in, thread IR and CUDA text out. */
#ifndef CODEGEN_PIPELINE_H
#define CODEGEN_PIPELINE_H

#include "codegen/cuda_print.h"
#include "codegen/plan.h"
#include "codegen/thread.h"
#include "dsl/tile.h"

/* Called after every stage with its name ("tile", each pass, "thread", "cuda") and text. */
typedef void pipeline_dump(const char *stage, const char *text, void *user);

typedef struct pipeline_options {
    const target *target;
    bool lineinfo;
    bool dependent; /* launched before the launch before it has ended, where the target has that */
    bool verify;    /* the spec of the IR is checked after every pass (always so in debug builds) */
    bool lines;     /* "file:line" in dumps */
    pipeline_dump *dump;
    void *dump_user;
} pipeline_options;

/* What a pass is for, in words: `requires` must hold before it, `leaves` holds after it. */
typedef struct pass_info {
    const char *name, *requires, *leaves;
} pass_info;
/* Pass number i of the pipeline, from 0; NULL behind the last. */
const pass_info *pipeline_pass(int i);

/* Lowers an ended kernel without errors.  The result lives in k's arena.  NULL: the reasons are in k's errors. */
thread_kernel *pipeline_lower(tg_kernel *k, const pipeline_options *options);

/* Everything between the builder and NVRTC: begin, build, end, lower, print, plan. */
typedef struct pipeline_result {
    tg_kernel *kernel; /* owned; also on failure, for its errors */
    thread_kernel *thread;
    cuda_text cuda;
    launch_plan *plan; /* owned; take it by setting NULL */
} pipeline_result;

typedef struct pipeline_input {
    const char *name;
    tg_builder *build;
    const tg_config *config;
    const void *user;
    size_t user_size;
    const tg_config *tuned; /* of a tuned record: what tunables not in `config` are; NULL: their defaults */
} pipeline_input;

/* TG_OK, TG_EKERNEL (errors in result->kernel), TG_ENOMEM, TG_EINTERNAL.  Free the result in every case. */
int pipeline_run(const pipeline_input *input, const pipeline_options *options, pipeline_result *result);
void pipeline_free(pipeline_result *result);

#endif
