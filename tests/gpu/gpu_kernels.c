/* gpu_kernels.c -- small kernels that the GPU tests run: one for each family of features.
 *
 * The operator, element type and sizes come from the configuration, so that one builder serves a sweep. */
#include <tegula/kernel.h>

/* y[i] = op(a[i]) */
KERNEL(gpu_unary) {
    params(op, dtype, n);
    tensor(a, dtype, n);
    tensor(y, dtype, n);
    grid(p, ceildiv(n, 64)) threads(t, 64) {
        let(i, mad(p, 64, t));
        when(lt(i, n))
            set(at(y, i), tg_unary(tg_now(), TG_HERE, (tg_op)op, tg_x_ref(TG_HERE, at(a, i))));
    }
}

/* y[i] = op(a[i], b[i]); `result` is the type that op gives */
KERNEL(gpu_binary) {
    params(op, dtype, result, n);
    tensor(a, dtype, n);
    tensor(b, dtype, n);
    tensor(y, result, n);
    grid(p, ceildiv(n, 64)) threads(t, 64) {
        let(i, mad(p, 64, t));
        when(lt(i, n))
            set(at(y, i), tg_binary(tg_now(), TG_HERE, (tg_op)op, tg_x_ref(TG_HERE, at(a, i)),
                                    tg_x_ref(TG_HERE, at(b, i))));
    }
}

/* y[i] = (to)a[i] */
KERNEL(gpu_cast) {
    params(dtype, to, n);
    tensor(a, dtype, n);
    tensor(y, to, n);
    grid(p, ceildiv(n, 64)) threads(t, 64) {
        let(i, mad(p, 64, t));
        when(lt(i, n))
            set(at(y, i), cast(to, at(a, i)));
    }
}

/* Atomics on `slots` places of shared memory, then of global memory. */
KERNEL(gpu_atomic) {
    params(reduction, dtype, n, slots);
    tensor(a, dtype, n);
    tensor(in_global, dtype, slots);
    tensor(from_shared, dtype, slots);
    grid(p, 1) threads(t, 256) {
        shared(s, dtype, slots);
        when(lt(t, slots))
            set(at(s, t), at(a, t));
        sync_threads();
        serial(j, ceildiv(n, 256)) {
            let(i, mad(j, 256, t));
            when(lt(i, n)) {
                tg_atomic(tg_now(), TG_HERE, (tg_reduction)reduction, at(s, mod(i, slots)),
                          tg_x_ref(TG_HERE, at(a, i)));
                tg_atomic(tg_now(), TG_HERE, (tg_reduction)reduction, at(in_global, mod(i, slots)),
                          tg_x_ref(TG_HERE, at(a, i)));
            }
        }
        sync_threads();
        when(lt(t, slots))
            set(at(from_shared, t), at(s, t));
    }
}

/* Twice in a loop, so that the scratch of the reduction is used again. */
KERNEL(gpu_allreduce) {
    params(reduction, dtype, x, y, z, axis);
    tensor(a, dtype, 2, z, y, x);
    tensor(out, dtype, 2, z, y, x);
    grid(p, 1) threads(tx, x, ty, y, tz, z) {
        const tg_expr along = axis == 0 ? tx : axis == 1 ? ty : tz;
        serial(r, 2) {
            let(total, allreduce(reduction, at(a, r, tz, ty, tx), along));
            set(at(out, r, tz, ty, tx), total);
        }
    }
}

/* Wide copies and wide arithmetic over rows of `width` elements. */
KERNEL(gpu_vectorized) {
    params(dtype, rows, width);
    tensor(a, dtype, rows, width);
    tensor(b, dtype, rows, width);
    tensor(y, dtype, rows, width);
    grid(p, ceildiv(rows, 32)) threads(t, 32) {
        local(line, dtype, width);
        let(row, mad(p, 32, t));
        when(lt(row, rows)) {
            vectorized(j, width)
                set(at(line, j), at(a, row, j));
            vectorized(j, width)
                set(at(y, row, j), add(at(line, j), at(b, row, j)));
        }
    }
}

/* One compiled kernel for every number of rows; a scalar in the arithmetic. */
KERNEL(gpu_extent) {
    params(width);
    extent(rows);
    scalar(factor, F32);
    tensor(a, F32, rows, width);
    tensor(y, F32, rows, width);
    grid(p, ceildiv(rows, 4)) threads(t, 32, r, 4) {
        let(row, mad(p, 4, r));
        when(lt(row, rows))
            serial(j, ceildiv(width, 32)) {
                let(col, mad(j, 32, t));
                when(lt(col, width))
                    set(at(y, row, col), mul(at(a, row, col), factor));
            }
    }
}

