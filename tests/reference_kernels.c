/* reference_kernels.c -- kernels for the tests of the tile reference: each says a few words, or makes one mistake.
 *
 * Expected values are computed in the test by plain loops. */
#include <tegula/kernel.h>

/* ---- thread view --------------------------------------------------------------------------------------- */

KERNEL(each_element) { /* to = from, any type, any number of threads */
    params(n, dtype, block);
    tensor(source, dtype, n);
    tensor(result, dtype, n);
    grid(pid, ceildiv(n, block)) threads(tid, block) {
        let(i, mad(pid, block, tid));
        when(lt(i, n))
            set(at(result, i), at(source, i));
    }
}

KERNEL(gemv_naive) { /* shared, local, barriers, guards */
    params(N, K, dtype);
    tunables(block_n, 32, block_k, 16);
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    tensor(output, F32, N);
    grid(pid_n, ceildiv(N, block_n)) threads(tid_n, block_n) {
        shared(vector_shared, dtype, block_k);
        local(accumulator, F32);
        let(row, mad(pid_n, block_n, tid_n));
        clear(accumulator);
        serial(pid_k, ceildiv(K, block_k)) {
            when(eq(tid_n, 0))
                serial(k, block_k)
                    when(lt(mad(pid_k, block_k, k), K))
                        set(at(vector_shared, k), at(vector, mad(pid_k, block_k, k)));
            sync_threads();
            serial(k, block_k) {
                let(col, mad(pid_k, block_k, k));
                when(both(lt(row, N), lt(col, K)))
                    accum(accumulator, mul(f32(at(vector_shared, k)), f32(at(matrix, row, col))));
            }
            sync_threads();
        }
        when(lt(row, N))
            set(at(output, row), accumulator);
    }
}

KERNEL(gemv_double) { /* no rounding to f16 on the way, where the reference runs in double */
    params(N, K);
    tensor(vector, F16, K);
    tensor(matrix, F16, N, K);
    tensor(output, F64, N);
    grid(pid_n, N) threads(tid_k, 4) {
        shared(sum, F16);
        local(mine, F16);
        clear(mine);
        when(eq(tid_k, 0))
            set(sum, 0);
        sync_threads();
        serial(i, ceildiv(K, 4)) {
            let(k, mad(i, 4, tid_k));
            when(lt(k, K)) {
                let(product, mul(at(vector, k), at(matrix, pid_n, k)));
                accum(mine, product);
            }
        }
        atomic_add(sum, mine);
        sync_threads();
        when(eq(tid_k, 0))
            set(at(output, pid_n), f64(sum));
    }
}

KERNEL(reduce_axis) { /* allreduce along axis 0, 1 or 2 of a block of x * y * z threads */
    params(x, y, z, axis, op, dtype);
    const int64_t n = x * y * z;
    tensor(source, dtype, n);
    tensor(result, dtype, n);
    grid(pid, 1) threads(tx, x, ty, y, tz, z) {
        let(t, add(tx, mul(x, add(ty, mul(y, tz)))));
        serial(again, 2) {
            let(r, allreduce(op, at(source, t), axis == 0 ? tx : axis == 1 ? ty : tz));
            when(eq(again, 1))
                set(at(result, t), r);
        }
    }
}

KERNEL(many_axes) { /* grid and threads of three dimensions */
    params(gx, gy, gz, x, y, z);
    tensor(result, I32, gz, gy, gx, z, y, x);
    grid(px, gx, py, gy, pz, gz) threads(tx, x, ty, y, tz, z) {
        set(at(result, pz, py, px, tz, ty, tx),
            i32(add(tx, mul(10, ty), mul(100, tz), mul(1000, px), mul(10000, py), mul(100000, pz))));
    }
}

KERNEL(atomics) {
    params(n, bins);
    tensor(source, I32, n);
    tensor(counts, I32, bins);
    tensor(extremes, I32, 2);
    tensor(total, F32, 1);
    grid(pid, ceildiv(n, 64)) threads(tid, 64) {
        shared(mine, I32, bins);
        serial(b, bins)
            when(eq(mod(b, 64), tid))
                set(at(mine, b), 0);
        sync_threads();
        let(i, mad(pid, 64, tid));
        when(lt(i, n)) {
            let(x, at(source, i));
            atomic_add(at(mine, mod(x, (int)bins)), 1);
            atomic_max(at(extremes, 0), x);
            atomic_min(at(extremes, 1), x);
            atomic_add(at(total, 0), f32(x));
        }
        sync_threads();
        when(lt(tid, bins))
            atomic_add(at(counts, tid), at(mine, tid));
    }
}

