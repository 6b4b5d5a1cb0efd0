#include <tegula/kernel.h>

KERNEL(print_hands_over_what_printf_expects) {
    tensor(h, F16, 1);
    grid(block, 1) threads(thread, 1) {
        let(i, add(thread, block));
        print("nothing but 100%% text \\ \"quoted\"\n");
        print("%d %lld %g %u\n", i, add(i, 5), at(h, 0), u32(i));
        print("%f %x\n", f32(i), u16(7));
    }
}
