// The upper half of a float: two bytes in memory, computed with as float.
struct bf16 {
    unsigned short bits;
    bf16() = default;
    __device__ explicit bf16(float x) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
?double     __device__ explicit bf16(double x) : bf16(float_to_odd(x)) {}
?int     __device__ explicit bf16(int x) : bf16(float_to_odd(x)) {}
?unsigned     __device__ explicit bf16(unsigned x) : bf16(float_to_odd(x)) {}
?long     __device__ explicit bf16(long long x) : bf16(float_to_odd(x)) {}
?ulong     __device__ explicit bf16(unsigned long long x) : bf16(float_to_odd(x)) {}
    __device__ explicit operator float() const { return __uint_as_float((unsigned)bits << 16); }
};
