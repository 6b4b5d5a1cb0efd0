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

/* ---- ranks and region forms ---------------------------------------------------------------------------- */

/* A row of a matrix, a column, planes of unit extent, rank 0: one block moves n elements through a buffer. */
KERNEL(copy_ranks) {
    params(form, n, threads_n);
    tensor(a, F32, 6, 5, n);
    tensor(b, F32, 6, 5, n);
    grid(pid, 5) threads(threads_n) {
        shared(line, F32, n);
        shared(column, F32, 6, 1, 1);
        shared(flat, F32, 1, 1, n);
        fragment(row, F32, n);
        fragment(box, F32, 6, 1, n);
        shared(one, F32);
        fragment(same, F32);
        if (form == 0) { /* a row, by a corner */
            copy(from(a, 1, pid, 0), line);
            copy(line, from(b, 2, pid, 0));
        } else if (form == 1) { /* unit extents in front */
            copy(slice(a, 1, 1, pid, 1, 0, n), line);
            copy(line, flat);
            copy(flat, row);
            copy(row, slice(b, 3, 1, pid, 1, 0, n));
        } else if (form == 2) { /* a box with a unit extent inside */
            copy(tile(a, 0, pid, 0), box);
            copy(box, tile(b, 0, pid, 0));
        } else if (form == 3) { /* a column */
            copy(slice(a, 0, 6, pid, 1, n - 1, 1), slice(column, 0, 6, 0, 1, 0, 1));
            copy(column, slice(b, 0, 6, pid, 1, 0, 1));
        } else if (form == 4) { /* one element */
            copy(from(a, 2, pid, 0), one);
            copy(one, same);
            copy(same, from(b, 5, pid, n - 1));
        } else { /* whole buffers, by name */
            shared(all, F32, 6, 5, n);
            when(eq(pid, 0)) {
                copy(a, all);
                copy(all, b);
            }
        }
    }
}

/* Slices of fragments, each on its own. */
KERNEL(copy_slices) {
    params(n, threads_n, begin, length);
    tensor(a, I32, 4, n);
    tensor(b, I32, 4, n);
    tensor(c, I32, 4, n);
    grid(pid, 1) threads(threads_n) {
        fragment(f, I32, 4, n);
        fragment(g, F32, 4, n);
        fill(f, 7);
        copy(slice(a, 1, 2, begin, length), slice(f, 1, 2, begin, length));
        copy(f, b);
        copy(slice(f, 0, 4, begin, length), slice(g, 0, 4, 0, length)); /* moves along */
        if (length < n) {
            fill(slice(g, 0, 4, length, n - length), 9);
        }
        copy(slice(g, 2, 1, 0, n), slice(f, 3, 1, 0, n));
        copy(f, c);
    }
}

/* A fragment as two shapes, in and out by either. */
KERNEL(copy_reshaped) {
    params(M, N, m, n, threads_n);
    tensor(a, I32, M, N);
    tensor(b, I32, m, n);
    tensor(c, I32, m, n);
    tensor(d, I32, M, N);
    grid(pid, 1) threads(threads_n) {
        fragment(f, I32, M, N);
        fragment(g, I32, m, n);
        const tg_buf seen = view(f, I32, m, n);
        copy(a, f);
        copy(seen, b);
        fill(slice(seen, m - 1, 1, 0, n), 7);
        parallel(j, n, i, m) {
            set(at(g, i, j), 0);
        }
        copy(seen, g);
        copy(g, c);
        copy(b, seen);
        copy(f, d);
    }
}

/* Slices whose place is known when the kernel runs. */
KERNEL(copy_moving_slice) {
    params(n, threads_n);
    tensor(a, F32, n, n);
    tensor(b, F32, n, n);
    grid(pid, 1) threads(threads_n) {
        fragment(f, F32, n);
        shared(s, F32, n, n);
        clear(s);
        serial(i, n) {
            copy(slice(a, i, 1, 0, n), f);
            copy(slice(f, i, 1), slice(s, i, 1, i, 1));
            copy(f, slice(b, i, 1, 0, n));
            copy(slice(s, i, 1, 0, n), slice(b, i, 1, 0, n));
        }
    }
}

/* ---- clear and fill ------------------------------------------------------------------------------------ */

