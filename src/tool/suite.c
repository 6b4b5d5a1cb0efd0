/* suite.c -- see suite.h. */
#include "tool/suite.h"

#include <stdio.h>
#include <string.h>

#include "dsl/diag.h"
#include "tool/nearest.h"
#include "tool/tool.h"

enum { MAX_NAMES = 64, NAME_SIZE = 128 };

/* "gemv" of "examples/gemv.c". */
static void write_stem(const gallery_kernel *k, char stem[NAME_SIZE]) {
    const char *base = diag_base(k->record->file), *dot = strrchr(base, '.');
    snprintf(stem, NAME_SIZE, "%.*s", (int)(dot ? dot - base : (long)strlen(base)), base);
}

static bool is_of_suite(const gallery_kernel *k, const char *name) {
    char stem[NAME_SIZE];
    write_stem(k, stem);
    return k->row && strcmp(stem, name) == 0;
}

/* A step that is not the kernel itself: "cast_output" of block_split_k. */
static bool is_step(const gallery *g, const gallery_kernel *k) {
    for (int i = 0; i < g->n; i++) {
        const row *r = g->item[i].row;
        for (int j = 0; r && j < r->nsteps; j++) {
            if (&g->item[i] != k && strcmp(r->steps[j], k->name) == 0) {
                return true;
            }
        }
    }
    return false;
}

static int unknown(const gallery *g, const char *name) {
    char stems[MAX_NAMES][NAME_SIZE];
    const char *names[MAX_NAMES];
    text all = {0};
    int n = 0;
    for (int i = 0; i < g->n && n < MAX_NAMES; i++) {
        write_stem(&g->item[i], stems[n]);
        if (g->item[i].row && (n == 0 || strcmp(stems[n - 1], stems[n]) != 0)) {
            names[n] = stems[n];
            text_print(&all, "%s%s", n ? ", " : "", names[n]);
            n++;
        }
    }
    const int status = tool_fail(STATUS_FAULTY, "there is no suite '%s'%s; there are: %s", name,
                                 nearest_hint(name, names, n), all.s ? all.s : "none");
    text_free(&all);
    return status;
}

int suite_add(const gallery *g, const char *name, options *o) {
    const int before = o->noperands;
    for (int i = 0; i < g->n; i++) {
        const gallery_kernel *k = &g->item[i];
        if (!is_of_suite(k, name) || is_step(g, k)) {
            continue;
        }
        if (o->noperands == OPTIONS_MAX_OPERANDS) {
            return tool_fail(STATUS_FAULTY, "suite %s: more than %d kernels", name, OPTIONS_MAX_OPERANDS);
        }
        o->operands[o->noperands++] = (operand){.name = k->name};
    }
    return o->noperands > before ? STATUS_GOOD : unknown(g, name);
}
