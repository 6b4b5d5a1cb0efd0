// What x is in the lane whose number differs in the bits of `lanes`; `mask` names all lanes that take part.
__device__ inline $T shuffle_xor(unsigned mask, $T x, int lanes) {
    x.bits = (unsigned short)__shfl_xor_sync(mask, (unsigned)x.bits, lanes);
    return x;
}
