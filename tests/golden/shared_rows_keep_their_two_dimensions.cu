extern "C" __global__ void __launch_bounds__(128) shared_rows_keep_their_two_dimensions(
    const float *__restrict__ x, // [8][16]
    float *__restrict__ y) { // [16][8]
    __shared__ float tile_of_x[8][16];
    const int col = threadIdx.x;
    const int row = threadIdx.y;
    tile_of_x[row][col] = x[row * 16 + col];
    __syncthreads();

    y[col * 8 + row] = tile_of_x[row][col];
}
