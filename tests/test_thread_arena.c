/* test_thread_arena.c -- places in shared memory: who may share bytes with whom, seen from the simulator. */
#include "sim_kernel.h"

#include "codegen/passes.h"

enum { THREADS = 64, PHASES = 3 };

/* A block of 64 threads; `out` gets what the phases leave, 64 floats each. */
typedef struct memory {
    maker m;
    buffer *out;
    float to[THREADS * PHASES];
    diag errors;
    thread_scope scope; /* whose work the statements are */
} memory;

static void begin_memory(memory *k) {
    memset(&k->errors, 0, sizeof k->errors);
    begin(&k->m, "sm_80", 1, THREADS);
    k->errors.memory = &k->m.memory;
    k->scope = SCOPE_BLOCK;
    memset(k->to, 0, sizeof k->to);
    k->out = make_tensor(&k->m, "out", TG_F32, THREADS * PHASES, k->to);
}

static node *plus(maker *m, node *x, int64_t n) {
    return op2(m, TG_ADD, x, index_node(m, n));
}

static buffer *shared(memory *k, const char *name, int64_t floats) {
    return make(&k->m, TG_SHARED, name, TG_F32, floats);
}

/* b[tid] = number + tid */
static void write_all(memory *k, int at, buffer *b, double number_of) {
    maker *m = &k->m;
    node *x = op2(m, TG_ADD, expr_cast(&m->memory, line(at), TG_F32, m->tid), number(m, TG_F32, number_of));
    store(m, at, b, m->tid, x);
    m->block->last->participants = k->scope;
}

/* out[phase, tid] += b[63 - tid] */
static void read_all(memory *k, int at, buffer *b, int phase) {
    maker *m = &k->m;
    node *mirrored = op2(m, TG_SUB, index_node(m, THREADS - 1), m->tid);
    accumulate(m, at, k->out, plus(m, m->tid, (int64_t)THREADS * phase), load(m, at, b, mirrored));
    m->block->last->participants = k->scope;
}

/* Written, a barrier, read. */
static void phase(memory *k, int at, buffer *b, int number_of) {
    write_all(k, at, b, 100 * number_of);
    barrier(&k->m, at + 1);
    read_all(k, at + 2, b, number_of);
}

static int barriers(const memory *k) {
    int n = 0;
    for (const thread_stmt *s = k->m.t.body.first; s; s = s->next) {
        n += s->kind == THREAD_BARRIER;
    }
    return n;
}

static void place_all(memory *k) {
    text error = {0};
    thread_arena(&k->m.t, &k->errors);
    cr_assert(thread_arena_verify(&k->m.t, &error), "%s", error.s);
}

/* What so many phases leave, and no finding. */
static void expect_phases(memory *k, int n) {
    expect_none(run(&k->m));
    for (int i = 0; i < n * THREADS; i++) {
        cr_assert_eq(k->to[i], (float)(100 * (i / THREADS) + THREADS - 1 - i % THREADS), "element %d is %g",
                     i, (double)k->to[i]);
    }
}

static void end_memory(memory *k) {
    end(&k->m);
}

Test(thread_arena, two_phases_need_half_the_memory) {
    memory k;
    begin_memory(&k);
    buffer *a = shared(&k, "first", 4096), *b = shared(&k, "second", 4096);
    phase(&k, 10, a, 0);
    barrier(&k.m, 15);
    phase(&k, 20, b, 1);
    place_all(&k);
    cr_expect_eq(k.m.t.shared_bytes, 4096 * 4);
    cr_expect_eq(a->offset, 0);
    cr_expect_eq(b->offset, 0);
    cr_expect_eq(barriers(&k), 3);
    expect_phases(&k, 2);
    end_memory(&k);
}

Test(thread_arena, a_barrier_is_put_where_the_second_phase_begins_and_is_not_to_spare) {
    memory k;
    begin_memory(&k);
    buffer *a = shared(&k, "first", 4096), *b = shared(&k, "second", 4096);
    phase(&k, 10, a, 0);
    phase(&k, 20, b, 1);
    thread_stmt *last = k.m.t.body.first->next->next;
    place_all(&k);
    cr_expect_eq(k.m.t.shared_bytes, 4096 * 4);
    cr_expect_eq(barriers(&k), 3);
    expect_phases(&k, 2);
    cr_assert_eq(last->next->kind, THREAD_BARRIER);
    cr_expect_str_eq(last->next->why, "all are done with first, whose bytes become second");
    last->next = last->next->next; /* without it */
    cr_expect_eq(run(&k.m)->item[0].kind, FINDING_RACE);
    text error = {0};
    cr_expect_not(thread_arena_verify(&k.m.t, &error));
    cr_expect(strstr(error.s, "'first' and 'second' share bytes that both need"), "%s", error.s);
    text_free(&error);
    end_memory(&k);
}

