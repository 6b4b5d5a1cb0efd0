#include <tegula/kernel.h>

KERNEL(bitcast_keeps_the_bits) {
    tensor(x, F32, 32);
    tensor(h, F16, 32);
    tensor(d, F64, 32);
    tensor(u, U32, 32);
    tensor(s, U16, 32);
    tensor(l, I64, 32);
    grid(block, 1) threads(i, 32) {
        set(at(u, i), bit_xor(bitcast(U32, at(x, i)), u32(shl(1, 31))));
        set(at(s, i), bitcast(U16, at(h, i)));
        set(at(l, i), bitcast(I64, at(d, i)));
        set(at(x, i), bitcast(F32, bit_and(at(u, i), bit_not(u32(255)))));
        set(at(h, i), bitcast(F16, bit_xor(at(s, i), 0x8000)));
    }
}
