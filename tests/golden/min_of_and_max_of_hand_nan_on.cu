extern "C" __global__ void __launch_bounds__(32) min_of_and_max_of_hand_nan_on(
    const float *__restrict__ x, // [64]
    double *__restrict__ y, // [64]
    const bf16 *__restrict__ z, // [64]
    long long *__restrict__ n, // [64]
    float *__restrict__ smaller, // [64]
    bf16 *__restrict__ larger) { // [64]
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int i = block * 32 + thread;
    const float nan = logf(i % 7 == 0 ? -1.0f : 1.0f) - 0.0f;
    smaller[i] = min_nan(max_nan(x[i], nan), 0.5f);
    y[i] = min_nan(y[i], (double)x[63 - i]);
    larger[i] = max_nan(z[i], z[63 - i]);
    n[i] = max(min(n[i], (long long)i * i), 3LL);
}
