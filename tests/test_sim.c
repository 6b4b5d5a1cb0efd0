/* test_sim.c -- what the simulator finds, each with its places, and that it finds nothing in a good kernel.
 */
#include "sim_kernel.h"

static const char *const targets[] = {"sm_80", "sim64"};

#define EACH_TARGET(name) for (const char *const *name = targets; name < targets + 2; name++)

/* What on_access told. */
typedef struct seen {
    int reads, writes, atomics, lanes, bytes;
    uint64_t last, shared; /* address of the last lane; the largest in shared memory */
} seen;

static void see(const sim_access *a, void *user) {
    seen *s = user;
    s->reads += !a->is_write;
    s->writes += a->is_write && !a->is_atomic;
    s->atomics += a->is_atomic;
    s->lanes += a->lanes;
    s->bytes = a->bytes;
    s->last = a->address[a->lanes - 1];
    s->shared = a->ref->buffer->space == TG_SHARED && s->last > s->shared ? s->last : s->shared;
}

/* ---- control ------------------------------------------------------------------------------------------- */

Test(sim, threads_compute_their_own_elements_in_every_block) {
    EACH_TARGET(machine) {
        maker m;
        int32_t out[3 * 70] = {0};
        begin(&m, *machine, 3, 70);
        buffer *o = make_tensor(&m, "out", TG_I32, 210, out);
        node *i = op2(&m, TG_ADD, op2(&m, TG_MUL, m.pid, index_node(&m, 70)), m.tid);
        store(&m, 10, o, i, op2(&m, TG_MUL, i, index_node(&m, 3)));
        expect_none(run(&m));
        for (int k = 0; k < 210; k++) {
            cr_assert_eq(out[k], 3 * k);
        }
        cr_assert_eq(m.result.blocks, 3);
        end(&m);
    }
}

Test(sim, loops_run_as_often_as_each_lane_says) {
    EACH_TARGET(machine) {
        maker m;
        int32_t out[100] = {0};
        begin(&m, *machine, 1, 100);
        buffer *o = make_tensor(&m, "out", TG_I32, 100, out);
        buffer *sum = make(&m, TG_LOCAL, "sum", TG_I32, 0);
        declare(&m, 10, sum, number(&m, TG_I32, 0));
        node *i = loop(&m, 11, "i", op2(&m, TG_MOD, m.tid, index_node(&m, 7)));
        when(&m, 12,
             op2(&m, TG_EQ, op2(&m, TG_MOD, op2(&m, TG_ADD, i, m.tid), index_node(&m, 2)), index_node(&m, 0)))
            ;
        accumulate(&m, 13, sum, NULL, number(&m, TG_I32, 1));
        otherwise(&m)
            ;
        accumulate(&m, 14, sum, NULL, number(&m, TG_I32, 100));
        leave(&m);
        leave(&m);
        store(&m, 15, o, m.tid, load(&m, 15, sum, NULL));
        expect_none(run(&m));
        for (int t = 0; t < 100; t++) {
            int want = 0;
            for (int k = 0; k < t % 7; k++) {
                want += (k + t) % 2 == 0 ? 1 : 100;
            }
            cr_assert_eq(out[t], want, "thread %d", t);
        }
        end(&m);
    }
}

Test(sim, three_thread_axes_and_three_grid_axes_are_linear_x_first) {
    maker m;
    int32_t out[2 * 3 * 4] = {0}, blocks[2 * 3 * 5] = {0};
    begin(&m, "sm_80", 2, 2);
    m.t.grid[1] = index_node(&m, 3);
    m.t.grid[2] = index_node(&m, 5);
    m.t.threads[1] = 3;
    m.t.threads[2] = 4;
    node *tid[3] = {m.tid}, *pid[3] = {m.pid};
    for (int i = 1; i < 3; i++) {
        m.t.thread_var[i] = make_var(&m, VAR_THREAD, "t", TYPE_INDEX);
        m.t.grid_var[i] = make_var(&m, VAR_GRID, "b", TYPE_INDEX);
        tid[i] = expr_var(&m.memory, line(1), m.t.thread_var[i]);
        pid[i] = expr_var(&m.memory, line(1), m.t.grid_var[i]);
    }
    node *thread = op2(&m, TG_ADD,
                       op2(&m, TG_MUL, op2(&m, TG_ADD, op2(&m, TG_MUL, tid[2], index_node(&m, 3)), tid[1]),
                           index_node(&m, 2)),
                       tid[0]);
    node *block = op2(&m, TG_ADD,
                      op2(&m, TG_MUL, op2(&m, TG_ADD, op2(&m, TG_MUL, pid[2], index_node(&m, 3)), pid[1]),
                          index_node(&m, 2)),
                      pid[0]);
    buffer *o = make_tensor(&m, "out", TG_I32, 24, out), *b = make_tensor(&m, "blocks", TG_I32, 30, blocks);
    atomic(&m, 10, TG_SUM, o, thread,
           op2(&m, TG_ADD, expr_cast(&m.memory, line(1), TG_I32, thread), number(&m, TG_I32, 1)));
    atomic(&m, 11, TG_SUM, b, block, number(&m, TG_I32, 1));
    expect_none(run(&m));
    for (int i = 0; i < 24; i++) {
        cr_assert_eq(out[i], 30 * (i + 1));
    }
    for (int i = 0; i < 30; i++) {
        cr_assert_eq(blocks[i], 24);
    }
    end(&m);
}

