/* Each thread moves what one access takes; both sides are named by one offset. */
#include <tegula/kernel.h>

KERNEL(a_copied_line_is_two_lines_of_text) {
    tensor(A, F16, 4096);
    tensor(B, F16, 4096);
    grid(bx, 4) threads(256) copy(slice(A, mul(bx, 1024), 1024), slice(B, mul(bx, 1024), 1024));
}
