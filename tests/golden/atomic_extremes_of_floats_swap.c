#include <tegula/kernel.h>

KERNEL(atomic_extremes_of_floats_swap) {
    tensor(x, F32, 64);
    tensor(h, F16, 64);
    tensor(largest, F32, 2);
    tensor(smallest, F64, 2);
    tensor(halves, F16, 2);
    grid(block, 2) threads(thread, 32) {
        let(i, mad(block, 32, thread));
        atomic_max(at(largest, block), at(x, i));
        atomic_min(at(smallest, block), f64(at(x, i)));
        atomic_min(at(halves, block), at(h, i));
    }
}
