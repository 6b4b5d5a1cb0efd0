extern "C" __global__ void __launch_bounds__(64) what_is_reduced_lies_in_rows(
    const float *__restrict__ x, // [12][20]
    float *__restrict__ y) { // [12]
    __shared__ float r_partial[2][5][6];
    const int tid_x = threadIdx.x;
    alignas(8) float f[4];

    #pragma unroll
    for (int i = 0; i < 2; ++i)
        *(uint2 *)&f[i * 2] = *(const uint2 *)&x[(i * 6 + tid_x / 10 % 6) * 20 + tid_x % 10 * 2];
    #pragma unroll
    for (int turn = 0; turn < 2; ++turn) {
        #pragma unroll
        for (int lane = 0; lane < 2; ++lane)
            f[turn * 2 + lane] = expf(f[turn * 2 + lane]);
    }
    float r[2];

    #pragma unroll
    for (int slot = 0; slot < 2; ++slot)
        r[slot] = 0.0f;
    if (tid_x < 60) {
        #pragma unroll
        for (int i = 0; i < 2; ++i) {
            #pragma unroll
            for (int k = 0; k < 2; ++k)
                r[i] += f[i * 2 + k];
        }
    }
    const bool odd_lane = tid_x % 2 != 0; // keeps one of each pair, gives the other to its partner
    const float kept = odd_lane ? r[1] : r[0];
    const float taken = __shfl_xor_sync(0xffffffff, odd_lane ? r[0] : r[1], 1);
    r[0] = kept + taken;
    if (tid_x < 60)
        r_partial[tid_x % 2][tid_x / 2 % 5][tid_x / 10 % 6] = r[0];
    __syncthreads(); // every partial sum is in r_partial before it is read

    #pragma unroll
    for (int slot = 0; slot < 2; ++slot)
        r[slot] = r_partial[slot][0][tid_x / 10 % 6] + r_partial[slot][1][tid_x / 10 % 6]
            + r_partial[slot][2][tid_x / 10 % 6] + r_partial[slot][3][tid_x / 10 % 6]
            + r_partial[slot][4][tid_x / 10 % 6];
    if (tid_x % 10 == 0 && tid_x < 60) {
        #pragma unroll
        for (int i = 0; i < 2; ++i)
            y[i * 6 + tid_x / 10] = r[i];
    }
}
