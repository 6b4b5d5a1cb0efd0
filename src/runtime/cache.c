/* cache.c -- keys, and entries read and written.  See cache.h for the format. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/cache_internal.h"
#include "runtime/error.h"

enum { AT_SCHEMA = 8, AT_NOTES = 12, AT_SIZE = 16, AT_KEY = 24, AT_DIGEST = 40, HEADER = 64, DIGEST = 16 };
enum { NOTES_LIMIT = 4096, STAMP_SECONDS = 3600 };

static const char magic[8] = {'T', 'E', 'G', 'U', 'L', 'A', '\r', '\n'};
static const uint64_t default_limit = UINT64_C(1) << 30;
static const uint64_t entry_limit = UINT64_C(1) << 30; /* more is no kernel */

/* ---- numbers, little-endian ---------------------------------------------------------------------------- */

static void put(unsigned char *at, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) {
        at[i] = (unsigned char)(value >> (8 * i));
    }
}

static uint64_t get(const unsigned char *at, int bytes) {
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;) {
        value = value << 8 | at[i];
    }
    return value;
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

cache_key cache_make_key(const cache_field *fields, size_t n) {
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    for (size_t i = 0; i < n; i++) {
        unsigned char length[8];
        put(length, fields[i].size, 8);
        XXH3_128bits_update(&state, length, sizeof length);
        if (fields[i].size) {
            XXH3_128bits_update(&state, fields[i].bytes, fields[i].size);
        }
    }
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
    cache_key key;
    memcpy(key.byte, canonical.digest, sizeof key.byte);
    return key;
}

bool cache_same_key(const cache_key *a, const cache_key *b) {
    return memcmp(a->byte, b->byte, sizeof a->byte) == 0;
}

void cache_key_text(const cache_key *key, char text[CACHE_KEY_TEXT]) {
    for (int i = 0; i < 16; i++) {
        snprintf(text + (size_t)(2 * i), 3, "%02x", key->byte[i]);
    }
}

/* ---- the directory ------------------------------------------------------------------------------------- */

/* "512", "64K", "200M", "2G". */
static bool read_size(const char *text, uint64_t *bytes) {
    static const char units[] = "KMG";
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (errno || end == text || *text == '-') {
        return false;
    }
    const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    bool is_whole = !*end || (unit && !end[1]);
    if (!is_whole || n > UINT64_MAX >> shift) {
        return false;
    }
    *bytes = (uint64_t)n << shift;
    return true;
}

static uint64_t limit_of_environment(void) {
    const char *text = error_environment("TEGULA_CACHE_SIZE");
    uint64_t bytes = default_limit;
    if (text && !read_size(text, &bytes)) {
        error_log(TG_LOG_WARNING, "TEGULA_CACHE_SIZE=%s is no size (512M or 2G, for example); 1 GiB is used",
                  text);
    }
    return bytes;
}

static const char *home_directory(void) {
    const char *home = error_environment("HOME");
    if (!home) {
        const struct passwd *user = getpwuid(geteuid());
        home = user ? user->pw_dir : NULL;
    }
    return home;
}

/* False when no place is known at all. */
static bool name_directory(char path[PATH_MAX]) {
    const char *own = error_environment("TEGULA_CACHE_DIR");
    const char *xdg = error_environment("XDG_CACHE_HOME");
    const char *home = home_directory();
    int n = -1;
    if (own) {
        n = snprintf(path, PATH_MAX, "%s", own);
    } else if (xdg && *xdg == '/') { /* the standard: relative ones are ignored */
        n = snprintf(path, PATH_MAX, "%s/tegula", xdg);
    } else if (home) {
        n = snprintf(path, PATH_MAX, "%s/.cache/tegula", home);
    }
    return n > 0 && n < PATH_MAX - 128;
}

