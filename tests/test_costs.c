/* test_costs.c -- what accesses cost: single requests against an independent count, kernels against known figures,
 * and blocks that stand for others against simulating all of them. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim_cost.h"
#include "sim_kernel.h"

/* ---- one request --------------------------------------------------------------------------------------- */

typedef struct request {
    uint64_t address[64];
    sim_access access;
} request;

/* Lane i at first + i * stride bytes. */
static request *strided(request *r, int lanes, int bytes, uint64_t first, uint64_t stride) {
    for (int i = 0; i < lanes; i++) {
        r->address[i] = first + (uint64_t)i * stride;
    }
    r->access = (sim_access){.lanes = lanes,
                             .mask = lanes == 64 ? UINT64_MAX : ((uint64_t)1 << lanes) - 1,
                             .bytes = bytes,
                             .address = r->address};
    return r;
}

static cost_request global(int lanes, int bytes, uint64_t first, uint64_t stride) {
    request r;
    return cost_count(target_find("sm_80"), TG_GLOBAL, COST_LOAD,
                      &strided(&r, lanes, bytes, first, stride)->access);
}

static cost_request shared(cost_op op, int bytes, uint64_t stride) {
    request r;
    return cost_count(target_find("sm_80"), TG_SHARED, op, &strided(&r, 32, bytes, 0, stride)->access);
}

Test(costs, sectors_of_32_lanes_of_f32) {
    cr_assert_eq(global(32, 4, 0, 4).sectors, 4); /* unit stride */
    cr_assert_eq(global(32, 4, 4, 4).sectors, 5); /* the same, four bytes on */
    cr_assert_eq(global(32, 4, 4, 4).least_sectors, 4);
    cr_assert_eq(global(32, 4, 0, 8).sectors, 8);   /* every second element */
    cr_assert_eq(global(32, 4, 0, 32).sectors, 32); /* every eighth */
    cr_assert_eq(global(32, 4, 0, 4096).sectors, 32);
    cr_assert_eq(global(32, 4, 64, 0).sectors, 1); /* all at one */
    cr_assert_eq(global(32, 4, 64, 0).used, 4);
}

Test(costs, sectors_of_narrow_and_wide_lanes) {
    cr_assert_eq(global(32, 2, 0, 2).sectors, 2);
    cr_assert_eq(global(32, 2, 0, 28672).sectors, 32);
    cr_assert_eq(global(32, 2, 0, 28672).used, 64);
    cr_assert_eq(global(32, 2, 0, 28672).least_sectors, 2);
    cr_assert_eq(global(32, 16, 0, 16).sectors, 16);
    cr_assert_eq(global(1, 2, 6, 0).sectors, 1);
}

Test(costs, wavefronts_of_32_lanes) {
    cr_assert_eq(shared(COST_LOAD, 4, 4).wavefronts, 1);
    cr_assert_eq(shared(COST_LOAD, 4, 128).wavefronts, 32);
    cr_assert_eq(shared(COST_LOAD, 4, 8).wavefronts, 2);
    cr_assert_eq(shared(COST_LOAD, 4, 0).wavefronts, 1);
    cr_assert_eq(shared(COST_LOAD, 8, 8).wavefronts, 2);
    cr_assert_eq(shared(COST_LOAD, 16, 16).wavefronts, 4);
    cr_assert_eq(shared(COST_LOAD, 16, 16).least_wavefronts, 4);
    cr_assert_eq(shared(COST_STORE, 16, 16).wavefronts, 4);
    cr_assert_eq(shared(COST_LOAD, 2, 256).wavefronts, 32); /* rows of 128 halves, by rows */
}

Test(costs, conflicts_name_their_banks) {
    cr_assert_eq(shared(COST_LOAD, 4, 4).busiest_banks, 0);
    cr_assert_eq(shared(COST_LOAD, 4, 128).busiest_banks, 1);
    cr_assert_eq(shared(COST_LOAD, 4, 64).busiest_banks, (uint64_t)1 | (uint64_t)1 << 16);
}

Test(costs, a_buffer_in_the_middle_of_shared_memory_begins_at_its_bank) {
    request r;
    strided(&r, 32, 4, 0, 128)->access.base = 12;
    cr_assert_eq(cost_count(target_find("sm_80"), TG_SHARED, COST_LOAD, &r.access).busiest_banks,
                 (uint64_t)1 << 3);
}

/* ---- against an independent count ---------------------------------------------------------------------- */

enum { SPACE_BYTES = 4096, ROUNDS = 3000 };

static uint64_t random_state = 1;

static uint64_t draw(uint64_t below) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % below;
}

