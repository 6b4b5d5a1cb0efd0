extern "C" __global__ void __launch_bounds__(256) lanes_that_add_to_one_place_add_to_each_other_first(
    const float *__restrict__ x, // [4][64]
    float *__restrict__ sums, // [4]
    float *__restrict__ positive) { // [4]
    const int lane = threadIdx.x;
    const int row = threadIdx.y;
    float sums_lanes = x[row * 64 + lane];
    for (int mask = 1; mask < 32; mask *= 2)
        sums_lanes += __shfl_xor_sync(0xffffffff, sums_lanes, mask);
    if (lane % 32 == 0)
        atomicAdd(&sums[row], sums_lanes); // once for the lanes that would meet here
    if (x[row * 64 + lane] > 0.0f)
        atomicAdd(&positive[row], x[row * 64 + lane]);
}
