/* fuzz_npy.c -- any bytes as a NumPy file: a message, or elements that lie inside the file and convert. */
#include <stdint.h>
#include <stdlib.h>

#include "dsl/value.h"
#include "tool/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    text error = {0};
    npy header;
    if (npy_parse(data, size, &header, &error)) {
        const size_t n = header.bytes / (size_t)(header.type ? type_bytes(header.type) : 2);
        void *to = malloc(8 * n + 1);
        for (int64_t type = TG_BOOL; to && type <= TG_F64; type++) {
            npy_convert(data, &header, type, to, &error);
        }
        free(to);
    } else if (error.length == 0) {
        abort();
    }
    text_free(&error);
    return 0;
}