Test(sim, choose_and_the_logical_operators_evaluate_only_the_side_that_counts) {
    maker m;
    float in[4] = {1, 2, 3, 4}, out[40] = {0};
    int32_t truth[40] = {0};
    begin(&m, "sm_80", 1, 40);
    buffer *x = make_tensor(&m, "in", TG_F32, 4, in), *o = make_tensor(&m, "out", TG_F32, 40, out);
    buffer *flags = make_tensor(&m, "flags", TG_I32, 40, truth);
    node *inside = op2(&m, TG_LT, m.tid, index_node(&m, 4));
    node *chosen = expr_choose(&m.memory, line(10), inside, load(&m, 10, x, m.tid), number(&m, TG_F32, -1));
    store(&m, 10, o, m.tid, chosen);
    node *large = op2(&m, TG_GT, load(&m, 11, x, m.tid), number(&m, TG_F32, 2));
    node *outside = op2(&m, TG_GE, m.tid, index_node(&m, 4));
    node *both = op2(&m, TG_BOTH, inside, large), *either = op2(&m, TG_EITHER, outside, large);
    node *sum = op2(&m, TG_ADD, expr_cast(&m.memory, line(11), TG_I32, both),
                    op2(&m, TG_MUL, number(&m, TG_I32, 2), expr_cast(&m.memory, line(11), TG_I32, either)));
    store(&m, 11, flags, m.tid, sum);
    expect_none(run(&m));
    for (int i = 0; i < 40; i++) {
        cr_assert_eq(out[i], i < 4 ? in[i] : -1);
        cr_assert_eq(truth[i], (i < 4 && in[i] > 2 ? 1 : 0) + (i >= 4 || in[i] > 2 ? 2 : 0));
    }
    end(&m);
}

Test(sim, extents_and_scalars_come_from_the_arguments) {
    maker m;
    float out[50];
    memset(out, 0, sizeof out);
    begin(&m, "sm_80", 1, 10);
    node *n = make_scalar(&m, "n", value_int(TYPE_INDEX, 45));
    node *factor = make_scalar(&m, "factor", value_real(TG_F32, 0.5));
    buffer *o = make_tensor(&m, "out", TG_F32, 50, out);
    o->dim[0] = -1;
    o->dim_expr[0] = n;
    m.t.grid[0] = op2(&m, TG_QUO, op2(&m, TG_ADD, n, index_node(&m, 9)), index_node(&m, 10));
    node *i = op2(&m, TG_ADD, op2(&m, TG_MUL, m.pid, index_node(&m, 10)), m.tid);
    when(&m, 10, op2(&m, TG_LT, i, n))
        ;
    store(&m, 11, o, i, op2(&m, TG_MUL, expr_cast(&m.memory, line(11), TG_F32, i), factor));
    leave(&m);
    expect_none(run(&m));
    for (int k = 0; k < 50; k++) {
        cr_assert_eq(out[k], k < 45 ? 0.5F * (float)k : 0);
    }
    cr_assert_eq(m.result.blocks, 5);
    end(&m);
}

