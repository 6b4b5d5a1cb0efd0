extern "C" __global__ void __launch_bounds__(64) a_branch_knows_its_condition(
    const int *__restrict__ x, // [32]
    int *__restrict__ y) { // [32]
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    if (thread < 8) {
        const int i = block * 8 + thread;
        y[i] = x[i];
        if (x[i] < 7)
            y[i] = 7;
    } else if (block * 8 + thread < 32) {
        printf("%d\n", thread);
    }
}
