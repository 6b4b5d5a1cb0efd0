#include <tegula/kernel.h>

KERNEL(a_view_reads_the_same_bytes) {
    tensor(x, F16, 64);
    tensor(y, U32, 32);
    tensor(z, U16, 64);
    grid(block, 1) threads(thread, 32) {
        shared(halves, F16, 4, 16);
        local(pair, F16, 2);
        const tg_buf words = view(halves, U32, 4, 8);
        const tg_buf word = view(pair, U32);
        const tg_buf bits_of_x = view(x, U16, 64);
        set(at(halves, quo(thread, 8), mul(mod(thread, 8), 2)), at(x, thread));
        set(at(halves, quo(thread, 8), mad(mod(thread, 8), 2, 1)), at(x, add(thread, 32)));
        set(at(pair, 0), at(x, thread));
        set(at(pair, 1), at(x, thread));
        sync_threads();
        set(at(y, thread), bit_xor(at(words, quo(thread, 8), mod(thread, 8)), word));
        set(at(z, mul(thread, 2)), at(bits_of_x, thread));
        set(at(z, mad(thread, 2, 1)), bit_not(at(bits_of_x, thread)));
    }
}
