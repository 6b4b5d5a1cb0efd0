/* cuda_internal.h -- what the files of the CUDA printer share.
 *
 *     cuda_print.c    the kernel: comment, signature, declarations
 *     cuda_stmt.c     one statement after the other
 *     cuda_expr.c     values and places
 *     cuda_once.c     which loads leave the first-level cache alone
 *     cuda_lines.c    lines, the map to the DSL, #line
 *     cuda_names.c    unique, legal identifiers
 *     cuda_prelude.c  the parts of templates/ that the kernel turned out to use
 *
 * The body is printed first; what it needs of the prelude is noted on the way by cuda_use() and put before it. */
#ifndef CODEGEN_CUDA_INTERNAL_H
#define CODEGEN_CUDA_INTERNAL_H

#include "codegen/cuda_print.h"

/* ---- the prelude --------------------------------------------------------------------------------------- */

/* Files of templates/, in the order in which they are printed. */
typedef enum prelude_part {
    PRELUDE_PRINT,   /* printf outside NVRTC */
    PRELUDE_SPECIAL, /* INFINITY, NAN */
    PRELUDE_BITS,    /* bits_as<T>(x) */
    PRELUDE_ODD,     /* float_to_odd(x): so that a second rounding gives what one rounding would */
    PRELUDE_F16,
    PRELUDE_BF16,
    PRELUDE_F16_OPERATORS,
    PRELUDE_BF16_OPERATORS,
    PRELUDE_MIN_MAX, /* NaN propagates */
    PRELUDE_SHUFFLE_F16,
    PRELUDE_SHUFFLE_BF16,
    PRELUDE_ATOMIC_NATIVE,
    PRELUDE_ATOMIC_CAS,
    PRELUDE_BARRIER,
    PRELUDE_COPY_ASYNC,
    PRELUDE_LOAD_ONCE, /* load_once(from) */
    PRELUDE_DEPENDENT, /* launch_dependents(), grid_wait() */
    PRELUDE_CHECK,
    PRELUDE_PARTS
} prelude_part;

/* Lines of a template that start with "?NAME " are printed only where the tag NAME is used. */
typedef enum prelude_tag {
    TAG_NONE,
    TAG_DOUBLE,
    TAG_INT,
    TAG_UNSIGNED,
    TAG_LONG,
    TAG_ULONG,
    TAG_FLOAT,
    TAG_ADD,
    TAG_SUB,
    TAG_MUL,
    TAG_QUO,
    TAG_NEG,
    TAG_EQ,
    TAG_NE,
    TAG_LT,
    TAG_LE,
    TAG_GT,
    TAG_GE,
    TAG_ACCUMULATE,
    TAG_MIN,
    TAG_MAX,
    TAG_F16,
    TAG_BF16,
    TAG_HALF,
    TAG_COPY,
    TAG_COMMIT,
    TAG_WAIT,
    TAG_INFINITY,
    TAG_NAN,
    TAG_16, /* bytes */
    TAG_8,
    TAG_COUNT
} prelude_tag;

/* ---- identifiers --------------------------------------------------------------------------------------- */

typedef struct cuda_name {
    const char *name;
    struct cuda_name *outer; /* declared before it and still visible */
} cuda_name;

/* ---- literals ------------------------------------------------------------------------------------------ */

/* The shortest text of a number, once it has been looked for. */
typedef struct cuda_real {
    double x;
    bool is_float;
    const char *text;
    struct cuda_real *next;
} cuda_real;

/* ---- the printer --------------------------------------------------------------------------------------- */

typedef struct printer {
    const thread_kernel *t;
    const cuda_print_options *options;
    cuda_text *out;
    int indent;
    size_t line_start;     /* of the open line */
    tg_loc next;           /* what the compiler believes the next line to be, with lineinfo */
    cuda_name *visible;    /* innermost first */
    const char **var_name; /* by id; NULL until declared */
    const char **buffer_name;
    bool *var_used;        /* by id */
    bool *buffer_used;     /* by id; a buffer is used when a view of it is */
    int64_t *access_bytes; /* by id of the owning buffer: its widest access */
    const char *checks;    /* name of the hidden parameter */
    const char *lanes;     /* name of the mask of existing lanes, where it is no constant */
    bool needs_lanes;
    bool shared_is_arena;         /* shared buffers are places in one array of bytes */
    int long_loops;               /* around the statement being printed: see cuda_once.c */
    cuda_real *reals;             /* printed so far */
    const char *lane;             /* while a wide statement is spelled out: the name of its lane counter */
    uint32_t used[PRELUDE_PARTS]; /* tags */
} printer;

/* Says that the text just printed needs this. */
void cuda_use(printer *p, prelude_part part, prelude_tag tag);
/* Appends the parts used, closed under what they need themselves. */
void cuda_prelude(printer *p, cuda_text *out);

/* A name for something declared here: the wish made legal and unlike every visible name. */
const char *cuda_declare(printer *p, const char *wish);
/* Names declared after the mark are forgotten: their scope has ended. */
cuda_name *cuda_scope_open(const printer *p);
void cuda_scope_close(printer *p, cuda_name *mark);

/* Does the load of a word leave the first-level cache alone?  Asked where long_loops is what stands around it. */
bool cuda_reads_once(const printer *p, const node *ref);

/* How a value is used decides what may be left out. */
enum {
    EXPR_ASSIGNED = 1, /* converted to its own type by the place it goes to */
    EXPR_PLAIN = 2,    /* the other operand gives the type: no suffix on a literal */
    EXPR_LONG = 4,     /* an index that must be computed in 64 bits */
    EXPR_BITS = 8      /* an operand of bitwise operators */
};

/* Appends x, in parentheses when it binds weaker than `level` (dsl/expr.h). */
void cuda_expr(printer *p, const node *x, int level, int flags);
/* The place of an E_REF: name[i][j], name[offset] or name. */
void cuda_ref(printer *p, const node *ref);
void cuda_combine(printer *p, tg_reduction op, int64_t type, const char *x, const char *y);
/* int or long long for an index, by range; else the element type. */
const char *cuda_var_type(const var *v);
/* The type that C gives to the printed text of x: TG_I32 or TG_I64 for an index. */
int64_t cuda_type_of(const node *x);
bool cuda_layout_is_plain(const buffer *b);
/* Extent of dimension d as declared: the innermost one holds the padding. */
int64_t cuda_extent(const buffer *b, int d);

void cuda_string(text *out, const char *s);  /* a C string literal */
void cuda_comment(text *out, const char *s); /* harmless at the end of a line */

/* Lines. */
void cuda_line_open(printer *p, tg_loc at);
void cuda_line_close(printer *p, tg_loc at);
void cuda_blank(printer *p);
void cuda_line(printer *p, tg_loc at, const char *format, ...)
#if defined __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* The n characters at s as a whole line, without indentation and #line. */
void cuda_text_line(cuda_text *out, tg_loc at, const char *s, size_t n);
/* The line that is open names the element. */
void cuda_note_place(cuda_text *out, const node *ref, bool is_once);
void cuda_text_append(cuda_text *out, const cuda_text *more);

void cuda_block(printer *p, const thread_block *b);
/* `f16 (*name)[128] = (f16 (*)[128])bytes`: buffer b as a pointer (rank 0: a reference) into other memory. */
void cuda_pointer(printer *p, tg_loc at, const buffer *b, const char *source);
/* Views of b, declared right after it. */
void cuda_views(printer *p, const buffer *b);

#endif
