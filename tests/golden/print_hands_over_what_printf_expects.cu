extern "C" __global__ void __launch_bounds__(1) print_hands_over_what_printf_expects(
    const f16 *__restrict__ h) { // [1]
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int i = thread + block;
    printf("nothing but 100%% text \\ \"quoted\"\n");
    printf("%d %lld %g %u\n", i, (long long)(i + 5), (float)h[0], (unsigned)i);
    printf("%f %x\n", (float)i, 7);
}
