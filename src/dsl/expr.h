/* expr.h -- expressions: the values, variables, buffers and places that both IRs are made of.
 *
 * Reads nothing; tile.h and thread.h add statements.  A node is fat and tagged (no unions); which fields mean
 * something is said at each kind.  Nodes are immutable once made, may be shared, and live in the kernel's arena.
 *
 * Integers: a node of TYPE_INDEX is a mathematical integer.  lo..hi bound its value; the printer takes 32 bits
 * when they allow it and 64 otherwise.  Typed integers carry the range too (at worst that of the type).
 * An index operand meets a typed signed integer (or u8, u16, u32) by becoming index: both are integers in the
 * mathematical sense; storing an index into an integer place checks the range when it runs. */
#ifndef DSL_EXPR_H
#define DSL_EXPR_H

#include <tegula/tegula.h>

#include "dsl/arena.h"
#include "dsl/value.h"

typedef struct tg_node node;

/* ---- variables and buffers ----------------------------------------------------------------------------- */

typedef enum var_kind {
    VAR_GRID,   /* block index along grid axis `axis` */
    VAR_THREAD, /* thread index along thread axis `axis` */
    VAR_LOOP,   /* serial, unrolled, vectorized, pipelined */
    VAR_PARALLEL,
    VAR_LET,    /* named once, never changed; also the result of an allreduce */
    VAR_SCALAR, /* launch argument */
    VAR_EXTENT  /* launch argument, index, 0 .. 2^31 - 1 */
} var_kind;

typedef struct var {
    var_kind kind;
    const char *name; /* the user's; the printer makes it unique */
    int64_t type;
    int64_t lo, hi; /* inclusive; for integers */
    /* VAR_GRID, VAR_LOOP: what it stays below, an expression of launch arguments and block axes, which mean the same
     * wherever it stands; NULL: a constant, which is in hi, or nothing of the kind */
    node *below;
    int axis; /* of VAR_GRID and VAR_THREAD: 0 is x */
    int id;   /* dense within the kernel */
    tg_loc at;
    node *value; /* VAR_LET: what it names; NULL for an allreduce.  For analysis, not for evaluation */
} var;

/* Where elements lie inside shared memory.  The pitch takes effect in expr_offset(); the exclusive or is in the
 * indices of every access once thread_banks has chosen it, so that nobody else has to know of it. */
typedef struct buffer_layout {
    int64_t pitch; /* elements from row to row (innermost dimension padded); 0: the innermost extent */
    int xor_rows;  /* 0: none.  Else 16-byte chunk c of row r lies at chunk c ^ (r / xor_each % xor_rows) */
    int xor_each;
    const char *why;  /* the reason for them, for people; NULL: as declared */
    const char *gain; /* what it saves */
} buffer_layout;

typedef struct buffer {
    const char *name;
    tg_space space;
    int64_t type;
    int rank;
    int64_t dim[TG_MAX_RANK];        /* outermost first; -1 where dim_expr says */
    node *dim_expr[TG_MAX_RANK];     /* tensors: an outermost extent known at launch only; else NULL */
    int64_t pitch;                   /* tensors: elements from row to row; 0: contiguous */
    int64_t align;                   /* tensors: bytes assumed at launch; others: bytes given at allocation */
    tg_reduction reduction;          /* reducers */
    struct buffer *view_of;          /* the same bytes as another type; NULL for a buffer of its own */
    struct buffer *alias_of[4];      /* tensors that may overlap this one */
    const struct buffer *stands_for; /* memory made for this fragment or reducer; else NULL */
    int naliases;
    bool is_constant;                    /* tensors: written by nobody between launches */
    bool is_read, is_written, is_atomic; /* tensors: what the kernel does to it (tg_end fills in) */
    bool read_once;                      /* tensors: a launch reads no element twice, as tile_once found */
    const char *reread;                  /* tensors: why that is not so, or not known; else NULL */
    int arg;                             /* tensors: position among the arguments; -1 otherwise */
    int id;                              /* dense within the kernel */
    int64_t offset;                      /* shared: byte offset in the block's arena, after thread_arena */
    buffer_layout layout;                /* shared */
    const struct layout *registers; /* fragments and reducers: who holds what, after tile_layout; else NULL */
    tg_loc at;
} buffer;

/* The buffer that owns the bytes: itself, or through views. */
buffer *buffer_root(buffer *b);
/* One buffer, views of one, or tensors that the user says may overlap. */
bool buffer_may_overlap(buffer *a, buffer *b);
/* Elements of a buffer of known extents; -1 otherwise.  With pitch: up to the last element used. */
int64_t buffer_elements(const buffer *b);
int64_t buffer_bytes(const buffer *b);

/* ---- nodes --------------------------------------------------------------------------------------------- */

