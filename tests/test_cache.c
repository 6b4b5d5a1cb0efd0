/* test_cache.c -- the disk cache: what it gives back, what it refuses, and what survives ill treatment. */
#define _XOPEN_SOURCE 700 /* nftw */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cache.h"
#include "runtime/error.h"

static char directory[512];

static int remove_one(const char *path, const struct stat *is, int kind, struct FTW *at) {
    (void)is, (void)kind, (void)at;
    return remove(path);
}

static void make_directory(void) {
    const char *base = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/tegula-test-XXXXXX", base ? base : "/tmp");
    cr_assert(mkdtemp(directory));
}

static void remove_directory(void) {
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(cache, .init = make_directory, .fini = remove_directory);

static char last_message[2048];
static int messages;

static void keep_message(tg_log_level level, const char *line, void *user) {
    (void)level, (void)user;
    messages++;
    snprintf(last_message, sizeof last_message, "%s", line);
}

static cache_key key_of(const char *text) {
    cache_field field = {text, strlen(text)};
    return cache_make_key(&field, 1);
}

static const cache_notes notes = {
    .kernel = "gemv", .target = "sm_90a", .nvrtc = "13.0", .compile_ms = 31.25, .created = 1700000000};

static bool write_entry(cache *c, const char *name, size_t size) {
    char *image = malloc(size + 1);
    cr_assert(image);
    for (size_t i = 0; i < size; i++) {
        image[i] = (char)(i * 7 + (unsigned char)name[0]);
    }
    cache_key key = key_of(name);
    bool is_kept = cache_write(c, &key, &notes, image, size);
    free(image);
    return is_kept;
}

static bool read_entry(cache *c, const char *name, size_t size) {
    cache_key key = key_of(name);
    cache_entry entry;
    if (!cache_read(c, &key, &entry)) {
        return false;
    }
    bool is_right = entry.size == size;
    for (size_t i = 0; is_right && i < size; i++) {
        is_right = ((const char *)entry.image)[i] == (char)(i * 7 + (unsigned char)name[0]);
    }
    cr_expect(is_right, "an entry was given back that is not the one written");
    cr_expect_eq((size_t)entry.image % 16, 0);
    cache_entry_free(&entry);
    return is_right;
}

/* The only entry's file. */
static void entry_path(const char *name, char path[1024]) {
    cache_key key = key_of(name);
    char text[CACHE_KEY_TEXT];
    cache_key_text(&key, text);
    snprintf(path, 1024, "%s/%.2s/%s.tgc", directory, text, text + 2);
}

Test(cache, gives_back_what_was_written) {
    cache *c = cache_new(directory);
    cr_assert_not(read_entry(c, "a", 1000));
    cr_assert(write_entry(c, "a", 1000));
    cr_assert(read_entry(c, "a", 1000));
    cr_assert_not(read_entry(c, "b", 1000));
    cache_free(c);
    c = cache_new(directory);
    cache_key key = key_of("a");
    cache_entry entry;
    cr_assert(cache_read(c, &key, &entry));
    cr_expect_str_eq(entry.notes.kernel, "gemv");
    cr_expect_str_eq(entry.notes.target, "sm_90a");
    cr_expect_str_eq(entry.notes.nvrtc, "13.0");
    cr_expect_eq(entry.notes.compile_ms, 31.25);
    cr_expect_eq(entry.notes.created, 1700000000);
    cache_entry_free(&entry);
    cache_free(c);
}

Test(cache, an_empty_image_and_a_large_one_are_kept) {
    cache *c = cache_new(directory);
    cr_assert(write_entry(c, "empty", 0));
    cr_assert(read_entry(c, "empty", 0));
    cr_assert(write_entry(c, "large", 3000001));
    cr_assert(read_entry(c, "large", 3000001));
    cache_free(c);
}

Test(cache, directories_are_made_for_the_owner_alone) {
    char deep[600];
    struct stat is;
    snprintf(deep, sizeof deep, "%s/one/two/three", directory);
    cache *c = cache_new(deep);
    cr_assert_str_eq(cache_directory(c), deep);
    cr_assert_eq(stat(deep, &is), 0);
    cr_assert_eq(is.st_mode & 0777, 0700);
    cache_free(c);
}

Test(cache, the_directory_is_chosen_by_the_environment) {
    char home[600];
    char wanted[700];
    snprintf(home, sizeof home, "%s/home", directory);
    unsetenv("TEGULA_NO_CACHE");
    setenv("HOME", home, 1);
    setenv("XDG_CACHE_HOME", "", 1);
    setenv("TEGULA_CACHE_DIR", "", 1);
    cache *c = cache_new(NULL);
    snprintf(wanted, sizeof wanted, "%s/.cache/tegula", home);
    cr_expect_str_eq(cache_directory(c), wanted);
    cache_free(c);
    setenv("XDG_CACHE_HOME", "relative", 1); /* ignored, as its standard says */
    c = cache_new(NULL);
    cr_expect_str_eq(cache_directory(c), wanted);
    cache_free(c);
    snprintf(wanted, sizeof wanted, "%s/xdg", directory);
    setenv("XDG_CACHE_HOME", wanted, 1);
    c = cache_new(NULL);
    snprintf(wanted, sizeof wanted, "%s/xdg/tegula", directory);
    cr_expect_str_eq(cache_directory(c), wanted);
    cache_free(c);
    snprintf(wanted, sizeof wanted, "%s/own", directory);
    setenv("TEGULA_CACHE_DIR", wanted, 1);
    c = cache_new(NULL);
    cr_expect_str_eq(cache_directory(c), wanted);
    cache_free(c);
    setenv("TEGULA_NO_CACHE", "1", 1);
    c = cache_new(NULL);
    cr_expect_null(cache_directory(c));
    cr_expect(cache_problem(c) != NULL);
    cache_free(c);
}

Test(cache, keys_tell_fields_apart) {
    const cache_field ab_c[] = {{"ab", 2}, {"c", 1}};
    const cache_field a_bc[] = {{"a", 1}, {"bc", 2}};
    const cache_field abc[] = {{"abc", 3}};
    const cache_field abc_empty[] = {{"abc", 3}, {NULL, 0}};
    cache_key key[4] = {cache_make_key(ab_c, 2), cache_make_key(a_bc, 2), cache_make_key(abc, 1),
                        cache_make_key(abc_empty, 2)};
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < i; j++) {
            cr_expect_not(cache_same_key(&key[i], &key[j]), "%d and %d", i, j);
        }
    }
    cache_key again = cache_make_key(ab_c, 2);
    cr_expect(cache_same_key(&key[0], &again));
}

