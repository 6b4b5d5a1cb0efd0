/* tune_worker.c -- a process that builds and compiles points, one at a time.
 *
 * Building is cheap and compiling dear, so the master hears between the two what code the point gives: it may have
 * that already.  What is compiled lies in the disk cache, where the GPU process finds it. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/image.h"
#include "runtime/jit.h"
#include "tool/tool.h"
#include "tool/tune.h"

/* ---- legality ------------------------------------------------------------------------------------------ */

/* The architecture has 255 registers of 4 bytes for a thread: what is larger lives in local memory, which no
 * fragment is meant for.  (CUDA C++ Programming Guide, "Compute Capabilities") */
enum { MAX_REGISTERS = 255 };

static bool refuse(tune_outcome *out, const char *format, long long needs, long long has) {
    out->status = RECORD_RESOURCES;
    snprintf(out->reason, sizeof out->reason, format, needs, has);
    return false;
}

static bool fits_registers(const thread_kernel *t, tune_outcome *out) {
    for (int i = 0; i < t->nbuffers; i++) {
        const buffer *b = t->buffers[i];
        const int64_t words = b->space == TG_LOCAL && !b->view_of ? (buffer_bytes(b) + 3) / 4 : 0;
        if (words > MAX_REGISTERS) {
            snprintf(out->reason, sizeof out->reason,
                     "'%s' alone needs %lld registers a thread; there are %d",
                     b->name ? b->name : "a fragment", (long long)words, MAX_REGISTERS);
            out->status = RECORD_RESOURCES;
            return false;
        }
    }
    return true;
}

static bool fits(const tune *t, const subject *s, tune_outcome *out) {
    const launch_plan *plan = s->result.plan;
    const long long threads = (long long)plan->threads[0] * plan->threads[1] * plan->threads[2];
    out->shared_bytes = (int)(plan->static_shared + plan->dynamic_shared);
    if (threads > t->device.max_threads) {
        return refuse(out, "%lld threads in a block; the device takes %lld", threads, t->device.max_threads);
    }
    if (out->shared_bytes > t->device.shared_per_block_optin) {
        return refuse(out, "%lld bytes of shared memory in a block; the device has %lld", out->shared_bytes,
                      t->device.shared_per_block_optin);
    }
    return fits_registers(s->result.thread, out);
}

/* ---- what it is, without compiling --------------------------------------------------------------------- */

static uint64_t digest_launch(const launch_plan *plan, uint64_t seed) {
    uint64_t h = XXH3_64bits_withSeed(plan->threads, sizeof plan->threads, seed);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < plan->grid[i].n; j++) {
            const plan_step *step = &plan->grid[i].step[j];
            const int64_t words[] = {step->op, step->value};
            h = XXH3_64bits_withSeed(words, sizeof words, h);
        }
    }
    return h;
}

static void digest(const subject *s, tune_outcome *out) {
    for (int i = 0; i < s->nsteps; i++) {
        const pipeline_result *made = &s->steps[i].s->result;
        out->code = out->code * 3 + image_text_digest(made->cuda.text.s);
        out->launch = digest_launch(made->plan, out->launch);
    }
    out->code = out->code ? out->code : 1;
}

static bool examine(const tune *t, const tune_job *job, subject *s, tune_outcome *out) {
    const pipeline_options how = {0};
    text why = {0};
    *out = (tune_outcome){.status = RECORD_OK};
    int status = tune_subject(&t->problems[job->problem], t->g, job->point, &why, s);
    status = status ? status : subject_build(&t->problems[job->problem].one, &how, s);
    if (status) {
        out->status = RECORD_REJECTED;
        snprintf(out->reason, sizeof out->reason, "%s", why.s ? why.s : "it cannot be built");
    }
    text_free(&why);
    s->why = NULL;
    if (status || !fits(t, s, out)) {
        return false;
    }
    digest(s, out);
    return true;
}

/* ---- compiling ----------------------------------------------------------------------------------------- */

static void first_line(const char *from, char *out, size_t size) {
    snprintf(out, size, "%.*s", (int)strcspn(from, "\n"), from);
}

/* False: the machine lacks a compiler. */
static bool compile_step(const subject *s, tune_outcome *out) {
    const jit_settings how = {.ignores_records = true};
    jit_compiled made;
    tg_jit *jit = tg_jit_new(s->kernel->name, s->kernel->build, s->user, s->user_size);
    int code = jit ? TG_OK : TG_ENOMEM;
    if (!code) {
        jit_set(jit, &how);
        code = jit_compile(jit, &s->config, s->target->name, &made);
    }
    if (!code) {
        out->compile_ms += made.image->notes.compile_ms;
    } else {
        out->status = RECORD_COMPILE_FAILED;
        first_line(tg_error(), out->reason, sizeof out->reason);
    }
    tg_jit_free(jit); /* waits until the image is on disk */
    return code != TG_ENOCOMPILER;
}

static bool compile(const subject *s, tune_outcome *out) {
    bool has_compiler = true;
    for (int i = 0; i < s->nsteps && has_compiler && out->status == RECORD_OK; i++) {
        has_compiler = compile_step(s->steps[i].s, out);
    }
    return has_compiler;
}

/* ---- the process --------------------------------------------------------------------------------------- */

static bool answer(int channel, tune_answer_kind kind, const tune_job *job, const tune_outcome *out) {
    const tune_answer a = {.kind = kind, .problem = job->problem, .point = job->point, .out = *out};
    return tune_send(channel, &a, sizeof a);
}

/* One point; false when the master is gone. */
static bool work(const tune *t, int channel, const tune_job *job) {
    subject s;
    tune_outcome out;
    tune_job next;
    const bool is_legal = examine(t, job, &s, &out);
    bool goes_on = answer(channel, ANSWER_EXAMINED, job, &out);
    if (is_legal && goes_on) {
        goes_on = tune_receive(channel, &next, sizeof next);
        if (goes_on && next.kind == JOB_COMPILE) {
            const bool has_compiler = compile(&s, &out);
            goes_on = answer(channel, has_compiler ? ANSWER_DONE : ANSWER_LACKING, job, &out);
        }
    }
    subject_free(&s);
    return goes_on;
}

void tune_worker(const tune *t, int channel) {
    tune_job job;
    while (tune_receive(channel, &job, sizeof job) && work(t, channel, &job)) {
    }
    _exit(0);
}
