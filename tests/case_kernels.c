/* case_kernels.c -- small kernels that have broken tile compilers, for test_cases.c: each stands for its kind. */
#include <tegula/kernel.h>

/* A side effect feeds the address of a copy that would like to run ahead: done once an iteration. */
KERNEL(drawn_slots) {
    params(n, stages, threads, width);
    tensor(a, I32, 10, width);
    tensor(counter, I32, 2);
    tensor(out, I32, 9, width);
    grid(1) threads(threads) {
        shared(slot, I32, 1);
        shared(s, I32, width);
        pipelined(k, n, stages) {
            parallel(i, 1)
                atomic_add(at(counter, 0), 1);
            parallel(i, 1)
                set(at(slot, i), at(counter, 0));
            copy(from(a, at(slot, 0), 0), s);
            parallel(i, width) {
                atomic_add(at(counter, 1), 1);
                set(at(out, k, i), at(s, sub(width - 1, i)));
            }
        }
    }
}

/* The trips come from shared memory that the loop overwrites. */
KERNEL(trips_overwritten) {
    params(stages, threads, width);
    tensor(trips, I32, 1);
    tensor(a, I32, 9, width);
    tensor(out, I32, 9, width);
    grid(1) threads(threads) {
        shared(most, I32, 1);
        shared(s, I32, width);
        copy(trips, most);
        pipelined(k, at(most, 0), stages) {
            copy(from(a, k, 0), s);
            parallel(i, width)
                set(at(out, k, i), at(s, sub(width - 1, i)));
            parallel(i, 1)
                set(at(most, i), 1);
        }
    }
}

/* The same in thread view, of a register and of a tensor's element. */
KERNEL(own_trips_overwritten) {
    params(threads);
    tensor(a, I32, threads);
    tensor(out, I32, threads);
    grid(1) threads(tid, threads) {
        local(left, I32);
        local(sum, I32);
        set(left, at(a, tid));
        clear(sum);
        serial(i, left, j, 2) {
            set(left, 1);
            accum(sum, add(i32(i), 1));
        }
        serial(i, at(a, tid)) {
            set(at(a, tid), 0);
            accum(sum, 100);
        }
        set(at(out, tid), sum);
    }
}

/* Each thread has trips of its own: a counter that a warp's threads share would lose some. */
KERNEL(trips_of_each) {
    params(threads);
    tensor(a, I32, threads);
    tensor(out, I64, 9, threads);
    grid(1) threads(tid, threads) {
        serial(i, abs_of(mod(at(a, tid), 6)), 4)
            set(at(out, i, tid), add(cast(I64, i), 1));
    }
}

/* One tile for every iteration, read twice: the next copy must wait for both readers. */
KERNEL(two_readers) {
    params(n, threads, width);
    tensor(a, I32, 9, width);
    tensor(first, I32, 9, width);
    tensor(second, I32, 9, width);
    grid(1) threads(threads) {
        shared(s, I32, width);
        serial(k, n) {
            copy(from(a, k, 0), s);
            parallel(i, width)
                set(at(first, k, i), at(s, sub(width - 1, i)));
            parallel(i, width)
                set(at(second, k, i), neg(at(s, mod(add(i, 1), width))));
        }
    }
}

/* The same with two halves of the threads as the readers. */
KERNEL(two_halves_read) {
    params(n, threads, width);
    tensor(a, I32, 9, width);
    tensor(first, I32, 9, width);
    tensor(second, I32, 9, width);
    grid(1) threads(tid, threads) {
        shared(s, I32, width);
        serial(k, n) {
            copy(from(a, k, 0), s);
            when(lt(tid, threads / 2)) {
                serial(i, ceildiv(width, threads / 2)) {
                    let(at_first, add(mul(i, threads / 2), tid));
                    when(lt(at_first, width))
                        set(at(first, k, at_first), at(s, sub(width - 1, at_first)));
                }
            }
            otherwise {
                serial(i, ceildiv(width, threads - threads / 2)) {
                    let(at_second, add(mul(i, threads - threads / 2), sub(tid, threads / 2)));
                    when(lt(at_second, width))
                        set(at(second, k, at_second), neg(at(s, mod(add(at_second, 1), width))));
                }
            }
        }
    }
}

/* Three copies, each used before the next one stands in the text. */
KERNEL(three_groups) {
    params(n, stages, threads, width);
    tensor(a, I32, 9, width);
    tensor(b, I32, 9, width);
    tensor(c, I32, 9, width);
    tensor(out, I32, 3, 9, width);
    grid(1) threads(threads) {
        shared(s, I32, width);
        shared(t, I32, width);
        shared(u, I32, width);
        pipelined(k, n, stages) {
            copy(from(a, k, 0), s);
            parallel(i, width)
                set(at(out, 0, k, i), at(s, sub(width - 1, i)));
            copy(from(b, k, 0), t);
            parallel(i, width)
                set(at(out, 1, k, i), add(at(s, i), at(t, sub(width - 1, i))));
            copy(from(c, k, 0), u);
            parallel(i, width)
                set(at(out, 2, k, i), sub(at(u, sub(width - 1, i)), at(t, i)));
        }
    }
}

/* Branches in branches, all with stores to shared memory that others read. */
KERNEL(branches_in_branches) {
    params(n, threads, width);
    tensor(a, I32, 9, width);
    tensor(out, I32, 9, width);
    grid(1) threads(threads) {
        shared(s, I32, width);
        clear(s);
        serial(k, n) {
            when(ne(mod(k, 3), 0)) {
                copy(from(a, k, 0), s);
                when(eq(mod(k, 2), 0)) {
                    parallel(i, width)
                        when(lt(at(s, i), 40))
                            set(at(s, i), add(at(s, i), 1000));
                }
                otherwise {
                    parallel(i, width)
                        when(ge(i, width / 2))
                            set(at(s, i), neg(at(s, i)));
                }
            }
            parallel(i, width)
                set(at(out, k, i), at(s, sub(width - 1, i)));
        }
    }
}

