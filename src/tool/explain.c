/* explain.c -- gathers what is known of a kernel: costs, findings, registers, decisions. */
#include "tool/explain.h"

#include <stdlib.h>
#include <string.h>

#include "codegen/facts.h"
#include "codegen/tile_layout.h"
#include "runtime/image.h"
#include "tool/child.h"
#include "tool/inputs.h"
#include "tool/progress.h"
#include "tool/reference.h"
#include "tool/tool.h"

/* ---- words --------------------------------------------------------------------------------------------- */

const char *explain_op_name(cost_op op) {
    switch (op) {
    case COST_LOAD:
        return "load";
    case COST_STORE:
        return "store";
    case COST_ATOMIC:
        return "atomic";
    case COST_COPY_FROM:
    case COST_COPY_TO:
        return "async_copy";
    }
    return "?";
}

const char *explain_op_words(cost_op op) {
    switch (op) {
    case COST_LOAD:
        return "Load from";
    case COST_STORE:
        return "Store to";
    case COST_ATOMIC:
        return "Atomic on";
    case COST_COPY_FROM:
        return "Asynchronous copy from";
    case COST_COPY_TO:
        return "Asynchronous copy to";
    }
    return "?";
}

const char *explain_fact_name(explain_fact_kind k) {
    switch (k) {
    case EXPLAIN_BARRIER:
        return "barrier";
    case EXPLAIN_CONDITION:
        return "condition";
    case EXPLAIN_DECISION:
        return "decision";
    case EXPLAIN_LAYOUT:
        return "layout";
    case EXPLAIN_PLACE:
        return "place";
    }
    return "?";
}

const char *explain_fact_whose(const explain_fact *f) {
    return f->is_of_warp ? "of each warp: " : "";
}

const char *explain_place(const explained *e, const node *ref) {
    return expr_text(&e->s->memory, ref);
}

bool cost_is_global(const cost_row *x) {
    return x->ref->buffer->space == TG_GLOBAL;
}

double cost_per_request(const cost_row *x, int64_t sum) {
    return x->requests ? (double)sum / (double)x->requests : 0;
}

double cost_efficiency(const cost_row *x) {
    const int64_t least = cost_is_global(x) ? x->least_sectors : x->least_wavefronts;
    const int64_t actual = cost_is_global(x) ? x->sectors : x->wavefronts;
    return actual ? (double)least / (double)actual : 1;
}

/* ---- decisions ----------------------------------------------------------------------------------------- */

enum { MAX_DEPTH = 32, MAX_LETS = 64 };

typedef struct gathering {
    explained *e;
    int capacity;
    const thread_stmt *stack[MAX_DEPTH]; /* what stands around, outermost first */
    int depth;
    int nlets;
    const thread_stmt *let[MAX_LETS]; /* in order */
} gathering;

/* Passes copy statements. */
static bool is_known(const explained *e, const explain_fact *x) {
    for (int i = 0; i < e->nfacts; i++) {
        const explain_fact *f = &e->fact[i];
        if (f->kind == x->kind && f->at.line == x->at.line && strcmp(f->text, x->text) == 0 &&
            f->apart[0].line == x->apart[0].line && f->apart[1].line == x->apart[1].line &&
            f->is_of_warp == x->is_of_warp) {
            return true;
        }
    }
    return false;
}

static void add(gathering *g, explain_fact x) {
    explained *e = g->e;
    if (is_known(e, &x)) {
        return;
    }
    if (e->nfacts == g->capacity) {
        explain_fact *more = ARENA_ARRAY(&e->s->memory, explain_fact, 2 * g->capacity + 16);
        if (e->nfacts) {
            memcpy(more, e->fact, (size_t)e->nfacts * sizeof *more);
        }
        e->fact = more;
        g->capacity = 2 * g->capacity + 16;
    }
    e->fact[e->nfacts++] = x;
}

static void add_fact(gathering *g, explain_fact_kind kind, tg_loc at, const char *what) {
    add(g, (explain_fact){.kind = kind, .at = at, .text = what});
}

