/* gemv.c -- one matrix-vector product, nine times: output[n] = sum over k of matrix[n, k] * vector[k].
 *
 * The matrix lies row after row, as the weights of a linear layer do.  Every kernel adds up in f32 and writes each
 * output once.  N and K need not be multiples of anything: `when` and `choose` stand guard at the edges, and where
 * nothing can be outside they leave no trace in the CUDA text.
 *
 * Read from the top: each kernel changes one thing of the one before. */
#include <math.h>
#include <tegula/kernel.h>

#define REQUIRE_HALF(dtype) require((dtype) == F16 || (dtype) == BF16, "dtype must be f16 or bf16")

/* One thread for one output.  The threads of a block share a tile of the vector. */
KERNEL(thread_naive) {
    params(N, K, dtype);
    tunables(block_n, 128, block_k, 128);
    REQUIRE_HALF(dtype);
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    tensor(output, dtype, N);

    grid(pid_n, ceildiv(N, block_n)) threads(tid_n, block_n) {
        shared(vector_shared, dtype, block_k);
        shared(matrix_shared, dtype, block_n, block_k);
        local(accumulator, F32);
        let(row, mad(pid_n, block_n, tid_n));
        clear(accumulator);

        serial(pid_k, ceildiv(K, block_k)) {
            when(eq(tid_n, 0)) {
                serial(k, block_k) {
                    let(col, mad(pid_k, block_k, k));
                    set(at(vector_shared, k), choose(lt(col, K), at(vector, col), 0));
                }
            }
            serial(k, block_k) {
                let(col, mad(pid_k, block_k, k));
                set(at(matrix_shared, tid_n, k), choose(both(lt(row, N), lt(col, K)), at(matrix, row, col), 0));
            }
            sync_threads();
            serial(k, block_k) {
                accum(accumulator, mul(f32(at(vector_shared, k)), f32(at(matrix_shared, tid_n, k))));
            }
            sync_threads();
        }

        when(lt(row, N)) {
            set(at(output, row), cast(dtype, accumulator));
        }
    }
}

/* K is shared out too: block_k threads for one output, their sums joined by atomics.  Neighbouring threads are in
 * different rows, so each load of a warp touches 32 of them. */
KERNEL(thread_naive_split_k) {
    params(N, K, dtype);
    tunables(block_n, 32, block_k, 32);
    REQUIRE_HALF(dtype);
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    tensor(output, dtype, N);

    grid(pid_n, ceildiv(N, block_n)) threads(tid_n, block_n, tid_k, block_k) {
        local(accumulator, F32);
        shared(reduced, F32, block_n);
        let(row, mad(pid_n, block_n, tid_n));
        when(eq(tid_k, 0)) {
            set(at(reduced, tid_n), 0);
        }
        clear(accumulator);
        sync_threads();

        serial(pid_k, ceildiv(K, block_k)) {
            let(col, mad(pid_k, block_k, tid_k));
            when(both(lt(row, N), lt(col, K))) {
                accum(accumulator, mul(f32(at(vector, col)), f32(at(matrix, row, col))));
            }
        }

        atomic_add(at(reduced, tid_n), accumulator);
        sync_threads();
        when(both(eq(tid_k, 0), lt(row, N))) {
            set(at(output, row), cast(dtype, at(reduced, tid_n)));
        }
    }
}

/* The two axes of the threads change places: neighbouring threads read neighbouring elements of one row. */
KERNEL(thread_coalesced_naive_split_k) {
    params(N, K, dtype);
    tunables(block_n, 32, block_k, 32);
    REQUIRE_HALF(dtype);
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    tensor(output, dtype, N);

    grid(pid_n, ceildiv(N, block_n)) threads(tid_k, block_k, tid_n, block_n) {
        local(accumulator, F32);
        shared(reduced, F32, block_n);
        let(row, mad(pid_n, block_n, tid_n));
        when(eq(tid_k, 0)) {
            set(at(reduced, tid_n), 0);
        }
        clear(accumulator);
        sync_threads();

        serial(pid_k, ceildiv(K, block_k)) {
            let(col, mad(pid_k, block_k, tid_k));
            when(both(lt(row, N), lt(col, K))) {
                accum(accumulator, mul(f32(at(vector, col)), f32(at(matrix, row, col))));
            }
        }

        atomic_add(at(reduced, tid_n), accumulator);
        sync_threads();
        when(both(eq(tid_k, 0), lt(row, N))) {
            set(at(output, row), cast(dtype, at(reduced, tid_n)));
        }
    }
}

