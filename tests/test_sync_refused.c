/* test_sync_refused.c -- a barrier is needed where threads part: no kernel gets so far, for the builder asks all
 * threads to come to a collective operation; thread IR made by hand does. */
#include "codegen/passes.h"
#include "sim_kernel.h"

static thread_stmt *share(maker *m, int at, int number, node *dst, node *x) {
    thread_stmt *s = say(m, THREAD_STORE, at);
    s->participants = SCOPE_BLOCK;
    s->share = number;
    s->dst = dst;
    s->value = x;
    return s;
}

/* Two operations one after the other, under a condition or not. */
static void two_operations(maker *m, bool parted, text *errors) {
    diag found = {.memory = &m->memory};
    begin(m, "sm_80", 1, 64);
    buffer *s = make(m, TG_SHARED, "tile", TG_F32, 64);
    buffer *y = make_tensor(m, "y", TG_F32, 64, NULL);
    thread_stmt *branch = NULL;
    if (parted) {
        branch = say(m, THREAD_IF, 5);
        branch->value = op2(m, TG_LT, m->tid, index_node(m, 40));
        m->block = &branch->body;
    }
    node *other = op2(m, TG_SUB, index_node(m, 39), m->tid);
    share(m, 6, 1, place(m, 6, s, m->tid), number(m, TG_F32, 1));
    share(m, 7, 2, place(m, 7, y, m->tid), load(m, 7, s, other));
    m->t.nshares = 2;
    thread_sync(&m->t, &found);
    diag_print(&found, errors);
}

Test(sync, a_barrier_where_threads_part_is_refused_with_all_three_lines) {
    maker m;
    text errors = {0};
    two_operations(&m, true, &errors);
    cr_expect_str_eq(
        errors.s ? errors.s : "",
        "kernel.c:7: error: a barrier is needed between the access to 'tile' at line 6 and this one, but "
        "threads part at line 5: move one of them out of that scope\n");
    text_free(&errors);
    arena_free(&m.memory);
}

Test(sync, where_they_do_not_part_there_is_one) {
    maker m;
    text errors = {0};
    two_operations(&m, false, &errors);
    cr_expect_null(errors.s);
    int barriers = 0;
    for (const thread_stmt *s = m.t.body.first; s; s = s->next) {
        barriers += s->kind == THREAD_BARRIER;
    }
    cr_expect_eq(barriers, 1);
    arena_free(&m.memory);
}
