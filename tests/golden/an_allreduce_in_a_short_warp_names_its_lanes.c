#include <tegula/kernel.h>

KERNEL(an_allreduce_in_a_short_warp_names_its_lanes) {
    tensor(x, I32, 5, 8);
    tensor(y, I32, 5);
    grid(block, 1) threads(col, 8, row, 5) {
        let(total, allreduce(SUM, at(x, row, col), col));
        when(eq(col, 0))
            set(at(y, row), total);
    }
}