/* Fewer threads with more to do: each takes tile_k consecutive elements of a tile into registers. */
KERNEL(thread_split_k) {
    params(N, K, dtype);
    tunables(block_n, 32, block_k, 32, reduce_threads, 32);
    REQUIRE_HALF(dtype);
    require(reduce_threads > 0 && block_k % reduce_threads == 0, "block_k must be a multiple of reduce_threads");
    const int64_t tile_k = block_k / reduce_threads;
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    tensor(output, dtype, N);

    grid(pid_n, ceildiv(N, block_n)) threads(tid_n, block_n, tid_k, reduce_threads) {
        local(vector_local, dtype, tile_k);
        local(matrix_local, dtype, tile_k);
        local(accumulator, F32);
        shared(reduced, F32, block_n);
        let(row, mad(pid_n, block_n, tid_n));
        when(eq(tid_k, 0)) {
            set(at(reduced, tid_n), 0);
        }
        clear(accumulator);
        sync_threads();

        serial(pid_k, ceildiv(K, block_k)) {
            serial(k, tile_k) {
                let(col, add(mul(pid_k, block_k), mul(tid_k, tile_k), k));
                set(at(vector_local, k), choose(lt(col, K), at(vector, col), 0));
                set(at(matrix_local, k), choose(both(lt(row, N), lt(col, K)), at(matrix, row, col), 0));
            }
            serial(k, tile_k) {
                accum(accumulator, mul(f32(at(vector_local, k)), f32(at(matrix_local, k))));
            }
        }

        atomic_add(at(reduced, tid_n), accumulator);
        sync_threads();
        when(both(eq(tid_k, 0), lt(row, N))) {
            set(at(output, row), cast(dtype, at(reduced, tid_n)));
        }
    }
}

/* The same with the axes changed: at every step the threads of a row stay within the same few sectors. */
KERNEL(thread_coalesced_split_k) {
    params(N, K, dtype);
    tunables(block_n, 32, block_k, 32, reduce_threads, 8);
    REQUIRE_HALF(dtype);
    require(reduce_threads > 0 && block_k % reduce_threads == 0, "block_k must be a multiple of reduce_threads");
    const int64_t tile_k = block_k / reduce_threads;
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    tensor(output, dtype, N);

    grid(pid_n, ceildiv(N, block_n)) threads(tid_k, reduce_threads, tid_n, block_n) {
        local(vector_local, dtype, tile_k);
        local(matrix_local, dtype, tile_k);
        local(accumulator, F32);
        shared(reduced, F32, block_n);
        let(row, mad(pid_n, block_n, tid_n));
        when(eq(tid_k, 0)) {
            set(at(reduced, tid_n), 0);
        }
        clear(accumulator);
        sync_threads();

        serial(pid_k, ceildiv(K, block_k)) {
            serial(k, tile_k) {
                let(col, add(mul(pid_k, block_k), mul(tid_k, tile_k), k));
                set(at(vector_local, k), choose(lt(col, K), at(vector, col), 0));
                set(at(matrix_local, k), choose(both(lt(row, N), lt(col, K)), at(matrix, row, col), 0));
            }
            serial(k, tile_k) {
                accum(accumulator, mul(f32(at(vector_local, k)), f32(at(matrix_local, k))));
            }
        }

        atomic_add(at(reduced, tid_n), accumulator);
        sync_threads();
        when(both(eq(tid_k, 0), lt(row, N))) {
            set(at(output, row), cast(dtype, at(reduced, tid_n)));
        }
    }
}

/* 16 bytes is the most that one load can bring; less where rows do not begin at multiples of that. */
static int64_t widest_tile(int64_t dtype, int64_t K) {
    int64_t tile_k = 128 / bits(dtype);
    while (tile_k > 1 && K % tile_k != 0) {
        tile_k /= 2;
    }
    return tile_k;
}

