/* sim.c -- the simulator's run: arguments, grid, blocks, and the barriers at which warps meet.
 *
 * Reads thread IR and host memory; leaves results in that memory, and findings.  Reading order: sim_run
 * below, then sim_code.h (what the kernel becomes), sim_warp.c (one warp), sim_access.h, sim_memory.c and sim_race.h
 * (one access).
 *
 *     thread IR --sim_compile--> code --for each block, for each warp until it blocks--> memory, findings
 *
 * Blocks run one after another.  Within a block each warp runs until its next barrier; when all are there (or
 * ended), they are compared, and all go on. */
#define _POSIX_C_SOURCE 200809L
#include "sim/sim_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- findings ------------------------------------------------------------------------------------------ */

finding *sim_find(sim *s, finding_kind kind, tg_loc at, tg_loc other, int thread, int other_thread) {
    finding *f = findings_add(&s->result->findings, kind, at, other);
    if (f == NULL || f->count > 1) {
        return NULL;
    }
    memcpy(f->block, s->block.index, sizeof f->block);
    f->thread = thread;
    f->other_thread = other_thread;
    return f;
}

void sim_describe(finding *f, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
}

/* ---- expressions over arguments ------------------------------------------------------------------------ */

static bool argument_value(const var *v, const void *user, value *out) {
    const sim *s = user;
    *out = s->scalars[v->id];
    return out->type != 0;
}

