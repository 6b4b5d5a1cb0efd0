extern "C" __global__ void __launch_bounds__(32) bitcast_keeps_the_bits(
    float *__restrict__ x, // [32]
    f16 *__restrict__ h, // [32]
    const double *__restrict__ d, // [32]
    unsigned *__restrict__ u, // [32]
    unsigned short *__restrict__ s, // [32]
    long long *__restrict__ l) { // [32]
    const int i = threadIdx.x;
    u[i] = __float_as_uint(x[i]) ^ 0x80000000u;
    s[i] = bits_as<unsigned short>(h[i]);
    l[i] = __double_as_longlong(d[i]);
    x[i] = __uint_as_float(u[i] & 0xffffff00u);
    h[i] = bits_as<f16>((unsigned short)(s[i] ^ 0x8000));
}
