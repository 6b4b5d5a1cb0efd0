/* api.c -- finds and opens libcuda and NVRTC.  See api.h.
 *
 * Read from the bottom: api_driver_open() and api_nvrtc_open() are the two questions asked of this file.  A
 * list of places is gathered once; each place is opened when its turn comes, and what is wrong with it is
 * kept. */
#define _GNU_SOURCE /* dladdr */
#include "runtime/api.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "dsl/arena.h"
#include "runtime/error.h"

enum { MAX_PLACES = 64, NEWEST_NVRTC = 20, OLDEST_NVRTC = 12, MAX_ENTRIES = 64 };

typedef struct {
    api_tried tried;
    void *handle;
    bool is_opened;      /* its turn has come */
    bool is_usable;      /* opened, complete, neither too old nor too new */
    bool is_initialised; /* drivers */
    union {
        api_driver driver;
        api_nvrtc nvrtc;
    } api;
} place;

typedef struct {
    place at[MAX_PLACES];
    api_tried tried[MAX_PLACES]; /* what the doctor is shown */
    size_t n;
} places;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static places drivers, nvrtcs;
static bool drivers_listed, nvrtcs_listed;
static _Atomic(const api_driver *) chosen_driver;
static pid_t driver_pid; /* the process that initialised the driver */
static bool caches_disabled;

/* ---- places -------------------------------------------------------------------------------------------- */

static char *copy_text(const char *s) {
    size_t n = strlen(s) + 1;
    char *copy = malloc(n);
    return copy ? memcpy(copy, s, n) : NULL;
}

ERROR_FORMAT(1, 2)
static char *format_text(const char *format, ...) {
    char made[PATH_MAX + 512];
    va_list args;
    va_start(args, format);
    vsnprintf(made, sizeof made, format, args);
    va_end(args);
    return copy_text(made);
}

static void add_place(places *list, const char *origin, const char *path) {
    for (size_t i = 0; i < list->n; i++) {
        if (!strcmp(list->at[i].tried.path, path)) {
            return;
        }
    }
    char *copy = list->n < MAX_PLACES ? copy_text(path) : NULL;
    if (copy) {
        list->at[list->n++].tried = (api_tried){.origin = origin, .path = copy};
    }
}

/* Adds every file that matches, the last in the alphabet (the newest version) first. */
static size_t add_matches(places *list, const char *origin, const char *pattern) {
    glob_t found;
    size_t n = 0;
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = found.gl_pathc; i-- > 0;) {
            if (!strstr(found.gl_pathv[i], ".alt.")) { /* the variant for old C++ ABIs */
                add_place(list, origin, found.gl_pathv[i]);
                n++;
            }
        }
        globfree(&found);
    }
    return n;
}

ERROR_FORMAT(3, 4)
static size_t add_pattern(places *list, const char *origin, const char *format, ...) {
    char pattern[PATH_MAX + 64];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(pattern, sizeof pattern, format, args);
    va_end(args);
    return n > 0 && (size_t)n < sizeof pattern ? add_matches(list, origin, pattern) : 0;
}

/* What the user named is a file or a folder; whatever is wrong with it is told, nothing else is tried. */
static bool add_named(places *list, const char *variable, const char *file) {
    const char *value = error_environment(variable);
    if (!value) {
        return false;
    }
    struct stat is;
    bool is_folder = stat(value, &is) == 0 && S_ISDIR(is.st_mode);
    if (!is_folder || !add_pattern(list, variable, "%s/%s*", value, file)) {
        add_place(list, variable, value);
    }
    return true;
}

static void list_drivers(void) {
    if (drivers_listed) {
        return;
    }
    drivers_listed = true;
    if (add_named(&drivers, "TEGULA_LIBCUDA", "libcuda.so")) {
        return;
    }
    add_place(&drivers, "loader", "libcuda.so.1");
    static const char *const usual[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                        "/usr/lib64", "/usr/lib/wsl/lib", "/usr/local/nvidia/lib64"};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        add_pattern(&drivers, "usual place", "%s/libcuda.so.1", usual[i]);
    }
}

