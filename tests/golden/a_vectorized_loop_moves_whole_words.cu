extern "C" __global__ void __launch_bounds__(32) a_vectorized_loop_moves_whole_words(
    const f16 *__restrict__ x, // [32][16]
    f16 *__restrict__ y) { // [32][16]
    const int row = threadIdx.x;
    alignas(16) f16 words[16];

    #pragma unroll
    for (int k_piece = 0; k_piece < 2; ++k_piece)
        *(uint4 *)&words[k_piece * 8] = *(const uint4 *)&x[row * 16 + k_piece * 8];
    for (int k = 0; k < 16; ++k)
        words[k] = words[k] + words[15 - k];
    #pragma unroll
    for (int k_piece = 0; k_piece < 2; ++k_piece)
        *(uint4 *)&y[row * 16 + k_piece * 8] = *(const uint4 *)&words[k_piece * 8];
}
