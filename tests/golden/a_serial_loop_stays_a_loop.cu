extern "C" __global__ void __launch_bounds__(32) a_serial_loop_stays_a_loop(
    const float *__restrict__ x, // [32][24]
    float *__restrict__ y) { // [32]
    const int row = threadIdx.x;
    float sum = 0.0f;

    for (int k = 0; k < 8; ++k)
        sum += x[row * 24 + k];
    #pragma unroll 4
    for (int k = 0; k < 16; ++k)
        sum += x[row * 24 + k + 8];
    #pragma unroll
    for (int k = 0; k < 3; ++k)
        sum += x[row * 24 + k * 8];
    for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 6; ++j)
            sum += x[row * 24 + i * 6 + j];
    }
    y[row] = sum;
}
