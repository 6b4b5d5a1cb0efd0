/* parallel_kernels.c -- kernels for test_parallel.c: fragments and parallel loops in many sizes. */
#include <tegula/kernel.h>

/* ---- one fragment -------------------------------------------------------------------------------------- */

KERNEL(add_one) {
    params(dtype, rows, cols, nthreads);
    tensor(x, dtype, rows, cols);
    tensor(y, dtype, rows, cols);
    grid(pid, 1) threads(nthreads) {
        fragment(f, dtype, rows, cols);
        copy(x, f);
        parallel(i, rows, j, cols)
            set(at(f, i, j), add(at(f, i, j), cast(dtype, 1)));
        copy(f, y);
    }
}

KERNEL(add_one_line) {
    params(dtype, n, nthreads);
    tensor(x, dtype, n);
    tensor(y, dtype, n);
    grid(pid, 1) threads(nthreads) {
        fragment(f, dtype, n);
        copy(x, f);
        parallel(i, n)
            accum(at(f, i), cast(dtype, 1));
        copy(f, y);
    }
}

KERNEL(three_dimensions) {
    params(a, b, c, nthreads);
    tensor(x, I32, a, b, c);
    tensor(y, I32, a, b, c);
    grid(pid, 1) threads(nthreads) {
        fragment(f, I32, a, b, c);
        parallel(i, a, j, b, k, c)
            set(at(f, i, j, k), mul(at(x, i, j, k), 3));
        parallel(i, a, j, b, k, c)
            set(at(y, i, j, k), add(at(f, i, j, k), at(x, i, j, k)));
    }
}

/* A loop writes part of what another reads. */
KERNEL(part_then_all) {
    params(part, n, nthreads);
    tensor(x, I32, n);
    tensor(y, I32, n);
    grid(pid, 1) threads(nthreads) {
        fragment(f, I32, n);
        clear(f);
        parallel(i, part)
            set(at(f, i), at(x, i));
        parallel(i, n)
            set(at(y, i), add(at(f, i), 1));
    }
}

KERNEL(all_then_part) {
    params(part, n, nthreads);
    tensor(x, I32, n);
    tensor(y, I32, n);
    grid(pid, 1) threads(nthreads) {
        fragment(f, I32, n);
        copy(x, f);
        parallel(i, n)
            accum(at(f, i), 10);
        parallel(i, part)
            accum(at(f, i), 100);
        copy(f, y);
    }
}

/* A fragment that nothing has written comes into being part after part, none of which may fit its layout. */
KERNEL(part_after_part) {
    params(n, how, nthreads);
    tensor(x, I32, n);
    tensor(y, I32, n);
    grid(pid, 1) threads(nthreads) {
        fragment(f, I32, n);
        fragment(g, I32, n);
        copy(x, g);
        if (how == 0) {
            parallel(i, (n + 1) / 2)
                set(at(f, i), at(g, sub(n - 1, i)));
            parallel(i, n / 2)
                set(at(f, add(i, (n + 1) / 2)), at(g, sub(n / 2 - 1, i)));
        } else if (how == 1) {
            serial(k, 2)
                parallel(i, n)
                    when(eq(mod(i, 2), k))
                        set(at(f, sub(n - 1, i)), at(g, i));
        } else {
            parallel(i, n / 2)
                set(at(f, i), at(g, sub(n - 1, i)));
            copy(slice(g, 0, (n + 1) / 2), slice(f, n / 2, (n + 1) / 2));
        }
        parallel(i, n)
            set(at(y, i), add(at(f, i), 1));
    }
}

/* One element, a row of one: set by a loop that has axes of its own. */
KERNEL(one_from_many) {
    params(n, nthreads);
    tensor(x, I32, n);
    tensor(y, I32, n);
    grid(pid, 1) threads(nthreads) {
        fragment(f, I32, 1, n);
        fragment(g, I32, n);
        fragment(one, I32);
        fragment(first, I32, 1);
        copy(x, g);
        parallel(i, 1)
            set(one, at(g, i));
        parallel(i, 1)
            set(one, mul(one, add(at(g, i), 1)));
        parallel(i, 1)
            set(at(first, 0), at(g, i));
        parallel(j, n)
            set(at(f, 0, sub(n - 1, j)), add(at(g, j), one));
        parallel(j, n)
            set(at(y, j), add(mul(at(f, 0, j), 100), at(first, 0)));
    }
}