typedef enum node_kind {
    E_POISON, /* the result of a mistake; accepted silently everywhere */
    /* values */
    E_CONST,   /* type; ival for integers and bool, fval for floats and TYPE_REAL */
    E_VAR,     /* var */
    E_LOAD,    /* arg[0]: an E_REF; lanes as the ref's */
    E_OP,      /* op; arg[0] (, arg[1]) */
    E_CHOOSE,  /* arg[0] ? arg[1] : arg[2], only the chosen side evaluated */
    E_CAST,    /* arg[0] to type */
    E_BITCAST, /* arg[0]'s bits as type */
    /* places */
    E_BUFFER, /* buffer */
    E_REF,    /* buffer; arg[0..n): indices, outermost first; lanes consecutive elements from there */
    E_REGION  /* buffer; arg[0..n): corner in elements; dim[0..n): lengths, 0 = taken from the other side of a
                 copy; in_tiles: arg are tile coordinates, still to be multiplied by the lengths */
} node_kind;

struct tg_node {
    node_kind kind;
    tg_op op;
    int64_t type;
    tg_loc at;
    int n;
    int lanes; /* 1; more for a register vector of that many elements (thread IR) */
    node **arg;
    int64_t ival;
    double fval;
    int64_t lo, hi; /* inclusive range of an integer value; 0..1 for bool */
    var *var;
    buffer *buffer;
    int64_t *dim;
    bool in_tiles;
    bool reads; /* an element is read in it, by itself: not through names */
    int size;   /* nodes as printed, saturating: kept here because a shared node counts each time */
};

/* ---- making (each folds what is known, computes the range, checks nothing) ----------------------------- */

node *expr_int(arena *a, tg_loc at, int64_t x); /* TYPE_INDEX constant */
node *expr_const(arena *a, tg_loc at, value v);
node *expr_var(arena *a, tg_loc at, var *v);
node *expr_unary(arena *a, tg_loc at, tg_op op, node *x);
node *expr_binary(arena *a, tg_loc at, tg_op op, node *x, node *y); /* operands already of one type */
node *expr_choose(arena *a, tg_loc at, node *condition, node *x, node *y);
node *expr_cast(arena *a, tg_loc at, int64_t type, node *x);
node *expr_bitcast(arena *a, tg_loc at, int64_t type, node *x);
node *expr_ref(arena *a, tg_loc at, buffer *b, int n, node *const *index, int lanes);
/* Its lengths are 0; whoever makes it fills them in. */
node *expr_region(arena *a, tg_loc at, buffer *b, int n, node *const *corner);
node *expr_load(arena *a, tg_loc at, node *ref);
node *expr_add(arena *a, node *x, node *y); /* index arithmetic at x's place */
node *expr_mul(arena *a, node *x, int64_t c);

/* The value of an E_CONST; meaningless for other kinds. */
value expr_value(const node *x);
bool expr_is_int(const node *x, int64_t value); /* that integer constant */
bool expr_is_const(const node *x);
bool expr_equal(const node *x, const node *y); /* the same computation */
/* x with other operands, made anew so that it folds. */
node *expr_remake(arena *a, const node *x, node *const *arg);
/* x with every use of variable v replaced by y, folded again; x itself when v does not occur. */
node *expr_replace(arena *a, node *x, const var *v, node *y);
/* Calls fn on x and everything below it, outermost first, until fn returns false (then returns false). */
bool expr_walk(node *x, bool (*fn)(node *x, void *user), void *user);
/* Calls fn on every place that x reads, by itself and not through names, outermost first; x may be NULL. */
void expr_loads(const node *x, void (*fn)(node *place, void *user), void *user);
/* The value of a variable, into *out; false: it has none. */
typedef bool expr_look_up(const var *v, const void *user, value *out);
/* What x comes to where look_up says what its variables are; a name that it does not know is opened.  Only what
 * decides is evaluated.  False on a fault, and where an element is read or a variable has no value. */
bool expr_evaluate(const node *x, expr_look_up *look_up, const void *user, value *out);
enum { EXPR_POINTS = 64 };
/* The values of an integer variable at points from..from + n - 1, into out[0..n); false: it has none at any. */
typedef bool expr_look_up_each(const var *v, const void *user, int from, int n, int64_t *out);
/* The same at points 0..n - 1, at most EXPR_POINTS, into out: integers and conditions as numbers, floats by their
 * bits.  A bit for each point where x has a value.  Index arithmetic and conditions are worked out node by node for
 * all points, which takes a fraction of the time. */
uint64_t expr_evaluate_each(const node *x, expr_look_up_each *look_up, const void *user, int n, int64_t *out);
/* The element offset of a ref inside its buffer as one index expression: row-major, pitch and layout applied.
 * The only place where addresses are formed. */
node *expr_offset(arena *a, const node *ref);
/* Largest known d such that the index x is always a multiple of d; 0 when x is always 0. */
int64_t expr_divisor(const node *x);
/* Truncating division and remainder with ranges are ops like any other.  Size with multiplicity: */
int64_t expr_size(const node *x); /* nodes as printed, saturating */

/* How tightly printed text binds, by C's precedence: larger binds tighter.  The operators' own levels stand in ops.def;
 * a prefix operator or cast has LEVEL_UNARY, a name, literal or call LEVEL_CALL. */
enum { LEVEL_NONE = 0, LEVEL_CHOOSE = 3, LEVEL_UNARY = 14, LEVEL_CALL = 16 };

/* As in messages and dumps: "row * 14336 + col", "f32(matrix[row, col])", 'buffer[i, j : +8]'. */
void expr_print(const node *x, text *out);
/* The same in arena memory. */
const char *expr_text(arena *a, const node *x);

#endif
