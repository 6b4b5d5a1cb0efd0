/* 1001 is no multiple of 4: the last run goes element by element. */
#include <tegula/kernel.h>

KERNEL(a_run_is_cut_only_where_the_tensor_ends_inside_it) {
    tensor(x, F32, 1001);
    tensor(y, F32, 1001);
    grid(pid, 8) threads(32) {
        shared(s, F32, 128);
        copy(tile(x, pid), s, .outside = -1);
        copy(s, tile(y, pid));
    }
}
