/* The tile nearly fills shared memory: 16 bytes of padding in each of its rows would be more than a block may have.
 * Pieces of 16 bytes then change places by the row, in every access to it. */
#include <tegula/kernel.h>

KERNEL(chunks_change_places_where_padding_has_no_room) {
    const int64_t rows = 224, columns = 256;
    tensor(x, F32, 2 * rows, columns);
    tensor(y, F32, 2 * rows);
    grid(pid, 2) threads(rows) {
        shared(tile_x, F32, rows, columns);
        fragment(sums, F32, rows);
        copy(tile(x, pid, 0), tile_x);
        clear(sums);
        parallel(i, rows)
            serial(k, columns)
                accum(at(sums, i), at(tile_x, i, k));
        copy(sums, tile(y, pid));
    }
}
