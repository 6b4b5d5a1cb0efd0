extern "C" __global__ void __launch_bounds__(128) a_reducer_meets_by_shuffles_then_in_shared_memory(
    const f16 *__restrict__ vector, // [512]
    const f16 *__restrict__ matrix, // [4][512]
    float *__restrict__ output) { // [4]
    __shared__ float sums_partial[2][2][2];
    const int tid_x = threadIdx.x;
    float sums[2];

    #pragma unroll
    for (int i = 0; i < 2; ++i)
        sums[i] = 0.0f;
    alignas(16) f16 vector_fragment[8];
    *(uint4 *)vector_fragment = *(const uint4 *)&vector[tid_x % 64 * 8];
    alignas(16) f16 matrix_fragment[16];

    #pragma unroll
    for (int i = 0; i < 2; ++i)
        *(uint4 *)&matrix_fragment[i * 8] =
            load_once((const uint4 *)&matrix[(i * 2 + tid_x / 64) * 512 + tid_x % 64 * 8]);
    #pragma unroll
    for (int turn = 0; turn < 2; ++turn) {
        #pragma unroll
        for (int lane = 0; lane < 8; ++lane)
            sums[turn] += (float)matrix_fragment[turn * 8 + lane] * (float)vector_fragment[lane];
    }
    const bool odd_lane = tid_x % 2 != 0; // keeps one of each pair, gives the other to its partner
    const float kept = odd_lane ? sums[1] : sums[0];
    const float taken = __shfl_xor_sync(0xffffffff, odd_lane ? sums[0] : sums[1], 1);
    sums[0] = kept + taken;
    float sums_lanes = sums[0];
    for (int mask = 2; mask < 32; mask *= 2)
        sums_lanes += __shfl_xor_sync(0xffffffff, sums_lanes, mask);
    if (tid_x / 2 % 16 == 0)
        sums_partial[tid_x % 2][tid_x / 32 % 2][tid_x / 64] = sums_lanes;
    __syncthreads(); // every partial sum is in sums_partial before it is read

    #pragma unroll
    for (int slot = 0; slot < 2; ++slot)
        sums[slot] = sums_partial[slot][0][tid_x / 64] + sums_partial[slot][1][tid_x / 64];
    if (tid_x % 64 == 0) {
        #pragma unroll
        for (int i = 0; i < 2; ++i)
            output[i * 2 + tid_x / 64] = sums[i];
    }
}
