/* engine.c -- what an inference engine runs between its matrix products, and one of these over 4-bit weights.
 *
 * All in block view: tiles come in by copies, which guard the edges and convert; parallel loops and
 * reductions work on them in registers, in f32; copies bring them out.  Where a kernel has `rows`, their
 * number is known at launch only, and one compiled kernel serves any. */
#include "reference.h"
#include <tegula/kernel.h>

#define REQUIRE_FLOAT(dtype) \
    require((dtype) == F16 || (dtype) == BF16 || (dtype) == F32, "dtype must be f16, bf16 or f32")
/* Whole rows are kept in registers between reading and writing them. */
#define REQUIRE_ROOM(elements, num_threads) \
    require((elements) <= 128 * (num_threads), "a thread would hold more than 128 elements of the rows")

/* y[i, j] = exp(x[i, j]) / sum over j of exp(x[i, j]).  The largest element of the row is taken off first, so
 * that no exp is above 1. */
KERNEL(softmax) {
    params(N, dtype);
    tunables(block_m, 1, num_threads, 256);
    REQUIRE_FLOAT(dtype);
    REQUIRE_ROOM(block_m * N, num_threads);
    extent(rows);
    tensor(x, dtype, rows, N);
    tensor(y, dtype, rows, N);

    grid(pid_m, ceildiv(rows, block_m)) threads(num_threads) {
        fragment(values, F32, block_m, N);
        fragment(peak, F32, block_m);
        fragment(sum, F32, block_m);

        copy(tile(x, pid_m, 0), values);
        reduce(MAX, values, peak, 1);
        parallel(i, block_m, j, N) {
            set(at(values, i, j), exp_of(sub(at(values, i, j), at(peak, i))));
        }
        reduce(SUM, values, sum, 1);
        parallel(i, block_m, j, N) {
            set(at(values, i, j), quo(at(values, i, j), at(sum, i)));
        }
        copy(values, tile(y, pid_m, 0));
    }
}

/* y[i, j] = x[i, j] * weight[j] / sqrt(mean over j of x[i, j]^2 + eps) */
KERNEL(rms_norm) {
    params(N, dtype);
    tunables(block_m, 1, num_threads, 256);
    REQUIRE_FLOAT(dtype);
    REQUIRE_ROOM(block_m * N, num_threads);
    extent(rows);
    scalar(eps, F32);
    tensor(x, dtype, rows, N);
    tensor(weight, dtype, N);
    tensor(y, dtype, rows, N);

    grid(pid_m, ceildiv(rows, block_m)) threads(num_threads) {
        fragment(values, F32, block_m, N);
        fragment(weights, F32, N);
        reducer(squares, SUM, F32, block_m);

        copy(tile(x, pid_m, 0), values);
        copy(weight, weights);
        clear(squares);
        parallel(i, block_m, j, N) {
            accum(at(squares, i), mul(at(values, i, j), at(values, i, j)));
        }
        finalize(squares);
        parallel(i, block_m, j, N) {
            let(scale, rsqrt_of(add(quo(at(squares, i), N), eps)));
            set(at(values, i, j), mul(at(values, i, j), scale, at(weights, j)));
        }
        copy(values, tile(y, pid_m, 0));
    }
}

/* y[j, i] = x[i, j].  Rows of a tile come in, rows of its transpose go out; the turn is between shared memory
 * and registers, so that both copies move whole sectors. */
KERNEL(transpose) {
    params(M, N, dtype);
    tunables(block, 64, num_threads, 256);
    tensor(x, dtype, M, N);
    tensor(y, dtype, N, M);

    grid(pid_n, ceildiv(N, block), pid_m, ceildiv(M, block)) threads(num_threads) {
        shared(straight, dtype, block, block);
        fragment(turned, dtype, block, block);

        copy(tile(x, pid_m, pid_n), straight);
        parallel(j, block, i, block) {
            set(at(turned, j, i), at(straight, i, j));
        }
        copy(turned, tile(y, pid_n, pid_m));
    }
}

