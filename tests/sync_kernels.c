/* sync_kernels.c -- hazards between collective operations, and between them and threads by name, for
 * test_sync.c: what is missing or to spare shows on the simulator. */
#include <tegula/kernel.h>

/* A part of what a copy wrote is filled, again and again. */
KERNEL(fill_part) {
    params(threads, rounds);
    tensor(a, I32, 4, 16);
    tensor(out, I32, 4, 16);
    grid(1) threads(threads) {
        shared(s, I32, 16);
        serial(r, rounds) {
            copy(from(a, r, 0), s);
            fill(slice(s, 10, 6), 77);
            copy(s, from(out, r, 0));
        }
    }
}

/* A neighbour's element under a condition that half a wave meets. */
KERNEL(part_of_the_block) {
    params(threads, limit);
    tensor(out, I32, 128);
    grid(1) threads(threads) {
        shared(s, I32, 128);
        parallel(i, 128)
            when(lt(i, limit))
                set(at(s, i), add(mul(i32(i), 3), 1));
        parallel(i, 128)
            when(lt(i, limit))
                set(at(out, i), at(s, sub(limit - 1, i)));
    }
}

/* Two adds into shared memory, from data; a read of all of it. */
KERNEL(counting) {
    params(threads, n);
    tensor(a, I32, n);
    tensor(out, I32, 13);
    grid(1) threads(threads) {
        shared(bins, I32, 13);
        clear(bins);
        parallel(i, n) {
            atomic_add(at(bins, at(a, i)), 1);
            atomic_add(at(bins, mod(add(at(a, i), 1), 13)), 2);
        }
        parallel(i, n)
            atomic_add(at(bins, mod(i, 13)), 100);
        copy(bins, out);
    }
}

/* Store, add, read: each at another thread's place. */
KERNEL(three_places) {
    params(threads);
    tensor(out, I32, 64);
    grid(1) threads(threads) {
        shared(s, I32, 64);
        parallel(i, 64)
            set(at(s, bit_xor(i, 1)), 0);
        parallel(i, 64)
            atomic_add(at(s, i), add(i32(i), 1));
        parallel(i, 64)
            set(at(out, i), at(s, bit_xor(i, 32)));
    }
}

/* Threads by name read what the block cleared and copied. */
KERNEL(both_views) {
    params(threads, rounds);
    tensor(a, I32, 4, 64);
    tensor(out, I32, 4, 64);
    grid(1) threads(tid, threads) {
        shared(s, I32, 64);
        serial(r, rounds) {
            clear(s);
            when(lt(tid, 64))
                accum(at(s, sub(63, tid)), 5);
            parallel(i, 64)
                accum(at(s, i), at(a, r, i));
            when(lt(tid, 64))
                set(at(out, r, tid), at(s, bit_xor(tid, 3)));
        }
    }
}

/* The same bytes as another type. */
KERNEL(two_types) {
    params(threads, rounds);
    tensor(a, U8, 4, 64);
    tensor(out, I32, 4, 16);
    grid(1) threads(threads) {
        shared(s, I32, 16);
        const tg_buf bytes = view(s, U8, 64);
        serial(r, rounds) {
            copy(from(a, r, 0), bytes);
            parallel(i, 16)
                set(at(out, r, i), at(s, sub(15, i)));
        }
    }
}

/* One buffer for two passes over the rows. */
KERNEL(two_passes) {
    params(threads);
    tensor(a, I32, 4, 32);
    tensor(sums, I32, 32);
    tensor(out, I32, 4, 32);
    grid(1) threads(threads) {
        shared(s, I32, 32);
        fragment(sum, I32, 32);
        clear(sum);
        serial(r, 4) {
            copy(from(a, r, 0), s);
            parallel(i, 32)
                accum(at(sum, i), at(s, sub(31, i)));
        }
        serial(r, 4) {
            copy(from(a, r, 0), s);
            parallel(i, 32)
                set(at(out, r, i), sub(mul(at(s, sub(31, i)), 4), at(sum, i)));
        }
        copy(sum, sums);
    }
}

/* A condition that all threads share, read from shared memory; the operations are inside. */
KERNEL(behind_shared_flag) {
    params(threads, rounds);
    tensor(a, I32, 4, 32);
    tensor(out, I32, 4, 32);
    grid(1) threads(threads) {
        shared(flag, I32, 1);
        shared(s, I32, 32);
        clear(s);
        serial(r, rounds) {
            parallel(i, 1)
                set(at(flag, i), mod(at(a, r, 0), 2));
            when(eq(at(flag, 0), 0)) {
                copy(from(a, r, 0), s);
                parallel(i, 32)
                    set(at(out, r, i), at(s, sub(31, i)));
            }
            otherwise {
                parallel(i, 32)
                    set(at(out, r, i), neg(at(s, sub(31, i))));
            }
        }
    }
}

/* Rows of global memory: written by the block, read by it again. */
KERNEL(through_global) {
    params(threads, shift);
    tensor(a, I32, 5, 32);
    grid(1) threads(threads) {
        fragment(f, I32, 32);
        serial(r, 4) {
            copy(from(a, r, 0), f);
            parallel(i, 32)
                accum(at(f, i), 1);
            copy(f, from(a, add(r, shift), 0));
            parallel(i, 32)
                set(at(a, add(r, shift), i), add(at(a, add(r, shift), i), i32(i)));
        }
    }
}

/* Two versions by hand: no operation of one iteration meets the other's. */
KERNEL(versions_by_hand) {
    params(threads, rounds);
    tensor(a, I32, 9, 32);
    tensor(out, I32, 9, 32);
    grid(1) threads(threads) {
        shared(s, I32, 2, 32);
        serial(r, rounds) {
            copy(from(a, r, 0), slice(s, mod(r, 2), 1, 0, 32));
            parallel(i, 32)
                set(at(out, r, i), at(s, mod(r, 2), sub(31, i)));
        }
    }
}

/* Tile after tile into `out`, whose rows end inside the last tile of a row; `how` 1: tiles reach one column into the next
 * one, 2: what a tile stores has been another thread's. */
KERNEL(ragged_tiles) {
    params(M, N, bm, bn, threads, how);
    tensor(a, F16, M, N);
    tensor(out, F32, M, N);
    grid(1) threads(threads) {
        shared(s, F16, bm, bn);
        serial(i, ceildiv(M, bm)) {
            serial(k, ceildiv(N, bn)) {
                copy(tile(a, i, k), s, .width = how == 2 ? 0 : 1);
                if (how == 0) {
                    copy(s, tile(out, i, k), .width = 1);
                } else if (how == 1) {
                    copy(s, from(out, mul(i, bm), mul(k, bn - 1)), .width = 1);
                } else {
                    parallel(r, bm, c, bn) {
                        when(both(lt(add(mul(i, bm), r), M), lt(add(mul(k, bn), c), N))) {
                            set(at(out, add(mul(i, bm), r), add(mul(k, bn), c)),
                                f32(at(s, r, sub(bn - 1, c))));
                        }
                    }
                }
            }
        }
    }
}
