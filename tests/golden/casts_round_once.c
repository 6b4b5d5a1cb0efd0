#include <tegula/kernel.h>

KERNEL(casts_round_once) {
    tensor(d, F64, 64);
    tensor(n, I32, 64);
    tensor(l, I64, 64);
    tensor(h, F16, 64);
    tensor(b, BF16, 64);
    tensor(x, F32, 64);
    tensor(c, I8, 64);
    tensor(t, BOOL, 64);
    grid(block, 2) threads(thread, 32) {
        let(i, mad(block, 32, thread));
        set(at(h, i), f16(at(d, i)));
        set(at(b, i), bf16(at(d, i)));
        accum(at(x, i), f32(bf16(at(n, i))));
        accum(at(x, i), f32(f16(at(l, i))));
        accum(at(x, i), f32(bf16(at(l, i))));
        accum(at(x, i), f32(bf16(u32(at(n, i)))));
        accum(at(x, i), f32(f16(u64(at(l, i)))));
        accum(at(x, i), f32(f16(i)));
        accum(at(x, i), f32(at(c, i)));
        set(at(n, i), i32(mul(at(h, i), 3))); /* towards zero */
        set(at(c, i), i8(at(l, i)));
        set(at(t, i), cast(BOOL, at(h, i)));
        set(at(d, i), add(f64(at(b, i)), f64(at(t, i))));
    }
}
