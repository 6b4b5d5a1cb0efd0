#include <tegula/kernel.h>

KERNEL(when_and_otherwise_are_if_and_else) {
    tensor(x, I32, 100);
    tensor(y, I32, 100);
    grid(block, 4) threads(thread, 32) {
        let(i, mad(block, 32, thread));
        when(lt(i, 100)) {
            when(lt(at(x, i), 0)) {
                set(at(y, i), -1);
            }
            otherwise {
                when(gt(at(x, i), 1000)) {
                    set(at(y, i), 1);
                }
                otherwise {
                    set(at(y, i), 0);
                    accum(at(y, i), at(x, i));
                }
            }
        }
    }
}
