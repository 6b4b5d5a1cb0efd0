/* pipeline.c -- READ FIRST: the compiler, as one table and one loop.
 *
 *      words of kernel.h
 *            |            dsl/build*.c
 *         tile IR         dsl/tile.h     what the kernel says, for all threads of a block
 *            |            tile_verify    rules that need the target
 *            |            tile_pipeline  copies that run ahead of their iteration
 *            |            tile_layout    which thread holds what; who does which iteration
 *            |            tile_once      tensors that are read once
 *            |            tile_lower     the only file that knows both forms
 *        thread IR        codegen/thread.h   what one thread does
 *            |            thread_bounds      conditions that are decided already
 *            |            thread_vectorize   several elements in one access
 *            |            thread_atomics     lanes that add to one place add to each other
 *            |            thread_simplify    nothing that nobody would have written
 *            |            thread_early       copies that start before what the block waits for
 *            |            thread_dependent   the wait of a launch that starts early
 *            |            thread_sync        barriers of collective operations
 *            |            thread_banks       rows of shared tiles on different banks
 *            |            thread_arena       places in shared memory
 *        CUDA text        cuda_print         what NVRTC compiles     + launch plan: what the runtime launches
 *
 * Terms
 *   kernel    one __global__ function; tg_kernel as recorded, thread_kernel as lowered
 *   tile      a rectangular part of a buffer that a block handles together
 *   collective  done by all threads of a block together: they all come to it
 *   thread view, block view   code that says what one thread does; what the block does to tiles
 *   place, ref  one element (or a few consecutive ones) of a buffer
 *   space     global, shared (one per block), local (registers of one thread)
 *   wave      the lanes that execute together: 32 on NVIDIA
 *   facts     what can be shown about an index: uniform, inside, aligned, disjoint
 *
 * A file's prefix is the form that it reads.  A mistake of the user goes to the kernel's errors and ends the
 * loop after the pass that found it; a mistake of ours is tg_bug(). */
#include "codegen/pipeline.h"

#include <string.h>

#include "codegen/passes.h"
#include "codegen/tile_decide.h"

/* ---- the passes ---------------------------------------------------------------------------------------- */

/* All there is to say about a pass.  Exactly one of on_tiles, lower and on_threads is set. */
typedef struct pass {
    pass_info info; /* its name, what it requires, what it leaves */
    void (*on_tiles)(tg_kernel *k, const target *t);
    thread_kernel *(*lower)(tg_kernel *k, const target *t);
    thread_pass *on_threads;
    void (*show)(const tg_kernel *k, text *out);         /* what the dump of the tile IR does not say */
    bool (*verify)(const thread_kernel *t, text *error); /* the spec of thread IR behind it */
} pass;

static const pass passes[] = {
    {{"tile_verify", "tile IR that the builder accepted", "a launch and atomics that the target has"},
     .on_tiles = tile_verify},
    {{"tile_pipeline", "tile_verify",
      "serial loops for pipelined ones; asynchronous copies, commits and waits"},
     .on_tiles = tile_pipeline},
    {{"tile_layout", "no tile statement is made any more",
      "layouts of fragments, reducers, parallel loops, and copies that each warp makes for itself"},
     .on_tiles = tile_layout,
     .show = tile_layout_print},
    {{"tile_once", "tile_layout", "tensors known of which no element is read twice"},
     .on_tiles = tile_once,
     .show = tile_once_print},
    {{"tile_lower", "tile_layout", "thread IR; vectorized loops and shares of collective operations marked"},
     .lower = tile_lower,
     .verify = thread_verify},
    {{"thread_bounds", "nothing", "conditions that are decided are constants"},
     .on_threads = thread_bounds,
     .verify = thread_verify},
    {{"thread_vectorize", "nothing", "no loop is marked vectorized; accesses have their widths"},
     .on_threads = thread_vectorize,
     .verify = thread_verify},
    {{"thread_atomics", "thread_bounds, thread_vectorize", "no lanes that wait for each other's atomics"},
     .on_threads = thread_atomics,
     .verify = thread_verify},
    {{"thread_simplify", "thread_bounds, thread_vectorize", "no dead branch, loop, name or local"},
     .on_threads = thread_simplify,
     .verify = thread_verify},
    {{"thread_early", "thread_simplify", "asynchronous copies before the first read that is waited for"},
     .on_threads = thread_early,
     .verify = thread_verify},
    {{"thread_dependent", "no statement is moved any more",
      "in a dependent launch: a wait before all that earlier launches may write or read"},
     .on_threads = thread_dependent,
     .verify = thread_dependent_verify},
    {{"thread_sync", "marked shares of collective operations",
      "a barrier wherever one of them needs it: of the block, or of each warp where that is enough"},
     .on_threads = thread_sync,
     .verify = thread_verify},
    {{"thread_banks", "final widths of accesses", "the map of shared tiles with the fewest wavefronts"},
     .on_threads = thread_banks,
     .verify = thread_verify},
    {{"thread_arena", "no further shared buffer is made", "byte offsets and the total of shared memory"},
     .on_threads = thread_arena,
     .verify = thread_arena_verify},
};

