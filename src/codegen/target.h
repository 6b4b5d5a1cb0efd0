/* target.h -- what the compiler may assume of the machine: one row for each target.
 *
 * Every pass takes a target; the number of lanes of a wave and every other hardware figure is written here and
 * in target.c only.  Figures: CUDA C++ Programming Guide, "Compute Capabilities"; counting rules for sectors
 * and banks as measured (docs/results). */
#ifndef CODEGEN_TARGET_H
#define CODEGEN_TARGET_H

#include <tegula/tegula.h>

/* Lanes of the widest wave of any target: masks of lanes have 64 bits. */
enum { TARGET_MAX_WAVE = 64 };

typedef enum atomic_support {
    ATOMIC_NONE,
    ATOMIC_NATIVE, /* one instruction */
    ATOMIC_CAS     /* a compare-and-swap loop in the prelude */
} atomic_support;

/* How the lanes of one shared-memory request of a given width are served: in `phases` groups of
 * wave / phases consecutive lanes, each group limited by its fullest bank. */
typedef struct bank_rule {
    int bytes; /* of one lane's access: 1, 2, 4 in one group */
    int phases;
} bank_rule;

typedef struct target {
    const char *name;             /* "sm_90a": what NVRTC is told */
    int cc;                       /* 10 * major + minor; the real architecture it runs on */
    bool exact;                   /* arch-specific ("a"): runs on this cc only */
    int wave;                     /* lanes that execute together */
    int sector_bytes, line_bytes; /* granule and line of global memory */
    int banks, bank_bytes;
    bank_rule bank[3]; /* 4, 8, 16 bytes */
    int max_threads;   /* of a block */
    int max_resident;  /* threads of a multiprocessor */
    int max_blocks;    /* of a multiprocessor, at most: some chips hold fewer */
    int64_t max_block_dim[3];
    int64_t max_grid_dim[3];
    int64_t static_shared; /* bytes of __shared__ variables a kernel may declare */
    int64_t max_shared;    /* bytes per block with opt-in */
    bool async_copy;       /* cp.async: see target_copies_async() */
    int max_access;        /* bytes of the widest access of one lane */
    bool dependent_launch; /* griddepcontrol: a kernel may start before the one before it has ended */
} target;

/* NULL when unknown.  Beside sm_80 .. sm_121 there is the test-only "sim64": CUDA's rules with 64 lanes. */
const target *target_find(const char *name);
/* The target for a compute capability (the arch-specific row where there is one), clamped to the newest known
 * not above it; NULL below sm_80. */
const target *target_for_device(int major, int minor);
/* Does the device's row run code made for `code`?  Exact targets only themselves; machine code within one generation
 * (CUDA C++ Programming Guide, "Binary Compatibility"), where the embedded chips stand apart; PTX on all newer. */
bool target_runs(const target *code, const target *device, bool is_ptx);
/* Has it one asynchronous copy of so many bytes, from global to shared memory?  (PTX ISA, "cp.async": 4, 8 or 16.) */
bool target_copies_async(const target *t, int64_t bytes);
/* All rows, for messages; ends with NULL name. */
const target *target_table(void);
atomic_support target_atomic(const target *t, tg_reduction op, int64_t type, tg_space space);

#endif