static void add_toolkit(places *list, const char *origin, const char *root) {
    static const char *const folder[] = {"lib64", "lib", "targets/*/lib"};
    for (size_t i = 0; i < sizeof folder / sizeof *folder; i++) {
        add_pattern(list, origin, "%s/%s/libnvrtc.so.*", root, folder[i]);
    }
}

/* A virtual environment that the project's scripts filled, beside the program or where the user stands. */
static void add_venvs(places *list) {
    static const char wheel[] = "venv/lib/python*/site-packages/nvidia/*/lib/libnvrtc.so.*";
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) {
        self[n] = '\0';
        char *slash = strrchr(self, '/');
        if (slash) {
            *slash = '\0';
            add_pattern(list, "venv", "%s/%s", self, wheel);
            add_pattern(list, "venv", "%s/build/%s", self, wheel);
            add_pattern(list, "venv", "%s/../%s", self, wheel);
            add_pattern(list, "venv", "%s/../build/%s", self, wheel);
        }
    }
    add_pattern(list, "venv", "build/%s", wheel);
}

static void list_nvrtcs(void) {
    if (nvrtcs_listed) {
        return;
    }
    nvrtcs_listed = true;
    if (add_named(&nvrtcs, "TEGULA_NVRTC", "libnvrtc.so")) {
        return;
    }
    static const char *const variable[] = {"CUDA_HOME", "CUDA_PATH"};
    for (size_t i = 0; i < 2; i++) {
        const char *root = error_environment(variable[i]);
        if (root) {
            add_toolkit(&nvrtcs, variable[i], root);
        }
    }
    for (int major = NEWEST_NVRTC; major >= OLDEST_NVRTC; major--) {
        char name[32];
        snprintf(name, sizeof name, "libnvrtc.so.%d", major);
        add_place(&nvrtcs, "loader", name);
    }
    add_place(&nvrtcs, "loader", "libnvrtc.so");
    add_toolkit(&nvrtcs, "usual place", "/usr/local/cuda");
    add_toolkit(&nvrtcs, "usual place", "/usr/local/cuda-*");
    add_venvs(&nvrtcs);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* POSIX lets a symbol's address become a function pointer; ISO C has no cast for it. */
static void read_symbol(void *handle, const char *symbol, void *field) {
    void *address = dlsym(handle, symbol);
    memcpy(field, &address, sizeof address);
}

/* Replaces a name that the loader resolved by the file it found. */
static void resolve_path(place *p, const char *symbol) {
    Dl_info info;
    void *address = dlsym(p->handle, symbol);
    char real[PATH_MAX];
    if (address && dladdr(address, &info) && info.dli_fname) {
        char *copy = copy_text(realpath(info.dli_fname, real) ? real : info.dli_fname);
        if (copy) {
            free((char *)(uintptr_t)p->tried.path);
            p->tried.path = copy;
        }
    }
}

static bool open_library(place *p) {
    p->is_opened = true;
    p->handle = dlopen(p->tried.path, RTLD_LAZY | RTLD_LOCAL);
    if (!p->handle) {
        const char *why = dlerror();
        p->tried.problem = format_text("cannot be opened (%s)", why ? why : "no reason given");
        return false;
    }
    return true;
}

/* The same file under another name needs no second look. */
static bool is_known_handle(const places *list, const place *p) {
    for (const place *q = list->at; q < p; q++) {
        if (q->handle == p->handle) {
            return true;
        }
    }
    return false;
}

#define READ_ENTRY(field, symbol, parameters)             \
    read_symbol(p->handle, NAME_OF(symbol), &api->field); \
    missing = missing || api->field ? missing : NAME_OF(symbol);
#define NAME_OF(symbol) #symbol

static void read_driver(place *p) {
    api_driver *api = &p->api.driver;
    const char *missing = NULL;
    API_DRIVER(READ_ENTRY)
    resolve_path(p, "cuInit");
    if (missing) {
        p->tried.problem = format_text("has no %s: the driver must be 12.0 or newer", missing);
        return;
    }
    api_result code = api->driver_version(&api->version);
    if (code != 0) {
        p->tried.problem = code == API_ERROR_STUB_LIBRARY
                               ? "is the toolkit's stub, not a driver"
                               : format_text("does not tell its version (%u)", code);
        return;
    }
    p->tried.major = api->version / 1000;
    p->tried.minor = api->version % 1000 / 10;
    api->path = p->tried.path;
    p->is_usable = true;
}

/* Apart from opening it: looking for devices takes a while, and whoever only compiles need not wait for it.
 */
static bool initialise_driver(place *p) {
    const api_driver *api = &p->api.driver;
    if (p->is_initialised || p->tried.problem) {
        return p->is_initialised;
    }
    if (caches_disabled) {
        setenv("CUDA_CACHE_DISABLE", "1", 1);
    }
    api_result code = api->init(0);
    driver_pid = getpid();
    p->is_initialised = code == 0;
    if (code != 0) {
        const char *name = NULL;
        const char *why = NULL;
        api->error_name(code, &name);
        api->error_string(code, &why);
        p->tried.problem =
            format_text("cuInit: %s (%u): %s", name ? name : "error", code, why ? why : "no text");
    }
    return p->is_initialised;
}

/* The first and last 64 KB hold the build identifier, the tables and the size of everything between. */
static uint64_t digest_file(const char *path) {
    enum { PART = 65536 };
    static unsigned char part[2 * PART]; /* under the lock */
    struct stat is;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    uint64_t digest = 0;
    if (fstat(fd, &is) == 0) {
        ssize_t head = pread(fd, part, PART, 0);
        ssize_t tail = is.st_size > PART ? pread(fd, part + PART, PART, is.st_size - PART) : 0;
        if (head > 0 && tail >= 0) {
            memmove(part + head, part + PART, (size_t)tail);
            digest = XXH3_64bits_withSeed(part, (size_t)(head + tail), (XXH64_hash_t)is.st_size);
        }
    }
    close(fd);
    return digest;
}

/* NVRTC looks for its builtins by name alone; a library already loaded satisfies it wherever it lies. */
static void open_builtins(const place *p) {
    const char *slash = strrchr(p->tried.path, '/');
    if (slash) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%.*s/libnvrtc-builtins.so.%d.%d", (int)(slash - p->tried.path),
                 p->tried.path, p->api.nvrtc.major, p->api.nvrtc.minor);
        dlopen(path, RTLD_LAZY | RTLD_GLOBAL); /* without it NVRTC searches by itself */
    }
}

