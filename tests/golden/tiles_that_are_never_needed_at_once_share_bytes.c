#include <tegula/kernel.h>

/* Two phases; both tiles are as large as the shared memory that the kernel needs. */
KERNEL(tiles_that_are_never_needed_at_once_share_bytes) {
    tensor(x, F32, 64, 64);
    tensor(y, F32, 128, 32);
    tensor(sum_of_x, F32, 64);
    tensor(sum_of_y, F32, 128);
    grid(pid, 1) threads(128) {
        shared(square, F32, 64, 64);
        shared(slab, F32, 128, 32);
        fragment(of_row, F32, 64);
        fragment(of_line, F32, 128);
        copy(x, square);
        clear(of_row);
        parallel(i, 64) {
            serial(k, 64)
                accum(at(of_row, i), at(square, i, k));
        }
        copy(of_row, sum_of_x);
        copy(y, slab);
        clear(of_line);
        parallel(i, 128) {
            serial(k, 32)
                accum(at(of_line, i), at(slab, i, k));
        }
        copy(of_line, sum_of_y);
    }
}
