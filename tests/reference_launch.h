/* reference_launch.h -- a launch of a kernel of reference_kernels.c on the tile reference, for its tests. */
#ifndef REFERENCE_LAUNCH_H
#define REFERENCE_LAUNCH_H

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dsl/tile.h"
#include "sim/tile_reference.h"

/* clang-format off */
#define KERNELS(X)                                                                                         \
    X(each_element)                                                                                        \
    X(gemv_naive)                                                                                          \
    X(gemv_double)                                                                                         \
    X(reduce_axis)                                                                                         \
    X(many_axes)                                                                                           \
    X(atomics)                                                                                             \
    X(control_flow)                                                                                        \
    X(launch_values)                                                                                       \
    X(rows_apart)                                                                                          \
    X(views)                                                                                               \
    X(one_value)                                                                                           \
    X(narrow)                                                                                              \
    X(printing)                                                                                            \
    X(checking)                                                                                            \
    X(print_much) X(copy_tiles) X(copy_outside) X(copy_ranks) X(fill_regions) X(copy_local) X(gemv_block)  \
        X(reducing) X(reduce_dimension) X(private_locals) X(block_scalar) X(read_outside) X(write_outside) \
            X(region_outside) X(unwritten) X(divergent) X(shared_race) X(block_race) X(iteration_race)     \
                X(endless) X(overlapping) X(wide_view) X(epochs) X(large) X(inherited) X(which_thread)     \
                    X(pair_race)
/* clang-format on */
#define PROTOTYPE(name) void name(void);
KERNELS(PROTOTYPE)

/* ---- a launch ------------------------------------------------------------------------------------------ */

typedef struct launch {
    tg_kernel *k;
    int n, status;
    witness_arg arg[8];
    reference_options options;
    reference_result result;
    text error;
} launch;

static inline launch built(const char *name, tg_builder *build, tg_config config) {
    launch l = {.k = tg_begin(name, &config)};
    build();
    if (!tg_end(l.k)) {
        tg_report(l.k, stderr);
        cr_assert_fail("%s does not build", name);
    }
    return l;
}
#define BUILD(name, ...) built(#name, name, TG_CONFIG(__VA_ARGS__))
#define BUILD_PLAIN(name) built(#name, name, (tg_config){.n = 0})

static inline void give(launch *l, void *data, size_t bytes) {
    l->arg[l->n++] = (witness_arg){.data = data, .bytes = bytes};
}
#define GIVE(l, array) give(l, array, sizeof(array))

static inline void give_scalar(launch *l, value v) {
    l->arg[l->n++] = (witness_arg){.scalar = v};
}

static inline int run(launch *l) {
    reference_free(&l->result);
    text_free(&l->error);
    l->status = tile_reference_run(l->k, l->n, l->arg, &l->options, &l->result, &l->error);
    return l->status;
}

static inline void end(launch *l) {
    reference_free(&l->result);
    text_free(&l->error);
    tg_free(l->k);
}

/* Runs in the order of `seed` and expects no finding. */
static inline void run_clean(launch *l, uint64_t seed) {
    l->options.seed = seed;
    cr_assert_eq(run(l), TG_OK, "%s", l->error.s ? l->error.s : "");
    if (l->result.findings.total > 0) {
        text t = {0};
        findings_print(&l->result.findings, &t);
        cr_assert_fail("%s, seed %d: %s", l->k->name, (int)seed, t.s);
    }
}

/* The one finding of a run. */
static inline const finding *run_finding(launch *l, finding_kind kind) {
    cr_assert_eq(run(l), TG_OK, "%s", l->error.s ? l->error.s : "");
    const findings *all = &l->result.findings;
    text t = {0};
    findings_print(all, &t);
    cr_assert_eq(all->n, 1, "%s: %d findings: %s", l->k->name, all->n, t.s ? t.s : "");
    cr_assert_eq(all->item[0].kind, kind, "%s", t.s);
    text_free(&t);
    return &all->item[0];
}

static inline void expect_text(const finding *f, const char *part) {
    cr_assert(strstr(f->text, part) != NULL, "'%s' lacks '%s'", f->text, part);
}

/* The line of reference_kernels.c that holds `part`; tests run in the project's folder. */
static inline int line_of(const char *part) {
    char line[256];
    FILE *f = fopen("tests/reference_kernels.c", "r");
    cr_assert(f != NULL);
    int n = 0;
    while (fgets(line, sizeof line, f)) {
        n++;
        if (strstr(line, part)) {
            fclose(f);
            return n;
        }
    }
    fclose(f);
    cr_assert_fail("no line with %s", part);
    return 0;
}

static inline uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* f16 bits of small multiples of 1/8: sums of their products are exact in f32. */
static inline void random_halves(uint16_t *x, size_t n, uint32_t state) {
    for (size_t i = 0; i < n; i++) {
        x[i] = f32_to_f16((float)((int)(next_random(&state) % 33) - 16) / 8);
    }
}

#endif
