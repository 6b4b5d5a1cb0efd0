/* steps.c -- `steps:` of a gallery's row: a call of several launches, which the verbs treat as one.
 *
 *     steps: [fill output 0, block_split_k, cast_output]
 *
 * A step is a kernel of the gallery, or fills a tensor with one value.  Tensors, scalars and extents of one
 * name are one argument of the call.  A kernel other than the row's own is built from its own row, with the
 * call's values of the params named there.  What the last step writes is the result. */
#include "tool/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dsl/diag.h"
#include "tool/tool.h"

/* ---- filling, by a kernel that is made here ------------------------------------------------------------ */

enum { FILL_THREADS = 256 };

typedef struct fill_what {
    char name[64];
    int64_t type, elements;
    double value;
} fill_what;

static tg_index one_index(tg_expr e) {
    return (tg_index){1, {e}};
}

/* grid(pid, ..) threads(tid, 256) { let(i, ..); when(lt(i, elements)) set(at(tensor, i), value); } */
static void build_fill(void) {
    tg_kernel *k = tg_now();
    const tg_loc at = TG_HERE;
    const fill_what *w = tg_user(k);
    const tg_expr n = tg_int(k, at, w->elements), width = tg_int(k, at, FILL_THREADS);
    const tg_buf tensor = tg_tensor(k, at, w->name, w->type, 0, one_index(n));
    const tg_expr blocks = tg_int(k, at, tg_ceildiv(k, at, w->elements, FILL_THREADS));
    tg_scope grid = tg_open(k, at, TG_GRID, 0, (tg_axes){1, {"pid"}, {blocks}});
    tg_scope threads = tg_open(k, at, TG_THREADS, 0, (tg_axes){1, {"tid"}, {width}});
    const tg_expr first = tg_binary(k, at, TG_MUL, grid.axis[0], width);
    const tg_expr i = tg_let(k, at, "i", tg_binary(k, at, TG_ADD, first, threads.axis[0]));
    tg_scope inside = tg_open(k, at, TG_WHEN, 0, (tg_axes){1, {NULL}, {tg_binary(k, at, TG_LT, i, n)}});
    const tg_expr filling = tg_cast(k, at, w->type, tg_float(k, at, w->value));
    tg_store(k, at, tg_at(k, at, tensor, one_index(i)), filling);
    tg_scope *const open[] = {&inside, &threads, &grid};
    for (int j = 0; j < 3; j++) {
        open[j]->done = true;
        tg_close(open[j]);
    }
}

/* The tensor of that name in the kernels of the call. */
static const buffer *find_tensor(const subject *s, const char *name) {
    for (int i = 0; i < s->nsteps; i++) {
        const tg_kernel *k = s->steps[i].s->result.kernel;
        for (int j = 0; k && j < k->nargs; j++) {
            if (k->args[j].tensor && strcmp(k->args[j].tensor->name, name) == 0) {
                return k->args[j].tensor;
            }
        }
    }
    return NULL;
}

