#include <tegula/kernel.h>

KERNEL(atomics_of_plain_numbers_are_cudas_own) {
    tensor(x, I32, 64);
    tensor(sums, I32, 4);
    tensor(wide, I64, 4);
    tensor(unsigned_wide, U64, 4);
    tensor(reals, F64, 4);
    tensor(extremes, U32, 2);
    tensor(largest, I64, 4);
    grid(block, 2) threads(thread, 32) {
        let(i, mad(block, 32, thread));
        let(bin, mod(i, 4));
        atomic_add(at(sums, bin), at(x, i));
        atomic_add(at(wide, bin), i64(at(x, i)));
        atomic_add(at(unsigned_wide, bin), u64(i));
        atomic_add(at(reals, bin), f64(i));
        atomic_max(at(extremes, 0), u32(i));
        atomic_min(at(extremes, 1), u32(i));
        atomic_max(at(largest, bin), i64(i));
    }
}
