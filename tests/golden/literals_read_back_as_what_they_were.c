#include <math.h>
#include <tegula/kernel.h>

KERNEL(literals_read_back_as_what_they_were) {
    tensor(x, F32, 12);
    tensor(y, F64, 4);
    tensor(n, I64, 4);
    tensor(u, U32, 2);
    grid(block, 1) threads(i, 1) {
        set(at(x, 0), 0.1);
        set(at(x, 1), 1e-5);
        set(at(x, 2), -3);
        set(at(x, 3), 1e30);
        set(at(x, 4), INFINITY);
        set(at(x, 5), -INFINITY);
        set(at(x, 6), -0.0);
        set(at(x, 7), 16777216);
        set(at(x, 8), 1.0 / 3.0);
        set(at(y, 0), 0.1);
        set(at(y, 1), 1.0 / 3.0);
        set(at(y, 2), -INFINITY);
        set(at(n, 0), INT64_MIN);
        set(at(n, 1), 5000000000);
        set(at(n, 2), INT32_MIN);
        set(at(u, 0), 4294967295u);
        set(at(u, 1), add(at(u, 1), 4294967295u));
    }
}
