/* picture.c -- which pictures a kernel has, their names, and the folder they go to. */
#define _POSIX_C_SOURCE 200809L
#include "tool/picture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "codegen/tile_layout.h"
#include "tool/report.h"
#include "tool/tool.h"

/* ---- what they share ----------------------------------------------------------------------------------- */

const char *picture_colour(int64_t i) {
    static const char *const names[PICTURE_COLOURS] = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};
    return names[i % PICTURE_COLOURS];
}

const char *picture_element(arena *a, const buffer *b, int64_t at) {
    const int64_t size = type_bytes(b->type), pitch = b->layout.pitch ? b->layout.pitch : b->pitch;
    int64_t rest = at / size, index[TG_MAX_RANK] = {0};
    text words = {0};
    for (int i = b->rank - 1; i >= 0; i--) {
        const int64_t extent = i == b->rank - 1 && pitch ? pitch : b->dim[i];
        index[i] = i > 0 && extent > 0 ? rest % extent : rest;
        rest = i > 0 && extent > 0 ? rest / extent : 0;
    }
    for (int i = 0; i < b->rank; i++) {
        text_print(&words, "%s%" PRId64, i ? ", " : "[", index[i]);
    }
    const char *copy = arena_print(a, "%s]", words.s ? words.s : "[");
    text_free(&words);
    return copy;
}

const char *picture_lanes(arena *a, uint64_t mask) {
    int n = 0, first = -1, last = -1;
    for (int i = 0; i < 64; i++) {
        if (mask >> i & 1) {
            first = first < 0 ? i : first;
            last = i;
            n++;
        }
    }
    if (n == 1) {
        return arena_print(a, "%d", first);
    }
    if (n == 2) {
        return arena_print(a, "%d,%d", first, last);
    }
    return last - first + 1 == n ? arena_print(a, "%d-%d", first, last) : arena_print(a, "%d lanes", n);
}

const char *picture_place(arena *a, tg_loc at) {
    const char *slash = at.file ? strrchr(at.file, '/') : NULL;
    return arena_print(a, "%s:%d", slash ? slash + 1 : at.file ? at.file : "?", at.line);
}

int picture_lane_numbers(const sim_access *a, int *lane) {
    int n = 0;
    for (int i = 0; i < 64; i++) {
        if (a->mask >> i & 1) {
            lane[n++] = i;
        }
    }
    return n;
}

/* ---- the list ------------------------------------------------------------------------------------------ */

typedef struct listing {
    const explained *e;
    const char *kernel;
    int n, room;
    picture *all;
} listing;

/* "KERNEL.load.matrix", and ".2" for the second of that name. */
static const char *unused_name(const listing *l, const char *what, const char *of) {
    arena *a = &l->e->s->memory;
    const char *name = arena_print(a, "%s.%s.%s", l->kernel, what, of);
    for (int number = 2, i = 0; i < l->n; i++) {
        if (strcmp(l->all[i].name, name) == 0) {
            name = arena_print(a, "%s.%s.%s.%d", l->kernel, what, of, number++);
            i = -1;
        }
    }
    return name;
}

static void add(listing *l, picture p, const char *what) {
    arena *a = &l->e->s->memory;
    if (l->n == l->room) {
        picture *more = ARENA_ARRAY(a, picture, 2 * l->room + 16);
        if (l->n) {
            memcpy(more, l->all, (size_t)l->n * sizeof *more);
        }
        l->all = more;
        l->room = 2 * l->room + 16;
    }
    p.name = unused_name(l, what, p.buffer->name);
    l->all[l->n++] = p;
}

static void add_access(listing *l, int i) {
    const cost_row *x = &l->e->cost.row[i];
    const trace_row *met = trace_find(&l->e->trace, x->ref, x->op);
    arena *a = &l->e->s->memory;
    if (met) {
        add(l,
            (picture){.kind = cost_is_global(x) ? PICTURE_SECTORS : PICTURE_BANKS,
                      .access = i,
                      .trace = met,
                      .buffer = x->ref->buffer,
                      .at = x->ref->at,
                      .title = arena_print(a, "%s %s", explain_op_words(x->op), x->ref->buffer->name)},
            explain_op_name(x->op));
    }
}

static bool has_walk(const listing *l, const buffer *b) {
    for (int i = 0; i < l->n; i++) {
        if (l->all[i].kind == PICTURE_WALK && l->all[i].buffer == b) {
            return true;
        }
    }
    return false;
}

