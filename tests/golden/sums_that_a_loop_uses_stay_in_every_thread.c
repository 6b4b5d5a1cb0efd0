/* Four sums in each of 64 threads, which a loop uses before they are copied: every thread takes all of them. */
#include <tegula/kernel.h>

KERNEL(sums_that_a_loop_uses_stay_in_every_thread) {
    tensor(x, F32, 4, 64);
    tensor(y, F32, 4);
    tensor(z, F32, 4, 64);
    grid(pid, 1) threads(64) {
        reducer(sums, SUM, F32, 4);
        clear(sums);
        parallel(i, 64) {
            unrolled(row, 4) {
                accum(at(sums, row), at(x, row, i));
            }
        }
        finalize(sums);
        parallel(i, 64) {
            unrolled(row, 4) {
                set(at(z, row, i), sub(at(x, row, i), at(sums, row)));
            }
        }
        copy(sums, y);
    }
}