Test(thread_arena, one_new_barrier_may_serve_several_buffers) {
    memory k;
    begin_memory(&k);
    buffer *a = shared(&k, "a", 2048), *b = shared(&k, "b", 2048), *c = shared(&k, "c", 4096);
    write_all(&k, 10, a, 0);
    write_all(&k, 11, b, 100);
    barrier(&k.m, 12);
    read_all(&k, 13, a, 0);
    read_all(&k, 14, b, 1);
    phase(&k, 20, c, 2);
    place_all(&k);
    cr_expect_eq(k.m.t.shared_bytes, 4096 * 4);
    cr_expect_eq(barriers(&k), 3);
    expect_phases(&k, 3);
    end_memory(&k);
}

Test(thread_arena, in_thread_view_barriers_are_the_users_own) {
    memory k;
    begin_memory(&k);
    k.scope = SCOPE_THREAD;
    buffer *b[] = {shared(&k, "a", 4096), shared(&k, "b", 4096), shared(&k, "c", 4096)};
    phase(&k, 10, b[0], 0);
    phase(&k, 20, b[1], 1);
    barrier(&k.m, 29);
    phase(&k, 30, b[2], 2);
    place_all(&k);
    cr_expect_eq(k.m.t.shared_bytes, 2 * 4096 * 4);
    cr_expect_eq(barriers(&k), 4);
    expect_phases(&k, 3);
    end_memory(&k);
}

Test(thread_arena, what_is_needed_at_once_lies_apart) {
    memory k;
    begin_memory(&k);
    buffer *a = shared(&k, "a", 4096), *b = shared(&k, "b", 4096);
    write_all(&k, 10, a, 0);
    barrier(&k.m, 11);
    write_all(&k, 12, b, 100);
    barrier(&k.m, 13);
    read_all(&k, 14, a, 0);
    read_all(&k, 15, b, 1);
    place_all(&k);
    cr_expect_eq(k.m.t.shared_bytes, 2 * 4096 * 4);
    cr_expect_eq(barriers(&k), 2);
    expect_phases(&k, 2);
    end_memory(&k);
}

/* a is read at the beginning of an iteration, as the one before has left it. */
Test(thread_arena, a_value_may_live_round_a_loop) {
    memory k;
    begin_memory(&k);
    buffer *a = shared(&k, "a", 4096), *b = shared(&k, "b", 4096);
    write_all(&k, 10, a, 0);
    barrier(&k.m, 11);
    loop(&k.m, 12, "i", index_node(&k.m, 2));
    read_all(&k, 13, a, 0);
    barrier(&k.m, 14);
    write_all(&k, 15, b, 100);
    barrier(&k.m, 16);
    read_all(&k, 17, b, 1);
    barrier(&k.m, 18);
    leave(&k.m);
    place_all(&k);
    cr_expect_eq(k.m.t.shared_bytes, 2 * 4096 * 4);
    expect_none(run(&k.m));
    cr_expect_eq(k.to[5], 2 * (THREADS - 1 - 5));
    end_memory(&k);
}

Test(thread_arena, phases_that_are_loops_share_too) {
    memory k;
    begin_memory(&k);
    buffer *b[2] = {shared(&k, "first", 4096), shared(&k, "second", 4096)};
    for (int i = 0; i < 2; i++) {
        loop(&k.m, 12, "i", index_node(&k.m, 1));
        phase(&k, 10 + 10 * i, b[i], i);
        barrier(&k.m, 19);
        leave(&k.m);
    }
    place_all(&k);
    cr_expect_eq(k.m.t.shared_bytes, 4096 * 4);
    expect_phases(&k, 2);
    end_memory(&k);
}