/* More shared memory than a static declaration may have, every byte used. */
KERNEL(gpu_large_shared) {
    params(words);
    tensor(a, I32, words);
    tensor(y, I32, words);
    grid(p, 1) threads(t, 256) {
        shared(s, I32, words);
        serial(j, ceildiv(words, 256)) {
            let(i, mad(j, 256, t));
            when(lt(i, words))
                set(at(s, i), at(a, i));
        }
        sync_threads();
        serial(j, ceildiv(words, 256)) {
            let(i, mad(j, 256, t));
            when(lt(i, words))
                set(at(y, i), at(s, sub(words - 1, i)));
        }
    }
}

/* The bytes of one type read as another, in shared memory and in registers. */
KERNEL(gpu_view) {
    params(n);
    tensor(a, U32, n);
    tensor(halves, F16, 2 * n);
    tensor(y, F32, n);
    grid(p, 1) threads(t, 32) {
        shared(words, U32, 32);
        const tg_buf as_half = view(words, F16, 64);
        serial(j, ceildiv(n, 32)) {
            let(i, mad(j, 32, t));
            when(lt(i, n))
                set(at(words, t), at(a, i));
            sync_threads();
            when(lt(i, n)) {
                set(at(halves, mul(i, 2)), at(as_half, mul(t, 2)));
                set(at(halves, mad(i, 2, 1)), at(as_half, mad(t, 2, 1)));
                set(at(y, i), bitcast(F32, at(words, t)));
            }
            sync_threads();
        }
    }
}

/* Branches that differ by lane, loops that differ by lane, choose that must not touch the other side. */
KERNEL(gpu_divergence) {
    params(n);
    tensor(a, I32, n);
    tensor(y, I32, n);
    grid(p, ceildiv(n, 96)) threads(t, 96) {
        let(i, mad(p, 96, t));
        local(sum, I32);
        clear(sum);
        serial(j, mod(t, 7))
            accum(sum, i32(j));
        when(lt(i, n)) {
            when(both(gt(i, 0), gt(at(a, sub(max_of(i, 1), 1)), 0)))
                accum(sum, 1000);
            otherwise
                accum(sum, choose(lt(add(i, 1), n), at(a, min_of(add(i, 1), n - 1)), -1));
            set(at(y, i), sum);
        }
    }
}

/* check() fails at one element of `n`. */
KERNEL(gpu_check) {
    params(n, bad);
    tensor(y, I32, n);
    grid(p, ceildiv(n, 64)) threads(t, 64) {
        let(i, mad(p, 64, t));
        when(lt(i, n)) {
            check(ne(i, bad), "element is allowed");
            set(at(y, i), i32(i));
        }
    }
}

/* Reads, lets the next launch in, takes its time, and writes: what does not wait finds what was there before.  `zero`
 * is 0, which the compiler cannot know. */
KERNEL(gpu_late_copy) {
    params(n);
    scalar(zero, U32);
    scalar(trips, I32);
    tensor(from_here, U32, n);
    tensor(to_there, U32, n);
    grid(p, ceildiv(n, 64)) threads(t, 64) {
        shared(kept, U32, 64);
        local(spent, U32);
        let(i, mad(p, 64, t));
        set(at(kept, t), choose(lt(i, n), at(from_here, i), 0));
        sync_threads();
        set(spent, 1);
        serial(j, trips) {
            set(spent, add(mul(spent, cast(U32, 5)), cast(U32, t)));
        }
        when(lt(i, n)) {
            set(at(to_there, i), add(at(kept, t), bit_and(spent, zero)));
        }
    }
}

/* y = 3 x + weight, the weights read first */
KERNEL(gpu_chain) {
    params(n);
    tensor(weight, U32, n);
    tensor(x, U32, n);
    tensor(y, U32, n);
    constant(weight);
    grid(p, ceildiv(n, 64)) threads(t, 64) {
        let(i, mad(p, 64, t));
        when(lt(i, n)) {
            set(at(y, i), add(mul(at(x, i), cast(U32, 3)), at(weight, i)));
        }
    }
}

/* A scalar argument of 64 bits as it came. */
KERNEL(gpu_large_scalar) {
    scalar(value, U64);
    tensor(y, U64, 1);
    grid(p, 1) threads(t, 1) {
        set(at(y, t), value);
    }
}

/* y = x + step: right for a step of 1. */
KERNEL(gpu_tunable) {
    params(n);
    tunables(width, 64, step, 1);
    require(width <= 512, "at most 512 threads");
    tensor(x, U32, n);
    tensor(y, U32, n);
    grid(p, ceildiv(n, width)) threads(t, width) {
        let(i, mad(p, width, t));
        when(lt(i, n)) {
            set(at(y, i), add(at(x, i), cast(U32, step)));
        }
    }
}
