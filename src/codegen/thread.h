/* thread.h -- the thread IR: what one thread of a block does.  Data only.
 *
 * Made by tile_lower.c; changed by the thread passes; read by the printer and the simulator, so that the
 * simulator judges exactly what is printed.  Expressions and buffers are those of dsl/expr.h: values may contain
 * loads, so a statement's value is evaluated in full when the statement runs.
 *
 * Spaces that remain: TG_GLOBAL, TG_SHARED (one per block), TG_LOCAL (registers of one thread).
 * Room for more: a statement may have several results, names its participants, barriers carry an id and a
 * count, asynchronous operations a completion object; register vectors are values with lanes > 1. */
#ifndef CODEGEN_THREAD_H
#define CODEGEN_THREAD_H

#include "codegen/target.h"
#include "dsl/expr.h"

typedef enum thread_kind {
    THREAD_DECL,   /* buffer (TG_LOCAL) begins to exist; value: initial value of a rank-0 one, or NULL */
    THREAD_LET,    /* result[0] = value */
    THREAD_STORE,  /* dst (E_REF) = value, of dst->lanes elements; accumulates: dst = dst + value */
    THREAD_ATOMIC, /* dst = reduction(dst, value), atomically */
    THREAD_FOR,    /* for var result[0] from 0 below extent: body */
    THREAD_IF,     /* value ? body : otherwise */
    THREAD_BARRIER, /* all participants meet, memory is ordered between them: the block's threads, or each warp's */
    /* result[0] = reduction of value over the aligned group of `width` lanes with stride `stride`: butterfly over
     * xor masks stride * 1, 2, 4, .. < stride * width, ascending; at each step x = combine(x, partner's x);
     * width a power of two, all lanes exist */
    THREAD_REDUCE_LANES,
    THREAD_SHUFFLE_XOR, /* result[0] = value of the lane whose number differs by xor `stride` */
    THREAD_PRINT,       /* printf(format, values) */
    THREAD_CHECK,       /* unless value: record check number `check` with block and thread */
    /* dst (shared, lanes) = value (E_LOAD of global, as many lanes: 4, 8 or 16 bytes), later; only the first
     * `extent` elements come from memory, the rest become 0 (NULL: all) */
    THREAD_COPY_ASYNC,
    THREAD_COMMIT,            /* the thread's asynchronous copies since the last commit become a group */
    THREAD_WAIT,              /* until at most `count` of the thread's groups are in flight */
    THREAD_LAUNCH_DEPENDENTS, /* the next launch may start once all blocks have come here or ended */
    THREAD_GRID_WAIT          /* until the launches before have ended and their writes can be seen */
} thread_kind;

typedef enum thread_scope { SCOPE_THREAD, SCOPE_WARP, SCOPE_WARPGROUP, SCOPE_BLOCK } thread_scope;

/* UNROLL_WIDE: iterations to be done several at a time, a mistake where they cannot; UNROLL_TRY: several at a time
 * where it can be done, else unrolled; thread_vectorize leaves neither. */
enum { UNROLL_AUTO = 0, UNROLL_FULL = -1, UNROLL_WIDE = -2, UNROLL_TRY = -3 };

/* What an asynchronous operation signals when its bytes have landed, where others than its own thread wait for it: room
 * for mbarriers, no pass makes one yet. */
typedef struct thread_completion {
    int id;
    int64_t count;
} thread_completion;

typedef struct thread_stmt thread_stmt;

typedef struct thread_block {
    thread_stmt *first, *last;
} thread_block;

