extern "C" __global__ void __launch_bounds__(64) pitched_rows_lie_further_apart(
    const float *__restrict__ x, // [4][16], rows 20 apart
    float *__restrict__ y) { // [4][16], rows 24 apart
    const int col = threadIdx.x;
    const int row = threadIdx.y;
    y[row * 24 + col] = x[row * 20 + col];
}
