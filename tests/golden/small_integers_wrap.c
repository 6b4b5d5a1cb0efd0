#include <tegula/kernel.h>

KERNEL(small_integers_wrap) {
    tensor(a, I8, 64);
    tensor(b, U16, 64);
    tensor(c, I8, 64);
    tensor(d, U16, 64);
    tensor(e, BOOL, 64);
    grid(block, 2) threads(thread, 32) {
        let(i, mad(block, 32, thread));
        set(at(c, i), add(at(a, i), at(a, sub(63, i))));
        accum(at(c, i), 100);
        set(at(d, i), mul(at(b, i), at(b, sub(63, i))));
        set(at(e, i), lt(add(at(a, i), 100), neg(at(a, i))));
        set(at(d, i), quo(add(at(d, i), 60000), 3));
    }
}
