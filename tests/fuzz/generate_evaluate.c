/* generate_evaluate.c -- runs a program directly; see generate.h.
 *
 * Statements on which all threads agree are executed once for the block, others thread by thread.  Threads come in
 * ascending order: programs have no races, and each byte remembers who touched it in which phase, so that one which
 * had would be told.  In block view an iteration of parallel takes the place of a thread, and every collective
 * statement is a phase of its own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

enum { NOBODY = -1, MANY = -2, MAX_STEPS = 3000000 };

/* Of a byte of shared or global memory. */
typedef struct shadow {
    bool written, atomic;
    int write_block, write_lane, write_phase;
    int read_block, read_lane, read_phase;
} shadow;

typedef struct memory {
    unsigned char *bytes;
    shadow *shadow;
    size_t size; /* of one thread's, for locals */
    bool borrowed;
} memory;

typedef struct evaluation {
    const program *p;
    memory memory[MAX_BUFFERS];
    cell *cells; /* variables of each thread */
    int threads; /* that statements outside parallel are executed for */
    int thread, block, lane, phase, axis_lane;
    bool in_parallel;
    int64_t steps;
    const char *fault;
} evaluation;

static cell evaluate(evaluation *e, const gexpr *x);
static void run_block(evaluation *e, const gstmt *s);

static void fault(evaluation *e, const char *what) {
    e->fault = e->fault ? e->fault : what;
}

static cell *cell_of(evaluation *e, int variable) {
    return &e->cells[e->thread * e->p->nvariables + variable];
}

/* ---- memory ---------------------------------------------------------------------------------------------- */

static int root_of(const program *p, int b) {
    return p->buffer[b].view_of == NONE ? b : p->buffer[b].view_of;
}

static bool is_own(const evaluation *e, int root) {
    return e->p->buffer[root].space == TG_LOCAL;
}

/* A plain read or write, or an atomic, of one byte by the current lane. */
static bool conflicts(const evaluation *e, const shadow *s, bool write, bool atomic) {
    const bool apart = s->write_block != e->block || (s->write_phase == e->phase && s->write_lane != e->lane);
    if (s->write_lane != NOBODY && apart && !(atomic && s->atomic)) {
        return true;
    }
    const bool read_apart =
        s->read_block != e->block || (s->read_phase == e->phase && s->read_lane != e->lane);
    return write && s->read_lane != NOBODY && read_apart;
}

static void remember(const evaluation *e, shadow *s, bool write, bool atomic) {
    if (write) {
        s->written = true;
        s->atomic = atomic;
        s->write_block = e->block;
        s->write_lane = e->lane;
        s->write_phase = e->phase;
        return;
    }
    const bool fresh = s->read_lane == NOBODY || (s->read_block == e->block && s->read_phase != e->phase);
    s->read_lane = fresh || s->read_lane == e->lane ? e->lane : MANY;
    s->read_block = s->read_block == NOBODY || s->read_block == e->block ? e->block : MANY;
    s->read_phase = e->phase;
}

static void touch(evaluation *e, int root, size_t offset, size_t n, bool write, bool atomic) {
    const bool own = is_own(e, root);
    for (size_t i = offset; i < offset + n; i++) {
        shadow *s = &e->memory[root].shadow[i];
        if (!write && !s->written) {
            fault(e, "read of what nothing wrote");
        }
        if (!own && conflicts(e, s, write, atomic)) {
            fault(e, "race");
        }
        remember(e, s, write, atomic);
    }
}

/* Where an element lies; checks the bounds. */
static size_t locate(evaluation *e, int b, const int64_t *index) {
    const gbuffer *x = &e->p->buffer[b];
    int64_t element = 0;
    for (int i = 0; i < x->rank; i++) {
        if (index[i] < 0 || index[i] >= size_value(e->p, x->dim[i])) {
            fault(e, "out of bounds");
            return 0;
        }
        element += index[i] * buffer_stride(e->p, b, i);
    }
    const size_t share =
        is_own(e, root_of(e->p, b)) ? (size_t)e->thread * e->memory[root_of(e->p, b)].size : 0;
    return (size_t)element * (size_t)type_size(x->type) + share;
}

