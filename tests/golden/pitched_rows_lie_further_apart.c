#include <tegula/kernel.h>

KERNEL(pitched_rows_lie_further_apart) {
    pitched(x, F32, 20, 4, 16);
    pitched(y, F32, 24, 4, 16);
    grid(block, 1) threads(col, 16, row, 4) {
        set(at(y, row, col), at(x, row, col));
    }
}
