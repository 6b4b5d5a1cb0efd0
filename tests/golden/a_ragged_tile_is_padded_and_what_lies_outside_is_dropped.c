/* Rows end inside the last tile, columns at a multiple of a run: one comparison a dimension, for a whole run. */
#include <tegula/kernel.h>

KERNEL(a_ragged_tile_is_padded_and_what_lies_outside_is_dropped) {
    tensor(x, F16, 100, 1000);
    tensor(y, F32, 100, 1000);
    grid(col_block, 16, row_block, 7) threads(128) {
        shared(s, F16, 16, 64);
        copy(tile(x, row_block, col_block), s);
        copy(s, tile(y, row_block, col_block));
    }
}
