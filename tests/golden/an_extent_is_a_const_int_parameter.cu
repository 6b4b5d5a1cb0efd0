extern "C" __global__ void __launch_bounds__(4) an_extent_is_a_const_int_parameter(
    const int rows,
    const float *__restrict__ x, // [rows][16]
    float *__restrict__ y) { // [rows]
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int row = block * 4 + thread;
    if (row < rows) {
        float sum = 0.0f;
        for (int k = 0; k < 16; ++k)
            sum += x[(long long)row * 16 + k];
        y[row] = sum;
    }
}