/* c[i, j] = a[i, j] + b[j] */
KERNEL(add_broadcast) {
    params(N, dtype);
    tunables(block_m, 4, block_n, 512, num_threads, 256);
    REQUIRE_FLOAT(dtype);
    extent(rows);
    tensor(a, dtype, rows, N);
    tensor(b, dtype, N);
    tensor(c, dtype, rows, N);

    grid(pid_n, ceildiv(N, block_n), pid_m, ceildiv(rows, block_m)) threads(num_threads) {
        fragment(sums, F32, block_m, block_n);
        fragment(row, F32, block_n);

        copy(tile(a, pid_m, pid_n), sums);
        copy(tile(b, pid_n), row);
        parallel(i, block_m, j, block_n) {
            accum(at(sums, i, j), at(row, j));
        }
        copy(sums, tile(c, pid_m, pid_n));
    }
}

/* sums[i] = sum over j of x[i, j].  What a tile reads outside of x is 0 and adds nothing. */
KERNEL(row_sum) {
    params(N, dtype);
    tunables(block_m, 4, block_n, 1024, num_stages, 2, num_threads, 256);
    REQUIRE_FLOAT(dtype);
    extent(rows);
    tensor(x, dtype, rows, N);
    tensor(sums, F32, rows);

    grid(pid_m, ceildiv(rows, block_m)) threads(num_threads) {
        fragment(values, dtype, block_m, block_n);
        reducer(sum, SUM, F32, block_m);

        clear(sum);
        pipelined(pid_n, ceildiv(N, block_n), num_stages) {
            copy(tile(x, pid_m, pid_n), values);
            parallel(i, block_m, j, block_n) {
                accum(at(sum, i), f32(at(values, i, j)));
            }
        }
        finalize(sum);
        copy(sum, tile(sums, pid_m));
    }
}

/* ---- a matrix of 4-bit weights ------------------------------------------------------------------------ */

/* 32 weights of a row are one block of 18 bytes, the layout known as Q4_0:
 *
 *     bytes 0, 1    an f16 scale
 *     byte 2 + j    weight j in the lower, weight 16 + j in the upper four bits; each counts from -8
 */
enum { Q4_WEIGHTS = 32, Q4_BYTES = 18 };

/* Four bits of a word and nothing else, read as an f32, are a number already: a subnormal one, so many times
 * 2^(place - 149).  So one `bit_and` unpacks a weight, with no conversion and no offset, and the element that it
 * meets makes up for its place.  Weight n of the eight in a word stands there, from the fifth on after a shift. */
static int q4_place(int n) {
    return 4 * (n < 5 ? n : n - 3);
}
enum { Q4_SHIFT = 12, Q4_SCALE = 64 }; /* elements times 2^(64 - place) stay finite up to 2^63 */

/* The element of the vector that weight n of word j of block b of the pair meets. */
static tg_ref q4_element(tg_buf elements, tg_expr p, int b, tg_expr j, int n) {
    return at(elements, p, b, n % 2, add(mul(j, 4), n / 2));
}

/* output[n] = sum over k of matrix[n, k] * vector[k].  A thread keeps the 64 elements of the vector that meet two
 * neighbouring blocks of weights, and takes these two blocks, nine words, of every row.  `tile_n` rows are read
 * at a time, while the next are on their way.  The vector comes by way of shared memory: 64 elements apart, the threads
 * of a warp would touch 32 lines with each load. */