static void add_barrier(gathering *g, const thread_stmt *s) {
    explain_fact x = {.kind = EXPLAIN_BARRIER, .at = s->at, .text = s->why ? s->why : "as written"};
    x.is_of_warp = s->participants == SCOPE_WARP;
    memcpy(x.apart, s->apart, sizeof x.apart);
    add(g, x);
}

static void gather_statement(gathering *g, const thread_stmt *s) {
    arena *a = &g->e->s->memory;
    switch (s->kind) {
    case THREAD_BARRIER:
        add_barrier(g, s);
        break;
    case THREAD_IF:
        add_fact(g, EXPLAIN_CONDITION, s->at, expr_text(a, s->value));
        break;
    case THREAD_FOR:
    case THREAD_COPY_ASYNC:
    case THREAD_COMMIT:
    case THREAD_WAIT:
    case THREAD_LAUNCH_DEPENDENTS:
    case THREAD_GRID_WAIT:
    case THREAD_DECL:
    case THREAD_LET:
    case THREAD_STORE:
    case THREAD_ATOMIC:
    case THREAD_REDUCE_LANES:
    case THREAD_SHUFFLE_XOR:
    case THREAD_PRINT:
    case THREAD_CHECK:
        break;
    }
    if (s->why && s->kind != THREAD_BARRIER) {
        add_fact(g, EXPLAIN_DECISION, s->at, s->why);
    }
}

/* The innermost reason that stands at the statement or around it. */
static const char *reason_around(const gathering *g, const thread_stmt *s) {
    const char *why = s->why;
    for (int i = g->depth; i > 0 && !why; i--) {
        why = g->stack[i - 1]->kind == THREAD_FOR ? g->stack[i - 1]->why : NULL;
    }
    return why;
}

/* With the meaning of lets in place of their names. */
static node *spelled_out(const gathering *g, node *x) {
    for (int i = g->nlets; i > 0; i--) {
        const thread_stmt *let = g->let[i - 1];
        x = expr_replace(&g->e->s->memory, x, let->result[0], let->value);
    }
    return x;
}

/* The loop around whose iterations go from element to element; NULL: none does. */
static const thread_stmt *walking_loop(const gathering *g, const node *offset) {
    int64_t step;
    for (int i = g->depth; i > 0; i--) {
        const thread_stmt *s = g->stack[i - 1];
        if (s->kind == THREAD_FOR && affine_step(offset, s->result[0], &step) && step == 1) {
            return s;
        }
    }
    return NULL;
}

/* Without what tells the pieces apart: the access would keep the rest, were it wider. */
static void drop_pieces(affine *f, int lanes) {
    int kept = 0;
    for (int i = 0; i < f->n; i++) {
        if (f->term[i].x->kind != E_VAR || f->term[i].factor != lanes) {
            f->term[kept++] = f->term[i];
        }
    }
    f->n = kept;
}

/* Bytes at multiples of which the access is known to begin, as far as that matters. */
static int64_t known_multiple(const gathering *g, affine *offset, const node *ref) {
    const int64_t widest = g->e->s->target->max_access, size = type_bytes(ref->buffer->type);
    const buffer *root = ref->buffer;
    while (root->view_of) {
        root = root->view_of;
    }
    int64_t multiple =
        root->space == TG_GLOBAL && root->align > 0 && root->align < widest ? root->align : widest;
    drop_pieces(offset, ref->lanes > 1 ? ref->lanes : 1);
    while (multiple > size && affine_aligned(offset, multiple / size) != FACT_YES) {
        multiple /= 2;
    }
    return multiple;
}

/* A copy does nothing but move elements: what it touches moves with its runs. */
static bool is_copy(const thread_stmt *s) {
    const node *x = s->value;
    while (x && x->kind == E_CAST) {
        x = x->arg[0];
    }
    return (s->kind == THREAD_STORE || s->kind == THREAD_COPY_ASYNC) && !s->accumulates &&
           (x->kind == E_LOAD || x->kind == E_CONST);
}