static cell read_element(evaluation *e, int b, const int64_t *index) {
    const int root = root_of(e->p, b);
    const size_t offset = locate(e, b, index);
    if (e->fault) {
        return (cell){0};
    }
    touch(e, root, offset, (size_t)type_size(e->p->buffer[b].type), false, false);
    return cell_load(e->p->buffer[b].type, e->memory[root].bytes + offset);
}

static void write_element(evaluation *e, int b, const int64_t *index, cell value, bool atomic) {
    const int root = root_of(e->p, b);
    const size_t offset = locate(e, b, index);
    if (!e->fault) {
        touch(e, root, offset, (size_t)type_size(e->p->buffer[b].type), true, atomic);
        cell_store(e->p->buffer[b].type, e->memory[root].bytes + offset, value);
    }
}

static void evaluate_index(evaluation *e, gexpr *const *from, int n, int64_t *to) {
    for (int i = 0; i < n; i++) {
        to[i] = evaluate(e, from[i]).i;
    }
}

/* ---- expressions ----------------------------------------------------------------------------------------- */

static cell binary(evaluation *e, const gexpr *x) {
    const cell a = evaluate(e, x->arg[0]);
    if ((x->op == TG_BOTH && !a.i) || (x->op == TG_EITHER && a.i)) {
        return a;
    }
    const cell b = evaluate(e, x->arg[1]);
    const bool shifts = x->op == TG_SHL || x->op == TG_SHR;
    const int64_t left = x->arg[0]->type, type = shifts || left == x->arg[1]->type ? left : INDEX;
    cell r = {0};
    const char *wrong = cell_binary(type, x->op, a, b, &r);
    if (wrong) {
        fault(e, wrong);
    }
    return r;
}

static cell evaluate(evaluation *e, const gexpr *x) {
    cell r = {0};
    const char *wrong = NULL;
    int64_t index[TG_MAX_RANK];
    if (e->fault || e->steps++ > MAX_STEPS) {
        fault(e, PROGRAM_TOO_LONG);
        return r;
    }
    switch (x->kind) {
    case X_INT:
        r.i = x->i;
        break;
    case X_REAL:
        r.f = x->f;
        break;
    case X_SIZE:
        r.i = size_value(e->p, x->id);
        break;
    case X_VARIABLE:
        return *cell_of(e, x->id);
    case X_LOAD:
        evaluate_index(e, x->arg, x->n, index);
        return read_element(e, x->id, index);
    case X_UNARY:
        wrong = cell_unary(x->arg[0]->type, x->op, evaluate(e, x->arg[0]), &r);
        break;
    case X_BINARY:
        return binary(e, x);
    case X_CHOOSE:
        return evaluate(e, x->arg[evaluate(e, x->arg[0]).i ? 1 : 2]);
    case X_CAST:
        wrong = cell_cast(x->arg[0]->type, x->type, evaluate(e, x->arg[0]), &r);
        break;
    case X_BITCAST:
        return cell_from_bits(x->type, cell_bits(x->arg[0]->type, evaluate(e, x->arg[0])));
    }
    if (wrong) {
        fault(e, wrong);
    }
    return r;
}

/* A value for a place of a type: an index must fit. */
static cell evaluate_for(evaluation *e, int64_t type, const gexpr *x) {
    const cell r = evaluate(e, x);
    if (x->type == INDEX && type != INDEX && (r.i < type_least(type) || r.i > type_most(type))) {
        fault(e, "an index that does not fit its place");
    }
    return r;
}

/* ---- statements of single threads ------------------------------------------------------------------------ */

static void run_thread(evaluation *e, const gstmt *s);

static void run_list(evaluation *e, const gstmt *s) {
    for (; s && !e->fault; s = s->next) {
        run_thread(e, s);
    }
}

