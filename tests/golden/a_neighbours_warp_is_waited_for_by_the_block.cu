extern "C" __global__ void __launch_bounds__(64) a_neighbours_warp_is_waited_for_by_the_block(
    const float *__restrict__ x, // [64]
    float *__restrict__ y) { // [64]
    __shared__ float s[64];
    const int tid_x = threadIdx.x;
    s[tid_x] = x[tid_x];
    s[tid_x] = s[tid_x] * 2.0f;
    __syncwarp(); // the warp's part of s is written before it is read

    y[tid_x] = s[tid_x ^ 1];
    s[tid_x ^ 1] += 1.0f;
    __syncthreads(); // all of s is written before it is read

    y[tid_x] += s[tid_x ^ 32];
}
