#include <tegula/kernel.h>

KERNEL(an_allreduce_inside_a_warp_is_a_butterfly) {
    tensor(x, F32, 8, 32);
    tensor(sums, F32, 8);
    tensor(largest, I32, 8);
    grid(block, 1) threads(col, 32, row, 8) {
        let(total, allreduce(SUM, at(x, row, col), col));
        let(most, allreduce(MAX, i32(mul(col, row)), col));
        when(eq(col, 0)) {
            set(at(sums, row), total);
            set(at(largest, row), most);
        }
    }
}