KERNEL(control_flow) { /* loops of every kind, zero trips, branches, choose */
    params(n);
    tensor(result, I32, n, 8);
    grid(pid, 1) threads(tid, n) {
        local(count, I32, 8);
        clear(count);
        serial(i, tid, j, 3) {
            accum(at(count, 0), 1);
            unrolled(l, 2)
                accum(at(count, 1), i32(add(mul(i, 10), mul(j, 2), l)));
        }
        serial(i, 0)
            accum(at(count, 2), 1000);
        vectorized(v, 4)
            accum(at(count, v), 1);
        when(eq(mod(tid, 2), 0)) {
            when(gt(tid, 3))
                set(at(count, 4), 1);
            otherwise
                set(at(count, 4), 2);
        }
        otherwise
            set(at(count, 4), 3);
        when(lt(tid, 0)) {
        }
        set(at(count, 5), choose(eq(tid, 0), -1, quo(100, i32(tid))));
        set(at(count, 6), choose(both(gt(tid, 0), eq(quo(6, tid), 2)), 1, 0));
        serial(i, 3)
            when(ne(i, 1))
                accum(at(count, 7), i32(i));
        serial(v, 8)
            set(at(result, tid, v), at(count, v));
    }
}

KERNEL(launch_values) { /* scalars, and an extent for tensor, grid and trips */
    params(columns);
    extent(rows);
    scalar(factor, F32);
    scalar(times, I32);
    tensor(a, F32, rows, columns);
    tensor(b, F32, rows, columns);
    grid(pid, rows) threads(tid, columns) {
        local(x, F32);
        clear(x);
        serial(t, times)
            accum(x, mul(factor, at(a, pid, tid)));
        set(at(b, pid, tid), x);
    }
}

KERNEL(rows_apart) { /* pitched */
    params(n, ld);
    pitched(a, I32, ld, n, 3);
    tensor(b, I32, n, 3);
    grid(pid, n) threads(tid, 3) set(at(b, pid, tid), at(a, pid, tid));
}

KERNEL(views) { /* the same bytes as other types; bits of a value */
    tensor(floats, F32, 4);
    tensor(words, U32, 4);
    tensor(halves, U16, 8);
    grid(pid, 1) threads(tid, 4) {
        shared(bytes, F32, 4);
        local(own, F32);
        const tg_buf as_halves = view(bytes, U16, 8);
        const tg_buf as_word = view(own, U32);
        set(at(bytes, tid), at(floats, tid));
        set(own, at(floats, tid));
        sync_threads();
        serial(h, 2)
            set(at(halves, mad(tid, 2, h)), at(as_halves, mad(tid, 2, h)));
        when(eq(tid, 0))
            set(at(words, tid), bitcast(U32, at(floats, tid)));
        otherwise
            set(at(words, tid), as_word);
    }
}

KERNEL(one_value) { /* one operator on two tensors; op counts as in tg_op */
    params(op, dtype, n);
    tensor(a, dtype, n);
    tensor(b, dtype, n);
    tensor(c, dtype, n);
    grid(pid, 1) threads(tid, n) {
        const tg_expr x = tg_load(tg_now(), TG_HERE, at(a, tid)), y = tg_load(tg_now(), TG_HERE, at(b, tid));
        set(at(c, tid), tg_binary(tg_now(), TG_HERE, (tg_op)op, x, y));
    }
}

KERNEL(narrow) { /* i32 of floats, i16 of integers */
    params(n);
    tensor(a, F32, n);
    tensor(b, I32, n);
    tensor(c, I16, n);
    grid(pid, 1) threads(tid, n) {
        set(at(b, tid), i32(at(a, tid)));
        set(at(c, tid), i16(at(b, tid)));
    }
}

