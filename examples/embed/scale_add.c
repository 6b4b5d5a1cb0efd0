/* scale_add.c -- a kernel of the program: y = a x + y. */
#include <tegula/kernel.h>

KERNEL(scale_add) {
    params(n);
    tunables(block, 256);
    scalar(a, F32);
    tensor(x, F32, n);
    tensor(y, F32, n);
    grid(pid, ceildiv(n, block)) threads(tid, block) {
        let(i, mad(pid, block, tid));
        when(lt(i, n)) {
            set(at(y, i), mad(a, at(x, i), at(y, i)));
        }
    }
}