/* Some lanes at random places; often close together or equal. */
static void draw_request(request *r, int wave) {
    const int bytes = 1 << draw(5);
    const uint64_t slots = draw(2) ? SPACE_BYTES / (uint64_t)bytes : 1 + draw(40);
    uint64_t mask = 0;
    int n = 0;
    for (int lane = 0; lane < wave; lane++) {
        if (draw(8)) {
            mask |= (uint64_t)1 << lane;
            r->address[n++] = draw(slots) * (uint64_t)bytes;
        }
    }
    r->access = (sim_access){.lanes = n, .mask = mask, .bytes = bytes, .address = r->address};
}

/* Byte by byte. */
static void expect_sectors(const request *r, cost_request got) {
    static bool byte[SPACE_BYTES + 64], sector[SPACE_BYTES / 32 + 2];
    int used = 0, sectors = 0, most = 0;
    memset(byte, 0, sizeof byte);
    memset(sector, 0, sizeof sector);
    for (int i = 0; i < r->access.lanes; i++) {
        int same = 0;
        for (int j = 0; j < r->access.lanes; j++) {
            same += r->address[i] == r->address[j];
        }
        most = same > most ? same : most;
        for (uint64_t b = r->address[i]; b < r->address[i] + (uint64_t)r->access.bytes; b++) {
            used += !byte[b];
            byte[b] = true;
            sectors += !sector[b / 32];
            sector[b / 32] = true;
        }
    }
    cr_assert_eq(got.used, used);
    cr_assert_eq(got.sectors, sectors);
    cr_assert_eq(got.least_sectors, (used + 31) / 32);
    cr_assert_eq(got.at_one_address, most);
}

Test(costs, sectors_of_random_requests_are_those_of_a_count_byte_by_byte) {
    request r;
    for (int i = 0; i < ROUNDS; i++) {
        const bool wide = i % 2;
        draw_request(&r, wide ? 64 : 32);
        expect_sectors(&r,
                       cost_count(target_find(wide ? "sim64" : "sm_90a"), TG_GLOBAL, COST_ATOMIC, &r.access));
    }
}

/* Wavefronts of a store: for each group of lanes the bank with most words, asked of every byte there is. */
static int wavefronts_byte_by_byte(const request *r) {
    const int groups = r->access.bytes <= 4 ? 1 : r->access.bytes / 4, lanes = 32 / groups;
    int sum = 0;
    for (int g = 0; g < groups; g++) {
        int fullest = 0;
        for (int bank = 0; bank < 32; bank++) {
            int words = 0;
            for (uint64_t word = (uint64_t)bank; word < SPACE_BYTES / 4; word += 32) {
                bool wanted = false;
                for (int lane = 0, i = 0; lane < 32; lane++) {
                    const bool takes_part = r->access.mask >> lane & 1;
                    const uint64_t from = takes_part ? r->address[i] : 0,
                                   to = from + (uint64_t)r->access.bytes;
                    wanted =
                        wanted || (takes_part && lane / lanes == g && from < 4 * word + 4 && to > 4 * word);
                    i += takes_part;
                }
                words += wanted;
            }
            fullest = words > fullest ? words : fullest;
        }
        sum += fullest;
    }
    return sum;
}

Test(costs, wavefronts_of_random_stores_are_those_of_a_count_bank_by_bank) {
    request r;
    for (int i = 0; i < ROUNDS / 10; i++) {
        draw_request(&r, 32);
        const cost_request got = cost_count(target_find("sm_80"), TG_SHARED, COST_STORE, &r.access);
        cr_assert_eq(got.wavefronts, wavefronts_byte_by_byte(&r));
    }
}

/* ---- blocks that stand for others ---------------------------------------------------------------------- */

static void count(maker *m, bool every, cost_counter *c) {
    sim_result result = {0};
    sim_options how = {0};
    cr_assert_eq(cost_begin(&m->t, m->nargs, m->args, every, c), TG_OK);
    cost_attach(c, &how, &result);
    cr_assert_eq(sim_run(&m->t, m->nargs, m->args, &how, &result, &m->error), TG_OK, "%s",
                 m->error.s ? m->error.s : "");
    cr_assert_eq(cost_end(c), TG_OK);
    sim_free(&result);
}

static void expect_same_row(const cost_row *a, const cost_row *b) {
    cr_assert_eq(a->ref, b->ref);
    cr_assert_eq(a->op, b->op);
    cr_assert_eq(a->least_lanes, b->least_lanes);
    cr_assert_eq(a->most_lanes, b->most_lanes);
    cr_assert_eq(a->requests, b->requests);
    cr_assert_eq(a->lanes, b->lanes);
    cr_assert_eq(a->used, b->used);
    cr_assert_eq(a->sectors, b->sectors);
    cr_assert_eq(a->least_sectors, b->least_sectors);
    cr_assert_eq(a->wavefronts, b->wavefronts);
    cr_assert_eq(a->at_one_address, b->at_one_address);
}

