#include <tegula/kernel.h>

KERNEL(a_dependent_launch_reads_constants_before_it_waits) {
    tensor(weight, F16, 64);
    tensor(x, F16, 64);
    tensor(y, F16, 64);
    constant(weight);
    grid(pid, 1) threads(t, 64) {
        let(factor, f32(at(weight, t)));
        set(at(y, t), f16(mul(factor, f32(at(x, t)))));
    }
}
