/* target.c -- the table of targets.
 *
 * Shared memory: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": the most a
 * block may have, and the threads that a multiprocessor holds.  Atomics: PTX ISA, "atom": .f16 from sm_70 on,
 * .bf16 from sm_90 on; there is no floating max or min that propagates NaN, and none narrower than 16 bits.
 * Dependent launch: PTX ISA, "griddepcontrol": sm_90 and higher. */
#include "codegen/target.h"

#include <stdio.h>
#include <string.h>

#include "dsl/value.h"

enum { KB = 1024 };

/* What all CUDA targets have in common. */
#define CUDA_ROW(text, capability, is_exact, shared, resident)                                             \
    .name = text, .cc = capability, .exact = is_exact, .sector_bytes = 32, .line_bytes = 128, .banks = 32, \
    .bank_bytes = 4, .max_threads = 1024, .max_block_dim = {1024, 1024, 64},                               \
    .max_grid_dim = {2147483647, 65535, 65535}, .static_shared = 48 * KB, .max_shared = (shared)*KB,       \
    .max_resident = resident, .max_blocks = 32, .async_copy = true, .max_access = 16,                      \
    .dependent_launch = (capability) >= 90

#define CUDA(text, capability, is_exact, shared, resident) \
    { .wave = 32, .bank = {{4, 1}, {8, 2}, {16, 4}}, CUDA_ROW(text, capability, is_exact, shared, resident) }

static const target table[] = {
    CUDA("sm_80", 80, false, 163, 2048),
    CUDA("sm_86", 86, false, 99, 1536),
    CUDA("sm_87", 87, false, 163, 1536),
    CUDA("sm_89", 89, false, 99, 1536),
    CUDA("sm_90", 90, false, 227, 2048),
    CUDA("sm_90a", 90, true, 227, 2048),
    CUDA("sm_100", 100, false, 227, 2048),
    CUDA("sm_100a", 100, true, 227, 2048),
    CUDA("sm_103", 103, false, 227, 2048),
    CUDA("sm_103a", 103, true, 227, 2048),
    CUDA("sm_110", 110, false, 227, 1536),
    CUDA("sm_110a", 110, true, 227, 1536),
    CUDA("sm_120", 120, false, 99, 1536),
    CUDA("sm_120a", 120, true, 99, 1536),
    CUDA("sm_121", 121, false, 99, 1536),
    CUDA("sm_121a", 121, true, 99, 1536),
    /* Test only: no pass may assume 32 lanes.  The banks serve as many lanes at a time as on the others. */
    {CUDA_ROW("sim64", 80, false, 163, 2048), .wave = 64, .bank = {{4, 2}, {8, 4}, {16, 8}}},
    {.name = NULL},
};

const target *target_table(void) {
    return table;
}

const target *target_find(const char *name) {
    for (const target *t = table; name && t->name; t++) {
        if (strcmp(t->name, name) == 0) {
            return t;
        }
    }
    return NULL;
}

static bool is_simulated(const target *t) {
    return strncmp(t->name, "sm_", 3) != 0;
}

/* An exact row fits its own capability only; the others run everything newer too. */
static bool fits(const target *t, int cc) {
    return !is_simulated(t) && (t->exact ? t->cc == cc : t->cc <= cc);
}

const target *target_for_device(int major, int minor) {
    const int cc = 10 * major + minor;
    const target *best = NULL;
    for (const target *t = table; t->name; t++) {
        if (fits(t, cc) && (!best || t->cc >= best->cc)) {
            best = t;
        }
    }
    return best;
}

/* Chips of boards without memory of their own: their code is nobody else's. */
static bool is_embedded(const target *t) {
    return t->cc == 87 || t->cc == 110;
}

bool target_runs(const target *code, const target *device, bool is_ptx) {
    if (is_simulated(code) || is_simulated(device) || code->exact) {
        return code == device;
    }
    const bool is_one_generation =
        code->cc / 10 == device->cc / 10 && !is_embedded(code) && !is_embedded(device);
    return code->cc == device->cc || (code->cc < device->cc && (is_ptx || is_one_generation));
}

bool target_copies_async(const target *t, int64_t bytes) {
    return t->async_copy && (bytes == 4 || bytes == 8 || bytes == 16);
}

static atomic_support atomic_sum(const target *t, int64_t type) {
    switch ((tg_dtype)type) {
    case TG_I32:
    case TG_U32:
    case TG_I64:
    case TG_U64:
    case TG_F16:
    case TG_F32:
    case TG_F64:
        return ATOMIC_NATIVE;
    case TG_BF16:
        return t->cc >= 90 ? ATOMIC_NATIVE : ATOMIC_CAS;
    case TG_BOOL:
    case TG_I8:
    case TG_U8:
    case TG_I16:
    case TG_U16:
        return ATOMIC_NONE;
    }
    return ATOMIC_NONE;
}

static atomic_support atomic_extreme(int64_t type) {
    switch ((tg_dtype)type) {
    case TG_I32:
    case TG_U32:
    case TG_I64:
    case TG_U64:
        return ATOMIC_NATIVE;
    case TG_F16:
    case TG_BF16:
    case TG_F32:
    case TG_F64:
        return ATOMIC_CAS;
    case TG_BOOL:
    case TG_I8:
    case TG_U8:
    case TG_I16:
    case TG_U16:
        return ATOMIC_NONE;
    }
    return ATOMIC_NONE;
}

atomic_support target_atomic(const target *t, tg_reduction op, int64_t type, tg_space space) {
    if (space != TG_GLOBAL && space != TG_SHARED) {
        return ATOMIC_NONE;
    }
    return op == TG_SUM ? atomic_sum(t, type) : atomic_extreme(type);
}
