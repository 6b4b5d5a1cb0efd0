/* devices.c -- reads GPUs by name and chooses the target. */
#include "tool/devices.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "gallery_files.h"
#include "tool/nearest.h"
#include "tool/npy.h"
#include "tool/tool.h"
#include "tool/yaml.h"

typedef struct field {
    const char *key;
    size_t place; /* of an int64_t in device_row */
} field;

static const field numbers[] = {
    {"sms", offsetof(device_row, sms)},
    {"clock_mhz", offsetof(device_row, clock_mhz)},
    {"bandwidth_gbs", offsetof(device_row, bandwidth_gbs)},
    {"l2_kib", offsetof(device_row, l2_kib)},
    {"threads_per_sm", offsetof(device_row, threads_per_sm)},
    {"blocks_per_sm", offsetof(device_row, blocks_per_sm)},
    {"registers_per_sm", offsetof(device_row, registers_per_sm)},
    {"shared_per_sm_kib", offsetof(device_row, shared_per_sm_kib)},
    {"shared_kib", offsetof(device_row, shared_kib)},
    {"memory_cycles", offsetof(device_row, memory_cycles)},
    {"shared_cycles", offsetof(device_row, shared_cycles)},
};
enum { NNUMBERS = sizeof numbers / sizeof numbers[0] };

static bool read_field(const tree *t, device_row *row, text *error) {
    if (strcmp(t->key, "name") == 0) {
        row->name = t->text;
        return yaml_is(t, TREE_SCALAR, error);
    }
    if (strcmp(t->key, "target") == 0) {
        row->target = t->text;
        if (!yaml_is(t, TREE_SCALAR, error)) {
            return false;
        }
        return target_find(t->text) || yaml_fail(t, error, "'%s' is no target", t->text);
    }
    for (int i = 0; i < NNUMBERS; i++) {
        if (strcmp(t->key, numbers[i].key) == 0) {
            int64_t *place = (int64_t *)(void *)((char *)row + numbers[i].place);
            return yaml_int(t, 1, INT32_MAX, place, error);
        }
    }
    return true;
}

static bool read_row(const tree *t, device_row *row, text *error) {
    const char *keys[NNUMBERS + 2] = {"name", "target"};
    for (int i = 0; i < NNUMBERS; i++) {
        keys[i + 2] = numbers[i].key;
    }
    *row = (device_row){.gpu = t->key};
    if (!yaml_is(t, TREE_MAP, error) || !yaml_keys(t, keys, NNUMBERS + 2, error)) {
        return false;
    }
    for (const tree *child = t->first; child; child = child->next) {
        if (!read_field(child, row, error)) {
            return false;
        }
    }
    if (t->n != NNUMBERS + 2) {
        return yaml_fail_key(t, error, "%d of the %d keys are missing", NNUMBERS + 2 - t->n, NNUMBERS + 2);
    }
    return true;
}

static void add_row(arena *a, devices *all, const device_row *row) {
    if (all->n == all->capacity) {
        const int capacity = all->capacity ? 2 * all->capacity : 16;
        device_row *item = ARENA_ARRAY(a, device_row, capacity);
        if (all->n) {
            memcpy(item, all->item, (size_t)all->n * sizeof *item);
        }
        all->item = item;
        all->capacity = capacity;
    }
    all->item[all->n++] = *row;
}

bool devices_read(arena *a, const char *file, const char *bytes, size_t size, devices *out, text *error) {
    const tree *t = yaml_read(a, file, bytes, size, error);
    *out = (devices){0};
    if (!t || !yaml_is(t, TREE_MAP, error)) {
        return false;
    }
    for (const tree *child = t->first; child; child = child->next) {
        device_row row;
        if (!read_row(child, &row, error)) {
            return false;
        }
        add_row(a, out, &row);
    }
    return true;
}

static bool read_built_in(arena *a, devices *all) {
    static const char file[] = "examples/devices.yaml";
    text error = {0};
    for (int i = 0; i < tg_gallery_files_n; i++) {
        const char *bytes = tg_gallery_files[i].text;
        if (strcmp(tg_gallery_files[i].name, file) == 0 &&
            devices_read(a, file, bytes, strlen(bytes), all, &error)) {
            return true;
        }
    }
    tool_fail(STATUS_WRONG, "%s", error.s ? error.s : "examples/devices.yaml is not in this build");
    text_free(&error);
    return false;
}

static int read_own(arena *a, const char *path, devices *own) {
    text error = {0};
    size_t size = 0;
    char *bytes = npy_load(path, &size, &error);
    const bool is_good = bytes && devices_read(a, path, bytes, size, own, &error);
    const int status = is_good ? STATUS_GOOD : tool_fail(STATUS_FAULTY, "TEGULA_DEVICES: %s", error.s);
    text_free(&error);
    free(bytes);
    return status;
}

static bool has_gpu(const devices *all, const char *gpu) {
    for (int i = 0; i < all->n; i++) {
        if (strcmp(all->item[i].gpu, gpu) == 0) {
            return true;
        }
    }
    return false;
}

/* The user's rows, then those of the command that the user has no other for. */
static int read_all(arena *a, devices *all) {
    const char *path = getenv("TEGULA_DEVICES");
    devices known = {0};
    int status = path && path[0] ? read_own(a, path, all) : STATUS_GOOD;
    if (!status && !read_built_in(a, &known)) {
        status = STATUS_WRONG;
    }
    for (int i = 0; i < known.n && !status; i++) {
        if (!has_gpu(all, known.item[i].gpu)) {
            add_row(a, all, &known.item[i]);
        }
    }
    return status;
}

static const device_row *find_gpu(arena *a, const devices *all, const char *name) {
    const char **names = ARENA_ARRAY(a, const char *, all->n + 1);
    text known = {0};
    for (int i = 0; i < all->n; i++) {
        if (strcmp(all->item[i].gpu, name) == 0) {
            text_free(&known);
            return &all->item[i];
        }
        names[i] = all->item[i].gpu;
        text_print(&known, "%s%s", i ? ", " : "", names[i]);
    }
    tool_fail(STATUS_FAULTY, "unknown GPU '%s'%s (known: %s)", name, nearest_hint(name, names, all->n),
              known.s);
    text_free(&known);
    return NULL;
}

static const target *find_target(const char *name) {
    const char *names[64];
    int n = 0;
    const target *found = target_find(name);
    if (found) {
        return found;
    }
    text known = {0};
    for (const target *t = target_table(); t->name && n < 64; t++) {
        text_print(&known, "%s%s", n ? ", " : "", t->name);
        names[n++] = t->name;
    }
    tool_fail(STATUS_FAULTY, "unknown target '%s'%s (known: %s)", name, nearest_hint(name, names, n),
              known.s);
    text_free(&known);
    return NULL;
}

int devices_choose(const options *o, const char *otherwise, arena *a, const device_row **gpu,
                   const target **out) {
    *gpu = NULL;
    if (o->gpu || !o->target) {
        devices all = {0};
        const int status = read_all(a, &all);
        if (status) {
            return status;
        }
        *gpu = find_gpu(a, &all, o->gpu ? o->gpu : otherwise);
        if (!*gpu) {
            return STATUS_FAULTY;
        }
    }
    *out = find_target(o->target ? o->target : (*gpu)->target);
    return *out ? STATUS_GOOD : STATUS_FAULTY;
}