KERNEL(fill_regions) {
    params(dtype, M, N, bm, bn, threads_n, r, c, way);
    tensor(b, dtype, M, N);
    grid(px, ceildiv(N, bn), py, ceildiv(M, bm)) threads(threads_n) {
        const tg_tile out = slice(b, add(mul(py, bm), r), bm, add(mul(px, bn), c), bn);
        shared(s, dtype, bm, bn);
        fragment(f, dtype, bm, bn);
        if (way == 0) {
            fill(out, 1);
        } else if (way == 1) {
            clear(out);
        } else if (way == 2) {
            fill(s, 1);
            fill(slice(s, bm / 2, bm - bm / 2, bn / 2, bn - bn / 2), 0);
            copy(s, out);
        } else {
            fill(f, 1);
            clear(slice(f, bm / 2, bm - bm / 2, bn / 2, bn - bn / 2));
            copy(f, out);
        }
    }
}

/* The value is what memory held before anything was written. */
KERNEL(fill_with_own_element) {
    params(threads_n);
    tensor(b, F32, 300);
    grid(pid, 1) threads(threads_n) {
        shared(s, F32, 300);
        copy(b, s);
        fill(s, mul(at(s, 299), 2));
        copy(s, b);
    }
}

/* ---- locals, extents, threads that have names ---------------------------------------------------------- */

KERNEL(copy_local) {
    params(n, threads_n);
    tensor(a, F16, threads_n, n);
    tensor(b, F32, threads_n, n);
    grid(pid, 1) threads(tid, threads_n) {
        local(mine, F32, n);
        local(other, F32, n);
        copy(from(a, tid, 2), mine, .outside = 6);
        when(gt(tid, 3)) {
            fill(slice(mine, 0, 1), 5);
            copy(mine, other);
            copy(other, from(b, tid, 0));
        }
    }
}

KERNEL(copy_rows) {
    params(n, bm, threads_n, way);
    extent(rows);
    tensor(a, F16, rows, n);
    tensor(b, F32, rows, n);
    grid(pid, ceildiv(rows, bm)) threads(threads_n) {
        shared(s, F16, bm, n);
        fragment(f, F32, bm, n);
        if (way == 0) {
            copy(slice(a, mul(pid, bm), bm, 0, n), s, .outside = 4);
            copy(s, from(b, mul(pid, bm), 0));
        } else if (way == 1) {
            copy(slice(a, mul(pid, bm), bm, 0, n), f);
            copy(f, from(b, mul(pid, bm), 0));
        } else {
            fill(slice(b, mul(pid, bm), bm, 0, n), 3);
        }
    }
}

KERNEL(copy_vector_of_extent) {
    params(block_n, threads_n);
    extent(rows);
    tensor(a, F16, rows);
    tensor(b, F16, rows);
    grid(pid, ceildiv(rows, block_n)) threads(threads_n) {
        copy(slice(a, mul(pid, block_n), block_n), from(b, mul(pid, block_n)));
    }
}

/* Threads of two axes, a shared buffer that they write themselves before and read afterwards. */
KERNEL(copy_among_threads) {
    params(x, y);
    tensor(a, F32, y, x);
    tensor(b, F32, y, x);
    tensor(c, F32, y, x);
    grid(pid, 1) threads(tx, x, ty, y) {
        shared(s, F32, y, x);
        shared(t, F32, y, x);
        serial(round, 3) {
            set(at(s, sub(y - 1, ty), sub(x - 1, tx)), add(at(a, ty, tx), f32(round)));
            copy(s, t);
            set(at(b, ty, tx), at(t, sub(y - 1, ty), tx));
            copy(t, c);
        }
    }
}

/* ---- options ------------------------------------------------------------------------------------------- */

KERNEL(copy_options) {
    params(n, width, how, align, shift);
    tensor(a, F16, n);
    tensor(b, F16, n);
    aligned(a, align);
    grid(pid, 1) threads(32) {
        const tg_copy_options options = {(int)width, (tg_copy_layout)how, 0};
        tg_copy(tg_now(), TG_HERE, slice(a, shift, n - 16), slice(b, 0, n - 16), options);
    }
}

KERNEL(copy_local_and_fragment) {
    tensor(a, F32, 64);
    grid(pid, 1) threads(tid, 32) {
        local(mine, F32, 64);
        fragment(f, F32, 64);
        copy(a, f);
        copy(f, mine);
        set(at(a, tid), at(mine, tid));
    }
}

/* ---- asynchronous copies, as pipelined makes them ------------------------------------------------------ */

KERNEL(copy_ahead) {
    params(M, N, bm, bn, threads_n, shift, align, stages);
    tensor(a, F16, M, N);
    tensor(b, F16, M, N);
    aligned(a, align);
    grid(pid, ceildiv(M, bm)) threads(threads_n) {
        shared(s, F16, bm, bn);
        pipelined(k, ceildiv(N, bn), stages) {
            copy(slice(a, mul(pid, bm), bm, add(mul(k, bn), shift), bn), s);
            copy(s, tile(b, pid, k));
        }
    }
}
