/* generate_late.c -- a kernel that reads, lets the next launch in, takes its time, and writes: what is launched after it,
 * dependent on it, starts meanwhile. */
#include <tegula/kernel.h>

KERNEL(late_copy) {
    extent(n);
    scalar(zero, U32);
    tensor(from_here, U8, n);
    tensor(to_there, U8, n);
    grid(p, ceildiv(n, 64)) threads(t, 64) {
        shared(kept, U8, 64);
        local(spent, U32);
        let(i, mad(p, 64, t));
        set(at(kept, t), choose(lt(i, n), at(from_here, i), 0));
        sync_threads();
        set(spent, 1);
        serial(j, 5000) {
            set(spent, add(mul(spent, cast(U32, 5)), cast(U32, t)));
        }
        when(lt(i, n)) {
            set(at(to_there, i), cast(U8, add(cast(U32, at(kept, t)), bit_and(spent, zero))));
        }
    }
}