static void read_nvrtc(place *p) {
    api_nvrtc *api = &p->api.nvrtc;
    const char *missing = NULL;
    API_NVRTC(READ_ENTRY)
    read_symbol(p->handle, "nvrtcGetErrorString", &api->error_string);
    resolve_path(p, "nvrtcVersion");
    if (missing || !api->error_string) {
        p->tried.problem = format_text("has no %s", missing ? missing : "nvrtcGetErrorString");
        return;
    }
    if (api->get_version(&api->major, &api->minor) != 0) {
        p->tried.problem = "does not tell its version";
        return;
    }
    p->tried.major = api->major;
    p->tried.minor = api->minor;
    if (api->major < OLDEST_NVRTC) {
        p->tried.problem = format_text("is %d.%d, too old: 12.0 or newer is needed", api->major, api->minor);
        return;
    }
    if (api->n_archs(&api->n_known) != 0 || api->n_known > API_MAX_ARCHS || api->archs(api->known) != 0) {
        p->tried.problem = "does not tell the architectures it knows";
        return;
    }
    api->build = digest_file(p->tried.path);
    api->path = p->tried.path;
    p->is_usable = true;
}

/* Opens one place of either list; the verdict stays in it. */
static void open_place(places *list, place *p, void (*read)(place *)) {
    if (p->is_opened || !open_library(p)) {
        return;
    }
    if (is_known_handle(list, p)) {
        p->tried.problem = "is one of those above";
        return;
    }
    read(p);
}

