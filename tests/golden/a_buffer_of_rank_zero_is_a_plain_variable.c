#include <tegula/kernel.h>

KERNEL(a_buffer_of_rank_zero_is_a_plain_variable) {
    tensor(x, F32, 64);
    tensor(y, F32, 1);
    grid(block, 1) threads(thread, 64) {
        shared(total, F32);
        local(mine, F32);
        set(mine, mul(at(x, thread), 2));
        when(eq(thread, 0))
            set(total, 0);
        sync_threads();
        atomic_add(total, mine);
        sync_threads();
        when(eq(thread, 0))
            set(at(y, 0), total);
    }
}
