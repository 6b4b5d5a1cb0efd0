/* test_sim_trees.c -- random programs of branches, loops, choices and arithmetic: warps with masks give what
 * each thread gives alone.
 *
 * A program works on u32 values; `alone` walks the same thread IR for one thread at a time, by dsl/value.h.
 * What a thread must not evaluate (the other side of a choice) divides by zero, so that a mask that lets too
 * much through is a finding. */
#include "sim_kernel.h"

enum { THREADS = 80, INPUTS = 64, MOST_VARS = 512, PROGRAMS = 300 };

typedef struct {
    maker m;
    uint64_t seed;
    buffer *in, *out, *sum, *cells;
    node *loops[8]; /* variables in reach */
    int nloops;
    node *made[64]; /* values of the statement that is made, to be used again */
    int nmade;
    node *n; /* a scalar */
    uint32_t input[INPUTS], output[THREADS];
} program;

static uint32_t pick(program *p, uint32_t below) {
    p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(p->seed >> 33) % below;
}

/* ---- making -------------------------------------------------------------------------------------------- */

static node *any_value(program *p, int depth);

static node *whole(program *p, uint32_t x) {
    return expr_const(&p->m.memory, line(1), value_int(TG_U32, x));
}

static node *as_u32(program *p, node *x) {
    return expr_cast(&p->m.memory, line(1), TG_U32, x);
}

static node *as_index(program *p, node *x) {
    return expr_cast(&p->m.memory, line(1), TYPE_INDEX, x);
}

static node *below(program *p, node *x, uint32_t n) {
    return as_index(p, op2(&p->m, TG_MOD, x, whole(p, n)));
}

static node *leaf(program *p) {
    switch (pick(p, 6)) {
    case 0:
        return as_u32(p, p->m.tid);
    case 1:
        return p->n;
    case 2:
        return p->nloops > 0 ? as_u32(p, p->loops[pick(p, (uint32_t)p->nloops)]) : whole(p, pick(p, 9));
    case 3:
        return load(&p->m, 1, p->sum, NULL);
    case 4:
        return whole(p, pick(p, 5));
    default:
        return load(&p->m, 1, p->in, below(p, as_u32(p, p->m.tid), INPUTS));
    }
}

static node *any_truth(program *p, int depth) {
    static const tg_op compare[] = {TG_LT, TG_LE, TG_EQ, TG_NE, TG_GT, TG_GE};
    if (depth > 0 && pick(p, 3) == 0) {
        node *a = any_truth(p, depth - 1), *b = any_truth(p, depth - 1);
        return op2(&p->m, pick(p, 2) ? TG_BOTH : TG_EITHER, a, b);
    }
    node *a = op2(&p->m, TG_MOD, any_value(p, depth - 1), whole(p, 2 + pick(p, 5)));
    return op2(&p->m, compare[pick(p, 6)], a, whole(p, pick(p, 4)));
}

/* x / d where d is not zero, else another value; or the same said by a logical operator. */
static node *guarded(program *p, int depth) {
    node *d = op2(&p->m, TG_MOD, any_value(p, depth - 1), whole(p, 3));
    node *x = op2(&p->m, pick(p, 2) ? TG_QUO : TG_MOD, any_value(p, depth - 1), d);
    node *safe = op2(&p->m, TG_NE, d, whole(p, 0));
    if (pick(p, 2)) {
        return expr_choose(&p->m.memory, line(1), safe, x, any_value(p, depth - 1));
    }
    return as_u32(p, op2(&p->m, TG_BOTH, safe, op2(&p->m, TG_GT, x, whole(p, 1))));
}

