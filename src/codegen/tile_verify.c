/* tile_verify.c -- rules that need the target: how large a launch may be, which atomics there are.
 *
 * Reads tile IR that the builder accepted; leaves mistakes, or a kernel that the target can run.  What needs
 * no target, such as that all threads come to every collective operation, the builder has checked. */
#include "codegen/passes.h"

static const char axis_letter[] = "xyz";

static void check_grid(tg_kernel *k, const target *t, int i) {
    const node *blocks = k->grid[i];
    if (blocks->kind == E_CONST && blocks->ival < 1) {
        diag_error(&k->errors, k->grid_at, "grid: axis %c has %lld blocks, so nothing would run",
                   axis_letter[i], (long long)blocks->ival);
    } else if (blocks->kind == E_CONST && blocks->ival > t->max_grid_dim[i]) {
        diag_error(&k->errors, k->grid_at, "grid: axis %c has %lld blocks, %s allows %lld", axis_letter[i],
                   (long long)blocks->ival, t->name, (long long)t->max_grid_dim[i]);
    }
}

static void check_threads(tg_kernel *k, const target *t) {
    for (int i = 0; i < k->nthreads; i++) {
        if (k->threads[i] > t->max_block_dim[i]) {
            diag_error(&k->errors, k->threads_at, "threads: axis %c has %lld threads, %s allows %lld",
                       axis_letter[i], (long long)k->threads[i], t->name, (long long)t->max_block_dim[i]);
        }
    }
    if (tile_threads(k) > t->max_threads) {
        diag_error(&k->errors, k->threads_at, "threads: %lld in a block, %s allows %d",
                   (long long)tile_threads(k), t->name, t->max_threads);
    }
}

static void check_resident(tg_kernel *k, const target *t) {
    const int64_t threads = tile_threads(k);
    if (k->min_blocks > t->max_resident / threads) {
        diag_error(
            &k->errors, k->resident_at,
            "resident: %lld blocks of %lld threads; a multiprocessor of %s holds %d threads, %lld blocks",
            (long long)k->min_blocks, (long long)threads, t->name, t->max_resident,
            (long long)(t->max_resident / threads));
    }
}

static void check_atomic(tg_kernel *k, const target *t, const tile_stmt *s) {
    static const char *const word[] = {
        [TG_SUM] = "atomic_add", [TG_MAX] = "atomic_max", [TG_MIN] = "atomic_min"};
    const int64_t type = s->dst->buffer->type;
    const tg_space space = buffer_root(s->dst->buffer)->space;
    if (target_atomic(t, s->reduction, type, space) == ATOMIC_NONE) {
        diag_error(&k->errors, s->at, "%s: %s has none for %s in %s memory", word[s->reduction], t->name,
                   type_name(type), space == TG_SHARED ? "shared" : "global");
    }
}

static void check_block(tg_kernel *k, const target *t, const tile_block *b) {
    for (const tile_stmt *s = b->first; s; s = s->next) {
        if (s->kind == TILE_ATOMIC) {
            check_atomic(k, t, s);
        }
        check_block(k, t, &s->body);
        check_block(k, t, &s->otherwise);
    }
}

void tile_verify(tg_kernel *k, const target *t) {
    for (int i = 0; i < k->ngrid; i++) {
        check_grid(k, t, i);
    }
    check_threads(k, t);
    check_resident(k, t);
    check_block(k, t, &k->body);
}
