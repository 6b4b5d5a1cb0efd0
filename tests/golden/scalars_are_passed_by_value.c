#include <tegula/kernel.h>

KERNEL(scalars_are_passed_by_value) {
    scalar(scale, F32);
    scalar(offset, F16);
    scalar(count, I32);
    tensor(x, F16, 64);
    grid(block, 2) threads(thread, 32) {
        let(i, mad(block, 32, thread));
        when(lt(i, count))
            set(at(x, i), add(f16(mul(f32(at(x, i)), scale)), offset));
    }
}
