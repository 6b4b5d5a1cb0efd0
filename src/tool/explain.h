/* explain.h -- all that `tegula explain` knows of one kernel, for the texts and pictures made of it.
 *
 *     subject (built, lowered) --simulator, counted--> costs, findings
 *                              --NVRTC, where found--> registers, stack
 *                              --thread IR---------->  what the compiler decided, and why */
#ifndef TOOL_EXPLAIN_H
#define TOOL_EXPLAIN_H

#include "sim/sim_cost.h"
#include "sim/sim_trace.h"
#include "tool/cubin.h"
#include "tool/estimate.h"
#include "tool/occupancy.h"
#include "tool/subject.h"

enum { EXPLAIN_SCHEMA = 1 };

typedef enum explain_fact_kind {
    EXPLAIN_BARRIER,   /* a barrier, and the accesses that it separates */
    EXPLAIN_CONDITION, /* decided when the kernel runs */
    EXPLAIN_DECISION,  /* of a pass, with its reason */
    EXPLAIN_LAYOUT,    /* who holds what of a fragment */
    EXPLAIN_PLACE      /* of a buffer in shared memory */
} explain_fact_kind;

typedef struct explain_fact {
    explain_fact_kind kind;
    tg_loc at;
    const char *text;
    tg_loc apart
        [2]; /* EXPLAIN_BARRIER: the accesses that it keeps in order; file NULL: it stands in the source */
    bool is_of_warp; /* EXPLAIN_BARRIER: each warp meets by itself, not the block */
} explain_fact;

typedef struct explained {
    subject *s;
    int64_t threads, shared;
    cost_counter cost;
    const char **why; /* of each row of costs; "": nothing is known */
    const char **
        cached; /* of a load of what is read once, through the first-level cache all the same: why; else NULL */
    int *order; /* rows of costs in the order of the source */
    int *alike; /* of each row of costs: the first that does the same elsewhere in its buffer, often itself */
    int *cuda_line; /* of each row of costs: where the CUDA text has it, from 1; 0: not found */
    trace trace;    /* where pictures are wanted */
    sim_result sim;
    bool has_failed; /* findings, of the blocks that ran */
    bool has_usage;
    cubin_usage usage;
    const char *no_usage; /* why there is none */
    occupancy room;       /* where s->gpu is known */
    double floor_us;      /* each sector once, at the device's bandwidth */
    double uncached_us;   /* every request from memory */
    estimate about;       /* where s->gpu is known */
    int nfacts;
    explain_fact *fact;
} explained;

/* With --check the whole grid is simulated; for --svg and --html addresses are kept.  Free in every case.  The
 * exit status. */
int explain_make(const options *o, subject *s, explained *out);
void explain_free(explained *e);

const char *explain_op_name(cost_op op);  /* "load", "store", "atomic", "async_copy" */
const char *explain_op_words(cost_op op); /* the same for people: "Load from" */
/* "of each warp: ", or nothing. */
const char *explain_fact_whose(const explain_fact *f);
const char *explain_fact_name(explain_fact_kind k); /* "barrier", "condition", .. */
const char *explain_place(const explained *e,
                          const node *ref); /* "matrix[row, col]", in the subject's memory */
/* Fills in `alike`. */
void explain_find_alike(explained *e);
/* How many rows do the same as `access`, which is the first of them, and the last one; 0: none. */
int explain_count_alike(const explained *e, int access, int *last);
bool cost_is_global(const cost_row *x);
double cost_per_request(const cost_row *x, int64_t sum);
double cost_efficiency(const cost_row *x); /* least by actual sectors or wavefronts */

/* ---- what is made of it -------------------------------------------------------------------------------- */

/* At most 100 columns; colour where the output is a terminal. */
void explain_text(const options *o, const explained *e, text *out);
void explain_findings(const explained *e, text *out);
/* Its part above the accesses, without the time: "  name   words", in columns. */
void explain_launch(const explained *e, text *out);
/* Two kernels side by side, the differences first. */
void explain_compare(const explained *a, const explained *b, text *out);

/* The same as a table: a figure of both, where they have it. */
enum { EXPLAIN_LINES = 128 };
typedef struct explain_difference {
    char name[96];
    char words[2][96];
    bool is_there[2];
} explain_difference;
typedef struct explain_differences {
    int n;
    explain_difference item[EXPLAIN_LINES];
} explain_differences;
explain_differences *explain_table(const explained *a, const explained *b); /* in a's memory */
bool explain_differs(const explain_difference *d);

/* One page without anything outside: C and CUDA side by side, costs, pictures, decisions.  One kernel, or two with
 * their differences first. */
void explain_html(const explained *const *all, int n, text *out);
/* One object; docs/explain.md says what its fields mean. */
struct json;
void explain_json(const explained *e, const char *key, struct json *j);

#endif
