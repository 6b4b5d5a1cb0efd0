/* test_allreduce_lowering.c -- allreduce over any axis and any size gives every thread the sum of its group.
 *
 * The kernel is reduce_threads of lower_kernels.c; expected values come from plain loops here, and from the
 * tile reference; the simulator finds no race, whatever the waves are. */
#include "lower_run.h"

void reduce_threads(void);
void reduce_twice(void);
void reduce_decides(void);

static const char *const machines[] = {"sm_80", "sim64"};

/* Threads of the other axes so that the block stays below 1024. */
static void sizes_of(int axis, int64_t extent, int64_t other, int64_t size[3]) {
    for (int i = 0; i < 3; i++) {
        size[i] = i == axis ? extent : other;
    }
}

static double element(const witness_arg *a, int64_t type, int64_t i) {
    value v = {type, 0};
    memcpy(&v.bits, (char *)a->data + i * type_bytes(type), (size_t)type_bytes(type));
    return value_as_real(v);
}

static double combined(int64_t op, double a, double b) {
    return op == TG_SUM ? a + b : op == TG_MAX ? (a > b ? a : b) : (a < b ? a : b);
}

static void expect_groups(const lowered *l, const witness_arg *got, int axis, const int64_t size[3],
                          int64_t op) {
    const int64_t stride = axis == 0 ? 1 : axis == 1 ? size[0] : size[0] * size[1];
    const int64_t total = size[0] * size[1] * size[2], type = l->made.thread->params[0].buffer->type;
    for (int64_t t = 0; t < total; t++) {
        const int64_t first = t - t / stride % size[axis] * stride;
        double want = element(&l->args[0], type, first);
        for (int64_t i = 1; i < size[axis]; i++) {
            want = combined(op, want, element(&l->args[0], type, first + i * stride));
        }
        cr_assert_eq(element(&got[1], type, t), want, "%s, axis %d of %d: thread %d",
                     l->made.thread->target->name, axis, (int)size[axis], (int)t);
    }
}

static void sweep(const char *machine, int axis, const int64_t size[3], int64_t dtype, int64_t op,
                  int64_t turns) {
    lowered l = LOWER(machine, reduce_threads, dtype, dtype, axis, axis, X, size[0], Y, size[1], Z, size[2],
                      op, op, turns, turns);
    witness_arg got[LOWERED_ARGS];
    expect_agreement(&l, 0);
    copy_args(&l, got);
    run_simulator(&l, got);
    expect_groups(&l, got, axis, size, op);
    free_args(&l, got);
    finish(&l);
}

Test(allreduce, any_size_along_any_axis) {
    static const int64_t extent[] = {1, 2, 3, 20, 31, 32, 33, 48, 60, 64, 96, 1000};
    for (int m = 0; m < 2; m++) {
        for (size_t i = 0; i < sizeof extent / sizeof extent[0]; i++) {
            for (int axis = 0; axis < 3; axis++) {
                int64_t size[3];
                if (axis == 2 && extent[i] > 64) {
                    continue; /* no device has as many along z */
                }
                for (int64_t other = 1; other <= 4 && extent[i] * other * other <= 1024; other++) {
                    sizes_of(axis, extent[i], other, size);
                    sweep(machines[m], axis, size, TG_F32, TG_SUM, 1);
                }
            }
        }
    }
}

Test(allreduce, any_type_and_operator) {
    static const int64_t types[] = {TG_I32,  TG_U32, TG_I64, TG_U64, TG_F16,
                                    TG_BF16, TG_F32, TG_F64, TG_I8,  TG_U16};
    static const int64_t size[3] = {4, 12, 2};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        for (int64_t op = TG_SUM; op <= TG_MIN; op++) {
            sweep("sm_80", 1, size, types[i], op, 1);
        }
    }
}

Test(allreduce, calls_in_a_loop_do_not_race) {
    static const int64_t size[][3] = {{33, 1, 1}, {96, 1, 1}, {2, 33, 1}, {3, 20, 2}, {32, 1, 1}, {1, 1, 48}};
    static const int axis[] = {0, 0, 1, 1, 0, 2};
    for (int m = 0; m < 2; m++) {
        for (int i = 0; i < 6; i++) {
            sweep(machines[m], axis[i], size[i], TG_F32, TG_SUM, 3);
        }
    }
}

/* ---- no barrier to spare ------------------------------------------------------------------------------- */

static int barriers(const char *machine, int64_t extent, int64_t turns) {
    lowered l = LOWER(machine, reduce_threads, dtype, TG_F32, axis, 0, X, extent, Y, 1, Z, 1, op, TG_SUM,
                      turns, turns);
    expect_good(&l);
    const int n = tally_of(&l).of[THREAD_BARRIER];
    finish(&l);
    return n;
}

Test(allreduce, barriers_stand_where_shared_memory_is_needed_and_written_again) {
    cr_assert_eq(barriers("sm_80", 32, 1), 0);
    cr_assert_eq(barriers("sm_80", 32, 5), 0);
    cr_assert_eq(barriers("sm_80", 64, 1), 1);
    cr_assert_eq(barriers("sm_80", 64, 5), 2);
    cr_assert_eq(barriers("sim64", 64, 5), 0);
    cr_assert_eq(barriers("sim64", 128, 5), 2);
    cr_assert_eq(barriers("sm_80", 1, 5), 0);
}

Test(allreduce, removing_any_inserted_barrier_is_a_race) {
    for (int n = 0;; n++) {
        bool removed;
        lowered l =
            LOWER("sm_80", reduce_threads, dtype, TG_F32, axis, 0, X, 96, Y, 1, Z, 1, op, TG_SUM, turns, 3);
        const bool raced = races_without(&l, n, &removed);
        finish(&l);
        if (!removed) {
            cr_assert_eq(n, 2);
            cr_assert_not(raced);
            break;
        }
        cr_assert(raced, "barrier %d is not needed", n);
    }
}

Test(allreduce, calls_have_scratch_of_their_own_and_written_barriers_count) {
    for (int64_t sync = 0; sync < 2; sync++) {
        lowered l = LOWER("sm_80", reduce_twice, threads_x, 64, sync, sync);
        expect_agreement(&l, 0);
        /* each call's barrier also lies between the other's read and its next write */
        cr_assert_eq(tally_of(&l).of[THREAD_BARRIER], 2 + (int)sync);
        finish(&l);
    }
}

Test(allreduce, says_why_its_barriers_stand) {
    lowered l =
        LOWER("sm_80", reduce_threads, dtype, TG_F32, axis, 0, X, 96, Y, 1, Z, 1, op, TG_SUM, turns, 3);
    text t = thread_text(&l);
    cr_assert(strstr(t.s, "// every partial sum is in total_partial before it is read") != NULL, "%s", t.s);
    cr_assert(strstr(t.s, "// total_partial has been read before it is written again") != NULL, "%s", t.s);
    text_free(&t);
    finish(&l);
}

Test(allreduce, a_result_of_the_whole_block_is_uniform) {
    for (int m = 0; m < 2; m++) {
        lowered l = LOWER_PLAIN(machines[m], reduce_decides);
        expect_agreement(&l, 0);
        finish(&l);
    }
}
