extern "C" __global__ void __launch_bounds__(128) idle_lanes_join_the_others(
    const f16 *__restrict__ x, // [2][1000]
    float *__restrict__ y) { // [2]
    __shared__ float sum_partial[2][4];
    const int tid_x = threadIdx.x;
    float sum[2];

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
    const bool odd_lane = tid_x % 2 != 0; // keeps one of each pair, gives the other to its partner
    const float kept = odd_lane ? sum[1] : sum[0];
    const float taken = __shfl_xor_sync(0xffffffff, odd_lane ? sum[0] : sum[1], 1);
    sum[0] = kept + taken;
    float sum_lanes = sum[0];
    for (int mask = 2; mask < 32; mask *= 2)
        sum_lanes += __shfl_xor_sync(0xffffffff, sum_lanes, mask);
    if (tid_x / 2 % 16 == 0)
        sum_partial[tid_x % 2][tid_x / 32] = sum_lanes;
    __syncthreads(); // every partial sum is in sum_partial before it is read

    float sum_total = sum_partial[tid_x % 2][0] + sum_partial[tid_x % 2][1] + sum_partial[tid_x % 2][2]
        + sum_partial[tid_x % 2][3];
    if (tid_x < 2)
        y[tid_x] = sum_total;
}
