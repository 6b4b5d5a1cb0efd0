/* nvrtc.h -- CUDA text to a cubin or PTX.
 *
 * Reads   a text, a target, canonical options, and the map from lines of the text to lines of the DSL.
 * Leaves  the image, or an error text whose lines speak of the user's source:
 *
 *             name.cu(31): error: identifier "x" is undefined
 *         ->  gemv.c:17: error: identifier "x" is undefined
 *               CUDA line 31:
 *               acc += x * y;
 *                      ^
 *
 * Neither a GPU nor a driver is needed. */
#ifndef TG_RUNTIME_NVRTC_H
#define TG_RUNTIME_NVRTC_H

#include <stdbool.h>
#include <stddef.h>

#include <tegula/tegula.h>

#include "runtime/api.h"

typedef struct {
    const char *name; /* of the kernel; messages call the text NAME.cu */
    const char *text;
    const char *target;  /* "sm_90a" */
    bool want_ptx;       /* instead of a cubin */
    bool has_line_info;  /* profilers and debuggers see source lines */
    bool no_contraction; /* -fmad=false: bit for bit as written */
    const tg_loc *lines; /* the DSL place of CUDA line i + 1; file NULL: none.  NULL: no map */
    size_t n_lines;
} nvrtc_request;

typedef struct {
    void *image;
    size_t size; /* PTX: with its final zero byte */
    char *log;   /* warnings, in DSL lines; NULL when there were none */
    double milliseconds;
} nvrtc_result;

/* TG_OK and the result, which nvrtc_free() releases; else TG_EKERNEL (the text does not compile),
 * TG_ENOCOMPILER, TG_EARG (no target), TG_ENOMEM, with the error text and an empty result. */
int nvrtc_compile(const nvrtc_request *request, nvrtc_result *result);
void nvrtc_free(nvrtc_result *result);

enum { NVRTC_MAX_OPTIONS = 10, NVRTC_OPTION_SIZE = 32 };

/* The options of a request, in one order and spelled one way, so that equal requests have equal keys. */
typedef struct {
    int n;
    char option[NVRTC_MAX_OPTIONS][NVRTC_OPTION_SIZE];
} nvrtc_options;
nvrtc_options nvrtc_canonical_options(const nvrtc_request *request);

/* Rewrites a compiler log as the picture above shows.  Caller frees; NULL without memory. */
char *nvrtc_map_log(const nvrtc_request *request, const char *log);

#endif
