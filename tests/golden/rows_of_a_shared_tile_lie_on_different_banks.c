#include <tegula/kernel.h>

/* A transpose: written by rows, read by columns. */
KERNEL(rows_of_a_shared_tile_lie_on_different_banks) {
    tensor(x, F32, 64, 96);
    tensor(y, F32, 96, 64);
    grid(pid_m, 2, pid_n, 3) threads(128) {
        shared(square, F32, 32, 32);
        copy(tile(x, pid_m, pid_n), square);
        parallel(i, 32, j, 32)
            set(at(y, mad(pid_n, 32, i), mad(pid_m, 32, j)), at(square, j, i));
    }
}
