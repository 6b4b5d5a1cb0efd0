/* test_async.c -- asynchronous copies in the simulator: what lands when, and what is found when somebody
 * touches bytes too early. */
#include "sim_kernel.h"

static const char *const targets[] = {"sm_80", "sim64"};

#define EACH_TARGET(name) for (const char *const *name = targets; name < targets + 2; name++)

static thread_stmt *copy(maker *m, int at, node *dst, node *src, node *extent) {
    thread_stmt *s = say(m, THREAD_COPY_ASYNC, at);
    s->dst = dst;
    s->value = expr_load(&m->memory, line(at), src);
    s->extent = extent;
    return s;
}

static void commit(maker *m, int at) {
    say(m, THREAD_COMMIT, at);
}

static void wait(maker *m, int at, int64_t count) {
    say(m, THREAD_WAIT, at)->count = count;
}

static node *times(maker *m, node *x, int64_t n) {
    return op2(m, TG_MUL, x, index_node(m, n));
}

static node *plus(maker *m, node *x, int64_t n) {
    return op2(m, TG_ADD, x, index_node(m, n));
}

/* The neighbour's number: of n threads the next one, round the end. */
static node *neighbour(maker *m, int64_t n) {
    return op2(m, TG_MOD, plus(m, m->tid, 1), index_node(m, n));
}

/* Is there a finding of that kind with that pair of lines? */
static bool has(const findings *f, finding_kind kind, int at, int other) {
    for (int i = 0; i < f->n; i++) {
        if (f->item[i].kind == kind && f->item[i].at.line == at && f->item[i].other.line == other) {
            return true;
        }
    }
    return false;
}

enum { THREADS = 128, LANES = 4 };

/* Every thread copies four floats to shared memory and reads its neighbour's.  `waits` and `meets` may be
 * left out. */
typedef struct exchange {
    maker m;
    buffer *x, *part, *out;
    float from[THREADS * LANES], to[THREADS];
} exchange;

static void begin_exchange(exchange *e, const char *machine) {
    begin(&e->m, machine, 1, THREADS);
    for (int i = 0; i < THREADS * LANES; i++) {
        e->from[i] = (float)i;
    }
    memset(e->to, 0, sizeof e->to);
    e->x = make_tensor(&e->m, "x", TG_F32, THREADS * LANES, e->from);
    e->out = make_tensor(&e->m, "out", TG_F32, THREADS, e->to);
    e->part = make(&e->m, TG_SHARED, "part", TG_F32, THREADS * LANES);
    node *mine = times(&e->m, e->m.tid, LANES);
    copy(&e->m, 10, place_wide(&e->m, 10, e->part, mine, LANES), place_wide(&e->m, 10, e->x, mine, LANES),
         NULL);
}

static void read_neighbour(exchange *e, int at) {
    maker *m = &e->m;
    store(m, at, e->out, m->tid, load(m, at, e->part, plus(m, times(m, neighbour(m, THREADS), LANES), 2)));
}

/* ---- the good order ------------------------------------------------------------------------------------ */

Test(async, a_wait_and_a_barrier_make_a_copy_visible_to_all) {
    EACH_TARGET(machine) {
        exchange e;
        begin_exchange(&e, *machine);
        commit(&e.m, 11);
        wait(&e.m, 12, 0);
        barrier(&e.m, 13);
        read_neighbour(&e, 14);
        text error = {0};
        cr_assert(thread_verify(&e.m.t, &error), "%s", error.s);
        expect_none(run(&e.m));
        for (int t = 0; t < THREADS; t++) {
            cr_assert_eq(e.to[t], (float)((t + 1) % THREADS * LANES + 2));
        }
        end(&e.m);
    }
}

Test(async, the_thread_itself_needs_no_barrier) {
    exchange e;
    begin_exchange(&e, "sm_80");
    commit(&e.m, 11);
    wait(&e.m, 12, 0);
    store(&e.m, 13, e.out, e.m.tid, load(&e.m, 13, e.part, plus(&e.m, times(&e.m, e.m.tid, LANES), 3)));
    expect_none(run(&e.m));
    cr_assert_eq(e.to[5], 23);
    end(&e.m);
}

Test(async, a_kernel_may_end_with_copies_in_flight) {
    exchange e;
    begin_exchange(&e, "sm_80");
    e.m.t.grid[0] = index_node(&e.m, 3); /* the next block starts with nothing in flight */
    commit(&e.m, 11);
    expect_none(run(&e.m));
    end(&e.m);
}

