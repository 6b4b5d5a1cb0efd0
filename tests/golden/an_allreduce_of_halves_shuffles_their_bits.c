#include <tegula/kernel.h>

KERNEL(an_allreduce_of_halves_shuffles_their_bits) {
    tensor(x, F16, 64);
    tensor(z, BF16, 64);
    tensor(y, F16, 64);
    tensor(w, BF16, 64);
    grid(block, 2) threads(thread, 32) {
        let(i, mad(block, 32, thread));
        let(total, allreduce(SUM, at(x, i), thread));
        let(most, allreduce(MAX, at(z, i), thread));
        set(at(y, i), total);
        set(at(w, i), most);
    }
}
