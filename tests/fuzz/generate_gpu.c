/* generate_gpu.c -- one program on a GPU, against what it comes to by its own evaluation; see generate.h.
 *
 * The launch is a dependent one, after kernels that write its arguments late: what does not wait for them reads bytes
 * that were there before.
 *
 * In the process that was started, since a context does not survive a fork; so it runs after program_check(), which
 * has shown that the program is legal.  All is compared bit for bit but what depends on exp, log, tanh and rsqrt: the
 * program is evaluated anew with these a few last bits wrong, and what thereby changes may lie about as far away. */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/pipeline.h"
#include "runtime/device.h"
#include "runtime/jit.h"

#include "generate_witness.h"

enum { NUDGED = LIBRARY_FIXED + 4 };

typedef struct gpu_session {
    const program *p;
    device_handle *d;
    unsigned char *want[MAX_BUFFERS];
    witness_arg args[MAX_BUFFERS];
    void *address[MAX_BUFFERS];
    void *staged[MAX_BUFFERS]; /* what late_copy() brings */
    tg_arg launched[MAX_BUFFERS];
} gpu_session;

static device_handle *the_device(void) {
    static device_handle *d;
    if (!d && (device_open(0, &d) != TG_OK || device_enter(d) != TG_OK)) {
        fprintf(stderr, "no GPU: %s\n", tg_error());
        exit(3);
    }
    return d;
}

static const char *evaluate(gpu_session *s) {
    for (int i = 0; i < s->p->nargs; i++) {
        if (s->p->arg[i].is_tensor) {
            const int b = s->p->arg[i].id;
            s->want[b] = malloc(s->args[i].bytes + 1);
            memcpy(s->want[b], s->args[i].data, s->args[i].bytes);
        }
    }
    return program_evaluate(s->p, s->want);
}

/* ---- functions of the library ---------------------------------------------------------------------------- */

static void free_copies(unsigned char **copy) {
    for (int b = 0; b < MAX_BUFFERS; b++) {
        free(copy[b]);
        copy[b] = NULL;
    }
}

/* What it comes to with library functions a little wrong; false where that cannot be told. */
static bool evaluate_nudged(const gpu_session *s, uint64_t seed, unsigned char **copy) {
    for (int i = 0; i < s->p->nargs; i++) {
        const int b = s->p->arg[i].id;
        if (s->p->arg[i].is_tensor) {
            copy[b] = malloc(s->args[i].bytes + 1);
            program_contents(s->p, b, copy[b]);
        }
    }
    library_nudge(seed);
    const bool good = program_evaluate(s->p, copy) == NULL;
    library_nudge(0);
    return good;
}

/* Does an element of one argument lie as far from the exact one as the nudged ones do?  Integers that depend on such
 * a function at all may be anything. */
static bool is_near(int64_t type, const unsigned char *have, const unsigned char *want,
                    unsigned char *const *other) {
    const cell x = cell_load(type, have), y = cell_load(type, want);
    bool differs = false, wild = !type_real(type);
    double lo = y.f, hi = y.f;
    for (int i = 0; i < NUDGED; i++) {
        const cell z = cell_load(type, other[i]);
        differs |= cell_bits(type, z) != cell_bits(type, y);
        wild |= isnan(z.f) || isinf(z.f);
        lo = fmin(lo, z.f);
        hi = fmax(hi, z.f);
    }
    return differs && (wild || (x.f >= lo - 2 * (hi - lo) && x.f <= hi + 2 * (hi - lo)));
}

/* Is all that differs due to the last bits of exp, log, tanh and rsqrt? */
static bool is_library(const gpu_session *s) {
    unsigned char *copy[NUDGED][MAX_BUFFERS] = {{NULL}};
    bool good = true;
    for (int i = 0; i < NUDGED; i++) {
        good &= evaluate_nudged(s, 1 + (uint64_t)i, copy[i]);
    }
    for (int i = 0; i < s->p->nargs && good; i++) {
        const int b = s->p->arg[i].id;
        const int64_t type = s->p->buffer[b].type, size = type_size(type);
        for (int64_t at = 0; s->p->arg[i].is_tensor && at < buffer_count(s->p, b) * size && good;
             at += size) {
            const unsigned char *have = s->args[i].data, *want = s->want[b] + at;
            unsigned char *other[NUDGED];
            for (int k = 0; k < NUDGED; k++) {
                other[k] = copy[k][b] + at;
            }
            good = cell_bits(type, cell_load(type, have + at)) == cell_bits(type, cell_load(type, want)) ||
                   is_near(type, have + at, want, other);
        }
    }
    for (int i = 0; i < NUDGED; i++) {
        free_copies(copy[i]);
    }
    return good;
}