static bool make_directories(const char *path) {
    char part[PATH_MAX];
    size_t n = strlen(path);
    if (n >= sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(part, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (part[i] == '/' || !part[i]) {
            char kept = part[i];
            part[i] = '\0';
            if (mkdir(part, 0700) != 0 && errno != EEXIST && !kept) {
                return false; /* of those above, some refuse although they are there */
            }
            part[i] = kept;
        }
    }
    return true;
}

/* Why the directory cannot be used; NULL when it can. */
static const char *judge_directory(const char *path) {
    struct stat is;
    int why = make_directories(path) ? 0 : errno;
    if (stat(path, &is) != 0) {
        return strerror(why ? why : errno);
    }
    if (!S_ISDIR(is.st_mode)) {
        return "it is no directory";
    }
    return is.st_uid == geteuid() ? NULL : "it belongs to another user";
}

static void give_up_disk(cache *c, const char *directory, const char *why) {
    snprintf(c->problem, sizeof c->problem, "%s is not used: %s", directory, why);
    error_log(TG_LOG_WARNING, "cache directory %s; compiled kernels stay in memory", c->problem);
}

cache *cache_new(const char *directory) {
    cache *c = calloc(1, sizeof *c);
    if (!c) {
        return NULL;
    }
    c->limit = limit_of_environment();
    if (!directory && error_environment("TEGULA_NO_CACHE")) {
        snprintf(c->problem, sizeof c->problem, "TEGULA_NO_CACHE is set");
        return c;
    }
    if (directory ? snprintf(c->root, PATH_MAX, "%s", directory) >= PATH_MAX - 128
                  : !name_directory(c->root)) {
        give_up_disk(c, directory ? directory : "(none)", "no usable name of a directory");
        c->root[0] = '\0';
        return c;
    }
    const char *why = judge_directory(c->root);
    if (why) {
        give_up_disk(c, c->root, why);
        c->root[0] = '\0';
    }
    return c;
}

void cache_free(cache *c) {
    free(c);
}

const char *cache_directory(const cache *c) {
    return c->root[0] ? c->root : NULL;
}

const char *cache_problem(const cache *c) {
    return c->problem[0] ? c->problem : NULL;
}

uint64_t cache_limit(const cache *c) {
    return c->limit;
}

/* ---- notes --------------------------------------------------------------------------------------------- */

static size_t write_notes(char *out, size_t size, const cache_notes *n) {
    int used = snprintf(out, size, "kernel=%s\ntarget=%s\nnvrtc=%s\ncompile_us=%.0f\ncreated=%" PRId64 "\n",
                        n->kernel, n->target, n->nvrtc, n->compile_ms * 1e3, n->created);
    return used > 0 && (size_t)used < size ? (size_t)used : 0;
}

/* The value of one line, copied; "" when the notes have none. */
static void read_note(const char *notes, const char *name, char *value, size_t size) {
    size_t n = strlen(name);
    value[0] = '\0';
    for (const char *line = notes; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (strncmp(line, name, n) == 0 && line[n] == '=') {
            snprintf(value, size, "%.*s", (int)strcspn(line + n + 1, "\n"), line + n + 1);
            return;
        }
    }
}

static cache_notes read_notes(const unsigned char *at, size_t size) {
    char text[NOTES_LIMIT + 1];
    memcpy(text, at, size);
    text[size] = '\0';
    cache_notes n = {0};
    char number[32];
    read_note(text, "kernel", n.kernel, sizeof n.kernel);
    read_note(text, "target", n.target, sizeof n.target);
    read_note(text, "nvrtc", n.nvrtc, sizeof n.nvrtc);
    read_note(text, "compile_us", number, sizeof number);
    n.compile_ms = strtod(number, NULL) * 1e-3;
    read_note(text, "created", number, sizeof number);
    n.created = strtoll(number, NULL, 10);
    return n;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static XXH128_canonical_t digest_of(const unsigned char *file, size_t size) {
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, file, AT_DIGEST);
    XXH3_128bits_update(&state, file + AT_DIGEST + DIGEST, size - AT_DIGEST - DIGEST);
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
    return canonical;
}

static size_t round_up(size_t n) {
    return (n + 15) / 16 * 16;
}

/* The lengths are believed only once the digest is right, and even then only when they fill the file. */
static bool check_file(const unsigned char *file, size_t size, const cache_key *key) {
    if (size < HEADER || memcmp(file, magic, sizeof magic) != 0 || get(file + AT_SCHEMA, 4) != CACHE_SCHEMA) {
        return false;
    }
    XXH128_canonical_t digest = digest_of(file, size);
    if (memcmp(file + AT_DIGEST, digest.digest, DIGEST) != 0) {
        return false;
    }
    uint64_t notes = get(file + AT_NOTES, 4);
    uint64_t image = get(file + AT_SIZE, 8);
    return notes <= NOTES_LIMIT && image <= entry_limit && HEADER + round_up(notes) + image == size &&
           memcmp(file + AT_KEY, key->byte, sizeof key->byte) == 0;
}

static unsigned char *read_whole(int fd, size_t size) {
    unsigned char *file = malloc(size ? size : 1);
    size_t got = 0;
    while (file && got < size) {
        ssize_t n = read(fd, file + got, size - got);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            free(file);
            return NULL;
        }
        got += (size_t)n;
    }
    return file;
}

/* Uses are stamped at most once an hour: a hit should not write. */
static void stamp(int fd, const struct stat *is) {
    time_t now = time(NULL);
    if (is->st_mtim.tv_sec + STAMP_SECONDS <= now || is->st_mtim.tv_sec > now + STAMP_SECONDS) {
        futimens(fd, (const struct timespec[2]){{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}});
    }
}

/* The file's bytes when it is an entry of ours, whole and right; NULL else. */
static unsigned char *read_checked(int fd, const cache_key *key, bool is_use) {
    struct stat is;
    if (fstat(fd, &is) != 0 || !S_ISREG(is.st_mode) || is.st_uid != geteuid() ||
        (uint64_t)is.st_size > entry_limit) {
        return NULL;
    }
    size_t size = (size_t)is.st_size;
    unsigned char *file = read_whole(fd, size);
    if (file && !check_file(file, size, key)) {
        free(file);
        return NULL;
    }
    if (file && is_use) {
        stamp(fd, &is);
    }
    return file;
}

