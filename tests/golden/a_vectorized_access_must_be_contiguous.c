#include <tegula/kernel.h>

KERNEL(a_vectorized_access_must_be_contiguous) {
    tensor(x, F16, 16, 16);
    tensor(y, F16, 16, 16);
    grid(block, 1) threads(row, 16) {
        vectorized(k, 16)
            set(at(y, row, k), at(x, k, row));
    }
}