/* To the next setting of the axes; false after the last. */
static bool advance(const gstmt *s, int64_t *at, const int64_t *extent) {
    for (int i = s->n - 1; i >= 0; i--) {
        if (++at[i] < extent[i]) {
            return true;
        }
        at[i] = 0;
    }
    return false;
}

static bool any_trips(const gstmt *s, const int64_t *extent) {
    for (int i = 0; i < s->n; i++) {
        if (extent[i] <= 0) {
            return false;
        }
    }
    return true;
}

static void run_loop(evaluation *e, const gstmt *s) {
    int64_t extent[TG_MAX_RANK], at[TG_MAX_RANK] = {0};
    evaluate_index(e, s->extent, s->n, extent);
    if (e->fault || !any_trips(s, extent)) {
        return;
    }
    do {
        for (int i = 0; i < s->n; i++) {
            cell_of(e, s->axis[i])->i = at[i];
        }
        run_list(e, s->body);
    } while (!e->fault && advance(s, at, extent));
}

static void combine(evaluation *e, const gstmt *s, tg_op op) {
    int64_t index[TG_MAX_RANK];
    const gbuffer *b = &e->p->buffer[s->buffer];
    const cell value = evaluate_for(e, b->type, s->value);
    evaluate_index(e, s->index, b->rank, index);
    const bool atomic = s->kind == S_ATOMIC || b->space == TG_REDUCER;
    cell r = {0};
    if (e->fault) {
        return;
    }
    cell old;
    if (atomic) {
        const size_t offset = locate(e, s->buffer, index);
        old = cell_load(b->type, e->memory[root_of(e->p, s->buffer)].bytes + offset);
    } else {
        old = read_element(e, s->buffer, index);
    }
    const char *wrong = cell_binary(b->type, op, old, value, &r);
    if (wrong) {
        fault(e, wrong);
    }
    if (!e->fault) {
        write_element(e, s->buffer, index, r, atomic);
    }
}

/* A local begins anew in each iteration of a parallel loop. */
static void begin_local(evaluation *e, int b) {
    memory *m = &e->memory[b];
    if (e->p->buffer[b].space == TG_LOCAL && e->in_parallel) {
        for (size_t i = 0; i < m->size; i++) {
            m->shadow[(size_t)e->thread * m->size + i].written = false;
        }
    }
}

static void run_set(evaluation *e, const gstmt *s) {
    int64_t index[TG_MAX_RANK];
    const cell value = evaluate_for(e, e->p->buffer[s->buffer].type, s->value);
    evaluate_index(e, s->index, e->p->buffer[s->buffer].rank, index);
    if (!e->fault) {
        write_element(e, s->buffer, index, value, false);
    }
}

static void run_thread(evaluation *e, const gstmt *s) {
    switch (s->kind) {
    case S_LET:
        *cell_of(e, s->variable) = evaluate(e, s->value);
        break;
    case S_ALLOC:
        begin_local(e, s->buffer);
        break;
    case S_SET:
        run_set(e, s);
        break;
    case S_ACCUM: {
        const gbuffer *b = &e->p->buffer[s->buffer];
        combine(e, s, b->space == TG_REDUCER ? cell_operator(b->reduction) : TG_ADD);
        break;
    }
    case S_ATOMIC:
        combine(e, s, cell_operator(s->reduction));
        break;
    case S_LOOP:
        run_loop(e, s);
        break;
    case S_WHEN:
        run_list(e, evaluate(e, s->value).i ? s->body : s->otherwise);
        break;
    case S_CHECK:
        if (!evaluate(e, s->value).i) {
            fault(e, "a check that fails");
        }
        break;
    case S_ALLREDUCE:
    case S_SYNC:
    case S_COPY:
    case S_CLEAR:
    case S_FILL:
    case S_REDUCE:
    case S_FINALIZE:
        fault(e, "a collective statement inside a parallel loop");
        break;
    }
}

/* ---- statements of the block ----------------------------------------------------------------------------- */

