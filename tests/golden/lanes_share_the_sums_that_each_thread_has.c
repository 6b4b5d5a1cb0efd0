/* Eight sums in each of 64 threads: with each step a lane gives half of its sums away, so that each ends up with one,
 * which both warps put into shared memory.  All that follows is a copy: a thread takes what it copies. */
#include <tegula/kernel.h>

KERNEL(lanes_share_the_sums_that_each_thread_has) {
    tensor(x, F32, 8, 64);
    tensor(y, F16, 8);
    grid(pid, 1) threads(64) {
        reducer(sums, SUM, F32, 8);
        clear(sums);
        parallel(i, 64) {
            unrolled(row, 8) {
                accum(at(sums, row), at(x, row, i));
            }
        }
        finalize(sums);
        copy(sums, y);
    }
}