/* The counts of `simulated` blocks are those of all; frees the kernel. */
static void expect_enough(maker *m, int64_t simulated) {
    cost_counter some, all;
    count(m, false, &some);
    count(m, true, &all);
    cr_assert_eq(some.simulated, simulated, "%lld blocks", (long long)some.simulated);
    cr_assert_eq(all.simulated, all.kinds.blocks);
    cr_assert_eq(some.n, all.n);
    for (int i = 0; i < all.n; i++) {
        expect_same_row(&some.row[i], &all.row[i]);
    }
    cr_assert_eq(some.barriers, all.barriers);
    cr_assert_eq(some.bytes_read, all.bytes_read);
    cr_assert_eq(some.bytes_written, all.bytes_written);
    cr_assert_eq(some.once_read, all.once_read);
    cr_assert_eq(some.once_written, all.once_written);
    cr_assert_eq(some.footprint, all.footprint);
    cost_free(&some);
    cost_free(&all);
    end(m);
}

static float from[1 << 14], to[1 << 14];

/* y[pid * step + tid] = x[pid * step + tid + shift] */
static void copy_kernel(maker *m, int64_t blocks, int64_t step, int64_t shift) {
    begin(m, "sm_80", blocks, 64);
    m->t.thread_var[0]->hi = 63;
    buffer *x = make_tensor(m, "x", TG_F32, 1 << 14, from), *y = make_tensor(m, "y", TG_F32, 1 << 14, to);
    m->tid = expr_var(&m->memory, line(1), m->t.thread_var[0]);
    m->t.grid_var[0]->lo = 0;
    m->t.grid_var[0]->hi = blocks - 1;
    m->pid = expr_var(&m->memory, line(1), m->t.grid_var[0]);
    node *i = op2(m, TG_ADD, op2(m, TG_MUL, m->pid, index_node(m, step)), m->tid);
    node *value_of_x = load(m, 11, x, op2(m, TG_ADD, i, index_node(m, shift)));
    store(m, 12, y, i, value_of_x);
}

Test(costs, blocks_a_whole_number_of_sectors_apart_are_alike) {
    maker m;
    copy_kernel(&m, 50, 64, 0);
    expect_enough(&m, 1);
    copy_kernel(&m, 50, 64, 3);
    expect_enough(&m, 1);
}

Test(costs, blocks_at_different_places_in_a_sector_are_not) {
    maker m;
    copy_kernel(&m, 50, 3, 0);
    expect_enough(&m, 8);
    copy_kernel(&m, 50, 4, 1);
    expect_enough(&m, 2);
    copy_kernel(&m, 5, 3, 0);
    expect_enough(&m, 5);
}

static void guarded_kernel(maker *m, int64_t blocks, int64_t n) {
    begin(m, "sm_80", blocks, 64);
    m->t.thread_var[0]->hi = 63;
    m->t.grid_var[0]->lo = 0;
    m->t.grid_var[0]->hi = blocks - 1;
    m->tid = expr_var(&m->memory, line(1), m->t.thread_var[0]);
    m->pid = expr_var(&m->memory, line(1), m->t.grid_var[0]);
    buffer *x = make_tensor(m, "x", TG_F32, n, from), *y = make_tensor(m, "y", TG_F32, n, to);
    node *i = let(m, 10, "i", op2(m, TG_ADD, op2(m, TG_MUL, m->pid, index_node(m, 64)), m->tid));
    when(m, 11, op2(m, TG_LT, i, index_node(m, n)))
        ;
    store(m, 12, y, i, load(m, 12, x, i));
    leave(m);
    barrier(m, 13);
}

Test(costs, the_block_at_the_edge_is_simulated_too) {
    maker m;
    guarded_kernel(&m, 40, 40 * 64 - 21);
    expect_enough(&m, 2);
    guarded_kernel(&m, 40, 40 * 64);
    expect_enough(&m, 1);
    guarded_kernel(&m, 40, 1000); /* 15 whole blocks, one in part, 24 without */
    expect_enough(&m, 3);
}

