/* cache_admin.c -- what the cache holds, and keeping it small and whole.  See cache.h.
 *
 * Everything walks the 256 folders once (scan) and works on the list of files it found. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tegula/tegula.h>

#include "runtime/cache_internal.h"

enum { STALE_SECONDS = 3600, MAX_COUNTED = 4096, NAME_LENGTH = 30 };

static const char suffix[] = ".tgc";

typedef struct {
    char name[48]; /* "3f/a04c..9e.tgc" */
    uint64_t bytes;
    struct timespec used;
} found;

typedef struct {
    found *at;
    size_t n, capacity;
    size_t temporary;
    bool failed; /* without memory: the list is short */
} scan;

/* ---- finding ------------------------------------------------------------------------------------------- */

static void add_found(scan *s, const char *folder, const char *name, const struct stat *is) {
    if (s->n == s->capacity) {
        size_t more = s->capacity ? 2 * s->capacity : 64;
        found *at = realloc(s->at, more * sizeof *at);
        if (!at) {
            s->failed = true;
            return;
        }
        s->at = at;
        s->capacity = more;
    }
    found *f = &s->at[s->n++];
    *f = (found){.bytes = (uint64_t)is->st_size, .used = is->st_mtim};
    snprintf(f->name, sizeof f->name, "%.2s/%.*s", folder, NAME_LENGTH + (int)sizeof suffix, name);
}

static bool is_hex(const char *s, size_t n) {
    return strspn(s, "0123456789abcdef") == n;
}

static bool is_entry_name(const char *name) {
    return is_hex(name, NAME_LENGTH) && strcmp(name + NAME_LENGTH, suffix) == 0;
}

/* Files of a writer that was killed stay for an hour: it may be slow, and on another machine. */
static void look_at_temporary(scan *s, int folder, const char *name, const struct stat *is,
                              bool is_cleaning) {
    if (is_cleaning && is->st_mtim.tv_sec + STALE_SECONDS < time(NULL)) {
        unlinkat(folder, name, 0);
    } else {
        s->temporary++;
    }
}

static DIR *open_folder(int root, const char *folder) {
    int fd = openat(root, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir && fd >= 0) {
        close(fd);
    }
    return dir;
}

