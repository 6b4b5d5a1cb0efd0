/* generate.h -- random kernels as trees of their own, the third witness beside the tile reference and the simulator.
 *
 * The same program is evaluated directly (generate_evaluate.c, own arithmetic, own memory), written as C words
 * (generate_words.c) and built through tegula.h (generate_build.c).  Nothing here knows the compiler's trees.
 *
 *   generate.c           options, the run over seeds
 *   generate_program.c   memory of a program, sizes, small makers
 *   generate_value.c     arithmetic on cells
 *   generate_expr.c      random expressions that cannot fault: each knows its range
 *   generate_thread.c    random kernels in thread view
 *   generate_block.c     random kernels in block view
 *   generate_evaluate.c  runs a program; reports what no legal program does
 *   generate_words.c     a program as the text that kernel.h takes
 *   generate_build.c     a program as builder calls
 *   generate_check.c     one program through all witnesses
 *   generate_gpu.c       .. and on a GPU, with generate_late.c
 *   generate_shrink.c    a failing program made small */
#ifndef FUZZ_GENERATE_H
#define FUZZ_GENERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tegula/tegula.h>

enum {
    INDEX = 0, /* the type of axes and of integer literals; else a tg_dtype */
    NONE = -1, /* no size, variable or buffer */
    MAX_SIZES = 800,
    MAX_VARIABLES = 160,
    MAX_BUFFERS = 64,
    MAX_LINE = 4000
};

/* ---- values ---------------------------------------------------------------------------------------------- */

/* A value of a known type: integers (u64 by its bits) and truths in i, floats in f. */
typedef struct cell {
    int64_t i;
    double f;
} cell;

bool type_real(int64_t type);
bool type_whole(int64_t type); /* integers and INDEX */
bool type_signs(int64_t type);
int type_size(int64_t type);  /* bytes */
int type_width(int64_t type); /* bits; INDEX 64 */
int64_t type_least(int64_t type);
int64_t type_most(int64_t type); /* u64: INT64_MAX */

/* Rounds once, half to even, to a float type. */
double round_real(int64_t type, double x);
/* Each returns NULL, or what is wrong. */
const char *cell_unary(int64_t type, tg_op op, cell a, cell *to);
const char *cell_binary(int64_t type, tg_op op, cell a, cell b, cell *to);
/* From now on exp, log, tanh and rsqrt are up to three units in the last place wrong: all by as many, up or down, for
 * seeds up to LIBRARY_FIXED, each at random for others; 0: exact again.  A GPU's are not those of the C library. */
enum { LIBRARY_FIXED = 6 };
void library_nudge(uint64_t seed);
const char *cell_cast(int64_t from, int64_t type, cell a, cell *to);
uint64_t cell_bits(int64_t type, cell a);
cell cell_from_bits(int64_t type, uint64_t bits);
cell cell_load(int64_t type, const unsigned char *from);
void cell_store(int64_t type, unsigned char *to, cell a);
/* The start of a reduction, and its operator. */
cell cell_identity(int64_t type, tg_reduction r);
tg_op cell_operator(tg_reduction r);

/* ---- programs -------------------------------------------------------------------------------------------- */

/* Host integers, so that a smaller number makes everything made from it smaller. */
typedef enum size_kind { SIZE_NUMBER, SIZE_TIMES, SIZE_CEILDIV, SIZE_PLUS } size_kind;
typedef struct gsize {
    size_kind kind;
    int64_t n; /* SIZE_NUMBER; SIZE_PLUS: added to a */
    int a, b;
} gsize;

typedef enum {
    X_INT,
    X_REAL,
    X_SIZE,
    X_VARIABLE,
    X_LOAD,
    X_UNARY,
    X_BINARY,
    X_CHOOSE,
    X_CAST,
    X_BITCAST
} expr_kind;
typedef struct gexpr gexpr;
struct gexpr {
    expr_kind kind;
    int64_t type;
    tg_op op;
    int64_t i;
    double f;
    bool bare; /* a literal that takes the type of its neighbour */
    int id;    /* size, variable or buffer */
    int n;
    gexpr *arg[TG_MAX_RANK];
    int64_t lo, hi; /* integers */
    double most;    /* floats: the largest magnitude */
};

typedef enum { V_GRID, V_THREAD, V_LOOP, V_LET, V_SCALAR, V_EXTENT } variable_kind;
typedef struct gvariable {
    variable_kind kind;
    char name[12];
    int64_t type;
    int size;   /* grid, thread; extents: the value given at launch */
    cell value; /* scalars */
    int64_t lo, hi;
    double most;
    bool uniform; /* the same in all threads of a block */
} gvariable;

typedef struct gbuffer {
    char name[12];
    tg_space space;
    int64_t type;
    int rank;
    int dim[TG_MAX_RANK]; /* sizes */
    int extent;           /* tensors: the variable that is the outermost extent, or NONE */
    int pitch;            /* tensors: size, or NONE */
    int aligned;          /* tensors: bytes, or 0 */
    int view_of;          /* buffer, or NONE */
    bool is_read_only;    /* views: what is written would be nothing that the other type holds */
    tg_reduction reduction;
    bool is_input, is_constant;
    uint64_t seed; /* tensors: contents */
    int64_t lo, hi;
    double most;
} gbuffer;

typedef enum {
    S_LET,
    S_ALLOC,
    S_SET,
    S_ACCUM,
    S_ATOMIC,
    S_ALLREDUCE,
    S_SYNC,
    S_LOOP,
    S_WHEN,
    S_CHECK,
    S_COPY,
    S_CLEAR,
    S_FILL,
    S_REDUCE,
    S_FINALIZE
} stmt_kind;

