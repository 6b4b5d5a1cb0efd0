/* case_data_kernels.c -- kernels for test_case_data.c: what is copied when, through which types, from how far away. */
#include <tegula/kernel.h>

/* ---- pipelines ----------------------------------------------------------------------------------------- */

/* Reads the tile of the iteration before, then overwrites it. */
KERNEL(read_then_overwritten) {
    params(n, stages, threads, width);
    tensor(a, I32, 9, width);
    tensor(out, I32, width);
    grid(1) threads(threads) {
        shared(s, I32, width);
        fragment(acc, I32, width);
        clear(s);
        clear(acc);
        pipelined(k, n, stages) {
            parallel(i, width)
                accum(at(acc, i), mul(at(s, sub(width - 1, i)), add(i32(k), 1)));
            copy(from(a, k, 0), s);
        }
        copy(acc, out);
    }
}

/* One scratch buffer for two tensors, and a name that says which row. */
KERNEL(one_scratch_for_two) {
    params(n, stages, threads, width);
    tensor(row, I32, 9);
    tensor(a, I32, 13, width);
    tensor(b, I32, 13, width);
    tensor(out, I32, 2, 9, width);
    grid(1) threads(threads) {
        shared(s, I32, width);
        pipelined(k, n, stages) {
            let(first, at(row, k));
            let(second, sub(12, first));
            copy(from(a, first, 0), s);
            parallel(i, width)
                set(at(out, 0, k, i), at(s, sub(width - 1, i)));
            copy(from(b, second, 0), s);
            parallel(i, width)
                set(at(out, 1, k, i), at(s, sub(width - 1, i)));
        }
    }
}

/* The loop's variable (how 0), an element of a tensor (1) decide; one of two copies into one buffer (2). */
KERNEL(copied_if) {
    params(n, stages, threads, width, how);
    tensor(row, I32, 9);
    tensor(a, I32, 13, width);
    tensor(b, I32, 13, width);
    tensor(out, I32, 9, width);
    grid(1) threads(threads) {
        shared(s, I32, width);
        clear(s);
        pipelined(k, n, stages) {
            if (how == 0) {
                when(gt(k, 1))
                    copy(from(a, at(row, k), 0), s);
            } else {
                when(gt(at(row, k), 5))
                    copy(from(a, at(row, k), 0), s);
                if (how == 2) {
                    otherwise
                        copy(from(b, k, 0), s);
                }
            }
            parallel(i, width)
                set(at(out, k, i), at(s, sub(width - 1, i)));
        }
    }
}

/* Loops with their own numbers of stages, side by side and one in the other, on the same buffers. */
KERNEL(loops_of_two_depths) {
    params(n, stages, other, threads, width);
    tensor(a, I32, 9, width);
    tensor(b, I32, 9, width);
    tensor(out, I32, 3, 9, width);
    grid(1) threads(threads) {
        shared(s, I32, width);
        shared(t, I32, width);
        pipelined(k, n, stages) {
            copy(from(a, k, 0), s);
            parallel(i, width)
                set(at(out, 0, k, i), at(s, sub(width - 1, i)));
        }
        pipelined(k, n, other) {
            copy(from(b, k, 0), s);
            copy(from(a, sub(n - 1, k), 0), t);
            parallel(i, width)
                set(at(out, 1, k, i), add(mul(at(s, sub(width - 1, i)), 100), at(t, i)));
        }
        pipelined(k, n, stages) {
            fragment(sum, I32, width);
            copy(from(a, k, 0), t);
            clear(sum);
            pipelined(j, 4, other) {
                copy(from(b, mod(add(k, j), 9), 0), s);
                parallel(i, width)
                    accum(at(sum, i), mul(at(s, sub(width - 1, i)), at(t, i)));
            }
            copy(sum, slice(out, 2, 1, k, 1, 0, width));
        }
    }
}

/* ---- views --------------------------------------------------------------------------------------------- */

