#include <tegula/kernel.h>

KERNEL(a_serial_loop_stays_a_loop) {
    tensor(x, F32, 32, 24);
    tensor(y, F32, 32);
    grid(block, 1) threads(row, 32) {
        local(sum, F32);
        clear(sum);
        serial(k, 8)
            accum(sum, at(x, row, k));
        serial(k, 16, 4)
            accum(sum, at(x, row, add(k, 8)));
        unrolled(k, 3)
            accum(sum, at(x, row, mul(k, 8)));
        serial(i, 4, j, 6)
            accum(sum, at(x, row, mad(i, 6, j)));
        set(at(y, row), sum);
    }
}
