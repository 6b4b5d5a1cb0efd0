extern "C" __global__ void __launch_bounds__(64) a_fragment_is_registers_of_each_thread(
    const float *__restrict__ x, // [64][64]
    float *__restrict__ y) { // [64][64]
    const int pid = blockIdx.x;
    const int tid_x = threadIdx.x;
    alignas(16) float f[16];

    #pragma unroll
    for (int i = 0; i < 4; ++i)
        *(uint4 *)&f[i * 4] =
            load_once((const uint4 *)&x[(pid * 16 + i * 4 + tid_x / 16) * 64 + tid_x % 16 * 4]);
    alignas(16) float g[16];

    #pragma unroll
    for (int i = 0; i < 16; ++i)
        g[i] = 0.0f;
    #pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (i * 4 + tid_x / 16 < 8) {
            #pragma unroll
            for (int k = 0; k < 4; ++k)
                g[i * 4 + k] = f[i * 4 + k];
        }
    }
    #pragma unroll
    for (int i = 0; i < 4; ++i)
        *(uint4 *)&y[(pid * 16 + i * 4 + tid_x / 16) * 64 + tid_x % 16 * 4] = *(const uint4 *)&g[i * 4];
}
