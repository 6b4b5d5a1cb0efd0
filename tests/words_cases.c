/* words_cases.c -- kernels for test_words.c, which includes this file last: the words are macros.
 *
 * Each case starts at line 1 of "case.c", so the expected texts count lines from its KERNEL. */
#include <tegula/kernel.h>

/* clang-format off */

#line 1 "case.c"
KERNEL(thread_view) {
    params(N, K, dtype);
    tunables(block_n, 16, block_k, 4);
    require(N % 2 == 0, "N must be even");
    scalar(scale, F32);
    extent(rows);
    tensor(a, dtype, rows, K);
    pitched(p, F32, 72, N, 64);
    tensor(count, I32, N);
    tensor(flags, BOOL, N);
    tensor(y, F32, N);
    aligned(a, 4);
    alias(y, p);
    constant(a);
    grid(pid_n, ceildiv(rows, block_n), pid_m, ceildiv(N, 3)) threads(tid_k, block_k, tid_n, block_n) {
        shared(tiles, F16, block_n, block_k);
        local(sum, F32);
        local(four, U8, 4);
        const tg_buf word = view(four, U32);
        let(row, mad(pid_n, block_n, tid_n));
        let(half, 0.5);
        clear(sum);
        fill(four, 7);
        serial(k, 8)
            accum(sum, mul(scale, f32(at(a, row, k))));
        serial(i, 2, j, 4, 2)
            set(at(four, j), u8(add(i, j)));
        unrolled(u, 4)
            accum(sum, at(p, pid_m, u));
        vectorized(v, 4)
            set(at(four, v), 1);
        serial(3)
            accum(sum, 1);
        when(both(lt(row, N), negate(at(flags, row)))) {
            set(at(tiles, tid_n, tid_k), f16(sum));
            atomic_add(at(count, row), 1);
            atomic_max(at(count, row), i32(tid_k));
            atomic_min(at(count, row), neg(3));
        } otherwise
            set(at(tiles, tid_n, tid_k), 0);
        sync_threads();
        let(total, allreduce(SUM, sum, tid_k));
        set(at(flags, tid_n), ne(bit_and(word, 1), 0));
        print("row %d total %f 100%%\n", row, total);
        check(ge(total, 0), "total is negative");
        set(at(y, row), add(choose(gt(half, total), half, total), allreduce(MAX, sum, tid_n)));
    }
}

#line 1 "case.c"
KERNEL(values) {
    tensor(f, F32, 8);
    tensor(h, F16, 8);
    tensor(n, I32, 8);
    tensor(u, U64, 8);
    tensor(b, BOOL, 8);
    grid(g, 1) threads(t, 8) {
        let(x, at(f, t));
        let(i, at(n, t));
        set(at(f, t), add(x, sub(x, 2), mul(x, x, 3), quo(x, 0.1), neg(x)));
        set(at(n, t), add(mod(i, 7), quo(i, 2), shl(i, 1), shr(i, t)));
        set(at(n, t), bit_or(bit_and(i, 255), bit_xor(i, 1), bit_not(i)));
        set(at(b, t), either(eq(x, 1), ne(i, 1), lt(x, 1), le(i, 1), gt(x, 1), ge(i, 1)));
        set(at(f, t), min_of(x, max_of(x, 1), abs_of(x)));
        set(at(f, t), add(exp_of(x), log_of(x), sqrt_of(x), rsqrt_of(x), tanh_of(x)));
        set(at(h, t), f16(add(f32(i8(x)), f32(i16(x)), f32(u16(x)), f32(u32(x)), f32(f64(x)), f32(bf16(x)))));
        set(at(u, t), u64(i64(i)));
        set(at(n, t), bitcast(I32, x));
        set(at(f, t), cast(F32, bits(F16)));
        set(at(n, t), ceildiv(9, 2));
        set(at(n, t), t);
        set(at(f, t), exp_of(0));
    }
}

#line 1 "case.c"
KERNEL(block_view) {
    params(N, K);
    tunables(stages, 2);
    tensor(v, F16, K);
    tensor(m, F16, N, K);
    tensor(o, F16, N);
    grid(pid, ceildiv(N, 16)) threads(128) {
        shared(vs, F16, 32);
        shared(ms, F16, 16, 32);
        fragment(acc, F32, 16);
        fragment(part, F32, 16, 32);
        reducer(sum, SUM, F32, 16);
        local(own, F32, 4);
        clear(acc);
        fill(slice(ms, 4, 8, 0, 32), 1);
        clear(sum);
        clear(own);
        pipelined(k, ceildiv(K, 32), stages) {
            copy(tile(v, k), vs);
            copy(from(m, mul(pid, 16), mul(k, 32)), ms, .width = 8, .layout = TG_STRIPED, .outside = -1);
            copy(tile(m, pid, k), part);
            parallel(i, 16, j, 32) {
                accum(at(acc, i), mul(f32(at(ms, i, j)), f32(at(vs, j))));
                accum(at(sum, i), 1);
            }
        }
        finalize(sum);
        reduce(MAX, part, acc, 1);
        sync_threads();
        copy(slice(m, 3, 1, 0, 32), vs);
        copy(acc, tile(o, pid));
        copy(sum, tile(o, pid));
        parallel(i, 1)
            set(at(o, i), 0);
    }
}