KERNEL(printing) {
    params(n);
    tensor(a, F32, n);
    grid(pid, 1) threads(tid, n) {
        print("row %d: %5.2f 100%% %u %lld %x\n", tid, at(a, tid), u32(add(tid, 1)), i64(sub(tid, 1)),
              i32(sub(tid, 1)));
        when(eq(tid, 0))
            print("done\n");
    }
}

KERNEL(checking) {
    params(n);
    tensor(a, I32, n);
    grid(pid, 2) threads(tid, n) check(lt(at(a, tid), 10), "below ten");
}

KERNEL(print_much) {
    params(n);
    grid(pid, 1) threads(tid, 1) serial(i, n) print("0123456789012345678901234567890 %d\n", i);
}

/* ---- block view ---------------------------------------------------------------------------------------- */

KERNEL(copy_tiles) { /* tensor -> shared -> fragment -> tensor, with tails and two conversions */
    params(M, N, tile_m, tile_n, nthreads);
    tensor(a, F16, M, N);
    tensor(b, F32, M, N);
    grid(pid_m, ceildiv(M, tile_m), pid_n, ceildiv(N, tile_n)) threads(nthreads) {
        shared(s, F16, tile_m, tile_n);
        fragment(f, F32, tile_m, tile_n);
        copy(tile(a, pid_m, pid_n), s);
        copy(s, f);
        copy(f, tile(b, pid_m, pid_n));
    }
}

KERNEL(copy_outside) { /* a window of 4 x 8 at a corner that may lie anywhere */
    params(row, col);
    tensor(a, F32, 5, 7);
    tensor(b, F32, 4, 8);
    grid(pid, 1) threads(32) {
        shared(s, F32, 4, 8);
        copy(from(a, (int)row, (int)col), s, .outside = -1);
        copy(s, b);
    }
}

KERNEL(copy_ranks) { /* a row of a matrix into a vector, a part of it into part of another, and back */
    tensor(a, I32, 6, 8);
    tensor(b, I32, 6, 8);
    grid(pid, 6) threads(16) {
        fragment(v, I32, 8);
        fragment(w, I32, 8);
        copy(from(a, pid, 0), v);
        clear(w);
        copy(slice(v, 2, 4), slice(w, 3, 4));
        copy(w, from(b, pid, 0));
    }
}

KERNEL(fill_regions) {
    params(n);
    tensor(a, F32, n, 5);
    tensor(b, I32, 10);
    grid(pid, ceildiv(n, 4)) threads(33) {
        fragment(f, I32, 10);
        fill(slice(a, mul(pid, 4), 4, 0, 5), 2.5);
        fill(f, 7);
        clear(slice(f, 2, 3));
        when(eq(pid, 0))
            copy(f, b);
    }
}

KERNEL(copy_local) { /* a copy of a local is each thread's own, under any condition */
    params(n);
    tensor(a, F32, n, 4);
    tensor(b, F32, n, 4);
    grid(pid, 1) threads(tid, n) {
        local(mine, F32, 4);
        fill(mine, 9);
        when(eq(mod(tid, 2), 0))
            copy(from(a, tid, 0), mine);
        serial(j, 4)
            set(at(b, tid, j), at(mine, j));
    }
}

KERNEL(gemv_block) {
    params(N, K);
    tunables(block_n, 16, block_k, 32, num_stages, 2, num_threads, 31);
    tensor(vector, F16, K);
    tensor(matrix, F16, N, K);
    tensor(output, F32, N);
    grid(pid_n, ceildiv(N, block_n)) threads(num_threads) {
        shared(vector_shared, F16, block_k);
        shared(matrix_shared, F16, block_n, block_k);
        fragment(accumulator, F32, block_n);
        clear(accumulator);
        pipelined(pid_k, ceildiv(K, block_k), num_stages) {
            copy(tile(vector, pid_k), vector_shared);
            copy(tile(matrix, pid_n, pid_k), matrix_shared);
            parallel(i, block_n)
                serial(k, block_k)
                    accum(at(accumulator, i), mul(f32(at(matrix_shared, i, k)), f32(at(vector_shared, k))));
        }
        copy(accumulator, tile(output, pid_n));
    }
}