static node *fresh_value(program *p, int depth) {
    static const tg_op plain[] = {TG_ADD, TG_SUB, TG_MUL, TG_BIT_XOR, TG_MIN_OF, TG_MAX_OF};
    if (depth <= 0) {
        return leaf(p);
    }
    switch (pick(p, 5)) {
    case 0:
        return guarded(p, depth);
    case 1: {
        node *c = any_truth(p, depth - 1), *x = any_value(p, depth - 1);
        return expr_choose(&p->m.memory, line(1), c, x, any_value(p, depth - 1));
    }
    case 2:
        return load(&p->m, 1, p->cells, below(p, any_value(p, depth - 1), 4));
    default: {
        node *x = any_value(p, depth - 1);
        return op2(&p->m, plain[pick(p, 6)], x, any_value(p, depth - 1));
    }
    }
}

/* Now and then one that stands in the statement already, perhaps on the other side of a choice. */
static node *any_value(program *p, int depth) {
    if (p->nmade > 0 && pick(p, 4) == 0) {
        return p->made[pick(p, (uint32_t)p->nmade)];
    }
    node *x = fresh_value(p, depth);
    if (p->nmade < 64) {
        p->made[p->nmade++] = x;
    }
    return x;
}

static void any_block(program *p, int depth);

static void any_statement(program *p, int depth) {
    maker *m = &p->m;
    const uint32_t kind = pick(p, depth > 0 ? 6 : 3);
    p->nmade = 0;
    if (kind == 0) {
        accumulate(m, 1, p->sum, NULL, any_value(p, 3));
    } else if (kind == 1) {
        store(m, 1, p->cells, below(p, any_value(p, 2), 4), any_value(p, 3));
    } else if (kind == 2) {
        node *v = let(m, 1, "v", any_value(p, 3));
        accumulate(m, 1, p->sum, NULL, op2(m, TG_MUL, v, v));
    } else if (kind == 3 && p->nloops < 8) {
        p->loops[p->nloops++] = loop(m, 1, "i", below(p, any_value(p, 2), 4));
        any_block(p, depth - 1);
        leave(m);
        p->nloops--;
    } else {
        when(m, 1, any_truth(p, 2))
            ;
        any_block(p, depth - 1);
        if (pick(p, 2)) {
            otherwise(m)
                ;
            any_block(p, depth - 1);
        }
        leave(m);
    }
}

static void any_block(program *p, int depth) {
    for (uint32_t i = 1 + pick(p, 3); i > 0; i--) {
        any_statement(p, depth);
    }
}

static void make_program(program *p, uint64_t seed, const char *machine) {
    maker *m = &p->m;
    begin(m, machine, 1, THREADS);
    p->seed = seed;
    p->nloops = p->nmade = 0;
    p->n = make_scalar(m, "n", value_int(TG_U32, (int64_t)(seed % 4)));
    for (int i = 0; i < INPUTS; i++) {
        p->input[i] = pick(p, 100);
    }
    p->in = make_tensor(m, "in", TG_U32, INPUTS, p->input);
    p->out = make_tensor(m, "out", TG_U32, THREADS, p->output);
    p->sum = make(m, TG_LOCAL, "sum", TG_U32, 0);
    p->cells = make(m, TG_LOCAL, "cells", TG_U32, 4);
    declare(m, 1, p->sum, whole(p, 1));
    declare(m, 1, p->cells, NULL);
    node *i = loop(m, 1, "i", index_node(m, 4));
    store(m, 1, p->cells, i, as_u32(p, i));
    leave(m);
    any_block(p, 3);
    store(m, 2, p->out, m->tid, load(m, 2, p->sum, NULL));
}

/* ---- one thread alone ---------------------------------------------------------------------------------- */

typedef struct {
    const program *p;
    value vars[MOST_VARS];
    uint32_t sum, cells[4], out;
    int faults;
} thread;

static value alone(thread *t, const node *x);

static uint32_t *cell_of(thread *t, const node *ref) {
    const int64_t i = ref->n > 0 ? value_as_int(alone(t, ref->arg[0])) : 0;
    return ref->buffer == t->p->sum ? &t->sum : ref->buffer == t->p->cells ? &t->cells[i] : &t->out;
}

