/* patterns.c -- the kernels of patterns.md, each with its reference in C.
 *
 *     tegula run argmax -k docs/patterns.c --device sim */
#include <math.h>
#include <stdlib.h>
#include <tegula/kernel.h>

static int64_t value_of(const tg_config *config, const char *name) {
    int64_t x = 0;
    tg_config_get(config, name, &x);
    return x;
}

/* ---- the largest of a row, and where it stands --------------------------------------------------------- */

KERNEL(argmax) {
    params(N);
    tunables(num_threads, 128);
    extent(rows);
    tensor(x, F32, rows, N);
    tensor(where, I32, rows);

    grid(row, rows) threads(tid, num_threads) {
        local(best, U64);
        clear(best);
        serial(turn, ceildiv(N, num_threads)) {
            let(col, mad(turn, num_threads, tid));
            when(lt(col, N)) {
                let(word, bitcast(U32, at(x, row, col)));
                let(key, choose(ge(word, 0x80000000u), bit_not(word), bit_or(word, 0x80000000u)));
                set(best, max_of(best, bit_or(shl(u64(key), 32), u64(bit_not(u32(col))))));
            }
        }
        let(most, allreduce(MAX, best, tid));
        when(eq(tid, 0)) {
            set(at(where, row), i32(bit_not(u32(most))));
        }
    }
}

void argmax_reference(const tg_config *config, void *const args[]);
void argmax_reference(const tg_config *config, void *const args[]) {
    const int64_t rows = value_of(config, "rows"), N = value_of(config, "N");
    const float *x = args[1];
    int32_t *where = args[2];
    for (int64_t i = 0; i < rows; i++) {
        where[i] = 0;
        for (int32_t j = 1; j < N; j++) {
            where[i] = x[i * N + j] > x[i * N + where[i]] ? j : where[i];
        }
    }
}

/* ---- sums up to each element --------------------------------------------------------------------------- */

KERNEL(running_sums) {
    params(N);
    tunables(num_threads, 128);
    extent(rows);
    tensor(x, I32, rows, N);
    tensor(y, I32, rows, N);

    grid(row, rows) threads(tid, num_threads) {
        shared(sums, I32, 2, num_threads);
        local(carry, I32);
        clear(carry);
        serial(turn, ceildiv(N, num_threads)) {
            let(col, mad(turn, num_threads, tid));
            set(at(sums, 0, tid), choose(lt(col, N), at(x, row, col), 0));
            sync_threads();
            int64_t now = 0;
            for (int64_t step = 1; step < num_threads; step *= 2, now = 1 - now) {
                let(own, at(sums, now, tid));
                set(at(sums, 1 - now, tid),
                    choose(ge(tid, step), add(own, at(sums, now, sub(tid, step))), own));
                sync_threads();
            }
            when(lt(col, N)) {
                set(at(y, row, col), add(carry, at(sums, now, tid)));
            }
            accum(carry, at(sums, now, num_threads - 1));
            sync_threads();
        }
    }
}

void running_sums_reference(const tg_config *config, void *const args[]);
void running_sums_reference(const tg_config *config, void *const args[]) {
    const int64_t rows = value_of(config, "rows"), N = value_of(config, "N");
    const int32_t *x = args[1];
    int32_t *y = args[2];
    for (int64_t i = 0; i < rows; i++) {
        int32_t sum = 0;
        for (int64_t j = 0; j < N; j++) {
            y[i * N + j] = sum += x[i * N + j];
        }
    }
}

/* ---- each element and its neighbours ------------------------------------------------------------------- */

KERNEL(five_points) {
    params(H, W);
    tunables(block_h, 8, block_w, 64, num_threads, 128);
    tensor(x, F32, H, W);
    tensor(y, F32, H, W);

    grid(pid_w, ceildiv(W, block_w), pid_h, ceildiv(H, block_h)) threads(num_threads) {
        shared(around, F32, block_h + 2, block_w + 2);
        fragment(result, F32, block_h, block_w);

        copy(from(x, sub(mul(pid_h, block_h), 1), sub(mul(pid_w, block_w), 1)), around);
        parallel(i, block_h, j, block_w) {
            let(above, at(around, i, add(j, 1)));
            let(below, at(around, add(i, 2), add(j, 1)));
            let(left, at(around, add(i, 1), j));
            let(right, at(around, add(i, 1), add(j, 2)));
            let(here, at(around, add(i, 1), add(j, 1)));
            set(at(result, i, j), sub(add(above, below, left, right), mul(here, 4)));
        }
        copy(result, tile(y, pid_h, pid_w));
    }
}

