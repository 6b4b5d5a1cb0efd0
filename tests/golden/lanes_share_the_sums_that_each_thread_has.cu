extern "C" __global__ void __launch_bounds__(64) lanes_share_the_sums_that_each_thread_has(
    const float *__restrict__ x, // [8][64]
    f16 *__restrict__ y) { // [8]
    __shared__ float sums_partial[8][2];
    const int tid_x = threadIdx.x;
    float sums[8];

    #pragma unroll
    for (int i = 0; i < 8; ++i)
        sums[i] = 0.0f;
    #pragma unroll
    for (int row = 0; row < 8; ++row)
        sums[row] += x[row * 64 + tid_x];
    const bool odd_lane = tid_x % 2 != 0; // keeps one of each pair, gives the other to its partner

    #pragma unroll
    for (int slot = 0; slot < 4; ++slot) {
        const float kept = odd_lane ? sums[slot * 2 + 1] : sums[slot * 2];
        const float taken = __shfl_xor_sync(0xffffffff, odd_lane ? sums[slot * 2] : sums[slot * 2 + 1], 1);
        sums[slot] = kept + taken;
    }
    const bool odd_lane_1 = tid_x / 2 % 2 != 0;

    #pragma unroll
    for (int slot = 0; slot < 2; ++slot) {
        const float kept = odd_lane_1 ? sums[slot * 2 + 1] : sums[slot * 2];
        const float taken = __shfl_xor_sync(0xffffffff, odd_lane_1 ? sums[slot * 2] : sums[slot * 2 + 1], 2);
        sums[slot] = kept + taken;
    }
    const bool odd_lane_2 = tid_x / 4 % 2 != 0;
    const float kept = odd_lane_2 ? sums[1] : sums[0];
    const float taken = __shfl_xor_sync(0xffffffff, odd_lane_2 ? sums[0] : sums[1], 4);
    sums[0] = kept + taken;
    float sums_lanes = sums[0];
    for (int mask = 8; mask < 32; mask *= 2)
        sums_lanes += __shfl_xor_sync(0xffffffff, sums_lanes, mask);
    if (tid_x / 8 % 4 == 0)
        sums_partial[tid_x % 8][tid_x / 32] = sums_lanes;
    __syncthreads(); // every partial sum is in sums_partial before it is read

    float sums_total = sums_partial[tid_x % 8][0] + sums_partial[tid_x % 8][1];
    if (tid_x < 8)
        y[tid_x] = (f16)sums_total;
}
