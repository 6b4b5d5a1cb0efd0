extern "C" __global__ void __launch_bounds__(32) aliased_tensors_are_not_restrict(
    const float *x, // [32]
    float *y, // [32]
    const float *__restrict__ z) { // [32]
    const int i = threadIdx.x;
    y[i] = x[i] * z[i];
}
