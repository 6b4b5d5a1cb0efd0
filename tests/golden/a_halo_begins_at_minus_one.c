#include <tegula/kernel.h>

KERNEL(a_halo_begins_at_minus_one) {
    tensor(x, F32, 6, 30);
    tensor(y, F32, 6, 30);
    grid(1) threads(32) {
        shared(s, F32, 8, 32);
        copy(from(x, -1, -1), s); /* 0 around x */
        parallel(i, 6, j, 30) {
            set(at(y, i, j), add(at(s, i, add(j, 1)), at(s, add(i, 2), add(j, 1))));
        }
    }
}
