#include <tegula/kernel.h>

KERNEL(atomics_need_a_type_that_has_them) {
    tensor(x, I8, 16);
    grid(block, 1) threads(row, 16) {
        atomic_add(at(x, 0), i8(row));
    }
}
