/* The first row of a pair exists where its block does, the second may be one too many; a loop over what is left
 * stays inside. */
#include <tegula/kernel.h>

KERNEL(what_launch_and_loop_say_needs_no_guard) {
    extent(rows);
    tensor(x, F32, rows, 64);
    tensor(y, F32, rows, 64);
    tensor(z, F32, rows, 64);
    grid(pair, ceildiv(rows, 2)) threads(64) {
        let(row, mul(pair, 2));
        copy(slice(x, row, 1, 0, 64), from(y, row, 0));
        copy(slice(x, add(row, 1), 1, 0, 64), from(y, add(row, 1), 0));
        serial(i, min_of(2, sub(rows, row))) {
            copy(slice(x, add(row, i), 1, 0, 64), from(z, add(row, i), 0));
        }
    }
}