/* How the work was spread over the threads, where that is what keeps an access from being wider; else NULL. */
static const char *limit_of(const gathering *g, const thread_stmt *s, int lanes) {
    arena *a = &g->e->s->memory;
    const layout *l = s->spread;
    if (!l || l->run != lanes || (lanes == 1 && !is_copy(s))) {
        return NULL;
    }
    switch (l->limit) {
    case LIMIT_OTHER:
        break;
    case LIMIT_TYPE:
        return arena_print(a, "as many as %d bytes hold of the widest type that moves with them",
                           g->e->s->target->max_access);
    case LIMIT_ROW:
        return arena_print(a, "a row of %lld is no multiple of %lld", (long long)l->limit_at,
                           2 * (long long)l->run);
    case LIMIT_THREADS:
        return arena_print(a, "more would leave some of the %lld threads idle", (long long)l->threads);
    }
    return NULL;
}

/* How wide, and why no wider. */
static const char *width_of(const gathering *g, const thread_stmt *s, const cost_row *x, node *ref) {
    arena *a = &g->e->s->memory;
    const int lanes = ref->lanes > 1 ? ref->lanes : 1;
    const char *many = lanes > 1 ? arena_print(a, "%d elements at once", lanes) : "one element at a time";
    affine f;
    if (x->bytes == g->e->s->target->max_access) {
        return arena_print(a, "%s, the widest there is", many);
    }
    const char *limit = limit_of(g, s, lanes);
    if (limit) {
        return arena_print(a, "%s: %s", many, limit);
    }
    node *offset = spelled_out(g, expr_offset(a, ref));
    if (!affine_of(offset, &f)) {
        return many;
    }
    const thread_stmt *loop = lanes > 1 ? NULL : walking_loop(g, offset);
    if (lanes == 1 && !loop) {
        return arena_print(a, "%s: a thread's next one lies elsewhere", many);
    }
    const int64_t multiple = known_multiple(g, &f, ref);
    if (multiple < 2 * x->bytes) {
        return arena_print(a, "%s: known to begin at multiples of %lld bytes only", many,
                           (long long)multiple);
    }
    return loop ? arena_print(
                      a,
                      "%s, though the loop over %s goes from neighbour to neighbour: vectorized() may join "
                      "them",
                      many, loop->result[0]->name)
                : arena_print(a, "%s: its loop, or what it is copied from or to, allows no more", many);
}

typedef struct reason_search {
    gathering *g;
    const thread_stmt *s;
} reason_search;

/* Did the printer make it a load that leaves the first-level cache alone? */
static bool is_past_cache(const explained *e, const node *ref) {
    const cuda_text *cuda = &e->s->result.cuda;
    for (int i = 0; i < cuda->nplaces; i++) {
        if (cuda->place[i].ref == ref) {
            return cuda->place[i].is_once;
        }
    }
    return false;
}

/* Why a load of what is read once goes through that cache all the same; NULL: it is no such load. */
static const char *reason_cached(const gathering *g, const cost_row *x) {
    const buffer *root = buffer_root(x->ref->buffer);
    if (x->op != COST_LOAD || !cost_is_global(x) || !root->read_once || is_past_cache(g->e, x->ref)) {
        return NULL;
    }
    bool in_long_loop = false;
    for (int i = 0; i < g->depth; i++) {
        in_long_loop |= g->stack[i]->kind == THREAD_FOR && cuda_is_long(g->stack[i]);
    }
    const char *why = cuda_why_cached(g->e->s->result.thread, x->ref, in_long_loop);
    return why ? why : "its elements are printed one by one";
}

static void give_reason(node *ref, bool is_write, void *user) {
    const reason_search *search = user;
    explained *e = search->g->e;
    (void)is_write;
    for (int i = 0; i < e->cost.n; i++) {
        if (e->cost.row[i].ref == ref && !e->why[i][0]) {
            const char *around = reason_around(search->g, search->s),
                       *width = width_of(search->g, search->s, &e->cost.row[i], ref);
            e->why[i] = around ? arena_print(&e->s->memory, "%s; %s", width, around) : width;
            e->cached[i] = reason_cached(search->g, &e->cost.row[i]);
        }
    }
}

