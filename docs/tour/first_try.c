/* first_try.c -- the tour's last chapter begins here: one thread for each row. */
#include <tegula/kernel.h>

KERNEL(row_scales) {
    params(N);
    extent(rows);
    tensor(x, F16, rows, N);
    tensor(scales, F32, rows);

    grid(row, rows) threads(tid, 1) {
        local(largest, F32);
        clear(largest);
        serial(j, N) {
            set(largest, max_of(largest, abs_of(f32(at(x, row, j)))));
        }
        set(at(scales, row), mul(largest, 1.0 / 127));
    }
}
