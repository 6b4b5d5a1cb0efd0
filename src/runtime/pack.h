/* pack.h -- compiled kernels in one file that a program carries: no NVRTC is needed where it runs.
 *
 * Reads   the bytes of a pack: `tegula pack` wrote them.
 * Leaves  for a kernel, a configuration and a device: the launch plan and the image, with no builder run.
 *
 *     0   magic (8)   version (4)   entries (4)   size of the file (8)   XXH3-128 of everything else (16)
 *     40  version and build of Tegula, tuned records; then one entry after the other:
 *           kernel, target, NVRTC, cubin or PTX, dependent launch or not, digest of the user bytes, digest of the
 *           emitted text, shared memory, params and tunables with the source of each, plan; image at a multiple
 *           of 16
 *
 * Numbers and strings are those of bytes.h.  A pack of another format version is refused; one made by another
 * build of Tegula is used and said so, since its images need nothing of the library but the plan.  Whether an
 * entry is stale, made from a kernel that has changed since, is told by the digest of its text: `tegula pack
 * --verify` builds all again and compares, and debug builds of the library do so at the first launch. */
#ifndef TG_RUNTIME_PACK_H
#define TG_RUNTIME_PACK_H

#include "codegen/plan.h"
#include "codegen/target.h"
#include "runtime/image.h"

enum { PACK_VERSION = 1 };

/* Where the value of a setting came from: as param_source of dsl/tile.h, whose numbers are in the files. */
typedef enum pack_source { PACK_PROBLEM, PACK_GIVEN, PACK_TUNED, PACK_DEFAULT } pack_source;

/* One image, as it is written and as it is found.  When found all pointers but `plan` lead into the pack. */
typedef struct pack_entry {
    const char *kernel, *target, *nvrtc; /* "13.0" */
    bool is_ptx, is_dependent;
    cache_key user;   /* pack_user_key() */
    uint64_t text;    /* image_text_digest() */
    int64_t shared;   /* bytes of a block */
    tg_config config; /* all that the builder asked for, in its order */
    pack_source source[TG_MAX_CONFIG];
    const void *plan_bytes, *image;
    size_t plan_size, image_size;
} pack_entry;

cache_key pack_user_key(const void *user, size_t size);

/* ---- finding ------------------------------------------------------------------------------------------- */

typedef struct pack_question {
    const char *kernel;
    const tg_config *config;
    const void *user;
    size_t user_size;
    const target *target; /* the device's */
    bool is_dependent;    /* where the target has it */
} pack_question;

enum { PACK_WHY = 512 };

typedef struct pack_answer {
    launch_plan *plan;  /* owned */
    const image *image; /* owned: image_release() */
    uint64_t text;
    tg_config config;   /* all settings of the entry; its names live in `names` */
    char *names;        /* owned */
    bool is_this_build; /* the pack was made by this very build of Tegula */
    int status; /* when nothing was found: TG_EARG, or TG_ENODEVICE where only the device is another .. */
    char why[PACK_WHY]; /* .. and why: "app.tgpack has 'scale' for sm_80, not for sm_90a"; "" without packs */
} pack_answer;

/* Asks every open pack, the last opened first.  TG_OK or TG_ENOMEM; a->plan is NULL when nothing fits. */
int pack_find(const pack_question *q, pack_answer *a);

/* The entries of a pack, for those who look at it. */
int pack_count(const tg_pack *p);
const pack_entry *pack_at(const tg_pack *p, int i);
const char *pack_build(const tg_pack *p);   /* "0.1.0 31ab.." */
const char *pack_records(const tg_pack *p); /* tuned records, JSON lines; "" when there are none */

/* ---- writing ------------------------------------------------------------------------------------------- */

/* The entry's plan_bytes are made from `plan`. */
void pack_write_entry(text *entries, const pack_entry *e, const launch_plan *plan);
/* The whole file: header, records, then the `n` entries. */
void pack_write(text *out, const char *records, int n, const text *entries);

#endif
