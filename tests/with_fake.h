/* with_fake.h -- opens the driver's double for a test; include after criterion.h. */
#ifndef WITH_FAKE_H
#define WITH_FAKE_H

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"

static fake_cuda *fake;
static fake_context_new_fn *fake_context_new;
static fake_context_destroy_fn *fake_context_destroy;
static fake_stream_new_fn *fake_stream_new;
static fake_capture_fn *fake_capture;
static fake_hang_fn *fake_hang;
static fake_queue_fn *fake_queue;

static inline void fake_symbol(void *library, const char *name, void *field) {
    void *address = dlsym(library, name);
    cr_assert(address, "%s", name);
    memcpy(field, &address, sizeof address);
}

/* Skips the test when nobody said where the double is. */
static inline void fake_open(void) {
    const char *path = getenv("TEGULA_FAKE_CUDA");
    if (!path || !*path) {
        cr_skip_test("TEGULA_FAKE_CUDA does not name the driver's double");
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    cr_assert(library, "%s", dlerror());
    fake_cuda_state_fn *get_state;
    fake_symbol(library, "fake_cuda_state", &get_state);
    fake_symbol(library, "fake_context_new", &fake_context_new);
    fake_symbol(library, "fake_context_destroy", &fake_context_destroy);
    fake_symbol(library, "fake_stream_new", &fake_stream_new);
    fake_symbol(library, "fake_capture", &fake_capture);
    fake_symbol(library, "fake_hang", &fake_hang);
    fake_symbol(library, "fake_queue", &fake_queue);
    fake = get_state();
    setenv("TEGULA_LIBCUDA", path, 1);
}

#endif
