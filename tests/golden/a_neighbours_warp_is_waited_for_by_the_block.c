#include <tegula/kernel.h>

/* Threads change places within their warp, and then with the next one. */
KERNEL(a_neighbours_warp_is_waited_for_by_the_block) {
    tensor(x, F32, 64);
    tensor(y, F32, 64);
    grid(block, 1) threads(64) {
        shared(s, F32, 64);
        copy(x, s);
        parallel(i, 64)
            set(at(s, i), mul(at(s, i), 2));
        parallel(i, 64)
            set(at(y, i), at(s, bit_xor(i, 1)));
        parallel(i, 64)
            accum(at(s, bit_xor(i, 1)), 1);
        parallel(i, 64)
            accum(at(y, i), at(s, bit_xor(i, 32)));
    }
}
