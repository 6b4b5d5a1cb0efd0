#include <tegula/kernel.h>

KERNEL(an_inner_name_does_not_hide_an_outer_one) {
    tensor(x, F32, 32, 8);
    grid(block, 1) threads(i, 32) {
        serial(k, 8) {
            let(value, at(x, i, k));
            const tg_expr outer = value;
            serial(k, 2) {
                let(value, add(outer, f32(k)));
                accum(at(x, i, mad(k, 2, 1)), add(value, outer));
            }
        }
        serial(k, 8)
            accum(at(x, i, k), 1);
    }
}