/* Each thread takes its part of a tile by one wide load. */
KERNEL(thread_vectorized_split_k) {
    params(N, K, dtype);
    tunables(block_n, 2, reduce_threads, 32);
    REQUIRE_HALF(dtype);
    const int64_t tile_k = widest_tile(dtype, K);
    require(tile_k > 1, "K must be even: rows of an odd length allow no wide loads");
    const int64_t block_k = reduce_threads * tile_k;
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    tensor(output, dtype, N);

    grid(pid_n, ceildiv(N, block_n)) threads(tid_n, block_n, tid_k, reduce_threads) {
        local(vector_local, dtype, tile_k);
        local(matrix_local, dtype, tile_k);
        local(accumulator, F32);
        shared(reduced, F32, block_n);
        let(row, mad(pid_n, block_n, tid_n));
        when(eq(tid_k, 0)) {
            set(at(reduced, tid_n), 0);
        }
        clear(accumulator);
        sync_threads();

        serial(pid_k, ceildiv(K, block_k)) {
            let(col, mad(pid_k, block_k, mul(tid_k, tile_k)));
            when(both(lt(row, N), lt(col, K))) {
                vectorized(k, tile_k) {
                    set(at(vector_local, k), at(vector, add(col, k)));
                    set(at(matrix_local, k), at(matrix, row, add(col, k)));
                }
                serial(k, tile_k) {
                    accum(accumulator, mul(f32(at(vector_local, k)), f32(at(matrix_local, k))));
                }
            }
        }

        atomic_add(at(reduced, tid_n), accumulator);
        sync_threads();
        when(both(eq(tid_k, 0), lt(row, N))) {
            set(at(output, row), cast(dtype, at(reduced, tid_n)));
        }
    }
}

/* The sums are joined by an all-reduce along tid_k instead of atomics. */
KERNEL(thread_allreduce_split_k) {
    params(N, K, dtype);
    tunables(block_n, 2, reduce_threads, 32);
    REQUIRE_HALF(dtype);
    const int64_t tile_k = widest_tile(dtype, K);
    require(tile_k > 1, "K must be even: rows of an odd length allow no wide loads");
    const int64_t block_k = reduce_threads * tile_k;
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    tensor(output, dtype, N);

    grid(pid_n, ceildiv(N, block_n)) threads(tid_n, block_n, tid_k, reduce_threads) {
        local(vector_local, dtype, tile_k);
        local(matrix_local, dtype, tile_k);
        local(accumulator, F32);
        let(row, mad(pid_n, block_n, tid_n));
        clear(accumulator);

        serial(pid_k, ceildiv(K, block_k)) {
            let(col, mad(pid_k, block_k, mul(tid_k, tile_k)));
            when(both(lt(row, N), lt(col, K))) {
                vectorized(k, tile_k) {
                    set(at(vector_local, k), at(vector, add(col, k)));
                    set(at(matrix_local, k), at(matrix, row, add(col, k)));
                }
                serial(k, tile_k) {
                    accum(accumulator, mul(f32(at(vector_local, k)), f32(at(matrix_local, k))));
                }
            }
        }

        let(sum, allreduce(SUM, accumulator, tid_k));
        when(both(eq(tid_k, 0), lt(row, N))) {
            set(at(output, row), cast(dtype, sum));
        }
    }
}

/* Through shared memory: neighbours load neighbouring elements, then each reads its own part back by wide loads. */
KERNEL(thread_shared_memory_split_k) {
    params(N, K, dtype);
    tunables(block_n, 2, reduce_threads, 32);
    REQUIRE_HALF(dtype);
    const int64_t tile_k = 128 / bits(dtype);
    const int64_t block_k = reduce_threads * tile_k;
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    tensor(output, dtype, N);

    grid(pid_n, ceildiv(N, block_n)) threads(tid_k, reduce_threads, tid_n, block_n) {
        shared(vector_shared, dtype, block_k);
        shared(matrix_shared, dtype, block_n, block_k);
        local(vector_local, dtype, tile_k);
        local(matrix_local, dtype, tile_k);
        local(accumulator, F32);
        shared(reduced, F32, block_n);
        let(row, mad(pid_n, block_n, tid_n));
        when(eq(tid_k, 0)) {
            set(at(reduced, tid_n), 0);
        }
        clear(accumulator);

        serial(pid_k, ceildiv(K, block_k)) {
            serial(i, tile_k) {
                let(k, mad(i, reduce_threads, tid_k));
                let(col, mad(pid_k, block_k, k));
                when(eq(tid_n, 0)) {
                    set(at(vector_shared, k), choose(lt(col, K), at(vector, col), 0));
                }
                set(at(matrix_shared, tid_n, k), choose(both(lt(row, N), lt(col, K)), at(matrix, row, col), 0));
            }
            sync_threads();
            vectorized(k, tile_k) {
                set(at(vector_local, k), at(vector_shared, mad(tid_k, tile_k, k)));
                set(at(matrix_local, k), at(matrix_shared, tid_n, mad(tid_k, tile_k, k)));
            }
            serial(k, tile_k) {
                accum(accumulator, mul(f32(at(vector_local, k)), f32(at(matrix_local, k))));
            }
            sync_threads();
        }

        atomic_add(at(reduced, tid_n), accumulator);
        sync_threads();
        when(both(eq(tid_k, 0), lt(row, N))) {
            set(at(output, row), cast(dtype, at(reduced, tid_n)));
        }
    }
}