KERNEL(gemv_q4) {
    params(N, K, dtype);
    tunables(block_n, 16, tile_n, 4, num_stages, 2, num_threads, 224);
    REQUIRE_FLOAT(dtype);
    require(K % Q4_WEIGHTS == 0, "K must be a multiple of 32: weights come in blocks of 32");
    require(tile_n > 0 && block_n % tile_n == 0, "block_n must be a multiple of tile_n");
    require(K <= 128 * num_threads, "a thread would hold more than 128 elements of the vector");
    const int64_t pairs = ceildiv(K, 2 * Q4_WEIGHTS), tiles = block_n / tile_n;
    tensor(vector, dtype, K);
    tensor(matrix, U8, N, K / Q4_WEIGHTS * Q4_BYTES);
    constant(matrix);
    tensor(output, F32, N);

    grid(pid_n, ceildiv(N, block_n)) threads(num_threads) {
        shared(vector_shared, dtype, pairs, 2 * Q4_WEIGHTS);
        fragment(elements, F32, pairs, 2, 2, Q4_WEIGHTS / 2);
        fragment(offset, F32, pairs, 2);
        shared(matrix_shared, U8, tile_n, pairs * 2 * Q4_BYTES);
        const tg_buf words = view(matrix_shared, U32, tile_n, pairs, Q4_BYTES / 2);
        reducer(sums, SUM, F32, block_n);

        if (K % (2 * Q4_WEIGHTS) == 0) {
            copy(view(vector, dtype, pairs, 2 * Q4_WEIGHTS), vector_shared);
        } else { /* the last pair lacks a block */
            parallel(p, pairs, k, 2 * Q4_WEIGHTS) {
                let(col, mad(p, 2 * Q4_WEIGHTS, k));
                set(at(vector_shared, p, k), choose(lt(col, K), at(vector, col), 0));
            }
        }
        parallel(p, pairs) {
            for (int b = 0; b < 2; b++) {
                local(sum, F32, 2); /* two here and below, so that an addition need not wait for the last */
                clear(sum);
                for (int half = 0; half < 2; half++) {
                    vectorized(k, Q4_WEIGHTS / 2) {
                        set(at(elements, p, b, half, k),
                            f32(at(vector_shared, p, add(k, b * Q4_WEIGHTS + half * Q4_WEIGHTS / 2))));
                    }
                }
                unrolled(j, Q4_WEIGHTS / 8) {
                    for (int n = 0; n < 8; n++) {
                        accum(at(sum, n % 2), q4_element(elements, p, b, j, n));
                        set(q4_element(elements, p, b, j, n),
                            mul(q4_element(elements, p, b, j, n), ldexp(1.0, Q4_SCALE - q4_place(n))));
                    }
                }
                /* weights count from -8 */
                set(at(offset, p, b), mul(add(at(sum, 0), at(sum, 1)), -8 * ldexp(1.0, Q4_SCALE - 149)));
            }
        }

        clear(sums);
        pipelined(i_tile, tiles, num_stages) {
            copy(tile(matrix, mad(pid_n, tiles, i_tile), 0), matrix_shared);
            parallel(p, pairs) {
                unrolled(i, tile_n) {
                    local(word, U32, Q4_BYTES / 2); /* both blocks, before anything waits for them */
                    unrolled(j, Q4_BYTES / 2) {
                        set(at(word, j), at(words, i, p, j));
                    }
                    for (int b = 0; b < 2; b++) {
                        local(sum, F32, 2);
                        set(at(sum, 0), at(offset, p, b));
                        set(at(sum, 1), 0);
                        unrolled(j, Q4_WEIGHTS / 8) {
                            /* behind its scale the first block's words lie across two */
                            let(low, b ? u32(at(word, add(j, 5)))
                                       : bit_or(shr(at(word, j), 16), shl(at(word, add(j, 1)), 16)));
                            let(high, shr(low, Q4_SHIFT));
                            for (int n = 0; n < 8; n++) {
                                let(weight, bitcast(F32, bit_and(n < 5 ? low : high, 15 << q4_place(n))));
                                accum(at(sum, n % 2), mul(weight, q4_element(elements, p, b, j, n)));
                            }
                        }
                        let(scale, f32(bitcast(F16, u16(b ? shr(at(word, 4), 16) : u32(at(word, 0))))));
                        accum(at(sums, mad(i_tile, tile_n, i)),
                              mul(scale, add(at(sum, 0), at(sum, 1)), ldexp(1.0, 149 - Q4_SCALE)));
                    }
                }
            }
        }
        finalize(sums);
        copy(sums, tile(output, pid_n));
    }
}

/* ---- the references ----------------------------------------------------------------------------------- */

