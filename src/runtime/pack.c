/* pack.c -- packs opened, read and asked; see pack.h. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/pack.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "build_id.h"
#include "runtime/bytes.h"
#include "runtime/error.h"
#include "runtime/plan_bytes.h"

enum { AT_DIGEST = 24, AT_BODY = 40, DIGEST = 16, IMAGE_STEP = 16, MAX_ENTRIES = 1 << 16 };

static const char magic[8] = {'T', 'G', 'P', 'A', 'C', 'K', '\r', '\n'};
static const char this_build[] = TG_VERSION " " TG_BUILD_ID;

struct tg_pack {
    arena memory;
    const char *name;
    void *own; /* the bytes where the pack has read them itself */
    const char *build, *records;
    int n;
    pack_entry *entry;
    struct tg_pack *next;
};

/* Open packs; who reads an entry holds the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static tg_pack *packs;

/* ---- writing ------------------------------------------------------------------------------------------- */

static XXH128_canonical_t digest_of(const unsigned char *file, size_t size) {
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, file, AT_DIGEST);
    XXH3_128bits_update(&state, file + AT_BODY, size - AT_BODY);
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
    return canonical;
}

cache_key pack_user_key(const void *user, size_t size) {
    const cache_field field = {user, user ? size : 0};
    return cache_make_key(&field, 1);
}

/* The entry stands at a multiple of IMAGE_STEP of the file, so that its image does too. */
void pack_write_entry(text *out, const pack_entry *e, const launch_plan *plan) {
    text bytes = {0};
    plan_put(&bytes, plan);
    bytes_put_string(out, e->kernel);
    bytes_put_string(out, e->target);
    bytes_put_string(out, e->nvrtc);
    bytes_put(out, e->is_ptx, 1);
    bytes_put(out, e->is_dependent, 1);
    text_add_n(out, (const char *)e->user.byte, sizeof e->user.byte);
    bytes_put(out, e->text, 8);
    bytes_put_signed(out, e->shared);
    bytes_put(out, (uint64_t)e->config.n, 4);
    for (int i = 0; i < e->config.n; i++) {
        bytes_put_string(out, e->config.p[i].name);
        bytes_put_signed(out, e->config.p[i].value);
        bytes_put(out, e->source[i], 1);
    }
    bytes_put(out, bytes.length, 8);
    text_add_n(out, bytes.s ? bytes.s : "", bytes.length);
    bytes_put(out, e->image_size, 8);
    bytes_pad(out, IMAGE_STEP);
    text_add_n(out, e->image, e->image_size);
    bytes_pad(out, IMAGE_STEP);
    out->failed |= bytes.failed;
    text_free(&bytes);
}

