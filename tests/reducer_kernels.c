/* reducer_kernels.c -- kernels for test_reducer.c: reducers, finalize, reduce. */
#include <tegula/kernel.h>

/* op: 0 SUM, 1 MAX, 2 MIN. */
KERNEL(row_reducer) {
    params(dtype, op, rows, cols, nthreads);
    tensor(x, dtype, rows, cols);
    tensor(y, dtype, rows);
    grid(pid, 1) threads(nthreads) {
        reducer(r, op, dtype, rows);
        clear(r);
        parallel(i, rows, j, cols)
            accum(at(r, i), at(x, i, j));
        finalize(r);
        copy(r, y);
    }
}

KERNEL(column_reducer) {
    params(op, rows, cols, nthreads);
    tensor(x, I32, rows, cols);
    tensor(y, I32, cols);
    grid(pid, 1) threads(nthreads) {
        reducer(r, op, I32, cols);
        clear(r);
        parallel(i, rows, j, cols)
            accum(at(r, j), at(x, i, j));
        finalize(r);
        copy(r, y);
    }
}

KERNEL(whole_reducer) {
    params(dtype, op, n, nthreads);
    tensor(x, dtype, n);
    tensor(y, dtype, n);
    grid(pid, 1) threads(nthreads) {
        reducer(r, op, dtype);
        clear(r);
        parallel(i, n)
            accum(r, at(x, i));
        finalize(r);
        parallel(i, n)
            set(at(y, i), add(at(x, i), r));
    }
}

KERNEL(no_accumulation) {
    params(op, n, nthreads, seed);
    tensor(y, I32, n);
    tensor(z, I32, n);
    grid(pid, 1) threads(nthreads) {
        reducer(r, op, I32, n);
        clear(r);
        finalize(r);
        copy(r, y);
        fill(r, seed);
        finalize(r);
        copy(r, z);
    }
}

KERNEL(seeded) {
    params(op, rows, cols, nthreads);
    tensor(x, I32, rows, cols);
    tensor(y, I32, rows);
    grid(pid, 1) threads(nthreads) {
        reducer(r, op, I32, rows);
        fill(r, 100);
        parallel(i, rows, j, cols)
            accum(at(r, i), at(x, i, j));
        finalize(r);
        copy(r, y);
    }
}

/* Loops of several shapes add to one reducer. */
KERNEL(several_loops) {
    params(rows, cols, nthreads);
    tensor(x, I32, rows, cols);
    tensor(y, I32, rows);
    grid(pid, 1) threads(nthreads) {
        reducer(r, SUM, I32, rows);
        clear(r);
        parallel(i, rows, j, cols)
            accum(at(r, i), at(x, i, j));
        parallel(i, rows)
            accum(at(r, i), 1000);
        parallel(j, cols, i, rows)
            accum(at(r, i), mul(at(x, i, j), 2));
        parallel(n, rows * 4)
            accum(at(r, quo(n, 4)), 1);
        parallel(n, rows)
            accum(at(r, mod(add(n, 1), rows)), 7);
        finalize(r);
        copy(r, y);
    }
}

/* Where an element goes depends on data. */
KERNEL(histogram) {
    params(n, bins, nthreads);
    tensor(x, I32, n);
    tensor(y, I32, bins);
    grid(pid, 1) threads(nthreads) {
        reducer(r, SUM, I32, bins);
        clear(r);
        parallel(i, n)
            accum(at(r, mod(at(x, i), bins)), 1);
        finalize(r);
        copy(r, y);
    }
}

/* Every thread holds all of a tile whose rows were made longer for that; copied where some rows and columns are outside. */
KERNEL(held_by_all) {
    params(planes, rows, cols, nthreads);
    tensor(x, I32, planes, rows, cols);
    tensor(y, I32, 2 * rows - 1, 2 * cols - 1);
    tensor(z, I32, rows, cols);
    grid(pid_y, 2, pid_x, 2) threads(nthreads) {
        reducer(r, SUM, I32, rows, cols);
        fill(r, 5);
        parallel(k, planes, turn, 3, j, cols) {
            unrolled(i, rows) {
                accum(at(r, i, j), choose(eq(turn, 1), at(x, k, i, j), 0));
            }
        }
        finalize(r);
        copy(r, tile(y, pid_y, pid_x));
        when(both(eq(pid_x, 0), eq(pid_y, 0))) {
            copy(r, z);
        }
    }
}

/* Two epochs in a loop. */
KERNEL(epochs) {
    params(rows, cols, turns, nthreads);
    tensor(x, I32, turns, rows, cols);
    tensor(y, I32, turns, rows);
    grid(pid, 1) threads(nthreads) {
        reducer(r, MAX, I32, rows);
        serial(t, turns) {
            clear(r);
            parallel(i, rows, j, cols)
                accum(at(r, i), at(x, t, i, j));
            finalize(r);
            parallel(i, rows)
                set(at(y, t, i), at(r, i));
        }
    }
}

