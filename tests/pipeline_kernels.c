/* pipeline_kernels.c -- pipelined loops for test_pipeline.c and test_pipeline_sync.c.
 *
 * Every kernel takes `stages` and `n`, the trip count; most write what each iteration saw, so that a wrong
 * version shows. */
#include <tegula/kernel.h>

enum { TILE = 8 };

#define LOOP(k) pipelined(k, n, stages)

/* out[k] = s of iteration k; two copies. */
#define NOTE(k, value) \
    parallel(i, TILE)  \
    set(at(out, add(mul(k, TILE), i)), value)

KERNEL(two_copies) {
    params(n, stages);
    tensor(a, I32, 9 * TILE);
    tensor(b, I32, 9 * TILE);
    tensor(out, I32, 9 * TILE);
    grid(1) threads(32) {
        shared(s, I32, TILE);
        shared(t, I32, TILE);
        LOOP(k) {
            copy(tile(a, k), s);
            copy(tile(b, k), t);
            NOTE(k, add(mul(at(s, i), 100), at(t, sub(TILE - 1, i))));
        }
    }
}

KERNEL(trips_at_launch) {
    params(stages);
    extent(n);
    tensor(a, I32, n, TILE);
    tensor(out, I32, n, TILE);
    grid(1) threads(32) {
        shared(s, I32, TILE);
        LOOP(k) {
            copy(from(a, k, 0), s);
            parallel(i, TILE)
                set(at(out, k, i), mul(at(s, sub(TILE - 1, i)), 3));
        }
    }
}

/* A fragment as the accumulator, registers that run ahead, a conversion, a name and a local in the body. */
KERNEL(into_registers) {
    params(n, stages);
    tensor(a, I16, 9 * TILE);
    tensor(b, I32, 9 * TILE);
    tensor(out, I32, 9 * TILE);
    tensor(total, I32, TILE);
    grid(1) threads(16) {
        fragment(sum, I32, TILE);
        clear(sum);
        LOOP(k) {
            fragment(f, I32, TILE);
            fragment(g, I32, TILE);
            copy(tile(a, k), f);
            copy(tile(b, k), g);
            let(twice, mul(k, 2));
            parallel(i, TILE) {
                local(mine, I32);
                set(mine, add(at(f, i), i32(twice)));
                accum(at(sum, i), mul(mine, at(g, i)));
            }
            NOTE(k, at(g, i));
        }
        copy(sum, total);
    }
}

KERNEL(registers_at_launch) {
    params(stages);
    extent(n);
    tensor(a, I32, n, TILE);
    tensor(out, I32, n, TILE);
    grid(1) threads(16) {
        fragment(f, I32, TILE);
        LOOP(k) {
            copy(from(a, k, 0), f);
            parallel(i, TILE)
                set(at(out, k, i), mul(at(f, i), 3));
        }
    }
}

KERNEL(both_kinds) {
    params(n, stages);
    tensor(a, I32, 9 * TILE);
    tensor(b, I32, 9 * TILE);
    tensor(out, I32, 9 * TILE);
    grid(1) threads(16) {
        shared(s, I32, TILE);
        fragment(f, I32, TILE);
        LOOP(k) {
            copy(tile(a, k), s);
            copy(tile(b, k), f);
            NOTE(k, add(mul(at(f, i), 100), at(s, sub(TILE - 1, i))));
        }
    }
}

/* Read before it is written: the last iteration's. */
KERNEL(read_first) {
    params(n, stages);
    tensor(a, I32, 9 * TILE);
    tensor(out, I32, 9 * TILE);
    grid(1) threads(32) {
        shared(s, I32, TILE);
        clear(s);
        LOOP(k) {
            NOTE(k, at(s, sub(TILE - 1, i)));
            copy(tile(a, k), s);
        }
    }
}

KERNEL(read_after) {
    params(n, stages);
    tensor(a, I32, 9 * TILE);
    tensor(b, I32, 9 * TILE);
    tensor(out, I32, 9 * TILE);
    tensor(last, I32, 2, TILE);
    grid(1) threads(32) {
        shared(s, I32, TILE);
        fragment(f, I32, TILE);
        fill(s, -1);
        fill(f, -2);
        LOOP(k) {
            copy(tile(a, k), s);
            copy(tile(b, k), f);
            NOTE(k, add(mul(at(f, i), 100), at(s, sub(TILE - 1, i))));
        }
        copy(s, from(last, 0, 0));
        copy(f, from(last, 1, 0));
    }
}

