#include <tegula/kernel.h>

KERNEL(a_loop_over_results_stays_where_they_lie) {
    tensor(x, F32, 4, 256);
    tensor(y, F32, 4);
    grid(1) threads(64) {
        fragment(mean, F32, 4);
        reducer(sum, SUM, F32, 4);
        clear(sum);
        parallel(i, 4, j, 256) {
            accum(at(sum, i), at(x, i, j));
        }
        finalize(sum);
        parallel(i, 4) {
            set(at(mean, i), mul(at(sum, i), 1.0 / 256));
        }
        copy(mean, y);
    }
}
