extern "C" __global__ void __launch_bounds__(32) atomic_extremes_of_floats_swap(
    const float *__restrict__ x, // [64]
    const f16 *__restrict__ h, // [64]
    float *__restrict__ largest, // [2]
    double *__restrict__ smallest, // [2]
    f16 *__restrict__ halves) { // [2]
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int i = block * 32 + thread;
    float largest_lanes = x[i];
    for (int mask = 1; mask < 32; mask *= 2)
        largest_lanes = max_nan(largest_lanes, __shfl_xor_sync(0xffffffff, largest_lanes, mask));
    if (thread == 0)
        atomic_max(&largest[block], largest_lanes); // once for the lanes that would meet here
    double smallest_lanes = (double)x[i];
    for (int mask = 1; mask < 32; mask *= 2)
        smallest_lanes = min_nan(smallest_lanes, __shfl_xor_sync(0xffffffff, smallest_lanes, mask));
    if (thread == 0)
        atomic_min(&smallest[block], smallest_lanes); // once for the lanes that would meet here
    atomic_min(&halves[block], h[i]);
}
