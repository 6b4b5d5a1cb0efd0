/* explain_compare.c -- two kernels side by side: what differs first, then what does not.
 *
 * Every figure is a line of three columns; accesses meet by buffer and operation, all of a buffer added up. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/explain.h"

enum { NAME_WIDTH = 39, VALUE_WIDTH = 30 };

typedef explain_difference line;
typedef explain_differences table;

static line *line_named(table *t, const char *name) {
    for (int i = 0; i < t->n; i++) {
        if (strcmp(t->item[i].name, name) == 0) {
            return &t->item[i];
        }
    }
    if (t->n == EXPLAIN_LINES) {
        return NULL;
    }
    line *l = &t->item[t->n++];
    *l = (line){.name = ""};
    snprintf(l->name, sizeof l->name, "%s", name);
    return l;
}

static void set(table *t, int side, const char *name, const char *words) {
    line *l = line_named(t, name);
    if (l) {
        snprintf(l->words[side], sizeof l->words[side], "%s", words);
        l->is_there[side] = true;
    }
}

static void set_number(table *t, int side, const char *name, double x, const char *unit) {
    char words[64];
    snprintf(words, sizeof words, x == (double)(int64_t)x ? "%.0f%s" : "%.4g%s", x, unit);
    set(t, side, name, words);
}

/* ---- figures ------------------------------------------------------------------------------------------- */

static void add_axes(table *t, int side, const char *what, const int64_t *extent, var *const *names) {
    text words = {0};
    for (int i = 0; i < 3; i++) {
        if (i == 0 || extent[i] > 1 || names[i]) {
            text_print(&words, "%s%s%s%" PRId64, i ? ", " : "", names[i] ? names[i]->name : "",
                       names[i] ? " " : "", extent[i]);
        }
    }
    set(t, side, what, words.s ? words.s : "");
    text_free(&words);
}

static void add_config(table *t, int side, const explained *e) {
    const tg_kernel *k = e->s->result.kernel;
    for (int i = 0; i < k->nparams; i++) {
        char words[32];
        set(t, side, k->params[i].name, options_value_text(k->params[i].value, words, sizeof words));
    }
}

static void add_launch(table *t, int side, const explained *e) {
    const thread_kernel *k = e->s->result.thread;
    const cost_counter *c = &e->cost;
    add_axes(t, side, "grid", c->kinds.grid, k->grid_var);
    add_axes(t, side, "threads, x first", k->threads, k->thread_var);
    set_number(t, side, "shared bytes of a block", (double)e->shared, "");
    set_number(t, side, "barriers met by a block",
               c->kinds.blocks ? (double)c->barriers / (double)c->kinds.blocks : 0, "");
    if (e->has_usage) {
        set_number(t, side, "registers of a thread", e->usage.registers, "");
        set_number(t, side, "bytes in local memory", e->usage.stack_bytes, "");
    }
    if (e->s->gpu) {
        set_number(t, side, "warps on a multiprocessor", (double)e->room.warps, "");
        set(t, side, "limited by", e->room.limiter);
        set_number(t, side, "multiprocessors without a block", (double)e->room.without, "");
        set_number(t, side, "waves", e->room.waves, "");
    }
}

static void add_memory(table *t, int side, const explained *e) {
    const cost_counter *c = &e->cost;
    set_number(t, side, "MB, each sector once", (double)(c->once_read + c->once_written) * 1e-6, "");
    set_number(t, side, "MB, were nothing cached", (double)(c->bytes_read + c->bytes_written) * 1e-6, "");
    if (e->s->gpu) {
        set_number(t, side, "us at least", e->floor_us, "");
    }
}

/* The reckoning is too rough to tell times apart that lie within a twentieth. */
static void add_times(table *t, const explained *a, const explained *b) {
    const double x = a->about.us, y = b->about.us;
    if (x > 0 && y > 0 && (x > 1.05 * y || y > 1.05 * x)) {
        char words[32];
        for (int i = 0; i < 2; i++) {
            snprintf(words, sizeof words, "%.3g", i ? y : x);
            set(t, i, "us, about", words);
        }
    }
}

static bool is_same_access(const cost_row *a, const cost_row *b) {
    return a->op == b->op && strcmp(a->ref->buffer->name, b->ref->buffer->name) == 0 &&
           a->ref->buffer->space == b->ref->buffer->space;
}

