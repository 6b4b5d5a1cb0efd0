/* image.c -- see image.h.
 *
 *     image_get   finds or makes the record of a key under the lock, then either waits for it or fills it
 *     fill        disk, else NVRTC (and then to disk); holds no lock */
#define _POSIX_C_SOURCE 200809L
#include "runtime/image.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "build_id.h"
#include "runtime/compiler_id.h"
#include "runtime/error.h"

typedef enum { PENDING, READY, FAILED } record_state;

/* What the store keeps of one key.  Under the lock until READY; then the image is immutable. */
typedef struct record {
    image image; /* first: image_release() gets this address back */
    record_state state;
    int users;
    struct record *next;
    cache_entry entry;   /* owns the data when it came from disk */
    nvrtc_result result; /* .. or from the compiler */
    int status;          /* of FAILED */
    char *why;
    bool is_unwritten;  /* compiled, and there is a disk */
    cache_key disk_key; /* mostly the image's; a stale note may have given that the key of another compiler */
} record;

enum { BUCKETS = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static record *store[BUCKETS];
static pthread_once_t disk_once = PTHREAD_ONCE_INIT;
static cache *disk;
static atomic_uint compiles;
static int writing;           /* threads that write an entry */
static pid_t writing_process; /* a fork has none of them */

static void open_disk(void) {
    disk = api_caches_disabled() ? NULL : cache_new(NULL);
}

cache *image_cache(void) {
    pthread_once(&disk_once, open_disk);
    return disk;
}

unsigned image_compiles(void) {
    return atomic_load(&compiles);
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

/* Copies `text` without comments, the blanks before them and lines of nothing else: they say which line and which
 * default, and must not make two kernels of one.  Returns the length. */
static size_t strip_comments(const char *text, char *out) {
    size_t n = 0;
    char quote = 0;
    for (const char *p = text; *p;) {
        if (!quote && p[0] == '/' && (p[1] == '/' || p[1] == '*')) {
            const char *end = p[1] == '/' ? strchr(p, '\n') : strstr(p + 2, "*/");
            end = end ? end + (p[1] == '*' ? 2 : 0) : p + strlen(p);
            while (n && (out[n - 1] == ' ' || out[n - 1] == '\t')) {
                n--;
            }
            const bool is_whole_line = *end == '\n' && (n == 0 || out[n - 1] == '\n');
            p = end + is_whole_line;
            continue;
        }
        if (quote && *p == '\\' && p[1]) {
            out[n++] = *p++;
        } else if (*p == '"' || *p == '\'') {
            quote = !quote ? *p : quote == *p ? 0 : quote;
        }
        out[n++] = *p++;
    }
    return n;
}

uint64_t image_text_digest(const char *text) {
    char *stripped = malloc(strlen(text) + 1);
    const uint64_t digest = stripped ? XXH3_64bits(stripped, strip_comments(text, stripped)) : 0;
    free(stripped);
    return digest;
}

/* With line information the places are part of the image. */
static char *keyed_text(const nvrtc_request *r, size_t *size) {
    char *text = NULL;
    if (!r->has_line_info) {
        text = malloc(strlen(r->text) + 1);
        *size = text ? strip_comments(r->text, text) : 0;
        return text;
    }
    FILE *out = open_memstream(&text, size);
    if (!out) {
        return NULL;
    }
    fputs(r->text, out);
    for (size_t i = 0; r->lines && i < r->n_lines; i++) {
        fprintf(out, "\n%s:%d", r->lines[i].file ? r->lines[i].file : "", r->lines[i].line);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static int make_key(const nvrtc_request *r, const compiler_id *id, cache_key *key) {
    static const char build[] = TG_VERSION " " TG_BUILD_ID;
    size_t size;
    char *text = keyed_text(r, &size);
    if (!text) {
        return error_set(TG_ENOMEM, "no memory for the key of '%s'", r->name);
    }
    nvrtc_options options = nvrtc_canonical_options(r);
    char numbers[96];
    int n = snprintf(numbers, sizeof numbers, "schema %d nvrtc %d.%d %016llx %s", CACHE_SCHEMA, id->major,
                     id->minor, (unsigned long long)id->build, r->want_ptx ? "ptx" : "cubin");
    cache_field field[NVRTC_MAX_OPTIONS + 6] = {
        {numbers, (size_t)n}, {build, sizeof build}, {text, size}, {r->target, strlen(r->target)}, {NULL, 0}};
    size_t count = 5; /* the empty one is the digest of headers: none is given to the compiler */
    for (int i = 0; i < options.n; i++) {
        field[count++] = (cache_field){options.option[i], strlen(options.option[i])};
    }
    *key = cache_make_key(field, count);
    free(text);
    return TG_OK;
}

/* The key by the compiler that is really there. */
static int key_by_compiler(const nvrtc_request *r, cache_key *key) {
    const api_nvrtc *api = api_nvrtc_open(r->target);
    if (!api) {
        return api_target_number(r->target) ? TG_ENOCOMPILER : TG_EARG;
    }
    compiler_id id = compiler_id_of(api);
    return make_key(r, &id, key);
}

/* ---- the store, under the lock ------------------------------------------------------------------------- */

static record **bucket_of(const cache_key *key) {
    return &store[key->byte[0] % BUCKETS];
}

static record *find(const cache_key *key) {
    record *r = *bucket_of(key);
    while (r && !cache_same_key(&r->image.key, key)) {
        r = r->next;
    }
    return r;
}

static record *add(const cache_key *key) {
    record *r = calloc(1, sizeof *r);
    if (r) {
        r->image.key = *key;
        r->next = *bucket_of(key);
        *bucket_of(key) = r;
    }
    return r;
}

static void take_out(record *r) {
    record **at = bucket_of(&r->image.key);
    while (*at && *at != r) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = r->next;
    }
}

static void drop(record *r) {
    if (--r->users == 0) {
        take_out(r);
        cache_entry_free(&r->entry);
        nvrtc_free(&r->result);
        free(r->why);
        free(r);
    }
}

/* ---- filling a record, without a lock ------------------------------------------------------------------ */

static bool from_disk(record *r) {
    cache *c = image_cache();
    if (!c || !cache_read(c, &r->image.key, &r->entry)) {
        return false;
    }
    r->image.data = r->entry.image;
    r->image.size = r->entry.size;
    r->image.notes = r->entry.notes;
    r->image.origin = IMAGE_FROM_DISK;
    return true;
}

static void make_notes(cache_notes *notes, const nvrtc_request *q, const api_nvrtc *api,
                       double milliseconds) {
    *notes = (cache_notes){.compile_ms = milliseconds, .created = (int64_t)time(NULL)};
    snprintf(notes->kernel, sizeof notes->kernel, "%s", q->name);
    snprintf(notes->target, sizeof notes->target, "%s", q->target);
    snprintf(notes->nvrtc, sizeof notes->nvrtc, "%d.%d", api->major, api->minor);
}

static int from_compiler(record *r, const nvrtc_request *q) {
    int status = nvrtc_compile(q, &r->result);
    if (status != TG_OK) {
        return status;
    }
    atomic_fetch_add(&compiles, 1u);
    const api_nvrtc *api = api_nvrtc_open(q->target); /* the same: it compiled just now */
    r->image.data = r->result.image;
    r->image.size = r->result.size;
    r->image.log = r->result.log;
    r->image.origin = IMAGE_COMPILED;
    make_notes(&r->image.notes, q, api, r->result.milliseconds);
    if (image_cache() && cache_directory(disk)) {
        compiler_id_remember(disk, q->target, api);
        r->is_unwritten = key_by_compiler(q, &r->disk_key) == TG_OK;
    }
    return TG_OK;
}

/* ---- writing behind the caller's back ------------------------------------------------------------------ */

static void *write_record(void *argument) {
    record *r = argument;
    cache_write(disk, &r->disk_key, &r->image.notes, r->image.data, r->image.size);
    pthread_mutex_lock(&lock);
    drop(r);
    writing--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

void image_settle(void) {
    pthread_mutex_lock(&lock);
    while (writing && writing_process == getpid()) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
}

static void settle_at_exit(void) {
    atexit(image_settle);
}

/* Under the lock: the writer is counted, and is a user of the record. */
static void count_writer(record *r) {
    writing = writing_process == getpid() ? writing + 1 : 1;
    writing_process = getpid();
    r->users++;
}

static void write_aside(record *r) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, settle_at_exit);
    pthread_mutex_lock(&lock);
    count_writer(r);
    pthread_mutex_unlock(&lock);
    pthread_t writer;
    if (pthread_create(&writer, NULL, write_record, r) == 0) {
        pthread_detach(writer);
    } else {
        write_record(r);
    }
}

/* ---- asking -------------------------------------------------------------------------------------------- */

static void fill(record *r, const nvrtc_request *q) {
    int status = from_disk(r) ? TG_OK : from_compiler(r, q);
    if (r->is_unwritten) {
        write_aside(r);
    }
    pthread_mutex_lock(&lock);
    r->status = status;
    r->state = status == TG_OK ? READY : FAILED;
    if (status != TG_OK) {
        size_t n = strlen(tg_error()) + 1;
        r->why = malloc(n);
        if (r->why) {
            memcpy(r->why, tg_error(), n);
        }
        take_out(r); /* the next one who asks tries again */
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static bool is_kept(const cache_key *key) {
    pthread_mutex_lock(&lock);
    bool is = find(key) != NULL;
    pthread_mutex_unlock(&lock);
    return is || (image_cache() && cache_has(disk, key));
}

/* The compiler need not be opened when a note tells which it is and the image is there. */
static int choose_key(const nvrtc_request *q, cache_key *key) {
    compiler_id id;
    if (image_cache() && cache_directory(disk) && compiler_id_recall(disk, q->target, &id)) {
        int status = make_key(q, &id, key);
        if (status != TG_OK || is_kept(key)) {
            return status;
        }
    }
    return key_by_compiler(q, key);
}

int image_get(const nvrtc_request *q, const image **out) {
    *out = NULL;
    cache_key key;
    int status = choose_key(q, &key);
    if (status != TG_OK) {
        return status;
    }
    pthread_mutex_lock(&lock);
    record *r = find(&key);
    bool is_ours = !r;
    r = r ? r : add(&key);
    if (!r) {
        pthread_mutex_unlock(&lock);
        return error_set(TG_ENOMEM, "no memory for the image of '%s'", q->name);
    }
    r->users++;
    if (is_ours) {
        pthread_mutex_unlock(&lock);
        fill(r, q);
        pthread_mutex_lock(&lock);
    }
    while (r->state == PENDING) {
        pthread_cond_wait(&changed, &lock);
    }
    status = r->status;
    if (status == TG_OK) {
        *out = &r->image;
    } else {
        error_set(status, "%s", r->why ? r->why : "no memory for the reason");
        drop(r);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

const image *image_own(const void *bytes, size_t size, const char *kernel, const char *target,
                       const char *nvrtc) {
    record *r = calloc(1, sizeof *r);
    void *copy = aligned_alloc(16, (size + 15) / 16 * 16);
    if (!r || !copy) {
        free(r);
        free(copy);
        return NULL;
    }
    memcpy(copy, bytes, size);
    const cache_field field = {bytes, size};
    r->users = 1;
    r->state = READY;
    r->entry.memory = copy;
    r->image =
        (image){.key = cache_make_key(&field, 1), .data = copy, .size = size, .origin = IMAGE_FROM_PACK};
    snprintf(r->image.notes.kernel, sizeof r->image.notes.kernel, "%s", kernel);
    snprintf(r->image.notes.target, sizeof r->image.notes.target, "%s", target);
    snprintf(r->image.notes.nvrtc, sizeof r->image.notes.nvrtc, "%s", nvrtc);
    return &r->image;
}

void image_release(const image *i) {
    if (i) {
        pthread_mutex_lock(&lock);
        drop((record *)(uintptr_t)i);
        pthread_mutex_unlock(&lock);
    }
}
