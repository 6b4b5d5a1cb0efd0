extern "C" __global__ void __launch_bounds__(32) offsets_beyond_an_int_are_computed_in_64_bits(
    const f16 *__restrict__ x, // [300000][14336]
    float *__restrict__ y) { // [300000]
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int row = block * 32 + thread;
    float sum = 0.0f;

    for (int k = 0; k < 14336; ++k)
        sum += (float)x[(long long)row * 14336 + k];
    const long long first = (long long)row * 14336;
    if (first / 7 > 5)
        y[row] = sum + (float)(first % 1000);
}
