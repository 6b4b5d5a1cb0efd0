/* test_sim_warp_barriers.c -- a barrier of the warp in thread IR made by hand: the simulator takes it for an order of the
 * lanes of each warp and for nothing else, and says so where lanes of a warp do not come. */
#include "sim_kernel.h"

static const char *const machines[] = {"sm_80", "sim64"};

#define EACH_MACHINE(name) for (const char *const *name = machines; name < machines + 2; name++)

enum { THREADS = 128 };

static void barrier_of_warp(maker *m, int at) {
    say(m, THREAD_BARRIER, at)->participants = SCOPE_WARP;
}

static node *is_thread(maker *m, int64_t n) {
    return op2(m, TG_EQ, m->tid, index_node(m, n));
}

static node *is_below(maker *m, int64_t n) {
    return op2(m, TG_LT, m->tid, index_node(m, n));
}

/* ---- what it orders --------------------------------------------------------------------------------------- */

typedef enum { READ, WRITE, ATOMIC } kind;

static void touch(maker *m, int at, kind k, buffer *b, node *i) {
    if (k == READ) {
        let(m, at, "v", load(m, at, b, i));
    } else if (k == WRITE) { /* a value of its own, so that it is no note */
        store(m, at, b, i,
              expr_cast(&m->memory, line(at), b->type, op2(m, TG_ADD, m->tid, index_node(m, at))));
    } else {
        atomic(m, at, TG_MAX, b, i, number(m, b->type, 1));
    }
}

typedef struct {
    tg_space space;
    kind first, second;
    int64_t distance; /* a bit of the thread's number in which those differ that meet */
    bool all;         /* all threads meet another one; else thread 0 alone is met */
} pair;

static void judge(const pair *p, const char *machine) {
    static int32_t data[THREADS];
    maker m;
    begin(&m, machine, 1, THREADS);
    buffer *tensor = make_tensor(&m, "data", TG_I32, THREADS, data);
    buffer *shared = make(&m, TG_SHARED, "cells", TG_I32, THREADS);
    buffer *b = p->space == TG_SHARED ? shared : tensor;
    store(&m, 5, b, m.tid, number(&m, TG_I32, 0));
    barrier(&m, 6);
    when(&m, 9, p->all ? is_below(&m, THREADS) : is_thread(&m, 0))
        ;
    touch(&m, 10, p->first, b, m.tid);
    leave(&m);
    barrier_of_warp(&m, 11);
    when(&m, 11, p->all ? is_below(&m, THREADS) : is_thread(&m, p->distance))
        ;
    touch(&m, 12, p->second, b, op2(&m, TG_BIT_XOR, m.tid, index_node(&m, p->distance)));
    leave(&m);
    const bool writes = p->first != READ || p->second != READ;
    const bool atomics = p->first == ATOMIC && p->second == ATOMIC;
    const findings *f = run(&m);
    if (p->distance >= m.t.target->wave && writes && !atomics) {
        expect_one(f, FINDING_RACE, 10, 12);
    } else {
        expect_none(f);
    }
    cr_assert_eq(m.result.barriers, 1); /* of the block */
    end(&m);
}

Test(sim_warp_barriers, lanes_of_one_warp_are_ordered_and_those_of_two_are_not) {
    EACH_MACHINE(machine) {
        for (int i = 0; i < 3 * 3 * 2 * 2 * 7; i++) {
            const pair p = {.first = (kind)(i % 3),
                            .second = (kind)(i / 3 % 3),
                            .all = i / 9 % 2,
                            .space = i / 18 % 2 ? TG_SHARED : TG_GLOBAL,
                            .distance = (int64_t)1 << i / 36};
            judge(&p, *machine);
        }
    }
}

