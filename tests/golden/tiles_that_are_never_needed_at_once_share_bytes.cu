extern "C" __global__ void __launch_bounds__(128) tiles_that_are_never_needed_at_once_share_bytes(
    const float *__restrict__ x, // [64][64]
    const float *__restrict__ y, // [128][32]
    float *__restrict__ sum_of_x, // [64]
    float *__restrict__ sum_of_y) { // [128]
    __shared__ __align__(16) unsigned char shared_memory[18432];
    float (*square)[68] = (float (*)[68])shared_memory; // 4 elements of padding: rows on different banks
    float (*slab)[36] = (float (*)[36])shared_memory; // 4 elements of padding: rows on different banks
    const int tid_x = threadIdx.x;
    for (int i = 0; i < 8; ++i) {
        const int row = i * 8 + tid_x / 16;
        const int col = tid_x % 16 * 4;
        *(uint4 *)&square[row][col] = load_once((const uint4 *)&x[row * 64 + col]);
    }
    float of_row = 0.0f;
    const int i = tid_x % 64;
    __syncthreads(); // all of square is written before it is read

    #pragma unroll
    for (int k_piece = 0; k_piece < 16; ++k_piece) {
        alignas(16) float square_piece[4];
        *(uint4 *)square_piece = *(const uint4 *)&square[i][k_piece * 4];
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            of_row += square_piece[lane];
    }
    if (tid_x < 64)
        sum_of_x[tid_x] = of_row;
    __syncthreads(); // all are done with square, whose bytes become slab

    for (int i_1 = 0; i_1 < 8; ++i_1) {
        const int row = i_1 * 16 + tid_x / 8;
        const int col = tid_x % 8 * 4;
        *(uint4 *)&slab[row][col] = load_once((const uint4 *)&y[row * 32 + col]);
    }
    float of_line = 0.0f;
    __syncthreads(); // all of slab is written before it is read

    #pragma unroll
    for (int k_piece = 0; k_piece < 8; ++k_piece) {
        alignas(16) float slab_piece[4];
        *(uint4 *)slab_piece = *(const uint4 *)&slab[tid_x][k_piece * 4];
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            of_line += slab_piece[lane];
    }
    sum_of_y[tid_x] = of_line;
}
