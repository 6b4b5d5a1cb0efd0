/* space.c -- numbers to configurations of a tune space, and a seeded order of them. */
#include "tool/space.h"

#include <string.h>

__extension__ typedef unsigned __int128 wide;

static bool is_given(const char *name, const settings *fixed[], int nfixed) {
    for (int i = 0; i < nfixed; i++) {
        for (int j = 0; j < fixed[i]->n; j++) {
            if (strcmp(fixed[i]->item[j].name, name) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool open_part(const row_space *from, const settings *fixed[], int nfixed, space_part *part) {
    *part = (space_part){.count = 1};
    for (int i = 0; i < from->naxes; i++) {
        const row_axis *axis = &from->axis[i];
        if (is_given(axis->name, fixed, nfixed)) {
            continue;
        }
        if (axis->n > 0 && part->count > INT64_MAX / axis->n) {
            return false;
        }
        part->count *= axis->n;
        part->axis[part->naxes++] = axis;
    }
    return true;
}

bool space_open(const row *r, const settings *fixed[], int nfixed, space *s) {
    static const row_space nothing;
    *s = (space){.nparts = r && r->nspaces ? r->nspaces : 1};
    for (int i = 0; i < s->nparts; i++) {
        if (!open_part(r && r->nspaces ? &r->spaces[i] : &nothing, fixed, nfixed, &s->part[i]) ||
            s->count > INT64_MAX - s->part[i].count) {
            return false;
        }
        s->count += s->part[i].count;
    }
    return true;
}

void space_settings(const space *s, int64_t number, settings *to) {
    int64_t at[TG_MAX_CONFIG];
    const space_part *part = s->part;
    for (; number >= part->count; part++) {
        number -= part->count;
    }
    for (int i = part->naxes; i-- > 0;) {
        at[i] = number % part->axis[i]->n;
        number /= part->axis[i]->n;
    }
    for (int i = 0; i < part->naxes && to->n < TG_MAX_CONFIG; i++) {
        to->item[to->n++] = (setting){
            .name = part->axis[i]->name, .text = "", .n = 1, .values = &part->axis[i]->values[at[i]]};
    }
}

static int64_t greatest_divisor(int64_t a, int64_t b) {
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A walk with a stride that shares no divisor with the count meets every number once. */
int64_t space_pick(const space *s, uint64_t seed, int64_t k) {
    uint64_t mixed = (seed + 1) * 0x9e3779b97f4a7c15u;
    mixed ^= mixed >> 29;
    const int64_t n = s->count, first = (int64_t)(mixed % (uint64_t)n);
    int64_t stride = (int64_t)((mixed >> 7) % (uint64_t)n);
    while (greatest_divisor(stride, n) != 1) {
        stride = (stride + 1) % n;
    }
    return (int64_t)(((wide)k * (wide)stride + (wide)first) % (wide)n);
}
