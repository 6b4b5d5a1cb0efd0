/* test_thread_banks.c -- the map of shared tiles: what is chosen, and that nothing else in the list would have been
 * better, as the simulator's addresses say. */
#include "sim_kernel.h"

#include "codegen/banks.h"
#include "codegen/passes.h"

/* A block of 128 threads with a tile of `rows` x `columns` in shared memory. */
typedef struct board {
    maker m;
    buffer *tile, *x, *out;
    char *memory;
} board;

static void begin_board(board *b, int64_t type, int64_t rows, int64_t columns) {
    begin(&b->m, "sm_80", 1, 128);
    b->m.t.thread_var[0]->hi = 127;
    b->memory = calloc(1, (size_t)(rows * columns * type_bytes(type)) + 128 * 8 + 256);
    void *aligned = b->memory + (256 - (uintptr_t)b->memory % 256) % 256;
    const int64_t dim[] = {rows, columns};
    b->tile = make_buffer(&b->m, TG_SHARED, "tile", type, 2, dim);
    b->x = make_tensor(&b->m, "x", type, rows * columns, aligned);
    b->out = make_tensor(&b->m, "out", type, 128, calloc(128, 8));
}

static void end_board(board *b) {
    free(b->m.args[1].data);
    free(b->memory);
    end(&b->m);
}

static node *at2(maker *m, int at, buffer *b, node *row, node *column, int n) {
    node *index[] = {row, column};
    return expr_ref(&m->memory, line(at), b, 2, index, n);
}

static node *times(maker *m, node *x, int64_t n) {
    return op2(m, TG_MUL, x, index_node(m, n));
}

/* A loop whose variable has its range, as those of lowered kernels do. */
static node *repeat(maker *m, int at, const char *name, int64_t n) {
    var *v = loop(m, at, name, index_node(m, n))->var;
    v->lo = 0;
    v->hi = n - 1;
    return expr_var(&m->memory, line(at), v);
}

/* The number of the access: what thread `tid` does in round i of the loop. */
static node *number_of(maker *m, node *i) {
    return op2(m, TG_ADD, times(m, i, 128), m->tid);
}

/* The tile is filled row by row, `n` elements a thread at a time. */
static void fill_rows(board *b, int at, int n) {
    maker *m = &b->m;
    const int64_t columns = b->tile->dim[1], pieces = b->tile->dim[0] * columns / n;
    node *i = repeat(m, at, "i", pieces / 128), *piece = number_of(m, i);
    node *row = op2(m, TG_QUO, piece, index_node(m, columns / n)),
         *column = times(m, op2(m, TG_MOD, piece, index_node(m, columns / n)), n);
    thread_stmt *s = say(m, THREAD_STORE, at);
    s->participants = SCOPE_BLOCK;
    s->dst = at2(m, at, b->tile, row, column, n);
    s->value = expr_load(&m->memory, line(at), place_wide(m, at, b->x, times(m, piece, n), n));
    s->dst->lanes = n;
    leave(m);
    barrier(m, at);
}

/* Each thread goes through its row, `n` elements at a time. */
static void read_own_rows(board *b, int at, int n) {
    maker *m = &b->m;
    node *k = repeat(m, at, "k", b->tile->dim[1] / n);
    buffer *piece = n > 1 ? make(m, TG_LOCAL, "piece", b->tile->type, n) : NULL;
    if (piece) {
        declare(m, at, piece, NULL);
    }
    thread_stmt *s = say(m, THREAD_STORE, at);
    s->participants = SCOPE_BLOCK;
    s->dst = piece ? place_wide(m, at, piece, index_node(m, 0), n) : place(m, at, b->out, m->tid);
    s->value = expr_load(&m->memory, line(at), at2(m, at, b->tile, m->tid, times(m, k, n), n));
    leave(m);
}