enum { PASSES = sizeof passes / sizeof passes[0] };

const pass_info *pipeline_pass(int i) {
    return i >= 0 && i < PASSES ? &passes[i].info : NULL;
}

/* ---- dumps and the spec -------------------------------------------------------------------------------- */

typedef struct stage {
    const pipeline_options *options;
    text before; /* the last text given out */
} stage;

static void dump_text(stage *d, const char *name, text *now) {
    const char *s = now->s ? now->s : "";
    const bool is_same = d->before.s && strcmp(d->before.s, s) == 0;
    d->options->dump(name, is_same ? "(unchanged)\n" : s, d->options->dump_user);
    text_free(&d->before);
    d->before = *now;
}

static void dump_tile(stage *d, const char *name, const tg_kernel *k,
                      void (*show)(const tg_kernel *k, text *out)) {
    if (d->options->dump) {
        text now = {NULL, 0, 0, false};
        tile_print(k, &now, d->options->lines);
        if (show) {
            show(k, &now);
        }
        dump_text(d, name, &now);
    }
}

static void dump_thread(stage *d, const char *name, const thread_kernel *t) {
    if (d->options->dump) {
        text now = {NULL, 0, 0, false};
        thread_print(t, &now, d->options->lines);
        dump_text(d, name, &now);
    }
}

static bool wants_verify(const pipeline_options *options) {
#ifdef TG_DEBUG
    (void)options;
    return true;
#else
    return options->verify;
#endif
}

static bool keeps_spec(const pass *p, const thread_kernel *t) {
    text error = {NULL, 0, 0, false};
    const bool good = p->verify(t, &error);
    if (!good) {
        tg_bug("after %s: %s", p->info.name, error.s ? error.s : "");
    }
    text_free(&error);
    return good;
}

/* ---- the loop ------------------------------------------------------------------------------------------ */

static thread_kernel *run_pass(const pass *p, tg_kernel *k, thread_kernel *t,
                               const pipeline_options *options) {
    if (p->on_tiles) {
        p->on_tiles(k, options->target);
    } else if (p->lower) {
        t = p->lower(k, options->target);
        t->is_dependent = options->dependent && options->target->dependent_launch;
    } else {
        p->on_threads(t, &k->errors);
    }
    return t;
}

thread_kernel *pipeline_lower(tg_kernel *k, const pipeline_options *options) {
    stage d = {options, {NULL, 0, 0, false}};
    thread_kernel *t = NULL;
    dump_tile(&d, "tile", k, NULL);
    bool good = k->errors.n == 0;
    for (const pass *p = passes; p < passes + PASSES && good; p++) {
        t = run_pass(p, k, t, options);
        good = k->errors.n == 0 && !k->memory.failed;
        if (good && t && wants_verify(options)) {
            good = keeps_spec(p, t);
        }
        if (t) {
            dump_thread(&d, p->info.name, t);
        } else {
            dump_tile(&d, p->info.name, k, p->show);
        }
    }
    if (good) {
        text_free(&d.before);
        dump_thread(&d, "thread", t);
    }
    text_free(&d.before);
    return good ? t : NULL;
}

/* ---- from the builder to the text ---------------------------------------------------------------------- */

static int status_of(const tg_kernel *k, bool good) {
    if (!k || k->memory.failed) {
        return TG_ENOMEM;
    }
    if (k->errors.n > 0 || k->unmet) {
        return TG_EKERNEL;
    }
    return good && !diag_has_bug() ? TG_OK : TG_EINTERNAL;
}

static bool build(const pipeline_input *input, tg_kernel *k) {
    k->tuned = input->tuned;
    input->build();
    k->tuned = NULL;
    return tg_end(k) && !k->unmet;
}

static bool print(const pipeline_options *options, pipeline_result *result) {
    const cuda_print_options how = {.body_only = false, .lineinfo = options->lineinfo};
    cuda_print(result->thread, &how, &result->cuda);
    if (options->dump && result->cuda.text.s) {
        options->dump("cuda", result->cuda.text.s, options->dump_user);
    }
    return !result->cuda.text.failed;
}

int pipeline_run(const pipeline_input *input, const pipeline_options *options, pipeline_result *result) {
    memset(result, 0, sizeof *result);
    (void)diag_take_bug(); /* an earlier call's */
    tg_kernel *k = tg_begin_user(input->name, input->config, input->user, input->user_size);
    result->kernel = k;
    if (!k) {
        return TG_ENOMEM;
    }
    bool good = build(input, k);
    if (good) {
        result->thread = pipeline_lower(k, options);
        good = result->thread != NULL;
    }
    if (good && !print(options, result)) {
        return TG_ENOMEM;
    }
    if (good) {
        result->plan = plan_make(result->thread);
        if (!result->plan) {
            return TG_ENOMEM;
        }
    }
    return status_of(k, good);
}

void pipeline_free(pipeline_result *result) {
    plan_free(result->plan);
    cuda_text_free(&result->cuda);
    tg_free(result->kernel);
    memset(result, 0, sizeof *result);
}
