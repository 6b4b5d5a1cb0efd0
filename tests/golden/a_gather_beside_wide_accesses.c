#include <tegula/kernel.h>

KERNEL(a_gather_beside_wide_accesses) {
    tensor(x, F32, 16, 64);
    tensor(index, U8, 64);
    tensor(table, F32, 256);
    tensor(y, F32, 16, 64);
    grid(1) threads(64) {
        parallel(i, 16, j, 64) {
            set(at(y, i, j), add(at(x, i, j), at(table, at(index, j)), at(table, add(j, 1))));
        }
    }
}
