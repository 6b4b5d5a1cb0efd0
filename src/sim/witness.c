/* witness.c -- keeps and prints what the tile reference and the simulator found.
 *
 * Reads nothing but the findings; at most WITNESS_MAX_FINDINGS different ones stay, all are counted. */
#include "sim/witness.h"

#include <string.h>

static bool same_place(tg_loc a, tg_loc b) {
    if (a.file == NULL || b.file == NULL) {
        return a.file == b.file;
    }
    return a.line == b.line && strcmp(a.file, b.file) == 0;
}

static finding *find_same(findings *f, finding_kind kind, tg_loc at, tg_loc other) {
    for (int i = 0; i < f->n; i++) {
        finding *x = &f->item[i];
        if (x->kind == kind && same_place(x->at, at) && same_place(x->other, other)) {
            return x;
        }
    }
    return NULL;
}

/* A place for one more; when all are taken a fault pushes out a note, so that none hides it. */
static finding *free_entry(findings *f, finding_kind kind) {
    if (f->n < WITNESS_MAX_FINDINGS) {
        return &f->item[f->n++];
    }
    for (int i = 0; i < f->n && kind != FINDING_NOTE; i++) {
        if (f->item[i].kind == FINDING_NOTE) {
            return &f->item[i];
        }
    }
    return NULL;
}

finding *findings_add(findings *f, finding_kind kind, tg_loc at, tg_loc other) {
    f->total++;
    finding *x = find_same(f, kind, at, other);
    if (x != NULL) {
        x->count++;
        return x;
    }
    x = free_entry(f, kind);
    if (x != NULL) {
        *x = (finding){.kind = kind, .at = at, .other = other, .thread = -1, .other_thread = -1, .count = 1};
    }
    return x;
}

void findings_join(findings *f, const findings *others) {
    for (int i = 0; i < others->n; i++) {
        const finding *x = &others->item[i];
        finding *joined = findings_add(f, x->kind, x->at, x->other);
        if (joined != NULL && joined->count == 1) {
            *joined = *x;
            f->total += x->count - 1;
        }
    }
}

const char *finding_name(finding_kind kind) {
    switch (kind) {
    case FINDING_RACE:
        return "race";
    case FINDING_BOUNDS:
        return "out of bounds";
    case FINDING_UNINITIALISED:
        return "uninitialised";
    case FINDING_MISALIGNED:
        return "misaligned";
    case FINDING_BARRIER:
        return "barrier";
    case FINDING_ARITHMETIC:
        return "arithmetic";
    case FINDING_CHECK:
        return "check failed";
    case FINDING_ORDER:
        return "order";
    case FINDING_ASYNC:
        return "asynchronous copy";
    case FINDING_EARLY:
        return "early access";
    case FINDING_LIMIT:
        return "stopped";
    case FINDING_NOTE:
        return "note";
    }
    return "?";
}

bool findings_failed(const findings *f, bool strict) {
    for (int i = 0; i < f->n; i++) {
        if (strict || f->item[i].kind != FINDING_NOTE) {
            return true;
        }
    }
    return false;
}

static void print_place(tg_loc at, text *out) {
    if (at.file != NULL) {
        const char *slash = strrchr(at.file, '/');
        text_print(out, "%s:%d: ", slash != NULL ? slash + 1 : at.file, at.line);
    }
}

/* " (block 1, 0, 0, threads 0 and 35; 12 times)", as much of it as is known. */
static void print_origin(const finding *x, text *out) {
    const char *between = " (";
    if (x->thread >= 0) {
        text_print(out, " (block %lld, %lld, %lld, thread%s %d", (long long)x->block[0],
                   (long long)x->block[1], (long long)x->block[2], x->other_thread >= 0 ? "s" : "",
                   x->thread);
        between = "; ";
    }
    if (x->thread >= 0 && x->other_thread >= 0) {
        text_print(out, " and %d", x->other_thread);
    }
    if (x->count > 1) {
        text_print(out, "%s%lld times", between, (long long)x->count);
    }
    if (x->thread >= 0 || x->count > 1) {
        text_add(out, ")");
    }
}

void findings_print(const findings *f, text *out) {
    int64_t shown = 0;
    for (int i = 0; i < f->n; i++) {
        const finding *x = &f->item[i];
        shown += x->count;
        print_place(x->at, out);
        text_print(out, "%s: %s", finding_name(x->kind), x->text);
        print_origin(x, out);
        text_add(out, "\n");
        if (x->other.file != NULL) {
            print_place(x->other, out);
            text_add(out, "    the other place\n");
        }
    }
    if (f->total > shown) {
        text_print(out, "and %lld more\n", (long long)(f->total - shown));
    }
}
