extern "C" __global__ void __launch_bounds__(32) an_allreduce_of_halves_shuffles_their_bits(
    const f16 *__restrict__ x, // [64]
    const bf16 *__restrict__ z, // [64]
    f16 *__restrict__ y, // [64]
    bf16 *__restrict__ w) { // [64]
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int i = block * 32 + thread;
    f16 total = x[i];
    for (int mask = 1; mask < 32; mask *= 2)
        total += shuffle_xor(0xffffffff, total, mask);
    bf16 most = z[i];
    for (int mask = 1; mask < 32; mask *= 2)
        most = max_nan(most, shuffle_xor(0xffffffff, most, mask));
    y[i] = total;
    w[i] = most;
}