KERNEL(reducing) { /* a reducer, twice, once with a seed */
    params(N, K, op);
    tensor(a, I32, N, K);
    tensor(b, I32, 2, N);
    grid(pid, 1) threads(48) {
        reducer(r, op, I32, N);
        clear(r);
        parallel(i, N, k, K)
            accum(at(r, i), at(a, i, k));
        finalize(r);
        copy(r, from(b, 0, 0));
        fill(r, 5);
        parallel(i, N, k, K)
            accum(at(r, i), at(a, i, k));
        finalize(r);
        copy(r, from(b, 1, 0));
    }
}

KERNEL(reduce_dimension) {
    params(A, B, C, dim, op);
    tensor(source, F32, A, B, C);
    const int64_t rows = dim == 0 ? B : A, columns = dim == 2 ? B : C;
    tensor(result, F32, rows, columns);
    grid(pid, 1) threads(20) {
        fragment(f, F32, A, B, C);
        fragment(r, F32, rows, columns);
        copy(source, f);
        reduce(op, f, r, dim);
        copy(r, result);
    }
}

KERNEL(private_locals) { /* a local written in an iteration is the iteration's; one set before may be read */
    params(n);
    tensor(a, I32, n);
    tensor(b, I32, n);
    grid(pid, 1) threads(7) {
        local(base, I32);
        local(own, I32);
        local(pair, I32, 2);
        set(base, 100);
        set(own, 1);
        fill(pair, 3);
        parallel(i, n) {
            local(born, I32);
            set(born, at(a, i));
            accum(own, born);
            set(at(b, i), add(own, base, at(pair, 1)));
            clear(pair);
        }
    }
}

KERNEL(block_scalar) { /* a fragment without extents, written once for all threads */
    tensor(b, I32, 3);
    grid(pid, 1) threads(64) {
        fragment(x, I32);
        fill(x, 5);
        parallel(i, 1)
            accum(x, 2);
        parallel(i, 3)
            set(at(b, i), add(x, i32(i)));
    }
}

/* ---- mistakes that only a run shows -------------------------------------------------------------------- */

KERNEL(read_outside) {
    params(n, shift);
    tensor(index, I32, n);
    tensor(a, I32, n, 4);
    tensor(b, I32, n);
    grid(pid, 1) threads(tid, n) {
        const tg_expr wild = add(at(index, tid), (int)shift);
        const tg_ref far = at(a, tid, wild);
        set(at(b, tid), far);
    }
}

KERNEL(write_outside) {
    params(n);
    tensor(index, I32, n);
    tensor(b, I32, n);
    grid(pid, 1) threads(tid, n) set(at(b, at(index, tid)), 7);
}

KERNEL(region_outside) {
    tensor(where, I32, 1);
    tensor(b, I32, 4);
    grid(pid, 1) threads(32) {
        shared(s, I32, 8);
        fill(s, 3);
        copy(slice(s, at(where, 0), 4), b);
    }
}

KERNEL(unwritten) { /* what: 0 shared, 1 local, 2 fragment, 3 half of a view, 4 a copy, 5 again in a loop */
    params(what);
    tensor(b, U32, 8);
    grid(pid, 2) threads(tid, 8) {
        shared(s, U32, 8);
        local(l, U32, 2);
        fragment(f, U32, 8);
        const tg_buf halves = view(s, U16, 16);
        when(eq(pid, 0)) {
            when(eq(tid, 0)) {
                set(at(s, 0), 1);
                set(at(l, 0), 1);
            }
        }
        otherwise
            set(at(halves, mul(tid, 2)), 1);
        sync_threads();
        if (what == 0)
            set(at(b, tid), at(s, 1));
        if (what == 1)
            set(at(b, tid), at(l, 1));
        if (what == 2)
            parallel(i, 8)
                set(at(b, i), at(f, i));
        if (what == 3)
            when(eq(pid, 1))
                set(at(b, tid), at(s, tid));
        if (what == 4)
            copy(s, b);
        if (what == 5)
            serial(i, 2) {
                local(fresh, U32);
                when(eq(i, 0))
                    set(fresh, 1);
                when(eq(tid, 3))
                    set(at(b, tid), fresh);
            }
    }
}

