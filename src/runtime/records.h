/* records.h -- what was measured when configurations were tried: a file of JSON lines, one a configuration.
 *
 *     {"kernel":"thread_naive","device":"NVIDIA H200","cc":"9.0","sms":132,"params":{"N":4096,"K":14336,
 *      "dtype":"f16"},"config":{"block_n":32,"block_k":64},"status":"ok","mode":"stream","median_us":27.4, ..}
 *
 * Lines are only ever added, each by one write: several processes may add at once, and what a killed one left
 * half written is skipped by the reader and ended by the next who adds.  The winner is computed, not stored: a
 * later line of the same configuration replaces an earlier one, and a measurement to the end (stream, cold)
 * counts more than a short look.
 *
 * What must match to be used: kernel, device, number of multiprocessors, params.  The rest is information.
 * Extents, which a launch brings, belong to the measurement: other extents are other lines.  A kernel is compiled
 * once for all of them, so it is compiled as the extents measured last would have it.
 * Nothing here knows the driver. */
#ifndef TG_RUNTIME_RECORDS_H
#define TG_RUNTIME_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tegula/tegula.h>

#include "dsl/arena.h"

/* How a configuration ended. */
typedef enum record_status {
    RECORD_OK,
    RECORD_REJECTED,       /* by the kernel's require(), or by a mistake in it that shows with these values */
    RECORD_RESOURCES,      /* more threads, shared memory or registers than the device has */
    RECORD_COMPILE_FAILED, /* by NVRTC */
    RECORD_WRONG,          /* it ran and the result is not the reference's */
    RECORD_TIMEOUT,        /* building, compiling or running did not end in time */
    RECORD_CRASHED         /* the builder, the compiler or the kernel ended its process or context */
} record_status;
const char *record_status_name(record_status status); /* "ok", "rejected", "compile failed", .. */

/* How it was timed. */
typedef enum record_mode {
    RECORD_NOT_TIMED,
    RECORD_LOOK,   /* a few launches: enough to see that it is not among the best */
    RECORD_STREAM, /* runtime/bench.h */
    RECORD_COLD
} record_mode;
const char *record_mode_name(record_mode mode); /* "none", "look", "stream", "cold" */

typedef struct record {
    char kernel[128], device[128];
    int cc_major, cc_minor, sms;
    tg_config params, config; /* every param; every tunable, defaults too */
    tg_config extents;        /* of the launch that was timed; mostly none */
    record_status status;
    char reason[256]; /* why it is not ok; "" */
    record_mode mode;
    double median_us, low_us, high_us, min_us; /* of one call; low and high are the quartiles */
    int launches;
    int registers, spill_bytes, shared_bytes;
    double compile_ms;
    uint64_t code; /* digest of the CUDA text: tells whether the kernel has changed since; 0: none was made */
    char tegula[48], nvrtc[16], driver[16];
    int clock_mhz;
    uint64_t seed;
    int64_t time; /* seconds since 1970 */
} record;

/* The line with its newline. */
void record_print(const record *r, text *out);

/* ---- a file's records in memory ------------------------------------------------------------------------ */

typedef struct records {
    int n, capacity;
    record *item;      /* in the order of the file */
    bool *is_old;      /* a later line speaks of the same configuration */
    int skipped;       /* lines that are no record: torn, or of a form that is not known */
    int first_skipped; /* line number */
    arena memory;      /* names of configurations */
} records;

/* What a file says.  A file that does not exist has no records.  TG_OK, TG_EARG (not readable) or TG_ENOMEM,
 * with the error text; then there is nothing to free. */
int records_read(const char *path, records *out);
/* The same from memory; never fails but for lack of memory.  Bytes need not end in NUL. */
int records_parse(const char *bytes, size_t size, records *out);
void records_free(records *r);

/* $TEGULA_TUNED, else ${XDG_STATE_HOME:-~/.local/state}/tegula/tuned.jsonl, unless `given` (may be NULL) names
 * a file.  Caller frees; NULL without memory or a home. */
char *records_path(const char *given);

/* ---- adding -------------------------------------------------------------------------------------------- */

typedef struct records_file {
    int descriptor; /* -1: closed */
    bool is_torn;   /* the last line added is not whole: the next one begins on a line of its own */
} records_file;

/* Opens for adding; makes the file and its folder (0700).  TG_OK, or TG_EARG with the error text. */
int records_open(const char *path, records_file *out);
/* In one write.  TG_OK, or TG_EARG (a full disk) with the error text. */
int records_add(records_file *f, const record *r);
void records_close(records_file *f);

/* ---- asking -------------------------------------------------------------------------------------------- */

typedef struct records_query {
    const char *kernel, *device;
    int sms;
    const tg_config *given; /* params, and tunables that are given */
} records_query;

/* The fastest configuration that agrees with all that is given.  When none was measured for these params, that of
 * the nearest ones: element types equal, integers as near as may be by ratio.  Where these were measured with several
 * extents, those of the last line count.  NULL: none. */
const record *records_best(const records *r, const records_query *q, bool *is_exact);

/* The current record of exactly this configuration: kernel, device, params, extents and tunables of `like`; NULL. */
const record *records_of(const records *r, const record *like);
/* Whether two records speak of one configuration. */
bool records_same_subject(const record *a, const record *b);

/* Equal names and values, in any order. */
bool records_same_config(const tg_config *a, const tg_config *b);

#endif
