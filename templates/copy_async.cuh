// Copies from global to shared memory that run in the background.  Of `bytes` bytes the first `valid` come from
// memory, the others become 0.
?copy template <int bytes> __device__ inline void copy_async(void *to, const void *from, int valid = bytes) {
?copy     const unsigned place = (unsigned)__cvta_generic_to_shared(to);
?copy     if constexpr (bytes == 16)
?copy         asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(valid) : "memory");
?copy     else
?copy         asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(place), "l"(from), "n"(bytes), "r"(valid) : "memory");
?copy }
?commit // The copies since the last commit become a group.
?commit __device__ inline void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
?wait // Until at most `groups` groups of this thread are still running.
?wait template <int groups> __device__ inline void copy_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory"); }