static int make_fill(subject *s, const subject_step *step) {
    fill_what *w = step->fill;
    const buffer *tensor = find_tensor(s, w->name);
    if (!tensor) {
        return tool_fail(STATUS_FAULTY, "%s: step 'fill %s': no kernel of the call has that tensor",
                         s->kernel->name, w->name);
    }
    w->type = tensor->type;
    w->elements = buffer_elements(tensor);
    if (w->elements < 0) {
        return tool_fail(STATUS_FAULTY, "%s: step 'fill %s': the size of the tensor is known at launch only",
                         s->kernel->name, w->name);
    }
    return STATUS_GOOD;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static int open_fill(subject *s, subject_step *step, const char *words) {
    static const gallery_kernel kernel = {.name = "fill", .build = build_fill};
    fill_what *w = ARENA_NEW(&s->memory, fill_what);
    char rest[2];
    if (sscanf(words, "fill %63s %lf%1s", w->name, &w->value, rest) != 2) {
        return tool_fail(STATUS_FAULTY, "%s: step '%s': expected fill TENSOR VALUE", s->kernel->name, words);
    }
    step->s = ARENA_NEW(&s->memory, subject);
    *step->s = (subject){.kernel = &kernel, .user = w, .user_size = sizeof *w};
    step->fill = w;
    return STATUS_GOOD;
}

/* Another kernel: its own row, with the call's values of the same names. */
static int open_kernel(const gallery *g, subject *s, subject_step *step, const char *name) {
    const gallery_kernel *kernel = gallery_find(g, name);
    if (!kernel) {
        return STATUS_FAULTY;
    }
    step->s = ARENA_NEW(&s->memory, subject);
    *step->s = (subject){.kernel = kernel};
    if (kernel->row) {
        step->s->config = kernel->row->params;
    }
    for (int i = 0; i < step->s->config.n; i++) {
        tg_param *p = &step->s->config.p[i];
        tg_config_get(&s->config, p->name, &p->value);
    }
    return STATUS_GOOD;
}

static int open_step(const gallery *g, subject *s, subject_step *step, const char *words) {
    if (strcmp(words, s->kernel->name) == 0) {
        step->s = s;
        return STATUS_GOOD;
    }
    return strncmp(words, "fill ", 5) == 0 ? open_fill(s, step, words) : open_kernel(g, s, step, words);
}

int steps_open(const gallery *g, subject *s) {
    const row *r = s->kernel->row;
    const int n = r && r->nsteps ? r->nsteps : 1;
    bool has_own = false;
    int status = STATUS_GOOD;
    s->steps = ARENA_ARRAY(&s->memory, subject_step, n);
    memset(s->steps, 0, (size_t)n * sizeof *s->steps);
    for (int i = 0; i < n && !status; i++) {
        status = open_step(g, s, &s->steps[i], r && r->nsteps ? r->steps[i] : s->kernel->name);
        s->nsteps += !status;
        has_own = has_own || s->steps[i].s == s;
    }
    return status || has_own ? status
                             : tool_fail(STATUS_FAULTY, "%s: its steps do not hold '%s' itself",
                                         s->kernel->name, s->kernel->name);
}

/* ---- building ------------------------------------------------------------------------------------------ */

static const char *argument_name(const tile_arg *a) {
    return a->tensor ? a->tensor->name : a->scalar->name;
}

/* Which of the call's arguments it is; a new one when none has the name. */
static int place_of(subject *s, int step, int number) {
    const tile_arg *a = &s->steps[step].s->result.kernel->args[number];
    for (int i = 0; i < s->nargs; i++) {
        const subject_arg *known = &s->args[i];
        if (strcmp(argument_name(known->from), argument_name(a)) == 0) {
            return i;
        }
    }
    if (s->nargs == TILE_MAX_ARGS) {
        return -1;
    }
    s->args[s->nargs] = (subject_arg){a, step, number};
    return s->nargs++;
}

static int map_arguments(subject *s) {
    s->args = ARENA_ARRAY(&s->memory, subject_arg, TILE_MAX_ARGS);
    for (int i = 0; i < s->nsteps; i++) {
        subject_step *step = &s->steps[i];
        step->nargs = step->s->result.kernel->nargs;
        for (int j = 0; j < step->nargs; j++) {
            step->arg[j] = step->fill ? -1 : place_of(s, i, j);
            if (step->arg[j] < 0 && !step->fill) {
                return tool_fail(STATUS_FAULTY, "%s: more than %d arguments", s->kernel->name, TILE_MAX_ARGS);
            }
        }
    }
    for (int i = 0; i < s->nsteps; i++) { /* what is filled is an argument of another step */
        if (s->steps[i].fill) {
            s->steps[i].arg[0] = place_of(s, i, 0);
        }
    }
    return STATUS_GOOD;
}

int steps_build(const options *o, const pipeline_options *how, subject *s) {
    int status = STATUS_GOOD;
    for (int pass = 0; pass < 2; pass++) { /* fills last: the others say how much */
        for (int i = 0; i < s->nsteps && !status; i++) {
            const subject_step *step = &s->steps[i];
            if (step->s == s || (pass == 1) != (step->fill != NULL)) {
                continue;
            }
            step->s->target = s->target;
            status = step->fill ? make_fill(s, step) : STATUS_GOOD;
            status = status ? status : subject_build_one(o, how, step->s);
        }
    }
    return status ? status : map_arguments(s);
}

void steps_free(subject *s) {
    for (int i = 0; i < s->nsteps; i++) {
        if (s->steps[i].s != s) {
            pipeline_free(&s->steps[i].s->result);
        }
    }
}