static value load_alone(thread *t, const node *ref) {
    if (ref->buffer == t->p->in) {
        return value_int(TG_U32, t->p->input[value_as_int(alone(t, ref->arg[0]))]);
    }
    return value_int(TG_U32, *cell_of(t, ref));
}

static value operate_alone(thread *t, const node *x) {
    value_fault fault = FAULT_NONE;
    const value a = alone(t, x->arg[0]);
    if ((x->op == TG_BOTH && !a.bits) || (x->op == TG_EITHER && a.bits)) {
        return a;
    }
    const value r =
        x->n == 1 ? value_unary(x->op, a, &fault) : value_binary(x->op, a, alone(t, x->arg[1]), &fault);
    t->faults += fault != FAULT_NONE;
    return r;
}

static value alone(thread *t, const node *x) {
    value_fault ignored = FAULT_NONE;
    switch (x->kind) {
    case E_CONST:
        return expr_value(x);
    case E_VAR:
        return t->vars[x->var->id];
    case E_LOAD:
        return load_alone(t, x->arg[0]);
    case E_CHOOSE:
        return alone(t, x->arg[alone(t, x->arg[0]).bits ? 1 : 2]);
    case E_CAST:
        return value_cast(alone(t, x->arg[0]), x->type, &ignored);
    default:
        cr_assert_eq(x->kind, E_OP);
        return operate_alone(t, x);
    }
}

static void run_alone(thread *t, const thread_block *b);

static void statement_alone(thread *t, const thread_stmt *s) {
    switch (s->kind) {
    case THREAD_DECL:
        t->sum = s->value ? (uint32_t)alone(t, s->value).bits : t->sum;
        break;
    case THREAD_LET:
        t->vars[s->result[0]->id] = alone(t, s->value);
        break;
    case THREAD_STORE: {
        const uint32_t x = (uint32_t)alone(t, s->value).bits;
        uint32_t *to = cell_of(t, s->dst);
        *to = s->accumulates ? *to + x : x;
        break;
    }
    case THREAD_FOR: {
        const int64_t n = value_as_int(alone(t, s->extent));
        for (int64_t i = 0; i < n; i++) {
            t->vars[s->result[0]->id] = value_int(TYPE_INDEX, i);
            run_alone(t, &s->body);
        }
        break;
    }
    case THREAD_IF:
        run_alone(t, alone(t, s->value).bits ? &s->body : &s->otherwise);
        break;
    default:
        cr_assert(false);
    }
}

static void run_alone(thread *t, const thread_block *b) {
    for (const thread_stmt *s = b->first; s; s = s->next) {
        statement_alone(t, s);
    }
}

static void compare_program(uint64_t seed, const char *machine) {
    static program p;
    static thread t;
    make_program(&p, seed, machine);
    cr_assert_lt(p.m.t.nvars, MOST_VARS);
    const findings *f = run(&p.m);
    text printed = {0};
    thread_print(&p.m.t, &printed, false);
    int faults = 0;
    for (int i = 0; i < THREADS; i++) {
        memset(&t, 0, sizeof t);
        t.p = &p;
        t.vars[p.m.t.thread_var[0]->id] = value_int(TYPE_INDEX, i);
        t.vars[p.n->var->id] = p.m.args[0].scalar;
        run_alone(&t, &p.m.t.body);
        faults += t.faults;
        cr_assert_eq(p.output[i], t.out, "seed %llu, thread %d: %u, alone %u\n%s", (unsigned long long)seed,
                     i, p.output[i], t.out, printed.s);
    }
    cr_assert_eq(faults, 0);
    cr_assert_eq(f->n, 0, "seed %llu: %s\n%s", (unsigned long long)seed, f->item[0].text, printed.s);
    text_free(&printed);
    end(&p.m);
}

Test(sim_trees, warps_with_masks_compute_what_threads_compute_alone) {
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        compare_program(seed, "sm_80");
        compare_program(seed + PROGRAMS, "sim64");
    }
}
