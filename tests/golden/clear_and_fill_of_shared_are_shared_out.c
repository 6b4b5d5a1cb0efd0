#include <tegula/kernel.h>

KERNEL(clear_and_fill_of_shared_are_shared_out) {
    tensor(y, F32, 5, 20);
    grid(block, 1) threads(thread, 32) {
        shared(tile_of_y, F32, 5, 20);
        shared(ones, F32, 20);
        local(mine, F32, 3);
        clear(tile_of_y);
        fill(ones, 1);
        fill(mine, 0.5);
        serial(k, 5)
            when(lt(thread, 20))
                set(at(y, k, thread),
                    add(add(at(tile_of_y, k, thread), at(ones, thread)), at(mine, mod(k, 3))));
    }
}