/* What one warp wrote and read behind its barrier the other one meets without any. */
Test(sim_warp_barriers, what_a_warp_did_before_its_barrier_is_in_the_way_of_others) {
    EACH_MACHINE(machine) {
        maker m;
        begin(&m, *machine, 1, THREADS);
        const int64_t wave = m.t.target->wave;
        buffer *s = make(&m, TG_SHARED, "s", TG_I32, wave);
        when(&m, 9, is_below(&m, wave))
            ;
        store(&m, 10, s, m.tid, number(&m, TG_I32, 4));
        leave(&m);
        barrier_of_warp(&m, 11);
        node *other = op2(&m, TG_SUB, index_node(&m, wave - 1), op2(&m, TG_MOD, m.tid, index_node(&m, wave)));
        let(&m, 12, "v", load(&m, 12, s, other));
        const finding *f = expect_one(run(&m), FINDING_RACE, 10, 12);
        cr_assert_eq(f->thread, wave - 1);
        cr_assert_eq(f->other_thread, wave);
        cr_assert_eq(f->count, THREADS - wave);
        end(&m);
    }
}

/* Once for each iteration: what lies an iteration back is ordered, what another warp does in any is not. */
Test(sim_warp_barriers, iterations) {
    EACH_MACHINE(machine) {
        for (int64_t distance = 1; distance < THREADS; distance *= 2) {
            maker m;
            begin(&m, *machine, 1, THREADS);
            buffer *s = make(&m, TG_SHARED, "s", TG_I32, 2 * THREADS);
            node *k = loop(&m, 9, "k", index_node(&m, 5));
            node *base = op2(&m, TG_MUL, op2(&m, TG_MOD, k, index_node(&m, 2)), index_node(&m, THREADS));
            store(&m, 10, s, op2(&m, TG_ADD, base, m.tid), number(&m, TG_I32, 1));
            barrier_of_warp(&m, 11);
            node *other = op2(&m, TG_BIT_XOR, m.tid, index_node(&m, distance));
            let(&m, 12, "v", load(&m, 12, s, op2(&m, TG_ADD, base, other)));
            leave(&m);
            run(&m);
            int races = 0;
            for (int i = 0; i < m.result.findings.n; i++) {
                races += m.result.findings.item[i].kind == FINDING_RACE;
            }
            cr_assert_eq(races, distance >= m.t.target->wave, "%s: at a distance of %d", *machine,
                         (int)distance);
            end(&m);
        }
    }
}

/* ---- who comes -------------------------------------------------------------------------------------------- */

Test(sim_warp_barriers, lanes_that_do_not_come_are_named) {
    maker m;
    begin(&m, "sm_80", 1, 64);
    when(&m, 10, op2(&m, TG_GE, op2(&m, TG_MOD, m.tid, index_node(&m, 32)), index_node(&m, 20)))
        ;
    barrier_of_warp(&m, 11);
    leave(&m);
    const finding *f = expect_one(run(&m), FINDING_BARRIER, 11, 10);
    cr_assert_str_eq(f->text, "threads 0..19 of their warp do not arrive: they went another way");
    cr_assert_eq(f->count, 2);
    cr_assert_eq(f->thread, 20);
    end(&m);
}

Test(sim_warp_barriers, lanes_that_leave_a_loop_early_do_not_come) {
    maker m;
    begin(&m, "sm_80", 1, 64);
    loop(&m, 10, "i", op2(&m, TG_ADD, op2(&m, TG_QUO, m.tid, index_node(&m, 48)), index_node(&m, 1)));
    barrier_of_warp(&m, 11);
    leave(&m);
    const finding *f = expect_one(run(&m), FINDING_BARRIER, 11, 10);
    cr_assert_str_eq(f->text, "threads 32..47 of their warp do not arrive: they went another way");
    end(&m);
}

/* Unlike a barrier of the block. */
Test(sim_warp_barriers, other_warps_need_not_come) {
    maker m;
    begin(&m, "sm_80", 1, 72);
    when(&m, 10, op2(&m, TG_GE, m.tid, index_node(&m, 32)))
        ;
    barrier_of_warp(&m, 11);
    leave(&m);
    expect_none(run(&m));
    end(&m);
}
