extern "C" __global__ void __launch_bounds__(64) what_launch_and_loop_say_needs_no_guard(
    const int rows,
    const float *__restrict__ x, // [rows][64]
    float *__restrict__ y, // [rows][64]
    float *__restrict__ z) { // [rows][64]
    const int pair = blockIdx.x;
    const int tid_x = threadIdx.x;
    const int row = pair * 2;
    y[(long long)row * 64 + tid_x] = x[(long long)row * 64 + tid_x];
    const int row_1 = row + 1;
    if (row_1 < rows)
        y[(long long)row_1 * 64 + tid_x] = x[(long long)row_1 * 64 + tid_x];
    for (int i = 0; i < min(2, rows - row); ++i) {
        const int row_2 = row + i;
        z[(long long)row_2 * 64 + tid_x] = x[(long long)row_2 * 64 + tid_x];
    }
}
