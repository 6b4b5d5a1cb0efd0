/* explain_alike.c -- accesses of one line that do the same at different places of one buffer: shown once.
 *
 * The eight loads of `partial[0] + partial[1] + ..` are eight accesses; a reader wants to see one of them, and that
 * there are seven more.  Reads the costs, their order and their reasons. */
#include <string.h>

#include "tool/explain.h"

static int count_banks(uint64_t banks) {
    int n = 0;
    for (; banks; banks &= banks - 1) {
        n++;
    }
    return n;
}

static bool same_figures(const cost_row *x, const cost_row *y) {
    return x->bytes == y->bytes && x->least_lanes == y->least_lanes && x->most_lanes == y->most_lanes &&
           x->requests == y->requests && x->lanes == y->lanes && x->used == y->used &&
           x->sectors == y->sectors && x->wavefronts == y->wavefronts &&
           x->at_one_address == y->at_one_address &&
           count_banks(x->busiest_banks) == count_banks(y->busiest_banks);
}

static bool are_alike(const explained *e, int i, int j) {
    const cost_row *x = &e->cost.row[i], *y = &e->cost.row[j];
    return x->op == y->op && x->ref->buffer == y->ref->buffer && x->ref->at.line == y->ref->at.line &&
           x->ref->at.file == y->ref->at.file && e->cuda_line[i] == e->cuda_line[j] && same_figures(x, y) &&
           strcmp(e->why[i], e->why[j]) == 0 && !e->cached[i] == !e->cached[j];
}

void explain_find_alike(explained *e) {
    e->alike = ARENA_ARRAY(&e->s->memory, int, e->cost.n + 1);
    for (int i = 0; i < e->cost.n; i++) {
        const int access = e->order[i];
        e->alike[access] = access;
        for (int j = 0; j < i && e->alike[access] == access; j++) {
            const int other = e->order[j];
            e->alike[access] = e->alike[other] == other && are_alike(e, other, access) ? other : access;
        }
    }
}

int explain_count_alike(const explained *e, int access, int *last) {
    int n = 0;
    for (int i = 0; i < e->cost.n; i++) {
        const int other = e->order[i];
        if (e->alike[other] == access && other != access) {
            *last = other;
            n++;
        }
    }
    return n;
}
