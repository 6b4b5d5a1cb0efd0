/* sim_code.h -- thread IR as the flat code that a warp runs.
 *
 * Made by sim_compile() from the trees of a kernel; read by the interpreter (sim_warp.c, sim_memory.c).
 *
 * A warp has one frame of bytes.  A register is a place in it: `wave` lanes side by side (sim_lane.h), or,
 * where all lanes are known to agree, a single value in eight bytes ("uniform").  Vectors of n elements are n
 * registers in a row.  The frame holds, from its beginning:
 *
 *     registers (a stack: statements give back what they took) | constants | locals, and what of them is written
 *
 * Control: a stack of masks.  IF pushes, ELSE turns over, END pops; FOR pushes, NEXT drops the lanes whose
 * trip count is reached and pops after the last one.  An empty mask jumps over what it would not do. */
#ifndef SIM_SIM_CODE_H
#define SIM_SIM_CODE_H

#include "codegen/thread.h"
#include "sim/sim_lane.h"

typedef enum code_op {
    CODE_UNARY,     /* dst = kernel(a), else value_unary(op, a) of `type` */
    CODE_BINARY,    /* dst = kernel(a, b), else value_binary(op, a, b) of `type` and `type_b` */
    CODE_CAST,      /* dst (to) = a (type) */
    CODE_BITCAST,   /* dst (to) = a (type) */
    CODE_BROADCAST, /* dst = a in every lane */
    CODE_SELECT,    /* dst = c ? a : b */
    CODE_IF,        /* c; target: the ELSE or END */
    CODE_ELSE,      /* target: the END */
    CODE_END,
    CODE_FOR,    /* dst: the variable; a: trip count; target: behind NEXT */
    CODE_NEXT,   /* target: behind FOR */
    CODE_DECL,   /* site: the local */
    CODE_LOAD,   /* dst = site */
    CODE_STORE,  /* site = a */
    CODE_ATOMIC, /* site = op(site, a) */
    CODE_BARRIER,
    CODE_BARRIER_WARP,
    CODE_REDUCE,  /* dst = butterfly of a */
    CODE_SHUFFLE, /* dst = a of the partner */
    CODE_COPY,    /* site = from, later */
    CODE_COMMIT,
    CODE_WAIT, /* until `target` groups are in flight */
    CODE_GRID_WAIT,
    CODE_PRINT, /* values at code->values[target ..] */
    CODE_CHECK, /* a */
    CODE_EXIT
} code_op;

/* A buffer as one launch sees it. */
typedef struct sim_buffer {
    const buffer *decl;
    struct sim_buffer *root; /* the owner of the bytes */
    int rank;
    int64_t dim[TG_MAX_RANK], stride[TG_MAX_RANK]; /* elements */
    int64_t bytes;                                 /* first element to past the last */
    int element;                                   /* bytes */
    unsigned char *data;                           /* global: the argument; shared: in the block's arena */
    int64_t offset;                                /* shared: in that arena */
    bool in_registers;  /* local without views: element i is register frame_at + i */
    int32_t frame_at;   /* local: its place in the frame; by bytes: lane after lane, `lane_bytes` apart */
    int32_t written_at; /* local: a mask of lanes for each element, or a byte for each byte */
    int64_t lane_bytes;
    struct race_shadow *shadow;            /* tensors: NULL where nobody can race */
    int64_t shadow_at;                     /* bytes of the shadow before this buffer */
    const struct sim_buffer *shadow_owner; /* tensors: one of those that share memory */
} sim_buffer;

typedef struct code_reg {
    int32_t at;
    bool uniform;
    int n; /* elements */
    int64_t type;
} code_reg;

/* One access in the program text. */
typedef struct code_site {
    const node *ref;
    const sim_buffer *buffer;
    tg_loc at;
    int place; /* number of `at` among the places of accesses */
    code_reg index[TG_MAX_RANK];
    int64_t type;
    int lanes;         /* elements */
    bool hands_over;   /* what nothing wrote may be among them */
    int nlane_indices; /* how many of `index` differ from lane to lane */
    code_reg extent;   /* what a copy reads of `lanes` elements, in lane registers; n 0: all */
} code_site;

typedef struct code_instr {
    code_op op;
    bool uniform; /* one lane is computed */
    tg_op what;
    int32_t dst;
    code_reg a, b, c;
    int64_t type, to; /* of operands, of the result */
    lane_kernel *kernel;
    int target;
    const code_site *site, *from;
    const thread_stmt *stmt;
    tg_loc at;
} code_instr;

typedef struct code_constant {
    int32_t at;
    bool uniform;
    value v;
} code_constant;

typedef struct sim_code {
    code_instr *instr;
    int n;
    int32_t frame_bytes;
    int depth; /* of the mask stack */
    code_constant *constants;
    int nconstants;
    code_reg *vars;   /* by id; n 0: not there */
    code_reg *values; /* operands of prints */
    int nvalues;
    bool has_copies; /* asynchronous ones */
    tg_loc *places;
    int nplaces;
    int32_t locals_at, locals_bytes;
    const char *error; /* NULL, or what of the kernel cannot be run */
    arena memory;
} sim_code;

/* `buffers` by buffer id, dims and strides filled in; the places of locals are set here.  False without
 * memory or when the kernel has something that the simulator lacks (code->error). */
bool sim_compile(const thread_kernel *t, sim_buffer *buffers, sim_code *code);
void sim_code_free(sim_code *code);

#endif
