// A launch that may start before the one before it has ended.  Until grid_wait() it touches only what nobody writes.
__device__ inline void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
__device__ inline void grid_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