/* ---- too early ----------------------------------------------------------------------------------------- */

Test(async, a_read_without_a_wait_is_found_with_both_lines) {
    EACH_TARGET(machine) {
        exchange e;
        begin_exchange(&e, *machine);
        commit(&e.m, 11);
        barrier(&e.m, 13);
        read_neighbour(&e, 14);
        const finding *f = expect_one(run(&e.m), FINDING_ASYNC, 14, 10);
        cr_assert_eq(f->count, THREADS);
        cr_assert_str_eq(f->text, "read of 'part[6]' by thread 0 while a copy by thread 1 is in flight");
        end(&e.m);
    }
}

Test(async, a_wait_without_a_barrier_is_a_race) {
    EACH_TARGET(machine) {
        exchange e;
        begin_exchange(&e, *machine);
        barrier(&e.m, 11);
        commit(&e.m, 12);
        wait(&e.m, 13, 0);
        read_neighbour(&e, 14);
        cr_assert(has(run(&e.m), FINDING_RACE, 10, 14));
        end(&e.m);
    }
}

Test(async, a_barrier_before_the_wait_does_not_help_the_others) {
    exchange e;
    begin_exchange(&e, "sm_80");
    commit(&e.m, 11);
    barrier(&e.m, 12);
    wait(&e.m, 13, 0);
    read_neighbour(&e, 14);
    const findings *f = run(&e.m);
    cr_assert(has(f, FINDING_RACE, 10, 14));
    cr_assert(has(f, FINDING_ASYNC, 14, 10)); /* the last thread of a warp: the next warp is not so far */
    end(&e.m);
}

Test(async, a_wait_does_not_count_copies_that_are_not_committed) {
    exchange e;
    begin_exchange(&e, "sm_80");
    wait(&e.m, 12, 0);
    barrier(&e.m, 13);
    read_neighbour(&e, 14);
    expect_one(run(&e.m), FINDING_ASYNC, 14, 10);
    end(&e.m);
}

Test(async, a_store_over_bytes_in_flight_is_found) {
    exchange e;
    begin_exchange(&e, "sm_80");
    store(&e.m, 11, e.part, times(&e.m, e.m.tid, LANES), number(&e.m, TG_F32, 7));
    const finding *f = expect_one(run(&e.m), FINDING_ASYNC, 11, 10);
    cr_assert_eq(f->thread, 0);
    cr_assert_eq(f->other_thread, 0);
    end(&e.m);
}

Test(async, another_copy_over_bytes_in_flight_is_found) {
    exchange e;
    begin_exchange(&e, "sm_80");
    node *mine = times(&e.m, e.m.tid, LANES);
    copy(&e.m, 11, place(&e.m, 11, e.part, mine), place(&e.m, 11, e.x, mine), NULL);
    const finding *f = expect_one(run(&e.m), FINDING_ASYNC, 11, 10);
    cr_assert_str_eq(f->text, "another copy of 'part[0]' by thread 0 while a copy by thread 0 is in flight");
    end(&e.m);
}

Test(async, a_write_to_what_a_copy_still_reads_is_found) {
    exchange e;
    begin_exchange(&e, "sm_80");
    commit(&e.m, 11);
    store(&e.m, 12, e.x, plus(&e.m, times(&e.m, e.m.tid, LANES), 1), number(&e.m, TG_F32, 7));
    wait(&e.m, 13, 0);
    const finding *f = expect_one(run(&e.m), FINDING_ASYNC, 12, 10);
    cr_assert_str_eq(f->text,
                     "write of 'x[1]' by thread 0 while it is read: a copy by thread 0 is in flight");
    end(&e.m);
}

Test(async, a_write_to_the_source_after_the_wait_is_fine) {
    exchange e;
    begin_exchange(&e, "sm_80");
    commit(&e.m, 11);
    wait(&e.m, 12, 0);
    store(&e.m, 13, e.x, plus(&e.m, times(&e.m, e.m.tid, LANES), 1), number(&e.m, TG_F32, 7));
    store(&e.m, 14, e.out, e.m.tid, load(&e.m, 14, e.part, plus(&e.m, times(&e.m, e.m.tid, LANES), 1)));
    expect_none(run(&e.m));
    cr_assert_eq(e.to[9], 37);
    end(&e.m);
}

