extern "C" __global__ void __launch_bounds__(64) a_gather_beside_wide_accesses(
    const float *__restrict__ x, // [16][64]
    const unsigned char *__restrict__ index, // [64]
    const float *__restrict__ table, // [256]
    float *__restrict__ y) { // [16][64]
    const int tid_x = threadIdx.x;
    for (int turn = 0; turn < 4; ++turn) {
        const int i = turn * 4 + tid_x / 16;
        const int j = tid_x % 16 * 4;
        alignas(16) float x_piece[4];
        *(uint4 *)x_piece = *(const uint4 *)&x[i * 64 + j];
        alignas(4) unsigned char index_piece[4];
        *(unsigned *)index_piece = *(const unsigned *)&index[j];
        alignas(16) float y_piece[4];
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            y_piece[lane] = x_piece[lane] + table[index_piece[lane]] + table[j + lane + 1];
        *(uint4 *)&y[i * 64 + j] = *(const uint4 *)y_piece;
    }
}
