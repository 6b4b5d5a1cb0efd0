#include <tegula/kernel.h>

KERNEL(functions_of_reals_are_computed_in_their_width) {
    tensor(x, F32, 32);
    tensor(y, F64, 32);
    tensor(z, F16, 32);
    grid(block, 1) threads(i, 32) {
        let(a, add(abs_of(at(x, i)), 0.5));
        set(at(x, i), add(add(sqrt_of(a), rsqrt_of(a)), add(exp_of(neg(a)), add(log_of(a), tanh_of(a)))));
        set(at(y, i), add(sqrt_of(abs_of(at(y, i))), exp_of(at(y, i))));
        set(at(z, i), add(exp_of(at(z, i)), abs_of(at(z, i))));
    }
}
