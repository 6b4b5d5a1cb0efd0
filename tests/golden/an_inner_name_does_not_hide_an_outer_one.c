#include <tegula/kernel.h>

/* The inner loop in a function of its own: its names meet those of the caller in the CUDA text only. */
static void inner(tg_buf x, tg_expr i, tg_expr outer) {
    serial(k, 2) {
        let(value, add(outer, f32(k)));
        accum(at(x, i, mad(k, 2, 1)), add(value, outer));
    }
}

KERNEL(an_inner_name_does_not_hide_an_outer_one) {
    tensor(x, F32, 32, 8);
    grid(block, 1) threads(i, 32) {
        serial(k, 8) {
            let(value, at(x, i, k));
            inner(x, i, value);
        }
        serial(k, 8)
            accum(at(x, i, k), 1);
    }
}
