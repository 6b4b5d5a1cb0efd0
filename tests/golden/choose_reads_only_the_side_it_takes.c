#include <tegula/kernel.h>

KERNEL(choose_reads_only_the_side_it_takes) {
    tensor(x, F32, 50);
    tensor(y, F32, 64);
    grid(block, 2) threads(thread, 32) {
        let(i, mad(block, 32, thread));
        set(at(y, i), choose(lt(i, 50), at(x, i), choose(eq(mod(i, 2), 0), 0.5, -0.5)));
    }
}
