/* early_kernels.c -- reads that a block waits for, and copies behind them: for test_early.c.
 *
 * In each kernel the block first reads x; then a pipelined loop copies tiles of y.  The names say why the copies may
 * start before x is there, or why not. */
#include <tegula/kernel.h>

enum { TILE = 32, TILES = 5 };

/* out = sum over the tiles of y * x */
#define SUM_OF_TILES(stages)                                        \
    fill(sum, 0);                                                   \
    pipelined(i, TILES, stages) {                                   \
        copy(tile(y, i), y_shared);                                 \
        parallel(j, TILE)                                           \
            accum(at(sum, j), mul(at(y_shared, j), at(x_here, j))); \
    }                                                               \
    copy(sum, tile(out, 0))

#define BUFFERS                  \
    fragment(x_here, I32, TILE); \
    fragment(sum, I32, TILE);    \
    shared(y_shared, I32, TILE)

/* The same behind a statement that writes into `to` as well. */
#define SUM_BEHIND_A_WRITE(to)            \
    parallel(j, TILE) {                   \
        set(at(x_here, j), at(x, j));     \
        set(at(to, j), add(at(x, j), 1)); \
    }                                     \
    SUM_OF_TILES(stages)

KERNEL(nothing_between) {
    params(stages);
    tensor(x, I32, TILE);
    tensor(y, I32, TILES * TILE);
    tensor(out, I32, TILE);
    grid(1) threads(TILE) {
        BUFFERS;
        parallel(j, TILE)
            set(at(x_here, j), at(x, j));
        SUM_OF_TILES(stages);
    }
}

/* By way of shared memory: a barrier lies between, and another buffer's bytes. */
KERNEL(through_shared) {
    params(stages);
    tensor(x, I32, TILE);
    tensor(y, I32, TILES * TILE);
    tensor(out, I32, TILE);
    grid(1) threads(2 * TILE) {
        BUFFERS;
        shared(x_shared, I32, TILE);
        copy(x, x_shared);
        parallel(j, TILE)
            set(at(x_here, j), at(x_shared, sub(TILE - 1, j)));
        SUM_OF_TILES(stages);
    }
}

/* The block writes y itself. */
KERNEL(source_is_written) {
    params(stages);
    tensor(x, I32, TILE);
    tensor(y, I32, TILES * TILE);
    tensor(out, I32, TILE);
    grid(1) threads(TILE) {
        BUFFERS;
        SUM_BEHIND_A_WRITE(y);
    }
}

/* z may be y under another name. */
KERNEL(source_has_an_alias) {
    params(stages);
    tensor(x, I32, TILE);
    tensor(y, I32, TILES * TILE);
    tensor(z, I32, TILES * TILE);
    tensor(out, I32, TILE);
    alias(z, y);
    grid(1) threads(TILE) {
        BUFFERS;
        SUM_BEHIND_A_WRITE(z);
    }
}

/* Which tiles, memory says. */
KERNEL(place_is_read) {
    params(stages);
    tensor(x, I32, TILE);
    tensor(y, I32, 13, TILE);
    tensor(out, I32, TILE);
    grid(1) threads(TILE) {
        BUFFERS;
        parallel(j, TILE)
            set(at(x_here, j), at(x, j));
        fill(sum, 0);
        pipelined(i, TILES, stages) {
            copy(from(y, at(x, i), 0), y_shared);
            parallel(j, TILE)
                accum(at(sum, j), mul(at(y_shared, j), at(x_here, j)));
        }
        copy(sum, tile(out, 0));
    }
}

/* A check that fails is to be told before anything is read that it vouches for. */
KERNEL(behind_a_check) {
    params(stages);
    tensor(x, I32, TILE);
    tensor(y, I32, TILES * TILE);
    tensor(out, I32, TILE);
    grid(1) threads(TILE) {
        BUFFERS;
        parallel(j, TILE) {
            let(now, at(x, j));
            check(ge(now, 0), "x is not negative");
            set(at(x_here, j), now);
        }
        SUM_OF_TILES(stages);
    }
}

/* Side by side the buffers are more than a block of sm_80 may have. */
KERNEL(no_room) {
    params(stages, big);
    tensor(x, I32, big);
    tensor(y, I32, TILES, big);
    tensor(out, I32, big);
    grid(1) threads(256) {
        fragment(sum, I32, big);
        shared(x_shared, I32, big);
        shared(y_shared, I32, big);
        copy(x, x_shared);
        parallel(j, big)
            set(at(sum, j), at(x_shared, sub(big - 1, j)));
        pipelined(i, TILES, stages) {
            copy(tile(y, i, 0), y_shared);
            parallel(j, big)
                accum(at(sum, j), at(y_shared, sub(big - 1, j)));
        }
        copy(sum, out);
    }
}
