/* generate_gpu.c -- one program on a GPU, against what it comes to by its own evaluation; see generate.h.
 *
 * In the process that was started, since a context does not survive a fork; so it runs after program_check(), which
 * has shown that the program is legal. */
#define _POSIX_C_SOURCE 200809L

#include <stdlib.h>
#include <string.h>

#include "codegen/pipeline.h"
#include "runtime/device.h"
#include "runtime/jit.h"

#include "generate_witness.h"

typedef struct gpu_session {
    const program *p;
    device_handle *d;
    unsigned char *want[MAX_BUFFERS];
    witness_arg args[MAX_BUFFERS];
    void *address[MAX_BUFFERS];
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

/* Functions whose last bit is the library's own: nothing to compare bit for bit. */
static bool has_library_functions(program *p) {
    static const char *const words[] = {"exp_of", "log_of", "tanh_of", "rsqrt_of"};
    char *source = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&source, &size);
    bool found = !out;
    if (out) {
        program_words(p, out, false);
        fclose(out);
    }
    for (size_t i = 0; source && i < sizeof words / sizeof words[0]; i++) {
        found = found || strstr(source, words[i]);
    }
    free(source);
    return found;
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

static int upload(gpu_session *s) {
    int code = TG_OK;
    for (int i = 0; i < s->p->nargs && code == TG_OK; i++) {
        const witness_arg *a = &s->args[i];
        if (a->data) {
            code = device_alloc(s->d, a->bytes + 1, &s->address[i]);
            code = code || !a->bytes ? code : device_put(s->d, s->address[i], a->data, a->bytes);
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
    const pipeline_options options = {.target = target_find("sm_90a")};
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
    } else if (!program_matches(s->p, s->want, "GPU", s->args, why, size)) {
        r = CHECK_FAILED;
    }
    pipeline_free(&made);
    return r;
}

check_result program_on_gpu(program *p, char *why, size_t size) {
    gpu_session s = {.p = p, .d = the_device()};
    program_args(p, s.args);
    const bool is_fit = !has_library_functions(p);
    const check_result r = is_fit ? judge(&s, why, size) : CHECK_REFUSED;
    for (int i = 0; i < p->nargs; i++) {
        device_free(s.d, s.address[i]);
        free(s.args[i].data);
    }
    for (int b = 0; b < MAX_BUFFERS; b++) {
        free(s.want[b]);
    }
    return r;
}