static void total(const sim_access *a, void *user) {
    int64_t *sum = user;
    bank_request r = {.bytes = a->bytes, .is_load = !a->is_write};
    if (a->ref->buffer->space != TG_SHARED) {
        return;
    }
    cr_assert_eq(a->lanes, 32);
    for (int l = 0; l < 32; l++) {
        r.address[l] = (int64_t)a->address[l];
    }
    *sum += bank_count(target_find("sm_80"), &r).wavefronts;
}

/* With rows so many elements apart; -1 where the kernel then goes wrong. */
static int64_t simulated(board *b, int64_t pitch) {
    int64_t sum = 0;
    b->tile->layout.pitch = pitch;
    run_with(&b->m, &(sim_options){.on_access = total, .user = &sum});
    cr_assert_eq(b->m.status, TG_OK, "%s", b->m.error.s ? b->m.error.s : "");
    return b->m.result.findings.n == 0 ? sum : -1;
}

/* Runs the pass; no other padding may be better, and no smaller one as good. */
static int64_t chosen(board *b) {
    static const int64_t bytes[] = {0, 4, 8, 16, 32, 64};
    const int64_t columns = b->tile->dim[1], size = type_bytes(b->tile->type);
    thread_banks(&b->m.t, NULL);
    text error = {0};
    cr_assert(thread_verify(&b->m.t, &error), "%s", error.s);
    const int64_t pitch = b->tile->layout.pitch, pad = pitch ? pitch - columns : 0;
    const int64_t cost = simulated(b, pitch);
    cr_assert_gt(cost, 0);
    for (int i = 0; i < 6; i++) {
        if (bytes[i] % size == 0) {
            const int64_t other = simulated(b, columns + bytes[i] / size);
            cr_assert(other < 0 || (bytes[i] / size < pad ? other > cost : other >= cost),
                      "%d bytes of padding: %d wavefronts, with the %d chosen %d", (int)bytes[i], (int)other,
                      (int)(pad * size), (int)cost);
        }
    }
    b->tile->layout.pitch = pitch;
    return pad;
}

Test(thread_banks, rows_read_by_a_thread_each_are_padded) {
    board b;
    begin_board(&b, TG_F32, 128, 32);
    fill_rows(&b, 10, 1);
    read_own_rows(&b, 11, 1);
    cr_expect_eq(chosen(&b), 1);
    cr_expect_str_eq(b.tile->layout.why, "1 element of padding: rows on different banks");
    end_board(&b);
}

Test(thread_banks, rows_read_row_by_row_are_not) {
    board b;
    begin_board(&b, TG_F32, 128, 32);
    fill_rows(&b, 10, 4);
    fill_rows(&b, 11, 1);
    cr_expect_eq(chosen(&b), 0);
    cr_expect_null(b.tile->layout.why);
    cr_expect_eq(b.tile->layout.pitch, 0);
    end_board(&b);
}

Test(thread_banks, wide_accesses_keep_their_alignment) {
    board b;
    begin_board(&b, TG_F16, 128, 64);
    fill_rows(&b, 10, 8);
    read_own_rows(&b, 11, 1);
    cr_expect_eq(chosen(&b), 8);
    end_board(&b);
    begin_board(&b, TG_F16, 128, 128);
    fill_rows(&b, 10, 4);
    read_own_rows(&b, 11, 1);
    cr_expect_eq(chosen(&b), 4);
    end_board(&b);
    begin_board(&b, TG_F16, 128, 128);
    fill_rows(&b, 10, 8);
    read_own_rows(&b, 11, 8);
    cr_expect_eq(chosen(&b), 8);
    cr_expect_eq(simulated(&b, 136), (128 * 128 / 8 / 32 + 4 * 16) * 4, "no conflict is left");
    end_board(&b);
}

Test(thread_banks, the_access_that_is_made_more_often_counts_more) {
    board b;
    begin_board(&b, TG_F32, 128, 64);
    fill_rows(&b, 10, 4);
    repeat(&b.m, 12, "again", 50);
    fill_rows(&b, 12, 1); /* rows alone: with any padding as fast */
    leave(&b.m);
    read_own_rows(&b, 13, 1);
    chosen(&b);
    end_board(&b);
}

