#include <tegula/kernel.h>

KERNEL(bits_and_shifts_are_bracketed_for_the_reader) {
    tensor(a, U32, 64);
    tensor(b, I64, 64);
    tensor(c, BOOL, 64);
    grid(block, 2) threads(thread, 32) {
        let(i, mad(block, 32, thread));
        let(x, at(a, i));
        set(at(a, i), bit_or(bit_and(x, 255), shl(bit_xor(x, shr(x, 3)), add(mod(thread, 4), 1))));
        set(at(b, i), shr(shl(at(b, i), 2), 1));
        set(at(c, i), bit_or(eq(bit_and(x, 1), 0), bit_not(at(c, i))));
    }
}
