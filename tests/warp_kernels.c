/* warp_kernels.c -- threads that meet others of their warp, or of another, for test_warp_barriers.c; copies whose
 * bytes each warp reads itself, for test_warp_copies.c. */
#include <tegula/kernel.h>

/* ---- who meets whom ---------------------------------------------------------------------------------------- */

/* Thread i writes place i, reads place i ^ x, writes place i ^ y and reads place i. */
KERNEL(exchange) {
    params(threads, x, y);
    tensor(out, I32, threads);
    tensor(other, I32, threads);
    grid(1) threads(threads) {
        shared(s, I32, threads);
        parallel(i, threads)
            set(at(s, i), add(mul(i32(i), 3), 1));
        parallel(i, threads)
            set(at(out, i), at(s, bit_xor(i, x)));
        parallel(i, threads)
            set(at(s, bit_xor(i, y)), mul(i32(i), 5));
        parallel(i, threads)
            set(at(other, i), at(s, i));
    }
}

/* Every 32 threads have `pitch` places one behind the other, and read them from the last of theirs back, `reach` places
 * further up. */
KERNEL(mirrored_parts) {
    params(threads, pitch, reach);
    tensor(out, I32, threads);
    grid(1) threads(threads) {
        shared(s, I32, threads / 32 * pitch + 32 + reach);
        fill(s, 7);
        sync_threads();
        parallel(i, threads)
            set(at(s, mad(quo(i, 32), pitch, mod(i, 32))), add(i32(i), 1));
        parallel(i, threads)
            set(at(out, i), at(s, add(mad(quo(i, 32), pitch, sub(31, mod(i, 32))), reach)));
    }
}

/* Threads of two axes: a copy, then each the place of thread x ^ dx, y ^ dy. */
KERNEL(two_axes) {
    params(nx, ny, dx, dy);
    tensor(a, I32, ny, nx);
    tensor(out, I32, ny, nx);
    grid(1) threads(x, nx, y, ny) {
        shared(s, I32, ny, nx);
        copy(a, s, .width = 1);
        set(at(out, y, x), at(s, bit_xor(y, dy), bit_xor(x, dx)));
    }
}

/* Within an iteration warps keep to themselves; the next iteration's part has been the neighbour's.  `versions` of it. */
KERNEL(round_the_end) {
    params(threads, rounds, versions, step);
    tensor(out, I32, rounds, threads);
    grid(1) threads(threads) {
        shared(s, I32, versions, threads);
        serial(k, rounds) {
            parallel(i, threads)
                set(at(s, mod(k, versions), mod(mad(k, step, i), threads)), add(i32(i), mul(i32(k), 1000)));
            parallel(i, threads)
                set(at(out, k, i), at(s, mod(k, versions), bit_xor(mod(mad(k, step, i), threads), 1)));
        }
    }
}

/* Bytes that a copy brings while others are worked on, read by thread i ^ x. */
KERNEL(landing) {
    params(threads, rounds, stages, x);
    tensor(a, I32, rounds, threads);
    tensor(out, I32, rounds, threads);
    grid(1) threads(threads) {
        shared(s, I32, threads);
        pipelined(k, rounds, stages) {
            copy(from(a, k, 0), s, .width = 1);
            parallel(i, threads)
                set(at(out, k, i), at(s, bit_xor(i, x)));
        }
    }
}

/* A neighbour's element under a condition, and the branch that all threads take alike. */
KERNEL(in_branches) {
    params(threads, x);
    scalar(n, I32);
    tensor(out, I32, threads);
    grid(1) threads(threads) {
        shared(s, I32, threads);
        parallel(i, threads)
            set(at(s, i), mul(i32(i), 3));
        when(gt(n, 4)) {
            parallel(i, threads)
                set(at(out, i), at(s, bit_xor(i, x)));
        }
        otherwise {
            parallel(i, threads)
                set(at(out, i), at(s, i));
        }
        parallel(i, threads)
            when(lt(i, 40))
                set(at(s, i), i32(i));
        parallel(i, threads)
            accum(at(out, i), at(s, bit_xor(i, 1)));
    }
}

