/* pack_kernels.c -- kernels for test_pack.c: every kind of parameter that a launch plan has. */
#include <tegula/kernel.h>

KERNEL(packed_scale) {
    params(N);
    tunables(block, 64, unroll, 2);
    require(unroll > 0, "at least one");
    tensor(x, F32, N);
    tensor(y, F32, N);
    grid(p, ceildiv(N, block)) threads(t, block) {
        let(i, mad(p, block, t));
        when(lt(i, N)) {
            set(at(y, i), mul(at(x, i), 2.0));
        }
    }
}

KERNEL(packed_everything) {
    params(width);
    scalar(factor, F32);
    extent(rows);
    tensor(table, F16, width);
    pitched(x, F32, width + 8, rows, width);
    tensor(y, F32, rows, width);
    constant(table);
    alias(y, x);
    grid(p, ceildiv(rows, 4)) threads(t, 32, r, 4) {
        shared(tile_of, F32, 4, width);
        let(row, mad(p, 4, r));
        when(lt(row, rows)) {
            check(ge(factor, 0.0), "the factor is positive");
            serial(j, ceildiv(width, 32)) {
                let(col, mad(j, 32, t));
                when(lt(col, width)) {
                    set(at(tile_of, r, col), mul(factor, mul(at(x, row, col), f32(at(table, col)))));
                    set(at(y, row, col), at(tile_of, r, col));
                }
            }
        }
    }
}

KERNEL(packed_by_user) {
    const int64_t *n = (const int64_t *)tg_user(tg_now());
    tensor(y, F32, *n);
    grid(p, ceildiv(*n, 32)) threads(t, 32) {
        let(i, mad(p, 32, t));
        when(lt(i, *n)) {
            set(at(y, i), 1.0);
        }
    }
}
