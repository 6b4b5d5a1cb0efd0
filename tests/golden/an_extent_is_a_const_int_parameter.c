#include <tegula/kernel.h>

KERNEL(an_extent_is_a_const_int_parameter) {
    extent(rows);
    tensor(x, F32, rows, 16);
    tensor(y, F32, rows);
    grid(block, ceildiv(rows, 4)) threads(thread, 4) {
        let(row, mad(block, 4, thread));
        when(lt(row, rows)) {
            local(sum, F32);
            clear(sum);
            serial(k, 16)
                accum(sum, at(x, row, k));
            set(at(y, row), sum);
        }
    }
}
