#include <tegula/kernel.h>

KERNEL(idle_lanes_join_the_others) {
    tensor(x, F16, 2, 1000);
    tensor(y, F32, 2);
    grid(1) threads(128) {
        fragment(f, F16, 2, 1000);
        reducer(sum, SUM, F32, 2);
        clear(sum);
        copy(x, f);
        parallel(i, 2, j, 1000) {
            accum(at(sum, i),
                  f32(at(f, i, j))); /* 125 threads have 8 elements of a row; the last three have none */
        }
        finalize(sum);
        copy(sum, y);
    }
}
