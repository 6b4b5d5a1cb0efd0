/* test_thread_verify.c -- the spec of thread IR refuses every kind of damage, and no lowered kernel.
 *
 * One good kernel, lowered anew each time; one thing of it broken; the breach that must be named. */
#include "lower_run.h"

void wide_copy(void);
void reduce_threads(void);
void checked(void);
void trips_of_its_own(void);

static thread_stmt *found;
static thread_kind wanted;

static void find_first(thread_stmt *s, void *user) {
    (void)user;
    if (!found && s->kind == wanted) {
        found = s;
    }
}

/* The first statement of a kind. */
static thread_stmt *first(const lowered *l, thread_kind kind) {
    found = NULL;
    wanted = kind;
    thread_walk(&l->made.thread->body, find_first, NULL);
    cr_assert_not_null(found);
    return found;
}

static void expect_breach(lowered *l, const char *part) {
    text error = {0};
    cr_assert_not(thread_verify(l->made.thread, &error), "nobody noticed: %s", part);
    cr_assert(strstr(error.s, part) != NULL, "'%s' lacks '%s'", error.s, part);
    text_free(&error);
    finish(l);
}

static lowered copy_kernel(void) {
    lowered l = LOWER("sm_80", wide_copy, dtype, TG_F16, width, 8, shift, 0);
    expect_good(&l);
    return l;
}

static lowered sum_kernel(void) {
    lowered l =
        LOWER("sm_80", reduce_threads, dtype, TG_F32, axis, 0, X, 96, Y, 1, Z, 1, op, TG_SUM, turns, 3);
    expect_good(&l);
    return l;
}

static arena *memory(const lowered *l) {
    return l->made.thread->memory;
}

Test(thread_verify, accepts_what_was_lowered) {
    lowered l[] = {copy_kernel(), sum_kernel(), LOWER("sm_80", checked, limit, 8)};
    for (int i = 0; i < 3; i++) {
        text error = {0};
        cr_assert(thread_verify(l[i].made.thread, &error), "%s", error.s);
        finish(&l[i]);
    }
}

Test(thread_verify, width) {
    lowered l = copy_kernel();
    first(&l, THREAD_STORE)->dst->lanes = 3;
    expect_breach(&l, "is accessed 3 elements at a time");
    l = copy_kernel();
    first(&l, THREAD_STORE)->dst->lanes = 16;
    expect_breach(&l, "is accessed 16 elements at a time");
    l = copy_kernel();
    first(&l, THREAD_STORE)->dst->lanes = 4;
    expect_breach(&l, "is no wide copy");
    l = copy_kernel();
    first(&l, THREAD_STORE)->dst->lanes = 1;
    expect_breach(&l, "a wide value stored into one element");
    l = copy_kernel();
    first(&l, THREAD_STORE)->accumulates = true;
    expect_breach(&l, "is no wide copy");
}

Test(thread_verify, places) {
    lowered l = copy_kernel();
    first(&l, THREAD_STORE)->dst->n = 1;
    expect_breach(&l, "of rank 2 has 1 indices");
    l = copy_kernel();
    first(&l, THREAD_STORE)->dst->type = TG_F32;
    expect_breach(&l, "has type f32");
    l = copy_kernel();
    first(&l, THREAD_STORE)->dst = NULL;
    expect_breach(&l, "without place or value");
    l = copy_kernel();
    l.made.thread->nbuffers = 1;
    expect_breach(&l, "is not in the table");
    l = copy_kernel();
    buffer_root(first(&l, THREAD_STORE)->dst->buffer)->space = TG_FRAGMENT;
    expect_breach(&l, "neither global, shared nor local");
}

/* Takes the first statement of a kind out of the kernel. */
static bool take_out(thread_block *b, thread_kind kind) {
    for (thread_stmt *s = b->first, *before = NULL; s; before = s, s = s->next) {
        if (s->kind == kind) {
            *(before ? &before->next : &b->first) = s->next;
            b->last = b->last == s ? before : b->last;
            return true;
        }
        if (take_out(&s->body, kind) || take_out(&s->otherwise, kind)) {
            return true;
        }
    }
    return false;
}

Test(thread_verify, scopes) {
    lowered l = copy_kernel();
    cr_assert(take_out(&l.made.thread->body, THREAD_DECL));
    expect_breach(&l, "'mine' is used outside its declaration");
    l = copy_kernel();
    cr_assert(take_out(&l.made.thread->body, THREAD_LET));
    expect_breach(&l, "'base' is used outside its scope");
    l = copy_kernel();
    thread_stmt *let = first(&l, THREAD_LET),
                *again = thread_append(memory(&l), &l.made.thread->body, THREAD_LET, let->at);
    again->value = let->value;
    again->result = let->result;
    again->nresults = 1;
    expect_breach(&l, "'base' is defined twice");
    l = copy_kernel();
    thread_stmt *decl = first(&l, THREAD_DECL);
    thread_append(memory(&l), &l.made.thread->body, THREAD_DECL, decl->at)->buffer = decl->buffer;
    expect_breach(&l, "'mine' is declared twice");
    l = copy_kernel();
    first(&l, THREAD_LET)->nresults = 0;
    expect_breach(&l, "lacks its result");
    l = LOWER_PLAIN("sm_80", trips_of_its_own);
    expect_good(&l);
    first(&l, THREAD_FOR)->extent = first(&l, THREAD_FOR)->extent->var->value;
    expect_breach(&l, "the trips of a loop are read from memory without a name");
}

Test(thread_verify, types) {
    lowered l = copy_kernel();
    node *real = expr_const(memory(&l), (tg_loc){"k.c", 1}, value_real(TG_F32, 1));
    first(&l, THREAD_LET)->value = real;
    expect_breach(&l, "'base' of index names a value of f32");
    l = sum_kernel();
    first(&l, THREAD_STORE)->value = expr_int(memory(&l), (tg_loc){"k.c", 1}, 1);
    expect_breach(&l, "index stored into 'total_partial' of f32");
    l = sum_kernel();
    first(&l, THREAD_IF)->value = expr_int(memory(&l), (tg_loc){"k.c", 1}, 1);
    expect_breach(&l, "a condition of type index");
    l = sum_kernel();
    first(&l, THREAD_LET)->value->type = TG_F32;
    expect_breach(&l, "an operation on index gives f32");
}

Test(thread_verify, threads_that_part) {
    lowered l = sum_kernel();
    thread_append(memory(&l), &first(&l, THREAD_IF)->body, THREAD_BARRIER, (tg_loc){"k.c", 7});
    expect_breach(&l, "a barrier where threads part (k.c:7)");
    l = sum_kernel();
    thread_stmt *reduce = first(&l, THREAD_REDUCE_LANES);
    reduce->width = 3;
    expect_breach(&l, "lanes reduced over width 3");
    l = sum_kernel();
    first(&l, THREAD_REDUCE_LANES)->stride = 2;
    expect_breach(&l, "lanes reduced over width 32 with stride 2");
}

Test(thread_verify, tables_and_lists) {
    lowered l = LOWER("sm_80", checked, limit, 8);
    first(&l, THREAD_CHECK)->check = 9;
    expect_breach(&l, "check 9 is not in the table");
    l = LOWER("sm_80", checked, limit, 8);
    l.made.thread->nchecks = 0;
    expect_breach(&l, "the hidden parameter is not the last");
    l = copy_kernel();
    l.made.thread->body.last = l.made.thread->body.first;
    expect_breach(&l, "a block's last statement is not its last");
    l = copy_kernel();
    l.made.thread->grid[1] = NULL;
    expect_breach(&l, "axis 1 has no extent");
}
