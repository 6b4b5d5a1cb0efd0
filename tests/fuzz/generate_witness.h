/* generate_witness.h -- what the files that run a program on the project's witnesses share. */
#ifndef FUZZ_GENERATE_WITNESS_H
#define FUZZ_GENERATE_WITNESS_H

#include "sim/witness.h"

#include "generate.h"

/* Arguments in host memory, tensors filled; the caller frees each `data`.  How many. */
int program_args(const program *p, witness_arg *args);
/* Do the tensors hold what was wanted, bit for bit?  The first that differs into `why`. */
bool program_matches(const program *p, unsigned char *const *want_bytes, const char *who,
                     const witness_arg *args, char *why, size_t size);

#endif
