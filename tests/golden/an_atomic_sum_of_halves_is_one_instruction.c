#include <tegula/kernel.h>

KERNEL(an_atomic_sum_of_halves_is_one_instruction) {
    tensor(x, F16, 32);
    tensor(y, BF16, 32);
    tensor(sums, F16, 2);
    tensor(more, BF16, 2);
    grid(block, 1) threads(thread, 32) {
        atomic_add(at(sums, mod(thread, 2)), at(x, thread));
        atomic_add(at(more, mod(thread, 2)), at(y, thread));
    }
}