KERNEL(read_after_at_launch) {
    params(stages);
    extent(n);
    tensor(a, I32, n, TILE);
    tensor(last, I32, 2, TILE);
    grid(1) threads(32) {
        shared(s, I32, TILE);
        fragment(f, I32, TILE);
        fill(s, -1);
        fill(f, -2);
        LOOP(k) {
            copy(from(a, k, 0), s);
            copy(from(a, k, 0), f);
        }
        copy(s, from(last, 0, 0));
        copy(f, from(last, 1, 0));
    }
}

/* Where to copy from is read from a tensor, through a name. */
KERNEL(through_table) {
    params(n, stages);
    tensor(table, I32, 9);
    tensor(a, I32, 20 * TILE);
    tensor(out, I32, 9 * TILE);
    grid(1) threads(32) {
        shared(s, I32, TILE);
        LOOP(k) {
            let(row, at(table, k));
            let(start, mul(row, TILE));
            copy(from(a, start), s);
            NOTE(k, add(at(s, sub(TILE - 1, i)), row));
        }
    }
}

/* .. or by the copy before. */
KERNEL(through_copy) {
    params(n, stages);
    tensor(table, I32, 9, 4);
    tensor(a, I32, 20, TILE);
    tensor(out, I32, 9 * TILE);
    grid(1) threads(32) {
        shared(rows, I32, 4);
        shared(s, I32, TILE);
        LOOP(k) {
            copy(from(table, k, 0), rows);
            copy(from(a, at(rows, 1), 0), s);
            NOTE(k, add(mul(at(s, sub(TILE - 1, i)), 10), at(rows, mod(i, 4))));
        }
    }
}

/* 0: read where it is copied; 1: read everywhere; 2: read under an equal condition; 3: both sides. */
KERNEL(conditional) {
    params(n, stages, how);
    tensor(mask, I32, 9);
    tensor(a, I32, 9 * TILE);
    tensor(b, I32, 9 * TILE);
    tensor(out, I32, 9 * TILE);
    grid(1) threads(32) {
        shared(s, I32, TILE);
        shared(t, I32, TILE);
        clear(t);
        if (how == 1) {
            clear(s);
        }
        LOOP(k) {
            when(gt(at(mask, k), 5)) {
                copy(tile(a, k), s);
                if (how == 0) {
                    NOTE(k, at(s, sub(TILE - 1, i)));
                }
            }
            otherwise {
                if (how == 3) {
                    let(other, sub(n - 1, k));
                    copy(tile(b, other), t);
                    NOTE(k, neg(at(t, sub(TILE - 1, i))));
                }
            }
            if (how == 1) {
                NOTE(k, at(s, sub(TILE - 1, i)));
            } else if (how >= 2) {
                when(gt(at(mask, k), 5))
                    NOTE(k, at(s, sub(TILE - 1, i)));
            }
        }
    }
}

/* The loop's variable decides. */
KERNEL(when_k) {
    params(n, stages);
    tensor(a, I32, 9 * TILE);
    tensor(out, I32, 9 * TILE);
    grid(1) threads(32) {
        shared(s, I32, TILE);
        LOOP(k) {
            when(gt(k, 1)) {
                copy(tile(a, k), s);
                NOTE(k, at(s, sub(TILE - 1, i)));
            }
            when(eq(k, 3))
                NOTE(k, -7);
        }
    }
}

KERNEL(written_twice) {
    params(n, stages);
    tensor(a, I32, 9 * TILE);
    tensor(b, I32, 9 * TILE);
    tensor(out, I32, 9 * TILE);
    tensor(more, I32, 9 * TILE);
    grid(1) threads(32) {
        shared(s, I32, TILE);
        LOOP(k) {
            copy(tile(a, k), s);
            NOTE(k, at(s, sub(TILE - 1, i)));
            copy(tile(b, k), s);
            parallel(i, TILE)
                set(at(more, mad(k, TILE, i)), at(s, sub(TILE - 1, i)));
        }
    }
}

KERNEL(written_in_part) {
    params(n, stages);
    tensor(a, I32, 9 * TILE);
    tensor(out, I32, 9 * TILE);
    grid(1) threads(32) {
        shared(s, I32, 2 * TILE);
        clear(s);
        LOOP(k) {
            copy(tile(a, k), slice(s, 3, TILE));
            NOTE(k, at(s, mul(i, 2)));
        }
    }
}

