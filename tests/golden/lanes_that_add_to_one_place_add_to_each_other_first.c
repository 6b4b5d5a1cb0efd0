#include <tegula/kernel.h>

KERNEL(lanes_that_add_to_one_place_add_to_each_other_first) {
    tensor(x, F32, 4, 64);
    tensor(sums, F32, 4);
    tensor(positive, F32, 4);
    grid(block, 1) threads(lane, 64, row, 4) {
        atomic_add(at(sums, row), at(x, row, lane));
        when(gt(at(x, row, lane), 0)) {
            atomic_add(at(positive, row), at(x, row, lane));
        }
    }
}
