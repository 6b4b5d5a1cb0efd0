#include <tegula/kernel.h>

KERNEL(bits_of_negative_indices_keep_32_bits) {
    tensor(y, I64, 4, 32);
    grid(p, 4) threads(t, 32) {
        set(at(y, p, t), i64(min_of(max_of(bit_xor(-1, t), -5000000000), add(bit_not(p), bit_or(t, -8)))));
    }
}
