extern "C" __global__ void __launch_bounds__(256) an_allreduce_inside_a_warp_is_a_butterfly(
    const float *__restrict__ x, // [8][32]
    float *__restrict__ sums, // [8]
    int *__restrict__ largest) { // [8]
    const int col = threadIdx.x;
    const int row = threadIdx.y;
    float total = x[row * 32 + col];
    for (int mask = 1; mask < 32; mask *= 2)
        total += __shfl_xor_sync(0xffffffff, total, mask);
    int most = col * row;
    for (int mask = 1; mask < 32; mask *= 2)
        most = max(most, __shfl_xor_sync(0xffffffff, most, mask));
    if (col == 0) {
        sums[row] = total;
        largest[row] = most;
    }
}
