#include <tegula/kernel.h>

KERNEL(three_axes_of_blocks_and_threads) {
    tensor(x, I32, 2, 3, 4, 2, 3, 4);
    grid(bx, 4, by, 3, bz, 2) threads(tx, 4, ty, 3, tz, 2) {
        accum(at(x, bz, by, bx, tz, ty, tx), add(tx, add(mul(ty, 10), mul(bz, 1000))));
    }
}
