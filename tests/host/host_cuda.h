// host_cuda.h -- lets a C++ compiler for the CPU build emitted CUDA text as it stands.  For tests only.
//
//     #include "host_cuda.h"
//     namespace kernel_0 {
//     #include "gemv.cu"
//     }
//     const host_kernel host_kernels[] = {{"gemv", HOST_CALL(kernel_0::gemv)}, {nullptr, nullptr}};
//
// compiled by c++ -std=c++17 -O1 -ffp-contract=off -fno-strict-aliasing -Wno-unknown-pragmas and linked with
// host_main.cpp is a program that runs the kernel on the CPU.
//
// The threads of a block are fibers of one thread of the system, so that shared memory is thread_local storage
// and nothing needs a lock.  A fiber runs until it meets a barrier or a shuffle; then the next one of its warp, until
// the warp comes no further; then the next warp.  Barriers wait for all fibers that have not ended, those of a warp for
// all of its lanes, shuffles for all lanes of their mask, which must be just the lanes that exist.
//
// TEGULA_PRELUDE leaves out the parts of the prelude that are made of PTX; their like stands here, written from
// what value.h says and not from the prelude.
#ifndef HOST_CUDA_H
#define HOST_CUDA_H
#define TEGULA_PRELUDE

// One line a function, as in a table.
// clang-format off

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utility>

// ---- the words of CUDA ---------------------------------------------------------------------------------------

#define __global__
#define __device__
#define __shared__ thread_local
#define __restrict__ __restrict
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)

struct uint3 {
    unsigned x, y, z;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
inline uint2 make_uint2(unsigned x, unsigned y) {
    return {x, y};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
    return {x, y, z, w};
}

extern thread_local uint3 threadIdx, blockIdx;
extern "C" thread_local unsigned char shared_memory[];

// ---- what the machine does when fibers wait (host_main.cpp) ----------------------------------------------------

void host_barrier();
void host_barrier_warp();
// The bits that the lane with this number differing by xor holds; all lanes of the mask must come.
uint64_t host_shuffle(uint64_t mask, uint64_t bits, int lanes);
int host_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define printf host_printf

inline void __syncthreads() {
    host_barrier();
}
inline void __syncwarp() {
    host_barrier_warp();
}

inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (n & 31));
}
template <typename T> inline T __shfl_xor_sync(unsigned mask, T x, int lanes) {
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof x);
    bits = host_shuffle(mask, bits, lanes);
    memcpy(&x, &bits, sizeof x);
    return x;
}
// Narrow integers travel as int, as in CUDA.
inline int __shfl_xor_sync(unsigned mask, signed char x, int lanes) {
    return __shfl_xor_sync(mask, (int)x, lanes);
}
inline int __shfl_xor_sync(unsigned mask, unsigned char x, int lanes) {
    return __shfl_xor_sync(mask, (int)x, lanes);
}
inline int __shfl_xor_sync(unsigned mask, short x, int lanes) {
    return __shfl_xor_sync(mask, (int)x, lanes);
}
inline int __shfl_xor_sync(unsigned mask, unsigned short x, int lanes) {
    return __shfl_xor_sync(mask, (int)x, lanes);
}
inline int __shfl_xor_sync(unsigned mask, bool x, int lanes) {
    return __shfl_xor_sync(mask, (int)x, lanes);
}

// ---- atomics: fibers give way only where they wait --------------------------------------------------------------

template <typename T> inline T atomicAdd(T *place, T x) {
    const T before = *place;
    *place = before + x;
    return before;
}
template <typename T> inline T atomicMin(T *place, T x) {
    const T before = *place;
    *place = x < before ? x : before;
    return before;
}
template <typename T> inline T atomicMax(T *place, T x) {
    const T before = *place;
    *place = before < x ? x : before;
    return before;
}
template <typename T> inline T atomicCAS(T *place, T expected, T x) {
    const T before = *place;
    if (before == expected)
        *place = x;
    return before;
}

// ---- functions that CUDA has built in ---------------------------------------------------------------------------

