/* lower_kernels.c -- kernels for test_lower.c, test_facts.c and test_allreduce_lowering.c.
 *
 * Each says a few words in many sizes, or makes one mistake that only lowering finds. */
#include <string.h>

#include <tegula/kernel.h>

/* ---- vectorized ---------------------------------------------------------------------------------------- */

/* A pure copy: global to shared to local to global; `shift` makes the first element uneven. */
KERNEL(wide_copy) {
    params(dtype, width, shift);
    tensor(from_global, dtype, 64 * width + shift);
    tensor(to_global, dtype, 64 * width + shift);
    grid(pid, 2) threads(tid, 32) {
        shared(middle, dtype, 32, width);
        local(mine, dtype, width);
        let(base, add(mul(mad(pid, 32, tid), width), shift));
        vectorized(k, width)
            set(at(middle, tid, k), at(from_global, add(base, k)));
        vectorized(k, width)
            set(at(mine, k), at(middle, tid, k));
        vectorized(k, width)
            set(at(to_global, add(base, k)), at(mine, k));
    }
}

/* Arithmetic between two types, an accumulator in order, a name for the index. */
KERNEL(wide_arithmetic) {
    params(dtype, width);
    tensor(a, dtype, 32, width);
    tensor(b, dtype, 32, width);
    tensor(sums, F32, 32);
    tensor(doubled, F32, 32, width);
    grid(pid, 1) threads(tid, 32) {
        local(acc, F32);
        clear(acc);
        vectorized(k, width) {
            let(j, add(k, 0));
            let(x, f32(at(a, tid, j)));
            accum(acc, mul(x, f32(at(b, tid, j))));
            set(at(doubled, tid, j), add(mul(x, 2), acc));
        }
        set(at(sums, tid), acc);
    }
}

/* In place, twice: every element read and written in one piece. */
KERNEL(wide_in_place) {
    params(width);
    tensor(a, F16, 32, width);
    grid(pid, 1) threads(tid, 32) {
        vectorized(k, width) {
            accum(at(a, tid, k), f16(1.0));
            set(at(a, tid, k), mul(at(a, tid, k), f16(2.0)));
        }
    }
}

/* a[k] = a[k + distance]: fine when loads come first. */
KERNEL(wide_ahead) {
    params(distance);
    tensor(a, F32, 64 + distance);
    tensor(b, F32, 64);
    grid(pid, 1) threads(tid, 1) {
        vectorized(k, 16) {
            set(at(a, k), at(a, add(k, distance)));
            set(at(b, k), add(at(a, k), at(a, add(k, distance))));
        }
    }
}

/* a[k + distance] = a[k]: an iteration needs what an earlier one stored. */
KERNEL(wide_behind) {
    params(distance);
    tensor(a, F32, 64 + distance);
    grid(pid, 1) threads(tid, 1) {
        vectorized(k, 16)
            set(at(a, add(k, distance)), add(at(a, k), 1));
    }
}

/* Guards of one value over a piece; both branches; a choice whose side is not read. */
KERNEL(wide_guarded) {
    params(N, width);
    tensor(a, F16, N);
    tensor(b, F16, N);
    tensor(c, F32, N);
    grid(pid, 1) threads(tid, 64) {
        let(base, mul(tid, width));
        vectorized(k, width) {
            let(i, add(base, k));
            when(lt(i, N)) {
                set(at(b, i), at(a, i));
                let(next, add(i, 0));
                set(at(c, next), f32(at(a, next)));
            }
        }
        vectorized(k, width) {
            when(gt(N, mad(tid, width, k))) {
                when(eq(mod(tid, 2), 0))
                    accum(at(b, add(base, k)), f16(1));
                otherwise
                    set(at(b, add(base, k)), choose(le(add(base, k, 1), N), at(a, add(base, k)), f16(7)));
            }
            when(ge(N - 1, add(base, k)))
                accum(at(c, add(base, k)), choose(ge(add(base, k), N), f32(at(a, N)), f32(1)));
        }
    }
}

/* A store to one element that the loop may also read. */
KERNEL(wide_staying) {
    params(place);
    tensor(a, F32, 32);
    tensor(b, F32, 32);
    grid(pid, 1) threads(tid, 1) {
        vectorized(k, 16) {
            set(at(b, add(k, 8)), at(a, add(k, 8)));
            set(at(a, place), f32(k));
        }
    }
}