void softmax_reference(const tg_config *config, void *const args[]) {
    const int64_t rows = value_of(config, "rows"), N = value_of(config, "N"),
                  dtype = value_of(config, "dtype");
    for (int64_t i = 0; i < rows; i++) {
        double peak = -(double)INFINITY, sum = 0;
        for (int64_t j = 0; j < N; j++) {
            peak = fmax(peak, element_of(args[1], dtype, i * N + j));
        }
        for (int64_t j = 0; j < N; j++) {
            sum += exp(element_of(args[1], dtype, i * N + j) - peak);
        }
        for (int64_t j = 0; j < N; j++) {
            put_element(args[2], dtype, i * N + j, exp(element_of(args[1], dtype, i * N + j) - peak) / sum);
        }
    }
}

void rms_norm_reference(const tg_config *config, void *const args[]) {
    const int64_t rows = value_of(config, "rows"), N = value_of(config, "N"),
                  dtype = value_of(config, "dtype");
    const double eps = element_of(args[1], F32, 0);
    for (int64_t i = 0; i < rows; i++) {
        double squares = 0;
        for (int64_t j = 0; j < N; j++) {
            squares += pow(element_of(args[2], dtype, i * N + j), 2);
        }
        for (int64_t j = 0; j < N; j++) {
            const double x = element_of(args[2], dtype, i * N + j), weight = element_of(args[3], dtype, j);
            put_element(args[4], dtype, i * N + j, x * weight / sqrt(squares / (double)N + eps));
        }
    }
}

void transpose_reference(const tg_config *config, void *const args[]) {
    const int64_t M = value_of(config, "M"), N = value_of(config, "N");
    const size_t size = (size_t)tg_bits(value_of(config, "dtype")) / 8;
    for (int64_t i = 0; i < M * N; i++) {
        const int64_t to = i % N * M + i / N;
        memcpy((char *)args[1] + (size_t)to * size, (const char *)args[0] + (size_t)i * size, size);
    }
}

void add_broadcast_reference(const tg_config *config, void *const args[]) {
    const int64_t rows = value_of(config, "rows"), N = value_of(config, "N"),
                  dtype = value_of(config, "dtype");
    for (int64_t i = 0; i < rows * N; i++) {
        put_element(args[3], dtype, i, element_of(args[1], dtype, i) + element_of(args[2], dtype, i % N));
    }
}

void row_sum_reference(const tg_config *config, void *const args[]) {
    const int64_t rows = value_of(config, "rows"), N = value_of(config, "N"),
                  dtype = value_of(config, "dtype");
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0;
        for (int64_t j = 0; j < N; j++) {
            sum += element_of(args[1], dtype, i * N + j);
        }
        put_element(args[2], F32, i, sum);
    }
}

static double q4_block(const uint8_t *block, const void *vector, int64_t dtype, int64_t k) {
    double sum = 0;
    for (int j = 0; j < Q4_WEIGHTS / 2; j++) {
        sum += ((block[2 + j] & 15) - 8) * element_of(vector, dtype, k + j);
        sum += ((block[2 + j] >> 4) - 8) * element_of(vector, dtype, k + j + Q4_WEIGHTS / 2);
    }
    return sum * half_to_double((uint16_t)(block[0] | block[1] << 8), F16);
}

/* Random bytes would make scales of any size, infinite ones too. */
void gemv_q4_inputs(const tg_config *config, void *const args[]) {
    const int64_t blocks = value_of(config, "N") * value_of(config, "K") / Q4_WEIGHTS;
    uint8_t *block = args[1];
    for (int64_t i = 0; i < blocks; i++, block += Q4_BYTES) {
        const uint16_t scale = double_to_half((block[0] + 1) / 2048.0, F16);
        block[0] = (uint8_t)scale;
        block[1] = (uint8_t)(scale >> 8);
    }
}

void gemv_q4_reference(const tg_config *config, void *const args[]) {
    const int64_t N = value_of(config, "N"), K = value_of(config, "K"), dtype = value_of(config, "dtype");
    const uint8_t *block = args[1];
    for (int64_t n = 0; n < N; n++) {
        double sum = 0;
        for (int64_t k = 0; k < K; k += Q4_WEIGHTS, block += Q4_BYTES) {
            sum += q4_block(block, args[0], dtype, k);
        }
        put_element(args[2], F32, n, sum);
    }
}
