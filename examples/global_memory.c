/* global_memory.c -- four ways in which a thread can read V elements of a row, on two tasks.
 *
 * A block has a row of x, each of its threads a run of V = N / num_threads elements of it (striped: as many,
 * but not a run).
 *
 *     rowprod   each thread multiplies its elements and writes one product: any order will do
 *     prefix    each thread replaces each element of its run by the product of all up to it: order matters,
 *               and the whole row is written back
 *
 *                 which thread reads which element at one step    what the memory sees
 *     blocked     0 . . . 1 . . . 2 . . . 3 . . .   V apart       a sector an element, for large V
 *     striped     0 1 2 3 . . . . . . . . . . . .   neighbours    whole sectors, one element a load
 *     vectorized  0 0 0 0 1 1 1 1 2 2 2 2 3 3 3 3   wide loads    whole sectors, 16 bytes a load
 *     staged      by the block, into shared memory; then each thread reads its run from there */
#include "reference.h"
#include <tegula/kernel.h>

#define REQUIRE_FLOAT(dtype) \
    require((dtype) == F16 || (dtype) == BF16 || (dtype) == F32, "dtype must be f16, bf16 or f32")
#define REQUIRE_WIDE(N, num_threads)        \
    require((N) % (2 * (num_threads)) == 0, \
            "N must be a multiple of 2 * num_threads: wide loads need runs of even length")

/* ---- products of rows --------------------------------------------------------------------------------- */

/* The habit of CPUs: each thread walks along its own run.  Neighbours are V elements apart at every step. */
KERNEL(rowprod_blocked) {
    params(M, N, dtype);
    tunables(num_threads, 256);
    REQUIRE_FLOAT(dtype);
    const int64_t V = ceildiv(N, num_threads);
    tensor(x, dtype, M, N);
    tensor(products, F32, M, num_threads);

    grid(row, M) threads(tid, num_threads) {
        local(product, F32);
        set(product, 1);
        serial(c, V) {
            let(col, mad(tid, V, c));
            when(lt(col, N)) {
                set(product, mul(product, f32(at(x, row, col))));
            }
        }
        set(at(products, row, tid), product);
    }
}

/* Neighbours read neighbours, one element each. */
KERNEL(rowprod_striped) {
    params(M, N, dtype);
    tunables(num_threads, 256);
    REQUIRE_FLOAT(dtype);
    const int64_t V = ceildiv(N, num_threads);
    tensor(x, dtype, M, N);
    tensor(products, F32, M, num_threads);

    grid(row, M) threads(tid, num_threads) {
        local(product, F32);
        set(product, 1);
        serial(c, V) {
            let(col, mad(c, num_threads, tid));
            when(lt(col, N)) {
                set(product, mul(product, f32(at(x, row, col))));
            }
        }
        set(at(products, row, tid), product);
    }
}

/* Runs again, but read by loads as wide as there are. */
KERNEL(rowprod_vectorized) {
    params(M, N, dtype);
    tunables(num_threads, 256);
    REQUIRE_FLOAT(dtype);
    REQUIRE_WIDE(N, num_threads);
    const int64_t V = N / num_threads;
    tensor(x, dtype, M, N);
    tensor(products, F32, M, num_threads);

    grid(row, M) threads(tid, num_threads) {
        local(run, dtype, V);
        local(product, F32);
        vectorized(c, V) {
            set(at(run, c), at(x, row, mad(tid, V, c)));
        }
        set(product, 1);
        serial(c, V) {
            set(product, mul(product, f32(at(run, c))));
        }
        set(at(products, row, tid), product);
    }
}

/* The block moves the row into shared memory.  There the runs lie V + pad apart: without the pad, threads
 * would meet in the same banks. */
KERNEL(rowprod_staged) {
    params(M, N, dtype);
    tunables(num_threads, 256, pad, 8);
    REQUIRE_FLOAT(dtype);
    const int64_t V = ceildiv(N, num_threads);
    tensor(x, dtype, M, N);
    tensor(products, F32, M, num_threads);

    grid(row, M) threads(tid, num_threads) {
        shared(staged, dtype, num_threads, V + pad);
        local(product, F32);
        parallel(t, num_threads, c, V) {
            let(col, mad(t, V, c));
            set(at(staged, t, c), choose(lt(col, N), at(x, row, col), 1));
        }
        set(product, 1);
        serial(c, V) {
            set(product, mul(product, f32(at(staged, tid, c))));
        }
        set(at(products, row, tid), product);
    }
}

/* ---- prefix products of runs -------------------------------------------------------------------------- */