/* Bytes read and written as elements of another type, from element `off` on. */
KERNEL(viewed_from) {
    params(dtype, align, off, n, how, threads);
    require(bits(dtype) / 8 <= align, "an element must be aligned");
    tensor(a, U8, 2048);
    tensor(b, U8, 2048);
    aligned(a, align);
    aligned(b, align);
    grid(1) threads(threads) {
        const int64_t all = 2048 / (bits(dtype) / 8);
        const tg_buf x = view(a, dtype, all);
        const tg_buf y = view(b, dtype, all);
        shared(s, dtype, n);
        fragment(f, dtype, n);
        if (how == 0) {
            copy(slice(x, off, n), from(y, off));
        } else if (how == 1) {
            copy(slice(x, off, n), s);
            copy(s, from(y, off));
        } else if (how == 2) {
            copy(slice(x, off, n), f);
            copy(f, from(y, off));
        } else {
            pipelined(k, 3, 2) {
                copy(slice(x, add(off, mul(k, n)), n), s);
                copy(s, from(y, add(off, mul(k, n))));
            }
        }
    }
}

/* The same in thread view, wide accesses asked for. */
KERNEL(viewed_wide) {
    params(align, off, lanes);
    tensor(a, U8, 4096);
    tensor(b, U8, 4096);
    aligned(a, align);
    aligned(b, align);
    grid(1) threads(tid, 16) {
        const tg_buf x = view(a, U16, 2048);
        const tg_buf y = view(b, U16, 2048);
        vectorized(k, lanes)
            set(at(y, add(mul(tid, lanes), off, k)), at(x, add(mul(tid, lanes), off, k)));
    }
}

/* ---- types and conditions ------------------------------------------------------------------------------ */

/* The larger of an element and 3, chosen lane by lane in wide accesses; a value of its own for each element. */
KERNEL(chosen_wide) {
    params(dtype, lanes, threads);
    tensor(x, dtype, threads, lanes);
    tensor(y, dtype, threads, lanes);
    grid(1) threads(tid, threads) {
        vectorized(k, lanes) {
            let(v, at(x, tid, k));
            local(own, dtype);
            set(own, choose(gt(v, cast(dtype, 3)), v, cast(dtype, 3)));
            set(at(y, tid, k), add(own, choose(eq(mod(k, 2), 0), cast(dtype, 1), cast(dtype, 0))));
        }
    }
}

/* No number in one element: what comes of it by every way of reducing. */
KERNEL(no_number_among) {
    params(dtype, op, rows, cols, threads);
    tensor(x, dtype, rows, cols);
    tensor(by_fragment, dtype, rows);
    tensor(by_shared, dtype, rows);
    tensor(by_reducer, dtype, rows);
    tensor(by_seed, dtype, 1);
    grid(1) threads(threads) {
        fragment(f, dtype, rows, cols);
        fragment(g, dtype, rows);
        shared(s, dtype, rows, cols);
        shared(t, dtype, rows);
        reducer(r, op, dtype, rows);
        reducer(q, op, dtype);
        copy(x, f);
        copy(x, s);
        reduce(op, f, g, 1);
        reduce(op, s, t, 1);
        clear(r);
        parallel(i, rows, j, cols)
            accum(at(r, i), at(f, i, j));
        finalize(r);
        fill(q, at(x, 0, cols - 1));
        parallel(i, rows)
            accum(q, cast(dtype, i));
        finalize(q);
        copy(g, by_fragment);
        copy(t, by_shared);
        copy(r, by_reducer);
        parallel(i, 1)
            set(at(by_seed, i), q);
    }
}

/* .. by threads, and by atomics where the type has them. */
KERNEL(no_number_among_threads) {
    params(op, threads);
    tensor(x, F32, threads);
    tensor(all, F32, threads);
    tensor(one, F32, 1);
    tensor(clamped, F32, threads);
    grid(1) threads(tid, threads) {
        let(total, allreduce(op, at(x, tid), tid));
        set(at(all, tid), total);
        tg_atomic(tg_now(), TG_HERE, (tg_reduction)op, at(one, 0), f32(at(x, tid)));
        set(at(clamped, tid), min_of(max_of(at(x, tid), -1), 1));
    }
}

