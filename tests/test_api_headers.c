/* test_api_headers.c -- Tegula's own declarations of the driver and of NVRTC against the real headers.
 *
 * The comparison is made by the compiler: where cuda.h or nvrtc.h is not on the include path it cannot be
 * made, and the test is skipped. */
#include <criterion/criterion.h>

#include <stddef.h>

#if defined __has_include
#if __has_include(<cuda.h>)
#define HAS_CUDA 1
#include <cuda.h>
#endif
#if __has_include(<nvrtc.h>)
#define HAS_NVRTC 1
#include <nvrtc.h>
#endif
#endif

#include "runtime/api.h"

/* The linker must not need the libraries: only types are looked at. */
#define SAME(field, symbol, parameters) \
    cr_expect(__builtin_types_compatible_p(__typeof__(symbol) *, __typeof__(api->field)), "%s", #symbol);

#ifdef HAS_CUDA
#define SAME_FIELD(ours, theirs) \
    cr_expect_eq(offsetof(api_launch, ours), offsetof(CUlaunchConfig, theirs), "%s", #theirs)

Test(api_headers, driver_functions_have_the_types_of_cuda_h) {
    const api_driver *api = NULL;
    API_DRIVER(SAME)
}

Test(api_headers, driver_structs_and_constants_are_those_of_cuda_h) {
    SAME_FIELD(grid, gridDimX);
    SAME_FIELD(block, blockDimX);
    SAME_FIELD(shared_bytes, sharedMemBytes);
    SAME_FIELD(stream, hStream);
    SAME_FIELD(attributes, attrs);
    SAME_FIELD(n_attributes, numAttrs);
    cr_expect_eq(sizeof(api_launch), sizeof(CUlaunchConfig));
    cr_expect_eq(sizeof(api_launch_attribute), sizeof(CUlaunchAttribute));
    cr_expect_eq(offsetof(api_launch_attribute, value), offsetof(CUlaunchAttribute, value));
    cr_expect_eq(sizeof(api_address), sizeof(CUdeviceptr));
    static const struct {
        int ours, theirs;
    } row[] = {
        {API_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY},
        {API_ERROR_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED},
        {API_ERROR_DEINITIALIZED, CUDA_ERROR_DEINITIALIZED},
        {API_ERROR_STUB_LIBRARY, CUDA_ERROR_STUB_LIBRARY},
        {API_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE},
        {API_ERROR_CAPTURE_IMPLICIT, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT},
        {API_ATTRIBUTE_CLUSTER, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION},
        {API_ATTRIBUTE_PROGRAMMATIC_SERIALIZATION, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION},
        {API_FUNCTION_SHARED_BYTES, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
        {API_FUNCTION_LOCAL_BYTES, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
        {API_FUNCTION_REGISTERS, CU_FUNC_ATTRIBUTE_NUM_REGS},
        {API_FUNCTION_MAX_DYNAMIC_SHARED, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES},
        {API_JIT_INFO_LOG, CU_JIT_INFO_LOG_BUFFER},
        {API_JIT_INFO_LOG_SIZE, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES},
        {API_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BUFFER},
        {API_JIT_ERROR_LOG_SIZE, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES},
        {API_ERROR_NOT_READY, CUDA_ERROR_NOT_READY},
        {API_CAPTURE_NONE, CU_STREAM_CAPTURE_STATUS_NONE},
        {API_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED},
        {API_HOST_ALLOC_PORTABLE, CU_MEMHOSTALLOC_PORTABLE},
        {API_HOST_ALLOC_DEVICEMAP, CU_MEMHOSTALLOC_DEVICEMAP},
        {API_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING},
        /* device.c */
        {75, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
        {76, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
        {38, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
        {97, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
        {106, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR},
        {111, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        cr_expect_eq(row[i].ours, row[i].theirs, "row %zu", i);
    }
}
#else
Test(api_headers, driver_functions_have_the_types_of_cuda_h) {
    cr_skip_test("cuda.h is not on the include path");
}
#endif

#ifdef HAS_NVRTC
Test(api_headers, compiler_functions_have_the_types_of_nvrtc_h) {
    const api_nvrtc *api = NULL;
    API_NVRTC(SAME)
}
#else
Test(api_headers, compiler_functions_have_the_types_of_nvrtc_h) {
    cr_skip_test("nvrtc.h is not on the include path");
}
#endif
