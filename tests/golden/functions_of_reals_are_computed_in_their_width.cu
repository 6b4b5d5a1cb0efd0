extern "C" __global__ void __launch_bounds__(32) functions_of_reals_are_computed_in_their_width(
    float *__restrict__ x, // [32]
    double *__restrict__ y, // [32]
    f16 *__restrict__ z) { // [32]
    const int i = threadIdx.x;
    const float a = fabsf(x[i]) + 0.5f;
    x[i] = sqrtf(a) + rsqrtf(a) + (expf(-a) + (logf(a) + tanhf(a)));
    y[i] = sqrt(fabs(y[i])) + exp(y[i]);
    z[i] = (f16)expf((float)z[i]) + (f16)fabsf((float)z[i]);
}
