/* patterns.cu -- hand-written twins of examples/global_memory.c and copy_1d.c, and the driver's own copy.
 *
 *     nvcc -O3 -std=c++17 -arch=sm_90 patterns.cu -o patterns && ./patterns
 *
 * Rows of 4096 bf16, 65536 of them; V = 4096 / threads elements a thread.  Each figure is the median of 9 events
 * around 8 launches, in TB/s, reads and writes counted.  What `tegula bench` prints for the kernel of the same
 * name with -p M=65536 is to be held against it, on the same machine and day. */
#include <cuda_bf16.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

typedef __nv_bfloat16 bf16;
constexpr int M = 65536, N = 4096;

#define CHECK(x)                                                                       \
    do {                                                                               \
        const cudaError_t e = (x);                                                     \
        if (e != cudaSuccess) {                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

/* ---- products of rows ---------------------------------------------------------------------------------- */

template <int threads>
__global__ void __launch_bounds__(threads)
    rowprod_blocked(const bf16 *__restrict__ x, float *__restrict__ products) {
    constexpr int V = N / threads;
    const bf16 *run = x + (size_t)blockIdx.x * N + threadIdx.x * V;
    float product = 1;
    for (int c = 0; c < V; c++)
        product *= __bfloat162float(run[c]);
    products[blockIdx.x * threads + threadIdx.x] = product;
}

template <int threads>
__global__ void __launch_bounds__(threads)
    rowprod_striped(const bf16 *__restrict__ x, float *__restrict__ products) {
    const bf16 *row = x + (size_t)blockIdx.x * N;
    float product = 1;
#pragma unroll
    for (int c = 0; c < N / threads; c++)
        product *= __bfloat162float(row[c * threads + threadIdx.x]);
    products[blockIdx.x * threads + threadIdx.x] = product;
}

template <int threads>
__global__ void __launch_bounds__(threads)
    rowprod_vectorized(const bf16 *__restrict__ x, float *__restrict__ products) {
    constexpr int V = N / threads;
    const bf16 *from = x + (size_t)blockIdx.x * N + threadIdx.x * V;
    alignas(16) bf16 run[V];
#pragma unroll
    for (int c = 0; c < V; c += 8)
        *(uint4 *)&run[c] = *(const uint4 *)&from[c];
    float product = 1;
#pragma unroll
    for (int c = 0; c < V; c++)
        product *= __bfloat162float(run[c]);
    products[blockIdx.x * threads + threadIdx.x] = product;
}

/* The row into shared memory by 16 bytes a thread, the runs `pad` elements apart. */
template <int threads, int pad>
__device__ inline void stage(bf16 (*staged)[N / threads + pad], const bf16 *__restrict__ row) {
    constexpr int V = N / threads;
#pragma unroll
    for (int i = threadIdx.x * 8; i < N; i += threads * 8)
        *(uint4 *)&staged[i / V][i % V] = *(const uint4 *)&row[i];
}

template <int threads, int pad>
__global__ void __launch_bounds__(threads)
    rowprod_staged(const bf16 *__restrict__ x, float *__restrict__ products) {
    constexpr int V = N / threads;
    __shared__ alignas(16) bf16 staged[threads][V + pad];
    stage<threads, pad>(staged, x + (size_t)blockIdx.x * N);
    __syncthreads();
    float product = 1;
#pragma unroll
    for (int c = 0; c < V; c += 8) {
        alignas(16) bf16 piece[8];
        *(uint4 *)piece = *(const uint4 *)&staged[threadIdx.x][c];
#pragma unroll
        for (int i = 0; i < 8; i++)
            product *= __bfloat162float(piece[i]);
    }
    products[blockIdx.x * threads + threadIdx.x] = product;
}

/* ---- prefix products ----------------------------------------------------------------------------------- */

template <int threads>
__global__ void __launch_bounds__(threads)
    prefix_blocked(const bf16 *__restrict__ x, bf16 *__restrict__ prefix) {
    constexpr int V = N / threads;
    const size_t at = (size_t)blockIdx.x * N + threadIdx.x * V;
    float product = 1;
    for (int c = 0; c < V; c++) {
        product *= __bfloat162float(x[at + c]);
        prefix[at + c] = __float2bfloat16(product);
    }
}

template <int threads>
__global__ void __launch_bounds__(threads)
    prefix_vectorized(const bf16 *__restrict__ x, bf16 *__restrict__ prefix) {
    constexpr int V = N / threads;
    const size_t at = (size_t)blockIdx.x * N + threadIdx.x * V;
    alignas(16) bf16 run[V];
#pragma unroll
    for (int c = 0; c < V; c += 8)
        *(uint4 *)&run[c] = *(const uint4 *)&x[at + c];
    float product = 1;
#pragma unroll
    for (int c = 0; c < V; c++) {
        product *= __bfloat162float(run[c]);
        run[c] = __float2bfloat16(product);
    }
#pragma unroll
    for (int c = 0; c < V; c += 8)
        *(uint4 *)&prefix[at + c] = *(const uint4 *)&run[c];
}

template <int threads, int pad>
__global__ void __launch_bounds__(threads)
    prefix_staged(const bf16 *__restrict__ x, bf16 *__restrict__ prefix) {
    constexpr int V = N / threads;
    __shared__ alignas(16) bf16 staged[threads][V + pad];
    stage<threads, pad>(staged, x + (size_t)blockIdx.x * N);
    __syncthreads();
    float product = 1;
#pragma unroll
    for (int c = 0; c < V; c += 8) {
        alignas(16) bf16 piece[8];
        *(uint4 *)piece = *(const uint4 *)&staged[threadIdx.x][c];
#pragma unroll
        for (int i = 0; i < 8; i++) {
            product *= __bfloat162float(piece[i]);
            piece[i] = __float2bfloat16(product);
        }
        *(uint4 *)&staged[threadIdx.x][c] = *(const uint4 *)piece;
    }
    __syncthreads();
    bf16 *row = prefix + (size_t)blockIdx.x * N;
#pragma unroll
    for (int i = threadIdx.x * 8; i < N; i += threads * 8)
        *(uint4 *)&row[i] = *(const uint4 *)&staged[i / V][i % V];
}

/* ---- copies -------------------------------------------------------------------------------------------- */

template <typename word>
__global__ void __launch_bounds__(256) copy_1d(const word *__restrict__ a, word *__restrict__ b) {
    const size_t i = (size_t)blockIdx.x * 256 + threadIdx.x;
    b[i] = a[i];
}

/* ---- timing -------------------------------------------------------------------------------------------- */

template <typename F> double tbps(double bytes, F launch) {
    cudaEvent_t from, to;
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    std::vector<float> ms;
    for (int i = 0; i < 11; i++) {
        CHECK(cudaEventRecord(from));
        for (int j = 0; j < 8; j++)
            launch();
        CHECK(cudaEventRecord(to));
        CHECK(cudaEventSynchronize(to));
        float t;
        CHECK(cudaEventElapsedTime(&t, from, to));
        if (i >= 2)
            ms.push_back(t / 8);
    }
    CHECK(cudaGetLastError());
    std::sort(ms.begin(), ms.end());
    return bytes / ms[ms.size() / 2] / 1e9;
}

template <int threads> void rowprod(const bf16 *x, float *products) {
    const double bytes = 2.0 * M * N + 4.0 * M * threads;
    printf("rowprod %4d %4d", threads, N / threads);
    printf("   %5.2f", tbps(bytes, [=] { rowprod_blocked<threads><<<M, threads>>>(x, products); }));
    printf("   %5.2f", tbps(bytes, [=] { rowprod_striped<threads><<<M, threads>>>(x, products); }));
    printf("   %5.2f", tbps(bytes, [=] { rowprod_vectorized<threads><<<M, threads>>>(x, products); }));
    printf("   %5.2f", tbps(bytes, [=] { rowprod_staged<threads, 0><<<M, threads>>>(x, products); }));
    printf("   %5.2f\n", tbps(bytes, [=] { rowprod_staged<threads, 8><<<M, threads>>>(x, products); }));
}

template <int threads> void prefix(const bf16 *x, bf16 *out) {
    const double bytes = 4.0 * M * N;
    printf("prefix  %4d %4d", threads, N / threads);
    printf("   %5.2f       -", tbps(bytes, [=] { prefix_blocked<threads><<<M, threads>>>(x, out); }));
    printf("   %5.2f", tbps(bytes, [=] { prefix_vectorized<threads><<<M, threads>>>(x, out); }));
    printf("   %5.2f", tbps(bytes, [=] { prefix_staged<threads, 0><<<M, threads>>>(x, out); }));
    printf("   %5.2f\n", tbps(bytes, [=] { prefix_staged<threads, 8><<<M, threads>>>(x, out); }));
}

int main() {
    constexpr size_t GiB = (size_t)1 << 30;
    void *a, *b;
    CHECK(cudaMalloc(&a, GiB));
    CHECK(cudaMalloc(&b, GiB));
    std::vector<uint16_t> around_one(GiB / 2); /* 0.5 to 1.5 and alike: nothing overflows */
    for (size_t i = 0; i < around_one.size(); i++)
        around_one[i] = (uint16_t)(0x3f00 + (i * 2654435761u >> 16) % 192);
    CHECK(cudaMemcpy(a, around_one.data(), GiB, cudaMemcpyHostToDevice));

    printf("kernel  threads V   blocked striped   wide   staged  staged+8   TB/s\n");
    rowprod<512>((bf16 *)a, (float *)b);
    rowprod<256>((bf16 *)a, (float *)b);
    rowprod<128>((bf16 *)a, (float *)b);
    rowprod<64>((bf16 *)a, (float *)b);
    rowprod<32>((bf16 *)a, (float *)b);
    prefix<512>((bf16 *)a, (bf16 *)b);
    prefix<256>((bf16 *)a, (bf16 *)b);
    prefix<128>((bf16 *)a, (bf16 *)b);
    prefix<64>((bf16 *)a, (bf16 *)b);
    prefix<32>((bf16 *)a, (bf16 *)b);

    const double bytes = 2.0 * GiB;
    printf("copy of 1 GiB: driver %.3f",
           tbps(bytes, [=] { CHECK(cudaMemcpyAsync(b, a, GiB, cudaMemcpyDeviceToDevice)); }));
    printf("   uint4 a thread %.3f",
           tbps(bytes, [=] { copy_1d<<<GiB / 16 / 256, 256>>>((const uint4 *)a, (uint4 *)b); }));
    printf("   uint2 %.3f TB/s\n",
           tbps(bytes, [=] { copy_1d<<<GiB / 8 / 256, 256>>>((const uint2 *)a, (uint2 *)b); }));
    CHECK(cudaDeviceSynchronize());
    return 0;
}