static char *read_file(const char *path, size_t *size) {
    FILE *in = fopen(path, "rb");
    cr_assert(in);
    char *bytes = malloc(1 << 20);
    cr_assert(bytes);
    *size = fread(bytes, 1, 1 << 20, in);
    fclose(in);
    return bytes;
}

static void write_file(const char *path, const char *bytes, size_t size) {
    FILE *out = fopen(path, "wb");
    cr_assert(out);
    cr_assert_eq(fwrite(bytes, 1, size, out), size);
    cr_assert_eq(fclose(out), 0);
}

Test(cache, an_entry_cut_at_any_length_is_a_miss_and_removed) {
    char path[1024];
    size_t size;
    cache *c = cache_new(directory);
    cr_assert(write_entry(c, "a", 200));
    entry_path("a", path);
    char *bytes = read_file(path, &size);
    for (size_t n = 0; n < size; n++) {
        write_file(path, bytes, n);
        cr_assert_not(read_entry(c, "a", 200), "cut at %zu", n);
        cr_assert_neq(access(path, F_OK), 0, "cut at %zu: still there", n);
    }
    write_file(path, bytes, size);
    cr_assert(read_entry(c, "a", 200));
    free(bytes);
    cache_free(c);
}

Test(cache, an_entry_with_any_byte_altered_is_a_miss) {
    char path[1024];
    size_t size;
    cache *c = cache_new(directory);
    cr_assert(write_entry(c, "a", 200));
    entry_path("a", path);
    char *bytes = read_file(path, &size);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (char)(bytes[i] ^ (1 << i % 8));
        write_file(path, bytes, size);
        cr_assert_not(read_entry(c, "a", 200), "byte %zu", i);
        bytes[i] = (char)(bytes[i] ^ (1 << i % 8));
    }
    bytes[size] = 'x';
    write_file(path, bytes, size + 1);
    cr_assert_not(read_entry(c, "a", 200), "a byte more");
    free(bytes);
    cache_free(c);
}