static bool is_collective(const gstmt *s) {
    return s->kind == S_ALLREDUCE || s->kind == S_SYNC || s->kind >= S_COPY ||
           (s->kind == S_LOOP && (s->scope == TG_PARALLEL || s->scope == TG_PIPELINED));
}

static bool has_collective(const gstmt *s) {
    if (is_collective(s)) {
        return true;
    }
    for (const gstmt *t = s->body; t; t = t->next) {
        if (has_collective(t)) {
            return true;
        }
    }
    for (const gstmt *t = s->otherwise; t; t = t->next) {
        if (has_collective(t)) {
            return true;
        }
    }
    return false;
}

static void become(evaluation *e, int thread) {
    e->thread = thread;
    e->lane = thread;
}

/* The value on which all threads must agree. */
static int64_t agreed(evaluation *e, const gexpr *x) {
    int64_t first = 0;
    for (int t = 0; t < e->threads && !e->fault; t++) {
        become(e, t);
        const int64_t now = evaluate(e, x).i;
        first = t ? first : now;
        if (now != first) {
            fault(e, "threads that disagree around a collective statement");
        }
    }
    become(e, 0);
    return first;
}

/* The threads of t's group along an axis: from, step, count. */
static void allreduce(evaluation *e, const gstmt *s) {
    const program *p = e->p;
    int64_t step = 1, count = 1;
    for (int i = 0; i < p->nthreads; i++) {
        count = size_value(p, p->variable[p->thread[i]].size);
        if (p->thread[i] == s->along) {
            break;
        }
        step *= count;
    }
    cell *x = calloc((size_t)e->threads, sizeof *x);
    for (int t = 0; t < e->threads; t++) {
        become(e, t);
        x[t] = evaluate(e, s->value);
    }
    for (int t = 0; t < e->threads && !e->fault; t++) {
        const int64_t first = t - t / step % count * step;
        cell r = x[first];
        for (int64_t i = 1; i < count; i++) {
            const char *wrong =
                cell_binary(s->value->type, cell_operator(s->reduction), r, x[first + i * step], &r);
            if (wrong) {
                fault(e, wrong);
            }
        }
        become(e, t);
        *cell_of(e, s->variable) = r;
    }
    free(x);
}

static void set_axis(evaluation *e, int axis, int64_t value) {
    for (int t = 0; t < e->threads; t++) {
        e->cells[t * e->p->nvariables + axis].i = value;
    }
}

static void run_parallel(evaluation *e, const gstmt *s, const int64_t *extent) {
    int64_t at[TG_MAX_RANK] = {0};
    e->phase++;
    e->in_parallel = true;
    become(e, 0);
    int lane = 0;
    do {
        e->lane = lane++;
        for (int i = 0; i < s->n; i++) {
            cell_of(e, s->axis[i])->i = at[i];
        }
        run_list(e, s->body);
    } while (!e->fault && advance(s, at, extent));
    e->in_parallel = false;
    e->phase++;
}

static void run_block_loop(evaluation *e, const gstmt *s) {
    int64_t extent[TG_MAX_RANK], at[TG_MAX_RANK] = {0};
    for (int i = 0; i < s->n; i++) {
        extent[i] = agreed(e, s->extent[i]);
    }
    if (e->fault || !any_trips(s, extent)) {
        return;
    }
    if (s->scope == TG_PARALLEL) {
        run_parallel(e, s, extent);
        return;
    }
    do {
        for (int i = 0; i < s->n; i++) {
            set_axis(e, s->axis[i], at[i]);
        }
        run_block(e, s->body);
    } while (!e->fault && advance(s, at, extent));
}

/* ---- tiles ----------------------------------------------------------------------------------------------- */

static void corner_of(evaluation *e, const gregion *r, int64_t *corner) {
    const gbuffer *b = &e->p->buffer[r->buffer];
    for (int i = 0; i < b->rank; i++) {
        corner[i] = 0;
        if (r->kind != R_WHOLE) {
            corner[i] = agreed(e, r->corner[i]) * (r->kind == R_TILE ? size_value(e->p, r->length[i]) : 1);
        }
    }
}