Test(async, a_copy_over_what_others_have_just_read_is_a_race) {
    exchange e;
    begin(&e.m, "sm_80", 1, THREADS);
    e.x = make_tensor(&e.m, "x", TG_F32, THREADS * LANES, e.from);
    e.out = make_tensor(&e.m, "out", TG_F32, THREADS, e.to);
    e.part = make(&e.m, TG_SHARED, "part", TG_F32, THREADS);
    memset(e.from, 0, sizeof e.from);
    store(&e.m, 10, e.part, e.m.tid, number(&e.m, TG_F32, 1));
    barrier(&e.m, 11);
    store(&e.m, 12, e.out, e.m.tid, load(&e.m, 12, e.part, neighbour(&e.m, THREADS)));
    copy(&e.m, 13, place(&e.m, 13, e.part, e.m.tid), place(&e.m, 13, e.x, e.m.tid), NULL);
    const findings *f = run(&e.m);
    cr_assert(has(f, FINDING_RACE, 12, 13));
    cr_assert(has(f, FINDING_ASYNC, 12, 13)); /* the last thread reads what the first has already asked for */
    end(&e.m);
}

/* ---- groups -------------------------------------------------------------------------------------------- */

/* Three groups of one copy; after waiting until `left` are in flight, group `wanted` is read. */
static int groups_found(int64_t left, int64_t wanted) {
    maker m;
    float from[3 * 32], to[32] = {0};
    for (int i = 0; i < 96; i++) {
        from[i] = (float)i;
    }
    begin(&m, "sm_80", 1, 32);
    buffer *x = make_tensor(&m, "x", TG_F32, 96, from), *out = make_tensor(&m, "out", TG_F32, 32, to);
    buffer *part = make(&m, TG_SHARED, "part", TG_F32, 96);
    for (int g = 0; g < 3; g++) {
        node *at = plus(&m, m.tid, 32 * g);
        copy(&m, 10 + g, place(&m, 10 + g, part, at), place(&m, 10 + g, x, at), NULL);
        commit(&m, 20 + g);
    }
    wait(&m, 30, left);
    store(&m, 40, out, m.tid, load(&m, 40, part, plus(&m, m.tid, 32 * wanted)));
    const findings *f = run(&m);
    const int n = f->n;
    if (n > 0) {
        expect_one(f, FINDING_ASYNC, 40, 10 + (int)wanted);
    } else {
        cr_assert_eq(to[3], (float)(32 * wanted + 3));
    }
    end(&m);
    return n;
}

Test(async, a_wait_lands_all_groups_but_the_last) {
    for (int left = 0; left < 5; left++) {
        for (int wanted = 0; wanted < 3; wanted++) {
            cr_assert_eq(groups_found(left, wanted), wanted < 3 - left ? 0 : 1, "%d left, group %d", left,
                         wanted);
        }
    }
}

Test(async, an_empty_group_counts) {
    exchange e;
    begin_exchange(&e, "sm_80");
    commit(&e.m, 11);
    commit(&e.m, 12); /* empty */
    wait(&e.m, 13, 1);
    barrier(&e.m, 14);
    read_neighbour(&e, 15);
    expect_none(run(&e.m));
    end(&e.m);
}

/* Groups are each thread's own: only the even threads make one more before the common wait. */
Test(async, groups_are_counted_by_thread) {
    maker m;
    float from[64] = {0}, to[32] = {0};
    begin(&m, "sm_80", 1, 32);
    buffer *x = make_tensor(&m, "x", TG_F32, 64, from), *out = make_tensor(&m, "out", TG_F32, 32, to);
    buffer *part = make(&m, TG_SHARED, "part", TG_F32, 64);
    copy(&m, 10, place(&m, 10, part, m.tid), place(&m, 10, x, m.tid), NULL);
    commit(&m, 11);
    when(&m, 12, op2(&m, TG_EQ, op2(&m, TG_MOD, m.tid, index_node(&m, 2)), index_node(&m, 0)))
        ;
    copy(&m, 13, place(&m, 13, part, plus(&m, m.tid, 32)), place(&m, 13, x, plus(&m, m.tid, 32)), NULL);
    commit(&m, 14);
    leave(&m);
    wait(&m, 15, 1);
    store(&m, 16, out, m.tid, load(&m, 16, part, m.tid));
    const finding *f = expect_one(run(&m), FINDING_ASYNC, 16, 10);
    cr_assert_eq(f->count, 16); /* the odd ones have waited for nothing */
    cr_assert_eq(f->thread, 1);
    end(&m);
}

/* ---- zero fill ----------------------------------------------------------------------------------------- */

