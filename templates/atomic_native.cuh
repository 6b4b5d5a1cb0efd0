// Atomic sums that CUDA has no plain function for.
?long __device__ inline void atomic_add(long long *place, long long x) {
?long     atomicAdd((unsigned long long *)place, (unsigned long long)x);
?long }
?f16 __device__ inline void atomic_add(f16 *place, f16 x) {
?f16     asm volatile("red.add.noftz.f16 [%0], %1;" ::"l"(place), "h"(x.bits) : "memory");
?f16 }
?bf16 __device__ inline void atomic_add(bf16 *place, bf16 x) {
?bf16     asm volatile("red.add.noftz.bf16 [%0], %1;" ::"l"(place), "h"(x.bits) : "memory");
?bf16 }
