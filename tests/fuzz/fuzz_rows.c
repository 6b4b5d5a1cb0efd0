/* fuzz_rows.c -- any bytes as a file of measured rows (bench --rows, --replay): a message, or rows that can be shown in
 * every form. */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tool/bench_results.h"
#include "tool/tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(const bench_results *r, void (*write)(const bench_results *r, text *out)) {
    text out = {0};
    write(r, &out);
    text_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char path[] = "rows.json";
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(data, 1, size, out) != size || fclose(out) != 0) {
        abort();
    }
    bench_results r = {.tegula = "?", .commit = "?", .date = "?"};
    if (bench_read(path, false, &r) == STATUS_GOOD) {
        text svg = {0};
        show(&r, bench_write_json);
        show(&r, bench_write_csv);
        show(&r, bench_write_table);
        bench_write_svg(&r, bench_has_mode(&r, BENCH_STREAM) ? BENCH_STREAM : BENCH_COLD, &svg);
        text_free(&svg);
    }
    bench_results_free(&r);
    return 0;
}
