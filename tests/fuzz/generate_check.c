/* generate_check.c -- one program through all witnesses, in a process of its own; see generate.h. */
#define _XOPEN_SOURCE 700

#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/pipeline.h"
#include "sim/sim.h"
#include "sim/tile_reference.h"

#include "generate_witness.h"

enum { PROCESSOR_SECONDS = 60, SECONDS = 900 }; /* a loaded machine is no fault of the program */

typedef struct checking {
    program *p;
    unsigned char *want[MAX_BUFFERS];
    char *why;
    size_t size;
} checking;

static size_t tensor_bytes(const program *p, int b) {
    return (size_t)(buffer_count(p, b) * type_size(p->buffer[b].type));
}

static check_result say(checking *c, check_result r, const char *who, const char *what) {
    snprintf(c->why, c->size, "%s: %s", who, what);
    return r;
}

/* ---- arguments and results ------------------------------------------------------------------------------- */

int program_args(const program *p, witness_arg *args) {
    for (int i = 0; i < p->nargs; i++) {
        const int id = p->arg[i].id;
        args[i] = (witness_arg){.data = NULL};
        if (p->arg[i].is_tensor) {
            args[i].bytes = tensor_bytes(p, id);
            args[i].data = malloc(args[i].bytes + 1);
            program_contents(p, id, args[i].data);
        } else if (p->variable[id].kind == V_EXTENT) {
            args[i].scalar = value_int(TYPE_INDEX, size_value(p, p->variable[id].size));
        } else {
            const gvariable *v = &p->variable[id];
            args[i].scalar = (value){v->type, cell_bits(v->type, v->value)};
            if (type_width(v->type) < 64) {
                args[i].scalar.bits &= ((uint64_t)1 << type_width(v->type)) - 1;
            }
        }
    }
    return p->nargs;
}

static void free_args(const program *p, witness_arg *args) {
    for (int i = 0; i < p->nargs; i++) {
        free(args[i].data);
    }
}

static bool same(int64_t type, cell a, cell b) {
    return cell_bits(type, a) == cell_bits(type, b);
}

static void describe(int64_t type, cell a, char *to, size_t size) {
    if (type_real(type)) {
        snprintf(to, size, "%.17g", a.f);
    } else {
        snprintf(to, size, "%lld", (long long)a.i);
    }
}

/* Of the first element that differs. */
bool program_matches(const program *p, unsigned char *const *want_bytes, const char *who,
                     const witness_arg *args, char *why, size_t size) {
    for (int i = 0; i < p->nargs; i++) {
        const int b = p->arg[i].id;
        const int64_t type = p->arg[i].is_tensor ? p->buffer[b].type : INDEX;
        for (int64_t e = 0; p->arg[i].is_tensor && e < buffer_count(p, b); e++) {
            const unsigned char *got = args[i].data;
            const cell want = cell_load(type, want_bytes[b] + e * type_size(type));
            const cell have = cell_load(type, got + e * type_size(type));
            if (!same(type, want, have)) {
                char a[40], d[40];
                describe(type, want, a, sizeof a);
                describe(type, have, d, sizeof d);
                snprintf(why, size, "%s: element %lld of %s is %s instead of %s", who, (long long)e,
                         p->buffer[b].name, d, a);
                return false;
            }
        }
    }
    return true;
}

/* What a run by `who` has come to. */
static check_result judge(checking *c, const char *who, int status, const findings *f, const text *error,
                          const witness_arg *args) {
    text t = {0};
    check_result r = CHECK_GOOD;
    if (status != TG_OK) {
        r = say(c, CHECK_FAILED, who, error->s ? error->s : "failed");
    } else if (findings_failed(f, true)) {
        findings_print(f, &t);
        r = say(c, CHECK_FAILED, who, t.s ? t.s : "");
    } else if (!program_matches(c->p, c->want, who, args, c->why, c->size)) {
        r = CHECK_FAILED;
    }
    text_free(&t);
    return r;
}

/* ---- the witnesses --------------------------------------------------------------------------------------- */

static check_result evaluate_here(checking *c) {
    for (int i = 0; i < c->p->nargs; i++) {
        const int b = c->p->arg[i].id;
        if (c->p->arg[i].is_tensor) {
            c->want[b] = malloc(tensor_bytes(c->p, b) + 1);
            program_contents(c->p, b, c->want[b]);
        }
    }
    const char *fault = program_evaluate(c->p, c->want);
    if (fault && strcmp(fault, PROGRAM_TOO_LONG) == 0) {
        return say(c, CHECK_REFUSED, "the program itself", fault);
    }
    return fault ? say(c, CHECK_ILLEGAL, "the program itself", fault) : CHECK_GOOD;
}

