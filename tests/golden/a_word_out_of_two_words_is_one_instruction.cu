extern "C" __global__ void __launch_bounds__(64) a_word_out_of_two_words_is_one_instruction(
    const unsigned *__restrict__ x, // [65]
    unsigned *__restrict__ y) { // [3][64]
    const int i = threadIdx.x;
    const unsigned low = x[i];
    const unsigned high = x[i + 1];
    y[i] = __funnelshift_r(low, high, 12);
    y[64 + i] = __funnelshift_r(low, high, 16) & 255;
    y[128 + i] = (low >> 12) | (high << 21);
}
