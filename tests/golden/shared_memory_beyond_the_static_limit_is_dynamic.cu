extern "C" __global__ void __launch_bounds__(128) shared_memory_beyond_the_static_limit_is_dynamic(
    const float *__restrict__ x, // [128][128]
    float *__restrict__ y) { // [128]
    extern __shared__ __align__(16) unsigned char shared_memory[];
    float (*rows)[128] = (float (*)[128])shared_memory;
    float *first = (float *)(shared_memory + 65536);
    float &total = *(float *)(shared_memory + 66048);
    const int row = threadIdx.x;
    for (int k = 0; k < 128; ++k)
        rows[k][row] = x[k * 128 + row];
    first[row] = x[row];
    if (row == 0)
        total = 0.0f;
    __syncthreads();

    float sum = 0.0f;

    for (int k = 0; k < 128; ++k)
        sum += rows[row][k];
    float total_lanes = 1.0f;
    for (int mask = 1; mask < 32; mask *= 2)
        total_lanes += __shfl_xor_sync(0xffffffff, total_lanes, mask);
    if (row % 32 == 0)
        atomicAdd(&total, total_lanes); // once for the lanes that would meet here
    __syncthreads();

    y[row] = sum + first[127 - row] + total;
}