/* What decides in the loop was written in front of it; `deep`: in a branch in a branch. */
KERNEL(decided_before) {
    params(stages, threads, width, deep);
    tensor(mask, I32, 9);
    tensor(a, I32, 13, width);
    tensor(out, I32, 9, width);
    grid(p, 2) threads(threads) {
        shared(m, I32, 9);
        shared(s, I32, width);
        copy(mask, m);
        when(eq(p, deep)) {
            pipelined(k, 9, stages) {
                when(gt(at(m, k), 5)) {
                    copy(from(a, at(m, k), 0), s);
                    parallel(i, width)
                        set(at(out, k, i), at(s, sub(width - 1, i)));
                }
            }
        }
    }
}

/* A condition that its own branches overwrite. */
KERNEL(decided_anew) {
    params(stages, threads, width);
    tensor(a, I32, 10, width);
    tensor(out, I32, 9, width);
    grid(1) threads(threads) {
        shared(flag, I32, 1);
        shared(s, I32, width);
        clear(flag);
        pipelined(k, 9, stages) {
            when(eq(at(flag, 0), 0)) {
                copy(from(a, k, 0), s);
                parallel(i, 1)
                    set(at(flag, i), at(s, 0));
                parallel(i, width)
                    set(at(out, k, i), at(s, sub(width - 1, i)));
            }
            otherwise {
                parallel(i, 1)
                    set(at(flag, i), 0);
                copy(from(a, add(k, 1), 0), s);
                parallel(i, width)
                    set(at(out, k, i), neg(at(s, sub(width - 1, i))));
            }
        }
    }
}

/* A copy overwrites what told where it comes from (how 0), where it goes (1); a fill (2). */
KERNEL(moved_by_itself) {
    params(how, threads, width);
    tensor(a, I32, 13, width);
    tensor(out, I32, 6, width);
    grid(1) threads(threads) {
        shared(s, I32, 16, width);
        fragment(f, I32, width);
        clear(s);
        copy(from(a, 1, 0), f);
        copy(f, from(s, 0, 0));
        serial(k, 6) {
            if (how == 0) {
                copy(slice(a, at(s, 0, width - 1), 1, 0, width), slice(s, 0, 1, 0, width));
            } else if (how == 1) {
                copy(f, slice(s, mod(at(s, 0, 0), 3), 1, 0, width));
                copy(slice(a, add(k, 2), 1, 0, width), f);
            } else {
                fill(slice(s, mod(at(s, 0, 0), 2), 2, 0, width), add(at(s, 1, width / 2), i32(k), 1));
            }
            copy(slice(s, 0, 1, 0, width), from(out, k, 0));
        }
    }
}

/* A tile that hangs over the end on both sides, with a value for what is not there. */
KERNEL(padded_with_a_value) {
    params(rows, columns, tile_rows, tile_columns, threads);
    tensor(a, F32, rows, columns);
    tensor(out, F32, tile_rows, tile_columns);
    grid(1) threads(threads) {
        shared(s, F32, tile_rows, tile_columns);
        copy(from(a, 0, 0), s, .outside = -99);
        copy(s, out);
    }
}

/* Every thread's value counts, in one element. */
KERNEL(every_thread_adds) {
    params(threads);
    tensor(a, I32, threads);
    tensor(sum, I32, 1);
    tensor(most, I32, 1);
    tensor(least, I32, 1);
    grid(1) threads(tid, threads) {
        atomic_add(at(sum, 0), 1);
        atomic_max(at(most, 0), at(a, tid));
        atomic_min(at(least, 0), at(a, tid));
    }
}

/* Truths as elements of tensors, shared memory and fragments. */
KERNEL(masked) {
    params(threads, width);
    tensor(mask, BOOL, width);
    tensor(a, F16, width);
    tensor(out, F16, width);
    tensor(inverse, BOOL, width);
    grid(1) threads(threads) {
        shared(m, BOOL, width);
        fragment(f, F16, width);
        copy(mask, m);
        copy(a, f);
        parallel(i, width)
            set(at(out, i), choose(at(m, sub(width - 1, i)), -7, at(f, i)));
        parallel(i, width)
            set(at(inverse, i), negate(at(m, i)));
    }
}

/* An index below 0. */
KERNEL(before_the_beginning) {
    params(threads);
    tensor(a, I32, 64);
    tensor(out, I32, 64);
    grid(1) threads(threads) {
        parallel(i, 64)
            set(at(out, i), at(a, sub(i, 1)));
    }
}

/* The largest magnitude of numbers without a sign is the largest of them. */
KERNEL(magnitude_without_sign) {
    params(threads, width);
    tensor(a, U32, 3, width);
    tensor(most, U32, 3);
    tensor(all, U32, 3);
    grid(1) threads(threads) {
        fragment(f, U32, 3, width);
        fragment(m, U32, 3);
        reducer(r, MAX, U32, 3);
        copy(a, f);
        clear(r);
        parallel(i, 3, j, width) {
            set(at(f, i, j), abs_of(at(f, i, j)));
            accum(at(r, i), abs_of(at(f, i, j)));
        }
        finalize(r);
        reduce(MAX, f, m, 1);
        copy(m, most);
        copy(r, all);
    }
}
