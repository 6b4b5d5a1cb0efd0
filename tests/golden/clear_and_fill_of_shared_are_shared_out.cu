extern "C" __global__ void __launch_bounds__(32) clear_and_fill_of_shared_are_shared_out(
    float *__restrict__ y) { // [5][20]
    __shared__ float tile_of_y[5][20];
    __shared__ float ones[20];
    const int thread = threadIdx.x;
    for (int i = 0; i < 4; ++i) {
        if (i * 32 + thread < 100)
            tile_of_y[(i * 32 + thread) / 20][(i * 32 + thread) % 20] = 0.0f;
    }
    if (thread < 20)
        ones[thread] = 1.0f;
    float mine[3];

    #pragma unroll
    for (int i = 0; i < 3; ++i)
        mine[i] = 0.5f;
    __syncthreads(); // all of tile_of_y is written before it is read

    for (int k = 0; k < 5; ++k) {
        if (thread < 20)
            y[k * 20 + thread] = tile_of_y[k][thread] + ones[thread] + mine[k % 3];
    }
}
