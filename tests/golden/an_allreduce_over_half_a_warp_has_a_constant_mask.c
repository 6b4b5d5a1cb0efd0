#include <tegula/kernel.h>

KERNEL(an_allreduce_over_half_a_warp_has_a_constant_mask) {
    tensor(x, F64, 3, 4);
    tensor(y, F64, 3);
    grid(block, 1) threads(row, 3, col, 4) {
        let(total, allreduce(MIN, at(x, row, col), col));
        set(at(y, row), total);
    }
}