/* The diagonal of a matrix, from a loop of one axis and of two. */
KERNEL(along_the_diagonal) {
    params(n, nthreads);
    tensor(x, I32, n, n);
    tensor(y, I32, n, n);
    grid(pid, 1) threads(nthreads) {
        fragment(f, I32, n, n);
        fragment(g, I32, n);
        copy(x, f);
        parallel(i, n)
            set(at(g, i), add(at(f, i, i), 100));
        parallel(i, n, j, 1)
            set(at(f, i, add(i, j)), neg(at(g, i)));
        parallel(i, n)
            set(at(f, sub(n - 1, i), i), at(g, i));
        copy(f, y);
    }
}

/* Each element of one fragment from the neighbour's of another. */
KERNEL(neighbours) {
    params(n, shift, nthreads);
    tensor(x, I32, n);
    tensor(y, I32, n);
    grid(pid, 1) threads(nthreads) {
        fragment(f, I32, n);
        fragment(g, I32, n);
        copy(x, f);
        parallel(i, n)
            set(at(g, i), at(f, mod(add(i, shift), n)));
        copy(g, y);
    }
}

KERNEL(neighbours_in_place) {
    params(n, nthreads);
    tensor(y, I32, n);
    grid(pid, 1) threads(nthreads) {
        fragment(f, I32, n);
        clear(f);
        parallel(i, n)
            set(at(f, i), at(f, mod(add(i, 1), n)));
        copy(f, y);
    }
}

KERNEL(transposed) {
    params(rows, cols, nthreads);
    tensor(x, F32, rows, cols);
    tensor(y, F32, cols, rows);
    grid(pid, 1) threads(nthreads) {
        fragment(f, F32, rows, cols);
        fragment(g, F32, cols, rows);
        copy(x, f);
        parallel(i, rows, j, cols)
            accum(at(f, i, j), 1.0);
        parallel(j, cols, i, rows)
            set(at(g, j, i), at(f, i, j));
        parallel(j, cols, i, rows)
            accum(at(g, j, i), 1.0);
        copy(g, y);
    }
}

/* One scale for 32 columns, one value for a row, one for a column. */
KERNEL(scaled) {
    params(rows, cols, per, nthreads);
    tensor(x, F32, rows, cols);
    tensor(scale, F32, rows, ceildiv(cols, per));
    tensor(row, F32, rows);
    tensor(col, F32, cols);
    tensor(y, F32, rows, cols);
    grid(pid, 1) threads(nthreads) {
        fragment(f, F32, rows, cols);
        fragment(s, F32, rows, ceildiv(cols, per));
        fragment(r, F32, rows);
        fragment(c, F32, cols);
        copy(x, f);
        copy(scale, s);
        copy(row, r);
        copy(col, c);
        parallel(i, rows, j, cols)
            set(at(f, i, j), add(mul(at(f, i, j), at(s, i, quo(j, per))), add(at(r, i), mul(at(c, j), 2.0))));
        copy(f, y);
    }
}

KERNEL(guarded) {
    params(n, m, nthreads);
    tensor(x, F16, n);
    tensor(y, F32, n);
    grid(pid, 1) threads(nthreads) {
        fragment(f, F32, n);
        fill(f, 7.0);
        parallel(i, n)
            when(lt(i, m))
                set(at(f, i), f32(at(x, i)));
        copy(f, y);
    }
}

KERNEL(guarded_twice) {
    params(rows, cols, n, m, nthreads);
    tensor(x, F16, rows, cols);
    tensor(y, F32, rows, cols);
    grid(pid, 1) threads(nthreads) {
        parallel(i, rows, j, cols) {
            when(lt(i, n)) {
                when(lt(j, m))
                    set(at(y, i, j), f32(at(x, i, j)));
                otherwise
                    set(at(y, i, j), -1.0);
            }
        }
    }
}

/* ---- serial inside ------------------------------------------------------------------------------------- */

