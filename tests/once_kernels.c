/* once_kernels.c -- kernels for test_once.c: tensors that are read once or again, atomics that meet. */
#include <tegula/kernel.h>

/* ---- read once, or again ------------------------------------------------------------------------------- */

/* Ragged in both directions: guards only leave out. */
KERNEL(once_in_tiles) {
    tensor(x, F32, 100, 72);
    tensor(y, F32, 100, 72);
    grid(pid_m, ceildiv(100, 16), pid_n, ceildiv(72, 32)) threads(128) {
        shared(s, F32, 16, 32);
        copy(tile(x, pid_m, pid_n), s);
        copy(s, tile(y, pid_m, pid_n));
    }
}

/* Each block reads the vector; the matrix is read ahead of its use. */
KERNEL(once_pipelined) {
    tensor(vector, F16, 512);
    tensor(matrix, F16, 8, 512);
    tensor(y, F32, 8);
    grid(pid, 8) threads(32) {
        fragment(v, F16, 256);
        fragment(m, F16, 256);
        reducer(sum, SUM, F32);
        clear(sum);
        pipelined(k, 2, 3) {
            copy(tile(vector, k), v);
            copy(slice(matrix, pid, 1, mul(k, 256), 256), m);
            parallel(i, 256) {
                accum(sum, mul(f32(at(v, i)), f32(at(m, i))));
            }
        }
        finalize(sum);
        parallel(i, 1) {
            set(at(y, pid), sum);
        }
    }
}

/* An axis of one thread says nothing. */
KERNEL(once_beside_one_thread) {
    params(steps);
    tensor(x, F16, 8, steps * 256);
    tensor(y, F16, 8, steps * 256);
    grid(pid, 8) threads(one, 1, tid, 32) {
        local(mine, F16, 8);
        let(row, add(pid, one));
        serial(i, steps) {
            let(column, add(mul(i, 256), mul(tid, 8)));
            vectorized(k, 8)
                set(at(mine, k), at(x, row, add(column, k)));
            vectorized(k, 8)
                set(at(y, row, add(column, k)), at(mine, k));
        }
    }
}

/* A thread reads `run` numbers, 8 at a time; so many rows lie across neighbouring lanes. */
KERNEL(once_in_runs) {
    tunables(run, 8, rows, 1);
    tensor(x, F16, 2 * rows, 32 * run);
    tensor(y, F16, 2 * rows, 32 * run);
    grid(b, 2) threads(r, rows, t, 32) {
        local(numbers, F16, run);
        vectorized(k, run)
            set(at(numbers, k), at(x, mad(b, rows, r), mad(t, run, k)));
        vectorized(k, run)
            set(at(y, mad(b, rows, r), mad(t, run, k)), at(numbers, k));
    }
}

/* Neighbouring blocks share half of what they read. */
KERNEL(again_in_windows) {
    tensor(x, F32, 256);
    tensor(y, F32, 15, 32);
    grid(pid, 15) threads(tid, 32) {
        set(at(y, pid, tid), at(x, mad(pid, 16, tid)));
    }
}

/* The same words with windows that do not meet. */
KERNEL(once_in_windows) {
    tensor(x, F32, 512);
    tensor(y, F32, 15, 32);
    grid(pid, 15) threads(tid, 32) {
        set(at(y, pid, tid), at(x, mad(pid, 34, tid)));
    }
}

/* A loop that the index does not know. */
KERNEL(again_in_a_loop) {
    tensor(x, F32, 64);
    tensor(y, F32, 64);
    grid(pid, 2) threads(tid, 32) {
        local(sum, F32);
        clear(sum);
        serial(i, 3) {
            accum(sum, at(x, mad(pid, 32, tid)));
        }
        set(at(y, mad(pid, 32, tid)), sum);
    }
}

KERNEL(again_at_two_places) {
    tensor(x, F32, 64);
    tensor(y, F32, 64);
    grid(pid, 2) threads(tid, 32) {
        let(i, mad(pid, 32, tid));
        set(at(y, i), sub(at(x, i), at(x, sub(63, i))));
    }
}

/* What lies at the index, the index does not say. */
KERNEL(again_through_a_table) {
    tensor(table, I32, 64);
    tensor(x, F32, 64);
    tensor(y, F32, 64);
    grid(pid, 2) threads(tid, 32) {
        let(i, mad(pid, 32, tid));
        set(at(y, i), at(x, mod(at(table, i), 64)));
    }
}

/* Half of the threads hold what the other half holds. */
KERNEL(again_by_replicas) {
    tensor(x, F32, 64);
    tensor(m, F32, 4, 64);
    tensor(y, F32, 4, 64);
    grid(pid, 1) threads(128) {
        fragment(f, F32, 4, 64);
        fragment(v, F32, 64);
        copy(m, f);
        copy(x, v);
        parallel(i, 4, k, 64) {
            set(at(f, i, k), add(at(f, i, k), at(v, k)));
        }
        copy(f, y);
    }
}

/* ---- atomics that meet --------------------------------------------------------------------------------- */

/* Along either axis, in blocks of any shape; wide axes first. */
KERNEL(meet_in_rows) {
    params(nx, ny, dtype);
    tensor(x, dtype, 2, ny, nx);
    tensor(rows, dtype, 2, ny);
    tensor(columns, dtype, 2, nx);
    tensor(all, dtype, 1);
    grid(pid, 2) threads(tid_x, nx, tid_y, ny) {
        shared(row, dtype, ny);
        when(eq(tid_x, 0)) {
            set(at(row, tid_y), 0);
        }
        sync_threads();
        atomic_add(at(row, tid_y), at(x, pid, tid_y, tid_x));
        sync_threads();
        when(eq(tid_x, 0)) {
            set(at(rows, pid, tid_y), at(row, tid_y));
        }
        atomic_add(at(columns, pid, tid_x), at(x, pid, tid_y, tid_x));
        atomic_add(at(all, 0), at(x, pid, tid_y, tid_x));
    }
}

/* Only some lanes come; the place is each thread's own, though nothing in its index says so. */
KERNEL(meet_not) {
    tensor(x, F32, 64);
    tensor(some, F32, 1);
    tensor(own, F32, 64);
    grid(pid, 1) threads(tid, 64) {
        local(place, I32);
        set(place, i32(sub(63, tid)));
        when(lt(at(x, tid), 20)) {
            atomic_add(at(some, 0), at(x, tid));
        }
        atomic_add(at(own, place), at(x, tid));
    }
}

/* In a loop and under a condition that all threads share; extremes too. */
KERNEL(meet_in_a_loop) {
    scalar(limit, I32);
    tensor(x, F32, 4, 64);
    tensor(most, F32, 4);
    tensor(sum, F32, 1);
    grid(pid, 1) threads(tid, 64) {
        serial(i, 4) {
            atomic_max(at(most, i), at(x, i, tid));
            when(lt(i, limit)) {
                atomic_add(at(sum, 0), at(x, i, tid));
            }
        }
    }
}