/* The guard ends inside a piece. */
KERNEL(wide_uneven_guard) {
    params(N, width);
    tensor(a, F16, 64 * width);
    tensor(b, F16, 64 * width);
    grid(pid, 1) threads(tid, 64) {
        vectorized(k, width) {
            let(i, mad(tid, width, k));
            when(lt(i, N))
                set(at(b, i), at(a, i));
        }
    }
}

KERNEL(wide_stride) {
    params(stride);
    tensor(a, F16, 64 * stride);
    tensor(b, F16, 64);
    grid(pid, 1) threads(tid, 1) {
        vectorized(k, 64)
            set(at(b, k), at(a, mul(k, stride)));
    }
}

KERNEL(wide_through_table) {
    tensor(table, I32, 64);
    tensor(a, F16, 64);
    tensor(b, F16, 64);
    grid(pid, 1) threads(tid, 1) {
        vectorized(k, 64)
            set(at(b, k), at(a, at(table, k)));
    }
}

KERNEL(wide_aligned) {
    params(bytes);
    tensor(a, F16, 64);
    tensor(b, F16, 64);
    aligned(a, bytes);
    grid(pid, 1) threads(tid, 8) {
        vectorized(k, 8)
            set(at(b, mad(tid, 8, k)), at(a, mad(tid, 8, k)));
    }
}

KERNEL(wide_pitched) {
    params(ld);
    pitched(a, F16, ld, 8, 16);
    tensor(b, F16, 8, 16);
    grid(pid, 1) threads(tid, 8) {
        vectorized(k, 16)
            set(at(b, tid, k), at(a, tid, k));
    }
}

KERNEL(wide_aliased) {
    tensor(a, F16, 64);
    tensor(b, F16, 64);
    alias(a, b);
    grid(pid, 1) threads(tid, 1) {
        vectorized(k, 64)
            set(at(b, k), at(a, k));
    }
}

KERNEL(wide_atomic) {
    tensor(a, F32, 64);
    grid(pid, 1) threads(tid, 1) {
        vectorized(k, 64)
            atomic_add(at(a, k), 1);
    }
}

KERNEL(wide_view) {
    tensor(a, I32, 64);
    tensor(b, F16, 128);
    grid(pid, 1) threads(tid, 8) {
        shared(words, I32, 64);
        const tg_buf halves = view(words, F16, 128);
        vectorized(k, 8)
            set(at(words, mad(tid, 8, k)), at(a, mad(tid, 8, k)));
        vectorized(k, 16)
            set(at(b, mad(tid, 16, k)), at(halves, mad(tid, 16, k)));
    }
}

KERNEL(wide_inner_loop) {
    tensor(a, F32, 64);
    tensor(b, F32, 64);
    grid(pid, 1) threads(tid, 8) {
        local(acc, F32, 3);
        clear(acc);
        vectorized(k, 8) {
            serial(m, 3)
                accum(at(acc, m), mul(at(a, mad(tid, 8, k)), f32(m)));
            set(at(b, mad(tid, 8, k)), add(at(acc, 1), at(acc, 2)));
        }
    }
}

/* Registers shift by one: the loop stays in order. */
KERNEL(wide_registers) {
    tensor(a, F16, 64);
    tensor(b, F16, 64);
    grid(pid, 1) threads(tid, 8) {
        local(mine, F16, 9);
        clear(mine);
        vectorized(k, 8) {
            set(at(mine, add(k, 1)), at(a, mad(tid, 8, k)));
            set(at(b, mad(tid, 8, k)), at(mine, k));
        }
    }
}

/* ---- allreduce ----------------------------------------------------------------------------------------- */

/* Along axis 0, 1 or 2 of X x Y x Z threads; `turns` calls in a loop. */
KERNEL(reduce_threads) {
    params(dtype, axis, X, Y, Z, op, turns);
    tensor(x, dtype, turns, X * Y * Z);
    tensor(y, dtype, turns, X * Y * Z);
    grid(pid, 1) threads(tx, X, ty, Y, tz, Z) {
        let(me, add(tx, mul(X, add(ty, mul(Y, tz)))));
        serial(turn, turns) {
            let(total, allreduce(op, at(x, turn, me), axis == 0 ? tx : axis == 1 ? ty : tz));
            set(at(y, turn, me), total);
        }
    }
}

/* Two calls in a row, and a barrier of the user's between two turns. */
KERNEL(reduce_twice) {
    params(threads_x, sync);
    tensor(x, F32, threads_x);
    tensor(y, F32, 2, threads_x);
    grid(pid, 1) threads(tx, threads_x) {
        serial(turn, 3) {
            let(low, allreduce(MIN, at(x, tx), tx));
            let(high, allreduce(MAX, at(x, tx), tx));
            set(at(y, 0, tx), low);
            set(at(y, 1, tx), high);
            if (sync) {
                sync_threads();
            }
        }
    }
}

