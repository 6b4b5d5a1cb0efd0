#include <tegula/kernel.h>

KERNEL(an_allreduce_over_a_block_meets_in_shared_memory) {
    tensor(x, F32, 4, 96);
    tensor(y, F32, 4, 96);
    grid(block, 4) threads(thread, 96) {
        let(total, allreduce(SUM, at(x, block, thread), thread));
        let(largest, allreduce(MAX, at(x, block, thread), thread));
        set(at(y, block, thread), add(total, largest));
    }
}