/* ---- the driver ---------------------------------------------------------------------------------------- */

void api_disable_caches(void) {
    pthread_mutex_lock(&lock);
    caches_disabled = true;
    pthread_mutex_unlock(&lock);
}

/* Under the lock. */
static bool want_no_caches(void) {
    caches_disabled = caches_disabled || error_environment("TEGULA_NO_CACHE");
    return caches_disabled;
}

bool api_caches_disabled(void) {
    pthread_mutex_lock(&lock);
    bool is = want_no_caches();
    pthread_mutex_unlock(&lock);
    return is;
}

/* Under the lock: the first place that is usable.  A library that is none (a stub) lets the next one try; a
 * real driver that finds no device would only find none again. */
static place *find_driver(void) {
    list_drivers();
    want_no_caches();
    for (size_t i = 0; i < drivers.n; i++) {
        place *p = &drivers.at[i];
        open_place(&drivers, p, read_driver);
        if (p->is_usable && initialise_driver(p)) {
            p->tried.is_chosen = true;
            return p;
        }
    }
    return NULL;
}

/* Under the lock: 12080 for 12.8, 0 without a driver. */
static int driver_version(void) {
    list_drivers();
    for (size_t i = 0; i < drivers.n; i++) {
        open_place(&drivers, &drivers.at[i], read_driver);
        if (drivers.at[i].is_usable) {
            return drivers.at[i].api.driver.version;
        }
    }
    return 0;
}

int api_driver_version(void) {
    pthread_mutex_lock(&lock);
    int version = driver_version();
    pthread_mutex_unlock(&lock);
    return version;
}

/* Is there nothing to say of it?  It only repeats another, or the loader simply does not have it. */
static bool is_idle(const place *p) {
    return (p->tried.problem && !strcmp(p->tried.problem, "is one of those above")) ||
           (!p->handle && !strcmp(p->tried.origin, "loader"));
}

/* Appends "PATH why", after others. */
static void add_reason(text *out, const place *p, const char *why) {
    text_print(out, "%s%s %s", out->length ? "; " : "", p->tried.path, why);
}

static const char *or_none(const text *reasons) {
    return reasons->s ? reasons->s : "none found";
}

