/* estimate_thread.c -- what one thread computes, and how often it has to wait.
 *
 * Reads thread IR.  The compiler behind CUDA text decides the rest; what it does was read off the machine code that
 * NVRTC 13.0 makes of the gallery for sm_90a:
 *
 *     waits   loads that follow each other are begun together and waited for once.  Iterations of a loop overlap until
 *             their loads fill IN_FLIGHT registers: 16 numbers of f16 or four vectors of 16 bytes.  Loops of at most
 *             SMALL iterations are taken apart.  A barrier stops them, unless the tensor is only read.  Loads from shared
 *             memory are waited for whenever they have filled IN_FLIGHT registers.
 *     cycles  index arithmetic and loop counters all but vanish: addresses are carried along and loops unrolled.  A product
 *             and the sum that it goes into are one instruction.  A conversion of an element that a loop without
 *             branches does not change is done once.  Counted so, the main loops of the fourteen GEMVs have from 79 % to
 *             97 % of the instructions that they have there.
 *
 * A multiprocessor does 128 float operations a cycle, 64 integer operations or conversions, 32 exchanges between
 * lanes, 16 special functions (CUDA programming guide, throughput of native arithmetic instructions, 9.0): for a
 * warp on one of four schedulers 1, 2, 4 and 8 cycles. */
#include <math.h>

#include "codegen/facts.h"
#include "tool/estimate.h"

enum { IN_FLIGHT = 16, SMALL = 16, REGISTER_BYTES = 4, NESTED = 16 };
enum { FLOAT_CYCLES = 1, WHOLE_CYCLES = 2, CAST_CYCLES = 2, SHUFFLE_CYCLES = 4, SPECIAL_CYCLES = 8 };

typedef struct walk {
    estimate_thread sum;
    double loads;  /* registers that the present group of loads from global memory fills; 0: none is begun */
    double shared; /* the same of shared memory */
    double filled; /* registers that all loads from global memory fill */
    bool has_barrier, has_long_loop;
    bool is_bound; /* a load from memory that the kernel writes: it cannot be begun before a barrier */
    const thread_stmt **apart; /* loops around that are taken apart */
    int napart;
} walk;

/* ---- cycles -------------------------------------------------------------------------------------------- */

static double trips(const thread_stmt *loop) {
    const node *n = loop->extent;
    return n->kind == E_CONST ? (double)n->ival : n->hi < 1 << 20 ? (double)n->hi : 1;
}

static bool writes(const thread_block *b, const buffer *what) {
    for (const thread_stmt *s = b->first; s; s = s->next) {
        if ((s->dst && s->dst->buffer == what) || writes(&s->body, what) || writes(&s->otherwise, what)) {
            return true;
        }
    }
    return false;
}

/* A conversion of a register that stays what it is in loops around is done once for all their iterations. */
static double repeats_of_cast(const node *x, const walk *w) {
    const node *from = x->arg[0];
    double repeats = 1;
    for (int i = 0; from->kind == E_LOAD && from->arg[0]->buffer->space == TG_LOCAL && i < w->napart; i++) {
        const thread_stmt *loop = w->apart[i];
        if (!facts_depends(from, loop->result[0]) && !writes(&loop->body, from->arg[0]->buffer)) {
            repeats *= fmax(trips(loop), 1);
        }
    }
    return repeats;
}

static double cycles_of_operation(const node *x) {
    const int64_t type = x->arg[0]->type;
    if (type == TYPE_INDEX || type == TG_BOOL) {
        return 0;
    }
    switch (x->op) {
    case TG_QUO:
    case TG_MOD:
    case TG_EXP:
    case TG_LOG:
    case TG_SQRT:
    case TG_RSQRT:
    case TG_TANH:
        return SPECIAL_CYCLES;
    default:
        return type_is_float(type) ? FLOAT_CYCLES : WHOLE_CYCLES;
    }
}

static bool is_product(const node *x) {
    return x->kind == E_OP && x->op == TG_MUL && type_is_float(x->type);
}

static double cycles_of(const node *x, const walk *w) {
    double cycles = 0;
    bool joins = x->kind == E_OP && (x->op == TG_ADD || x->op == TG_SUB);
    for (int i = 0; i < x->n; i++) {
        cycles += cycles_of(x->arg[i], w);
        if (joins && is_product(x->arg[i])) {
            cycles -= FLOAT_CYCLES;
            joins = false;
        }
    }
    switch (x->kind) {
    case E_OP:
        return cycles + cycles_of_operation(x) * fmax(x->lanes, 1);
    case E_CAST:
        return x->arg[0]->type == TYPE_INDEX || x->arg[0]->kind == E_CONST
                   ? cycles
                   : cycles + CAST_CYCLES * fmax(x->lanes, 1) / repeats_of_cast(x, w);
    case E_CHOOSE:
        return cycles + FLOAT_CYCLES;
    default:
        return cycles;
    }
}

static double cycles_of_statement(const thread_stmt *s, const walk *w) {
    double cycles = s->value ? cycles_of(s->value, w) : 0;
    switch (s->kind) {
    case THREAD_STORE:
        return cycles + (s->accumulates && !is_product(s->value) ? FLOAT_CYCLES : 0);
    case THREAD_REDUCE_LANES:
        return cycles + log2(s->width) * (SHUFFLE_CYCLES + FLOAT_CYCLES);
    case THREAD_SHUFFLE_XOR:
        return cycles + SHUFFLE_CYCLES;
    case THREAD_IF:
    case THREAD_BARRIER:
    case THREAD_COMMIT:
    case THREAD_WAIT:
        return cycles + 1;
    default:
        return cycles;
    }
}

