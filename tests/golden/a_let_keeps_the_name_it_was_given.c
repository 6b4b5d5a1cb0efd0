#include <tegula/kernel.h>

KERNEL(a_let_keeps_the_name_it_was_given) {
    tensor(x, F32, 64);
    tensor(y, F32, 64);
    grid(block, 2) threads(thread, 32) {
        let(i, mad(block, 32, thread));
        let(twice, mul(at(x, i), 2));
        set(at(y, i), mul(twice, twice));
    }
}
