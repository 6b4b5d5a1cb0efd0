/* gallery.c -- finds kernels: in the table that the linker gathered, in shared objects, with their YAML rows.
 */
#define _POSIX_C_SOURCE 200809L
#include "tool/gallery.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gallery_files.h"
#include "tool/child.h"
#include "tool/compile.h"
#include "tool/nearest.h"
#include "tool/npy.h"
#include "tool/tool.h"

/* The gallery's own: kernel.h defines it in every object with kernels.  Weak, so that tests link without any.
 */
typedef const tg_kernel_record *const *table_function(int *n);
#if defined __GNUC__
__attribute__((weak))
#endif
table_function tg_kernel_table;

/* ISO C has no cast from an object's address to a function's. */
static bool find_function(void *library, const char *name, void *function, size_t size) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, size);
    return symbol != NULL;
}

/* ---- kernels ------------------------------------------------------------------------------------------- */

static void add_kernel(gallery *g, const gallery_kernel *k) {
    if (g->n == g->capacity) {
        const int capacity = g->capacity ? 2 * g->capacity : 32;
        gallery_kernel *item = ARENA_ARRAY(&g->memory, gallery_kernel, capacity);
        if (g->n) {
            memcpy(item, g->item, (size_t)g->n * sizeof *item);
        }
        g->item = item;
        g->capacity = capacity;
    }
    g->item[g->n++] = *k;
}

/* The row of a kernel; the YAML of built-in kernels may be in any of its files. */
static const row *find_row(const rows *all, int nfiles, const char *name) {
    for (int i = 0; i < nfiles; i++) {
        for (int j = 0; j < all[i].n; j++) {
            if (strcmp(all[i].item[j].kernel, name) == 0) {
                return &all[i].item[j];
            }
        }
    }
    return NULL;
}

/* Every row speaks of a kernel. */
static int check_rows(gallery *g, int begin, const rows *all) {
    const char *names[512];
    const int n = g->n - begin < 512 ? g->n - begin : 512;
    for (int i = 0; i < n; i++) {
        names[i] = g->item[begin + i].name;
    }
    for (int j = 0; j < all->n; j++) {
        bool is_known = false;
        for (int i = begin; i < g->n && !is_known; i++) {
            is_known = strcmp(g->item[i].name, all->item[j].kernel) == 0;
        }
        if (!is_known) {
            const tree *at = all->item[j].at;
            fprintf(stderr, "%s:%zu:%zu: error: there is no kernel '%s'%s\n", at->file, at->key_line,
                    at->key_column, at->key, nearest_hint(at->key, names, n));
            return STATUS_FAULTY;
        }
    }
    return STATUS_GOOD;
}

/* A function of the same name may exist in the command; the library's own is meant. */
static tg_builder *builder_of(void *library, const tg_kernel_record *record) {
    tg_builder *build;
    return find_function(library, record->name, &build, sizeof build) ? build : record->build;
}

static int by_place(const void *a, const void *b) {
    const tg_kernel_record *x = ((const gallery_kernel *)a)->record, *y = ((const gallery_kernel *)b)->record;
    const int order = strcmp(x->file, y->file);
    return order ? order : x->line - y->line;
}

/* In the order of the source, which compilers and linkers do not keep. */
static void add_table(gallery *g, table_function *table, void *library, bool is_built_in, const rows *all,
                      int nfiles) {
    int n = 0;
    const int begin = g->n;
    const tg_kernel_record *const *records = table(&n);
    for (int i = 0; i < n; i++) {
        const gallery_kernel k = {records[i]->name,
                                  is_built_in ? records[i]->build : builder_of(library, records[i]),
                                  records[i], find_row(all, nfiles, records[i]->name), library};
        add_kernel(g, &k);
    }
    if (n > 0) {
        qsort(&g->item[begin], (size_t)n, sizeof g->item[0], by_place);
    }
}

static int add_built_in(gallery *g) {
    rows *all = ARENA_ARRAY(&g->memory, rows, tg_gallery_files_n + 1);
    int nfiles = 0;
    text error = {0};
    for (int i = 0; i < tg_gallery_files_n; i++) {
        const char *name = tg_gallery_files[i].name, *bytes = tg_gallery_files[i].text;
        const char *dot = strrchr(name, '.');
        if (!dot || strcmp(dot, ".yaml") != 0 || strcmp(name, "examples/devices.yaml") == 0) {
            continue;
        }
        if (!rows_read(&g->memory, name, bytes, strlen(bytes), &all[nfiles++], &error)) {
            fprintf(stderr, "%s\n", error.s);
            text_free(&error);
            return STATUS_WRONG;
        }
    }
    if (tg_kernel_table) {
        void *self = dlopen(NULL, RTLD_NOW);
        g->libraries[g->nlibraries++] = self;
        add_table(g, tg_kernel_table, self, true, all, nfiles);
    }
    return STATUS_GOOD;
}

/* ---- files of -k --------------------------------------------------------------------------------------- */

static bool ends_with(const char *s, const char *end) {
    const size_t n = strlen(s), m = strlen(end);
    return n > m && strcmp(s + n - m, end) == 0;
}