/* Siblings with their own number of stages on the same buffer; the second on a second buffer too. */
KERNEL(siblings) {
    params(n, stages, other);
    tensor(a, I32, 9 * TILE);
    tensor(out, I32, 9 * TILE);
    tensor(more, I32, 9 * TILE);
    grid(1) threads(32) {
        shared(s, I32, TILE);
        shared(t, I32, TILE);
        LOOP(k) {
            copy(tile(a, k), s);
            NOTE(k, at(s, sub(TILE - 1, i)));
        }
        pipelined(k, n, other) {
            copy(tile(a, k), t);
            copy(tile(a, sub(n - 1, k)), s);
            parallel(i, TILE)
                set(at(more, mad(k, TILE, i)), add(mul(at(s, sub(TILE - 1, i)), 100), at(t, i)));
        }
    }
}

/* The second loop reads before it writes. */
KERNEL(sibling_reads_first) {
    params(n, stages, other);
    tensor(a, I32, 9 * TILE);
    tensor(out, I32, 9 * TILE);
    tensor(more, I32, 9 * TILE);
    grid(1) threads(32) {
        shared(s, I32, TILE);
        clear(s);
        LOOP(k) {
            copy(tile(a, k), s);
            NOTE(k, at(s, sub(TILE - 1, i)));
        }
        pipelined(k, n, other) {
            parallel(i, TILE)
                set(at(more, mad(k, TILE, i)), at(s, sub(TILE - 1, i)));
            copy(tile(a, sub(n - 1, k)), s);
        }
    }
}

/* One in the other; `same`: on the same buffer. */
KERNEL(nested) {
    params(n, stages, other, same);
    tensor(a, I32, 9 * TILE);
    tensor(b, I32, 9, 5 * TILE);
    tensor(out, I32, 9 * TILE);
    tensor(more, I32, 9, 5, TILE);
    grid(1) threads(32) {
        shared(s, I32, TILE);
        shared(t, I32, TILE);
        fragment(f, I32, TILE);
        const tg_buf inner = same ? s : t;
        LOOP(k) {
            copy(tile(a, k), s);
            copy(tile(a, k), f);
            NOTE(k, at(s, sub(TILE - 1, i)));
            pipelined(j, 5, other) {
                copy(tile(b, k, j), inner);
                parallel(i, TILE)
                    set(at(more, k, j, i),
                        add(mul(at(inner, sub(TILE - 1, i)), 100), same ? i32(0) : mul(at(s, i), at(f, i))));
            }
        }
    }
}

/* An outer loop, whose next iteration reads what the last one left. */
KERNEL(in_serial) {
    params(n, stages);
    tensor(a, I32, 9 * TILE);
    tensor(out, I32, 9 * TILE);
    tensor(left, I32, 3, TILE);
    grid(1) threads(32) {
        shared(s, I32, TILE);
        clear(s);
        serial(r, 3) {
            copy(s, from(left, r, 0));
            LOOP(k) {
                copy(tile(a, sub(n - 1, k)), s);
                NOTE(k, add(at(s, sub(TILE - 1, i)), i32(r)));
            }
        }
    }
}

/* The tensor is written in the loop: `shift` 0 the tile just read, else into the next one. */
KERNEL(in_place) {
    params(n, stages, shift);
    tensor(a, I32, 10 * TILE);
    grid(1) threads(32) {
        shared(s, I32, TILE);
        shared(t, I32, TILE);
        LOOP(k) {
            copy(tile(a, k), s);
            parallel(i, TILE)
                set(at(t, i), add(at(s, sub(TILE - 1, i)), 1));
            copy(t, from(a, add(mul(k, TILE), shift)));
        }
    }
}

/* Through a name for the tensor's element; another tensor that may be the same. */
KERNEL(in_place_alias) {
    params(n, stages);
    tensor(a, I32, 9 * TILE);
    tensor(out, I32, 9 * TILE);
    alias(a, out);
    grid(1) threads(32) {
        shared(s, I32, TILE);
        LOOP(k) {
            copy(tile(a, k), s);
            NOTE(k, at(s, sub(TILE - 1, i)));
        }
    }
}