/* Four bytes of one word each: more elements than one access holds, on one side. */
KERNEL(narrowed) {
    params(from_type, to_type, n, threads);
    tensor(x, from_type, n);
    tensor(y, to_type, n);
    grid(pid, ceildiv(n, 1024)) threads(threads) {
        copy(slice(x, mul(pid, 1024), 1024), from(y, mul(pid, 1024)));
    }
}

/* A tile whose 16-byte pieces change places by the row; rows are looked through by their own threads. */
KERNEL(any_of_rows) {
    params(rows, cols, limit);
    tensor(x, F32, rows, cols);
    tensor(some, BOOL, rows);
    tensor(most, F32, rows);
    grid(1) threads(rows) {
        shared(s, F32, rows, cols);
        fragment(found, BOOL, rows);
        fragment(peak, F32, rows);
        copy(x, s);
        parallel(i, rows) {
            local(is_above, BOOL);
            set(is_above, lt(i, 0));
            serial(k, cols)
                set(is_above, either(is_above, gt(at(s, i, k), limit)));
            set(at(found, i), is_above);
        }
        reduce(MAX, s, peak, 1);
        copy(found, some);
        copy(peak, most);
    }
}

/* ---- places -------------------------------------------------------------------------------------------- */

/* Rows that begin beyond what 32 bits count. */
KERNEL(far_rows) {
    params(rows, how, threads);
    tensor(a, U8, rows, 65536);
    tensor(out, I32, 4, 64);
    grid(p, 4) threads(threads) {
        shared(s, U8, 64);
        fragment(f, I32, 64);
        let(row, sub(rows - 1, p));
        if (how == 0) {
            copy(from(a, row, 65536 - 64), s);
            copy(s, f);
        } else if (how == 1) {
            clear(f);
            pipelined(k, 4, 3) {
                copy(from(a, row, mul(k, 16384)), s);
                parallel(i, 64)
                    accum(at(f, i), i32(at(s, i)));
            }
        } else {
            parallel(i, 64)
                set(at(a, row, mul(i, 1000)), u8(add(i, 7)));
            parallel(i, 64)
                set(at(f, i), i32(at(a, row, mul(sub(63, i), 1000))));
        }
        copy(f, from(out, p, 0));
    }
}

/* As many rows as the launch says, in tiles of block_m, from either end (how 2: the last tile first). */
KERNEL(rows_of_the_launch) {
    params(block_m, width, stages, how, threads);
    extent(rows);
    tensor(a, I32, rows, width);
    tensor(out, I32, rows, width);
    tensor(sums, I32, width);
    grid(1) threads(threads) {
        shared(s, I32, block_m, width);
        fragment(f, I32, block_m, width);
        reducer(sum, SUM, I32, width);
        clear(sum);
        pipelined(k, ceildiv(rows, block_m), stages) {
            const tg_expr first = how == 2 ? sub(rows, mul(add(k, 1), block_m)) : mul(k, block_m);
            if (how == 0) {
                copy(from(a, first, 0), s);
                copy(s, f);
            } else {
                copy(from(a, first, 0), f);
            }
            parallel(i, block_m, j, width)
                accum(at(sum, j), at(f, i, j));
            copy(f, from(out, first, 0));
        }
        finalize(sum);
        copy(sum, sums);
        fill(slice(out, rows, 3, 0, width), 77);
        fill(slice(out, -2, 3, 0, width), -1);
    }
}

/* A wide access that begins before the tensor does. */
KERNEL(wide_before_the_beginning) {
    tensor(a, F16, 64);
    tensor(out, F16, 64);
    grid(1) threads(tid, 8) {
        vectorized(k, 8)
            set(at(out, mad(tid, 8, k)), at(a, add(mul(sub(tid, 1), 8), k)));
    }
}
