/* rows.h -- what a gallery's YAML file says of its kernels.
 *
 *     thread_naive:
 *         params: {N: 4096, K: 14336, dtype: f16}      when the command line gives none
 *         tune: {block_n: [32, 64, 128]}               values that the tuner tries, each with each; a list of such
 *                                                      mappings: all of them, one after the other
 *         reference: gemv_reference                    C function in the same file; default NAME_reference
 *         tolerance: {f16: 1e-3, bf16: 8e-3}           of the relative error norm; one number: for all types
 *         inputs: {vector: [-1, 1], eps: 1e-5}         [low, high] uniform, normal, or one value everywhere
 *         steps: [fill output 0, block_split_k, ..]    a call of several launches (steps.c)
 *
 * Every key may be left out.  Random inputs that only a program can make sense of: a C function NAME_inputs in
 * the kernel's file, of the form of a reference, changes them before anything runs. */
#ifndef TOOL_ROWS_H
#define TOOL_ROWS_H

#include <tegula/tegula.h>

#include "tool/yaml.h"

enum { ROW_MAX_TOLERANCES = 16, ROW_MAX_INPUTS = 64, ROW_MAX_SPACES = 16 };

typedef struct row_axis {
    const char *name;
    int n;
    int64_t *values;
    const tree *at; /* for messages; NULL: from the command line */
} row_axis;

/* Every combination of the values of its axes. */
typedef struct row_space {
    int naxes;
    row_axis axis[TG_MAX_CONFIG];
} row_space;

typedef struct row_tolerance {
    int64_t type; /* 0: every type */
    double value;
} row_tolerance;

typedef enum input_kind { INPUT_UNIFORM, INPUT_NORMAL, INPUT_CONSTANT } input_kind;

typedef struct row_input {
    const char *name;
    input_kind kind;
    double low, high; /* INPUT_CONSTANT: low */
} row_input;

typedef struct row {
    const char *kernel;
    const tree *at; /* for messages */
    tg_config params;
    int nspaces;
    row_space *spaces; /* of `tune` */
    const char *reference;
    int ntolerances;
    row_tolerance tolerances[ROW_MAX_TOLERANCES];
    int ninputs;
    row_input inputs[ROW_MAX_INPUTS];
    int nsteps;
    const char **steps;
} row;

typedef struct rows {
    int n;
    row *item;
} rows;

/* False with the reason. */
bool rows_read(arena *a, const char *file, const char *bytes, size_t size, rows *out, text *error);

#endif
