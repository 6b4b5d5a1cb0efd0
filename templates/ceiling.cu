/* ceiling.cu -- what the memory of a GPU gives to kernels that do nothing else.
 *
 * THREADS and LOADS are defined by the line before this text: threads of a block, vectors of 16 bytes that a thread
 * has in flight. */
#define STEP ((unsigned long long)THREADS * LOADS)

/* Past the L1 cache: nothing is read twice. */
static __device__ uint4 load_once(const uint4 *from) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
}

/* The sum is stored only if it is an unlikely number, so that no load can be left out. */
extern "C" __global__ void __launch_bounds__(THREADS)
    ceiling_read(const uint4 *from, uint4 *to, unsigned long long n) {
    unsigned sum = 0;
    for (unsigned long long i = blockIdx.x * STEP + threadIdx.x; i < n; i += gridDim.x * STEP) {
        uint4 v[LOADS];
#pragma unroll
        for (int j = 0; j < LOADS; j++) {
            v[j] = i + j * THREADS < n ? load_once(from + i + j * THREADS) : uint4{0, 0, 0, 0};
        }
#pragma unroll
        for (int j = 0; j < LOADS; j++) {
            sum ^= v[j].x ^ v[j].y ^ v[j].z ^ v[j].w;
        }
    }
    if (sum == 0x12345) {
        to->x = sum;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    ceiling_copy(const uint4 *from, uint4 *to, unsigned long long n) {
    for (unsigned long long i = blockIdx.x * STEP + threadIdx.x; i < n; i += gridDim.x * STEP) {
        uint4 v[LOADS];
#pragma unroll
        for (int j = 0; j < LOADS; j++) {
            v[j] = i + j * THREADS < n ? load_once(from + i + j * THREADS) : uint4{0, 0, 0, 0};
        }
#pragma unroll
        for (int j = 0; j < LOADS; j++) {
            if (i + j * THREADS < n) {
                to[i + j * THREADS] = v[j];
            }
        }
    }
}
