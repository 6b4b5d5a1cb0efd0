#include <tegula/kernel.h>

KERNEL(offsets_beyond_an_int_are_computed_in_64_bits) {
    tensor(x, F16, 300000, 14336);
    tensor(y, F32, 300000);
    grid(block, 9375) threads(thread, 32) {
        let(row, mad(block, 32, thread));
        local(sum, F32);
        clear(sum);
        serial(k, 14336)
            accum(sum, f32(at(x, row, k)));
        let(first, mul(row, 14336));
        when(gt(quo(first, 7), 5))
            set(at(y, row), add(sum, f32(mod(first, 1000))));
    }
}