/* As api_driver_open(), without a word when there is none. */
static const api_driver *driver_if_any(void) {
    const api_driver *driver = atomic_load_explicit(&chosen_driver, memory_order_acquire);
    if (driver) {
        return driver;
    }
    pthread_mutex_lock(&lock);
    place *p = find_driver();
    if (p) {
        driver = &p->api.driver;
        atomic_store_explicit(&chosen_driver, driver, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return driver;
}

const api_driver *api_driver_open(void) {
    const api_driver *driver = driver_if_any();
    if (!driver) {
        text why = {0};
        pthread_mutex_lock(&lock);
        for (size_t i = 0; i < drivers.n; i++) {
            const place *p = &drivers.at[i];
            if (p->tried.problem && !is_idle(p)) {
                add_reason(&why, p, p->tried.problem);
            }
        }
        pthread_mutex_unlock(&lock);
        error_set(TG_ENODEVICE, "no usable CUDA driver (libcuda.so.1): %s", or_none(&why));
        text_free(&why);
    }
    return driver;
}

int api_driver_failed(const api_driver *driver, const char *call, api_result code) {
    const char *name = NULL;
    const char *why = NULL;
    driver->error_name(code, &name);
    driver->error_string(code, &why);
    bool is_forked = code == API_ERROR_NOT_INITIALIZED && driver_pid != getpid();
    const char *hint = is_forked ? "; this process was forked after the driver was initialised" : "";
    int status = code == API_ERROR_OUT_OF_MEMORY ? TG_ENOMEM : TG_EDRIVER;
    return error_set(status, "%s: %s (%u): %s%s", call, name ? name : "unknown error", code,
                     why ? why : "no text", hint);
}

/* ---- NVRTC --------------------------------------------------------------------------------------------- */

int api_target_number(const char *target) {
    if (strncmp(target, "sm_", 3) != 0 && strncmp(target, "compute_", 8) != 0) {
        return 0;
    }
    const char *digits = strchr(target, '_') + 1;
    char *end;
    long number = strtol(digits, &end, 10);
    bool is_target =
        end > digits && number > 0 && number < 10000 && (!*end || (strchr("af", *end) && !end[1]));
    return is_target ? (int)number : 0;
}

static bool knows(const api_nvrtc *api, int number) {
    for (int i = 0; i < api->n_known; i++) {
        if (api->known[i] == number) {
            return true;
        }
    }
    return number == 0;
}

/* Opened, and no newer in major than the driver: then it is good for the targets that it knows. */
static bool open_nvrtc(place *p, int driver_version) {
    const api_nvrtc *api = &p->api.nvrtc;
    open_place(&nvrtcs, p, read_nvrtc);
    if (p->is_usable && driver_version && api->major > driver_version / 1000) {
        p->is_usable = false;
        p->tried.problem = format_text("is %d.%d, newer than the driver (%d.%d)", api->major, api->minor,
                                       driver_version / 1000, driver_version % 1000 / 10);
    }
    return p->is_usable;
}

/* Under the lock; NULL with the reasons. */
static place *find_nvrtc(int number, int driver_version, text *reasons) {
    list_nvrtcs();
    for (size_t i = 0; i < nvrtcs.n; i++) {
        place *p = &nvrtcs.at[i];
        const api_nvrtc *api = &p->api.nvrtc;
        if (!open_nvrtc(p, driver_version)) {
            if (!is_idle(p)) {
                add_reason(reasons, p, p->tried.problem ? p->tried.problem : "is of no use");
            }
        } else if (knows(api, number)) {
            return p;
        } else {
            char why[64];
            snprintf(why, sizeof why, "is %d.%d and does not know sm_%d", api->major, api->minor, number);
            add_reason(reasons, p, why);
        }
    }
    return NULL;
}

const api_nvrtc *api_nvrtc_open(const char *target) {
    int number = target ? api_target_number(target) : 0;
    if (target && !number) {
        error_set(TG_EARG, "'%s' is no target: sm_80 or sm_90a, for example", target);
        return NULL;
    }
    text reasons = {0};
    pthread_mutex_lock(&lock);
    place *p = find_nvrtc(number, driver_version(), &reasons);
    if (p && !p->tried.is_chosen) {
        p->tried.is_chosen = true;
        open_builtins(p);
    }
    pthread_mutex_unlock(&lock);
    if (!p) {
        error_set(TG_ENOCOMPILER, "no usable NVRTC for %s (12.0 or newer): %s",
                  target ? target : "any target", or_none(&reasons));
    }
    text_free(&reasons);
    return p ? &p->api.nvrtc : NULL;
}

/* ---- what was tried ------------------------------------------------------------------------------------ */

/* Leaves out what only repeats, and names of the loader's that it does not have. */
static size_t show(places *list, const api_tried **shown) {
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (list->at[i].is_opened && !is_idle(&list->at[i])) {
            list->tried[n++] = list->at[i].tried;
        }
    }
    *shown = list->tried;
    return n;
}

size_t api_driver_tried(const api_tried **shown) {
    driver_if_any();
    pthread_mutex_lock(&lock);
    size_t n = show(&drivers, shown);
    pthread_mutex_unlock(&lock);
    return n;
}

size_t api_nvrtc_tried(const api_tried **shown) {
    pthread_mutex_lock(&lock);
    int version = driver_version();
    list_nvrtcs();
    for (size_t i = 0; i < nvrtcs.n; i++) {
        open_nvrtc(&nvrtcs.at[i], version);
    }
    size_t n = show(&nvrtcs, shown);
    pthread_mutex_unlock(&lock);
    return n;
}
