extern "C" __global__ void __launch_bounds__(64) a_loop_over_results_stays_where_they_lie(
    const float *__restrict__ x, // [4][256]
    float *__restrict__ y) { // [4]
    __shared__ float sum_partial[4][2];
    const int tid_x = threadIdx.x;
    float sum[4];

    #pragma unroll
    for (int i = 0; i < 4; ++i)
        sum[i] = 0.0f;
    #pragma unroll
    for (int turn = 0; turn < 4; ++turn) {
        const int j = tid_x * 4;
        alignas(16) float x_piece[4];
        *(uint4 *)x_piece = *(const uint4 *)&x[turn * 256 + j];
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            sum[turn] += x_piece[lane];
    }
    const bool odd_lane = tid_x % 2 != 0; // keeps one of each pair, gives the other to its partner

    #pragma unroll
    for (int slot = 0; slot < 2; ++slot) {
        const float kept = odd_lane ? sum[slot * 2 + 1] : sum[slot * 2];
        const float taken = __shfl_xor_sync(0xffffffff, odd_lane ? sum[slot * 2] : sum[slot * 2 + 1], 1);
        sum[slot] = kept + taken;
    }
    const bool odd_lane_1 = tid_x / 2 % 2 != 0;
    const float kept = odd_lane_1 ? sum[1] : sum[0];
    const float taken = __shfl_xor_sync(0xffffffff, odd_lane_1 ? sum[0] : sum[1], 2);
    sum[0] = kept + taken;
    float sum_lanes = sum[0];
    for (int mask = 4; mask < 32; mask *= 2)
        sum_lanes += __shfl_xor_sync(0xffffffff, sum_lanes, mask);
    if (tid_x / 4 % 8 == 0)
        sum_partial[tid_x % 4][tid_x / 32] = sum_lanes;
    __syncthreads(); // every partial sum is in sum_partial before it is read

    #pragma unroll
    for (int slot = 0; slot < 4; ++slot)
        sum[slot] = sum_partial[slot][0] + sum_partial[slot][1];
    alignas(16) float mean[4];

    #pragma unroll
    for (int lane = 0; lane < 4; ++lane)
        mean[lane] = sum[lane] * 0.00390625f;
    if (tid_x == 0)
        *(uint4 *)y = *(const uint4 *)mean;
}