/* One for each tensor of which a block meets more than a line, at its heaviest access. */
static void add_walk(listing *l, int i) {
    const explained *e = l->e;
    const cost_row *x = &e->cost.row[i];
    const trace_walk *walk = trace_walk_over(&e->trace, x->ref->buffer);
    const buffer *root = buffer_root(x->ref->buffer);
    if (!walk || has_walk(l, root) || !cost_is_global(x)) {
        return;
    }
    const int64_t reached = (walk->last - walk->first + 1) * e->s->target->sector_bytes;
    for (int j = 0; j < e->cost.n; j++) {
        if (buffer_root(e->cost.row[j].ref->buffer) == root && e->cost.row[j].sectors > x->sectors) {
            return;
        }
    }
    if (reached > e->s->target->line_bytes) {
        add(l,
            (picture){.kind = PICTURE_WALK,
                      .access = i,
                      .trace = trace_find(&e->trace, x->ref, x->op),
                      .walk = walk,
                      .buffer = root,
                      .at = x->ref->at,
                      .title = arena_print(&e->s->memory, "The walk over %s", root->name)},
            "walk");
    }
}

static void add_layout(listing *l, const buffer *b) {
    const layout *held = b->registers;
    if (held) {
        add(l,
            (picture){.kind = PICTURE_LAYOUT,
                      .access = -1,
                      .buffer = b,
                      .at = held->at.file ? held->at : b->at,
                      .title = arena_print(&l->e->s->memory, "Who holds %s", b->name)},
            "layout");
    }
}

int picture_list(const explained *e, const char *kernel, picture **out) {
    listing l = {.e = e, .kernel = kernel};
    const tg_kernel *k = e->s->result.kernel;
    for (int i = 0; i < e->cost.n; i++) {
        if (e->alike[e->order[i]] == e->order[i]) {
            add_access(&l, e->order[i]);
        }
    }
    for (int i = 0; i < e->cost.n; i++) {
        add_walk(&l, e->order[i]);
    }
    for (int i = 0; i < k->nbuffers; i++) {
        add_layout(&l, k->buffers[i]);
    }
    *out = l.all;
    return l.n;
}

/* ---- drawing and writing ------------------------------------------------------------------------------- */

void picture_draw(const explained *e, const picture *p, bool is_part, text *out) {
    arena *a = &e->s->memory;
    svg s = {0};
    svg_how how = {.is_part = is_part};
    switch (p->kind) {
    case PICTURE_SECTORS:
        how.description =
            "Lanes of a warp on the elements that they meet in one instruction; sectors marked.";
        picture_sectors(e, p, &s);
        break;
    case PICTURE_BANKS:
        how.description = "Lanes of a warp on the banks of shared memory that they meet in one instruction.";
        picture_banks(e, p, &s);
        break;
    case PICTURE_LAYOUT:
        how.description = "Elements of a fragment, each with the thread and the register that hold it.";
        picture_layout(e, p, &s);
        break;
    case PICTURE_WALK:
        how.description =
            "Parts of a tensor by block, and the order in which one block goes through its own.";
        picture_walk(e, p, &s);
        break;
    }
    how.title = arena_print(a, "%s: %s, %s", e->s->kernel->name, p->title, picture_place(a, p->at));
    svg_finish(&s, &how, out);
}

static int make_folder(const char *folder) {
    struct stat there;
    if (mkdir(folder, 0777) != 0 &&
        (errno != EEXIST || stat(folder, &there) != 0 || !S_ISDIR(there.st_mode))) {
        const char *why = errno == EEXIST ? "it is no folder" : strerror(errno);
        return tool_fail(STATUS_LACKING, "--svg %s: %s", folder, why);
    }
    return STATUS_GOOD;
}

int picture_write(const options *o, const explained *e, const char *kernel, const char *folder) {
    picture *all;
    int status = make_folder(folder);
    const int n = picture_list(e, kernel, &all);
    for (int i = 0; i < n && !status; i++) {
        options one = *o;
        text out = {0};
        one.output = arena_print(&e->s->memory, "%s/%s.svg", folder, all[i].name);
        picture_draw(e, &all[i], false, &out);
        status = report_text(&one, &out);
    }
    if (!status && !o->quiet) {
        fprintf(stderr, "%d pictures in %s\n", n, folder);
    }
    return status;
}
