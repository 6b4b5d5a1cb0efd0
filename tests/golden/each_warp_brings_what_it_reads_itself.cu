extern "C" __global__ void __launch_bounds__(128) each_warp_brings_what_it_reads_itself(
    const unsigned char *__restrict__ x, // [16][1536]
    unsigned *__restrict__ y) { // [16][128]
    alignas(16) __shared__ unsigned char rows[2][4][1536];
    unsigned (*rows_u32)[4][128][3] = (unsigned (*)[4][128][3])rows;
    const int tid_x = threadIdx.x;
    for (int i = 0; i < 3; ++i) {
        const int row = tid_x / 8 % 4;
        const int col = tid_x / 32 * 384 + i * 128 + tid_x % 8 * 16;
        copy_async<16>(&rows[0][row][col], &x[row * 1536 + col]);
    }
    copy_async_commit();
    // copies run 1 iteration ahead
    for (int i_tile = 0; i_tile < 4; ++i_tile) {
        copy_async_wait<0>();
        __syncwarp(); // the warp's part of rows has landed before it is read

        if (i_tile + 1 < 4) {
            const int i_tile_ahead = i_tile + 1;
            for (int i = 0; i < 3; ++i) {
                const int row = tid_x / 8 % 4;
                const int col = tid_x / 32 * 384 + i * 128 + tid_x % 8 * 16;
                copy_async<16>(&rows[i_tile_ahead % 2][row][col], &x[(i_tile_ahead * 4 + row) * 1536 + col]);
            }
        }
        copy_async_commit();
        #pragma unroll
        for (int i = 0; i < 4; ++i)
            y[(i_tile * 4 + i) * 128 + tid_x] = rows_u32[i_tile % 2][i][tid_x][0]
                + rows_u32[i_tile % 2][i][tid_x][1] + rows_u32[i_tile % 2][i][tid_x][2];
    }
}
