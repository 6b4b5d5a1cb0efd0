extern "C" __global__ void __launch_bounds__(64) a_neighbour_that_is_stored_is_no_gather(
    const float *x, // [16][65]
    float *y) { // [16][64]
    const int tid_x = threadIdx.x;
    for (int turn = 0; turn < 4; ++turn) {
        const int i = turn * 4 + tid_x / 16;
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane) {
            const int j = tid_x % 16 * 4 + lane;
            y[i * 64 + j] = x[i * 65 + j + 1];
        }
    }
}