static void scan_folder(scan *s, int root, const char *folder, bool is_cleaning) {
    DIR *dir = open_folder(root, folder);
    if (!dir) {
        return;
    }
    int fd = dirfd(dir);
    for (const struct dirent *d = readdir(dir); d; d = readdir(dir)) {
        struct stat is;
        bool is_temporary = strncmp(d->d_name, ".tmp-", 5) == 0;
        if ((!is_temporary && !is_entry_name(d->d_name)) ||
            fstatat(fd, d->d_name, &is, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        if (is_temporary) {
            look_at_temporary(s, fd, d->d_name, &is, is_cleaning);
        } else {
            add_found(s, folder, d->d_name, &is);
        }
    }
    closedir(dir);
}

static int open_root(const cache *c) {
    return c->root[0] ? open(c->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

static scan scan_all(int root, bool is_cleaning) {
    scan s = {0};
    DIR *dir = open_folder(root, ".");
    if (!dir) {
        return s;
    }
    for (const struct dirent *d = readdir(dir); d; d = readdir(dir)) {
        if (is_hex(d->d_name, 2) && !d->d_name[2]) {
            scan_folder(&s, root, d->d_name, is_cleaning);
        }
    }
    closedir(dir);
    return s;
}

/* Least recently used first; equal stamps by name, so that the order is one. */
static int by_use(const void *a, const void *b) {
    const found *x = a;
    const found *y = b;
    if (x->used.tv_sec != y->used.tv_sec) {
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    }
    if (x->used.tv_nsec != y->used.tv_nsec) {
        return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

static scan scan_by_use(int root, bool is_cleaning) {
    scan s = scan_all(root, is_cleaning);
    if (s.n) {
        qsort(s.at, s.n, sizeof *s.at, by_use);
    }
    return s;
}

static uint64_t total_of(const scan *s) {
    uint64_t total = 0;
    for (size_t i = 0; i < s->n; i++) {
        total += s->at[i].bytes;
    }
    return total;
}

/* ---- counting, so that a prune is rare ----------------------------------------------------------------- */

/* One appended number a write: no lock, and a lost one is found at the next prune. */
bool cache_count(cache *c, uint64_t bytes) {
    int root = open_root(c);
    int fd = root < 0 ? -1 : openat(root, "usage", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    bool is_time = false;
    if (fd >= 0 && write(fd, &bytes, sizeof bytes) == (ssize_t)sizeof bytes) {
        static const size_t most = MAX_COUNTED;
        uint64_t *counted = calloc(most, sizeof *counted);
        ssize_t n = counted ? pread(fd, counted, most * sizeof *counted, 0) : 0;
        size_t entries = n > 0 ? (size_t)n / sizeof *counted : 0;
        uint64_t total = 0;
        for (size_t i = 0; i < entries; i++) {
            total += counted[i];
        }
        is_time = entries <= 1 || entries == most || total > c->limit;
        free(counted);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (root >= 0) {
        close(root);
    }
    return is_time;
}

/* Starts the count anew from what a prune found. */
static void restart_count(int root, uint64_t bytes) {
    char name[64];
    snprintf(name, sizeof name, ".usage-%ld", (long)getpid());
    int fd = openat(root, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) {
        return;
    }
    uint64_t record[2] = {bytes, 0}; /* two: one alone means that the past is not counted */
    bool is_written = write(fd, record, sizeof record) == (ssize_t)sizeof record;
    if (close(fd) != 0 || !is_written || renameat(root, name, root, "usage") != 0) {
        unlinkat(root, name, 0);
    }
}

/* ---- pruning ------------------------------------------------------------------------------------------- */

/* A lock of the process's own, without waiting: whoever has it does the work for all. */
static int take_lock(int root) {
    int fd = openat(root, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fd >= 0 && fcntl(fd, F_SETLK, &all) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Goes a tenth below the limit, so that the next write does not prune again. */
static size_t remove_oldest(int root, const scan *s, uint64_t limit, uint64_t *total) {
    uint64_t wanted = limit - limit / 10;
    size_t removed = 0;
    if (*total <= limit) {
        return 0;
    }
    for (size_t i = 0; i<s->n && * total> wanted; i++) {
        if (unlinkat(root, s->at[i].name, 0) == 0 || errno == ENOENT) {
            *total -= s->at[i].bytes;
            removed++;
        }
    }
    return removed;
}

size_t cache_prune(cache *c, uint64_t limit) {
    int root = open_root(c);
    int lock = root < 0 ? -1 : take_lock(root);
    size_t removed = 0;
    if (lock >= 0) {
        scan s = scan_by_use(root, true);
        uint64_t total = total_of(&s);
        removed = remove_oldest(root, &s, limit, &total);
        restart_count(root, total);
        free(s.at);
        close(lock);
    }
    if (root >= 0) {
        close(root);
    }
    return removed;
}

/* ---- the tool's questions ------------------------------------------------------------------------------ */

static void key_of_name(const char *name, char key[CACHE_KEY_TEXT]) {
    snprintf(key, CACHE_KEY_TEXT, "%.2s%.*s", name, NAME_LENGTH, name + 3);
}

/* Whole, and under the name of its own key. */
static bool check_found(const cache *c, const found *f, cache_notes *notes) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.*s/%s", PATH_MAX - 64, c->root, f->name);
    cache_key key = {0};
    char text[CACHE_KEY_TEXT];
    key_of_name(f->name, text);
    for (int i = 0; i < 16; i++) {
        char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};
        key.byte[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
    cache_entry entry;
    bool is_absent;
    if (!cache_load_file(path, &key, false, &entry, &is_absent)) {
        return is_absent; /* another process pruned it meanwhile */
    }
    *notes = entry.notes;
    cache_entry_free(&entry);
    return true;
}

int cache_list(cache *c, cache_row **rows, size_t *n) {
    *rows = NULL;
    *n = 0;
    int root = open_root(c);
    if (root < 0) {
        return TG_OK;
    }
    scan s = scan_by_use(root, false);
    close(root);
    cache_row *list = s.failed ? NULL : calloc(s.n + 1, sizeof *list);
    for (size_t i = 0; list && i < s.n; i++) {
        const found *f = &s.at[s.n - 1 - i];
        list[i] = (cache_row){.bytes = f->bytes, .last_used = f->used.tv_sec};
        key_of_name(f->name, list[i].key);
        list[i].is_good = check_found(c, f, &list[i].notes);
    }
    *rows = list;
    *n = list ? s.n : 0;
    free(s.at);
    return list ? TG_OK : TG_ENOMEM;
}

cache_statistics cache_stat(cache *c) {
    cache_statistics t = {0};
    int root = open_root(c);
    if (root < 0) {
        return t;
    }
    scan s = scan_by_use(root, false);
    close(root);
    t.entries = s.n;
    t.temporary = s.temporary;
    t.bytes = total_of(&s);
    if (s.n) {
        t.oldest = s.at[0].used.tv_sec;
        t.newest = s.at[s.n - 1].used.tv_sec;
    }
    free(s.at);
    return t;
}

size_t cache_verify(cache *c, size_t *good) {
    int root = open_root(c);
    size_t removed = 0;
    *good = 0;
    if (root < 0) {
        return 0;
    }
    scan s = scan_all(root, true);
    for (size_t i = 0; i < s.n; i++) {
        cache_notes notes;
        if (check_found(c, &s.at[i], &notes)) {
            ++*good;
        } else if (unlinkat(root, s.at[i].name, 0) == 0) {
            removed++;
        }
    }
    free(s.at);
    close(root);
    return removed;
}

/* What compiler_id.c noted, and half-written counts of killed processes. */
static void remove_notes(int root) {
    DIR *dir = open_folder(root, ".");
    if (!dir) {
        return;
    }
    for (const struct dirent *d = readdir(dir); d; d = readdir(dir)) {
        if (strncmp(d->d_name, "compiler-", 9) == 0 || strncmp(d->d_name, ".usage-", 7) == 0) {
            unlinkat(root, d->d_name, 0);
        }
    }
    closedir(dir);
}

size_t cache_clear(cache *c) {
    int root = open_root(c);
    size_t removed = 0;
    if (root < 0) {
        return 0;
    }
    scan s = scan_all(root, true);
    for (size_t i = 0; i < s.n; i++) {
        removed += unlinkat(root, s.at[i].name, 0) == 0;
    }
    remove_notes(root);
    restart_count(root, 0);
    free(s.at);
    close(root);
    return removed;
}
