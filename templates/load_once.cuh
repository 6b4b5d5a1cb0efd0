// What is read once is not kept in the first-level cache: there is more room there for what is read again.
?16 __device__ inline uint4 load_once(const uint4 *from) {
?16     uint4 x;
?16     asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
?16                  : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(__cvta_generic_to_global(from)));
?16     return x;
?16 }
?8 __device__ inline uint2 load_once(const uint2 *from) {
?8     uint2 x;
?8     asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
?8                  : "=r"(x.x), "=r"(x.y) : "l"(__cvta_generic_to_global(from)));
?8     return x;
?8 }
