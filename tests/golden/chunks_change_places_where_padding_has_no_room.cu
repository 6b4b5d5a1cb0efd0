extern "C" __global__ void __launch_bounds__(224) chunks_change_places_where_padding_has_no_room(
    const float *__restrict__ x, // [448][256]
    float *__restrict__ y) { // [448]
    extern __shared__ __align__(16) unsigned char shared_memory[];
    float (*tile_x)[256] = (float (*)[256])shared_memory; // 16-byte chunk c of a row lies at c ^ row % 8: rows on different banks
    const int pid = blockIdx.x;
    const int tid_x = threadIdx.x;
    for (int i = 0; i < 32; ++i) {
        for (int j = 0; j < 2; ++j) {
            const int row = tid_x / 32 * 32 + i;
            const int col = j * 128 + tid_x % 32 * 4;
            *(uint4 *)&tile_x[row][col ^ (row % 8 * 4)] = *(const uint4 *)&x[(pid * 224 + row) * 256 + col];
        }
    }
    float sums = 0.0f;
    __syncwarp(); // the warp's part of tile_x is written before it is read

    #pragma unroll
    for (int k_piece = 0; k_piece < 64; ++k_piece) {
        alignas(16) float tile_x_piece[4];
        *(uint4 *)tile_x_piece = *(const uint4 *)&tile_x[tid_x][(k_piece * 4) ^ (tid_x % 8 * 4)];
        #pragma unroll
        for (int lane = 0; lane < 4; ++lane)
            sums += tile_x_piece[lane];
    }
    y[pid * 224 + tid_x] = sums;
}
