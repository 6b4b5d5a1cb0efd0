extern "C" __global__ void __launch_bounds__(32) clear_and_fill_of_shared_are_shared_out(
    float *__restrict__ y) { // [5][20]
    alignas(8) __shared__ float tile_of_y[5][20];
    __shared__ float ones[20];
    const int thread = threadIdx.x;
    if (thread < 30) {
        for (int i = 0; i < 2; ++i) {
            if (i * 3 + thread / 10 < 5)
                *(uint2 *)&tile_of_y[i * 3 + thread / 10][thread % 10 * 2] = make_uint2(0, 0);
        }
    }
    if (thread < 20)
        ones[thread] = 1.0f;
    float mine[3];

    #pragma unroll
    for (int k = 0; k < 3; ++k)
        mine[k] = 0.5f;
    __syncwarp(); // all of tile_of_y is written before it is read

    for (int k = 0; k < 5; ++k) {
        if (thread < 20)
            y[k * 20 + thread] = tile_of_y[k][thread] + ones[thread] + mine[k % 3];
    }
}