/* The result decides for all threads whether they meet. */
KERNEL(reduce_decides) {
    tensor(x, I32, 96);
    tensor(y, I32, 96);
    grid(pid, 1) threads(tx, 96) {
        shared(s, I32, 96);
        let(total, allreduce(SUM, at(x, tx), tx));
        when(gt(total, 0)) {
            set(at(s, tx), at(x, tx));
            sync_threads();
            set(at(y, tx), at(s, sub(95, tx)));
        }
    }
}

/* ---- the rest of the thread view ----------------------------------------------------------------------- */

KERNEL(fill_shared) {
    params(X, Y, rows, cols);
    tensor(y, F32, rows, cols);
    grid(pid, 1) threads(tx, X, ty, Y) {
        shared(s, F32, rows, cols);
        serial(turn, 2) {
            fill(s, 3);
            let(me, mad(ty, X, tx));
            serial(i, ceildiv(rows * cols, X * Y)) {
                let(j, mad(i, X * Y, me));
                when(lt(j, rows * cols))
                    accum(at(s, quo(sub(rows * cols - 1, j), cols), mod(sub(rows * cols - 1, j), cols)),
                          f32(j));
            }
            sync_threads();
            serial(i, ceildiv(rows * cols, X * Y)) {
                let(j, mad(i, X * Y, me));
                let(back, sub(rows * cols - 1, j));
                when(lt(j, rows * cols))
                    set(at(y, quo(j, cols), mod(j, cols)), at(s, quo(back, cols), mod(back, cols)));
            }
        }
    }
}

/* Filled once, read in every turn: one barrier, in front of the loop.  With `again`, filled in it too. */
KERNEL(fill_before_loop) {
    params(again);
    tensor(y, F32, 40);
    grid(pid, 1) threads(tid, 40) {
        shared(s, F32, 40);
        local(sum, F32);
        clear(sum);
        fill(s, 2);
        if (again) {
            accum(sum, at(s, sub(39, tid)));
        }
        serial(turn, 5) {
            if (again) {
                fill(s, 3);
            }
            accum(sum, at(s, sub(39, tid)));
        }
        set(at(y, tid), sum);
    }
}

KERNEL(local_tiles) {
    params(n);
    tensor(y, F32, 4, n);
    grid(pid, 1) threads(tid, 4) {
        local(a, F16, 2, n);
        local(b, F32, 2, n);
        local(one, F32);
        fill(a, 2.5);
        clear(b);
        fill(one, 4);
        copy(a, b);
        serial(i, n)
            set(at(y, tid, i), add(mul(at(b, 1, i), one), f32(tid)));
    }
}

KERNEL(trips) { /* loops of no trip, of one, branches that are decided */
    params(n);
    tensor(y, I32, 8);
    grid(pid, 1) threads(tid, 8) {
        local(acc, I32);
        local(unused, F32, 100);
        shared(nobody, F32, 100);
        let(dead, mul(tid, 3));
        let(deader, add(dead, 1));
        (void)unused, (void)nobody, (void)deader;
        (void)unused, (void)nobody, (void)deader; /* nothing reads them: that is the point */
        set(acc, 1);
        serial(i, 0)
            set(acc, 100);
        serial(i, 1) {
            let(inner, add(i, tid));
            accum(acc, i32(inner));
        }
        when(lt(tid, 8))
            accum(acc, 10);
        otherwise
            set(acc, 0);
        when(ge(quo(tid, 8), 1))
            set(acc, 0);
        when(lt(mod(mul(tid, 8), 64), 57))
            accum(acc, 100);
        unrolled(i, n)
            accum(acc, 1000);
        serial(i, n, j, 2, 2)
            accum(acc, 10000);
        set(at(y, tid), acc);
    }
}

KERNEL(launch_sizes) { /* everything known at launch only */
    scalar(scale, F32);
    scalar(most, I32);
    extent(rows);
    tensor(x, F32, rows, 8);
    tensor(y, F32, rows, 8);
    grid(pid, ceildiv(rows, 4)) threads(tx, 8, ty, 4) {
        let(row, mad(pid, 4, ty));
        when(both(lt(row, rows), lt(row, most)))
            set(at(y, row, tx), mul(at(x, row, tx), scale));
    }
}

