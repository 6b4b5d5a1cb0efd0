/* fuzz_options.c -- any lines as a command line: options, or a message. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tool/options.h"

enum { MAX_WORDS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *argv[MAX_WORDS + 2];
    int argc = 0;
    options *o = calloc(1, sizeof *o);
    char *words = calloc(1, size + 1), name[] = "tegula";
    text error = {0};
    if (!o || !words) {
        abort();
    }
    memcpy(words, data, size);
    argv[argc++] = name;
    for (char *word = strtok(words, "\n"); word && argc <= MAX_WORDS; word = strtok(NULL, "\n")) {
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    if (!options_parse(argc, argv, o, &error) && error.length == 0) {
        abort();
    }
    options_free(o);
    text_free(&error);
    free(words);
    free(o);
    return 0;
}
