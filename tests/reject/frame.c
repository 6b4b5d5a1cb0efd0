/* frame.c -- the kernel in which reject.sh puts one statement, STATEMENT. */
#ifdef HEADERS_BEFORE
#include HEADERS_BEFORE
#endif
#include <tegula/kernel.h>
#ifdef HEADERS_AFTER
#include HEADERS_AFTER
#endif

KERNEL(frame) {
    params(n);
    tensor(a, F16, n);
    grid(p, 1) threads(t, 32) {
        shared(b, F16, n);
        (void)b;
        (void)t;
        STATEMENT
    }
}
