/* thread_sync.h -- what the files of the pass thread_sync share: accesses to memory, and what keeps them in order.
 *
 *   thread_access.c   gathers: what each statement touches, and under which conditions
 *   thread_past.c     renames: the same as accesses of an iteration that lies behind
 *   thread_hazard.c   judges: which two accesses must keep their order, and why
 *   thread_sync.c     walks: where a barrier must stand, and of whom */
#ifndef CODEGEN_THREAD_SYNC_H
#define CODEGEN_THREAD_SYNC_H

#include "codegen/passes.h"

/* ---- accesses ------------------------------------------------------------------------------------------ */

typedef struct access {
    fact_access where;
    struct access *place; /* an access of the same elements, for which facts has been asked */
    buffer *buffer;
    tg_loc at;
    bool is_write, is_atomic, is_collective, has_landed;
    int share;             /* the operation that makes it; 0: of none, or of an earlier execution */
    struct access *landed; /* the same at a wait */
    struct past *past;     /* the same in an earlier, or in the last iteration of this or that loop */
} access;

/* Without repetition, in the order in which they were added. */
typedef struct access_list {
    arena *memory;
    int n, room;
    access **item;
} access_list;

void access_add(access_list *list, access *x);
void access_add_all(access_list *list, const access_list *more);
access_list access_copy(const access_list *list);

/* What is worked out once for each statement. */
typedef struct touched {
    const thread_stmt *s;
    access_list own, own_async;   /* of the statement itself; async: those of `own` that write later */
    access_list deep, deep_async; /* with all in it: see access_deep() */
    bool has_deep, is_open_known;
    bool is_scope; /* a branch or loop that is not of one operation alone */
    fact is_open;  /* thread_sync.c: do all threads take the same way through it? */
    /* thread_past.c: of the variables that it defines, bodies included; NULL: not made */
    struct renaming *name;
    int nnames;
} touched;

typedef struct access_table {
    thread_kernel *t;
    arena *memory;
    int size; /* a power of two */
    touched **slot;
    bool *is_written;   /* by buffer id: the bytes, by any name; what nobody writes is in nobody's way */
    fact_access guards; /* the conditions around the statements that are asked for: no ref */
} access_table;

access_table access_table_of(thread_kernel *t);
access_list access_none(const access_table *all);
/* Goes into a scope, where a branch's condition holds, or does not; returns what access_leave() needs. */
int access_enter(access_table *all, const thread_stmt *s, bool negated);
void access_leave(access_table *all, int before);
/* Of the statement itself; the conditions around it are those that have been entered. */
touched *access_of(access_table *all, thread_stmt *s);
/* With `deep` too: of the statement and everything in it. */
touched *access_deep(access_table *all, thread_stmt *s);
/* What an asynchronous copy writes, at a wait that it may land at. */
access *access_landed(const access_table *all, access *x);

/* ---- iterations that lie behind ------------------------------------------------------------------------ */

/* Which: the one before; any before; the last one. */
typedef enum past_kind { PAST_ONE, PAST_ANY, PAST_LAST } past_kind;

/* What an iteration of the loop leaves behind, round its end or out of it. */
void past_leave(access_table *all, access_list *list, thread_stmt *loop, past_kind kind);

/* ---- hazards ------------------------------------------------------------------------------------------- */

enum { HAZARD_PAIRS = 1 << 10 };

typedef struct hazard_table {
    const thread_kernel *t;
    fact_block block;
    bool has_all_axes;
    struct pair *pairs[HAZARD_PAIRS]; /* those that facts has been asked of */
} hazard_table;

hazard_table hazard_table_of(const thread_kernel *t);
/* Must different threads keep the two in order? */
bool hazard_between(hazard_table *h, const access *a, const access *b);
/* The first access in `before` that one in `now`, *second, must not overtake; NULL: none. */
const access *hazard_first(hazard_table *h, const access_list *before, const access_list *now,
                           const access **second);
/* What the barrier between them is for. */
const char *hazard_reason(const hazard_table *h, const access *first, const access *second);
/* From here on threads of one warp are no different threads. */
void hazard_compare_warps(hazard_table *h);
/* Must warps keep the two in order?  Partial results meet in memory because they are of several. */
bool hazard_between_warps(hazard_table *h, const access *first, const access *second);

#endif
