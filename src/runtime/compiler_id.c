/* compiler_id.c -- see compiler_id.h. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/compiler_id.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/error.h"

enum { NOTE_SIZE = PATH_MAX + 256 };

compiler_id compiler_id_of(const api_nvrtc *api) {
    return (compiler_id){api->major, api->minor, api->build};
}

/* One note for each set of things that decide which NVRTC is taken. */
static bool name_note(const cache *c, const char *target, char path[PATH_MAX]) {
    static const char *const variable[] = {"TEGULA_NVRTC", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH"};
    enum { N = sizeof variable / sizeof *variable };
    const char *directory = cache_directory(c);
    int numbers[2] = {api_target_number(target), api_driver_version() / 1000};
    cache_field field[N + 1] = {{numbers, sizeof numbers}};
    for (size_t i = 0; i < N; i++) {
        const char *value = error_environment(variable[i]);
        field[i + 1] = (cache_field){value, value ? strlen(value) : 0};
    }
    cache_key key = cache_make_key(field, N + 1);
    char text[CACHE_KEY_TEXT];
    cache_key_text(&key, text);
    int n = directory ? snprintf(path, PATH_MAX, "%s/compiler-%.16s", directory, text) : -1;
    return n > 0 && n < PATH_MAX;
}

/* "size seconds nanoseconds": what changes when the file is replaced. */
static bool describe_file(const char *path, char text[96]) {
    struct stat is;
    if (stat(path, &is) != 0) {
        return false;
    }
    snprintf(text, 96, "%lld %lld %ld", (long long)is.st_size, (long long)is.st_mtim.tv_sec,
             is.st_mtim.tv_nsec);
    return true;
}

static bool read_note(const char *path, char note[NOTE_SIZE]) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat is;
    ssize_t n = -1;
    if (fd >= 0) {
        bool is_ours = fstat(fd, &is) == 0 && is.st_uid == geteuid();
        n = is_ours ? read(fd, note, NOTE_SIZE - 1) : -1;
        close(fd);
    }
    note[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* Three lines: path, what describe_file() said, version and build. */
bool compiler_id_recall(const cache *c, const char *target, compiler_id *id) {
    char path[PATH_MAX];
    char note[NOTE_SIZE];
    char now[96];
    if (!name_note(c, target, path) || !read_note(path, note)) {
        return false;
    }
    char *file = strchr(note, '\n');
    char *version = file ? strchr(file + 1, '\n') : NULL;
    if (!version) {
        return false;
    }
    *file = *version = '\0';
    return describe_file(note, now) && !strcmp(file + 1, now) &&
           sscanf(version + 1, "%d.%d %" SCNx64, &id->major, &id->minor, &id->build) == 3;
}

void compiler_id_remember(const cache *c, const char *target, const api_nvrtc *api) {
    char path[PATH_MAX];
    char temporary[PATH_MAX + 32];
    char now[96];
    if (!name_note(c, target, path) || !describe_file(api->path, now)) {
        return;
    }
    snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
    FILE *out = fopen(temporary, "w");
    if (!out) {
        return;
    }
    fprintf(out, "%s\n%s\n%d.%d %" PRIx64 "\n", api->path, now, api->major, api->minor, api->build);
    if (fclose(out) != 0 || rename(temporary, path) != 0) {
        unlink(temporary);
    }
}
