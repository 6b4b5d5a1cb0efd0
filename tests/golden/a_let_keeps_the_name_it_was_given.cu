extern "C" __global__ void __launch_bounds__(32) a_let_keeps_the_name_it_was_given(
    const float *__restrict__ x, // [64]
    float *__restrict__ y) { // [64]
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int i = block * 32 + thread;
    const float twice = x[i] * 2.0f;
    y[i] = twice * twice;
}
