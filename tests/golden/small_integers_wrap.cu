extern "C" __global__ void __launch_bounds__(32) small_integers_wrap(
    const signed char *__restrict__ a, // [64]
    const unsigned short *__restrict__ b, // [64]
    signed char *__restrict__ c, // [64]
    unsigned short *__restrict__ d, // [64]
    bool *__restrict__ e) { // [64]
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int i = block * 32 + thread;
    c[i] = a[i] + a[63 - i];
    c[i] += 100;
    d[i] = (unsigned)b[i] * b[63 - i];
    e[i] = (signed char)(a[i] + 100) < (signed char)-a[i];
    d[i] = (unsigned short)(d[i] + 60000) / 3;
}
