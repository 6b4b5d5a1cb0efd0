extern "C" __global__ void __launch_bounds__(32) atomics_of_plain_numbers_are_cudas_own(
    const int *__restrict__ x, // [64]
    int *__restrict__ sums, // [4]
    long long *__restrict__ wide, // [4]
    unsigned long long *__restrict__ unsigned_wide, // [4]
    double *__restrict__ reals, // [4]
    unsigned *__restrict__ extremes, // [2]
    long long *__restrict__ largest) { // [4]
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int i = block * 32 + thread;
    const int bin = i % 4;
    atomicAdd(&sums[bin], x[i]);
    atomic_add(&wide[bin], (long long)x[i]);
    atomicAdd(&unsigned_wide[bin], (unsigned long long)i);
    atomicAdd(&reals[bin], (double)i);
    atomicMax(&extremes[0], (unsigned)i);
    atomicMin(&extremes[1], (unsigned)i);
    atomicMax(&largest[bin], (long long)i);
}