/* Partial sums of every warp are everybody's. */
KERNEL(sums_of_warps) {
    params(threads);
    tensor(a, I32, threads);
    tensor(out, I32, 1);
    grid(1) threads(threads) {
        reducer(sum, SUM, I32, 1);
        clear(sum);
        parallel(i, threads)
            accum(at(sum, 0), at(a, i));
        finalize(sum);
        copy(sum, out);
    }
}

/* ---- each warp what it reads itself -------------------------------------------------------------------------- */

/* Rows of `groups` groups of `size` elements; iteration p takes the group `reach` behind group p, of each row. */
KERNEL(groups_of_rows) {
    params(dtype, M, bm, groups, size, threads, stages, width, reach);
    const int64_t tiles = ceildiv(M, bm);
    tensor(a, dtype, M, groups * size);
    tensor(out, I32, tiles * bm, groups);
    grid(1) threads(threads) {
        shared(s, dtype, bm, groups * size);
        const tg_buf grouped = view(s, dtype, bm, groups, size);
        pipelined(k, tiles, stages) {
            copy(tile(a, k, 0), s, .width = (int)width);
            parallel(p, groups) {
                const tg_expr group = reach ? mod(add(p, reach), groups) : p;
                unrolled(i, bm) {
                    local(sum, I32);
                    clear(sum);
                    serial(e, size)
                        accum(sum, i32(at(grouped, i, group, e)));
                    set(at(out, mad(k, bm, i), p), sum);
                }
            }
        }
    }
}

/* The same bytes read as words. */
KERNEL(words_of_rows) {
    params(M, bm, pairs, words, threads, stages);
    const int64_t tiles = ceildiv(M, bm);
    tensor(a, U8, M, pairs * words * 4);
    tensor(out, U32, tiles * bm, pairs);
    grid(1) threads(threads) {
        shared(s, U8, bm, pairs * words * 4);
        const tg_buf view_of_words = view(s, U32, bm, pairs, words);
        pipelined(k, tiles, stages) {
            copy(tile(a, k, 0), s);
            parallel(p, pairs) {
                unrolled(i, bm) {
                    local(sum, U32);
                    clear(sum);
                    unrolled(j, words)
                        accum(sum, at(view_of_words, i, p, j));
                    set(at(out, mad(k, bm, i), p), sum);
                }
            }
        }
    }
}

/* Two tiles; of the other each thread reads what another warp would bring, where `across`.  `fills`: a part of the
 * first is filled before. */
KERNEL(two_tiles) {
    params(threads, size, rounds, stages, across, fills);
    tensor(a, F16, rounds, threads * size);
    tensor(b, F16, rounds, threads * size);
    tensor(out, F32, rounds, threads);
    grid(1) threads(threads) {
        shared(s, F16, threads * size);
        shared(t, F16, threads * size);
        const tg_buf parts = view(s, F16, threads, size), others = view(t, F16, threads, size);
        pipelined(k, rounds, stages) {
            if (fills) {
                fill(s, 3);
            }
            copy(from(a, k, 0), s);
            copy(from(b, k, 0), t);
            parallel(p, threads) {
                local(sum, F32);
                clear(sum);
                serial(e, size) {
                    accum(sum, f32(at(parts, p, e)));
                    accum(sum, f32(at(others, across ? sub(threads - 1, p) : p, e)));
                }
                set(at(out, k, p), sum);
            }
        }
    }
}

/* Threads of two axes, iterations of two: a row of `ny` for each y. */
KERNEL(rows_of_two_axes) {
    params(nx, ny, size, rounds, stages);
    tensor(a, I32, rounds, ny, nx * size);
    tensor(out, I32, rounds, ny, nx);
    grid(1) threads(x, nx, y, ny) {
        shared(s, I32, ny, nx * size);
        const tg_buf parts = view(s, I32, ny, nx, size);
        pipelined(k, rounds, stages) {
            copy(from(a, k, 0, 0), s);
            parallel(r, ny, c, nx) {
                local(sum, I32);
                clear(sum);
                serial(e, size)
                    accum(sum, at(parts, r, c, e));
                set(at(out, k, r, c), sum);
            }
        }
    }
}
