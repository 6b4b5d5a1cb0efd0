#include <tegula/kernel.h>

KERNEL(aliased_tensors_are_not_restrict) {
    tensor(x, F32, 32);
    tensor(y, F32, 32);
    tensor(z, F32, 32);
    alias(y, x);
    grid(block, 1) threads(i, 32) {
        set(at(y, i), mul(at(x, i), at(z, i)));
    }
}
