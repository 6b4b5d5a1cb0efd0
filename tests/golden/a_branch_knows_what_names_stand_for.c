#include <tegula/kernel.h>

KERNEL(a_branch_knows_what_names_stand_for) {
    tensor(x, F32, 5, 768);
    tensor(y, F32, 5, 768);
    grid(row, 5) threads(128) {
        fragment(f, F32, 768); /* two turns, in the second of which 64 threads have something */
        copy(slice(x, row, 1, 0, 768), f);
        parallel(i, 768) {
            set(at(f, i), mul(at(f, i), 2));
        }
        copy(f, slice(y, row, 1, 0, 768));
    }
}
