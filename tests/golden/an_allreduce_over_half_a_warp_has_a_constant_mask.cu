extern "C" __global__ void __launch_bounds__(12) an_allreduce_over_half_a_warp_has_a_constant_mask(
    const double *__restrict__ x, // [3][4]
    double *__restrict__ y) { // [3]
    __shared__ double total_partial[4][3];
    const int row = threadIdx.x;
    const int col = threadIdx.y;
    total_partial[col][row] = x[row * 4 + col];
    __syncthreads(); // every partial minimum is in total_partial before it is read

    const double total =
        min_nan(min_nan(min_nan(total_partial[0][row], total_partial[1][row]), total_partial[2][row]),
        total_partial[3][row]);
    y[row] = total;
}