/* Element `at` of a region; false where it lies outside a tensor. */
static bool element_of(evaluation *e, const gregion *r, const int64_t *corner, const int64_t *at,
                       int64_t *index) {
    const gbuffer *b = &e->p->buffer[r->buffer];
    bool inside = true;
    for (int i = 0; i < b->rank; i++) {
        index[i] = corner[i] + at[i];
        inside = inside && index[i] >= 0 && index[i] < size_value(e->p, b->dim[i]);
    }
    if (!inside && b->space != TG_GLOBAL) {
        fault(e, "a region that leaves its buffer");
    }
    return inside;
}

static int64_t region_count(const evaluation *e, const gregion *r) {
    int64_t n = 1;
    for (int i = 0; i < e->p->buffer[r->buffer].rank; i++) {
        n *= size_value(e->p, r->length[i]);
    }
    return n;
}

static void region_at(const evaluation *e, const gregion *r, int64_t flat, int64_t *at) {
    for (int i = e->p->buffer[r->buffer].rank - 1; i >= 0; i--) {
        const int64_t n = size_value(e->p, r->length[i]);
        at[i] = flat % n;
        flat /= n;
    }
}

static void run_copy(evaluation *e, const gstmt *s) {
    int64_t corner[2][TG_MAX_RANK], at[TG_MAX_RANK], index[TG_MAX_RANK];
    const int64_t from = e->p->buffer[s->from.buffer].type, to = e->p->buffer[s->to.buffer].type;
    corner_of(e, &s->from, corner[0]);
    corner_of(e, &s->to, corner[1]);
    e->phase++; /* where to is settled before anything is written */
    const int64_t n = region_count(e, &s->from);
    if (n != region_count(e, &s->to)) {
        fault(e, "a copy between regions of different extents");
    }
    for (int64_t i = 0; i < n && !e->fault; i++) {
        cell x = {0}, y = {0};
        e->lane = (int)i;
        region_at(e, &s->from, i, at);
        if (element_of(e, &s->from, corner[0], at, index)) {
            x = read_element(e, s->from.buffer, index);
        } else if (type_real(from)) {
            x.f = round_real(from, s->outside);
        } else {
            x.i = (int64_t)s->outside;
        }
        const char *wrong = from == to ? (y = x, NULL) : cell_cast(from, to, x, &y);
        if (wrong) {
            fault(e, wrong);
        }
        region_at(e, &s->to, i, at);
        if (!e->fault && element_of(e, &s->to, corner[1], at, index)) {
            write_element(e, s->to.buffer, index, y, false);
        }
    }
}

/* clear gives a reducer its identity, fill a value that counts once. */
static void run_fill(evaluation *e, const gstmt *s) {
    int64_t corner[TG_MAX_RANK], at[TG_MAX_RANK], index[TG_MAX_RANK];
    const gbuffer *b = &e->p->buffer[s->to.buffer];
    cell x = {0};
    corner_of(e, &s->to, corner);
    if (s->kind == S_FILL) {
        x = evaluate_for(e, b->type, s->value);
    } else if (b->space == TG_REDUCER) {
        x = cell_identity(b->type, b->reduction);
    }
    e->phase++;
    for (int64_t i = 0; i < region_count(e, &s->to) && !e->fault; i++) {
        e->lane = (int)i;
        region_at(e, &s->to, i, at);
        if (element_of(e, &s->to, corner, at, index)) {
            write_element(e, s->to.buffer, index, x, false);
        }
    }
}