KERNEL(rows_in_registers) {
    params(rows, cols, nthreads);
    tensor(x, I32, rows, cols);
    tensor(y, I32, rows);
    grid(pid, 1) threads(nthreads) {
        fragment(f, I32, rows, cols);
        fragment(sum, I32, rows);
        copy(x, f);
        clear(sum);
        parallel(i, rows)
            serial(k, cols)
                accum(at(sum, i), mul(at(f, i, k), add(i32(k), 1)));
        copy(sum, y);
    }
}

KERNEL(naive_gemv) {
    params(N, K);
    tunables(block_n, 128, block_k, 128, nthreads, 128);
    tensor(vector, F16, K);
    tensor(matrix, F16, N, K);
    tensor(output, F32, N);
    grid(pid_n, ceildiv(N, block_n)) threads(nthreads) {
        shared(vector_shared, F16, block_k);
        shared(matrix_shared, F16, block_n, block_k);
        fragment(accumulator, F32, block_n);
        clear(accumulator);
        serial(pid_k, ceildiv(K, block_k)) {
            copy(tile(vector, pid_k), vector_shared);
            copy(tile(matrix, pid_n, pid_k), matrix_shared);
            parallel(i, block_n)
                serial(k, block_k)
                    accum(at(accumulator, i), mul(f32(at(matrix_shared, i, k)), f32(at(vector_shared, k))));
        }
        copy(accumulator, tile(output, pid_n));
    }
}

