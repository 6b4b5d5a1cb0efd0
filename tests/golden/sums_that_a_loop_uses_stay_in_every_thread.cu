extern "C" __global__ void __launch_bounds__(64) sums_that_a_loop_uses_stay_in_every_thread(
    const float *__restrict__ x, // [4][64]
    float *__restrict__ y, // [4]
    float *__restrict__ z) { // [4][64]
    __shared__ float sums_partial[4][2];
    const int tid_x = threadIdx.x;
    alignas(16) float sums[4];

    #pragma unroll
    for (int i = 0; i < 4; ++i)
        sums[i] = 0.0f;
    #pragma unroll
    for (int row = 0; row < 4; ++row)
        sums[row] += x[row * 64 + tid_x];
    const bool odd_lane = tid_x % 2 != 0; // keeps one of each pair, gives the other to its partner

    #pragma unroll
    for (int slot = 0; slot < 2; ++slot) {
        const float kept = odd_lane ? sums[slot * 2 + 1] : sums[slot * 2];
        const float taken = __shfl_xor_sync(0xffffffff, odd_lane ? sums[slot * 2] : sums[slot * 2 + 1], 1);
        sums[slot] = kept + taken;
    }
    const bool odd_lane_1 = tid_x / 2 % 2 != 0;
    const float kept = odd_lane_1 ? sums[1] : sums[0];
    const float taken = __shfl_xor_sync(0xffffffff, odd_lane_1 ? sums[0] : sums[1], 2);
    sums[0] = kept + taken;
    float sums_lanes = sums[0];
    for (int mask = 4; mask < 32; mask *= 2)
        sums_lanes += __shfl_xor_sync(0xffffffff, sums_lanes, mask);
    if (tid_x / 4 % 8 == 0)
        sums_partial[tid_x % 4][tid_x / 32] = sums_lanes;
    __syncthreads(); // every partial sum is in sums_partial before it is read

    #pragma unroll
    for (int slot = 0; slot < 4; ++slot)
        sums[slot] = sums_partial[slot][0] + sums_partial[slot][1];
    #pragma unroll
    for (int row = 0; row < 4; ++row)
        z[row * 64 + tid_x] = x[row * 64 + tid_x] - sums[row];
    if (tid_x == 0)
        *(uint4 *)y = *(const uint4 *)sums;
}
