extern "C" __global__ void __launch_bounds__(32) when_and_otherwise_are_if_and_else(
    const int *__restrict__ x, // [100]
    int *__restrict__ y) { // [100]
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int i = block * 32 + thread;
    if (i < 100) {
        if (x[i] < 0) {
            y[i] = -1;
        } else if (x[i] > 1000) {
            y[i] = 1;
        } else {
            y[i] = 0;
            y[i] += x[i];
        }
    }
}