Test(costs, where_data_decides_every_block_is_simulated) {
    maker m;
    static int32_t where[640];
    for (int i = 0; i < 640; i++) {
        where[i] = i * 37 % 640;
    }
    begin(&m, "sm_80", 10, 64);
    buffer *w = make_tensor(&m, "where", TG_I32, 640, where), *y = make_tensor(&m, "y", TG_F32, 640, to);
    node *i = op2(&m, TG_ADD, op2(&m, TG_MUL, m.pid, index_node(&m, 64)), m.tid);
    store(&m, 11, y, load(&m, 11, w, i), number(&m, TG_F32, 1));
    cost_counter c;
    count(&m, false, &c);
    cr_assert_eq(c.simulated, 10);
    cr_assert_str_eq(c.kinds.why, "an address depends on data in memory");
    cr_assert_eq(c.kinds.why_at.line, 11);
    cost_free(&c);
    expect_enough(&m, 10);
}

Test(costs, a_condition_on_data_that_no_access_follows_from_leaves_blocks_alike) {
    maker m;
    begin(&m, "sm_80", 10, 64);
    buffer *x = make_tensor(&m, "x", TG_F32, 640, from), *y = make_tensor(&m, "y", TG_F32, 640, to);
    node *i = op2(&m, TG_ADD, op2(&m, TG_MUL, m.pid, index_node(&m, 64)), m.tid);
    node *v = let(&m, 11, "v", load(&m, 11, x, i));
    node *zero = number(&m, TG_F32, 0);
    store(&m, 12, y, i, expr_choose(&m.memory, line(12), op2(&m, TG_GT, v, zero), v, zero));
    expect_enough(&m, 1);
}

Test(costs, a_loop_as_long_as_its_block_number) {
    maker m;
    begin(&m, "sm_80", 12, 32);
    buffer *x = make_tensor(&m, "x", TG_F32, 1 << 14, from), *y = make_tensor(&m, "y", TG_F32, 1 << 14, to);
    node *j = loop(&m, 10, "j", m.pid);
    store(&m, 11, y, op2(&m, TG_ADD, op2(&m, TG_MUL, m.pid, index_node(&m, 1024)), m.tid),
          load(&m, 11, x, op2(&m, TG_ADD, op2(&m, TG_MUL, j, index_node(&m, 32)), m.tid)));
    leave(&m);
    expect_enough(&m, 12);
}

Test(costs, rows_that_a_swizzled_grid_visits) {
    maker m;
    begin(&m, "sm_80", 24, 32);
    buffer *y = make_tensor(&m, "y", TG_F32, 1 << 14, to);
    node *row = op2(&m, TG_ADD, op2(&m, TG_MUL, op2(&m, TG_MOD, m.pid, index_node(&m, 6)), index_node(&m, 4)),
                    op2(&m, TG_QUO, m.pid, index_node(&m, 6)));
    store(&m, 11, y, op2(&m, TG_ADD, op2(&m, TG_MUL, row, index_node(&m, 36)), m.tid), number(&m, TG_F32, 1));
    expect_enough(&m, 2);
}

Test(costs, shared_memory_and_atomics) {
    maker m;
    static int32_t sums[8];
    begin(&m, "sm_80", 30, 64);
    buffer *s = make(&m, TG_SHARED, "s", TG_F32, 64 * 33), *y = make_tensor(&m, "sums", TG_I32, 8, sums);
    node *one = expr_const(&m.memory, line(1), value_int(TG_I32, 1));
    store(&m, 11, s, op2(&m, TG_MUL, m.tid, index_node(&m, 32)), number(&m, TG_F32, 1));
    barrier(&m, 12);
    atomic(&m, 13, TG_SUM, y, op2(&m, TG_MOD, m.tid, index_node(&m, 8)), one);
    cost_counter c;
    count(&m, false, &c);
    cr_assert_eq(c.n, 2);
    cr_assert_eq(c.row[0].requests, 60);
    cr_assert_eq(c.row[0].wavefronts, 60 * 32);
    cr_assert_eq(c.row[0].busiest_banks, 1);
    cr_assert_eq(c.row[1].op, COST_ATOMIC);
    cr_assert_eq(c.row[1].at_one_address, 60 * 4);
    cr_assert_eq(c.row[1].sectors, 60);
    cr_assert_eq(c.barriers, 30);
    cr_assert_eq(c.once_written, 32);
    cost_free(&c);
    expect_enough(&m, 1);
}

/* Lanes in rows of `pitch` elements, each going along its row: what is joined, and what that costs. */
static cost_row along_rows(int64_t type, int64_t pitch) {
    maker m;
    cost_counter c;
    begin(&m, "sm_90a", 1, 32);
    buffer *s = make(&m, TG_SHARED, "s", type, 32 * pitch);
    node *row = op2(&m, TG_MUL, m.tid, index_node(&m, pitch));
    node *k = loop(&m, 10, "k", index_node(&m, 14));
    store(&m, 11, s, op2(&m, TG_ADD, row, k), expr_cast(&m.memory, line(11), type, number(&m, TG_F32, 1)));
    leave(&m);
    count(&m, false, &c);
    cr_assert_eq(c.n, 1);
    const cost_row found = c.row[0];
    cost_free(&c);
    end(&m);
    return found;
}

