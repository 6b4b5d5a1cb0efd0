/* copy_kernels.c -- kernels for test_copy.c: one for each way that elements can take, in any size. */
#include <tegula/kernel.h>

/* Where the elements of a tile rest between the two tensors. */
enum { DIRECT, SHARED, FRAGMENT, SHARED_FRAGMENT, FRAGMENT_SHARED, TWO_FRAGMENTS, PADDED_SHARED, WAYS };

static void take(tg_tile in, tg_buf middle, tg_copy_options options) {
    tg_copy(tg_now(), TG_HERE, in, tg_whole(tg_now(), TG_HERE, middle), options);
}

/* b's tile at (r + dr, c + dc) = a's tile at (r + sr, c + sc), converted twice. */
KERNEL(copy_path) {
    params(from_type, middle_type, to_type, M, N, bm, bn, threads_n, way, outside);
    tunables(sr, 0, sc, 0, dr, 0, dc, 0, from_pitch, 0, to_pitch, 0, from_align, 16, width, 0, how, 0);
    pitched(a, from_type, from_pitch ? from_pitch : N, M, N);
    pitched(b, to_type, to_pitch ? to_pitch : N, M, N);
    aligned(a, from_align);
    const tg_copy_options options = {(int)width, (tg_copy_layout)how, (double)outside};
    grid(px, ceildiv(N, bn), py, ceildiv(M, bm)) threads(threads_n) {
        const tg_tile in = slice(a, add(mul(py, bm), sr), bm, add(mul(px, bn), sc), bn);
        const tg_tile out = from(b, add(mul(py, bm), dr), add(mul(px, bn), dc));
        shared(s, middle_type, bm, bn);
        shared(wide, middle_type, bm, bn + 8);
        fragment(f, middle_type, bm, bn);
        fragment(g, to_type, bm, bn);
        if (way == DIRECT) {
            tg_copy(tg_now(), TG_HERE, in, out, options);
        } else if (way == SHARED) {
            take(in, s, options);
            copy(s, out);
        } else if (way == FRAGMENT) {
            take(in, f, options);
            copy(f, out);
        } else if (way == SHARED_FRAGMENT) {
            take(in, s, options);
            copy(s, f);
            copy(f, out);
        } else if (way == FRAGMENT_SHARED) {
            take(in, f, options);
            copy(f, s);
            copy(s, out);
        } else if (way == TWO_FRAGMENTS) {
            take(in, f, options);
            copy(f, g);
            copy(g, out);
        } else {
            clear(wide);
            tg_copy(tg_now(), TG_HERE, in, slice(wide, 0, bm, 0, bn), options);
            copy(slice(wide, 0, bm, 0, bn), out);
        }
    }
}