Test(sim, a_grid_of_no_blocks_runs_nothing) {
    maker m;
    begin(&m, "sm_80", 0, 32);
    expect_none(run(&m));
    cr_assert_eq(m.result.blocks, 0);
    cr_assert_eq(m.result.warp_instructions, 0);
    end(&m);
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

static void expect_refused(maker *m, const char *words) {
    run_with(m, NULL);
    cr_assert_eq(m->status, TG_EARG);
    cr_assert(m->error.s != NULL && strstr(m->error.s, words) != NULL, "%s",
              m->error.s ? m->error.s : "no text");
    text_free(&m->error);
}

Test(sim, arguments_that_do_not_fit_are_refused_by_name) {
    maker m;
    float out[8];
    begin(&m, "sm_80", 1, 8);
    node *n = make_scalar(&m, "n", value_int(TYPE_INDEX, 8));
    buffer *o = make_tensor(&m, "out", TG_F32, 8, out);
    o->dim[0] = -1;
    o->dim_expr[0] = n;
    m.args[1].bytes = 31;
    expect_refused(&m, "tensor 'out' needs 32 bytes, but 31 are given");
    m.args[1].bytes = 32;
    m.args[1].data = NULL;
    expect_refused(&m, "'out'");
    m.args[1].data = out;
    m.args[0].scalar = value_int(TG_I32, 8);
    expect_refused(&m, "argument 'n' is of type i32, but the kernel takes index");
    m.args[0].scalar = value_int(TYPE_INDEX, -1);
    expect_refused(&m, "extent 'n' is -1");
    m.args[0].scalar = value_int(TYPE_INDEX, 8);
    m.nargs = 1;
    expect_refused(&m, "takes 2 arguments, but 1 are given");
    m.nargs = 2;
    m.t.grid[0] = op2(&m, TG_QUO, index_node(&m, 8), op2(&m, TG_SUB, n, n));
    expect_refused(&m, "grid's extent along x cannot be computed");
    m.t.grid[0] = op2(&m, TG_SUB, n, index_node(&m, 9));
    expect_refused(&m, "grid's extent along x is -1");
    end(&m);
}

/* ---- races --------------------------------------------------------------------------------------------- */

/* Each thread writes its element of shared memory (line 10) and reads its neighbour's (line 12); a barrier
 * between at line 11, or not. */
static const findings *neighbours(maker *m, const char *machine, bool with_barrier, int32_t *out) {
    begin(m, machine, 2, 128);
    buffer *s = make(m, TG_SHARED, "staged", TG_I32, 128), *o = make_tensor(m, "out", TG_I32, 256, out);
    store(m, 10, s, m->tid, expr_cast(&m->memory, line(10), TG_I32, m->tid));
    if (with_barrier) {
        barrier(m, 11);
    }
    node *next = op2(m, TG_MOD, op2(m, TG_ADD, m->tid, index_node(m, 1)), index_node(m, 128));
    node *i = op2(m, TG_ADD, op2(m, TG_MUL, m->pid, index_node(m, 128)), m->tid);
    store(m, 12, o, i, load(m, 12, s, next));
    return run(m);
}

Test(sim, a_barrier_orders_shared_memory) {
    EACH_TARGET(machine) {
        maker m;
        int32_t out[256] = {0};
        expect_none(neighbours(&m, *machine, true, out));
        for (int i = 0; i < 256; i++) {
            cr_assert_eq(out[i], (i + 1) % 128);
        }
        cr_assert_eq(m.result.barriers, 2);
        end(&m);
    }
}

Test(sim, a_missing_barrier_is_a_race_that_names_both_lines) {
    EACH_TARGET(machine) {
        maker m;
        int32_t out[256] = {0};
        const findings *f = neighbours(&m, *machine, false, out);
        bool found = false;
        for (int i = 0; i < f->n; i++) {
            const finding *x = &f->item[i];
            if (x->kind == FINDING_RACE) {
                found = true;
                cr_assert_eq(x->at.line, 10);
                cr_assert_eq(x->other.line, 12);
                cr_assert_neq(x->thread, x->other_thread);
                cr_assert(strstr(x->text, "'staged[") != NULL &&
                              strstr(x->text, "no barrier between") != NULL,
                          "%s", x->text);
            } else {
                cr_assert_eq(x->kind, FINDING_UNINITIALISED); /* of the warp that has not run yet */
            }
        }
        cr_assert(found);
        end(&m);
    }
}

Test(sim, lockstep_does_not_order_the_lanes_of_a_warp) {
    maker m;
    int32_t out[2] = {0};
    begin(&m, "sm_80", 1, 2);
    buffer *s = make(&m, TG_SHARED, "cell", TG_F16, 2), *o = make_tensor(&m, "out", TG_I32, 2, out);
    store(&m, 10, s, m.tid, number(&m, TG_F16, 1));
    store(&m, 11, o, m.tid,
          expr_cast(&m.memory, line(11), TG_I32, load(&m, 11, s, op2(&m, TG_SUB, index_node(&m, 1), m.tid))));
    const finding *x = expect_one(run(&m), FINDING_RACE, 10, 11);
    cr_assert_str_eq(x->text, "'cell[1]': write by thread 1, read by thread 0, no barrier between");
    cr_assert_eq(x->count, 2);
    cr_assert_eq(x->thread, 1); /* of line 10 */
    cr_assert_eq(x->other_thread, 0);
    end(&m);
}

Test(sim, a_write_after_another_threads_read_races) {
    maker m;
    float in[64] = {0};
    begin(&m, "sm_80", 1, 64);
    buffer *x = make_tensor(&m, "x", TG_F32, 64, in);
    node *v =
        let(&m, 10, "v", load(&m, 10, x, index_node(&m, 7))); /* also by warps that run after the write */
    when(&m, 11, op2(&m, TG_EQ, m.tid, index_node(&m, 7)))
        ;
    store(&m, 12, x, m.tid, op2(&m, TG_ADD, v, number(&m, TG_F32, 1)));
    leave(&m);
    expect_one(run(&m), FINDING_RACE, 10, 12);
    end(&m);
}

Test(sim, blocks_are_never_ordered) {
    maker m;
    int32_t out[4] = {0};
    begin(&m, "sm_80", 4, 32);
    buffer *o = make_tensor(&m, "out", TG_I32, 4, out);
    when(&m, 9, op2(&m, TG_EQ, m.tid, index_node(&m, 3)))
        ;
    node *i = op2(&m, TG_QUO, m.pid, index_node(&m, 2));
    store(&m, 10, o, i, m.pid);
    leave(&m);
    barrier(&m, 11);
    const finding *x = expect_one(run(&m), FINDING_RACE, 10, 10);
    cr_assert_str_eq(x->text,
                     "'out[0]': write by thread 3 of block (0, 0, 0), write by thread 3 of block (1, 0, 0); "
                     "nothing orders blocks");
    cr_assert_eq(x->block[0], 1);
    cr_assert_eq(x->count, 2);
    end(&m);
}

Test(sim, a_block_may_read_what_it_wrote_itself) {
    maker m;
    int32_t out[64] = {0}, copy[64] = {0};
    begin(&m, "sm_80", 2, 32);
    buffer *o = make_tensor(&m, "out", TG_I32, 64, out), *c = make_tensor(&m, "copy", TG_I32, 64, copy);
    node *base = op2(&m, TG_MUL, m.pid, index_node(&m, 32));
    store(&m, 10, o, op2(&m, TG_ADD, base, m.tid), m.tid);
    barrier(&m, 11);
    node *mirrored = op2(&m, TG_ADD, base, op2(&m, TG_SUB, index_node(&m, 31), m.tid));
    store(&m, 12, c, op2(&m, TG_ADD, base, m.tid), load(&m, 12, o, mirrored));
    expect_none(run(&m));
    cr_assert_eq(copy[33], 30);
    end(&m);
}

Test(sim, reading_what_another_block_writes_races) {
    maker m;
    int32_t out[64] = {0}, copy[64] = {0};
    begin(&m, "sm_80", 2, 32);
    buffer *o = make_tensor(&m, "out", TG_I32, 64, out), *c = make_tensor(&m, "copy", TG_I32, 64, copy);
    node *base = op2(&m, TG_MUL, m.pid, index_node(&m, 32)),
         *other = op2(&m, TG_SUB, index_node(&m, 32), base);
    store(&m, 12, c, op2(&m, TG_ADD, base, m.tid), load(&m, 12, o, op2(&m, TG_ADD, other, m.tid)));
    barrier(&m, 13);
    store(&m, 14, o, op2(&m, TG_ADD, base, m.tid), m.tid);
    const findings *f = run(&m);
    /* Block 1 reads what block 0 wrote, and writes what block 0 read. */
    cr_assert_eq(expect_one(f, FINDING_RACE, 12, 14)->count, 64);
    end(&m);
}

Test(sim, writing_the_same_value_is_a_note) {
    maker m;
    int32_t out[1] = {0};
    begin(&m, "sm_80", 1, 4);
    buffer *o = make_tensor(&m, "out", TG_I32, 1, out);
    store(&m, 10, o, index_node(&m, 0), number(&m, TG_I32, 5));
    const findings *f = run(&m);
    expect_one(f, FINDING_NOTE, 10, 10);
    cr_assert(!findings_failed(f, false));
    cr_assert(findings_failed(f, true));
    end(&m);
}

Test(sim, atomics_do_not_race_with_each_other_but_with_plain_reads) {
    maker m;
    int32_t out[2] = {0};
    begin(&m, "sm_80", 3, 40);
    buffer *o = make_tensor(&m, "out", TG_I32, 1, out);
    atomic(&m, 10, TG_SUM, o, index_node(&m, 0), number(&m, TG_I32, 1));
    expect_none(run(&m));
    cr_assert_eq(out[0], 120);
    let(&m, 11, "v", load(&m, 11, o, index_node(&m, 0)));
    expect_one(run(&m), FINDING_RACE, 10, 11);
    end(&m);
}

typedef enum { READ, WRITE, ATOMIC } kind;

typedef struct {
    tg_space space;
    kind first, second;
    int distance; /* from the thread that made the first access to an element to that of the second */
    bool ordered; /* by a barrier */
    bool all;     /* every thread makes both; else thread 0 the first, one thread the second */
    int64_t type;
} pair;

static void touch_element(maker *m, int at, kind k, buffer *b, node *i) {
    if (k == READ) {
        let(m, at, "v", load(m, at, b, i));
    } else if (k == WRITE) { /* a value of its own, so that it is no note */
        store(m, at, b, i,
              expr_cast(&m->memory, line(at), b->type, op2(m, TG_ADD, m->tid, index_node(m, at))));
    } else {
        atomic(m, at, TG_MAX, b, i, number(m, b->type, 1));
    }
}

static void judge_pair(const pair *p, const char *machine) {
    enum { N = 128 };
    static uint64_t data[N];
    maker m;
    begin(&m, machine, 1, N);
    buffer *tensor = make_tensor(&m, "data", p->type, N, data),
           *shared = make(&m, TG_SHARED, "cells", p->type, N);
    buffer *b = p->space == TG_SHARED ? shared : tensor;
    store(&m, 5, b, m.tid, number(&m, p->type, 0));
    barrier(&m, 6);
    when(&m, 9, p->all ? op2(&m, TG_GE, m.tid, index_node(&m, 0)) : op2(&m, TG_EQ, m.tid, index_node(&m, 0)))
        ;
    touch_element(&m, 10, p->first, b, m.tid);
    leave(&m);
    if (p->ordered) {
        barrier(&m, 11);
    }
    when(&m, 11,
         p->all ? op2(&m, TG_GE, m.tid, index_node(&m, 0))
                : op2(&m, TG_EQ, m.tid, index_node(&m, p->distance)))
        ;
    node *other = op2(&m, TG_MOD, op2(&m, TG_ADD, m.tid, index_node(&m, N - p->distance)), index_node(&m, N));
    touch_element(&m, 12, p->second, b, other);
    leave(&m);
    const bool writes = p->first != READ || p->second != READ,
               atomics = p->first == ATOMIC && p->second == ATOMIC;
    const bool races = p->distance != 0 && !p->ordered && writes && !atomics;
    const findings *f = run(&m);
    if (races) {
        expect_one(f, FINDING_RACE, 10, 12);
    } else {
        expect_none(f);
    }
    end(&m);
}

Test(sim, every_pair_of_accesses_is_judged_by_the_rule) {
    static const int distances[] = {0, 1, 40};
    static const int64_t types[] = {TG_U8, TG_F16, TG_I32, TG_F64};
    for (int i = 0; i < 3 * 3 * 3 * 2 * 2 * 2 * 4; i++) {
        const pair p = {.first = (kind)(i % 3),
                        .second = (kind)(i / 3 % 3),
                        .distance = distances[i / 9 % 3],
                        .ordered = i / 27 % 2,
                        .all = i / 54 % 2,
                        .space = i / 108 % 2 ? TG_SHARED : TG_GLOBAL,
                        .type = types[i / 216]};
        judge_pair(&p, "sm_80");
        judge_pair(&p, "sim64");
    }
}

Test(sim, rows_of_shared_memory_may_be_padded) {
    EACH_TARGET(machine) {
        maker m;
        int32_t out[64] = {0};
        begin(&m, *machine, 1, 64);
        buffer *s = make_buffer(&m, TG_SHARED, "s", TG_I32, 2, (const int64_t[]){8, 8});
        s->layout.pitch = 9;
        buffer *o = make_tensor(&m, "out", TG_I32, 64, out);
        node *row = op2(&m, TG_QUO, m.tid, index_node(&m, 8)),
             *col = op2(&m, TG_MOD, m.tid, index_node(&m, 8));
        thread_stmt *x = say(&m, THREAD_STORE, 10);
        x->dst = expr_ref(&m.memory, line(10), s, 2, (node *[]){row, col}, 1);
        x->value = m.tid;
        barrier(&m, 11);
        node *turned = expr_ref(&m.memory, line(12), s, 2, (node *[]){col, row}, 1);
        store(&m, 12, o, m.tid, expr_load(&m.memory, line(12), turned));
        seen last = {0};
        run_with(&m, &(sim_options){.on_access = see, .user = &last});
        expect_none(&m.result.findings);
        for (int t = 0; t < 64; t++) {
            cr_assert_eq(out[t], t % 8 * 8 + t / 8);
        }
        cr_assert_eq(last.shared, (7 * 9 + 7) * 4);
        end(&m);
    }
}

Test(sim, aliased_tensors_are_the_same_bytes) {
    maker m;
    int32_t data[64] = {0};
    begin(&m, "sm_80", 1, 32);
    buffer *x = make_tensor(&m, "x", TG_I32, 40, data), *y = make_tensor(&m, "y", TG_I32, 40, data + 20);
    store(&m, 10, x, m.tid, m.tid);
    let(&m, 11, "v", load(&m, 11, y, m.tid));
    expect_one(run(&m), FINDING_RACE, 10, 11);
    end(&m);
}

Test(sim, races_are_not_looked_for_when_skipped) {
    maker m;
    int32_t out[1] = {0};
    begin(&m, "sm_80", 1, 4);
    buffer *o = make_tensor(&m, "out", TG_I32, 1, out);
    store(&m, 10, o, index_node(&m, 0), m.tid);
    run_with(&m, &(sim_options){.skip_races = true});
    expect_none(&m.result.findings);
    cr_assert_eq(out[0], 3);
    end(&m);
}

/* ---- bounds, alignment, what nothing wrote ------------------------------------------------------------- */

Test(sim, each_dimension_has_its_own_bounds) {
    maker m;
    float data[12] = {0}, out[16];
    for (int i = 0; i < 12; i++) {
        data[i] = (float)(i + 1);
    }
    begin(&m, "sm_80", 1, 4);
    buffer *x = make_buffer(&m, TG_GLOBAL, "x", TG_F32, 2, (const int64_t[]){3, 4});
    m.params[m.t.nparams++] = (thread_param){PARAM_TENSOR, x, NULL};
    m.args[m.nargs++] = (witness_arg){.data = data, .bytes = sizeof data};
    buffer *o = make_tensor(&m, "out", TG_F32, 4, out);
    node *index[2] = {index_node(&m, 1), op2(&m, TG_ADD, m.tid, index_node(&m, 2))};
    store(&m, 10, o, m.tid, expr_load(&m.memory, line(10), expr_ref(&m.memory, line(10), x, 2, index, 1)));
    const finding *f = expect_one(run(&m), FINDING_BOUNDS, 10, 0);
    cr_assert_str_eq(f->text, "read of 'x[1, tid + 2]': index [1, 4] outside [3, 4]");
    cr_assert_eq(f->count, 2);
    cr_assert_eq(f->thread, 2);
    cr_assert_eq(out[0], 7);
    cr_assert_eq(out[1], 8);
    cr_assert_eq(out[2], 0); /* not 9, which is x[2, 0] */
    end(&m);
}

Test(sim, writes_outside_are_dropped_and_reported_at_both_ends) {
    EACH_TARGET(machine) {
        maker m;
        int32_t out[10] = {0};
        begin(&m, *machine, 1, 10);
        buffer *o = make_tensor(&m, "out", TG_I32, 8, out + 1);
        store(&m, 10, o, op2(&m, TG_SUB, m.tid, index_node(&m, 1)), number(&m, TG_I32, 7));
        const finding *f = expect_one(run(&m), FINDING_BOUNDS, 10, 0);
        cr_assert_eq(f->count, 2);
        cr_assert_eq(out[0] + out[9], 0);
        cr_assert_eq(out[1] + out[8], 14);
        end(&m);
    }
}

Test(sim, lanes_that_take_no_part_have_no_addresses) {
    maker m;
    int32_t out[4] = {0};
    begin(&m, "sm_80", 1, 32);
    buffer *o = make_tensor(&m, "out", TG_I32, 4, out);
    when(&m, 10, op2(&m, TG_LT, m.tid, index_node(&m, 4)))
        ;
    store(&m, 11, o, m.tid, op2(&m, TG_ADD, m.tid, index_node(&m, 1)));
    leave(&m);
    expect_none(run(&m));
    cr_assert_eq(out[3], 4);
    end(&m);
}

Test(sim, a_wide_access_moves_all_its_elements) {
    EACH_TARGET(machine) {
        maker m;
        uint16_t data[8 * 40], out[8 * 40] = {0};
        for (int i = 0; i < 320; i++) {
            data[i] = (uint16_t)(i * 77);
        }
        begin(&m, *machine, 1, 40);
        buffer *x = make_tensor(&m, "x", TG_F16, 320, data), *o = make_tensor(&m, "out", TG_F16, 320, out);
        buffer *l = make(&m, TG_LOCAL, "l", TG_F16, 8);
        declare(&m, 10, l, NULL);
        node *at = op2(&m, TG_MUL, m.tid, index_node(&m, 8));
        thread_stmt *s = say(&m, THREAD_STORE, 11);
        s->dst = place_wide(&m, 11, l, index_node(&m, 0), 8);
        s->value = expr_load(&m.memory, line(11), place_wide(&m, 11, x, at, 8));
        s = say(&m, THREAD_STORE, 12);
        s->dst = place_wide(&m, 12, o, at, 8);
        s->value = expr_load(&m.memory, line(12), place_wide(&m, 12, l, index_node(&m, 0), 8));
        expect_none(run(&m));
        cr_assert_arr_eq(data, out, sizeof data);
        end(&m);
    }
}

Test(sim, a_wide_access_must_be_aligned_and_wholly_inside) {
    maker m;
    _Alignas(16) uint16_t data[64] = {0};
    begin(&m, "sm_80", 1, 2);
    buffer *x = make_tensor(&m, "x", TG_F16, 64, data);
    node *at = op2(&m, TG_MUL, m.tid, index_node(&m, 4));
    let(&m, 10, "v", expr_load(&m.memory, line(10), place_wide(&m, 10, x, at, 8)));
    const finding *f = expect_one(run(&m), FINDING_MISALIGNED, 10, 0);
    cr_assert_eq(f->thread, 1);
    cr_assert(strstr(f->text, "16 bytes at 'x[4]'") != NULL, "%s", f->text);
    x->align = 8;
    f = expect_one(run(&m), FINDING_MISALIGNED, 10, 0);
    cr_assert_eq(f->count, 2);
    x->align = 16;
    let(&m, 11, "w",
        expr_load(&m.memory, line(11), place_wide(&m, 11, x, op2(&m, TG_ADD, m.tid, index_node(&m, 57)), 8)));
    run(&m);
    cr_assert_eq(m.result.findings.item[1].kind, FINDING_BOUNDS);
    cr_assert_eq(m.result.findings.item[1].thread, 0);
    end(&m);
}

Test(sim, reads_of_what_nothing_wrote_are_found) {
    EACH_TARGET(machine) {
        maker m;
        int32_t out[40] = {0};
        begin(&m, *machine, 2, 40);
        buffer *s = make(&m, TG_SHARED, "s", TG_I32, 40), *l = make(&m, TG_LOCAL, "l", TG_I32, 4);
        buffer *o = make_tensor(&m, "out", TG_I32, 40, out);
        when(&m, 10, op2(&m, TG_NE, m.tid, index_node(&m, 5)))
            ;
        store(&m, 11, s, m.tid, number(&m, TG_I32, 1));
        leave(&m);
        let(&m, 12, "v", load(&m, 12, s, m.tid));
        node *i = loop(&m, 13, "i", index_node(&m, 2));
        declare(&m, 14, l, NULL);
        when(&m, 15, op2(&m, TG_EQ, i, index_node(&m, 0)))
            ;
        store(&m, 16, l, op2(&m, TG_MOD, m.tid, index_node(&m, 4)), number(&m, TG_I32, 1));
        leave(&m);
        let(&m, 17, "w",
            load(&m, 17, l, op2(&m, TG_MOD, m.tid, index_node(&m, 4)))); /* a new one each time */
        leave(&m);
        (void)o;
        const findings *f = run(&m);
        cr_assert_eq(f->n, 2);
        cr_assert_eq(f->item[0].kind, FINDING_UNINITIALISED);
        cr_assert_eq(f->item[0].at.line, 12);
        cr_assert_eq(f->item[0].thread, 5);
        cr_assert_eq(f->item[0].count, 2);
        cr_assert_str_eq(f->item[0].text, "read of 's[5]', which nothing has written");
        cr_assert_eq(f->item[1].at.line, 17);
        cr_assert_eq(f->item[1].count, 80);
        end(&m);
    }
}

Test(sim, a_view_of_a_local_is_the_same_bytes) {
    EACH_TARGET(machine) {
        maker m;
        uint32_t out[40] = {0};
        begin(&m, *machine, 1, 40);
        buffer *l = make(&m, TG_LOCAL, "l", TG_U32, 2), *v = make(&m, TG_LOCAL, "v", TG_U16, 4);
        v->view_of = l;
        buffer *o = make_tensor(&m, "out", TG_U32, 40, out);
        declare(&m, 10, l, NULL);
        store(&m, 11, v, index_node(&m, 2), expr_cast(&m.memory, line(11), TG_U16, m.tid));
        when(&m, 12, op2(&m, TG_NE, m.tid, index_node(&m, 9)))
            ;
        store(&m, 13, v, index_node(&m, 3), number(&m, TG_U16, 3));
        leave(&m);
        store(&m, 14, o, m.tid, load(&m, 14, l, index_node(&m, 1)));
        const finding *f = expect_one(run(&m), FINDING_UNINITIALISED, 14, 2);
        cr_assert_eq(f->thread, 9);
        for (uint32_t i = 0; i < 40; i++) {
            cr_assert(i == 9 || out[i] == (3u << 16 | i));
        }
        end(&m);
    }
}

Test(sim, a_pitch_lies_between_rows) {
    maker m;
    int32_t data[3 * 6] = {0};
    begin(&m, "sm_80", 1, 12);
    buffer *x = make_buffer(&m, TG_GLOBAL, "x", TG_I32, 2, (const int64_t[]){3, 4});
    x->pitch = 6;
    m.params[m.t.nparams++] = (thread_param){PARAM_TENSOR, x, NULL};
    m.args[m.nargs++] = (witness_arg){.data = data, .bytes = (2 * 6 + 4) * 4};
    node *index[2] = {op2(&m, TG_QUO, m.tid, index_node(&m, 4)), op2(&m, TG_MOD, m.tid, index_node(&m, 4))};
    thread_stmt *s = say(&m, THREAD_STORE, 10);
    s->dst = expr_ref(&m.memory, line(10), x, 2, index, 1);
    s->value = op2(&m, TG_ADD, m.tid, index_node(&m, 1));
    expect_none(run(&m));
    for (int i = 0; i < 18; i++) {
        cr_assert_eq(data[i], i % 6 < 4 ? i / 6 * 4 + i % 6 + 1 : 0);
    }
    end(&m);
}

/* ---- barriers and exchanges ---------------------------------------------------------------------------- */

Test(sim, a_barrier_that_lanes_of_a_warp_miss_is_a_fault) {
    EACH_TARGET(machine) {
        maker m;
        begin(&m, *machine, 1, 16);
        when(&m, 10, op2(&m, TG_LT, m.tid, index_node(&m, 12)))
            ;
        barrier(&m, 11);
        leave(&m);
        const finding *f = expect_one(run(&m), FINDING_BARRIER, 11, 10);
        cr_assert_str_eq(f->text, "threads 12..15 of 16 do not arrive: they went another way");
        end(&m);
    }
}

Test(sim, two_barriers_at_different_places_do_not_meet) {
    maker m;
    begin(&m, "sm_80", 1, 64);
    when(&m, 10, op2(&m, TG_LT, m.tid, index_node(&m, 32)))
        ;
    barrier(&m, 11);
    otherwise(&m)
        ;
    barrier(&m, 12);
    leave(&m);
    const finding *f = expect_one(run(&m), FINDING_BARRIER, 11, 12);
    cr_assert_str_eq(f->text, "threads 32..63 of 64 do not arrive: they wait at another barrier");
    end(&m);
}

Test(sim, a_barrier_after_other_threads_have_ended_is_a_fault) {
    maker m;
    begin(&m, "sm_80", 1, 96);
    when(&m, 10, op2(&m, TG_LT, m.tid, index_node(&m, 32)))
        ;
    barrier(&m, 11);
    leave(&m);
    const finding *f = expect_one(run(&m), FINDING_BARRIER, 11, 0);
    cr_assert_str_eq(f->text, "threads 32..63 of 96 do not arrive: they have ended");
    cr_assert_eq(f->count, 2);
    end(&m);
}

Test(sim, a_butterfly_gives_every_lane_of_a_group_the_same_bits) {
    EACH_TARGET(machine) {
        maker m;
        float in[64], out[64] = {0};
        for (int i = 0; i < 64; i++) {
            in[i] = 1.0F / (float)(i + 3);
        }
        begin(&m, *machine, 1, 64);
        buffer *x = make_tensor(&m, "x", TG_F32, 64, in), *o = make_tensor(&m, "out", TG_F32, 64, out);
        node *v = let(&m, 10, "v", load(&m, 10, x, m.tid));
        store(&m, 12, o, m.tid, lanes(&m, 11, THREAD_REDUCE_LANES, TG_SUM, v, 2, 4));
        expect_none(run(&m));
        for (int i = 0; i < 64; i++) {
            const int a = i, b = i ^ 2, c = i ^ 4, d = i ^ 6;
            const float near = in[a] + in[b], far = in[c] + in[d], want = near + far;
            cr_assert_eq(out[i], want);
            cr_assert_eq(out[i], out[b]);
            cr_assert_eq(out[i], out[d]);
        }
        end(&m);
    }
}

Test(sim, a_wave_of_64_reduces_over_64_lanes) {
    maker m;
    int32_t out[64] = {0};
    begin(&m, "sim64", 1, 64);
    buffer *o = make_tensor(&m, "out", TG_I32, 64, out);
    node *v = let(&m, 10, "v", expr_cast(&m.memory, line(10), TG_I32, m.tid));
    store(&m, 12, o, m.tid, lanes(&m, 11, THREAD_REDUCE_LANES, TG_MAX, v, 1, 64));
    expect_none(run(&m));
    cr_assert_eq(out[0], 63);
    cr_assert_eq(out[63], 63);
    end(&m);
}

Test(sim, exchanging_with_a_lane_that_takes_no_part_is_a_fault) {
    maker m;
    begin(&m, "sm_80", 1, 6);
    when(&m, 10, op2(&m, TG_NE, m.tid, index_node(&m, 1)))
        ;
    node *v = let(&m, 11, "v", expr_cast(&m.memory, line(11), TG_I32, m.tid));
    lanes(&m, 12, THREAD_SHUFFLE_XOR, TG_SUM, v, 1, 0);
    leave(&m);
    const finding *f = expect_one(run(&m), FINDING_BARRIER, 12, 10);
    cr_assert_str_eq(f->text, "thread 0 exchanges a value with thread 1, which does not take part");
    end(&m);
}

/* ---- values -------------------------------------------------------------------------------------------- */

Test(sim, faults_of_arithmetic_name_the_line_and_the_operands) {
    maker m;
    int32_t out[4] = {0};
    begin(&m, "sm_80", 1, 4);
    buffer *o = make_tensor(&m, "out", TG_I32, 4, out);
    node *i = let(&m, 10, "i", expr_cast(&m.memory, line(10), TG_I32, m.tid));
    node *q = expr_binary(&m.memory, line(11), TG_QUO, number(&m, TG_I32, 12), i);
    store(&m, 11, o, m.tid, q);
    node *big = expr_binary(&m.memory, line(12), TG_MUL, i, number(&m, TG_I32, 1 << 30));
    let(&m, 12, "big", big);
    store(&m, 13, o, m.tid, op2(&m, TG_MUL, m.tid, index_node(&m, (int64_t)1 << 30)));
    const findings *f = run(&m);
    cr_assert_eq(f->n, 3);
    cr_assert_eq(f->item[0].kind, FINDING_ARITHMETIC);
    cr_assert_eq(f->item[0].at.line, 11);
    cr_assert_str_eq(f->item[0].text, "division by zero in i32: operands 12 and 0");
    cr_assert_eq(f->item[1].at.line, 12);
    cr_assert_eq(f->item[1].count, 2);
    cr_assert_str_eq(f->item[1].text, "integer overflow in i32: operands 2 and 1073741824");
    cr_assert_eq(f->item[2].at.line, 13);
    cr_assert_str_eq(f->item[2].text, "index 2147483648 does not fit i32");
    end(&m);
}

Test(sim, a_failed_check_is_reported_and_the_kernel_goes_on) {
    maker m;
    int32_t out[8] = {0};
    begin(&m, "sm_80", 2, 4);
    buffer *o = make_tensor(&m, "out", TG_I32, 8, out);
    thread_stmt *s = say(&m, THREAD_CHECK, 10);
    s->value = op2(&m, TG_LT, m.tid, index_node(&m, 3));
    s->check = 0;
    m.checks[0] = (thread_check){line(10), "the last thread is one too many"};
    m.t.nchecks = 1;
    store(&m, 11, o, op2(&m, TG_ADD, op2(&m, TG_MUL, m.pid, index_node(&m, 4)), m.tid),
          number(&m, TG_I32, 1));
    const finding *f = expect_one(run(&m), FINDING_CHECK, 10, 0);
    cr_assert_str_eq(f->text, "the last thread is one too many");
    cr_assert_eq(f->thread, 3);
    cr_assert_eq(f->count, 2);
    cr_assert_eq(out[7], 1);
    end(&m);
}

static void print_values(maker *m, int at, const char *format, int n, node *const *x) {
    thread_stmt *s = say(m, THREAD_PRINT, at);
    s->format = format;
    s->nvalues = n;
    s->values = ARENA_ARRAY(&m->memory, node *, n);
    for (int i = 0; i < n; i++) {
        s->values[i] = x[i];
    }
}

Test(sim, print_formats_as_c_does) {
    maker m;
    begin(&m, "sm_80", 1, 2);
    node *x[] = {m.tid, number(&m, TG_F16, 1.5), number(&m, TG_I32, -1), number(&m, TG_I32, -1)};
    print_values(&m, 10, "%d: %6.2f|%u|%x|100%%\n", 4, x);
    run(&m);
    cr_assert_str_eq(m.result.printed.s,
                     "0:   1.50|4294967295|ffffffff|100%\n1:   1.50|4294967295|ffffffff|100%\n");
    end(&m);
}

Test(sim, printing_stops_at_the_limit) {
    maker m;
    begin(&m, "sm_80", 8, 1024);
    print_values(&m, 10, "0123456789abcde\n", 0, NULL);
    run(&m);
    cr_assert_eq(m.result.printed.length, WITNESS_MAX_PRINT);
    cr_assert_eq(strlen(m.result.printed.s), WITNESS_MAX_PRINT);
    end(&m);
}

/* ---- options ------------------------------------------------------------------------------------------- */

static bool refuse(double done, void *user) {
    int *calls = user;
    cr_assert(done >= 0 && done <= 1);
    return --*calls > 0;
}

Test(sim, the_step_limit_and_the_caller_stop_a_run) {
    maker m;
    begin(&m, "sm_80", 4, 32);
    loop(&m, 10, "i", index_node(&m, (int64_t)1 << 40));
    let(&m, 11, "v", op2(&m, TG_ADD, m.tid, index_node(&m, 1)));
    leave(&m);
    run_with(&m, &(sim_options){.step_limit = 1000});
    cr_assert_eq(m.status, TG_OK);
    cr_assert_eq(m.result.findings.n, 1);
    cr_assert_eq(m.result.findings.item[0].kind, FINDING_LIMIT);
    cr_assert_eq(m.result.warp_instructions, 1000);
    int calls = 3;
    run_with(&m, &(sim_options){.progress = refuse, .user = &calls});
    cr_assert_eq(m.result.findings.item[0].kind, FINDING_LIMIT);
    cr_assert_eq(calls, 0);
    end(&m);
}

Test(sim, every_memory_instruction_is_shown_with_its_addresses) {
    maker m;
    float data[64] = {0};
    begin(&m, "sm_80", 1, 40);
    buffer *x = make_tensor(&m, "x", TG_F32, 64, data);
    when(&m, 9, op2(&m, TG_LT, m.tid, index_node(&m, 39)))
        ;
    node *v = let(&m, 10, "v", load(&m, 10, x, m.tid));
    store(&m, 11, x, m.tid, v);
    atomic(&m, 12, TG_SUM, x, m.tid, v);
    leave(&m);
    seen s = {0};
    run_with(&m, &(sim_options){.on_access = see, .user = &s});
    expect_none(&m.result.findings);
    cr_assert(s.reads == 2 && s.writes == 2 && s.atomics == 2);
    cr_assert_eq(s.lanes, 3 * 39);
    cr_assert_eq(s.bytes, 4);
    cr_assert_eq(s.last, 38 * 4);
    end(&m);
}
