// x towards zero, with the lowest bit set where something was lost: rounding that to bf16 gives what rounding x
// itself would.
__device__ inline float mark_loss(float x, bool lost) { return lost ? __int_as_float(__float_as_int(x) | 1) : x; }
?double __device__ inline float float_to_odd(double x) {
?double     const float y = __double2float_rz(x);
?double     return mark_loss(y, (double)y != x);
?double }
?int __device__ inline float float_to_odd(int x) {
?int     const float y = __int2float_rz(x);
?int     return mark_loss(y, (int)y != x);
?int }
?unsigned __device__ inline float float_to_odd(unsigned x) {
?unsigned     const float y = __uint2float_rz(x);
?unsigned     return mark_loss(y, (unsigned)y != x);
?unsigned }
?long __device__ inline float float_to_odd(long long x) {
?long     const float y = __ll2float_rz(x);
?long     return mark_loss(y, (long long)y != x);
?long }
?ulong __device__ inline float float_to_odd(unsigned long long x) {
?ulong     const float y = __ull2float_rz(x);
?ulong     return mark_loss(y, (unsigned long long)y != x);
?ulong }