Test(thread_arena, little_memory_is_not_worth_the_words) {
    memory k;
    begin_memory(&k);
    buffer *a = shared(&k, "first", THREADS), *b = shared(&k, "second", THREADS);
    phase(&k, 10, a, 0);
    phase(&k, 20, b, 1);
    place_all(&k);
    cr_expect_eq(k.m.t.shared_bytes, 2 * THREADS * 4);
    cr_expect_eq(b->offset, THREADS * 4);
    cr_expect_eq(barriers(&k), 2);
    expect_phases(&k, 2);
    end_memory(&k);
}

Test(thread_arena, a_small_buffer_is_not_worth_a_barrier) {
    memory k;
    begin_memory(&k);
    buffer *a = shared(&k, "first", 8192), *b = shared(&k, "second", THREADS);
    phase(&k, 10, a, 0);
    phase(&k, 20, b, 1);
    place_all(&k);
    cr_expect_eq(k.m.t.shared_bytes, 8192 * 4 + THREADS * 4);
    cr_expect_eq(barriers(&k), 2);
    expect_phases(&k, 2);
    end_memory(&k);
}

Test(thread_arena, small_ones_lie_beside_each_other_in_the_place_of_a_large_one) {
    memory k;
    begin_memory(&k);
    buffer *a = shared(&k, "a", 2000), *b = shared(&k, "b", 2001), *c = shared(&k, "c", 4096);
    phase(&k, 10, c, 0);
    barrier(&k.m, 15);
    write_all(&k, 20, a, 100);
    write_all(&k, 21, b, 200);
    barrier(&k.m, 22);
    read_all(&k, 23, a, 1);
    read_all(&k, 24, b, 2);
    place_all(&k);
    cr_expect_eq(k.m.t.shared_bytes, 4096 * 4);
    cr_expect_eq(a->offset % 16, 0);
    cr_expect_eq(b->offset % 16, 0);
    expect_phases(&k, 3);
    end_memory(&k);
}

Test(thread_arena, a_kernel_that_fits_only_by_sharing_is_accepted) {
    memory k;
    begin_memory(&k);
    const int64_t floats = 100 * 1024 / 4;
    phase(&k, 10, shared(&k, "first", floats), 0);
    phase(&k, 20, shared(&k, "second", floats), 1);
    place_all(&k);
    cr_expect_eq(k.errors.n, 0);
    cr_expect_eq(k.m.t.shared_bytes, floats * 4);
    cr_expect(k.m.t.shared_is_dynamic);
    expect_phases(&k, 2);
    end_memory(&k);
}

Test(thread_arena, a_kernel_that_needs_too_much_is_told_so) {
    memory k;
    begin_memory(&k);
    const int64_t floats = 100 * 1024 / 4;
    buffer *a = shared(&k, "first", floats), *b = shared(&k, "second", floats);
    write_all(&k, 10, a, 0);
    phase(&k, 20, b, 1);
    read_all(&k, 30, a, 0);
    thread_arena(&k.m.t, &k.errors);
    text error = {0};
    diag_print(&k.errors, &error);
    cr_expect(strstr(error.s, "shared memory: 204800 bytes exceed the 166912 that sm_80 allows a block: "
                              "'first' 102400, 'second' 102400"),
              "%s", error.s);
    text_free(&error);
    end_memory(&k);
}

Test(thread_arena, padding_counts) {
    memory k;
    begin_memory(&k);
    const int64_t dim[] = {8, 32};
    buffer *a = make_buffer(&k.m, TG_SHARED, "a", TG_F32, 2, dim), *b = shared(&k, "b", THREADS);
    a->layout.pitch = 33;
    thread_stmt *s = say(&k.m, THREAD_STORE, 10);
    node *index[] = {index_node(&k.m, 0), op2(&k.m, TG_MOD, k.m.tid, index_node(&k.m, 32))};
    s->dst = expr_ref(&k.m.memory, line(10), a, 2, index, 1);
    s->value = number(&k.m, TG_F32, 0);
    phase(&k, 20, b, 0);
    place_all(&k);
    cr_expect_eq(b->offset, 8 * 33 * 4);
    end_memory(&k);
}

Test(thread_arena, its_spec_knows_where_memory_ends) {
    memory k;
    begin_memory(&k);
    buffer *a = shared(&k, "a", THREADS);
    phase(&k, 10, a, 0);
    place_all(&k);
    a->offset = 16;
    text error = {0};
    cr_expect_not(thread_arena_verify(&k.m.t, &error));
    cr_expect(strstr(error.s, "'a' of 256 bytes lies at 16 of 256"), "%s", error.s);
    text_free(&error);
    end_memory(&k);
}
