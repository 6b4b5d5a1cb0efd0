// host_conversions.cpp -- what f16 and bf16 of host_cuda.h make of 64-bit patterns: test_prelude.c holds it against
// value.h.  Reads patterns from the standard input; writes, for each, twelve 32-bit numbers: f16 and bf16 of the
// pattern as double, float, long long, unsigned long long and int, then the float that its low 16 bits are as f16
// and as bf16.
#include "host_cuda.h"

const host_kernel host_kernels[] = {{nullptr, nullptr}};

int main() {
    uint64_t bits;
    while (fread(&bits, sizeof bits, 1, stdin) == 1) {
        const double d = host_bits<double>(bits);
        const float s = host_bits<float>((uint32_t)bits);
        f16 h;
        bf16 b;
        h.bits = b.bits = (unsigned short)bits;
        const uint32_t out[] = {
            f16(d).bits, bf16(d).bits, f16(s).bits, bf16(s).bits, f16((long long)bits).bits,
            bf16((long long)bits).bits, f16((unsigned long long)bits).bits, bf16((unsigned long long)bits).bits,
            f16((int)bits).bits, bf16((int)bits).bits, __float_as_uint((float)h), __float_as_uint((float)b),
        };
        fwrite(out, sizeof out, 1, stdout);
    }
}
