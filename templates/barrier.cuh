// Barrier number `id` of the block, met by `count` threads.
__device__ inline void barrier(int id, int count) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory"); }
