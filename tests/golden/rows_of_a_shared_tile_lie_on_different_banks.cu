extern "C" __global__ void __launch_bounds__(128) rows_of_a_shared_tile_lie_on_different_banks(
    const float *__restrict__ x, // [64][96]
    float *__restrict__ y) { // [96][64]
    alignas(16) __shared__ float square[32][36]; // 4 elements of padding: rows on different banks
    const int pid_m = blockIdx.x;
    const int pid_n = blockIdx.y;
    const int tid_x = threadIdx.x;
    for (int i = 0; i < 2; ++i) {
        const int row = i * 16 + tid_x / 8;
        const int col = tid_x % 8 * 4;
        *(uint4 *)&square[row][col] =
            load_once((const uint4 *)&x[(pid_m * 32 + row) * 96 + pid_n * 32 + col]);
    }
    __syncthreads(); // all of square is written before it is read

    for (int turn = 0; turn < 2; ++turn) {
        const int i = turn * 16 + tid_x / 8;
        const int j = tid_x % 8 * 4;
        alignas(16) float y_piece[4];
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            y_piece[lane] = square[j + lane][i];
        *(uint4 *)&y[(pid_n * 32 + i) * 64 + pid_m * 32 + j] = *(const uint4 *)y_piece;
    }
}
