extern "C" __global__ void __launch_bounds__(32) a_halo_begins_at_minus_one(
    const float *__restrict__ x, // [6][30]
    float *__restrict__ y) { // [6][30]
    __shared__ float s[8][33]; // 1 element of padding: rows on different banks
    const int tid_x = threadIdx.x;
    for (int i = 0; i < 8; ++i)
        s[i][tid_x] = i - 1 >= 0 && i - 1 < 6 && tid_x - 1 >= 0 && tid_x - 1 < 30
            ? x[(i - 1) * 30 + (tid_x - 1)] : 0.0f;
    __syncwarp(); // all of s is written before it is read

    for (int turn = 0; turn < 3; ++turn) {
        if (turn * 64 + tid_x * 2 < 180) {
            const int i = (turn * 64 + tid_x * 2) / 30;
            const int j = (turn * 64 + tid_x * 2) % 30;
            alignas(8) float y_piece[2];
            #pragma unroll
            for (int lane = 0; lane < 2; ++lane)
                y_piece[lane] = s[i][j + lane + 1] + s[i + 2][j + lane + 1];
            *(uint2 *)&y[i * 30 + j] = *(const uint2 *)y_piece;
        }
    }
}
