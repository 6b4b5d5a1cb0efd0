extern "C" __global__ void __launch_bounds__(32) choose_reads_only_the_side_it_takes(
    const float *__restrict__ x, // [50]
    float *__restrict__ y) { // [64]
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int i = block * 32 + thread;
    y[i] = i < 50 ? x[i] : i % 2 == 0 ? 0.5f : -0.5f;
}