template <typename T, typename S> inline T host_bits(S x) {
    static_assert(sizeof(T) == sizeof(S), "same size");
    T y;
    memcpy(&y, &x, sizeof y);
    return y;
}
inline int __float_as_int(float x) { return host_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return host_bits<unsigned>(x); }
inline float __int_as_float(int x) { return host_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return host_bits<float>(x); }
inline long long __double_as_longlong(double x) { return host_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return host_bits<double>(x); }

// The overloads of CUDA, so that a call that is ambiguous there is ambiguous here.
#define HOST_MIN_MAX(T) \
    inline T min(T x, T y) { return y < x ? y : x; } \
    inline T max(T x, T y) { return x < y ? y : x; }
HOST_MIN_MAX(int)
HOST_MIN_MAX(unsigned)
HOST_MIN_MAX(long)
HOST_MIN_MAX(unsigned long)
HOST_MIN_MAX(long long)
HOST_MIN_MAX(unsigned long long)
inline int host_abs(int x) { return x < 0 ? -x : x; }
inline long long host_abs(long long x) { return x < 0 ? -x : x; }
#define abs host_abs

inline float rsqrtf(float x) { return (float)(1.0 / sqrt((double)x)); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }

// ---- f16 and bf16 -----------------------------------------------------------------------------------------------

// An exact number: sign * mantissa * 2^exponent with an integer mantissa, and what was cut off below it.
struct host_number {
    bool negative, special, nan; // special: infinity or NaN
    uint64_t mantissa;
    int exponent;
};

inline host_number host_number_of(double x) {
    const uint64_t bits = host_bits<uint64_t>(x);
    const int field = (int)(bits >> 52 & 0x7ff);
    host_number n = {bits >> 63 != 0, field == 0x7ff, false, bits & 0xfffffffffffffULL, field - 1075};
    n.nan = n.special && n.mantissa != 0;
    if (field != 0)
        n.mantissa |= 1ULL << 52;
    else
        n.exponent = -1074;
    return n;
}
inline host_number host_number_of(float x) { return host_number_of((double)x); }
inline host_number host_number_of(unsigned long long x) { return {false, false, false, x, 0}; }
inline host_number host_number_of(long long x) {
    return {x < 0, false, false, x < 0 ? 0 - (uint64_t)x : (uint64_t)x, 0};
}
inline host_number host_number_of(int x) { return host_number_of((long long)x); }
inline host_number host_number_of(unsigned x) { return host_number_of((unsigned long long)x); }

// To the nearest of a format with `bits` of mantissa (the leading one included) and a least exponent; ties to even.
inline uint16_t host_round(host_number n, int bits, int least, int largest_field) {
    const uint16_t sign = n.negative ? 0x8000 : 0;
    const uint16_t infinity = (uint16_t)(largest_field << (bits - 1));
    if (n.nan)
        return 0x7fff;
    if (n.special)
        return sign | infinity;
    if (n.mantissa == 0)
        return sign;
    int length = 64 - __builtin_clzll(n.mantissa);
    int unit = n.exponent + length - bits; // exponent of the last bit kept
    if (unit < least)
        unit = least;
    const int cut = unit - n.exponent;
    uint64_t kept = n.mantissa;
    if (cut > 64) {
        kept = 0;
    } else if (cut > 0) {
        const uint64_t lost = cut == 64 ? kept : kept & ((1ULL << cut) - 1), half = 1ULL << (cut - 1);
        kept = cut == 64 ? 0 : kept >> cut;
        kept += lost > half || (lost == half && (kept & 1));
    } else {
        kept <<= -cut;
    }
    // Denormals have field 0; the leading one of the others adds one to it, and so does a carry.
    const uint64_t field = (uint64_t)(unit - least) << (bits - 1);
    const uint64_t result = kept + field;
    return sign | (result >= infinity ? infinity : (uint16_t)result);
}