static void gather_block(gathering *g, const thread_block *b) {
    for (thread_stmt *s = b->first; s; s = s->next) {
        reason_search search = {g, s};
        gather_statement(g, s);
        thread_accesses(s, give_reason, &search);
        if (s->kind == THREAD_LET && g->nlets < MAX_LETS && type_is_integer(s->value->type)) {
            g->let[g->nlets++] = s;
        }
        if (g->depth < MAX_DEPTH) {
            g->stack[g->depth++] = s;
            gather_block(g, &s->body);
            gather_block(g, &s->otherwise);
            g->depth--;
        }
    }
}

static void gather_buffer(gathering *g, const buffer *b) {
    arena *a = &g->e->s->memory;
    if (b->space == TG_SHARED && !b->view_of && b->offset >= 0) {
        const char *map = b->layout.why ? arena_print(a, "; %s, %s", b->layout.why, b->layout.gain) : "";
        add_fact(g, EXPLAIN_PLACE, b->at,
                 arena_print(a, "%s at byte %lld%s", b->name, (long long)b->offset, map));
    }
}

/* Fragments keep their layout in the tile IR's buffers. */
static void gather_layout(gathering *g, const buffer *b) {
    const layout *l = b->registers;
    if (l && l->why) {
        add_fact(g, EXPLAIN_LAYOUT, l->at.file ? l->at : b->at,
                 arena_print(&g->e->s->memory, "%s: %lld element%s a thread, %lld in a row; %s", b->name,
                             (long long)l->slots, l->slots == 1 ? "" : "s", (long long)l->run, l->why));
    }
}

static void gather(explained *e) {
    gathering g = {.e = e};
    const thread_kernel *t = e->s->result.thread;
    const tg_kernel *k = e->s->result.kernel;
    e->why = ARENA_ARRAY(&e->s->memory, const char *, e->cost.n + 1);
    e->cached = ARENA_ARRAY(&e->s->memory, const char *, e->cost.n + 1);
    for (int i = 0; i < e->cost.n; i++) {
        e->why[i] = "";
    }
    gather_block(&g, &t->body);
    for (int i = 0; i < t->nbuffers; i++) {
        if (t->buffers[i]) {
            gather_buffer(&g, t->buffers[i]);
        }
    }
    for (int i = 0; i < k->nbuffers; i++) {
        gather_layout(&g, k->buffers[i]);
    }
}

/* ---- registers ----------------------------------------------------------------------------------------- */

static void compile(explained *e) {
    const subject *s = e->s;
    const image *made = NULL;
    const nvrtc_request request = {.name = s->kernel->name,
                                   .text = s->result.cuda.text.s,
                                   .target = s->target->name,
                                   .lines = s->result.cuda.line,
                                   .n_lines = (size_t)s->result.cuda.nlines};
    const int code = image_get(&request, &made);
    if (code != TG_OK) {
        e->no_usage = code == TG_ENOCOMPILER ? "NVRTC was not found" : arena_copy(&e->s->memory, tg_error());
        return;
    }
    e->has_usage = cubin_read(made->data, made->size, &e->usage);
    e->no_usage = e->has_usage ? NULL : "the cubin does not say";
    image_release(made);
    image_settle();
}

/* ---- the simulation ------------------------------------------------------------------------------------ */

/* The launch of the kernel itself, where a call has several. */
static const subject_step *own_step(const subject *s) {
    for (int i = 0; i < s->nsteps; i++) {
        if (s->steps[i].s == s && !s->steps[i].fill) {
            return &s->steps[i];
        }
    }
    return NULL;
}

static int by_place(const void *a, const void *b) {
    const cost_row *const *x = a, *const *y = b;
    const tg_loc p = (*x)->ref->at, q = (*y)->ref->at;
    const int files = strcmp(p.file ? p.file : "", q.file ? q.file : "");
    return files ? files : p.line != q.line ? (p.line > q.line) - (p.line < q.line) : (*x > *y) - (*x < *y);
}

