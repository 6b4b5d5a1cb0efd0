extern "C" __global__ void __launch_bounds__(128) what_is_read_once_goes_past_the_first_level_cache(
    const f16 *__restrict__ vector, // [1024]
    const f16 *__restrict__ matrix, // [64][1024]
    f16 *__restrict__ products) { // [64][1024]
    const int row = blockIdx.x;
    const int thread = threadIdx.x;
    alignas(16) f16 v[8];
    *(uint4 *)v = *(const uint4 *)&vector[thread * 8];
    alignas(16) f16 m[8];
    *(uint4 *)m = load_once((const uint4 *)&matrix[row * 1024 + thread * 8]);
    for (int k = 0; k < 8; ++k)
        m[k] = m[k] * v[k];
    *(uint4 *)&products[row * 1024 + thread * 8] = *(const uint4 *)m;
}
