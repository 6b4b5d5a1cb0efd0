/* tile_layout.h -- where the elements of a tile live: in which thread, in which of its registers.
 *
 * A layout numbers the elements of a tile row by row and writes that number in mixed radix, least significant
 * digit first.  Each digit is read off the thread's number or off the slot (register) number:
 *
 *     f16 tile [16][64], 128 threads, runs of 8:       number = i * 64 + j
 *
 *        digit 0   slot   extent 8    stride 1     \  j
 *        digit 1   thread extent 8    stride 1     /
 *        digit 2   thread extent 16   stride 8        i
 *
 *     so thread t holds elements (t / 8, t % 8 * 8 .. + 8) in its slots 0 .. 7.
 *
 * Threads that differ only in what no digit reads are replicas: they hold the same elements.  The product of
 * the extents may exceed the number of elements (a guard is then needed) and threads may be more than a
 * multiple of those used.  Where a digit would reach over two dimensions it is split, if it can be: dropping
 * the digits of some dimensions (layout_project) gives the layout of what is indexed by the others alone.
 *
 * Everything is decided by enumeration over threads and slots; nothing by algebra on expressions. */
#ifndef CODEGEN_TILE_LAYOUT_H
#define CODEGEN_TILE_LAYOUT_H

#include "codegen/target.h"
#include "dsl/tile.h"

typedef enum layout_source { LAYOUT_SLOT, LAYOUT_THREAD } layout_source;

/* Its value is (slot or thread) / stride % extent. */
typedef struct layout_digit {
    layout_source source;
    int64_t extent, stride;
    int dim;       /* the dimension it belongs to; -1: it reaches over several */
    int64_t place; /* what the element number grows by when the digit grows by one */
} layout_digit;

/* What kept the runs of a free choice from being longer. */
typedef enum layout_limit {
    LIMIT_OTHER,  /* it was no free choice, or memory is not aligned */
    LIMIT_TYPE,   /* the widest access of the widest type that moves with them */
    LIMIT_ROW,    /* a row of `limit_at` elements is no multiple of twice the run */
    LIMIT_THREADS /* longer ones would leave threads without work */
} layout_limit;

enum { LAYOUT_DIGITS = 16 };

typedef struct layout {
    int rank;
    int64_t dim[TG_MAX_RANK]; /* outermost first */
    int64_t elements;
    int64_t threads; /* of the block */
    int n;
    layout_digit digit[LAYOUT_DIGITS]; /* least significant first */
    int64_t slots;                     /* registers of a thread */
    int64_t run;                       /* consecutive elements in consecutive slots */
    layout_limit limit;                /* of the run */
    int64_t limit_at;
    bool is_padded;  /* some (thread, slot) pairs hold no element */
    bool is_split;   /* every digit belongs to one dimension */
    const char *why; /* which rule chose it, for people */
    tg_loc at;       /* the statement that decided */
} layout;

/* The free choice: flattened, runs of consecutive elements for each thread, neighbours on neighbours.  `run`
 * is the widest power of two up to max_run that divides the innermost extent and leaves no thread without
 * work. `wants_split` (fragments): up to half of the threads may become replicas or idle so that the layout
 * is split. */
layout *layout_spread(arena *a, int rank, const int64_t *dim, int64_t threads, int64_t max_run,
                      bool wants_split);
/* The imposed choice: runs of `run` elements; each thread `share` consecutive elements (a multiple of run)
 * before the next thread's begin. */
layout *layout_runs(arena *a, int rank, const int64_t *dim, int64_t threads, int64_t run, int64_t share);
/* The elements and runs of `free`, every thread of the block at work.  Each warp has `below` elements, then the next
 * warp as many, and behind the last warp it begins again: runs go to `across` lanes side by side, what lies behind to
 * the `down` rows of lanes.  Everything must come out even. */
layout *layout_sliced(arena *a, const layout *free, int64_t below, int64_t across, int64_t down);
/* The layout of what is indexed by the dimensions with keep[i] alone, the others dropped: their threads
 * become replicas, their slots vanish.  NULL when the layout is not split. */
layout *layout_project(arena *a, const layout *l, const bool *keep);
/* Who holds what when the same elements, in the same order, are seen as another shape (a view). */
layout *layout_reshape(arena *a, const layout *l, int rank, const int64_t *dim);
bool layout_equal(const layout *a, const layout *b);
/* Does a thread digit cover this part of the thread's number, thread / stride % extent?  Only as digits do: 3 of 4 is no
 * part of it. */
bool layout_covers(const layout *l, int64_t stride, int64_t extent);

/* Enumeration: the indices of the element in slot s of thread t; false where there is none. */
bool layout_element(const layout *l, int64_t t, int64_t s, int64_t *index);
/* Is t the one replica that stores?  (The lowest-numbered holder.) */
bool layout_is_first(const layout *l, int64_t t);
/* The slot in which thread t holds the element with these indices; -1 when it does not hold it. */
int64_t layout_slot(const layout *l, int64_t t, const int64_t *index);

/* Expressions: indices of the element that thread `t` (an expression) holds in slot `s`.  `inside` becomes
 * the condition under which there is one, NULL when always; `first` that under which t is the storing
 * replica, NULL when every thread is. */
void layout_indices(arena *a, const layout *l, node *t, node *s, node **index, node **inside);
node *layout_first(arena *a, const layout *l, node *t);
/* The same with a value for each slot digit (its loop's variable; NULL: 0, or part of the digit below), and
 * for threads below `threads` alone. */
void layout_indices_by(arena *a, const layout *l, node *t, int64_t threads, node *const *slot_digit,
                       node **index, node **inside);

/* An element of a fragment seen from a loop: iterations of the loop (its axes `axis[0..loop->rank)`) are
 * spread by `loop`, the fragment by `held`, and the fragment is indexed by index[0..held->rank), expressions
 * over the axes and over uniform variables.  Gives the slot as an expression over `slot`, the loop's slot
 * number (constants after unrolling), when in every iteration the thread holds the element itself; NULL
 * otherwise. */
node *layout_slot_in(arena *a, const layout *loop, var *const *axis, const layout *held, node *const *index,
                     node *slot);

/* Thread x slot tables and the reason, as `emit --stage tile_layout` shows them. */
void layout_print(const layout *l, const char *name, text *out);

/* ---- decisions: what the pass tile_layout leaves ------------------------------------------------------- */

/* The layout of a fragment or (finalized) reducer: buffer.registers.  Of a parallel loop, copy or fill that
 * is spread over threads: tile_stmt.spread.  Both NULL where the statement decides nothing. */
void tile_layout(tg_kernel *k, const target *t);

#endif