KERNEL(own_locals) {
    params(n, nthreads);
    tensor(x, I32, n);
    tensor(y, I32, n);
    tensor(z, I32, n);
    grid(pid, 1) threads(nthreads) {
        local(before, I32);
        local(scratch, I32, 4);
        set(before, 5);
        parallel(i, n) {
            local(inside, I32);
            set(inside, at(x, i));
            serial(j, 4)
                set(at(scratch, j), add(inside, i32(j)));
            accum(before, at(scratch, 3));
            set(at(y, i), before);
        }
        parallel(i, n)
            set(at(z, i), add(before, at(x, i)));
    }
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* Replicas store once, add once. */
KERNEL(replicas) {
    params(n, nthreads);
    tensor(x, I32, n);
    tensor(count, I32, n);
    tensor(y, I32, n);
    grid(pid, 1) threads(nthreads) {
        shared(s, I32, n);
        fragment(f, I32, n);
        copy(x, s);
        parallel(i, n) {
            set(at(s, i), add(at(s, i), 1));
            set(at(f, i), mul(at(s, i), 2));
            atomic_add(at(count, i), 1);
        }
        copy(f, y);
    }
}

KERNEL(through_shared) {
    params(rows, cols, nthreads);
    tensor(x, F32, rows, cols);
    tensor(y, F32, cols, rows);
    grid(pid, 1) threads(nthreads) {
        shared(s, F32, rows, cols);
        parallel(i, rows, j, cols)
            set(at(s, i, j), add(at(x, i, j), 1.0));
        parallel(j, cols, i, rows)
            set(at(y, j, i), at(s, i, j));
    }
}

/* Extents known at launch. */
KERNEL(launch_extents) {
    params(cols, nthreads);
    extent(rows);
    tensor(x, I32, rows, cols);
    tensor(y, I32, rows, cols);
    grid(pid, 1) threads(nthreads) {
        parallel(i, rows, j, cols)
            set(at(y, i, j), add(at(x, i, j), 1));
    }
}

KERNEL(launch_line) {
    params(nthreads);
    extent(rows);
    tensor(x, I32, rows);
    tensor(y, I32, rows);
    grid(pid, 1) threads(nthreads) {
        parallel(i, rows)
            set(at(y, i), add(at(x, i), 1));
    }
}

/* Both views in one kernel. */
KERNEL(both_views) {
    params(n, nthreads);
    tensor(x, I32, n);
    tensor(y, I32, n);
    grid(pid, 1) threads(tid, nthreads) {
        shared(s, I32, n);
        serial(r, ceildiv(n, nthreads)) {
            let(i, mad(r, nthreads, tid));
            when(lt(i, n))
                set(at(s, i), mul(at(x, i), 2));
        }
        parallel(i, n)
            set(at(y, i), at(s, sub(n - 1, i)));
    }
}

/* Slices of a fragment, one for each turn of a loop. */
KERNEL(slices) {
    params(rows, cols, nthreads);
    tensor(x, F32, rows, cols);
    tensor(y, F32, cols);
    grid(pid, 1) threads(nthreads) {
        fragment(f, F32, rows, cols);
        fragment(sum, F32, cols);
        clear(sum);
        unrolled(r, rows)
            copy(slice(x, r, 1, 0, cols), slice(f, r, 1, 0, cols));
        unrolled(r, rows)
            parallel(j, cols)
                accum(at(sum, j), at(f, r, j));
        copy(sum, y);
    }
}

/* The same with a slice that is known when the kernel runs only. */
KERNEL(slices_in_a_loop) {
    params(rows, cols, nthreads);
    tensor(x, F32, rows, cols);
    tensor(y, F32, cols);
    grid(pid, 1) threads(nthreads) {
        fragment(f, F32, rows, cols);
        fragment(sum, F32, cols);
        clear(sum);
        serial(r, rows)
            copy(slice(x, r, 1, 0, cols), slice(f, r, 1, 0, cols));
        serial(r, rows)
            parallel(j, cols)
                accum(at(sum, j), at(f, r, j));
        copy(sum, y);
    }
}

/* A relu that chooses, a local for each iteration, a vectorized loop inside. */
KERNEL(inner_vectors) {
    params(rows, width, nthreads);
    tensor(x, F16, rows, width);
    tensor(y, F16, rows, width);
    tensor(z, F32, rows);
    grid(pid, 1) threads(nthreads) {
        parallel(i, rows) {
            local(sum, F32);
            set(sum, 0);
            vectorized(k, width) {
                let(v, sub(at(x, i, k), f16(6.0)));
                set(at(y, i, k), choose(gt(v, f16(0.0)), v, f16(0.0)));
                accum(sum, f32(v));
            }
            set(at(z, i), sum);
        }
    }
}

/* A block that does nothing in some blocks; a check that fails nowhere. */
KERNEL(under_a_condition) {
    params(n, nthreads);
    tensor(x, I32, 3, n);
    tensor(y, I32, 3, n);
    grid(pid, 3) threads(nthreads) {
        fragment(f, I32, n);
        when(lt(pid, 2)) {
            copy(slice(x, pid, 1, 0, n), f);
            parallel(i, n) {
                check(ge(at(f, i), 0), "inputs are not negative");
                set(at(y, pid, i), add(at(f, mod(add(i, 1), n)), 1));
            }
        }
    }
}

KERNEL(viewed) {
    params(n, nthreads);
    tensor(x, F32, n);
    tensor(y, I32, n);
    grid(pid, 1) threads(nthreads) {
        fragment(f, F32, n);
        const tg_buf bits_of_f = view(f, I32, n);
        copy(x, f);
        parallel(i, n)
            set(at(y, i), at(bits_of_f, i));
    }
}

/* ---- mistakes ------------------------------------------------------------------------------------------ */

KERNEL(same_element) {
    params(n);
    tensor(y, I32, n);
    grid(pid, 1) threads(32) {
        parallel(i, n)
            set(at(y, quo(i, 2)), 1);
    }
}

KERNEL(reads_neighbour) {
    params(n);
    tensor(y, I32, n);
    grid(pid, 1) threads(32) {
        shared(s, I32, n);
        clear(s);
        parallel(i, n)
            when(lt(i, n - 1))
                set(at(s, i), at(s, add(i, 1)));
        copy(s, y);
    }
}

KERNEL(sums_into_fragment) {
    params(n);
    tensor(y, I32, n);
    grid(pid, 1) threads(32) {
        fragment(f, I32, n);
        clear(f);
        parallel(i, n, j, 4)
            accum(at(f, i), 1);
        copy(f, y);
    }
}

/* No mistake: halves that never meet. */
KERNEL(halves) {
    params(n);
    tensor(y, I32, 2 * n);
    grid(pid, 1) threads(32) {
        shared(s, I32, 2 * n);
        fill(s, 3);
        parallel(i, n)
            set(at(s, mul(i, 2)), add(at(s, mad(i, 2, 1)), 1));
        copy(s, y);
    }
}
