#include <tegula/kernel.h>

KERNEL(shared_rows_keep_their_two_dimensions) {
    tensor(x, F32, 8, 16);
    tensor(y, F32, 16, 8);
    grid(block, 1) threads(col, 16, row, 8) {
        shared(tile_of_x, F32, 8, 16);
        set(at(tile_of_x, row, col), at(x, row, col));
        sync_threads();
        set(at(y, col, row), at(tile_of_x, row, col));
    }
}
