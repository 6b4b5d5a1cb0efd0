extern "C" __global__ void __launch_bounds__(64) a_buffer_of_rank_zero_is_a_plain_variable(
    const float *__restrict__ x, // [64]
    float *__restrict__ y) { // [1]
    __shared__ float total;
    const int thread = threadIdx.x;
    float mine = x[thread] * 2.0f;
    if (thread == 0)
        total = 0.0f;
    __syncthreads();

    float total_lanes = mine;
    for (int mask = 1; mask < 32; mask *= 2)
        total_lanes += __shfl_xor_sync(0xffffffff, total_lanes, mask);
    if (thread % 32 == 0)
        atomicAdd(&total, total_lanes); // once for the lanes that would meet here
    __syncthreads();

    if (thread == 0)
        y[0] = total;
}