#line 1 "case.c"
KERNEL(leave_by_break) {
    grid(b, 4) threads(t, 32) {
        serial(i, 8) {
            serial(j, 8) {
                let(x, add(i, j));
                (void)x;
                break;
            }
            let(y, i);
            (void)y;
            continue;
        }
        let(z, t);
        (void)z;
    }
}

#line 1 "case.c"
KERNEL(leave_by_return) {
    grid(b, 4) threads(t, 32)
        serial(i, 8)
            return;
}

#line 1 "case.c"
KERNEL(leave_by_goto) {
    grid(b, 4) threads(t, 32) {
        serial(i, 8)
            serial(j, 8)
                goto out;
    out:
        sync_threads();
    }
}

#line 1 "case.c"
KERNEL(nesting) {
    tensor(y, I32, 64);
    grid(b, 4) threads(t, 64) {
        serial(i, 2) {
            when(lt(t, 32)) {
                serial(j, 3) {
                    when(lt(j, 2))
                        set(at(y, t), j);
                    otherwise {
                        when(eq(i, 1))
                            set(at(y, t), 5);
                        otherwise
                            set(at(y, t), 6);
                    }
                }
            } otherwise
                set(at(y, t), i);
        }
    }
}

#line 1 "case.c"
KERNEL(wrapped_statement) {
    params(n);
    tensor(a, F16, n);
    grid(p, 1) threads(t, 32)
        set(at(a,  /* gcc: a macro's line is its first */
               t,
               p), /* clang: its last */
            1);
}

#line 1 "case.c"
KERNEL(one_message_a_mistake) {
    params(n);
    tensor(a, F16, n, n);
    grid(p, 1) threads(t, 32) {
        let(x, at(a, p));
        set(at(a, t, t), mul(3, add(x, mul(at(a, t, p), 2))));
        when(gt(x, 0))
            set(at(a, t, t), x);
        otherwise
            set(at(a, t, x), x);
        serial(i, i32(x))
            set(at(a, t, i), x);
    }
}

#line 1 "case.c"
KERNEL(gather) {
    params(n);
    tensor(index, I32, n);
    tensor(a, F32, n);
    grid(p, 1) threads(t, 32)
        set(at(a, at(index, at(index, t))), at(a, at(index, mad(p, 32, t))));
}

#if defined __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* an inner name hides an outer one, as in C */
#endif
#line 1 "case.c"
KERNEL(names_of_c_scopes) {
    tensor(y, I32, 64);
    grid(b, 1) threads(t, 64) {
        let(x, t);
        serial(i, 2) {
            let(x, mul(i, 2));
            local(z, I32);
            set(z, x);
        }
        local(z, I32);
        set(z, x);
        set(at(y, t), z);
    }
}

#if defined __GNUC__
#pragma GCC diagnostic pop
#endif

/* A branch without braces is one statement, so this otherwise stands after the serial. */
#line 1 "case.c"
KERNEL(otherwise_needs_braces) {
    tensor(y, I32, 64);
    grid(b, 1) threads(t, 64) {
        serial(i, 2)
            when(lt(t, 32))
                set(at(y, t), i);
        otherwise
            set(at(y, t), 0);
    }
}

#line 1 "case.c"
KERNEL(sixteen_of_each) {
    params(p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15);
    tunables(t0, 0, t1, 1, t2, 2, t3, 3, t4, 4, t5, 5, t6, 6, t7, 7, t8, 8, t9, 9, t10, 10, t11, 11, t12, 12, t13, 13,
             t14, 14, t15, 15);
    tensor(y, I32, 1);
    grid(1) threads(x, 1)
        set(at(y, 0), p0 + p1 + p2 + p3 + p4 + p5 + p6 + p7 + p8 + p9 + p10 + p11 + p12 + p13 + p14 + p15 + t0 + t1 +
                          t2 + t3 + t4 + t5 + t6 + t7 + t8 + t9 + t10 + t11 + t12 + t13 + t14 + t15);
}
