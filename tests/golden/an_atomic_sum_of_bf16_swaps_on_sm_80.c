#include <tegula/kernel.h>

KERNEL(an_atomic_sum_of_bf16_swaps_on_sm_80) {
    tensor(x, BF16, 32);
    tensor(sums, BF16, 2);
    grid(block, 1) threads(thread, 32) {
        atomic_add(at(sums, mod(thread, 2)), at(x, thread));
    }
}