KERNEL(reducer_gemv) {
    params(N, K);
    tunables(block_n, 4, block_k, 512, nthreads, 128);
    tensor(vector, F16, K);
    tensor(matrix, F16, N, K);
    tensor(output, F32, N);
    grid(pid_n, ceildiv(N, block_n)) threads(nthreads) {
        fragment(vector_fragment, F16, block_k);
        fragment(matrix_fragment, F16, block_n, block_k);
        reducer(accumulator, SUM, F32, block_n);
        clear(accumulator);
        serial(pid_k, ceildiv(K, block_k)) {
            copy(tile(vector, pid_k), vector_fragment);
            copy(tile(matrix, pid_n, pid_k), matrix_fragment);
            parallel(i, block_n, k, block_k)
                accum(at(accumulator, i), mul(f32(at(matrix_fragment, i, k)), f32(at(vector_fragment, k))));
        }
        finalize(accumulator);
        copy(accumulator, tile(output, pid_n));
    }
}

/* ---- reduce -------------------------------------------------------------------------------------------- */

/* from, to: 0 fragment, 1 shared. */
KERNEL(reduced) {
    params(dtype, op, a, b, c, dim, nthreads, from, to);
    tensor(x, dtype, a, b, c);
    tensor(y, F32, dim == 0 ? b : a, dim == 2 ? b : c);
    grid(pid, 1) threads(nthreads) {
        const tg_space src_space = from ? TG_SHARED : TG_FRAGMENT, dst_space = to ? TG_SHARED : TG_FRAGMENT;
        tg_buf f = tg_alloc(tg_now(), TG_HERE, src_space, "f", TG_SHAPE_(dtype, a, b, c));
        tg_buf g =
            tg_alloc(tg_now(), TG_HERE, dst_space, "g", TG_SHAPE_(F32, dim == 0 ? b : a, dim == 2 ? b : c));
        copy(x, f);
        reduce(op, f, g, dim);
        copy(g, y);
    }
}

KERNEL(row_sum) {
    params(rows, cols, nthreads);
    tensor(x, I32, rows, cols);
    tensor(y, I32, rows);
    grid(pid, 1) threads(nthreads) {
        fragment(f, I32, rows, cols);
        fragment(s, I32, rows);
        copy(x, f);
        reduce(SUM, f, s, 1);
        copy(s, y);
    }
}

/* The maximum of a row, taken away from the row. */
KERNEL(softmax_like) {
    params(rows, cols, nthreads);
    tensor(x, F32, rows, cols);
    tensor(y, F32, rows, cols);
    grid(pid, 1) threads(nthreads) {
        fragment(f, F32, rows, cols);
        fragment(most, F32, rows);
        fragment(sum, F32, rows);
        copy(x, f);
        reduce(MAX, f, most, 1);
        parallel(i, rows, j, cols)
            set(at(f, i, j), sub(at(f, i, j), at(most, i)));
        reduce(SUM, f, sum, 1);
        parallel(i, rows, j, cols)
            set(at(f, i, j), add(at(f, i, j), at(sum, i)));
        copy(f, y);
    }
}

/* One element of one row is no number. */
KERNEL(not_a_number) {
    params(op, rows, cols, nthreads);
    tensor(x, F32, rows, cols);
    tensor(by_reduce, F32, rows);
    tensor(by_reducer, F32, rows);
    grid(pid, 1) threads(nthreads) {
        fragment(f, F32, rows, cols);
        fragment(g, F32, rows);
        reducer(r, op, F32, rows);
        copy(x, f);
        parallel(i, rows, j, cols)
            when(both(eq(i, 1), eq(j, cols - 2)))
                set(at(f, i, j), quo(sub(at(f, i, j), at(f, i, j)), sub(at(f, i, j), at(f, i, j))));
        reduce(op, f, g, 1);
        clear(r);
        parallel(i, rows, j, cols)
            accum(at(r, i), at(f, i, j));
        finalize(r);
        copy(g, by_reduce);
        copy(r, by_reducer);
    }
}

/* The largest magnitude of a row. */
KERNEL(largest) {
    params(rows, cols, nthreads);
    tensor(x, I32, rows, cols);
    tensor(y, I32, rows);
    grid(pid, 1) threads(nthreads) {
        fragment(f, I32, rows, cols);
        fragment(g, I32, rows);
        copy(x, f);
        parallel(i, rows, j, cols)
            set(at(f, i, j), abs_of(sub(at(f, i, j), 6)));
        reduce(MAX, f, g, 1);
        copy(g, y);
    }
}

/* Partial sums of a pipeline: copies ahead in registers, the reducer in between. */
KERNEL(pipelined_sums) {
    params(rows, cols, block, stages, nthreads);
    tensor(x, F16, rows, cols);
    tensor(y, F32, rows);
    grid(pid, 1) threads(nthreads) {
        fragment(f, F16, rows, block);
        reducer(r, SUM, F32, rows);
        clear(r);
        pipelined(k, ceildiv(cols, block), stages) {
            copy(tile(x, 0, k), f);
            parallel(i, rows, j, block)
                accum(at(r, i), f32(at(f, i, j)));
        }
        finalize(r);
        copy(r, y);
    }
}