KERNEL(prefix_blocked) {
    params(M, N, dtype);
    tunables(num_threads, 256);
    REQUIRE_FLOAT(dtype);
    const int64_t V = ceildiv(N, num_threads);
    tensor(x, dtype, M, N);
    tensor(prefix, dtype, M, N);

    grid(row, M) threads(tid, num_threads) {
        local(product, F32);
        set(product, 1);
        serial(c, V) {
            let(col, mad(tid, V, c));
            when(lt(col, N)) {
                set(product, mul(product, f32(at(x, row, col))));
                set(at(prefix, row, col), cast(dtype, product));
            }
        }
    }
}

/* The run stays in registers from the load to the store: the more of them, the fewer threads there is room
 * for. */
KERNEL(prefix_vectorized) {
    params(M, N, dtype);
    tunables(num_threads, 256);
    REQUIRE_FLOAT(dtype);
    REQUIRE_WIDE(N, num_threads);
    const int64_t V = N / num_threads;
    tensor(x, dtype, M, N);
    tensor(prefix, dtype, M, N);

    grid(row, M) threads(tid, num_threads) {
        local(run, dtype, V);
        local(product, F32);
        vectorized(c, V) {
            set(at(run, c), at(x, row, mad(tid, V, c)));
        }
        set(product, 1);
        serial(c, V) {
            set(product, mul(product, f32(at(run, c))));
            set(at(run, c), cast(dtype, product));
        }
        vectorized(c, V) {
            set(at(prefix, row, mad(tid, V, c)), at(run, c));
        }
    }
}

/* As many elements as one access moves, or the most that divide a run. */
static int64_t piece_of(int64_t dtype, int64_t V) {
    int64_t elements = 128 / bits(dtype);
    while (V % elements != 0) {
        elements /= 2;
    }
    return elements;
}

/* Into shared memory, each run in place there, and back.  A run passes through registers piece by piece. */
KERNEL(prefix_staged) {
    params(M, N, dtype);
    tunables(num_threads, 256, pad, 8);
    REQUIRE_FLOAT(dtype);
    const int64_t V = ceildiv(N, num_threads), W = piece_of(dtype, V);
    tensor(x, dtype, M, N);
    tensor(prefix, dtype, M, N);

    grid(row, M) threads(tid, num_threads) {
        shared(staged, dtype, num_threads, V + pad);
        local(product, F32);
        parallel(t, num_threads, c, V) {
            let(col, mad(t, V, c));
            set(at(staged, t, c), choose(lt(col, N), at(x, row, col), 1));
        }
        set(product, 1);
        serial(i, V / W) {
            local(piece, dtype, W);
            copy(from(staged, tid, mul(i, W)), piece);
            serial(c, W) {
                set(product, mul(product, f32(at(piece, c))));
                set(at(piece, c), cast(dtype, product));
            }
            copy(piece, from(staged, tid, mul(i, W)));
        }
        parallel(t, num_threads, c, V) {
            let(col, mad(t, V, c));
            when(lt(col, N)) {
                set(at(prefix, row, col), at(staged, t, c));
            }
        }
    }
}

/* ---- the references ----------------------------------------------------------------------------------- */

/* Products of each thread's elements: `step` apart, from `apart` times its number on. */
static void row_products(const tg_config *config, void *const args[], int64_t apart, int64_t step) {
    const int64_t M = value_of(config, "M"), N = value_of(config, "N"), dtype = value_of(config, "dtype");
    const int64_t num_threads = value_of(config, "num_threads"), V = (N + num_threads - 1) / num_threads;
    for (int64_t row = 0; row < M; row++) {
        for (int64_t tid = 0; tid < num_threads; tid++) {
            double product = 1;
            for (int64_t c = 0; c < V; c++) {
                const int64_t col = tid * apart + c * step;
                product *= col < N ? element_of(args[0], dtype, row * N + col) : 1;
            }
            put_element(args[1], F32, row * num_threads + tid, product);
        }
    }
}

void rowprod_reference(const tg_config *config, void *const args[]) {
    const int64_t num_threads = value_of(config, "num_threads");
    row_products(config, args, (value_of(config, "N") + num_threads - 1) / num_threads, 1);
}

void rowprod_striped_reference(const tg_config *config, void *const args[]) {
    row_products(config, args, 1, value_of(config, "num_threads"));
}

void prefix_reference(const tg_config *config, void *const args[]) {
    const int64_t M = value_of(config, "M"), N = value_of(config, "N"), dtype = value_of(config, "dtype");
    const int64_t num_threads = value_of(config, "num_threads"), V = (N + num_threads - 1) / num_threads;
    for (int64_t row = 0; row < M; row++) {
        double product = 1;
        for (int64_t col = 0; col < N; col++) {
            const double x = element_of(args[0], dtype, row * N + col);
            product = col % V == 0 ? x : product * x;
            put_element(args[1], dtype, row * N + col, product);
        }
    }
}
