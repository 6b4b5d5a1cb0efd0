extern "C" __global__ void __launch_bounds__(1) literals_read_back_as_what_they_were(
    float *__restrict__ x, // [12]
    double *__restrict__ y, // [4]
    long long *__restrict__ n, // [4]
    unsigned *__restrict__ u) { // [2]
    x[0] = 0.1f;
    x[1] = 1e-5f;
    x[2] = -3.0f;
    x[3] = 1e30f;
    x[4] = INFINITY;
    x[5] = -INFINITY;
    x[6] = -0.0f;
    x[7] = 16777216.0f;
    x[8] = 0.33333334f;
    y[0] = 0.1;
    y[1] = 0.3333333333333333;
    y[2] = (double)-INFINITY;
    n[0] = (-9223372036854775807LL - 1);
    n[1] = 5000000000LL;
    n[2] = -2147483648;
    u[0] = 4294967295u;
    u[1] = u[1] + 4294967295u;
}
