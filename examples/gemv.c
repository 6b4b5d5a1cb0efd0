/* gemv.c -- one matrix-vector product, fourteen times: output[n] = sum over k of matrix[n, k] * vector[k].
 *
 * The matrix lies row after row, as the weights of a linear layer do.  Every kernel adds up in f32.  N and K
 * need not be multiples of anything.  Nine kernels in thread view say what each thread does: there `when` and
 * `choose` stand guard at the edges, and where nothing can be outside they leave no trace in the CUDA text.
 * Five in block view say what the block does with a tile: there the copies guard themselves.
 *
 * Read from the top: each kernel changes one thing of the one before. */
#include "reference.h"
#include <tegula/kernel.h>

#define REQUIRE_HALF(dtype) require((dtype) == F16 || (dtype) == BF16, "dtype must be f16 or bf16")

/* ---- thread view -------------------------------------------------------------------------------------- */

/* One thread for one output.  The threads of a block share a tile of the vector. */
KERNEL(thread_naive) {
    params(N, K, dtype);
    tunables(block_n, 128, block_k, 128);
    REQUIRE_HALF(dtype);
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    constant(matrix);
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
                set(at(matrix_shared, tid_n, k),
                    choose(both(lt(row, N), lt(col, K)), at(matrix, row, col), 0));
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

/* K is shared out too: block_k threads for one output, their sums joined by atomics.  Neighbouring threads
 * are in different rows, so each load of a warp touches 32 of them. */
KERNEL(thread_naive_split_k) {
    params(N, K, dtype);
    tunables(block_n, 32, block_k, 32);
    REQUIRE_HALF(dtype);
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    constant(matrix);
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

/* The two axes of the threads change places: neighbouring threads read neighbouring elements of one row.
 * Now the wait for each element is what costs: how many are under way at a time, two more tunables say. */
KERNEL(thread_coalesced_naive_split_k) {
    params(N, K, dtype);
    tunables(block_n, 32, block_k, 32, unroll, 0, blocks_per_sm, 0);
    REQUIRE_HALF(dtype);
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    constant(matrix);
    tensor(output, dtype, N);
    resident(blocks_per_sm);

    grid(pid_n, ceildiv(N, block_n)) threads(tid_k, block_k, tid_n, block_n) {
        local(accumulator, F32);
        shared(reduced, F32, block_n);
        let(row, mad(pid_n, block_n, tid_n));
        when(eq(tid_k, 0)) {
            set(at(reduced, tid_n), 0);
        }
        clear(accumulator);
        sync_threads();

        serial(pid_k, ceildiv(K, block_k), unroll) {
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
    require(reduce_threads > 0 && block_k % reduce_threads == 0,
            "block_k must be a multiple of reduce_threads");
    const int64_t tile_k = block_k / reduce_threads;
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    constant(matrix);
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
    require(reduce_threads > 0 && block_k % reduce_threads == 0,
            "block_k must be a multiple of reduce_threads");
    const int64_t tile_k = block_k / reduce_threads;
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    constant(matrix);
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
    constant(matrix);
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
    constant(matrix);
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

/* Through shared memory: neighbours load neighbouring elements, then each reads its own part back by wide
 * loads. */
KERNEL(thread_shared_memory_split_k) {
    params(N, K, dtype);
    tunables(block_n, 2, reduce_threads, 32);
    REQUIRE_HALF(dtype);
    const int64_t tile_k = 128 / bits(dtype);
    const int64_t block_k = reduce_threads * tile_k;
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    constant(matrix);
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
                set(at(matrix_shared, tid_n, k),
                    choose(both(lt(row, N), lt(col, K)), at(matrix, row, col), 0));
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
    constant(matrix);
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
            set(at(matrix_shared, tid_n, tid_k),
                choose(both(lt(row, N), lt(col, K)), at(matrix, row, col), 0));
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

/* ---- block view --------------------------------------------------------------------------------------- */

/* The schedule of thread_naive in four steps: make room for tiles, copy them in, compute, copy the result
 * out.  Which thread does what, how wide the accesses are and where barriers stand is no longer said.  With more
 * threads than rows all of them copy, and the sum of a row is added up by several threads alike. */
KERNEL(block_naive) {
    params(N, K, dtype);
    tunables(block_n, 128, block_k, 128, num_threads, block_n);
    REQUIRE_HALF(dtype);
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    constant(matrix);
    tensor(output, dtype, N);

    grid(pid_n, ceildiv(N, block_n)) threads(num_threads) {
        shared(vector_shared, dtype, block_k);
        shared(matrix_shared, dtype, block_n, block_k);
        fragment(accumulator, F32, block_n);
        clear(accumulator);

        serial(pid_k, ceildiv(K, block_k)) {
            copy(tile(vector, pid_k), vector_shared);
            copy(tile(matrix, pid_n, pid_k), matrix_shared);
            parallel(i, block_n) {
                serial(k, block_k) {
                    accum(at(accumulator, i), mul(f32(at(matrix_shared, i, k)), f32(at(vector_shared, k))));
                }
            }
        }

        copy(accumulator, tile(output, pid_n));
    }
}

/* One block for one tile: more blocks than rows of tiles.  Each adds its part to the output, so the output
 * must be f32, which does not round each of these sums to half, and must be 0 before.  The call is three
 * steps: fill, this, cast_output. */
KERNEL(block_split_k) {
    params(N, K, dtype);
    tunables(block_n, 128, block_k, 128);
    REQUIRE_HALF(dtype);
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    constant(matrix);
    tensor(output, F32, N);

    grid(pid_n, ceildiv(N, block_n), pid_k, ceildiv(K, block_k)) threads(block_n) {
        shared(vector_shared, dtype, block_k);
        shared(matrix_shared, dtype, block_n, block_k);
        fragment(accumulator, F32, block_n);
        clear(accumulator);

        copy(tile(vector, pid_k), vector_shared);
        copy(tile(matrix, pid_n, pid_k), matrix_shared);
        parallel(i, block_n) {
            serial(k, block_k) {
                accum(at(accumulator, i), mul(f32(at(matrix_shared, i, k)), f32(at(vector_shared, k))));
            }
        }

        parallel(i, block_n) {
            let(row, mad(pid_n, block_n, i));
            when(lt(row, N)) {
                atomic_add(at(output, row), at(accumulator, i));
            }
        }
    }
}

/* The two loops change places: k outside, and inside it all rows of the tile at once. */
KERNEL(block_split_k_v2) {
    params(N, K, dtype);
    tunables(block_n, 128, block_k, 128);
    REQUIRE_HALF(dtype);
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    constant(matrix);
    tensor(output, F32, N);

    grid(pid_n, ceildiv(N, block_n), pid_k, ceildiv(K, block_k)) threads(block_n) {
        shared(vector_shared, dtype, block_k);
        shared(matrix_shared, dtype, block_n, block_k);
        fragment(accumulator, F32, block_n);
        clear(accumulator);

        copy(tile(vector, pid_k), vector_shared);
        copy(tile(matrix, pid_n, pid_k), matrix_shared);
        serial(k, block_k) {
            parallel(i, block_n) {
                accum(at(accumulator, i), mul(f32(at(matrix_shared, i, k)), f32(at(vector_shared, k))));
            }
        }

        parallel(i, block_n) {
            let(row, mad(pid_n, block_n, i));
            when(lt(row, N)) {
                atomic_add(at(output, row), at(accumulator, i));
            }
        }
    }
}

/* The last step of the two above: copy converts. */
KERNEL(cast_output) {
    params(N, dtype);
    tunables(block_n, 1024, num_threads, 256);
    REQUIRE_HALF(dtype);
    tensor(output, F32, N);
    tensor(rounded, dtype, N);

    grid(pid_n, ceildiv(N, block_n)) threads(num_threads) {
        copy(slice(output, mul(pid_n, block_n), block_n), tile(rounded, pid_n));
    }
}

/* block_naive with one word changed: the copies of later tiles run while this tile is added up. */
KERNEL(block_pipelined) {
    params(N, K, dtype);
    tunables(block_n, 128, block_k, 128, num_stages, 2, num_threads, block_n);
    REQUIRE_HALF(dtype);
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    constant(matrix);
    tensor(output, dtype, N);

    grid(pid_n, ceildiv(N, block_n)) threads(num_threads) {
        shared(vector_shared, dtype, block_k);
        shared(matrix_shared, dtype, block_n, block_k);
        fragment(accumulator, F32, block_n);
        clear(accumulator);

        pipelined(pid_k, ceildiv(K, block_k), num_stages) {
            copy(tile(vector, pid_k), vector_shared);
            copy(tile(matrix, pid_n, pid_k), matrix_shared);
            parallel(i, block_n) {
                serial(k, block_k) {
                    accum(at(accumulator, i), mul(f32(at(matrix_shared, i, k)), f32(at(vector_shared, k))));
                }
            }
        }

        copy(accumulator, tile(output, pid_n));
    }
}

/* The whole tile is spread over the threads, in registers, and many threads add to the same sum: that is what
 * a reducer is for.  The shortest of the fourteen. */
KERNEL(block_alloc_reducer) {
    params(N, K, dtype);
    tunables(block_n, 128, block_k, 128, num_stages, 2, num_threads, 256);
    REQUIRE_HALF(dtype);
    require(block_n * block_k <= 128 * num_threads, "a thread would hold more than 128 elements of a tile");
    tensor(vector, dtype, K);
    tensor(matrix, dtype, N, K);
    constant(matrix);
    tensor(output, dtype, N);

    grid(pid_n, ceildiv(N, block_n)) threads(num_threads) {
        fragment(vector_fragment, dtype, block_k);
        fragment(matrix_fragment, dtype, block_n, block_k);
        reducer(sums, SUM, F32, block_n);
        clear(sums);

        pipelined(pid_k, ceildiv(K, block_k), num_stages) {
            copy(tile(vector, pid_k), vector_fragment);
            copy(tile(matrix, pid_n, pid_k), matrix_fragment);
            parallel(i, block_n, k, block_k) {
                accum(at(sums, i), mul(f32(at(matrix_fragment, i, k)), f32(at(vector_fragment, k))));
            }
        }

        finalize(sums);
        copy(sums, tile(output, pid_n));
    }
}

/* ---- the references: what every kernel must compute, in double ---------------------------------------- */

static void gemv(const tg_config *config, const uint16_t *vector, const uint16_t *matrix, uint16_t *output) {
    const int64_t N = value_of(config, "N"), K = value_of(config, "K"), dtype = value_of(config, "dtype");
    for (int64_t n = 0; n < N; n++) {
        double sum = 0;
        for (int64_t k = 0; k < K; k++) {
            sum += half_to_double(matrix[n * K + k], dtype) * half_to_double(vector[k], dtype);
        }
        output[n] = double_to_half(sum, dtype);
    }
}

void gemv_reference(const tg_config *config, void *const args[]) {
    gemv(config, args[0], args[1], args[2]);
}

/* Of a call in steps: the sums in f32 stand between the matrix and what is asked for. */
void gemv_split_reference(const tg_config *config, void *const args[]) {
    gemv(config, args[0], args[1], args[3]);
}

void cast_output_reference(const tg_config *config, void *const args[]) {
    const int64_t N = value_of(config, "N"), dtype = value_of(config, "dtype");
    for (int64_t n = 0; n < N; n++) {
        put_element(args[1], dtype, n, element_of(args[0], F32, n));
    }
}