Test(thread_banks, doubles_and_bytes) {
    static const int64_t type[] = {TG_F64, TG_U8, TG_I16, TG_I64};
    for (int i = 0; i < 4; i++) {
        for (int64_t columns = 16; columns <= 64; columns += 16) {
            board b;
            begin_board(&b, type[i], 128, columns);
            fill_rows(&b, 10, 1);
            read_own_rows(&b, 11, 1);
            chosen(&b);
            end_board(&b);
        }
    }
}

/* ---- where nothing is changed -------------------------------------------------------------------------- */

static void expect_as_declared(board *b) {
    thread_banks(&b->m.t, NULL);
    cr_expect_eq(b->tile->layout.pitch, 0);
    end_board(b);
}

Test(thread_banks, what_thread_view_code_touches_stays_as_declared) {
    board b;
    begin_board(&b, TG_F32, 128, 32);
    fill_rows(&b, 10, 1);
    read_own_rows(&b, 11, 1);
    thread_stmt *s = say(&b.m, THREAD_STORE, 12);
    s->dst = place(&b.m, 12, b.out, b.m.tid);
    s->value = expr_load(&b.m.memory, line(12), at2(&b.m, 12, b.tile, b.m.tid, index_node(&b.m, 0), 1));
    expect_as_declared(&b);
}

Test(thread_banks, what_is_seen_through_a_view_stays_as_declared) {
    board b;
    begin_board(&b, TG_F32, 128, 32);
    fill_rows(&b, 10, 1);
    read_own_rows(&b, 11, 1);
    make(&b.m, TG_SHARED, "bits", TG_U32, 128 * 32)->view_of = b.tile;
    expect_as_declared(&b);
}

/* As much shared memory as leaves `room` bytes. */
static void take_the_rest(board *b, int at, int64_t room) {
    maker *m = &b->m;
    buffer *rest = make(m, TG_SHARED, "rest", TG_U8, m->t.target->max_shared - buffer_bytes(b->tile) - room);
    thread_stmt *s = say(m, THREAD_STORE, at);
    s->participants = SCOPE_BLOCK;
    s->dst = place(m, at, rest, m->tid);
    s->value = expr_const(&m->memory, line(at), value_int(TG_U8, 1));
}

Test(thread_banks, padding_never_exceeds_what_a_block_may_have) {
    board b;
    begin_board(&b, TG_F32, 128, 9); /* no whole chunks */
    fill_rows(&b, 10, 1);
    repeat(&b.m, 11, "k", 9);
    leave(&b.m);
    read_own_rows(&b, 12, 1);
    take_the_rest(&b, 13, 100);
    expect_as_declared(&b);
}

Test(thread_banks, an_unused_buffer_takes_no_room_from_padding) {
    board b;
    begin_board(&b, TG_F32, 128, 32);
    fill_rows(&b, 10, 1);
    read_own_rows(&b, 11, 1);
    make(&b.m, TG_SHARED, "unused", TG_U8, b.m.t.target->max_shared - 128 * 32 * 4);
    thread_banks(&b.m.t, NULL);
    cr_expect_eq(b.tile->layout.pitch, 33);
    end_board(&b);
}

/* ---- an exclusive or ----------------------------------------------------------------------------------- */

/* What any order of chunks costs: tried by making the kernel anew, with the order written into its indices. */
static int64_t swapped_cost(int64_t type, int64_t columns, int n, int rows, int each) {
    board b;
    begin_board(&b, type, 128, columns);
    fill_rows(&b, 10, n);
    read_own_rows(&b, 11, n);
    int64_t sum = 0;
    const int64_t size = type_bytes(type);
    for (int turn = 0; turn < 2; turn++) { /* the stores of neighbours, the loads of one thread a row */
        for (int64_t i = 0; i < 128 * columns / n; i += 32) {
            bank_request r = {.bytes = (int)(n * size), .is_load = turn == 1};
            for (int64_t l = 0; l < 32; l++) {
                const int64_t piece =
                    turn ? (i / 32 / (columns / n) * 32 + l) * (columns / n) + i / 32 % (columns / n) : i + l;
                const int64_t row = piece / (columns / n), at = piece % (columns / n) * n * size;
                r.address[l] = row * columns * size + (at ^ (rows ? row / each % rows * 16 : 0));
            }
            sum += bank_count(target_find("sm_80"), &r).wavefronts;
        }
    }
    end_board(&b);
    return sum;
}

