#include <tegula/kernel.h>

KERNEL(shared_memory_beyond_the_static_limit_is_dynamic) {
    tensor(x, F32, 128, 128);
    tensor(y, F32, 128);
    grid(block, 1) threads(row, 128) {
        shared(rows, F32, 128, 128);
        shared(first, F32, 128);
        shared(total, F32);
        serial(k, 128)
            set(at(rows, k, row), at(x, k, row));
        set(at(first, row), at(x, 0, row));
        when(eq(row, 0))
            set(total, 0);
        sync_threads();
        local(sum, F32);
        clear(sum);
        serial(k, 128)
            accum(sum, at(rows, row, k));
        atomic_add(total, f32(1));
        sync_threads();
        set(at(y, row), add(add(sum, at(first, sub(127, row))), total));
    }
}
