#include <tegula/kernel.h>

/* CUDA's `for` asks each time; a loop is told once, whatever its body does to the memory that told it. */
KERNEL(a_loop_keeps_the_trips_it_began_with) {
    tensor(x, I32, 32);
    tensor(y, I32, 32);
    grid(block, 1) threads(tid, 32) {
        shared(most, I32, 1);
        local(left, I32);
        parallel(i, 1)
            set(at(most, i), add(bit_and(at(x, 3), 3), 2));
        set(left, bit_and(at(x, tid), 7));
        serial(i, left) {
            set(left, sub(left, 1));
            accum(at(y, tid), i32(i));
        }
        serial(i, at(most, 0)) {
            parallel(j, 1)
                set(at(most, j), 0);
            accum(at(y, tid), add(i32(i), 100));
        }
        serial(i, bit_and(at(y, tid), 7), j, bit_and(at(x, tid), 3))
            set(at(y, tid), add(mul(bit_and(at(y, tid), 1023), 3), i32(add(i, j))));
    }
}
