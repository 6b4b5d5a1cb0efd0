extern "C" __global__ void __launch_bounds__(32) a_view_reads_the_same_bytes(
    const f16 *__restrict__ x, // [64]
    unsigned *__restrict__ y, // [32]
    unsigned short *__restrict__ z) { // [64]
    const unsigned short *x_u16 = (const unsigned short *)x;
    alignas(4) __shared__ f16 halves[4][16];
    unsigned (*halves_u32)[8] = (unsigned (*)[8])halves;
    const int thread = threadIdx.x;
    halves[thread / 8][thread % 8 * 2] = x[thread];
    halves[thread / 8][thread % 8 * 2 + 1] = x[thread + 32];
    alignas(4) f16 pair[2];
    unsigned &pair_u32 = *(unsigned *)pair;
    pair[0] = x[thread];
    pair[1] = x[thread];
    __syncthreads();

    y[thread] = halves_u32[thread / 8][thread % 8] ^ pair_u32;
    z[thread * 2] = x_u16[thread];
    z[thread * 2 + 1] = ~x_u16[thread];
}
