extern "C" __global__ void __launch_bounds__(64) a_loop_that_counts_registers_is_unrolled(
    const float *__restrict__ x, // [8][64]
    float *__restrict__ y) { // [8]
    alignas(8) __shared__ float tile_shared[2][64];
    __shared__ float sums_partial[8][2];
    const int tid_x = threadIdx.x;
    alignas(16) float sums[8];

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
    #pragma unroll
    for (int slot = 0; slot < 8; ++slot) {
        float sums_lanes = sums[slot];
        for (int mask = 1; mask < 32; mask *= 2)
            sums_lanes += __shfl_xor_sync(0xffffffff, sums_lanes, mask);
        if (tid_x % 32 == 0)
            sums_partial[slot][tid_x / 32] = sums_lanes;
    }
    __syncthreads(); // every partial sum is in sums_partial before it is read

    #pragma unroll
    for (int slot = 0; slot < 8; ++slot)
        sums[slot] = sums_partial[slot][0] + sums_partial[slot][1];
    if (tid_x == 0) {
        #pragma unroll
        for (int k_piece = 0; k_piece < 2; ++k_piece)
            *(uint4 *)&y[k_piece * 4] = *(const uint4 *)&sums[k_piece * 4];
    }
}
