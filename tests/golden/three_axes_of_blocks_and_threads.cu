extern "C" __global__ void __launch_bounds__(24) three_axes_of_blocks_and_threads(
    int *__restrict__ x) { // [2][3][4][2][3][4]
    const int bx = blockIdx.x;
    const int by = blockIdx.y;
    const int bz = blockIdx.z;
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int tz = threadIdx.z;
    x[bz * 288 + by * 96 + bx * 24 + tz * 12 + ty * 4 + tx] += tx + ty * 10 + bz * 1000;
}
