extern "C" __global__ void __launch_bounds__(32) a_run_is_cut_only_where_the_tensor_ends_inside_it(
    const float *__restrict__ x, // [1001]
    float *__restrict__ y) { // [1001]
    alignas(16) __shared__ float s[128];
    const int pid = blockIdx.x;
    const int tid_x = threadIdx.x;
    const int offset = tid_x * 4;
    if (pid * 128 + offset + 3 < 1001) {
        *(uint4 *)&s[offset] = load_once((const uint4 *)&x[pid * 128 + offset]);
    } else {
        #pragma unroll
        for (int k = 0; k < 4; ++k)
            s[offset + k] = pid * 128 + offset + k < 1001 ? x[pid * 128 + offset + k] : -1.0f;
    }
    if (pid * 128 + offset + 3 < 1001) {
        *(uint4 *)&y[pid * 128 + offset] = *(const uint4 *)&s[offset];
    } else {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            if (pid * 128 + offset + k < 1001)
                y[pid * 128 + offset + k] = s[offset + k];
        }
    }
}
