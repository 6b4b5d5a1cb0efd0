#include <tegula/kernel.h>

KERNEL(what_is_read_once_goes_past_the_first_level_cache) {
    tensor(vector, F16, 1024);
    tensor(matrix, F16, 64, 1024);
    tensor(products, F16, 64, 1024);
    grid(row, 64) threads(thread, 128) {
        local(v, F16, 8);
        local(m, F16, 8);
        vectorized(k, 8) {
            set(at(v, k), at(vector, mad(thread, 8, k)));
            set(at(m, k), at(matrix, row, mad(thread, 8, k)));
        }
        serial(k, 8) {
            set(at(m, k), mul(at(m, k), at(v, k)));
        }
        vectorized(k, 8) {
            set(at(products, row, mad(thread, 8, k)), at(m, k));
        }
    }
}