void pack_write(text *out, const char *records, int n, const text *entries) {
    text_add_n(out, magic, sizeof magic);
    bytes_put(out, PACK_VERSION, 4);
    bytes_put(out, (uint64_t)n, 4);
    bytes_put(out, 0, 8); /* size and digest: at the end */
    bytes_put(out, 0, 8);
    bytes_put(out, 0, 8);
    bytes_put_string(out, this_build);
    bytes_put_string(out, records);
    bytes_pad(out, IMAGE_STEP);
    text_add_n(out, entries->s ? entries->s : "", entries->length);
    out->failed |= entries->failed;
    if (out->failed) {
        return;
    }
    text size = {0};
    bytes_put(&size, out->length, 8);
    if (!size.failed) {
        memcpy(out->s + AT_DIGEST - 8, size.s, 8);
        const XXH128_canonical_t digest = digest_of((const unsigned char *)out->s, out->length);
        memcpy(out->s + AT_DIGEST, digest.digest, DIGEST);
    }
    out->failed |= size.failed;
    text_free(&size);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* Of the whole: TG_OK, or what is wrong with it. */
static int check_bytes(const char *name, const unsigned char *bytes, size_t size) {
    if (size < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0) {
        return error_set(TG_EARG, "%s is no pack of Tegula", name);
    }
    byte_reader r = bytes_read(bytes, size);
    bytes_take(&r, sizeof magic);
    const uint64_t version = bytes_get(&r, 4);
    if (!r.failed && version != PACK_VERSION) {
        return error_set(TG_EARG,
                         "%s is a pack of format %" PRIu64 ", and tegula " TG_VERSION
                         " reads format %d: make it again with 'tegula pack'",
                         name, version, PACK_VERSION);
    }
    bytes_get(&r, 4);
    const uint64_t whole = bytes_get(&r, 8);
    if (size < AT_BODY) {
        return error_set(TG_EARG, "%s is cut: it has %zu bytes and not even a header", name, size);
    }
    if (whole != size) {
        return error_set(TG_EARG,
                         whole > size ? "%s is cut: it has %zu of %" PRIu64 " bytes"
                                      : "%s is damaged: it has %zu bytes instead of %" PRIu64,
                         name, size, whole);
    }
    const XXH128_canonical_t digest = digest_of(bytes, size);
    return memcmp(bytes + AT_DIGEST, digest.digest, DIGEST) == 0
               ? TG_OK
               : error_set(TG_EARG, "%s is damaged: its checksum is wrong", name);
}

static void read_settings(byte_reader *r, pack_entry *e) {
    e->config.n = bytes_count(r, TG_MAX_CONFIG);
    for (int i = 0; i < e->config.n; i++) {
        e->config.p[i].name = bytes_string(r);
        e->config.p[i].value = bytes_signed(r);
        e->source[i] = (pack_source)bytes_get(r, 1);
        r->failed = r->failed || e->source[i] > PACK_DEFAULT;
    }
}

static void read_entry(byte_reader *r, pack_entry *e) {
    e->kernel = bytes_string(r);
    e->target = bytes_string(r);
    e->nvrtc = bytes_string(r);
    e->is_ptx = bytes_get(r, 1) != 0;
    e->is_dependent = bytes_get(r, 1) != 0;
    const void *user = bytes_take(r, sizeof e->user.byte);
    if (user) {
        memcpy(e->user.byte, user, sizeof e->user.byte);
    }
    e->text = bytes_get(r, 8);
    e->shared = bytes_signed(r);
    read_settings(r, e);
    e->plan_size = (size_t)bytes_get(r, 8);
    e->plan_bytes = bytes_take(r, e->plan_size);
    e->image_size = (size_t)bytes_get(r, 8);
    bytes_skip(r, IMAGE_STEP);
    e->image = bytes_take(r, e->image_size);
    bytes_skip(r, IMAGE_STEP);
    r->failed = r->failed || e->image_size == 0;
}

/* PTX is text, which the driver reads up to its NUL. */
static bool is_image(const pack_entry *e) {
    const char *bytes = e->image;
    return e->is_ptx ? bytes[e->image_size - 1] == '\0'
                     : e->image_size > 4 && memcmp(bytes, "\177ELF", 4) == 0;
}

static int read_entries(tg_pack *p, const void *bytes, size_t size) {
    byte_reader r = bytes_read(bytes, size);
    bytes_take(&r, sizeof magic + 4);
    p->n = bytes_count(&r, MAX_ENTRIES);
    bytes_take(&r, AT_BODY - AT_DIGEST + 8);
    p->build = bytes_string(&r);
    p->records = bytes_string(&r);
    bytes_skip(&r, IMAGE_STEP);
    p->entry = ARENA_ARRAY(&p->memory, pack_entry, p->n + 1);
    for (int i = 0; i < p->n; i++) {
        pack_entry *e = &p->entry[i];
        read_entry(&r, e);
        byte_reader in = bytes_read(e->plan_bytes ? e->plan_bytes : "", e->plan_bytes ? e->plan_size : 0);
        launch_plan *plan = r.failed ? NULL : plan_get(&in);
        if (!plan && !r.failed && !in.failed) {
            return error_set(TG_ENOMEM, "no memory to read %s", p->name);
        }
        plan_free(plan);
        if (!plan || in.at != in.end || !is_image(e)) {
            return error_set(TG_EARG, "%s is damaged: entry %d of %d is none", p->name, i + 1, p->n);
        }
    }
    if (p->memory.failed) {
        return error_set(TG_ENOMEM, "no memory to read %s", p->name);
    }
    return r.at == r.end ? TG_OK : error_set(TG_EARG, "%s is damaged: more follows its entries", p->name);
}

static void free_pack(tg_pack *p) {
    free(p->own);
    arena_free(&p->memory);
    free(p);
}

/* `own` becomes the pack's, or is freed. */
static tg_pack *open_bytes(const char *name, const void *bytes, size_t size, void *own) {
    tg_pack *p = calloc(1, sizeof *p);
    if (!p) {
        free(own);
        error_set(TG_ENOMEM, "no memory to read %s", name);
        return NULL;
    }
    p->own = own;
    p->name = arena_copy(&p->memory, name);
    int status = check_bytes(name, bytes, size);
    status = status ? status : read_entries(p, bytes, size);
    if (status != TG_OK) {
        free_pack(p);
        return NULL;
    }
    if (strcmp(p->build, this_build) != 0) {
        error_log(TG_LOG_WARNING, "%s was made by tegula %s, this is %s: its kernels are used as they are",
                  name, p->build, this_build);
    }
    if (*p->records && tg_tuned_memory(p->records, strlen(p->records)) != TG_OK) {
        error_log(TG_LOG_WARNING, "the tuned records of %s are not used: %s", name, tg_error());
    }
    pthread_mutex_lock(&lock);
    p->next = packs;
    packs = p;
    pthread_mutex_unlock(&lock);
    return p;
}

tg_pack *tg_pack_memory(const void *bytes, size_t size) {
    if (!bytes) {
        error_set(TG_EARG, "tg_pack_memory needs the bytes of a pack");
        return NULL;
    }
    return open_bytes("the pack in memory", bytes, size, NULL);
}

/* All of a file; NULL with the reason as this thread's error text. */
static void *read_file(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    unsigned char *bytes = NULL;
    struct stat about;
    *size = 0;
    if (f && fstat(fileno(f), &about) == 0) {
        errno = S_ISREG(about.st_mode) ? 0 : S_ISDIR(about.st_mode) ? EISDIR : EINVAL;
        *size = errno ? 0 : (size_t)about.st_size;
        bytes = errno ? NULL : malloc(*size + 1);
        if (bytes && fread(bytes, 1, *size, f) != *size) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (!bytes) {
        error_set(errno == ENOMEM ? TG_ENOMEM : TG_EARG, "%s cannot be read: %s", path,
                  strerror(errno ? errno : EIO));
    }
    if (f) {
        fclose(f);
    }
    return bytes;
}

tg_pack *tg_pack_open(const char *path) {
    if (!path) {
        error_set(TG_EARG, "tg_pack_open needs the path of a pack");
        return NULL;
    }
    size_t size;
    errno = 0;
    void *bytes = read_file(path, &size);
    return bytes ? open_bytes(path, bytes, size, bytes) : NULL;
}

void tg_pack_close(tg_pack *p) {
    if (!p) {
        return;
    }
    pthread_mutex_lock(&lock);
    tg_pack **at = &packs;
    while (*at && *at != p) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = p->next;
    }
    pthread_mutex_unlock(&lock);
    free_pack(p);
}

int pack_count(const tg_pack *p) {
    return p->n;
}

const pack_entry *pack_at(const tg_pack *p, int i) {
    return &p->entry[i];
}

const char *pack_build(const tg_pack *p) {
    return p->build;
}

const char *pack_records(const tg_pack *p) {
    return p->records;
}

/* ---- which entry --------------------------------------------------------------------------------------- */

/* How well an image suits the device: 0 not at all.  The very target, its architecture without "a", an older one
 * of the same generation; PTX last, for the driver compiles it while the program waits. */
static int suits(const pack_entry *e, const target *device) {
    const target *t = target_find(e->target);
    if (!t || !target_runs(t, device, e->is_ptx) || e->shared > device->max_shared) {
        return 0;
    }
    if (e->is_ptx) {
        return t->cc;
    }
    return t == device ? 3000 : t->cc == device->cc ? 2000 : 1000 + t->cc;
}

/* What the caller leaves out must be a tunable: it is as the pack has it. */
static bool has_values(const pack_entry *e, const tg_config *config) {
    for (int i = 0; i < config->n; i++) {
        int64_t packed;
        if (!tg_config_get(&e->config, config->p[i].name, &packed) || packed != config->p[i].value) {
            return false;
        }
    }
    for (int i = 0; i < e->config.n; i++) {
        if (e->source[i] == PACK_PROBLEM && !tg_config_get(config, e->config.p[i].name, NULL)) {
            return false;
        }
    }
    return true;
}

/* Of entries that differ in what the caller left out, that with most values which a builder chooses by itself. */
static int own_choices(const pack_entry *e, const tg_config *config) {
    int n = 0;
    for (int i = 0; i < e->config.n; i++) {
        n += e->source[i] >= PACK_TUNED && !tg_config_get(config, e->config.p[i].name, NULL);
    }
    return n;
}

static bool is_launched_so(const pack_entry *e, const pack_question *q) {
    const target *t = target_find(e->target);
    return e->is_dependent == (q->is_dependent && t && t->dependent_launch);
}

/* How far an entry got: the last is found. */
typedef enum fit { FIT_NOTHING, FIT_KERNEL, FIT_VALUES, FIT_ALL_BUT_DEVICE, FIT_ALL } fit;

static fit fit_of(const pack_entry *e, const pack_question *q, const cache_key *user) {
    if (strcmp(e->kernel, q->kernel) != 0) {
        return FIT_NOTHING;
    }
    if (!has_values(e, q->config)) {
        return FIT_KERNEL;
    }
    if (!cache_same_key(&e->user, user) || !is_launched_so(e, q)) {
        return FIT_VALUES;
    }
    return suits(e, q->target) ? FIT_ALL : FIT_ALL_BUT_DEVICE;
}

static bool is_better(const pack_entry *e, const pack_entry *best, const pack_question *q) {
    const int by_device = best ? suits(e, q->target) - suits(best, q->target) : 1;
    return by_device > 0 || (by_device == 0 && own_choices(e, q->config) > own_choices(best, q->config));
}

/* ---- why none ------------------------------------------------------------------------------------------ */

static void add_config(text *why, const tg_config *config) {
    for (int i = 0; i < config->n; i++) {
        const int64_t x = config->p[i].value;
        const char *type = tg_dtype_name(x);
        text_print(why, "%s%s=", i ? " " : "", config->p[i].name);
        if (type) {
            text_add(why, type);
        } else {
            text_print(why, "%" PRId64, x);
        }
    }
}

/* The targets of the entries that would do elsewhere, each once. */
static void add_targets(text *why, const tg_pack *p, const pack_question *q, const cache_key *user) {
    const char *before = "";
    for (int i = 0; i < p->n; i++) {
        bool is_new = fit_of(&p->entry[i], q, user) == FIT_ALL_BUT_DEVICE;
        for (int j = 0; j < i && is_new; j++) {
            is_new = fit_of(&p->entry[j], q, user) != FIT_ALL_BUT_DEVICE ||
                     strcmp(p->entry[j].target, p->entry[i].target) != 0;
        }
        if (is_new) {
            text_print(why, "%s%s", before, p->entry[i].target);
            before = ", ";
        }
    }
}

/* The values of up to three entries. */
static void add_values(text *why, const tg_pack *p, const pack_question *q) {
    int shown = 0;
    for (int i = 0; i < p->n && shown <= 3; i++) {
        if (strcmp(p->entry[i].kernel, q->kernel) == 0) {
            text_add(why, shown == 0 ? "" : "; ");
            if (shown++ == 3) {
                text_add(why, "..");
            } else {
                add_config(why, &p->entry[i].config);
            }
        }
    }
}

static int explain(const tg_pack *p, fit best, const pack_question *q, const cache_key *user, char *to) {
    text why = {0};
    switch (best) {
    case FIT_NOTHING:
        text_print(&why, "%s has no kernel '%s'", p->name, q->kernel);
        break;
    case FIT_KERNEL:
        text_print(&why, "%s has '%s' for other values: ", p->name, q->kernel);
        add_values(&why, p, q);
        break;
    case FIT_VALUES:
        text_print(&why, "%s has '%s' for other user bytes, or not for %s launches", p->name, q->kernel,
                   q->is_dependent ? "dependent" : "plain");
        break;
    case FIT_ALL_BUT_DEVICE:
        text_print(&why, "%s has '%s' for ", p->name, q->kernel);
        add_targets(&why, p, q, user);
        text_print(&why, ", not for %s", q->target->name);
        break;
    case FIT_ALL:
        break;
    }
    snprintf(to, PACK_WHY, "%s", why.s ? why.s : "");
    text_free(&why);
    return best == FIT_ALL_BUT_DEVICE ? TG_ENODEVICE : TG_EARG;
}

/* ---- the answer ---------------------------------------------------------------------------------------- */

/* Copies what the caller keeps, so that the pack may be closed. */
static int take(const pack_entry *e, const tg_pack *p, pack_answer *a) {
    size_t size = 1;
    for (int i = 0; i < e->config.n; i++) {
        size += strlen(e->config.p[i].name) + 1;
    }
    byte_reader r = bytes_read(e->plan_bytes, e->plan_size);
    a->plan = plan_get(&r);
    a->image = image_own(e->image, e->image_size, e->kernel, e->target, e->nvrtc);
    a->names = malloc(size);
    if (!a->plan || !a->image || !a->names) {
        plan_free(a->plan);
        image_release(a->image);
        free(a->names);
        *a = (pack_answer){.status = TG_ENOMEM};
        return error_set(TG_ENOMEM, "no memory to take '%s' from a pack", e->kernel);
    }
    a->text = e->text;
    a->is_this_build = strcmp(p->build, this_build) == 0;
    a->config = e->config;
    char *at = a->names;
    for (int i = 0; i < e->config.n; i++) {
        const size_t n = strlen(e->config.p[i].name) + 1;
        memcpy(at, e->config.p[i].name, n);
        a->config.p[i].name = at;
        at += n;
    }
    return TG_OK;
}

int pack_find(const pack_question *q, pack_answer *a) {
    *a = (pack_answer){.status = TG_EARG};
    const cache_key user = pack_user_key(q->user, q->user_size);
    const pack_entry *found = NULL;
    const tg_pack *nearest = NULL, *of_found = NULL;
    fit best = FIT_NOTHING;
    pthread_mutex_lock(&lock);
    for (const tg_pack *p = packs; p && !found; p = p->next) {
        nearest = nearest ? nearest : p;
        for (int i = 0; i < p->n; i++) {
            const fit f = fit_of(&p->entry[i], q, &user);
            if (f == FIT_ALL && is_better(&p->entry[i], found, q)) {
                found = &p->entry[i];
                of_found = p;
            }
            nearest = f > best ? p : nearest;
            best = f > best ? f : best;
        }
    }
    int status = TG_OK;
    if (found) {
        status = take(found, of_found, a);
    } else if (nearest) {
        a->status = explain(nearest, best, q, &user, a->why);
    }
    pthread_mutex_unlock(&lock);
    return status;
}
