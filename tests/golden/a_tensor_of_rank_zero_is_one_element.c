#include <tegula/kernel.h>

KERNEL(a_tensor_of_rank_zero_is_one_element) {
    tensor(x, F32, 64);
    tensor(total, F32);
    grid(pid, 1) threads(t, 64) {
        let(sum, allreduce(SUM, at(x, t), t));
        when(eq(t, 0)) {
            set(total, sum);
        }
    }
}
