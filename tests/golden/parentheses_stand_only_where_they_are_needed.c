#include <tegula/kernel.h>

KERNEL(parentheses_stand_only_where_they_are_needed) {
    tensor(x, F32, 64);
    tensor(y, F32, 64);
    tensor(n, I32, 64);
    tensor(t, BOOL, 64);
    grid(block, 2) threads(thread, 32) {
        let(i, mad(block, 32, thread));
        let(a, at(x, i));
        let(b, at(x, sub(63, i)));
        set(at(y, i), sub(mul(add(a, b), sub(a, b)), sub(a, sub(b, mul(a, quo(b, add(a, 8)))))));
        set(at(n, i), quo(mul(add(i, 1), sub(i, 2)), mul(add(i, 3), 2)));
        accum(at(n, i), mod(quo(i, 4), 3));
        set(at(t, i),
            either(both(lt(a, b), negate(eq(i, 3))), both(eq(lt(a, 0), lt(b, 0)), gt(neg(neg(a)), 0))));
    }
}
