/* thread_early.h -- which statements may stand earlier than they do. */
#ifndef CODEGEN_THREAD_EARLY_H
#define CODEGEN_THREAD_EARLY_H

#include "codegen/thread.h"

/* What a statement does, its bodies included. */
typedef struct thread_deeds {
    bool is_early;      /* reads a constant tensor */
    bool is_late;       /* touches what other launches may touch */
    bool is_fixed;      /* nothing moves past it, nor it past anything */
    bool copies;        /* has asynchronous copies .. */
    bool commits;       /* .. and ends groups of them */
    bool waits;         /* reads global memory into registers or stores */
    bool reads, writes; /* global memory */
    bool shares;        /* touches shared memory */
} thread_deeds;

thread_deeds thread_deeds_of(thread_stmt *s);

/* Takes statements behind `late` that may go before it, and that `wants` wants, out of its block: a list, its last
 * without next.  Copies keep their groups: a commit goes along when all copies before it did. */
thread_block thread_take_early(thread_kernel *t, thread_stmt *late, bool (*wants)(const thread_deeds *d));

/* The last of a list; NULL of none. */
thread_stmt *thread_last(thread_stmt *first);

#endif
