extern "C" __global__ void __launch_bounds__(32) arithmetic_on_halves_is_in_float_and_rounded_once(
    const f16 *__restrict__ x, // [32]
    const bf16 *__restrict__ y, // [32]
    f16 *__restrict__ z, // [32]
    bf16 *__restrict__ w) { // [32]
    const int i = threadIdx.x;
    z[i] = x[i] * x[31 - i] + x[i] / (f16)3.0f;
    z[i] += -x[i];
    w[i] = y[i] < (bf16)0.25f ? y[i] - (bf16)1.5f : y[i];
    w[i] += (bf16)0.125f;
}
