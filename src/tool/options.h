/* options.h -- the command line, parsed: one verb, operands, and every option of every verb.
 *
 * Options stand before or after operands.  -p NAME=VALUE after a kernel's name belongs to that kernel, before
 * any to all.  Nothing here touches the file system, the environment or a kernel. */
#ifndef TOOL_OPTIONS_H
#define TOOL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <tegula/tegula.h>

#include "dsl/arena.h"

enum { OPTIONS_MAX_OPERANDS = 128, OPTIONS_MAX_FILES = 16, OPTIONS_MAX_INPUTS = 64, OPTIONS_MAX_SWEEP = 256 };

enum { CONFIGS_ALL = -1 };

/* -p NAME=VALUE,.. : integers and element types; a real number for a scalar argument. */
typedef struct setting {
    const char *name;
    const char *text; /* the value as written */
    int n;            /* more than one: a sweep */
    int64_t *values;
    bool is_real;
    double real;
} setting;

typedef struct settings {
    int n;
    setting item[TG_MAX_CONFIG];
} settings;

typedef struct operand {
    const char *name;
    settings own;
} operand;

typedef struct input_file {
    const char *tensor, *file;
} input_file;

typedef enum device_kind { DEVICE_AUTO, DEVICE_SIM, DEVICE_CUDA } device_kind;

typedef struct options {
    arena memory;
    const char *verb; /* NULL: none was given */
    settings common;
    int noperands;
    operand *operands;
    int nfiles;
    const char *files[OPTIONS_MAX_FILES]; /* -k */

    device_kind device;
    int device_number;
    const char *gpu, *target, *output;
    uint64_t seed;
    int jobs;
    double timeout; /* seconds; 0: the default of what is waited for */
    bool json, no_cache, quiet, verbose, help, version;

    const char *stage, *cuda, *save; /* emit; run */
    bool lines, body, lineinfo, strict;
    bool dependent;            /* programmatic dependent launch */
    const char *pack, *verify; /* run, bench; pack */
    bool ptx;                  /* pack */
    bool check;                /* explain */
    int width;
    int configs; /* run: how many of the tune space besides the default; CONFIGS_ALL; 0: --configs was not given */
    int ninputs;
    input_file inputs[OPTIONS_MAX_INPUTS];

    bool jit, csv, profile, tuned; /* bench */
    int repeat;
    unsigned bench_modes; /* bit i: mode i of bench_results.h; stream where nothing was said */
    double seconds;       /* of samples of each figure; 0: the timer's default */
    const char *suite;    /* bench, tune */
    const char *svg, *html, *rows;
    const char *records, *replay;
    double budget; /* tune: seconds; 0: as long as it takes */
} options;

/* False with a complete message in `error`.  Free the options in both cases. */
bool options_parse(int argc, char **argv, options *o, text *error);
void options_free(options *o);

/* The verbs, in the order of the help; ends with a NULL name. */
typedef struct verb_row {
    const char *name;
    const char *operands; /* as the help shows them */
    const char *summary;
} verb_row;
const verb_row *options_verbs(void);

/* Adds the options of a verb (NULL: those of all) to a help text. */
void options_help(const char *verb, text *out);

/* One value: an integer that fits 64 bits, or an element type.  False with the reason. */
bool options_value(const char *word, int64_t *value, text *error);
/* The value as text: "4096", "bf16". */
const char *options_value_text(int64_t value, char *buffer, size_t size);

#endif
