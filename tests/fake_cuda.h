/* fake_cuda.h -- knobs and records of the driver's double in fake_cuda.c.
 *
 * A test opens the library (TEGULA_FAKE_CUDA names it), sets knobs through fake_cuda_state(), points
 * TEGULA_LIBCUDA at it, and then uses Tegula as on a machine with GPUs.  Device memory is host memory; a
 * launch is recorded, never run. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdatomic.h>
#include <stdint.h>

enum { FAKE_MAX_DEVICES = 4, FAKE_MAX_PARAMS = 80 };

struct CUctx_st;
struct CUstream_st;

typedef struct {
    /* Knobs; before the first call of the driver. */
    int devices, major, minor, version;
    unsigned init_code;
    /* Knobs, any time. */
    int n_params;         /* how many parameters a launch has: the driver knows it from the image */
    int static_shared;    /* of every function */
    unsigned load_code;   /* what cuModuleLoadDataEx answers */
    unsigned launch_code; /* what cuLaunchKernelEx answers */
    unsigned alloc_code;
    int queue;                   /* launches that wait for their turn; one more waits in its call */
    float elapsed, elapsed_step; /* milliseconds between two events; every other one is longer by the step */
    /* Records. */
    atomic_int loads, unloads, launches, host_allocs, host_frees, opt_ins, queries;
    atomic_int broken_captures; /* calls that a capture forbids, made outside relaxed mode */
    atomic_int wrong_context;   /* launches while another context than the stream's was current */
    int opt_in_bytes;
    /* The last launch. */
    unsigned grid[3], block[3], shared_bytes;
    struct CUstream_st *stream;
    struct CUctx_st *context;
    unsigned n_attributes, attribute; /* how many the launch had, and the first one's number */
    uint64_t param[FAKE_MAX_PARAMS];
    char kernel[64];
} fake_cuda;

typedef fake_cuda *fake_cuda_state_fn(void);
/* A context beside the primary one; .._destroy() forgets it, and its address is used again by the next. */
typedef struct CUctx_st *fake_context_new_fn(int device);
typedef void fake_context_destroy_fn(struct CUctx_st *context);
typedef struct CUstream_st *fake_stream_new_fn(struct CUctx_st *context);
/* 0 none, 1 active; as cuStreamBeginCapture in global mode would. */
typedef void fake_capture_fn(struct CUstream_st *stream, int is_capturing);
/* From now on no launch ends. */
typedef void fake_hang_fn(void);
/* As a launch does, for calls that are none. */
typedef void fake_queue_fn(void);

#endif
