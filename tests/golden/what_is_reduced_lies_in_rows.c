#include <tegula/kernel.h>

KERNEL(what_is_reduced_lies_in_rows) {
    tensor(x, F32, 12, 20);
    tensor(y, F32, 12);
    grid(1) threads(64) {
        fragment(f, F32, 12, 20);
        fragment(r, F32, 12);
        copy(x, f);
        parallel(i, 12, j, 20) {
            set(at(f, i, j),
                exp_of(at(f, i, j))); /* alone it would use all 64 threads; 10 share a row of 20 */
        }
        reduce(SUM, f, r, 1);
        copy(r, y);
    }
}
