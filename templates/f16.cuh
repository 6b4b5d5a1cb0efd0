// IEEE half precision: two bytes in memory, computed with as float.
struct f16 {
    unsigned short bits;
    f16() = default;
    __device__ explicit f16(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); }
?double     __device__ explicit f16(double x) { asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(x)); }
?int     __device__ explicit f16(int x) { asm("cvt.rn.f16.s32 %0, %1;" : "=h"(bits) : "r"(x)); }
?unsigned     __device__ explicit f16(unsigned x) { asm("cvt.rn.f16.u32 %0, %1;" : "=h"(bits) : "r"(x)); }
?long     __device__ explicit f16(long long x) { asm("cvt.rn.f16.s64 %0, %1;" : "=h"(bits) : "l"(x)); }
?ulong     __device__ explicit f16(unsigned long long x) { asm("cvt.rn.f16.u64 %0, %1;" : "=h"(bits) : "l"(x)); }
    __device__ explicit operator float() const {
        float x;
        asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
        return x;
    }
};
