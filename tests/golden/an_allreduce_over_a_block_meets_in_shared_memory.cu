extern "C" __global__ void __launch_bounds__(96) an_allreduce_over_a_block_meets_in_shared_memory(
    const float *__restrict__ x, // [4][96]
    float *__restrict__ y) { // [4][96]
    __shared__ float total_partial[3];
    __shared__ float largest_partial[3];
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    float total_lanes = x[block * 96 + thread];
    for (int mask = 1; mask < 32; mask *= 2)
        total_lanes += __shfl_xor_sync(0xffffffff, total_lanes, mask);
    if (thread % 32 == 0)
        total_partial[thread / 32] = total_lanes;
    __syncthreads(); // every partial sum is in total_partial before it is read

    const float total = total_partial[0] + total_partial[1] + total_partial[2];
    float largest_lanes = x[block * 96 + thread];
    for (int mask = 1; mask < 32; mask *= 2)
        largest_lanes = max_nan(largest_lanes, __shfl_xor_sync(0xffffffff, largest_lanes, mask));
    if (thread % 32 == 0)
        largest_partial[thread / 32] = largest_lanes;
    __syncthreads(); // every partial maximum is in largest_partial before it is read

    const float largest = max_nan(max_nan(largest_partial[0], largest_partial[1]), largest_partial[2]);
    y[block * 96 + thread] = total + largest;
}
