/* copy_1d.c -- the same copy in both views: b = a.
 *
 * Block view says what the block copies; how wide, and by which threads, follows.  Thread view says which
 * elements each thread copies, one at a time. */
#include "reference.h"
#include <tegula/kernel.h>

KERNEL(copy_1d_block) {
    params(N, dtype);
    tunables(block_n, 2048, num_threads, 256);
    tensor(a, dtype, N);
    tensor(b, dtype, N);

    grid(pid, ceildiv(N, block_n)) threads(num_threads) {
        copy(slice(a, mul(pid, block_n), block_n), tile(b, pid));
    }
}

KERNEL(copy_1d_thread) {
    params(N, dtype);
    tunables(block_n, 2048, num_threads, 256);
    require(block_n % num_threads == 0, "block_n must be a multiple of num_threads");
    tensor(a, dtype, N);
    tensor(b, dtype, N);

    grid(pid, ceildiv(N, block_n)) threads(tid, num_threads) {
        serial(i, block_n / num_threads) {
            let(index, add(mul(pid, block_n), mul(i, num_threads), tid));
            when(lt(index, N)) {
                set(at(b, index), at(a, index));
            }
        }
    }
}

void copy_1d_reference(const tg_config *config, void *const args[]) {
    memcpy(args[1], args[0], (size_t)(value_of(config, "N") * tg_bits(value_of(config, "dtype")) / 8));
}