Test(cache, a_whole_entry_under_the_name_of_another_is_a_miss) {
    char path[1024];
    char other[1024];
    cache *c = cache_new(directory);
    cr_assert(write_entry(c, "a", 100));
    cr_assert(write_entry(c, "b", 100));
    entry_path("a", path);
    entry_path("b", other);
    cr_assert_eq(rename(path, other), 0);
    cr_assert_not(read_entry(c, "b", 100));
    cache_free(c);
}

Test(cache, bad_entries_are_warned_of_once) {
    char path[1024];
    tg_set_log(keep_message, NULL);
    cache *c = cache_new(directory);
    for (int i = 0; i < 5; i++) {
        cr_assert(write_entry(c, "a", 100));
        entry_path("a", path);
        cr_assert_eq(truncate(path, 70), 0);
        cr_assert_not(read_entry(c, "a", 100));
    }
    cr_expect_eq(messages, 1);
    cr_expect(strstr(last_message, path), "%s", last_message);
    cache_free(c);
}

Test(cache, messages_go_to_a_file_when_nobody_listens) {
    char log[600];
    char path[1024];
    char line[2048] = "";
    snprintf(log, sizeof log, "%s/log", directory);
    setenv("TEGULA_LOG", log, 1);
    cache *c = cache_new(directory);
    cr_assert(write_entry(c, "a", 100));
    entry_path("a", path);
    cr_assert_eq(truncate(path, 70), 0);
    cr_assert_not(read_entry(c, "a", 100));
    cache_free(c);
    FILE *in = fopen(log, "r");
    cr_assert(in && fgets(line, sizeof line, in));
    fclose(in);
    cr_expect_eq(strncmp(line, "tegula: warning: ", 17), 0, "%s", line);
    cr_expect(strstr(line, path), "%s", line);
}

Test(cache, a_pipe_or_folder_in_the_place_of_an_entry_is_a_miss, .timeout = 10) {
    char path[1024];
    cache *c = cache_new(directory);
    cr_assert(write_entry(c, "a", 100));
    entry_path("a", path);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkfifo(path, 0600), 0);
    cr_assert_not(read_entry(c, "a", 100));
    unlink(path);
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_assert_not(read_entry(c, "a", 100));
    cache_free(c);
}

static size_t count_entries(size_t *temporary) {
    cache *c = cache_new(directory);
    cache_statistics s = cache_stat(c);
    *temporary = s.temporary;
    cache_free(c);
    return s.entries;
}

Test(cache, thirty_two_processes_on_one_key_leave_one_entry, .timeout = 60) {
    enum { PROCESSES = 32 };
    pid_t child[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            cache *c = cache_new(directory);
            bool is_good = true;
            for (int n = 0; n < 4; n++) {
                is_good = write_entry(c, "a", 20000) && read_entry(c, "a", 20000) && is_good;
            }
            _exit(is_good ? 0 : 1);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        cr_assert_eq(waitpid(child[i], &status, 0), child[i]);
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "process %d", i);
    }
    size_t temporary;
    cr_expect_eq(count_entries(&temporary), 1);
    cr_expect_eq(temporary, 0);
}

Test(cache, killed_writers_leave_a_good_cache, .timeout = 120) {
    for (int round = 0; round < 40; round++) {
        pid_t child = fork();
        if (child == 0) {
            cache *c = cache_new(directory);
            for (unsigned n = 0;; n++) {
                char name[16];
                snprintf(name, sizeof name, "%u", n % 10);
                write_entry(c, name, 50000);
            }
        }
        struct timespec pause = {0, 3000000 + round * 700000};
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        cache *c = cache_new(directory);
        size_t good;
        cr_expect_eq(cache_verify(c, &good), 0, "round %d: an entry is not whole", round);
        cr_expect(write_entry(c, "0", 50000) && read_entry(c, "0", 50000));
        cache_free(c);
    }
}

Test(cache, what_killed_writers_left_is_removed_after_an_hour) {
    char path[1100];
    char old[1100];
    cache *c = cache_new(directory);
    cr_assert(write_entry(c, "a", 100));
    entry_path("a", path);
    *strrchr(path, '/') = '\0';
    snprintf(old, sizeof old, "%.1000s/.tmp-host-1-2", path);
    write_file(old, "half", 4);
    struct timespec stamp[2] = {{time(NULL) - 7200, 0}, {time(NULL) - 7200, 0}};
    cr_assert_eq(utimensat(AT_FDCWD, old, stamp, 0), 0);
    strcat(path, "/.tmp-host-1-3");
    write_file(path, "half", 4);
    cache_prune(c, cache_limit(c));
    cr_expect_neq(access(old, F_OK), 0);
    cr_expect_eq(access(path, F_OK), 0, "a writer at work was robbed");
    cache_free(c);
}