static void expect_joined(int64_t type, int64_t pitch, int64_t requests, int64_t wavefronts) {
    const cost_row row = along_rows(type, pitch);
    cr_assert_eq(row.requests, 14);
    cr_assert_eq(row.joined_requests, requests, "%s, %lld: %lld", type_name(type), (long long)pitch,
                 (long long)row.joined_requests);
    cr_assert_eq(row.joined_wavefronts, wavefronts, "%s, %lld: %lld", type_name(type), (long long)pitch,
                 (long long)row.joined_wavefronts);
}

Test(costs, neighbours_in_shared_memory_are_joined_as_far_as_their_rows_are_aligned) {
    expect_joined(TG_F16, 64, 4, 4 * 32);    /* 3 x 8 bytes, 1 x 4; rows of 128 bytes: all in one bank */
    expect_joined(TG_F16, 68, 4, 3 * 2 + 2); /* rows of 34 words */
    expect_joined(TG_F16, 66, 7, 7);         /* 4 bytes; rows of 33 words */
    expect_joined(TG_F16, 65, 14, along_rows(TG_F16, 65).wavefronts);
    expect_joined(TG_F32, 32, 4, 4 * 32); /* 3 x 16 bytes, 1 x 8 */
    expect_joined(TG_F32, 33, 14, 14);
    expect_joined(TG_U8, 64, 14, 14 * 16); /* bytes never; rows of 16 words */
}

/* Random affine kernels with two guards: whatever is taken for alike must be. */
Test(costs, random_kernels_cost_the_same_whether_all_blocks_are_simulated_or_some) {
    for (int round = 0; round < 60; round++) {
        maker m;
        const int64_t blocks = 1 + (int64_t)draw(40);
        begin(&m, "sm_80", blocks, 32 + (int64_t)draw(2) * 32);
        m.t.thread_var[0]->hi = m.t.threads[0] - 1;
        m.t.grid_var[0]->lo = 0;
        m.t.grid_var[0]->hi = blocks - 1;
        m.tid = expr_var(&m.memory, line(1), m.t.thread_var[0]);
        m.pid = expr_var(&m.memory, line(1), m.t.grid_var[0]);
        buffer *x = make_tensor(&m, "x", TG_F32, 1 << 14, from),
               *y = make_tensor(&m, "y", TG_F32, 1 << 14, to);
        buffer *s = make(&m, TG_SHARED, "s", TG_F32, 1 << 10);
        node *a = op2(&m, TG_ADD, op2(&m, TG_MUL, m.pid, index_node(&m, (int64_t)draw(40))),
                      op2(&m, TG_MUL, m.tid, index_node(&m, 1 + (int64_t)draw(5))));
        node *b = let(&m, 10, "b",
                      op2(&m, TG_ADD, a, op2(&m, TG_MOD, m.pid, index_node(&m, 1 + (int64_t)draw(9)))));
        when(&m, 11, op2(&m, draw(2) ? TG_LT : TG_GE, a, index_node(&m, (int64_t)draw(900))))
            ;
        store(&m, 12, y, b, load(&m, 12, x, a));
        leave(&m);
        node *c =
            op2(&m, TG_MOD, op2(&m, TG_MUL, b, index_node(&m, 1 + (int64_t)draw(4))), index_node(&m, 1024));
        store(&m, 14, s, c, number(&m, TG_F32, 1));
        when(&m, 15, op2(&m, TG_EQ, op2(&m, TG_SUB, m.pid, m.tid), index_node(&m, (int64_t)draw(6))))
            ;
        store(&m, 16, y, a, number(&m, TG_F32, 2));
        leave(&m);
        cost_counter some, all;
        count(&m, false, &some);
        count(&m, true, &all);
        cr_assert_eq(some.n, all.n);
        for (int i = 0; i < all.n; i++) {
            int j = 0;
            while (j < some.n && (some.row[j].ref != all.row[i].ref || some.row[j].op != all.row[i].op)) {
                j++;
            }
            cr_assert_lt(j, some.n);
            expect_same_row(&some.row[j], &all.row[i]);
        }
        cr_assert_eq(some.once_read, all.once_read);
        cr_assert_eq(some.once_written, all.once_written);
        cost_free(&some);
        cost_free(&all);
        end(&m);
    }
}
