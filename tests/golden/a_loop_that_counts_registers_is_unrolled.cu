extern "C" __global__ void __launch_bounds__(64) a_loop_that_counts_registers_is_unrolled(
    const float *__restrict__ x, // [8][64]
    float *__restrict__ y) { // [8]
    alignas(8) __shared__ float tile_shared[2][64];
    __shared__ float sums_partial[8][2];
    const int tid_x = threadIdx.x;
    float sums[8];

    #pragma unroll
    for (int i = 0; i < 8; ++i)
        sums[i] = 0.0f;
    #pragma unroll
    for (int i_tile = 0; i_tile < 4; ++i_tile) {
        const int row = tid_x / 16 % 2;
        const int col = tid_x / 32 * 32 + tid_x % 16 * 2;
        __syncwarp(); // the warp's part of tile_shared has been read before it is written again

        *(uint2 *)&tile_shared[row][col] = load_once((const uint2 *)&x[(i_tile * 2 + row) * 64 + col]);
        __syncwarp(); // the warp's part of tile_shared is written before it is read

        #pragma unroll
        for (int i = 0; i < 2; ++i)
            sums[i_tile * 2 + i] += tile_shared[i][tid_x];
    }
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
        y[tid_x] = sums_total;
}
