#include <tegula/kernel.h>

KERNEL(a_check_names_itself_and_carries_on) {
    tensor(x, F32, 32);
    tensor(y, F32, 32);
    grid(block, 1) threads(thread, 32) {
        check(ge(at(x, thread), -2), "x is not below -2");
        check(both(lt(thread, 32), ge(thread, 0)), "thread is inside");
        set(at(y, thread), at(x, thread));
    }
}