static check_result refused(checking *c, const char *who, const tg_kernel *k) {
    text t = {0};
    if (k) {
        diag_print(&k->errors, &t);
    }
    const char *s = t.s ? t.s : "no message";
    const bool later = strstr(s, "not available yet") != NULL;
    const bool wide = strstr(s, "vectorized:") != NULL || strstr(s, "shared memory") != NULL ||
                      strstr(s, "copy: a width") != NULL;
    const check_result r = say(c, later ? CHECK_SKIPPED : wide ? CHECK_REFUSED : CHECK_FAILED, who, s);
    text_free(&t);
    return r;
}

static check_result by_reference(checking *c) {
    const tg_config none = {.n = 0};
    tg_kernel *k = tg_begin_user("program", &none, &c->p, sizeof c->p);
    program_build();
    if (!tg_end(k)) {
        const check_result r = refused(c, "builder", k);
        tg_free(k);
        return r;
    }
    witness_arg args[MAX_BUFFERS];
    reference_options options = {.seed = c->p->seed};
    reference_result result = {.statements = 0};
    text error = {0};
    const int status = tile_reference_run(k, program_args(c->p, args), args, &options, &result, &error);
    const check_result r = judge(c, "reference", status, &result.findings, &error, args);
    reference_free(&result);
    text_free(&error);
    free_args(c->p, args);
    tg_free(k);
    return r;
}

static check_result simulate(checking *c, const char *who, const thread_kernel *t) {
    witness_arg args[MAX_BUFFERS];
    const sim_options options = {.strict = true};
    sim_result result = {.blocks = 0};
    text error = {0};
    const int status = sim_run(t, program_args(c->p, args), args, &options, &result, &error);
    const check_result r = judge(c, who, status, &result.findings, &error, args);
    sim_free(&result);
    text_free(&error);
    free_args(c->p, args);
    return r;
}

/* Launches are dependent where the target has such. */
static check_result by_simulator(checking *c, const char *machine) {
    const tg_config none = {.n = 0};
    const pipeline_options options = {.target = target_find(machine), .verify = true, .dependent = true};
    const pipeline_input input = {
        .name = "program", .build = program_build, .config = &none, .user = &c->p, .user_size = sizeof c->p};
    pipeline_result made = {.kernel = NULL};
    char who[40];
    snprintf(who, sizeof who, "lowering for %s", machine);
    const int status = pipeline_run(&input, &options, &made);
    const char *bug = diag_take_bug();
    check_result r;
    if (bug) {
        r = say(c, CHECK_FAILED, who, bug);
    } else if (status != TG_OK) {
        r = refused(c, who, made.kernel);
    } else {
        snprintf(who, sizeof who, "simulator %s", machine);
        r = simulate(c, who, made.thread);
        bug = diag_take_bug();
        r = bug ? say(c, CHECK_FAILED, who, bug) : r;
    }
    pipeline_free(&made);
    return r;
}

static check_result check_here(checking *c) {
    static const char *const targets[] = {"sm_80", "sim64", "sm_90a"};
    const int n = c->p->seed % 4 ? 2 : 3;
    check_result r = evaluate_here(c);
    r = r == CHECK_GOOD ? by_reference(c) : r;
    for (int i = 0; i < n && r == CHECK_GOOD; i++) {
        r = by_simulator(c, targets[i]);
    }
    for (int b = 0; b < MAX_BUFFERS; b++) {
        free(c->want[b]);
    }
    return r;
}

/* ---- a process of its own -------------------------------------------------------------------------------- */

static void read_all(int from, char *to, size_t size) {
    size_t n = 0;
    for (ssize_t got; n + 1 < size && (got = read(from, to + n, size - 1 - n)) > 0;) {
        n += (size_t)got;
    }
    to[n] = '\0';
}

check_result program_check(program *p, char *why, size_t size) {
    int ends[2];
    fflush(NULL);
    if (pipe(ends)) {
        abort();
    }
    const pid_t child = fork();
    if (child < 0) {
        abort();
    }
    if (child == 0) {
        const struct itimerval most = {.it_value = {.tv_sec = PROCESSOR_SECONDS}};
        setitimer(ITIMER_PROF, &most, NULL);
        alarm(SECONDS);
        checking c = {.p = p, .why = why, .size = size};
        why[0] = '\0';
        const check_result r = check_here(&c);
        const bool written = write(ends[1], why, strlen(why)) >= 0;
        _exit(written ? (int)r : 99);
    }
    close(ends[1]);
    read_all(ends[0], why, size);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) <= CHECK_ILLEGAL) {
        return (check_result)WEXITSTATUS(status);
    }
    snprintf(why, size, "crash: %s %d", WIFSIGNALED(status) ? "signal" : "status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return CHECK_FAILED;
}
