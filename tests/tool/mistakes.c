/* mistakes.c -- kernels that are wrong, each in one way; test_tool_mistakes.sh says what each must answer. */
#include <stdlib.h>
#include <string.h>
#include <tegula/kernel.h>

/* The smallest good kernel, for what is wrong on the command line. */
KERNEL(good) {
    params(n, dtype);
    tunables(block, 64);
    tensor(x, dtype, n);
    tensor(y, dtype, n);
    grid(pid, ceildiv(n, block)) threads(tid, block) {
        let(i, mad(pid, block, tid));
        when(lt(i, n)) {
            set(at(y, i), at(x, i));
        }
    }
}

KERNEL(breaks_require) {
    params(n);
    require(n % 48 == 0, "n must be a multiple of 48");
    tensor(y, F32, n);
    grid(pid, n / 48) threads(tid, 48) {
        set(at(y, mad(pid, 48, tid)), 1);
    }
}

KERNEL(divides_by_zero) {
    params(n, part);
    tensor(y, F32, n);
    const int64_t each = n / part;
    grid(pid, each) threads(tid, 32) {
        set(at(y, mad(pid, 32, tid)), 1);
    }
}

KERNEL(ceildiv_by_zero) {
    params(n, part);
    tensor(y, F32, n);
    grid(pid, ceildiv(n, part)) threads(tid, 32) {
        set(at(y, mad(pid, 32, tid)), 1);
    }
}

KERNEL(too_many_threads) {
    tensor(y, F32, 2048);
    grid(pid, 1) threads(tid, 64, row, 32) {
        set(at(y, mad(row, 64, tid)), add(f32(pid), 1));
    }
}

KERNEL(empty_grid) {
    params(n);
    tensor(y, F32, 32);
    grid(pid, n) threads(tid, 32) {
        set(at(y, tid), f32(pid));
    }
}

KERNEL(too_tall_grid) {
    tensor(y, F32, 32);
    grid(pid, 1, row, 70000) threads(tid, 32) {
        set(at(y, tid), f32(add(pid, row)));
    }
}

KERNEL(too_much_shared) {
    tensor(y, F32, 32);
    grid(pid, 1) threads(tid, 32) {
        shared(s, F32, 1024, 1024);
        set(at(s, pid, tid), 1);
        set(at(y, tid), at(s, pid, tid));
    }
}

KERNEL(wrong_rank) {
    tensor(y, F32, 32, 32);
    grid(pid, 1) threads(tid, 32) {
        set(at(y, mad(pid, 32, tid)), 1);
    }
}

KERNEL(mixed_types) {
    tensor(x, F16, 32);
    tensor(y, F32, 32);
    grid(pid, 1) threads(tid, 32) {
        set(at(y, add(pid, tid)), add(at(x, tid), at(y, tid)));
    }
}

KERNEL(literal_too_large) {
    tensor(y, F16, 32);
    grid(pid, 1) threads(tid, 32) {
        set(at(y, add(pid, tid)), 70000);
    }
}

KERNEL(cannot_be_wide) {
    tensor(x, F16, 64);
    tensor(y, F16, 64);
    grid(pid, 1) threads(tid, 8) {
        vectorized(k, 4) {
            set(at(y, add(pid, add(mul(k, 8), tid))), at(x, add(mul(k, 8), tid)));
        }
    }
}

KERNEL(reduces_no_axis) {
    tensor(y, F32, 32);
    grid(pid, 1) threads(tid, 32) {
        let(sum, allreduce(SUM, f32(tid), pid));
        set(at(y, tid), sum);
    }
}

KERNEL(breaks_out) {
    tensor(y, F32, 32);
    grid(pid, 1) threads(tid, 32) {
        serial(i, 4) {
            set(at(y, add(pid, tid)), f32(i));
            break;
        }
    }
}

KERNEL(returns) {
    tensor(y, F32, 32);
    grid(pid, 1) threads(tid, 32) {
        set(at(y, add(pid, tid)), 1);
        return;
    }
}

KERNEL(crashes) {
    params(n);
    tensor(y, F32, n);
    grid(pid, 1) threads(tid, 32) {
        set(at(y, add(pid, tid)), 1);
        volatile int *nowhere = NULL;
        *nowhere = 1;
    }
}

static int recurse(volatile int *depth) {
    volatile char room[4096];
    room[0] = (char)*depth;
    ++*depth;
    return *depth > 0 ? recurse(depth) + room[0] : 0;
}

KERNEL(overflows_the_stack) {
    params(n);
    tensor(y, F32, n);
    volatile int depth = 0;
    grid(pid, recurse(&depth)) threads(tid, 32) {
        set(at(y, add(pid, tid)), 1);
    }
}

