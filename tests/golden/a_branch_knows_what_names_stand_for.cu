extern "C" __global__ void __launch_bounds__(128) a_branch_knows_what_names_stand_for(
    const float *__restrict__ x, // [5][768]
    float *__restrict__ y) { // [5][768]
    const int row = blockIdx.x;
    const int tid_x = threadIdx.x;
    alignas(16) float f[8];

    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        if (i * 512 + tid_x * 4 < 768) {
            const int offset = i * 512 + tid_x * 4;
            *(uint4 *)&f[i * 4] = load_once((const uint4 *)&x[row * 768 + offset]);
        }
    }
    #pragma unroll
    for (int turn = 0; turn < 2; ++turn) {
        if (turn * 512 + tid_x * 4 < 768) {
            #pragma unroll
            for (int lane = 0; lane < 4; ++lane)
                f[turn * 4 + lane] = f[turn * 4 + lane] * 2.0f;
        }
    }
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
        if (i * 512 + tid_x * 4 < 768) {
            const int offset = i * 512 + tid_x * 4;
            *(uint4 *)&y[row * 768 + offset] = *(const uint4 *)&f[i * 4];
        }
    }
}
