extern "C" __global__ void __launch_bounds__(32) casts_round_once(
    double *__restrict__ d, // [64]
    int *__restrict__ n, // [64]
    const long long *__restrict__ l, // [64]
    f16 *__restrict__ h, // [64]
    bf16 *__restrict__ b, // [64]
    float *__restrict__ x, // [64]
    signed char *__restrict__ c, // [64]
    bool *__restrict__ t) { // [64]
    const int block = blockIdx.x;
    const int thread = threadIdx.x;
    const int i = block * 32 + thread;
    h[i] = (f16)d[i];
    b[i] = (bf16)d[i];
    x[i] += (float)(bf16)n[i];
    x[i] += (float)(f16)l[i];
    x[i] += (float)(bf16)l[i];
    x[i] += (float)(bf16)(unsigned)n[i];
    x[i] += (float)(f16)(unsigned long long)l[i];
    x[i] += (float)(f16)(float)i;
    x[i] += (float)c[i];
    n[i] = (int)(float)(h[i] * (f16)3.0f);
    c[i] = (signed char)l[i];
    t[i] = (bool)(float)h[i];
    d[i] = (double)(float)b[i] + (double)t[i];
}
