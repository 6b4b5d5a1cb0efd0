extern "C" __global__ void __launch_bounds__(32) an_inner_name_does_not_hide_an_outer_one(
    float *__restrict__ x) { // [32][8]
    const int i = threadIdx.x;
    for (int k = 0; k < 8; ++k) {
        const float value = x[i * 8 + k];
        for (int k_1 = 0; k_1 < 2; ++k_1) {
            const float value_1 = value + (float)k_1;
            x[i * 8 + k_1 * 2 + 1] += value_1 + value;
        }
    }
    for (int k = 0; k < 8; ++k)
        x[i * 8 + k] += 1.0f;
}
