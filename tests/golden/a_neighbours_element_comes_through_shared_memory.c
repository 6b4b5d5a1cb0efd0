/* A thread does not hold its neighbour's element: the fragment goes through shared memory, with one barrier. */
#include <tegula/kernel.h>

KERNEL(a_neighbours_element_comes_through_shared_memory) {
    tensor(x, F32, 128);
    tensor(y, F32, 128);
    grid(pid, 1) threads(128) {
        fragment(here, F32, 128);
        fragment(next, F32, 128);
        copy(x, here);
        parallel(i, 128)
            set(at(next, i), sub(at(here, mod(add(i, 1), 128)), at(here, i)));
        copy(next, y);
    }
}