KERNEL(inherited) { /* the first block writes, both read */
    tensor(b, U32, 2, 8);
    grid(pid, 2) threads(tid, 8) {
        shared(s, U32, 8);
        when(eq(pid, 0))
            set(at(s, tid), 1);
        set(at(b, pid, tid), at(s, tid));
    }
}

KERNEL(divergent) { /* a barrier under a condition, which the test makes another one in each thread */
    params(what);
    tensor(flag, I32, 8);
    tensor(b, I32, 8);
    grid(pid, 1) threads(tid, 8) {
        when(ne(at(flag, 0), 0)) {
            set(at(b, tid), 1);
            sync_threads();
        }
        otherwise {
            if (what == 1)
                sync_threads();
        }
    }
}

KERNEL(shared_race) { /* each thread reads what its neighbour wrote; without a barrier that depends */
    params(barrier, n);
    tensor(b, I32, n);
    grid(pid, 1) threads(tid, n) {
        shared(s, I32, n);
        serial(i, n)
            when(eq(tid, i))
                set(at(s, i), 0);
        sync_threads();
        set(at(s, tid), i32(add(tid, 1)));
        if (barrier)
            sync_threads();
        set(at(b, tid), at(s, mod(add(tid, 1), (int)n)));
    }
}

KERNEL(pair_race) { /* of many threads one writes and one reads */
    params(writer, reader);
    tensor(b, I32, 1);
    grid(pid, 1) threads(tid, 64) {
        shared(s, I32);
        when(eq(tid, 0))
            set(s, 0);
        sync_threads();
        when(eq(tid, (int)writer))
            set(s, 1);
        when(eq(tid, (int)reader))
            set(at(b, 0), s);
    }
}

KERNEL(block_race) { /* the last block wins */
    tensor(b, I32, 1);
    grid(pid, 9) threads(tid, 1) set(at(b, 0), i32(pid));
}

KERNEL(iteration_race) { /* an iteration reads what another one writes, through an index from memory */
    params(n);
    tensor(index, I32, n);
    tensor(b, I32, n);
    grid(pid, 1) threads(16) {
        shared(s, I32, n);
        clear(s);
        parallel(i, n) {
            set(at(s, i), 1);
            set(at(b, i), at(s, at(index, i)));
        }
    }
}

KERNEL(which_thread) { /* both views at once: a thread's own value in an iteration */
    tensor(b, I32, 32);
    grid(pid, 1) threads(tid, 16) {
        local(mine, I32);
        set(mine, i32(tid));
        parallel(i, 32)
            set(at(b, i), mine);
    }
}

KERNEL(endless) {
    params(n);
    tensor(b, I32, 1);
    grid(pid, 4) threads(tid, 2) serial(i, n) when(lt(i, 0)) set(at(b, 0), 1);
}

KERNEL(overlapping) { /* a copy inside one buffer, from a place known when it runs */
    tensor(where, I32, 1);
    tensor(b, I32, 8);
    grid(pid, 1) threads(8) {
        shared(s, I32, 12);
        fill(s, 3);
        copy(slice(s, at(where, 0), 4), slice(s, 4, 4));
        copy(slice(s, 0, 8), b);
    }
}

KERNEL(wide_view) { /* memory that may be aligned for i16 only, read as i32 */
    tensor(a, I16, 8);
    tensor(b, I32, 4);
    grid(pid, 1) threads(tid, 4) {
        const tg_buf words = view(a, I32, 4);
        set(at(b, tid), at(words, tid));
    }
}

KERNEL(epochs) { /* which of clear and finalize happen is known when it runs */
    tensor(flag, I32, 2);
    tensor(a, I32, 6);
    tensor(b, I32, 1);
    grid(pid, 1) threads(4) {
        reducer(r, SUM, I32, 1);
        when(ne(at(flag, 0), 0))
            clear(r);
        parallel(i, 6)
            accum(at(r, 0), at(a, i));
        when(ne(at(flag, 1), 0))
            finalize(r);
        copy(r, b);
    }
}

KERNEL(large) { /* more memory than there may be */
    tensor(b, F32, 1);
    grid(pid, 1) threads(tid, 2) {
        local(l, F32, 1 << 28);
        set(at(l, tid), 1);
        when(eq(tid, 0))
            set(at(b, 0), at(l, 0));
    }
}