Test(async, elements_that_are_not_there_become_zeros_and_are_not_read) {
    EACH_TARGET(machine) {
        for (int n = 0; n <= 64; n += n % 8 == 0 ? 1 : 7) {
            maker m;
            uint16_t from[64], to[64];
            for (int i = 0; i < 64; i++) {
                from[i] = (uint16_t)(i + 1);
                to[i] = 99;
            }
            begin(&m, *machine, 1, 8);
            buffer *x = make_tensor(&m, "x", TG_U16, n > 0 ? n : 1, from);
            buffer *out = make_tensor(&m, "out", TG_U16, 64, to);
            buffer *part = make(&m, TG_SHARED, "part", TG_U16, 64);
            node *mine = times(&m, m.tid, 8), *left = op2(&m, TG_SUB, index_node(&m, n), mine);
            node *extent = op2(&m, TG_MIN_OF, op2(&m, TG_MAX_OF, left, index_node(&m, 0)), index_node(&m, 8));
            copy(&m, 10, place_wide(&m, 10, part, mine, 8), place_wide(&m, 10, x, mine, 8), extent);
            commit(&m, 11);
            wait(&m, 12, 0);
            node *i = loop(&m, 13, "i", index_node(&m, 8));
            node *at = op2(&m, TG_ADD, mine, i);
            store(&m, 14, out, at, load(&m, 14, part, at));
            leave(&m);
            expect_none(run(&m));
            for (int k = 0; k < 64; k++) {
                cr_assert_eq(to[k], k < n ? k + 1 : 0, "element %d of %d is %d", k, n, to[k]);
            }
            end(&m);
        }
    }
}

Test(async, a_copy_from_beyond_the_tensor_is_out_of_bounds) {
    exchange e;
    begin_exchange(&e, "sm_80");
    e.x->dim[0] = THREADS * LANES - 1;
    const finding *f = expect_one(run(&e.m), FINDING_BOUNDS, 10, 0);
    cr_assert_eq(f->thread, THREADS - 1);
    end(&e.m);
}

Test(async, a_copy_cannot_take_more_elements_than_it_has) {
    exchange e;
    begin_exchange(&e, "sm_80");
    e.m.block->last->extent = index_node(&e.m, LANES + 1);
    expect_one(run(&e.m), FINDING_BOUNDS, 10, 0);
    end(&e.m);
}

Test(async, both_sides_must_be_aligned) {
    exchange e;
    begin_exchange(&e, "sm_80");
    node *mine = times(&e.m, e.m.tid, LANES);
    e.m.block->last->value =
        expr_load(&e.m.memory, line(10), place_wide(&e.m, 10, e.x, plus(&e.m, mine, 2), LANES));
    e.m.block->last->extent = index_node(&e.m, 2);
    expect_one(run(&e.m), FINDING_MISALIGNED, 10, 0);
    end(&e.m);
}

/* ---- a pipeline ---------------------------------------------------------------------------------------- */

/* out[t] = sum over k of x[k, (t + 1) % 64], tiles of 64 in `stages` versions; the wait leaves `left` in
 * flight. */
static void pipeline(maker *m, const char *machine, int stages, int64_t left, int64_t n, float *from,
                     float *to) {
    begin(m, machine, 2, 64);
    buffer *x = make_tensor(m, "x", TG_F32, 64 * 9, from), *out = make_tensor(m, "out", TG_F32, 128, to);
    buffer *part = make(m, TG_SHARED, "part", TG_F32, 64 * stages);
    buffer *sum = make(m, TG_LOCAL, "sum", TG_F32, 0);
    declare(m, 9, sum, number(m, TG_F32, 0));
    for (int p = 0; p + 1 < stages; p++) {
        if (p < n) {
            node *at = plus(m, m->tid, 64 * p);
            copy(m, 10, place(m, 10, part, at), place(m, 10, x, at), NULL);
        }
        commit(m, 11);
    }
    node *k = loop(m, 12, "k", index_node(m, n));
    wait(m, 13, left);
    barrier(m, 14);
    node *ahead = plus(m, k, stages - 1);
    when(m, 15, op2(m, TG_LT, ahead, index_node(m, n)))
        ;
    node *version = op2(m, TG_MOD, ahead, index_node(m, stages));
    copy(m, 16, place(m, 16, part, op2(m, TG_ADD, times(m, version, 64), m->tid)),
         place(m, 16, x, op2(m, TG_ADD, times(m, ahead, 64), m->tid)), NULL);
    leave(m);
    commit(m, 17);
    node *mine = times(m, op2(m, TG_MOD, k, index_node(m, stages)), 64);
    accumulate(m, 18, sum, NULL, load(m, 18, part, op2(m, TG_ADD, mine, neighbour(m, 64))));
    leave(m);
    store(m, 19, out, op2(m, TG_ADD, times(m, m->pid, 64), m->tid), load(m, 19, sum, NULL));
}

