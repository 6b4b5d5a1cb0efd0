/* suite.c -- see suite.h. */
#include "tool/suite.h"

#include <string.h>

#include "dsl/diag.h"
#include "tool/nearest.h"
#include "tool/tool.h"

enum { MAX_NAMES = 64 };

/* "gemv" of "examples/gemv.c". */
static const char *stem_of(const gallery_kernel *k, arena *memory) {
    const char *base = diag_base(k->record->file), *dot = strrchr(base, '.');
    return arena_print(memory, "%.*s", (int)(dot ? dot - base : (long)strlen(base)), base);
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

static int unknown(const gallery *g, const char *name, arena *memory) {
    const char *names[MAX_NAMES];
    int n = 0;
    for (int i = 0; i < g->n && n < MAX_NAMES; i++) {
        const char *stem = stem_of(&g->item[i], memory);
        if (g->item[i].row && (n == 0 || strcmp(names[n - 1], stem) != 0)) {
            names[n++] = stem;
        }
    }
    text all = {0};
    for (int i = 0; i < n; i++) {
        text_print(&all, "%s%s", i ? ", " : "", names[i]);
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
        if (!k->row || is_step(g, k) || strcmp(stem_of(k, &o->memory), name) != 0) {
            continue;
        }
        if (o->noperands == OPTIONS_MAX_OPERANDS) {
            return tool_fail(STATUS_FAULTY, "suite %s: more than %d kernels", name, OPTIONS_MAX_OPERANDS);
        }
        o->operands[o->noperands++] = (operand){.name = k->name};
    }
    return o->noperands > before ? STATUS_GOOD : unknown(g, name, &o->memory);
}