/* ---- waits --------------------------------------------------------------------------------------------- */

static void look(const node *x, walk *w) {
    if (x->kind == E_LOAD) {
        buffer *root = buffer_root(x->arg[0]->buffer);
        const double bytes = (double)type_bits(x->type) / 8 * fmax(x->lanes, 1);
        if (root->space == TG_GLOBAL) {
            w->loads += ceil(bytes / REGISTER_BYTES);
            w->filled += ceil(bytes / REGISTER_BYTES);
            w->is_bound = w->is_bound || root->is_written || root->is_atomic;
        } else if (root->space == TG_SHARED) {
            w->shared += bytes / REGISTER_BYTES; /* neighbours are joined (sim_joined.h) */
        }
    }
    for (int i = 0; i < x->n; i++) {
        look(x->arg[i], w);
    }
}

static void settle(walk *w) {
    w->sum.loads += w->loads > 0;
    w->sum.shared += ceil(w->shared / IN_FLIGHT);
    w->loads = w->shared = 0;
}

static void walk_block(const thread_block *b, walk *w);

/* A part of its own: what it loads is used there. */
static walk walk_inside(const thread_block *b, const walk *around) {
    walk inside = {.apart = around->apart, .napart = around->napart};
    walk_block(b, &inside);
    return inside;
}

static void note(walk *w, const walk *inside, double times) {
    w->filled += inside->filled * times;
    w->has_barrier = w->has_barrier || inside->has_barrier;
    w->has_long_loop = w->has_long_loop || inside->has_long_loop;
    w->is_bound = w->is_bound || inside->is_bound;
}

static void add_waits(walk *w, const walk *inside, double loads, double times) {
    w->sum.loads += inside->sum.loads * loads;
    w->sum.shared += inside->sum.shared * times;
    w->sum.barriers += inside->sum.barriers * times;
    w->sum.sums += inside->sum.sums * times;
    w->sum.copies += inside->sum.copies * times;
    w->sum.cycles += inside->sum.cycles * times;
}

/* All its iterations begin their loads together: with what stands before where the CUDA text says so, else as a
 * group of their own. */
static void walk_apart(const thread_stmt *s, walk *w) {
    const double n = trips(s);
    const thread_stmt *apart[NESTED];
    walk around = {.apart = apart, .napart = w->napart < NESTED - 1 ? w->napart : NESTED - 1};
    for (int i = 0; i < around.napart; i++) {
        apart[i] = w->apart[i];
    }
    apart[around.napart++] = s;
    walk body = walk_inside(&s->body, &around);
    w->shared += body.shared * n;
    body.shared = 0;
    if (s->unroll == UNROLL_FULL && body.sum.loads == 0) {
        w->loads += body.loads;
        body.loads = 0;
    }
    settle(&body);
    add_waits(w, &body, 1, n);
    note(w, &body, n);
}

static void walk_long(const thread_stmt *s, walk *w) {
    const double n = trips(s);
    walk body = walk_inside(&s->body, w);
    double together = 1;
    if (!body.has_long_loop && !(body.has_barrier && body.is_bound)) {
        const double most = fmin(fmax(floor(IN_FLIGHT / fmax(body.filled, 1)), 1), n);
        together = s->unroll > 0 ? fmax(most, s->unroll) : most;
    }
    settle(w);
    if (!body.has_barrier) { /* shared memory: as many as fit, whatever iteration they are of */
        w->shared = body.shared * n;
        body.shared = 0;
        settle(w);
    }
    settle(&body);
    add_waits(w, &body, n / together, n);
    note(w, &body, n);
    w->has_long_loop = true;
}

static void walk_loop(const thread_stmt *s, walk *w) {
    const walk body = walk_inside(&s->body, w);
    if (!body.has_barrier && (s->unroll == UNROLL_FULL || trips(s) <= SMALL)) {
        walk_apart(s, w);
    } else {
        walk_long(s, w);
    }
}

static void walk_branch(const thread_block *b, walk *w) {
    walk inside = walk_inside(b, w);
    settle(&inside);
    add_waits(w, &inside, 1, 1);
    note(w, &inside, 1);
}

/* An element that a statement adds to again and again. */
static bool is_sum(const thread_stmt *s) {
    return s->kind == THREAD_STORE && s->accumulates && s->dst->buffer->space == TG_LOCAL &&
           s->dst->buffer->rank == 0;
}

static void walk_statement(const thread_stmt *s, walk *w) {
    w->sum.cycles += cycles_of_statement(s, w);
    switch (s->kind) {
    case THREAD_FOR:
        walk_loop(s, w);
        return;
    case THREAD_BARRIER:
        settle(w);
        w->sum.barriers += s->participants != SCOPE_WARP; /* within a warp it is an instruction like others */
        w->has_barrier = true;
        return;
    case THREAD_WAIT:
        w->sum.copies++;
        return;
    case THREAD_COPY_ASYNC: /* goes on without it */
    case THREAD_COMMIT:
        return;
    default:
        break;
    }
    if (s->value) {
        look(s->value, w);
    }
    w->sum.sums += is_sum(s);
    walk_branch(&s->body, w);
    walk_branch(&s->otherwise, w);
}

static void walk_block(const thread_block *b, walk *w) {
    for (const thread_stmt *s = b->first; s; s = s->next) {
        walk_statement(s, w);
    }
}

estimate_thread estimate_of_thread(const thread_kernel *t) {
    walk w = {0};
    walk_block(&t->body, &w);
    settle(&w);
    return w.sum;
}
