/* subject.h -- one kernel in one configuration, built and lowered: what emit, run and bench work on.
 *
 * Where the kernel's row has `steps:`, the subject is a call of several launches; else of one. */
#ifndef TOOL_SUBJECT_H
#define TOOL_SUBJECT_H

#include "codegen/pipeline.h"
#include "tool/devices.h"
#include "tool/gallery.h"

/* The value of a launch scalar or extent from the command line. */
typedef struct subject_scalar {
    const char *name, *word;
    bool is_real;
    double real;
    int64_t integer;
} subject_scalar;

/* One launch of a call. */
typedef struct subject_step {
    struct subject *s;      /* the call's own subject, or another */
    struct fill_what *fill; /* a step that fills a tensor; else NULL */
    int nargs;
    int arg[TILE_MAX_ARGS]; /* which of the call's arguments each is */
} subject_step;

/* An argument of a call, and where it comes first. */
typedef struct subject_arg {
    const tile_arg *from;
    int step, number;
} subject_arg;

typedef struct subject {
    const gallery_kernel *kernel;
    bool keeps_quiet; /* mistakes of the builder are not printed: subject_refusal() has the first */
    const void *user; /* what the builder reads through tg_user() */
    size_t user_size;
    tg_config config; /* YAML's params, then those of the command line; once built, tuned values too */
    tg_config tuned;  /* of a record, for what is not in `config` */
    int nscalars;
    subject_scalar scalars[TG_MAX_CONFIG];
    const target *target;
    const device_row *gpu; /* NULL: the target alone is known */
    arena memory;
    pipeline_result result;
    text *why; /* where the builder's mistakes go instead of stderr; NULL */
    int nsteps;
    subject_step *steps;
    int nargs;
    subject_arg *args; /* of the call, once it is built */
} subject;

/* Finds the kernel and its configuration.  `sweep`, where not NULL, says which value of each -p is meant.
 * Free the subject in every case.  The exit status. */
int subject_open(const options *o, const gallery *g, const operand *which, subject *s);
/* Chooses the target: --gpu, --target, else `otherwise`; says so on stderr. */
int subject_choose(const options *o, const char *otherwise, subject *s);
/* The same for a real device. */
int subject_choose_device(const options *o, int major, int minor, const char *name, subject *s);
/* Where a record of this device (its name as the driver tells it) knows fast tunables, those that are not given have
 * these values; says so on stderr.  Between choosing and building. */
int subject_use_records(const options *o, const char *device, int sms, subject *s);
/* The same where a GPU is only assumed: not for one that nobody named, unless a record file is named, so that
 * everybody sees the same text. */
int subject_use_records_of_row(const options *o, subject *s);
/* Builds and lowers, every step of a call; the builder's mistakes are printed. */
int subject_build(const options *o, const pipeline_options *how, subject *s);
/* The subject's own kernel alone. */
int subject_build_one(const options *o, const pipeline_options *how, subject *s);
/* Why the kernel was not built: the reason of a require(), else the first mistake; NULL for other failures. */
const char *subject_refusal(const subject *s);
/* The same with its place, "gemv.c:17: not supported: .."; false without any. */
bool subject_mistake(const subject *s, text *out);
void subject_free(subject *s);

/* The one kernel that the command line names. */
int subject_only(const options *o, const operand **which);
const subject_scalar *subject_scalar_named(const subject *s, const char *name);
/* Name, value and source of all params and tunables: "N=4096 K=14336 dtype=f16 block_n=128". */
void subject_describe(const subject *s, text *out);

#endif