/* The file beside the kernels; none is fine. */
static int read_rows(gallery *g, const char *file, rows *out) {
    const char *path = arena_print(&g->memory, "%.*s.yaml", (int)(strrchr(file, '.') - file), file);
    text error = {0};
    size_t size = 0;
    *out = (rows){0};
    if (access(path, F_OK) != 0) {
        return STATUS_GOOD;
    }
    char *bytes = npy_load(path, &size, &error);
    const bool is_good = bytes && rows_read(&g->memory, path, bytes, size, out, &error);
    if (!is_good) {
        fprintf(stderr, "%s\n", error.s ? error.s : "");
    }
    text_free(&error);
    free(bytes);
    return is_good ? STATUS_GOOD : STATUS_FAULTY;
}

static int add_file(gallery *g, const char *file, const char *object, const options *o) {
    const int begin = g->n;
    rows *all = ARENA_NEW(&g->memory, rows);
    table_function *table = NULL;
    const char *path = strchr(object, '/') ? object : arena_print(&g->memory, "./%s", object);
    int status = read_rows(g, file, all);
    if (status) {
        return status;
    }
    child_phase(PHASE_LOADING, o);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    child_phase(PHASE_OTHER, o);
    if (!library) {
        return tool_fail(STATUS_FAULTY, "%s cannot be loaded: %s", file, dlerror());
    }
    g->libraries[g->nlibraries++] = library;
    if (find_function(library, "tg_kernel_table", &table, sizeof table)) {
        add_table(g, table, library, false, all, 1);
    }
    if (g->n == begin) {
        return tool_fail(STATUS_FAULTY, "%s defines no kernel: KERNEL(name) { .. } of <tegula/kernel.h> does",
                         file);
    }
    return check_rows(g, begin, all);
}

static int check_file(const char *file) {
    if (!ends_with(file, ".c") && !ends_with(file, ".so")) {
        return tool_fail(STATUS_FAULTY, "-k %s: expected FILE.c or FILE.so", file);
    }
    return access(file, R_OK) == 0 ? STATUS_GOOD
                                   : tool_fail(STATUS_FAULTY, "-k %s: %s", file, strerror(errno));
}

/* ---- the work ------------------------------------------------------------------------------------------ */

typedef struct job {
    const options *o;
    gallery_work *work;
    const char *objects[OPTIONS_MAX_FILES];
} job;

/* Kernels of -k come first, so that they win over built-in ones of the same name. */
static int load_and_work(void *user) {
    job *j = user;
    gallery g = {0};
    int status = STATUS_GOOD;
    for (int i = 0; i < j->o->nfiles && !status; i++) {
        status = add_file(&g, j->o->files[i], j->objects[i], j->o);
    }
    if (!status) {
        status = add_built_in(&g);
    }
    if (!status) {
        status = j->work(j->o, &g);
    }
    arena_free(&g.memory);
    for (int i = 0; i < g.nlibraries; i++) {
        dlclose(g.libraries[i]);
    }
    return status;
}

static int compile_files(const options *o, arena *memory, job *j) {
    int status = STATUS_GOOD;
    for (int i = 0; i < o->nfiles && !status; i++) {
        status = check_file(o->files[i]);
        j->objects[i] = o->files[i];
        if (!status && ends_with(o->files[i], ".c")) {
            status = compile_kernels(o->files[i], memory, &j->objects[i]);
        }
    }
    return status;
}

int gallery_run(const options *o, gallery_work *work) {
    job j = {.o = o, .work = work};
    arena memory = {0};
    const char *what = o->noperands ? o->operands[0].name : o->nfiles ? o->files[0] : o->verb;
    int status = compile_files(o, &memory, &j);
    if (!status) {
        status = child_run(load_and_work, &j, what, o, NULL);
    }
    arena_free(&memory);
    return status;
}

/* ---- questions ----------------------------------------------------------------------------------------- */

const gallery_kernel *gallery_find(const gallery *g, const char *name) {
    const char *names[512];
    int n = 0;
    for (int i = 0; i < g->n; i++) {
        if (strcmp(g->item[i].name, name) == 0) {
            return &g->item[i];
        }
        if (n < 512) {
            names[n++] = g->item[i].name;
        }
    }
    const char *ending = strrchr(name, '.');
    const bool is_file = ending && (strcmp(ending, ".c") == 0 || strcmp(ending, ".so") == 0);
    const char *hint = nearest_hint(name, names, n);
    tool_fail(STATUS_FAULTY, "unknown kernel '%s'%s", name,
              is_file ? ": a file of kernels is named by -k"
              : *hint ? hint
                      : "; 'tegula list' names them, and -k FILE.c adds others");
    return NULL;
}

bool gallery_reference(const gallery_kernel *k, reference_function **out) {
    char name[256];
    const char *named = k->row ? k->row->reference : NULL;
    if (named) {
        snprintf(name, sizeof name, "%s", named);
    } else {
        snprintf(name, sizeof name, "%s_reference", k->name);
    }
    *out = NULL;
    if (find_function(k->library, name, out, sizeof *out) || !named) {
        return true;
    }
    tool_fail(STATUS_FAULTY, "the reference '%s' that the YAML of %s names is not in its file", named,
              k->name);
    return false;
}

reference_function *gallery_inputs(const gallery_kernel *k) {
    char name[256];
    reference_function *shape = NULL;
    snprintf(name, sizeof name, "%s_inputs", k->name);
    find_function(k->library, name, &shape, sizeof shape);
    return shape;
}