typedef enum { R_WHOLE, R_TILE, R_FROM, R_SLICE } region_kind;
typedef struct gregion {
    region_kind kind;
    int buffer;
    gexpr *corner[TG_MAX_RANK];
    int length[TG_MAX_RANK]; /* sizes; what the region has, also where the words do not say so */
} gregion;

typedef struct gstmt gstmt;
struct gstmt {
    stmt_kind kind;
    gstmt *next, *body, *otherwise;
    int line;
    int variable, buffer;
    gexpr *value;
    gexpr *index[TG_MAX_RANK];
    tg_scope_kind scope;
    int64_t option;
    int n;
    int axis[TG_MAX_RANK]; /* variables */
    gexpr *extent[TG_MAX_RANK];
    tg_reduction reduction;
    int along; /* the thread axis of an allreduce */
    int dim;   /* reduce */
    gregion from, to;
    int width;
    tg_copy_layout layout;
    double outside;
};

typedef struct gargument {
    bool is_tensor;
    int id; /* variable or buffer */
} gargument;

typedef struct program {
    uint64_t seed, random;
    bool block_view;
    bool wild; /* inputs hold infinities, -0 and what is no number */
    int nsizes, nvariables, nbuffers, nargs;
    gsize size[MAX_SIZES];
    gvariable variable[MAX_VARIABLES];
    gbuffer buffer[MAX_BUFFERS];
    gargument arg[MAX_BUFFERS];
    int ngrid, nthreads;
    int grid[TG_MAX_AXES], thread[TG_MAX_AXES]; /* variables; unnamed threads: sizes of their own */
    gexpr *grid_extent[TG_MAX_AXES];
    bool named;
    gstmt *body;
    struct chunk *chunks;
} program;

program *program_new(uint64_t seed);
void program_free(program *p);
void *program_memory(program *p, size_t bytes); /* zeroed */
int64_t size_value(const program *p, int id);
int size_number(program *p, int64_t n);
int size_positive(program *p, int id); /* of a tensor: where no block runs it has an element all the same */
int size_make(program *p, size_kind kind, int a, int b, int64_t n);
int variable_new(program *p, variable_kind kind, const char *stem, int64_t type);
int buffer_new(program *p, tg_space space, const char *stem, int64_t type);
int64_t buffer_count(const program *p, int b); /* elements, pitch included */
int64_t buffer_stride(const program *p, int b, int dimension);
int64_t program_threads(const program *p);

uint64_t roll(program *p);
int64_t roll_below(program *p, int64_t n);
bool chance(program *p, int percent);

gexpr *make_int(program *p, int64_t type, int64_t x);
gexpr *make_real(program *p, int64_t type, double x);
gexpr *make_size(program *p, int size);
gexpr *make_variable(program *p, int v);
gexpr *make_unary(program *p, tg_op op, gexpr *a);
gexpr *make_binary(program *p, tg_op op, gexpr *a, gexpr *b);
gexpr *make_choose(program *p, gexpr *c, gexpr *a, gexpr *b);
gexpr *make_cast(program *p, int64_t type, gexpr *a);
gexpr *make_bitcast(program *p, int64_t type, gexpr *a);
gexpr *make_load(program *p, int buffer, gexpr *const *index);
gstmt *make_stmt(program *p, stmt_kind kind);
/* Appends to a list whose last link is *tail. */
void append(gstmt ***tail, gstmt *s);

/* ---- random expressions ---------------------------------------------------------------------------------- */

/* What may be named here. */
typedef struct scope {
    int nvariables, nbuffers;
    int variable[MAX_VARIABLES];
    int buffer[MAX_BUFFERS]; /* readable everywhere, each element written */
    bool uniform_only;
} scope;

gexpr *random_expr(program *p, const scope *s, int64_t type, int depth);
gexpr *random_truth(program *p, const scope *s, int depth);
/* Below n (and not negative). */
gexpr *random_index(program *p, const scope *s, int size, int depth);
/* Into lo .. hi; both must hold 0. */
gexpr *bring_into(program *p, gexpr *x, int64_t lo, int64_t hi);
gexpr *limit_real(program *p, gexpr *x, double most);
int64_t random_type(program *p);
/* Of an element of buffer b anywhere inside. */
gexpr *random_load(program *p, const scope *s, int b, int depth);
/* The value of a type whose sums over `count` of them are exact. */
gexpr *random_summand(program *p, const scope *s, int64_t type, int64_t count, int depth);

void generate_thread_view(program *p);
void generate_block_view(program *p);

/* ---- the witnesses --------------------------------------------------------------------------------------- */

/* Fills what the tensors hold before the launch; bytes of buffer b. */
void program_contents(const program *p, int b, unsigned char *to);
#define PROGRAM_TOO_LONG "too many steps"
/* Runs the program; data[b] are the tensors' bytes, in and out.  NULL, or what no legal program does. */
const char *program_evaluate(const program *p, unsigned char *const *data);
void program_words(program *p, FILE *out, bool numbered);
/* The builder that reads the program through tg_user(). */
void program_build(void);

typedef enum { CHECK_GOOD, CHECK_SKIPPED, CHECK_REFUSED, CHECK_FAILED, CHECK_ILLEGAL } check_result;
/* In a process of its own; what went wrong into `why`. */
check_result program_check(program *p, char *why, size_t size);
/* On cuda:0, for a program that all others agree on; refused when it is too large for it. */
check_result program_on_gpu(program *p, char *why, size_t size);
/* What `why` says is the failure that is to stay of the same kind; also on the GPU, or without it. */
void program_shrink(program *p, bool gpu, char *why, size_t size);

#endif
