extern "C" __global__ void __launch_bounds__(32) a_check_names_itself_and_carries_on(
    const float *__restrict__ x, // [32]
    float *__restrict__ y, // [32]
    check_record *checks) {
    const int thread = threadIdx.x;
    if (!(x[thread] >= -2.0f)) check_failed(checks, 0); // x is not below -2
    if (!true) check_failed(checks, 1); // thread is inside
    y[thread] = x[thread];
}