Test(async, a_pipeline_needs_one_barrier_an_iteration) {
    static float from[64 * 9], to[128];
    for (int i = 0; i < 64 * 9; i++) {
        from[i] = (float)(i % 97);
    }
    EACH_TARGET(machine) {
        for (int stages = 2; stages <= 5; stages++) {
            for (int64_t n = 0; n <= 9; n++) {
                maker m;
                pipeline(&m, *machine, stages, stages - 2, n, from, to);
                expect_none(run(&m));
                for (int t = 0; t < 128; t++) {
                    float want = 0;
                    for (int64_t k = 0; k < n; k++) {
                        want += from[64 * k + (t + 1) % 64];
                    }
                    cr_assert_eq(to[t], want, "%d stages, %d tiles, thread %d", stages, (int)n, t);
                }
                end(&m);
            }
        }
    }
}

Test(async, a_wait_that_leaves_too_many_in_flight_is_found) {
    static float from[64 * 9], to[128];
    for (int stages = 2; stages <= 5; stages++) {
        maker m;
        pipeline(&m, "sm_80", stages, stages - 1, 9, from, to);
        const findings *f = run(&m);
        cr_assert(has(f, FINDING_ASYNC, 18, 10) && has(f, FINDING_ASYNC, 18, 16));
        end(&m);
    }
}

/* ---- the observer -------------------------------------------------------------------------------------- */

typedef struct seen {
    int async_reads, async_writes, others, lanes, bytes;
} seen;

static void see(const sim_access *a, void *user) {
    seen *s = user;
    s->async_reads += a->is_async && !a->is_write;
    s->async_writes += a->is_async && a->is_write;
    s->others += !a->is_async;
    s->lanes += a->is_async ? a->lanes : 0;
    s->bytes = a->is_async ? a->bytes : s->bytes;
}

Test(async, each_access_tells_whether_it_is_a_copy) {
    exchange e;
    seen s = {0};
    begin_exchange(&e, "sm_80");
    e.m.block->last->extent =
        expr_choose(&e.m.memory, line(10), op2(&e.m, TG_LT, e.m.tid, index_node(&e.m, 3)),
                    index_node(&e.m, 4), index_node(&e.m, 0));
    commit(&e.m, 11);
    wait(&e.m, 12, 0);
    store(&e.m, 13, e.out, e.m.tid, load(&e.m, 13, e.part, times(&e.m, e.m.tid, LANES)));
    run_with(&e.m, &(sim_options){.on_access = see, .user = &s});
    expect_none(&e.m.result.findings);
    cr_assert_eq(s.async_reads, 4);
    cr_assert_eq(s.async_writes, 4);
    cr_assert_eq(s.lanes, 3 + 128); /* three lanes read */
    cr_assert_eq(s.bytes, 16);
    cr_assert_eq(s.others, 8);
    end(&e.m);
}

/* ---- the spec ------------------------------------------------------------------------------------------ */

static void expect_breach(maker *m, const char *part) {
    text error = {0};
    cr_assert_not(thread_verify(&m->t, &error), "nobody noticed: %s", part);
    cr_assert(strstr(error.s, part) != NULL, "'%s' lacks '%s'", error.s, part);
    text_free(&error);
}

Test(async, thread_verify_knows_what_the_hardware_copies) {
    exchange e;
    begin_exchange(&e, "sm_80");
    maker *m = &e.m;
    thread_stmt *s = m->block->last;
    node *good = s->value, *dst = s->dst;
    s->value = number(m, TG_F32, 0);
    expect_breach(m, "is no");
    s->value = expr_load(&m->memory, line(1), place_wide(m, 1, e.part, m->tid, LANES));
    expect_breach(m, "not from global to shared memory");
    s->value = good;
    s->extent = number(m, TG_F32, 1);
    expect_breach(m, "no integer");
    s->extent = NULL;
    buffer *half = make(m, TG_SHARED, "half", TG_F16, 64), *y = make_tensor(m, "y", TG_F16, 64, NULL);
    s->dst = place(m, 1, half, m->tid);
    s->value = expr_load(&m->memory, line(1), place(m, 1, y, m->tid));
    expect_breach(m, "of 2 bytes");
    s->dst = dst;
    s->value = good;
    wait(m, 11, -1);
    expect_breach(m, "wait");
    end(m);
}
