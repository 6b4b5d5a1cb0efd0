/* stub_driver.h -- a driver that says yes, for fuzzers of what is launched: nothing is loaded and nothing runs. */
#ifndef STUB_DRIVER_H
#define STUB_DRIVER_H

#include <stdlib.h>

#include "runtime/launch.h"

static int stub_object; /* what every handle points to */

static api_result stub_error_text(api_result code, const char **text) {
    (void)code;
    *text = "stub";
    return 0;
}

static api_result stub_push(api_context context) {
    (void)context;
    return 0;
}

static api_result stub_context(api_context *context) {
    *context = (api_context)(void *)&stub_object;
    return 0;
}

static api_result stub_id(api_context context, unsigned long long *id) {
    (void)context;
    *id = 1;
    return 0;
}

static api_result stub_number(int *number) {
    *number = 0;
    return 0;
}

static api_result stub_mode(unsigned *mode) {
    (void)mode;
    return 0;
}

static api_result stub_load(api_module *module, const void *image, unsigned n, unsigned *options,
                            void **values) {
    (void)image, (void)n, (void)options, (void)values;
    *module = (api_module)(void *)&stub_object;
    return 0;
}

static api_result stub_unload(api_module module) {
    (void)module;
    return 0;
}

static api_result stub_function(api_function *function, api_module module, const char *name) {
    (void)module, (void)name;
    *function = (api_function)(void *)&stub_object;
    return 0;
}

static api_result stub_get(int *value, unsigned attribute, api_function function) {
    (void)attribute, (void)function;
    *value = 0;
    return 0;
}

static api_result stub_set(api_function function, unsigned attribute, int value) {
    (void)function, (void)attribute, (void)value;
    return 0;
}

static api_result stub_host_alloc(void **memory, size_t bytes, unsigned flags) {
    (void)flags;
    *memory = malloc(bytes);
    return *memory ? 0 : 2;
}

static api_result stub_host_free(void *memory) {
    free(memory);
    return 0;
}

static api_result stub_host_address(api_address *address, void *memory, unsigned flags) {
    (void)flags;
    *address = (api_address)(uintptr_t)memory;
    return 0;
}

static api_result stub_launch(const api_launch_config *config, api_function function, void **arguments,
                              void **extra) {
    (void)config, (void)function, (void)arguments, (void)extra;
    return 0;
}

static const api_driver stub_driver = {
    .error_name = stub_error_text,
    .error_string = stub_error_text,
    .context_push = stub_push,
    .context_pop = stub_context,
    .context_current = stub_context,
    .context_device = stub_number,
    .context_id = stub_id,
    .capture_mode = stub_mode,
    .module_load = stub_load,
    .module_unload = stub_unload,
    .module_function = stub_function,
    .function_attribute = stub_get,
    .function_set = stub_set,
    .host_alloc = stub_host_alloc,
    .host_free = stub_host_free,
    .host_address = stub_host_address,
    .launch = stub_launch,
};

#endif
