/* thread_arena.c -- where each shared buffer lies in the block's shared memory.
 *
 * Requires that no further shared buffer is made; leaves byte offsets, the total, and whether it must be
 * asked for at launch.  Buffers follow each other in the order of their declaration; nothing is reused yet.
 */
#include "codegen/passes.h"

enum { GRANULE = 16 }; /* the widest access of a lane */

static bool owns_shared_bytes(const buffer *b) {
    return b->space == TG_SHARED && !b->view_of;
}

static bool is_touched(thread_kernel *t, const buffer *b) {
    for (thread_stmt *s = t->body.first; s; s = s->next) {
        if (thread_touches(s, b)) {
            return true;
        }
    }
    return false;
}

static int64_t place(thread_kernel *t) {
    int64_t end = 0;
    for (int i = 0; i < t->nbuffers; i++) {
        buffer *b = t->buffers[i];
        if (!owns_shared_bytes(b)) {
            continue;
        }
        b->offset = -1;
        if (is_touched(t, b)) {
            b->offset = (end + GRANULE - 1) / GRANULE * GRANULE;
            b->align = GRANULE;
            end = b->offset + buffer_bytes(b);
        }
    }
    return end;
}

/* "a 1024, b 2048" */
static const char *list(thread_kernel *t) {
    const char *names = "";
    for (int i = 0; i < t->nbuffers; i++) {
        const buffer *b = t->buffers[i];
        if (owns_shared_bytes(b) && b->offset >= 0) {
            names = arena_print(t->memory, "%s%s'%s' %lld", names, names[0] ? ", " : "", b->name,
                                (long long)buffer_bytes(b));
        }
    }
    return names;
}

static const buffer *largest(const thread_kernel *t) {
    const buffer *most = NULL;
    for (int i = 0; i < t->nbuffers; i++) {
        const buffer *b = t->buffers[i];
        if (owns_shared_bytes(b) && (!most || buffer_bytes(b) > buffer_bytes(most))) {
            most = b;
        }
    }
    return most;
}

void thread_arena(thread_kernel *t, diag *errors) {
    t->shared_bytes = place(t);
    t->shared_is_dynamic = t->shared_bytes > t->target->static_shared;
    if (t->shared_bytes > t->target->max_shared) {
        diag_error(errors, largest(t)->at,
                   "shared memory: %lld bytes exceed the %lld that %s allows a block: %s",
                   (long long)t->shared_bytes, (long long)t->target->max_shared, t->target->name, list(t));
    }
}
