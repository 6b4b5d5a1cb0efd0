/* thread_hazard.c -- which two accesses must keep their order.
 *
 * Reads accesses; leaves nothing behind but the answers of facts, each asked once.  Two accesses are a hazard where
 * different threads may touch common bytes by them, one writes, and one is an operation's of the block.  What one
 * operation does is none: it gives each element to one thread. */
#include "codegen/thread_sync.h"

/* A pair of places, and whether threads may meet there. */
typedef struct pair {
    const access *a, *b;
    bool may_meet;
    struct pair *next;
} pair;

/* Every axis of more than one thread has a name by which it can be reasoned about. */
static bool has_all_axes(const thread_kernel *t) {
    for (int i = 0; i < 3; i++) {
        if (t->threads[i] > 1 && !t->thread_var[i]) {
            return false;
        }
    }
    return true;
}

hazard_table hazard_table_of(const thread_kernel *t) {
    return (hazard_table){
        .t = t, .block = facts_block(t->memory, t->thread_var), .has_all_axes = has_all_axes(t)};
}

/* No threads of the block are told apart. */
static bool is_one_group(const hazard_table *h) {
    return h->block.group >= thread_count(h->t);
}

static bool may_meet(hazard_table *h, const access *a, const access *b) {
    a = a->place;
    b = b->place;
    const size_t hash = ((size_t)(const void *)a >> 4) * 31 + ((size_t)(const void *)b >> 4);
    pair **slot = &h->pairs[(hash ^ hash >> 10) % HAZARD_PAIRS];
    for (const pair *p = *slot; p; p = p->next) {
        if (p->a == a && p->b == b) {
            return p->may_meet;
        }
    }
    pair *p = ARENA_NEW(h->t->memory, pair);
    *p = (pair){a, b, true, *slot};
    *slot = p;
    p->may_meet =
        !is_one_group(h) && (!h->has_all_axes || facts_apart(&h->block, &a->where, &b->where) != FACT_YES);
    return p->may_meet;
}

bool hazard_between(hazard_table *h, const access *a, const access *b) {
    return (a->is_write || b->is_write) && (a->is_collective || b->is_collective) &&
           !(a->is_atomic && b->is_atomic) && buffer_may_overlap(a->buffer, b->buffer) &&
           !(a->share && a->share == b->share) && may_meet(h, a, b);
}

const access *hazard_first(hazard_table *h, const access_list *before, const access_list *now,
                           const access **second) {
    for (int i = 0; i < before->n; i++) {
        for (int j = 0; j < now->n; j++) {
            if (hazard_between(h, before->item[i], now->item[j])) {
                *second = now->item[j];
                return before->item[i];
            }
        }
    }
    return NULL;
}

const char *hazard_reason(const hazard_table *h, const access *first, const access *second) {
    static const char *const partial[] = {[TG_SUM] = "sum", [TG_MAX] = "maximum", [TG_MIN] = "minimum"};
    const buffer *b = first->buffer;
    arena *a = h->t->memory;
    const bool is_part = h->block.group > 1 && !is_one_group(h);
    const char *part = is_part ? "the warp's part of " : "";
    if (!first->is_write) {
        return arena_print(a, "%s%s has been read before it is written again", part, b->name);
    }
    if (second->is_write) {
        return arena_print(a, "%s%s is written in this order", part, b->name);
    }
    if (b->space == TG_SHARED && b->reduction) {
        return arena_print(a, "every partial %s is in %s before it is read", partial[b->reduction], b->name);
    }
    return arena_print(a, "%s%s %s before it is read", is_part ? part : "all of ", b->name,
                       first->has_landed ? "has landed" : "is written");
}

/* ---- warps --------------------------------------------------------------------------------------------- */

/* Of accesses that any two threads meet in is asked again. */
void hazard_compare_warps(hazard_table *h) {
    h->block.group = h->t->target->wave;
    for (int i = 0; i < HAZARD_PAIRS; i++) {
        for (pair **link = &h->pairs[i]; *link;) {
            if ((*link)->may_meet) {
                *link = (*link)->next;
            } else {
                link = &(*link)->next;
            }
        }
    }
}

bool hazard_between_warps(hazard_table *h, const access *first, const access *second) {
    return (buffer_root(first->buffer)->reduction && !is_one_group(h)) || hazard_between(h, first, second);
}
