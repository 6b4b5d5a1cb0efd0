#include <tegula/kernel.h>

KERNEL(a_neighbour_that_is_stored_is_no_gather) {
    tensor(x, F32, 16, 65);
    tensor(y, F32, 16, 64);
    alias(y, x);
    grid(1) threads(64) {
        parallel(i, 16, j, 64) {
            set(at(y, i, j), at(x, i, add(j, 1))); /* y may be x: one element at a time */
        }
    }
}