KERNEL(launch_trips) { /* trip counts and conditions of the launch, and of memory */
    params(X);
    scalar(most, I32);
    extent(rows);
    tensor(x, I32, rows, X);
    tensor(y, I32, rows, X);
    grid(pid, 1) threads(tx, X) {
        serial(row, rows) {
            local(sum, I32);
            clear(sum);
            serial(i, most)
                accum(sum, at(x, row, tx));
            serial(i, at(x, row, tx))
                accum(sum, i32(i));
            when(gt(most, 2)) {
                let(all, allreduce(SUM, sum, tx));
                let(top, allreduce(MAX, sum, tx));
                set(at(y, row, tx), sub(all, top));
            }
            otherwise {
                let(low, allreduce(MIN, sum, tx));
                set(at(y, row, tx), low);
            }
        }
    }
}

KERNEL(trips_of_its_own) { /* the loop writes what it was told its trips by */
    tensor(x, I32, 8);
    grid(pid, 1) threads(tid, 8) {
        local(left, I32);
        set(left, at(x, tid));
        serial(i, left) {
            set(left, sub(left, 1));
            accum(at(x, tid), i32(i));
        }
    }
}

KERNEL(checked) {
    params(limit);
    tensor(y, I32, 8);
    grid(pid, 2) threads(tid, 4) {
        let(i, mad(pid, 4, tid));
        check(lt(i, limit), "i is below the limit");
        check(ge(i, 0), "i is not negative");
        print("i = %d\n", i);
        set(at(y, i), i32(i));
    }
}

KERNEL(atomics_of) {
    params(dtype);
    tensor(y, dtype, 3);
    grid(pid, 2) threads(tid, 33) {
        shared(s, dtype, 3);
        when(lt(tid, 3))
            set(at(s, tid), cast(dtype, 0));
        sync_threads();
        atomic_add(at(s, 0), cast(dtype, 1));
        atomic_max(at(s, 1), cast(dtype, tid));
        atomic_min(at(s, 2), cast(dtype, tid));
        sync_threads();
        when(eq(tid, 0)) {
            atomic_add(at(y, 0), at(s, 0));
            atomic_max(at(y, 1), at(s, 1));
            atomic_min(at(y, 2), at(s, 2));
        }
    }
}

/* ---- mistakes ------------------------------------------------------------------------------------------ */

KERNEL(too_much_shared) {
    params(n);
    grid(pid, 1) threads(tid, 8) {
        shared(first, F32, n);
        shared(second, F32, n);
        set(at(first, tid), f32(0));
        set(at(second, tid), f32(0));
    }
}

KERNEL(grid_of) {
    params(x, y);
    tensor(out, I32, 8);
    grid(px, x, py, y) threads(tid, 1) set(at(out, tid), 1);
}

KERNEL(threads_of) {
    params(x, y, z);
    tensor(out, I32, 8);
    grid(px, 1) threads(tx, x, ty, y, tz, z) {
        when(eq(add(tx, ty, tz), 0))
            set(at(out, 0), 1);
    }
}

KERNEL(barrier_in_branch) {
    params(threshold);
    tensor(out, I32, 64);
    grid(pid, 1) threads(tid, 64) {
        when(lt(tid, threshold)) {
            sync_threads();
            set(at(out, tid), 1);
        }
    }
}

KERNEL(barrier_behind_flag) { /* uniform: nobody writes the flag in that interval */
    tensor(out, I32, 64);
    grid(pid, 1) threads(tid, 64) {
        shared(flag, I32);
        when(eq(tid, 0))
            set(flag, 1);
        sync_threads();
        when(gt(flag, 0)) {
            sync_threads();
            set(at(out, tid), 1);
        }
    }
}

/* ---- launch plans -------------------------------------------------------------------------------------- */

KERNEL(plan_sizes) {
    scalar(step, I32);
    extent(rows);
    extent(cols);
    scalar(scale, F32);
    tensor(x, F32, rows, 8);
    pitched(y, F16, 24, rows, 3, 8);
    const tg_buf one = tg_tensor(tg_now(), TG_HERE, "one", F64, 0, (tg_index){.n = 0});
    tensor(z, I8, cols);
    alias(z, x);
    constant(x);
    grid(px, ceildiv(rows, 4), py, add(mul(cols, 2), 1), pz, quo(rows, i32(step))) threads(tx, 8, ty, 4) {
        let(row, mad(px, 4, ty));
        when(both(lt(row, rows), lt(tx, 8))) {
            set(at(y, row, 0, tx), f16(mul(at(x, row, tx), scale)));
            atomic_add(tg_at(tg_now(), TG_HERE, one, (tg_index){.n = 0}), f64(1));
            when(lt(tx, cols))
                set(at(z, tx), 1);
        }
    }
}

