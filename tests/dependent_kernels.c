/* dependent_kernels.c -- kernels for test_dependent.c: what is constant in them stands among what is not. */
#include <tegula/kernel.h>

enum { N = 64 };

/* The constant is read first. */
KERNEL(constant_first) {
    tensor(weight, F32, N);
    tensor(x, F32, N);
    tensor(y, F32, N);
    constant(weight);
    grid(p, 1) threads(t, N) {
        let(factor, at(weight, t));
        let(element, at(x, t));
        set(at(y, t), mul(factor, element));
    }
}

/* .. last, in a copy that knows nothing of the one before it. */
KERNEL(constant_last) {
    tensor(x, F32, 4 * N);
    tensor(weight, F32, 4 * N);
    tensor(y, F32, N);
    constant(weight);
    grid(p, 1) threads(N) {
        shared(x_shared, F32, N);
        shared(weight_shared, F32, N);
        fragment(sum, F32, N);
        clear(sum);
        pipelined(i, 4, 2) {
            copy(tile(x, i), x_shared);
            copy(tile(weight, i), weight_shared);
            parallel(j, N) {
                accum(at(sum, j), mul(at(x_shared, j), at(weight_shared, j)));
            }
        }
        copy(sum, tile(y, p));
    }
}

/* .. as many rows as the launch says. */
KERNEL(constant_rows) {
    extent(rows);
    tensor(x, F32, N);
    tensor(weight, F32, rows, N);
    tensor(y, F32, N);
    constant(weight);
    grid(p, 1) threads(N) {
        shared(weight_shared, F32, N);
        fragment(sum, F32, N);
        copy(x, sum);
        pipelined(i, rows, 3) {
            copy(from(weight, i, 0), weight_shared);
            parallel(j, N)
                accum(at(sum, j), at(weight_shared, sub(N - 1, j)));
        }
        copy(sum, tile(y, p));
    }
}

/* .. last, but into the register that the statement before it has set. */
KERNEL(constant_after) {
    tensor(x, F32, N);
    tensor(weight, F32, N);
    tensor(y, F32, N);
    constant(weight);
    grid(p, 1) threads(t, N) {
        local(sum, F32);
        set(sum, at(x, t));
        accum(sum, at(weight, t));
        set(at(y, t), sum);
    }
}

/* Nothing but the result can be somebody else's. */
KERNEL(all_constant) {
    tensor(weight, F32, N);
    tensor(scale, F32, N);
    tensor(y, F32, N);
    constant(weight);
    constant(scale);
    grid(p, 1) threads(t, N) {
        let(product, mul(at(weight, t), at(scale, t)));
        set(at(y, t), product);
    }
}

/* Half of the threads touch memory: all wait. */
KERNEL(half_of_them) {
    tensor(y, F32, N);
    grid(p, 1) threads(t, N) {
        when(lt(t, N / 2)) {
            set(at(y, t), add(at(y, t), 1.0));
        }
    }
}

/* What the kernel's own output may be is not constant, whatever was declared. */
KERNEL(constant_but_aliased) {
    tensor(weight, F32, N);
    tensor(y, F32, N);
    constant(weight);
    alias(y, weight);
    grid(p, 1) threads(t, N) {
        let(factor, at(weight, t));
        sync_threads();
        set(at(y, t), factor);
    }
}

/* A failed check is written to memory. */
KERNEL(checks_first) {
    tensor(weight, F32, N);
    tensor(y, F32, N);
    constant(weight);
    grid(p, 1) threads(t, N) {
        let(factor, at(weight, t));
        check(ge(factor, 0.0), "weights are positive");
        set(at(y, t), factor);
    }
}

/* Both tensors in one statement of a loop. */
KERNEL(mixed_loop) {
    tensor(weight, F32, N, N);
    tensor(x, F32, N);
    tensor(y, F32, N);
    constant(weight);
    grid(p, 1) threads(t, N) {
        local(sum, F32);
        set(sum, 0.0);
        serial(k, N)
            accum(sum, mul(at(weight, k, t), at(x, k)));
        set(at(y, t), sum);
    }
}

/* Reads, then adds up alone, then with others. */
KERNEL(reads_then_joins) {
    tensor(weight, F32, N, N);
    tensor(x, F32, N);
    tensor(y, F32, 1);
    constant(weight);
    grid(p, 1) threads(t, N) {
        local(column, F32, 4);
        local(sum, F32);
        set(sum, 0.0);
        serial(k, 4)
            set(at(column, k), mul(at(weight, k, t), at(x, t)));
        serial(k, 4)
            accum(sum, at(column, k));
        let(all, allreduce(SUM, sum, t));
        when(eq(t, 0))
            set(at(y, 0), all);
    }
}

/* Reads and writes in one statement, to its end. */
KERNEL(reads_as_it_writes) {
    tensor(x, F32, 4 * N);
    tensor(y, F32, 4 * N);
    grid(p, 1) threads(t, N) {
        serial(k, 4)
            set(at(y, mad(k, N, t)), at(x, mad(k, N, t)));
    }
}