static void add_access(table *t, int side, const cost_row *x) {
    const bool global = cost_is_global(x);
    char name[64], label[96];
    snprintf(name, sizeof name, "%s of %.40s", explain_op_name(x->op), x->ref->buffer->name);
    snprintf(label, sizeof label, "%s: %s", name, global ? "sectors" : "wavefronts");
    set_number(t, side, label, cost_per_request(x, global ? x->sectors : x->wavefronts), "");
    snprintf(label, sizeof label, "%s: good", name);
    set_number(t, side, label, 100 * cost_efficiency(x), " %");
    snprintf(label, sizeof label, "%s: bytes of a lane", name);
    set_number(t, side, label, x->bytes, "");
    snprintf(label, sizeof label, "%s: requests", name);
    set_number(t, side, label, (double)x->requests, "");
    if (x->op == COST_ATOMIC) {
        snprintf(label, sizeof label, "%s: lanes at one address", name);
        set_number(t, side, label, cost_per_request(x, x->at_one_address), "");
    }
}

static void add_up(cost_row *sum, const cost_row *x) {
    sum->bytes = x->bytes > sum->bytes ? x->bytes : sum->bytes;
    sum->requests += x->requests;
    sum->sectors += x->sectors;
    sum->least_sectors += x->least_sectors;
    sum->wavefronts += x->wavefronts;
    sum->least_wavefronts += x->least_wavefronts;
    sum->at_one_address += x->at_one_address;
}

/* What moves most comes first, memory before shared memory. */
static int by_weight(const void *a, const void *b) {
    const cost_row *x = a, *y = b;
    if (x->sectors != y->sectors) {
        return x->sectors < y->sectors ? 1 : -1;
    }
    return (x->wavefronts < y->wavefronts) - (x->wavefronts > y->wavefronts);
}

/* The rows of one buffer and operation as one. */
static void add_accesses(table *t, int side, const explained *e) {
    const cost_counter *c = &e->cost;
    cost_row *sums = ARENA_ARRAY(&e->s->memory, cost_row, c->n + 1);
    int n = 0;
    for (int i = 0; i < c->n; i++) {
        int j = 0;
        while (j < n && !is_same_access(&sums[j], &c->row[i])) {
            j++;
        }
        if (j < n) {
            add_up(&sums[j], &c->row[i]);
        } else {
            sums[n++] = c->row[i];
        }
    }
    qsort(sums, (size_t)n, sizeof *sums, by_weight);
    for (int i = 0; i < n; i++) {
        add_access(t, side, &sums[i]);
    }
}

/* ---- printing ------------------------------------------------------------------------------------------ */

bool explain_differs(const explain_difference *l) {
    return l->is_there[0] != l->is_there[1] || strcmp(l->words[0], l->words[1]) != 0;
}

static void print_line(const line *l, text *out) {
    text_print(out, "  %-*.*s  %-*.*s  %.*s\n", NAME_WIDTH, NAME_WIDTH, l->name, VALUE_WIDTH - 5,
               VALUE_WIDTH - 5, l->is_there[0] ? l->words[0] : "-", VALUE_WIDTH,
               l->is_there[1] ? l->words[1] : "-");
}

static void print_part(const table *t, bool wants_different, const char *title, const explained *a,
                       const explained *b, text *out) {
    text_print(out, "%-*s  %-*.*s  %.*s\n", NAME_WIDTH + 2, title, VALUE_WIDTH - 5, VALUE_WIDTH - 5,
               a->s->kernel->name, VALUE_WIDTH, b->s->kernel->name);
    for (int i = 0; i < t->n; i++) {
        if (explain_differs(&t->item[i]) == wants_different) {
            print_line(&t->item[i], out);
        }
    }
}

explain_differences *explain_table(const explained *a, const explained *b) {
    const explained *const both[] = {a, b};
    table *t = ARENA_NEW(&a->s->memory, table);
    for (int i = 0; i < 2; i++) {
        add_axes(t, i, "threads, x first", both[i]->s->result.thread->threads,
                 both[i]->s->result.thread->thread_var);
        add_accesses(t, i, both[i]);
    }
    add_times(t, a, b);
    for (int i = 0; i < 2; i++) {
        add_memory(t, i, both[i]);
        add_launch(t, i, both[i]);
        add_config(t, i, both[i]);
    }
    return t;
}

void explain_compare(const explained *a, const explained *b, text *out) {
    const table *t = explain_table(a, b);
    print_part(t, true, "what differs", a, b, out);
    text_add(out, "\n");
    print_part(t, false, "what does not", a, b, out);
}