static void set_last_use(const char *name, time_t when) {
    char path[1024];
    entry_path(name, path);
    struct timespec stamp[2] = {{0, UTIME_OMIT}, {when, 0}};
    cr_assert_eq(utimensat(AT_FDCWD, path, stamp, 0), 0);
}

Test(cache, the_least_recently_used_go_first) {
    cache *c = cache_new(directory);
    static const char *const name[] = {"c", "a", "d", "b"};
    time_t now = time(NULL);
    for (int i = 0; i < 4; i++) {
        cr_assert(write_entry(c, name[i], 10000));
        set_last_use(name[i], now - 40000 + i * 4000);
    }
    cr_assert(read_entry(c, "c", 10000)); /* a use: the oldest becomes the youngest */
    cr_expect_eq(cache_prune(c, 25000), 2);
    cr_expect_not(read_entry(c, "a", 10000));
    cr_expect_not(read_entry(c, "d", 10000));
    cr_expect(read_entry(c, "b", 10000));
    cr_expect(read_entry(c, "c", 10000));
    cache_free(c);
}

Test(cache, writing_over_the_limit_prunes) {
    setenv("TEGULA_CACHE_SIZE", "100K", 1);
    cache *c = cache_new(directory);
    cr_assert_eq(cache_limit(c), 100 * 1024);
    for (int i = 0; i < 60; i++) {
        char name[16];
        snprintf(name, sizeof name, "entry %d", i);
        cr_assert(write_entry(c, name, 10000));
        cr_assert(read_entry(c, name, 10000), "the newest was pruned");
        cr_assert_leq(cache_stat(c).bytes, 100 * 1024);
    }
    cr_expect_geq(cache_stat(c).entries, 8);
    cache_free(c);
}

Test(cache, sizes_have_units) {
    static const struct {
        const char *text;
        uint64_t bytes;
    } row[] = {{"", UINT64_C(1) << 30},
               {"4096", 4096},
               {"64K", 65536},
               {"2m", 2 << 20},
               {"3G", UINT64_C(3) << 30},
               {"12X", UINT64_C(1) << 30},
               {"-1", UINT64_C(1) << 30},
               {"99999999999G", UINT64_C(1) << 30}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        setenv("TEGULA_CACHE_SIZE", row[i].text, 1);
        cache *c = cache_new(directory);
        cr_expect_eq(cache_limit(c), row[i].bytes, "%s", row[i].text);
        cache_free(c);
    }
}

Test(cache, a_path_that_cannot_be_a_directory_is_said_and_goes_on) {
    char path[600];
    snprintf(path, sizeof path, "%s/file", directory);
    write_file(path, "x", 1);
    tg_set_log(keep_message, NULL);
    cache *c = cache_new(path);
    cr_expect_null(cache_directory(c));
    cr_expect(strstr(cache_problem(c), "no directory"), "%s", cache_problem(c));
    cr_expect_not(write_entry(c, "a", 100));
    cr_expect_not(read_entry(c, "a", 100));
    cr_expect_eq(cache_stat(c).entries, 0);
    cr_expect_eq(messages, 1);
    cache_free(c);
    snprintf(path, sizeof path, "%s/file/below", directory);
    c = cache_new(path);
    cr_expect_null(cache_directory(c));
    cache_free(c);
}

/* Root may write anywhere, so the test becomes somebody else for it. */
static void become_nobody(void) {
    if (geteuid() == 0) {
        cr_assert_eq(chmod(directory, 0755), 0);
        cr_assert_eq(setgid(65534), 0);
        cr_assert_eq(setuid(65534), 0);
    }
}

static int in_child(int (*run)(void)) {
    pid_t child = fork();
    if (child == 0) {
        _exit(run());
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static int write_unwritable(void) {
    tg_set_log(keep_message, NULL);
    char path[600];
    snprintf(path, sizeof path, "%s/mine", directory);
    if (geteuid() == 0 && (mkdir(path, 0700) || chown(path, 65534, 65534))) {
        return 10;
    }
    become_nobody();
    mkdir(path, 0700);
    cache *c = cache_new(path);
    if (!write_entry(c, "a", 100) || chmod(path, 0500)) {
        return 11;
    }
    if (!read_entry(c, "a", 100)) {
        return 12; /* reading needs no right to write */
    }
    bool is_kept = false;
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "new %d", i);
        is_kept = is_kept || write_entry(c, name, 100);
    }
    chmod(path, 0700);
    return is_kept ? 13 : messages != 1 ? 14 : 0;
}