static void run_reduce(evaluation *e, const gstmt *s) {
    const gregion to = s->to;
    const int from = s->from.buffer, rank = e->p->buffer[from].rank;
    for (int64_t i = 0; i < region_count(e, &to) && !e->fault; i++) {
        int64_t at[TG_MAX_RANK], index[TG_MAX_RANK];
        region_at(e, &to, i, at);
        for (int j = 0; j < rank; j++) {
            index[j] = j < s->dim ? at[j] : j > s->dim ? at[j - 1] : 0;
        }
        const int64_t type = e->p->buffer[to.buffer].type;
        cell sum = cell_identity(type, s->reduction), x;
        e->lane = (int)i;
        for (; index[s->dim] < size_value(e->p, e->p->buffer[from].dim[s->dim]); index[s->dim]++) {
            const char *wrong = cell_cast(e->p->buffer[from].type, type, read_element(e, from, index), &x);
            wrong = wrong ? wrong : cell_binary(type, cell_operator(s->reduction), sum, x, &sum);
            if (wrong) {
                fault(e, wrong);
            }
        }
        if (!e->fault) {
            write_element(e, to.buffer, at, sum, false);
        }
    }
}

/* A copy, clear or fill of a local is each thread's own. */
static bool is_each(const evaluation *e, const gstmt *s) {
    const bool from = s->kind == S_COPY && e->p->buffer[s->from.buffer].space == TG_LOCAL;
    return from || e->p->buffer[s->to.buffer].space == TG_LOCAL;
}

static void run_tiles(evaluation *e, const gstmt *s) {
    e->phase++;
    const int last = is_each(e, s) ? e->threads : 1;
    for (int t = 0; t < last && !e->fault; t++) {
        e->thread = t;
        if (s->kind == S_COPY) {
            run_copy(e, s);
        } else if (s->kind == S_REDUCE) {
            run_reduce(e, s);
        } else {
            run_fill(e, s);
        }
    }
    become(e, 0);
    e->phase++;
}

static void run_collective(evaluation *e, const gstmt *s) {
    switch (s->kind) {
    case S_SYNC:
    case S_FINALIZE:
        e->phase++;
        break;
    case S_ALLREDUCE:
        allreduce(e, s);
        break;
    case S_LOOP:
        run_block_loop(e, s);
        break;
    case S_WHEN:
        run_block(e, agreed(e, s->value) ? s->body : s->otherwise);
        break;
    default:
        run_tiles(e, s);
        break;
    }
}

static void run_block(evaluation *e, const gstmt *s) {
    for (; s && !e->fault; s = s->next) {
        if (has_collective(s)) {
            run_collective(e, s);
            continue;
        }
        for (int t = 0; t < e->threads && !e->fault; t++) {
            become(e, t);
            run_thread(e, s);
        }
        become(e, 0);
    }
}

/* ---- the launch ------------------------------------------------------------------------------------------ */

void program_contents(const program *p, int b, unsigned char *to) {
    const gbuffer *x = &p->buffer[b];
    uint64_t state = x->seed;
    const int64_t n = buffer_count(p, b);
    for (int64_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const uint64_t any = state >> 20;
        cell c = {0};
        if (type_real(x->type)) {
            static const double odd[] = {(double)INFINITY, -(double)INFINITY, -0.0, (double)NAN};
            c.f = p->wild && x->most != 0 && any % 11 == 0 ? odd[any / 11 % 4]
                  : x->most == 0                           ? (double)(any % 17) - 8
                                                           : ((double)(any % 65) - 32) / 8;
        } else if (x->type == TG_BOOL) {
            c.i = any & 1;
        } else if (x->hi == type_most(x->type) && x->lo == type_least(x->type)) {
            c = cell_from_bits(x->type, any % 3 ? any ^ state << 40 : any % 7);
        } else {
            c.i = x->lo + (int64_t)(any % (uint64_t)(x->hi - x->lo + 1));
        }
        cell_store(x->type, to + i * type_size(x->type), c);
    }
}

static void mark_unread(memory *m, size_t n, bool written) {
    for (size_t i = 0; i < n; i++) {
        m->shadow[i] = (shadow){.written = written,
                                .write_block = NOBODY,
                                .write_lane = NOBODY,
                                .read_block = NOBODY,
                                .read_lane = NOBODY};
    }
}

