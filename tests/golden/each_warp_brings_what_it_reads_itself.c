#include <tegula/kernel.h>

/* Thread p takes group p of each row, and so a warp 32 groups: it brings those, and waits for no other warp. */
KERNEL(each_warp_brings_what_it_reads_itself) {
    tensor(x, U8, 16, 1536);
    tensor(y, U32, 16, 128);
    grid(block, 1) threads(128) {
        shared(rows, U8, 4, 1536);
        const tg_buf groups = view(rows, U32, 4, 128, 3);
        pipelined(i_tile, 4, 2) {
            copy(tile(x, i_tile, 0), rows);
            parallel(p, 128) {
                unrolled(i, 4) {
                    set(at(y, mad(i_tile, 4, i), p),
                        add(at(groups, i, p, 0), at(groups, i, p, 1), at(groups, i, p, 2)));
                }
            }
        }
    }
}