/* A grid or tensor extent; false when it needs more than arguments, or faults. */
static bool evaluate_index(const sim *s, const node *x, int64_t *result) {
    value v;
    value_fault fault = FAULT_NONE;
    if (!expr_evaluate(x, argument_value, s, &v)) {
        return false;
    }
    *result = value_as_int(value_cast(v, TYPE_INDEX, &fault));
    return fault == FAULT_NONE;
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

static int complain(text *error, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

static int complain(text *error, const char *format, ...) {
    char line[256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (error != NULL) {
        text_add(error, line);
    }
    return TG_EARG;
}

static const char *name_of(const thread_param *p) {
    return p->kind == PARAM_TENSOR ? p->buffer->name : p->var->name;
}

static int take_scalar(sim *s, const thread_param *p, const witness_arg *arg, text *error) {
    if (arg->scalar.type != p->var->type) {
        return complain(error, "argument '%s' is of type %s, but the kernel takes %s", p->var->name,
                        type_name(arg->scalar.type), type_name(p->var->type));
    }
    const int64_t x = p->kind == PARAM_EXTENT ? value_as_int(arg->scalar) : 0;
    if (x < 0 || x > INT32_MAX) {
        return complain(error, "extent '%s' is %lld, outside 0 .. 2^31 - 1", p->var->name, (long long)x);
    }
    s->scalars[p->var->id] = arg->scalar;
    return TG_OK;
}

static int take_scalars(sim *s, int nargs, const witness_arg *args, text *error) {
    int n = 0;
    for (int i = 0; i < s->t->nparams; i++) {
        const thread_param *p = &s->t->params[i];
        if (p->kind == PARAM_CHECKS) {
            continue;
        }
        if (n < nargs && p->kind != PARAM_TENSOR) {
            const int status = take_scalar(s, p, &args[n], error);
            if (status != TG_OK) {
                return status;
            }
        }
        n++;
    }
    return n == nargs ? TG_OK : complain(error, "the kernel takes %d arguments, but %d are given", n, nargs);
}

#define MOST_ELEMENTS ((int64_t)1 << 56) /* so that bytes, and sums of two, fit 64 bits */

/* Extents, and the distances in elements from index to index; `pitch` lies between rows. */
static bool shape(const sim *s, sim_buffer *to) {
    const buffer *b = to->decl;
    const int64_t pitch = b->pitch > 0 ? b->pitch : b->layout.pitch;
    to->rank = b->rank;
    to->element = type_bytes(b->type);
    int64_t step = 1, last = 0;
    bool empty = false;
    for (int i = b->rank - 1; i >= 0; i--) {
        to->dim[i] = b->dim[i];
        if (b->dim_expr[i] != NULL && b->dim[i] < 0 && !evaluate_index(s, b->dim_expr[i], &to->dim[i])) {
            return false;
        }
        empty = empty || to->dim[i] <= 0;
        if (to->dim[i] > MOST_ELEMENTS / step || (pitch > 0 && to->dim[i] > MOST_ELEMENTS / pitch)) {
            return false;
        }
        to->stride[i] = step;
        last += (to->dim[i] - 1) * step;
        step = i == b->rank - 1 && pitch > 0 ? pitch : empty ? 1 : step * to->dim[i];
    }
    to->bytes = empty ? 0 : (last + 1) * to->element;
    return true;
}

static int take_tensor(sim *s, const thread_param *p, const witness_arg *arg, text *error) {
    sim_buffer *b = &s->buffers[p->buffer->id];
    if ((int64_t)arg->bytes < b->bytes || (arg->data == NULL && b->bytes > 0)) {
        return complain(error, "tensor '%s' needs %lld bytes, but %lld are given", name_of(p),
                        (long long)b->bytes, arg->data == NULL ? 0LL : (long long)arg->bytes);
    }
    b->data = arg->data;
    return TG_OK;
}

static int take_tensors(sim *s, const witness_arg *args, text *error) {
    int n = 0;
    for (int i = 0; i < s->t->nparams; i++) {
        const thread_param *p = &s->t->params[i];
        const int status = p->kind == PARAM_TENSOR ? take_tensor(s, p, &args[n], error) : TG_OK;
        if (status != TG_OK) {
            return status;
        }
        n += p->kind != PARAM_CHECKS;
    }
    return TG_OK;
}

static int take_grid(sim *s, text *error) {
    static const char axis[] = "xyz";
    for (int i = 0; i < 3; i++) {
        s->grid[i] = 1;
        if (s->t->grid[i] != NULL && !evaluate_index(s, s->t->grid[i], &s->grid[i])) {
            return complain(error, "the grid's extent along %c cannot be computed from the arguments",
                            axis[i]);
        }
        if (s->grid[i] < 0 || s->grid[i] > s->t->target->max_grid_dim[i]) {
            return complain(error, "the grid's extent along %c is %lld, outside 0 .. %lld", axis[i],
                            (long long)s->grid[i], (long long)s->t->target->max_grid_dim[i]);
        }
    }
    if ((double)s->grid[0] * (double)s->grid[1] * (double)s->grid[2] > (double)(UINT32_MAX - 1)) {
        return complain(error, "the grid has more than 2^32 - 2 blocks");
    }
    if (s->threads < 1 || s->threads > s->t->target->max_threads) {
        return complain(error, "a block of %d threads, outside 1 .. %d", s->threads,
                        s->t->target->max_threads);
    }
    return TG_OK;
}

/* ---- buffers ------------------------------------------------------------------------------------------- */

static int take_buffers(sim *s, text *error) {
    for (int i = 0; i < s->t->nbuffers; i++) {
        buffer *b = s->t->buffers[i];
        if (b == NULL) {
            continue;
        }
        sim_buffer *to = &s->buffers[b->id];
        to->decl = b;
        to->root = &s->buffers[buffer_root(b)->id];
        if (!shape(s, to)) {
            return complain(
                error, "the extents of '%s' are too large or cannot be computed from the arguments", b->name);
        }
    }
    return TG_OK;
}

/* Byte offsets in the arena of shared memory; one after another where no pass has given any.  What nothing
 * touches has no place (offset -1). */
static int64_t place_shared(sim *s) {
    int64_t top = 0, end = s->t->shared_bytes;
    for (int i = 0; i < s->t->nbuffers; i++) {
        sim_buffer *b = &s->buffers[i];
        if (b->decl == NULL || b->decl->space != TG_SHARED || b->root != b) {
            continue;
        }
        const bool has_places = s->t->shared_bytes > 0;
        if (has_places && b->decl->offset < 0) {
            continue;
        }
        b->offset = has_places ? b->decl->offset : top;
        top = (b->offset + b->bytes + 127) / 128 * 128;
        end = top > end ? top : end;
    }
    return end;
}

static void place_views(sim *s) {
    for (int i = 0; i < s->t->nbuffers; i++) {
        sim_buffer *b = &s->buffers[i];
        if (b->decl != NULL) {
            b->offset = b->shadow_at = b->root->offset;
        }
    }
}

/* Shared bytes lie in the block's memory, views in their owner's. */
static void point_to_memory(sim *s) {
    for (int i = 0; i < s->t->nbuffers; i++) {
        sim_buffer *b = &s->buffers[i];
        if (b->decl != NULL && b->decl->space == TG_SHARED) {
            b->data = s->block.shared + b->offset;
        } else if (b->decl != NULL) {
            b->data = b->root->data;
        }
    }
}

/* The smallest element of the buffers that a shadow covers, such that each begins at a multiple of it. */
static int granule_log2(const sim *s, bool (*covers)(const sim_buffer *b, const void *user),
                        const void *user) {
    int least = 8;
    for (int i = 0; i < s->t->nbuffers; i++) {
        const sim_buffer *b = &s->buffers[i];
        if (b->decl != NULL && covers(b, user)) {
            least = b->element < least ? b->element : least;
            while (b->shadow_at % least != 0) {
                least /= 2;
            }
        }
    }
    int log2 = 0;
    while (1 << log2 < least) {
        log2++;
    }
    return log2;
}

static bool is_shared(const sim_buffer *b, const void *user) {
    (void)user;
    return b->decl->space == TG_SHARED;
}

static bool is_of_owner(const sim_buffer *b, const void *owner) {
    return b->root->shadow_owner == owner;
}

typedef struct writes {
    sim *s;
    bool *written; /* by buffer id */
} writes;

static void note_write(node *ref, bool is_write, void *user) {
    writes *w = user;
    if (is_write) {
        w->written[buffer_root(ref->buffer)->id] = true;
    }
}

static void note_writes(thread_stmt *stmt, void *user) {
    thread_accesses(stmt, note_write, user);
}

static bool is_tensor(const sim_buffer *b) {
    return b->decl != NULL && b->decl->space == TG_GLOBAL && b->root == b && b->data != NULL;
}

static bool overlap(const sim_buffer *a, const sim_buffer *b) {
    const uintptr_t x = (uintptr_t)a->data, y = (uintptr_t)b->data;
    return x < y + (uintptr_t)b->bytes && y < x + (uintptr_t)a->bytes;
}

/* Tensors whose memory overlaps (alias) have one owner. */
static void find_owners(sim *s) {
    const int n = s->t->nbuffers;
    for (int i = 0; i < n; i++) {
        s->buffers[i].shadow_owner = is_tensor(&s->buffers[i]) ? &s->buffers[i] : NULL;
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            sim_buffer *a = &s->buffers[i], *b = &s->buffers[j];
            if (!is_tensor(a) || !is_tensor(b) || a->shadow_owner == b->shadow_owner || !overlap(a, b)) {
                continue;
            }
            const sim_buffer *from = a->shadow_owner;
            for (int k = 0; k <= i; k++) {
                s->buffers[k].shadow_owner =
                    s->buffers[k].shadow_owner == from ? b->shadow_owner : s->buffers[k].shadow_owner;
            }
        }
    }
}

/* One shadow from the lowest to the highest byte of those that `owner` stands for. */
static bool make_shadow(sim *s, const sim_buffer *owner) {
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (int i = 0; i < s->t->nbuffers; i++) {
        const sim_buffer *b = &s->buffers[i];
        if (is_tensor(b) && b->shadow_owner == owner) {
            const uintptr_t from = (uintptr_t)b->data;
            low = from < low ? from : low;
            high = from + (uintptr_t)b->bytes > high ? from + (uintptr_t)b->bytes : high;
        }
    }
    for (int i = 0; i < s->t->nbuffers; i++) {
        sim_buffer *b = &s->buffers[i];
        if (b->decl != NULL && b->root->shadow_owner == owner) {
            b->shadow_at = (int64_t)((uintptr_t)b->root->data - low);
        }
    }
    const int granule = granule_log2(s, is_of_owner, owner);
    race_shadow *shadow = race_shadow_new((int64_t)(high - low), granule, true);
    for (int i = 0; i < s->t->nbuffers; i++) {
        sim_buffer *b = &s->buffers[i];
        b->shadow = b->decl != NULL && b->root->shadow_owner == owner ? shadow : b->shadow;
    }
    return shadow != NULL;
}

/* Tensors that nobody writes need no shadow: reads alone never race. */
static bool make_shadows(sim *s) {
    const int n = s->t->nbuffers;
    bool *written = calloc((size_t)n + 1, sizeof *written);
    if (written == NULL) {
        return false;
    }
    thread_block body = s->t->body;
    thread_walk(&body, note_writes, &(writes){s, written});
    find_owners(s);
    bool enough = true;
    for (int i = 0; i < n; i++) {
        const sim_buffer *b = &s->buffers[i];
        if (is_tensor(b) && written[i] && b->shadow_owner->shadow == NULL) {
            enough = enough && make_shadow(s, b->shadow_owner);
        }
    }
    free(written);
    return enough;
}

/* ---- memory of the block ------------------------------------------------------------------------------- */

static size_t rounded(size_t bytes) {
    return (bytes + 127) / 128 * 128;
}

static void *carve(unsigned char **from, size_t bytes) {
    void *at = *from;
    *from += rounded(bytes);
    return at;
}

static bool make_block(sim *s, int64_t shared_bytes) {
    sim_block *b = &s->block;
    const size_t frame = (size_t)s->code.frame_bytes,
                 masks = sizeof(mask_frame) * (size_t)(s->code.depth + 1);
    b->nwarps = (s->threads + s->wave - 1) / s->wave;
    const size_t n = (size_t)b->nwarps;
    const size_t bytes =
        rounded((size_t)shared_bytes) + rounded(n * sizeof *b->warps) + n * (rounded(frame) + rounded(masks));
    s->memory = aligned_alloc(128, bytes + 128);
    const int granule = granule_log2(s, is_shared, NULL);
    b->shared_shadow = race_shadow_new(shared_bytes, granule, false);
    b->flights = s->code.has_copies ? async_new(shared_bytes, granule, s->threads) : NULL;
    if (s->memory == NULL || b->shared_shadow == NULL || (s->code.has_copies && b->flights == NULL)) {
        return false;
    }
    memset(s->memory, 0, bytes + 128);
    unsigned char *from = s->memory;
    b->shared = carve(&from, (size_t)shared_bytes);
    b->warps = carve(&from, n * sizeof *b->warps);
    for (int i = 0; i < b->nwarps; i++) {
        warp *w = &b->warps[i];
        w->first = i * s->wave;
        const int lanes = s->threads - w->first < s->wave ? s->threads - w->first : s->wave;
        w->all = UINT64_MAX >> (64 - lanes);
        w->frame = carve(&from, frame);
        w->frames = carve(&from, masks);
    }
    return true;
}

/* What never changes in a frame: constants, scalars, thread indices. */
static void fill_frame(const sim *s, const warp *w) {
    const sim_code *code = &s->code;
    for (int i = 0; i < code->nconstants; i++) {
        const code_constant *k = &code->constants[i];
        for (int l = 0; l < (k->uniform ? 1 : s->wave); l++) {
            lane_set(w->frame + k->at, l, k->v);
        }
    }
    for (int i = 0; i < s->t->nvars; i++) {
        if (s->scalars[i].type != 0 && code->vars[i].n > 0) {
            lane_set(w->frame + code->vars[i].at, 0, s->scalars[i]);
        }
    }
    int64_t below = 1;
    for (int axis = 0; axis < 3; axis++) {
        const var *v = s->t->thread_var[axis];
        const int64_t extent = s->t->threads[axis] > 0 ? s->t->threads[axis] : 1;
        for (int l = 0; v != NULL && l < s->wave; l++) {
            const int64_t x = (w->first + l) / below % extent;
            lane_set(w->frame + code->vars[v->id].at, l, value_int(v->type, x));
        }
        below *= extent;
    }
}

/* ---- blocks -------------------------------------------------------------------------------------------- */

static void begin_block(sim *s) {
    sim_block *b = &s->block;
    b->epoch++;
    race_block_ended(b->shared_shadow);
    if (b->flights != NULL) {
        async_begin_block(b->flights);
    }
    for (int i = 0; i < b->nwarps; i++) {
        warp *w = &b->warps[i];
        w->state = WARP_READY;
        w->pc = 0;
        w->mask = w->all;
        w->nframes = 0;
        w->order = 0;
        w->has_waited = !s->t->is_dependent;
        memset(w->frame + s->code.locals_at, 0, (size_t)s->code.locals_bytes);
        for (int axis = 0; axis < 3; axis++) {
            const var *v = s->t->grid_var[axis];
            if (v != NULL) {
                lane_set(w->frame + s->code.vars[v->id].at, 0, value_int(v->type, b->index[axis]));
            }
        }
    }
}

/* "16..31, 40": the threads of a warp's lanes. */
static void add_threads(text *out, const warp *w, uint64_t lanes) {
    const char *between = "";
    for (int l = 0; l < TARGET_MAX_WAVE; l++) {
        if (!(lanes >> l & 1)) {
            continue;
        }
        int end = l;
        while (end + 1 < TARGET_MAX_WAVE && (lanes >> (end + 1) & 1)) {
            end++;
        }
        text_print(out, end > l ? "%s%d..%d" : "%s%d", between, w->first + l, w->first + end);
        between = ", ";
        l = end;
    }
}

typedef struct meeting {
    tg_loc barrier;
    int thread; /* one that has arrived */
    bool is_of_warp;
} meeting;

static void report_missing(sim *s, const meeting *m, const warp *w, uint64_t missing, tg_loc where,
                           const char *instead) {
    finding *f =
        sim_find(s, FINDING_BARRIER, m->barrier, where, m->thread, w->first + sim_first_lane(missing));
    if (f != NULL) {
        text who = {0};
        text_add(&who, "threads ");
        add_threads(&who, w, missing);
        if (m->is_of_warp) {
            text_add(&who, " of their warp");
        } else {
            text_print(&who, " of %d", s->threads);
        }
        sim_describe(f, "%s do not arrive: %s", who.s != NULL ? who.s : "threads", instead);
        text_free(&who);
    }
}

void sim_meet_warp(sim *s, warp *w) {
    const uint64_t missing = w->all & ~w->mask;
    const meeting m = {s->code.instr[w->pc].at, w->first + sim_first_lane(w->mask), true};
    if (missing != 0) {
        report_missing(s, &m, w, missing, sim_divergence(w, sim_first_lane(missing)),
                       "they went another way");
    }
    w->order++;
}

/* All warps have stopped.  Every thread of the block must stand at the barrier where the first one does. */
static void compare(sim *s, const warp *first) {
    const sim_block *b = &s->block;
    const meeting m = {s->code.instr[first->pc - 1].at, first->first + sim_first_lane(first->mask), false};
    for (int i = 0; i < b->nwarps; i++) {
        const warp *w = &b->warps[i];
        const uint64_t missing = w->all & ~w->mask;
        if (w->state == WARP_EXITED) {
            report_missing(s, &m, w, w->all, (tg_loc){0}, "they have ended");
        } else if (w->pc != first->pc) {
            report_missing(s, &m, w, w->mask, s->code.instr[w->pc - 1].at, "they wait at another barrier");
        } else if (missing != 0) {
            report_missing(s, &m, w, missing, sim_divergence(w, sim_first_lane(missing)),
                           "they went another way");
        }
    }
}

/* False when no warp waits: the block has ended. */
static bool meet(sim *s) {
    sim_block *b = &s->block;
    const warp *first = NULL;
    for (int i = 0; i < b->nwarps && first == NULL; i++) {
        first = b->warps[i].state == WARP_BLOCKED ? &b->warps[i] : NULL;
    }
    if (first == NULL) {
        return false;
    }
    compare(s, first);
    s->result->barriers++;
    b->epoch++;
    return true;
}

static bool goes_on(const sim *s) {
    return !s->stopped && !s->out_of_memory;
}

static void run_block(sim *s) {
    sim_block *b = &s->block;
    begin_block(s);
    do {
        for (int i = 0; i < b->nwarps && goes_on(s); i++) {
            if (b->warps[i].state != WARP_EXITED) {
                sim_warp_run(s, &b->warps[i]);
            }
        }
    } while (goes_on(s) && meet(s));
    for (int i = 0; i < s->t->nbuffers; i++) {
        if (s->buffers[i].shadow != NULL && s->buffers[i].shadow_owner == &s->buffers[i]) {
            race_block_ended(s->buffers[i].shadow);
        }
    }
    s->result->blocks += goes_on(s);
}

static bool is_wanted(const sim *s) {
    return !s->options->wants_block || s->options->wants_block(s->block.index, s->options->user);
}

static void run_grid(sim *s) {
    for (int i = 0; i < s->block.nwarps; i++) {
        fill_frame(s, &s->block.warps[i]);
    }
    int64_t *at = s->block.index;
    uint32_t number = 0;
    for (at[2] = 0; at[2] < s->grid[2] && goes_on(s); at[2]++) {
        for (at[1] = 0; at[1] < s->grid[1] && goes_on(s); at[1]++) {
            for (at[0] = 0; at[0] < s->grid[0] && goes_on(s); at[0]++) {
                s->block.number = number++;
                if (is_wanted(s)) {
                    run_block(s);
                }
            }
        }
    }
}

/* ---- public -------------------------------------------------------------------------------------------- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int prepare(sim *s, int nargs, const witness_arg *args, text *error) {
    const size_t nvars = (size_t)s->t->nvars + 1, nbuffers = (size_t)s->t->nbuffers + 1;
    s->scalars = calloc(nvars, sizeof *s->scalars);
    s->buffers = calloc(nbuffers, sizeof *s->buffers);
    if (s->scalars == NULL || s->buffers == NULL) {
        return TG_ENOMEM;
    }
    int status = take_scalars(s, nargs, args, error);
    status = status == TG_OK ? take_buffers(s, error) : status;
    status = status == TG_OK ? take_tensors(s, args, error) : status;
    status = status == TG_OK ? take_grid(s, error) : status;
    if (status != TG_OK) {
        return status;
    }
    const int64_t shared = place_shared(s);
    if (!sim_compile(s->t, s->buffers, &s->code)) {
        if (s->code.error != NULL && error != NULL) {
            text_print(error, "the simulator does not run %s", s->code.error);
        }
        return s->code.error != NULL ? TG_EINTERNAL : TG_ENOMEM;
    }
    place_views(s);
    if (!make_block(s, shared)) {
        return TG_ENOMEM;
    }
    point_to_memory(s);
    return make_shadows(s) ? TG_OK : TG_ENOMEM;
}

static void clean_up(sim *s) {
    for (int i = 0; s->buffers != NULL && i < s->t->nbuffers; i++) {
        if (s->buffers[i].shadow_owner == &s->buffers[i]) {
            race_shadow_free(s->buffers[i].shadow);
        }
    }
    race_shadow_free(s->block.shared_shadow);
    async_free(s->block.flights);
    sim_code_free(&s->code);
    free(s->memory);
    free(s->buffers);
    free(s->scalars);
}

int sim_run(const thread_kernel *t, int nargs, witness_arg *args, const sim_options *options,
            sim_result *result, text *error) {
    static const sim_options none = {0};
    const double start = now();
    *result = (sim_result){0};
    sim s = {.t = t,
             .options = options != NULL ? options : &none,
             .result = result,
             .wave = t->target->wave,
             .threads = (int)thread_count(t)};
    int status = prepare(&s, nargs, args, error);
    if (status == TG_OK) {
        run_grid(&s);
    }
    if (status == TG_OK && (s.out_of_memory || result->printed.failed)) {
        status = TG_ENOMEM;
    }
    clean_up(&s);
    result->seconds = now() - start;
    return status;
}

void sim_free(sim_result *result) {
    text_free(&result->printed);
}