/* ---- the launch ------------------------------------------------------------------------------------------ */

/* Constant tensors, which may be read before the wait, at once; others by late_copy(), to where other bytes are. */
static int put(gpu_session *s, int i) {
    const witness_arg *a = &s->args[i];
    if (s->p->buffer[s->p->arg[i].id].is_constant) {
        return device_put(s->d, s->address[i], a->data, a->bytes);
    }
    int code = device_alloc(s->d, a->bytes, &s->staged[i]);
    code = code ? code : device_put(s->d, s->staged[i], a->data, a->bytes);
    return code ? code : device_fill(s->d, s->address[i], 0xa5, a->bytes);
}

tg_builder late_copy; /* generate_late.c */

static int bring_late(const gpu_session *s) {
    static tg_jit *jit;
    int code = TG_OK;
    if (!jit) {
        jit = tg_jit_new("late_copy", late_copy, NULL, 0);
        code = tg_jit_dependent(jit, true);
    }
    for (int i = 0; i < s->p->nargs && code == TG_OK; i++) {
        if (s->staged[i]) {
            const tg_arg args[] = {tg_arg_int((int64_t)s->args[i].bytes), tg_arg_uint(0),
                                   tg_arg_pointer(s->staged[i]), tg_arg_pointer(s->address[i])};
            code = tg_launch(jit, (tg_config){.n = 0}, NULL, 4, args);
        }
    }
    return code;
}

static int upload(gpu_session *s) {
    int code = TG_OK;
    for (int i = 0; i < s->p->nargs && code == TG_OK; i++) {
        const witness_arg *a = &s->args[i];
        if (a->data) {
            code = device_alloc(s->d, a->bytes + 1, &s->address[i]);
            code = code || !a->bytes ? code : put(s, i);
            s->launched[i] = tg_arg_pointer(s->address[i]);
        } else if (type_is_float(a->scalar.type)) {
            s->launched[i] = tg_arg_float(value_as_real(a->scalar));
        } else {
            s->launched[i] =
                a->scalar.type == TG_U64 ? tg_arg_uint(a->scalar.bits) : tg_arg_int(value_as_int(a->scalar));
        }
    }
    return code;
}

static int run(gpu_session *s, const pipeline_result *made) {
    const nvrtc_request request = {
        .name = "program", .text = made->cuda.text.s, .target = "sm_90a", .no_contraction = true};
    launch_kernel *k = NULL;
    int code = jit_load_text(s->d, &request, made->plan, &k);
    code = code ? code : upload(s);
    code = code ? code : bring_late(s);
    code = code ? code : launch_run(k, NULL, s->p->nargs, s->launched);
    code = code ? code : device_synchronize(s->d, NULL);
    for (int i = 0; i < s->p->nargs && code == TG_OK; i++) {
        if (s->args[i].data && s->args[i].bytes) {
            code = device_get(s->d, s->args[i].data, s->address[i], s->args[i].bytes);
        }
    }
    launch_unload(k);
    return code;
}

static check_result judge(gpu_session *s, char *why, size_t size) {
    const tg_config none = {.n = 0};
    const pipeline_options options = {.target = target_find("sm_90a"), .dependent = true};
    const pipeline_input input = {
        .name = "program", .build = program_build, .config = &none, .user = &s->p, .user_size = sizeof s->p};
    pipeline_result made = {.kernel = NULL};
    check_result r = CHECK_GOOD;
    const char *fault = evaluate(s);
    if (fault) {
        snprintf(why, size, "the program itself: %s", fault);
        r = CHECK_ILLEGAL;
    } else if (pipeline_run(&input, &options, &made) != TG_OK) {
        r = CHECK_REFUSED; /* legal for the targets that were tried before, too large for this one */
    } else if (run(s, &made) != TG_OK) {
        snprintf(why, size, "GPU: %s", tg_error());
        r = CHECK_FAILED;
    } else if (!program_matches(s->p, s->want, "GPU", s->args, why, size) && !is_library(s)) {
        r = CHECK_FAILED;
    }
    pipeline_free(&made);
    return r;
}

check_result program_on_gpu(program *p, char *why, size_t size) {
    gpu_session s = {.p = p, .d = the_device()};
    program_args(p, s.args);
    const check_result r = judge(&s, why, size);
    for (int i = 0; i < p->nargs; i++) {
        device_free(s.d, s.address[i]);
        device_free(s.d, s.staged[i]);
        free(s.args[i].data);
    }
    for (int b = 0; b < MAX_BUFFERS; b++) {
        free(s.want[b]);
    }
    return r;
}
