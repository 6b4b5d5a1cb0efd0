/* tile.h -- the tile IR: what the words of a kernel say, as recorded.  Data only.
 *
 * Made by build.c; read by tile_dump, the tile reference, and the tile passes; tile_lower turns it into thread
 * IR.  Expressions and buffers are those of expr.h.
 *
 * A kernel is a list of statements (`body`) inside its grid and threads scopes, which are fields of the kernel
 * and not statements: declarations before grid are arguments. */
#ifndef DSL_TILE_H
#define DSL_TILE_H

#include "dsl/diag.h"
#include "dsl/expr.h"

typedef enum tile_kind {
    TILE_ALLOC,     /* buffer: a shared, local, fragment or reducer begins to exist here */
    TILE_LET,       /* var = value */
    TILE_ALLREDUCE, /* var = reduction of value along thread axis `axis`; collective */
    TILE_STORE,     /* dst (E_REF) = value */
    TILE_ACCUM,     /* dst += value; on a reducer: combined by its operator */
    TILE_ATOMIC,    /* dst = reduction(dst, value), atomically */
    TILE_COPY,      /* src -> dst (E_REGION both, lengths resolved, corners in elements); collective */
    TILE_FILL,      /* dst (E_REGION) = value; is_clear: 0, or the identity on a reducer; collective */
    TILE_REDUCE,    /* src -> dst (E_BUFFER) over dimension dim; collective */
    TILE_FINALIZE,  /* dst (E_BUFFER); collective */
    TILE_SYNC,      /* sync_threads; collective */
    TILE_PRINT,     /* format, values */
    TILE_CHECK,     /* value (bool), format: the message */
    TILE_LOOP,      /* scope: SERIAL, UNROLLED, VECTORIZED, PARALLEL, PIPELINED over axes; body */
    TILE_WHEN,      /* value ? body : otherwise */
    /* made by tile_pipeline only */
    TILE_COMMIT, /* the thread's asynchronous copies since the last one become a group (maybe an empty one) */
    TILE_WAIT    /* until at most `option` groups of the thread are in flight */
} tile_kind;

typedef struct tile_stmt tile_stmt;

typedef struct tile_block {
    tile_stmt *first, *last;
} tile_block;

struct tile_stmt {
    tile_kind kind;
    tg_loc at;
    tile_stmt *next;
    tile_stmt *up; /* enclosing TILE_LOOP or TILE_WHEN; NULL at the top */
    buffer *buffer;
    var *var;
    node *src, *dst, *value;
    tg_reduction reduction;
    var *axis;   /* TILE_ALLREDUCE: a VAR_THREAD */
    int64_t dim; /* TILE_REDUCE */
    bool is_clear;
    tg_copy_options options;
    const char *format;
    int n; /* values of TILE_PRINT, axes of TILE_LOOP */
    node **values;
    tg_scope_kind scope;
    int64_t option; /* SERIAL: unroll factor (0 none); PIPELINED: stages */
    var **axes;     /* TILE_LOOP, outermost first */
    node **extents; /* of the axes */
    tile_block body, otherwise;
    bool has_otherwise;
    bool is_async;   /* TILE_COPY: by asynchronous copies; complete after commit and wait */
    const char *why; /* the compiler's reason for what nobody wrote, or for what was not done */
    /* COPY, FILL, parallel LOOP: how it is spread over the threads, after tile_layout; else NULL. */
    const struct layout *spread;
};

typedef enum param_source { PARAM_PROBLEM, PARAM_GIVEN, PARAM_TUNED, PARAM_DEFAULT } param_source;

/* A params() or tunables() name as the builder asked for it, in that order. */
typedef struct tile_param {
    const char *name;
    int64_t value;
    param_source source; /* PARAM_PROBLEM: from params(); the others: from tunables() */
    tg_loc at;
} tile_param;

/* A launch argument: exactly one of the two is set. */
typedef struct tile_arg {
    buffer *tensor;
    var *scalar; /* VAR_SCALAR or VAR_EXTENT */
} tile_arg;

enum { TILE_MAX_ARGS = 64 };

struct tg_kernel {
    const char *name;
    arena memory;
    diag errors;
    tg_config config; /* as given, names copied */
    bool config_used[TG_MAX_CONFIG];
    const tg_config *tuned; /* values of a tuned record, or NULL; borrowed while building */
    void *user;
    size_t user_size;

    tile_param params[TG_MAX_CONFIG];
    int nparams;
    const char *unmet; /* the reason of the first require() that failed; NULL */
    tg_loc unmet_at;

    tile_arg args[TILE_MAX_ARGS];
    int nargs;

    bool has_grid, has_threads;
    tg_loc grid_at, threads_at;
    int ngrid;
    node *grid[TG_MAX_AXES]; /* extents, x first */
    var *grid_var[TG_MAX_AXES];
    bool threads_named; /* thread view: handles exist */
    int nthreads;
    int64_t threads[TG_MAX_AXES]; /* extents, x first; 1 where not given */
    var *thread_var[TG_MAX_AXES]; /* NULL where unnamed */
    int64_t min_blocks;           /* resident blocks asked for; 0: none */
    tg_loc resident_at;           /* where; line 0: nowhere */

    tile_block body;
    tile_block recorded; /* body as the words said, once a pass has rewritten it; else empty */
    var **vars;          /* by id */
    int nvars;
    buffer **buffers; /* by id */
    int nbuffers;

    /* Only while building. */
    tile_block *block;        /* where the next statement goes */
    tile_stmt *scope;         /* the innermost open loop or branch */
    struct build_scope *open; /* every open scope, innermost first */
    struct build_state *state;
    tg_kernel *outer; /* current before tg_begin() */
    node poison;
    tg_loc last; /* of the newest builder call: what a crash report names */
    bool ended;
};

/* Host-visible threads of a block: the product of the extents. */
int64_t tile_threads(const tg_kernel *k);
const char *tile_scope_word(tg_scope_kind kind); /* "serial", "when", .. */
const char *tile_space_word(tg_space space);     /* "tensor", "shared", .. */
/* The word of a statement that all threads of a block do together, "copy"; NULL for every other. */
const char *tile_collective_word(const tile_stmt *s);

/* The whole kernel as text, a statement a line; with `lines`, "file:line" before each. */
void tile_print(const tg_kernel *k, text *out, bool lines);

#endif