Test(cache, an_unwritable_directory_is_warned_of_once_and_still_read) {
    cr_assert_eq(in_child(write_unwritable), 0);
}

static int use_foreign(void) {
    tg_set_log(keep_message, NULL);
    become_nobody();
    cache *c = cache_new(directory);
    return cache_directory(c) ? 1 : !strstr(cache_problem(c), "another user") ? 2 : messages != 1 ? 3 : 0;
}

Test(cache, a_directory_of_another_user_is_ignored) {
    if (geteuid() != 0) {
        cr_skip_test("needs root, to become another user");
    }
    cr_assert_eq(in_child(use_foreign), 0);
}

/* A limit on the size of files fails a write in its middle, as a full disk does. */
static int fill_disk(void) {
    tg_set_log(keep_message, NULL);
    signal(SIGXFSZ, SIG_IGN);
    cache *c = cache_new(directory);
    if (!write_entry(c, "small", 1000)) {
        return 10;
    }
    struct rlimit full = {5000, 5000};
    if (setrlimit(RLIMIT_FSIZE, &full)) {
        return 11;
    }
    bool is_kept = write_entry(c, "a", 20000) || write_entry(c, "b", 20000);
    size_t good;
    size_t bad = cache_verify(c, &good);
    return is_kept ? 12 : bad != 0 || good != 1 ? 13 : cache_stat(c).temporary ? 14 : messages != 1 ? 15 : 0;
}

Test(cache, a_full_disk_leaves_nothing_half_written) {
    cr_assert_eq(in_child(fill_disk), 0);
}

Test(cache, the_list_tells_what_is_there_and_what_is_bad) {
    char path[1024];
    cache_row *rows;
    size_t n;
    cache *c = cache_new(directory);
    cr_assert_eq(cache_list(c, &rows, &n), TG_OK);
    cr_expect_eq(n, 0);
    free(rows);
    cr_assert(write_entry(c, "a", 100));
    cr_assert(write_entry(c, "b", 200));
    set_last_use("a", time(NULL) - 500);
    entry_path("b", path);
    cr_assert_eq(truncate(path, 100), 0);
    cr_assert_eq(cache_list(c, &rows, &n), TG_OK);
    cr_assert_eq(n, 2);
    cr_expect_not(rows[0].is_good, "the last used comes first, and it is cut");
    cr_expect(rows[1].is_good);
    cr_expect_str_eq(rows[1].notes.kernel, "gemv");
    cr_expect_eq(rows[1].bytes, 64 + 80 + 100); /* header, notes, image */
    char text[CACHE_KEY_TEXT];
    cache_key key = key_of("a");
    cache_key_text(&key, text);
    cr_expect_str_eq(rows[1].key, text);
    free(rows);
    size_t good;
    cr_expect_eq(cache_verify(c, &good), 1);
    cr_expect_eq(good, 1);
    cr_expect_eq(cache_stat(c).entries, 1);
    cr_expect_eq(cache_clear(c), 1);
    cr_expect_eq(cache_stat(c).entries, 0);
    cache_free(c);
}

Test(cache, clearing_under_a_running_process_is_survived) {
    cache *c = cache_new(directory);
    cr_assert(write_entry(c, "a", 100));
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS); /* the directory itself too */
    cr_expect_not(read_entry(c, "a", 100));
    cr_expect(write_entry(c, "a", 100));
    cr_expect(read_entry(c, "a", 100));
    cache_free(c);
}

Test(cache, a_use_is_stamped_at_most_once_an_hour) {
    char path[1024];
    struct stat is;
    cache *c = cache_new(directory);
    cr_assert(write_entry(c, "a", 100));
    entry_path("a", path);
    time_t recent = time(NULL) - 600;
    set_last_use("a", recent);
    cr_assert(read_entry(c, "a", 100));
    cr_assert_eq(stat(path, &is), 0);
    cr_expect_eq(is.st_mtime, recent);
    set_last_use("a", recent - 7200);
    cr_assert(read_entry(c, "a", 100));
    cr_assert_eq(stat(path, &is), 0);
    cr_expect_geq(is.st_mtime, recent);
    cache_free(c);
}