/* Shared memory again, but one element a thread: two barriers for every 32 elements of a row. */
KERNEL(thread_intra_block_split_k) {
    params(N, K, dtype);
    tunables(block_n, 32, block_k, 32);
    REQUIRE_HALF(dtype);
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    tensor(output, dtype, N);

    grid(pid_n, ceildiv(N, block_n)) threads(tid_k, block_k, tid_n, block_n) {
        shared(vector_shared, dtype, block_k);
        shared(matrix_shared, dtype, block_n, block_k);
        local(accumulator, F32);
        shared(reduced, F32, block_n);
        let(row, mad(pid_n, block_n, tid_n));
        when(eq(tid_k, 0)) {
            set(at(reduced, tid_n), 0);
        }
        clear(accumulator);

        serial(pid_k, ceildiv(K, block_k)) {
            let(col, mad(pid_k, block_k, tid_k));
            when(eq(tid_n, 0)) {
                set(at(vector_shared, tid_k), choose(lt(col, K), at(vector, col), 0));
            }
            set(at(matrix_shared, tid_n, tid_k), choose(both(lt(row, N), lt(col, K)), at(matrix, row, col), 0));
            sync_threads();
            accum(accumulator, mul(f32(at(vector_shared, tid_k)), f32(at(matrix_shared, tid_n, tid_k))));
            sync_threads();
        }

        atomic_add(at(reduced, tid_n), accumulator);
        sync_threads();
        when(both(eq(tid_k, 0), lt(row, N))) {
            set(at(output, row), cast(dtype, at(reduced, tid_n)));
        }
    }
}

/* ---- the reference: what every kernel must compute, in double ---------------------------------------------- */

/* f16 has 5 bits of exponent and 10 of fraction, bf16 8 and 7. */
static int fraction_bits(int64_t dtype) {
    return dtype == F16 ? 10 : 7;
}

static int exponent_bias(int64_t dtype) {
    return dtype == F16 ? 15 : 127;
}

static double half_to_double(uint16_t half, int64_t dtype) {
    const int fraction = fraction_bits(dtype), bias = exponent_bias(dtype);
    const int exponent = (half & 0x7fff) >> fraction;
    const int mantissa = half & ((1 << fraction) - 1);
    double x;
    if (exponent == 2 * bias + 1) {
        x = mantissa ? (double)NAN : (double)INFINITY;
    } else if (exponent == 0) {
        x = ldexp(mantissa, 1 - bias - fraction);
    } else {
        x = ldexp(mantissa + (1 << fraction), exponent - bias - fraction);
    }
    return half & 0x8000 ? -x : x;
}

/* Rounds to nearest, ties to even. */
static uint16_t double_to_half(double x, int64_t dtype) {
    const int fraction = fraction_bits(dtype), bias = exponent_bias(dtype);
    const unsigned sign = signbit(x) ? 0x8000 : 0;
    const unsigned infinity = (2u * (unsigned)bias + 1) << fraction;
    int exponent;
    if (isnan(x)) {
        return 0x7fff;
    }
    if (isinf(x)) {
        return (uint16_t)(sign | infinity);
    }
    frexp(x, &exponent);
    exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    /* Counted in units of the last place, a carry out of the fraction moves into the exponent by itself. */
    const double units = nearbyint(ldexp(fabs(x), fraction - exponent));
    const unsigned half = (unsigned)units + ((unsigned)(exponent + bias - 1) << fraction);
    return (uint16_t)(sign | (half < infinity ? half : infinity));
}

void gemv_reference(const tg_config *config, void *const args[]) {
    const uint16_t *vector = args[0], *matrix = args[1];
    uint16_t *output = args[2];
    int64_t N = 0, K = 0, dtype = F16;
    static _Thread_local double value[1 << 16]; /* of every half: looking up is faster than converting */
    tg_config_get(config, "N", &N);
    tg_config_get(config, "K", &K);
    tg_config_get(config, "dtype", &dtype);
    for (int half = 0; half < 1 << 16; half++) {
        value[half] = half_to_double((uint16_t)half, dtype);
    }
    for (int64_t n = 0; n < N; n++) {
        double sum = 0;
        for (int64_t k = 0; k < K; k++) {
            sum += value[matrix[n * K + k]] * value[vector[k]];
        }
        output[n] = double_to_half(sum, dtype);
    }
}
