extern "C" __global__ void __launch_bounds__(32) bits_and_shifts_are_bracketed_for_the_reader(
    unsigned *__restrict__ a, // [64]
    long long *__restrict__ b, // [64]
    bool *__restrict__ c) { // [64]
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int i = block * 32 + thread;
    const unsigned x = a[i];
    a[i] = (x & 255) | ((x ^ (x >> 3)) << (thread % 4 + 1));
    b[i] = (b[i] << 2) >> 1;
    c[i] = ((x & 1) == 0) | !c[i];
}
