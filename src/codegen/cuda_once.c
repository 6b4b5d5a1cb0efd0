/* cuda_once.c -- which loads leave the first-level cache alone, so that it keeps what is read again.
 *
 * Reads what tile_once found, and where the lanes of a wave are.  Such a load is printed as load_once(from), when
 *
 *   - a launch reads no element of the tensor twice;
 *   - the load is wide: narrow ones leave most of a line to the next;
 *   - its lanes use up the sectors that they touch.  What they leave is fetched again otherwise: of a run of 64
 *     numbers that a thread reads by 8, each load takes half of 32 sectors, and the next one the other half;
 *   - it stands in no long loop: load_once() keeps its place, and where many steps follow each other it is worth more
 *     that the CUDA compiler may move loads up (H200: 1 x 448 threads a row, 4 steps, 31.3 us become 27.7; 2 x 32, 56
 *     steps, 29.9 become 33.5);
 *   - in a dependent launch, nobody writes the tensor: load_once() goes through the cache of what stays as it is. */
#include "codegen/cuda_internal.h"

enum { PAST_CACHE_BYTES = 8, PAST_CACHE_STEPS = 16 };

/* Lanes of the first wave, one after the other; all else has its first value. */
typedef struct lane_of {
    const thread_kernel *t;
    int64_t thread[3];
} lane_of;

static bool look_up(const var *v, const void *user, value *out) {
    const lane_of *lane = user;
    if (v->kind == VAR_LET || !type_is_integer(v->type)) {
        return false;
    }
    int64_t x = v->lo;
    for (int i = 0; i < 3; i++) {
        x = lane->t->thread_var[i] == v ? lane->thread[i] : x;
    }
    *out = value_int(v->type, x);
    return true;
}

/* How many of the n numbers are different. */
static int count_distinct(const int64_t *x, int n) {
    int distinct = 0;
    for (int i = 0; i < n; i++) {
        int j = 0;
        while (j < i && x[j] != x[i]) {
            j++;
        }
        distinct += j == i;
    }
    return distinct;
}

/* Three quarters of the sectors at least: a row need not begin at one.  Yes where the lanes' places are unknown. */
static bool uses_up_sectors(const thread_kernel *t, const node *ref, int64_t bytes) {
    const node *offset = expr_offset(t->memory, ref);
    int64_t piece[TARGET_MAX_WAVE], sector[TARGET_MAX_WAVE];
    int n = 0;
    for (int64_t thread = 0; thread < t->target->wave && thread < thread_count(t); thread++, n++) {
        const int64_t plane = thread / t->threads[0];
        const lane_of lane = {t, {thread % t->threads[0], plane % t->threads[1], plane / t->threads[1]}};
        value place;
        if (!expr_evaluate(offset, look_up, &lane, &place)) {
            return true;
        }
        const int64_t at = value_as_int(place) * type_bytes(ref->buffer->type);
        piece[n] = at / bytes;
        sector[n] = at / t->target->sector_bytes;
    }
    const int64_t used = count_distinct(piece, n) * bytes,
                  fetched = (int64_t)count_distinct(sector, n) * t->target->sector_bytes;
    return 4 * used >= 3 * fetched;
}

bool cuda_is_long(const thread_stmt *loop) {
    return loop->unroll != UNROLL_FULL && loop->extent->hi > PAST_CACHE_STEPS;
}

const char *cuda_why_cached(const thread_kernel *t, const node *ref, bool in_long_loop) {
    const int64_t bytes = ref->lanes * type_bytes(ref->buffer->type);
    if (bytes < PAST_CACHE_BYTES) {
        return arena_print(t->memory, "%d bytes a lane leave most of a line to the next", (int)bytes);
    }
    if (ref->lanes == 1) {
        return "only several elements at once go past it";
    }
    if (in_long_loop) {
        return "in a long loop it is worth more to move loads up";
    }
    if (t->waits && !thread_is_constant(buffer_root(ref->buffer))) {
        return "an earlier launch may write the tensor";
    }
    return uses_up_sectors(t, ref, bytes) ? NULL : "it leaves part of its sectors to the next load";
}

bool cuda_reads_once(const printer *p, const node *ref) {
    const buffer *root = buffer_root(ref->buffer);
    return root->space == TG_GLOBAL && root->read_once && !cuda_why_cached(p->t, ref, p->long_loops > 0);
}
