/* An element that one iteration writes is no other iteration's business. */
#include <tegula/kernel.h>

KERNEL(iterations_must_not_meet) {
    tensor(y, I32, 8);
    grid(pid, 1) threads(32) {
        fragment(f, I32, 8);
        shared(s, I32, 9);
        clear(f);
        clear(s);
        parallel(i, 8, j, 4)
            accum(at(f, i), 1);
        parallel(i, 8)
            set(at(s, i), at(s, add(i, 1)));
        parallel(i, 8)
            set(at(y, quo(i, 2)), at(f, i));
    }
}
