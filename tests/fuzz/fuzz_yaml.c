/* fuzz_yaml.c -- any bytes as a gallery's YAML file and as a file of devices: a message or rows, never a
 * crash. */
#include <stdint.h>
#include <stdlib.h>

#include "tool/devices.h"
#include "tool/rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static devices gpus;
    arena memory = {0};
    text error = {0};
    rows all;
    if (!rows_read(&memory, "f.yaml", (const char *)data, size, &all, &error) && error.length == 0) {
        abort();
    }
    text_free(&error);
    error = (text){0};
    if (!devices_read(&memory, "d.yaml", (const char *)data, size, &gpus, &error) && error.length == 0) {
        abort();
    }
    text_free(&error);
    arena_free(&memory);
    return 0;
}
