extern "C" __global__ void __launch_bounds__(64) a_dependent_launch_reads_constants_before_it_waits(
    const f16 *__restrict__ weight, // [64]
    const f16 *x, // [64]
    f16 *y) { // [64]
    const int t = threadIdx.x;
    const float factor = (float)weight[t];
    grid_wait(); // the launches before have ended
    launch_dependents(); // the next launch may start
    y[t] = (f16)(factor * (float)x[t]);
}