struct f16 {
    unsigned short bits;
    f16() = default;
    template <typename T> explicit f16(T x) : bits(host_round(host_number_of(x), 11, -24, 31)) {}
    explicit operator float() const {
        const int field = bits >> 10 & 31, fraction = bits & 1023;
        float x = field == 31 ? (fraction ? NAN : INFINITY)
                  : field == 0 ? ldexpf((float)fraction, -24)
                               : ldexpf((float)(fraction + 1024), field - 25);
        return bits & 0x8000 && x == x ? -x : x;
    }
};

struct bf16 {
    unsigned short bits;
    bf16() = default;
    template <typename T> explicit bf16(T x) : bits(host_round(host_number_of(x), 8, -133, 255)) {}
    explicit operator float() const { return host_bits<float>((uint32_t)bits << 16); }
};

// ---- parts of the prelude that are made of PTX ------------------------------------------------------------------

template <typename T> inline bool host_is_nan(T x) { return !((float)x == (float)x); }
inline bool host_is_nan(double x) { return !(x == x); }
inline bool host_sign(float x) { return signbit(x); }
inline bool host_sign(double x) { return signbit(x); }
template <typename T> inline T host_extreme(T x, T y, bool smaller) {
    if (x != x || y != y)
        return x + y;
    if (x == y)
        return host_sign(x) == smaller ? x : y;
    return (x < y) == smaller ? x : y;
}
inline float min_nan(float x, float y) { return host_extreme(x, y, true); }
inline float max_nan(float x, float y) { return host_extreme(x, y, false); }
inline double min_nan(double x, double y) { return host_extreme(x, y, true); }
inline double max_nan(double x, double y) { return host_extreme(x, y, false); }
inline f16 min_nan(f16 x, f16 y) { return (f16)host_extreme((float)x, (float)y, true); }
inline f16 max_nan(f16 x, f16 y) { return (f16)host_extreme((float)x, (float)y, false); }
inline bf16 min_nan(bf16 x, bf16 y) { return (bf16)host_extreme((float)x, (float)y, true); }
inline bf16 max_nan(bf16 x, bf16 y) { return (bf16)host_extreme((float)x, (float)y, false); }

inline void atomic_add(long long *place, long long x) {
    *place = (long long)((unsigned long long)*place + (unsigned long long)x);
}
inline void atomic_add(f16 *place, f16 x) { *place = (f16)((float)*place + (float)x); }
inline void atomic_add(bf16 *place, bf16 x) { *place = (bf16)((float)*place + (float)x); }

inline uint4 load_once(const uint4 *from) { return *from; }
inline uint2 load_once(const uint2 *from) { return *from; }

// The bytes arrive no sooner than the thread waits for their group; until then the place holds nonsense.
void host_copy(void *to, const void *from, int bytes, int valid);
void host_copy_commit();
void host_copy_wait(int groups);
template <int bytes> inline void copy_async(void *to, const void *from, int valid = bytes) {
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "what the hardware copies");
    host_copy(to, from, bytes, valid);
}
inline void copy_async_commit() { host_copy_commit(); }
template <int groups> inline void copy_async_wait() { host_copy_wait(groups); }

// No launch runs before another one here.
inline void launch_dependents() {}
inline void grid_wait() {}

// ---- calling a kernel whose parameters only its text knows -------------------------------------------------------

struct host_kernel {
    const char *name;
    void (*call)(const void *const *values, size_t n); // for the running thread; each value lies at its pointer
};
extern const host_kernel host_kernels[];

template <typename T> T host_take(const void *value) {
    T x;
    memcpy(&x, value, sizeof x);
    return x;
}
template <typename... A, size_t... i>
void host_call_with(void (*kernel)(A...), const void *const *values, std::index_sequence<i...>) {
    (void)values;
    kernel(host_take<A>(values[i])...);
}
template <typename... A> void host_call(void (*kernel)(A...), const void *const *values, size_t n) {
    if (n != sizeof...(A)) {
        fprintf(stderr, "host_cuda: the kernel has %zu parameters, %zu are given\n", sizeof...(A), n);
        exit(3);
    }
    host_call_with(kernel, values, std::index_sequence_for<A...>());
}
#define HOST_CALL(kernel) [](const void *const *values, size_t n) { host_call(kernel, values, n); }

#endif