Test(thread_banks, where_padding_has_no_room_chunks_change_places) {
    static const struct {
        int64_t type, columns;
        int n;
    } tile[] = {{TG_F16, 64, 8}, {TG_F16, 128, 8}, {TG_F32, 128, 4}, {TG_F16, 32, 8}, {TG_F16, 16, 8},
                {TG_U8, 64, 16}, {TG_F32, 64, 1},  {TG_F64, 32, 2},  {TG_F16, 64, 2}, {TG_I16, 16, 4}};
    static const int order[][2] = {{0, 1}, {8, 1}, {4, 1}, {2, 1}, {4, 2}, {2, 2}, {2, 4}};
    for (size_t i = 0; i < sizeof tile / sizeof tile[0]; i++) {
        const int64_t row = tile[i].columns * type_bytes(tile[i].type);
        board b;
        begin_board(&b, tile[i].type, 128, tile[i].columns);
        fill_rows(&b, 10, tile[i].n);
        read_own_rows(&b, 11, tile[i].n);
        take_the_rest(&b, 12, 100);
        thread_banks(&b.m.t, NULL);
        text error = {0};
        cr_assert(thread_verify(&b.m.t, &error), "%s", error.s);
        cr_assert_eq(b.tile->layout.pitch, 0);
        cr_assert_gt(b.tile->layout.xor_rows, 0, "tile %d", (int)i);
        cr_assert(strstr(b.tile->layout.why, "lies at c ^ row"), "%s", b.tile->layout.why);
        cr_assert(i > 0 ||
                      strstr(b.tile->layout.gain, "16 bytes of padding a row are more than a block may have"),
                  "%s", b.tile->layout.gain);
        int64_t best = INT64_MAX;
        for (int k = 0; k < 7; k++) {
            if (order[k][0] == 0 || row % (order[k][0] * 16) == 0) {
                const int64_t cost =
                    swapped_cost(tile[i].type, tile[i].columns, tile[i].n, order[k][0], order[k][1]);
                best = cost < best ? cost : best;
            }
        }
        const int64_t cost = simulated(&b, 0); /* minus one wavefront for each warp that fills the rest */
        cr_assert_eq(cost - 4, best, "tile %d: %d, at best %d", (int)i, (int)cost - 4, (int)best);
        end_board(&b);
    }
}

Test(thread_banks, where_padding_does_as_well_it_is_preferred) {
    board b;
    begin_board(&b, TG_F16, 128, 64);
    fill_rows(&b, 10, 8);
    read_own_rows(&b, 11, 8);
    cr_expect_eq(chosen(&b), 8);
    cr_expect_eq(b.tile->layout.xor_rows, 0);
    end_board(&b);
}

Test(thread_banks, addresses_from_memory_are_not_counted) {
    board b;
    begin_board(&b, TG_I32, 128, 32);
    fill_rows(&b, 10, 1);
    thread_stmt *s = say(&b.m, THREAD_STORE, 11);
    s->participants = SCOPE_BLOCK;
    node *row = expr_cast(&b.m.memory, line(11), TYPE_INDEX, load(&b.m, 11, b.out, b.m.tid));
    s->dst = place(&b.m, 11, b.out, b.m.tid);
    s->value = expr_load(&b.m.memory, line(11), at2(&b.m, 11, b.tile, row, index_node(&b.m, 0), 1));
    expect_as_declared(&b);
}
