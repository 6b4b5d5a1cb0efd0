#include <tegula/kernel.h>

KERNEL(arithmetic_on_halves_is_in_float_and_rounded_once) {
    tensor(x, F16, 32);
    tensor(y, BF16, 32);
    tensor(z, F16, 32);
    tensor(w, BF16, 32);
    grid(block, 1) threads(i, 32) {
        set(at(z, i), add(mul(at(x, i), at(x, sub(31, i))), quo(at(x, i), 3)));
        accum(at(z, i), neg(at(x, i)));
        set(at(w, i), choose(lt(at(y, i), 0.25), sub(at(y, i), 1.5), at(y, i)));
        accum(at(w, i), 0.125);
    }
}
