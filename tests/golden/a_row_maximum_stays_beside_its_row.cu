extern "C" __global__ void __launch_bounds__(128) a_row_maximum_stays_beside_its_row(
    const float *__restrict__ x, // [4][128]
    float *__restrict__ y) { // [4][128]
    const int tid_x = threadIdx.x;
    alignas(16) float row[4];
    *(uint4 *)row = load_once((const uint4 *)&x[tid_x / 32 * 128 + tid_x % 32 * 4]);
    float most = -INFINITY;

    #pragma unroll
    for (int k = 0; k < 4; ++k)
        most = max_nan(most, row[k]);
    float most_lanes = most;
    for (int mask = 1; mask < 32; mask *= 2)
        most_lanes = max_nan(most_lanes, __shfl_xor_sync(0xffffffff, most_lanes, mask));
    most = most_lanes;
    #pragma unroll
    for (int lane = 0; lane < 4; ++lane)
        row[lane] = expf(row[lane] - most);
    *(uint4 *)&y[tid_x / 32 * 128 + tid_x % 32 * 4] = *(const uint4 *)row;
}
