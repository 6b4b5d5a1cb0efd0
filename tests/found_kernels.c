/* found_kernels.c -- what random kernels have brought to light, each as small as it goes; see test_found.c. */
#include <tegula/tegula.h>

#include <tegula/kernel.h>

KERNEL(one_thread_runs_ahead) {
    params(start);
    tensor(a, F32, 8);
    tensor(b, F32, 2);
    grid(g, 1) threads(1) {
        shared(s, F32, 2);
        pipelined(k, 3, 3) {
            copy(from(a, add(k, start)), s);
            parallel(i, 2) {
                accum(at(b, i), at(s, i));
            }
        }
    }
}

KERNEL(one_thread_runs_ahead_of_little_alignment) {
    tensor(a, I64, 4);
    aligned(a, 8);
    tensor(b, I64, 2);
    grid(g, 1) threads(1) {
        shared(s, I64, 2);
        pipelined(k, 2, 3) {
            copy(tile(a, k), s);
            parallel(i, 2) {
                set(at(b, i), at(s, i));
            }
        }
    }
}

KERNEL(blocks_of_odd_rows_run_ahead) {
    pitched(a, I16, 65, 4, 64);
    tensor(b, I16, 64);
    grid(g, 1) threads(16) {
        shared(s, I16, 64);
        pipelined(k, 4, 3) {
            copy(from(a, k, 0), s, .layout = TG_BLOCKED);
            parallel(i, 64) {
                set(at(b, i), at(s, i));
            }
        }
    }
}

/* Nobody reads `idle`, whose bytes others would like to have. */
KERNEL(copies_nobody_reads) {
    params(stages);
    tensor(a, BF16, 2);
    tensor(b, F64, 7, 29);
    tensor(c, F64, 7);
    grid(g, 1) threads(2) {
        shared(idle, BF16, 2);
        fragment(f, F64, 7, 29);
        shared(sum, F64, 7, 30);
        pipelined(k, 3, stages) {
            copy(a, idle);
            copy(b, f);
            parallel(i, 7) {
                set(at(sum, i, 0), at(f, i, i));
            }
        }
        parallel(i, 7) {
            set(at(c, i), at(sum, i, 0));
        }
    }
}

KERNEL(wide_copy_of_one_element) {
    tensor(a, F64, 1, 1);
    grid(g, 1) threads(1) {
        fragment(f, F64);
        clear(f);
        copy(f, tile(a, 0, 0), .width = 2);
    }
}

/* `one` is held by all threads, the loop that writes it runs in one of them. */
KERNEL(one_iteration_writes_for_all) {
    params(n);
    tensor(a, I32, n);
    tensor(b, I32, 3 * n);
    grid(g, 1) threads(n) {
        fragment(f, I32, n);
        fragment(one, I32);
        copy(a, f);
        parallel(i, 1) {
            set(one, at(f, i));
        }
        parallel(i, 3 * n) {
            set(at(b, i), add(one, i32(i)));
        }
    }
}

/* `picked` is held by four threads each, of which one comes by. */
KERNEL(a_condition_picks_who_writes) {
    params(n);
    tensor(a, I32, n, 4);
    tensor(b, I32, n, 4);
    grid(g, 1) threads(4 * n) {
        fragment(f, I32, n, 4);
        fragment(picked, I32, n);
        copy(a, f);
        parallel(i, n, j, 4) {
            when(eq(j, 2)) {
                set(at(picked, i), at(f, i, j));
            }
        }
        parallel(i, n, j, 4) {
            set(at(b, i, j), add(at(picked, i), at(f, i, j)));
        }
    }
}

/* Elements lie in threads by `held`, what is added comes in threads by `fed`. */
KERNEL(fed_by_more_than_hold_it) {
    params(threads_, held, fed);
    tensor(a, I32, held);
    grid(g, 1) threads(threads_) {
        reducer(r, SUM, I32, held);
        fill(r, 2);
        parallel(p, fed) {
            accum(at(r, 0), add(i32(p), 1));
        }
        finalize(r);
        parallel(i, held) {
            set(at(a, i), at(r, i));
        }
    }
}

/* All that is left of the second operation is a declaration with a value. */
KERNEL(a_loop_of_two_operations) {
    params(n);
    tensor(a, I32, n);
    grid(g, 1) threads(n) {
        serial(i, 3) {
            shared(s, I32, 1);
            parallel(p, 1) {
                set(at(s, p), i32(i));
            }
            fragment(f, I32, 1);
            copy(s, f);
            when(eq(i, 2)) {
                copy(f, from(a, 0));
            }
        }
    }
}

KERNEL(a_loop_whose_result_nobody_wants) {
    grid(g, 1) threads(2) {
        serial(i, 2) {
            shared(s, I64, 1);
            parallel(p, 1) {
                set(at(s, p), i64(i));
            }
            fragment(f, I64, 1);
            copy(s, f);
        }
    }
}

/* The loop that lays `f` out goes over its columns, so that its columns are padded and not its rows. */
KERNEL(columns_laid_out_by_a_loop) {
    params(n);
    tensor(a, I32, 2, n);
    tensor(b, I32, 2, n);
    tensor(c, I32, n);
    grid(g, 2) threads(7) {
        fragment(f, I32, 1, n);
        shared(s, I32, 1, n);
        copy(tile(a, g, 0), s);
        copy(s, f);
        parallel(i, n, j, 1) {
            set(at(f, 0, i), add(at(f, 0, i), 1));
        }
        copy(f, tile(b, g, 0));
        when(eq(g, 1)) {
            copy(f, c);
        }
    }
}

/* Turns of a loop are operations of their own: what one thread cleared, another clears in the next. */
KERNEL(found_a_region_that_moves_with_a_loop) {
    tensor(out, I32, 1);
    grid(p, 1) threads(t, 2) {
        shared(s, I32, 3);
        unrolled(i, 2)
            fill(slice(s, i, 2), i32(i));
        when(eq(t, 0))
            set(at(out, 0), at(s, 1));
    }
}

/* What decides was read beside what is added to: the elements differ, no barrier is needed, all threads agree. */
KERNEL(found_a_condition_beside_an_atomic) {
    params(n);
    tensor(out, I32, 4);
    grid(p, 1) threads(n) {
        shared(s, I32, 4);
        shared(t, I32, 4);
        fill(s, 3);
        parallel(i, 1)
            atomic_add(at(s, 1), 5);
        when(gt(at(s, 0), 2)) {
            fill(t, 1);
            parallel(i, 4)
                atomic_max(at(t, sub(3, i)), add(at(s, i), i32(i)));
            copy(t, out);
        }
    }
}

/* Rows of 31 would be padded to 32 where nothing but the rest of the layout asks for it; as one row they are 155. */
KERNEL(rows_that_are_seen_as_one) {
    params(rows, columns, n, by_rows);
    tensor(whole, F64, rows * columns);
    tensor(again, F64, rows, columns);
    grid(g, 1) threads(n) {
        fragment(f, F64, rows, columns);
        const tg_buf row = view(f, F64, rows * columns);
        if (by_rows) {
            fragment(of_column, F64, columns);
            parallel(i, rows, j, columns) {
                set(at(f, i, j), f64(add(mul(i, columns), j)));
            }
            reduce(SUM, f, of_column, 0);
            copy(of_column, from(again, 0, 0));
        } else {
            parallel(i, rows * columns) {
                set(at(row, i), f64(i));
            }
        }
        copy(row, whole);
        fill(slice(row, columns, columns), -1);
        copy(slice(f, 1, rows - 1, 0, columns), from(again, 1, 0));
    }
}
