/* Loaded and stored by its layout; another type of the same layout is moved register by register. */
#include <tegula/kernel.h>

KERNEL(a_fragment_is_registers_of_each_thread) {
    tensor(x, F32, 64, 64);
    tensor(y, F32, 64, 64);
    grid(pid, 4) threads(64) {
        fragment(f, F32, 16, 64);
        fragment(g, F32, 16, 64);
        copy(slice(x, mul(pid, 16), 16, 0, 64), f);
        clear(g);
        copy(slice(f, 0, 8, 0, 64), slice(g, 0, 8, 0, 64));
        copy(g, from(y, mul(pid, 16), 0));
    }
}
