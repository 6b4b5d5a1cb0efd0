extern "C" __global__ void __launch_bounds__(128) idle_lanes_join_the_others(
    const f16 *__restrict__ x, // [2][1000]
    float *__restrict__ y) { // [2]
    __shared__ float sum_partial[2][4];
    const int tid_x = threadIdx.x;
    alignas(8) float sum[2];

    #pragma unroll
    for (int i = 0; i < 2; ++i)
        sum[i] = 0.0f;
    alignas(16) f16 f[16];

    #pragma unroll
    for (int i = 0; i < 2; ++i)
        *(uint4 *)&f[i * 8] = *(const uint4 *)&x[i * 1000 + tid_x % 125 * 8];
    if (tid_x < 125) {
        #pragma unroll
        for (int turn = 0; turn < 2; ++turn) {
            #pragma unroll
            for (int lane = 0; lane < 8; ++lane)
                sum[turn] += (float)f[turn * 8 + lane];
        }
    }
    #pragma unroll
    for (int slot = 0; slot < 2; ++slot) {
        float sum_lanes = sum[slot];
        for (int mask = 1; mask < 32; mask *= 2)
            sum_lanes += __shfl_xor_sync(0xffffffff, sum_lanes, mask);
        if (tid_x % 32 == 0)
            sum_partial[slot][tid_x / 32] = sum_lanes;
    }
    __syncthreads(); // every partial sum is in sum_partial before it is read

    #pragma unroll
    for (int slot = 0; slot < 2; ++slot)
        sum[slot] = sum_partial[slot][0] + sum_partial[slot][1] + sum_partial[slot][2] + sum_partial[slot][3];
    if (tid_x == 0)
        *(uint2 *)y = *(const uint2 *)sum;
}
