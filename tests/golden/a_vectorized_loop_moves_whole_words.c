#include <tegula/kernel.h>

KERNEL(a_vectorized_loop_moves_whole_words) {
    tensor(x, F16, 32, 16);
    tensor(y, F16, 32, 16);
    grid(block, 1) threads(row, 32) {
        local(words, F16, 16);
        vectorized(k, 16)
            set(at(words, k), at(x, row, k));
        serial(k, 16)
            set(at(words, k), add(at(words, k), at(words, sub(15, k))));
        vectorized(k, 16)
            set(at(y, row, k), at(words, k));
    }
}
