/* bounds_kernels.c -- rows of a tensor whose number is known at launch only, reached in many ways: see
 * test_bounds.c, which knows where a guard has to be. */
#include <tegula/tegula.h>

#include <tegula/kernel.h>

/* One row into registers and out again, and by a guard of the kernel's own. */
static void move_row(tg_buf a, tg_buf b, tg_buf c, tg_expr rows, tg_expr row, int64_t n) {
    fragment(f, I32, n);
    copy(slice(a, row, 1, 0, n), f);
    copy(f, from(b, row, 0));
    parallel(j, n) {
        when(both(ge(row, 0), lt(row, rows))) {
            set(at(c, row, j), at(f, j));
        }
    }
}

#define ROWS_OF_THE_LAUNCH() \
    params(n);               \
    extent(rows);            \
    scalar(five, I32);       \
    tensor(a, I32, rows, n); \
    tensor(b, I32, rows, n); \
    tensor(c, I32, rows, n); \
    (void)five

KERNEL(bounds_a_block_each) {
    ROWS_OF_THE_LAUNCH();
    grid(pid, rows) threads(32) {
        move_row(a, b, c, rows, pid, n);
    }
}

KERNEL(bounds_third_axis) {
    ROWS_OF_THE_LAUNCH();
    grid(x, 1, y, 2, pid, rows) threads(32) {
        when(both(eq(x, 0), eq(y, 1))) {
            move_row(a, b, c, rows, pid, n);
        }
    }
}

KERNEL(bounds_a_name_for_the_rows) {
    ROWS_OF_THE_LAUNCH();
    grid(pid, sub(mul(rows, 2), rows)) threads(32) {
        let(row, sub(sub(rows, pid), 1)); /* from the last one */
        move_row(a, b, c, rows, row, n);
    }
}

KERNEL(bounds_columns_of_blocks) {
    ROWS_OF_THE_LAUNCH();
    grid(pid, mul(rows, 3)) threads(32) {
        when(eq(mod(pid, 3), 1)) {
            move_row(a, b, c, rows, quo(pid, 3), n);
        }
    }
}

/* The last rows are nobody's. */
KERNEL(bounds_whole_tiles_only) {
    ROWS_OF_THE_LAUNCH();
    grid(pid, quo(rows, 4)) threads(32) {
        serial(i, 4) {
            move_row(a, b, c, rows, add(mul(pid, 4), i), n);
        }
    }
}

KERNEL(bounds_a_loop_of_rows) {
    ROWS_OF_THE_LAUNCH();
    grid(pid, 1) threads(32) {
        serial(i, rows) {
            move_row(a, b, c, rows, i, n);
        }
    }
}

KERNEL(bounds_a_loop_of_what_is_left) {
    ROWS_OF_THE_LAUNCH();
    grid(pid, ceildiv(rows, 4)) threads(32) {
        let(first, mul(pid, 4));
        serial(i, min_of(4, sub(rows, first))) {
            move_row(a, b, c, rows, add(first, i), n);
        }
    }
}

KERNEL(bounds_tiles) {
    params(n, tile_m);
    extent(rows);
    scalar(five, I32);
    tensor(a, I32, rows, n);
    tensor(b, I32, rows, n);
    tensor(c, I32, rows, n);
    (void)five;
    grid(pid, ceildiv(rows, tile_m)) threads(32) {
        serial(i, tile_m) {
            move_row(a, b, c, rows, add(mul(pid, tile_m), i), n);
        }
    }
}

KERNEL(bounds_one_block_more) {
    ROWS_OF_THE_LAUNCH();
    grid(pid, add(rows, 1)) threads(32) {
        move_row(a, b, c, rows, pid, n);
    }
}

KERNEL(bounds_one_row_further) {
    ROWS_OF_THE_LAUNCH();
    grid(pid, rows) threads(32) {
        move_row(a, b, c, rows, add(pid, 1), n);
    }
}

KERNEL(bounds_one_row_before) {
    ROWS_OF_THE_LAUNCH();
    grid(pid, rows) threads(32) {
        move_row(a, b, c, rows, sub(pid, 1), n);
    }
}

KERNEL(bounds_of_another) {
    ROWS_OF_THE_LAUNCH();
    grid(pid, five) threads(32) {
        move_row(a, b, c, rows, pid, n);
    }
}

KERNEL(bounds_more_columns_of_blocks) {
    ROWS_OF_THE_LAUNCH();
    grid(pid, add(mul(rows, 3), 1)) threads(32) {
        when(eq(mod(pid, 3), 0)) {
            move_row(a, b, c, rows, quo(pid, 3), n);
        }
    }
}

KERNEL(bounds_two_more_than_half) {
    ROWS_OF_THE_LAUNCH();
    grid(pid, add(quo(rows, 2), 2)) threads(32) {
        serial(i, 2) {
            move_row(a, b, c, rows, add(mul(pid, 2), i), n);
        }
    }
}

KERNEL(bounds_a_loop_of_one_more) {
    ROWS_OF_THE_LAUNCH();
    grid(pid, 1) threads(32) {
        serial(i, add(rows, 1)) {
            move_row(a, b, c, rows, i, n);
        }
    }
}

KERNEL(bounds_the_most_of_two) {
    ROWS_OF_THE_LAUNCH();
    grid(pid, max_of(rows, 4)) threads(32) {
        move_row(a, b, c, rows, pid, n);
    }
}