bool cache_load_file(const char *path, const cache_key *key, bool is_use, cache_entry *entry,
                     bool *is_absent) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe of that name must not hang us */
    *is_absent = fd < 0;
    if (fd < 0) {
        return false;
    }
    unsigned char *file = read_checked(fd, key, is_use);
    close(fd);
    if (!file) {
        return false;
    }
    size_t notes = (size_t)get(file + AT_NOTES, 4);
    *entry = (cache_entry){.notes = read_notes(file + HEADER, notes),
                           .image = file + HEADER + round_up(notes),
                           .size = (size_t)get(file + AT_SIZE, 8),
                           .memory = file};
    return true;
}

void cache_entry_free(cache_entry *entry) {
    free(entry->memory);
    *entry = (cache_entry){0};
}

static void warn_once(atomic_bool *is_said, const char *what, const char *path, const char *why) {
    if (!atomic_exchange(is_said, true)) {
        error_log(TG_LOG_WARNING, "%s %s (%s)", what, path, why);
    }
}

static void name_entry(const cache *c, const cache_key *key, char path[PATH_MAX]) {
    char text[CACHE_KEY_TEXT];
    cache_key_text(key, text);
    snprintf(path, PATH_MAX, "%.*s/%.2s/%s.tgc", PATH_MAX - 64, c->root, text, text + 2);
}

bool cache_has(const cache *c, const cache_key *key) {
    char path[PATH_MAX];
    name_entry(c, key, path);
    return c->root[0] && access(path, F_OK) == 0;
}

bool cache_read(cache *c, const cache_key *key, cache_entry *entry) {
    *entry = (cache_entry){0};
    if (!c->root[0]) {
        return false;
    }
    char path[PATH_MAX];
    bool is_absent;
    name_entry(c, key, path);
    if (cache_load_file(path, key, true, entry, &is_absent)) {
        return true;
    }
    if (!is_absent) {
        unlink(path);
        warn_once(&c->said_corrupt, "removed from the cache:", path, "not a whole entry of this version");
    }
    return false;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* The whole file in memory; NULL without. */
static unsigned char *make_file(const cache_key *key, const cache_notes *notes, const void *image,
                                size_t size, size_t *total) {
    char text[NOTES_LIMIT];
    size_t n = write_notes(text, sizeof text, notes);
    *total = HEADER + round_up(n) + size;
    unsigned char *file = calloc(*total, 1);
    if (!file) {
        return NULL;
    }
    memcpy(file, magic, sizeof magic);
    put(file + AT_SCHEMA, CACHE_SCHEMA, 4);
    put(file + AT_NOTES, n, 4);
    put(file + AT_SIZE, size, 8);
    memcpy(file + AT_KEY, key->byte, sizeof key->byte);
    memcpy(file + HEADER, text, n);
    memcpy(file + HEADER + round_up(n), image, size);
    XXH128_canonical_t digest = digest_of(file, *total);
    memcpy(file + AT_DIGEST, digest.digest, DIGEST);
    return file;
}

/* Opens a file of a name that no other process or thread uses, in the folder where it will stay. */
static int open_temporary(const char *folder, char path[PATH_MAX]) {
    static atomic_uint counter;
    char host[32] = "host";
    gethostname(host, sizeof host - 1);
    host[strcspn(host, "/.")] = '\0';
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(path, PATH_MAX, "%.*s/.tmp-%s-%ld-%u-%lx", PATH_MAX - 128, folder, host, (long)getpid(),
             atomic_fetch_add(&counter, 1u), (unsigned long)now.tv_nsec);
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static bool write_whole(int fd, const unsigned char *file, size_t size) {
    while (size) {
        ssize_t n = write(fd, file, size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        file += n;
        size -= (size_t)n;
    }
    return true;
}

/* Whole on disk before it has its name. */
static bool put_file(const char *folder, const char *path, const unsigned char *file, size_t size) {
    char temporary[PATH_MAX];
    int fd = open_temporary(folder, temporary);
    if (fd < 0 && errno == ENOENT && make_directories(folder)) {
        fd = open_temporary(folder, temporary);
    }
    if (fd < 0) {
        return false;
    }
    bool is_written = write_whole(fd, file, size) && fdatasync(fd) == 0;
    is_written = close(fd) == 0 && is_written;
    if (is_written && rename(temporary, path) == 0) {
        return true;
    }
    int why = errno;
    unlink(temporary);
    errno = why;
    return false;
}

bool cache_write(cache *c, const cache_key *key, const cache_notes *notes, const void *image, size_t size) {
    if (!c->root[0]) {
        return false;
    }
    size_t total;
    unsigned char *file = make_file(key, notes, image, size, &total);
    if (!file) {
        return false;
    }
    char path[PATH_MAX];
    char folder[PATH_MAX];
    name_entry(c, key, path);
    memcpy(folder, path, sizeof folder);
    *strrchr(folder, '/') = '\0';
    bool is_kept = put_file(folder, path, file, total);
    if (!is_kept) {
        warn_once(&c->said_unwritable, "not kept on disk, goes on in memory:", path, strerror(errno));
    }
    free(file);
    if (is_kept && cache_count(c, total)) {
        cache_prune(c, c->limit);
    }
    return is_kept;
}
