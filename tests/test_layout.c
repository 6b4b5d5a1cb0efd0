/* test_layout.c -- register layouts against brute force: every function of tile_layout.h over all threads, slots and
 * elements of random tiles; expressions are evaluated at every point. */
#include "codegen/tile_layout.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* ---- random tiles ---------------------------------------------------------------------------------------- */

static uint64_t next(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static int64_t one_of(uint64_t *seed, int n, const int64_t *x) {
    return x[next(seed) % (uint64_t)n];
}

typedef struct tile {
    arena memory;
    int rank;
    int64_t dim[TG_MAX_RANK], elements, threads, run;
    char name[160];
} tile;

static tile random_tile(uint64_t number) {
    static const int64_t dims[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 16, 24, 31, 32, 48, 64};
    static const int64_t threads[] = {1, 2, 7, 31, 32, 33, 48, 64, 96, 100, 128, 256};
    uint64_t seed = number * 7919 + 1;
    tile x = {.rank = (int)(next(&seed) % 4), .elements = 1};
    for (int i = 0; i < x.rank; i++) {
        x.dim[i] = one_of(&seed, x.rank == 3 ? 10 : 17, dims);
        x.elements *= x.dim[i];
    }
    x.threads = one_of(&seed, 12, threads);
    x.run = (int64_t)1 << next(&seed) % 5;
    snprintf(x.name, sizeof x.name, "tile %d (%d: %d x %d x %d, %d threads, runs of %d)", (int)number, x.rank,
             (int)x.dim[0], (int)x.dim[1], (int)x.dim[2], (int)x.threads, (int)x.run);
    return x;
}

static int64_t number_of(const layout *l, const int64_t *index) {
    int64_t number = 0;
    for (int d = 0; d < l->rank; d++) {
        cr_assert(index[d] >= 0 && index[d] < l->dim[d]);
        number = number * l->dim[d] + index[d];
    }
    return number;
}

/* ---- who holds what -------------------------------------------------------------------------------------- */

/* Every element is somewhere, one holder is the first, and the inverse is the inverse. */
static void expect_whole(const layout *l, const char *name) {
    int64_t *lowest = malloc(sizeof *lowest * (size_t)(l->elements + 1)), index[TG_MAX_RANK] = {0};
    int *firsts = calloc((size_t)l->elements + 1, sizeof *firsts);
    bool padded = false;
    for (int64_t e = 0; e < l->elements; e++) {
        lowest[e] = -1;
    }
    for (int64_t t = 0; t < l->threads; t++) {
        for (int64_t s = 0; s < l->slots; s++) {
            if (!layout_element(l, t, s, index)) {
                padded = true;
                continue;
            }
            const int64_t e = number_of(l, index);
            lowest[e] = lowest[e] < 0 ? t : lowest[e];
            firsts[e] += layout_is_first(l, t);
            cr_assert(!layout_is_first(l, t) || lowest[e] == t, "%s: the first holder of %d", name, (int)e);
            cr_assert_eq(layout_slot(l, t, index), s, "%s: thread %d slot %d", name, (int)t, (int)s);
        }
    }
    for (int64_t e = 0; e < l->elements; e++) {
        cr_assert(lowest[e] >= 0 && firsts[e] == 1, "%s: element %d: first at %d, %d times", name, (int)e,
                  (int)lowest[e], firsts[e]);
    }
    cr_assert(l->is_padded || !padded, "%s: padded", name);
    free(lowest);
    free(firsts);
}

/* An element that a thread has in no slot is not its own. */
static void expect_strangers(const layout *l, const char *name) {
    int64_t index[TG_MAX_RANK] = {0};
    for (int64_t e = 0; e < l->elements; e += 1 + l->elements / 13) {
        for (int64_t d = l->rank - 1, rest = e; d >= 0; d--) {
            index[d] = rest % l->dim[d];
            rest /= l->dim[d];
        }
        for (int64_t t = 0; t < l->threads; t++) {
            int64_t found = -1, other[TG_MAX_RANK] = {0};
            for (int64_t s = 0; s < l->slots; s++) {
                found = layout_element(l, t, s, other) && number_of(l, other) == e ? s : found;
            }
            cr_assert_eq(layout_slot(l, t, index), found, "%s: element %d in thread %d", name, (int)e,
                         (int)t);
        }
    }
}

static void expect_runs(const layout *l, const char *name) {
    int64_t index[TG_MAX_RANK] = {0};
    for (int64_t t = 0; t < l->threads; t++) {
        for (int64_t s = 0; s < l->slots && l->run > 0; s++) {
            const bool exists = layout_element(l, t, s - s % l->run, index);
            const int64_t first = exists ? number_of(l, index) : 0;
            if (exists && layout_element(l, t, s, index)) {
                const int64_t place = s % l->run == 0 ? 0 : l->digit[0].place * (s % l->run);
                cr_assert_eq(number_of(l, index), first + place, "%s: run of thread %d", name, (int)t);
            }
        }
    }
}

/* ---- expressions ----------------------------------------------------------------------------------------- */

static var variable(int id, int64_t hi) {
    return (var){.kind = VAR_LOOP, .name = "v", .type = TYPE_INDEX, .hi = hi, .id = id};
}

static int64_t value_at(arena *a, node *x, const var *t, int64_t thread, const var *s, int64_t slot) {
    x = expr_replace(a, x, t, expr_int(a, (tg_loc){"", 0}, thread));
    x = expr_replace(a, x, s, expr_int(a, (tg_loc){"", 0}, slot));
    cr_assert(expr_is_const(x), "%s", expr_text(a, x));
    return x->ival;
}

static void expect_point(arena *a, const layout *l, node *const *index, node *exists, node *first,
                         const var *t, int64_t thread, const var *s, int64_t slot, const char *name) {
    int64_t wanted[TG_MAX_RANK] = {0};
    const bool has = layout_element(l, thread, slot, wanted);
    cr_assert_eq(exists ? value_at(a, exists, t, thread, s, slot) : 1, has, "%s: thread %d slot %d", name,
                 (int)thread, (int)slot);
    cr_assert_eq(first ? value_at(a, first, t, thread, s, slot) : 1, layout_is_first(l, thread),
                 "%s: first of thread %d", name, (int)thread);
    for (int d = 0; d < l->rank && has; d++) {
        cr_assert_eq(value_at(a, index[d], t, thread, s, slot), wanted[d],
                     "%s: index %d of thread %d slot %d", name, d, (int)thread, (int)slot);
    }
}

static void expect_expressions(arena *a, const layout *l, const char *name) {
    var t = variable(0, l->threads - 1), s = variable(1, l->slots - 1);
    node *thread = expr_var(a, (tg_loc){"", 0}, &t), *slot = expr_var(a, (tg_loc){"", 0}, &s);
    node *index[TG_MAX_RANK], *exists, *by[TG_MAX_RANK], *exists_by, *digit[LAYOUT_DIGITS] = {0};
    layout_indices(a, l, thread, slot, index, &exists);
    node *first = layout_first(a, l, thread);
    for (int i = 0; i < l->n; i++) {
        if (l->digit[i].source == LAYOUT_SLOT) {
            node *x = expr_binary(a, slot->at, TG_QUO, slot, expr_int(a, slot->at, l->digit[i].stride));
            digit[i] = expr_binary(a, slot->at, TG_MOD, x, expr_int(a, slot->at, l->digit[i].extent));
        }
    }
    layout_indices_by(a, l, thread, l->threads, digit, by, &exists_by);
    for (int64_t i = 0; i < l->threads; i += 1 + l->threads / 29) {
        for (int64_t j = 0; j < l->slots; j += 1 + l->slots / 17) {
            expect_point(a, l, index, exists, first, &t, i, &s, j, name);
            expect_point(a, l, by, exists_by, first, &t, i, &s, j, name);
        }
    }
}

static void expect_sound(arena *a, const layout *l, const char *name) {
    expect_whole(l, name);
    expect_strangers(l, name);
    expect_runs(l, name);
    expect_expressions(a, l, name);
    cr_assert(layout_equal(l, l));
}

/* ---- the choices ----------------------------------------------------------------------------------------- */

enum { TILES = 700 };

Test(layout, spread_is_sound_and_leaves_no_thread_without_work) {
    for (uint64_t i = 0; i < TILES; i++) {
        tile x = random_tile(i);
        const layout *l = layout_spread(&x.memory, x.rank, x.dim, x.threads, x.run, false);
        expect_sound(&x.memory, l, x.name);
        int64_t used = 1;
        for (int d = 0; d < l->n; d++) {
            used *= l->digit[d].source == LAYOUT_THREAD ? l->digit[d].extent : 1;
        }
        cr_assert_eq(used, x.elements < x.threads ? x.elements : x.threads, "%s", x.name);
        arena_free(&x.memory);
    }
}

Test(layout, a_wish_for_split_costs_at_most_half_of_the_threads) {
    for (uint64_t i = 0; i < TILES; i++) {
        tile x = random_tile(i);
        const layout *l = layout_spread(&x.memory, x.rank, x.dim, x.threads, x.run, true);
        const layout *plain = layout_spread(&x.memory, x.rank, x.dim, x.threads, x.run, false);
        expect_sound(&x.memory, l, x.name);
        cr_assert(!plain->is_split || l->is_split, "%s", x.name);
        cr_assert_leq(l->slots, 2 * plain->slots + l->run, "%s", x.name);
        arena_free(&x.memory);
    }
}

Test(layout, runs_of_a_given_length_in_given_blocks) {
    for (uint64_t i = 0; i < TILES; i++) {
        tile x = random_tile(i);
        const int64_t last = x.rank > 0 ? x.dim[x.rank - 1] : 1;
        const int64_t run = last % x.run == 0 ? x.run : 1;
        for (int64_t share = run; share <= 4 * run; share += run) {
            const layout *l = layout_runs(&x.memory, x.rank, x.dim, x.threads, run, share);
            expect_sound(&x.memory, l, x.name);
        }
        arena_free(&x.memory);
    }
}

Test(layout, a_projection_holds_what_the_kept_dimensions_say) {
    for (uint64_t i = 0; i < TILES; i++) {
        tile x = random_tile(i);
        const layout *l = layout_spread(&x.memory, x.rank, x.dim, x.threads, x.run, true);
        for (unsigned mask = 0; mask < 1u << x.rank; mask++) {
            bool keep[TG_MAX_RANK] = {false};
            for (int d = 0; d < x.rank; d++) {
                keep[d] = mask >> d & 1;
            }
            const layout *p = layout_project(&x.memory, l, keep);
            cr_assert((p != NULL) == l->is_split, "%s", x.name);
            if (!p) {
                continue;
            }
            expect_sound(&x.memory, p, x.name);
            /* a thread that holds an element holds its projection */
            for (int64_t t = 0; t < l->threads; t++) {
                for (int64_t s = 0; s < l->slots; s++) {
                    int64_t index[TG_MAX_RANK] = {0}, kept[TG_MAX_RANK] = {0};
                    int n = 0;
                    const bool exists = layout_element(l, t, s, index);
                    for (int d = 0; d < x.rank; d++) {
                        kept[n] = index[d];
                        n += keep[d];
                    }
                    cr_assert(!exists || layout_slot(p, t, kept) >= 0, "%s: thread %d", x.name, (int)t);
                }
            }
        }
        arena_free(&x.memory);
    }
}

Test(layout, equal_means_the_same_digits) {
    tile x = random_tile(0);
    const int64_t a[2] = {16, 64}, b[2] = {64, 16};
    const layout *l = layout_spread(&x.memory, 2, a, 128, 8, false);
    cr_assert(layout_equal(l, layout_spread(&x.memory, 2, a, 128, 8, true)));
    cr_assert_not(layout_equal(l, layout_spread(&x.memory, 2, b, 128, 8, false)));
    cr_assert_not(layout_equal(l, layout_spread(&x.memory, 2, a, 64, 8, false)));
    cr_assert_not(layout_equal(l, layout_spread(&x.memory, 2, a, 128, 4, false)));
    arena_free(&x.memory);
}

/* ---- a fragment seen from a loop ------------------------------------------------------------------------- */

typedef struct sight {
    const layout *loop, *held;
    var axis[TG_MAX_RANK], *axes[TG_MAX_RANK], slot;
    node *index[TG_MAX_RANK];
} sight;

static node *at_iteration(arena *a, const sight *v, node *x, const int64_t *index) {
    for (int d = 0; d < v->loop->rank; d++) {
        x = expr_replace(a, x, &v->axis[d], expr_int(a, (tg_loc){"", 0}, index[d]));
    }
    return x;
}

/* Where a slot is given it is the right one, in every iteration; whether one is given. */
static bool expect_sight(arena *a, sight *v, const char *name) {
    v->slot = variable(99, v->loop->slots - 1);
    node *slot = expr_var(a, (tg_loc){"", 0}, &v->slot);
    node *x = layout_slot_in(a, v->loop, v->axes, v->held, v->index, slot);
    for (int64_t t = 0; x && t < v->loop->threads; t += 1 + v->loop->threads / 37) {
        for (int64_t s = 0; s < v->loop->slots; s += 1 + v->loop->slots / 19) {
            int64_t index[TG_MAX_RANK] = {0}, held[TG_MAX_RANK] = {0};
            if (!layout_element(v->loop, t, s, index)) {
                continue;
            }
            for (int d = 0; d < v->held->rank; d++) {
                held[d] = at_iteration(a, v, v->index[d], index)->ival;
            }
            node *given = expr_replace(a, x, &v->slot, expr_int(a, slot->at, s));
            cr_assert(expr_is_const(given) && given->ival == layout_slot(v->held, t, held),
                      "%s: thread %d slot %d", name, (int)t, (int)s);
        }
    }
    return x != NULL;
}

static sight see(arena *a, const layout *loop) {
    sight v = {.loop = loop};
    for (int d = 0; d < loop->rank; d++) {
        v.axis[d] = variable(d, loop->dim[d] - 1);
    }
    (void)a;
    return v;
}

static node *axis_of(arena *a, sight *v, int d) {
    for (int i = 0; i < v->loop->rank; i++) {
        v->axes[i] = &v->axis[i];
    }
    return expr_var(a, (tg_loc){"", 0}, &v->axis[d]);
}

Test(layout, a_loop_finds_what_its_own_layout_holds) {
    for (uint64_t i = 0; i < TILES; i++) {
        tile x = random_tile(i);
        const layout *l = layout_spread(&x.memory, x.rank, x.dim, x.threads, x.run, true);
        sight v = see(&x.memory, l);
        v.held = l;
        for (int d = 0; d < x.rank; d++) {
            v.index[d] = axis_of(&x.memory, &v, d);
        }
        cr_assert(expect_sight(&x.memory, &v, x.name), "%s", x.name);
        arena_free(&x.memory);
    }
}

Test(layout, a_loop_finds_the_projection_of_its_layout) {
    for (uint64_t i = 0; i < TILES; i++) {
        tile x = random_tile(i);
        const layout *l = layout_spread(&x.memory, x.rank, x.dim, x.threads, x.run, true);
        for (int kept = 0; kept < x.rank && l->is_split; kept++) {
            bool keep[TG_MAX_RANK] = {false};
            sight v = see(&x.memory, l);
            keep[kept] = true;
            v.held = layout_project(&x.memory, l, keep);
            v.index[0] = axis_of(&x.memory, &v, kept);
            cr_assert(expect_sight(&x.memory, &v, x.name), "%s: dimension %d", x.name, kept);
        }
        arena_free(&x.memory);
    }
}

Test(layout, what_a_loop_finds_elsewhere_is_right_or_not_given) {
    int given = 0, refused = 0;
    for (uint64_t i = 0; i < TILES; i++) {
        tile x = random_tile(i), y = random_tile(i * 31 + 5);
        const layout *l = layout_spread(&x.memory, x.rank, x.dim, x.threads, x.run, i % 2);
        const layout *held = layout_spread(&x.memory, y.rank, y.dim, x.threads, y.run, true);
        sight v = see(&x.memory, l);
        v.held = held;
        for (int d = 0; d < held->rank; d++) {
            node *zero = expr_int(&x.memory, (tg_loc){"", 0}, 0);
            node *axis = d < x.rank ? axis_of(&x.memory, &v, d) : zero;
            v.index[d] =
                expr_binary(&x.memory, axis->at, TG_MOD, axis, expr_int(&x.memory, axis->at, held->dim[d]));
        }
        *(expect_sight(&x.memory, &v, x.name) ? &given : &refused) += 1;
        arena_free(&x.memory);
    }
    cr_assert(given > 0 && refused > 0, "%d given, %d refused", given, refused);
}

/* ---- text ------------------------------------------------------------------------------------------------ */

Test(layout, the_table_shows_runs_and_replicas) {
    arena a = {0};
    const int64_t dim[1] = {8};
    const layout *l = layout_spread(&a, 1, dim, 4, 4, true);
    text t = {0};
    layout_print(l, "f", &t);
    cr_assert(strstr(t.s, "f: 8 over 4 threads, 2 slots each") != NULL, "%s", t.s);
    cr_assert(strstr(t.s, "thread    3  [6..7]") != NULL, "%s", t.s);
    text_free(&t);
    l = layout_spread(&a, 0, dim, 2, 4, true);
    layout_print(l, "one", &t);
    cr_assert(strstr(t.s, "thread    1' []") != NULL, "%s", t.s);
    text_free(&t);
    arena_free(&a);
}
