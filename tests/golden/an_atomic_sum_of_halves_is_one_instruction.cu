extern "C" __global__ void __launch_bounds__(32) an_atomic_sum_of_halves_is_one_instruction(
    const f16 *__restrict__ x, // [32]
    const bf16 *__restrict__ y, // [32]
    f16 *__restrict__ sums, // [2]
    bf16 *__restrict__ more) { // [2]
    const int thread = threadIdx.x;
    atomic_add(&sums[thread % 2], x[thread]);
    atomic_add(&more[thread % 2], y[thread]);
}
