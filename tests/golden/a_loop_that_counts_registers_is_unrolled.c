#include <tegula/kernel.h>

/* Each tile adds to sums of its own: a register for each needs an index that is known. */
KERNEL(a_loop_that_counts_registers_is_unrolled) {
    tensor(x, F32, 8, 64);
    tensor(y, F32, 8);
    grid(block, 1) threads(64) {
        shared(tile_shared, F32, 2, 64);
        reducer(sums, SUM, F32, 8);
        clear(sums);
        serial(i_tile, 4) {
            copy(tile(x, i_tile, 0), tile_shared);
            parallel(k, 64) {
                unrolled(i, 2) {
                    accum(at(sums, mad(i_tile, 2, i)), at(tile_shared, i, k));
                }
            }
        }
        finalize(sums);
        copy(sums, y);
    }
}