struct thread_stmt {
    thread_kind kind;
    tg_loc at;       /* the DSL line that it serves */
    const char *why; /* printed as a comment where set: the reason for a statement that nobody wrote */
    thread_scope participants;
    int share; /* the collective operation it is a thread's share of, numbered from 1; 0: of none, or unknown */
    const struct layout *spread; /* how that operation is spread, for people; NULL: unknown */
    thread_stmt *next;
    buffer *buffer;
    var **result;
    int nresults;
    node *dst, *value, *extent;
    bool accumulates;
    /* Of a fragment, to or from where other threads find it: nothing need have been written there. */
    bool hands_over;
    bool repeats; /* THREAD_FOR: a loop of the kernel's own around operations of the block, not part of one */
    tg_reduction reduction;
    int unroll; /* THREAD_FOR: UNROLL_AUTO, UNROLL_FULL, UNROLL_WIDE, else the factor */
    int stride, width;
    int barrier; /* id; 0 is __syncthreads() */
    /* Threads that meet; 0: all of the block.  THREAD_LET, THREAD_REDUCE_LANES: so many threads are known to hold
     * the same result; 0: nothing is known. */
    int64_t count;
    /* Of an asynchronous operation; NULL: it counts in its thread's groups, by commit and wait. */
    thread_completion *completion;
    const char *format;
    node **values;
    int nvalues;
    int check;       /* index into thread_kernel.checks */
    tg_loc apart[2]; /* THREAD_BARRIER that nobody wrote: the accesses that it keeps in this order */
    thread_block body, otherwise;
};

typedef enum thread_param_kind { PARAM_TENSOR, PARAM_SCALAR, PARAM_EXTENT, PARAM_CHECKS } thread_param_kind;

/* A parameter of the emitted kernel, in order.  PARAM_CHECKS is hidden: a tg_checks record (plan.h). */
typedef struct thread_param {
    thread_param_kind kind;
    buffer *buffer; /* PARAM_TENSOR */
    var *var;       /* PARAM_SCALAR, PARAM_EXTENT */
} thread_param;

typedef struct thread_check {
    tg_loc at;
    const char *message;
} thread_check;

/* A configuration value as the header comment shows it. */
typedef struct thread_setting {
    const char *name;
    int64_t value;
    const char *source; /* "", "given", "tuned", "default" */
} thread_setting;

typedef struct thread_kernel {
    const char *name;
    arena *memory;
    const target *target;
    thread_setting *settings;
    int nsettings;
    thread_param *params;
    int nparams;
    node *grid[3];    /* x first; constants, or expressions over extents and scalars; index 1 where absent */
    var *grid_var[3]; /* NULL where absent */
    int64_t threads[3];
    var *thread_var[3]; /* NULL where absent */
    int64_t min_blocks; /* 0: none */
    thread_block body;
    buffer **buffers; /* all, by id; shared ones that nothing touches lie at offset -1 after thread_arena */
    int nbuffers;
    int nvars;   /* var ids are below this */
    int nshares; /* collective operations numbered so far */
    thread_check *checks;
    int nchecks;
    int64_t shared_bytes;   /* after thread_arena */
    bool shared_is_dynamic; /* more than the target's static limit: one extern array, buffers at offsets */
    bool is_dependent;      /* to be launched so that it may start before the launch before it has ended .. */
    bool waits;             /* .. and has its THREAD_GRID_WAIT: after thread_dependent */
} thread_kernel;

int64_t thread_count(const thread_kernel *t); /* threads of a block */
/* A barrier that all threads of the block meet at: one of the warp too, where there is no other warp. */
bool thread_orders_block(const thread_kernel *t, const thread_stmt *s);
/* Is b a tensor, or a view of one, that nobody writes while launches follow each other? */
bool thread_is_constant(const buffer *b);
/* Runs fn on every statement, outermost first. */
void thread_walk(thread_block *b, void (*fn)(thread_stmt *s, void *user), void *user);
/* Every E_REF that s itself (not its body) touches: fn(ref, is_write, user). */
void thread_accesses(thread_stmt *s, void (*fn)(node *ref, bool is_write, void *user), void *user);
/* Do registers have an index that changes with the loop?  Then it must be unrolled: registers have no addresses. */
bool thread_indexes_registers(thread_stmt *loop);
thread_stmt *thread_append(arena *a, thread_block *b, thread_kind kind, tg_loc at);
/* One that there is, taken from elsewhere; all of a block. */
void thread_add(thread_block *b, thread_stmt *s);
void thread_splice(thread_block *b, const thread_block *more);
/* Text of the whole kernel, a statement a line; with `lines`, "file:line" before each. */
void thread_print(const thread_kernel *t, text *out, bool lines);
/* The invariants of the IR; false and the first breach in `error` otherwise. */
bool thread_verify(const thread_kernel *t, text *error);

#endif