static void set_up(evaluation *e, unsigned char *const *data) {
    const program *p = e->p;
    for (int b = 0; b < p->nbuffers; b++) {
        const bool tensor = p->buffer[b].space == TG_GLOBAL;
        memory *m = &e->memory[b];
        m->size = (size_t)(buffer_count(p, b) * type_size(p->buffer[b].type));
        const size_t all = p->buffer[b].space == TG_LOCAL ? m->size * (size_t)e->threads : m->size;
        m->shadow = malloc((all + 1) * sizeof *m->shadow);
        m->bytes = tensor ? data[b] : calloc(all + 1, 1);
        m->borrowed = tensor;
        mark_unread(m, all, tensor);
    }
    e->cells = calloc((size_t)(e->threads * p->nvariables) + 1, sizeof *e->cells);
}

/* Launch values and the indices of one block, for all threads. */
static void begin_block(evaluation *e, const int64_t *block) {
    const program *p = e->p;
    for (int t = 0; t < e->threads; t++) {
        become(e, t);
        for (int v = 0; v < p->nvariables; v++) {
            if (p->variable[v].kind == V_SCALAR) {
                *cell_of(e, v) = p->variable[v].value;
            } else if (p->variable[v].kind == V_EXTENT) {
                cell_of(e, v)->i = size_value(p, p->variable[v].size);
            }
        }
        for (int i = 0; i < p->ngrid; i++) {
            cell_of(e, p->grid[i])->i = block[i];
        }
        int64_t rest = t;
        for (int i = 0; i < p->nthreads && p->named; i++) {
            const int64_t n = size_value(p, p->variable[p->thread[i]].size);
            cell_of(e, p->thread[i])->i = rest % n;
            rest /= n;
        }
    }
    for (int b = 0; b < p->nbuffers; b++) {
        const size_t all =
            p->buffer[b].space == TG_LOCAL ? e->memory[b].size * (size_t)e->threads : e->memory[b].size;
        if (p->buffer[b].space != TG_GLOBAL) {
            mark_unread(&e->memory[b], all, false);
        }
    }
    become(e, 0);
}

static void tear_down(evaluation *e) {
    for (int b = 0; b < e->p->nbuffers; b++) {
        free(e->memory[b].shadow);
        if (!e->memory[b].borrowed) {
            free(e->memory[b].bytes);
        }
    }
    free(e->cells);
}

static int64_t bytes_of(const program *p, int b) {
    return buffer_count(p, b) * type_size(p->buffer[b].type);
}

static bool is_launchable(const program *p) {
    for (int i = 0; i < p->nsizes; i++) {
        if (size_value(p, i) < 0 || size_value(p, i) > 1 << 22) {
            return false;
        }
    }
    for (int b = 0; b < p->nbuffers; b++) {
        const int of = p->buffer[b].view_of;
        if (of != NONE && bytes_of(p, of) != bytes_of(p, b)) {
            return false;
        }
        for (int i = 0; i < p->buffer[b].rank; i++) {
            const bool may_lack = i == 0 && p->buffer[b].extent != NONE;
            if (size_value(p, p->buffer[b].dim[i]) < (may_lack ? 0 : 1)) {
                return false;
            }
        }
        if (p->buffer[b].space != TG_GLOBAL && bytes_of(p, b) > 60000) {
            return false;
        }
    }
    return program_threads(p) <= 1024;
}

const char *program_evaluate(const program *p, unsigned char *const *data) {
    if (!is_launchable(p)) {
        return "sizes that no launch has";
    }
    evaluation e = {.p = p, .threads = p->named ? (int)program_threads(p) : 1};
    set_up(&e, data);
    int64_t n[TG_MAX_AXES] = {1, 1, 1};
    for (int i = 0; i < p->ngrid; i++) {
        n[i] = size_value(p, p->variable[p->grid[i]].size);
    }
    for (int64_t b = 0; b < n[0] * n[1] * n[2] && !e.fault; b++) {
        const int64_t block[TG_MAX_AXES] = {b % n[0], b / n[0] % n[1], b / n[0] / n[1]};
        e.block = (int)b;
        e.phase++;
        begin_block(&e, block);
        run_block(&e, p->body);
    }
    tear_down(&e);
    return e.fault;
}
