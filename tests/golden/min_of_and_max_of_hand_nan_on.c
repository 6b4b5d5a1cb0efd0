#include <tegula/kernel.h>

KERNEL(min_of_and_max_of_hand_nan_on) {
    tensor(x, F32, 64);
    tensor(y, F64, 64);
    tensor(z, BF16, 64);
    tensor(n, I64, 64);
    tensor(smaller, F32, 64);
    tensor(larger, BF16, 64);
    grid(block, 2) threads(thread, 32) {
        let(i, mad(block, 32, thread));
        let(nan, sub(log_of(choose(eq(mod(i, 7), 0), f32(-1), 1)), 0));
        set(at(smaller, i), min_of(max_of(at(x, i), nan), 0.5));
        set(at(y, i), min_of(at(y, i), f64(at(x, sub(63, i)))));
        set(at(larger, i), max_of(at(z, i), at(z, sub(63, i))));
        set(at(n, i), i64(max_of(min_of(at(n, i), mul(i, i)), 3)));
    }
}
