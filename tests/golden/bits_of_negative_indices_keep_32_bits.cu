extern "C" __global__ void __launch_bounds__(32) bits_of_negative_indices_keep_32_bits(
    long long *__restrict__ y) { // [4][32]
    const int p = blockIdx.x;
    const int t = threadIdx.x;
    y[p * 32 + t] = min(-1 ^ t, ~p + (t | -8));
}