static double at_or_0(const float *x, int64_t H, int64_t W, int64_t i, int64_t j) {
    return i < 0 || j < 0 || i >= H || j >= W ? 0 : x[i * W + j];
}

void five_points_reference(const tg_config *config, void *const args[]);
void five_points_reference(const tg_config *config, void *const args[]) {
    const int64_t H = value_of(config, "H"), W = value_of(config, "W");
    const float *x = args[0];
    float *y = args[1];
    for (int64_t i = 0; i < H; i++) {
        for (int64_t j = 0; j < W; j++) {
            const double rows = at_or_0(x, H, W, i - 1, j) + at_or_0(x, H, W, i + 1, j);
            const double columns = at_or_0(x, H, W, i, j - 1) + at_or_0(x, H, W, i, j + 1);
            y[i * W + j] = (float)(rows + columns - 4 * at_or_0(x, H, W, i, j));
        }
    }
}

/* ---- attention of one query ---------------------------------------------------------------------------- */

KERNEL(attend) {
    params(D);
    tunables(block, 32, num_threads, 128, num_stages, 2);
    extent(length);
    tensor(query, F32, D);
    tensor(keys, F32, length, D);
    tensor(values, F32, length, D);
    tensor(output, F32, D);

    grid(1) threads(num_threads) {
        shared(keys_tile, F32, block, D);
        shared(values_tile, F32, block, D);
        shared(weights, F32, block);
        fragment(q, F32, D);
        fragment(peak, F32, 1);
        fragment(shrink, F32, 1);
        fragment(total, F32, 1);
        fragment(sum, F32, D);
        reducer(scores, SUM, F32, block);
        reducer(peak_here, MAX, F32);
        reducer(total_here, SUM, F32);
        reducer(sum_here, SUM, F32, D);

        copy(query, q);
        fill(peak, -1e30);
        clear(total);
        clear(sum);
        pipelined(b, ceildiv(length, block), num_stages) {
            copy(tile(keys, b, 0), keys_tile);
            copy(tile(values, b, 0), values_tile);

            clear(scores);
            parallel(i, block, d, D) {
                accum(at(scores, i), mul(at(keys_tile, i, d), at(q, d)));
            }
            finalize(scores);

            clear(peak_here);
            parallel(i, block) {
                accum(peak_here, choose(lt(mad(b, block, i), length), at(scores, i), -1e30));
            }
            finalize(peak_here);
            parallel(i, 1) {
                let(higher, max_of(at(peak, i), peak_here));
                set(at(shrink, i), exp_of(sub(at(peak, i), higher)));
                set(at(peak, i), higher);
            }

            clear(total_here);
            parallel(i, block) {
                let(weight, exp_of(sub(at(scores, i), at(peak, 0))));
                set(at(weights, i), choose(lt(mad(b, block, i), length), weight, 0));
                accum(total_here, at(weights, i));
            }
            finalize(total_here);

            clear(sum_here);
            parallel(i, block, d, D) {
                accum(at(sum_here, d), mul(at(weights, i), at(values_tile, i, d)));
            }
            finalize(sum_here);
            parallel(i, 1) {
                set(at(total, i), mad(at(total, i), at(shrink, i), total_here));
            }
            parallel(d, D) {
                set(at(sum, d), mad(at(sum, d), at(shrink, 0), at(sum_here, d)));
            }
        }
        parallel(d, D) {
            set(at(sum, d), quo(at(sum, d), at(total, 0)));
        }
        copy(sum, output);
    }
}

static double score_of(const float *query, const float *key, int64_t D) {
    double score = 0;
    for (int64_t d = 0; d < D; d++) {
        score += (double)query[d] * (double)key[d];
    }
    return score;
}

void attend_reference(const tg_config *config, void *const args[]);
void attend_reference(const tg_config *config, void *const args[]) {
    const int64_t length = value_of(config, "length"), D = value_of(config, "D");
    const float *query = args[1], *keys = args[2], *values = args[3];
    float *output = args[4];
    double *sum = calloc((size_t)D, sizeof *sum), total = 0;
    for (int64_t i = 0; sum && i < length; i++) {
        const double weight = exp(score_of(query, keys + i * D, D));
        total += weight;
        for (int64_t d = 0; d < D; d++) {
            sum[d] += weight * (double)values[i * D + d];
        }
    }
    for (int64_t d = 0; sum && d < D; d++) {
        output[d] = (float)(sum[d] / total);
    }
    free(sum);
}
