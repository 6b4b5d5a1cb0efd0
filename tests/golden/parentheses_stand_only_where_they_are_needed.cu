extern "C" __global__ void __launch_bounds__(32) parentheses_stand_only_where_they_are_needed(
    const float *__restrict__ x, // [64]
    float *__restrict__ y, // [64]
    int *__restrict__ n, // [64]
    bool *__restrict__ t) { // [64]
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int i = block * 32 + thread;
    const float a = x[i];
    const float b = x[63 - i];
    y[i] = (a + b) * (a - b) - (a - (b - a * (b / (a + 8.0f))));
    n[i] = (i + 1) * (i - 2) / ((i + 3) * 2);
    n[i] += i / 4 % 3;
    t[i] = (a < b && !(i == 3)) || ((a < 0.0f) == (b < 0.0f) && -(-a) > 0.0f);
}
