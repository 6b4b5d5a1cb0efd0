extern "C" __global__ void __launch_bounds__(32) a_loop_keeps_the_trips_it_began_with(
    const int *__restrict__ x, // [32]
    int *__restrict__ y) { // [32]
    __shared__ int most[1];
    const int tid = threadIdx.x;
    if (tid == 0)
        most[0] = (x[3] & 3) + 2;
    int left = x[tid] & 7;
    const int i_trips = left;

    for (int i = 0; i < i_trips; ++i) {
        left = left - 1;
        y[tid] += i;
    }
    __syncwarp(); // all of most is written before it is read

    const int i_trips_1 = most[0];
    __syncwarp(); // most has been read before it is written again

    for (int i = 0; i < i_trips_1; ++i) {
        if (tid == 0)
            most[0] = 0;
        y[tid] += i + 100;
    }
    const int i_trips_2 = y[tid] & 7;
    const int j_trips = x[tid] & 3;

    for (int i = 0; i < i_trips_2; ++i) {
        for (int j = 0; j < j_trips; ++j)
            y[tid] = (y[tid] & 0x3ff) * 3 + (i + j);
    }
}
