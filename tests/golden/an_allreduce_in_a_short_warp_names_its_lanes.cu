extern "C" __global__ void __launch_bounds__(40) an_allreduce_in_a_short_warp_names_its_lanes(
    const int *__restrict__ x, // [5][8]
    int *__restrict__ y) { // [5]
    const int col = threadIdx.x;
    const int row = threadIdx.y;
    const unsigned lanes = threadIdx.x + 8 * threadIdx.y < 32 ? 0xffffffff : 0xff; // those that exist in this warp
    int total = x[row * 8 + col];
    for (int mask = 1; mask < 8; mask *= 2)
        total += __shfl_xor_sync(lanes, total, mask);
    if (col == 0)
        y[row] = total;
}