KERNEL(plan_wide) {
    tensor(x, F16, 64);
    tensor(y, F16, 64);
    grid(pid, 1) threads(tid, 8) {
        vectorized(k, 8)
            set(at(y, mad(tid, 8, k)), at(x, mad(tid, 8, k)));
        check(lt(tid, 8), "a thread");
    }
}

KERNEL(plan_long_grid) {
    extent(n);
    tensor(y, I32, 8);
    tg_expr blocks = n;
    for (int i = 0; i < 40; i++) {
        blocks = quo(add(blocks, i), 3);
    }
    grid(pid, blocks) threads(tid, 1) set(at(y, 0), 1);
}

KERNEL(plan_odd_grid) {
    extent(n);
    scalar(f, F32);
    tensor(y, I32, 8);
    grid(pid, choose(lt(n, 8), n, 3)) threads(tid, 1) set(at(y, 0), i32(f));
}

/* ---- a body made by a seed ----------------------------------------------------------------------------- */

typedef struct made {
    uint64_t state;
    tg_buf memory[4], registers[2], one;
    tg_expr base, k;
} made;

static int64_t pick(made *m, int64_t n) {
    m->state = m->state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(m->state >> 33) % n;
}

/* An element that moves with the loop, or stays. */
static tg_ref made_element(made *m) {
    static const int64_t shift[] = {0, 0, 0, 0, 2, 4, 8, 16};
    const int64_t which = pick(m, 8), by = shift[pick(m, 8)];
    if (which < 5) {
        const tg_expr place = pick(m, 8) == 0 ? add(m->base, by) : add(m->base, m->k, by);
        return at(m->memory[which % 4], place);
    }
    return which == 7 ? tg_at(tg_now(), TG_HERE, m->one, (tg_index){.n = 0})
                      : at(m->registers[which - 5], add(m->k, pick(m, 3)));
}

static tg_expr made_value(made *m, int depth) {
    switch (depth > 2 ? 0 : pick(m, 5)) {
    case 0:
    case 1:
        return f32(made_element(m));
    case 2:
        return add(made_value(m, depth + 1), made_value(m, depth + 1));
    case 3:
        return choose(eq(mod(m->base, 3), pick(m, 3)), made_value(m, depth + 1), made_value(m, depth + 1));
    default:
        return choose(lt(add(m->base, m->k), 64 * pick(m, 9)), made_value(m, depth + 1), f32(pick(m, 9)));
    }
}

static void made_statement(made *m, int depth) {
    switch (depth > 1 ? pick(m, 3) : pick(m, 6)) {
    case 0:
    case 1:
        set(made_element(m), f32(made_element(m)));
        break;
    case 2:
        accum(made_element(m), made_value(m, 1));
        break;
    case 3:
        set(made_element(m), made_value(m, 0));
        break;
    case 4: {
        let(named, made_value(m, 1));
        set(made_element(m), add(named, 1));
        break;
    }
    default:
        when(lt(add(m->base, m->k), 32 * pick(m, 20))) {
            made_statement(m, depth + 1);
            made_statement(m, depth + 1);
        }
        if (pick(m, 2)) {
            otherwise
                made_statement(m, depth + 1);
        }
    }
}

/* f32 everywhere, so that accum and set meet their type; each thread on elements of its own, so that none race. */
KERNEL(wide_made) {
    params(seed);
    made m = {.state = (uint64_t)seed * 77777 + 5};
    tensor(p, F32, 8 * 64);
    tensor(q, F32, 8 * 64);
    tensor(r, F32, 8 * 64);
    grid(pid, 1) threads(tid, 8) {
        shared(s, F32, 8 * 64);
        local(a, F32, 40);
        local(b, F32, 40);
        local(one, F32);
        fill(a, 1);
        fill(b, 2);
        fill(one, 3);
        let(base, mul(tid, 64));
        serial(i, 64)
            set(at(s, add(base, i)), f32(i));
        const tg_buf memory[4] = {p, q, r, s}, registers[2] = {a, b};
        memcpy(m.memory, memory, sizeof memory);
        memcpy(m.registers, registers, sizeof registers);
        m.one = one;
        m.base = base;
        vectorized(k, 8 << pick(&m, 3)) {
            m.k = k;
            for (int64_t n = 1 + pick(&m, 3); n > 0; n--) {
                made_statement(&m, 0);
            }
        }
        serial(i, 40) {
            accum(at(p, add(base, i)), add(at(a, i), at(b, i)));
            accum(at(p, add(base, i)), add(at(s, add(base, i)), one));
        }
    }
}
