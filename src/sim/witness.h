/* witness.h -- what the tile reference and the simulator have in common: arguments in host memory, and findings.
 *
 * Data only, and the small functions that fill it; neither witness uses the other. */
#ifndef SIM_WITNESS_H
#define SIM_WITNESS_H

#include <tegula/tegula.h>

#include "dsl/arena.h"
#include "dsl/value.h"

/* One launch argument in declaration order. */
typedef struct witness_arg {
    void *data;   /* tensors: host memory, contents as before the launch, results written there */
    size_t bytes; /* size of that memory; accesses beyond it are out of bounds */
    value scalar; /* scalars (own type) and extents (TYPE_INDEX) */
} witness_arg;

typedef enum finding_kind {
    FINDING_RACE,
    FINDING_BOUNDS,        /* outside a buffer */
    FINDING_UNINITIALISED, /* read of what nothing wrote */
    FINDING_MISALIGNED,
    FINDING_BARRIER,    /* not met by all threads */
    FINDING_ARITHMETIC, /* value_fault, or an index that does not fit its place */
    FINDING_CHECK,      /* check() failed */
    FINDING_ORDER,      /* tile reference: two orders of threads or blocks give different results */
    FINDING_ASYNC,      /* bytes of an asynchronous copy that is still in flight */
    FINDING_EARLY,      /* of memory that an earlier launch may still use: before the wait for it */
    FINDING_LIMIT,      /* stopped: too many steps */
    FINDING_NOTE        /* same-value writes that race; a fault under strict */
} finding_kind;

/* A fault with the DSL places of both sides (the second may be empty: file NULL). */
typedef struct finding {
    finding_kind kind;
    tg_loc at, other;
    int64_t block[3];
    int thread, other_thread; /* linear in the block; -1: none */
    int64_t count;            /* how often the same pair of places was found */
    char text[256]; /* "race on 'reduced[3]': write by thread 0, read by thread 35, no barrier between" */
} finding;

enum { WITNESS_MAX_FINDINGS = 16 };

typedef struct findings {
    int n; /* kept; different places only */
    int64_t total;
    finding item[WITNESS_MAX_FINDINGS];
} findings;

/* Adds one, merging with an earlier one of the same kind and places; returns the entry, NULL when full. */
finding *findings_add(findings *f, finding_kind kind, tg_loc at, tg_loc other);
/* Those of another run of the same launch, or of the next launch; what both have is counted once. */
void findings_join(findings *f, const findings *others);
const char *finding_name(finding_kind kind); /* "race", "out of bounds", .. */
/* True when any entry makes the run a failure (everything but FINDING_NOTE; that too when strict). */
bool findings_failed(const findings *f, bool strict);
/* "file:line: race: ..." one entry a line (second place on its own line), then how many more. */
void findings_print(const findings *f, text *out);

/* Output of print(), at most this much is kept. */
enum { WITNESS_MAX_PRINT = 1 << 16 };

#endif
