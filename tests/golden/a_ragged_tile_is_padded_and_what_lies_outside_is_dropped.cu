extern "C" __global__ void __launch_bounds__(128) a_ragged_tile_is_padded_and_what_lies_outside_is_dropped(
    const f16 *__restrict__ x, // [100][1000]
    float *__restrict__ y) { // [100][1000]
    alignas(16) __shared__ f16 s[16][64];
    const int col_block = blockIdx.x;
    const int row_block = blockIdx.y;
    const int tid_x = threadIdx.x;
    const int row = tid_x / 8;
    const int col = tid_x % 8 * 8;
    if (row_block * 16 + row < 100 && col_block * 64 + col < 1000)
        *(uint4 *)&s[row][col] =
            load_once((const uint4 *)&x[(row_block * 16 + row) * 1000 + col_block * 64 + col]);
    else
        *(uint4 *)&s[row][col] = make_uint4(0, 0, 0, 0);
    __syncthreads(); // all of s is written before it is read

    for (int i = 0; i < 2; ++i) {
        const int row_1 = i * 8 + tid_x / 16;
        const int col_1 = tid_x % 16 * 4;
        if (row_block * 16 + row_1 < 100 && col_block * 64 + col_1 < 1000) {
            alignas(8) f16 s_piece[4];
            *(uint2 *)s_piece = *(const uint2 *)&s[row_1][col_1];
            alignas(16) float y_piece[4];
            #pragma unroll
            for (int k = 0; k < 4; ++k)
                y_piece[k] = (float)s_piece[k];
            *(uint4 *)&y[(row_block * 16 + row_1) * 1000 + col_block * 64 + col_1] = *(const uint4 *)y_piece;
        }
    }
}
