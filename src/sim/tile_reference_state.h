/* tile_reference_state.h -- what the files of the tile reference share: the machine that runs one launch.
 *
 *   tile_reference.c          the launch: blocks, threads in turns, what they do together
 *   tile_reference_thread.c   one thread: statements up to the next collective one
 *   tile_reference_tile.c     copy, fill, reduce, finalize, on whole regions
 *   tile_reference_expr.c     expressions, elements of buffers, and the faults of both
 *   tile_reference_prepare.c  arguments checked, memory laid out
 *   tile_reference_orders.c   two orders compared
 *
 * A thread needs no stack: a loop is active at most once in a thread, so its counters live in the cells of
 * its variables and `up` of a statement leads back to it.  Fragments and reducers are plain arrays of the
 * block. */
#ifndef SIM_TILE_REFERENCE_STATE_H
#define SIM_TILE_REFERENCE_STATE_H

#include "sim/tile_reference.h"

/* A reducer takes part in accum while open, and is read when closed. */
typedef enum epoch { EPOCH_NONE, EPOCH_OPEN, EPOCH_CLOSED } epoch;

/* A buffer while running.  Offsets are in bytes from `bytes`, the current thread's share included. */
typedef struct place {
    const buffer *buffer;
    struct place *root;     /* owner of the bytes: itself, or through views */
    unsigned char *bytes;   /* the root's */
    unsigned char *written; /* one 0xff for each byte written, beside `bytes`; NULL for tensors */
    size_t limit;           /* bytes of the root; of one thread's where local */
    size_t share;           /* bytes from thread to thread where local, else 0 */
    int64_t type;           /* as stored: F64 for floats under in_double, tensors excepted */
    size_t size;            /* of an element, in bytes */
    int rank;
    int64_t dim[TG_MAX_RANK], step[TG_MAX_RANK]; /* extents, and elements from index to index */
    bool misaligned;

    /* Of roots only. */
    epoch epoch;
    unsigned char *kept; /* contents before the current iteration of a parallel loop (locals) */
    int64_t kept_for;    /* that iteration */
} place;

typedef struct thread {
    const tile_stmt *at; /* the next statement; NULL: none left */
    value *cell;         /* values of the variables, by var id */
    int64_t *limit;      /* trip counts of the loops entered, by the id of their variables */
} thread;

typedef struct machine {
    tg_kernel *kernel;
    reference_options options;
    reference_result *result;

    int64_t grid[TG_MAX_AXES], block[TG_MAX_AXES];
    place *places; /* by buffer id */
    thread *threads;
    int nthreads;
    value *launch_cells; /* scalars and extents, by var id; every thread begins with them */

    /* All memory, for the end. */
    value *cells;
    int64_t *limits;
    place **touched; /* locals that the current iteration wrote */

    thread *current;       /* whose turn it is */
    const tile_stmt *stmt; /* what it executes; NULL while the launch is prepared */
    int64_t iteration;     /* of a parallel loop, counted over the whole run; 0 outside */
    int64_t iterations;    /* so far */
    int ntouched;
    uint64_t draws; /* orders drawn so far: each gets a key of its own */
    bool stopped;
} machine;

/* ---- prepare ------------------------------------------------------------------------------------------- */

/* Checks the arguments and allocates everything.  TG_OK, TG_EARG or TG_EKERNEL with `error`, TG_ENOMEM. */
int reference_prepare(machine *m, int nargs, const witness_arg *args, text *error);
void reference_release(machine *m);

/* ---- expressions and elements -------------------------------------------------------------------------- */

/* The type in which values of `type` are computed. */
int64_t reference_type(const machine *m, int64_t type);
value reference_eval(machine *m, const node *x);
int64_t reference_eval_int(machine *m, const node *x);
/* v as it is kept in elements of p; `x` is what made it, for the fault. */
value reference_fit(machine *m, const place *p, value v, const node *x);
/* Where the element lies that an E_REF names; -1 after a finding. */
int64_t reference_locate(machine *m, const node *ref, place **found);
/* Reads the element at a byte offset; `what` is named by a finding. */
value reference_get(machine *m, place *p, int64_t offset, const node *what);
/* A finding where `p` may not be read or accumulated into now: its reducer is not in epoch `wanted`. */
void reference_expect(machine *m, const place *p, epoch wanted, const node *what);
/* v in the type in which it is computed. */
value reference_widen(const machine *m, value v);
/* Writes v, of type p->type. */
void reference_put(machine *m, place *p, int64_t offset, value v);
/* To be called before bytes of p are written by other means. */
void reference_touch(machine *m, place *p);
/* Bytes from `bytes` to what the current thread sees of p. */
int64_t reference_share(const machine *m, const place *p);
/* Element offset of element number i in row-major order. */
int64_t reference_element(const place *p, int64_t i);
int64_t reference_count(const place *p);
/* A finding at the current statement, with the place of x (may be NULL) where that is another line.  NULL
 * when it needs no text: the same one was there before. */
finding *reference_find(machine *m, finding_kind kind, const node *x);
/* The same for two places in the source. */
finding *reference_find_at(machine *m, finding_kind kind, tg_loc at, tg_loc other);
void reference_fault(machine *m, value_fault fault, const node *x);
value reference_combine(machine *m, tg_op op, value a, value b, const node *x);

static inline place *reference_place(machine *m, const buffer *b) {
    return &m->places[b->id];
}

/* ---- statements ---------------------------------------------------------------------------------------- */

/* Runs the current thread up to a collective statement, or to its end (thread.at is NULL). */
void reference_thread(machine *m);
/* The statement after s in the current thread: in the next trip of a loop where s ends its body.  NULL at the
 * end of the kernel, and at the end of an iteration of a parallel loop. */
const tile_stmt *reference_next(machine *m, const tile_stmt *s);
/* What s does when its turn has come. */
void reference_copy(machine *m, const tile_stmt *s);
void reference_fill(machine *m, const tile_stmt *s);
void reference_reduce(machine *m, const tile_stmt *s);
void reference_finalize(machine *m, const tile_stmt *s);

#endif
