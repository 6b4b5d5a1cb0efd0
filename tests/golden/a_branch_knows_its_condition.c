#include <tegula/kernel.h>

KERNEL(a_branch_knows_its_condition) {
    tensor(x, I32, 32);
    tensor(y, I32, 32);
    grid(block, 4) threads(thread, 64) {
        when(lt(thread, 8)) {
            let(i, mad(block, 8, thread));
            when(both(lt(thread, 8), lt(i, 32))) {
                set(at(y, i), choose(lt(i, 32), at(x, i), 0));
            }
            when(both(lt(thread, 8), lt(at(x, i), 7))) { /* memory may have changed: this one stays */
                set(at(y, i), 7);
            }
        }
        otherwise {
            when(lt(mad(block, 8, thread), 32)) {
                print("%d\n", thread);
            }
        }
    }
}
