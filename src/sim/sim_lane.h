/* sim_lane.h -- arithmetic on all lanes of a warp at once.
 *
 * A lane register holds one value for each lane, side by side.  A lane of a type of up to 32 bits takes four
 * bytes, of 64 bits eight:
 *
 *     bool, i8, u8, i16, u16, i32   int32_t, extended by their sign or by zeros
 *     u32                           uint32_t
 *     f16, bf16                     uint32_t, the bit pattern
 *     f32, f64, i64, u64, index     themselves
 *
 * A kernel computes every lane, also those that take no part, and answers whether any lane needs a second
 * look: a fault, a NaN, or another case that it does not settle.  The caller then computes the lanes that
 * count by dsl/value.h, which defines the result.  Operations without a kernel go there at once. */
#ifndef SIM_SIM_LANE_H
#define SIM_SIM_LANE_H

#include "dsl/value.h"

typedef bool lane_kernel(void *restrict out, const void *restrict a, const void *restrict b, int n);

/* NULL where there is none: then dsl/value.h computes lane by lane. */
lane_kernel *lane_binary(tg_op op, int64_t type);
lane_kernel *lane_shift(tg_op op, int64_t type, int64_t count_type);
lane_kernel *lane_unary(tg_op op, int64_t type);
lane_kernel *lane_cast(int64_t from, int64_t to);

int lane_bytes(int64_t type); /* of one lane in a register: 4 or 8 */
value lane_get(const void *reg, int lane, int64_t type);
void lane_set(void *reg, int lane, value v);
/* All n lanes from the one value at `from`. */
void lane_broadcast(void *restrict out, const void *restrict from, int bytes, int n);
/* out[i] = condition[i] ? a[i] : b[i]; the condition is a bool register. */
void lane_select(void *restrict out, const void *restrict condition, const void *restrict a,
                 const void *restrict b, int bytes, int n);
uint64_t lane_truth(const void *condition, int n);           /* bit i: condition[i] */
uint64_t lane_above(const void *index, int64_t than, int n); /* bit i: index[i] > than */

#endif