KERNEL(loops) {
    params(n);
    tensor(y, F32, n);
    grid(pid, 1) threads(tid, 32) {
        set(at(y, add(pid, tid)), 1);
        for (volatile int forever = 1; forever;) {
        }
    }
}

KERNEL(grows) {
    params(n);
    tensor(y, F32, n);
    grid(pid, 1) threads(tid, 32) {
        for (volatile int forever = 1; forever;) {
            set(at(y, add(pid, tid)), 1);
        }
    }
}

KERNEL(ends_the_process) {
    params(n);
    tensor(y, F32, n);
    exit((int)n - 64);
}

/* ---- what only a run shows ----------------------------------------------------------------------------- */

/* A sum through shared memory that lacks the barrier before it is read. */
KERNEL(races) {
    tensor(x, F32, 64);
    tensor(y, F32, 64);
    grid(pid, 1) threads(tid, 64) {
        shared(s, F32, 64);
        set(at(s, tid), at(x, add(pid, tid)));
        set(at(y, tid), at(s, sub(63, tid)));
    }
}

KERNEL(reads_outside) {
    tensor(x, F32, 64);
    tensor(y, F32, 64);
    grid(pid, 1) threads(tid, 64) {
        set(at(y, tid), at(x, add(pid, add(tid, 1))));
    }
}

/* Fragments and reducers go through other memory where threads need each other's elements. */
KERNEL(leaves_a_fragment) {
    tensor(x, F32, 4, 16);
    grid(1) threads(64) {
        fragment(f, F32, 4, 16);
        clear(f);
        parallel(i, 4, j, 16)
            set(at(f, i, add(j, 1)), 1);
        copy(f, x);
    }
}

KERNEL(leaves_a_reducer) {
    tensor(y, F32, 4);
    grid(1) threads(64) {
        reducer(r, SUM, F32, 4);
        clear(r);
        parallel(i, 4, j, 16)
            accum(at(r, i), f32(j));
        finalize(r);
        parallel(i, 4)
            set(at(y, i), at(r, add(i, 1)));
    }
}

KERNEL(meets_in_a_fragment) {
    tensor(k, I32, 64);
    tensor(y, F32, 64);
    grid(1) threads(64) {
        fragment(f, F32, 64);
        clear(f);
        parallel(i, 64)
            set(at(f, bit_and(at(k, i), 3)), f32(i));
        copy(f, y);
    }
}

KERNEL(fails_a_check) {
    tensor(y, F32, 64);
    grid(pid, 1) threads(tid, 64) {
        check(lt(tid, 63), "tid below 63");
        set(at(y, add(pid, tid)), 1);
    }
}

/* Half of what it should write. */
KERNEL(forgets_half) {
    tensor(x, F32, 64);
    tensor(y, F32, 64);
    grid(pid, 1) threads(tid, 32) {
        set(at(y, add(pid, tid)), at(x, tid));
    }
}

void forgets_half_reference(const tg_config *config, void *const args[]) {
    (void)config;
    memcpy(args[1], args[0], 64 * sizeof(float));
}

/* The third element is one too large. */
KERNEL(is_wrong) {
    tensor(x, F32, 64);
    tensor(y, F32, 64);
    grid(pid, 1) threads(tid, 64) {
        set(at(y, add(pid, tid)), at(x, tid));
        when(eq(tid, 2)) {
            set(at(y, add(pid, tid)), add(at(x, tid), 1.0));
        }
    }
}

void is_wrong_reference(const tg_config *config, void *const args[]) {
    (void)config;
    memcpy(args[1], args[0], 64 * sizeof(float));
}

KERNEL(gives_nan) {
    tensor(y, F32, 64);
    grid(pid, 1) threads(tid, 64) {
        set(at(y, add(pid, tid)), sqrt_of(sub(f32(tid), 40.0)));
    }
}

/* Every thread writes the same value to one place. */
KERNEL(writes_the_same) {
    tensor(y, F32, 1);
    grid(pid, 1) threads(tid, 64) {
        set(at(y, pid), f32(mul(tid, 0)));
    }
}

/* Scalars and an extent, given on the command line. */
KERNEL(scales) {
    tunables(block, 32);
    extent(rows);
    scalar(factor, F32);
    tensor(x, F32, rows, 4);
    tensor(y, F32, rows, 4);
    grid(pid, ceildiv(rows, block)) threads(tid, block) {
        let(row, mad(pid, block, tid));
        when(lt(row, rows)) {
            serial(j, 4) {
                set(at(y, row, j), mul(at(x, row, j), factor));
            }
        }
    }
}

void scales_reference(const tg_config *config, void *const args[]) {
    int64_t rows = 0;
    tg_config_get(config, "rows", &rows);
    const float factor = *(const float *)args[1], *x = args[2];
    float *y = args[3];
    for (int64_t i = 0; i < 4 * rows; i++) {
        y[i] = x[i] * factor;
    }
}