static void sort_rows(explained *e) {
    const cost_row **list = ARENA_ARRAY(&e->s->memory, const cost_row *, e->cost.n + 1);
    e->order = ARENA_ARRAY(&e->s->memory, int, e->cost.n + 1);
    for (int i = 0; i < e->cost.n; i++) {
        list[i] = &e->cost.row[i];
    }
    qsort(list, (size_t)e->cost.n, sizeof *list, by_place);
    for (int i = 0; i < e->cost.n; i++) {
        e->order[i] = (int)(list[i] - e->cost.row);
    }
}

static void find_cuda_lines(explained *e) {
    const cuda_text *cuda = &e->s->result.cuda;
    e->cuda_line = ARENA_ARRAY(&e->s->memory, int, e->cost.n + 1);
    for (int i = 0; i < e->cost.n; i++) {
        for (int j = 0; j < cuda->nplaces && !e->cuda_line[i]; j++) {
            e->cuda_line[i] = cuda->place[j].ref == e->cost.row[i].ref ? cuda->place[j].line : 0;
        }
    }
}

static int simulate(const options *o, arguments *all, explained *e) {
    const subject_step *step = own_step(e->s);
    witness_arg args[INPUTS_MAX];
    const subject *s = e->s;
    text error = {0};
    sim_options how = {.strict = o->strict};
    if (!step) {
        return tool_fail(STATUS_FAULTY, "%s: its steps do not launch it", s->kernel->name);
    }
    reference_arguments(all, step, false, args);
    int code = cost_begin(s->result.thread, step->nargs, args, o->check, &e->cost);
    if (code == TG_OK) {
        cost_attach(&e->cost, &how, &e->sim);
        if (o->svg || o->html) {
            trace_attach(&e->trace, s->result.thread, &how);
        }
        child_phase(PHASE_RUNNING, o);
        code = sim_run(s->result.thread, step->nargs, args, &how, &e->sim, &error);
        child_phase(PHASE_OTHER, o);
    }
    if (code == TG_OK) {
        code = e->trace.out_of_memory ? TG_ENOMEM : cost_end(&e->cost);
    }
    e->has_failed = findings_failed(&e->sim.findings, o->strict);
    const int status = code ? tool_fail(tool_status(code), "%s: %s", s->kernel->name,
                                        error.s           ? error.s
                                        : code == TG_EARG ? "the grid cannot be computed from the arguments"
                                                          : "out of memory")
                            : STATUS_GOOD;
    text_free(&error);
    return status;
}

static void reckon(explained *e) {
    const device_row *gpu = e->s->gpu;
    if (gpu) {
        const double per_us = (double)gpu->bandwidth_gbs * 1e3;
        e->room = occupancy_of(gpu, e->s->target, e->threads, e->shared,
                               e->has_usage ? e->usage.registers : 0, e->cost.kinds.blocks);
        e->floor_us = (double)(e->cost.once_read + e->cost.once_written) / per_us;
        e->about = estimate_make(&e->cost, gpu, &e->room);
        e->uncached_us = (double)(e->cost.bytes_read + e->cost.bytes_written) / per_us;
    }
}

int explain_make(const options *o, subject *s, explained *out) {
    arguments all = {0};
    const pipeline_options how = {0};
    *out = (explained){.s = s};
    int status = subject_build(o, &how, s);
    status = status ? status : inputs_make(o, s, &all);
    if (!status) {
        out->threads = thread_count(s->result.thread);
        out->shared = s->result.thread->shared_bytes;
        status = simulate(o, &all, out);
    }
    if (!status) {
        compile(out);
        sort_rows(out);
        find_cuda_lines(out);
        gather(out);
        explain_find_alike(out);
        reckon(out);
    }
    inputs_free(&all);
    return status;
}

void explain_free(explained *e) {
    trace_free(&e->trace);
    cost_free(&e->cost);
    sim_free(&e->sim);
}