/* Registers run ahead in a loop and in the one around it, whose body is copied for that. */
KERNEL(registers_in_registers) {
    params(n, stages);
    tensor(a, I32, 9 * TILE);
    tensor(b, I32, 9 * TILE);
    tensor(out, I32, 9 * TILE);
    grid(1) threads(16) {
        fragment(sum, I32, TILE);
        LOOP(k) {
            fragment(f, I32, TILE);
            copy(tile(a, k), f);
            fragment(g, I32, TILE);
            clear(sum);
            pipelined(j, 3, stages) {
                copy(tile(b, mod(add(k, mul(j, 2)), 9)), g);
                parallel(i, TILE)
                    accum(at(sum, i), mul(at(g, i), add(i32(j), 1)));
            }
            NOTE(k, add(at(sum, i), mul(at(f, i), 100)));
        }
    }
}

KERNEL(with_atomics) {
    params(n, stages);
    tensor(a, I32, 9 * TILE);
    tensor(count, I32, 2);
    tensor(out, I32, 9 * TILE);
    grid(1) threads(32) {
        shared(s, I32, TILE);
        LOOP(k) {
            copy(tile(a, k), s);
            parallel(i, TILE) {
                atomic_add(at(count, 0), 1);
                atomic_add(at(count, 1), at(s, i));
            }
            NOTE(k, at(s, sub(TILE - 1, i)));
        }
    }
}

KERNEL(with_view) {
    params(n, stages);
    tensor(a, I32, 9 * TILE);
    tensor(out, I32, 9 * TILE);
    grid(1) threads(32) {
        shared(s, I32, TILE);
        const tg_buf halves = view(s, U16, 2 * TILE);
        LOOP(k) {
            copy(tile(a, k), s);
            NOTE(k, add(at(s, sub(TILE - 1, i)), i32(at(halves, mul(i, 2)))));
        }
    }
}

KERNEL(two_dimensions) {
    params(n, stages);
    tensor(a, F16, 8, 9 * TILE);
    tensor(out, F32, 9, 8);
    grid(1) threads(32) {
        shared(s, F16, 8, TILE);
        fragment(sum, F32, 8);
        LOOP(k) {
            copy(tile(a, 0, k), s);
            clear(sum);
            parallel(r, 8)
                serial(c, TILE)
                    accum(at(sum, r), f32(at(s, r, c)));
            copy(sum, from(out, k, 0));
        }
    }
}

/* 0: f16 into f32; 1: a value outside; 2: pieces of 2 bytes; 3: rows of 6 bytes; 4: reduced where it lies. */
KERNEL(not_asynchronous) {
    params(n, stages, how);
    const int64_t width = how == 3 ? 3 : TILE;
    tensor(a, how == 4 ? F32 : F16, 9 * TILE + 2);
    tensor(out, F32, 9, 8);
    grid(1) threads(32) {
        shared(s, how == 0 || how == 4 ? F32 : F16, width);
        shared(r, F32);
        LOOP(k) {
            if (how == 1) {
                copy(tile(a, k), s, .outside = 5);
            } else if (how == 4) {
                copy(tile(a, k), s);
                reduce(SUM, s, r, 0);
                parallel(i, 1)
                    set(at(out, k, 0), r);
            } else {
                copy(from(a, add(mul(k, TILE), how == 2)), s);
            }
            parallel(i, width)
                set(at(out, k, i), f32(at(s, sub(width - 1, i))));
        }
    }
}

/* Beyond the end of the tensor. */
KERNEL(ragged) {
    params(n, stages);
    tensor(a, I32, 3, 21);
    tensor(out, I32, 9 * TILE);
    grid(1) threads(32) {
        shared(s, I32, 2, TILE);
        LOOP(k) {
            copy(from(a, mod(k, 3), mul(quo(k, 3), TILE)), s);
            NOTE(k, add(at(s, 0, i), mul(at(s, 1, i), 1000)));
        }
    }
}

/* Several threads by name, barriers of the user's own. */
KERNEL(thread_view) {
    params(n, stages);
    tensor(a, I32, 9 * TILE);
    tensor(out, I32, 9 * TILE);
    grid(1) threads(tid, TILE) {
        shared(s, I32, TILE);
        LOOP(k) {
            copy(tile(a, k), s);
            sync_threads();
            set(at(out, mad(k, TILE, tid)), at(s, sub(TILE - 1, tid)));
            sync_threads();
        }
    }
}
